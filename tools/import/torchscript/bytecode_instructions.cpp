// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/bytecode_instructions.cpp - instructions that go on with the next one.
#include <algorithm>
#include <set>

#include "tools/graph/graph.h"
#include "tools/import/aten/schema.h"
#include "tools/import/torchscript/bytecode_writer.h"

namespace ingot::torchscript {
namespace {

constexpr size_t kMaxTypeName = 400;
constexpr int64_t kMaxRegister = int64_t{1} << 40;  // and number of a type: so that none overflows

/// Operators that leave nothing on the stack; no file says so.
bool gives_nothing(const BytecodeOperator& op) {
  static const std::set<std::string> kAlways = {
      "aten::Delete",        "aten::clear",       "aten::extend",
      "aten::insert",        "aten::manual_seed", "aten::remove",
      "aten::update",        "aten::reverse",     "aten::set_grad_enabled",
      "aten::warn",          "prim::Print",       "prim::RaiseException",
      "aten::_assert_async", "aten::set_data",    "aten::_assert_tensor_metadata"};
  static const std::set<std::string> kOfDictionaries = {"str",   "int",     "bool",
                                                        "float", "complex", "Tensor"};
  static const std::set<std::string> kOfLists = {"int", "float", "Tensor", "bool", "str", "any"};
  if (op.name == "aten::_set_item") return kOfDictionaries.count(op.overload) != 0;
  if (op.name == "aten::sort") return kOfLists.count(op.overload) != 0;
  return kAlways.count(op.name) != 0;
}

/// Instructions that are an operator of so many arguments.
struct AsOperator {
  Opcode opcode;
  const char* name;
  int arguments;
};
constexpr AsOperator kOperators[] = {
    {Opcode::kIs, "aten::__is__", 2},     {Opcode::kIsNot, "aten::__isnot__", 2},
    {Opcode::kDevice, "prim::device", 1}, {Opcode::kDtype, "prim::dtype", 1},
    {Opcode::kDim, "aten::dim", 1},       {Opcode::kNot, "aten::__not__", 1},
    {Opcode::kToList, "prim::tolist", 3}, {Opcode::kNumToTensor, "prim::NumToTensor", 1},
    {Opcode::kIsCuda, "prim::is_cuda", 1}};

}  // namespace

void MethodWriter::plain(size_t at) {
  const Instruction& i = method_.instructions[at];
  for (const AsOperator& as : kOperators)
    if (as.opcode == i.opcode)
      return push(at, write_.call_operator(as.name, "", use_many(at, as.arguments)));
  switch (i.opcode) {
    case Opcode::kOp: return call(at, op_of(at), std::nullopt);
    case Opcode::kOpN: return call(at, op_of(at), i.n);
    case Opcode::kLoad: stack_.push_back({register_of(at), -1, false}); return;
    case Opcode::kMove:
      detach(at, register_of(at));
      stack_.push_back({register_of(at), -1, true});
      return;
    case Opcode::kStore: return set_register(at, i.x, pop(at));
    case Opcode::kStoreN: return store_many(at);
    case Opcode::kDrop: return forget_slot(pop(at));
    case Opcode::kDropR:
      detach(at, register_of(at));
      return forget_slot({register_of(at), -1, true});
    case Opcode::kLoadC:
      if (i.x < 0 || uint64_t(i.x) >= method_.constants)
        refuse(at, "names constant " + std::to_string(i.x) + " of " +
                       std::to_string(method_.constants));
      stack_.push_back({"", i.x, false});
      return;
    case Opcode::kGetAttr: {
      const ExpressionId owner = use(pop(at));
      return push(at, write_.slot(owner, i.x));
    }
    case Opcode::kSetAttr: {
      const Slot value = pop(at), owner = pop(at);
      const ExpressionId to = write_.slot(use(owner), i.x);
      return say(StatementKind::kAssign, {to}, use(value));
    }
    case Opcode::kTupleConstruct:
      return push(at, write_.add(ExpressionKind::kTuple, use_many(at, i.x)));
    case Opcode::kNamedTupleConstruct:
      return push(at, write_.add(ExpressionKind::kTuple, use_many(at, i.n)));
    case Opcode::kListConstruct:
      return push(at, write_.add(ExpressionKind::kList, use_many(at, i.n)));
    case Opcode::kDictConstruct:
      if (i.n % 2) refuse(at, "has a key without a value");
      return push(at, write_.add(ExpressionKind::kDict, use_many(at, i.n)));
    case Opcode::kListUnpack: {
      const ExpressionId list = use(pop(at));
      return push_unpacked(at, list, i.x);
    }
    case Opcode::kTupleSlice: {
      if (i.x < 0 || i.n < 0 || i.x > kMaxOperands || i.n > kMaxOperands)
        refuse(at, "takes a part that cannot be");
      const ExpressionId tuple = use(pop(at));
      return push(at, write_.add(ExpressionKind::kSlice,
                                 {tuple, write_.integer(i.x), write_.integer(i.x + i.n)}));
    }
    case Opcode::kTupleIndex:
    case Opcode::kDictIndex: return push(at, write_.add(ExpressionKind::kIndex, use_many(at, 2)));
    case Opcode::kUncheckedCast: return;
    case Opcode::kUninitialized: return push(at, write_.add(ExpressionKind::kNothing, {}));
    case Opcode::kFormat:
      return push(at, write_.call_operator("aten::format", "", use_many(at, i.x)));
    case Opcode::kRaiseException: {
      // the text, and since torch 1.10 the exception's class: nothing else is on the stack then
      const std::vector<ExpressionId> said =
          use_many(at, std::min<int64_t>(2, int64_t(stack_.size() - floor_)));
      return say(StatementKind::kExpression, {},
                 write_.call_operator("prim::RaiseException", "", said));
    }
    case Opcode::kWarn: (void)use_many(at, 2); return forget();
    case Opcode::kIsInstance: return is_instance(at);
    case Opcode::kCreateObject: return create_object(at);
    case Opcode::kInterfaceCall: return call_method(at);
    default:
      refuse(at, "the instruction is not supported; convert the TorchScript or .pt2 program",
             host::Exit::kUnsupported);
  }
}
std::string MethodWriter::register_of(size_t at) const {
  const int64_t number = method_.instructions[at].x;
  if (number < 0) refuse(at, "names the register " + std::to_string(number));
  return register_name(number);
}
void MethodWriter::store_many(size_t at) {
  const Instruction& i = method_.instructions[at];
  if (i.n < 0 || i.n > kMaxOperands || uint64_t(i.n) > stack_.size() - floor_)
    refuse(at, "stores " + std::to_string(i.n) + " values of a stack of " +
                   std::to_string(stack_.size() - floor_));
  if (i.x > kMaxRegister) refuse(at, "names the register " + std::to_string(i.x));
  const std::vector<Slot> values = pop_many(size_t(i.n));
  for (size_t v = 0; v < values.size(); v++) set_register(at, i.x + int64_t(v), values[v]);
}
const std::string& MethodWriter::type_of(size_t at, int64_t number) const {
  if (number < 0 || uint64_t(number) >= method_.types.size() ||
      method_.types[size_t(number)].size() > kMaxTypeName)
    refuse(at,
           "names type " + std::to_string(number) + " of " + std::to_string(method_.types.size()));
  return method_.types[size_t(number)];
}
void MethodWriter::is_instance(size_t at) {
  const Instruction& i = method_.instructions[at];
  if (i.n < 1 || i.n > 100) refuse(at, "asks for " + std::to_string(i.n) + " types");
  if (i.x > kMaxRegister) refuse(at, "names type " + std::to_string(i.x));
  std::string types = type_of(at, i.x);
  for (int64_t t = 1; t < i.n; t++) types += ", " + type_of(at, i.x + t);
  const ExpressionId value = use(pop(at));
  push(at,
       write_.add(ExpressionKind::kCall, {write_.name("isinstance"), value, write_.name(types)}));
}
void MethodWriter::create_object(size_t at) {
  const std::string name = type_of(at, method_.instructions[at].x) + ".__new__";
  push(at, write_.add(ExpressionKind::kCall, {write_.names(name)}));
}
void MethodWriter::call_method(size_t at) {
  const Instruction& i = method_.instructions[at];
  const auto name = method_.texts.find(size_t(i.x));
  if (i.x < 0 || name == method_.texts.end()) refuse(at, "names no method");
  if (i.n < 1) refuse(at, "calls a method of nothing");
  std::vector<ExpressionId> arguments = use_many(at, i.n);
  arguments[0] = write_.attribute(arguments[0], name->second);
  push(at, write_.add(ExpressionKind::kCall, arguments));
}

const BytecodeOperator& MethodWriter::op_of(size_t at) const {
  const int64_t number = method_.instructions[at].x;
  if (number < 0 || uint64_t(number) >= method_.operators.size())
    refuse(at, "names operator " + std::to_string(number) + " of " +
                   std::to_string(method_.operators.size()));
  return method_.operators[size_t(number)];
}
int64_t MethodWriter::arguments_of(size_t at, const BytecodeOperator& op) const {
  if (op.arguments >= 0) return op.arguments;
  const bool is_aten = op.name.rfind("aten::", 0) == 0;
  if (const auto* schemas = aten::operator_table().find(is_aten ? op.name.substr(6) : op.name))
    for (const aten::Schema& schema : *schemas)
      if (schema.overload == op.overload) return int64_t(schema.parameters.size());
  refuse(at,
         "the file does not say how many arguments '" + op.name +
             "' takes, as those of torch before 1.10 do not; save it again with a newer one",
         host::Exit::kUnsupported);
}
/// Several results are stored at once by the next instruction; no other says how many there are.
int64_t MethodWriter::results_of(size_t at, const BytecodeOperator& op) const {
  if (gives_nothing(op)) return 0;
  const bool stores_many = at + 1 < method_.instructions.size() &&
                           method_.instructions[at + 1].opcode == Opcode::kStoreN;
  return stores_many ? method_.instructions[at + 1].n : 1;
}
void MethodWriter::call(size_t at, const BytecodeOperator& op, std::optional<int64_t> given) {
  const int64_t results = results_of(at, op);
  std::vector<ExpressionId> arguments = use_many(at, given ? *given : arguments_of(at, op));
  if (op.name == "prim::TupleUnpack" && arguments.size() == 1)
    return push_unpacked(at, arguments[0], results);
  const bool passes_on = op.name == "prim::unchecked_cast" ||
                         op.name == "prim::unchecked_unwrap_optional" ||
                         op.name == "aten::_unwrap_optional";
  if (passes_on && arguments.size() == 1) return push(at, arguments[0]);
  if (op.name == "prim::TupleIndex" && arguments.size() == 2)
    return push(at, write_.add(ExpressionKind::kIndex, arguments));
  if (op.name == "prim::Uninitialized") return push(at, write_.add(ExpressionKind::kNothing, {}));
  if (op.name == "prim::Print") return print(arguments);
  if (op.name.find("::") == std::string::npos) refuse(at, "the operator has no namespace");
  const ExpressionId made =
      write_.call_operator(op.name, op.overload.empty() ? "default" : op.overload, arguments);
  if (results == 0) return say(StatementKind::kExpression, {}, made);
  if (results == 1) return push(at, made);
  push_unpacked(at, made, results);
}
void MethodWriter::print(std::vector<ExpressionId> arguments) {
  arguments.insert(arguments.begin(), write_.name("print"));
  say(StatementKind::kExpression, {}, write_.add(ExpressionKind::kCall, arguments));
}

}  // namespace ingot::torchscript
