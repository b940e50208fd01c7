// SPDX-License-Identifier: Apache-2.0
// Kernels of products copy their first weights before the launches in front of them have ended,
// where weights are constants; on_gpu() makes what is none poison to them until then.
#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/op/conv2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// The most copies that a run has made early: on_gpu() has runs without constants, too.
uint64_t early_copies(const Work& w, GpuPrecision precision, const char* kernel) {
  uint64_t most = 0;
  bool none = false;
  GpuTraits traits;
  traits.multiprocessors = 2;
  for (uint32_t order = 0; order < 4; order++) {
    const Run run = on_gpu(w, precision, order, traits);
    CHECK(run.status.ok());
    CHECK_MESSAGE(run.ran(kernel), run.kernels[0]);
    most = std::max(most, run.early_copies), none = none || run.early_copies == 0;
  }
  CHECK(none);
  return most;
}

Work convolution(const Conv2dAttributes& t, int64_t size, int64_t c, int64_t o) {
  Work w{OpCode::kConv2d, &t, {}, Tensor(DType::kF32, {1, size, size, o})};
  w.inputs = {Tensor(DType::kF32, {1, size, size, c}).random(1),
              random_weights(Packing::kPanels16, {o, t.kernel_h, t.kernel_w, c}, 2,
                             int64_t(t.kernel_h) * t.kernel_w * c)
                  .packed,
              Tensor(DType::kF32, {o}, 0, Packing::kVector16).random(3)};
  w.any_row = true;
  return w;
}

}  // namespace

TEST_CASE("early weights: convolutions and linear layers, exact and on tensor cores") {
  Conv2dAttributes t;
  t.kernel_h = t.kernel_w = 3, t.pad_top = t.pad_left = t.pad_bottom = t.pad_right = 1;
  const Work windows = convolution(t, 12, 32, 64);
  CHECK(early_copies(windows, GpuPrecision::kExact, "conv2d_") > 0);
  CHECK(early_copies(windows, GpuPrecision::kFast, "product_tf32") > 0);
  Work halves = windows;
  pack_f16_weights(&halves);
  CHECK(early_copies(halves, GpuPrecision::kFp16, "product_f16_windows") > 0);
  // x as f16: words of two channels
  CHECK(early_copies(with_f16(halves, 1), GpuPrecision::kFp16, "product_f16") > 0);
  LinearAttributes linear;
  Work rows{OpCode::kLinear, &linear, {}, Tensor(DType::kF32, {40, 48})};
  rows.inputs = {Tensor(DType::kF32, {40, 64}).random(1),
                 random_weights(Packing::kPanels16, {48, 64}, 2, 64).packed};
  rows.any_row = true;
  CHECK(early_copies(rows, GpuPrecision::kFast, "product_tf32_rows") > 0);
  rows.output = Tensor(DType::kF32, {5, 48});
  rows.inputs[0] = Tensor(DType::kF32, {5, 64}).random(1);
  CHECK(early_copies(rows, GpuPrecision::kExact, "skinny") > 0);
}

TEST_CASE("early weights: the factor of a product of two activations that may be written is none") {
  MatMulAttributes t;
  Work w{OpCode::kMatMul, &t, {}, Tensor(DType::kF32, {40, 48})};
  w.inputs = {Tensor(DType::kF32, {40, 64}).random(1), Tensor(DType::kF32, {64, 48}).random(2)};
  CHECK(early_copies(w, GpuPrecision::kFast, "product_tf32") > 0);  // constant, and not
}
