// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/fixed_point.h"

#include <algorithm>
#include <cmath>

namespace ingot::tflite {
namespace {

/// Numbers of kBits bits, constants given as of 32.
template <int kBits>
struct Fixed {
  static constexpr int64_t kMax = (int64_t{1} << (kBits - 1)) - 1, kMin = -kMax - 1;
  static constexpr int kFraction = kBits - 1;  // of Q0

  static int64_t constant(int64_t of_32) {
    return kBits == 32 ? of_32 : (of_32 + (int64_t{1} << (31 - kBits))) >> (32 - kBits);
  }
  static int64_t saturated(int64_t x) { return std::clamp(x, kMin, kMax); }
  /// Twice the product's upper half, to the nearest, ties away from zero.
  static int64_t product(int64_t a, int64_t b) {
    if (a == kMin && b == kMin) return kMax;
    const int64_t whole = a * b, half = int64_t{1} << (kFraction - 1);
    return (whole + (whole >= 0 ? half : 1 - half)) / (int64_t{1} << kFraction);
  }
  static int64_t shifted_left(int64_t x, int bits) { return saturated(x * (int64_t{1} << bits)); }
  static int64_t sum(int64_t a, int64_t b) { return saturated(a + b); }

  /// exp(x) of -1/4 <= x < 0, Q0: a polynomial around -1/8.
  static int64_t exp_of_quarter(int64_t x) {
    const int64_t at_eighth = constant(1895147668), third = constant(715827883);
    const int64_t d = sum(x, int64_t{1} << (kFraction - 3)), d2 = product(d, d),
                  d3 = product(d2, d), d4 = product(d2, d2);
    const int64_t tail =
        divided(int32_t(sum(product(sum(divided(int32_t(d4), 2), d3), third), d2)), 1);
    return sum(at_eighth, product(at_eighth, sum(d, tail)));
  }
  /// Of a number of at most 0 with `integer_bits` before the point: Q0.
  static int64_t exp(int64_t x, int integer_bits) {
    if (x >= 0) return kMax;
    const int fraction = kFraction - integer_bits;
    const int64_t quarter = int64_t{1} << (fraction - 2);
    const int64_t within = (x & (quarter - 1)) - quarter;  // of the last quarter
    int64_t result = exp_of_quarter(shifted_left(within, integer_bits));
    // exp(-2^i), i from -2 on, where the rest has that bit
    constexpr int64_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308,
                                    39332535,   720401,     242};
    const int64_t rest = within - x;
    for (int i = 0; i < 7 && i - 2 < integer_bits; i++)
      if (rest & (int64_t{1} << (fraction + i - 2)))
        result = product(result, constant(kFactors[i]));
    return result;
  }
  /// 2 / (1 + x) with 2 bits before the point, by three steps of Newton's method; x is Q0, 0 .. 1.
  static int64_t reciprocal(int64_t x) {
    const int64_t half = (x + kMax + 1) / 2;  // of 1 + x
    int64_t guess =
        sum(constant(1515870810), product(half, constant(-1010580540)));  // 48/17 - 32/17 * half
    for (int i = 0; i < 3; i++) {
      const int64_t rest = sum(int64_t{1} << (kFraction - 2), -product(half, guess));
      guess = sum(guess, shifted_left(product(guess, rest), 2));
    }
    return guess;
  }
  static int64_t logistic(int64_t x, int integer_bits) {
    if (x == 0) return int64_t{1} << (kFraction - 1);
    const int64_t positive = shifted_left(reciprocal(exp(x < 0 ? x : -x, integer_bits)), 1);
    return x > 0 ? positive : kMax - positive;
  }
  static int64_t tanh(int64_t x, int integer_bits) {
    if (x == 0) return 0;
    // (1 - e) / (1 + e) = 2 / (1 + e) - 1
    const int64_t e = exp(x < 0 ? x : -x, integer_bits + 1);
    const int64_t size = shifted_left(sum(reciprocal(e), -(int64_t{1} << (kFraction - 2))), 2);
    return x < 0 ? -size : size;
  }
};

/// 2^16 / (1 + exp(-i / 24)), a little larger in the middle, where lines between lie below the
/// function. Measured: TFLite Micro's LOGISTIC and TANH of all numbers of 16 bits, three scales.
constexpr uint16_t kMicroLogistic[256] = {
    // clang-format off
    32768, 33451, 34133, 34813, 35493, 36169, 36843, 37513, 38180, 38841, 39498, 40149, 40794,
    41432, 42064, 42688, 43304, 43912, 44511, 45102, 45683, 46255, 46817, 47369, 47911, 48443,
    48964, 49475, 49975, 50464, 50942, 51409, 51865, 52311, 52745, 53169, 53581, 53983, 54374,
    54755, 55125, 55485, 55834, 56174, 56503, 56823, 57133, 57433, 57724, 58007, 58280, 58544,
    58800, 59048, 59288, 59519, 59743, 59959, 60168, 60370, 60565, 60753, 60935, 61110, 61279,
    61441, 61599, 61750, 61896, 62036, 62172, 62302, 62428, 62549, 62666, 62778, 62886, 62990,
    63090, 63186, 63279, 63368, 63454, 63536, 63615, 63691, 63765, 63835, 63903, 63968, 64030,
    64090, 64148, 64204, 64257, 64308, 64357, 64405, 64450, 64494, 64536, 64576, 64614, 64652,
    64687, 64721, 64754, 64786, 64816, 64845, 64873, 64900, 64926, 64950, 64974, 64997, 65019,
    65039, 65060, 65079, 65097, 65115, 65132, 65149, 65164, 65179, 65194, 65208, 65221, 65234,
    65246, 65258, 65269, 65280, 65291, 65301, 65310, 65319, 65328, 65337, 65345, 65352, 65360,
    65367, 65374, 65381, 65387, 65393, 65399, 65404, 65410, 65415, 65420, 65425, 65429, 65433,
    65438, 65442, 65445, 65449, 65453, 65456, 65459, 65462, 65465, 65468, 65471, 65474, 65476,
    65479, 65481, 65483, 65485, 65488, 65489, 65491, 65493, 65495, 65497, 65498, 65500, 65501,
    65503, 65504, 65505, 65507, 65508, 65509, 65510, 65511, 65512, 65513, 65514, 65515, 65516,
    65517, 65517, 65518, 65519, 65520, 65520, 65521, 65522, 65522, 65523, 65523, 65524, 65524,
    65525, 65525, 65526, 65526, 65526, 65527, 65527, 65528, 65528, 65528, 65529, 65529, 65529,
    65529, 65530, 65530, 65530, 65530, 65531, 65531, 65531, 65531, 65531, 65532, 65532, 65532,
    65532, 65532, 65532, 65533, 65533, 65533, 65533, 65533, 65533, 65533, 65533, 65534, 65534,
    65534, 65534, 65534, 65534, 65534, 65534, 65534, 65534, 65535,
    // clang-format on
};
/// By 3/4 and the step of the table.
int64_t micro_scaled(int32_t x, int32_t multiplier, int shift) {
  const int64_t by = multiplier ? multiplier : int64_t{3} << shift;
  const int right = multiplier ? shift : 0;
  return (x * by + (right > 0 ? int64_t{1} << (right - 1) : 0)) >> right;
}
/// On the line between two numbers of the table, of which `bits` of `at` say where; `far` behind
/// the last.
int64_t micro_line(uint32_t at, int bits, int64_t far) {
  const uint32_t step = at >> bits;
  if (step >= 255) return far;
  const int64_t first = kMicroLogistic[step], second = kMicroLogistic[step + 1];
  return (first << bits) + int64_t(at & ((1u << bits) - 1)) * (second - first);
}

}  // namespace

std::optional<FixedInput> fixed_input(double scale, int integer_bits) {
  constexpr int kBits = 31;
  const double real =
      std::min(scale * double(int64_t{1} << (kBits - integer_bits)), double(Fixed<32>::kMax));
  if (!(real > 1)) return std::nullopt;
  FixedInput out;
  int64_t bits = int64_t(std::round(std::frexp(real, &out.by.shift) * double(int64_t{1} << kBits)));
  if (bits == int64_t{1} << kBits) bits /= 2, out.by.shift++;
  out.by.multiplier = int32_t(bits);
  out.radius = int32_t(
      std::floor(double((1 << integer_bits) - 1) * double(int64_t{1} << (kBits - integer_bits)) /
                 double(int64_t{1} << out.by.shift)));
  return out;
}

int32_t fixed_exp(int32_t x, int integer_bits) { return int32_t(Fixed<32>::exp(x, integer_bits)); }
int32_t fixed_logistic(int32_t x) { return int32_t(Fixed<32>::logistic(x, 4)); }
int32_t fixed_tanh(int32_t x) { return int32_t(Fixed<32>::tanh(x, 4)); }
FixedPoint fixed_inverse_root(int32_t x) {
  using F = Fixed<32>;
  if (x <= 1) return {INT32_MAX, 0};
  const int pairs = (__builtin_clz(uint32_t(x)) - 1) / 2 - 1;  // to 2^27 .. 2^29
  const int64_t number = int64_t(x) << (2 * pairs) >> 1;       // Q3.28, as is all of it
  const int64_t half = divided(int32_t(number), 1);
  constexpr int64_t kOneAndHalf = (1 << 28) + (1 << 27);
  int64_t root = 1 << 28;
  for (int i = 0; i < 5; i++) {
    const int64_t cube = F::shifted_left(F::product(F::product(root, root), root), 6);
    root = F::shifted_left(F::product(kOneAndHalf, root) - F::product(half, cube), 3);
  }
  return {int32_t(F::product(root, 1518500250)), pairs - 11};
}
int32_t fixed_reciprocal(int32_t x) {
  return int32_t(Fixed<32>::shifted_left(Fixed<32>::reciprocal(x), 1));
}
int32_t fixed_logistic16(int32_t x) { return int32_t(Fixed<16>::logistic(x, 3)); }
int32_t fixed_tanh16(int32_t x, int integer_bits) {
  return int32_t(Fixed<16>::tanh(x, integer_bits));
}

int32_t interpolated_logistic(int32_t x, int32_t multiplier, int shift) {
  const int64_t at = micro_scaled(x, multiplier, shift);
  const int64_t size = micro_line(uint32_t(std::abs(at)), 9, int64_t{0x7FFF} << 10);
  constexpr int64_t kOne = 1 << 25, kHalf = 1 << 9;
  return int32_t((at >= 0 ? size + kHalf : kOne - size + kHalf - 1) >> 10);
}
int32_t interpolated_tanh(int32_t x, int32_t multiplier, int shift) {
  const int64_t at = micro_scaled(x, multiplier, shift);
  const int64_t size = micro_line(uint32_t(std::abs(at)), 8, int64_t{0xFFFF} << 8);
  constexpr int64_t kOne = 1 << 23, kHalf = 1 << 7;
  return int32_t((at >= 0 ? size - kOne + kHalf : kOne - size + kHalf - 1) >> 8);
}

}  // namespace ingot::tflite
