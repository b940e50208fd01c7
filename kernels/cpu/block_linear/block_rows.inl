// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/block_rows.inl - BlockQuantize: activations for products with weights in
// blocks; BlockGather: rows of such weights. Contract: runtime/op/block_linear.h.
#pragma once
#include "kernels/cpu/block_linear/job.inl"
#include "kernels/cpu/gather/gather.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

/// The largest of the lanes, which are not negative.
template <class V>
INGOT_INLINE int32_t largest_lane(typename V::I v) {
  alignas(64) int32_t lanes[V::kLanes];
  V::istore(lanes, v);
  INGOT_UNROLL for (int half = V::kLanes / 2; half > 0; half /= 2)
      INGOT_UNROLL for (int i = 0; i < half; i++) lanes[i] =
          lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  return lanes[0];
}

/// One unit. Magnitudes are compared as bits: not a number is above infinity, and that above all
/// others.
template <class V, BlockType t>
INGOT_INLINE void quantize_unit(const float* x, int8_t* q, uint8_t* scale_word, uint8_t* words) {
  constexpr BlockFormat f = block_format(t);
  constexpr int32_t kInfinity = 0x7f800000, kLeast = (127 - 100) << 23;  // 2^-100
  constexpr int kStep = V::kLanes < f.sub ? V::kLanes : f.sub;
  typename V::I most = V::isplat(0);
  for (int i = 0; i < f.unit; i += kStep)
    most = V::imax(most, V::iand(V::as_int(V::load(x + i)), V::isplat(0x7fffffff)));
  const int32_t bits = largest_lane<V>(most);
  const bool finite = bits < kInfinity, counts = finite && bits >= kLeast;
  const float amax = bits_float(uint32_t(bits));
  const float scale = !finite ? bits_float(0x7fc00000) : counts ? amax / 127.0f : 0.0f;
  std::memcpy(scale_word, &scale, 4);
  const typename V::F inverse = V::splat(counts ? 127.0f / amax : 0.0f);
  if (!counts) std::memset(q, 0, f.unit);
  for (int sub = 0; sub < f.unit; sub += f.sub, words += 4) {
    int32_t sum = 0;
    if (counts) {
      typename V::I all = V::isplat(0);
      for (int i = sub; i < sub + f.sub; i += kStep) {
        const typename V::I codes = V::to_int_nearest(V::mul(V::load(x + i), inverse));
        V::istore_u8(reinterpret_cast<uint8_t*>(q) + i, codes);
        all = V::iadd(all, codes);
      }
      sum = V::isum(all);
    }
    const int32_t start = -f.zero * sum;
    const float minimum = f.is_super() ? float(sum) : scale * float(sum);
    if (f.has_min)
      std::memcpy(words, &minimum, 4);
    else
      std::memcpy(words, &start, 4);
  }
}

template <class V, BlockType t>
void quantize_rows(const TensorView& x, const TensorView& y, const Team& team) {
  constexpr BlockFormat f = block_format(t);
  const int64_t k = x.row_length(), units = k / f.unit;
  if (units == 0) return;
  const tensors::Part mine = tensors::part_of(team, x.rows() * units, 1, 4096 / f.unit);
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t row = i / units, unit = i % units;
    uint8_t* const to = y.as<uint8_t>() + row * y.row_stride;
    quantize_unit<V, t>(x.as<const float>() + row * x.row_stride + unit * f.unit,
                        reinterpret_cast<int8_t*>(to) + unit * f.unit, to + k + 4 * unit,
                        to + k + 4 * units + unit * subs_of(f) * 4);
  }
}

template <class V>
Status quantize(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  switch (a.as<BlockQuantizeAttributes>().type) {
    case BlockType::kQ4_0: quantize_rows<V, BlockType::kQ4_0>(x, y, team); break;
    case BlockType::kQ4_1:
    case BlockType::kQ5_1: quantize_rows<V, BlockType::kQ4_1>(x, y, team); break;  // alike
    case BlockType::kQ5_0: quantize_rows<V, BlockType::kQ5_0>(x, y, team); break;
    case BlockType::kQ8_0: quantize_rows<V, BlockType::kQ8_0>(x, y, team); break;
    case BlockType::kQ4_K:
    case BlockType::kQ5_K: quantize_rows<V, BlockType::kQ4_K>(x, y, team); break;  // alike
    case BlockType::kQ6_K: quantize_rows<V, BlockType::kQ6_K>(x, y, team); break;
  }
  return {};
}

/// One block of one output of the panel's block at p.
template <class V>
void widen_block(const BlockFormat& f, const uint8_t* p, int lane, float* y) {
  const auto half = [&](int at) {
    uint16_t bits;
    std::memcpy(&bits, p + at, 2);
    return f16_to_f32(bits);
  };
  const float d = half(2 * lane), m = f.has_min ? half(64 + 2 * lane) : 0;
  for (int k = 0; k < f.unit; k++) {
    float scale = d, minimum = m;
    if (f.is_super()) {
      const block_weights::SubScale s = block_weights::sub_scale_at(f, p, lane, k / f.sub);
      scale = d * float(s.scale), minimum = -m * float(s.minimum);
    }
    const float code = float(block_weights::code_at(f, p, lane, k) - f.zero);
    y[k] = f.has_min ? fused(code, scale, minimum) : code * scale;
  }
}

template <class V>
Status gather_rows(const OpArguments& a, const Team& team) {
  const BlockFormat f = block_format(a.as<BlockGatherAttributes>().type);
  const TensorView &w = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  const int64_t units = w.dims[1] / f.bytes, outputs = w.dims[0];
  if (units == 0) return {};
  bool good = true;
  const tensors::Part mine = tensors::part_of(team, indices.elements() * units, 1, 16);
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t row = i / units, unit = i % units;
    const int64_t o = tensors::index_at(indices, row, outputs);
    if (o < 0) {
      good = false;
      continue;
    }
    widen_block<V>(f, w.as<const uint8_t>() + (o / kOutputs * units + unit) * kOutputs * f.bytes,
                   int(o % kOutputs), y.as<float>() + row * y.row_stride + unit * f.unit);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
