// SPDX-License-Identifier: Apache-2.0
// Operators whose operands are f16 in fp16 files (runtime/device/gpu/f16_activations.h): within
// f16's rounding of the CPU's answer to the same numbers in f32, each mixture of f16 and f32 that a
// row says it takes, the same bits in every order of threads, no bank conflict.
#include <doctest/doctest.h>

#include "kernels/cuda/cuda_kernels.h"
#include "runtime/base/checked_math.h"
#include "runtime/op/concat.h"
#include "runtime/op/conv2d.h"
#include "runtime/op/conv_transpose2d.h"
#include "runtime/op/elementwise.h"
#include "runtime/op/gather.h"
#include "runtime/op/linear.h"
#include "runtime/op/normalize.h"
#include "runtime/op/pool2d.h"
#include "runtime/op/reduce.h"
#include "runtime/op/resize.h"
#include "runtime/op/softmax.h"
#include "runtime/op/transpose.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Every mixture of `operands` that the row takes, and the last one's kernels; `least`: mixtures
/// that it has to take.
Run check_mixtures(const Work& plain, uint64_t operands, int least, int multiprocessors = 2,
                   bool each_variant = false) {
  GpuTraits traits;
  traits.multiprocessors = multiprocessors;
  Run last;
  int taken = 0;
  for (uint64_t mixture = operands; mixture; mixture = (mixture - 1) & operands) {
    CAPTURE(mixture);
    Work w = with_f16(plain, mixture);
    Work want_of = plain;  // the same numbers
    for (size_t i = 0; i < w.inputs.size(); i++)
      if (mixture >> i & 1) want_of.inputs[i] = with_type(w.inputs[i], DType::kF32);
    pack_f16_weights(&w);
    w.any_row = true;
    if ((f16_operands_of(w, traits) & mixture) != mixture) continue;
    taken++;
    const Tensor want = on_cpu(want_of);
    last = on_gpu(w, GpuPrecision::kFp16, 0, traits);
    REQUIRE(last.status.ok());
    check_close(last.y, want, check::kF16Product);
    for (const uint32_t order : {1u, 33u}) {
      int64_t at = -1;
      const bool same = on_gpu(w, GpuPrecision::kFp16, order, traits).y.same_bits(last.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
    }
    for (int variant = 0; each_variant && variant < last.variants; variant++) {
      CAPTURE(variant);
      check_close(on_gpu(w, GpuPrecision::kFp16, uint32_t(variant), traits, variant).y, want,
                  check::kF16Product);
    }
  }
  CHECK(taken >= least);
  return last;
}

constexpr uint64_t kX = 1, kResidual = 1 << 3, kY4 = 1 << 4;

struct F16Conv {
  const char* name;
  const char* kernel;  // of x in f16
  int64_t n, h, w, c, o;
  uint32_t kernel_size, stride, dilation = 1;
  bool residual_first = false;
  Activation activation = Activation::kNone;
  int64_t padding = 0;
  int multiprocessors = 2;
};

Work make_conv(const F16Conv& c, Conv2dAttributes* t, bool depthwise) {
  const uint32_t pad = c.kernel_size / 2;
  t->kernel_h = t->kernel_w = c.kernel_size, t->stride_h = t->stride_w = c.stride;
  t->dilation_h = t->dilation_w = c.dilation;
  t->pad_top = t->pad_left = t->pad_bottom = t->pad_right = pad;
  t->activation = {c.activation, 0.3f, 0.5f}, t->residual_first = c.residual_first;
  if (depthwise) t->method = ConvMethod::kDepthwise, t->groups = uint32_t(c.c);
  const int64_t o = depthwise ? c.c : c.o;
  const int64_t oh = conv_extent<int64_t>(c.h, 2 * pad, c.kernel_size, c.stride, c.dilation);
  const int64_t ow = conv_extent<int64_t>(c.w, 2 * pad, c.kernel_size, c.stride, c.dilation);
  Work w{OpCode::kConv2d, t, {}, Tensor(DType::kF32, {c.n, oh, ow, o}, c.padding)};
  const int64_t depth = int64_t(c.kernel_size) * c.kernel_size * (depthwise ? 1 : c.c);
  w.inputs = {Tensor(DType::kF32, {c.n, c.h, c.w, c.c}, c.padding).random(1),
              random_weights(depthwise ? Packing::kDepthwise16 : Packing::kPanels16,
                             {o, c.kernel_size, c.kernel_size, depthwise ? 1 : c.c}, 2, depth)
                  .packed,
              Tensor(DType::kF32, {o}, 0, Packing::kVector16).random(3),
              Tensor(DType::kF32, {c.n, oh, ow, o}, 2 * c.padding).random(4)};
  return w;
}

Run check_conv(const F16Conv& c, int least = 7) {
  INFO(c.name);
  Conv2dAttributes t;
  const Work w = make_conv(c, &t, false);
  const Run run =
      check_mixtures(w, kX | kResidual | kY4, least, c.multiprocessors, least == 7 && c.o < 64);
  // the last mixture is x alone, where x can be
  CHECK_MESSAGE(run.ran(c.kernel), run.kernels[0]);
  return run;
}

}  // namespace

TEST_CASE("tensor cores, f16 activations: groups of channels read f32 and write either") {
  const int64_t groups = 2, c = 64, o = 48;
  Conv2dAttributes t;
  t.kernel_h = t.kernel_w = 3, t.stride_h = t.stride_w = 1;
  t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = 1;
  t.method = ConvMethod::kGrouped, t.groups = groups;
  Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {1, 6, 7, o})};
  w.inputs = {Tensor(DType::kF32, {1, 6, 7, c}).random(1),
              random_weights(Packing::kDense, {o, 3, 3, c / groups}, 2, 9 * c / groups).packed,
              Tensor(DType::kF32, {o}, 0, Packing::kVector16).random(3),
              Tensor(DType::kF32, {1, 6, 7, o}).random(4)};
  CHECK(check_mixtures(w, kResidual | kY4, 3).ran("grouped"));
  GpuTraits traits;
  traits.multiprocessors = 2;
  CHECK((f16_operands_of(with_f16(w, kX), traits) & kX) == 0);
}

TEST_CASE("tensor cores, f16 activations: convolutions read words of two channels") {
  using A = Activation;
  const F16Conv cases[] = {
      {"3x3", "f16_shared_windows", 1, 9, 11, 16, 32, 3, 1},
      {"tails everywhere", "f16_shared_windows", 1, 7, 9, 24, 37, 3, 1},
      {"stride", "word_windows", 2, 11, 13, 8, 20, 3, 2},
      {"dilation", "word_windows", 1, 12, 13, 8, 48, 3, 1, 2},
      {"5x5", "word_windows", 1, 9, 9, 8, 64, 5, 1, 1, true, A::kRelu},
      {"1x1 with stride", "word_windows", 2, 9, 9, 40, 24, 1, 2},
      {"1x1", "word_rows", 1, 9, 9, 40, 24, 1, 1, 1, false, A::kSilu},
      {"1x1, batch, tails", "word_rows", 3, 5, 7, 40, 70, 1, 1},
      {"strided rows", "word_windows", 2, 6, 7, 16, 20, 3, 1, 2, true, A::kRelu, 8},
      {"y in single elements", "word_windows", 1, 6, 7, 16, 21, 3, 1, 2, true, A::kRelu, 8},
      {"wide tiles", "word_windows_128x64", 1, 28, 28, 16, 130, 3, 1, 2, false, A::kRelu, 0, 1},
      {"wide tiles of rows", "word_rows_128x64", 1, 24, 24, 16, 130, 1, 1, 1, false, A::kRelu, 0,
       1},
      {"flat tiles", "word_windows_32x128", 1, 4, 8, 16, 250, 3, 1},
      {"flat tiles of rows", "word_rows_32x128", 1, 4, 6, 16, 250, 1, 1},
  };
  for (const F16Conv& c : cases) check_conv(c);
  const F16Conv deep = {"k in parts", "add_splits",      1, 5, 5, 128, 40, 3, 1, 1,
                        true,         Activation::kRelu, 0, 64};
  CHECK(check_conv(deep).splits >= 4);
}

TEST_CASE(
    "tensor cores, f16 activations: what products do not read stays f32, and y and residual may be "
    "f16") {
  check_conv({"channels no multiple of eight", "windows", 1, 7, 9, 12, 24, 3, 1}, 3);
  check_conv({"the first layer", "first_", 1, 9, 9, 3, 24, 3, 2}, 3);
  check_conv({"rows no multiple of eight", "windows", 1, 7, 9, 16, 24, 3, 1, 1, false,
              Activation::kNone, 4},
             3);
  check_conv({"four rows", "product_skinny", 1, 2, 2, 64, 24, 1, 1}, 3);
}

TEST_CASE("tensor cores, f16 activations: linear") {
  LinearAttributes t;
  t.activation = {Activation::kGelu, 0, 0}, t.residual_first = true;
  for (const int64_t rows : {3, 70}) {
    CAPTURE(rows);
    Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {rows, 50})};
    w.inputs = {Tensor(DType::kF32, {rows, 72}).random(1),
                random_weights(Packing::kPanels16, {50, 72}, 2, 72).packed,
                Tensor(DType::kF32, {50}, 0, Packing::kVector16).random(3),
                Tensor(DType::kF32, {rows, 50}).random(4)};
    check_mixtures(w, kX | kResidual | kY4, rows > 4 ? 7 : 3);
  }
}

TEST_CASE("tensor cores, f16 activations: depthwise convolutions") {
  for (const uint32_t size : {3u, 5u, 7u})
    for (const uint32_t stride : {1u, 2u}) {
      CAPTURE(size);
      CAPTURE(stride);
      for (const int64_t channels : {20, 21}) {
        Conv2dAttributes t;
        const Work w = make_conv(
            {"", "", 2, 9, 11, channels, 0, size, stride, 1, size == 5, Activation::kRelu6}, &t,
            true);
        const Run run = check_mixtures(w, kX | kResidual | kY4, 7);
        CHECK(run.ran(size == 7 ? "depthwise_f16_any" : "depthwise_f16_"));
      }
    }
}

TEST_CASE("tensor cores, f16 activations: transposed convolutions") {
  for (const int64_t outputs : {12, 3}) {
    ConvTranspose2dAttributes t;
    t.kernel_h = t.kernel_w = 4, t.stride_h = t.stride_w = 2;
    t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = 1;
    t.activation = {Activation::kRelu, 0, 0};
    Work w{OpCode::kConvTranspose2d, &t, {}, Tensor(DType::kF32, {2, 10, 14, outputs})};
    w.inputs = {Tensor(DType::kF32, {2, 5, 7, 8}).random(1),
                random_weights(Packing::kPanels16, {outputs, 4, 4, 8}, 2, 128).packed,
                Tensor(DType::kF32, {outputs}, 0, Packing::kVector16).random(3)};
    check_mixtures(w, kX | 1 << 3, 3);
  }
}

TEST_CASE("tensor cores, f16 activations: pooling and means") {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage, PoolKind::kLp})
    for (const int64_t channels : {16, 7}) {
      Pool2dAttributes t;
      t.kind = kind, t.kernel_h = t.kernel_w = 3, t.stride_h = t.stride_w = 2;
      t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = 1;
      Work w{OpCode::kPool2d, &t, {}, Tensor(DType::kF32, {2, 4, 5, channels})};
      w.inputs = {Tensor(DType::kF32, {2, 8, 9, channels}).random(1)};
      check_mixtures(w, 3, 3);
    }
  for (const int64_t positions : {9, 200}) {  // in one launch, and in parts
    ReduceAttributes t;
    t.kind = ReduceKind::kMean, t.axes = 2;
    Work w{OpCode::kReduce, &t, {}, Tensor(DType::kF32, {2, 1, 24})};
    w.inputs = {Tensor(DType::kF32, {2, positions, 24}).random(1)};
    const Run run = check_mixtures(w, 3, 3);
    CHECK(run.kernels.size() == (positions > 64 ? 2 : 1));
    CHECK(run.ran("reduce_columns_f16"));
  }
  ReduceAttributes rows;
  rows.kind = ReduceKind::kSum, rows.axes = 2;
  Work w{OpCode::kReduce, &rows, {}, Tensor(DType::kF32, {4, 1})};
  w.inputs = {Tensor(DType::kF32, {4, 24}).random(1)};
  CHECK(f16_operands_of(w, {}) == 0);
}

TEST_CASE("tensor cores, f16 activations: rows") {
  NormalizeAttributes norm;
  norm.kind = NormKind::kLayer, norm.axis = 1, norm.epsilon = 1e-5f;
  for (const int64_t length : {40, 1300}) {  // held by half a warp, by a block
    Work w{OpCode::kNormalize, &norm, {}, Tensor(DType::kF32, {5, length})};
    w.inputs = {Tensor(DType::kF32, {5, length}).random(1), Tensor(DType::kF32, {length}).random(2),
                Tensor(DType::kF32, {length}).random(3)};
    check_mixtures(w, kX | 1 << 3, 3);
  }
  for (const uint32_t axis : {0u, 1u}) {
    SoftmaxAttributes softmax;
    softmax.axis = axis;
    Work w{OpCode::kSoftmax, &softmax, {}, Tensor(DType::kF32, {7, 33})};
    w.inputs = {Tensor(DType::kF32, {7, 33}).random(1)};
    check_mixtures(w, 3, 3);
  }
}

TEST_CASE("tensor cores, f16 activations: chains of steps") {
  ElementwiseAttributes t;
  t.step_count = 2;
  t.steps[0] = {ElementwiseOp::kMul, 0, 1, 0, 0, 0};
  t.steps[1] = {ElementwiseOp::kHardSwish, 2, 0, 0, 0, 0};
  for (const int64_t channels : {16, 7}) {
    Work w{OpCode::kElementwise, &t, {}, Tensor(DType::kF32, {2, 9, channels})};
    w.inputs = {Tensor(DType::kF32, {2, 9, channels}).random(1),
                Tensor(DType::kF32, {2, 1, channels}).random(2)};
    check_mixtures(w, 7, 7);
  }
}

TEST_CASE("tensor cores, f16 activations: movements, all operands or none") {
  ConcatAttributes concat;
  concat.axis = 2;
  Work w{OpCode::kConcat, &concat, {}, Tensor(DType::kF32, {2, 5, 20})};
  w.inputs = {Tensor(DType::kF32, {2, 5, 8}).random(1), Tensor(DType::kF32, {2, 5, 12}).random(2)};
  check_mixtures(w, 7, 1);
  TransposeAttributes transpose;
  transpose.rank = 3, transpose.perm[0] = 0, transpose.perm[1] = 2, transpose.perm[2] = 1;
  Work turned{OpCode::kTranspose, &transpose, {}, Tensor(DType::kF32, {2, 9, 20})};
  turned.inputs = {Tensor(DType::kF32, {2, 20, 9}).random(1)};
  check_mixtures(turned, 3, 1);
  ResizeAttributes resize;
  resize.mode = ResizeMode::kNearest, resize.rank = 4;
  resize.scales[0] = resize.scales[3] = 1, resize.scales[1] = resize.scales[2] = 2;
  Work larger{OpCode::kResize, &resize, {}, Tensor(DType::kF32, {1, 10, 14, 8})};
  larger.inputs = {Tensor(DType::kF32, {1, 5, 7, 8}).random(1)};
  check_mixtures(larger, 3, 1);
  resize.mode = ResizeMode::kLinear;
  CHECK(f16_operands_of(larger, {}) == 0);
}

TEST_CASE("tensor cores, f16 activations: gathered rows are moved, or rounded") {
  GatherAttributes gather;
  for (const int64_t length : {24, 7})
    for (const DType type : {DType::kI64, DType::kI32}) {
      Work w{OpCode::kGather, &gather, {}, Tensor(DType::kF32, {6, length})};
      Tensor indices(type, {6});
      for (int64_t i = 0; i < 6; i++) indices.set(i, double(i * 5 % 9 - 2));
      w.inputs = {Tensor(DType::kF32, {9, length}).random(1), indices};
      const bool is_short = length % 4 != 0;  // scales, say: f32 stays
      const Run run = check_mixtures(w, 1 | 1 << 2, is_short ? 1 : 2);
      // the last mixture: a table of f32, rows of f16
      CHECK(run.ran(is_short ? "gather_units" : "gather_as_halves"));
      indices.set(3, 9);
      w.inputs[1] = indices, w.output = with_type(w.output, DType::kF16), w.any_row = true;
      CHECK(on_gpu(w, GpuPrecision::kFp16, 0, {}).status.code() == Code::kBadIndexValue);
    }
}
