// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_loop.cpp - Loop and Scan in one normal form: a trip count that is a dim,
// perhaps a condition, and what is carried. Rows are read with Gather at the iteration and written
// with ScatterND into a carried stack.
#include "tools/graph/infer/infer_loop.h"

#include <algorithm>

#include "tools/graph/infer/run_numbers.h"

namespace ingot::graph {
namespace {

// exporters write the largest integer for "no count"
constexpr int64_t kEndless = int64_t(1) << 40;

[[noreturn]] void refuse(const std::string& why, const Hint& hint) { throw Refusal{"", why, hint}; }

}  // namespace

LoopBuilder::LoopBuilder(Inference& run, Node& node, Growths growths)
    : run_(run), node_(node), body_(node.subgraph(attr::body)), growths_(std::move(growths)) {
  if (!body_) fail_corrupt(describe(node), "lacks its body");
  for (const Node& each : body_->nodes)
    for (const ValueId id : each.outputs)
      if (id != kAbsent) made_by_[id] = &each;
}

ValueId LoopBuilder::typed(const std::string& name, DType dtype, Dims dims) {
  const ValueId id = run_.model.add_value(
      node_.name + "/" + name + std::to_string(run_.model.values.size()), dtype);
  Value& value = run_.model.values[size_t(id)];
  value.dims = std::move(dims);
  value.shape_known = true;
  return id;
}

const Node* LoopBuilder::maker(ValueId id) const {
  const auto found = made_by_.find(id);
  return found == made_by_.end() ? nullptr : found->second;
}

/// The value behind copies, and behind conversions of type when asked.
ValueId LoopBuilder::behind(ValueId id, bool conversions) const {
  const auto converts = [](const Node& node) {
    return node.op == op::Cast || node.op == op::CastLike;
  };
  for (const Node* node = maker(id);
       node && (node->op == op::Identity || (conversions && converts(*node))); node = maker(id))
    id = node->inputs.at(0);
  return id;
}

void LoopBuilder::set_type_of(ValueId inner, ValueId outer) {
  const Value source = run_.value(outer);
  Value& value = run_.model.values[size_t(inner)];
  value.dtype = source.dtype;
  value.dims = source.dims;
  value.shape_known = true;
}

/// What no iteration changes is the value outside.
void LoopBuilder::drop_invariants() {
  std::vector<Carried> kept;
  for (const Carried& each : carried_) {
    if (behind(each.next, false) != each.inner) {
      kept.push_back(each);
      continue;
    }
    run_.replace(each.inner, each.initial);
    if (each.result != kAbsent) run_.replace(each.result, each.initial);
  }
  carried_ = std::move(kept);
}

bool LoopBuilder::is_true(ValueId id) const {
  const auto contents = run_.contents(run_.resolve(id));
  return contents && contents->size() == 1 && (*contents)[0].number() &&
         *(*contents)[0].number() != 0;
}

/// How often a body runs whose condition compares a counter with a dim: `i += step; while (i <
/// end)`.
std::optional<Dim> LoopBuilder::counted() const {
  const Node* comparison = maker(behind(next_condition_, true));
  if (!comparison || comparison->inputs.size() != 2 || !is_true(condition_)) return std::nullopt;
  const Operator op = comparison->op;
  const bool less = op == op::Less || op == op::LessOrEqual,
             greater = op == op::Greater || op == op::GreaterOrEqual;
  if (!less && !greater) return std::nullopt;
  const ValueId counted = behind(comparison->inputs[greater ? 1 : 0], true);
  const auto end = run_.contents(run_.resolve(behind(comparison->inputs[greater ? 0 : 1], true)));
  if (!end || end->size() != 1 || !(*end)[0].dim()) return std::nullopt;
  for (const Carried& each : carried_) {
    const ValueId next = behind(each.next, true);
    const Node* sum = maker(next);
    if ((counted != next && counted != each.inner) || !sum || sum->op != op::Add ||
        sum->inputs.size() != 2)
      continue;
    const size_t self = behind(sum->inputs[0], true) == each.inner ? 0 : 1;
    if (behind(sum->inputs[self], true) != each.inner) continue;
    const auto step = run_.contents(run_.resolve(behind(sum->inputs[1 - self], true)));
    const auto start = run_.contents(each.initial);
    if (!step || !start || step->size() != 1 || start->size() != 1 || !(*step)[0].dim() ||
        !(*start)[0].dim())
      continue;
    const Dim by = *(*step)[0].dim();
    if (!proven_at_least(by, 1)) continue;
    // The value compared after iteration j (from 0) is start + (j + ahead) * by; one more runs
    // while it is below the end.
    const Dim ahead(counted == next ? 1 : 0);
    const Dim last =
        *(*end)[0].dim() + Dim(op == op::LessOrEqual || op == op::GreaterOrEqual ? 1 : 0);
    return Dim(1) + max(ceil_div(last - *(*start)[0].dim() - ahead * by, by), Dim(0));
  }
  return std::nullopt;
}

/// The trip count, and whether a condition may end the loop before.
void LoopBuilder::find_trips(ValueId count) {
  const auto contents = run_.contents(count);
  std::optional<Dim> given;
  if (contents && contents->size() == 1) given = (*contents)[0].dim();
  if (given && given->is_static() && *given->value() >= kEndless) given.reset(), count = kAbsent;
  const ValueId next = behind(next_condition_, false);
  const bool goes_on = next == inner_condition_ || is_true(next);
  has_condition_ = !goes_on || !is_true(condition_);
  if (const auto found = goes_on ? std::nullopt : counted()) {
    has_condition_ = false;
    trips_ = given ? min(*given, *found) : *found;
    if (!given && count != kAbsent)
      refuse("its trip count is known only when it runs", "export it as a constant");
    return;
  }
  int64_t most = run_.model.max_elements;
  NodeContext context(run_, node_);
  const std::string name = count == kAbsent ? "" : run_.value(count).name;
  if (count != kAbsent) most = stated_most(run_.model, name);
  if (!given && count != kAbsent && most > 0) {
    const ValueId found = context.make(
        op::Max,
        {context.reshape(context.cast(count, DType::kI64), {}), context.scalar(DType::kI64, 0)});
    given = context.data_dependent_dim(context.make(op::ResolveDim, {found}), Dim(most), name);
  }
  if (!given && count != kAbsent)
    refuse("its trip count is known only when it runs: nothing bounds the loop",
           how_to_bound(context, name, 0) +
               "; or export it with a trip count that is a constant or comes from a shape");
  if (!given && most > 0) given = Dim(most), is_bounded_ = true;
  if (!given)
    refuse(
        "nothing bounds how often it runs: it has no trip count, and its condition compares no "
        "counter with a shape",
        bound_hint("give its upper bound: ") +
            "; or export it with a trip count, or with a condition such as i < length");
  trips_ = max(*given, Dim(0));
}

/// A node inside the body, behind those that are there.
ValueId LoopBuilder::inside(Operator op, std::vector<ValueId> inputs, Attributes attributes) {
  ValueId made = kAbsent;
  run_.visit_into(body_->nodes, [&] {
    NodeContext context(run_, node_);
    made = context.make(op, std::move(inputs), std::move(attributes));
  });
  return made;
}

/// The row that the body makes goes to its place in a stack, which is carried.
void LoopBuilder::add_stack(const Written& written) {
  const ValueId row = run_.resolve(written.row);
  const Value type = run_.value(row);
  NodeContext context(run_, node_);
  Dims dims = type.dims, one = type.dims;
  dims.insert(dims.begin(), trips_);
  one.insert(one.begin(), Dim(1));
  Carried stack;
  stack.initial = context.expand(context.scalar(type.dtype, 0), dims);
  stack.inner = typed("stack", type.dtype, dims);
  const ValueId at =
      inside(op::Reshape, {index(written.reverse)}, {{attr::shape, Dims{Dim(1), Dim(1)}}});
  const ValueId update =
      inside(op::Reshape, {row}, {{attr::shape, one}, {attr::allowzero, int64_t(1)}});
  stack.next = inside(op::ScatterND, {stack.inner, at, update}, {});
  stack.result = typed("stacked", type.dtype, dims);
  carried_.push_back(stack);
  stacks_.push_back({stack.result, written});
}

/// The iteration, or where that is counted from the end.
ValueId LoopBuilder::index(bool reverse) {
  if (!reverse) return iteration_;
  if (backwards_ != kAbsent) return backwards_;
  NodeContext context(run_, node_);
  ValueId last = kAbsent;
  if (const auto n = trips_.value()) {
    last = context.scalar(DType::kI64, double(*n - 1));
  } else {
    const ValueId ones = context.expand(context.scalar(DType::kI64, 1), {trips_});
    const ValueId sum =
        context.make(op::ReduceSum, {ones},
                     {{attr::axes, std::vector<int64_t>{0}}, {attr::keepdims, int64_t(0)}});
    last = context.make(op::Sub, {sum, context.scalar(DType::kI64, 1)});
  }
  return backwards_ = inside(op::Sub, {last, iteration_}, {});
}

void LoopBuilder::count_iterations() {
  NodeContext context(run_, node_);
  Carried counter;
  counter.initial = context.scalar(DType::kI64, 0);
  counter.inner = typed("iterations", DType::kI64, {});
  counter.next = inside(op::Add, {counter.inner, context.scalar(DType::kI64, 1)}, {});
  counter.result = iterations_ = typed("iterations", DType::kI64, {});
  carried_.push_back(counter);
}

/// Whether a node inside reads the value, or it is given on.
bool LoopBuilder::is_read(const Graph& graph, ValueId id) const {
  const auto is_it = [&](ValueId other) { return other != kAbsent && run_.resolve(other) == id; };
  if (std::any_of(graph.outputs.begin(), graph.outputs.end(), is_it)) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    if (std::any_of(node.inputs.begin(), node.inputs.end(), is_it)) return true;
    for (const auto& inner : node.subgraphs())
      if (is_read(*inner, id)) return true;
    return false;
  });
}

/// What the first iteration replaces unread may begin with any shape, as Paddle's exporter writes
/// variables that are set inside alone: it begins with zeros.
bool LoopBuilder::begin_with_zeros(Carried& each, const Value& after) {
  const bool runs = (!has_condition_ || is_true(condition_)) && proven_at_least(trips_, 1);
  if (!runs || is_read(*body_, each.inner)) return false;
  NodeContext context(run_, node_);
  const Dims dims = after.dims;
  each.initial = context.expand(context.scalar(after.dtype, 0), dims);
  run_.model.values[size_t(each.inner)].dims = dims;
  return true;
}

void LoopBuilder::check_carried() {
  for (Carried& each : carried_) {
    if (each.next == kAbsent) continue;
    const Value &before = run_.value(each.inner), &after = run_.value(run_.resolve(each.next));
    if (before.dtype != after.dtype)
      fail_corrupt(describe(node_), "what it carries as '" + before.name + "' is " +
                                        dtype_text(before.dtype) + " before an iteration and " +
                                        dtype_text(after.dtype) + " after it");
    if (before.dims.size() + after.dims.size() == 1 &&
        product(before.dims) == product(after.dims)) {
      run_.model.notes.push_back(describe(node_) + ": what it carries as '" + before.name +
                                 "' is a scalar or [1], taken as " + text(before.dims));
      each.next = inside(op::Reshape, {each.next},
                         {{attr::shape, before.dims}, {attr::allowzero, int64_t(1)}});
      continue;
    }
    if (before.dims != after.dims && !begin_with_zeros(each, after))
      refuse("what it carries as '" + before.name + "' has shape " + text(before.dims) +
                 " before an iteration and " + text(after.dims) + " after it",
             "export it so that shapes stay the same");
  }
}

/// Once everything is known: the body, then the loop itself.
void LoopBuilder::finish(const std::vector<Written>& rows) {
  if (!growths_.empty()) begin_growing(growths_);
  run_.walk(*body_);
  for (ValueId& id : body_->outputs) id = run_.resolve(id);
  for (const ValueId id : body_->outputs) run_.refuse_sequence(id);
  const bool whole =
      std::all_of(carried_.begin(), carried_.end(),
                  [&](const Carried& each) { return run_.known(run_.resolve(each.next)); }) &&
      std::all_of(
          grown_.begin(), grown_.end(),
          [&](const Grown& each) { return run_.known(run_.resolve(each.original.next)); }) &&
      std::all_of(rows.begin(), rows.end(),
                  [&](const Written& row) { return run_.known(run_.resolve(row.row)); });
  if (!whole) return;  // something inside was refused already
  found_growths_ = find_growth(growths_);
  if (!found_growths_.empty()) return;  // walked again
  check_carried();
  end_growing();
  for (const Written& row : rows) add_stack(row);
  if (has_condition_ && !rows.empty()) count_iterations();
  ValueId condition = kAbsent, next = kAbsent;
  if (has_condition_) {
    condition = run_.resolve(condition_);
    next = run_.resolve(next_condition_);
    NodeContext context(run_, node_);
    for (const ValueId id : {condition, next})
      if (run_.value(id).dtype != DType::kBool || product(run_.value(id).dims) != Dim(1))
        fail_corrupt(describe(node_), "its condition is " +
                                          std::string(dtype_text(run_.value(id).dtype)) + " " +
                                          text(run_.value(id).dims) + ", expected one bool");
    if (!run_.value(condition).dims.empty()) condition = context.reshape(condition, {});
    if (!run_.value(next).dims.empty()) next = inside(op::Reshape, {next}, {{attr::shape, Dims{}}});
    if (is_bounded_) {
      last_condition_ = typed("goes_on", DType::kBool, {});
      carried_.push_back({condition, typed("goes_on", DType::kBool, {}), next, last_condition_});
    }
  }
  node_.op = op::Loop;
  node_.attributes = {{attr::body, body_}, {attr::most, Dims{trips_}}};
  node_.inputs = {kAbsent, condition};
  node_.outputs.clear();
  body_->inputs = {iteration_};
  body_->outputs = {next};
  for (const Carried& each : carried_) {
    node_.inputs.push_back(run_.resolve(each.initial));
    body_->inputs.push_back(each.inner);
    body_->outputs.push_back(run_.resolve(each.next));
    ValueId result = each.result == kAbsent ? typed("result", DType::kInvalid, {}) : each.result;
    set_type_of(result, each.inner);
    if (last_condition_ != kAbsent && result != last_condition_) {  // the guard's, behind the loop
      guarded_.push_back(result);
      result = typed("unguarded", DType::kInvalid, {});
      set_type_of(result, each.inner);
    }
    node_.outputs.push_back(result);
  }
}

std::optional<Node> LoopBuilder::guard_bound() {
  if (last_condition_ == kAbsent) return std::nullopt;
  NodeContext context(run_, node_);
  Node guard;
  guard.op = op::If;
  guard.name = node_.name;
  guard.sources = node_.sources;
  guard.inputs = {context.make(op::Not, {last_condition_})};
  auto branch = std::make_shared<Graph>();
  for (const ValueId id : node_.outputs)
    if (id != last_condition_) branch->outputs.push_back(id);
  guard.outputs = guarded_;
  guard.attributes[attr::then_branch] = std::move(branch);
  run_.model.notes.push_back(describe(node_) + " is converted for at most " + trips_.text() +
                             " iterations; a run that needs more ends with an error");
  return guard;
}

/// Stacks as their readers want them: as many rows as were made, the axis of rows where it was
/// asked for.
void LoopBuilder::place_stacks() {
  place_grown();
  Dim rows = trips_;
  if (iterations_ != kAbsent) {
    NodeContext context(run_, node_);
    rows = context.data_dependent_dim(context.make(op::ResolveDim, {run_.resolve(iterations_)}),
                                      trips_);
  }
  for (const auto& [made, written] : stacks_) {
    NodeContext context(run_, node_);
    const ValueId whole = run_.resolve(made);
    const ValueId stacked = rows == trips_ ? whole
                                           : context.make(op::Slice, {whole},
                                                          {{attr::starts, Dims{Dim(0)}},
                                                           {attr::ends, Dims{rows}},
                                                           {attr::axes, std::vector<int64_t>{0}}});
    const int64_t rank = int64_t(run_.value(stacked).dims.size());
    const int64_t axis = written.axis < 0 ? written.axis + rank : written.axis;
    if (axis < 0 || axis >= rank) fail_corrupt(describe(node_), "an output axis is out of range");
    if (axis == 0) {
      run_.replace(written.result, stacked);
      continue;
    }
    std::vector<int64_t> perm;
    for (int64_t i = 1; i < rank; i++) perm.push_back(i);
    perm.insert(perm.begin() + axis, 0);
    run_.replace(written.result, context.make(op::Transpose, {stacked}, {{attr::perm, perm}}));
  }
}

void Inference::repeat_loop(Node& node, const State& before) {
  Growths growths;
  while (true) {
    Node read = cloned(node);
    const std::vector<AppendedSequence> appended = take_sequences(read);
    LoopBuilder builder(*this, read, growths);
    if (read.op == op::Loop)
      builder.read_loop();
    else
      builder.read_scan();
    if (builder.found_growths().empty()) {
      out_->push_back(read);
      if (auto guard = builder.guard_bound()) out_->push_back(std::move(*guard));
      builder.place_stacks();
      for (const AppendedSequence& each : appended) {
        if (!known(resolve(each.rows))) continue;
        for (const Dim& dim : value(resolve(each.rows)).dims)
          if (bound_outside(dim, *read.subgraph(attr::body)) != dim)
            throw Refusal{"", "it appends tensors of an extent that each iteration tells",
                          "export it so that they have one shape, or with a constant trip count "
                          "of at most 64"};
        place_sequence(each);
      }
      return;
    }
    growths = builder.found_growths();
    restore(before);
  }
}

void Inference::infer_loop(Node& node) {
  if (node.has(attr::most)) {  // in normal form since an earlier walk
    walk(*node.subgraph(attr::body));
    out_->push_back(std::move(node));
    return;
  }
  const State before = state();
  std::optional<Refusal> refusal;
  try {
    repeat_loop(node, before);
  } catch (const Refusal& thrown) {
    refusal = thrown;
  }
  if (!refusal && unsupported_->size() == before.unsupported) return;
  const std::vector<Unsupported> inside(unsupported_->begin() + std::ptrdiff_t(before.unsupported),
                                        unsupported_->end());
  restore(before);
  if (unroll(node)) return;
  restore(before);
  if (refusal) throw *refusal;
  unsupported_->insert(unsupported_->end(), inside.begin(), inside.end());
  out_->push_back(std::move(node));
}

}  // namespace ingot::graph
