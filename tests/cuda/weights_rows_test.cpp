// SPDX-License-Identifier: Apache-2.0
// Weights of 8 and 4 bits in files that are not exact: a few rows, whose sums threads share, within
// the tolerance of f32 and with the same bits in every order of threads; more rows by the products
// of tensor cores (weight_tiles_test.cpp).
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/conformance/quantized_weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct WeightsCase {
  int64_t rows, k, o;
  uint32_t block;
  const char* kernel;  // of a few rows; null: tensor cores
  int residual = 0;
  int64_t padding = 0;
  Activation activation = Activation::kNone;
};
constexpr WeightsCase kWeightsCases[] = {
    {1, 300, 70, 0, "relaxed_weights_by_1_row", 0, 0, Activation::kRelu},
    {1, 1100, 33, 32, "relaxed_weights_by_1_row", 2},
    {1, 13, 16, 8, "relaxed_weights_by_1_row", 1, 3, Activation::kGelu},
    {4, 75, 50, 24, "relaxed_weights_by_4_rows", 1},
    {9, 520, 18, 128, "relaxed_weights_by_16_rows", 0, 5},
    {16, 64, 40, 16, "relaxed_weights_by_16_rows", 2},
    {17, 100, 90, 32, nullptr, 1},
    {80, 64, 200, 0, nullptr, 0, 4, Activation::kSilu},
    {20, 0, 7, 0, nullptr},
};

/// y = x w of random numbers; `t` must outlive it.
Work weights_work(const WeightsCase& c, int bits, bool zeros, LinearAttributes* t) {
  t->activation = {c.activation, 0, 0}, t->residual_first = c.residual == 1, t->block = c.block;
  const QuantizedWeights w = weights_in_blocks(c.o, c.k, bits, c.block, zeros, 11);
  Work work{OpCode::kLinear, t, {}, Tensor(DType::kF32, {c.rows, c.o}, c.padding), true};
  work.inputs = {Tensor(DType::kF32, {c.rows, c.k}, c.padding).random(1), w.packed,
                 Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3),
                 c.residual ? Tensor(DType::kF32, {c.rows, c.o}, c.padding).random(4) : Tensor(),
                 w.scales};
  if (zeros) work.inputs.push_back(w.zeros);
  return work;
}

}  // namespace

TEST_CASE("beside tensor cores: rows times weights of 8 and 4 bits, every variant") {
  for (const WeightsCase& c : kWeightsCases)
    for (const int bits : {8, 4})
      for (const GpuPrecision precision : {GpuPrecision::kFast, GpuPrecision::kFp16}) {
        LinearAttributes t;
        const Work w = weights_work(c, bits, c.k % 8 == 0, &t);
        const Tensor want = on_cpu(w);
        GpuTraits traits;
        traits.multiprocessors = 2;
        INFO("rows ", c.rows, ", k ", c.k, ", bits ", bits, ", precision ", int(precision));
        const Run first = on_gpu(w, precision, 0, traits);
        REQUIRE(first.status.ok());
        if (c.kernel) {
          CHECK(first.kernels.size() == 1);
          CHECK(first.ran(c.kernel));
          check_close(first.y, want, check::kF32);
        } else {
          const bool is_fp16 = precision == GpuPrecision::kFp16;
          CHECK(first.ran(c.k == 0 ? "product_" : is_fp16 ? "weights_f16_" : "weights_tf32_"));
          CHECK(!first.ran("expand_weights"));
          CHECK(first.ran("rows_as_halves") == (is_fp16 && c.k != 0));
          check_close(first.y, want,
                      precision == GpuPrecision::kFast ? check::kTf32Product : check::kF16Product);
        }
        if (c.kernel) CHECK(first.variants == 3);
        int64_t at = -1;
        for (const uint32_t order : {1u, 33u}) {
          const bool same = on_gpu(w, precision, order, traits).y.same_bits(first.y, &at);
          CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
        }
        for (int variant = 0; variant < first.variants; variant++) {
          const Run other = on_gpu(w, precision, uint32_t(variant), traits, variant);
          check_close(other.y, want, check::kF16Product);
          CHECK((other.kernels == first.kernels) == (variant == 0));
        }
      }
}

TEST_CASE("beside tensor cores: panels of many outputs are expanded some at a time") {
  const WeightsCase c = {18, 3000, 1700, 24, nullptr};  // 20 MB of f32
  LinearAttributes t;
  const Work w = weights_work(c, 4, true, &t);
  GpuTraits traits;
  traits.multiprocessors = 16;
  const Run run = on_gpu(w, GpuPrecision::kFast, 0, traits);
  REQUIRE(run.status.ok());
  CHECK(std::count(run.kernels.begin(), run.kernels.end(), "ingot_expand_weights") == 2);
  check_close(run.y, on_cpu(w), check::kTf32Product);
}
