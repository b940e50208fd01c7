// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/attention_halves.cuh - attention whose q, k and v are f16 in memory: keys
// and values are copied to where fragments are loaded from, and nothing is rounded but the scaled
// queries. The bits are those of F16Tokens for the same numbers.
#pragma once
#include "kernels/cuda/tensorcore/attention_tokens.cuh"

namespace ingot::cuda {

/// Two tiles of keys and two of values: the next of each is under way while one is used. What a
/// copy overwrites was read before the barrier in front of it.
template <int kDim>
struct HalfTokens : F16Products<kDim> {
  using Base = F16Products<kDim>;
  using Number = uint16_t;
  using Copies = TokenCopies<kDim, uint16_t>;
  static constexpr int kTile = Base::kTile, kShared = 4 * kTile;

  struct Queries : Base::Words {
    GPU_MEMBER void load(const uint16_t* const (&from)[2], int dim, float scale) {
      const int t = int(threadIdx.x) % 4;
      INGOT_UNROLL for (int i = 0; i < kDim / 16; i++) INGOT_UNROLL for (int r = 0; r < 4; r++) {
        const int column = i * 16 + r / 2 * 8 + t * 2;
        const uint16_t* const row = from[r % 2];
        uint32_t word = 0;
        if (row && column < dim) {
          const uint32_t two = *reinterpret_cast<const uint32_t*>(row + column);
          word = pack(F16{}, unpack(F16{}, two, 0) * scale, unpack(F16{}, two, 1) * scale);
        }
        this->words[i][r] = word;
      }
    }
  };

  Copies next_keys, next_values;
  char *shared, *own;  // own: where this thread's pieces go
  int now;             // where in its two tiles what is used begins

  GPU_FN HalfTokens make(const AttentionParams& p, const AttentionTile& tile, int first, int end) {
    constexpr int n = Copies::kOfPiece;
    char* const shared = gpu_shared<char>();
    return {{},
            Copies::make(p.k, tile, p.dim, first, end),
            Copies::make(p.v, tile, p.value_dim, first, end),
            shared,
            shared + Base::offset(int(threadIdx.x) / n, int(threadIdx.x) % n),
            kTile};
  }
  /// Eight threads have eight neighbouring pieces of a row, which are eight places in any row.
  GPU_FN void copy(Copies* next, char* to) {
    next->load([to](int i, int j) { return to + i * Copies::kApart * kDim * 2 + j * 128; });
    commit_copies();
  }
  GPU_MEMBER void begin() {
    __syncthreads();  // a block's last tile may be in use
    copy(&next_keys, own), copy(&next_values, own + 2 * kTile);
  }
  GPU_MEMBER void before_scores() {
    wait_for_copies<1>();
    __syncthreads();
    copy(&next_keys, own + now);
    now ^= kTile;
  }
  GPU_MEMBER void before_values() {
    wait_for_copies<1>();
    __syncthreads();
    copy(&next_values, own + 2 * kTile + (now ^ kTile));
  }

  GPU_MEMBER void add_scores(const Queries& q, int dim, float (&s)[Base::kN][4]) const {
    Base::add_scores(shared + now, q, dim, s);
  }
  GPU_MEMBER void add_values(const uint32_t (&a)[Base::kTokens / 16][1][4], int dim,
                             float (&o)[kDim / 8][4]) const {
    Base::add_values(shared + 2 * kTile + now, a, dim, o);
  }
};

}  // namespace ingot::cuda
