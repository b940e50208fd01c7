// SPDX-License-Identifier: Apache-2.0
// What fast, fp16 and bf16 lose is found while a network is converted: one whose logits make small
// errors large is written in a precision that holds, and this is reported; others get what was
// asked for.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/command_line.h"
#include "tests/support/onnx_writer.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using ingot::test::attribute;
using ingot::test::OnnxGraph;
using Json = nlohmann::json;

namespace {

constexpr int kSide = 32, kChannels = 16;
constexpr float kMixed = 6;       // of those whose error bf16 makes a little too large
constexpr float kBetween = 50;    // scale of logits that f16 bears and bf16 does not
constexpr int kChainedSide = 96;  // what lies between its convolutions is 576 KiB

std::vector<float> drawn(size_t count, float scale, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = scale * (float(random() % 2001) / 1000 - 1);
  return numbers;
}

OnnxGraph& conv3x3(OnnxGraph& g, const std::string& x, const std::string& y, int from, int to,
                   float scale, unsigned seed) {
  return g.initializer("w" + y, {to, from, 3, 3}, drawn(size_t(9 * from * to), scale, seed))
      .node("Conv", {x, "w" + y}, {y}, {attribute("pads", std::vector<int64_t>{1, 1, 1, 1})});
}

/// Two convolutions, then logits of hundreds whose sums are near 0 here and there, and a sigmoid:
/// what such a network is for is a threshold.
std::string sharp(int side = kSide, float scale = 1000) {
  OnnxGraph g;
  g.input("image", {1, 3, side, side});
  conv3x3(g, "image", "a", 3, kChannels, 0.3f, 1).node("Relu", {"a"}, {"b"});
  conv3x3(g, "b", "c", kChannels, kChannels, 0.15f, 2).node("Relu", {"c"}, {"d"});
  g.initializer("wl", {1, kChannels, 1, 1}, drawn(kChannels, scale, 3))
      .node("Conv", {"d", "wl"}, {"logits"})
      .node("Sigmoid", {"logits"}, {"map"});
  return g.output("map").bytes();
}

/// Of digits, say.
std::string plain() {
  OnnxGraph g;
  g.input("image", {1, 3, kSide, kSide});
  conv3x3(g, "image", "a", 3, kChannels, 0.3f, 1).node("Relu", {"a"}, {"b"});
  conv3x3(g, "b", "c", kChannels, kChannels, 0.15f, 2).node("Relu", {"c"}, {"d"});
  g.node("GlobalAveragePool", {"d"}, {"e"})
      .node("Flatten", {"e"}, {"f"})
      .initializer("wf", {kChannels, 10}, drawn(kChannels * 10, 0.5f, 4))
      .node("MatMul", {"f", "wf"}, {"scores"});
  return g.output("scores").bytes();
}

/// Activations beyond 65504, which tf32 has and f16 does not.
std::string large() {
  OnnxGraph g;
  g.input("image", {1, 3, kSide, kSide});
  conv3x3(g, "image", "a", 3, kChannels, 1e6f, 1).node("Relu", {"a"}, {"b"});
  conv3x3(g, "b", "c", kChannels, kChannels, 1e-6f, 2);
  return g.output("c").bytes();
}

std::string spilled(const Folder& folder, const std::string& bytes) {
  spill(folder / "net.onnx", bytes);
  return folder / "net.onnx";
}

Ran convert(const Folder& folder, const std::string& source, const std::string& precision,
            const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"convert",     source,   "-o", folder / "net.ingot",
                                    "--precision", precision};
  if (precision == "bf16") words.insert(words.end(), {"--winograd", "off"});  // which is f32
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

Json inspected(const Folder& folder) {
  const Ran ran = run({"inspect", folder / "net.ingot", "--json"});
  REQUIRE(ran.exit == 0);
  return Json::parse(ran.out);
}

RunOptions on_gpu() { return {{{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}}, {}}; }

/// An image, also as in.npz.
ingot::host::Array image_in(const Folder& folder, int side) {
  ingot::host::Array x;
  x.name = "image", x.dtype = ingot::DType::kF32, x.dims = {1, 3, side, side};
  x.bytes.resize(size_t(x.elements()) * 4);
  for (int64_t i = 0; i < x.elements(); i++)
    x.as<float>()[i] = float(2 * std::sin(double(i % side) * 0.31 + double(i / side) * 0.173));
  ingot::host::write_npz(folder / "in.npz", {x});
  return x;
}

/// An image, and what the exact file gives for it, as a golden.
std::string golden_of(const Folder& folder, const std::string& source, int side) {
  ingot::host::Array x = image_in(folder, side);
  REQUIRE(run({"convert", source, "-o", folder / "exact.ingot"}).exit == 0);
  REQUIRE(run({"run", folder / "exact.ingot", "--inputs", folder / "in.npz", "--outputs",
               folder / "out.npz"})
              .exit == 0);
  std::vector<ingot::host::Array> all = ingot::host::read_npz(folder / "out.npz");
  for (ingot::host::Array& y : all)
    if (y.name.rfind("out:", 0) != 0) y.name = "out:" + y.name;
  x.name = "in:image";
  all.push_back(x);
  ingot::host::write_npz(folder / "golden.npz", all);
  return folder / "golden.npz";
}

}  // namespace

TEST_CASE(
    "precision: a network that makes small errors large is written exact, and it is reported") {
  for (const std::string precision : {"bf16", "fp16", "fast"}) {
    CAPTURE(precision);
    const Folder folder;
    const std::string source = spilled(folder, sharp());
    const Ran ran = convert(folder, source, precision);
    CAPTURE(ran.err);
    REQUIRE(ran.exit == 0);
    CHECK(has(ran.err, "note: " + source + ": " + precision + " is off by "));
    CHECK(has(ran.err, "of the largest number of output 'map'"));
    const std::string allowed = precision == "bf16" ? "0.03" : "0.01";
    CHECK(has(ran.err, allowed + " allowed): exact is written instead"));
    CHECK(has(ran.err, "where 0.01 is allowed") == (precision == "bf16"));
    CHECK(has(ran.err, "--precision-check off"));
    const Json file = inspected(folder);
    CHECK(file["precision"] == "exact");
    CHECK(file["precision_check"]["asked"] == precision);
    CHECK(file["precision_check"]["written"] == "exact");
    CHECK(file["precision_check"]["inputs"] == "drawn");
    CHECK(file["precision_check"]["losses"].size() == (precision == "bf16"   ? 3
                                                       : precision == "fp16" ? 2
                                                                             : 1));
    for (const Json& loss : file["precision_check"]["losses"])
      CHECK(loss["error"].get<double>() > loss["allowed"].get<double>());
    const Ran text = run({"inspect", folder / "net.ingot"});
    CHECK(has(text.out, "Precision: " + precision + " is off by "));
    CHECK(has(text.out, "so exact was written"));
    // but for the record it is the file that --precision exact makes
    REQUIRE(run({"convert", source, "-o", folder / "exact.ingot", "--winograd",
                 precision == "bf16" ? "off" : "auto"})
                .exit == 0);
    const Json exact = Json::parse(run({"inspect", folder / "exact.ingot", "--json"}).out);
    CHECK(exact["precision_check"].is_null());
    CHECK(file["program_bytes"] == exact["program_bytes"]);
    CHECK(file["weights_bytes"] == exact["weights_bytes"]);
  }
}

TEST_CASE("precision: a plain network keeps what was asked for, and the file says what it loses") {
  for (const std::string precision : {"bf16", "fp16", "fast"}) {
    CAPTURE(precision);
    const Folder folder;
    const Ran ran = convert(folder, spilled(folder, plain()), precision);
    CHECK(ran.exit == 0);
    CHECK(ran.err.empty());
    const Json file = inspected(folder);
    CHECK(file["precision"] == precision);
    REQUIRE(file["precision_check"]["losses"].size() == 1);
    const double error = file["precision_check"]["losses"][0]["error"].get<double>();
    CHECK(error > 1e-6);  // something was rounded
    CHECK(error < (precision == "bf16" ? 1.5e-2 : 3e-3));
    if (precision == "bf16") CHECK(error > 1e-3);  // by 8 bits
    CHECK(file["precision_check"]["runs"] == 8);
    CHECK(has(run({"inspect", folder / "net.ingot"}).out, "Precision: " + precision));
  }
}

TEST_CASE("precision: numbers that f16 has not are fast") {
  const Folder folder;
  const Ran ran = convert(folder, spilled(folder, large()), "fp16");
  CAPTURE(ran.err);
  CHECK(ran.exit == 0);
  CHECK(has(ran.err, "fast is written instead"));
  CHECK(inspected(folder)["precision"] == "fast");
}

TEST_CASE("precision: scales of weights of 8 bits that f16 has not are fast") {
  for (const float scale : {1e3f, 1e6f}) {  // of a byte: some 8, some 8,000
    CAPTURE(scale);
    OnnxGraph g;
    g.input("image", {1, 3, kSide, kSide}).node("GlobalAveragePool", {"image"}, {"pooled"});
    g.node("Flatten", {"pooled"}, {"f"})
        .initializer("wf", {3, 256}, drawn(768, 1e-3f, 4))
        .node("MatMul", {"f", "wf"}, {"small"})
        .initializer("wg", {256, 64}, drawn(256 * 64, scale, 5))
        .node("MatMul", {"small", "wg"}, {"scores"});
    const Folder folder;
    const Ran ran =
        convert(folder, spilled(folder, g.output("scores").bytes()), "fp16", {"--dtype", "w8"});
    CAPTURE(ran.err);
    CHECK(ran.exit == 0);
    CHECK(has(ran.err, "fast is written instead") == (scale > 1e5f));
  }
}

TEST_CASE("precision: bf16 has the numbers that f16 has not") {
  const Folder folder;
  const Ran ran = convert(folder, spilled(folder, large()), "bf16");
  CAPTURE(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.err.empty());
  CHECK(inspected(folder)["precision"] == "bf16");
}

TEST_CASE("precision: what bf16 loses and f16 does not is fp16") {
  const Folder folder;
  const Ran ran = convert(folder, spilled(folder, sharp(kSide, kBetween)), "bf16");
  CAPTURE(ran.err);
  CHECK(ran.exit == 0);
  CHECK(has(ran.err, "bf16 is off by "));
  CHECK(has(ran.err, "fp16 is written instead"));
  const Json file = inspected(folder);
  CHECK(file["precision"] == "fp16");
  CHECK(file["precision_check"]["losses"].size() == 2);
}

TEST_CASE("precision: where bf16 misses by little, the products that cost most stay f32") {
  OnnxGraph g;
  g.input("image", {1, 3, kSide, kSide});
  conv3x3(g, "image", "a", 3, 32, 0.3f, 1).node("Relu", {"a"}, {"b"});
  conv3x3(g, "b", "c", 32, 64, 0.1f, 2).node("Relu", {"c"}, {"d"});
  g.initializer("we", {32, 64, 1, 1}, drawn(32 * 64, 0.2f, 3))
      .node("Conv", {"d", "we"}, {"e"})
      .node("Relu", {"e"}, {"f"})
      .initializer("wl", {32, 32, 1, 1}, drawn(32 * 32, kMixed, 4))
      .node("Conv", {"f", "wl"}, {"logits"})
      .node("Sigmoid", {"logits"}, {"map"});
  const Folder folder;
  const std::string source = spilled(folder, g.output("map").bytes());
  const Ran ran = convert(folder, source, "bf16");
  CAPTURE(ran.err);
  REQUIRE(ran.exit == 0);
  const Json file = inspected(folder), check = file["precision_check"];
  CHECK(file["precision"] == "bf16");
  CHECK(check["products"] == 3);
  REQUIRE(check["losses"].size() == 2);
  CHECK(check["losses"][0]["precision"] == "bf16");
  CHECK(check["losses"][0]["error"].get<double>() > check["losses"][0]["allowed"].get<double>());
  CHECK(check["losses"][1]["error"].get<double>() <= check["losses"][1]["allowed"].get<double>());
  const uint64_t exact = check["exact_products"].get<uint64_t>();
  CHECK(exact >= 1);
  CHECK(exact <= 2);
  CHECK(has(ran.err, "with " + std::to_string(exact) + " of 3 products in f32 by "));
  CHECK(has(run({"inspect", folder / "net.ingot"}).out, " of 3 products in f32 by "));
  // f32 weights are those of products that stay f32, of the stem and biases
  CHECK(has(ran.err, std::to_string(3 - exact) + " constants are stored as bf16"));
  const Ran refused = convert(folder, source, "bf16", {"--precision-check", "refuse"});
  CHECK(refused.exit == 0);  // within the tolerance it is
  // what stays f32 is in the file, whatever else is asked for
  REQUIRE(convert(folder, source, "bf16", {"--dtype", "fp32"}).exit == 0);
  const Json marked = inspected(folder);
  REQUIRE(convert(folder, source, "bf16", {"--dtype", "fp32", "--precision-check", "off"}).exit ==
          0);
  CHECK(marked["program_bytes"] > inspected(folder)["program_bytes"]);
}

TEST_CASE(
    "precision: weights of bf16 are in files for CPUs alone, and a profile is of the same run") {
  const Folder folder;
  OnnxGraph g;
  g.input("x", {5, 64})
      .initializer("wa", {64, 96}, drawn(64 * 96, 0.2f, 1))
      .node("MatMul", {"x", "wa"}, {"a"})
      .initializer("wb", {96, 64}, drawn(96 * 64, 0.2f, 2))
      .node("MatMul", {"a", "wb"}, {"y"});
  const std::string source = spilled(folder, g.output("y").bytes());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--target", "mcu"}, {"--target", "cuda"}, {"--dtype", "fp32"}}) {
    REQUIRE(convert(folder, source, "bf16", words).exit == 0);
    CHECK(inspected(folder)["storage"].is_null());
    CHECK(inspected(folder)["precision"] == "bf16");
  }
  REQUIRE(convert(folder, source, "bf16").exit == 0);
  CHECK(inspected(folder)["storage"]["stored_bytes"] == 2 * 2 * 64 * 96);
  ingot::host::Array x;
  x.name = "x", x.dtype = ingot::DType::kF32, x.dims = {5, 64};
  x.bytes.resize(5 * 64 * 4);
  for (int i = 0; i < 5 * 64; i++) x.as<float>()[i] = float(std::sin(i * 0.7));
  ingot::host::write_npz(folder / "in.npz", {x});
  const auto outputs = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run",       folder / "net.ingot",
                                      "--inputs",  folder / "in.npz",
                                      "--outputs", folder / "out.npz"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run(words);
    REQUIRE_MESSAGE(ran.exit == 0, ran.err);
    return ingot::host::read_npz(folder / "out.npz")[0].bytes;
  };
  CHECK(outputs({}) == outputs({"--profile", folder / "trace.json"}));
}

TEST_CASE("precision: on a GPU and on one lane of a CPU a bf16 file gives the bits of a fast one") {
  const Folder folder;
  const std::string source = spilled(folder, plain());
  image_in(folder, kSide);
  const auto outputs = [&](const std::string& precision, const std::string& device) {
    REQUIRE(convert(folder, source, precision).exit == 0);
    RunOptions where = on_gpu();
    if (device == "cpu") where = {{{"INGOT_CPU_ISA", "scalar"}}, {}};
    const Ran ran = run({"run", folder / "net.ingot", "--device", device, "--inputs",
                         folder / "in.npz", "--outputs", folder / "out.npz"},
                        where);
    REQUIRE_MESSAGE(ran.exit == 0, ran.err);
    return ingot::host::read_npz(folder / "out.npz")[0].bytes;
  };
  for (const std::string device : {"cuda", "cpu"}) {
    CAPTURE(device);
    CHECK(outputs("bf16", device) == outputs("fast", device));
  }
  CHECK(outputs("bf16", "cuda") != outputs("exact", "cuda"));
}

TEST_CASE("precision: refused where that is asked for, written where nobody is to look") {
  const Folder folder;
  const std::string source = spilled(folder, sharp());
  const Ran refused = convert(folder, source, "fp16", {"--precision-check", "refuse"});
  CHECK(refused.exit == 6);
  CHECK(is_one_error_line(refused.err));
  CHECK(has(refused.err, "nothing was written"));
  CHECK(folder.names() == std::vector<std::string>{"net.onnx"});
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--precision-check", "off"}, {"--no-check"}}) {
    const Ran forced = convert(folder, source, "fp16", words);
    CHECK(forced.exit == 0);
    CHECK(forced.err.empty());
    const Json file = inspected(folder);
    CHECK(file["precision"] == "fp16");
    CHECK(file["precision_check"]["inputs"] == "off");
    CHECK(has(run({"inspect", folder / "net.ingot"}).out, "was not looked at"));
  }
  CHECK(convert(folder, source, "fp16", {"--precision-check", "perhaps"}).exit == 1);
  CHECK(convert(folder, source, "exact", {"--precision-check", "off"}).exit == 1);
}

TEST_CASE("precision: the error is that of a GPU, which the file that is written keeps off") {
  for (const int side : {kSide, kChainedSide}) {
    CAPTURE(side);
    const Folder folder;
    const std::string source = spilled(folder, sharp(side)),
                      golden = golden_of(folder, source, side);
    const auto on_golden = [&] {
      const Ran ran =
          run({"check", folder / "net.ingot", "--golden", golden, "--device", "cuda", "--json"},
              on_gpu());
      REQUIRE_MESSAGE((ran.exit == 0 || ran.exit == 6), ran.err);
      return Json::parse(ran.out)["outputs"][0];
    };
    for (const std::string precision : {"fp16", "fast"}) {
      CAPTURE(precision);
      const Ran ran = convert(folder, source, precision, {"--golden", golden});
      CAPTURE(ran.err);
      REQUIRE(ran.exit == 0);
      const Json check = inspected(folder)["precision_check"];
      CHECK(check["inputs"] == "golden");
      CHECK(on_golden()["passed"] == true);
      REQUIRE(convert(folder, source, precision, {"--precision-check", "off"}).exit == 0);
      CHECK(inspected(folder)["op_counts"].contains("chain") == (side == kChainedSide));
      const Json forced = on_golden();
      if (side == kSide) CHECK(forced["passed"] == false);
      const double found =
          forced["largest_error"].get<double>() / forced["largest_expected"].get<double>();
      const double predicted = check["losses"][0]["error"].get<double>();
      CHECK(predicted > found * 0.9);
      CHECK(predicted < found * 1.1);
    }
  }
}

TEST_CASE("precision: what nobody can compute is reported, and written as asked for") {
  const Folder folder;
  OnnxGraph numbers;
  numbers.input("x", {1, 64})
      .initializer("w", {64, 10}, drawn(640, 1, 1))
      .node("MatMul", {"x", "w"}, {"y"})
      .node("ArgMax", {"y"}, {"best"}, {attribute("axis", int64_t(1))});
  const Ran whole = convert(folder, spilled(folder, numbers.output("best").bytes()), "fp16");
  CHECK(whole.exit == 0);
  CHECK(has(whole.err, "what fp16 loses is not known: no output is of floats"));
  CHECK(inspected(folder)["precision"] == "fp16");
  CHECK(has(run({"inspect", folder / "net.ingot"}).out, "is not known: no output is of floats"));
  const Ran refused = convert(folder, folder / "net.onnx", "fp16", {"--precision-check", "refuse"});
  CHECK(refused.exit == 6);
  CHECK(has(refused.err, "is not known: no output is of floats"));
  OnnxGraph wide;
  wide.input("image", {1, 64, 8192, 8192});
  conv3x3(wide, "image", "y", 64, 64, 1, 1);
  const Ran long_one = convert(folder, spilled(folder, wide.output("y").bytes()), "fast");
  CHECK(long_one.exit == 0);
  CHECK(has(long_one.err, "is not known: it would take too long"));
  CHECK(inspected(folder)["precision"] == "fast");
}
