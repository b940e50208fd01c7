// SPDX-License-Identifier: Apache-2.0
// runtime/format/features.h - what a program may require of its reader, by the names in
// Program.required_features. A writer lists them in this order.
#pragma once

#include <cstdint>
#include <cstring>

namespace ingot {

enum class Feature : uint8_t {
  kImageInput,
  kEmptyRows,
  kKeyBatches,
  kAttentionSinks,
  kQuantizedWeights,
  kMeasured,
  kWidened,
};

inline constexpr const char* kFeatureNames[] = {
    "picture",           "empty_rows", "key_batches", "attention_sinks",
    "quantized_weights", "measured",   "widened",
};

class FeatureSet {
 public:
  bool has(Feature feature) const { return bits_ >> unsigned(feature) & 1; }
  void add(Feature feature) { bits_ |= uint16_t(1u << unsigned(feature)); }

  /// @return false where no feature has that name
  bool add(const char* name) {
    for (unsigned i = 0; i < sizeof(kFeatureNames) / sizeof(*kFeatureNames); i++)
      if (strcmp(kFeatureNames[i], name) == 0) return add(Feature(i)), true;
    return false;
  }

 private:
  uint16_t bits_ = 0;
};

}  // namespace ingot
