// SPDX-License-Identifier: Apache-2.0
#include "tools/import/keras/no_effect.h"

#include <algorithm>

namespace ingot::keras {

const std::vector<NoEffect>& fields_without_effect() {
  constexpr const char* kTraining = "it is for training";
  constexpr const char* kShape = "the shape of its input says it";
  constexpr const char* kWeights = "its weights say it";
  constexpr const char* kHow = "how it is computed, not what";
  static const std::vector<NoEffect> kList = {
      {"*", "name", "a name"},
      {"*", "dtype", "all is computed in float32"},
      {"*", "trainable", kTraining},
      {"*", "seed", kTraining},
      {"*", "synchronized", kTraining},
      {"*", "*_initializer", kTraining},
      {"*", "*_regularizer", kTraining},
      {"*", "*_constraint", kTraining},
      {"*", "batch_input_shape", kShape},
      {"*", "batch_shape", kShape},
      {"*", "input_shape", kShape},
      {"*", "build_input_shape", kShape},
      {"*", "autocast", "all is computed in float32"},
      {"*", "lora_rank", "saved weights have the adapters in them"},
      {"*", "lora_alpha", "saved weights have the adapters in them"},
      {"*", "implementation", kHow},
      {"*", "unroll", kHow},
      {"Embedding", "input_length", kShape},
      {"Embedding", "weights", kTraining},
      {"ReversibleEmbedding", "reverse_dtype", "of calls in reverse alone, which are refused"},
      {"ReversibleEmbedding", "logit_soft_cap", "of calls in reverse alone, which are refused"},
      {"BatchNormalization*", "momentum", kTraining},
      {"BatchNormalization*", "renorm", kTraining},
      {"BatchNormalization*", "renorm_clipping", kTraining},
      {"BatchNormalization*", "renorm_momentum", kTraining},
      {"BatchNormalization*", "fused", kHow},
      {"BatchNormalization*", "virtual_batch_size", kTraining},
      {"BatchNormalization*", "adjustment", kTraining},
      {"PReLU", "shared_axes", kWeights},
      {"LayerScale", "init_values", kTraining},
      {"LayerScale", "projection_dim", kWeights},
      {"DepthwiseConv*", "filters", kWeights},
      {"DepthwiseConv*", "groups", "each channel is a group"},
      {"LSTM", "dropout", kTraining},
      {"LSTM", "recurrent_dropout", kTraining},
      {"LSTM", "unit_forget_bias", kTraining},
      {"LSTM", "use_cudnn", kHow},
      {"LSTM", "zero_output_for_mask", "of sequences with a mask alone"},
      {"LSTM", "return_state", "who reads a state names it"},
      {"GRU", "dropout", kTraining},
      {"GRU", "recurrent_dropout", kTraining},
      {"GRU", "use_cudnn", kHow},
      {"GRU", "zero_output_for_mask", "of sequences with a mask alone"},
      {"GRU", "return_state", "who reads a state names it"},
      {"SimpleRNN", "dropout", kTraining},
      {"SimpleRNN", "recurrent_dropout", kTraining},
      {"SimpleRNN", "zero_output_for_mask", "of sequences with a mask alone"},
      {"SimpleRNN", "return_state", "who reads a state names it"},
      {"Dropout", "rate", kTraining},
      {"Dropout", "noise_shape", kTraining},
      {"SpatialDropout*", "rate", kTraining},
      {"SpatialDropout*", "noise_shape", kTraining},
      {"SpatialDropout*", "data_format", kTraining},
      {"AlphaDropout", "rate", kTraining},
      {"AlphaDropout", "noise_shape", kTraining},
      {"GaussianDropout", "rate", kTraining},
      {"GaussianNoise", "stddev", kTraining},
      {"ActivityRegularization", "l1", kTraining},
      {"ActivityRegularization", "l2", kTraining},
      {"StochasticDepth", "rate", kTraining},
      {"MultiHeadAttention", "dropout", kTraining},
      {"MultiHeadAttention", "output_shape", kWeights},
      {"GroupQueryAttention", "dropout", kTraining},
      {"Attention", "dropout", kTraining},
      {"AdditiveAttention", "dropout", kTraining},
      {"EinsumDense", "output_shape", kShape},
      {"EinsumDense", "bias_axes", kWeights},
      {"SpectralNormalization", "power_iterations", kTraining},
      {"ConvLSTM*", "dropout", kTraining},
      {"ConvLSTM*", "recurrent_dropout", kTraining},
      {"ConvLSTM*", "unit_forget_bias", kTraining},
      {"*Cell", "dropout", kTraining},
      {"*Cell", "recurrent_dropout", kTraining},
      {"*Cell", "unit_forget_bias", kTraining},
      {"Random*", "*", kTraining},
      {"Resizing", "fill_*", "of images that are padded to their proportions alone"},
      {"Discretization", "epsilon", "the boundaries are there already"},
      {"Discretization", "num_bins", "the boundaries are there already"},
  };
  return kList;
}

namespace {

/// "*" at the beginning or the end of `pattern` stands for anything.
bool fits(const std::string& text, const std::string& pattern) {
  if (pattern == "*") return true;
  const size_t n = pattern.size() - 1;
  if (pattern.front() == '*')
    return text.size() >= n && text.compare(text.size() - n, n, pattern, 1, n) == 0;
  if (pattern.back() == '*') return text.compare(0, n, pattern, 0, n) == 0;
  return text == pattern;
}

}  // namespace

const char* no_effect(const std::string& kind, const std::string& field) {
  for (const NoEffect& row : fields_without_effect())
    if (fits(kind, row.kind) && fits(field, row.field)) return row.reason;
  return nullptr;
}

std::string unread_field(const std::string& kind, const Json& config,
                         const std::vector<std::string>& read) {
  if (!config.is_object()) return "";
  for (const auto& [key, value] : config.items()) {
    const bool quantized =
        key == "dtype" && value.is_object() && value.dump().find("Quantized") != std::string::npos;
    if (quantized) return key;
    if (value.is_null() || value == false || no_effect(kind, key)) continue;
    if (std::find(read.begin(), read.end(), key) == read.end()) return key;
  }
  return "";
}

}  // namespace ingot::keras
