// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/translator.h - the calls of an exported program, one after the other, through
// tools/import/aten.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/import/aten/lower.h"
#include "tools/import/pt2/inputs.h"
#include "tools/import/pt2/json.h"
#include "tools/import/pt2/weights.h"

namespace ingot::pt2 {

/// torch.export's numbers of element types as those of c10, which arguments have elsewhere; -1:
/// none.
int64_t c10_type_of(int64_t serialized);

/// The same of layouts, dense: 0.
int64_t c10_layout_of(int64_t serialized);

class Translator {
 public:
  Translator(const std::string& file, const Json& program, const importer::ImportOptions& options);
  /// The graph with everything but folding. What is unsupported is in builder().unsupported.
  void run();
  graph::Model model;
  aten::Builder& builder() { return *builder_; }

 private:
  using Names = std::map<std::string, aten::Value>;

  void state_ranges();
  void declare(const Json& graph, const Json& spec);
  void declare_user_input(const Json& graph, const Json& argument);
  void declare_weight(const std::string& value, const std::string& name, bool saved);
  void declare_output(const Json& spec);
  void report_written_state();
  void gather(const std::string& op, const std::string& node, const std::function<void()>& run);
  void run_nodes(const Json& graph, Names* names, int depth);
  Json without_token(const Json& node);
  void run_node(const Json& node, Names* names, int depth);
  void run_inner_graph(const Json& node, Names* names, int depth);
  struct ControlCall;
  /// False where the node is no control flow. translator_control.cpp
  bool run_control(const Json& node, Names* names, int depth);
  ControlCall control_call(const Json& node, Names* names);
  graph::ValueId carried(const aten::Value& value);
  std::vector<graph::ValueId> all_carried(const std::vector<aten::Value>& values);
  std::vector<aten::Value> inner_results(const Json& inner,
                                         const std::vector<aten::Value>& operands, int depth);
  graph::ValueId body_input(const char* name, graph::ValueId like, bool is_slice);
  std::vector<aten::Value> add_control(graph::Node node, size_t results);
  std::vector<aten::Value> run_cond(const Json& node, ControlCall& call, int depth);
  std::vector<aten::Value> run_while(const Json& node, ControlCall& call, int depth);
  std::vector<aten::Value> run_scan(const Json& node, ControlCall& call, bool has_state, int depth);
  void widen(aten::Value* value);
  static DType said_type(const Json& graph, const std::string& name);
  std::optional<aten::Value> compared(const std::string& op, const std::vector<aten::Value>& in);
  void run_symbolic(const std::string& op, const Json& node, Names* names);
  void keep(const Json& outputs, std::vector<aten::Value> results, Names* names);
  void define(const std::string& name, aten::Value value, Names* names);
  aten::Value argument(const Json& value, Names& names);
  aten::Value symbolic(const Json& value, Names& names);
  aten::Value look_up(const std::string& name, Names& names);
  graph::ValueId port(const aten::Tensor& tensor, const std::string& name);

  const std::string file_;
  const Json& program_;
  const importer::ImportOptions& options_;
  std::unique_ptr<aten::Builder> builder_;
  Inputs inputs_;
  Weights weights_;
  Names names_;
  struct Held {
    std::string name;
    aten::Tensor tensor;
    graph::ValueId first;
    bool saved;  // in a state_dict
  };
  std::vector<Held> state_;
  std::set<graph::ValueId> outputs_;
  std::set<std::string> ports_;
  size_t nodes_ = 0;
  int autocast_ = 0;  // regions around the node that is run
  bool said_autocast_ = false;
};

}  // namespace ingot::pt2
