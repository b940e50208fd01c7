// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/precision/mixed_precision.h - which products stay f32 so that the others may be
// bf16: those whose rounding costs the outputs most for each multiply-add.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "tools/diagnose/precision/check_precision.h"

namespace ingot::precision {

struct MixedPrecision {
  std::vector<uint32_t> exact;  // instructions
  size_t products = 0;          // that bf16 would round, the exact ones among them
  PrecisionLoss loss;
};

/// The fewest products that stay exact so that bf16 holds, by the order of their costs. Nothing
/// where half of the multiply-adds would not be left to bf16, where the program branches, or where
/// looking would take too long. `show` is called with the share done.
std::optional<MixedPrecision> mix_precisions(PrecisionCheck* check,
                                             const std::function<void(double)>& show);

}  // namespace ingot::precision
