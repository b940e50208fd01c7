// SPDX-License-Identifier: Apache-2.0
#include "tools/import/tflite/no_effect.h"

namespace ingot::tflite {

const std::vector<NoEffect>& options_without_effect() {
  constexpr const char* kInteger = "it is about integers that are refused, or computed as floats";
  constexpr const char* kTensor = "the tensors say it";
  static const std::vector<NoEffect> kList = {
      {"*", "asymmetric_quantize_inputs", kInteger},
      {"*", "pot_scale_int16", kInteger},
      {"*", "quantized_bias_type", "products of int16 read it, others have one type of bias"},
      {"DepthwiseConv2DOptions", "depth_multiplier", "the extents of weights and input say it"},
      {"ResizeBilinearOptions", "unused_0", "an input took its place"},
      {"ResizeBilinearOptions", "unused_1", "an input took its place"},
      {"CastOptions", "in_data_type", kTensor},
      {"CastOptions", "out_data_type", kTensor},
      {"ShapeOptions", "out_type", kTensor},
      {"ArgMaxOptions", "output_type", kTensor},
      {"ArgMinOptions", "output_type", kTensor},
      {"PackOptions", "values_count", "its inputs are counted"},
      {"UnpackOptions", "num", "its outputs are counted"},
      {"SplitOptions", "num_splits", "its outputs are counted"},
      {"SplitVOptions", "num_splits", "its outputs are counted"},
      {"SparseToDenseOptions", "validate_indices", "indices are always checked"},
      {"StableHLOCompositeOptions", "composite_attributes", "its decomposition has them in it"},
      {"StableHLOCompositeOptions", "composite_attributes_format",
       "its decomposition has them in it"},
      {"StableHLOCompositeOptions", "version", "its decomposition is of that version"},
      {"StableHLOCompositeOptions", "name", "its decomposition says what it does"},
  };
  return kList;
}

const char* no_effect(const std::string& op, const std::string& kind, const std::string& option) {
  for (const NoEffect& row : options_without_effect()) {
    const std::string where = row.where;
    if (option == row.option && (where == "*" || where == op || where == kind)) return row.reason;
  }
  return nullptr;
}

}  // namespace ingot::tflite
