// SPDX-License-Identifier: Apache-2.0
// tests/firmware/byte_kernels.cpp - in the place of a project's kernels.cpp and main.c, on the
// emulated board: sums of products and bytes out of sums, as kernels/cpu/cortex_m makes them,
// compared with the plain templates. Numbers are drawn, the edges of what a file may hold among
// them.
#include "kernels/cpu/simd/scalar.h"
// over its V
#include "kernels/cpu/cortex_m/products.inl"

extern "C" void board_print(const char* text);

namespace ingot::cpu {
namespace {

uint32_t state = 1;
uint32_t draw() { return state ^= state << 13, state ^= state >> 17, state ^= state << 5; }
int32_t between(int32_t low, int32_t high) {
  return low + int32_t(draw() % uint32_t(high - low + 1));
}

int32_t passed, failed;
void check(const char* what, bool holds) {
  board_print(holds ? "ok   " : "FAIL ");
  board_print(what);
  board_print("\n");
  (holds ? passed : failed)++;
}

constexpr int32_t kBytes = 1024;
alignas(64) uint8_t pixels[kBytes], others[kBytes];
alignas(64) int8_t weights[4 * kBytes];

/// Of one output: the weights of four bytes lie together, 16 outputs side by side.
int32_t naive(const uint8_t* pixel, int32_t length, const int8_t* w, int32_t o, int32_t bias) {
  uint32_t sum = uint32_t(bias);
  for (int32_t k = 0; k < length; k++)
    sum += uint32_t(pixel[k] * w[k / 4 * 4 * kPanel + 4 * o + k % 4]);
  return int32_t(sum);
}

void check_sums() {
  for (uint8_t& byte : pixels) byte = uint8_t(draw() % 5 ? draw() : 255);
  for (uint8_t& byte : others) byte = uint8_t(draw());
  for (int8_t& byte : weights) byte = int8_t(draw() % 5 ? draw() : 128);
  int32_t wrong = 0, wrong_rows = 0;
  static constexpr int32_t kLengths[] = {0, 4, 8, 12, 16, 20, 36, 40, 72, 76, 128};
  for (const int32_t length : kLengths)
    for (int32_t outputs = 1; outputs <= kPanel; outputs++) {
      const Segment segments[2] = {{8, 0}, {100, length * kPanel}};
      int32_t bias[kPanel], sums[CortexM::kPixels][kPanel], row[kPanel];
      for (int32_t& b : bias) b = int32_t(draw());
      const uint8_t* from[CortexM::kPixels];
      for (int32_t p = 0; p < CortexM::kPixels; p++) from[p] = p % 2 ? others : pixels;
      for (int32_t count = 1; count <= 2; count++) {
        CortexM::Tile tile;
        tile.begin(segments, count, length, from);
        tile.sums(weights, bias, outputs, sums);
        for (int32_t p = 0; p < CortexM::kPixels; p++)
          for (int32_t o = 0; o < outputs; o++) {
            int32_t sum = naive(from[p] + 8, length, weights, o, bias[o]);
            if (count == 2) sum = naive(from[p] + 100, length, weights + length * kPanel, o, sum);
            wrong += sums[p][o] != sum;
          }
      }
      CortexM::row(pixels, length, weights, bias, outputs, row);
      for (int32_t o = 0; o < outputs; o++)
        wrong_rows += row[o] != naive(pixels, length, weights, o, bias[o]);
    }
  check("sums of pixels", wrong == 0);
  check("sums of rows", wrong_rows == 0);
}

void check_depthwise() {
  int32_t wrong = 0;
  int16_t pairs[16 * 2 * kPanel] = {};
  for (int32_t taps = 1; taps <= 25; taps++) {
    Requantization r;
    r.w_zero = between(-3, 3);
    pair_taps(weights, kPanel, taps, r, 0, pairs);
    int32_t offsets[26], bias[kPanel], sums[kPanel];
    for (int32_t& b : bias) b = int32_t(draw());
    for (int32_t k = 0; k < taps; k++) offsets[k] = 4 * between(0, 200);
    offsets[taps] = offsets[taps - 1];
    for (int32_t channels = 1; channels <= kPanel; channels++) {
      CortexM::depthwise(pixels, offsets, taps, pairs, bias, channels, sums);
      for (int32_t c = 0; c < channels; c++) {
        uint32_t sum = uint32_t(bias[c]);
        for (int32_t k = 0; k < taps; k++)
          sum += uint32_t(pixels[offsets[k] + c] * (weights[k * kPanel + c] - r.w_zero));
        wrong += sums[c] != int32_t(sum);
      }
    }
  }
  check("sums of depthwise windows", wrong == 0);
}

/// A multiplier and a shift of a channel: as converters write them, and what is odd.
void draw_channel(bool odd, int32_t* multiplier, int32_t* shift, int32_t* bias) {
  *multiplier = between(1 << 30, INT32_MAX), *shift = between(1, 31);
  *bias = between(-100000, 100000);
  if (!odd) return;
  static const int32_t kShifts[] = {0, -1, -9, -31, -40, INT32_MIN, 32, 36, 255, 256, INT32_MAX};
  *shift = kShifts[draw() % 11];
  if (draw() % 4 == 0) *multiplier = draw() % 2 ? INT32_MIN : int32_t(draw());
  if (draw() % 4 == 0) *bias = draw() % 2 ? INT32_MIN : int32_t(draw());
}

/// Which form was taken is counted, so that none is missing.
void check_steps() {
  const RequantMode modes[] = {RequantMode::kFloatEven, RequantMode::kFixedUp,
                               RequantMode::kFixedAway, RequantMode::kFixedOnce};
  int32_t wrong[5] = {}, runs[5] = {};
  for (int32_t run = 0; run < 6000; run++) {
    int32_t bias[kPanel], multipliers[kPanel], shifts[kPanel], sums[kPanel];
    const int32_t n = between(1, kPanel), products = between(1, 4000);
    const bool odd = run % 3 == 0;
    for (int32_t i = 0; i < kPanel; i++)
      draw_channel(odd && draw() % 4 == 0, multipliers + i, shifts + i, bias + i);
    Requantization r;
    r.mode = modes[run % 4];
    r.zero = between(0, 255), r.low = run % 5 < 3 ? 0 : between(0, 100);
    r.high = run % 7 < 5 ? 255 : between(100, 255);
    if (r.mode == RequantMode::kFloatEven)
      for (int32_t i = 0; i < kPanel; i++) {
        const float multiplier = odd && i == 0 ? __builtin_inff() : float(between(1, 9999)) * 1e-7f;
        std::memcpy(multipliers + i, &multiplier, sizeof multiplier);
      }
    r.rows[0] = bias, r.rows[1] = multipliers, r.rows[2] = shifts;
    r.in_vectors = fits_vectors(r, kPanel);
    const StepForm form = step_form(r, n, products);
    for (int32_t i = 0; i < kPanel; i++)
      sums[i] = int32_t(uint32_t(bias[i]) +
                        uint32_t(between(-products * 255 * 128, products * 255 * 128)));
    uint8_t fast[kPanel] = {}, plain[kPanel] = {};
    store_steps(r, form, sums, 0, fast, n);
    requantize<Plain>(r, RowQuantParams(), sums, 0, plain, n);
    runs[int(form)]++;
    for (int32_t i = 0; i < kPanel; i++) wrong[int(form)] += fast[i] != plain[i];
  }
  check("bytes through the template", runs[int(StepForm::kTemplate)] > 0);
#if defined(__ARM_FP) && (__ARM_FP & 4)
  check("bytes in floating point", runs[int(StepForm::kFloat)] && !wrong[int(StepForm::kFloat)]);
#endif
  check("bytes in fixed point", runs[int(StepForm::kUp)] && !wrong[int(StepForm::kUp)]);
  check("bytes in fixed point, ties away",
        runs[int(StepForm::kAway)] && !wrong[int(StepForm::kAway)]);
  check("bytes of odd channels", runs[int(StepForm::kEach)] && !wrong[int(StepForm::kEach)]);
}

}  // namespace
}  // namespace ingot::cpu

int main() {
  using namespace ingot::cpu;
  check_sums(), check_depthwise(), check_steps();
  char counts[] = "0 passed, 0 failed\n";
  counts[0] = char('0' + passed), counts[10] = char('0' + failed);
  board_print(counts);
  return failed != 0;
}
