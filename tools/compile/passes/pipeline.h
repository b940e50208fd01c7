// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/pipeline.h - from the normalized, shape-inferred graph of an importer to
// core form (README.md), which tools/compile lowers into a program. Deterministic: the same model
// and options give the same graph.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::passes {

/// Called after each pass over each graph with the pass's name: `ingot compare` judges what it did,
/// tests plant faults.
using Observer = std::function<void(const std::string& pass, graph::Model& model)>;

/// What one pass did, for Metadata.passes and `ingot why`.
struct PassRecord {
  std::string name;
  uint32_t changed = 0;  // nodes rewritten, merged or removed
  // whole sentences: which transposes remain and why, what was left alone
  std::vector<std::string> remarks;
};

struct PassOptions {
  /// Port name -> "nchw" or "nhwc": what the file's user will see. A port that is not named keeps
  /// the source's layout.
  std::map<std::string, std::string> io_layout;
  // BatchNormalization and scales into weights; off to compare with the source bit by bit
  bool fold_weights = true;
  // whole numbers for what a run quantizes, and weights of bytes beside floats; off to compare with
  // f32
  bool dynamic_integers = true;
  Observer observe;  // may be empty
};

/// Rewrites `model` in place until every node is in core form. @pre infer_shapes and fold_constants
/// of tools/graph ran: every value that is used has its dtype and dims. @throws ConversionError
/// with exit code 4 and every unsupported node, not only the first.
std::vector<PassRecord> run_passes(graph::Model& model, const PassOptions& options = {});

/// "" when the model is in core form, else the first node that is not and why. Run at the end of
/// run_passes, and by tests.
std::string why_not_core_form(const graph::Model& model);

}  // namespace ingot::passes
