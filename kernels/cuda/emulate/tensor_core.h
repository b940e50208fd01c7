// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/emulate/tensor_core.h - tensor cores, matrix loads and wide loads of shared memory,
// on a CPU. One geometry serves every product, counted in 32-bit words, with g = lane / 4 and t =
// lane % 4:
//
//   A  register r: row g + 8 (r & 1), word t + 4 (r >> 1)
//   B  register r: column g, word t + 4 r
//   D  register r: row g + 8 (r >> 1), column 2 t + (r & 1)
//
// The sum goes over k ascending in f32 (or int32). A tensor core sums in an order of its own, so
// real numbers agree within a tolerance.
#pragma once
#include <type_traits>

#include "kernels/cpu/simd/half.inl"
#include "kernels/cuda/emulate/emulator.h"

namespace ingot::cuda::emulate {

struct F16Words {
  using Sum = float;
  using Factor = float;
  static constexpr int kPerWord = 2;
  static void unpack(uint32_t w, Sum* to) {
    to[0] = cpu::f16_to_f32(uint16_t(w)), to[1] = cpu::f16_to_f32(uint16_t(w >> 16));
  }
};
struct Bf16Words {
  using Sum = float;
  using Factor = float;
  static constexpr int kPerWord = 2;
  static void unpack(uint32_t w, Sum* to) {
    to[0] = cpu::bf16_to_f32(uint16_t(w)), to[1] = cpu::bf16_to_f32(uint16_t(w >> 16));
  }
};
struct Tf32Words {  // the low 13 bits do not count
  using Sum = float;
  using Factor = float;
  static constexpr int kPerWord = 1;
  static void unpack(uint32_t w, Sum* to) { *to = cpu::bits_float(w & ~0x1fffu); }
};
struct S8Words {
  using Sum = int;
  using Factor = int16_t;  // processors have sums of two products of such
  static constexpr int kPerWord = 4;
  static void unpack(uint32_t w, Factor* to) {
    for (int i = 0; i < 4; i++) to[i] = int8_t(w >> 8 * i);
  }
};
struct U8Words {
  static void unpack(uint32_t w, int16_t* to) {
    for (int i = 0; i < 4; i++) to[i] = uint8_t(w >> 8 * i);
  }
};

/// d += a b: 16 rows, 8 columns, 2 * kB words of k; a has 2 kB registers, b has kB.
template <class Words, int kB, class WordsOfB = Words>
void tensor_product(typename Words::Sum (&d)[4], const uint32_t (&a)[2 * kB],
                    const uint32_t (&b)[kB]) {
  using Sum = typename Words::Sum;
  using Factor = typename Words::Factor;
  struct Registers {
    Sum* d;
    const uint32_t *a, *b;
  } mine{d, a, b};
  need_whole_warp("a tensor product in a partial warp");
  meet(
      "mma", ~0u, &mine,
      [](void* const* all, uint32_t, void*) {
        constexpr int E = Words::kPerWord, K = 4 * kB * E;
        constexpr bool kIsExact = std::is_same_v<Sum, int>;
        // Columns of B lie together where the order of a sum is free: a loop over k is one of
        // vectors, and one over columns elsewhere.
        Factor A[16][K], B[kIsExact ? 8 : K][kIsExact ? K : 8];
        Sum D[16][8];
        const auto lane = [all](int i) -> Registers& { return *static_cast<Registers*>(all[i]); };
        for (int i = 0; i < 32; i++) {
          const int g = i / 4, t = i % 4;
          for (int r = 0; r < 2 * kB; r++)
            Words::unpack(lane(i).a[r], &A[g + 8 * (r & 1)][(t + 4 * (r >> 1)) * E]);
          for (int r = 0; r < kB; r++) {
            Factor column[E];
            WordsOfB::unpack(lane(i).b[r], column);
            for (int e = 0; e < E; e++) {
              const int k = (t + 4 * r) * E + e;
              B[kIsExact ? g : k][kIsExact ? k : g] = column[e];
            }
          }
          for (int r = 0; r < 4; r++) D[g + 8 * (r >> 1)][2 * t + (r & 1)] = lane(i).d[r];
        }
        for (int m = 0; m < 16; m++)
          if constexpr (kIsExact)
            for (int n = 0; n < 8; n++)
              for (int k = 0; k < K; k++) D[m][n] += A[m][k] * B[n][k];
          else
            for (int k = 0; k < K; k++)
              for (int n = 0; n < 8; n++) D[m][n] += A[m][k] * B[k][n];
        for (int i = 0; i < 32; i++)
          for (int r = 0; r < 4; r++) lane(i).d[r] = D[i / 4 + 8 * (r >> 1)][2 * (i % 4) + (r & 1)];
        counts.tensor_products++;
      },
      nullptr);
}

/// N matrices of 8x8 elements of 16 bits; lane 8 m + r passes the address of row r of matrix m.
template <bool kTransposed, int N>
void load_matrices(uint32_t (&to)[N], const void* row) {
  struct Registers {
    uint32_t* to;
    const unsigned char* row;
  } mine{to, static_cast<const unsigned char*>(row)};
  need_whole_warp("a matrix load in a partial warp");
  meet(
      kTransposed ? "ldmatrix.trans" : "ldmatrix", ~0u, &mine,
      [](void* const* all, uint32_t, void*) {
        const auto lane = [all](int i) -> Registers& { return *static_cast<Registers*>(all[i]); };
        for (int m = 0; m < N; m++) {
          const void* rows[8];
          for (int i = 0; i < 8; i++) {
            rows[i] = lane(m * 8 + i).row;
            if (reinterpret_cast<uintptr_t>(rows[i]) % 16)
              fail("a matrix load from a row that is not 16-byte aligned");
          }
          count_conflicts(rows, 8, 16);
          counts.matrix_loads++;
          for (int i = 0; i < 32; i++) {
            uint16_t pair[2];
            for (int j = 0; j < 2; j++) {
              const int r = kTransposed ? 2 * (i % 4) + j : i / 4,
                        c = kTransposed ? i / 4 : 2 * (i % 4) + j;
              std::memcpy(&pair[j], static_cast<const unsigned char*>(rows[r]) + 2 * c, 2);
            }
            lane(i).to[m] = pair[0] | uint32_t(pair[1]) << 16;
          }
        }
      },
      nullptr);
}

/// N neighbouring words of shared memory a lane, all lanes of the warp together.
template <int N>
void load_shared(uint32_t (&to)[N], const void* from) {
  if (reinterpret_cast<uintptr_t>(from) % (4 * N))
    fail("a wide load of shared memory that is not aligned");
  struct Registers {
    uint32_t* to;
    const void* from;
  } mine{to, from};
  meet(
      "ld.shared", ~0u, &mine,
      [](void* const* all, uint32_t live, void*) {
        const void* addresses[32];
        int n = 0;
        for (int i = 0; i < 32; i++) {
          if (!(live >> i & 1)) continue;
          const Registers& own = *static_cast<Registers*>(all[i]);
          addresses[n++] = own.from;
          std::memcpy(own.to, own.from, 4 * N);
        }
        count_conflicts(addresses, n, 4 * N);
      },
      nullptr);
}

}  // namespace ingot::cuda::emulate
