// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/no_effect.h"

#include <algorithm>
#include <cstring>

namespace ingot::aten {
namespace {

bool equal_values(const Value& a, const Value& b) {
  using Kind = Value::Kind;
  if (a.items && b.items)
    return std::equal(a.items->begin(), a.items->end(), b.items->begin(), b.items->end(),
                      equal_values);
  const auto number = [](const Value& v, double* out) {
    const auto whole = v.is(Kind::kInt) ? v.integer.value() : std::nullopt;
    if (!whole && !v.is(Kind::kFloat) && !v.is(Kind::kBool)) return false;
    *out = whole ? double(*whole) : v.is(Kind::kBool) ? double(v.truth) : v.number;
    return true;
  };
  double x = 0, y = 0;
  if (number(a, &x) && number(b, &y)) return x == y;
  if (a.kind != b.kind) return false;
  return a.is(Kind::kNone) || (a.is(Kind::kString) && a.text == b.text);
}

}  // namespace

const std::vector<NoEffect>& arguments_without_effect() {
  constexpr const char* kInference = "what is converted is the inference form";
  constexpr const char* kGradient = "it is for gradients";
  constexpr const char* kPlace = "where a tensor lies is chosen when the program runs";
  constexpr const char* kLibrary = "it chooses a library of the machine that trained";
  constexpr const char* kNothing = "the call computes nothing";
  constexpr const char* kHeld = "the integers are there already";
  constexpr const char* kMemory = "whose memory it takes shows in no number";
  constexpr const char* kChecked = "a matrix that has none gives numbers that are none";
  constexpr const char* kAlways = "the answer is the same for every tensor";
  static const std::vector<NoEffect> kList = {
      {"*", "memory_format",
       "elements have one order here; that strides are others is noted (lower.cpp)"},
      {"*", "device", kPlace},
      {"*", "pin_memory", kPlace},
      {"*", "non_blocking", kPlace},
      {"*", "requires_grad", kGradient},
      {"*", "cudnn_enabled", kLibrary},
      {"*", "cudnn_enable", kLibrary},
      {"*", "implicit", "it marks what the tracer wrote"},
      {"_convolution", "benchmark", kLibrary},
      {"_convolution", "deterministic", kLibrary},
      {"_convolution", "allow_tf32", kLibrary},
      {"_convolution", "output_padding", "of a transposed convolution alone"},
      {"convolution", "output_padding", "of a transposed convolution alone"},
      {"batch_norm", "training", kInference},
      {"batch_norm", "momentum", kInference},
      {"_batch_norm_impl_index", "training", kInference},
      {"_batch_norm_impl_index", "momentum", kInference},
      {"native_batch_norm", "training", kInference},
      {"native_batch_norm", "momentum", kInference},
      {"_native_batch_norm_legit", "training", kInference},
      {"_native_batch_norm_legit", "momentum", kInference},
      {"_native_batch_norm_legit_no_training", "momentum", kInference},
      {"_batch_norm_no_update", "momentum", kInference},
      {"instance_norm", "momentum", kInference},
      {"instance_norm", "running_mean", "read where use_input_stats is False"},
      {"instance_norm", "running_var", "read where use_input_stats is False"},
      {"native_group_norm", "N", "the input says it"},
      {"native_group_norm", "C", "the input says it"},
      {"native_group_norm", "HxW", "the input says it"},
      {"dropout", "p", kInference},
      {"dropout", "train", kInference},
      {"feature_dropout", "p", kInference},
      {"feature_dropout", "train", kInference},
      {"alpha_dropout", "p", kInference},
      {"alpha_dropout", "train", kInference},
      {"feature_alpha_dropout", "p", kInference},
      {"feature_alpha_dropout", "train", kInference},
      {"native_dropout", "p", kInference},
      {"native_dropout", "train", kInference},
      {"lstm", "dropout", kInference},
      {"lstm", "train", kInference},
      {"gru", "dropout", kInference},
      {"gru", "train", kInference},
      {"quantized_lstm", "dropout", kInference},
      {"quantized_lstm", "train", kInference},
      {"quantized_gru", "dropout", kInference},
      {"quantized_gru", "train", kInference},
      {"rnn_tanh", "dropout", kInference},
      {"rnn_tanh", "train", kInference},
      {"rnn_relu", "dropout", kInference},
      {"rnn_relu", "train", kInference},
      {"scaled_dot_product_attention", "dropout_p", kInference},
      {"scaled_dot_product_attention", "enable_gqa", "the numbers of heads say it"},
      {"_scaled_dot_product_flash_attention_for_cpu", "dropout_p", kInference},
      {"embedding", "padding_idx", kGradient},
      {"embedding", "scale_grad_by_freq", kGradient},
      {"embedding", "sparse", kGradient},
      {"embedding_bag", "scale_grad_by_freq", kGradient},
      {"embedding_bag", "sparse", kGradient},
      {"_embedding_bag", "scale_grad_by_freq", kGradient},
      {"_embedding_bag", "sparse", kGradient},
      {"_embedding_bag_forward_only", "scale_grad_by_freq", kGradient},
      {"_embedding_bag_forward_only", "sparse", kGradient},
      {"gather", "sparse_grad", kGradient},
      {"torchao::dequantize_affine", "quant_min", kHeld},
      {"torchao::dequantize_affine", "quant_max", kHeld},
      {"quantized_decomposed::dequantize_per_tensor", "quant_min", kHeld},
      {"quantized_decomposed::dequantize_per_tensor", "quant_max", kHeld},
      {"quantized_decomposed::dequantize_per_channel", "quant_min", kHeld},
      {"quantized_decomposed::dequantize_per_channel", "quant_max", kHeld},
      {"quantized_decomposed::dequantize_per_channel_group", "quant_min", kHeld},
      {"quantized_decomposed::dequantize_per_channel_group", "quant_max", kHeld},
      {"quantized_decomposed::dequantize_per_token", "quant_min", kHeld},
      {"quantized_decomposed::dequantize_per_token", "quant_max", kHeld},
      {"quantized_decomposed::embedding_byte", "weight_quant_min", kHeld},
      {"quantized_decomposed::embedding_byte", "weight_quant_max", kHeld},
      {"quantized::leaky_relu", "inplace", kMemory},
      {"quantized::relu6", "inplace", kMemory},
      {"quantized::dropout", "p", kInference},
      {"sort", "stable", "equal elements keep their order always"},
      {"argsort", "stable", "equal elements keep their order always"},
      {"_nested_tensor_from_mask", "mask_check", "rows are counted, wherever the mask has them"},
      {"cdist", "compute_mode", "how distances are computed, which sizes decide"},
      {"_cdist_forward", "compute_mode", "how distances are computed, which sizes decide"},
      {"_trilinear", "unroll_dim", "the order of products alone"},
      {"empty_permuted", "physical_layout", kMemory},
      {"rrelu_with_noise_functional", "generator", "no number is random in the inference form"},
      {"einsum", "path", "the order of products alone"},
      {"repeat_interleave", "output_size", "the repeats say it"},
      {"max_unpool3d", "stride", "the output's sizes say it"},
      {"max_unpool3d", "padding", "the output's sizes say it"},
      {"_reshape_alias", "stride", "the sizes say it"},
      {"_reshape_copy", "stride", "the sizes say it"},
      {"to", "copy", "where a type changes, the result is a tensor of its own anyway"},
      {"linalg_inv_ex", "check_errors", kChecked},
      {"linalg_cholesky_ex", "check_errors", kChecked},
      {"linalg_solve_ex", "check_errors", kChecked},
      {"_linalg_solve_ex", "check_errors", kChecked},
      {"isin", "assume_unique", "the same members are found"},
      {"_unique2", "sorted", "sorted is one of the orders that any may be"},
      {"unique_dim", "sorted", "sorted is one of the orders that any may be"},
      {"lstm", "batch_sizes", "the lengths of the sequences say them"},
      {"gru", "batch_sizes", "the lengths of the sequences say them"},
      {"rnn_tanh", "batch_sizes", "the lengths of the sequences say them"},
      {"rnn_relu", "batch_sizes", "the lengths of the sequences say them"},
      {"_pad_packed_sequence", "batch_sizes", "the lengths of the sequences say them"},
      {"_shape_as_tensor", "self", "its shape alone is read"},
      {"is_complex", "self", "the kind of the tensor says it"},
      {"is_cuda", "self", kAlways},
      {"is_quantized", "self", kAlways},
      {"is_sparse", "self", kAlways},
      {"is_inference", "self", kAlways},
      {"requires_grad", "self", kAlways},
      {"_assert_tensor_metadata", "*", kNothing},
      {"_assert_async", "*", kNothing},
      {"_assert_scalar", "*", kNothing},
      {"sym_constrain_range", "*", kNothing},
      {"sym_constrain_range_for_size", "*", kNothing},
  };
  return kList;
}

const char* no_effect(const Schema& schema, const std::string& argument) {
  for (const NoEffect& row : arguments_without_effect()) {
    const bool op = std::strcmp(row.op, "*") == 0 || schema.name == row.op;
    if (op && (std::strcmp(row.argument, "*") == 0 || argument == row.argument)) return row.reason;
  }
  return nullptr;
}

bool is_neutral(const Parameter& parameter, const Value& value) {
  if (parameter.otherwise && equal_values(*parameter.otherwise, value)) return true;
  if (value.is(Value::Kind::kNone))
    return !parameter.otherwise || parameter.otherwise->is(Value::Kind::kNone);
  return parameter.name == "layout" && value.is(Value::Kind::kInt) && value.integer == Dim(0);
}

}  // namespace ingot::aten
