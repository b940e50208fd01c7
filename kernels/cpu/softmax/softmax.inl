// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/softmax/softmax.inl - y = exp(x - max) * (1 / sum), or (x - max) - log(sum).
// Contract: runtime/op/softmax.h. Along the last dimension rows are worked on as they lie; along
// another one, neighbouring columns fill the lanes of a vector and each column keeps its own 16
// sums.
#pragma once
#include "kernels/cpu/copy/move.inl"
#include "kernels/cpu/elementwise/convert.inl"
#include "kernels/cpu/reduce/lanes.inl"
#include "kernels/cpu/simd/math.inl"
#include "runtime/op/softmax.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// y may be x.
template <class V>
void softmax_row(const float* x, float* y, int64_t n, bool log) {
  using F = typename V::F;
  using Fn = Math<V>;
  float lanes[kPanel];
  for (float& lane : lanes) lane = -__builtin_inff();
  fold_row<V>(lanes, x, n, [](F a, F b) { return V::max(a, b); });
  const float top = fold_tree(lanes, [](float a, float b) { return a > b ? a : b; });
  const F shift = V::splat(top);
  for (float& lane : lanes) lane = 0;
  const auto each = [&](auto fn) {
    int64_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes) V::store(y + i, fn(V::load(y + i)));
    if (i < n) V::store_partial(y + i, fn(V::load_partial(y + i, n - i)), n - i);
  };
  if (log) {
    fold_row<V>(lanes, x, n, [&](F a, F b) { return V::add(a, Fn::exp_flush(V::sub(b, shift))); });
    float sum[V::kLanes] = {sum_tree(lanes)};
    V::store_partial(sum, Fn::log(V::load_partial(sum, 1)), 1);
    const F logarithm = V::splat(sum[0]);
    if (x != y) std::memcpy(y, x, size_t(n) * sizeof(float));
    each([&](F v) { return V::sub(V::sub(v, shift), logarithm); });
    return;
  }
  if (x != y) std::memcpy(y, x, size_t(n) * sizeof(float));
  each([&](F v) { return Fn::exp_flush(V::sub(v, shift)); });
  fold_row<V>(lanes, y, n, [](F a, F b) { return V::add(a, b); });
  const F scale = V::splat(1.0f / sum_tree(lanes));
  each([&](F v) { return V::mul(v, scale); });
}

/// `count` <= kLanes columns of n elements, `stride` apart.
template <class V>
void softmax_columns(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t n,
                     int64_t count, bool log) {
  using F = typename V::F;
  using Fn = Math<V>;
  const bool whole = count == V::kLanes;
  const auto load = [&](const float* p) __attribute__((always_inline)) {
    return whole ? V::load(p) : V::load_partial(p, count);
  };
  const auto store = [&](float* p, F v) __attribute__((always_inline)) {
    whole ? V::store(p, v) : V::store_partial(p, v, count);
  };
  F top = V::splat(-__builtin_inff());
  for (int64_t i = 0; i < n; i++) top = V::max(top, load(x + i * x_stride));
  F lanes[kPanel];
  for (F& lane : lanes) lane = V::zero();
  for (int64_t i = 0; i < n; i++) {
    const F e = Fn::exp_flush(V::sub(load(x + i * x_stride), top));
    if (!log) store(y + i * y_stride, e);
    lanes[i % kPanel] = V::add(lanes[i % kPanel], e);
  }
  for (int half = kPanel / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++) lanes[i] = V::add(lanes[i], lanes[i + half]);
  if (log) {
    const F logarithm = Fn::log(lanes[0]);
    for (int64_t i = 0; i < n; i++)
      store(y + i * y_stride, V::sub(V::sub(load(x + i * x_stride), top), logarithm));
    return;
  }
  const F scale = V::div(V::splat(1.0f), lanes[0]);
  for (int64_t i = 0; i < n; i++) store(y + i * y_stride, V::mul(load(y + i * y_stride), scale));
}

/// kLanes short rows at once: turned so that each is a column, and back. The same sums as
/// softmax_row's.
constexpr int64_t kShortSoftmax = 64;
template <class V>
void softmax_short_rows(const float* x, int64_t x_stride, float* y, int64_t y_stride, int64_t n,
                        bool log) {
  alignas(64) float columns[kShortSoftmax * V::kLanes];
  columns[0] = 0;  // n is not 0, which the compiler cannot see
  typename V::F square[V::kLanes];
  for (int64_t j = 0; j < n; j += V::kLanes) {
    const int64_t count = least_of(V::kLanes, n - j);
    for (int r = 0; r < V::kLanes; r++) square[r] = V::load_partial(x + r * x_stride + j, count);
    V::transpose(square);
    for (int64_t i = 0; i < count; i++) V::store(columns + (j + i) * V::kLanes, square[i]);
  }
  softmax_columns<V>(columns, V::kLanes, columns, V::kLanes, n, V::kLanes, log);
  for (int64_t j = 0; j < n; j += V::kLanes) {
    const int64_t count = least_of(V::kLanes, n - j);
    for (int64_t i = 0; i < V::kLanes; i++)
      square[i] = i < count ? V::load(columns + (j + i) * V::kLanes) : V::zero();
    V::transpose(square);
    for (int r = 0; r < V::kLanes; r++) V::store_partial(y + r * y_stride + j, square[r], count);
  }
}

/// f16 and bf16: a row through floats in the scratch; strides in elements.
template <class V>
void softmax_half(DType dtype, const uint16_t* x, int64_t x_stride, uint16_t* y, int64_t y_stride,
                  int64_t n, bool log, float* row) {
  for (int64_t i = 0; i < n; i++) load_block<float>(dtype, x + i * x_stride, 1, row + i);
  softmax_row<V>(row, row, n, log);
  for (int64_t i = 0; i < n; i++) store_block<float>(dtype, row + i, 1, y + i * y_stride);
}

template <class V>
Status softmax(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const SoftmaxAttributes& t = a.as<SoftmaxAttributes>();
  const int axis = int(t.axis);
  const int64_t n = x.dims[axis], length = x.row_length();
  if (n == 0 || x.elements() == 0) return {};
  float* room = static_cast<float*>(team.scratch);
  if (axis == x.rank - 1) {
    const Part mine = part_of(team, x.rows(), 1, most_of(1, 1024 / n));
    int64_t r = mine.begin;
    if constexpr (V::kLanes > 1) {
      for (; x.dtype == DType::kF32 && n <= kShortSoftmax && r + V::kLanes <= mine.end;
           r += V::kLanes)
        softmax_short_rows<V>(x.as<const float>() + r * x.row_stride, x.row_stride,
                              y.as<float>() + r * y.row_stride, y.row_stride, n, t.log);
    }
    for (; r < mine.end; r++) {
      if (x.dtype == DType::kF32)
        softmax_row<V>(x.as<const float>() + r * x.row_stride, y.as<float>() + r * y.row_stride, n,
                       t.log);
      else
        softmax_half<V>(x.dtype, x.as<const uint16_t>() + r * x.row_stride, 1,
                        y.as<uint16_t>() + r * y.row_stride, 1, n, t.log, room);
    }
    return {};
  }
  // [outer, n, middle, length]: a dense middle joins the columns.
  const bool joined = x.is_dense() && y.is_dense();
  int64_t outer = 1, middle = 1;
  for (int i = 0; i < axis; i++) outer *= x.dims[i];
  for (int i = axis + 1; i + 1 < x.rank; i++) middle *= x.dims[i];
  const int64_t columns = joined ? middle * length : length, rows = joined ? 1 : middle;
  const int64_t x_axis = stride_of(x, axis), y_axis = stride_of(y, axis);
  const int64_t width = x.dtype == DType::kF32 ? V::kLanes : 1,
                pieces = (columns + width - 1) / width;
  const Part mine = part_of(team, outer * rows * pieces, 1, most_of(1, 1024 / (n * width)));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t column = i % pieces * width, row = i / pieces % rows, o = i / pieces / rows;
    const int64_t x_at = o * n * x_axis + row * x.row_stride + column,
                  y_at = o * n * y_axis + row * y.row_stride + column;
    if (x.dtype == DType::kF32)
      softmax_columns<V>(x.as<const float>() + x_at, x_axis, y.as<float>() + y_at, y_axis, n,
                         least_of(width, columns - column), t.log);
    else
      softmax_half<V>(x.dtype, x.as<const uint16_t>() + x_at, x_axis, y.as<uint16_t>() + y_at,
                      y_axis, n, t.log, room);
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
