// kernels/cpu/block_linear/block_rows.inl - BlockQuantize: activations for products with weights in
// blocks; BlockGather: rows of such weights. Contract: runtime/op/block_linear.h.
#pragma once
#include "kernels/cpu/block_linear/job.inl"
#include "kernels/cpu/gather/gather.inl"

namespace ingot::cpu {
namespace {
namespace blocks {

/// The largest magnitude of `unit` numbers as bits: not a number is above infinity, and that above
/// all others.
template <class V>
INGOT_INLINE uint32_t largest_bits(const float* x, int unit) {
  typename V::I most = V::isplat(0);
  for (int i = 0; i < unit; i += V::kLanes)
    most = V::imax(most, V::iand(V::as_int(V::load(x + i)), V::isplat(0x7fffffff)));
  alignas(64) int32_t lanes[V::kLanes];
  V::istore(lanes, most);
  int32_t bits = 0;
  for (int i = 0; i < V::kLanes; i++) bits = lanes[i] > bits ? lanes[i] : bits;
  return uint32_t(bits);
}

template <class V>
void quantize_unit(const BlockFormat& f, const float* x, int8_t* q, float* scale, uint8_t* words) {
  constexpr uint32_t kInfinity = 0x7f800000, kLeast = (127 - 100) << 23;  // 2^-100
  const uint32_t most = largest_bits<V>(x, f.unit);
  const bool finite = most < kInfinity, counts = finite && most >= kLeast;
  *scale = !finite ? bits_float(0x7fc00000) : counts ? bits_float(most) / 127.0f : 0.0f;
  if (counts) {
    const typename V::F inverse = V::splat(127.0f / bits_float(most));
    for (int i = 0; i < f.unit; i += V::kLanes)
      V::istore_u8(reinterpret_cast<uint8_t*>(q) + i,
                   V::to_int_nearest(V::mul(V::load(x + i), inverse)));
  } else {
    std::memset(q, 0, size_t(f.unit));
  }
  for (int sub = 0; sub < f.unit; sub += f.sub, words += 4) {
    int32_t sum = 0;
    for (int i = sub; i < sub + f.sub; i++) sum += q[i];
    const int32_t start = -f.zero * sum;
    const float minimum = f.is_super() ? float(sum) : *scale * float(sum);
    if (f.has_min)
      std::memcpy(words, &minimum, 4);
    else
      std::memcpy(words, &start, 4);
  }
}

template <class V>
Status quantize(const OpArguments& a, const Team& team) {
  const BlockFormat f = block_format(a.as<BlockQuantizeAttributes>().type);
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const int64_t k = x.row_length(), units = k / f.unit;
  const tensors::Part mine =
      tensors::part_of(team, x.rows() * units, 1, 4096 / (f.unit ? f.unit : 1));
  for (int64_t i = mine.begin; i < mine.end; i++) {
    const int64_t row = i / units, unit = i % units;
    uint8_t* const to = y.as<uint8_t>() + row * y.row_stride;
    quantize_unit<V>(f, x.as<const float>() + row * x.row_stride + unit * f.unit,
                     reinterpret_cast<int8_t*>(to) + unit * f.unit,
                     reinterpret_cast<float*>(to + k) + unit,
                     to + k + 4 * units + unit * subs_of(f) * 4);
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
    widen_block<V>(
        f, w.as<const uint8_t>() + (o / kOutputs * units + unit) * kOutputs * f.bytes,
        int(o % kOutputs), y.as<float>() + row * y.row_stride + unit * f.unit);
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace blocks
}  // namespace
}  // namespace ingot::cpu
