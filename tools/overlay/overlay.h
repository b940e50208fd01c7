// tools/overlay/overlay.h - the weights of a checkpoint in the place of those that an architecture file brought along.
//   names     first, after the key and the prefix that parallel wrappers and trainers put before them are taken off
//   then      by shape and order, where as many tensors of a shape are left on both sides; a product's weights may be transposed. Several of
//             one shape only when other names agree, and the report says which, since two files may keep different orders
// Never guessed: what would need a fact that neither file has (a folded batch normalisation's epsilon) is refused with the reason.
// Errors    graph::CastError 5 with a table of what is missing and what does not fit; 4 for what is not understood; those of read_checkpoint().
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tools/checkpoint/checkpoint.h"
#include "tools/graph/graph.h"

namespace ingot::overlay {

struct OverlayOptions {
  std::string checkpoint;                                    // path; "": no overlay
  std::string key;                                           // "model/ema"; "": found
  std::string strip_prefix = "auto";                         // "auto", or the prefix itself
  std::vector<std::pair<std::string, std::string>> renames;  // pattern with at most one * each
};

/// "OLD=NEW". @throws CastError 1
void add_rename(OverlayOptions& options, const std::string& argument);

/// What was meant, by path_text(): every tensor below the key, and those of them that were used.
struct OverlayReport {
  std::string key;
  std::vector<std::string> candidates, used;
};

/// Replaces the constants of `initialisers` in `model` and says in model.notes what was done.
OverlayReport overlay_weights(graph::Model& model, const std::vector<graph::ValueId>& initialisers,
                              const OverlayOptions& options);

}  // namespace ingot::overlay
