// SPDX-License-Identifier: Apache-2.0
// Weights stored as f16 or bf16: what is stored and what is not, what it costs by the report, that
// the kernels see exactly the rounded numbers.
#include "tools/compile/write/storage.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "ingot/cpu.h"
#include "ingot/ingot.hpp"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/compile/core_graph.h"
#include "tests/session/session_models.h"
#include "tests/support/shared.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/write/program_encoder.h"
#include "tools/diagnose/golden/compare.h"
#include "tools/files/half.h"
#include "tools/files/work_budget.h"

using namespace ingot;
using namespace ingot::convert;

namespace {

ConvertOptions stored_as(DType dtype) {
  ConvertOptions options;
  options.storage.dtype = dtype;
  options.winograd = WinogradMode::kOff;
  return options;
}

/// x [2, n] -> Linear [m, n], bias [m] -> y [2, m], with these weights.
graph::Model linear(const std::vector<float>& weights, int64_t n, int64_t m) {
  CoreGraph g;
  const ValueId x = g.input("x", {2, n}), w = g.constant({m, n}, weights), b = g.weights({m});
  g.model.values[size_t(w)].name = "layer.weight";
  g.model.values[size_t(b)].name = "layer.bias";
  g.output(g.node(op::Linear, {x, w, b}, {2, m}));
  return std::move(g.model);
}

std::vector<float> numbers(size_t count, float scale = 1) {
  std::vector<float> out(count);
  uint32_t state = 7;
  for (float& x : out) {
    state = state * 1664525u + 1013904223u;
    x = scale * (float(int32_t(state >> 8) - (1 << 23)) * 0x1p-23f);
  }
  return out;
}

std::string message_of(const std::function<void()>& call, int* exit_code) {
  try {
    call();
  } catch (const graph::ConversionError& error) {
    *exit_code = error.exit_code;
    return error.message;
  }
  return "";
}

/// The same program with f32 constants that were rounded here.
FileSpec rounded_on_the_host(const FileSpec& file) {
  FileSpec out = file;
  out.program.required_features.clear();
  for (ValueSpec& value : out.program.values) {
    if (value.stored == DType::kInvalid) continue;
    ValueSpec exact = value;
    exact.stored = DType::kInvalid;
    std::vector<uint8_t> bytes = *produce_constant(exact);
    for (size_t i = 0; i < bytes.size(); i += 4) {
      float x;
      std::memcpy(&x, bytes.data() + i, 4);
      x = value.stored == DType::kF16 ? host::widen_f16(host::narrow_f16(x))
                                      : host::widen_bf16(host::narrow_bf16(x));
      std::memcpy(bytes.data() + i, &x, 4);
    }
    value.stored = DType::kInvalid;
    value.segment = 0;
    value.bytes.held = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  }
  return out;
}

struct Answer {
  std::vector<std::vector<uint8_t>> outputs;
  uint64_t weights = 0, widened = 0;
};

/// Runs with inputs that look random; symbols at `typical`.
Answer run(const FileSpec& file, const ingot_kernel_table* kernels, int32_t threads,
           const std::map<std::string, int64_t>& typical) {
  test::FileBytes bytes(file);
  auto model = ingot::Model::open(bytes.data(), bytes.size(), open_options(kernels));
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  std::vector<ingot_binding> bindings;
  for (const auto& [name, extent] : typical) bindings.push_back({name.c_str(), extent});
  ingot_session_options options = session_options();
  options.threads = threads;
  options.bindings = bindings.data();
  options.binding_count = bindings.size();
  const auto need = model->requirements(options);
  REQUIRE_MESSAGE(need.ok(), need.error().text());
  auto session = model->session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  const ingot_requirements got = session->requirements();
  CHECK(std::memcmp(&need.value(), &got, sizeof got) == 0);
  for (uint32_t i = 0; i < model->summary().input_count; i++) {
    const ingot_tensor x = session->input(i).value();
    std::memset(x.data, 0, x.bytes);
    if (x.dtype != INGOT_F32) continue;
    const std::vector<float> from = numbers(x.bytes / 4);
    std::memcpy(x.data, from.data(), x.bytes);
  }
  const auto ran = session->run();
  REQUIRE_MESSAGE(ran.ok(), ran.error().text());
  Answer answer;
  answer.weights = model->summary().weights_bytes;
  answer.widened = got.weights_widened;
  for (uint32_t i = 0; i < model->summary().output_count; i++) {
    const ingot_tensor y = session->output(i).value();
    const auto* from = static_cast<const uint8_t*>(y.data);
    answer.outputs.emplace_back(from, from + y.bytes);
  }
  return answer;
}

/// max |a - b| / max |b| over f32 outputs.
double distance(const Answer& a, const Answer& b) {
  double worst = 0;
  for (size_t o = 0; o < b.outputs.size(); o++) {
    double most = 0, apart = 0;
    for (size_t i = 0; i + 4 <= b.outputs[o].size(); i += 4) {
      float x, y;
      std::memcpy(&x, a.outputs[o].data() + i, 4);
      std::memcpy(&y, b.outputs[o].data() + i, 4);
      most = std::max(most, std::fabs(double(y)));
      apart = std::max(apart, std::fabs(double(x) - double(y)));
    }
    if (most > 0) worst = std::max(worst, apart / most);
  }
  return worst;
}

const ingot_kernel_table* kernels_of(const char* isa) { return ingot_cpu_kernels(isa); }

void expect_rounded_run(const std::string& source, const ConvertOptions& given, bool dense) {
  CAPTURE(source);
  ConvertOptions plain_options = given;
  plain_options.winograd = WinogradMode::kOff;
  const ConversionResult plain = convert_source(source, plain_options);
  const Answer exact = run(plain.file, kernels_of(nullptr), 1, plain.report.binding);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    CAPTURE(int(dtype));
    ConvertOptions options = plain_options;
    options.storage.dtype = dtype;
    const ConversionResult stored = convert_source(source, options);
    const Answer got = run(stored.file, kernels_of(nullptr), 1, stored.report.binding);
    CHECK(got.widened >= 2 * stored.report.storage.bytes_after);
    if (dense) CHECK(double(got.weights) < 0.52 * double(exact.weights));
    const FileSpec host = rounded_on_the_host(stored.file);
    for (const char* isa : built_isas()) {
      if (!cpu_kernels(isa) || std::string(isa) == "sse2") continue;  // which has bits of its own
      CAPTURE(isa);
      for (const int32_t threads : {1, 2}) {
        if (threads == 2 && std::string(isa) == "scalar") continue;
        const Answer here = run(stored.file, kernels_of(isa), threads, stored.report.binding);
        CHECK(here.outputs == got.outputs);
      }
      if (std::string(isa) != "scalar")
        CHECK(run(host, kernels_of(isa), 1, stored.report.binding).outputs == got.outputs);
    }
    const double allowed = check::tolerance_of(DType::kF32, false, dtype).relative;
    const double apart = distance(got, exact);
    INFO(source.substr(source.rfind('/') + 1), dtype == DType::kF16 ? " fp16" : " bf16",
         ": weights ", got.weights, " of ", exact.weights, ", largest error ", apart,
         " of the largest output");
    CHECK(apart <= allowed);
  }
}

}  // namespace

TEST_CASE("storage: weights that a bf16 program rounds are bf16, what stays exact is f32") {
  const auto layers = [] {
    CoreGraph g;
    const ValueId x = g.input("x", {4, 64});
    const ValueId a = g.node(op::Linear, {x, g.weights({96, 64}), g.weights({96})}, {4, 96}),
                  b = g.node(op::Linear, {a, g.weights({64, 96})}, {4, 64});
    g.output(b);
    return std::move(g.model);
  };
  ConvertOptions options;
  options.precision = 3, options.bf16_weights = true;
  const auto answer = [&](const char* isa) {
    const ConversionResult made = convert_model(layers(), options);
    return run(made.file, kernels_of(isa), 1, {});
  };
  const ConversionResult both = convert_model(layers(), options);
  REQUIRE(both.report.storage.tensors.size() == 2);  // biases are added in f32
  CHECK(both.report.storage.bytes_after == 2 * 2 * 96 * 64);
  // f32 only where a processor does not read bf16
  const bool reads = cpu_kernels(nullptr)->takes_bf16_weights;
  CHECK(answer(nullptr).widened == (reads ? 0 : 4 * 2 * 96 * 64));
  CHECK(answer("scalar").widened == 4 * 2 * 96 * 64);
  const Answer rounded = answer("scalar");
  CHECK(run(rounded_on_the_host(both.file), kernels_of("scalar"), 1, {}).outputs ==
        rounded.outputs);
  CHECK(distance(answer(nullptr), rounded) < 0.03);

  const graph::Model model = layers();
  const std::vector<uint32_t>&first = model.graph.nodes[0].sources,
        &second = model.graph.nodes[1].sources;
  options.exact_sources = {first.begin(), first.end()};
  CHECK(convert_model(layers(), options).report.storage.tensors.size() == 1);
  options.exact_sources.insert(second.begin(), second.end());
  const ConversionResult exact = convert_model(layers(), options);
  CHECK(exact.report.storage.tensors.empty());
  // no CPU rounds anything then
  options.precision = 0, options.bf16_weights = false;
  const Answer in_f32 = run(convert_model(layers(), options).file, kernels_of(nullptr), 1, {});
  CHECK(run(exact.file, kernels_of(nullptr), 1, {}).outputs == in_f32.outputs);
  if (reads) CHECK(answer(nullptr).outputs == in_f32.outputs);
}

TEST_CASE(
    "storage: weights are halved, biases too small to gain stay, and the report says what it "
    "cost") {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::vector<float> w = numbers(64 * 32);
    const ConversionResult plain = convert_model(linear(w, 64, 32), stored_as(DType::kF32));
    const ConversionResult stored = convert_model(linear(w, 64, 32), stored_as(dtype));
    const StorageReport& report = stored.report.storage;
    REQUIRE(report.tensors.size() == 2);
    CHECK(report.small == 0);
    CHECK(report.bytes_before == 4 * (64 * 32 + 32));
    CHECK(report.bytes_after * 2 == report.bytes_before);
    double largest = 0, sum = 0;
    for (const float x : w) {
      const float y = dtype == DType::kF16 ? host::widen_f16(host::narrow_f16(x))
                                           : host::widen_bf16(host::narrow_bf16(x));
      const double error = x == 0 ? 0 : std::fabs(double(y) - double(x)) / std::fabs(double(x));
      largest = std::max(largest, error), sum += error;
    }
    CHECK(report.tensors[0].name == "layer.weight");
    CHECK(report.tensors[0].elements == 64 * 32);
    CHECK(report.tensors[0].largest == largest);
    CHECK(report.tensors[0].mean == doctest::Approx(sum / double(w.size())));
    const std::string said = stored.report.notes.back();
    CHECK(said.find(dtype == DType::kF16 ? "2 constants are stored as f16"
                                         : "2 constants are stored as bf16") != std::string::npos);
    CHECK(said.find("converted to f32 when a session is made") != std::string::npos);
    CHECK(stored.file.metadata.notes.back() == said);
    CHECK(plain.file.program.required_features.empty());
    CHECK(stored.file.program.required_features == std::vector<std::string>{"widened"});
    CHECK(write_memory(stored.file) ==
          write_memory(convert_model(linear(w, 64, 32), stored_as(dtype)).file));
    const Answer got = run(stored.file, kernels_of(nullptr), 1, {});
    CHECK(got.outputs == run(rounded_on_the_host(stored.file), kernels_of(nullptr), 1, {}).outputs);
    CHECK(got.outputs != run(plain.file, kernels_of(nullptr), 1, {}).outputs);
  }
  const ConversionResult tiny =
      convert_model(linear(numbers(64 * 8), 64, 8), stored_as(DType::kF16));
  CHECK(tiny.report.storage.small == 1);  // the bias of 16 numbers with its padding
  CHECK(tiny.report.storage.tensors.size() == 1);
}

TEST_CASE("storage: what overflows is refused with name, number and flags, all of it at once") {
  std::vector<float> w = numbers(64 * 32);
  w[77] = 70000;
  w[99] = -80000;
  int code = 0;
  const std::string said =
      message_of([&] { (void)convert_model(linear(w, 64, 32), stored_as(DType::kF16)); }, &code);
  CHECK(code == 4);
  for (const char* part : {"'layer.weight' has -80000 and 1 more", "65504", "--keep-fp32",
                           "--dtype bf16", "--allow-overflow"})
    CHECK_MESSAGE(said.find(part) != std::string::npos, said);
  CHECK_NOTHROW((void)convert_model(linear(w, 64, 32), stored_as(DType::kBF16)));
  ConvertOptions options = stored_as(DType::kF16);
  options.storage.allow_overflow = true;
  const ConversionResult allowed = convert_model(linear(w, 64, 32), options);
  CHECK(allowed.report.storage.tensors[0].overflowed == 2);
  CHECK(allowed.report.notes.back().find("2 became infinite, as allowed") != std::string::npos);
  options.storage.allow_overflow = false;
  options.storage.keep_fp32 = {"*.wei*t"};
  const ConversionResult kept = convert_model(linear(w, 64, 32), options);
  CHECK(kept.report.storage.kept == 1);
  REQUIRE(kept.report.storage.tensors.size() == 1);
  CHECK(kept.report.storage.tensors[0].name == "layer.bias");
}

TEST_CASE(
    "storage: numbers that become zero or lose bits below the smallest normal one are counted") {
  std::vector<float> w(64 * 32, 1.0f);
  w[0] = 1e-9f, w[1] = -2e-9f;  // to zero
  w[2] = 1.1e-6f;               // subnormal, rounded
  w[3] = 0x1p-20f;              // subnormal, exact
  const StorageReport report =
      convert_model(linear(w, 64, 32), stored_as(DType::kF16)).report.storage;
  CHECK(report.tensors[0].to_zero == 2);
  CHECK(report.tensors[0].subnormal == 1);
  CHECK(report.tensors[0].largest == 1.0);
}

TEST_CASE("storage: a pattern that nothing matches names what is near") {
  ConvertOptions options = stored_as(DType::kF16);
  options.storage.keep_fp32 = {"layer.weigth"};
  int code = 0;
  const std::string said =
      message_of([&] { (void)convert_model(linear(numbers(2048), 64, 32), options); }, &code);
  CHECK(code == 5);
  CHECK_MESSAGE(said.find("did you mean 'layer.weight'") != std::string::npos, said);
}

TEST_CASE(
    "storage: integers, indices and initial states are left alone; infinities and NaNs are kept") {
  CoreGraph g;
  std::vector<float> table(40 * 32, 0.5f);
  table[3] = std::numeric_limits<float>::infinity();
  table[4] = std::numeric_limits<float>::quiet_NaN();
  const ValueId data = g.constant({40, 32}, table);
  g.model.values[size_t(data)].name = "table";
  std::vector<int64_t> rows(20);
  for (size_t i = 0; i < rows.size(); i++) rows[i] = int64_t(i);
  const ValueId where = g.indices({20}, rows);
  const ValueId x = g.input("x", {20, 32});
  const ValueId picked = g.node(op::Gather, {data, where}, {20, 32}, {{attr::axis, int64_t(0)}});
  g.output(g.node(op::Concat, {x, picked}, {40, 32}, {{attr::axis, int64_t(0)}}));
  const ConversionResult result = convert_model(std::move(g.model), stored_as(DType::kF16));
  for (const ValueSpec& value : result.file.program.values)
    if (value.kind == ValueKind::kConstant)
      CHECK((value.stored == DType::kF16) == (value.dtype == DType::kF32));
  CHECK(result.report.storage.tensors[0].overflowed == 0);
  bool warned = false;
  for (const std::string& hint : result.report.hints)
    warned |= hint.find("NaN or infinite") != std::string::npos &&
              hint.find("'table' 1 NaN and 1 infinite of 1280") != std::string::npos;
  CHECK(warned);
}

TEST_CASE("storage: bytes that many constants share are looked at once") {
  const auto steps_of = [](int constants) {
    CoreGraph g;
    ValueId x = g.input("x", {4, 256});
    const ValueId first = g.constant({256, 256}, numbers(256 * 256));
    for (int i = 0; i < constants; i++) {
      const ValueId w = i ? g.constant({1}, {0.0f}) : first;
      g.model.values[size_t(w)].constant = g.model.values[size_t(first)].constant;
      x = g.node(op::Linear, {x, w}, {4, 256});
    }
    g.output(x);
    host::WorkBudget budget("shared", 1);
    (void)convert::say_not_finite(g.model);
    return budget.steps();
  };
  const uint64_t once = steps_of(1);
  CHECK(once > 0);
  CHECK(steps_of(40) == once);
}

TEST_CASE("storage: the largest files keep what is only widened in a weight part of its own") {
  const ConversionResult result =
      convert_model(linear(numbers(600 * 600), 600, 600), stored_as(DType::kF16));
  for (const ValueSpec& value : result.file.program.values)
    if (value.kind == ValueKind::kConstant) CHECK(value.segment == 0);  // nothing else is there
  ConvertOptions options = stored_as(DType::kF16);
  options.storage.keep_fp32 = {"layer.bias"};
  for (const ValueSpec& value :
       convert_model(linear(numbers(600 * 600), 600, 600), options).file.program.values)
    if (value.kind == ValueKind::kConstant)
      CHECK(value.segment == (value.stored == DType::kF16 ? 1 : 0));
}

TEST_CASE(
    "storage: networks of every kind of source give what their rounded constants give, on every "
    "instruction set") {
  const std::string root = INGOT_SOURCE_DIR;
  ConvertOptions digits;
  digits.dims = {"n=1"};
  expect_rounded_run(root + "/examples/digits/digits.onnx", digits, true);
  expect_rounded_run(root + "/tests/import/pt2/data/picture.pt2", {}, false);
  expect_rounded_run(root + "/tests/import/pt2/data/recurrent.pt2", {}, false);
  expect_rounded_run(root + "/tests/import/keras/samples/sequential.keras", {}, false);
  expect_rounded_run(root + "/tests/import/keras/samples/lstm.h5", {}, false);
  expect_rounded_run(root + "/tests/import/flux/samples/picture.bson", {}, false);
  expect_rounded_run(root + "/tests/import/flux/samples/two_dense.jld2", {}, false);
}

// The case above has the project's own trained network, which every checkout has.
TEST_CASE("storage: trained networks of shared material stay within the table" *
          doctest::test_suite("shared")) {
  const std::string models = (tests::shared_folder() / "models/").string();
  for (const char* name :
       {"xboot__libonnx/mnist_8/model.onnx", "kraiskil__onnx2c/pytorch.onnx",
        "breizhn__DTLN/model_1.onnx",
        "Linzaer__Ultra-Light-Fast-Generic-Face-Detector-1MB/version-slim-320_simplified.onnx",
        "snakers4__silero-vad/silero_vad_16k_op15.onnx"}) {
    if (std::filesystem::exists(models + name)) expect_rounded_run(models + name, {}, true);
  }
}
