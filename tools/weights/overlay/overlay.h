// SPDX-License-Identifier: Apache-2.0
// tools/weights/overlay/overlay.h - the weights of a checkpoint in the place of those that an
// architecture file brought along.
//   names     first, after the key and the prefix that parallel wrappers and trainers put before
//             them are taken off
//   modules   then what the exporter renamed, transposed or merged with equal weights: by the
//             module that the file says of the node that reads it
//   layers    gates of recurrent layers put in order; batch normalizations folded where the
//             architecture has them folded and epsilon is given
//   shape     then what is the only one of its shape on both sides
// Never guessed: a weight of the architecture without a tensor, a tensor without a place, and a
// constant that may have been folded from weights (optional_weights.cpp) are refused, all of them
// at once, unless `partial` or a pattern says that they are to stay.
// Errors    graph::ConversionError(kMismatch) with a row for each that is missing, unexpected or of
// another
//           shape; 4 for what is not understood; those of read_checkpoint().
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/graph/weight_sites.h"

namespace ingot::overlay {

struct OverlayOptions {
  std::string checkpoint;                                    // path; "": no overlay
  std::string key;                                           // "model/ema"; "": found
  std::string strip_prefix = "auto";                         // "auto", or the prefix itself
  std::vector<std::pair<std::string, std::string>> renames;  // pattern with at most one * each
  // of normalizations that the architecture has folded
  std::optional<double> batch_norm_epsilon;
  std::vector<std::string> allow_missing, allow_unused;  // patterns with at most one *
  // whatever is missing or has no place is left as it is
  bool partial = false;
};

/// "OLD=NEW". @throws ConversionError(kUsage)
void add_rename(OverlayOptions& options, const std::string& argument);
/// Names with at most one *. @throws ConversionError(kUsage)
void add_allowed(std::vector<std::string>& patterns, const std::string& flag,
                 const std::string& argument);
/// A positive number. @throws ConversionError(kUsage)
void set_batch_norm_epsilon(OverlayOptions& options, const std::string& argument);

/// What was meant, by path_text(): every tensor below the key, and those of them that were used.
struct OverlayReport {
  std::string key;
  std::vector<std::string> candidates, used;
};

/// Replaces the constants of `sites` in `model` and says in model.notes what was done.
OverlayReport overlay_weights(graph::Model& model, const graph::WeightSites& sites,
                              const OverlayOptions& options);
/// The same for a source that is read as named tensors: puts others of the same shape in their
/// place, under their paths.
OverlayReport overlay_tensors(checkpoint::Checkpoint& source, const OverlayOptions& options,
                              std::vector<std::string>* notes);

}  // namespace ingot::overlay
