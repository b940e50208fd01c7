#include "runtime/op/requantize.h"

#include "runtime/op/conv_rules.h"

namespace ingot::quantized {

using rules::refuse;

bool check_output_steps(RequantMode mode, uint32_t zero, uint32_t low, uint32_t high,
                        Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  if (uint8_t(mode) > uint8_t(RequantMode::kFixedOnce))
    return refuse(v, "requant is known", kAttribute, 3, int64_t(mode));
  if (zero > 255) return refuse(v, "y_zero is a byte", kAttribute, 255, zero);
  if (high > 255) return refuse(v, "high is a byte", kAttribute, 255, high);
  if (low > high) return refuse(v, "low is at most high", kAttribute, high, low);
  return true;
}

bool check_channels(const OpArguments& a, int first, RequantMode mode, int64_t o, Violation* v) {
  const bool fixed = mode != RequantMode::kFloatEven;
  const DType types[] = {DType::kI32, fixed ? DType::kI32 : DType::kF32, DType::kI32};
  for (int i = 0; i < 3; i++) {
    const int operand = first + i;
    const TensorView* channel = a.optional(operand);
    if (!channel && (i < 2 || fixed))
      return refuse(v, "bias, multipliers and, of fixed point, shifts are there", operand, 1, 0);
    if (!channel) continue;
    if (i == 2 && !fixed)
      return refuse(v, "multipliers in floating point have no shifts", operand, 0, 1);
    if (channel->dtype != types[i])
      return refuse(v, "numbers of channels have the type of their mode", operand,
                    int64_t(types[i]), int64_t(channel->dtype));
    if (!conv::check_bias(channel, operand, o, v)) return false;
  }
  return true;
}

bool check_sum(int64_t k, int operand, Violation* v) {
  return k <= kMaxProducts ||
         refuse(v, "a sum of products of bytes fits 32 bits", operand, kMaxProducts, k);
}

bool check_weight_zero(int32_t zero, Violation* v) {
  return (zero >= -255 && zero <= 255) ||
         refuse(v, "w_zero is at most 255", Violation::kAttribute, 255, zero);
}

}  // namespace ingot::quantized
