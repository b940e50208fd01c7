// SPDX-License-Identifier: Apache-2.0
// tests/conformance/operand_bytes.h - how far the memory of an operand reaches.
#pragma once
#include <cstdint>

#include "runtime/op/contract.h"
#include "runtime/op/f16_weights.h"

namespace ingot::conformance {

/// Bytes from view.data on; 0 where there is no memory. Packed f16 weights are in pairs along k, so
/// an odd k takes more than the elements.
inline uint64_t operand_bytes(const TensorView& view) {
  uint64_t bytes = 0;
  if (!view.data || !storage_bytes(view, &bytes)) return 0;
  if (view.dtype != DType::kF16 || view.packing != Packing::kPanels16) return bytes;
  int64_t dims[kMaxRank];
  for (int i = 0; i < kMaxRank; i++) dims[i] = view.dims[i];
  return f16_weight_bytes(dims, view.rank);
}

}  // namespace ingot::conformance
