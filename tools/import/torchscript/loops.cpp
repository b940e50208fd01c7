// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/loops.cpp - for and while: unrolled where the number of rounds is known
// during conversion, else the graph's Loop.
#include <algorithm>

#include "tools/import/torchscript/journal.h"

namespace ingot::torchscript {

using Kind = Value::Kind;
using graph::Dim;
using graph::kAbsent;
using graph::ValueId;

namespace {

constexpr int64_t kMaxRounds = 1 << 16;         // that are unrolled
constexpr size_t kMaxValues = size_t{4} << 20;  // of the graph

}  // namespace

void Interpreter::check_growth(const std::string& place) {
  if (builder_.model.values.size() > kMaxValues)
    graph::fail_unsupported(
        place, "the unrolled loop makes more than " + std::to_string(kMaxValues) + " values");
}

void Interpreter::run_for(Frame& frame, const Statement& s) {
  const File& file = *frame.file;
  const std::string place = file.place(s.line);
  const Expression& e = file.at(s.value);
  const bool is_range =
      e.kind == ExpressionKind::kCall && e.count == 2 && dotted(file, file.item(e, 0)) == "range";
  if (!is_range) refuse("for", place, "goes over something other than a range");
  const Value count = to_integer(evaluate(frame, file.item(e, 1)), place);
  if (count.is(Kind::kUnknown)) {
    if (!count.text.empty()) report("for", place, count.text);
    throw Stopped{};
  }
  const std::string name = file.text(file.at(file.items[s.first]));
  const std::optional<int64_t> known = count.is(Kind::kInt) ? count.integer.value() : std::nullopt;
  if (!known) {
    // Of a dimension, as the shape that it is: that bounds the loop.
    const ValueId rounds =
        count.is(Kind::kInt)
            ? builder_.reshape(
                  builder_.emit(op::Shape, {builder_.expand(builder_.scalar(DType::kI64, 1),
                                                            {count.integer})}),
                  {})
            : builder_.read(tensor_of(count, place));
    return run_loop(frame, s, rounds, place);
  }
  if (*known > kMaxRounds)
    graph::fail_unsupported(place, "a loop of " + std::to_string(*known) + " rounds, at most " +
                                       std::to_string(kMaxRounds) + " are unrolled");
  for (int64_t i = 0; i < *known && !frame.returned; i++) {
    frame.names[name] = Value::of(Dim(i));
    run_block(frame, s.body);
    check_growth(place);
  }
}

void Interpreter::run_while(Frame& frame, const Statement& s) {
  const std::string place = frame.file->place(s.line);
  for (int64_t i = 0; !frame.returned; i++) {
    ValueId asked = kAbsent;
    const std::optional<bool> known = truth(evaluate(frame, s.value), place, &asked);
    if (!known) return run_loop(frame, s, kAbsent, place);
    if (!*known) return;
    if (i >= kMaxRounds)
      graph::fail_unsupported(place,
                              "a loop of more than " + std::to_string(kMaxRounds) + " rounds");
    run_block(frame, s.body);
    check_growth(place);
  }
}

/// Whether what a loop leaves under a name may be a tensor that others hold too: it is one from
/// before the loop after no round, and after others where the body gives one.
bool Interpreter::lives_on(const Frame& frame, const std::string& name, const Value& given,
                           uint64_t tensors) const {
  if (given.is(Kind::kTensor) && aten::Builder::age(aten::Builder::owner(given.tensor)) < tensors)
    return true;
  const Value& before = frame.names.at(name);
  if (!before.is(Kind::kTensor)) return false;
  if (aten::Builder::is_view(before.tensor)) return true;
  return std::any_of(frame.names.begin(), frame.names.end(), [&](const auto& other) {
    return other.first != name && other.second.is(Kind::kTensor) &&
           aten::Builder::owner(other.second.tensor) == before.tensor;
  });
}

/// The names, tensors and attributes that a round changes are found by following it, until no more
/// turn up: what is carried is known inside by its type alone, which may make more of it change.
void Interpreter::run_loop(Frame& frame, const Statement& s, ValueId count,
                           const std::string& place) {
  const File& file = *frame.file;
  graph::Model& model = builder_.model;
  const auto fresh = [&](const std::string& name, DType dtype, const graph::Dims& dims) {
    const ValueId id = model.add_value(name + "." + std::to_string(model.values.size()), dtype);
    model.values[size_t(id)].dims = dims;
    model.values[size_t(id)].shape_known = true;
    return id;
  };
  const bool is_for = s.kind == StatementKind::kFor;
  ValueId first_condition = kAbsent;
  if (!is_for) (void)truth(evaluate(frame, s.value), place, &first_condition);
  std::set<std::string> carried;
  std::vector<aten::Tensor> owners;
  const uint64_t tensors = builder_.tensors();  // from before the loop
  for (int attempt = 0; attempt < 8; attempt++) {
    // What is carried, as plain values and tensors before the loop, and as inputs of its body.
    std::vector<ValueId> before, inputs;
    Frame inside = frame;
    for (const std::string& name : carried) {
      const Value& value = frame.names.at(name);
      const bool number = value.is(Kind::kTensor) || value.is(Kind::kInt) ||
                          value.is(Kind::kBool) || value.is(Kind::kFloat);
      if (!number)
        refuse("Loop", place,
               "carries '" + name + "', " + describe(value) +
                   ", from round to round; only tensors and numbers can be");
      const ValueId id = builder_.read(tensor_of(value, place));
      before.push_back(id);
      inputs.push_back(fresh(name, builder_.dtype(id), builder_.dims(id)));
      const aten::Tensor held = builder_.own(inputs.back());
      frozen_[held] =
          "is in the first round the tensor from before the loop, and in later ones another";
      inside.names[name] = Value::of(held);
    }
    const size_t named = before.size();
    for (const aten::Tensor& owner : owners) {
      before.push_back(builder_.read(owner));
      inputs.push_back(
          fresh("written", builder_.dtype(before.back()), builder_.dims(before.back())));
    }
    const ValueId iteration = fresh("iteration", DType::kI64, {}),
                  going = fresh("going", DType::kBool, {});
    if (is_for)
      inside.names[file.text(file.at(file.items[s.first]))] = Value::of(builder_.own(iteration));
    quiet_ = true;
    for (size_t i = 0; i < owners.size(); i++) builder_.write(owners[i], inputs[named + i]);
    quiet_ = false;
    const size_t reported = builder_.unsupported.size();
    ValueId condition = kAbsent;
    const Branch round = run_branch(inside, s.body, [&](Frame& end) {
      if (is_for) return;
      const Value more = to_truth(evaluate(end, s.value), place);
      condition = builder_.read(tensor_of(more, place));
      for (const std::string& name : carried) {
        Value& value = end.names.at(name);
        if (!value.is(Kind::kTensor)) value = Value::of(tensor_of(value, place));
      }
    });
    quiet_ = true;
    for (size_t i = 0; i < owners.size(); i++) builder_.write(owners[i], before[named + i]);
    quiet_ = false;
    if (round.raised) refuse("Loop", place, "a round raises: " + round.why);
    if (!round.journal.settings.empty())
      refuse("Loop", place,
             "sets the attribute '" + round.journal.settings[0].name +
                 "' in a loop whose number of rounds only the run knows");
    // Anything new?
    bool more = false;
    for (const auto& [name, value] : frame.names) {
      const auto after = round.names.find(name);
      const auto at = inside.names.find(name);
      if (after != round.names.end() && !carried.count(name) && at != inside.names.end() &&
          !same(at->second, after->second) &&
          !(is_for && name == file.text(file.at(file.items[s.first]))))
        more = carried.insert(name).second;
    }
    for (const Journal::Write& write : round.journal.writes)
      if (std::find(owners.begin(), owners.end(), write.owner) == owners.end()) {
        owners.push_back(write.owner);
        more = true;
      }
    if (more) {
      builder_.unsupported.resize(reported);
      continue;
    }
    if (builder_.unsupported.size() > reported) throw Stopped{};
    // The body's outputs.
    std::vector<ValueId> outputs;
    for (const std::string& name : carried) {
      const Value& value = round.names.at(name);
      const auto held =
          value.is(Kind::kTensor) ? round.held.find(value.tensor.get()) : round.held.end();
      outputs.push_back(held != round.held.end() ? held->second
                                                 : builder_.read(tensor_of(value, place)));
    }
    for (const aten::Tensor& owner : owners) {
      ValueId after = kAbsent;
      for (const Journal::Write& write : round.journal.writes)
        if (write.owner == owner) after = write.after;
      outputs.push_back(after == kAbsent ? inputs[named + size_t(&owner - owners.data())] : after);
    }
    for (size_t i = 0; i < outputs.size(); i++)
      if (builder_.dims(outputs[i]) != builder_.dims(inputs[i]) ||
          builder_.dtype(outputs[i]) != builder_.dtype(inputs[i]))
        refuse("Loop", place,
               "what it carries has shape " + graph::text(builder_.dims(inputs[i])) +
                   " before a round and " + graph::text(builder_.dims(outputs[i])) + " after it",
               "give the loop a known number of rounds with --input-shape or --argument");
    graph::Node node;
    node.op = op::Loop;
    node.name = frame.path;
    node.inputs = {count, first_condition};
    node.inputs.insert(node.inputs.end(), before.begin(), before.end());
    round.graph->inputs = {iteration, going};
    round.graph->inputs.insert(round.graph->inputs.end(), inputs.begin(), inputs.end());
    round.graph->outputs = {is_for ? builder_.scalar(DType::kBool, 1) : condition};
    round.graph->outputs.insert(round.graph->outputs.end(), outputs.begin(), outputs.end());
    node.attributes[attr::body] = round.graph;
    std::vector<ValueId> made;
    for (const ValueId id : before) {
      (void)id;
      made.push_back(model.add_value("Loop." + std::to_string(model.values.size())));
    }
    node.outputs = made;
    builder_.begin_node({frame.path + " (" + place + ")", "Loop", ""});
    try {
      if (!made.empty()) builder_.add(std::move(node));
    } catch (const aten::Reported&) {
      throw Stopped{};
    }
    size_t at = 0;
    for (const std::string& name : carried) {
      const aten::Tensor result = builder_.own(builder_.resolve(made[at++]));
      if (lives_on(frame, name, round.names.at(name), tensors))
        frozen_[result] =
            "may share memory with what stands outside of a loop, which only the run decides";
      frame.names[name] = Value::of(result);
    }
    for (const aten::Tensor& owner : owners) builder_.write(owner, builder_.resolve(made[at++]));
    return;
  }
  refuse("Loop", place, "what it carries does not settle");
}

}  // namespace ingot::torchscript
