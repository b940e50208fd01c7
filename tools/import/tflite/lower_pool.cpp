// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_pool.cpp - pools over windows.
#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

ValueId pooled(Call& call, graph::Operator op, ValueId x) {
  aten::Attributes attributes = {
      {attr::kernel_shape,
       std::vector<int64_t>{call.integer("filter_height"), call.integer("filter_width")}},
      {attr::strides, std::vector<int64_t>{call.integer("stride_h"), call.integer("stride_w")}},
      {attr::dilations, std::vector<int64_t>{1, 1}},
      {attr::auto_pad, std::string(call.integer("padding") == 0 ? "SAME_UPPER" : "VALID")},
      {attr::ceil_mode, int64_t(0)}};
  if (op == op::AveragePool) attributes[attr::count_include_pad] = int64_t(0);
  return call.b.emit(op, {x}, std::move(attributes));
}

template <graph::Operator op>
void pool(Call& call) {
  call.expect_rank(0, 4);
  const ValueId x = pooled(call, op, call.channels_second(call.input(0)));
  call.give(call.channels_last(call.activated(x)));
}

/// The root of the mean of squares.
void l2_pool(Call& call) {
  call.expect_rank(0, 4);
  const ValueId x = call.channels_second(call.input(0));
  const ValueId mean = pooled(call, op::AveragePool, call.b.emit(op::Mul, {x, x}));
  call.give(call.channels_last(call.activated(call.b.emit(op::Sqrt, {mean}))));
}

}  // namespace

void add_pool(TranslateTable& table) {
  table["MAX_POOL_2D"] = {1, 1, pool<op::MaxPool>};
  table["AVERAGE_POOL_2D"] = {1, 1, pool<op::AveragePool>};
  table["L2_POOL_2D"] = {1, 1, l2_pool};
}

}  // namespace ingot::tflite
