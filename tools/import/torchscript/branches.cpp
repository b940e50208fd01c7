// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/branches.cpp - if: on what is known one way is taken; on what only the
// run knows both are followed and become the graph's If.
#include <algorithm>

#include "tools/files/work_budget.h"
#include "tools/graph/comparison.h"
#include "tools/import/torchscript/journal.h"

namespace ingot::torchscript {

using Kind = Value::Kind;
using graph::Dim;
using graph::kAbsent;
using graph::ValueId;

std::optional<bool> Interpreter::truth(const Value& value, const std::string& place,
                                       ValueId* asked) {
  switch (value.kind) {
    case Kind::kUnknown:
      if (!value.text.empty()) report("if", place, value.text);
      throw Stopped{};
    case Kind::kNone: return false;
    case Kind::kBool: return value.truth;
    case Kind::kFloat: return value.number != 0;
    case Kind::kString: return !value.text.empty();
    case Kind::kList:
    case Kind::kTuple: return !value.items->empty();
    case Kind::kForeign:
      return as<Dictionary>(value) ? !as<Dictionary>(value)->items.empty() : true;
    case Kind::kInt: {
      if (const auto n = value.integer.value()) return *n != 0;
      graph::Comparison zero;
      zero.a = value.integer;
      if (const std::optional<bool> is_zero = graph::answer(zero)) return !*is_zero;
      const ValueId equal =
          builder_.emit(op::Equal, {builder_.extent(value.integer), builder_.extent(Dim(0))});
      *asked = builder_.emit(op::Not, {equal});
      return std::nullopt;
    }
    case Kind::kTensor: break;
  }
  const ValueId id = builder_.read(value.tensor);
  const auto elements = product(builder_.dims(id)).value();
  if (!elements || *elements != 1)
    graph::fail_corrupt(place, "the truth of a tensor of shape " + graph::text(builder_.dims(id)) +
                                   ", expected one element");
  if (const auto content = builder_.content(id)) {
    if (const auto number = content->number()) return *number != 0;
    if (content->kind == graph::Scalar::Kind::kTruth)
      if (const std::optional<bool> answer = graph::answer(*content->comparison)) return answer;
  }
  *asked = builder_.reshape(builder_.cast(id, DType::kBool), {});
  return std::nullopt;
}

void Interpreter::note_write(const aten::Tensor& owner) {
  if (quiet_) return;
  const auto frozen = frozen_.find(owner);
  if (frozen != frozen_.end())
    throw aten::Refused{"self", frozen->second, "write to a copy (clone) of it"};
  if (journals_.empty()) return;
  std::vector<Journal::Write>& writes = journals_.back()->writes;
  for (const Journal::Write& w : writes)
    if (w.owner == owner) return;
  writes.push_back({owner, builder_.read(owner), kAbsent});
}

/// What a tensor shows is one thing at each place of the program: a branch cannot decide it.
void Interpreter::note_change_of_view(const aten::Tensor& tensor) {
  const auto frozen = frozen_.find(aten::Builder::owner(tensor));
  if (frozen != frozen_.end())
    throw aten::Refused{"self", frozen->second, "use the form without _ at its end"};
  if (!journals_.empty() && aten::Builder::age(tensor) < journals_.back()->tensors)
    throw aten::Refused{
        "self",
        "changes the shape of a tensor from outside of a branch or loop that the run decides",
        "use the form without _ at its end"};
}

void Interpreter::note_change(const void* shared, const std::string& place) {
  if (journals_.empty() || journals_.back()->made.count(shared)) return;
  refuse("append", place,
         "a list or dictionary is changed within a branch or loop that the run decides");
}

void Interpreter::note_made(const void* shared) {
  if (!journals_.empty()) journals_.back()->made.insert(shared);
}

void Interpreter::note_setting(const std::shared_ptr<Object>& object, const std::string& name) {
  if (journals_.empty()) return;
  std::vector<Journal::Setting>& settings = journals_.back()->settings;
  for (const Journal::Setting& s : settings)
    if (s.object == object && s.name == name) return;
  const auto found = object->attributes.find(name);
  const bool was_there = found != object->attributes.end();
  settings.push_back({object, name, was_there, was_there ? found->second : Value(), Value()});
}

void Interpreter::run_if(Frame& frame, const Statement& s) {
  const std::string place = frame.file->place(s.line);
  ValueId asked = kAbsent;
  const std::optional<bool> known = truth(evaluate(frame, s.value), place, &asked);
  if (known) return run_block(frame, *known ? s.body : s.otherwise);
  run_either(frame, s, asked, place);
}

/// What the tensors in a value hold now.
void Interpreter::hold(const Value& value, std::map<const aten::Cell*, ValueId>* to) {
  if (value.is(Kind::kTensor)) (*to)[value.tensor.get()] = builder_.read(value.tensor);
  if (!value.items) return;
  const aten::Nesting level;
  for (const Value& item : *value.items) hold(item, to);
}

Interpreter::Branch Interpreter::run_branch(const Frame& around, const Block& block,
                                            const std::function<void(Frame&)>& after) {
  Branch branch;
  host::charge_work(4 * around.names.size());
  Frame frame = around;
  const size_t level = journals_.size();
  branch.journal.tensors = builder_.tensors();
  journals_.push_back(&branch.journal);
  builder_.inference().enter(&branch.graph->nodes);
  try {
    run_block(frame, block);
    if (frame.returned)
      refuse("return", frame.file->name,
             "returns from within a branch or loop that the run decides");
    if (after) after(frame);
    for (const auto& [name, value] : frame.names) {
      const auto before = around.names.find(name);
      if (before == around.names.end() || !same(before->second, value)) hold(value, &branch.held);
    }
    for (Journal::Setting& setting : branch.journal.settings) {
      setting.after = setting.object->attributes[setting.name];
      hold(setting.after, &branch.held);
    }
    for (Journal::Write& write : branch.journal.writes) write.after = builder_.read(write.owner);
  } catch (const Raised& raised) {
    branch.raised = true;
    branch.why = raised.place + ": " + raised.message;
  } catch (const graph::ConversionError& error) {
    if (error.exit_code != host::Exit::kCorrupt) throw;
    // it contradicts itself for these shapes: the program never takes it with them
    branch.raised = true;
    branch.why = error.message;
  }
  builder_.inference().leave();
  journals_.resize(level);
  // All as it was.
  quiet_ = true;
  for (const Journal::Write& write : branch.journal.writes)
    builder_.write(write.owner, write.before);
  quiet_ = false;
  for (const Journal::Setting& setting : branch.journal.settings) {
    if (setting.was_there)
      setting.object->attributes[setting.name] = setting.before;
    else
      setting.object->attributes.erase(setting.name);
  }
  for (const aten::Tensor& view : branch.journal.views) builder_.forget(view);
  branch.names = std::move(frame.names);
  return branch;
}

/// Gathers the outputs of an If while what both branches left behind is merged.
class Interpreter::Merge {
 public:
  Merge(Interpreter* i, const Branch& a, const Branch& b)
      : interpreter_(i), builder_(i->builder_), a_(a), b_(b) {}
  std::vector<ValueId> a, b;  // outputs of both branches

  Value values(const Value& x, const Value& y) {
    if (x.is(Kind::kUnknown)) return x;
    if (y.is(Kind::kUnknown)) return y;
    if (x.items && y.items && x.kind == y.kind && x.items->size() == y.items->size() &&
        x.items != y.items) {
      const aten::Nesting level;
      std::vector<Value> items;
      for (size_t i = 0; i < x.items->size(); i++)
        items.push_back(values((*x.items)[i], (*y.items)[i]));
      return x.is(Kind::kTuple) ? Value::tuple(std::move(items)) : Value::list(std::move(items));
    }
    if (same(x, y)) return x;  // one tensor: what was written into it is merged where it is owned
    const ValueId in_a = id(a_, x), in_b = id(b_, y);
    if (in_a == kAbsent || in_b == kAbsent) {
      auto unreadable = std::make_shared<Unreadable>();
      unreadable->why = "is " + describe(x) + " in one branch and " + describe(y) +
                        " in the other, which only the run decides";
      return Value::of(std::shared_ptr<aten::Foreign>(unreadable));
    }
    const aten::Tensor cell = tensor(in_a, in_b);
    // Where a side is a tensor that lives on elsewhere, the result would share its memory in one of
    // two cases.
    for (const Value* side : {&x, &y})
      if (side->is(Kind::kTensor)) interpreter_->frozen_[aten::Builder::owner(side->tensor)] = kWhy;
    interpreter_->frozen_[cell] = kWhy;
    return Value::of(cell);
  }
  aten::Tensor tensor(ValueId in_a, ValueId in_b) {
    a.push_back(in_a);
    b.push_back(in_b);
    cells_.push_back(builder_.own(in_a));  // until the outputs are there
    return cells_.back();
  }
  void finish(const std::vector<ValueId>& outputs) {
    interpreter_->quiet_ = true;
    for (size_t i = 0; i < cells_.size(); i++) builder_.write(cells_[i], outputs[i]);
    interpreter_->quiet_ = false;
  }

 private:
  static constexpr const char* kWhy =
      "may share memory with what one of two branches gives, which only the run decides";

  static ValueId held(const Branch& branch, const Value& value) {
    const auto found = branch.held.find(value.tensor.get());
    return found == branch.held.end() ? kAbsent : found->second;
  }
  ValueId id(const Branch& branch, const Value& value) {
    switch (value.kind) {
      case Kind::kTensor: {
        const ValueId inside = held(branch, value);
        return inside == kAbsent ? builder_.read(value.tensor) : inside;
      }
      case Kind::kInt: return builder_.extent(value.integer);
      case Kind::kBool: return builder_.scalar(DType::kBool, value.truth);
      case Kind::kFloat: return builder_.scalar(DType::kF32, value.number);
      default: return kAbsent;
    }
  }

  Interpreter* interpreter_;
  aten::Builder& builder_;
  const Branch &a_, &b_;
  std::vector<aten::Tensor> cells_;
};

void Interpreter::run_either(Frame& frame, const Statement& s, ValueId condition,
                             const std::string& place) {
  Branch yes = run_branch(frame, s.body, {}), no = run_branch(frame, s.otherwise, {});
  if (yes.raised && no.raised)
    throw Raised{place, "both branches of an if raise (" + yes.why + "; " + no.why + ")"};
  const bool both = !yes.raised && !no.raised;
  const Branch& a = yes.raised ? no : yes;
  const Branch& b = no.raised ? yes : no;
  Merge merge(this, a, b);
  std::map<std::string, Value> names;
  for (const auto& [name, value] : a.names) {
    const auto other = b.names.find(name);
    if (other == b.names.end()) continue;
    const auto before = frame.names.find(name);
    if (before != frame.names.end() && same(before->second, value) && same(value, other->second))
      names[name] = value;
    else
      names[name] = both ? merge.values(value, other->second) : only(&merge, a, value);
  }
  struct Owned {
    aten::Tensor owner, merged;
  };
  std::vector<Owned> owned;
  const auto written = [&](const Branch& branch, const aten::Tensor& owner) {
    for (const Journal::Write& w : branch.journal.writes)
      if (w.owner == owner) return w.after;
    return builder_.read(owner);
  };
  std::set<aten::Tensor> owners;
  for (const Branch* branch : {&a, &b})
    for (const Journal::Write& w : branch->journal.writes)
      if (owners.insert(w.owner).second)
        owned.push_back({w.owner, merge.tensor(written(a, w.owner), written(b, w.owner))});
  std::vector<std::pair<Journal::Setting, Value>> settings;
  const auto set = [&](const Branch& branch, const Journal::Setting& s0) {
    for (const Journal::Setting& other : branch.journal.settings)
      if (other.object == s0.object && other.name == s0.name) return other.after;
    return s0.before;
  };
  for (const Branch* branch : {&a, &b})
    for (const Journal::Setting& one : branch->journal.settings) {
      const bool known = std::any_of(settings.begin(), settings.end(), [&](const auto& had) {
        return had.first.object == one.object && had.first.name == one.name;
      });
      if (!known)
        settings.emplace_back(
            one, both ? merge.values(set(a, one), set(b, one)) : only(&merge, a, set(a, one)));
    }
  if (!both) {
    const std::string& why = yes.raised ? yes.why : no.why;
    builder_.note(merge.a.empty() ? "a check of data is not kept: " + why
                                  : "a run that would raise ends with an error: " + why);
  }
  if (!merge.a.empty()) {
    graph::Node node;
    node.op = op::If;
    node.name = frame.path;
    node.inputs = {condition};
    for (size_t i = 0; i < merge.a.size(); i++) {
      const graph::Value like = builder_.model.values[size_t(merge.a[i])];
      const ValueId out = builder_.model.add_value(
          "If." + std::to_string(builder_.model.values.size()), like.dtype);
      if (!both) {
        builder_.model.values[size_t(out)].dims = like.dims;
        builder_.model.values[size_t(out)].shape_known = true;
      }
      node.outputs.push_back(out);
    }
    std::vector<ValueId> outputs = node.outputs;
    yes.graph->outputs = both ? merge.a : yes.raised ? std::vector<ValueId>{} : merge.a;
    no.graph->outputs = both ? merge.b : no.raised ? std::vector<ValueId>{} : merge.a;
    if (!yes.raised) node.attributes[attr::then_branch] = yes.graph;
    if (!no.raised) node.attributes[attr::else_branch] = no.graph;
    builder_.begin_node({frame.path + " (" + place + ")", "If", ""});
    try {
      builder_.add(std::move(node));
    } catch (const aten::Reported&) {
      throw Stopped{};
    }
    for (ValueId& id : outputs) id = builder_.resolve(id);
    merge.finish(outputs);
  }
  frame.names = std::move(names);
  for (const Owned& one : owned) builder_.write(one.owner, builder_.read(one.merged));
  for (auto& [setting, value] : settings) {
    note_setting(setting.object, setting.name);
    setting.object->attributes[setting.name] = std::move(value);
  }
}

/// What the one branch that can be taken leaves behind, as outputs.
Value Interpreter::only(Merge* merge, const Branch& branch, const Value& value) {
  if (value.items && !value.items->empty()) {
    const aten::Nesting level;
    std::vector<Value> items;
    for (const Value& item : *value.items) items.push_back(only(merge, branch, item));
    return value.is(Kind::kTuple) ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }
  if (!value.is(Kind::kTensor)) return value;
  const auto held = branch.held.find(value.tensor.get());
  if (held == branch.held.end()) return value;
  return Value::of(merge->tensor(held->second, held->second));
}

}  // namespace ingot::torchscript
