// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/no_effect.h"

namespace ingot::onnx {

const std::vector<NoEffect>& attributes_without_effect() {
  constexpr const char* kTraining = "it is for training";
  constexpr const char* kNarrow = "of float8e8m0 alone";
  static const std::vector<NoEffect> kList = {
      {"*", "consumed_inputs", "a relic of opsets before 6"},
      {"LinearAttention", "chunk_size", "a hint for the speed of a runtime"},
      {"SequenceEmpty", "dtype", "its tensors have types"},
      {"Optional", "type", "its value has a type"},
      {"Attention", "softmax_precision", "sums and exponentials are f32"},
      {"BatchNormalization", "momentum", kTraining},
      {"BatchNormalization", "training_mode", "the inference form is converted, with a note"},
      {"Cast", "saturate", "of float8 alone"},
      {"Cast", "round_mode", kNarrow},
      {"CastLike", "saturate", "of float8 alone"},
      {"CastLike", "round_mode", kNarrow},
      {"Dropout", "ratio", kTraining},
      {"Dropout", "seed", kTraining},
      {"Dropout", "is_test", kTraining},
      {"QuantizeLinear", "saturate", "of float8 alone"},
      {"QuantizeLinear", "precision", "f32; any other is refused"},
      {"DequantizeLinear", "output_dtype", "the type of its scale"},
      {"MaxPool", "storage_order", "of Indices alone"},
  };
  return kList;
}

const char* no_effect(std::string_view op, std::string_view attribute) {
  for (const NoEffect& row : attributes_without_effect())
    if ((std::string_view(row.op) == "*" || op == row.op) && attribute == row.attribute)
      return row.reason;
  return nullptr;
}

}  // namespace ingot::onnx
