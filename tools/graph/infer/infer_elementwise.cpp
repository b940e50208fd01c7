// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_elementwise.cpp - operators on each element, broadcasting.
#include "tools/graph/functions.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

void unary(NodeContext& context) { context.set(0, context.dtype(0), context.dims(0)); }
void unary_to_bool(NodeContext& context) { context.set(0, DType::kBool, context.dims(0)); }
void logical_not(NodeContext& context) {
  if (context.dtype(0) != DType::kBool)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) +
                    ", expected bool");
  unary(context);
}

void expect_same_dtype(NodeContext& context, size_t a, size_t b) {
  if (context.dtype(a) == context.dtype(b)) return;
  context.corrupt(std::string("its inputs are ") + dtype_text(context.dtype(a)) + " ('" +
                  context.value(a).name + "') and " + dtype_text(context.dtype(b)) + " ('" +
                  context.value(b).name + "'), expected one type");
}
void binary(NodeContext& context) {
  expect_same_dtype(context, 0, 1);
  fit_operands(context);
  context.set(0, context.dtype(0), broadcast(context, context.dims(0), context.dims(1)));
}
void compare(NodeContext& context) {
  expect_same_dtype(context, 0, 1);
  fit_operands(context);
  context.set(0, DType::kBool, broadcast(context, context.dims(0), context.dims(1)));
}
void logical(NodeContext& context) {
  if (context.dtype(0) != DType::kBool)
    context.corrupt(std::string("its input is ") + dtype_text(context.dtype(0)) +
                    ", expected bool");
  compare(context);
}
void power(NodeContext& context) {
  if (context.dtype(0) !=
      context.dtype(1)) {  // the exponent may be of any type; computed in the base's
    const DType to = is_floating(context.dtype(1)) && !is_floating(context.dtype(0))
                         ? context.dtype(1)
                         : context.dtype(0);
    const ValueId base = context.make(op::Cast, {context.in(0)}, {{attr::to, int64_t(to)}});
    const ValueId exponent = context.make(op::Cast, {context.in(1)}, {{attr::to, int64_t(to)}});
    if (to == context.dtype(0)) return context.finish(op::Pow, {base, exponent});
    const ValueId result = context.make(op::Pow, {base, exponent});
    return context.finish(op::Cast, {result}, {{attr::to, int64_t(context.dtype(0))}});
  }
  binary(context);
}
void prelu(NodeContext& context) {
  expect_same_dtype(context, 0, 1);
  const Dims out = broadcast(context, context.dims(0), context.dims(1));
  if (out.size() != context.dims(0).size())
    context.corrupt("its slope has more dimensions than its input");
  if (!is_floating(context.dtype(0))) {  // the step of its name computes in floating point
    const ValueId x = context.in(0), zero = context.scalar(context.dtype(0), 0),
                  sloped = context.make(op::Mul, {x, context.in(1)});
    return context.finish(op::Where, {context.make(op::Less, {x, zero}), sloped, x});
  }
  context.set(0, context.dtype(0), context.dims(0));
}

/// Limits that are constants become attributes; others Max and Min.
void clip(NodeContext& context) {
  const AttributeName kKeys[] = {attr::min, attr::max};
  bool computed = false;
  for (size_t i = 0; i < 2; i++) {
    if (!context.has(i + 1)) continue;
    const Constant* limit = context.model().constant(context.in(i + 1));
    if (limit && limit->elements() == 1)
      context.node.attributes[kKeys[i]] = read_number(*limit, 0);
    else
      computed = true;
  }
  if (!computed) {
    context.drop_inputs_from(1);
    if (!context.node.has(attr::min) && !context.node.has(attr::max))
      return context.same(0, context.in(0));
    return unary(context);
  }
  ValueId x = context.in(0);
  const bool both = context.has(1) && context.has(2);
  if (context.has(1) && both) x = context.make(op::Max, {x, context.in(1)});
  context.finish(context.has(2) ? op::Min : op::Max,
                 {x, context.has(2) ? context.in(2) : context.in(1)});
}

void where(NodeContext& context) {
  if (context.dtype(0) != DType::kBool)
    context.corrupt(std::string("its condition is ") + dtype_text(context.dtype(0)) +
                    ", expected bool");
  expect_same_dtype(context, 1, 2);
  fit_operands(context);
  context.set(
      0, context.dtype(1),
      broadcast(context, context.dims(0), broadcast(context, context.dims(1), context.dims(2))));
}
void cast(NodeContext& context) {
  const DType to = DType(context.node.integer(attr::to, 0));
  if (to == context.dtype(0)) return context.same(0, context.in(0));
  context.set(0, to, context.dims(0));
}
/// Whole numbers of one width wrap in a Cast, which keeps their bits; those of floats are copied.
void bit_cast(NodeContext& context) {
  const DType from = context.dtype(0), to = DType(context.node.integer(attr::to, 0));
  if (dtype_bytes(from) != dtype_bytes(to))
    context.corrupt(std::string("takes ") + dtype_text(from) + " for " + dtype_text(to) +
                    ", which is of another width");
  if (to == from) return context.same(0, context.in(0));
  if (const Constant* known = context.model().constant(context.in(0))) {
    Constant same_bits = *known;
    same_bits.dtype = to;
    return context.same(0, context.constant(std::move(same_bits)));
  }
  if (is_floating(from) || is_floating(to)) {
    if (from == DType::kBool || to == DType::kBool)
      context.corrupt("takes bits of floats for truths, or truths for bits");
    context.erase({attr::to});
    return context.set(0, to, context.dims(0));
  }
  context.finish(op::Cast, {context.in(0)}, {{attr::to, int64_t(to)}});
}
void cast_like(NodeContext& context) {
  context.finish(op::Cast, {context.in(0)}, {{attr::to, int64_t(context.dtype(1))}});
}
/// Of whole numbers in f64, since its limits are fractions.
void shrink(NodeContext& context) {
  const DType dtype = context.dtype(0);
  if (is_floating(dtype)) return unary(context);
  const ValueId x = context.cast(context.in(0), DType::kF64);
  context.same(0, context.cast(context.make(op::Shrink, {x}, context.node.attributes), dtype));
}
void identity(NodeContext& context) { context.same(0, context.in(0)); }

void mean(NodeContext& context) {
  ValueId sum = context.in(0);
  for (size_t i = 1; i < context.node.inputs.size(); i++)
    sum = context.make(op::Add, {sum, context.in(i)});
  if (context.node.inputs.size() == 1) return context.same(0, sum);
  context.finish(op::Div,
                 {sum, context.scalar(context.dtype(0), double(context.node.inputs.size()))});
}

}  // namespace

void add_elementwise_rules(InferTable& table) {
  for (const Function& row : kFunctions) {
    if (row.node == Operator::kNone) continue;
    switch (row.result) {
      case FunctionResult::kSame: table[row.node] = row.operands == 1 ? unary : binary; break;
      case FunctionResult::kCompare:
        table[row.node] = row.operands == 1 ? unary_to_bool : compare;
        break;
      case FunctionResult::kLogical:
        table[row.node] = row.operands == 1 ? logical_not : logical;
        break;
    }
  }
#define INGOT_NUMBERED_1(name, alpha, value) table[op::name] = unary;
#define INGOT_NUMBERED_2(name, alpha, value, beta, second) table[op::name] = unary;
#include "tools/graph/numbered_functions.def"
  for (const Operator op : {op::Gelu, op::Swish}) table[op] = unary;
  for (const Operator op : {op::Mod, op::BitShift}) table[op] = binary;
  table[op::Shrink] = shrink;
  table[op::IsInf] = unary_to_bool;
  table[op::Pow] = power;
  table[op::PRelu] = prelu;
  table[op::Clip] = clip;
  table[op::Where] = where;
  table[op::Cast] = cast;
  table[op::CastLike] = cast_like;
  table[op::BitCast] = bit_cast;
  table[op::Identity] = identity;
  table[op::Mean] = mean;
}

}  // namespace ingot::graph
