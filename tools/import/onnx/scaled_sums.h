// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/scaled_sums.h - products of integers that become numbers.
#pragma once
#include "tools/import/onnx/call.h"

namespace ingot::onnx {

/// y = f32(sums of a and b) * (a_scale * b_scale) + bias, in this order, as onnxruntime computes
/// it. `integers`: inputs of MatMulInteger; the bias may be absent.
void emit_scaled_sums(Call& call, const std::vector<ValueId>& integers, ValueId a_scale,
                      ValueId b_scale, ValueId bias, ValueId y);

}  // namespace ingot::onnx
