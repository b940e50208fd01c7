// SPDX-License-Identifier: Apache-2.0
// tools/import/keras/layers_pool.cpp - pools over windows and over everything.
#include "tools/import/aten/arithmetic.h"
#include "tools/import/keras/layer_call.h"

namespace ingot::keras {
namespace {

template <graph::Operator op, size_t spatial>
void pool(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 2);
  const std::vector<int64_t> size = call.integers("pool_size", spatial, 2);
  const std::vector<int64_t> strides =
      call.field("strides") ? call.integers("strides", spatial, 1) : size;
  const std::string padding = call.text("padding", "valid");
  const bool last = call.channels_last();
  if (padding != "same" && padding != "valid")
    call.refuse("padding", "'" + padding + "' is not known here");
  aten::Attributes attributes = {
      {attr::kernel_shape, size},
      {attr::strides, strides},
      {attr::dilations, std::vector<int64_t>(spatial, 1)},
      {attr::auto_pad, std::string(padding == "same" ? "SAME_UPPER" : "VALID")},
      {attr::ceil_mode, int64_t(0)}};
  if (op == op::AveragePool) attributes[attr::count_include_pad] = int64_t(0);
  const ValueId x =
      call.b.emit(op, {call.to_channels_first(call.input(), last)}, std::move(attributes));
  call.give(call.from_channels_first(x, last));
}

template <graph::Operator op, size_t spatial>
void global(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 2);
  const int64_t first = call.channels_last() ? 1 : 2;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < spatial; i++) axes.push_back(first + int64_t(i));
  call.give(call.b.reduce(op, call.input(), axes, call.truth("keepdims", false)));
}
/// The mean of the steps that the mask holds.
void global_average_of_held(LayerCall& call) {
  call.expect_rank(3);
  const int64_t steps = call.channels_last() ? 1 : 2;
  const aten::Term x = {&call.b, call.input()};
  const graph::Dims dims = call.b.dims(call.mask());
  const graph::Dim one(1);
  const aten::Term held = x.of(call.mask())
                              .reshape(steps == 1 ? graph::Dims{dims[0], dims[1], one}
                                                  : graph::Dims{dims[0], one, dims[1]});
  const bool keep = call.truth("keepdims", false);
  const aten::Term sum = where(held, x, 0).reduce(op::ReduceSum, {steps}, keep),
                   count = held.cast(DType::kF32).reduce(op::ReduceSum, {steps}, keep);
  call.give((sum / count).id);
}
template <size_t spatial>
void global_average(LayerCall& call) {
  if (call.is_masked()) return global_average_of_held(call);
  global<op::ReduceMean, spatial>(call);
}

/// Windows as PyTorch has them: from floor(i n / out) to ceil((i + 1) n / out).
template <graph::Operator op, size_t spatial>
void adaptive(LayerCall& call) {
  call.expect_rank(int64_t(spatial) + 2);
  const std::vector<int64_t> size = call.integers("output_size", spatial, 1);
  const int64_t first = call.channels_last() ? 1 : 2;
  ValueId x = call.input();
  for (size_t i = 0; i < spatial; i++) {
    const int64_t axis = first + int64_t(i), n = call.extent(axis), out = size[i];
    if (out < 1 || out > 4096) call.corrupt("makes " + std::to_string(out) + " windows");
    std::vector<ValueId> parts;
    for (int64_t k = 0; k < out; k++)
      parts.push_back(call.b.reduce(
          op,
          call.b.slice(x, axis, graph::Dim(k * n / out), graph::Dim(((k + 1) * n + out - 1) / out)),
          {axis}, true));
    x = parts.size() == 1 ? parts[0] : call.b.emit(op::Concat, parts, {{attr::axis, axis}});
  }
  call.give(x);
}

template <size_t spatial>
void add_pools_over(TranslateTable& table) {
  const std::string over = std::to_string(spatial) + "D";
  table["MaxPooling" + over] = table["MaxPool" + over] = pool<op::MaxPool, spatial>;
  table["AveragePooling" + over] = table["AvgPool" + over] = pool<op::AveragePool, spatial>;
  table["AdaptiveMaxPooling" + over] = adaptive<op::ReduceMax, spatial>;
  table["AdaptiveAveragePooling" + over] = adaptive<op::ReduceMean, spatial>;
  table["GlobalMaxPooling" + over] = table["GlobalMaxPool" + over] = global<op::ReduceMax, spatial>;
  table["GlobalAveragePooling" + over] = table["GlobalAvgPool" + over] = global_average<spatial>;
}

}  // namespace

void add_pools(TranslateTable& table) {
  add_pools_over<1>(table);
  add_pools_over<2>(table);
  add_pools_over<3>(table);
}

}  // namespace ingot::keras
