// SPDX-License-Identifier: Apache-2.0
// Products of many rows with weights in blocks: which kernel a GPU takes for how many rows, and
// that on tensor cores no access to shared memory conflicts (on_gpu()). Bits: conformance.
#include <doctest/doctest.h>

#include "runtime/base/checked_math.h"
#include "runtime/op/block_linear.h"
#include "tests/cuda/one_instruction.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Shape {
  int64_t rows, k, outputs;
};
/// The kernel of a product of rows and weights that are all alike; it gives the bits of the CPU.
std::string kernel_of(BlockType type, const Shape& s, int sm, int multiprocessors) {
  const BlockFormat f = block_format(type);
  const BlockLinearAttributes t = {type};
  Work work{OpCode::kBlockLinear, &t, {}, Tensor(DType::kF32, {s.rows, s.outputs}), true};
  work.inputs = {Tensor(DType::kU8, {s.rows, block_weights::quantized_row_bytes(f, s.k)}),
                 Tensor(DType::kU8, {s.outputs, block_weights::weight_row_bytes(f, s.k)}, 0,
                        Packing::kBlocks32)};
  GpuTraits traits;
  traits.sm = sm, traits.multiprocessors = multiprocessors;
  const Run run = on_gpu(work, GpuPrecision::kExact, 7, traits);
  REQUIRE(run.kernels.size() == 1);
  int64_t first = 0;
  CHECK(run.y.same_bits(on_cpu(work), &first));
  return run.kernels[0];
}

}  // namespace

TEST_CASE("blocks: many rows go to tensor cores, where there are some") {
  const Shape prompt = {70, 768, 150}, slots = {4, 256, 70}, one = {1, 256, 70};
  CHECK(kernel_of(BlockType::kQ4_K, prompt, 87, 2) == "ingot_block_tiles_q4_k");
  CHECK(kernel_of(BlockType::kQ4_K, prompt, 75, 2) == "ingot_block_tiles_q4_k");
  CHECK(kernel_of(BlockType::kQ4_K, prompt, 72, 2) == "ingot_block_rows_q4_k");
  CHECK(kernel_of(BlockType::kQ4_K, slots, 87, 8) == "ingot_block_rows_q4_k");
  CHECK(kernel_of(BlockType::kQ4_K, one, 87, 8) == "ingot_block_row_q4_k");
}

TEST_CASE("blocks: tiles of every type read shared memory without conflicts") {
  for (int type = 0; type < int(BlockType::kF16); type++)
    CHECK(kernel_of(BlockType(type), {33, 512, 40}, 80, 1) ==
          std::string("ingot_block_tiles_") + block_type_name(BlockType(type)));
}
