// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_softmax.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_quantized_softmax(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kQuantizedSoftmaxContract, {}, v)) return false;
  const QuantizedSoftmaxAttributes& t = a.as<QuantizedSoftmaxAttributes>();
  const TensorType &x = a.inputs[0], &table = a.inputs[1], &y = a.outputs[0];
  const bool is_int16 = x.dtype == DType::kI16;
  if (x.dtype != DType::kU8 && !is_int16)
    return refuse(v, "quantized_softmax takes u8 or i16", 0, int64_t(DType::kU8), int64_t(x.dtype));
  if (x.rank < 1) return refuse(v, "quantized_softmax's x has a last dimension", 0, 1, 0);
  const bool fits = is_int16 ? table.dtype == DType::kI16
                             : table.dtype == DType::kF32 || table.dtype == DType::kI32;
  if (!fits)
    return refuse(v, "quantized_softmax's table is f32 or i32, of i16 i16", 1,
                  int64_t(is_int16 ? DType::kI16 : DType::kF32), int64_t(table.dtype));
  const int64_t count = is_int16 ? kInt16Exponentials + kInt16Reciprocals : 256;
  if (table.rank != 1 || table.dims[0] != count)
    return refuse(v, "quantized_softmax's table has 256 elements, of i16 65536 + 513", 1, count,
                  table.rank == 1 ? int64_t{table.dims[0]} : -1);
  if (is_int16 && (y.dtype != DType::kI16 || t.y_zero != 0))
    return refuse(v, "quantized_softmax of i16 gives i16 without a zero point", rules::output(0),
                  int64_t(DType::kI16), int64_t(y.dtype));
  if (y.dtype != DType::kU8 && y.dtype != DType::kI16)
    return refuse(v, "quantized_softmax gives u8 or i16", rules::output(0), int64_t(DType::kU8),
                  int64_t(y.dtype));
  if (!(t.scale >= 1.17549435e-38f) || !(t.scale - t.scale == 0))
    return refuse(v, "a scale is a positive normal number", Violation::kAttribute);
  const int32_t low = y.dtype == DType::kU8 ? 0 : -32768, high = low == 0 ? 255 : 32767;
  if (t.y_zero < low || t.y_zero > high)
    return refuse(v, "a zero point is one of the type's numbers", Violation::kAttribute, high,
                  t.y_zero);
  return rules::check_same_dims(x, y, rules::output(0), v);
}

}  // namespace

const OpContract kQuantizedSoftmaxContract = {
    OpCode::kQuantizedSoftmax, 1,       2,    2,   1, 1, check_quantized_softmax,
    rules::in_place_first,     nullptr, 0x1u, 0x1u};

}  // namespace ingot
