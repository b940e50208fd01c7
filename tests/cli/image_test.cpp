// SPDX-License-Identifier: Apache-2.0
// --image through the real binary: a network that takes frames answers as the plain network does
// on images that this file prepares by its own arithmetic; frames as plain bytes; what is
// refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/shared.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using ingot::DType;
using ingot::host::Array;
using Json = nlohmann::json;

namespace {

/// A frame with edges and gradients.
std::vector<uint8_t> noise(size_t bytes) {
  std::vector<uint8_t> all(bytes);
  uint32_t state = 1;
  for (size_t i = 0; i < bytes; i++) {
    state = state * 1664525 + 1013904223;
    all[i] = uint8_t((state >> 24) / 4 + i * 3 % 192);
  }
  return all;
}

/// A plane of one component.
struct Samples {
  int width, height;
  std::vector<double> at;
  double bilinear(double x, double y) const {
    x = std::clamp(x, 0.0, width - 1.0), y = std::clamp(y, 0.0, height - 1.0);
    const int x0 = int(x), y0 = int(y), x1 = std::min(x0 + 1, width - 1),
              y1 = std::min(y0 + 1, height - 1);
    const auto get = [&](int row, int column) { return at[size_t(row * width + column)]; };
    const double upper = get(y0, x0) * (x0 + 1 - x) + get(y0, x1) * (x - x0);
    const double lower = get(y1, x0) * (x0 + 1 - x) + get(y1, x1) * (x - x0);
    return upper * (y0 + 1 - y) + lower * (y - y0);
  }
};

Samples samples_of(const std::vector<uint8_t>& bytes, int width, int height, size_t first,
                   size_t step, size_t pitch) {
  Samples s{width, height, {}};
  for (int row = 0; row < height; row++)
    for (int column = 0; column < width; column++)
      s.at.push_back(bytes[first + size_t(row) * pitch + size_t(column) * step]);
  return s;
}

/// What the network takes.
struct Wanted {
  int width, height;
  double scale, mean[3], deviation[3], pad;
};

/// R, G and B in 0..255 at (x, y) of the frame, in units of pixels with centres at halves.
using Color = std::array<double, 3>;
template <class Sampler>
Array letterboxed(const std::string& name, const Wanted& w, int width, int height,
                  Sampler color_at) {
  const double factor = std::min(double(w.width) / width, double(w.height) / height);
  const int shown_width = int(std::floor(width * factor + 0.5)),
            shown_height = int(std::floor(height * factor + 0.5));
  const int left = (w.width - shown_width) / 2, top = (w.height - shown_height) / 2;
  Array array;
  array.name = name;
  array.dtype = DType::kF32;
  array.dims = {1, 3, w.height, w.width};
  array.bytes.resize(size_t(array.elements()) * 4);
  for (int c = 0; c < 3; c++)
    for (int row = 0; row < w.height; row++)
      for (int column = 0; column < w.width; column++) {
        const int x = column - left, y = row - top;
        double value = w.pad;
        if (x >= 0 && y >= 0 && x < shown_width && y < shown_height)
          value = color_at((x + 0.5) * width / shown_width,
                           (y + 0.5) * height / shown_height)[size_t(c)];
        array.as<float>()[(c * w.height + row) * w.width + column] =
            float((value * w.scale - w.mean[c]) / w.deviation[c]);
      }
  return array;
}

Array from_rgb(const std::string& name, const Wanted& w, const std::vector<uint8_t>& frame,
               int width, int height) {
  std::vector<Samples> planes;
  for (size_t c = 0; c < 3; c++)
    planes.push_back(samples_of(frame, width, height, c, 3, size_t(width) * 3));
  return letterboxed(name, w, width, height, [&](double x, double y) {
    return Color{planes[0].bilinear(x - 0.5, y - 0.5), planes[1].bilinear(x - 0.5, y - 0.5),
                 planes[2].bilinear(x - 0.5, y - 0.5)};
  });
}

/// BT.709, 16..235, chroma on the left pixel of two and between two rows.
Array from_nv12(const std::string& name, const Wanted& w, const std::vector<uint8_t>& frame,
                int width, int height, size_t pitch) {
  const size_t chroma = pitch * size_t(height);
  const Samples luma = samples_of(frame, width, height, 0, 1, pitch);
  const Samples blue = samples_of(frame, width / 2, height / 2, chroma, 2, pitch);
  const Samples red = samples_of(frame, width / 2, height / 2, chroma + 1, 2, pitch);
  return letterboxed(name, w, width, height, [&](double x, double y) {
    const double l = (luma.bilinear(x - 0.5, y - 0.5) - 16) * 255 / 219;
    const double cx = (x - 0.5) / 2, cy = y / 2 - 0.5;
    const double cb = (blue.bilinear(cx, cy) - 128) * 255 / 224,
                 cr = (red.bilinear(cx, cy) - 128) * 255 / 224;
    const auto limited = [](double v) { return std::clamp(v, 0.0, 255.0); };
    return Color{limited(l + 1.5748 * cr), limited(l - 0.187324 * cb - 0.468124 * cr),
                 limited(l + 1.8556 * cb)};
  });
}

std::vector<Array> answers(const Folder& folder, const std::string& model,
                           const std::string& inputs) {
  const Ran ran = run({"run", model, "--inputs", inputs, "--outputs", folder / "out.npz"});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  return ingot::host::read_npz(folder / "out.npz");
}

void check_close(const std::vector<Array>& got, const std::vector<Array>& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); i++) {
    REQUIRE(got[i].dims == want[i].dims);
    double largest = 0, worst = 0;
    for (int64_t k = 0; k < got[i].elements(); k++) {
      const double g = got[i].as<const float>()[k], w = want[i].as<const float>()[k];
      largest = std::max(largest, std::fabs(w));
      worst = std::max(worst, std::fabs(g - w));
    }
    CAPTURE(got[i].name);
    CHECK(largest > 0);
    CHECK(worst <= tolerance * largest);
  }
}

std::string convert(const Folder& folder, const std::string& source, const std::string& name,
                    const std::string& image) {
  std::vector<std::string> words = {"convert", source, "-o", folder / name};
  if (!image.empty()) words.insert(words.end(), {"--image", image});
  const Ran ran = run(words);
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  return folder / name;
}

/// The same network with frames of `width` x `height` as RGB and as NV12 with a pitch, against the
/// plain one.
void compare_with_plain(const std::string& source, const std::string& input, const Wanted& w,
                        int width, int height) {
  const Folder folder;
  const std::string plain = convert(folder, source, "plain.ingot", "");
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  const auto three = [](const double(&n)[3]) {
    return std::to_string(n[0]) + "/" + std::to_string(n[1]) + "/" + std::to_string(n[2]);
  };
  const std::string rest = size + ",letterbox,scale=1/" + std::to_string(int(1 / w.scale + 0.5)) +
                           ",pad=" + std::to_string(int(w.pad)) + ",mean=" + three(w.mean) +
                           ",std=" + three(w.deviation);
  {
    const std::vector<uint8_t> frame = noise(size_t(width * height) * 3);
    spill(folder / "frame.rgb", std::string(frame.begin(), frame.end()));
    const std::string model = convert(folder, source, "rgb.ingot", input + "=rgb:" + rest);
    const std::vector<Array> got = answers(folder, model, folder / "frame.rgb");
    ingot::host::write_npz(folder / "in.npz", {from_rgb(input, w, frame, width, height)});
    check_close(got, answers(folder, plain, folder / "in.npz"), 2e-4);
  }
  const size_t pitch = size_t(width) + 12;
  const std::vector<uint8_t> frame = noise(pitch * size_t(height) * 3 / 2);
  spill(folder / "frame.nv12", std::string(frame.begin(), frame.end()));
  const std::string model =
      convert(folder, source, "nv12.ingot",
              input + "=nv12:" + rest + ",bt709,pitch=" + std::to_string(pitch));
  const std::vector<Array> got = answers(folder, model, folder / "frame.nv12");
  ingot::host::write_npz(folder / "in.npz", {from_nv12(input, w, frame, width, height, pitch)});
  check_close(got, answers(folder, plain, folder / "in.npz"), 2e-4);
}

}  // namespace

TEST_CASE("image_input: a small network on frames answers as on prepared images") {
  compare_with_plain(data("image.onnx"), "x",
                     {4, 6, 1.0 / 255, {0.5, 0.25, 0.125}, {0.5, 0.25, 1}, 114}, 26, 20);
  compare_with_plain(data("image.onnx"), "x", {4, 6, 1.0 / 128, {1, 1, 1}, {1, 1, 1}, 0}, 2, 4);
}

TEST_CASE(
    "image_input: a published face detector of shared material on frames answers as on prepared "
    "images" *
    doctest::test_suite("shared")) {
  const std::string source =
      (ingot::tests::shared_folder() / "models").string() +
      "/Linzaer__Ultra-Light-Fast-Generic-Face-Detector-1MB/version-slim-320_simplified.onnx";
  if (!std::filesystem::exists(source)) return;  // the case above has a network of its own
  compare_with_plain(source, "input",
                     {320, 240, 1.0 / 128, {0.9921875, 0.9921875, 0.9921875}, {1, 1, 1}, 0}, 640,
                     360);
}

TEST_CASE("image_input: --picture, as the version before has it, is --image") {
  const Folder folder;
  const std::string value = "x=i420:16x12,stretch,nearest";
  const std::string now = convert(folder, data("image.onnx"), "now.ingot", value);
  for (const std::vector<std::string>& old :
       {std::vector<std::string>{"--picture", value}, {"--picture=" + value}}) {
    std::vector<std::string> words = {"convert", data("image.onnx"), "-o", folder / "old.ingot"};
    words.insert(words.end(), old.begin(), old.end());
    CHECK(run(words).exit == 0);
    CHECK(slurp(folder / "old.ingot") == slurp(now));
  }
  const Ran help = run({"convert", "--help", "all"});
  CHECK(help.out.find("--image") != std::string::npos);
  CHECK(help.out.find("--picture") == std::string::npos);
}

TEST_CASE("image_input: the report names the frame, and planes are inputs of their own") {
  const Folder folder;
  const std::string one =
      convert(folder, data("image.onnx"), "one.ingot", "x=i420:16x12,stretch,nearest");
  const Json report = Json::parse(run({"inspect", one, "--json"}).out);
  REQUIRE(report["inputs"].size() == 1);
  CHECK(report["inputs"][0]["name"] == "x");
  CHECK(report["inputs"][0]["dtype"] == "u8");
  CHECK(report["inputs"][0]["dims"] == Json::array({1, 18, 16}));
  CHECK(report["inputs"][0]["layout"] == "i420 16x12");
  CHECK(report["op_counts"]["image_input"] == 1);
  const std::string three =
      convert(folder, data("image.onnx"), "three.ingot", "x=i420:16x12,stretch,nearest,planes");
  const Json planes = Json::parse(run({"inspect", three, "--json"}).out)["inputs"];
  REQUIRE(planes.size() == 3);
  CHECK(planes[0]["name"] == "x.y");
  CHECK(planes[1]["name"] == "x.u");
  CHECK(planes[2]["layout"] == "i420 16x12 plane 2");
  CHECK(planes[2]["dims"] == Json::array({1, 6, 8}));
  const std::vector<uint8_t> frame = noise(16 * 18);
  spill(folder / "frame.yuv", std::string(frame.begin(), frame.end()));
  const auto from_one = answers(folder, one, folder / "frame.yuv"),
             from_three = answers(folder, three, folder / "frame.yuv");
  REQUIRE(from_one.size() == 2);
  for (size_t i = 0; i < 2; i++) CHECK(from_one[i].bytes == from_three[i].bytes);
}

TEST_CASE("image_input: what is refused says what was found and what to do") {
  const Folder folder;
  const auto refused = [&](const std::string& source, const std::string& image, int exit,
                           std::vector<std::string> parts) {
    CAPTURE(image);
    const Ran ran = run({"convert", data(source), "-o", folder / "no.ingot", "--image", image});
    CHECK(ran.exit == exit);
    CHECK(is_one_error_line(ran.err));
    for (const std::string& part : parts) {
      CAPTURE(part);
      CAPTURE(ran.err);
      CHECK(has(ran.err, part));
    }
    CHECK(folder.names().empty());
  };
  refused("image.onnx", "x=p010:16x12,stretch", 4,
          {"'p010' is not supported", "nv12", "yuyv", "bgra"});
  refused("image.onnx", "x=nv12:15x12,stretch", 1, {"width is even", "15"});
  refused("image.onnx", "x=i420:16x11,stretch", 1, {"height is even", "11"});
  refused("image.onnx", "x=yuyv:17x11,stretch", 1, {"width is even", "17"});
  refused("image.onnx", "x=nv12", 1, {"size of a frame", "nv12:1920x1080"});
  refused("image.onnx", "x=rgb:0x12", 1, {"1 to 16384"});
  refused("image.onnx", "x=rgb:16x20000", 1, {"1 to 16384"});
  refused("image.onnx", "x=rgb:16by12", 1, {"WIDTHxHEIGHT"});
  refused("image.onnx", "nv12:16x12", 1, {"NAME=FORMAT"});
  refused("image.onnx", "x=rgb:16x12", 5, {"16x12", "4x6", "stretch, letterbox or crop"});
  refused("image.onnx", "x=rgb:16x12,streth", 1, {"'streth' is not known", "stretch"});
  refused("image.onnx", "x=rgb:16x12,stretch,region=8x8+9+0", 1, {"not inside the frame of 16x12"});
  refused("image.onnx", "x=rgb:16x12,stretch,pitch=47", 1, {"at least 48"});
  refused("image.onnx", "x=i420:16x12,stretch,pitch=17", 1, {"even", "17"});
  refused("image.onnx", "x=rgb:16x12,stretch,pad=256", 1, {"0 to 255"});
  refused("image.onnx", "x=rgb:16x12,stretch,std=0", 1, {"divides by zero"});
  refused("image.onnx", "x=rgb:16x12,stretch,mean=1/2", 1, {"one number or three"});
  refused("image.onnx", "x=rgb:16x12,stretch,planes", 1, {"has one plane"});
  refused("image.onnx", "x=rgb:16x12,stretch,nhwc", 5, {"[1,3,6,4]", "nhwc"});
  refused("image.onnx", "image=rgb:16x12,stretch", 5, {"no input of that name"});
  refused("linear.onnx", "x=rgb:16x12,stretch", 5, {"f32 [1,4]", "no image", "four dimensions"});
  refused("embed.onnx", "ids=rgb:16x12,stretch", 5, {"i64 [1,5]", "no image", "f32"});
  // A frame that is cut off.
  const std::string model = convert(folder, data("image.onnx"), "model.ingot", "x=nv12:16x12,crop");
  spill(folder / "short.nv12", std::string(287, 'x'));
  const Ran ran =
      run({"run", model, "--inputs", folder / "short.nv12", "--outputs", folder / "out.npz"});
  CHECK(ran.exit == 5);
  CHECK(has(ran.err, "has 287 bytes, expected 288 (1 of nv12 16x12: 18 rows of 16 bytes)"));
}
