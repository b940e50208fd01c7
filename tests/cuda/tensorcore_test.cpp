// SPDX-License-Identifier: Apache-2.0
// Products in tf32 and f16 on a GPU, emulated or the machine's, against the CPU's exact ones, by
// the tolerance table; the same bits in every order of threads; no bank conflict in a main loop;
// which kernel and how many splits for which extents.
#include <doctest/doctest.h>

#include "runtime/base/checked_math.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/f16_weights.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// The same with weights as a session gives them to products in f16.
Work with_f16_weights(const Work& w) {
  Work to = w;
  const TensorView& panels = w.inputs[1].view();
  to.inputs[1].view().dtype = DType::kF16;
  int64_t k = 1;
  for (int i = 1; i < panels.rank; i++) k *= panels.dims[i];
  for (int64_t panel = 0; panel < ceil_div(panels.dims[0], kPanel); panel++)
    make_f16_weights(panels.as<const uint8_t>() + panel * k * 64, size_t(k),
                     to.inputs[1].view().as<uint8_t>() + panel * ceil_div(k, 2) * 64);
  return to;
}

/// In f16, packed weights; both the same bits as with f32 panels, but for few rows, where f32
/// panels are not rounded.
void check_f16_weights(const Work& w, GpuTraits traits, const Tensor& want) {
  const Work paired = with_f16_weights(w);
  const Run run = on_gpu(paired, GpuPrecision::kFp16, 0, traits);
  CHECK(run.status.ok());
  check_close(run.y, want, check::kF16Product);
  int64_t at = -1;
  for (uint32_t order : {1u, 33u}) {
    const bool same = on_gpu(paired, GpuPrecision::kFp16, order, traits).y.same_bits(run.y, &at);
    CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
  }
  const Run plain = on_gpu(w, GpuPrecision::kFp16, 0, traits);
  CHECK(plain.splits == run.splits);
  CHECK(run.ran("_packed_f16") == (plain.ran("one_row") || plain.ran("product_skinny")));
  if (run.ran("_packed_f16")) return;
  CHECK(!run.ran("_any_"));
  const bool same = run.y.same_bits(plain.y, &at);
  CHECK_MESSAGE(same, "element " << at << " is not that of f32 panels");
}

/// Both precisions; several orders of threads, few and many multiprocessors. Returns what ran last
/// in tf32 on `multiprocessors`.
Run check_product(const Work& w, int multiprocessors = 2) {
  const Tensor want = on_cpu(w);
  Run last;
  for (GpuPrecision precision : {GpuPrecision::kFp16, GpuPrecision::kFast}) {
    CAPTURE(int(precision));
    GpuTraits traits;
    traits.multiprocessors = multiprocessors;
    last = on_gpu(w, precision, 0, traits);
    CHECK(last.status.ok());
    check_close(last.y, want,
                precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
    for (uint32_t order : {1u, 33u}) {
      CAPTURE(order);
      int64_t at = -1;
      const bool same = on_gpu(w, precision, order, traits).y.same_bits(last.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
    // Every other variant: within the tolerance as well, and not the one that the model takes.
    for (int variant = 0; variant < last.variants; variant++) {
      CAPTURE(variant);
      const Run other = on_gpu(w, precision, uint32_t(variant), traits, variant);
      check_close(other.y, want,
                  precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
      // but for tiles that share windows, which are one kernel
      if (variant == 0 || !other.ran("shared_windows"))
        CHECK((other.kernels[0] == last.kernels[0] && other.splits == last.splits) ==
              (variant == 0));
    }
  }
  if (w.inputs[1].view().packing == Packing::kPanels16) {
    GpuTraits traits;
    traits.multiprocessors = multiprocessors;
    check_f16_weights(w, traits, want);
  }
  return last;
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
  uint32_t groups = 1;
};

Run run_conv(const ConvCase& c) {
  INFO(c.name);
  Conv2dAttributes t;
  t.kernel_h = c.kernel_h, t.kernel_w = c.kernel_w, t.stride_h = t.stride_w = c.stride,
  t.dilation_h = t.dilation_w = c.dilation;
  t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = c.pad;
  t.activation = {c.activation, 0.3f, c.activation == Activation::kClip ? 3.0f : 0.5f},
  t.residual_first = c.residual == 1;
  t.input_layout = c.planes ? ChannelLayout::kNchw : ChannelLayout::kNhwc;
  const int64_t oh = conv_extent(c.h, 2 * c.pad, c.kernel_h, c.stride, c.dilation);
  const int64_t ow = conv_extent(c.w, 2 * c.pad, c.kernel_w, c.stride, c.dilation);
  const std::vector<int64_t> dims = c.planes ? std::vector<int64_t>{c.n, c.c, c.h, c.w}
                                             : std::vector<int64_t>{c.n, c.h, c.w, c.c};
  Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {c.n, oh, ow, c.o}, c.padding)};
  w.inputs.push_back(Tensor(DType::kF32, dims, c.padding).random(1));
  t.groups = c.groups, t.method = c.groups > 1 ? ConvMethod::kGrouped : ConvMethod::kDirect;
  w.inputs.push_back(random_weights(c.groups > 1 ? Packing::kDense : Packing::kPanels16,
                                    {c.o, c.kernel_h, c.kernel_w, c.c / c.groups}, 2,
                                    int64_t(c.kernel_h) * c.kernel_w * c.c / c.groups)
                         .packed);
  w.inputs.push_back(c.bias ? Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3)
                            : Tensor());
  if (c.residual)
    w.inputs.push_back(Tensor(DType::kF32, {c.n, oh, ow, c.o}, 2 * c.padding).random(4));
  const Run run = check_product(w, c.multiprocessors);
  CHECK_MESSAGE(run.ran(c.kernel), run.kernels[0]);
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
      {"15 rows of taps", "windows", 1, 20, 6, 4, 17, 15, 1, 1, 7},
      {"more rows than a mask", "first_", 1, 20, 6, 4, 17, 16, 1, 1, 7},
      {"wider than a mask", "first_", 1, 3, 40, 4, 17, 1, 17, 1, 8},
      {"1x1", "rows", 1, 9, 9, 36, 24, 1, 1, 1, 0},
      {"1x1, batch, tails", "rows", 3, 5, 7, 40, 70, 1, 1, 1, 0},
      {"first layer", "first_", 1, 19, 21, 3, 33, 3, 3, 2, 1},
      {"first layer of 7x7", "first_", 1, 19, 23, 3, 16, 7, 7, 2, 3},
      {"one channel", "first_", 2, 9, 9, 1, 8, 3, 3, 1, 1},
      {"more words than a table", "first_", 1, 12, 14, 7, 20, 7, 7, 1, 3},
      {"wider than a mask, many rings", "first_", 1, 4, 60, 3, 17, 3, 40, 1, 20, 2},
      {"planes", "first_", 2, 9, 11, 5, 20, 3, 3, 1, 1, 1, 0, A::kNone, 0, true},
      {"strided rows", "windows", 2, 6, 7, 12, 20, 3, 3, 1, 1, 1, 1, A::kRelu, 4},
      {"unaligned rows", "first_", 2, 6, 7, 12, 20, 3, 3, 1, 1, 1, 1, A::kRelu, 3},
      {"no bias", "windows", 1, 7, 9, 8, 16, 3, 3, 1, 1, 1, 0, A::kNone, 0, false, false},
      {"residual, then activation", "windows", 1, 7, 9, 8, 18, 3, 3, 1, 1, 1, 1, A::kRelu},
      {"activation, then residual", "windows", 1, 7, 9, 8, 18, 3, 3, 1, 1, 1, 2, A::kSilu},
      {"wide tiles", "windows_128x64", 1, 24, 24, 16, 130, 3, 3, 1, 2, 2, 2, A::kRelu, 0, false,
       true, 1},
      {"wide tiles of rows", "rows_128x64", 1, 24, 24, 16, 130, 1, 1, 1, 0, 1, 0, A::kRelu, 0,
       false, true, 1},
      {"wide tiles of a first layer", "first_128x64", 1, 24, 24, 3, 130, 3, 3, 1, 1, 1, 0, A::kRelu,
       0, false, true, 1},
      {"wide tiles, more words than a table", "first_128x64", 1, 24, 24, 7, 130, 7, 7, 1, 3},
      {"wide tiles, wider than a mask", "first_128x64", 1, 20, 24, 5, 130, 1, 17, 1, 8},
      {"flat tiles", "windows_32x128", 1, 4, 8, 16, 250, 3, 3, 1, 1},
      {"flat tiles of rows", "rows_32x128", 1, 4, 6, 16, 250, 1, 1, 1, 0},
  };
  for (const ConvCase& c : cases) run_conv(c);
}

TEST_CASE("tensor cores: groups of channels") {
  using A = Activation;
  const auto grouped = [](const char* name, const char* kernel, int64_t h, int64_t c, int64_t o,
                          uint32_t groups, uint32_t size, uint32_t stride, int residual,
                          A activation, int64_t padding = 0, int multiprocessors = 2) {
    return ConvCase{name, kernel,          2,        h, h + 2,    c,          o,       size,
                    size, stride,          size / 2, 1, residual, activation, padding, false,
                    true, multiprocessors, groups};
  };
  run_conv(grouped("16 channels of 2 groups", "grouped", 7, 32, 32, 2, 3, 1, 0, A::kNone));
  run_conv(grouped("wider out than in", "grouped", 7, 48, 120, 3, 3, 1, 2, A::kRelu));
  run_conv(grouped("outputs no multiple of four", "grouped", 6, 40, 42, 2, 3, 1, 1, A::kSilu, 4));
  run_conv(grouped("stride, 5x5", "grouped", 9, 64, 64, 4, 5, 2, 1, A::kRelu));
  run_conv(grouped("1x1", "grouped", 9, 64, 256, 4, 1, 1, 0, A::kGelu));
  run_conv(grouped("one output a group", "grouped", 5, 64, 4, 4, 3, 1, 0, A::kNone));
  run_conv(grouped("more outputs than a tile", "grouped", 5, 32, 200, 2, 3, 1, 2, A::kNone));
  CHECK(run_conv(grouped("k in parts", "add_splits", 4, 128, 64, 2, 3, 1, 1, A::kRelu, 0, 64))
            .splits > 1);
}

TEST_CASE("tensor cores: small and unaligned groups are the exact row's, bit for bit") {
  for (const int64_t c : {int64_t(24), int64_t(54)}) {
    Conv2dAttributes t;
    t.kernel_h = t.kernel_w = 3, t.groups = 3, t.method = ConvMethod::kGrouped;
    Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {1, 4, 5, 27})};
    w.inputs = {Tensor(DType::kF32, {1, 6, 7, c}).random(1),
                random_weights(Packing::kDense, {27, 3, 3, c / 3}, 2, 9 * c / 3).packed};
    const Run run = on_gpu(w, GpuPrecision::kFp16, 0, {});
    CHECK(!run.ran("product"));
    int64_t at = -1;
    CHECK(run.y.same_bits(on_cpu(w), &at));
  }
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
  const ConvCase first = {"deep first layer",
                          "add_splits",
                          1,
                          12,
                          12,
                          7,
                          16,
                          9,
                          9,
                          1,
                          0,
                          1,
                          0,
                          Activation::kNone,
                          0,
                          false,
                          true,
                          64};
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
      {"one_row", {1}, 64, 48, 0},         {"one_row", {1}, 1000, 37, 0, 64},
      {"product_skinny", {3}, 132, 21, 0}, {"product_skinny", {2, 2}, 2048, 40, 4, 64},
      {"first_", {2}, 67, 40, 0},          {"rows_32x128", {30}, 64, 200, 0},
      {"rows", {2, 35}, 68, 70, 4},        {"first_", {40}, 35, 20, 1},
      {"rows_64x64", {64}, 36, 64, 0},
  };
  for (const LinearCase& c : cases) {
    CAPTURE(c.k);
    LinearAttributes t;
    t.activation = {Activation::kGelu, 0, 0}, t.residual_first = c.padding != 0;
    std::vector<int64_t> x = c.rows, y = c.rows;
    x.push_back(c.k), y.push_back(c.o);
    Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, y, c.padding)};
    w.inputs = {Tensor(DType::kF32, x, c.padding).random(1),
                random_weights(Packing::kPanels16, {c.o, c.k}, 2, c.k).packed,
                Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3),
                Tensor(DType::kF32, y, c.padding).random(4)};
    const Run run = check_product(w, c.multiprocessors);
    CHECK_MESSAGE(run.ran(c.kernel), run.kernels[0]);
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
      // outputs beyond the last are none of the next operand's
      {"transposed", {}, {}, {}, 40, 64, 3, false, true},
      {"transposed", {}, {}, {}, 40, 64, 2, false, true},
      {"transposed", {}, {}, {}, 40, 64, 1, false, true},
      {"any", {2}, {2}, {2}, 20, 36, 21},
      {"any", {2}, {2}, {2}, 20, 37, 21, false, true},
      {"any", {}, {}, {}, 70, 501, 21, true, true},
      {"any", {2}, {}, {2}, 20, 36, 24, true, false},
      {"any", {}, {2}, {2}, 19, 35, 23, true, true, 3},
      {"one_row", {2}, {2}, {2}, 1, 100, 40},
      {"product_skinny", {2}, {2}, {2}, 4, 100, 40, false, false, 4},
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
    CHECK_MESSAGE(run.ran(c.kernel), run.kernels[0]);
  }
}

TEST_CASE("tensor cores: a sum of nothing is zero, however the operands lie") {
  for (const bool trans_a : {false, true})
    for (const bool trans_b : {false, true})
      for (const int64_t m : {int64_t(3), int64_t(40)}) {
        CAPTURE(trans_a);
        CAPTURE(trans_b);
        CAPTURE(m);
        MatMulAttributes t;
        t.trans_a = trans_a, t.trans_b = trans_b;
        Work w{OpCode::kMatMul, &t, {}, Tensor(DType::kF32, {m, 5})};
        const auto dims = [](int64_t rows, int64_t columns, bool swap) {
          return swap ? std::vector<int64_t>{columns, rows} : std::vector<int64_t>{rows, columns};
        };
        w.inputs = {Tensor(DType::kF32, dims(m, 0, trans_a)),
                    Tensor(DType::kF32, dims(0, 5, trans_b))};
        const Run run = on_gpu(w, GpuPrecision::kFast, 0, {});
        CHECK(run.status.ok());
        for (int64_t i = 0; i < m * 5; i++) REQUIRE(run.y.at(i) == 0);
      }
}
