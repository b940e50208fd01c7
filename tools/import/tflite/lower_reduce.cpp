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
void reduce(Call& call, graph::Operator op) {
  call.expect_inputs(2, 2);
  call.give(reduced(call, op, call.input(0)));
}
void sum(Call& call) { reduce(call, op::ReduceSum); }
void mean(Call& call) { reduce(call, op::ReduceMean); }
void maximum(Call& call) { reduce(call, op::ReduceMax); }
void minimum(Call& call) { reduce(call, op::ReduceMin); }
void prod(Call& call) { reduce(call, op::ReduceProd); }
void truth(Call& call, graph::Operator op) {
  call.expect_inputs(2, 2);
  const ValueId x = call.b.cast(call.input(0), DType::kI32);
  call.give(call.b.cast(reduced(call, op, x), DType::kBool));
}
void any(Call& call) { truth(call, op::ReduceMax); }
void all(Call& call) { truth(call, op::ReduceMin); }

void position(Call& call, graph::Operator op) {
  call.expect_inputs(2, 2);
  const int64_t axis = call.axis(call.known_integer(1, "dimension"), call.rank(0));
  const ValueId at = call.b.emit(
      op, {call.input(0)},
      {{attr::axis, axis}, {attr::keepdims, int64_t(0)}, {attr::select_last_index, int64_t(0)}});
  call.give(call.b.cast(at, call.output_dtype(0)));
}
void arg_max(Call& call) { position(call, op::ArgMax); }
void arg_min(Call& call) { position(call, op::ArgMin); }

void top_k(Call& call) {
  call.expect_inputs(2, 2);
  if (call.rank(0) == 0) call.corrupt("its input has no dimensions");
  const ValueId k = call.b.reshape(call.b.cast(call.input(1), DType::kI64), {graph::Dim(1)});
  const std::vector<ValueId> made = call.b.emit_many(
      op::TopK, {call.input(0), k},
      {{attr::axis, call.rank(0) - 1}, {attr::largest, int64_t(1)}, {attr::sorted, int64_t(1)}}, 2);
  call.give_all({made[0], call.b.cast(made[1], call.output_dtype(1))});
}

void cumulative_sum(Call& call) {
  call.expect_inputs(2, 2);
  const int64_t axis = call.axis(call.known_integer(1, "axis"), call.rank(0));
  call.give(call.b.emit(op::CumSum, {call.input(0), call.b.scalar(DType::kI64, double(axis))},
                        {{attr::exclusive, int64_t(call.flag("exclusive"))},
                         {attr::reverse, int64_t(call.flag("reverse"))}}));
}

}  // namespace

void add_reduce(TranslateTable& table) {
  table["SUM"] = sum;
  table["MEAN"] = mean;
  table["REDUCE_MAX"] = maximum;
  table["REDUCE_MIN"] = minimum;
  table["REDUCE_PROD"] = prod;
  table["REDUCE_ANY"] = any;
  table["REDUCE_ALL"] = all;
  table["ARG_MAX"] = arg_max;
  table["ARG_MIN"] = arg_min;
  table["TOPK_V2"] = top_k;
  table["CUMSUM"] = cumulative_sum;
}

}  // namespace ingot::tflite
