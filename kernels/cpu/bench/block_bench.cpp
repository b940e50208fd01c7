// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/bench/block_bench.cpp - speed of products with weights in blocks, one thread:
// ingot_block_bench [ISA]. G multiply-adds a second for prompts of 512 rows, and in a cycle; for
// one row, GB of weights a second from memory and from the cache.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/simd/inline.h"
#include "runtime/op/block_linear.h"

using namespace ingot;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Additions that wait for each other: one takes a cycle. The best of some, as of products.
double gigahertz() {
  constexpr int64_t kCount = 10000000;
  double best = 0;
  for (int turn = 0; turn < 10; turn++) {
    int64_t sum = 0;
    const double began = now();
    // one thread of two of a core branches every other cycle
    for (int64_t i = 0; i < kCount; i += 16)
      INGOT_UNROLL for (int j = 0; j < 16; j++) asm volatile("" : "+r"(sum += 1));
    const double speed = double(kCount) / (now() - began) * 1e-9;
    best = speed > best ? speed : best;
  }
  return best;
}

struct Memory {
  std::vector<uint8_t> bytes;
  explicit Memory(size_t n) : bytes(n + 64) {}
  uint8_t* data() {
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64);
  }
};

TensorView view_of(DType dtype, int64_t rows, int64_t length, void* data,
                   Packing packing = Packing::kDense) {
  TensorView v;
  v.dtype = dtype, v.packing = packing, v.rank = 2;
  v.dims[0] = rows, v.dims[1] = length, v.row_stride = length, v.data = data;
  return v;
}

/// Weights of several layers of one shape, used in turn.
struct Layers {
  BlockType type;
  int64_t k, outputs, bytes, count;
  Memory weights;
  Layers(BlockType t, int64_t inputs, int64_t o, int64_t all_bytes)
      : type(t),
        k(inputs),
        outputs(o),
        bytes((o + 31) / 32 * 32 * block_weights::weight_row_bytes(block_format(t), inputs)),
        count(all_bytes / bytes > 0 ? all_bytes / bytes : 1),
        weights(size_t(bytes * count)) {
    std::memset(weights.data(), 0x11, size_t(bytes * count));  // scales of 6e-4
  }
};

/// Best seconds of one call.
double best_seconds(const KernelTable& table, Layers& layers, int64_t rows) {
  const BlockFormat f = block_format(layers.type);
  const int64_t row = block_weights::quantized_row_bytes(f, layers.k);
  Memory x(size_t(rows * row)), y(size_t(rows * layers.outputs * 4)),
      scratch(size_t(block_weights::expanded_bytes(f)));
  for (int64_t i = 0; i < rows * row; i += 4) {  // codes of 1; scales and words of 0.01
    const float number = 0.01f;
    std::memset(x.data() + i, 1, 4);
    if (i % row >= layers.k) std::memcpy(x.data() + i, &number, 4);
  }
  const BlockLinearAttributes t = {layers.type};
  Team team;
  team.scratch = scratch.data();
  double best = 1e9;
  const double end = now() + 0.4;
  for (int64_t i = 0; i < 3 || now() < end; i++) {
    const TensorView inputs[] = {
        view_of(DType::kU8, rows, row, x.data()),
        view_of(DType::kU8, layers.outputs, block_weights::weight_row_bytes(f, layers.k),
                layers.weights.data() + i % layers.count * layers.bytes, Packing::kBlocks32)};
    const TensorView output = view_of(DType::kF32, rows, layers.outputs, y.data());
    const OpArguments a = {&t, inputs, &output, 2, 1};
    const KernelEntry* const kernel = find_kernel(table, OpCode::kBlockLinear, a);
    const double began = now();
    (void)kernel->run(a, team);
    const double seconds = now() - began;
    best = seconds < best ? seconds : best;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const KernelTable* const table = cpu_kernels(argc > 1 ? argv[1] : nullptr);
  if (!table) return std::fprintf(stderr, "no such instruction set here\n"), 1;
  const int64_t shapes[][2] = {{576, 576}, {576, 1536}, {1536, 576}, {2048, 8192}, {8192, 2048}};
  std::printf(
      "%s: k, outputs; G multiply-adds/s of 512 rows, in a cycle, G of 4 rows; GB/s of one row, "
      "memory, cache\n",
      table->isa);
  for (int type = 0; type < kBlockTypes; type++) {
    const double clock = gigahertz();
    for (const auto& shape : shapes) {
      if (shape[0] % block_format(BlockType(type)).unit != 0) continue;
      Layers few(BlockType(type), shape[0], shape[1], 1),
          many(BlockType(type), shape[0], shape[1], int64_t{128} << 20);
      const double products = double(shape[0] * shape[1]);
      const double speed = 512 * products / best_seconds(*table, few, 512) * 1e-9;
      std::printf("%-6s %5d %5d   %6.1f %5.1f %6.1f   %5.1f %5.1f\n",
                  block_type_name(BlockType(type)), int(shape[0]), int(shape[1]), speed,
                  speed / clock, 4 * products / best_seconds(*table, few, 4) * 1e-9,
                  double(many.bytes) / best_seconds(*table, many, 1) * 1e-9,
                  double(few.bytes) / best_seconds(*table, few, 1) * 1e-9);
      std::fflush(stdout);
    }
  }
}
