// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/attention_tokens.cuh - keys and values from memory into shared memory,
// and out of it as fragments; one struct for each type of products, with the same members:
//   Number                        what q, k and v are in memory
//   kShared                       bytes of shared memory of a block
//   Queries::load()               fragments of 16 queries, scaled
//   begin(), before_scores(), ..  what is copied when, see AttentionBlock::take_keys()
//   add_scores(), add_values()    products of a tile of keys
//   kRun, column(), run()         which outputs a lane has
// A tile is 4096 numbers: 64 keys of heads up to 64 wide, 32 of heads up to 128. Here q, k and v
// are f32; of f16 see attention_halves.cuh.
#pragma once
#include "kernels/cuda/attention/tile.cuh"
#include "kernels/cuda/device/loops.h"
#include "kernels/cuda/tensorcore/finish.cuh"
#include "kernels/cuda/tensorcore/product.cuh"

namespace ingot::cuda {

/// Copies a tile of rows after the other. A piece is 16 bytes, n numbers (4 of f32, 8 of f16), and
/// n threads share a row: a thread has pieces t, t + n, t + 2 n .. of rows g, g + 128 / n .., where
/// n g + t is its number. What does not exist is zeros.
template <int kDim, class Number>
struct TokenCopies {
  static constexpr int kOfPiece = 16 / int(sizeof(Number)), kApart = 128 / kOfPiece;
  static constexpr int kTokens = 4096 / kDim, kRows = kTokens / kApart;
  static constexpr int kPieces = kDim / kOfPiece / kOfPiece;  // of a row, of a thread
  const char* from;
  int64_t apart;     // bytes between rows of a thread
  int left, pieces;  // tokens from this thread's first on; pieces of a row that exist
  GPU_FN TokenCopies make(const AttentionOperand& o, const AttentionTile& tile, int width,
                          int first, int end) {
    const int row = first + int(threadIdx.x) / kOfPiece, piece = int(threadIdx.x) % kOfPiece;
    const Number* const numbers =
        reinterpret_cast<const Number*>(o.data) + place_of(o, tile.b, tile.kv_head, row);
    return {reinterpret_cast<const char*>(numbers) + piece * 16,
            o.token * (kApart * int(sizeof(Number))), end - row,
            (width / kOfPiece - piece + kOfPiece - 1) / kOfPiece};
  }
  /// `to(row, piece)`: where they go.
  template <class Place>
  GPU_MEMBER void load(Place to) {
    INGOT_UNROLL for (int i = 0; i < kRows; i++) {
      const int exist = i * kApart < left ? pieces : 0;
      INGOT_UNROLL for (int j = 0; j < kPieces; j++)
          copy_async16(to(i, j), from + j * kOfPiece * 16, j < exist);
      from += apart;
    }
    left -= kTokens;
  }
};

/// Products in f16 of tiles in shared memory. Rows of kDim f16, whose 16-byte pieces are swizzled
/// so that eight rows of a column are eight places, and four rows of two columns too.
template <int kDim>
struct F16Products {
  using Type = F16;
  static constexpr int kTokens = 4096 / kDim, kN = kTokens / 8, kParts = 1;
  static constexpr int kTile = kTokens * kDim * 2;
  static constexpr uint32_t kOne = 0x3c003c00;  // two f16
  GPU_FN int offset(int row, int column) {
    return row * kDim * 2 + ((column ^ ((row & 3) << 1 | (row >> 2 & 1))) << 4);
  }

  struct Words {
    uint32_t words[kDim / 16][4];
  };
  GPU_FN void add_scores(const char* keys, const Words& q, int dim, float (&s)[kN][4]) {
    const int lane = int(threadIdx.x) % 32;
    INGOT_UNROLL for (int i = 0; i < kDim / 32; i++) {
      if (i > 0 && i * 32 >= dim) break;
      const char* const from = keys + offset(lane % 8, i * 4 + lane / 8);
      INGOT_UNROLL for (int n = 0; n < kN; n++) {
        uint32_t words[4];
        load_matrices<false>(words, from + n * 8 * kDim * 2);
        INGOT_UNROLL for (int half = 0; half < 2; half++) {
          const uint32_t b[2] = {words[2 * half], words[2 * half + 1]};
          multiply_add(F16{}, s[n], q.words[2 * i + half], b);
        }
      }
    }
  }
  /// Weights of 16 keys as a lane multiplies them.
  GPU_FN void pack_weights(const float (&s)[kN][4], int i, uint32_t (&a)[1][4]) {
    INGOT_UNROLL for (int r = 0; r < 4; r++) a[0][r] =
        pack(F16{}, s[2 * i + r / 2][r % 2 * 2], s[2 * i + r / 2][r % 2 * 2 + 1]);
  }
  GPU_FN void add_values(const char* values, const uint32_t (&a)[kTokens / 16][1][4], int dim,
                         float (&o)[kDim / 8][4]) {
    const int lane = int(threadIdx.x) % 32;
    INGOT_UNROLL for (int b = 0; b < kDim / 32; b++) {
      if (b > 0 && b * 32 >= dim) break;
      INGOT_UNROLL for (int half = 0; half < 2; half++) {
        const int column = b * 4 + half * 2;
        const char* const from = values + offset(lane % 16, column + lane / 16);
        INGOT_UNROLL for (int i = 0; i < kTokens / 16; i++) {
          uint32_t words[4];
          load_matrices<true>(words, from + i * 16 * kDim * 2);
          INGOT_UNROLL for (int n = 0; n < 2; n++) {
            const uint32_t v[2] = {words[2 * n], words[2 * n + 1]};
            multiply_add(F16{}, o[column + n], a[i][0], v);
          }
        }
      }
    }
  }
  static constexpr int kRun = 2;  // neighbouring outputs of a lane
  GPU_FN int column(int i) { return i * 8 + int(threadIdx.x) % 4 * 2; }
  GPU_FN void run(const float (&o)[kDim / 8][4], int i, int h, float (&y)[kRun]) {
    y[0] = o[i][2 * h], y[1] = o[i][2 * h + 1];
  }
};

/// f16: a thread rounds what it has copied itself, so that each number is rounded once, and the
/// next tile is under way while this one is used.
template <int kDim>
struct F16Tokens : F16Products<kDim> {
  using Base = F16Products<kDim>;
  using Number = float;
  static constexpr int kTile = Base::kTile, kStaged = 2 * kTile;
  static constexpr int kShared = 2 * kTile + 2 * kStaged;

  struct Queries : Base::Words {
    GPU_MEMBER void load(const float* const (&from)[2], int dim, float scale) {
      const int t = int(threadIdx.x) % 4;
      INGOT_UNROLL for (int i = 0; i < kDim / 16; i++) INGOT_UNROLL for (int r = 0; r < 4; r++) {
        const int column = i * 16 + r / 2 * 8 + t * 2;
        const float* const row = from[r % 2];
        this->words[i][r] =
            row && column < dim ? pack(F16{}, row[column] * scale, row[column + 1] * scale) : 0;
      }
    }
  };

  struct Tile {
    using Copies = TokenCopies<kDim, float>;
    Copies next;
    char *staged, *rounded;  // of this thread
    GPU_FN Tile make(const AttentionOperand& o, const AttentionTile& tile, int width, int first,
                     int end, char* shared, char* staging) {
      const int row = int(threadIdx.x) / 4, piece = int(threadIdx.x) % 4;
      return {Copies::make(o, tile, width, first, end), staging + int(threadIdx.x) * 16,
              shared + row * kDim * 2 + piece % 2 * 8};
    }
    GPU_MEMBER void copy() {
      next.load([this](int i, int j) { return staged + (i * Copies::kPieces + j) * 2048; });
      commit_copies();
    }
    GPU_MEMBER void round() {
      struct alignas(8) Two {
        uint32_t x[2];
      };
      const int row = int(threadIdx.x) / 4, column = int(threadIdx.x) % 4 / 2;
      INGOT_UNROLL for (int i = 0; i < Copies::kRows; i++)
          INGOT_UNROLL for (int j = 0; j < Copies::kPieces; j++) {
        uint32_t x[4];
        load_shared(x, staged + (i * Copies::kPieces + j) * 2048);
        const Two two = {{pack(F16{}, float_of(x[0]), float_of(x[1])),
                          pack(F16{}, float_of(x[2]), float_of(x[3]))}};
        *reinterpret_cast<Two*>(rounded + i * 32 * kDim * 2 + Base::offset(row, column + 2 * j) -
                                row * kDim * 2) = two;
      }
    }
  };
  Tile keys, values;
  const char *own_keys, *own_values;  // where this lane's rows begin for load_matrices()

  GPU_FN F16Tokens make(const AttentionParams& p, const AttentionTile& tile, int first, int end) {
    char* const shared = gpu_shared<char>();
    return {{},
            Tile::make(p.k, tile, p.dim, first, end, shared, shared + 2 * kTile),
            Tile::make(p.v, tile, p.value_dim, first, end, shared + kTile,
                       shared + 2 * kTile + kStaged),
            shared,
            shared + kTile};
  }
  GPU_MEMBER void begin() { keys.copy(), values.copy(); }
  GPU_MEMBER void before_scores() {
    wait_for_copies<1>();
    keys.round(), keys.copy();
    __syncthreads();
  }
  GPU_MEMBER void before_values() {
    wait_for_copies<1>();
    values.round(), values.copy();
    __syncthreads();
  }

  GPU_MEMBER void add_scores(const Queries& q, int dim, float (&s)[Base::kN][4]) const {
    Base::add_scores(own_keys, q, dim, s);
  }
  GPU_MEMBER void add_values(const uint32_t (&a)[Base::kTokens / 16][1][4], int dim,
                             float (&o)[kDim / 8][4]) const {
    Base::add_values(own_values, a, dim, o);
  }
};

/// tf32: words stay as they lie in memory and are rounded on their way into registers. Values come
/// while scores are made, the next keys while values are added up.
template <int kDim>
struct Tf32Tokens {
  using Type = Tf32;
  using Number = float;
  using Part = Fragments<Tf32>;
  static constexpr int kTokens = 4096 / kDim, kN = kTokens / 8, kParts = 2, kRow = kDim * 4;
  static constexpr int kTile = kTokens * kRow, kShared = 2 * kTile;
  static constexpr uint32_t kOne = 0x3f800000;
  /// Piece c of row r lies at c ^ f(r): a lane (g, t) reads piece 4 i + t of row g as a key and
  /// piece g of rows 2 t and 2 t + 1 as a value, and eight lanes of either find eight different
  /// places.
  GPU_FN int offset(int row, int piece) {
    return row * kRow + ((piece ^ (row & 6) ^ (row & 1) << 2) << 4);
  }

  struct Queries {
    uint32_t words[kDim / 16][2][4];
    GPU_MEMBER void load(const float* const (&from)[2], int dim, float scale) {
      const int t = int(threadIdx.x) % 4;
      INGOT_UNROLL for (int i = 0; i < kDim / 16; i++) {
        uint32_t x[4][4];
        INGOT_UNROLL for (int h = 0; h < 2; h++) {
          Four four = {};
          if (from[h] && i * 16 + t * 4 < dim)
            four = *reinterpret_cast<const Four*>(from[h] + i * 16 + t * 4);
          INGOT_UNROLL for (int w = 0; w < 4; w++) x[w][h] = word_of(four.x[w] * scale);
        }
        INGOT_UNROLL for (int part = 0; part < 2; part++)
            Part::of_weights(x, 0, part, words[i][part]);
      }
    }
  };

  using Copies = TokenCopies<kDim, float>;
  Copies next_keys, next_values;
  char* shared;

  GPU_FN Tf32Tokens make(const AttentionParams& p, const AttentionTile& tile, int first, int end) {
    return {Copies::make(p.k, tile, p.dim, first, end),
            Copies::make(p.v, tile, p.value_dim, first, end), gpu_shared<char>()};
  }
  GPU_FN void copy(Copies* next, char* tile) {
    const int row = int(threadIdx.x) / 4, piece = int(threadIdx.x) % 4;
    char* const to[2] = {tile + offset(row, piece), tile + offset(row, piece + 4)};
    next->load([&to](int i, int j) { return to[j % 2] + i * 32 * kRow + j / 2 * 128; });
    commit_copies();
  }
  GPU_MEMBER void begin() { copy(&next_keys, shared); }
  GPU_MEMBER void before_scores() {
    wait_for_copies<0>();
    __syncthreads();
    copy(&next_values, shared + kTile);
  }
  GPU_MEMBER void before_values() {
    wait_for_copies<0>();
    __syncthreads();
    copy(&next_keys, shared);
  }

  GPU_MEMBER void add_scores(const Queries& q, int dim, float (&s)[kN][4]) const {
    const int g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
    const char* const own[2] = {shared + offset(g, t), shared + offset(g, 4 + t)};
    INGOT_UNROLL for (int i = 0; i < kDim / 16; i++) {
      if (i > 0 && i * 16 >= dim) break;
      INGOT_UNROLL for (int n = 0; n < kN; n++) {
        uint32_t words[4], b[2];
        load_shared(words, own[i % 2] + n * 8 * kRow + i / 2 * 128);
        INGOT_UNROLL for (int part = 0; part < 2; part++) {
          Part::of_pixels(words, part, b);
          multiply_add(Tf32{}, s[n], q.words[i][part], b);
        }
      }
    }
  }
  /// Of keys 2 t, 2 t + 1 of eight, and of the next eight.
  GPU_FN void pack_weights(const float (&s)[kN][4], int i, uint32_t (&a)[2][4]) {
    uint32_t weights[4][4];
    INGOT_UNROLL for (int w = 0; w < 4; w++) INGOT_UNROLL for (int h = 0; h < 2; h++)
        weights[w][h] = word_of(s[2 * i + w / 2][2 * h + w % 2]);
    INGOT_UNROLL for (int part = 0; part < 2; part++) Part::of_weights(weights, 0, part, a[part]);
  }
  GPU_MEMBER void add_values(const uint32_t (&a)[kTokens / 16][2][4], int dim,
                             float (&o)[kDim / 8][4]) const {
    const int g = int(threadIdx.x) % 32 / 4, t = int(threadIdx.x) % 4;
    const char* const own[2] = {shared + kTile + offset(2 * t, g),
                                shared + kTile + offset(2 * t + 1, g)};
    INGOT_UNROLL for (int b = 0; b < kDim / 32; b++) {
      if (b > 0 && b * 32 >= dim) break;
      INGOT_UNROLL for (int i = 0; i < kTokens / 16; i++) {
        uint32_t rows[4][4];
        INGOT_UNROLL for (int w = 0; w < 4; w++)
            load_shared(rows[w], own[w % 2] + (i * 16 + w / 2 * 8) * kRow + b * 128);
        INGOT_UNROLL for (int j = 0; j < 4; j++) {
          const uint32_t words[4] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j]};
          INGOT_UNROLL for (int part = 0; part < 2; part++) {
            uint32_t v[2];
            Part::of_pixels(words, part, v);
            multiply_add(Tf32{}, o[b * 4 + j], a[i][part], v);
          }
        }
      }
    }
  }
  static constexpr int kRun = 4;
  GPU_FN int column(int i) { return i / 2 * 32 + int(threadIdx.x) % 4 * 8 + i % 2 * 4; }
  GPU_FN void run(const float (&o)[kDim / 8][4], int i, int h, float (&y)[kRun]) {
    INGOT_UNROLL for (int j = 0; j < 4; j++) y[j] = o[i / 2 * 4 + j][2 * h + i % 2];
  }
};

}  // namespace ingot::cuda
