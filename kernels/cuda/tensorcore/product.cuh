// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/product.cuh - one product for all: convolutions as products of windows
// (nothing is laid out beforehand), Linear, MatMul. f32 words go into shared memory as they lie and
// become f16, bf16 or tf32 on their way into registers; words of bytes stay.
//   block   128 threads, or 256: a tile of pixels x outputs, and of one part of k (a split)
//   warp    kWarpM pixels x 32 outputs; outputs are the rows of a fragment (A), pixels its columns
//           (B)
//   k       steps of 16 words, one or two a stage (ProductTile); all stages but one are in flight.
//           Words of f16 hold two numbers of k: no conversion, and half the steps
//   start   weights of the first stages are copied before launches in front of this one have ended
//   end     sums pass through shared memory, so that rows of y are written whole and the epilogue
//           is one loop: store_sums() of the parameters' type (finish.cuh, quantized/tiles.cuh)
#pragma once
#include "kernels/cuda/device/dot.cuh"
#include "kernels/cuda/tensorcore/finish.cuh"
#include "kernels/cuda/tensorcore/operands.cuh"
#include "kernels/cuda/tensorcore/pixels.cuh"
#include "kernels/cuda/tensorcore/weights.cuh"

namespace ingot::cuda {

/// Words 4 t .. 4 t + 3 of a step for four outputs (w[q][i]) or a pixel (x[q]) -> the fragments of
/// its kCount products. Output 2 i is row g and 2 i + 1 row g + 8 of product i, so that a lane ends
/// with four neighbours.
template <class Type>
struct Fragments {  // f16, bf16: one product has all 16 words
  static constexpr int kCount = 1;
  GPU_FN void of_weights(const uint32_t (&w)[4][4], int i, int, uint32_t (&a)[4]) {
    for (int r = 0; r < 4; r++)
      a[r] = pack(Type{}, float_of(w[r / 2 * 2][2 * i + r % 2]),
                  float_of(w[r / 2 * 2 + 1][2 * i + r % 2]));
  }
  template <bool kRounded = false>
  GPU_FN void of_pixels(const uint32_t (&x)[4], int, uint32_t (&b)[2]) {
    for (int r = 0; r < 2; r++) b[r] = pack(Type{}, float_of(x[2 * r]), float_of(x[2 * r + 1]));
  }
};
GPU_FN uint32_t operand_word(Tf32, uint32_t w) { return near_tf32(float_of(w)); }
GPU_FN uint32_t operand_word(S8U8, uint32_t w) { return w; }
template <class Type>
struct WordFragments {  // a product has 8 of the words
  static constexpr int kCount = 2;
  GPU_FN void of_weights(const uint32_t (&w)[4][4], int i, int part, uint32_t (&a)[4]) {
    for (int r = 0; r < 4; r++) a[r] = operand_word(Type{}, w[2 * part + r / 2][2 * i + r % 2]);
  }
  template <bool kRounded = false>
  GPU_FN void of_pixels(const uint32_t (&x)[4], int part, uint32_t (&b)[2]) {
    for (int r = 0; r < 2; r++)
      b[r] = kRounded ? x[2 * part + r] : operand_word(Type{}, x[2 * part + r]);
  }
};
/// Words that are two f16 already: a product of 16 numbers of k has 8 of them.
struct F16Words : F16 {};
GPU_FN uint32_t operand_word(F16Words, uint32_t w) { return w; }
template <>
struct Fragments<F16Words> : WordFragments<F16Words> {};
template <>
struct Fragments<Tf32> : WordFragments<Tf32> {};
template <>
struct Fragments<S8U8> : WordFragments<S8U8> {};

/// Whether the words of weights are fragments as they lie, see PanelTile::read_fragments().
template <class Type>
inline constexpr bool kPlainWords = false;
template <>
inline constexpr bool kPlainWords<F16Words> = true;
template <>
inline constexpr bool kPlainWords<S8U8> = true;

template <class Sum>
inline constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;

/// Whether f32 becomes f16.
template <class Type>
inline constexpr bool kIsF16 = false;
template <>
inline constexpr bool kIsF16<F16> = true;

/// Whether words of pixels may be rounded where they lie.
template <class Type>
inline constexpr bool kRoundsWords = false;
template <>
inline constexpr bool kRoundsWords<Tf32> = true;

/// What a product counts of the pixels beside its sums: nothing, or of whole numbers the sum of
/// those of each pixel, where p.counts_numbers; @return those of the tile, in shared memory.
template <class Type, int kJ>
struct PixelSums {
  static constexpr int kAtOnce = 1;  // groups of eight pixels that a lane has words of
  template <class Params>
  GPU_MEMBER void add(const Params&, int, const uint32_t (&)[kAtOnce][4]) {}
  template <class Params>
  GPU_MEMBER const int32_t* share(const Params&, int32_t* at, int, bool) const {
    return at;
  }
};
template <int kJ>
struct PixelSums<S8U8, kJ> {
  static constexpr int kAtOnce = 4;  // one branch, and no product waits for the one before it
  int32_t sums[kJ] = {};
  template <class Params>
  GPU_MEMBER void add(const Params& p, int j, const uint32_t (&words)[kAtOnce][4]) {
    if (!p.counts_numbers) return;
    INGOT_UNROLL for (int e = 0; e < kAtOnce; e++) INGOT_UNROLL for (int q = 0; q < 4; q++)
        sums[j + e] = dot4(words[e][q], 0x01010101u, sums[j + e]);
  }
  template <class Params>
  GPU_MEMBER const int32_t* share(const Params& p, int32_t* at, int first, bool writes) const {
    if (!p.counts_numbers) return at;
    INGOT_UNROLL for (int j = 0; j < kJ; j++) {
      int32_t sum = sums[j];
      for (int apart = 1; apart < 4; apart *= 2) sum += __shfl_xor_sync(~0u, sum, apart);
      if (writes && threadIdx.x % 4 == 0) at[first + j * 8 + int(threadIdx.x) % 32 / 4] = sum;
    }
    return at;
  }
};

/// Where in a product a thread's sums are.
template <int kM, int kO, int kWarpM>
struct SumPlace {
  int first_m, first_o, warp_m, warp_o, g, t;
  GPU_FN SumPlace of(const ProductParams& p, int thread, int block) {
    const int warp = thread / 32;
    return {block % p.tiles_m * kM, block / p.tiles_m * kO, warp / (kO / 32) * kWarpM,
            warp % (kO / 32) * 32,  thread % 32 / 4,        thread % 4};
  }
};

template <class Type, template <int, int, int> class Pixels, template <int, int> class Weights,
          int kM, int kO, int kWarpM, class Params>
GPU_FN void product(const Params& p) {
  using Sum = typename Type::Sum;
  using Part = Fragments<Type>;
  constexpr ProductTile kTile = {kM, kO};
  constexpr int kThreads = kTile.threads();
  using WeightTile = Weights<kO, kThreads>;
  constexpr int kOutputBytes = WeightTile::kStep / kO;
  constexpr bool kPackedF16 = kOutputBytes == kPackedF16Weights;  // packed f16 weights
  constexpr bool kTable = Pixels<kM, 1, kThreads>::kTable > 0;
  constexpr int kStepsPerStage = kTile.steps_per_stage(kOutputBytes, kTable),
                kStages = kTile.stages(kOutputBytes, kTable);
  using PixelTile = Pixels<kM, kStepsPerStage, kThreads>;
  constexpr int kAhead = (kStages - 1) * kStepsPerStage;         // steps from a copy to its use
  constexpr int kRing = kStages * kStepsPerStage;                // steps of all stages
  constexpr int kPixels = kM * 64, kWeights = WeightTile::kStep;  // bytes of a step
  constexpr int kStage = kStepsPerStage * (kPixels + kWeights), kJ = kWarpM / 8, kPitch = kO + 4;
  constexpr bool kPlain = !WeightTile::kUnpacks && (kPlainWords<Type> || kPackedF16);
  // Rounded by who has copied them: what four warps multiply, and what is copied word by word.
  constexpr bool kPaired = PixelTile::kRoundsOnce && kIsF16<Type>,
                 kRounded =
                     kPaired || (kRoundsWords<Type> && (kM == kWarpM || PixelTile::kRoundsOnce));
  static_assert(kM / kWarpM * (kO / 32) * 32 == kThreads, "four warps, or eight");
  char* shared = gpu_shared<char>();
  using Place = SumPlace<kM, kO, kWarpM>;
  Place place = Place::of(p, int(threadIdx.x), int(blockIdx.x));
  const int64_t batch = int64_t(p.batch_first) + blockIdx.z;
  const int begin = int(blockIdx.y) * p.split_steps,
            steps = p.steps - begin < p.split_steps ? p.steps - begin : p.split_steps;
  const Operands from = operands_of(p, uint32_t(batch));
  if (!p.is_early) wait_for_launches();
  PixelTile pixels = PixelTile::make(p, from.x, place.first_m, begin * 16);
  WeightTile weights = WeightTile::make(p, from.w, place.first_o, begin * 16);
  const auto load_weights = [&](int step, int at) {
    weights.template load<kStepsPerStage>(p, step, shared + at + kStepsPerStage * kPixels);
  };
  const auto load = [&](int step, int at) {
    pixels.load(p, step, shared + at);
    load_weights(step, at);
  };
  const RowLane rows_of_lane = WeightTile::rows_of(place.warp_o);
  const HalfLane halves_of_lane = halves_of(rows_of_lane);
  const uint32_t pixels_at = computed_once(uint32_t(pixel_offset(place.warp_m + place.g, place.t)));
  const char* const weights_of_lane = shared + kStepsPerStage * kPixels;
  const char* const pixels_of_lane = shared + pixels_at;
  Sum sums[2][kJ][4] = {};
  PixelSums<Type, kJ> numbers;
  // Steps behind those of the first copies that a table of taps has: the first one, another one.
  constexpr int kFirstRings = (PixelTile::kTable - kAhead) / kRing,
                kRings = PixelTile::kTable / kRing;
  char* const table = shared + kStages * kStage;
  [[maybe_unused]] int most = 0;
  if constexpr (kTable) {
    most = (PixelTile::is_large(p) ? 0 : kFirstRings) * kRing;
    pixels.template fill<kRing>(p, table, 0, kAhead + most);
  }
  GPU_ROLLED
  for (int s = 0; s < kStages - 1; s++)
    if (s * kStepsPerStage < steps) load_weights(s * kStepsPerStage, s * kStage);
  wait_for_launches();
  GPU_ROLLED
  for (int s = 0; s < kStages - 1; s++) {
    if (s * kStepsPerStage < steps) pixels.load(p, s * kStepsPerStage, shared + s * kStage);
    commit_copies();
  }
  // A ring of stages is unrolled: where a stage lies is a constant, and mostly what it copies, too.
  const auto ring = [&](int left) {
    INGOT_UNROLL for (int stage = 0; stage < kStages; stage++) {
      const int step = stage * kStepsPerStage, ahead = step + kAhead;
      if (stage > 0 && step >= left) break;
      wait_for_copies<kStages - 2>();
      if constexpr (kRounded) pixels.round(Type{}, shared + stage * kStage);
      if constexpr (WeightTile::kUnpacks)
        weights.unpack(shared + stage * kStage + kStepsPerStage * kPixels);
      __syncthreads();
      if (ahead < left) load(ahead, (stage + kStages - 1) % kStages * kStage);
      commit_copies();
      INGOT_UNROLL for (int half = 0; half < kStepsPerStage; half++) {
        const char *const own_weights = weights_of_lane + stage * kStage + half * kWeights,
                          *const own_pixels = pixels_of_lane + stage * kStage + half * kPixels;
        uint32_t a[Part::kCount][2][4];
        if constexpr (WeightTile::kUnpacks) {
          weights.read_unpacked(own_weights, a);
        } else if constexpr (kPlain) {
          WeightTile::read_fragments(own_weights, halves_of_lane, a);
        } else {
          uint32_t words[4][4];
          WeightTile::read(own_weights, rows_of_lane, words);
          INGOT_UNROLL for (int part = 0; part < Part::kCount; part++)
              INGOT_UNROLL for (int i = 0; i < 2; i++) Part::of_weights(words, i, part, a[part][i]);
        }
        constexpr int kAtOnce = PixelSums<Type, kJ>::kAtOnce;
        INGOT_UNROLL for (int j = 0; !kPaired && j < kJ; j += kAtOnce) {
          uint32_t words[kAtOnce][4];
          INGOT_UNROLL for (int e = 0; e < kAtOnce; e++)
              load_shared(words[e], own_pixels + (j + e) * 512);
          numbers.add(p, j, words);
          INGOT_UNROLL for (int part = 0; part < Part::kCount; part++)
              INGOT_UNROLL for (int e = 0; e < kAtOnce; e++) {
            uint32_t b[2];
            Part::template of_pixels<kRounded>(words[e], part, b);
            INGOT_UNROLL for (int i = 0; i < 2; i++)
                multiply_add(Type{}, sums[i][j + e], a[part][i], b);
          }
        }
        INGOT_UNROLL for (int j = 0; kPaired && j < kJ; j += 2) {
          uint32_t words[4];
          load_shared(words, own_pixels + j * 512);
          INGOT_UNROLL for (int e = 0; e < 2; e++) {
            const uint32_t b[2] = {words[2 * e], words[2 * e + 1]};
            INGOT_UNROLL for (int i = 0; i < 2; i++)
                multiply_add(Type{}, sums[i][j + e], a[0][i], b);
          }
        }
      }
    }
    pixels.skip(kRing), weights.skip(kRing);
  };
  int left = steps;
  if constexpr (kTable) {
    GPU_ROLLED for (;;) {
      const int end = left > most ? left - most : 0;
      GPU_ROLLED for (; left > end; left -= kRing) ring(left);
      if (left <= 0) break;
      most = (PixelTile::is_large(p) ? 1 : kRings) * kRing;
      pixels.template fill<kRing>(p, table, kAhead, most);
    }
  } else {
    GPU_ROLLED for (; left > 0; left -= kRing) ring(left);
  }
  wait_for_copies<0>();
  __syncthreads();
  Sum* rows = reinterpret_cast<Sum*>(shared);
  // Not kept over the loop, where a large tile has no register to spare.
  if (kTile.is_large()) place = Place::of(p, int(thread_again()), int(block_again()));
  INGOT_UNROLL for (int j = 0; j < kJ; j++) INGOT_UNROLL for (int h = 0; h < 2; h++) *
      reinterpret_cast<FourOf<Sum>*>(rows + (place.warp_m + j * 8 + 2 * place.t + h) * kPitch +
                                     place.warp_o + 4 * place.g) = {
      {sums[0][j][h], sums[0][j][2 + h], sums[1][j][h], sums[1][j][2 + h]}};
  const int32_t* of_pixels = numbers.share(p, reinterpret_cast<int32_t*>(rows + kM * kPitch),
                                           place.warp_m, place.warp_o == 0);
  __syncthreads();
  // visit(row of the tile, output of the tile) for each four of sums
  const auto each = [&](auto visit) {
    GPU_UNROLL_BY(1)
    for (int i = int(threadIdx.x); i < kM * kO / 4; i += kThreads) {
      const int r = i / (kO / 4), o = i % (kO / 4) * 4;
      if (place.first_m + r < p.m && place.first_o + o < p.o) visit(r, o);
    }
  };
  const auto four_of = [&](int r, int o) {
    const FourOf<Sum> four = *reinterpret_cast<const FourOf<Sum>*>(rows + r * kPitch + o);
    const bool turned = kPlain && (o & 4);  // odd g
    return turned ? FourOf<Sum>{{four.x[2], four.x[3], four.x[0], four.x[1]}} : four;
  };
  constexpr bool kHasParts = kIsFloat<Sum>;  // k is cut into parts
  if constexpr (kHasParts) {
    if (p.partial) {
      each([&](int r, int o) {
        *partial_of(p, batch, int(blockIdx.y), int64_t(place.first_m) + r, place.first_o + o) =
            four_of(r, o);
      });
      if (!adds_parts(p, shared)) return;
    }
  }
  each([&](int r, int o) {
    const int64_t m = int64_t(place.first_m) + r;
    FourOf<Sum> four;
    if constexpr (kHasParts) {
      four = p.partial ? add_parts_of(p, batch, m, place.first_o + o) : four_of(r, o);
    } else {
      four = four_of(r, o);
    }
    store_sums(p, batch, m, place.first_o + o, four.x, of_pixels + r);
  });
}

}  // namespace ingot::cuda
