// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/names.h - which tensors of a checkpoint are meant, and what they are called
// in the architecture.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/weights/overlay/overlay.h"

namespace ingot::overlay {

struct Candidate {
  std::string name;  // below the key, without the prefix, renamed
  std::string original;
  const checkpoint::Tensor* tensor = nullptr;
};

/// What was chosen, in words for the report.
struct Selection {
  std::vector<Candidate> candidates;  // in the checkpoint's order
  std::vector<std::string>
      // originals of what counts batches in training: nothing computes with them, extract gives
      // them back
      counters;
  std::string key, prefix;
  std::vector<std::string> other_keys;  // that would fit as well
  std::vector<std::string> keys;        // that hold tensors at all
  size_t outside = 0;                   // tensors below the key that do not begin with the prefix
};

/// "'a', 'b', ..."
std::string key_list(const std::vector<std::string>& keys);
/// A name and patterns with at most one * each.
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

Selection select_tensors(const checkpoint::Checkpoint& checkpoint,
                         const std::set<std::string>& wanted, const OverlayOptions& options);

}  // namespace ingot::overlay
