// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weight_tiles.cuh - many rows times weights of 8 and 4 bits: the tiles of
// product(), into which weights come as they lie in memory and become f16 or tf32 on the way.
//   copies  a thread copies four words of k of four outputs (8 bits), half a part's, or eight words
//           of two (4 bits), some steps ahead, to a place of its own
//   unpack  before the barrier that a stage has anyway it makes fragments of them
//   scales  in registers, those of the next block on their way
// Contract: runtime/op/linear.h, but for the precision of products and the order of sums.
#pragma once
#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/bits.cuh"
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/device/global_loads.cuh"
#include "kernels/cuda/linear/weight_tiles_kernels.h"
#include "kernels/cuda/tensorcore/product.cuh"

namespace ingot::cuda {

/// How numbers of an output become words of a fragment; kBits, of 8 or 4.
template <class Type, int kBits>
struct WeightScale;

/// Words of two f16: (q - zero) is exact, its product with the scale is rounded once. A number n
/// below 1024 is the low bits of 16.0: 16 + n / 64; 16 n below 1024 those of 1.0: 1 + n / 64. Bytes
/// count from -128 and are 64ths beside 16 in both halves; numbers of 4 bits count from -8 and are
/// 64ths beside 16 in the low half and beside 1 in the high one. So scales are 64 times what they
/// are: from 9.6e-7 on they keep 11 bits, and one of 1024 and more becomes infinite.
template <int kBits>
struct WeightScale<F16Words, kBits> {
  static constexpr uint32_t kSixteens = 0x4c004c00;
  static constexpr int kNumbers = 2;  // of a word
  uint32_t scale, offset;
  /// `zeros`: a byte more than 128 too much, the one that `own` says.
  GPU_FN WeightScale make(float scale, uint32_t zeros, int own) {
    WeightScale s;
    s.scale = pack(F16{}, scale * 64, scale * 64);
    s.offset = pick_bytes(zeros, kSixteens, 0x5050 + 0x101 * uint32_t(own));
    // 16 + (zero + 128) / 64, less 120 / 64 and 15 + 120 / 64
    if (kBits == 4) s.offset = subtract_halves(s.offset, 0x4c383f80);
    return s;
  }
  GPU_MEMBER uint32_t times(uint32_t two) const {
    return multiply_halves(subtract_halves(two, offset), scale);
  }
  /// Output e of four, of the bytes of two k that are 128 too much.
  GPU_MEMBER uint32_t word_of_bytes(const uint32_t (&k)[2], int e) const {
    const uint32_t four = pick_bytes(k[0], k[1], e < 2 ? 0x5140 : 0x7362);
    return times(pick_bytes(four, kSixteens, e % 2 ? 0x5352 : 0x5150));
  }
  /// Word n of the four that eight numbers are; `t`: the lane's, which has all of them.
  GPU_FN uint32_t own_of_eight(uint32_t eight, int) { return eight; }
  GPU_MEMBER uint32_t word_of_eight(uint32_t own, int n, uint32_t mask, uint32_t change) const {
    return times(masked_and_changed(pick_bytes(own, 0, uint32_t(0x1111 * n)), mask, change));
  }
  static constexpr uint32_t kMask = 0x00f0000f, kChange = 0x3c804c08;  // 8 more: bit 3 turned
};

/// Words of f32 for products in tf32. A number n is the low bits of 2^23, or 2^4i n those of
/// 2^(23 - 4i).
template <int kBits>
struct WeightScale<Tf32, kBits> {
  static constexpr int kNumbers = 1;
  float scale, less;  // near_tf32() is in both
  GPU_FN WeightScale make(float scale, uint32_t zeros, int own) {
    const float rounded = float_of(near_tf32(scale)),
                zero = float(int(zeros >> 8 * own & 255) - 128);
    return {rounded, -(zero * rounded)};
  }
  GPU_MEMBER uint32_t times(float number) const { return word_of(V::fma(number, scale, less)); }
  GPU_MEMBER uint32_t word_of_bytes(const uint32_t (&k)[1], int e) const {
    return times(float_of(pick_bytes(k[0], 0x4b000000u, 0x7440 + uint32_t(e))) - 8388736.0f);
  }
  /// Of eight numbers a lane has four.
  GPU_FN uint32_t own_of_eight(uint32_t eight, int t) { return eight >> 16 * (t & 1); }
  GPU_MEMBER uint32_t word_of_eight(uint32_t own, int n, uint32_t, uint32_t) const {
    const uint32_t power = 0x4b000000u - (uint32_t(n) << 25);  // 2^(23 - 4 n)
    return times(float_of(masked_and_changed(own, 15u << 4 * n, power | 8u << 4 * n)) -
                 (float_of(power) + 8));
  }
  static constexpr uint32_t kMask = 0, kChange = 0;
};

/// The scales of a thread's neighbouring outputs, block after block: four of 8 bits, two of 4 bits.
template <class Type, int kBits>
struct ScalesOfThread {
  static constexpr int kOutputs = kBits / 2,
                       kStep =
                           WeightTileShape{WeightScale<Type, 8>::kNumbers == 2, 8}.step_numbers();
  const char *scales, *zeros;                     // of block 0, 64 and 16 bytes apart
  uint32_t zero_mask;                             // none: 0, and what is read is some scale's bytes
  uint32_t next_scales[kOutputs], next_zeros[1];  // f32; bytes of four outputs
  WeightScale<Type, kBits> of[kOutputs];
  int first, next, blocks, steps_left, steps_of_block;  // first: of four outputs
  /// Outputs from `o` on, in panels of w; `k` is where a step begins.
  GPU_FN ScalesOfThread make(const PackedWeights& w, int64_t o, int k) {
    ScalesOfThread s;
    const int64_t at = (o >> 4) * w.blocks * 16 + (o & 15);
    s.scales = computed_once(reinterpret_cast<const char*>(w.scales + at));
    s.zeros = w.zeros ? reinterpret_cast<const char*>(w.zeros + (at & ~int64_t{3})) : s.scales;
    s.zeros = computed_once(s.zeros), s.zero_mask = w.zeros ? ~0u : 0, s.first = int(o & 3);
    s.next = int(divide(uint64_t(k), w.block)), s.blocks = int(w.blocks);
    // A split may begin within a block.
    const int begun = (k - s.next * int(w.block.divisor)) / kStep;
    s.steps_of_block = s.blocks > 1 ? int(w.block.divisor) / kStep : 1 << 30;
    s.fetch(), s.advance();
    s.steps_left -= begun;
    return s;
  }
  GPU_MEMBER void fetch() {
    if (next >= blocks) return;
    load_global(next_scales, scales + uint64_t(uint32_t(next)) * 64);
    load_global(next_zeros, zeros + uint64_t(uint32_t(next)) * 16);
    next++;
  }
  GPU_MEMBER void advance() {
    const uint32_t from_0 = masked_and_changed(next_zeros[0], zero_mask, 0x80808080u);
    INGOT_UNROLL for (int i = 0; i < kOutputs; i++) of[i] = WeightScale<Type, kBits>::make(
        float_of(next_scales[i]), from_0, kBits == 8 ? i : first + i);
    steps_left = steps_of_block;
    fetch();
  }
  /// Before each step.
  GPU_MEMBER void step() {
    if (steps_left == 0) advance();
    steps_left--;
  }
};

/// What both widths share: a tile of fragments as product() takes them, [32 outputs][part][i][lane]
/// of four words, and behind it what was copied. Lane (g, t) multiplies words 4 t .. 4 t + 3 of k
/// by outputs 4 g .. 4 g + 3 of 32: those of part (two words) and i (two outputs) are a fragment.
template <class Type, int kOutputs, int kBits>
struct UnpackedTile {
  static constexpr bool kUnpacks = true;
  static constexpr int kNumbers = WeightScale<Type, kBits>::kNumbers, kStepNumbers = 16 * kNumbers;
  static constexpr int kStep = kOutputs * WeightTileShape{kNumbers == 2, kBits}.tile_bytes(),
                       kUnits = kOutputs / 64;
  static constexpr int kPart = 1024, kPairOfOutputs = 512, kOf32 = 2048;
  static constexpr int kTwoWords = kProductThreads * 8;  // of all threads, as they were copied
  const char* from;
  // own: where fragments are read; to: of the words as they are; place: of the first fragment that
  // the thread makes; left: numbers of k from the first unit on
  int own, to, place, left;
  ScalesOfThread<Type, kBits> scales;
  GPU_FN RowLane rows_of(int) { return {0, 0}; }  // of tiles of words
  GPU_MEMBER void set(const WeightTileParams& p, int64_t o, int k, int first_row) {
    own = int(threadIdx.x) / 32 % (kOutputs / 32) * kOf32 + int(threadIdx.x) % 32 * 16;
    to = kOutputs * kWordWeights + int(threadIdx.x) * 8, left = int(p.weights.k) - k - first_row;
    from = reinterpret_cast<const char*>(p.weights.numbers) + (o >> 4) * p.weights.panel_bytes;
    scales = ScalesOfThread<Type, kBits>::make(p.weights, o, k);
  }
  GPU_MEMBER void skip(int steps) {
    from += steps * (kStepNumbers * kBits * 2), left -= steps * kStepNumbers;
  }
  GPU_MEMBER void read_unpacked(const char* tile, uint32_t (&words)[2][2][4]) const {
    INGOT_UNROLL for (int part = 0; part < 2; part++) INGOT_UNROLL for (int i = 0; i < 2; i++)
        load_shared(words[part][i], tile + own + part * kPart + i * kPairOfOutputs);
  }
};
using Fragment = FourOf<uint32_t>;

/// Four outputs and two words of k are a unit: a part's two fragments.
template <class Type, int kOutputs>
struct Weights8 : UnpackedTile<Type, kOutputs, 8> {
  using Base = UnpackedTile<Type, kOutputs, 8>;
  using Base::kNumbers;
  using Base::kUnits;
  GPU_FN Weights8 make(const WeightTileParams& p, const float*, int first_o, int words) {
    Weights8 s;
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, g = lane / 4,
              t = lane % 4, part = kUnits == 1 ? warp % 2 : 0,
              of_32 = kUnits == 1 ? warp / 2 : warp, row = (4 * t + 2 * part) * kNumbers,
              k = words * kNumbers;
    const int64_t o = readable_output(p, first_o + of_32 * 32 + 4 * g);
    s.set(p, o, k, row);
    s.from += (o & 15) + (int64_t(k) + row) * 16;
    s.place = of_32 * Base::kOf32 + part * Base::kPart + lane * 16;
    return s;
  }
  template <int kStepsPerStage>
  GPU_MEMBER void load(const WeightTileParams&, int step, char* tile) {
    static_assert(kStepsPerStage == 1, "a step a stage");
    INGOT_UNROLL for (int i = 0; i < kUnits * 2 * kNumbers; i++) {
      const int k = step * Base::kStepNumbers + i;
      copy_async4(tile + this->to + i / 2 * Base::kTwoWords + i % 2 * 4,
                  this->from + int64_t(k) * 16, k < this->left);
    }
  }
  GPU_MEMBER void unpack(char* tile) {
    this->scales.step();
    INGOT_UNROLL for (int u = 0; u < kUnits; u++) {
      uint32_t bytes[kNumbers][2];
      INGOT_UNROLL for (int i = 0; i < kNumbers; i++) {
        load_shared(bytes[i], tile + this->to + (u * kNumbers + i) * Base::kTwoWords);
        INGOT_UNROLL for (int e = 0; e < 2; e++) bytes[i][e] ^= 0x80808080u;
      }
      Fragment fragments[2];
      INGOT_UNROLL for (int row = 0; row < 2; row++) {
        uint32_t k[kNumbers];
        INGOT_UNROLL for (int i = 0; i < kNumbers; i++) k[i] =
            bytes[(row * kNumbers + i) / 2][(row * kNumbers + i) % 2];
        INGOT_UNROLL for (int o = 0; o < 4; o++) fragments[o / 2].x[2 * row + o % 2] =
            this->scales.of[o].word_of_bytes(k, o);
      }
      INGOT_UNROLL for (int i = 0; i < 2; i++) *
          reinterpret_cast<Fragment*>(tile + this->place + u * Base::kPart +
                                      i * Base::kPairOfOutputs) = fragments[i];
    }
  }
};

/// Two outputs and four words of k are a unit: a fragment of each part.
template <class Type, int kOutputs>
struct Weights4 : UnpackedTile<Type, kOutputs, 4> {
  using Base = UnpackedTile<Type, kOutputs, 4>;
  using Base::kNumbers;
  using Base::kUnits;
  // turn: of lanes whose first unit is another one, so that eight lanes write to all banks; t: of
  // the first unit's lane
  int turn, t;
  uint32_t mask, change;
  /// Fours of words of k from the thread's first unit to another one.
  GPU_MEMBER int fours_to(int unit) const { return 2 * ((unit ^ turn) - turn); }
  GPU_FN Weights4 make(const WeightTileParams& p, const float*, int first_o, int words) {
    Weights4 s;
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, k = words * kNumbers;
    int g = lane / 4, i = warp % 2, of_32 = warp / 2;
    s.turn = 0, s.t = lane % 4;
    if (kUnits == 2) {
      g = lane / 2 % 8, i = lane / 16, of_32 = warp;
      s.turn = g / 2 % 2, s.t = lane % 2 + 2 * s.turn;
    }
    const int64_t o = readable_output(p, first_o + of_32 * 32 + 4 * g) + 2 * i;
    s.set(p, o, k, s.t * 4 * kNumbers / 8 * 8);
    s.from += (o & 15) * 4 + (int64_t(k / 8) + s.t * 4 * kNumbers / 8) * 64;
    s.place = of_32 * Base::kOf32 + i * Base::kPairOfOutputs + (g * 4 + s.t) * 16;
    using Scale = WeightScale<Type, 4>;
    s.mask = computed_once(Scale::kMask), s.change = computed_once(Scale::kChange);
    return s;
  }
  template <int kStepsPerStage>
  GPU_MEMBER void load(const WeightTileParams&, int step, char* tile) {
    static_assert(kStepsPerStage == 1, "a step a stage");
    INGOT_UNROLL for (int u = 0; u < kUnits; u++) {
      const int eights = step * (Base::kStepNumbers / 8) + fours_to(u) * kNumbers / 2;
      copy_async8(tile + this->to + u * Base::kTwoWords, this->from + eights * 64,
                  eights * 8 < this->left);
    }
  }
  GPU_MEMBER void unpack(char* tile) {
    using Scale = WeightScale<Type, 4>;
    this->scales.step();
    INGOT_UNROLL for (int u = 0; u < kUnits; u++) {
      uint32_t words[2];
      load_shared(words, tile + this->to + u * Base::kTwoWords);
      Fragment fragments[2];
      INGOT_UNROLL for (int e = 0; e < 2; e++) {
        const uint32_t four = Scale::own_of_eight(words[e], t);
        INGOT_UNROLL for (int n = 0; n < 4; n++) fragments[n / 2].x[n % 2 * 2 + e] =
            this->scales.of[e].word_of_eight(four, n, mask, change);
      }
      INGOT_UNROLL for (int part = 0; part < 2; part++) *
          reinterpret_cast<Fragment*>(tile + this->place + fours_to(u) * 16 + part * Base::kPart) =
          fragments[part];
    }
  }
};

template <int kOutputs, int>
using HalvesOf8 = Weights8<F16Words, kOutputs>;
template <int kOutputs, int>
using HalvesOf4 = Weights4<F16Words, kOutputs>;
template <int kOutputs, int>
using FloatsOf8 = Weights8<Tf32, kOutputs>;
template <int kOutputs, int>
using FloatsOf4 = Weights4<Tf32, kOutputs>;

#define INGOT_WEIGHT_TILE(type, Type, Weights, bits, m, o, warp_m)                                \
  INGOT_GPU_KERNEL_EARLY_BLOCKS(weights_##type##_w##bits##_##m##x##o, WeightTileParams, 128, 3) { \
    INGOT_BODY_OF(Type, product<Type, RowPixels, Weights##bits, m, o, warp_m>(p));                \
  }
#define INGOT_WEIGHT_TILES(type, Type, Weights)          \
  INGOT_WEIGHT_TILE(type, Type, Weights, 8, 128, 64, 64) \
  INGOT_WEIGHT_TILE(type, Type, Weights, 8, 64, 64, 32)  \
  INGOT_WEIGHT_TILE(type, Type, Weights, 8, 32, 128, 32) \
  INGOT_WEIGHT_TILE(type, Type, Weights, 4, 128, 64, 64) \
  INGOT_WEIGHT_TILE(type, Type, Weights, 4, 64, 64, 32)  \
  INGOT_WEIGHT_TILE(type, Type, Weights, 4, 32, 128, 32)
INGOT_WEIGHT_TILES(f16, F16Words, HalvesOf)
INGOT_WEIGHT_TILES(tf32, Tf32, FloatsOf)
#undef INGOT_WEIGHT_TILES
#undef INGOT_WEIGHT_TILE

INGOT_GPU_KERNEL(rows_as_halves, RowsAsHalvesParams, 128) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t row = uint64_t(i);
    const int k = int(take_remainder(&row, p.pieces)) * 8;
    const float* const from = p.x + int64_t(row) * p.x_stride + k;
    float x[8];
    INGOT_UNROLL for (int half = 0; half < 8; half += 4) {
      const Four four = load_four<Four>(from, half, false, p.k - k - half, p.is_aligned);
      for (int e = 0; e < 4; e++) x[half + e] = four.x[e];
    }
    FourOf<uint32_t> words;
    INGOT_UNROLL for (int e = 0; e < 4; e++) words.x[e] = pack(F16{}, x[2 * e], x[2 * e + 1]);
    reinterpret_cast<FourOf<uint32_t>*>(p.to)[i] = words;
  }
}

}  // namespace ingot::cuda
