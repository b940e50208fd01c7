// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/option_tables.cpp - the fields of every kind of options, in the order of
// their numbers. tests/frameworks/litert/run_operators.py compares them with LiteRT's own schema.
#include <sstream>

#include "tools/import/tflite/options.h"

namespace ingot::tflite {
namespace {

struct Row {
  int kind;
  const char* name;
  const char* fields;  // "name:type=default"
};

// The first union, without those that have no fields.
constexpr Row kFirst[] = {
    {1, "Conv2DOptions",
     "padding:byte stride_w:int stride_h:int fused_activation_function:byte "
     "dilation_w_factor:int=1 dilation_h_factor:int=1 quantized_bias_type:byte"},
    {2, "DepthwiseConv2DOptions",
     "padding:byte stride_w:int stride_h:int depth_multiplier:int fused_activation_function:byte "
     "dilation_w_factor:int=1 dilation_h_factor:int=1"},
    {3, "ConcatEmbeddingsOptions",
     "num_channels:int num_columns_per_channel:ints embedding_dim_per_channel:ints"},
    {4, "LSHProjectionOptions", "type:byte"},
    {5, "Pool2DOptions",
     "padding:byte stride_w:int stride_h:int filter_width:int filter_height:int "
     "fused_activation_function:byte"},
    {6, "SVDFOptions", "rank:int fused_activation_function:byte asymmetric_quantize_inputs:bool"},
    {7, "RNNOptions", "fused_activation_function:byte asymmetric_quantize_inputs:bool"},
    {8, "FullyConnectedOptions",
     "fused_activation_function:byte weights_format:byte keep_num_dims:bool "
     "asymmetric_quantize_inputs:bool quantized_bias_type:byte quant_spec:table"},
    {9, "SoftmaxOptions", "beta:float"},
    {10, "ConcatenationOptions", "axis:int fused_activation_function:byte"},
    {11, "AddOptions", "fused_activation_function:byte pot_scale_int16:bool=1"},
    {12, "L2NormOptions", "fused_activation_function:byte"},
    {13, "LocalResponseNormalizationOptions", "radius:int bias:float alpha:float beta:float"},
    {14, "LSTMOptions",
     "fused_activation_function:byte cell_clip:float proj_clip:float kernel_type:byte "
     "asymmetric_quantize_inputs:bool"},
    {15, "ResizeBilinearOptions",
     "unused_0:int unused_1:int align_corners:bool "
     "half_pixel_centers:bool"},
    {16, "CallOptions", "subgraph:int"},
    {17, "ReshapeOptions", "new_shape:ints"},
    {18, "SkipGramOptions", "ngram_size:int max_skip_size:int include_all_ngrams:bool"},
    {19, "SpaceToDepthOptions", "block_size:int"},
    {20, "EmbeddingLookupSparseOptions", "combiner:byte"},
    {21, "MulOptions", "fused_activation_function:byte"},
    {22, "PadOptions", ""},
    {23, "GatherOptions", "axis:int batch_dims:int"},
    {24, "BatchToSpaceNDOptions", ""},
    {25, "SpaceToBatchNDOptions", ""},
    {26, "TransposeOptions", ""},
    {27, "ReducerOptions", "keep_dims:bool"},
    {28, "SubOptions", "fused_activation_function:byte pot_scale_int16:bool=1"},
    {29, "DivOptions", "fused_activation_function:byte"},
    {30, "SqueezeOptions", "squeeze_dims:ints"},
    {31, "SequenceRNNOptions",
     "time_major:bool fused_activation_function:byte asymmetric_quantize_inputs:bool"},
    {32, "StridedSliceOptions",
     "begin_mask:int end_mask:int ellipsis_mask:int new_axis_mask:int shrink_axis_mask:int "
     "offset:bool"},
    {33, "ExpOptions", ""},
    {34, "TopKV2Options", ""},
    {35, "SplitOptions", "num_splits:int"},
    {36, "LogSoftmaxOptions", ""},
    {37, "CastOptions", "in_data_type:byte out_data_type:byte"},
    {38, "DequantizeOptions", ""},
    {39, "MaximumMinimumOptions", ""},
    {40, "ArgMaxOptions", "output_type:byte"},
    {41, "LessOptions", ""},
    {42, "NegOptions", ""},
    {43, "PadV2Options", ""},
    {44, "GreaterOptions", ""},
    {45, "GreaterEqualOptions", ""},
    {46, "LessEqualOptions", ""},
    {47, "SelectOptions", ""},
    {48, "SliceOptions", ""},
    {49, "TransposeConvOptions",
     "padding:byte stride_w:int stride_h:int fused_activation_function:byte "
     "quantized_bias_type:byte"},
    {50, "SparseToDenseOptions", "validate_indices:bool"},
    {51, "TileOptions", ""},
    {52, "ExpandDimsOptions", ""},
    {53, "EqualOptions", ""},
    {54, "NotEqualOptions", ""},
    {55, "ShapeOptions", "out_type:byte"},
    {56, "PowOptions", ""},
    {57, "ArgMinOptions", "output_type:byte"},
    {58, "FakeQuantOptions", "min:float max:float num_bits:int narrow_range:bool"},
    {59, "PackOptions", "values_count:int axis:int"},
    {60, "LogicalOrOptions", ""},
    {61, "OneHotOptions", "axis:int"},
    {62, "LogicalAndOptions", ""},
    {63, "LogicalNotOptions", ""},
    {64, "UnpackOptions", "num:int axis:int"},
    {65, "FloorDivOptions", ""},
    {66, "SquareOptions", ""},
    {67, "ZerosLikeOptions", ""},
    {68, "FillOptions", ""},
    {69, "BidirectionalSequenceLSTMOptions",
     "fused_activation_function:byte cell_clip:float proj_clip:float merge_outputs:bool "
     "time_major:bool=1 asymmetric_quantize_inputs:bool"},
    {70, "BidirectionalSequenceRNNOptions",
     "time_major:bool fused_activation_function:byte merge_outputs:bool "
     "asymmetric_quantize_inputs:bool"},
    {71, "UnidirectionalSequenceLSTMOptions",
     "fused_activation_function:byte cell_clip:float proj_clip:float time_major:bool "
     "asymmetric_quantize_inputs:bool diagonal_recurrent_tensors:bool"},
    {72, "FloorModOptions", ""},
    {73, "RangeOptions", ""},
    {74, "ResizeNearestNeighborOptions", "align_corners:bool half_pixel_centers:bool"},
    {75, "LeakyReluOptions", "alpha:float"},
    {76, "SquaredDifferenceOptions", ""},
    {77, "MirrorPadOptions", "mode:byte"},
    {78, "AbsOptions", ""},
    {79, "SplitVOptions", "num_splits:int"},
    {80, "UniqueOptions", "idx_out_type:byte=2"},
    {81, "ReverseV2Options", ""},
    {82, "AddNOptions", ""},
    {83, "GatherNdOptions", ""},
    {84, "CosOptions", ""},
    {85, "WhereOptions", ""},
    {86, "RankOptions", ""},
    {87, "ReverseSequenceOptions", "seq_dim:int batch_dim:int"},
    {88, "MatrixDiagOptions", ""},
    {89, "QuantizeOptions", ""},
    {90, "MatrixSetDiagOptions", ""},
    {91, "HardSwishOptions", ""},
    {92, "IfOptions", "then_subgraph_index:int else_subgraph_index:int"},
    {93, "WhileOptions", "cond_subgraph_index:int body_subgraph_index:int"},
    {94, "DepthToSpaceOptions", "block_size:int"},
    {95, "NonMaxSuppressionV4Options", ""},
    {96, "NonMaxSuppressionV5Options", ""},
    {97, "ScatterNdOptions", ""},
    {98, "SelectV2Options", ""},
    {99, "DensifyOptions", ""},
    {100, "SegmentSumOptions", ""},
    {101, "BatchMatMulOptions", "adj_x:bool adj_y:bool asymmetric_quantize_inputs:bool"},
    {102, "CumsumOptions", "exclusive:bool reverse:bool"},
    {103, "CallOnceOptions", "init_subgraph_index:int"},
    {104, "BroadcastToOptions", ""},
    {105, "Rfft2dOptions", ""},
    {106, "Conv3DOptions",
     "padding:byte stride_d:int stride_w:int stride_h:int fused_activation_function:byte "
     "dilation_d_factor:int=1 dilation_w_factor:int=1 dilation_h_factor:int=1"},
    {107, "HashtableOptions", "table_id:int key_dtype:byte value_dtype:byte"},
    {108, "HashtableFindOptions", ""},
    {109, "HashtableImportOptions", ""},
    {110, "HashtableSizeOptions", ""},
    {111, "VarHandleOptions", "container:text shared_name:text"},
    {112, "ReadVariableOptions", ""},
    {113, "AssignVariableOptions", ""},
    {114, "RandomOptions", "seed:long seed2:long"},
    {115, "BucketizeOptions", "boundaries:floats"},
    {116, "GeluOptions", "approximate:bool"},
    {117, "DynamicUpdateSliceOptions", ""},
    {118, "UnsortedSegmentProdOptions", ""},
    {119, "UnsortedSegmentMaxOptions", ""},
    {120, "UnsortedSegmentMinOptions", ""},
    {121, "UnsortedSegmentSumOptions", ""},
    {122, "ATan2Options", ""},
    {123, "SignOptions", ""},
    {124, "BitcastOptions", ""},
    {125, "BitwiseXorOptions", ""},
    {126, "RightShiftOptions", ""},
};
// Of the second union what is translated.
constexpr Row kSecond[] = {
    {21, "StableHLOCompositeOptions",
     "name:text decomposition_subgraph_index:int composite_attributes:table "
     "composite_attributes_format:byte version:int"},
};

FieldType type_of(const std::string& name) {
  if (name == "byte") return FieldType::kByte;
  if (name == "bool") return FieldType::kBool;
  if (name == "long") return FieldType::kLong;
  if (name == "float") return FieldType::kFloat;
  if (name == "ints") return FieldType::kInts;
  if (name == "longs") return FieldType::kLongs;
  if (name == "floats") return FieldType::kFloats;
  if (name == "text") return FieldType::kText;
  if (name == "table") return FieldType::kTable;
  return FieldType::kInt;
}

OptionTable parsed(const Row& row, bool second) {
  OptionTable table{row.kind, second, row.name, {}};
  std::istringstream words(row.fields);
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':'), equals = word.find('=');
    OptionField field;
    field.name = word.substr(0, colon);
    field.type = type_of(word.substr(colon + 1, equals - colon - 1));
    if (equals != std::string::npos) field.otherwise = std::stod(word.substr(equals + 1));
    table.fields.push_back(std::move(field));
  }
  return table;
}

}  // namespace

const std::vector<OptionTable>& option_tables() {
  static const std::vector<OptionTable> kTables = [] {
    std::vector<OptionTable> all;
    for (const Row& row : kFirst) all.push_back(parsed(row, false));
    for (const Row& row : kSecond) all.push_back(parsed(row, true));
    return all;
  }();
  return kTables;
}

const OptionTable* find_options(int kind, bool second) {
  for (const OptionTable& table : option_tables())
    if (table.kind == kind && table.second == second) return &table;
  return nullptr;
}

}  // namespace ingot::tflite
