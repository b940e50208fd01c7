// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_rows.cuh - BlockQuantize: a unit a warp. BlockGather: 32 weights
// a thread.
#pragma once
#include "kernels/cuda/block_linear/block_kernels.h"
#include "kernels/cuda/block_linear/codes.cuh"
#include "kernels/cuda/device/loops.h"

namespace ingot::cuda {

GPU_FN void store_word(uint8_t* to, uint32_t word, bool is_aligned) {
  if (is_aligned)
    *reinterpret_cast<uint32_t*>(to) = word;
  else
    INGOT_UNROLL for (int i = 0; i < 4; i++) to[i] = uint8_t(word >> 8 * i);
}

INGOT_GPU_KERNEL(block_quantize, BlockQuantizeParams, kBlockThreads) {
  constexpr int32_t kInfinity = 0x7f800000, kLeast = (127 - 100) << 23;  // 2^-100
  constexpr uint32_t kNan = 0x7fc00000;
  constexpr int kMaxPieces = 256 / kCodesK;  // elements of a lane
  const int lane = int(threadIdx.x) % 32, pieces = p.unit / kCodesK, subs = p.unit / p.sub;
  const int64_t k = p.units * p.unit;
  GPU_ROLLED
  for (int64_t at = grid_thread() / 32; at < p.rows * p.units; at += grid_threads() / 32) {
    const int64_t row = at / p.units, unit = at - row * p.units;
    const float* const from = p.x + row * p.x_stride + unit * p.unit;
    uint8_t* const to = p.y + row * p.y_stride;
    float x[kMaxPieces];
    int32_t largest = 0;  // magnitudes as bits: NaN is above infinity, and that above all others
    INGOT_UNROLL for (int i = 0; i < kMaxPieces; i++) {
      x[i] = i < pieces ? from[i * kCodesK + lane] : 0.0f;
      const int32_t size = V::as_int(V::abs(x[i]));
      largest = size > largest ? size : largest;
    }
    GPU_ROLLED for (int apart = 1; apart < 32; apart *= 2) {
      const int32_t other = __shfl_xor_sync(~0u, largest, apart);
      largest = other > largest ? other : largest;
    }
    const bool is_number = largest < kInfinity, is_zero = largest < kLeast;
    const float top = V::as_float(largest), factor = is_number && !is_zero ? 127.0f / top : 0.0f;
    const uint32_t scale = !is_number ? kNan : is_zero ? 0u : cpu::float_bits(top / 127.0f);
    if (lane == 0) store_word(to + k + 4 * unit, scale, p.is_aligned);
    INGOT_UNROLL for (int i = 0; i < kMaxPieces; i++) {
      if (i >= pieces) break;
      const int32_t q = factor == 0 ? 0 : V::to_int_nearest(x[i] * factor);
      to[unit * p.unit + i * kCodesK + lane] = uint8_t(q);
      int32_t sum = q;
      GPU_ROLLED for (int apart = 1; apart < p.sub; apart *= 2) sum +=
          __shfl_xor_sync(~0u, sum, apart);
      if (lane % p.sub != 0) continue;
      uint32_t word = uint32_t(-p.zero * sum);
      if (p.has_min)
        word = subs > 1     ? cpu::float_bits(float(sum))
               : !is_number ? kNan
                            : cpu::float_bits(cpu::bits_float(scale) * float(sum));
      const int64_t sub = unit * subs + (i * kCodesK + lane) / p.sub;
      store_word(to + k + 4 * (p.units + sub), word, p.is_aligned);
    }
  }
}

/// 32 weights of output `lane` of the panel's block at p, the piece'th of the block.
template <BlockType t>
GPU_FN void widen_codes(const uint8_t* p, int piece, int lane, bool is_aligned, float* y) {
  constexpr BlockFormat f = block_format(t);
  RawCodes<t> raw;
  raw.load(p + f.header_bytes() + piece * f.code_bytes(), lane, is_aligned);
  uint32_t w[kCodeWords];
  decode<t>(raw, w);
  const BlockScale scale = block_scale<t>(p, lane, is_aligned);
  INGOT_UNROLL for (int g = 0; g < kCodeWords; g++) {
    const BlockScale s = sub_scale<t>(scale, p, lane, (piece * kCodesK + g * 4) / f.sub);
    INGOT_UNROLL for (int i = 0; i < 4; i++) {
      const float code = float(int(w[g] >> 8 * i & 255) - f.zero);
      y[g * 4 + i] = f.has_min ? V::fma(code, s.d, s.m) : code * s.d;
    }
  }
}
GPU_FN void widen_halves(const uint8_t* p, int lane, bool is_bf16, bool is_aligned, float* y) {
  GPU_ROLLED for (int k = 0; k < kCodesK; k++) {
    const uint16_t bits =
        uint16_t(half_at(p + 2 * (k * block_weights::kOutputs + lane), is_aligned));
    y[k] = is_bf16 ? cpu::bf16_to_f32(bits) : widen_f16(bits);
  }
}

INGOT_GPU_KERNEL(block_gather, BlockGatherParams, kBlockThreads) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    const int64_t piece = int64_t(take_remainder(&rest, p.pieces)), row = int64_t(rest);
    int64_t o = p.are_i64 ? static_cast<const int64_t*>(p.indices)[row]
                          : static_cast<const int32_t*>(p.indices)[row];
    if (o < 0) o += p.outputs;
    if (o < 0 || o >= p.outputs) {
      *p.fault = p.fault_value;
      continue;
    }
    float* const y = p.y + row * p.y_stride + piece * kCodesK;
    const int64_t panel = o / block_weights::kOutputs;
    const int lane = int(o - panel * block_weights::kOutputs);
    switch (p.type) {
#define INGOT_GATHER_CODES(name, type)                                      \
  case BlockType::type: {                                                   \
    constexpr BlockFormat f = block_format(BlockType::type);                \
    constexpr int kPieces = f.unit / kCodesK;                               \
    const int64_t unit = piece / kPieces;                                   \
    widen_codes<BlockType::type>(                                           \
        p.w + (panel * p.units + unit) * block_weights::kOutputs * f.bytes, \
        int(piece - unit * kPieces), lane, p.is_aligned, y);                \
    break;                                                                  \
  }
      INGOT_CUDA_CODE_TYPES(INGOT_GATHER_CODES)
#undef INGOT_GATHER_CODES
      case BlockType::kF16:
      case BlockType::kBF16:
        widen_halves(p.w + (panel * p.units + piece) * block_weights::kOutputs * 64, lane,
                     p.type == BlockType::kBF16, p.is_aligned, y);
        break;
    }
  }
}

}  // namespace ingot::cuda
