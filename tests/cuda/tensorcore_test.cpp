// Products in tf32 and f16 on the emulated GPU against the CPU's exact ones, by the tolerance table; the same bits in every order of
// threads; no bank conflict in a main loop; which kernel and how many splits for which extents.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/emulate/emulated_kernels.h"
#include "kernels/cuda/emulate/emulator.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "tests/conformance/weights.h"
#include "tools/check/tolerance.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Work {
  OpCode op;
  const void* attributes;
  std::vector<Tensor> inputs;
  Tensor output;
};

OpArguments arguments_of(const Work& w, const std::vector<TensorView>& views, const TensorView& y) {
  OpArguments a;
  a.attributes = w.attributes, a.inputs = views.data(), a.input_count = uint16_t(views.size()), a.outputs = &y,
  a.output_count = 1;
  return a;
}
std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  for (const Tensor& t : tensors) views.push_back(t.view());
  return views;
}

Tensor on_cpu(const Work& w) {
  Tensor y = w.output;
  y.poison();
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, y.view());
  const KernelEntry* kernel = find_kernel(*cpu_kernels("scalar"), w.op, a);
  REQUIRE(kernel != nullptr);
  Violation violation;
  REQUIRE_MESSAGE(kernel->contract->check(a, &violation), violation.rule);
  const ScratchNeed need = kernel->contract->scratch ? kernel->contract->scratch(a, 1) : ScratchNeed{};
  std::vector<uint8_t> own(need.per_thread_bytes + 64), shared(need.shared_bytes + 64);
  const auto aligned = [](std::vector<uint8_t>& m) {
    return m.data() + (64 - reinterpret_cast<uintptr_t>(m.data()) % 64) % 64;
  };
  Team team;
  team.scratch = aligned(own), team.shared = aligned(shared);
  CHECK(kernel->run(a, team).ok());
  return y;
}

struct Run {
  Tensor y;
  std::vector<std::string> kernels;
  uint32_t splits = 1;
};

Run on_gpu(const Work& w, GpuPrecision precision, uint32_t order, GpuTraits traits) {
  Run run{w.output, {}, 1};
  run.y.poison();
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, run.y.view());
  const GpuRow* row = find_gpu_row(ingot_cuda_kernel_set, w.op, a, traits, precision);
  REQUIRE(row != nullptr);
  REQUIRE(std::string(row->name).find("tensorcore") != std::string::npos);
  constexpr size_t kGuard = 256;
  const uint64_t bytes = row->scratch ? row->scratch(a, traits, precision) : 0;
  std::vector<uint8_t> scratch(bytes + 256 + kGuard, 0xa5);
  uint32_t fault = 0;
  GpuWork work;
  work.arguments = &a, work.traits = traits, work.precision = precision, work.fault = &fault, work.fault_value = 1;
  work.scratch = scratch.data() + (256 - reinterpret_cast<uintptr_t>(scratch.data()) % 256) % 256,
  work.scratch_bytes = bytes;
  work.sink = {&run, [](void* user, const GpuLaunch& l) {
                 static_cast<Run*>(user)->kernels.push_back(ingot_cuda_kernel_set.kernels[l.kernel].name);
                 static_cast<Run*>(user)->splits = std::max(static_cast<Run*>(user)->splits, l.grid_y);
                 return cuda::emulate::run_launch(l);
               }};
  cuda::emulate::set_order(order);
  cuda::emulate::counts = {};
  CHECK(row->plan(work).ok());
  cuda::emulate::set_order(0);
  CHECK(cuda::emulate::counts.bank_conflicts == 0);
  for (size_t i = 0; i < kGuard && bytes + i < scratch.size() - size_t(work.scratch - scratch.data()); i++)
    REQUIRE(work.scratch[bytes + i] == 0xa5);
  CHECK(run.y.guard_fault() == "");
  for (const Tensor& t : w.inputs) CHECK(t.guard_fault() == "");
  return run;
}

void check_close(const Tensor& got, const Tensor& want, check::Tolerance tolerance) {
  double largest = 0, worst = 0;
  for (int64_t i = 0; i < want.view().elements(); i++) largest = std::max(largest, std::fabs(want.at(i)));
  for (int64_t i = 0; i < want.view().elements(); i++) {
    const double error = std::fabs(got.at(i) - want.at(i));
    worst = error <= worst ? worst : error;
    if (std::isnan(got.at(i))) worst = 1e30;
  }
  CHECK_MESSAGE(worst <= tolerance.relative * largest + tolerance.absolute, "off by " << worst << " of " << largest);
}

/// Both precisions; several orders of threads, few and many multiprocessors. Returns what ran last in tf32 on `multiprocessors`.
Run check_product(const Work& w, int multiprocessors = 2) {
  const Tensor want = on_cpu(w);
  Run last;
  for (GpuPrecision precision : {GpuPrecision::kFp16, GpuPrecision::kFast}) {
    CAPTURE(int(precision));
    GpuTraits traits;
    traits.multiprocessors = multiprocessors;
    last = on_gpu(w, precision, 0, traits);
    check_close(last.y, want, precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
    for (uint32_t order : {1u, 33u}) {
      CAPTURE(order);
      int64_t at = -1;
      const bool same = on_gpu(w, precision, order, traits).y.same_bits(last.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
  }
  return last;
}

bool ran(const Run& run, const std::string& name) {
  for (const std::string& k : run.kernels)
    if (k.find(name) != std::string::npos) return true;
  return false;
}

struct ConvCase {
  const char* name;
  const char* kernel;
  int64_t n, h, w, c, o;
  uint32_t kernel_h, kernel_w, stride, pad, dilation = 1;
  int residual = 0;  // 1: before, 2: after the activation
  Activation activation = Activation::kNone;
  int64_t padding = 0;
  bool planes = false, bias = true;
  int multiprocessors = 2;
};

Run run_conv(const ConvCase& c) {
  INFO(c.name);
  Conv2dAttributes t;
  t.kernel_h = c.kernel_h, t.kernel_w = c.kernel_w, t.stride_h = t.stride_w = c.stride,
  t.dilation_h = t.dilation_w = c.dilation;
  t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = c.pad;
  t.activation = {c.activation, 0.3f, c.activation == Activation::kClip ? 3.0f : 0.5f},
  t.residual_first = c.residual == 1;
  t.input_layout = c.planes ? PictureLayout::kNchw : PictureLayout::kNhwc;
  const int64_t oh = conv_extent(c.h, 2 * c.pad, c.kernel_h, c.stride, c.dilation);
  const int64_t ow = conv_extent(c.w, 2 * c.pad, c.kernel_w, c.stride, c.dilation);
  const std::vector<int64_t> dims =
      c.planes ? std::vector<int64_t>{c.n, c.c, c.h, c.w} : std::vector<int64_t>{c.n, c.h, c.w, c.c};
  Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {c.n, oh, ow, c.o}, c.padding)};
  w.inputs.push_back(Tensor(DType::kF32, dims, c.padding).random(1));
  w.inputs.push_back(
      random_weights(Packing::kPanels16, {c.o, c.kernel_h, c.kernel_w, c.c}, 2, int64_t(c.kernel_h) * c.kernel_w * c.c)
          .packed);
  w.inputs.push_back(c.bias ? Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3) : Tensor());
  if (c.residual) w.inputs.push_back(Tensor(DType::kF32, {c.n, oh, ow, c.o}, 2 * c.padding).random(4));
  const Run run = check_product(w, c.multiprocessors);
  CHECK_MESSAGE(ran(run, c.kernel), run.kernels[0]);
  return run;
}

}  // namespace

TEST_CASE("tensor cores: convolutions of every shape class") {
  using A = Activation;
  const ConvCase cases[] = {
      {"3x3", "windows", 1, 9, 11, 16, 32, 3, 3, 1, 1},
      {"tails everywhere", "windows", 1, 7, 9, 20, 37, 3, 3, 1, 1},
      {"stride", "windows", 2, 11, 13, 8, 20, 3, 3, 2, 1},
      {"dilation", "windows", 1, 12, 13, 8, 48, 3, 3, 1, 2, 2},
      {"no pad, 5x5", "windows", 1, 9, 9, 4, 64, 5, 5, 1, 0},
      {"1x1 with stride", "windows", 2, 9, 9, 36, 24, 1, 1, 2, 0},
      {"a kernel of 16", "windows", 1, 16, 40, 4, 17, 1, 16, 1, 8},
      {"wider than a mask", "first_", 1, 3, 40, 4, 17, 1, 17, 1, 8},
      {"1x1", "rows", 1, 9, 9, 36, 24, 1, 1, 1, 0},
      {"1x1, batch, tails", "rows", 3, 5, 7, 40, 70, 1, 1, 1, 0},
      {"first layer", "first_", 1, 19, 21, 3, 33, 3, 3, 2, 1},
      {"first layer of 7x7", "first_", 1, 19, 23, 3, 16, 7, 7, 2, 3},
      {"one channel", "first_", 2, 9, 9, 1, 8, 3, 3, 1, 1},
      {"planes", "first_", 2, 9, 11, 5, 20, 3, 3, 1, 1, 1, 0, A::kNone, 0, true},
      {"strided rows", "windows", 2, 6, 7, 12, 20, 3, 3, 1, 1, 1, 1, A::kRelu, 4},
      {"unaligned rows", "first_", 2, 6, 7, 12, 20, 3, 3, 1, 1, 1, 1, A::kRelu, 3},
      {"no bias", "windows", 1, 7, 9, 8, 16, 3, 3, 1, 1, 1, 0, A::kNone, 0, false, false},
      {"residual, then activation", "windows", 1, 7, 9, 8, 18, 3, 3, 1, 1, 1, 1, A::kRelu},
      {"activation, then residual", "windows", 1, 7, 9, 8, 18, 3, 3, 1, 1, 1, 2, A::kSilu},
      {"wide tiles", "windows_128x64", 1, 24, 24, 16, 130, 3, 3, 1, 1, 1, 2, A::kRelu, 0, false, true, 1},
      {"wide tiles of rows", "rows_128x64", 1, 24, 24, 16, 130, 1, 1, 1, 0, 1, 0, A::kRelu, 0, false, true, 1},
      {"wide tiles of a first layer", "first_128x64", 1, 24, 24, 3, 130, 3, 3, 1, 1, 1, 0, A::kRelu, 0, false, true, 1},
      {"flat tiles", "windows_32x128", 1, 4, 8, 16, 250, 3, 3, 1, 1},
      {"flat tiles of rows", "rows_32x128", 1, 4, 6, 16, 250, 1, 1, 1, 0},
  };
  for (const ConvCase& c : cases) run_conv(c);
}

TEST_CASE("tensor cores: every activation of an epilogue") {
  for (int kind = 0; kind < int(Activation::kPrelu); kind++) {
    CAPTURE(kind);
    run_conv({"activation", "rows", 1, 3, 7, 16, 20, 1, 1, 1, 0, 1, kind % 3, Activation(kind)});
  }
}

TEST_CASE("tensor cores: k in parts, added in their order") {
  const ConvCase deep = {"deep", "add_splits",      1, 5,     5,    64, 40, 3, 3, 1, 1, 1,
                         1,      Activation::kRelu, 0, false, true, 64};
  CHECK(run_conv(deep).splits >= 4);
  const ConvCase uneven = {"uneven", "add_splits",      1, 5,     5,    84, 33, 3, 3, 1, 1, 1,
                           2,        Activation::kGelu, 1, false, true, 64};
  CHECK(run_conv(uneven).splits > 1);
  const ConvCase first = {
      "deep first layer", "add_splits", 1, 12, 12, 7, 16, 9, 9, 1, 0, 1, 0, Activation::kNone, 0, false, true, 64};
  CHECK(run_conv(first).splits > 1);
}

TEST_CASE("tensor cores: linear") {
  struct LinearCase {
    const char* kernel;
    std::vector<int64_t> rows;
    int64_t k, o, padding;
    int multiprocessors = 2;
  };
  const LinearCase cases[] = {
      {"one_row", {1}, 64, 48, 0},           {"one_row", {1}, 1000, 37, 0, 64}, {"few_rows", {3}, 132, 21, 0},
      {"few_rows", {2, 2}, 2048, 40, 4, 64}, {"first_", {2}, 67, 40, 0},        {"rows_32x128", {30}, 64, 200, 0},
      {"rows", {2, 35}, 68, 70, 4},          {"first_", {40}, 35, 20, 1},       {"rows_64x64", {64}, 36, 64, 0},
  };
  for (const LinearCase& c : cases) {
    CAPTURE(c.k);
    LinearAttributes t;
    t.activation = {Activation::kGelu, 0, 0}, t.residual_first = c.padding != 0;
    std::vector<int64_t> x = c.rows, y = c.rows;
    x.push_back(c.k), y.push_back(c.o);
    Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, y, c.padding)};
    w.inputs = {
        Tensor(DType::kF32, x, c.padding).random(1), random_weights(Packing::kPanels16, {c.o, c.k}, 2, c.k).packed,
        Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3), Tensor(DType::kF32, y, c.padding).random(4)};
    const Run run = check_product(w, c.multiprocessors);
    CHECK_MESSAGE(ran(run, c.kernel), run.kernels[0]);
    if (c.multiprocessors > 2) CHECK(run.splits > 1);
  }
}

TEST_CASE("tensor cores: products of two activations, batches broadcast") {
  struct MatMulCase {
    const char* kernel;
    std::vector<int64_t> a, b, y;  // batch dims
    int64_t m, k, n;
    bool trans_a = false, trans_b = false;
    int64_t padding = 0;
  };
  const MatMulCase cases[] = {
      {"rows", {}, {}, {}, 33, 20, 44},
      {"rows", {2, 3}, {2, 3}, {2, 3}, 17, 36, 20},
      {"rows", {2, 1}, {3}, {2, 3}, 17, 36, 20},
      {"transposed", {3}, {3}, {3}, 40, 64, 40, false, true},
      {"transposed", {2, 3}, {3}, {2, 3}, 70, 36, 50, false, true},
      {"transposed_128x64", {}, {}, {}, 130, 36, 150, false, true},
      {"any", {2}, {2}, {2}, 20, 36, 21},
      {"any", {2}, {2}, {2}, 20, 37, 21, false, true},
      {"any", {2}, {}, {2}, 20, 36, 24, true, false},
      {"any", {}, {2}, {2}, 19, 35, 23, true, true, 3},
      {"one_row", {2}, {2}, {2}, 1, 100, 40},
      {"few_rows", {2}, {2}, {2}, 4, 100, 40, false, false, 4},
      {"any", {2}, {2}, {2}, 1, 100, 40, false, true, 1},
  };
  for (const MatMulCase& c : cases) {
    CAPTURE(c.m);
    CAPTURE(c.k);
    CAPTURE(c.n);
    MatMulAttributes t;
    t.trans_a = c.trans_a, t.trans_b = c.trans_b, t.alpha = 0.37f;
    const auto with = [](std::vector<int64_t> dims, int64_t rows, int64_t columns, bool swap) {
      dims.push_back(swap ? columns : rows), dims.push_back(swap ? rows : columns);
      return dims;
    };
    Work w{OpCode::kMatMul, &t, {}, Tensor(DType::kF32, with(c.y, c.m, c.n, false), c.padding)};
    w.inputs = {Tensor(DType::kF32, with(c.a, c.m, c.k, c.trans_a), c.padding).random(1),
                Tensor(DType::kF32, with(c.b, c.k, c.n, c.trans_b), c.padding).random(2)};
    const Run run = check_product(w, c.m > 128 ? 1 : 2);
    CHECK_MESSAGE(ran(run, c.kernel), run.kernels[0]);
  }
}

TEST_CASE("tensor cores: which GPU takes which type; what the exact rows keep") {
  LinearAttributes t;
  Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {40, 32})};
  w.inputs = {Tensor(DType::kF32, {40, 16}).random(1), random_weights(Packing::kPanels16, {32, 16}, 2, 16).packed};
  GpuTraits traits;
  traits.sm = 75;
  CHECK(ran(on_gpu(w, GpuPrecision::kFast, 0, traits), "f16"));
  traits.sm = 80;
  CHECK(ran(on_gpu(w, GpuPrecision::kFast, 0, traits), "tf32"));
  CHECK(ran(on_gpu(w, GpuPrecision::kFp16, 0, traits), "f16"));
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, w.output.view());
  const auto is_ours = [&](int sm, GpuPrecision precision) {
    traits.sm = sm;
    const GpuRow* row = find_gpu_row(ingot_cuda_kernel_set, OpCode::kLinear, a, traits, precision);
    return row && std::string(row->name) == "linear_tensorcore";
  };
  CHECK(!is_ours(72, GpuPrecision::kFast));
  CHECK(!is_ours(87, GpuPrecision::kExact));
  CHECK(is_ours(87, GpuPrecision::kFast));
}
