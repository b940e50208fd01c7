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
  ValueId add(ValueId x, ValueId y) { return b.emit("Add", {x, y}); }
  ValueId mul(ValueId x, ValueId y) { return b.emit("Mul", {x, y}); }
  ValueId clamped(ValueId x, int64_t low, int64_t high) {
    return b.emit("Min", {b.emit("Max", {x, number(low)}), number(high)});
  }
  ValueId as_i16(ValueId x) { return clamped(x, INT16_MIN, INT16_MAX); }

  /// What 32 bits keep of it.
  ValueId wrapped(ValueId x) {
    constexpr int64_t kHalf = int64_t{1} << 31;
    return add(b.emit("Mod", {add(x, number(kHalf)), number(2 * kHalf)}, {{"fmod", int64_t(0)}}),
               number(-kHalf));
  }

  /// x / by to the nearest, ties away from zero; `by` is a power of 2 (a tensor), `half` its half.
  ValueId divided(ValueId x, ValueId by, ValueId half) {
    const ValueId size = b.emit("Div", {add(b.emit("Abs", {x}), half), by});
    return mul(b.emit("Sign", {x}), size);
  }
  ValueId divided(ValueId x, int bits) {
    return divided(x, number(int64_t{1} << bits), number((int64_t{1} << bits) / 2));
  }
  /// A multiplier of each column: rounded twice, the second time ties go away from zero.
  ValueId multiplied(ValueId x, const std::vector<FixedPoint>& by) {
    std::vector<int64_t> multipliers, powers, halves;
    for (const FixedPoint& each : by) {
      multipliers.push_back(int64_t(each.multiplier) << std::max(each.shift, 0));
      powers.push_back(int64_t{1} << std::max(-each.shift, 0));
      halves.push_back(powers.back() / 2);
    }
    // the quotient goes toward zero, so what is divided is made positive
    constexpr int64_t kFar = int64_t{1} << 62;
    const ValueId moved = add(mul(x, numbers(multipliers)), number(kFar + (1 << 30)));
    const ValueId high =
        add(b.emit("Div", {moved, number(int64_t{1} << 31)}), number(-(int64_t{1} << 31)));
    return divided(high, numbers(powers), numbers(halves));
  }
  /// Of sums of 64 bits below 2^45: times the multiplier's upper 16 bits, rounded once, ties up.
  /// None where the shift leaves 1 .. 46 bits.
  std::optional<ValueId> multiplied_once(ValueId x, const FixedPoint& by) {
    const int64_t reduced = by.multiplier < 0x7FFF0000 ? (by.multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int bits = 15 - by.shift;
    if (bits < 1 || bits > 46) return std::nullopt;
    // the quotient goes toward zero, so what is divided is made positive
    constexpr int64_t kFar = int64_t{1} << 61;
    const ValueId moved = add(mul(x, number(reduced)), number(kFar + (int64_t{1} << (bits - 1))));
    return add(b.emit("Div", {moved, number(int64_t{1} << bits)}), number(-(kFar >> bits)));
  }
  /// x * w' of small whole numbers, exact in f32.
  ValueId product(ValueId x, ValueId weights) {
    return of(b.emit("MatMul", {b.cast(x, DType::kF32), weights}));
  }

  aten::Builder& b;
};

/// Of a tensor of int16 or int32 with one scale; none of another.
struct WideSteps {
  float scale = 1;
  int64_t zero = 0;
};
std::optional<WideSteps> wide_steps_of(const ModelFile& file, const fb::Tensor& tensor);

}  // namespace ingot::tflite
