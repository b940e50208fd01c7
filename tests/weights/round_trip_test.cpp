// SPDX-License-Identifier: Apache-2.0
// Networks made here, converted, and their weights asked back: permuted, transposed, fused, padded,
// widened ones bit by bit, changed ones by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/format/features.h"
#include "tests/checkpoint/support.h"
#include "tests/support/onnx_writer.h"
#include "tools/checkpoint/flat/safetensors.h"
#include "tools/compile/convert/convert.h"
#include "tools/files/half.h"
#include "tools/files/output_file.h"
#include "tools/weights/programs/read_weights.h"

using namespace ingot;
using namespace ingot::test;
using checkpoint::Checkpoint;
using checkpoint::Tensor;

namespace {

/// Numbers that look random, none twice in a row; the seed makes two tensors different.
std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> out(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761u + 1;
  for (float& x : out) {
    state = state * 1664525u + 1013904223u;
    x = float(int32_t(state >> 8) - (1 << 23)) * 0x1p-24f;
  }
  return out;
}

struct Converted {
  host::TemporaryPath source{".onnx"}, file{".ingot"};
  convert::ConversionReport report;
  Checkpoint before, after;
  explicit Converted(const OnnxGraph& graph, convert::ConvertOptions options = {}) {
    write_file(source.path(), graph.bytes());
    convert::ConversionResult result = convert::convert_source(source.path(), options);
    convert::write_file(result.file, file.path());
    report = result.report;
    before = weights::read_weights(options.weights.checkpoint.empty() ? source.path()
                                                                      : options.weights.checkpoint);
    after = weights::read_weights(file.path());
  }
  /// Type, shape and every bit.
  bool same(const std::string& name) const {
    const Tensor* a = find(before, name);
    const Tensor* b = find(after, name);
    return a && b && a->type == b->type && a->dims == b->dims &&
           checkpoint::tensor_bytes(*a) == checkpoint::tensor_bytes(*b);
  }
};

OnnxGraph image_net() {
  OnnxGraph g;
  g.input("x", {1, 3, 8, 8});
  g.initializer("first", {20, 3, 3, 3}, numbers(540, 1))
      .initializer("first_bias", {20}, numbers(20, 2));
  g.initializer("depth", {20, 1, 3, 3}, numbers(180, 3))
      .initializer("depth_bias", {20}, numbers(20, 4));
  g.initializer("point", {24, 20, 1, 1}, numbers(480, 5))
      .initializer("point_bias", {24}, numbers(24, 6));
  g.initializer("fc", {24 * 64, 10}, numbers(15360, 7))
      .initializer("fc_bias", {10}, numbers(10, 8));
  const std::vector<int64_t> one = {1, 1, 1, 1};
  g.node("Conv", {"x", "first", "first_bias"}, {"a"}, {attribute("pads", one)});
  g.node("Relu", {"a"}, {"b"});
  g.node("Conv", {"b", "depth", "depth_bias"}, {"c"},
         {attribute("pads", one), attribute("group", int64_t{20})});
  g.node("Relu", {"c"}, {"d"});
  g.node("Conv", {"d", "point", "point_bias"}, {"e"});
  g.node("Flatten", {"e"}, {"f"});
  g.node("Gemm", {"f", "fc", "fc_bias"}, {"y"});
  g.output("y");
  return g;
}

}  // namespace

TEST_CASE("both half-size floats come back from float32, NaNs included") {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    if (host::narrow_f16(host::widen_f16(uint16_t(bits))) != bits) FAIL("f16 " << bits);
    if (host::narrow_bf16(host::widen_bf16(uint16_t(bits))) != bits) FAIL("bf16 " << bits);
  }
  CHECK(host::narrow_f16(65519.f) == 0x7bff);
  CHECK(host::narrow_f16(65520.f) == 0x7c00);
  CHECK(host::narrow_f16(0x1p-25f) == 0);
  CHECK(host::narrow_f16(0x1.8p-25f) == 1);
  CHECK(host::narrow_f16(-0x1.8p-24f) == 0x8002);
  CHECK(host::narrow_f16(1.f + 0x1p-11f) == 0x3c00);
  CHECK(host::narrow_f16(1.f + 0x1.8p-10f) == 0x3c02);
  CHECK(host::narrow_f16(0x1.ff8p-15f) == 0x03ff);
  CHECK(host::narrow_f16(0x1.ffcp-15f) == 0x0400);
  CHECK(host::narrow_bf16(1.f + 0x1p-8f) == 0x3f80);
  CHECK(host::narrow_bf16(3.4e38f) == 0x7f80);
}

TEST_CASE("images: channels last, depthwise rows, a product behind a flattened image") {
  convert::ConvertOptions options;
  options.winograd = convert::WinogradMode::kOff;
  const Converted converted(image_net(), options);
  for (const char* name :
       {"first", "first_bias", "depth", "depth_bias", "point", "point_bias", "fc", "fc_bias"}) {
    CAPTURE(name);
    CHECK(converted.same(name));
  }
  CHECK(converted.after.notes.empty());
  CHECK(converted.after.tensors.size() == converted.before.tensors.size());
}

TEST_CASE("what conversion changes is named, and kept when asked") {
  OnnxGraph g;
  g.input("x", {1, 64, 8, 8}).initializer("w", {32, 64, 1, 1}, numbers(2048, 1));
  g.initializer("scale", {32}, numbers(32, 2)).initializer("shift", {32}, numbers(32, 3));
  std::vector<float> variance = numbers(32, 5);
  for (float& x : variance) x = 1 + std::fabs(x);
  g.initializer("mean", {32}, numbers(32, 4)).initializer("variance", {32}, variance);
  g.node("Conv", {"x", "w"}, {"a"})
      .node("BatchNormalization", {"a", "scale", "shift", "mean", "variance"}, {"y"})
      .output("y");
  const Converted folded(g);
  CHECK(find(folded.after, "w") == nullptr);
  REQUIRE(folded.after.notes.size() == 1);
  CHECK(folded.after.notes[0].find("'w' (no constant has its numbers") != std::string::npos);
  CHECK(folded.after.notes[0].find("--keep-weights") != std::string::npos);
  // small: kept in any case
  for (const char* name : {"scale", "shift", "mean", "variance"}) CHECK(folded.same(name));
  convert::ConvertOptions options;
  options.keep_weights = true;
  const Converted kept(g, options);
  CHECK(kept.same("w"));
  CHECK(kept.after.notes.empty());
}

TEST_CASE("gates of a recurrent cell, padded to panels") {
  OnnxGraph g;
  g.input("x", {4, 1, 20})
      .initializer("w", {2, 40, 20}, numbers(1600, 1))
      .initializer("r", {2, 40, 10}, numbers(800, 2));
  g.initializer("b", {2, 80}, numbers(160, 3));
  g.node("LSTM", {"x", "w", "r", "b"}, {"y"},
         {attribute("hidden_size", int64_t{10}),
          attribute("direction", std::string("bidirectional"))});
  g.output("y");
  const Converted converted(g);
  for (const char* name : {"w", "r", "b"}) CHECK(converted.same(name));
}

TEST_CASE("one product for three, the checkpoint's names and half precision") {
  OnnxGraph g;
  g.input("x", {1, 6, 48});
  for (const char* name : {"q", "k", "v"}) {
    g.initializer(std::string(name) + ".weight", {48, 48}, std::vector<float>(2304));
    g.node("MatMul", {"x", std::string(name) + ".weight"}, {name});
  }
  g.node("Add", {"q", "k"}, {"s"}).node("Mul", {"s", "v"}, {"y"}).output("y");
  std::vector<Tensor> tensors(4);
  std::vector<checkpoint::NamedTensor> named;
  const char* const names[] = {"module.q.weight", "module.k.weight", "module.v.weight",
                               "module.steps"};
  for (size_t i = 0; i < 4; i++) {
    Tensor& t = tensors[i];
    if (i < 3) {
      std::vector<uint16_t> halves;
      for (const float x : numbers(2304, uint32_t(10 + i))) halves.push_back(host::narrow_f16(x));
      t.type = checkpoint::ElementType::kF16;
      t.dims = {48, 48};
      t.strides = {48, 1};
      const std::string bytes = raw(halves);
      t.storage = checkpoint::memory_storage({bytes.begin(), bytes.end()});
    } else {
      t.type = checkpoint::ElementType::kI64;
      t.storage = checkpoint::memory_storage({1, 2, 0, 0, 0, 0, 0, 0});
    }
    named.push_back({names[i], &t});
  }
  const host::TemporaryPath file(".safetensors");
  checkpoint::write_safetensors(file.path(), named, {{"epoch", "7"}});
  convert::ConvertOptions options;
  options.weights.checkpoint = file.path();
  const Converted converted(g, options);
  for (const char* name : names) {
    CAPTURE(name);
    CHECK(converted.same(name));
  }
  CHECK(converted.after.tensors.size() == 4);
  const auto epoch = std::find_if(converted.after.facts.begin(), converted.after.facts.end(),
                                  [](const checkpoint::Fact& f) {
                                    return f.path[0] == "checkpoint.__metadata__/epoch" &&
                                           std::get<std::string>(f.value) == "7";
                                  });
  CHECK(epoch != converted.after.facts.end());
}

namespace {

/// q, k and v of one product from a checkpoint: q in f16 with a NaN, k in f16, v in `last`.
void write_halves(const std::string& path, checkpoint::ElementType last) {
  std::vector<Tensor> tensors(3);
  std::vector<checkpoint::NamedTensor> named;
  const char* const names[] = {"q.weight", "k.weight", "v.weight"};
  for (size_t i = 0; i < 3; i++) {
    Tensor& t = tensors[i];
    t.type = i < 2 ? checkpoint::ElementType::kF16 : last;
    t.dims = {48, 48};
    t.strides = {48, 1};
    const std::vector<float> exact = numbers(2304, uint32_t(10 + i));
    std::vector<uint16_t> halves;
    for (const float x : exact)
      halves.push_back(t.type == checkpoint::ElementType::kBf16 ? host::narrow_bf16(x)
                                                                : host::narrow_f16(x));
    if (i == 0) halves[5] = 0xfc00, halves[6] = 0x8001;  // an infinity, the smallest number
    const std::string bytes = t.type == checkpoint::ElementType::kF32 ? raw(exact) : raw(halves);
    t.storage = checkpoint::memory_storage({bytes.begin(), bytes.end()});
    named.push_back({names[i], &t});
  }
  checkpoint::write_safetensors(path, named, {});
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE(
    "stored smaller: a source's halves come back bit by bit, what was rounded is named as that") {
  OnnxGraph g;
  g.input("x", {1, 6, 48});
  for (const char* name : {"q", "k", "v"}) {
    g.initializer(std::string(name) + ".weight", {48, 48}, std::vector<float>(2304));
    g.node("MatMul", {"x", std::string(name) + ".weight"}, {name});
  }
  g.node("Add", {"q", "k"}, {"s"}).node("Mul", {"s", "v"}, {"y"}).output("y");
  const host::TemporaryPath file(".safetensors");
  convert::ConvertOptions options;
  options.weights.checkpoint = file.path();
  options.storage.dtype = DType::kF16;
  options.storage.chosen = true;

  write_halves(file.path(), checkpoint::ElementType::kF16);
  const Converted halves(g, options);
  for (const char* name : {"q.weight", "k.weight", "v.weight"}) {
    CAPTURE(name);
    CHECK(halves.same(name));
  }
  CHECK(halves.report.storage.tensors[0].largest == 0);
  CHECK(says(halves.report.hints,
             "the source has 3 float16; all are computed in f32 and stored as f16"));
  CHECK(says(halves.report.notes, "NaN or infinite"));

  write_halves(file.path(), checkpoint::ElementType::kF32);
  const Converted mixed(g, options);
  CHECK(mixed.same("q.weight"));
  CHECK(mixed.same("k.weight"));
  CHECK(find(mixed.after, "v.weight") == nullptr);
  CHECK(says(mixed.after.notes, "'v.weight' (stored as f16, which rounds its numbers)"));
  CHECK(says(mixed.report.hints, "the source has 1 float32, 2 float16"));
  options.keep_weights = true;
  const Converted kept(g, options);
  for (const char* name : {"q.weight", "k.weight", "v.weight"}) CHECK(kept.same(name));
  options.keep_weights = false;
  options.storage.keep_fp32 = {"v.*"};  // of the source: the constant is one product of all three
  const Converted by_name(g, options);
  CHECK(by_name.report.storage.kept == 1);
  CHECK(by_name.same("v.weight"));

  write_halves(file.path(), checkpoint::ElementType::kBf16);
  options.storage = {};
  const Converted plain(g, options);
  for (const char* name : {"q.weight", "k.weight", "v.weight"}) CHECK(plain.same(name));
  CHECK(
      says(plain.report.hints, "2 float16, 1 bfloat16; all are computed in f32 and stored as f32"));
  options.storage.dtype = DType::kBF16;
  const Converted rounded(g, options);
  CHECK(rounded.same("v.weight"));
  CHECK(find(rounded.after, "k.weight") == nullptr);
}

TEST_CASE("records that lie are refused") {
  const host::TemporaryPath source(".onnx"), file(".ingot");
  OnnxGraph g;
  g.input("x", {1, 40})
      .initializer("w", {40, 40}, numbers(1600, 1))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y");
  write_file(source.path(), g.bytes());
  const convert::ConversionResult whole = convert::convert_source(source.path(), {});
  REQUIRE(whole.file.metadata.weights.size() == 1);
  const auto reading = [&](auto change) {
    convert::FileSpec spec = whole.file;
    change(spec.metadata.weights[0]);
    convert::write_file(spec, file.path());
    return exit_of([&] {
      for (const Tensor& t : weights::read_weights(file.path()).tensors)
        (void)checkpoint::tensor_bytes(t);
    });
  };
  using Record = convert::SourceWeightSpec;
  CHECK(reading([](Record&) {}) == host::Exit::kOk);
  CHECK(reading([](Record& r) { r.value = 99; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.value = 0; }) == host::Exit::kCorrupt);  // the input
  CHECK(reading([](Record& r) { r.offset = 1; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.offset = -1; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.strides[0] = -1; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.strides.pop_back(); }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.dims = {1599}; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.dtype = "float128"; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.dtype = "int32"; }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.path.clear(); }) == host::Exit::kCorrupt);
  CHECK(reading([](Record& r) { r.value = -1; }) == host::Exit::kCorrupt);
}

TEST_CASE("weights of every known feature are read, of others none") {
  const host::TemporaryPath source(".onnx"), file(".ingot");
  write_file(source.path(), image_net().bytes());
  convert::FileSpec spec = convert::convert_source(source.path(), {}).file;
  spec.program.required_features.assign(std::begin(kFeatureNames), std::end(kFeatureNames));
  convert::write_file(spec, file.path());
  CHECK(weights::read_weights(file.path()).tensors.size() == 8);
  spec.program.required_features.push_back("of_a_newer_one");
  convert::write_file(spec, file.path());
  CHECK(exit_of([&] { weights::read_weights(file.path()); }) == host::Exit::kUnsupported);
}
