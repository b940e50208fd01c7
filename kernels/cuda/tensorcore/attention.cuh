// kernels/cuda/tensorcore/attention.cuh - attention on tensor cores; contract:
// runtime/op/attention.h, but for the order of sums and the precision of products. Scores never
// leave registers.
//   block   64 queries of one head of keys, 16 a warp; keys go by 64 (heads up to 64 wide) or 32
//           (up to 128)
//   scores  queries are the rows of a fragment (A, in registers throughout), keys its columns (B)
//   values  what a lane has of the scores of 16 keys is just what it multiplies as A: weights need
//           no exchange
//   copies  values come while scores are made, the next keys while values are added up; two
//           barriers a tile of keys
// Maxima and sums are f32, keys go in their order: the same bits in every run.
#pragma once
#include "kernels/cuda/attention/tile.cuh"
#include "kernels/cuda/device/approximate.cuh"
#include "kernels/cuda/tensorcore/finish.cuh"
#include "kernels/cuda/tensorcore/product.cuh"

namespace ingot::cuda {

/// Keys or values: rows of kDim words. Piece c (16 bytes) of row r lies at c ^ f(r): a lane (g, t)
/// reads piece 4 i + t of row g as a key and piece g of rows 2 t and 2 t + 1 as a value, and eight
/// lanes of either find eight different places.
template <int kDim>
GPU_FN char* token_piece(char* tile, int row, int piece) {
  return tile + row * kDim * 4 + ((piece ^ (row & 6) ^ (row & 1) << 2) << 4);
}

/// Loads a tile of 4096 words after the other.
template <int kDim>
struct Tokens {
  static constexpr int kPieces = kDim / 4, kApart = 128 / kPieces, kTokens = 4096 / kDim;
  const float* from;
  int64_t apart;
  int left;  // tokens from this thread's on
  GPU_FN Tokens make(const AttentionOperand& o, const AttentionTile& tile, int width) {
    const int piece = int(threadIdx.x) % kPieces, row = int(threadIdx.x) / kPieces;
    return {o.data + place_of(o, tile.b, tile.kv_head, row) + piece * 4, o.token * kApart,
            piece * 4 < width ? int(tile.limit) - row : 0};
  }
  GPU_MEMBER void load(char* tile) {
    const float* at = from;
    GPU_UNROLL_BY(2)
    for (int i = 0; i < kTokens / kApart; i++, at += apart) {
      const bool valid = i * kApart < left;
      copy_async16(token_piece<kDim>(tile, int(threadIdx.x) / kPieces + i * kApart,
                                     int(threadIdx.x) % kPieces),
                   valid ? at : from, valid);
    }
    if (left > kTokens) from = at;
    left -= kTokens;
  }
};

/// Where the mask of a lane's two rows begins, and how many keys from there on they see.
struct SeenKeys {
  int64_t mask[2];
  int count[2];
};
/// Four scores as the softmax takes them: of two neighbouring keys, for both rows. One copy for all
/// kernels.
GPU_CALLED Four finish_scores(const void* mask, bool is_bool, float hidden, float softcap,
                              SeenKeys seen, Four s) {
  constexpr float kNotSeen = -__builtin_inff();
  INGOT_UNROLL for (int e = 0; e < 4; e++) {
    const int key = e % 2;
    const int64_t at = seen.mask[e / 2] + key;
    float x = s.x[e];
    if (softcap > 0) x = softcap * quick_tanh(x * quick_reciprocal(softcap));
    if (key >= seen.count[e / 2]) {
      x = kNotSeen;
    } else if (mask) {
      const float m = !is_bool                                ? static_cast<const float*>(mask)[at]
                      : static_cast<const uint8_t*>(mask)[at] ? 0.0f
                                                              : hidden;
      x = m == hidden ? m : x + m;
    }
    s.x[e] = x;
  }
  return s;
}

/// What a lane carries from keys to keys, of its rows g and g + 8: outputs 32 b + 4 c + j are
/// column c of o[b][j].
template <int kDim>
struct AttentionSums {
  float o[kDim / 32][4][4] = {}, top[2] = {-3.40282347e38f, -3.40282347e38f}, total[2] = {};

  /// Scores become weights.
  template <int kN>
  GPU_MEMBER void add(float (&s)[kN][4]) {
    INGOT_UNROLL for (int h = 0; h < 2; h++) {
      float now = top[h];
      INGOT_UNROLL for (int n = 0; n < kN; n++) INGOT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++)
          now = s[n][e] > now ? s[n][e] : now;
      INGOT_UNROLL for (int apart = 1; apart < 4; apart *= 2) {
        const float other = __shfl_xor_sync(~0u, now, apart);
        now = other > now ? other : now;
      }
      const float correction = quick_exp2((top[h] - now) * kLog2E);
      top[h] = now, total[h] *= correction;
      INGOT_UNROLL for (int n = 0; n < kN; n++) INGOT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++)
          total[h] += s[n][e] = quick_exp2((s[n][e] - now) * kLog2E);
      INGOT_UNROLL for (int b = 0; b < kDim / 32; b++) INGOT_UNROLL for (int j = 0; j < 4; j++)
          INGOT_UNROLL for (int e = 2 * h; e < 2 * h + 2; e++) o[b][j][e] *= correction;
    }
  }
};

// Called: much code for what happens once in a tile.
GPU_CALLED bool make_attention_tile(const AttentionParams& p, uint32_t at, AttentionTile* tile) {
  return make_tile<uint32_t, kTensorQueries, kTensorQueries>(p, at, tile);
}
GPU_CALLED AttentionRow make_attention_row(const AttentionParams& p, const AttentionTile& tile,
                                           int row) {
  return make_row<uint32_t>(p, tile, row);
}

template <class Type, int kDim>
GPU_FN void attention_on_tensor_cores(const AttentionParams& p) {
  using Part = Fragments<Type>;
  constexpr int kKeys = 4096 / kDim, kN = kKeys / 8, kSteps = kDim / 16, kRow = kDim * 4;
  char *keys = gpu_shared<char>(), *values = keys + kKeys * kDim * 4;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, g = lane / 4, t = lane % 4;
  for (uint32_t at = blockIdx.x; at < uint32_t(p.tiles); at += gridDim.x) {
    AttentionTile tile;
    if (!make_attention_tile(p, at, &tile)) {
      if (threadIdx.x == 0) *p.fault = p.fault_value;
      continue;
    }
    int64_t y_at[2], mask_at[2];
    int visible[2];
    uint32_t q[kSteps][Part::kCount][4];
    {
      const float* from[2] = {};
      INGOT_UNROLL for (int h = 0; h < 2; h++) {
        const int r = warp * 16 + 8 * h + g;
        const bool exists = r < tile.rows;
        const AttentionRow row = make_attention_row(p, tile, exists ? r : 0);
        if (exists) from[h] = p.q.data + row.q + t * 4;
        y_at[h] = exists ? row.y : -1, mask_at[h] = row.mask,
        visible[h] = exists ? int(row.visible) : 0;
      }
      INGOT_UNROLL for (int i = 0; i < kSteps; i++) {
        uint32_t words[4][4];
        INGOT_UNROLL for (int h = 0; h < 2; h++) {
          Four x = {};
          if (from[h] && i * 16 + t * 4 < p.dim)
            x = *reinterpret_cast<const Four*>(from[h] + i * 16);
          INGOT_UNROLL for (int w = 0; w < 4; w++) words[w][h] = word_of(x.x[w] * p.scale);
        }
        INGOT_UNROLL for (int part = 0; part < Part::kCount; part++)
            Part::of_weights(words, 0, part, q[i][part]);
      }
    }
    Tokens<kDim> next_keys = Tokens<kDim>::make(p.k, tile, p.dim),
                 next_values = Tokens<kDim>::make(p.v, tile, p.value_dim);
    // What a lane reads is a few places and constants beyond them.
    char* const my_keys[2] = {token_piece<kDim>(keys, g, t), token_piece<kDim>(keys, g, 4 + t)};
    char* const my_values[2] = {token_piece<kDim>(values, 2 * t, g),
                                token_piece<kDim>(values, 2 * t + 1, g)};
    AttentionSums<kDim> sums;
    const int limit = int(tile.limit);
    if (limit > 0) next_keys.load(keys);
    commit_copies();
    for (int first = 0; first < limit; first += kKeys) {
      wait_for_copies<0>();
      __syncthreads();
      next_values.load(values);
      commit_copies();
      float s[kN][4] = {};
      INGOT_UNROLL for (int i = 0; i < kSteps; i++) {
        if (i * 16 >= p.dim) break;
        INGOT_UNROLL for (int n = 0; n < kN; n++) {
          uint32_t words[4], b[2];
          load_shared(words, my_keys[i % 2] + n * 8 * kRow + i / 2 * 128);
          INGOT_UNROLL for (int part = 0; part < Part::kCount; part++) {
            Part::of_pixels(words, part, b);
            multiply_add(Type{}, s[n], q[i][part], b);
          }
        }
      }
      if (p.mask || p.softcap > 0) {
        INGOT_UNROLL for (int n = 0; n < kN; n++) {
          const int key = first + n * 8 + 2 * t;
          const Four x = finish_scores(
              p.mask, p.mask_is_bool, p.hidden, p.softcap,
              {{mask_at[0] + key, mask_at[1] + key}, {visible[0] - key, visible[1] - key}},
              {{s[n][0], s[n][1], s[n][2], s[n][3]}});
          INGOT_UNROLL for (int e = 0; e < 4; e++) s[n][e] = x.x[e];
        }
      } else if (first + kKeys > visible[0] || first + kKeys > visible[1]) {
        INGOT_UNROLL for (int n = 0; n < kN; n++)
            INGOT_UNROLL for (int e = 0; e < 4;
                              e++) if (first + n * 8 + 2 * t + e % 2 >= visible[e / 2]) s[n][e] =
                -__builtin_inff();
      }
      sums.add(s);
      wait_for_copies<0>();
      __syncthreads();
      if (first + kKeys < limit) next_keys.load(keys);
      commit_copies();
      INGOT_UNROLL for (int i = 0; i < kKeys / 16; i++) {
        uint32_t a[Part::kCount][4], weights[4][4];
        INGOT_UNROLL for (int w = 0; w < 4; w++) INGOT_UNROLL for (int h = 0; h < 2; h++)
            weights[w][h] = word_of(s[2 * i + w / 2][2 * h + w % 2]);
        INGOT_UNROLL for (int part = 0; part < Part::kCount; part++)
            Part::of_weights(weights, 0, part, a[part]);
        INGOT_UNROLL for (int b = 0; b < kDim / 32; b++) {
          if (b * 32 >= p.value_dim) break;
          uint32_t rows[4][4];
          INGOT_UNROLL for (int w = 0; w < 4; w++)
              load_shared(rows[w], my_values[w % 2] + (i * 16 + w / 2 * 8) * kRow + b * 128);
          INGOT_UNROLL for (int j = 0; j < 4; j++) {
            const uint32_t words[4] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j]};
            INGOT_UNROLL for (int part = 0; part < Part::kCount; part++) {
              uint32_t fragment[2];
              Part::of_pixels(words, part, fragment);
              multiply_add(Type{}, sums.o[b][j], a[part], fragment);
            }
          }
        }
      }
    }
    INGOT_UNROLL for (int h = 0; h < 2; h++) {
      float total = sums.total[h];
      INGOT_UNROLL for (int apart = 1; apart < 4; apart *= 2) total +=
          __shfl_xor_sync(~0u, total, apart);
      const bool nothing = total == 0;
      const float factor = quick_reciprocal(total);
      INGOT_UNROLL for (int b = 0; b < kDim / 32; b++) INGOT_UNROLL for (int e = 0; e < 2; e++) {
        const int d = b * 32 + 8 * t + 4 * e;
        Four y;
        INGOT_UNROLL for (int j = 0; j < 4; j++) y.x[j] =
            nothing ? p.empty : sums.o[b][j][2 * h + e] * factor;
        if (y_at[h] >= 0 && d < p.value_dim) *reinterpret_cast<Four*>(p.y.data + y_at[h] + d) = y;
      }
    }
  }
}

}  // namespace ingot::cuda
