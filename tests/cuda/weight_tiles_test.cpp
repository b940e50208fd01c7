// SPDX-License-Identifier: Apache-2.0
// Many rows times weights of 8 and 4 bits in files whose products are of f16: every tile and
// split-K, x of f32 and of f16, blocks of every length, zero points that are any byte; whole
// numbers bit for bit, others within f16's tolerance, the same bits in every order of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "tests/conformance/quantized_weights.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct TileCase {
  int64_t rows, k, o;
  uint32_t block;
  int multiprocessors = 2;
  int residual = 0;  // 1: before the activation
  int64_t padding = 0;
  Activation activation = Activation::kNone;
};
constexpr TileCase kTileCases[] = {
    {17, 8, 7, 0},
    {17, 100, 70, 0, 2, 1, 0, Activation::kRelu},
    {33, 264, 130, 32, 40, 2},
    {64, 520, 65, 64, 40, 0, 8},
    {130, 320, 64, 96, 2, 0, 0, Activation::kGelu},
    {40, 1100, 33, 128, 60, 1, 4},
    {129, 64, 200, 4096, 2, 2, 16},
    {18, 1, 3, 0},
};

Work tile_work(const TileCase& c, const QuantizedWeights& w, LinearAttributes* t, DType x) {
  t->activation = {c.activation, 0, 0}, t->residual_first = c.residual == 1, t->block = c.block;
  Work work{OpCode::kLinear, t, {}, Tensor(DType::kF32, {c.rows, c.o}, c.padding), true};
  const Tensor numbers = Tensor(DType::kF32, {c.rows, c.k}, c.padding).random(1);
  work.inputs = {with_type(with_type(numbers, DType::kF16), x), w.packed,
                 Tensor(DType::kF32, {c.o}, 0, Packing::kVector16).random(3),
                 c.residual ? Tensor(DType::kF32, {c.rows, c.o}, c.padding).random(4) : Tensor(),
                 w.scales};
  if (w.zeros.view().present()) work.inputs.push_back(w.zeros);
  return work;
}

GpuTraits traits_of(const TileCase& c) {
  GpuTraits traits;
  traits.multiprocessors = c.multiprocessors;
  return traits;
}

}  // namespace

TEST_CASE("tensor cores, weight tiles: every tile and part, x of f32") {
  for (const TileCase& c : kTileCases)
    for (const int bits : {8, 4})
      for (const bool zeros : {false, true})
        for (const GpuPrecision precision : {GpuPrecision::kFast, GpuPrecision::kFp16}) {
          const GpuTraits traits = traits_of(c);
          const bool is_fp16 = precision == GpuPrecision::kFp16;
          const QuantizedWeights weights = weights_in_blocks(c.o, c.k, bits, c.block, zeros, 11);
          LinearAttributes t;
          const Work w = tile_work(c, weights, &t, DType::kF32);
          const Tensor want = on_cpu(w);
          const check::Tolerance tolerance = is_fp16 ? check::kF16Product : check::kTf32Product;
          INFO("rows ", c.rows, ", k ", c.k, ", bits ", bits, ", zeros ", zeros, is_fp16);
          const Run first = on_gpu(w, precision, 0, traits);
          REQUIRE(first.status.ok());
          if (!is_fp16 && c.k % 4) {  // rows of f32 that are no whole pieces
            CHECK(first.ran("expand_weights"));
            continue;
          }
          CHECK(first.ran(is_fp16     ? bits == 8 ? "weights_f16_w8_" : "weights_f16_w4_"
                          : bits == 8 ? "weights_tf32_w8_"
                                      : "weights_tf32_w4_"));
          CHECK(first.ran("rows_as_halves") == is_fp16);
          CHECK(first.variants >= 4);
          check_close(first.y, want, tolerance);
          for (int variant = 0; variant < first.variants; variant++) {
            const Run other = on_gpu(w, precision, uint32_t(variant), traits, variant);
            REQUIRE(other.status.ok());
            check_close(other.y, want, tolerance);
            CHECK(other.ran("expand_weights") == (variant + 1 == first.variants));
          }
          int64_t at = -1;
          const bool same = on_gpu(w, precision, 33, traits).y.same_bits(first.y, &at);
          CHECK_MESSAGE(same, "element " << at << " depends on the order of threads");
        }
}

TEST_CASE("tensor cores, weight tiles: x, y and the residual of f16") {
  for (const TileCase& c : kTileCases)
    for (const int bits : {8, 4}) {
      const GpuTraits traits = traits_of(c);
      const QuantizedWeights weights = weights_in_blocks(c.o, c.k, bits, c.block, true, 11);
      LinearAttributes t;
      const Work w = tile_work(c, weights, &t, DType::kF32),
                 halves = tile_work(c, weights, &t, DType::kF16);
      INFO("rows ", c.rows, ", k ", c.k, ", bits ", bits);
      // A row of x is whole pieces.
      const bool in_pieces = c.k % 8 == 0 && c.padding % 8 == 0;
      const uint64_t y = uint64_t{1} << w.inputs.size();
      CHECK((f16_operands_of(w, traits) & (1 | y)) == (1 | y));
      CHECK(f16_operands_of(halves, traits) == (in_pieces ? 1 | 1 << 3 | y : 1 << 3 | y));
      if (!in_pieces) continue;
      const Run first = on_gpu(w, GpuPrecision::kFp16, 0, traits),
                direct = on_gpu(halves, GpuPrecision::kFp16, 0, traits);
      REQUIRE(direct.status.ok());
      CHECK(!direct.ran("rows_as_halves"));
      CHECK(direct.variants == first.variants - 1);  // panels of f32 are for x of f32
      int64_t at = -1;
      CHECK_MESSAGE(direct.y.same_bits(first.y, &at), "element " << at << " of x in f16");
      Work all = halves;
      all.output = with_type(all.output, DType::kF16);
      if (c.residual) all.inputs[3] = with_type(all.inputs[3], DType::kF16);
      check_close(on_gpu(all, GpuPrecision::kFp16, 1, traits).y, on_cpu(w), check::kF16Product);
    }
}

TEST_CASE("tensor cores, weight tiles: whole numbers are exact, whatever zero and scale") {
  for (const TileCase& c : {TileCase{20, 96, 48, 32}, TileCase{70, 128, 144, 0}})
    for (const int bits : {8, 4})
      for (const int zero : {-128, -9, -8, 0, 7, 127})
        for (const int exponent : {-20, -4, 3}) {
          QuantizedWeights weights = weights_in_blocks(c.o, c.k, bits, c.block, true, 5);
          // Whole panels: every number that there is.
          for (int64_t i = 0; i < weights.scales.view().elements(); i++) {
            weights.scales.view().as<float>()[i] = std::ldexp(i % 3 ? 1.0f : -1.0f, exponent);
            weights.zeros.view().as<int8_t>()[i] = int8_t(zero);
          }
          LinearAttributes t;
          Work w = tile_work(c, weights, &t, DType::kF32);
          for (int64_t i = 0; i < c.rows * c.k; i++) w.inputs[0].set(i, double(i * 7 % 5 - 2));
          for (int64_t i = 0; i < c.o; i++) w.inputs[2].set(i, 0);
          const Tensor want = on_cpu(w);
          INFO("k ", c.k, ", bits ", bits, ", zero ", zero, ", scales 2^", exponent);
          for (int variant = 0; variant < 3; variant++) {
            int64_t at = -1;
            const Run run = on_gpu(w, GpuPrecision::kFp16, 0, traits_of(c), variant);
            CHECK_MESSAGE(run.y.same_bits(want, &at), "element " << at << ", " << run.kernels[1]);
            // tf32 is near what f32 is, not equal: scales are nudged
            check_close(on_gpu(w, GpuPrecision::kFast, 0, traits_of(c), variant).y, want,
                        check::kTf32Product);
          }
        }
}

TEST_CASE("tensor cores, weight tiles: what they do not take is expanded") {
  const TileCase c = {20, 96, 40, 16};
  const QuantizedWeights weights = weights_in_blocks(c.o, c.k, 4, c.block, true, 5);
  LinearAttributes t;
  const Work w = tile_work(c, weights, &t, DType::kF32);
  const Run run = on_gpu(w, GpuPrecision::kFp16, 0, traits_of(c));
  REQUIRE(run.status.ok());
  CHECK(run.ran("expand_weights"));
  CHECK(f16_operands_of(w, traits_of(c)) == 0);
  // A step of tf32 has half as many numbers.
  CHECK(on_gpu(w, GpuPrecision::kFast, 0, traits_of(c)).ran("weights_tf32_w4_"));
  // Few rows read x as f32.
  const TileCase few = {16, 96, 40, 32};
  const QuantizedWeights others = weights_in_blocks(few.o, few.k, 4, few.block, true, 5);
  CHECK(f16_operands_of(tile_work(few, others, &t, DType::kF32), traits_of(few)) == 0);
}

TEST_CASE("tensor cores, weight tiles: with little scratch k is cut into fewer parts") {
  const TileCase c = {20, 1024, 40, 32, 60};
  const QuantizedWeights weights = weights_in_blocks(c.o, c.k, 8, c.block, true, 5);
  LinearAttributes t;
  const Work w = tile_work(c, weights, &t, DType::kF16);
  const GpuTraits traits = traits_of(c);
  CHECK(on_gpu(w, GpuPrecision::kFp16, 0, traits).splits > 1);
  const std::vector<TensorView> views = views_of(w.inputs);
  const OpArguments a = arguments_of(w, views, w.output.view());
  const GpuKernelEntry* row =
      find_gpu_row(ingot_cuda_kernel_set, w.op, a, traits, GpuPrecision::kFp16);
  REQUIRE(row != nullptr);
  alignas(256) static uint8_t scratch[1 << 16];
  GpuWork work;
  work.arguments = &a, work.traits = traits, work.precision = GpuPrecision::kFp16;
  work.scratch = scratch;
  work.scratch_bytes = least_gpu_scratch(*row, a, traits, GpuPrecision::kFp16);
  REQUIRE(work.scratch_bytes <= sizeof scratch);
  uint32_t parts = 0;
  work.sink = {&parts, [](void* user, const GpuLaunch& l) {
                 *static_cast<uint32_t*>(user) = std::max(*static_cast<uint32_t*>(user), l.grid_y);
                 return Status();
               }};
  CHECK(row->plan(work).ok());
  CHECK(parts == 1);
  // Of f16 there is no other way.
  work.scratch_bytes -= 256;
  CHECK(!row->plan(work).ok());
}
