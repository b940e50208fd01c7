// SPDX-License-Identifier: Apache-2.0
// tools/import/common/options.h - what every importer can be told: shapes, bounds, other weights.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/graph/block_type.h"
#include "tools/graph/graph.h"
#include "tools/graph/weight_sites.h"

namespace ingot::importer {

/// Whose integers a quantized model gives (docs/integers.md).
enum class ExactTo : uint8_t {
  kDefault,  // those of the source's own runtime
  kLitert,   // LiteRT as it runs by default: XNNPACK
  kBuiltin,  // LiteRT's own optimized kernels
  kTflm,     // TFLite Micro
  kOnnx,     // onnxruntime
};

struct ImportOptions {
  /// By name of an input. A symbol among the dims stays symbolic; a number binds the declared
  /// symbol of that place.
  std::map<std::string, graph::Dims> input_shapes;
  /// By name of a symbol. low == high binds it; otherwise its bounds, both included (high 0: none).
  std::map<std::string, graph::SymbolBounds> dims;
  /// The most that a size which only the data tell may be where `dims` says nothing of it; 0: such
  /// a size is refused.
  int64_t max_elements = 0;
  /// Of a TFLite model with several entry points: its name; empty for the first subgraph.
  std::string signature;
  /// Of a TorchScript program, which does not say: types of inputs, and values of parameters that
  /// are no tensors ("16000", "0.5", "True").
  std::map<std::string, DType> input_types;
  std::map<std::string, std::string> arguments;
  /// Of a language model: tokens that its caches of keys and values hold; 0: as the importer says.
  int64_t context = 0;
  DType cache = DType::kF32;  // what they hold: or kF16, or kU8: with scales
  bool full_windows = false;  // caches of layers with a window hold all tokens
  /// Sequences that share runs, each with caches of its own; 0: one, in the ports of one.
  int32_t slots = 0;
  /// Tokens that a run may check behind the next one.
  int32_t lookup = 0;
  bool keep_blocks = true;  // weights in blocks stay so where there are kernels
  bool keep_halves = true;  // the same of f16 and bf16
  /// Only of a model that has integers.
  ExactTo exact_to = ExactTo::kDefault;
  /// By name of an input: the extents of tensors that will be fed to it, axes in front (steps of a
  /// stream) not counted. They bind nothing; where an If can be converted for some extents only,
  /// bounds that hold these are preferred.
  std::map<std::string, std::vector<int64_t>> expected_inputs;
  /// Called with the initializers of the main graph and their readers before anything reads them,
  /// each time the file is translated. May be empty.
  graph::ReplaceWeights replace_weights;
  /// The same for sources whose layers read named tensors (Keras): called with those of the source;
  /// gives notes to say. May be empty.
  std::function<std::vector<std::string>(checkpoint::Checkpoint&)> replace_tensors;
  /// Names of symbols that may be 0; others without bounds are at least 1.
  std::set<std::string> may_be_empty;
  /// Of a language model: blocks that matrices of plain numbers become; others are refused.
  std::optional<BlockType> blocks;
  /// Called with the share of the weights that were read. May be empty.
  std::function<void(double)> progress;
};

/// "NAME=1x3xHx224" (or with commas), "NAME=VALUE" or "NAME=LOW..HIGH", "NAME=i64" and "NAME=VALUE"
/// as the command line has them. @throws graph::ConversionError(kUsage) when the text is none of
/// it.
void add_input_shape(ImportOptions& options, const std::string& argument);
void add_dim(ImportOptions& options, const std::string& argument);
void add_input_type(ImportOptions& options, const std::string& argument);
void add_argument(ImportOptions& options, const std::string& argument);
/// "litert", "builtin", "tflm" or "onnx"; empty for the default. @throws the same.
void set_exact_to(ImportOptions& options, const std::string& argument);
const char* exact_to_name(ExactTo to);

}  // namespace ingot::importer
