// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/follow.h - one pass through forward(): the graph that it makes and what
// it leaves behind in the module. Inside tools/import/torchscript only.
#pragma once
#include <memory>

#include "tools/import/torchscript/archive.h"
#include "tools/import/torchscript/import.h"
#include "tools/import/torchscript/interpreter.h"
#include "tools/import/torchscript/library.h"

namespace ingot::torchscript {

/// An attribute as a pass finds it, in the place of what the file has.
struct Attribute {
  bool is_tensor = false;
  DType dtype = DType::kInvalid;  // of a tensor: an input of the graph, or zeros
  graph::Dims dims;
  Value plain;
};
using Attributes = std::map<std::string, Attribute>;  // by path: "decoder.state"

struct Pass {
  graph::Model model;
  std::vector<graph::Unsupported> unsupported;
  // what differs from what the pass found, as it left it
  Attributes changed;
  std::map<std::string, graph::ValueId> next;  // of changed tensors
  std::map<std::string, double>
      uniform;  // what every element of a tensor that the file has is, where that is one number
  std::map<std::string, Attribute> found;  // the file's own, of what changed
};

enum class StateForm { kInputs, kZeros };

/// @throws as import_torchscript().
Pass follow(Archive& archive, Library& library, const ImportOptions& options,
            const Attributes& attributes, StateForm form);

/// Whether the outputs of both are computed by the same nodes from the same constants and inputs.
/// Outputs are paired by their order.
bool same_program(const graph::Model& a, const std::vector<graph::ValueId>& outputs_a,
                  const graph::Model& b, const std::vector<graph::ValueId>& outputs_b);

/// That value as a port of this name: itself, or a copy where it is an input, a constant or another
/// output.
graph::ValueId expose(graph::Model& model, graph::ValueId id, const std::string& name);

/// Folds, and drops what nothing reads.
void finish(graph::Model& model);

}  // namespace ingot::torchscript
