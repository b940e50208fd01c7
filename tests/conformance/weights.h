// SPDX-License-Identifier: Apache-2.0
// tests/conformance/weights.h - random weights, dense for the oracle and packed for the kernels.
#pragma once
#include "tests/conformance/runner.h"
#include "tools/compile/lower/packing.h"

namespace ingot::conformance {

struct Weights {
  Tensor dense, packed;
};

/// Weights of about unit gain over `k` summands, packed as told.
inline Weights random_weights(Packing packing, std::vector<int64_t> dims, uint32_t seed,
                              int64_t k) {
  Weights w;
  const double range = 1.7 / (k > 1 ? __builtin_sqrt(double(k)) : 1.0);
  w.dense = Tensor(DType::kF32, dims).random(seed, -range, range);
  w.packed = Tensor(DType::kF32, dims, 0, packing);
  const std::span<const float> values(w.dense.view().as<float>(),
                                      size_t(w.dense.view().elements()));
  const std::vector<float> bytes = pack_weights(packing, dims, values);
  std::copy(bytes.begin(), bytes.end(), w.packed.view().as<float>());
  return w;
}

}  // namespace ingot::conformance
