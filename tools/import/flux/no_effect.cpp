// SPDX-License-Identifier: Apache-2.0
#include "tools/import/flux/no_effect.h"

namespace ingot::flux {

const std::vector<NoEffect>& fields_without_effect() {
  constexpr const char* kTraining = "it is for training";
  static const std::vector<NoEffect> kList = {
      {"BatchNorm", "momentum", kTraining},
      {"BatchNorm", "affine", "its parameters say it"},
      {"BatchNorm", "track_stats", "what was gathered says it"},
      {"BatchNorm", "active", kTraining},
      {"BatchNorm", "chs", "its parameters say it"},
      {"LayerNorm", "affine", "its parameters say it"},
      {"Dropout", "p", kTraining},
      {"Dropout", "dims", kTraining},
      {"Dropout", "active", kTraining},
      {"Dropout", "rng", kTraining},
      {"AlphaDropout", "p", kTraining},
      {"AlphaDropout", "active", kTraining},
      {"AlphaDropout", "rng", kTraining},
  };
  return kList;
}

const char* no_effect(const std::string& kind, const std::string& field) {
  for (const NoEffect& row : fields_without_effect())
    if (kind == row.kind && field == row.field) return row.reason;
  return nullptr;
}

}  // namespace ingot::flux
