// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/block_linear/block_rows.inl - BlockQuantize: activations for products with weights in
// blocks; BlockGather: rows of such weights. Contract: runtime/op/block_linear.h.
#pragma once
#include "kernels/cpu/block_linear/job.inl"
#include "kernels/cpu/gather/gather.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

/// What each of kLanes vectors folds to.
template <class V, class Fold>
INGOT_INLINE typename V::I fold_lanes(typename V::I (&v)[V::kLanes], Fold fold) {
  typename V::F square[V::kLanes];
  INGOT_UNROLL for (int i = 0; i < V::kLanes; i++) square[i] = V::as_float(v[i]);
  V::transpose(square);
  typename V::I all = V::as_int(square[0]);
  INGOT_UNROLL for (int i = 1; i < V::kLanes; i++) all = fold(all, V::as_int(square[i]));
  return all;
}

/// `count` units of a row, at most as many as lanes: what they need of reductions and quotients is
/// done for all at once. Magnitudes are compared as bits: not a number is above infinity, and that
/// above all others.
template <class V, BlockType t>
INGOT_INLINE void quantize_units(const float* x, int zero, int count, int8_t* q,
                                 uint8_t* scale_words, uint8_t* words) {
  constexpr BlockFormat f = block_format(t);
  constexpr int32_t kInfinity = 0x7f800000, kLeast = (127 - 100) << 23;  // 2^-100
  constexpr int kLanes = V::kLanes, kSubs = f.subs();
  static_assert(f.sub % kLanes == 0, "a sum is of whole vectors");
  alignas(64) int32_t largest[kLanes], sums[kLanes];
  alignas(64) float scale[kLanes], inverse[kLanes], minima[kLanes];
  typename V::I lanes[kLanes];
  for (int u = 0; u < kLanes; u++) {
    lanes[u] = V::isplat(0);
    for (int from = u * f.unit; u < count && from < (u + 1) * f.unit; from += f.sub)
      INGOT_UNROLL for (int i = 0; i < f.sub; i += kLanes) lanes[u] =
          V::imax(lanes[u], V::as_int(V::abs(V::load(x + from + i))));
  }
  const typename V::I bits =
      fold_lanes<V>(lanes, [](typename V::I a, typename V::I b) { return V::imax(a, b); });
  const typename V::F top = V::splat(127.0f);
  V::istore(largest, bits);
  V::store(scale, V::div(V::as_float(bits), top));
  V::store(inverse, V::div(top, V::as_float(bits)));
  for (int u = 0; u < count; u++)
    if (largest[u] < kLeast || largest[u] >= kInfinity)
      inverse[u] = 0, scale[u] = largest[u] < kLeast ? 0 : bits_float(0x7fc00000);
  std::memcpy(scale_words, scale, size_t(count) * 4);
  for (int first = 0; first < count * kSubs; first += kLanes) {
    const int some = count * kSubs - first < kLanes ? count * kSubs - first : kLanes;
    for (int s = 0; s < kLanes; s++) {
      lanes[s] = V::isplat(0);
      if (s >= some) continue;
      const int from = (first + s) * f.sub, unit = (first + s) / kSubs;
      if (inverse[unit] == 0) {
        std::memset(q + from, 0, f.sub);
        continue;
      }
      const typename V::F factor = V::splat(inverse[unit]);
      INGOT_UNROLL for (int i = 0; i < f.sub; i += kLanes) {
        const typename V::I codes = V::to_int_nearest(V::mul(V::load(x + from + i), factor));
        V::istore_u8(reinterpret_cast<uint8_t*>(q) + from + i, codes);
        lanes[s] = V::iadd(lanes[s], codes);
      }
    }
    const typename V::I all =
        fold_lanes<V>(lanes, [](typename V::I a, typename V::I b) { return V::iadd(a, b); });
    if constexpr (f.has_min) {
      const typename V::F sum = V::to_float(all);
      V::store(minima, f.is_super() ? sum : V::mul(V::load(scale), sum));
      std::memcpy(words + first * 4, minima, size_t(some) * 4);
    } else {
      V::istore(sums, V::imul(all, V::isplat(-zero)));
      std::memcpy(words + first * 4, sums, size_t(some) * 4);
    }
  }
}

/// `zero`: that of the type, of which t may be another one.
template <class V, BlockType t>
void quantize_rows(const TensorView& x, const TensorView& y, int zero, const Team& team) {
  constexpr BlockFormat f = block_format(t);
  const int64_t k = x.row_length(), units = k / f.unit;
  if (units == 0) return;
  const tensors::Part mine = tensors::part_of(team, x.rows() * units, 1, 1024 / f.unit);
  for (int64_t i = mine.begin, count; i < mine.end; i += count) {
    const int64_t row = i / units, unit = i % units;
    count = min_of(min_of(mine.end - i, units - unit), V::kLanes);
    uint8_t* const to = y.as<uint8_t>() + row * y.row_stride;
    quantize_units<V, t>(x.as<const float>() + row * x.row_stride + unit * f.unit, zero, int(count),
                         reinterpret_cast<int8_t*>(to) + unit * f.unit, to + k + 4 * unit,
                         to + k + 4 * units + unit * f.subs() * 4);
  }
}

template <class V>
Status quantize(const OpArguments& a, const Team& team) {
  with_codes(a.as<BlockQuantizeAttributes>().type, [&](auto own) {
    constexpr BlockType kOwn = decltype(own)::kType;
    quantize_rows<V, first_alike(kOwn, sums_alike)>(a.inputs[0], a.outputs[0],
                                                    block_format(kOwn).zero, team);
  });
  return {};
}

/// One block of one output of the panel's block at p.
template <class V>
void widen_block(BlockType type, const uint8_t* p, int lane, float* y) {
  const BlockFormat f = block_format(type);
  const auto half = [&](int at) {
    uint16_t bits;
    std::memcpy(&bits, p + at, 2);
    return f16_to_f32(bits);
  };
  if (f.is_float()) {
    for (int k = 0; k < f.unit; k++) {
      uint16_t bits;
      std::memcpy(&bits, p + 2 * (k * kOutputs + lane), 2);
      y[k] = type == BlockType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
    return;
  }
  const float d = f.scales == BlockScales::kExponent ? block_weights::exponent_scale(p[lane])
                                                     : half(2 * lane),
              m = f.has_min ? half(64 + 2 * lane) : 0;
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
  const BlockType type = a.as<BlockGatherAttributes>().type;
  const BlockFormat f = block_format(type);
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
    widen_block<V>(type, w.as<const uint8_t>() + (o / kOutputs * units + unit) * kOutputs * f.bytes,
                   int(o % kOutputs), y.as<float>() + row * y.row_stride + unit * f.unit);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
