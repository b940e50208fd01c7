// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/statements.cpp - assignments, calls of functions, with. Branches and
// loops: branches.cpp, loops.cpp.
#include <sys/resource.h>

#include <algorithm>

#include "tools/files/work_budget.h"
#include "tools/import/torchscript/journal.h"

namespace ingot::torchscript {
namespace {

// Expressions in calls in blocks. What one takes of the machine's stack differs tenfold between
// builds, so both are bounded.
constexpr int kMaxDepth = 2500;
constexpr uint64_t kStepWork = 32;  // of a statement or a call, beside what it computes
constexpr uintptr_t kMaxStack = uintptr_t{4} << 20;

/// Half of the stack that this process has, where that is less: a program is followed from far
/// within it.
uintptr_t most_stack() {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMaxStack;
  return std::min(kMaxStack, uintptr_t(limit.rlim_cur) / 2);
}

}  // namespace

Interpreter::Interpreter(aten::Builder& builder, Library& library, Value constants)
    : builder_(builder), library_(library), constants_(std::move(constants)) {
  builder_.on_write = [this](const aten::Tensor& owner) { note_write(owner); };
  builder_.on_change_view = [this](const aten::Tensor& tensor) { note_change_of_view(tensor); };
  builder_.on_take = [this](const aten::Tensor& view) {
    if (!journals_.empty()) journals_.back()->views.push_back(view);
  };
}

Interpreter::Deeper::Deeper(Interpreter* i, const std::string& place) : interpreter(i) {
  // stacks grow downward
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (i->depth_ == 0) i->stack_ = here, i->most_stack_ = most_stack();
  if (++i->depth_ > kMaxDepth || (here < i->stack_ && i->stack_ - here > i->most_stack_)) {
    i->depth_--;
    graph::fail_corrupt(place, "functions call each other deeper than a program can be followed");
  }
}

void Interpreter::count_step(const std::string& place) {
  host::charge_work(kStepWork);
  if (++steps_ > most_steps)
    graph::fail_unsupported(
        place, "the program takes more than " + std::to_string(most_steps) +
                   " steps while it is converted; does a loop run over the elements of a tensor?");
}

Value Interpreter::report(const std::string& op, const std::string& place, const std::string& why,
                          const std::string& hint) {
  graph::Unsupported entry;
  entry.op = op;
  entry.node = place;
  entry.why = why;
  entry.hint = hint;
  builder_.unsupported.push_back(std::move(entry));
  return Value::unknown();
}
void Interpreter::refuse(const std::string& op, const std::string& place, const std::string& why,
                         const std::string& hint) {
  report(op, place, why, hint);
  throw Stopped{};
}

void Interpreter::run_block(Frame& frame, const Block& block) {
  for (uint32_t i = 0; i < block.count && !frame.returned; i++)
    run_statement(frame, frame.file->statements[frame.file->order[block.first + i]]);
}

void Interpreter::run_statement(Frame& frame, const Statement& s) {
  const std::string place = frame.file->place(s.line);
  const Deeper deeper(this, place);
  count_step(place);
  switch (s.kind) {
    case StatementKind::kPass: return;
    case StatementKind::kForget:
      for (uint32_t i = 0; i < s.count; i++)
        frame.names.erase(frame.file->text(frame.file->at(frame.file->items[s.first + i])));
      return;
    case StatementKind::kAssign: return assign(frame, s);
    case StatementKind::kExpression: (void)evaluate(frame, s.value); return;
    case StatementKind::kIf: return run_if(frame, s);
    case StatementKind::kWhile: return run_while(frame, s);
    case StatementKind::kFor: return run_for(frame, s);
    case StatementKind::kWith: return run_with(frame, s);
    case StatementKind::kReturn:
      frame.result = s.value == kNone ? Value::none() : evaluate(frame, s.value);
      frame.returned = true;
      return;
    case StatementKind::kAssert: {
      graph::ValueId asked = graph::kAbsent;
      const std::optional<bool> holds = truth(evaluate(frame, s.value), place, &asked);
      if (holds && !*holds) throw Raised{place, "an assertion does not hold"};
      if (!holds) builder_.note(place + ": an assertion about data is not kept");
      return;
    }
    case StatementKind::kRaise: {
      const Value what = s.value == kNone ? Value::none() : evaluate(frame, s.value);
      throw Raised{place, what.is(Value::Kind::kString) ? what.text : "an exception"};
    }
  }
}

void Interpreter::run_with(Frame& frame, const Statement& s) {
  const std::string place = frame.file->place(s.line);
  const Value guard = evaluate(frame, s.value);
  const Object* const object = as<Object>(guard);
  if (!object) refuse("with", place, "enters " + describe(guard) + ", expected an object");
  const auto self = std::static_pointer_cast<Object>(guard.foreign);
  const Value entered = call_method(self, "__enter__", {});
  if (s.count > 0) store(frame, frame.file->items[s.first], entered);
  run_block(frame, s.body);
  (void)call_method(self, "__exit__", {Value::none(), Value::none(), Value::none()});
}

void Interpreter::assign(Frame& frame, const Statement& s) {
  const File& file = *frame.file;
  const bool unpacks = s.unpacks || s.count > 1;
  wanted_.clear();
  const ExpressionKind from = file.at(s.value).kind;
  if (from == ExpressionKind::kCall || from == ExpressionKind::kOperator) {
    for (uint32_t i = 0; i < s.count; i++) {
      const Expression& target = file.at(file.items[s.first + i]);
      const bool has_name =
          target.kind != ExpressionKind::kIndex && target.kind != ExpressionKind::kSlot;
      wanted_.push_back(has_name ? file.text(target) : "");
    }
  }
  const Value value = evaluate(frame, s.value);
  wanted_.clear();
  if (!unpacks) return store(frame, file.items[s.first], value);
  const std::string place = file.place(s.line);
  if (!value.is(Value::Kind::kUnknown) && !value.items)
    graph::fail_corrupt(
        place, "unpacks " + describe(value) + " into " + std::to_string(s.count) + " names");
  if (value.items && value.items->size() != s.count)
    graph::fail_corrupt(
        place, "unpacks " + describe(value) + " into " + std::to_string(s.count) + " names");
  for (uint32_t i = 0; i < s.count; i++)
    store(frame, file.items[s.first + i], value.items ? (*value.items)[i] : value);
}

void Interpreter::store(Frame& frame, ExpressionId target, Value value) {
  const File& file = *frame.file;
  const Expression& e = file.at(target);
  if (e.kind == ExpressionKind::kName) {
    frame.names[file.text(e)] = std::move(value);
    return;
  }
  const std::string place = file.place(e.line);
  const Value owner = evaluate(frame, file.item(e, 0));
  if (e.kind == ExpressionKind::kAttribute)
    return set_attribute(owner, file.text(e), std::move(value), place);
  if (e.kind == ExpressionKind::kSlot)
    return set_attribute(owner, slot_name(owner, e.integer), std::move(value), place);
  Arguments arguments;
  arguments.positional = {owner, evaluate(frame, file.item(e, 1)), std::move(value)};
  (void)call_operator(frame, "aten::_set_item", std::move(arguments), e.line);
}

void Interpreter::set_attribute(const Value& owner, const std::string& name, Value value,
                                const std::string& place) {
  Object* const object = as<Object>(owner);
  if (owner.is(Value::Kind::kUnknown)) return;
  if (!object) graph::fail_corrupt(place, "sets '" + name + "' of " + describe(owner));
  note_setting(std::static_pointer_cast<Object>(owner.foreign), name);
  containers_.note(owner, value);
  object->attributes[name] = std::move(value);
}

Value Interpreter::call_function(const File& file, const Function& function, Arguments arguments,
                                 const std::string& path, const std::string& place) {
  const Deeper deeper(this, place);
  count_step(place);
  Frame frame;
  frame.file = &file;
  frame.path = path;
  if (arguments.positional.size() > function.parameters.size())
    graph::fail_corrupt(
        place, "gives '" + function.name + "' " + std::to_string(arguments.positional.size()) +
                   " arguments, it takes " + std::to_string(function.parameters.size()));
  for (auto& [name, value] : arguments.keywords) {
    bool known = false;
    for (size_t i = arguments.positional.size(); i < function.parameters.size(); i++)
      known = known || function.parameters[i].name == name;
    if (!known || !frame.names.emplace(name, std::move(value)).second)
      graph::fail_corrupt(place, "gives '" + function.name + "' the argument '" + name +
                                     "', which it does not take (again)");
  }
  for (size_t i = 0; i < function.parameters.size(); i++) {
    const FunctionParameter& p = function.parameters[i];
    if (i < arguments.positional.size()) {
      frame.names[p.name] = std::move(arguments.positional[i]);
    } else if (!frame.names.count(p.name)) {
      if (p.otherwise == kNone)
        graph::fail_corrupt(place,
                            "does not give '" + function.name + "' its argument '" + p.name + "'");
      frame.names[p.name] = evaluate(frame, p.otherwise);
    }
  }
  run_block(frame, function.body);
  return frame.result;
}

Value Interpreter::call_method(const std::shared_ptr<Object>& self, const std::string& method,
                               std::vector<Value> given) {
  const Library::Found found = library_.find(self->type);
  const std::string place = found.file ? found.file->name : "code";
  if (!found.type)
    graph::fail_corrupt(place, "the class '" + self->type + "' is not in the archive");
  const auto function = found.type->methods.find(method);
  if (function == found.type->methods.end())
    graph::fail_corrupt(place, "the class '" + self->type + "' has no method '" + method + "'");
  Arguments arguments;
  arguments.positional.push_back(Value::of(std::static_pointer_cast<aten::Foreign>(self)));
  for (Value& value : given) arguments.positional.push_back(std::move(value));
  return call_function(*found.file, function->second, std::move(arguments), self->path,
                       found.file->place(function->second.line));
}

}  // namespace ingot::torchscript
