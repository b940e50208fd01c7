// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/softmax.inl - softmax of rows of integers by a table of exponentials.
// Contract: runtime/op/quantized_softmax.h.
#pragma once
#include "kernels/cpu/quantized/quantize.inl"
#include "kernels/cpu/quantized/softmax_one.inl"
#include "runtime/op/quantized_softmax.h"

namespace ingot::cpu {
namespace {
namespace tensors {

template <class V>
uint8_t largest_byte(const uint8_t* x, int64_t n) {
  typename V::B most = V::bsplat(0);
  int64_t i = 0;
  for (; i + V::kBytes <= n; i += V::kBytes) most = V::bmax(most, V::bload(x + i));
  if (i < n) most = V::bmax(most, V::bload_partial(x + i, n - i));
  alignas(64) uint8_t lanes[V::kBytes];
  V::bstore(lanes, most);
  uint8_t top = 0;
  for (const uint8_t lane : lanes) top = lane > top ? lane : top;
  return top;
}

/// Steps of y, zero point and limits included.
struct SoftmaxQuantParams {
  int32_t zero, low, high;
  bool add_half;
};

/// n <= kQuantizeBlock steps of e(x) * r.
template <class V>
INGOT_INLINE void softmax_steps(const SoftmaxQuantParams& s, const float* e, typename V::F r,
                                const uint8_t* x, int64_t n, int32_t* out) {
  using F = typename V::F;
  for (int64_t i = 0; i < n; i += V::kLanes) {
    const int64_t count = least_of(V::kLanes, n - i);
    const F v = V::mul(V::gather(e, V::iload_u8_partial(x + i, count)), r),
            p = V::max(V::min(v, V::splat(65536.0f)), V::splat(-65536.0f));
    const typename V::I step =
        s.add_half ? V::to_int(V::add(p, V::splat(0.5f))) : V::to_int(round_away<V>(p));
    V::istore(out + i, V::imax(V::imin(V::iadd(step, V::isplat(s.zero)), V::isplat(s.high)),
                               V::isplat(s.low)));
  }
}

inline void fixed_softmax_row(const SoftmaxQuantParams& s, int bits, const int32_t* e,
                              const uint8_t* x, int64_t n, DType type, void* y) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += fixed_term(e[x[i]]);
  const FixedReciprocal r = fixed_reciprocal(sum);
  for (int64_t i = 0; i < n; i++) {
    const int64_t step = fixed_step(r, bits, e[x[i]]) + s.zero, q = step < s.low    ? s.low
                                                                    : step > s.high ? s.high
                                                                                    : step;
    if (type == DType::kU8)
      static_cast<uint8_t*>(y)[i] = uint8_t(q);
    else
      static_cast<int16_t*>(y)[i] = int16_t(q);
  }
}

template <class V>
void softmax_int8_row(const SoftmaxQuantParams& s, float scale, const float* e, const uint8_t* x,
                      int64_t n, DType type, void* y) {
  float sum = 0;
  for (int64_t i = 0; i < n; i++) sum += e[x[i]];
  const typename V::F r = V::splat(1.0f / (sum * scale));
  alignas(64) int32_t block[kQuantizeBlock];
  for (int64_t i = 0; i < n; i += kQuantizeBlock) {
    const int64_t count = least_of(kQuantizeBlock, n - i);
    softmax_steps<V>(s, e, r, x + i, count, block);
    if (type != DType::kU8) {
      narrow_block(type, block, count, y, i);
      continue;
    }
    for (int64_t k = 0; k < count; k += V::kLanes)
      V::istore_u8_partial(static_cast<uint8_t*>(y) + i + k, V::iload(block + k),
                           least_of(V::kLanes, count - k));
  }
}

inline void softmax_int16_row(const int16_t* table, const int16_t* x, int64_t n, int16_t* y) {
  int32_t top = -32768;
  for (int64_t i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
  const int16_t* e = table + 65535 - top;
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) sum += e[x[i]] > 0 ? e[x[i]] : 0;
  const Int16Reciprocal r = int16_reciprocal(table + kInt16Exponentials, sum);
  for (int64_t i = 0; i < n; i++) y[i] = int16_step(r, e[x[i]]);
}

template <class V>
Status quantized_softmax(const OpArguments& a, const Team& team) {
  const QuantizedSoftmaxAttributes& t = a.as<QuantizedSoftmaxAttributes>();
  const TensorView &x = a.inputs[0], &table = a.inputs[1], &y = a.outputs[0];
  const int64_t n = x.row_length();
  if (x.elements() == 0) return {};
  const bool bytes = y.dtype == DType::kU8;
  if (x.dtype == DType::kI16) {
    const Part rows = part_of(team, x.rows(), 1, most_of(1, 1024 / n));
    for (int64_t i = rows.begin; i < rows.end; i++)
      softmax_int16_row(table.as<const int16_t>(), x.as<const int16_t>() + i * x.row_stride, n,
                        y.as<int16_t>() + i * y.row_stride);
    return {};
  }
  const SoftmaxQuantParams s{t.y_zero, bytes ? 0 : -32768, bytes ? 255 : 32767, t.add_half};
  const Part mine = part_of(team, x.rows(), 1, most_of(1, 1024 / n));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const uint8_t* from = x.as<const uint8_t>() + i * x.row_stride;
    void* to = y.as<char>() + i * y.row_stride * (bytes ? 1 : 2);
    const int64_t first = 255 - largest_byte<V>(from, n);
    if (table.dtype == DType::kF32)
      softmax_int8_row<V>(s, t.scale, table.as<const float>() + first, from, n, y.dtype, to);
    else
      fixed_softmax_row(s, bytes ? 8 : 16, table.as<const int32_t>() + first, from, n, y.dtype, to);
  }
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
