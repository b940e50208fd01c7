// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_pool2d.h"

#include "runtime/op/conv_rules.h"
#include "runtime/op/requantize.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_quantized_pool2d(const OpArguments& a, Violation* v) {
  constexpr int kAttribute = Violation::kAttribute;
  if (!rules::check_operands(a, kQuantizedPool2dContract, {}, v)) return false;
  const QuantizedPool2dAttributes& t = a.as<QuantizedPool2dAttributes>();
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const bool is_int16 = x.dtype == DType::kI16;
  if (x.dtype != DType::kU8 && !is_int16)
    return refuse(v, "quantized_pool2d takes u8 or i16", 0, int64_t(DType::kU8), int64_t(x.dtype));
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (uint8_t(t.kind) > uint8_t(PoolKind::kAverage))
    return refuse(v, "quantized_pool2d.kind is max or average", kAttribute, 1, int64_t(t.kind));
  const uint32_t most = quantized::most_number(x.dtype);
  if (t.offset > most)
    return refuse(v, "quantized_pool2d.offset is a number of x", kAttribute, most, t.offset);
  if (!quantized::check_output_steps(x.dtype, 0, t.low, t.high, v) ||
      !conv::check_window(conv::window_of(t), v))
    return false;
  const uint64_t taps = is_int16 ? kMaxInt16Taps : kMaxQuantizedTaps;
  if (uint64_t(t.kernel_h) * t.kernel_w > taps)
    return refuse(v, "a window has at most 2^22 taps, of i16 2^14", kAttribute, int64_t(taps),
                  int64_t(uint64_t(t.kernel_h) * t.kernel_w));
  if (x.rank != 4) return refuse(v, "quantized_pool2d's x is a batch of images", 0, 4, x.rank);
  if (y.rank != 4)
    return refuse(v, "quantized_pool2d's y is [N,OH,OW,C]", rules::output(0), 4, y.rank);
  int64_t oh = 0, ow = 0;
  if (!conv::output_extent(x.dims[1], t.pad_top, t.pad_bottom, t.kernel_h, t.stride_h, t.dilation_h,
                           &oh) ||
      !conv::output_extent(x.dims[2], t.pad_left, t.pad_right, t.kernel_w, t.stride_w, t.dilation_w,
                           &ow))
    return refuse(v, "the window fits the padded image", kAttribute, t.kernel_h, x.dims[1]);
  const int64_t want[4] = {x.dims[0], oh, ow, x.dims[3]};
  for (int i = 0; i < 4; i++)
    if (y.dims[i] != want[i])
      return refuse(v, "quantized_pool2d's y is [N,OH,OW,C]", rules::output(0), want[i], y.dims[i]);
  return true;
}

}  // namespace

const OpContract kQuantizedPool2dContract = {
    OpCode::kQuantizedPool2d, 1, 1, 1, 1, 1, check_quantized_pool2d, nullptr, nullptr, 0x1u, 0x1u};

}  // namespace ingot
