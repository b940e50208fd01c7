// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/run_numbers.cpp - see run_numbers.h.
#include "tools/graph/infer/run_numbers.h"

#include <algorithm>
#include <set>

#include "tools/graph/data_dependent.h"

namespace ingot::graph {
namespace {

constexpr int64_t kOutside = -(int64_t(1) << 40);  // an index that no tensor has

/// The entry of a shape as a number: of the input of that place where it is 0.
ValueId entry(NodeContext& context, RunNumbers& numbers, size_t at, const std::optional<Dim>& known,
              bool zero_copies) {
  if (known) return context.extent(*known);
  const ValueId given = context.element(1, int64_t(at));
  const Dims in = context.dims(0);
  if (!zero_copies || at >= in.size()) return given;
  return numbers.choose(numbers.make(op::Equal, given, numbers.of(0)), context.extent(in[at]),
                        given);
}

/// Whether its elements may be sizes: a few integers in a row.
bool may_be_sizes(const Inference& run, ValueId id) {
  const Value& value = run.value(id);
  if (!run.known(id) || value.constant || value.dims.size() > 1 ||
      (value.dtype != DType::kI64 && value.dtype != DType::kI32))
    return false;
  const auto count = product(value.dims).value();
  return count && *count <= kMaxRank;
}

}  // namespace

Dim RunNumbers::dim(ValueId number, ValueId valid, const Dim& bound, const std::string& name) {
  if (valid != kAbsent) number = choose(valid, number, of(-1));
  return context_.data_dependent_dim(context_.make(op::ResolveDim, {number}), bound, name);
}

void bind_inputs(Inference& run) {
  const std::vector<ValueId> inputs = run.model.graph.inputs;
  for (const ValueId id : inputs) {
    if (!may_be_sizes(run, id)) continue;
    Node port;  // what the numbers are read for
    port.name = run.value(id).name;
    port.inputs = {id};
    NodeContext context(run, port);
    Contents contents;
    bool is_bounded = false;
    for (int64_t i = 0; i < *product(run.value(id).dims).value(); i++) {
      const std::string name = context.element_name(0, i);
      const auto stated = run.model.symbols.find(name);
      contents.push_back(Scalar::element(id, i));
      if (stated == run.model.symbols.end() || stated->second.high == 0 ||
          run.model.data_dependent.count(name) || is_port_dimension(run.model, name))
        continue;
      contents.back() = Scalar::of(*context.stated(0, i));
      is_bounded = true;
    }
    if (is_bounded) run.set_contents(id, std::move(contents));
  }
}

Hint how_to_bound(NodeContext& context, const std::string& name, size_t input) {
  // the way back through arithmetic of integers, as symbolic.h computes it
  const auto is_arithmetic = [](Operator op) {
    const OperatorClass kind = class_of(op);
    return kind == OperatorClass::kElementwise || kind == OperatorClass::kMovement ||
           kind == OperatorClass::kReduction || op == op::Gather;
  };
  constexpr size_t kMaxSteps = 64;
  const Inference& run = context.run();
  std::vector<ValueId> open = {context.in(input)};
  std::string inputs;
  for (size_t at = 0; at < open.size() && at < kMaxSteps; at++) {
    const ValueId id = open[at];
    const auto& ports = run.model.graph.inputs;
    if (std::find(ports.begin(), ports.end(), id) != ports.end()) {
      const std::string port = run.value(id).name;
      if (!may_be_sizes(run, id) || port == name || name.rfind(port + ".", 0) == 0) continue;
      const int64_t count = *product(run.value(id).dims).value();
      for (int64_t i = 0; i < count; i++)
        inputs += " --dim '" + port + (count == 1 ? "" : "." + std::to_string(i)) + "=1..HIGH'";
      continue;
    }
    const Node* maker = run.maker(id);
    if (!maker || !is_arithmetic(maker->op)) continue;
    for (const ValueId each : maker->inputs)
      if (each != kAbsent && std::find(open.begin(), open.end(), each) == open.end())
        open.push_back(each);
  }
  return bound_hint("give its upper bound: --dim '" + name + "=1..HIGH'" +
                    (inputs.empty() ? "" : ", or of what it is computed from:" + inputs) +
                    ", or of all such sizes: ");
}

bool is_port_dimension(const Model& model, const std::string& name) {
  const auto mentions = [&](const Dim& dim) {
    const std::vector<std::string> names = dim.symbols();
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return std::any_of(model.graph.inputs.begin(), model.graph.inputs.end(), [&](ValueId id) {
    const Dims& dims = model.values[size_t(id)].dims;
    return std::any_of(dims.begin(), dims.end(), mentions);
  });
}

int64_t stated_most(const Model& model, const std::string& name) {
  const auto stated = model.symbols.find(name);
  const bool is_stated =
      stated != model.symbols.end() && stated->second.high != 0 && !is_port_dimension(model, name);
  return is_stated ? stated->second.high : model.max_elements;
}

ValueId fit_axis(NodeContext& context, ValueId x, size_t axis, const Dim& to, bool is_broadcast) {
  const Dim from = context.run().value(x).dims[axis];
  if (from == to) return x;
  RunNumbers numbers(context);
  const ValueId has = context.extent(from), wants = context.extent(to);
  const ValueId last = numbers.make(op::Sub, has, numbers.of(1));
  ValueId fits = numbers.make(op::Equal, has, wants);
  if (is_broadcast) fits = numbers.make(op::Or, fits, numbers.make(op::Equal, has, numbers.of(1)));
  const ValueId places = numbers.places(to, last);
  return numbers.gather(x, numbers.choose(fits, places, numbers.of(kOutside)), int64_t(axis));
}

void fit_equal(NodeContext& context, size_t a, size_t axis_of_a, size_t b, size_t axis_of_b) {
  const Dim x = context.dims(a)[axis_of_a], y = context.dims(b)[axis_of_b];
  if (x == y) return;
  const bool x_by_data = is_data_dependent(context.model(), x);
  if (!x_by_data && !is_data_dependent(context.model(), y)) return;
  const size_t fitted = x_by_data ? a : b;
  const ValueId made = fit_axis(context, context.in(fitted), x_by_data ? axis_of_a : axis_of_b,
                                x_by_data ? y : x, false);
  context.node.inputs[fitted] = made;
}

void fit_operands(NodeContext& context, size_t but) {
  if (context.model().data_dependent.empty()) return;
  size_t rank = 0;
  const size_t count = context.node.inputs.size();
  for (size_t i = 0; i < count; i++) rank = std::max(rank, size_t(context.rank(i)));
  for (size_t back = 1 + but; back <= rank; back++) {  // axes, counted from the last
    std::optional<Dim> kept;
    bool differ = false, by_data = false;
    for (size_t i = 0; i < count; i++) {
      if (size_t(context.rank(i)) < back) continue;
      const Dim& d = context.dims(i)[size_t(context.rank(i)) - back];
      if (d == Dim(1)) continue;
      const bool data = is_data_dependent(context.model(), d);
      by_data = by_data || data;
      differ = differ || (kept && *kept != d);
      // A number before a symbol, a symbol of the inputs before one of the data.
      if (!kept || (d.is_static() && !kept->is_static()) ||
          (!data && is_data_dependent(context.model(), *kept)))
        kept = d;
    }
    if (!differ || !by_data) continue;
    for (size_t i = 0; i < count; i++) {
      if (size_t(context.rank(i)) < back) continue;
      const size_t axis = size_t(context.rank(i)) - back;
      const Dim d = context.dims(i)[axis];
      if (d == Dim(1) || (d.is_static() && kept->is_static())) continue;
      const ValueId made = fit_axis(context, context.in(i), axis, *kept);
      context.node.inputs[i] = made;
    }
  }
}

void reshape_by_data(NodeContext& context, const std::vector<std::optional<Dim>>& wanted) {
  RunNumbers numbers(context);
  const Dim total = product(context.dims(0));
  const bool zero_copies = context.node.integer(attr::allowzero, 0) == 0;
  std::vector<ValueId> entries;
  Dim fixed(1);
  ValueId others = numbers.of(1), one = numbers.of(1), rest = numbers.of(-1);
  for (size_t i = 0; i < wanted.size(); i++) {
    entries.push_back(entry(context, numbers, i, wanted[i], zero_copies));
    const ValueId is_open = numbers.make(op::Equal, entries.back(), rest);
    others = numbers.make(op::Mul, others, numbers.choose(is_open, one, entries.back()));
    const bool counts = wanted[i] && !is_data_dependent(context.model(), *wanted[i]);
    if (counts && *wanted[i] != Dim(-1)) fixed = fixed * max(*wanted[i], Dim(1));
  }
  const ValueId elements = context.extent(total);
  const ValueId left = numbers.make(op::Div, elements, numbers.make(op::Max, others, one));
  ValueId made = one;
  for (ValueId& each : entries) {
    each = numbers.choose(numbers.make(op::Equal, each, rest), left, each);
    made = numbers.make(op::Mul, made, each);
  }
  const ValueId valid = numbers.make(op::Equal, made, elements);
  const Dim most = total / fixed;
  Dims out;
  bool is_checked = false;  // a dim made here is refused where the elements do not fit
  for (size_t i = 0; i < wanted.size(); i++) {
    if (wanted[i] && *wanted[i] != Dim(-1)) {
      out.push_back(*wanted[i]);
      continue;
    }
    is_checked = true;
    Dim bound = most;
    if (!wanted[i]) {
      const int64_t high = context.stated_bound(1, int64_t(i));
      if (high == 0) context.need_dims(attr::shape, 1);  // refuses
      bound = proven_at_least(most, 1) ? min(most, Dim(high)) : Dim(high);
    }
    out.push_back(numbers.dim(entries[i], valid, bound,
                              wanted[i] ? "" : context.element_name(1, int64_t(i))));
  }
  const ValueId flat = context.reshape(context.in(0), {total});
  const ValueId count = is_checked ? elements : context.extent(numbers.dim(elements, valid, total));
  const ValueId last = numbers.make(op::Sub, count, one);
  const ValueId moved = numbers.gather(flat, numbers.places(product(out), last), 0);
  context.finish_shaped(op::Reshape, moved, out);
}

void split_by_data(NodeContext& context, int64_t axis) {
  RunNumbers numbers(context);
  const Dim extent = context.dims(0)[size_t(axis)];
  const size_t parts = context.node.outputs.size();
  if (product(context.dims(1)) != Dim(int64_t(parts)))
    context.corrupt("splits into " + product(context.dims(1)).text() + ", the node has " +
                    std::to_string(parts) + " outputs");
  const ValueId data = context.in(0), elements = context.extent(extent);
  std::vector<ValueId> sizes;
  ValueId sum = numbers.of(0);
  for (size_t i = 0; i < parts; i++) {
    sizes.push_back(context.element(1, int64_t(i)));
    sum = numbers.make(op::Add, sum, sizes.back());
  }
  const ValueId valid = numbers.make(op::Equal, sum, elements);
  const ValueId last = numbers.make(op::Sub, elements, numbers.of(1));
  std::vector<ValueId> made;
  ValueId from = numbers.of(0);
  for (size_t i = 0; i < parts; i++) {
    const Dim size = numbers.dim(sizes[i], valid, extent, context.element_name(1, int64_t(i)));
    const ValueId places =
        numbers.make(op::Min, numbers.make(op::Add, context.counting(size), from), last);
    made.push_back(numbers.gather(data, places, axis));
    from = numbers.make(op::Add, from, sizes[i]);
  }
  for (size_t i = 0; i < parts; i++) context.same(i, made[i]);
}

constexpr int64_t kLongestStep = (int64_t(1) << 31) - 1;

ValueId stepped(NodeContext& context, ValueId x, int64_t axis, ValueId start, ValueId end,
                ValueId step) {
  RunNumbers numbers(context);
  const Dim bound = context.run().value(x).dims[size_t(axis)];
  const ValueId extent = context.extent(bound), zero = numbers.of(0), one = numbers.of(1);
  const ValueId last = numbers.make(op::Sub, extent, one);
  const ValueId back = numbers.make(op::Less, step, zero);
  const ValueId lowest = numbers.choose(back, numbers.of(-1), zero),
                highest = numbers.choose(back, last, extent);
  const auto limited = [&](ValueId at, ValueId low) {
    const ValueId front =
        numbers.choose(numbers.make(op::Less, at, zero), numbers.make(op::Add, at, extent), at);
    return numbers.make(op::Min, numbers.make(op::Max, front, low), highest);
  };
  const ValueId from = limited(start, zero), to = limited(end, lowest);
  const ValueId span = numbers.make(op::Sub, to, from);
  const ValueId toward = numbers.choose(back, one, numbers.of(-1));
  const ValueId is_step = context.make(op::Not, {numbers.make(op::Equal, step, zero)});
  // No extent is as long, so a longer step gives the same one element, and nothing overflows.
  const ValueId limit = numbers.of(kLongestStep), least = numbers.of(-kLongestStep);
  const ValueId by = numbers.choose(
      is_step, numbers.make(op::Min, numbers.make(op::Max, step, least), limit), one);
  const ValueId steps =
      numbers.make(op::Div, numbers.make(op::Add, numbers.make(op::Add, span, by), toward), by);
  const Dim count = numbers.dim(numbers.make(op::Max, steps, zero), is_step, bound);
  const ValueId places =
      numbers.make(op::Add, numbers.make(op::Mul, context.counting(count), by), from);
  return numbers.gather(x, places, axis);
}

}  // namespace ingot::graph
