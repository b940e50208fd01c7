// SPDX-License-Identifier: Apache-2.0
// Images and frames as inputs of `ingot run`: every pixel format on the CPU and on the fake GPU,
// PNG and JPEG, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using ingot::host::Array;

namespace {

const RunOptions& fake_gpu() {
  static const RunOptions options = {{{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}}, {}};
  return options;
}

std::string convert(const Folder& folder, const std::string& image, const std::string& name) {
  const Ran ran = run(
      {"convert", data("image.onnx"), "-o", folder / name, "--image", "x=" + image, "--check"}, {});
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  return folder / name;
}

std::vector<uint8_t> bytes_of(const std::vector<Array>& arrays) {
  std::vector<uint8_t> all;
  for (const Array& array : arrays) all.insert(all.end(), array.bytes.begin(), array.bytes.end());
  return all;
}

std::vector<Array> answers(const Folder& folder, const std::string& model, const std::string& input,
                           const std::string& device) {
  std::vector<std::string> words = {
      "run", model, "--inputs", input, "--outputs", folder / "out.npz", "--device", device};
  if (device == "cuda") words.push_back("--strict");
  const Ran ran = run(words, fake_gpu());
  REQUIRE_MESSAGE(ran.exit == 0, ran.err);
  return ingot::host::read_npz(folder / "out.npz");
}

constexpr int kWidth = 26, kHeight = 20;

/// R, G, B of a smooth image, so that JPEG keeps it.
std::vector<uint8_t> smooth_rgb() {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < kHeight; y++)
    for (int x = 0; x < kWidth; x++) {
      rgb.push_back(uint8_t(40 + 6 * x));
      rgb.push_back(uint8_t(200 - 5 * y));
      rgb.push_back(uint8_t(60 + 2 * x + 3 * y));
    }
  return rgb;
}

/// Bytes of the same pixels in another order; 4: with alpha.
std::string reordered(const std::vector<uint8_t>& rgb, const std::vector<int>& order) {
  std::string out;
  for (size_t i = 0; i < rgb.size(); i += 3)
    for (const int c : order) out += char(c == 3 ? 77 : rgb[i + size_t(c)]);
  return out;
}

void add_number(std::string* to, uint32_t n) {
  for (int shift = 24; shift >= 0; shift -= 8) *to += char(n >> shift);
}
/// A PNG of 8 bits without compression. `channels`: 1 gray, 3 R G B, 4 with alpha.
std::string png_of(const std::string& pixels, int width, int height, int channels) {
  static const uint8_t kType[] = {0, 0, 4, 2, 6};
  const auto chunk = [](const std::string& name, const std::string& body) {
    const std::string checked = name + body;
    uint32_t crc = ~0u;
    for (const char c : checked) {
      crc ^= uint8_t(c);
      for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    std::string out;
    add_number(&out, uint32_t(body.size()));
    out += checked;
    add_number(&out, ~crc);
    return out;
  };
  std::string rows;
  const size_t row = size_t(width * channels);
  for (size_t y = 0; y < size_t(height); y++) rows += '\0' + pixels.substr(y * row, row);
  REQUIRE(rows.size() < 65536);
  uint32_t a = 1, b = 0;
  for (const char c : rows) a = (a + uint8_t(c)) % 65521, b = (b + a) % 65521;
  std::string stream = {'\x78', '\x01', '\x01'};
  for (const uint16_t n : {uint16_t(rows.size()), uint16_t(~rows.size())})
    stream += {char(n), char(n >> 8)};
  stream += rows;
  add_number(&stream, b << 16 | a);
  std::string head;
  add_number(&head, uint32_t(width)), add_number(&head, uint32_t(height));
  head += {'\x08', char(kType[channels]), '\0', '\0', '\0'};
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + chunk("IDAT", stream) + chunk("IEND", "");
}

/// Whether this build reads images of a kind; else it has to say which package is missing.
bool reads(const Folder& folder, const std::string& model, const std::string& file) {
  const Ran ran = run({"run", model, "--inputs", file, "--outputs", folder / "out.npz"});
  if (ran.exit != 4) return true;
  CHECK(has(ran.err, "-dev and build it again"));
  MESSAGE("skipped: " << ran.err);
  return false;
}

}  // namespace

TEST_CASE(
    "image_input: every pixel format gives the naive kernels' answer, and the fake GPU has the "
    "bits of "
    "the CPU") {
  const Folder folder;
  uint32_t state = 7;
  const auto noise = [&](size_t bytes) {
    std::string out;
    for (size_t i = 0; i < bytes; i++)
      state = state * 1664525 + 1013904223, out += char(state >> 24);
    return out;
  };
  const std::string y = noise(kWidth * kHeight), u = noise(kWidth * kHeight / 4),
                    v = noise(kWidth * kHeight / 4);
  const std::vector<uint8_t> rgb = smooth_rgb();
  std::string uv, vu, yuyv, uyvy;
  for (size_t i = 0; i < u.size(); i++) uv += {u[i], v[i]}, vu += {v[i], u[i]};
  for (size_t i = 0; i < y.size(); i += 2) {  // chroma of its own for each row
    const char cu = char(i * 7), cv = char(255 - i * 3 % 256);
    yuyv += {y[i], cu, y[i + 1], cv}, uyvy += {cu, y[i], cv, y[i + 1]};
  }
  struct Format {
    const char* name;
    std::string frame;
    int same;  // formats with one number are orders of the same samples
  };
  const Format formats[] = {{"rgb", reordered(rgb, {0, 1, 2}), 0},
                            {"bgr", reordered(rgb, {2, 1, 0}), 0},
                            {"rgba", reordered(rgb, {0, 1, 2, 3}), 0},
                            {"bgra", reordered(rgb, {2, 1, 0, 3}), 0},
                            {"nv12", y + uv, 1},
                            {"nv21", y + vu, 1},
                            {"i420", y + u + v, 1},
                            {"yuyv", yuyv, 2},
                            {"uyvy", uyvy, 2},
                            {"gray", y, 3}};
  for (const char* how :
       {"letterbox,pad=114", "crop,nearest,bt709", "stretch,area,full,center,bgr"}) {
    std::vector<uint8_t> expected;
    int same = -1;
    for (const Format& format : formats) {
      CAPTURE(format.name);
      CAPTURE(how);
      const std::string size = std::to_string(kWidth) + "x" + std::to_string(kHeight);
      const std::string model =
          convert(folder, std::string(format.name) + ":" + size + "," + how, "net.ingot");
      spill(folder / "frame", format.frame);
      const std::vector<uint8_t> cpu = bytes_of(answers(folder, model, folder / "frame", "cpu"));
      CHECK(bytes_of(answers(folder, model, folder / "frame", "cuda")) == cpu);
      if (format.same == same) CHECK(cpu == expected);
      same = format.same, expected = cpu;
    }
  }
}

TEST_CASE("image_input: ingot compare follows a file with an ImageInput node by node") {
  const Folder folder;
  for (const char* format : {"nv12", "yuyv", "bgra", "i420"}) {
    CAPTURE(format);
    const std::string model =
        convert(folder, std::string(format) + ":26x20,letterbox", "net.ingot");
    const Ran ran = run({"compare", data("image.onnx"), model, "--image",
                         "x=" + std::string(format) + ":26x20,letterbox"});
    CAPTURE(ran.out);
    CAPTURE(ran.err);
    CHECK(ran.exit == 0);
  }
}

TEST_CASE("image_input: a PNG is a frame of R, G and B, of R, G, B and A, or gray") {
  const Folder folder;
  const std::vector<uint8_t> rgb = smooth_rgb();
  const std::string plain = reordered(rgb, {0, 1, 2});
  spill(folder / "frame.rgb", plain);
  spill(folder / "frame.png", png_of(plain, kWidth, kHeight, 3));
  spill(folder / "alpha.png", png_of(reordered(rgb, {0, 1, 2, 3}), kWidth, kHeight, 4));
  const std::string model = convert(folder, "rgb:26x20,letterbox", "rgb.ingot");
  if (!reads(folder, model, folder / "frame.png")) return;
  const std::vector<uint8_t> expected =
      bytes_of(answers(folder, model, folder / "frame.rgb", "cpu"));
  for (const char* file : {"frame.png", "alpha.png"})
    for (const char* device : {"cpu", "cuda"})
      CHECK(bytes_of(answers(folder, model, folder / file, device)) == expected);
  for (const char* image :
       {"bgr:26x20,letterbox", "bgra:26x20,letterbox", "rgba:26x20,letterbox,pitch=120"})
    CHECK(bytes_of(answers(folder, convert(folder, image, "other.ingot"), folder / "frame.png",
                           "cpu")) == expected);
  const std::string gray = plain.substr(0, kWidth * kHeight);
  spill(folder / "gray.raw", gray);
  spill(folder / "gray.png", png_of(gray, kWidth, kHeight, 1));
  const std::string model_of_gray = convert(folder, "gray:26x20,letterbox", "gray.ingot");
  CHECK(bytes_of(answers(folder, model_of_gray, folder / "gray.png", "cpu")) ==
        bytes_of(answers(folder, model_of_gray, folder / "gray.raw", "cpu")));

  const auto refused = [&](const std::string& net, const std::string& file, int exit,
                           std::vector<std::string> parts) {
    const Ran ran = run({"run", net, "--inputs", folder / file, "--outputs", folder / "no.npz"});
    CAPTURE(ran.err);
    CHECK(ran.exit == exit);
    CHECK(is_one_error_line(ran.err));
    for (const std::string& part : parts) {
      CAPTURE(part);
      CHECK(has(ran.err, part));
    }
  };
  refused(model_of_gray, "frame.png", 5, {"with colours", "takes gray frames", "x=rgb:26x20"});
  spill(folder / "small.png", png_of(plain.substr(0, 48), 4, 4, 3));
  refused(model, "small.png", 5, {"of 4x4 pixels", "takes rgb 26x20", "--image x=rgb:4x4"});
  refused(convert(folder, "nv12:26x20,letterbox", "nv12.ingot"), "frame.png", 5,
          {"takes nv12 frames", "--image x=rgb:26x20", "ffmpeg"});
  refused(convert(folder, "nv12:26x20,letterbox,planes", "planes.ingot"), "frame.png", 5,
          {"has 2 inputs", ".npz"});
  refused(converted(folder, "image"), "frame.png", 5,
          {"takes f32 [1,3,6,4]", "--image x=rgb:26x20"});
  spill(folder / "cut.png", slurp(folder / "frame.png").substr(0, 900));
  refused(model, "cut.png", 2, {"cut.png: "});
  std::string broken = slurp(folder / "frame.png");
  broken[broken.size() / 2] = char(~broken[broken.size() / 2]);
  spill(folder / "broken.png", broken);
  refused(model, "broken.png", 2, {"broken.png: "});
  spill(folder / "head.png", "\x89PNG\r\n");
  refused(model, "head.png", 2, {"head.png: "});
}

TEST_CASE("image_input: a JPEG is a frame; one that is damaged is refused") {
  const Folder folder;
  const std::string model = convert(folder, "rgb:26x20,letterbox", "rgb.ingot");
  if (!reads(folder, model, data("smooth.jpg"))) return;
  spill(folder / "frame.rgb", reordered(smooth_rgb(), {0, 1, 2}));
  const std::vector<Array> exact = answers(folder, model, folder / "frame.rgb", "cpu");
  const std::vector<Array> got = answers(folder, model, data("smooth.jpg"), "cpu");
  REQUIRE(got.size() == exact.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < got.size(); i++)
    for (int64_t k = 0; k < got[i].elements(); k++) {
      largest = std::max(largest, double(std::fabs(exact[i].as<const float>()[k])));
      worst = std::max(
          worst, double(std::fabs(got[i].as<const float>()[k] - exact[i].as<const float>()[k])));
    }
  CHECK(worst > 0);
  CHECK(worst < 0.05 * largest);
  const std::string whole = slurp(data("smooth.jpg"));
  for (const size_t bytes : {whole.size() / 2, whole.size() - 10, size_t{20}, size_t{7}}) {
    spill(folder / "cut.jpg", whole.substr(0, bytes));
    const Ran ran =
        run({"run", model, "--inputs", folder / "cut.jpg", "--outputs", folder / "no.npz"});
    CAPTURE(bytes);
    CAPTURE(ran.err);
    CHECK(ran.exit == 2);
    CHECK(is_one_error_line(ran.err));
  }
}

TEST_CASE("image_input: what a file is, is known by its content, whatever its length") {
  const Folder folder;
  const std::string model = convert(folder, "gray:8x8,stretch", "gray.ingot");
  const auto padded = [](std::string bytes) {
    return bytes + std::string((64 - bytes.size() % 64) % 64, '\0');
  };
  const auto exit_of = [&](const std::string& net, const std::string& bytes,
                           const std::string& part) {
    spill(folder / "frame", bytes);
    const Ran ran =
        run({"run", net, "--inputs", folder / "frame", "--outputs", folder / "out.npz"});
    CAPTURE(ran.err);
    CHECK(has(ran.err, part));
    return ran.exit;
  };
  std::string gray;
  for (int i = 0; i < 64; i++) gray += char(3 * i + 20);
  spill(folder / "raw", gray);
  spill(folder / "png", padded(png_of(gray, 8, 8, 1)));
  if (reads(folder, model, folder / "png"))
    CHECK(bytes_of(answers(folder, model, folder / "png", "cpu")) ==
          bytes_of(answers(folder, model, folder / "raw", "cpu")));
  if (reads(folder, model, data("smooth.jpg")))
    CHECK(exit_of(model, padded(slurp(data("smooth.jpg"))), "is an image") == 5);
  // Bytes of a frame that begin as an image does and do not go on so.
  for (const char* start :
       {"\xff\xd8\xff\x01", "\xff\xd8\xff\xff\xff\xff", "\x89PNG", "BM", "RIFF", "PK"})
    CHECK(exit_of(model, (start + gray).substr(0, 64), "") == 0);
  // Other formats are reported, not taken for pixels.
  CHECK(exit_of(model, padded("GIF89a" + gray), "a GIF image") == 4);
  CHECK(exit_of(model, padded("RIFF1234WEBPVP8 " + gray), "a WebP image") == 4);
  CHECK(exit_of(model, padded("RIFF1234WAVEfmt " + gray), "WAV audio") == 4);
  CHECK(exit_of(model, padded(std::string("BM\x80\0\0\0", 6) + gray), "a BMP image") == 4);
  CHECK(exit_of(model, padded(std::string("II*\0\x10\0\0\0", 8) + gray), "a TIFF image") == 4);
  CHECK(exit_of(model, padded("<!DOCTYPE html>" + gray), "a web page") == 4);
  CHECK(exit_of(model, padded("version https://git-lfs" + gray), "LFS") == 4);
  // 4 bytes
  CHECK(exit_of(convert(folder, "gray:2x2,stretch", "tiny.ingot"), "\x10\x20\x30\x40", "") == 0);
}
