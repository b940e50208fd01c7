// tools/onnx/import.h - the one door: an .onnx file to a graph with all shapes inferred and
// constants folded.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/checkpoint/checkpoint.h"
#include "tools/graph/graph.h"
#include "tools/graph/weight_sites.h"

namespace ingot::onnx {

struct ImportOptions {
  /// By name of an input. A symbol among the dims stays symbolic; a number binds the declared
  /// symbol of that place.
  std::map<std::string, graph::Dims> input_shapes;
  /// By name of a symbol. low == high binds it; otherwise its bounds, both included (high 0: none).
  std::map<std::string, graph::SymbolBounds> dims;
  /// By name of an input: the extents of tensors that will be fed to it, axes in front (steps of a
  /// stream) not counted. They bind nothing; where an If can be cast for some extents only, bounds
  /// that hold these are preferred.
  std::map<std::string, std::vector<int64_t>> expected_inputs;
  /// Called with the initialisers of the main graph and their readers before anything reads them,
  /// each time the file is translated. May be empty.
  graph::ReplaceWeights replace_weights;
  /// The same for sources whose layers read named tensors (Keras): called with those of the source;
  /// gives notes to say. May be empty.
  std::function<std::vector<std::string>(checkpoint::Checkpoint&)> replace_tensors;
};

/// "NAME=1x3xHx224" (or with commas) and "NAME=VALUE" or "NAME=LOW..HIGH" as the command line has
/// them. @throws graph::CastError 1 when the text is neither.
void add_input_shape(ImportOptions& options, const std::string& argument);
void add_dim(ImportOptions& options, const std::string& argument);

/// The normalised graph of tools/graph/README.md: every value has dtype and dims, constants are
/// folded, dead nodes gone. @throws graph::CastError: 2 corrupt, 3 external data outside of the
/// model's folder, 4 unsupported (all of it listed in `unsupported`), 5 an option that names no
/// input or symbol, or contradicts a declared shape, 7 unreadable.
graph::Model import_onnx(const std::string& path, const ImportOptions& options = {});
/// The same from memory. `name` is for messages; external data is looked for in `folder`.
graph::Model import_onnx_bytes(std::string_view bytes, const std::string& name,
                               const std::string& folder, const ImportOptions& options = {});

}  // namespace ingot::onnx
