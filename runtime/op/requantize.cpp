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

bool check_channels(const TensorView& channels, int operand, RequantMode mode, int64_t o,
                    Violation* v) {
  if (channels.dtype != DType::kI32)
    return refuse(v, "numbers of channels are i32", operand, int64_t(DType::kI32),
                  int64_t(channels.dtype));
  if (channels.rank != 2)
    return refuse(v, "numbers of channels are rows", operand, 2, channels.rank);
  if (channels.dims[0] != channel_rows(mode))
    return refuse(v, "biases, multipliers and, of fixed point, shifts are there", operand,
                  channel_rows(mode), channels.dims[0]);
  const int64_t padded = (o + kPanel - 1) / kPanel * kPanel;
  if (channels.dims[1] != padded)
    return refuse(v, "a row has a number an output, rounded up to 16", operand, padded,
                  channels.dims[1]);
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
