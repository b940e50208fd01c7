// SPDX-License-Identifier: Apache-2.0
// tools/compile/passes/common/pass.h - every pass by name. Each works on one open graph, says how
// many nodes it changed, and may leave remarks.
#pragma once
#include <string>
#include <vector>

#include "tools/compile/passes/common/editor.h"

namespace ingot::passes {

using Remarks = std::vector<std::string>;

// On source operators
// products of integers, scales of a run among them
uint32_t recognize_dynamic_quantization(Editor& editor, Remarks& remarks);
// integers between DequantizeLinear and QuantizeLinear
uint32_t recognize_quantization(Editor& editor, Remarks& remarks);
// constants behind DequantizeLinear that are the weights of a Linear, and the same in f32
uint32_t recognize_quantized_weights(Editor& editor, Remarks& remarks);
uint32_t expand_quantized_weights(Editor& editor, Remarks& remarks);
// what is left of those, in f32
uint32_t decompose_quantization(Editor& editor, Remarks& remarks);
uint32_t inline_constant_conditions(Model& model, Graph& graph);  // before an Editor is open
uint32_t materialize_weights(Editor& editor, Remarks& remarks);
uint32_t recognize_activations(Editor& editor, Remarks& remarks);
uint32_t recognize_norms(Editor& editor, Remarks& remarks);
uint32_t recognize_softmax(Editor& editor, Remarks& remarks);
uint32_t recognize_channel_shuffle(Editor& editor, Remarks& remarks);

// On core form
uint32_t simplify(Editor& editor, Remarks& remarks);
uint32_t merge_equal(Editor& editor, Remarks& remarks);  // common subexpressions
uint32_t recognize_strided_slices(Editor& editor, Remarks& remarks);
uint32_t recognize_box_writes(Editor& editor, Remarks& remarks);
uint32_t recognize_attention(Editor& editor, Remarks& remarks);
uint32_t choose_layout(Editor& editor, Remarks& remarks);
uint32_t absorb_flattening(Editor& editor, Remarks& remarks);
// above the Reshape that keeps it from its producer
uint32_t hoist_unary(Editor& editor, Remarks& remarks);
// transposes and scales into MatMul
uint32_t fold_products(Editor& editor, Remarks& remarks);
// time-first transposes into Recurrent
uint32_t fold_sequence_order(Editor& editor, Remarks& remarks);
uint32_t fold_affine(Editor& editor, Remarks& remarks);
uint32_t fold_padding(Editor& editor, Remarks& remarks);
uint32_t fold_residual(Editor& editor, Remarks& remarks);
uint32_t fold_activation(Editor& editor, Remarks& remarks);
// Linears of one input that one Attention reads
uint32_t fuse_projections(Editor& editor, Remarks& remarks);
uint32_t fuse_elementwise(Editor& editor, Remarks& remarks);
// of integer convolutions: outputs that are one number at every pixel, into the biases behind
uint32_t drop_constant_channels(Editor& editor, Remarks& remarks);
// convolutions of images one column wide, as rows
uint32_t lay_columns_down(Editor& editor, Remarks& remarks);
// rank-3 convolutions and pools between two Reshapes
uint32_t lift_one_dimension(Editor& editor, Remarks& remarks);
uint32_t fold_nhwc_layout(Editor& editor,
                          // an ImageInput writes the order that its only reader turns it to
                          Remarks& remarks);
uint32_t fold_input_layout(Editor& editor,
                           // the Transpose of a port into the convolution that reads it
                           Remarks& remarks);

}  // namespace ingot::passes
