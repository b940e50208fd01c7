// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/translator.h - walks the source graph in order and hands each node to the
// function of its operator. Inside tools/import/onnx only.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/graph/graph.h"
#include "tools/import/onnx/import.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {

struct SeparatedWeights;
using graph::kAbsent;
using graph::ValueId;

constexpr int64_t kOldestOpset = 1, kNewestOpset = 28;  // of the default domain

/// Names visible to the nodes of one graph or function body.
struct Scope {
  Scope* parent = nullptr;        // names of an If's owner are visible in its branches
  graph::Graph* graph = nullptr;  // where nodes go
  std::map<Text, int64_t> opsets;
  std::unordered_map<Text, ValueId> names;
  const std::map<Text, const Attribute*>* arguments = nullptr;  // of the function being inlined
  // of names inside an inlined function
  std::string prefix;
  int depth = 0;  // of function calls

  std::optional<ValueId> find(Text name) const {
    for (const Scope* s = this; s; s = s->parent) {
      const auto found = s->names.find(name);
      if (found != s->names.end()) return found->second;
    }
    return std::nullopt;
  }
};

class Translator {
 public:
  Translator(const Model& source, std::string name, const std::string& folder,
             const ImportOptions& options)
      : source_(source), name_(std::move(name)), external_(folder), options_(options) {}
  graph::Model run();
  /// Symbols of inputs that stand for these from the start. @pre run() was not called
  void take_equal(const std::map<std::string, graph::Dim>& equal) { bound_ = equal; }
  /// Refuses --dim names that are neither dimensions of inputs nor data-dependent sizes.
  void check_dims(graph::Model& inferred) const;

  graph::Model model;
  std::vector<graph::Unsupported> unsupported;
  std::map<ValueId, std::string>
      training_only;  // outputs that inference does not make, and why; reading one is refused

  // outputs that are tensors here and maps, sequences or texts in the file, which is reported
  std::set<ValueId> plain_ports;
  // element types of values that are narrower in the file than in the graph (narrow.h)
  std::map<ValueId, int32_t> narrow_types;
  void note_type(ValueId id, int32_t element_type);

  void translate_graph(const Graph& source, Scope& scope);
  std::string source_name() const { return name_; }
  ExternalData* external() { return &external_; }
  [[noreturn]] void corrupt(const std::string& what) const { graph::fail_corrupt(name_, what); }

 private:
  void declare_inputs(const Graph& source, Scope& scope);
  /// A port of a type that the graph has not (narrow.h), which is reported.
  void note_narrow_port(ValueId id, const ValueInfo& info);
  void declare_initializers(const Graph& source, Scope& scope);
  graph::Dims input_dims(const ValueInfo& info);
  graph::Dim input_dim(const ValueInfo& info, size_t axis);
  void bind(const std::string& symbol, const graph::Dim& to, const std::string& where);
  void check_options();
  void translate_nodes(const std::vector<Node>& nodes, Scope& scope);
  void translate_node(const Node& node, Scope& scope);
  void inline_function(const Function& function, const Node& node, Scope& scope);
  const Function* find_function(const Node& node) const;
  void declare_outputs(const Graph& source, Scope& scope);
  void replace_weights(SeparatedWeights& separated, Scope& scope);

  const Model& source_;
  std::string name_;
  ExternalData external_;
  const ImportOptions& options_;
  std::map<std::string, graph::Dim> bound_;  // symbols that became numbers or other dims
  std::set<std::string> declared_symbols_;
  size_t node_count_ = 0;
};

/// The order in which the nodes can run, by index; the source's own when it is one.
/// @throws graph::ConversionError(kCorrupt) for a cycle, an undefined input, a name made twice.
std::vector<size_t> run_order(const std::vector<Node>& nodes, const Scope& scope,
                              const std::string& where);

/// "Conv 'conv1'" or "Conv (output 'y')".
std::string describe(const Node& node);

}  // namespace ingot::onnx
