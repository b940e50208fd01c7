// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/recurrent/byte_products.inl - LSTM whose weights are bytes: inputs and states become
// bytes ahead of their products. Contract: runtime/op/recurrent.h. Members of a team that share a
// direction each make all bytes, which costs less than a join.
#pragma once
#include "kernels/cpu/quantized/dynamic.inl"
#include "kernels/cpu/quantized/linear.inl"
#include "kernels/cpu/recurrent/recurrent.inl"

namespace ingot::cpu {
namespace {
namespace tensors {

/// Step s of all sequences is their own one: the bytes of a step depend on who has not ended.
template <class V>
struct ByteProducts {
  static constexpr int64_t kUnitSplitWork = 1 << 19;  // each member makes the bytes of all
  GroupQuantParams of_input;

  template <class R>
  static Turn turn(const R& r, int64_t s, int64_t batch) {
    const int64_t length = r.length_of(batch);
    const bool active = s < length;
    return {r.in_reverse() && active ? length - 1 - s : s, active};
  }
  template <class R>
  static int64_t chunk_row(const R& r, int64_t batch, int64_t at, int64_t) {
    return at * r.batches + batch;
  }

  template <class R>
  void start(const R& r) {
    int64_t longest = 0;
    for (int64_t b = 0; b < r.batches; b++) longest = most_of(longest, r.length_of(b));
    ValueRange range;
    const bool batch_first = r.t.batch_first;
    const int64_t n = longest * r.input * (batch_first ? 1 : r.batches);
    for (int64_t b = 0; b < (batch_first ? r.batches : 1); b++)
      widen_range<V>(r.input_row(0, b), n, &range);
    of_input = group_quant_params(DynamicRange::kFull, range);
  }

  template <class R>
  static uint8_t* bytes(const R& r) {
    return static_cast<uint8_t*>(r.team.scratch) + recurrent_byte_rows();
  }
  /// n numbers as a row of bytes that ends in zeros, which meet weights of zero.
  static void put_row(const GroupQuantParams& q, const float* from, int64_t n, uint8_t* to) {
    group_bytes<V, false>(q, from, to, n);
    for (int64_t i = n; i < round_up(n, 4); i++) to[i] = 0;
  }

  /// `rows` of bytes, of k numbers each, times the weights of operand 1 or 2.
  template <class R>
  static void multiply(const R& r, int operand, const GroupQuantParams& q, int64_t k, int64_t rows,
                       float* to) {
    const int64_t row_length = r.gates * r.plan.padded, first = r.direction * row_length,
                  length = round_up(k, 4);
    float numbers[2] = {q.scale, q.zero_point};
    TensorView x, steps;
    x.dtype = DType::kU8, x.rank = 2, x.row_stride = length, x.data = bytes(r);
    x.dims[0] = rows, x.dims[1] = length;
    steps.dtype = DType::kF32, steps.rank = 2, steps.row_stride = 2, steps.data = numbers;
    steps.dims[0] = 1, steps.dims[1] = 2;
    const TensorView& channels = r.a.inputs[operand + 7];
    Requantization requantization;
    requantization.mode = RequantMode::kToFloat;
    for (int64_t i = 0; i < channels.dims[0]; i++)
      requantization.rows[i] = channels.template as<const int32_t>() + i * channels.dims[1] + first;
    const Segment whole{0, 0};
    Int8TileShape shape;
    shape.segments = &whole, shape.segment_count = 1, shape.segment_length = length;
    shape.panel_stride = length * kPanel, shape.requantization = &requantization;
    shape.out_stride = row_length * int64_t(sizeof(float));
    const int8_t* const w = r.a.inputs[operand].template as<const int8_t>() + first * length;
    r.for_panels(0, r.gates, [&](int64_t begin, int64_t end) {
      multiply_int8_rows<V>(shape, x, &steps, {0, rows}, {begin, end}, w,
                            reinterpret_cast<uint8_t*>(to), row_length, r.team.scratch);
    });
  }

  template <class R>
  void multiply_inputs(const R& r, int64_t done, int64_t count) {
    const int64_t length = round_up(r.input, 4);
    for (int64_t i = 0; i < count; i++)
      for (int64_t b = 0; b < r.batches; b++)
        put_row(of_input, r.input_row(turn(r, done + i, b).time, b), r.input,
                bytes(r) + (i * r.batches + b) * length);
    multiply(r, 1, of_input, r.input, count * r.batches, r.inputs);
  }

  template <class R>
  void multiply_state(const R& r, const float* state, int64_t s, int64_t, int64_t) {
    const int64_t n = r.plan.hidden, length = round_up(n, 4);
    ValueRange range;
    for (int64_t b = 0; b < r.batches; b++)
      if (s <= r.length_of(b)) widen_range<V>(state + b * r.plan.padded, n, &range);
    const GroupQuantParams q = group_quant_params(DynamicRange::kFull, range);
    for (int64_t b = 0; b < r.batches; b++)
      put_row(q, state + b * r.plan.padded, n, bytes(r) + b * length);
    multiply(r, 2, q, n, r.batches, r.states);
  }
};

inline bool recurrent_has_byte_panels(const OpArguments& a) {
  return recurrent_of_bytes(a) && a.inputs[1].packing == Packing::kPanels16x4 &&
         a.inputs[2].packing == Packing::kPanels16x4;
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
