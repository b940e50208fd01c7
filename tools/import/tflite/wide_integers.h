// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/wide_integers.h - arithmetic of more than 8 bits: whole numbers of i64 in the
// graph.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "tools/graph/tensor_math.h"
#include "tools/import/tflite/call.h"

namespace ingot::tflite {

/// Whole numbers of i64 in the graph.
class Wide {
 public:
  explicit Wide(aten::Builder& builder) : b(builder) {}

  ValueId number(int64_t n) { return b.scalar(DType::kI64, double(n)); }
  ValueId numbers(const std::vector<int64_t>& n) {
    return b.constant(graph::make_constant(DType::kI64, {int64_t(n.size())}, n.data()));
  }
  ValueId of(ValueId x) { return b.cast(x, DType::kI64); }
  ValueId add(ValueId x, ValueId y) { return b.emit(op::Add, {x, y}); }
  ValueId mul(ValueId x, ValueId y) { return b.emit(op::Mul, {x, y}); }
  ValueId clamped(ValueId x, int64_t low, int64_t high) {
    return b.emit(op::Min, {b.emit(op::Max, {x, number(low)}), number(high)});
  }
  ValueId as_i16(ValueId x) { return clamped(x, INT16_MIN, INT16_MAX); }

  /// x / 2^bits, rounded down; the other by a tensor.
  ValueId shifted(ValueId x, int bits) { return shifted_each(x, number(bits)); }
  ValueId shifted_each(ValueId x, ValueId bits) {
    return b.emit(op::BitShift, {x, bits}, {{attr::direction, std::string("RIGHT")}});
  }
  /// The lower bits of it, not negative.
  ValueId masked(ValueId x, int bits) {
    return b.emit(op::BitwiseAnd, {x, number((int64_t{1} << bits) - 1)});
  }
  /// What 32 bits keep of it.
  ValueId wrapped(ValueId x) {
    constexpr int64_t kHalf = int64_t{1} << 31;
    return add(masked(add(x, number(kHalf)), 32), number(-kHalf));
  }

  /// x / power to the nearest, ties away from zero; `power` is 2^bits, and `more` is bits + 1.
  ValueId divided(ValueId x, ValueId power, ValueId more) {
    // twice all of it, so that nothing is added to what is not moved
    return shifted_each(add(add(mul(x, number(2)), power), shifted(x, 63)), more);
  }
  ValueId divided(ValueId x, int bits) { return divided(x, std::vector<int64_t>{bits}); }
  /// Known bits, one or one of each column; `zero` is added.
  ValueId divided(ValueId x, const std::vector<int64_t>& bits, int64_t zero = 0) {
    const bool all_move = *std::min_element(bits.begin(), bits.end()) > 0;
    std::vector<int64_t> powers, more;
    for (const int64_t each : bits) {
      const int64_t one = int64_t{1} << each;
      powers.push_back(all_move ? one / 2 + zero * one : one), more.push_back(each + 1);
    }
    if (!all_move) {
      const ValueId whole = divided(x, numbers(powers), numbers(more));
      return zero == 0 ? whole : add(whole, number(zero));
    }
    return shifted_each(add(add(x, numbers(powers)), shifted(x, 63)), numbers(bits));
  }
  /// Twice the product's upper half of numbers of 32 bits, to the nearest, ties up.
  ValueId upper_product(ValueId x, ValueId y) {
    return shifted(add(mul(x, y), number(1 << 30)), 31);
  }
  /// A multiplier of each column: rounded twice, the second time ties go away from zero. `zero` is
  /// added.
  ValueId multiplied(ValueId x, const std::vector<FixedPoint>& by, int64_t zero = 0) {
    std::vector<int64_t> multipliers, bits;
    for (const FixedPoint& each : by) {
      multipliers.push_back(int64_t(each.multiplier) << std::max(each.shift, 0));
      bits.push_back(std::max(-each.shift, 0));
    }
    return divided(upper_product(x, numbers(multipliers)), bits, zero);
  }
  /// Of sums of 64 bits below 2^45: times the multiplier's upper 16 bits, rounded once, ties up.
  /// None where the shift leaves 1 .. 46 bits.
  std::optional<ValueId> multiplied_once(ValueId x, const FixedPoint& by) {
    const int64_t reduced = by.multiplier < 0x7FFF0000 ? (by.multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int bits = 15 - by.shift;
    if (bits < 1 || bits > 46) return std::nullopt;
    return shifted(add(mul(x, number(reduced)), number(int64_t{1} << (bits - 1))), bits);
  }
  /// x << bits, as far as 32 bits go, and how far that is; 31 bits of 0.
  struct Normalized {
    ValueId number = kAbsent, bits = kAbsent;
  };
  Normalized normalized(ValueId x) {
    Normalized out{x, number(0)};
    for (const int step : {16, 8, 4, 2, 1}) {
      const ValueId moved = mul(out.number, number(int64_t{1} << step));
      const ValueId fits = b.emit(op::Equal, {moved, clamped(moved, INT32_MIN, INT32_MAX)});
      out.number = b.emit(op::Where, {fits, moved, out.number});
      out.bits = add(out.bits, mul(of(fits), number(step)));
    }
    return out;
  }
  /// numbers[at], of each element.
  ValueId chosen(const std::vector<int64_t>& from, ValueId at) {
    return b.emit(op::Gather, {numbers(from), at}, {{attr::axis, int64_t(0)}});
  }
  /// x * w' of small whole numbers, exact in f32.
  ValueId product(ValueId x, ValueId weights) {
    return of(b.emit(op::MatMul, {b.cast(x, DType::kF32), weights}));
  }

  aten::Builder& b;
};

/// Of a tensor of int16 or int32 with one scale; none of another.
struct WideQuantParams {
  float scale = 1;
  int64_t zero = 0;
};
std::optional<WideQuantParams> wide_quant_params_of(const ModelFile& file,
                                                    const fb::Tensor& tensor);

}  // namespace ingot::tflite
