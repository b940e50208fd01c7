// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_random.cpp - random numbers: each source's operator becomes Random
// (runtime/op/random.h), which reads the state of the session, and arithmetic.
#include <cstring>

#include "tools/graph/infer/inference.h"
#include "tools/graph/random_state.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

struct Distribution {
  const char* kind;
  double first, second;
  bool is_one_number() const {
    return std::strcmp(kind, "normal") == 0 ? second == 0 : first == second;
  }
};

/// A number of its own for every instruction. A seed of the source makes another one of it.
int64_t stream_of(NodeContext& context) {
  uint32_t stream = uint32_t(context.model().values.size());
  if (context.node.has(attr::seed)) {
    const float seed = float(context.node.number(attr::seed, 0));
    uint32_t bits;
    std::memcpy(&bits, &seed, sizeof bits);
    stream ^= bits * 0x9E3779B1u;
  }
  return int64_t(stream);
}

/// One number of all loops around: absent outside of loops.
ValueId iteration_of(NodeContext& context) {
  constexpr double kMaxInner = 1 << 20;
  ValueId all = kAbsent;
  for (const ValueId each : context.run().iterations()) {
    if (all != kAbsent) {
      all = context.make(op::Mul, {all, context.scalar(DType::kI64, kMaxInner)});
      all = context.make(op::Add, {all, each});
    } else {
      all = each;
    }
  }
  return all;
}

ValueId drawn(NodeContext& context, const Distribution& from, const Dims& dims, DType to) {
  if (!(from.first - from.first == 0) || !(from.second - from.second == 0))
    context.corrupt("its numbers are not finite");
  if (!is_floating(to)) context.refuse("dtype", "only floating types are built");
  for (const Dim& d : dims)
    if (upper_bound(d).value_or(0) < 0) context.corrupt("its shape is " + text(dims));
  if (from.is_one_number()) return context.expand(context.scalar(to, from.first), dims);
  const ValueId y = context.make(op::Random, {random_state(context.model()), iteration_of(context)},
                                 {{attr::kind, std::string(from.kind)},
                                  {attr::stream, stream_of(context)},
                                  {attr::first, from.first},
                                  {attr::second, from.second},
                                  {attr::shape, dims}});
  return to == DType::kF32 ? y : context.cast(y, to);
}
/// As large as the first input where the source says no shape, and of its type.
Dims shape_of(NodeContext& context) {
  return context.has(0) ? context.dims(0) : context.need_dims(attr::shape, 1);
}
DType type_of(NodeContext& context) {
  const DType otherwise = context.has(0) ? context.dtype(0) : DType::kF32;
  return DType(context.node.integer(attr::dtype, int64_t(otherwise)));
}

void normal(NodeContext& context) {
  const Distribution from = {"normal", context.node.number(attr::mean, 0),
                             context.node.number(attr::scale, 1)};
  context.same(0, drawn(context, from, shape_of(context), type_of(context)));
}
void uniform(NodeContext& context) {
  const Distribution from = {"uniform", context.node.number(attr::low, 0),
                             context.node.number(attr::high, 1)};
  context.same(0, drawn(context, from, shape_of(context), type_of(context)));
}

void bernoulli(NodeContext& context) {
  const ValueId u = drawn(context, {"uniform", 0, 1}, context.dims(0), DType::kF32);
  const ValueId hit = context.make(op::Less, {u, context.cast(context.in(0), DType::kF32)});
  context.same(0, context.cast(hit, type_of(context)));
}

/// Samples of the classes of each row: how many sums of probabilities each number passes.
void multinomial(NodeContext& context) {
  const Dims dims = context.dims(0);
  const int64_t samples = context.node.integer(attr::sample_size, 1);
  if (dims.size() != 2 || samples < 1 || samples > 1 << 24)
    context.corrupt("its input has shape " + text(dims) + ", and it takes " +
                    std::to_string(samples) + " samples");
  const DType to = DType(context.node.integer(attr::dtype, int64_t(DType::kI32)));
  const ValueId scores = context.cast(context.in(0), DType::kF32);
  const ValueId shares = context.make(op::Softmax, {scores}, {{attr::axis, int64_t(1)}});
  const ValueId sums = context.make(
      op::CumSum, {shares},
      {{attr::axis, int64_t(1)}, {attr::exclusive, int64_t(0)}, {attr::reverse, int64_t(0)}});
  const ValueId u = drawn(context, {"uniform", 0, 1}, {dims[0], Dim(samples), Dim(1)}, DType::kF32);
  const ValueId below =
      context.make(op::Less, {u, context.reshape(sums, {dims[0], Dim(1), dims[1]})});
  const ValueId passed = context.cast(context.make(op::Not, {below}), DType::kF32);
  const ValueId count =
      context.make(op::ReduceSum, {passed},
                   {{attr::axes, std::vector<int64_t>{2}}, {attr::keepdims, int64_t(0)}});
  const ValueId last = context.cast(context.extent(dims[1] - Dim(1)), DType::kF32);
  context.same(0, context.cast(context.make(op::Min, {count, last}), to));
}

/// As runtime/op/random.h has it; "shape" is in the dims of the output.
void random(NodeContext& context) {
  if (!context.node.has(attr::shape) && context.settled()) return;
  const Dims shape = context.node.dims(attr::shape);
  context.set(0, DType::kF32, shape);
  context.erase({attr::shape});
}

}  // namespace

void add_random_rules(InferTable& table) {
  table[op::Random] = random;
  table[op::RandomNormal] = table[op::RandomNormalLike] = normal;
  table[op::RandomUniform] = table[op::RandomUniformLike] = uniform;
  table[op::Bernoulli] = bernoulli;
  table[op::Multinomial] = multinomial;
}

}  // namespace ingot::graph
