// SPDX-License-Identifier: Apache-2.0
// tests/conformance/quantized_weights.h - random weights of 8 and 4 bits with scales: as files have
// them, as the oracle reads them, and as f32.
#pragma once
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/base/checked_math.h"
#include "runtime/op/linear.h"
#include "tests/conformance/runner.h"
#include "tools/compile/lower/packing.h"
#include "tools/compile/lower/quantized_packing.h"

namespace ingot::conformance {

using Extents = std::vector<int64_t>;

/// The same weights four times over.
struct QuantizedWeights {
  Tensor packed, dense;  // as the file has them, and as the oracle reads them
  Tensor scales, scales_dense;
  Tensor zeros, zeros_dense;  // or absent
  Tensor floats;              // panels16 of f32
};

inline Tensor filled(DType dtype, const Extents& dims, Packing packing, const void* bytes,
                     size_t size) {
  Tensor t(dtype, dims, 0, packing);
  if (size) std::memcpy(t.view().data, bytes, size);
  return t;
}

inline std::span<const int8_t> bytes_of(const Tensor& dense) {
  return {dense.view().as<const int8_t>(), size_t(dense.view().elements())};
}

inline Tensor panels_of(const Tensor& dense) {
  const Extents dims = {dense.view().dims[0], dense.view().dims[1]};
  if (dense.view().dtype == DType::kF32) {
    const std::span<const float> floats(dense.view().as<const float>(), size_t(dims[0] * dims[1]));
    const std::vector<float> panels = pack_panels16(floats, dims[0], dims[1]);
    return filled(DType::kF32, dims, Packing::kPanels16, panels.data(), panels.size() * 4);
  }
  const std::vector<uint8_t> panels = pack_panels16(bytes_of(dense), dims[0], dims[1]);
  return filled(DType::kI8, dims, Packing::kPanels16, panels.data(), panels.size());
}

/// About unit gain over k.
inline QuantizedWeights weights_in_blocks(int64_t o, int64_t k, int bits, uint32_t block,
                                          bool with_zeros, uint32_t seed) {
  QuantizedWeights w;
  const int64_t blocks = linear_weights::block_count(block, k);
  const double low = bits == 4 ? -8 : -128, high = bits == 4 ? 7 : 127;
  const double step = 1.7 / std::sqrt(double(k + 1)) / high;
  const Tensor numbers = Tensor(DType::kI8, {o, k}).random(seed, low, high);
  w.scales_dense = Tensor(DType::kF32, {o, blocks}).random(seed + 1, -step, step);
  w.scales = panels_of(w.scales_dense);
  if (with_zeros) {
    w.zeros_dense = Tensor(DType::kI8, {o, blocks}).random(seed + 2, low, high);
    w.zeros = panels_of(w.zeros_dense);
  }
  w.dense = numbers, w.packed = bits == 8 ? panels_of(numbers) : Tensor();
  if (bits == 4) {
    const std::vector<int8_t> pairs = pair_nibbles(bytes_of(numbers), k);
    const Extents dims = {o, ceil_div(k, 2)};
    const std::vector<uint8_t> panels = pack_panels16x4(pairs, dims);
    w.dense = filled(DType::kU8, dims, Packing::kDense, pairs.data(), pairs.size());
    w.packed = filled(DType::kU8, dims, Packing::kPanels16x4, panels.data(), panels.size());
  }
  Tensor floats(DType::kF32, {o, k});
  for (int64_t i = 0; i < o * k; i++) {
    const int64_t at = i / k * blocks + (block ? i % k / block : 0);
    const double zero = with_zeros ? w.zeros_dense.at(at) : 0;
    floats.set(i, double(float(numbers.at(i) - zero) * float(w.scales_dense.at(at))));
  }
  w.floats = panels_of(floats);
  return w;
}

}  // namespace ingot::conformance
