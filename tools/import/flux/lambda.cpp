// SPDX-License-Identifier: Apache-2.0
// Lowered Julia code: a list of statements, call(function, arguments...), in which an argument is a
// slot, an earlier statement or a number.
#include "tools/import/flux/lambda.h"

#include <map>

namespace ingot::flux {
namespace {

using checkpoint::JuliaId;
using checkpoint::JuliaKind;
using checkpoint::JuliaNode;
using checkpoint::JuliaTree;
using checkpoint::kNoJulia;

constexpr size_t kMaxStatements = 64;

class Reader {
 public:
  explicit Reader(const JuliaTree& tree) : tree_(tree) {}

  Lambda read(JuliaId type) {
    const JuliaNode& anonymous = tree_.at(type);
    const JuliaId typename_id = anonymous.items.empty() ? kNoJulia : anonymous.items[0];
    if (typename_id == kNoJulia || tree_.at(typename_id).kind != JuliaKind::kStruct)
      return unknown("the file has no code of it");
    const JuliaNode& typename_node = tree_.at(typename_id);
    if (typename_node.items.size() > 1) out_.name = tree_.at(typename_node.items[1]).text;
    const JuliaId code = code_info(typename_node);
    if (code == kNoJulia) return unknown("the file has no code of it");
    const JuliaNode& statements = tree_.at(tree_.at(code).items[0]);
    if (statements.kind != JuliaKind::kList || statements.items.size() > kMaxStatements)
      return unknown("its code is long");
    for (size_t i = 0; i < statements.items.size(); i++)
      if (!statement(statements.items[i], int(i) + 1)) return std::move(out_);
    return unknown("its code returns nothing");
  }

 private:
  Lambda unknown(const std::string& why) {
    out_.known = false;
    out_.why = why;
    return std::move(out_);
  }
  /// The first CodeInfo below the method table.
  JuliaId code_info(const JuliaNode& typename_node) const {
    std::vector<JuliaId> open = typename_node.items;
    for (size_t visits = 0; !open.empty() && visits < 4096; visits++) {
      const JuliaId id = open.back();
      open.pop_back();
      if (id == kNoJulia) continue;
      const JuliaNode& node = tree_.at(id);
      if (tree_.short_type(id) == "CodeInfo") return node.items.empty() ? kNoJulia : id;
      if (node.kind == JuliaKind::kList || node.kind == JuliaKind::kStruct)
        open.insert(open.end(), node.items.begin(), node.items.end());
    }
    return kNoJulia;
  }
  std::string global_name(JuliaId id) const {
    if (tree_.short_type(id) != "GlobalRef" || tree_.at(id).items.size() != 2) return "";
    return tree_.at(tree_.at(id).items[1]).text;
  }
  bool fail(const std::string& why) {
    out_.why = why;
    return false;
  }

  /// What an operand is: a value of a step (0 the argument), a number, or a function's name.
  struct Operand {
    int step = -1;
    bool is_number = false;
    double number = 0;
    std::string function;
  };
  bool operand(JuliaId id, Operand* out) {
    const JuliaNode& node = tree_.at(id);
    const std::string type = tree_.short_type(id);
    if (type == "SlotNumber" || type == "Argument") {
      if (node.items.empty() || tree_.at(node.items[0]).integer != 2)
        return fail("its code reads another variable than its argument");
      out->step = 0;
      return true;
    }
    if (type == "SSAValue") {
      const auto found =
          node.items.empty() ? values_.end() : values_.find(tree_.at(node.items[0]).integer);
      if (found == values_.end()) return fail("its code reads a value that it does not make");
      *out = found->second;
      return true;
    }
    if (node.kind == JuliaKind::kFloat || node.kind == JuliaKind::kInteger) {
      out->is_number = true;
      out->number = node.kind == JuliaKind::kFloat ? node.number : double(node.integer);
      return true;
    }
    out->function = global_name(id);
    if (out->function.empty()) return fail("its code has a part that is not known");
    return true;
  }

  /// False at the end: of the code, or of what is known.
  bool statement(JuliaId id, int number) {
    const JuliaNode& node = tree_.at(id);
    if (tree_.short_type(id) != "Expr" || node.items.size() < 2)
      return fail("its code has a statement that is not known");
    const std::string head = tree_.at(node.items[0]).text;
    const JuliaNode& arguments = tree_.at(node.items[1]);
    if (arguments.items.empty()) return fail("its code has an empty statement");
    std::vector<Operand> parts(arguments.items.size());
    for (size_t i = 0; i < parts.size(); i++)
      if (!operand(arguments.items[i], &parts[i])) return false;
    if (head == "return") {
      out_.known = parts[0].step == int(out_.steps.size());
      if (!out_.known) out_.why = "its code returns another value than its last";
      return false;
    }
    if (head != "call" || parts[0].function.empty())
      return fail("its code does more than call functions");
    std::string function = parts[0].function;
    size_t first = 1;
    if (function == "materialize" || function == "param" ||
        function == "data") {  // Julia's and Tracker's wrappers of a value
      if (parts.size() != 2) return fail("its code calls " + function + " in another way");
      values_[number] = parts[1];
      return true;
    }
    if (function == "broadcasted") {
      if (parts.size() < 3 || parts[1].function.empty())
        return fail("its code broadcasts what is not known");
      function = parts[1].function;
      first = 2;
    }
    LambdaStep step;
    step.function = function;
    for (size_t i = first; i < parts.size(); i++) {
      if (!parts[i].function.empty()) return fail("its code passes a function on");
      step.operands.push_back(parts[i].is_number ? -1 : parts[i].step);
      if (parts[i].is_number) step.numbers.push_back(parts[i].number);
    }
    out_.steps.push_back(std::move(step));
    Operand made;
    made.step = int(out_.steps.size());
    values_[number] = made;
    return true;
  }

  const JuliaTree& tree_;
  std::map<int64_t, Operand> values_;
  Lambda out_;
};

}  // namespace

Lambda read_lambda(const checkpoint::JuliaTree& tree, checkpoint::JuliaId type) {
  return Reader(tree).read(type);
}

}  // namespace ingot::flux
