// SPDX-License-Identifier: Apache-2.0
// Tensor cores and asynchronous copies in the emulator: layouts of fragments as the PTX ISA states
// them, element by element; and mistakes planted in a small kernel, each of which the emulator must
// find.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/cuda/device/async_copy.cuh"
#include "kernels/cuda/device/tensor_core.cuh"
#include "tests/cuda/emulated.h"
#include "tests/cuda/fragment_layouts.h"

using namespace ingot;
using namespace ingot::cuda;
using namespace ingot::test;

namespace {

uint32_t encode(F16, double x) { return cpu::f32_to_f16(float(x)); }
uint32_t encode(Bf16, double x) { return cpu::f32_to_bf16(float(x)); }
// the low bits must not count
uint32_t encode(Tf32, double x) { return word_of(float(x)) | 0x1234; }
uint32_t encode(S8U8, double x) { return uint32_t(int(x)) & 255; }
/// Numbers of B that are not of A: bytes without a sign.
template <class Type>
constexpr double kLeastOfB = -5;
template <>
constexpr double kLeastOfB<S8U8> = 245;

/// d += a b by the layout's words against d += a b by loops; small whole numbers, so that both are
/// exact.
template <class Type, int kB, class Multiply>
void check_layout(const Layout& layout, Multiply multiply) {
  CAPTURE(layout.name);
  const int k = layout.k, per_word = k / (4 * kB), bits = 32 / per_word;
  std::vector<double> a(size_t(16 * k)), b(size_t(k * 8)), d(16 * 8);
  for (size_t i = 0; i < a.size(); i++) a[i] = double(int(i * 7 % 13) - 6);
  for (size_t i = 0; i < b.size(); i++) b[i] = double(i * 5 % 11) + kLeastOfB<Type>;
  for (size_t i = 0; i < d.size(); i++) d[i] = double(i);
  for (uint32_t order : {0u, 1u, 9u}) {
    emulate::set_order(order);
    std::vector<double> got(16 * 8, -1);
    launch(1, 32, 0, [&] {
      const int lane = int(threadIdx.x);
      uint32_t ra[2 * kB] = {}, rb[kB] = {};
      typename Type::Sum rd[4];
      for (int i = 0; i < 2 * kB * per_word; i++) {
        const Place at = layout.a(lane, i);
        ra[i / per_word] |= encode(Type{}, a[size_t(at.row * k + at.column)])
                            << i % per_word * bits;
      }
      for (int i = 0; i < kB * per_word; i++) {
        const Place at = layout.b(lane, i);
        rb[i / per_word] |= encode(Type{}, b[size_t(at.row * 8 + at.column)])
                            << i % per_word * bits;
      }
      for (int i = 0; i < 4; i++)
        rd[i] = typename Type::Sum(d[size_t(place_d(lane, i).row * 8 + place_d(lane, i).column)]);
      multiply(rd, ra, rb);
      for (int i = 0; i < 4; i++)
        got[size_t(place_d(lane, i).row * 8 + place_d(lane, i).column)] = double(rd[i]);
    });
    emulate::set_order(0);
    for (int m = 0; m < 16; m++)
      for (int n = 0; n < 8; n++) {
        double want = d[size_t(m * 8 + n)];
        for (int i = 0; i < k; i++) want += a[size_t(m * k + i)] * b[size_t(i * 8 + n)];
        REQUIRE(got[size_t(m * 8 + n)] == want);
      }
  }
}

/// A product of 32 x 32 by 32 x 8 numbers, k-tiles of 8 words through two stages of shared memory;
/// with one mistake.
enum class Bug {
  kNone,
  kWaitTooFew,
  kNoBarrier,
  kRefillsStageInUse,
  kSwappedFragment,
  kLeftInFlight,
  kDivergentBarrier,
  kMisaligned,
  kOtherOperation
};
struct SmallProduct {
  const uint32_t *a, *b;  // [32][64], [8][64] words of tf32
  float* d;               // [32][8]
  Bug bug;
};
void small_product(const SmallProduct& p) {
  constexpr int kTile = 8, kTiles = 8, kStageWords = (32 + 8) * kTile;
  uint32_t* shared = gpu_shared<uint32_t>();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const auto fill = [&](int tile) {
    uint32_t* stage =
        shared + (p.bug == Bug::kRefillsStageInUse ? (tile + 1) % 2 : tile % 2) * kStageWords;
    // Each warp copies what the other reads.
    for (int i = int(threadIdx.x ^ 32); i < 40 * kTile / 4; i += 64) {
      const int row = i / 2, word = i % 2 * 4;
      const uint32_t* from =
          (row < 32 ? p.a + row * 64 : p.b + (row - 32) * 64) + tile * kTile + word;
      copy_async16(stage + row * kTile + word + (p.bug == Bug::kMisaligned), from, true);
    }
    commit_copies();
  };
  float sum[4] = {};
  fill(0);
  for (int tile = 0; tile < kTiles; tile++) {
    if (p.bug == Bug::kWaitTooFew)
      wait_for_copies<1>();
    else
      wait_for_copies<0>();
    if (p.bug == Bug::kDivergentBarrier && threadIdx.x == 5) return;
    if (p.bug != Bug::kNoBarrier) __syncthreads();
    if (tile + 1 < kTiles) fill(tile + 1);
    const uint32_t* stage = shared + tile % 2 * kStageWords;
    const int g = lane / 4, t = lane % 4, row = warp * 16 + g;
    uint32_t a[4], b[2];
    for (int r = 0; r < 4; r++) a[r] = stage[(row + 8 * (r & 1)) * kTile + t + 4 * (r >> 1)];
    for (int r = 0; r < 2; r++) b[r] = stage[(32 + g) * kTile + t + 4 * r];
    if (p.bug == Bug::kSwappedFragment) {
      const uint32_t kept = b[0];
      b[0] = b[1], b[1] = kept;
    }
    if (p.bug == Bug::kOtherOperation && lane % 2)
      __syncwarp();
    else
      multiply_add(Tf32{}, sum, a, b);
  }
  wait_for_copies<0>();
  if (p.bug == Bug::kLeftInFlight) fill(0);
  for (int i = 0; i < 4; i++)
    p.d[(warp * 16 + lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

/// Whether the kernel with that mistake gives the right product.
bool is_right(Bug bug, uint32_t order) {
  alignas(16) static uint32_t a[32 * 64], b[8 * 64];
  for (int i = 0; i < 32 * 64; i++) a[i] = word_of(float(i * 7 % 13 - 6));
  for (int i = 0; i < 8 * 64; i++) b[i] = word_of(float(i * 5 % 11 - 5));
  std::vector<float> d(32 * 8);
  emulate::set_order(order);
  launch(1, 64, 2 * 40 * 8 * 4 + 16, [&] { small_product({a, b, d.data(), bug}); });
  emulate::set_order(0);
  for (int m = 0; m < 32; m++)
    for (int n = 0; n < 8; n++) {
      float want = 0;
      for (int k = 0; k < 64; k++) want += float_of(a[m * 64 + k]) * float_of(b[n * 64 + k]);
      if (d[size_t(m * 8 + n)] != want) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("fragments: every product has the layout of the PTX ISA") {
  const auto whole = [](auto type) {
    return [type](auto& d, const auto& a, const auto& b) { multiply_add(type, d, a, b); };
  };
  check_layout<F16, 2>(kM16N8K16, whole(F16{}));
  check_layout<Bf16, 2>(kM16N8K16, whole(Bf16{}));
  check_layout<Tf32, 2>(kM16N8K8, whole(Tf32{}));
  check_layout<S8U8, 2>(kM16N8K32, whole(S8U8{}));
  check_layout<S8U8, 1>(kM16N8K16Bytes,
                        [](int(&d)[4], const uint32_t(&a)[2], const uint32_t(&b)[1]) {
                          multiply_add(S8U8{}, d, a[0], a[1], b[0]);
                        });
  check_layout<F16, 1>(kM16N8K8Half,
                       [](float(&d)[4], const uint32_t(&a)[2], const uint32_t(&b)[1]) {
                         emulate::tensor_product<emulate::F16Words, 1>(d, a, b);
                       });
}

TEST_CASE("fragments: two products of half the k are one of the whole, as sm_75 has them") {
  launch(1, 32, 0, [] {
    const uint32_t lane = threadIdx.x;
    uint32_t a[4], b[2];
    for (uint32_t r = 0; r < 4; r++)
      a[r] = pack(F16{}, float(lane + r), float(3 * r) - float(lane));
    for (uint32_t r = 0; r < 2; r++) b[r] = pack(F16{}, float(2 * r + 1), float(lane % 5));
    float whole[4] = {}, halves[4] = {};
    multiply_add(F16{}, whole, a, b);
    for (int h = 0; h < 2; h++) {
      const uint32_t part_a[2] = {a[2 * h], a[2 * h + 1]}, part_b[1] = {b[h]};
      emulate::tensor_product<emulate::F16Words, 1>(halves, part_a, part_b);
    }
    for (int i = 0; i < 4; i++)
      if (whole[i] != halves[i]) emulate::fail("halves differ");
  });
}

TEST_CASE(
    "fragments: ldmatrix has the layout of the PTX ISA, transposed and not, and its bank conflicts "
    "are counted") {
  alignas(16) uint16_t from[4][8][8];
  for (int i = 0; i < 256; i++) from[i / 64][i / 8 % 8][i % 8] = uint16_t(i);
  uint32_t straight[32][4], transposed[32][4], two[32][2];
  launch(1, 32, 4096, [&] {
    const int lane = int(threadIdx.x);
    uint16_t* shared = gpu_shared<uint16_t>();
    for (int c = 0; c < 8; c++) shared[lane * 8 + c] = from[lane / 8][lane % 8][c];
    __syncwarp();
    load_matrices<false>(straight[lane], shared + lane * 8);
    load_matrices<true>(transposed[lane], shared + lane * 8);
    load_matrices<false>(two[lane], shared + lane % 16 * 8);
  });
  for (int lane = 0; lane < 32; lane++)
    for (int m = 0; m < 4;
         // a lane gets row lane / 4, columns 2 (lane % 4) and the next; or, transposed, column and
         // rows
         m++) {
      const int r = lane / 4, c = lane % 4 * 2;
      CHECK(straight[lane][m] == (from[m][r][c] | uint32_t(from[m][r][c + 1]) << 16));
      CHECK(transposed[lane][m] == (from[m][c][r] | uint32_t(from[m][c + 1][r]) << 16));
      if (m < 2) CHECK(two[lane][m] == straight[lane][m]);
    }
  for (const int pitch :
       // bytes between rows: 8 rows of 16 bytes fill the banks once, twice, eight times
       {16, 32, 128}) {
    emulate::counts = {};
    launch(1, 32, 8192, [&] {
      uint32_t to[4];
      load_matrices<false>(to, gpu_shared<char>() + int(threadIdx.x) * pitch);
    });
    CHECK(emulate::counts.bank_conflicts == uint64_t(pitch == 16 ? 0 : pitch == 32 ? 4 : 28));
  }
}

TEST_CASE("fragments: numbers to f16, bf16 and tf32") {
  CHECK(pack(F16{}, 1.0f, -2.0f) == 0xc0003c00);
  CHECK(pack(F16{}, 2049.0f, 2051.0f) == 0x68026800);  // ties to even
  CHECK(pack(Bf16{}, 1.0f, -2.0f) == 0xc0003f80);
  // To the nearest number of 13 bits or the one next to it: 0.36 to 0.72 of a unit is added, and a
  // product drops what lies below. A unit at 1 is 2^-10.
  const auto in_tf32 = [](float x) { return float_of(near_tf32(x) & ~0x1fffu); };
  CHECK(in_tf32(1.0f + 1.0f / 4096) == 1.0f);
  CHECK(in_tf32(1.0f + 3.0f / 4096) == 1.0f + 1.0f / 1024);
  CHECK(in_tf32(-1.0f - 3.0f / 4096) == -1.0f - 1.0f / 1024);
  for (const float x : {0.0f, -0.0f, 1.0f, 1.0f + 1.0f / 1024, -0x1.ffcp+127f, 0x1p-126f})
    CHECK(word_of(in_tf32(x)) == word_of(x));  // numbers of tf32 stay themselves
  CHECK(in_tf32(-__builtin_inff()) == -__builtin_inff());
  for (const uint32_t nan : {0x7fc00000u, 0xffc01234u})
    CHECK(in_tf32(float_of(nan)) != in_tf32(float_of(nan)));
}

TEST_CASE("emulator: mistakes of pipelines give wrong numbers in every order of threads") {
  for (uint32_t order : {0u, 1u, 2u, 3u, 4u}) {
    CAPTURE(order);
    CHECK(is_right(Bug::kNone, order));
    for (Bug bug :
         {Bug::kWaitTooFew, Bug::kNoBarrier, Bug::kRefillsStageInUse, Bug::kSwappedFragment}) {
      CAPTURE(int(bug));
      CHECK(!is_right(bug, order));
    }
  }
}

TEST_CASE("emulator: mistakes that a GPU would hang on, or hide, end the process") {
  CHECK(!aborts([] { is_right(Bug::kNone, 0); }));
  for (Bug bug :
       {Bug::kLeftInFlight, Bug::kDivergentBarrier, Bug::kMisaligned, Bug::kOtherOperation}) {
    CAPTURE(int(bug));
    CHECK(aborts([bug] { is_right(bug, 0); }));
  }
}
