// SPDX-License-Identifier: Apache-2.0
// Is a model in core form (README.md)? Says what is not, for tests and for the end of run_passes.
#include <map>
#include <unordered_set>

#include "runtime/format/program.h"
#include "runtime/op/all_operators.h"
#include "tools/compile/passes/common/elementwise.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/pipeline.h"

namespace ingot::passes {
namespace {

struct Operands {
  size_t least, most;
};
/// Every operator by its contract, but for what only lowering makes.
std::map<graph::Operator, Operands> make_operators() {
  std::map<graph::Operator, Operands> all;
#define INGOT_OPERATOR(name, number, text, family)                             \
  if (OpCode::k##name != OpCode::kChain && OpCode::k##name != OpCode::kCopy && \
      OpCode::k##name != OpCode::kQuantizedChain)                              \
    all[graph::find_operator(#name)] = {k##name##Contract.min_inputs, k##name##Contract.max_inputs};
#include "runtime/op/operators.def"
  all[op::Concat].most = 65535;  // lowering takes it apart
  all[op::Reshape] = all[op::BitCast] = all[op::ResolveDim] = {1, 1};
  // up to four rows of numbers of channels, of which lowering makes one operand, and steps of x
  all[op::QuantizedConv2d] = all[op::QuantizedLinear] = {4, 7};
  return all;
}
const std::map<graph::Operator, Operands> kOperators = make_operators();

constexpr size_t kMaxOfOperator = 64;  // an operator that takes more takes as many as a file holds

class Checker {
 public:
  explicit Checker(const Model& model) : model_(model) {
    for (size_t i = 0; i < model.values.size(); i++)
      if (model.values[i].constant) known_.insert(ValueId(i));
  }

  std::string graph(const Graph& g) {
    for (ValueId id : g.inputs) learn(id);
    for (const Node& node : g.nodes) {
      if (node.dead) return where(node) + "is dead";
      std::string why = this->node(node);
      if (!why.empty()) return where(node) + why;
      for (ValueId id : node.outputs) learn(id);
    }
    for (ValueId id : g.outputs)
      if (id >= 0 && !known_.count(id))
        return "an output is made by no node: " + model_.values[size_t(id)].name;
    return "";
  }

 private:
  void learn(ValueId id) {
    if (known_.insert(id).second) order_.push_back(id);
  }
  std::string where(const Node& node) const { return text(node.op) + " '" + node.name + "': "; }

  std::string value(ValueId id) const {
    const Value& v = model_.values[size_t(id)];
    if (v.dtype == DType::kInvalid || !v.shape_known) return "value '" + v.name + "' has no type";
    if (v.dims.size() > size_t(kMaxRank))
      return "value '" + v.name + "' has more than 8 dimensions";
    return "";
  }

  std::string constant_operand(const Node& node, size_t i, size_t rank) const {
    if (i >= node.inputs.size() || node.inputs[i] < 0) return "";
    const Constant* c = model_.constant(node.inputs[i]);
    if (!c) return "operand " + std::to_string(i) + " is no constant";
    if (c->dims.size() != rank)
      return "operand " + std::to_string(i) + " has rank " + std::to_string(c->dims.size());
    return "";
  }

  std::string weights(const Node& node) const {
    bool image = node.op == op::Conv2d || node.op == op::ConvTranspose2d;
    size_t rank = node.op == op::Recurrent ? 3 : image ? 4 : 2;
    if (image && model_.values[size_t(node.inputs[0])].dims.size() != 4)
      return "its image is not of rank 4";
    std::string why = constant_operand(node, 1, rank);
    if (!why.empty()) return why;
    if (node.op == op::Recurrent) {
      why = constant_operand(node, 2, 3);
      for (size_t i = 8; i < node.inputs.size() && why.empty(); i++)  // of weights of bytes
        why = constant_operand(node, i, 2);
      return why;
    }
    why = constant_operand(node, 2, 1);
    for (size_t i = 4; i < node.inputs.size() && why.empty(); i++)  // of quantized weights
      why = constant_operand(node, i, 2);
    return why;
  }

  /// Constants of an operator on bytes, by their ranks.
  std::string numbers_of_bytes(const Node& node) const {
    const bool image = node.op == op::QuantizedConv2d;
    if (!image && node.op != op::QuantizedLinear) return constant_operand(node, 1, 1);
    std::string why = constant_operand(node, 1, image ? 4 : 2);
    for (size_t i = 2; i < 6 && why.empty(); i++) why = constant_operand(node, i, 1);
    return why;
  }

  std::string steps(const Node& node) const {
    std::vector<Step> all = steps_of(node);
    if (all.size() > size_t(kMaxElementwiseSteps)) return "too many steps";
    for (size_t i = 0; i < all.size(); i++) {
      int known = int(node.inputs.size() + i);
      const int registers[] = {all[i].a, all[i].b, all[i].c};
      for (int k = 0; k < elementwise_arity(all[i].op); k++)
        if (registers[k] != kConstantRegister && (registers[k] < 0 || registers[k] >= known))
          return "a step reads a later register";
    }
    return "";
  }

  std::string inner(const Node& node) {
    const bool loop = node.op == op::Loop;
    if (node.subgraphs().empty()) return "has no branch or body";
    if (depth_ >= kMaxSubprogramDepth)
      graph::fail_unsupported(text(node.op) + " '" + node.name + "' lies in " +
                              std::to_string(depth_) + " others, at most " +
                              std::to_string(kMaxSubprogramDepth) +
                              " branches and loops inside each other are supported");
    if (loop && (node.dims(attr::most).size() != 1 ||
                 node.subgraphs()[0]->inputs.size() + 1 != node.inputs.size() ||
                 node.subgraphs()[0]->outputs.size() + 1 != node.inputs.size() ||
                 node.outputs.size() + 2 != node.inputs.size()))
      return "its body does not fit what it carries";
    for (const auto& each : node.subgraphs()) {
      const size_t outside = order_.size();
      depth_++;
      std::string why = graph(*each);
      depth_--;
      for (; order_.size() > outside; order_.pop_back()) known_.erase(order_.back());
      if (!why.empty()) return each->name + ": " + why;
    }
    return "";
  }

  std::string node(const Node& node) {
    auto known = kOperators.find(node.op);
    if (known == kOperators.end()) return "is no operator of core form";
    if (node.inputs.size() > known->second.most && known->second.most > kMaxOfOperator)
      graph::fail_unsupported(text(node.op) + " '" + node.name + "' has " +
                              std::to_string(node.inputs.size()) + " inputs, at most " +
                              std::to_string(known->second.most) +
                              " are supported; do it in several steps");
    if (node.inputs.size() < known->second.least || node.inputs.size() > known->second.most)
      return "has " + std::to_string(node.inputs.size()) + " operands";
    for (ValueId id : node.inputs) {
      if (id < 0) continue;
      if (!known_.count(id))
        return "reads '" + model_.values[size_t(id)].name + "', which nothing before it makes";
      if (std::string why = value(id); !why.empty()) return why;
    }
    for (ValueId id : node.outputs)
      if (id >= 0)
        if (std::string why = value(id); !why.empty()) return why;
    if (has_weights(node) || node.op == op::Recurrent) return weights(node);
    if (node.op == op::QuantizedConv2d || node.op == op::QuantizedLinear || node.op == op::Lookup ||
        node.op == op::QuantizedSoftmax)
      return numbers_of_bytes(node);
    if (node.op == op::Elementwise) return steps(node);
    if (node.op == op::If || node.op == op::Loop) return inner(node);
    return "";
  }

  const Model& model_;
  std::unordered_set<ValueId> known_;
  uint32_t depth_ = 0;          // Ifs and Loops around a node
  std::vector<ValueId> order_;  // what was learned, the last at the end
};

}  // namespace

std::string why_not_core_form(const Model& model) { return Checker(model).graph(model.graph); }

}  // namespace ingot::passes
