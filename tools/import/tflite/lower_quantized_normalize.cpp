// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_normalize.cpp - L2_NORMALIZATION of bytes: the reciprocal of
// a length in fixed point, as LiteRT's kernels have it, and TFLite Micro's.
#include "tools/import/tflite/wide_integers.h"

namespace ingot::tflite {
namespace {

constexpr int64_t kMaxSquares = 32768;  // as many squares of 255 have a sum of 31 bits

/// 1 / sqrt(sum): a multiplier of 31 bits, and how far to the right what it gives is moved.
struct ReciprocalLength {
  ValueId multiplier = kAbsent, shift = kAbsent;
};

/// Newton's method: x becomes (3 x - a x^3) / 2, five times from 1. `a` of 1/4 .. 1 is whole
/// numbers of 2^-28, as is the result.
ValueId reciprocal_root(Wide& wide, ValueId a) {
  constexpr int64_t kOne = 1 << 28, kLargest = INT32_MAX;
  const ValueId half = wide.divided(a, 1), three_halves = wide.number(kOne / 2 * 3);
  // products have 3 and 6 more bits before the point, which are taken off again
  const auto moved = [&](ValueId x, int bits) {
    return wide.clamped(wide.mul(x, wide.number(int64_t{1} << bits)), -kLargest - 1, kLargest);
  };
  ValueId x = wide.number(kOne);
  for (int i = 0; i < 5; i++) {
    const ValueId cube = moved(wide.upper_product(wide.upper_product(x, x), x), 6);
    const ValueId less = wide.mul(wide.upper_product(half, cube), wide.number(-1));
    x = moved(wide.add(wide.upper_product(three_halves, x), less), 3);
  }
  return x;
}

/// Of sums of 31 bits; a sum of 0 counts as 1.
ReciprocalLength reciprocal_length(Wide& wide, ValueId sum) {
  constexpr int64_t kHalfRootOfTwo = 1518500250;  // of 2^-31
  constexpr int kMaxShift = 12, kMaxHeadroom = 31;
  const auto normal = wide.normalized(sum);
  std::vector<int64_t> to_quarter, shifts, factors;
  for (int headroom = 0; headroom <= kMaxHeadroom; headroom++) {
    // an even number of bits, so that the root has half of them
    const int shift = kMaxShift - headroom / 2;
    to_quarter.push_back(3 + headroom % 2);
    shifts.push_back(std::max(shift, 0));
    factors.push_back(int64_t{1} << std::max(-shift, 0));
  }
  const ValueId a = wide.shifted_each(normal.number, wide.chosen(to_quarter, normal.bits));
  const ValueId root = wide.upper_product(reciprocal_root(wide, a), wide.number(kHalfRootOfTwo));
  aten::Builder& b = wide.b;
  const ValueId is_short = b.emit(op::LessOrEqual, {sum, wide.number(1)});
  return {b.emit(op::Where, {is_short, wide.number(INT32_MAX),
                             wide.mul(root, wide.chosen(factors, normal.bits))}),
          b.emit(op::Where, {is_short, wide.number(0), wide.chosen(shifts, normal.bits)})};
}

bool unit_length_int8(Call& call) {
  const auto x = call.quant_params(0), y = call.output_quant_params(0);
  const int64_t rank = call.rank(0);
  if (rank == 0) call.corrupt("its input has no dimensions");
  aten::Builder& b = call.b;
  const auto length = b.dims(call.input(0)).back().value();
  if (!x || !y || x->is_signed != y->is_signed || y->scale != 1.0f / 128 || y->zero != 128 ||
      !length || *length > kMaxSquares || call.integer("fused_activation_function") != 0)
    return false;
  Wide wide(b);
  const ValueId away = wide.add(wide.of(call.input(0)), wide.number(-x->zero));
  const ReciprocalLength by =
      reciprocal_length(wide, b.reduce(op::ReduceSum, wide.mul(away, away), {rank - 1}, true));
  // Kernels of uint8 multiply by 128 before they round, those of int8 move less to the right, and
  // to the left only what is left of 128.
  constexpr int kBits = 7;
  std::vector<int64_t> factors, powers, more;
  for (int shift = 0; shift <= 12; shift++) {
    const int left = x->is_signed ? std::max(kBits - shift, 0) : kBits;
    const int right = x->is_signed ? std::max(shift - kBits, 0) : shift;
    factors.push_back(int64_t{1} << left);
    powers.push_back(int64_t{1} << right), more.push_back(right + 1);
  }
  const ValueId product =
      wide.upper_product(wide.mul(away, wide.chosen(factors, by.shift)), by.multiplier);
  const ValueId made =
      wide.divided(product, wide.chosen(powers, by.shift), wide.chosen(more, by.shift));
  call.give(b.cast(wide.clamped(wide.add(made, wide.number(y->zero)), 0, 255), DType::kU8));
  return true;
}

}  // namespace

void add_quantized_normalize(QuantizedTable& table) {
  table["L2_NORMALIZATION"] = unit_length_int8;
}

}  // namespace ingot::tflite
