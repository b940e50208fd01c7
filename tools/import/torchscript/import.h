// tools/import/torchscript/import.h - the one door: a TorchScript file to a graph in normal form
// (tools/graph/README.md).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tools/graph/graph.h"
#include "tools/graph/weight_sites.h"
#include "tools/import/common/state.h"

namespace ingot::torchscript {

struct ImportOptions {
  /// By name of an input of forward(). A TorchScript file has no shapes, but for the example inputs
  /// that a new torch.jit.trace() keeps.
  std::map<std::string, graph::Dims> input_shapes;
  std::map<std::string, graph::SymbolBounds> dims;  // of the symbols in them; low == high binds one
  std::map<std::string, DType> input_types;
  DType floating_type = DType::
      // of inputs of which nothing says more; importing sets it to that of all weights, where they
      // share one
      kF32;
  // of parameters that are no tensors: "16000", "0.5", "True"
  std::map<std::string, std::string> arguments;
  /// Called with the constants of the program before anything reads them, each time the program is
  /// followed; it may put others of the same type and shape in their place. May be empty.
  graph::ReplaceWeights replace_weights;
};

/// "NAME=i64" and "NAME=VALUE" as the command line has them. @throws graph::ConversionError 1.
void add_input_type(ImportOptions& options, const std::string& argument);
void add_argument(ImportOptions& options, const std::string& argument);

using importer::State;  // an attribute that the program changes

struct Program {
  graph::Model model;
  std::vector<State> states;
};

/// True for a zip archive with the code (or bytecode) and the objects of TorchScript, and for a
/// program of PyTorch Mobile in FlatBuffers, whatever its name is.
/// @throws host::Failure when it cannot be read.
bool is_torchscript(const std::string& path);

/// @throws graph::ConversionError: 2 corrupt, 4 unsupported (all of it listed in `unsupported`), 5
/// an input without a shape, an argument without a value, names that the program does not have, or
/// a program that raises for these inputs; host::Failure for the container.
Program import_torchscript(const std::string& path, const ImportOptions& options = {});

/// What forward() takes, for people.
struct Parameter {
  std::string name, type;  // "x", "Tensor"
  // "f32 [1, 3, 224, 224]" of the example that it was traced with; "" where that was not kept
  std::string shape;
  bool has_default = false;
};
std::vector<Parameter> describe_parameters(const std::string& path);

}  // namespace ingot::torchscript
