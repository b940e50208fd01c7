// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/bytecode.cpp - bytecode.pkl: (version, method, method, ...), a method
// (name, table, schema), a table ((key, value), ...).
#include "tools/import/torchscript/bytecode.h"

#include <algorithm>
#include <iterator>

#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"

namespace ingot::torchscript {
namespace {

using checkpoint::kNoNode;
using checkpoint::Node;
using checkpoint::NodeId;
using checkpoint::NodeKind;

constexpr const char* kNames[] = {
    "OP",
    "OPN",
    "LOAD",
    "MOVE",
    "STOREN",
    "STORE",
    "DROP",
    "DROPR",
    "LOADC",
    "JF",
    "JMP",
    "LOOP",
    "RET",
    "WAIT",
    "CALL",
    "GUARD",
    "TYPECHECK",
    "FAIL_GUARD",
    "PROFILE_OP",
    "TAIL_CALL",
    "INTERFACE_CALL",
    "GET_ATTR",
    "SET_ATTR",
    "LIST_UNPACK",
    "TUPLE_CONSTRUCT",
    "NAMED_TUPLE_CONSTRUCT",
    "LIST_CONSTRUCT",
    "DICT_CONSTRUCT",
    "CREATE_OBJECT",
    "ISINSTANCE",
    "TUPLE_SLICE",
    "TUPLE_INDEX",
    "RAISE_EXCEPTION",
    "DICT_INDEX",
    "UNCHECKED_CAST",
    "__IS__",
    "UN_INITIALIZED",
    "__ISNOT__",
    "FORMAT",
    "DEVICE",
    "DTYPE",
    "DIM",
    "__NOT__",
    "TO_LIST",
    "NUM_TO_TENSOR",
    "IS_CUDA",
    "FORK",
    "WARN",
    "ENTER",
    "EXIT",
    "AWAITABLE",
};
static_assert(std::size(kNames) == kOpcodes);

constexpr int64_t kEndless = int64_t{1} << 62;
constexpr int64_t kOldest = 3, kNewest = 9;  // of what torch 1.4 to 2.15 write

class BytecodeReader {
 public:
  BytecodeReader(const checkpoint::ValueTree& tree, const std::string& path)
      : tree_(tree), path_(path) {}

  Bytecode read() {
    const std::vector<NodeId>& all = tuple(tree_.root, "the program");
    if (all.empty()) refuse("the program has no version");
    const int64_t version = integer(all[0], "the program's version");
    if (version < kOldest || version > kNewest)
      graph::fail_unsupported(path_,
                              "bytecode of version " + std::to_string(version) + ", expected " +
                                  std::to_string(kOldest) + " to " + std::to_string(kNewest) +
                                  "; save the program again with _save_for_lite_interpreter()");
    for (size_t i = 1; i < all.size(); i++) add_method(all[i]);
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    graph::fail_corrupt(path_, "bytecode" + (method_.empty() ? "" : " of '" + method_ + "'") +
                                   ": " + why + "; the file is damaged");
  }
  const Node& at(NodeId id) const { return tree_.at(id); }
  const std::vector<NodeId>& tuple(NodeId id, const std::string& what) const {
    if (id == kNoNode || (at(id).kind != NodeKind::kTuple && at(id).kind != NodeKind::kList))
      refuse(what + " is no tuple");
    host::charge_work(1 + at(id).items.size());
    return at(id).items;
  }
  int64_t integer(NodeId id, const std::string& what) const {
    if (at(id).kind != NodeKind::kInteger || !at(id).text.empty())
      refuse(what + " is no whole number");
    return at(id).integer;
  }
  std::string text(NodeId id, const std::string& what) const {
    if (at(id).kind != NodeKind::kText) refuse(what + " is no text");
    host::charge_memory(at(id).text.size());
    return at(id).text;
  }
  /// The value behind a key of ((key, value), ...).
  NodeId entry(NodeId table, const std::string& key) const {
    for (const NodeId pair : tuple(table, "its table")) {
      const std::vector<NodeId>& items = tuple(pair, "an entry of its table");
      if (items.size() == 2 && at(items[0]).kind == NodeKind::kText && at(items[0]).text == key)
        return items[1];
    }
    refuse("it has no '" + key + "'");
  }

  void add_method(NodeId id) {
    method_.clear();
    const std::vector<NodeId>& parts = tuple(id, "a method");
    if (parts.size() < 2) refuse("a method is a tuple of " + std::to_string(parts.size()));
    BytecodeMethod method;
    method.name = method_ = text(parts[0], "a method's name");
    for (const NodeId each : tuple(entry(parts[1], "instructions"), "its instructions"))
      method.instructions.push_back(instruction(each));
    for (const NodeId each : tuple(entry(parts[1], "operators"), "its operators")) {
      const std::vector<NodeId>& items = tuple(each, "an operator");
      if (items.size() < 2) refuse("an operator has no overload");
      BytecodeOperator op = {text(items[0], "an operator"), text(items[1], "an overload")};
      if (items.size() > 2) op.arguments = integer(items[2], "a number of arguments");
      method.operators.push_back(std::move(op));
    }
    const std::vector<NodeId>& constants = tuple(entry(parts[1], "constants"), "its constants");
    method.first_constant = out_.constants.size(), method.constants = constants.size();
    out_.constants.insert(out_.constants.end(), constants.begin(), constants.end());
    for (size_t i = 0; i < constants.size(); i++) {
      const Node& node = at(constants[i]);
      if (node.kind == NodeKind::kBool && node.integer) method.truths.insert(i);
      if (node.kind == NodeKind::kInteger && node.integer >= kEndless) method.endless.insert(i);
      if (node.kind == NodeKind::kText) method.texts[i] = text(constants[i], "a constant");
    }
    for (const NodeId each : tuple(entry(parts[1], "types"), "its types"))
      method.types.push_back(text(each, "a type"));
    if (parts.size() > 2) add_arguments(parts[2], &method);
    out_.methods.push_back(std::move(method));
  }
  Instruction instruction(NodeId id) const {
    const std::vector<NodeId>& items = tuple(id, "an instruction");
    if (items.size() != 3) refuse("an instruction is a tuple of " + std::to_string(items.size()));
    const bool has_number = at(items[0]).kind == NodeKind::kInteger;  // as FlatBuffers have it
    const std::string name = has_number ? std::to_string(integer(items[0], "an instruction"))
                                        : text(items[0], "an instruction");
    const auto end = std::end(kNames);
    const auto found = !has_number ? std::find(std::begin(kNames), end, name)
                       : uint64_t(at(items[0]).integer) < kOpcodes
                           ? std::begin(kNames) + at(items[0]).integer
                           : end;
    if (found == end)
      graph::fail_unsupported(path_, "bytecode of '" + method_ + "': the instruction '" + name +
                                         "' is not known; it was saved by a newer torch");
    return {Opcode(found - std::begin(kNames)), integer(items[1], "an operand"),
            integer(items[2], "an operand")};
  }
  void add_arguments(NodeId schema, BytecodeMethod* method) {
    for (const NodeId each : tuple(entry(schema, "arguments"), "its arguments")) {
      BytecodeMethod::Argument argument;
      argument.name = text(entry(each, "name"), "an argument's name");
      argument.type = text(entry(each, "type"), "an argument's type");
      const NodeId otherwise = entry(each, "default_value");
      if (at(otherwise).kind != NodeKind::kNone || argument.type.rfind("Optional[", 0) == 0) {
        argument.otherwise = int64_t(out_.constants.size());
        out_.constants.push_back(otherwise);
      }
      method->arguments.push_back(std::move(argument));
    }
  }

  const checkpoint::ValueTree& tree_;
  const std::string& path_;
  std::string method_;  // that is read
  Bytecode out_;
};

}  // namespace

const char* opcode_name(Opcode opcode) { return kNames[size_t(opcode)]; }

Bytecode read_bytecode(const checkpoint::ValueTree& tree, const std::string& path) {
  return BytecodeReader(tree, path).read();
}

}  // namespace ingot::torchscript
