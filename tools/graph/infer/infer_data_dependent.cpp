// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_data_dependent.cpp - operators whose results are as large as the data
// makes them: their last output is the number found, and a symbol stands for it. Memory is planned
// for the most.
#include <algorithm>
#include <cstring>

#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

constexpr int64_t kMaxFolded = 1 << 20;

/// The number found, behind `others` results.
ValueId add_count(NodeContext& context, size_t others) {
  context.node.outputs.resize(others, kAbsent);
  std::string name;
  for (const ValueId id : context.node.outputs)
    if (id != kAbsent && name.empty()) name = context.run().value(id).name;
  const ValueId count = context.model().add_value(name + ".count", DType::kI64);
  context.node.outputs.push_back(count);
  context.set(others, DType::kI64, {});
  return count;
}

bool is_zero(const Constant& c, int64_t at) {
  const size_t bytes = size_t(dtype_bytes(c.dtype));
  std::vector<uint8_t> element(c.as<uint8_t>() + size_t(at) * bytes,
                               c.as<uint8_t>() + size_t(at + 1) * bytes);
  const bool is_float = c.dtype == DType::kF32 || c.dtype == DType::kF16 ||
                        c.dtype == DType::kBF16 || c.dtype == DType::kF64;
  if (is_float) element.back() &= 0x7f;  // minus zero
  return std::all_of(element.begin(), element.end(), [](uint8_t byte) { return byte == 0; });
}

Constant coordinates(const Constant& c) {
  std::vector<std::vector<int64_t>> rows(c.dims.size());
  for (int64_t i = 0; i < c.elements(); i++) {
    if (is_zero(c, i)) continue;
    int64_t rest = i;
    for (size_t d = c.dims.size(); d-- > 0; rest /= c.dims[d]) rows[d].push_back(rest % c.dims[d]);
  }
  std::vector<int64_t> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  const int64_t count = rows.empty() ? 0 : int64_t(rows[0].size());
  return make_constant(DType::kI64, {int64_t(rows.size()), count}, all.data());
}

void nonzero(NodeContext& context) {
  if (context.node.outputs.size() == 2 && context.settled()) return;  // in normal form
  const Constant* constant = context.model().constant(context.in(0));
  if (constant && constant->elements() <= kMaxFolded)
    return context.same(0, context.constant(coordinates(*constant)));
  const int64_t rank = context.rank(0);
  const Dim most = product(context.dims(0));
  const ValueId count = add_count(context, 1);
  context.set(0, DType::kI64, {rank, context.data_dependent_dim(count, most)});
}

/// The elements, or slices along an axis, where the condition holds.
void compress(NodeContext& context) {
  if (context.dtype(1) != DType::kBool || context.rank(1) != 1)
    context.corrupt("its condition is " + std::string(dtype_text(context.dtype(1))) + " " +
                    text(context.dims(1)) + ", expected bool [n]");
  ValueId x = context.in(0);
  int64_t axis = 0;
  if (context.node.has(attr::axis))
    axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  else
    x = context.reshape(x, {product(context.dims(0))});
  const ValueId found = context.make(op::NonZero, {context.in(1)});
  const Dim count = context.run().value(found).dims.at(1);
  context.finish(op::Gather, {x, context.reshape(found, {count})}, {{attr::axis, axis}});
}

void unique(NodeContext& context) {
  if (context.node.outputs.size() == 5 && context.settled()) return;  // in normal form
  Dims dims = context.dims(0);
  const bool flat = !context.node.has(attr::axis);
  const int64_t axis =
      flat ? 0 : context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  const Dim most = flat ? product(dims) : dims[size_t(axis)];
  context.node.attributes[attr::axis] = axis;
  context.node.attributes[attr::flat] = int64_t(flat);
  const ValueId count = add_count(context, 4);
  const Dim n = context.data_dependent_dim(count, most);
  if (flat) dims = {n};
  dims[size_t(axis)] = n;
  context.set(0, context.dtype(0), dims);
  context.set(1, DType::kI64, {n});
  context.set(2, DType::kI64, {most});
  context.set(3, DType::kI64, {n});
}

void non_max_suppression(NodeContext& context) {
  if (context.node.outputs.size() == 2 && context.settled()) return;  // in normal form
  const Dims boxes = context.dims(0), scores = context.dims(1);
  if (boxes.size() != 3 || scores.size() != 3)
    context.corrupt("its boxes are " + text(boxes) + " and its scores " + text(scores) +
                    ", expected [B, N, 4] and [B, C, N]");
  Dim each = boxes[1];
  if (context.has(2)) {
    const auto most = context.run().contents(context.in(2));
    if (most && most->size() == 1 && (*most)[0].dim())
      each = min(each, max(*(*most)[0].dim(), Dim(0)));
  } else {
    each = 0;
  }
  const ValueId count = add_count(context, 1);
  context.set(0, DType::kI64, {context.data_dependent_dim(count, scores[0] * scores[1] * each), 3});
}

/// The number itself, written by an instruction so that it may resolve a symbol.
void resolve_dim(NodeContext& context) { context.set(0, DType::kI64, {}); }

}  // namespace

void add_data_dependent_rules(InferTable& table) {
  table[op::NonZero] = nonzero;
  table[op::Compress] = compress;
  table[op::Unique] = unique;
  table[op::NonMaxSuppression] = non_max_suppression;
  table[op::ResolveDim] = resolve_dim;
}

}  // namespace ingot::graph
