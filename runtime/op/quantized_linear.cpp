// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/quantized_linear.h"

#include "runtime/op/conv_rules.h"
#include "runtime/op/quantized_blocks.h"

namespace ingot {
namespace {

using rules::refuse;

bool check_quantized_linear(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kQuantizedLinearContract, {0x7u, 1u, 0x2u}, v)) return false;
  const QuantizedLinearAttributes& t = a.as<QuantizedLinearAttributes>();
  const TensorType &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (!quantized::check_bytes(x, w, v) || !quantized::check_requant(t.requant, x.dtype, v) ||
      !quantized::check_output_steps(x.dtype, t.y_zero, t.low, t.high, v) ||
      !quantized::check_weight_zero(t.requant, t.w_zero, x.dtype, v) ||
      !quantized::check_output_type(t.requant, x.dtype, y, v))
    return false;
  if (x.rank < 1) return refuse(v, "quantized_linear's x has a last dimension", 0, 1, 0);
  if (w.rank != 2) return refuse(v, "quantized_linear's weights are [O, K]", 1, 2, w.rank);
  const int64_t dims[2] = {w.dims[0], x.dims[x.rank - 1]};
  if (!conv::check_weights(w, 1, Packing::kPanels16x4, dims, 2, v) ||
      !quantized::check_channels(a.inputs[2], 2, t.requant, w.dims[0], v) ||
      !quantized::check_sum(dims[1], 1, v) || !quantized::check_steps(a, 3, t.requant, x.rows(), v))
    return false;
  if (y.rank != x.rank)
    return refuse(v, "quantized_linear's y is [..., O]", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < y.rank; i++) {
    const int64_t want = i + 1 < x.rank ? x.dims[i] : w.dims[0];
    if (y.dims[i] != want)
      return refuse(v, "quantized_linear's y is [..., O]", rules::output(0), want, y.dims[i]);
  }
  return true;
}

ScratchNeed quantized_linear_scratch(const OpArguments& a, int) {
  const QuantizedLinearAttributes& t = a.as<QuantizedLinearAttributes>();
  const TensorType& x = a.inputs[0];
  // rows are read where they lie, and nothing is known of each
  if (x.dtype == DType::kU8 && x.row_length() % 4 == 0 && t.w_zero == 0 &&
      t.requant != RequantMode::kToFloat)
    return {};
  return {quantized::linear_scratch(x), 0};
}

}  // namespace

const OpContract kQuantizedLinearContract = {
    OpCode::kQuantizedLinear, 1,    3,   4, 1, 1, check_quantized_linear, nullptr,
    quantized_linear_scratch, 0x1u, 0x1u};

}  // namespace ingot
