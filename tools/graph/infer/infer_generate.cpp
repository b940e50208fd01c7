// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_generate.cpp - tensors made from shapes: Shape, Size, ConstantOfShape,
// Range, EyeLike, OneHot, Trilu.
#include <algorithm>
#include <cmath>

#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

void shape(NodeContext& context) {
  const int64_t rank = context.rank(0);
  const auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamp(context.node.integer(attr::start, 0)),
                end = clamp(context.node.integer(attr::end, rank));
  Contents contents;
  for (int64_t i = start; i < end; i++) contents.push_back(Scalar::of(context.dims(0)[size_t(i)]));
  context.node.attributes[attr::start] = start;
  context.node.attributes[attr::end] = start + int64_t(contents.size());
  context.set(0, DType::kI64, {int64_t(contents.size())});
  if (context.node.outputs[0] != kAbsent)
    context.run().set_contents(context.node.outputs[0], std::move(contents));
}
void size(NodeContext& context) {
  const ValueId dims = context.make(op::Shape, {context.in(0)});
  context.finish(op::ReduceProd, {dims},
                 {{attr::axes, std::vector<int64_t>{0}}, {attr::keepdims, int64_t(0)}});
}

void constant_of_shape(NodeContext& context) {
  const Dims dims = context.need_dims(attr::shape, 0);
  const auto found = context.node.attributes.find(attr::value);
  const Constant* value =
      found == context.node.attributes.end() ? nullptr : std::get_if<Constant>(&found->second);
  if (!value) context.corrupt("lacks its value");
  Constant one = *value;
  one.dims.clear();
  context.finish_shaped(op::Expand, context.constant(std::move(one)), dims);
}

/// start, start + delta, ...: `count` elements, as an exclusive running sum where the count is
/// symbolic.
ValueId counted(NodeContext& context, DType dtype, const Dim& count, double start, double delta) {
  if (const auto n = count.value(); n && *n <= (1 << 20)) {
    if (!is_floating(dtype)) {
      std::vector<int64_t> values(static_cast<size_t>(*n));
      for (size_t i = 0; i < values.size(); i++)
        values[i] = int64_t(start) + int64_t(i) * int64_t(delta);
      return context.constant(make_integer(dtype, {*n}, values));
    }
    std::vector<double> values(static_cast<size_t>(*n));
    for (size_t i = 0; i < values.size(); i++) values[i] = start + double(i) * delta;
    return context.constant(make_floating(dtype, {*n}, values));
  }
  const ValueId ones = context.expand(context.scalar(dtype, 1), {count});
  ValueId steps = context.make(
      op::CumSum, {ones},
      {{attr::axis, int64_t(0)}, {attr::exclusive, int64_t(1)}, {attr::reverse, int64_t(0)}});
  if (delta != 1) steps = context.make(op::Mul, {steps, context.scalar(dtype, delta)});
  return start == 0 ? steps : context.make(op::Add, {steps, context.scalar(dtype, start)});
}
/// How many whole numbers lie between two that only the run knows, where the one was made from the
/// other: start and start + n, or limit - n and limit.
std::optional<Dim> distance(NodeContext& context) {
  const auto number = [&](ValueId id) -> std::optional<Dim> {
    const auto contents = context.run().contents(id);
    return contents && contents->size() == 1 ? (*contents)[0].dim() : std::nullopt;
  };
  const auto plain = [&](ValueId id) {  // behind reshapes: the value that is the same number
    for (const Node* node = context.run().maker(id); node && node->op == op::Cast;
         node = context.run().maker(id)) {
      const DType from = context.run().value(node->inputs[0]).dtype;
      if (from != DType::kI64 && from != DType::kI32) break;
      id = node->inputs[0];
    }
    return id;
  };
  const auto is_same = [&](ValueId a, ValueId b) {
    const Node *x = context.run().maker(plain(a)), *y = context.run().maker(plain(b));
    return plain(a) == plain(b) || (x && x == y && x->outputs.size() == 1);
  };
  const Node* sum = context.run().maker(plain(context.in(1)));
  if (sum && sum->op == op::Add && sum->inputs.size() == 2)
    for (const size_t i : {size_t(0), size_t(1)})
      if (is_same(sum->inputs[i], context.in(0))) return number(sum->inputs[1 - i]);
  const Node* difference = context.run().maker(plain(context.in(0)));
  if (difference && difference->op == op::Sub && difference->inputs.size() == 2 &&
      is_same(difference->inputs[0], context.in(1)))
    return number(difference->inputs[1]);
  return std::nullopt;
}

/// start + 0, start + delta, ...: a start that only the run knows, with a known number of elements.
bool range_from_data(NodeContext& context) {
  const auto delta = context.run().contents(context.in(2));
  const bool is_whole = context.dtype(0) == DType::kI64 || context.dtype(0) == DType::kI32;
  if (!is_whole || !delta || delta->size() != 1 || !(*delta)[0].number() ||
      *(*delta)[0].number() < 1)
    return false;
  const double step = *(*delta)[0].number();
  const auto length = distance(context);
  if (!length || step > 1 << 30) return false;
  const Dim count = max(Dim(0), ceil_div(*length, Dim(int64_t(step))));
  ValueId start = context.in(0);
  if (!context.dims(0).empty()) start = context.reshape(start, {});
  context.same(0,
               context.make(op::Add, {counted(context, context.dtype(0), count, 0, step), start}));
  return true;
}

/// A range whose length the run computes, up to the bound for all sizes that only the data tell.
bool bounded_range(NodeContext& context) {
  const std::string name = context.run().value(context.node.outputs[0]).name;
  const int64_t most = stated_most(context.model(), name);
  if (most == 0) return false;
  const DType dtype = context.dtype(0);
  ValueId operands[3];
  for (size_t i = 0; i < 3; i++)
    operands[i] = context.dims(i).empty() ? context.in(i) : context.reshape(context.in(i), {});
  const auto wide = [&](ValueId x) { return context.cast(x, DType::kF64); };
  const ValueId steps = context.make(
      op::Ceil,
      {context.make(op::Div, {context.make(op::Sub, {wide(operands[1]), wide(operands[0])}),
                              wide(operands[2])})});
  const ValueId whole =
      context.cast(context.make(op::Max, {steps, context.scalar(DType::kF64, 0)}), DType::kI64);
  const ValueId count = context.make(op::ResolveDim, {whole});
  const Dim length = context.data_dependent_dim(count, Dim(most), name);
  const ValueId places = context.cast(context.counting(length), dtype);
  context.same(0,
               context.make(op::Add, {context.make(op::Mul, {places, operands[2]}), operands[0]}));
  return true;
}

void range(NodeContext& context) {
  const auto is_known = [&](size_t i) {
    const auto contents = context.run().contents(context.in(i));
    return contents && contents->size() == 1 && (*contents)[0].known();
  };
  if (!is_known(0) && range_from_data(context)) return;
  Scalar given[3];
  for (size_t i = 0; i < 3; i++) {
    const auto contents = context.run().contents(context.in(i));
    if (!contents || contents->size() != 1 || !(*contents)[0].known()) {
      const bool is_whole = context.dtype(i) == DType::kI64 || context.dtype(i) == DType::kI32;
      const auto limit = i == 1 && is_whole && is_known(2) ? context.stated(i, 0) : std::nullopt;
      if (limit) {
        given[i] = Scalar::of(*limit);
        continue;
      }
      if (bounded_range(context)) return;
      context.refuse(
          "",
          "'" + context.value(i).name +
              "' is known only at run time: the length of the range depends on data",
          how_to_bound(context,
                       i == 1 && is_whole ? context.element_name(1, 0)
                                          : context.run().value(context.node.outputs[0]).name,
                       i));
    }
    given[i] = (*contents)[0];
  }
  const auto start = given[0].number(), limit = given[1].number(), delta = given[2].number();
  if ((!start || !delta) && bounded_range(context)) return;
  if (!start || !delta) context.refuse("", "a symbolic start or delta is not supported");
  if (*delta == 0) context.corrupt("delta is 0");
  Dim count;
  if (limit) {
    const double n = std::ceil((*limit - *start) / *delta);
    if (n > double(int64_t(1) << 40)) context.corrupt("makes " + std::to_string(n) + " elements");
    count = Dim(n > 0 ? int64_t(n) : 0);
  } else {
    const auto stop = given[1].dim(), from = given[0].dim(), step = given[2].dim();
    if (!stop || !from || !step || *step->value() < 1)
      context.refuse("", "a range over fractions of a symbolic dimension is not supported");
    count = max(Dim(0), ceil_div(*stop - *from, *step));
  }
  context.same(0, counted(context, context.dtype(0), count, *start, *delta));
}

/// [rows, columns] of column - row.
ValueId diagonal_index(NodeContext& context, const Dim& rows, const Dim& columns) {
  const ValueId down = context.reshape(counted(context, DType::kI64, rows, 0, 1), {rows, 1});
  const ValueId across =
      context.reshape(counted(context, DType::kI64, columns, 0, 1), {1, columns});
  return context.make(op::Sub, {across, down});
}
void trilu(NodeContext& context) {
  if (context.rank(0) < 2)
    context.corrupt("its input has shape " + text(context.dims(0)) +
                    ", expected at least 2 dimensions");
  int64_t k = 0;
  if (const auto given = context.integers(attr::k, 1)) k = given->size() == 1 ? (*given)[0] : 0;
  const Dims in = context.dims(0);
  const DType dtype = context.dtype(0);
  const ValueId index = diagonal_index(context, in[in.size() - 2], in.back());
  const bool upper = context.node.integer(attr::upper, 1) != 0;
  const ValueId keep = context.make(upper ? op::GreaterOrEqual : op::LessOrEqual,
                                    {index, context.scalar(DType::kI64, double(k))});
  if (dtype == DType::kBool) return context.finish(op::And, {context.in(0), keep});
  context.finish(op::Where, {keep, context.in(0), context.scalar(dtype, 0)});
}
void eye_like(NodeContext& context) {
  if (context.rank(0) != 2)
    context.corrupt("its input has shape " + text(context.dims(0)) + ", expected 2 dimensions");
  const DType dtype = context.node.has(attr::dtype) ? DType(context.node.integer(attr::dtype, 0))
                                                    : context.dtype(0);
  const Dims in = context.dims(0);
  const ValueId index = diagonal_index(context, in[0], in[1]);
  const ValueId hit = context.make(
      op::Equal, {index, context.scalar(DType::kI64, double(context.node.integer(attr::k, 0)))});
  context.finish(op::Cast, {hit}, {{attr::to, int64_t(dtype)}});
}

void one_hot(NodeContext& context) {
  if (context.has(1) && context.dtype(1) != DType::kI64)
    context.node.inputs[1] = context.cast(context.in(1), DType::kI64);
  const Dims depths = context.need_dims(attr::depth, 1);
  if (depths.size() != 1 || upper_bound(depths[0]).value_or(1) < 1)
    context.refuse("depth", "must be one number, at least 1");
  const Dim depth = depths[0];
  const int64_t rank = context.rank(0),
                axis = context.axis(context.node.integer(attr::axis, -1), rank + 1);
  if (product(context.dims(2)) != Dim(2))
    context.corrupt("its values have shape " + text(context.dims(2)) + ", expected [2]");
  const Dims in = context.dims(0);
  const ValueId index = context.make(op::Cast, {context.in(0)}, {{attr::to, int64_t(DType::kI64)}});
  const ValueId negative = context.make(op::Less, {index, context.scalar(DType::kI64, 0)});
  const ValueId wrapped = context.make(
      op::Where, {negative, context.make(op::Add, {index, context.extent(depth)}), index});
  Dims wide = in, column(size_t(rank) + 1, Dim(1));
  wide.insert(wide.begin() + axis, Dim(1));
  column[size_t(axis)] = depth;
  const ValueId classes = context.reshape(context.counting(depth), column);
  const ValueId hit = context.make(op::Equal, {context.reshape(wrapped, wide), classes});
  const auto pick = [&](int64_t i) {
    const ValueId one =
        context.make(op::Gather, {context.in(2), context.scalar(DType::kI64, double(i))},
                     {{attr::axis, int64_t(0)}});
    return one;
  };
  const ValueId off = pick(0), on = pick(1);
  context.finish(op::Where, {hit, on, off});
}

}  // namespace

void add_generate_rules(InferTable& table) {
  table[op::Shape] = shape;
  table[op::Size] = size;
  table[op::ConstantOfShape] = constant_of_shape;
  table[op::Range] = range;
  table[op::Trilu] = trilu;
  table[op::EyeLike] = eye_like;
  table[op::OneHot] = one_hot;
}

}  // namespace ingot::graph
