// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/quantized_tensor.h - PyTorch's quantized tensors. One is here the numbers that
// its integers stand for, behind QuantizeLinear and DequantizeLinear, so that operators which move
// elements need nothing of their own and passes find the integers between both. Its cell knows
// scale and zero point, because operators keep them or give others.
// Errors   Refused; graph::ConversionError(kCorrupt) for scales and zero points that cannot be.
#pragma once
#include <optional>

#include "tools/import/aten/operands.h"

namespace ingot::aten {

/// Of c10's quantized types; none for any other.
std::optional<DType> integers_of_c10(int64_t scalar_type);
int64_t c10_of_integers(DType integers);

/// x in integers: round(x / scale) + zero_point, limited to the type.
ValueId quantize(Builder& b, ValueId x, const TensorQuantization& by);
/// A new quantized tensor: x on the steps of `by`.
Tensor quantized(Builder& b, ValueId x, const TensorQuantization& by);
/// Numbers of integers whose scales and zero points lie along `axis`; one of each counts for all.
/// `zero_points` are of the integers' type or i64.
ValueId dequantize(Builder& b, ValueId integers, ValueId scales, ValueId zero_points, int64_t axis);

/// The numbers of x on 256 steps, of `reduced` ones 128, between its smallest and its largest in
/// the run.
ValueId quantized_in_run(Builder& b, ValueId x, bool reduced);

/// That of the first argument that is quantized; null where none is.
const TensorQuantization* quantization_among(const std::vector<Value>& arguments);
/// What an operator of aten gives for arguments of which the first quantized one has `by`: results
/// keep the steps, are rounded to them, get others, or are plain numbers. @throws Refused where
/// PyTorch has no such operator on quantized tensors.
void follow_quantization(Builder& b, const std::string& op, const TensorQuantization& by,
                         std::vector<Value>* results);

/// The lowering of an operator of aten, for others that are made of it. @throws Refused.
std::vector<Value> lower_as(Builder& b, const std::string& op, std::vector<Value> arguments);

}  // namespace ingot::aten
