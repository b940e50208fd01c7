// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_reduce.cpp - reductions, positions of extremes, sums so far.
#include <algorithm>

#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

ValueId reduced(Call& call, graph::Operator op, ValueId x) {
  std::vector<int64_t> axes;
  const int64_t rank = call.b.rank(x);
  for (const int64_t given : call.known_integers(1, "axis")) axes.push_back(call.axis(given, rank));
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  const bool keep = call.flag("keep_dims");
  if (axes.empty()) return x;
  return call.b.reduce(op, x, axes, keep);
}
template <graph::Operator op>
void reduce(Call& call) {
  call.give(reduced(call, op, call.input(0)));
}
template <graph::Operator op>
void truth(Call& call) {
  const ValueId x = call.b.cast(call.input(0), DType::kI32);
  call.give(call.b.cast(reduced(call, op, x), DType::kBool));
}

template <graph::Operator op>
void position(Call& call) {
  const int64_t axis = call.axis(call.known_integer(1, "dimension"), call.rank(0));
  const ValueId at = call.b.emit(
      op, {call.input(0)},
      {{attr::axis, axis}, {attr::keepdims, int64_t(0)}, {attr::select_last_index, int64_t(0)}});
  call.give(call.b.cast(at, call.output_dtype(0)));
}

void top_k(Call& call) {
  if (call.rank(0) == 0) call.corrupt("its input has no dimensions");
  const ValueId k = call.b.reshape(call.b.cast(call.input(1), DType::kI64), {graph::Dim(1)});
  const std::vector<ValueId> made = call.b.emit_many(
      op::TopK, {call.input(0), k},
      {{attr::axis, call.rank(0) - 1}, {attr::largest, int64_t(1)}, {attr::sorted, int64_t(1)}}, 2);
  call.give_all({made[0], call.b.cast(made[1], call.output_dtype(1))});
}

void cumulative_sum(Call& call) {
  const int64_t axis = call.axis(call.known_integer(1, "axis"), call.rank(0));
  call.give(call.b.emit(op::CumSum, {call.input(0), call.b.scalar(DType::kI64, double(axis))},
                        {{attr::exclusive, int64_t(call.flag("exclusive"))},
                         {attr::reverse, int64_t(call.flag("reverse"))}}));
}

}  // namespace

void add_reduce(TranslateTable& table) {
  table["SUM"] = {2, 2, reduce<op::ReduceSum>};
  table["MEAN"] = {2, 2, reduce<op::ReduceMean>};
  table["REDUCE_MAX"] = {2, 2, reduce<op::ReduceMax>};
  table["REDUCE_MIN"] = {2, 2, reduce<op::ReduceMin>};
  table["REDUCE_PROD"] = {2, 2, reduce<op::ReduceProd>};
  table["REDUCE_ANY"] = {2, 2, truth<op::ReduceMax>};
  table["REDUCE_ALL"] = {2, 2, truth<op::ReduceMin>};
  table["ARG_MAX"] = {2, 2, position<op::ArgMax>};
  table["ARG_MIN"] = {2, 2, position<op::ArgMin>};
  table["TOPK_V2"] = {2, 2, top_k};
  table["CUMSUM"] = {2, 2, cumulative_sum};
}

}  // namespace ingot::tflite
