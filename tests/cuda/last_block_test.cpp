// SPDX-License-Identifier: Apache-2.0
// k in parts, added by the last block of each tile: one launch less, the bits of add_splits in
// every order of blocks, and counters that are zero again (on_gpu() looks).
#include <doctest/doctest.h>

#include "runtime/op/conv2d.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul.h"
#include "tests/conformance/weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

/// Every variant with parts, with counters and without; how many of them had no launch of their own
/// for the sum.
int check_parts(const Work& w, GpuPrecision precision) {
  GpuTraits traits;
  traits.multiprocessors = 64;
  Work counted = w;
  counted.counters = true;
  int in_last_block = 0;
  const int variants = on_gpu(w, precision, 0, traits).variants;
  for (int variant = 0; variant < variants; variant++) {
    const Run apart = on_gpu(w, precision, 0, traits, variant);
    if (apart.splits == 1) continue;
    CAPTURE(apart.kernels[0]);
    CAPTURE(apart.splits);
    CHECK(apart.ran("add_splits"));
    for (uint32_t order : {0u, 1u, 33u}) {
      CAPTURE(order);
      const Run last = on_gpu(counted, precision, order, traits, variant);
      CHECK(last.splits == apart.splits);
      CHECK(last.kernels.size() + !last.ran("add_splits") == apart.kernels.size());
      if (order == 0) in_last_block += !last.ran("add_splits");
      int64_t at = -1;
      const bool same = last.y.same_bits(apart.y, &at);
      CHECK_MESSAGE(same, "element " << at << " depends on who adds the parts");
    }
  }
  return in_last_block;
}

Work deep_linear(const LinearAttributes& t, int64_t rows, int64_t k, int64_t o) {
  Work w{OpCode::kLinear, &t, {}, Tensor(DType::kF32, {rows, o})};
  w.inputs = {Tensor(DType::kF32, {rows, k}).random(1),
              random_weights(Packing::kPanels16, {o, k}, 2, k).packed,
              Tensor(DType::kF32, {o}, 0, Packing::kVector16).random(3),
              Tensor(DType::kF32, {rows, o}).random(4)};
  return w;
}

}  // namespace

TEST_CASE("tensor cores, last block: rows, few rows and windows reduce split-K themselves") {
  LinearAttributes t;
  t.activation = {Activation::kGelu, 0, 0};
  CHECK(check_parts(deep_linear(t, 70, 600, 70), GpuPrecision::kFast) > 3);
  CHECK(check_parts(deep_linear(t, 1, 1000, 37), GpuPrecision::kFast) > 1);
  Work few = deep_linear(t, 3, 1000, 37);
  pack_f16_weights(&few);
  CHECK(check_parts(few, GpuPrecision::kFp16) > 1);
  Conv2dAttributes c;
  c.kernel_h = c.kernel_w = 3, c.pad_top = c.pad_left = c.pad_bottom = c.pad_right = 1;
  Work windows{OpCode::kConv2d, &c, {}, Tensor(DType::kF32, {1, 9, 9, 40})};
  windows.inputs = {Tensor(DType::kF32, {1, 9, 9, 64}).random(1),
                    random_weights(Packing::kPanels16, {40, 3, 3, 64}, 2, 576).packed,
                    Tensor(DType::kF32, {40}, 0, Packing::kVector16).random(3)};
  CHECK(check_parts(windows, GpuPrecision::kFast) > 3);  // with tiles that share windows
}

TEST_CASE("tensor cores, last block: of a batch each matrix has tiles of its own") {
  MatMulAttributes t;
  t.alpha = 0.37f;
  Work w{OpCode::kMatMul, &t, {}, Tensor(DType::kF32, {3, 20, 40})};
  w.inputs = {Tensor(DType::kF32, {3, 20, 512}).random(1),
              Tensor(DType::kF32, {3, 512, 40}).random(2)};
  CHECK(check_parts(w, GpuPrecision::kFast) > 1);
}
