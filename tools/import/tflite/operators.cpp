// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/operators.cpp - every builtin operator that TFLite has: its number, its name,
// its kind of options.
#include <vector>

#include "tools/import/tflite/call.h"

namespace ingot::tflite {
namespace {

constexpr int kCustomCode = 32;
constexpr OperatorRow kRows[] = {
    // clang-format off
    {0, "ADD", 11, false, nullptr},
    {1, "AVERAGE_POOL_2D", 5, false, nullptr},
    {2, "CONCATENATION", 10, false, nullptr},
    {3, "CONV_2D", 1, false, nullptr},
    {4, "DEPTHWISE_CONV_2D", 2, false, nullptr},
    {5, "DEPTH_TO_SPACE", 94, false, nullptr},
    {6, "DEQUANTIZE", 38, false, nullptr},
    {7, "EMBEDDING_LOOKUP", 0, false, nullptr},
    {8, "FLOOR", 0, false, nullptr},
    {9, "FULLY_CONNECTED", 8, false, nullptr},
    {10, "HASHTABLE_LOOKUP", 0, false, nullptr},
    {11, "L2_NORMALIZATION", 12, false, nullptr},
    {12, "L2_POOL_2D", 5, false, nullptr},
    {13, "LOCAL_RESPONSE_NORMALIZATION", 13, false, nullptr},
    {14, "LOGISTIC", 0, false, nullptr},
    {15, "LSH_PROJECTION", 4, false, nullptr},
    {16, "LSTM", 14, false, nullptr},
    {17, "MAX_POOL_2D", 5, false, nullptr},
    {18, "MUL", 21, false, nullptr},
    {19, "RELU", 0, false, nullptr},
    {20, "RELU_N1_TO_1", 0, false, nullptr},
    {21, "RELU6", 0, false, nullptr},
    {22, "RESHAPE", 17, false, nullptr},
    {23, "RESIZE_BILINEAR", 15, false, nullptr},
    {24, "RNN", 7, false, nullptr},
    {25, "SOFTMAX", 9, false, nullptr},
    {26, "SPACE_TO_DEPTH", 19, false, nullptr},
    {27, "SVDF", 6, false, nullptr},
    {28, "TANH", 0, false, nullptr},
    {29, "CONCAT_EMBEDDINGS", 3, false, nullptr},
    {30, "SKIP_GRAM", 18, false, nullptr},
    {31, "CALL", 16, false, nullptr},
    {32, "CUSTOM", 0, false, nullptr},
    {33, "EMBEDDING_LOOKUP_SPARSE", 20, false, nullptr},
    {34, "PAD", 22, false, nullptr},
    {35, "UNIDIRECTIONAL_SEQUENCE_RNN", 31, false, nullptr},
    {36, "GATHER", 23, false, nullptr},
    {37, "BATCH_TO_SPACE_ND", 24, false, nullptr},
    {38, "SPACE_TO_BATCH_ND", 25, false, nullptr},
    {39, "TRANSPOSE", 26, false, nullptr},
    {40, "MEAN", 27, false, nullptr},
    {41, "SUB", 28, false, nullptr},
    {42, "DIV", 29, false, nullptr},
    {43, "SQUEEZE", 30, false, nullptr},
    {44, "UNIDIRECTIONAL_SEQUENCE_LSTM", 71, false, nullptr},
    {45, "STRIDED_SLICE", 32, false, nullptr},
    {46, "BIDIRECTIONAL_SEQUENCE_RNN", 70, false, nullptr},
    {47, "EXP", 33, false, nullptr},
    {48, "TOPK_V2", 34, false, nullptr},
    {49, "SPLIT", 35, false, nullptr},
    {50, "LOG_SOFTMAX", 36, false, nullptr},
    {51, "DELEGATE", 0, false, nullptr},
    {52, "BIDIRECTIONAL_SEQUENCE_LSTM", 69, false, nullptr},
    {53, "CAST", 37, false, nullptr},
    {54, "PRELU", 0, false, nullptr},
    {55, "MAXIMUM", 39, false, nullptr},
    {56, "ARG_MAX", 40, false, nullptr},
    {57, "MINIMUM", 39, false, nullptr},
    {58, "LESS", 41, false, nullptr},
    {59, "NEG", 42, false, nullptr},
    {60, "PADV2", 43, false, nullptr},
    {61, "GREATER", 44, false, nullptr},
    {62, "GREATER_EQUAL", 45, false, nullptr},
    {63, "LESS_EQUAL", 46, false, nullptr},
    {64, "SELECT", 47, false, nullptr},
    {65, "SLICE", 48, false, nullptr},
    {66, "SIN", 0, false, nullptr},
    {67, "TRANSPOSE_CONV", 49, false, nullptr},
    {68, "SPARSE_TO_DENSE", 50, false, nullptr},
    {69, "TILE", 51, false, nullptr},
    {70, "EXPAND_DIMS", 52, false, nullptr},
    {71, "EQUAL", 53, false, nullptr},
    {72, "NOT_EQUAL", 54, false, nullptr},
    {73, "LOG", 0, false, nullptr},
    {74, "SUM", 27, false, nullptr},
    {75, "SQRT", 0, false, nullptr},
    {76, "RSQRT", 0, false, nullptr},
    {77, "SHAPE", 55, false, nullptr},
    {78, "POW", 56, false, nullptr},
    {79, "ARG_MIN", 57, false, nullptr},
    {80, "FAKE_QUANT", 58, false, nullptr},
    {81, "REDUCE_PROD", 27, false, nullptr},
    {82, "REDUCE_MAX", 27, false, nullptr},
    {83, "PACK", 59, false, nullptr},
    {84, "LOGICAL_OR", 60, false, nullptr},
    {85, "ONE_HOT", 61, false, nullptr},
    {86, "LOGICAL_AND", 62, false, nullptr},
    {87, "LOGICAL_NOT", 63, false, nullptr},
    {88, "UNPACK", 64, false, nullptr},
    {89, "REDUCE_MIN", 27, false, nullptr},
    {90, "FLOOR_DIV", 65, false, nullptr},
    {91, "REDUCE_ANY", 27, false, nullptr},
    {92, "SQUARE", 66, false, nullptr},
    {93, "ZEROS_LIKE", 67, false, nullptr},
    {94, "FILL", 68, false, nullptr},
    {95, "FLOOR_MOD", 72, false, nullptr},
    {96, "RANGE", 73, false, nullptr},
    {97, "RESIZE_NEAREST_NEIGHBOR", 74, false, nullptr},
    {98, "LEAKY_RELU", 75, false, nullptr},
    {99, "SQUARED_DIFFERENCE", 76, false, nullptr},
    {100, "MIRROR_PAD", 77, false, nullptr},
    {101, "ABS", 78, false, nullptr},
    {102, "SPLIT_V", 79, false, nullptr},
    {103, "UNIQUE", 80, false, nullptr},
    {104, "CEIL", 0, false, nullptr},
    {105, "REVERSE_V2", 81, false, nullptr},
    {106, "ADD_N", 82, false, nullptr},
    {107, "GATHER_ND", 83, false, nullptr},
    {108, "COS", 84, false, nullptr},
    {109, "WHERE", 85, false, nullptr},
    {110, "RANK", 86, false, nullptr},
    {111, "ELU", 0, false, nullptr},
    {112, "REVERSE_SEQUENCE", 87, false, nullptr},
    {113, "MATRIX_DIAG", 88, false, nullptr},
    {114, "QUANTIZE", 89, false, nullptr},
    {115, "MATRIX_SET_DIAG", 90, false, nullptr},
    {116, "ROUND", 0, false, nullptr},
    {117, "HARD_SWISH", 91, false, nullptr},
    {118, "IF", 92, false, nullptr},
    {119, "WHILE", 93, false, nullptr},
    {120, "NON_MAX_SUPPRESSION_V4", 95, false, nullptr},
    {121, "NON_MAX_SUPPRESSION_V5", 96, false, nullptr},
    {122, "SCATTER_ND", 97, false, nullptr},
    {123, "SELECT_V2", 98, false, nullptr},
    {124, "DENSIFY", 99, false, nullptr},
    {125, "SEGMENT_SUM", 100, false, nullptr},
    {126, "BATCH_MATMUL", 101, false, nullptr},
    // no operator: what the old field, one byte, says where the number stands in the new one
    {127, "PLACEHOLDER_FOR_GREATER_OP_CODES", 0, false, nullptr},
    {128, "CUMSUM", 102, false, nullptr},
    {129, "CALL_ONCE", 103, false, nullptr},
    {130, "BROADCAST_TO", 104, false, nullptr},
    {131, "RFFT2D", 105, false, nullptr},
    {132, "CONV_3D", 106, false, nullptr},
    {133, "IMAG", 0, false, nullptr},
    {134, "REAL", 0, false, nullptr},
    {135, "COMPLEX_ABS", 0, false, nullptr},
    {136, "HASHTABLE", 107, false, nullptr},
    {137, "HASHTABLE_FIND", 108, false, nullptr},
    {138, "HASHTABLE_IMPORT", 109, false, nullptr},
    {139, "HASHTABLE_SIZE", 110, false, nullptr},
    {140, "REDUCE_ALL", 27, false, nullptr},
    {141, "CONV_3D_TRANSPOSE", 106, false, nullptr},
    {142, "VAR_HANDLE", 111, false, nullptr},
    {143, "READ_VARIABLE", 112, false, nullptr},
    {144, "ASSIGN_VARIABLE", 113, false, nullptr},
    {145, "BROADCAST_ARGS", 0, false, nullptr},
    {146, "RANDOM_STANDARD_NORMAL", 114, false, nullptr},
    {147, "BUCKETIZE", 115, false, nullptr},
    {148, "RANDOM_UNIFORM", 114, false, nullptr},
    {149, "MULTINOMIAL", 114, false, nullptr},
    {150, "GELU", 116, false, nullptr},
    {151, "DYNAMIC_UPDATE_SLICE", 117, false, nullptr},
    {152, "RELU_0_TO_1", 0, false, nullptr},
    {153, "UNSORTED_SEGMENT_PROD", 118, false, nullptr},
    {154, "UNSORTED_SEGMENT_MAX", 119, false, nullptr},
    {155, "UNSORTED_SEGMENT_SUM", 121, false, nullptr},
    {156, "ATAN2", 122, false, nullptr},
    {157, "UNSORTED_SEGMENT_MIN", 120, false, nullptr},
    {158, "SIGN", 123, false, nullptr},
    {159, "BITCAST", 124, false, nullptr},
    {160, "BITWISE_XOR", 125, false, nullptr},
    {161, "RIGHT_SHIFT", 126, false, nullptr},
    {162, "STABLEHLO_LOGISTIC", 0, false, nullptr},
    {163, "STABLEHLO_ADD", 0, false, nullptr},
    {164, "STABLEHLO_DIVIDE", 0, false, nullptr},
    {165, "STABLEHLO_MULTIPLY", 0, false, nullptr},
    {166, "STABLEHLO_MAXIMUM", 0, false, nullptr},
    {167, "STABLEHLO_RESHAPE", 0, false, nullptr},
    {168, "STABLEHLO_CLAMP", 0, false, nullptr},
    {169, "STABLEHLO_CONCATENATE", 0, false, nullptr},
    {170, "STABLEHLO_BROADCAST_IN_DIM", 0, false, nullptr},
    {171, "STABLEHLO_CONVOLUTION", 0, false, nullptr},
    {172, "STABLEHLO_SLICE", 0, false, nullptr},
    {173, "STABLEHLO_CUSTOM_CALL", 0, false, nullptr},
    {174, "STABLEHLO_REDUCE", 0, false, nullptr},
    {175, "STABLEHLO_ABS", 0, false, nullptr},
    {176, "STABLEHLO_AND", 0, false, nullptr},
    {177, "STABLEHLO_COSINE", 0, false, nullptr},
    {178, "STABLEHLO_EXPONENTIAL", 0, false, nullptr},
    {179, "STABLEHLO_FLOOR", 0, false, nullptr},
    {180, "STABLEHLO_LOG", 0, false, nullptr},
    {181, "STABLEHLO_MINIMUM", 0, false, nullptr},
    {182, "STABLEHLO_NEGATE", 0, false, nullptr},
    {183, "STABLEHLO_OR", 0, false, nullptr},
    {184, "STABLEHLO_POWER", 0, false, nullptr},
    {185, "STABLEHLO_REMAINDER", 0, false, nullptr},
    {186, "STABLEHLO_RSQRT", 0, false, nullptr},
    {187, "STABLEHLO_SELECT", 0, false, nullptr},
    {188, "STABLEHLO_SUBTRACT", 0, false, nullptr},
    {189, "STABLEHLO_TANH", 0, false, nullptr},
    {190, "STABLEHLO_SCATTER", 0, false, nullptr},
    {191, "STABLEHLO_COMPARE", 0, false, nullptr},
    {192, "STABLEHLO_CONVERT", 0, false, nullptr},
    {193, "STABLEHLO_DYNAMIC_SLICE", 0, false, nullptr},
    {194, "STABLEHLO_DYNAMIC_UPDATE_SLICE", 0, false, nullptr},
    {195, "STABLEHLO_PAD", 0, false, nullptr},
    {196, "STABLEHLO_IOTA", 0, false, nullptr},
    {197, "STABLEHLO_DOT_GENERAL", 0, false, nullptr},
    {198, "STABLEHLO_REDUCE_WINDOW", 0, false, nullptr},
    {199, "STABLEHLO_SORT", 0, false, nullptr},
    {200, "STABLEHLO_WHILE", 0, false, nullptr},
    {201, "STABLEHLO_GATHER", 0, false, nullptr},
    {202, "STABLEHLO_TRANSPOSE", 0, false, nullptr},
    {203, "DILATE", 0, false, nullptr},
    {204, "STABLEHLO_RNG_BIT_GENERATOR", 0, false, nullptr},
    {205, "REDUCE_WINDOW", 0, false, nullptr},
    {206, "STABLEHLO_COMPOSITE", 21, true, nullptr},
    {207, "STABLEHLO_SHIFT_LEFT", 0, false, nullptr},
    {208, "STABLEHLO_CBRT", 0, false, nullptr},
    {209, "STABLEHLO_CASE", 0, false, nullptr},
    {kCustomCode, "TFLite_Detection_PostProcess", 0, false, nullptr},
    {kCustomCode, "Convolution2DTransposeBias", 0, false, nullptr},
    {kCustomCode, "Landmarks2TransformMatrix", 0, false, nullptr},
    {kCustomCode, "TransformTensorBilinear", 0, false, nullptr},
    {kCustomCode, "TransformLandmarks", 0, false, nullptr},
    {kCustomCode, "SignalWindow", 0, false, nullptr},
    {kCustomCode, "SignalFftAutoScale", 0, false, nullptr},
    {kCustomCode, "SignalRfft", 0, false, nullptr},
    {kCustomCode, "SignalEnergy", 0, false, nullptr},
    {kCustomCode, "SignalFilterBank", 0, false, nullptr},
    {kCustomCode, "SignalFilterBankSquareRoot", 0, false, nullptr},
    {kCustomCode, "SignalFilterBankSpectralSubtraction", 0, false, nullptr},
    {kCustomCode, "SignalPCAN", 0, false, nullptr},
    {kCustomCode, "SignalFilterBankLog", 0, false, nullptr},
    {kCustomCode, "SignalFramer", 0, false, nullptr},
    {kCustomCode, "SignalDelay", 0, false, nullptr},
    {kCustomCode, "SignalStacker", 0, false, nullptr},
    {kCustomCode, "SignalOverlapAdd", 0, false, nullptr},
    // clang-format on
};

}  // namespace

const TranslateTable& translate_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_convolution(table);
    add_pool(table);
    add_product(table);
    add_elementwise(table);
    add_normalize(table);
    add_reduce(table);
    add_shape(table);
    add_slice(table);
    add_gather(table);
    add_arrange(table);
    add_generate(table);
    add_resize(table);
    add_spectral(table);
    add_signal(table);
    add_recurrent(table);
    add_control(table);
    add_detection(table);
    add_landmarks(table);
    add_variables(table);
    return table;
  }();
  return kTable;
}

const QuantizedTable& quantized_table() {
  static const QuantizedTable kTable = [] {
    QuantizedTable table;
    add_quantized_products(table);
    add_quantized_arithmetic(table);
    add_quantized_reduce(table);
    add_quantized_transposed(table);
    add_quantized_resize(table);
    add_quantized_recurrent(table);
    add_quantized_wide(table);
    add_quantized_functions(table);
    add_quantized_movement(table);
    add_int8_binary(table);
    add_quantized_normalize(table);
    return table;
  }();
  return kTable;
}

const QuantizedTable& int16_table() {
  static const QuantizedTable kTable = [] {
    QuantizedTable table;
    add_int16(table);
    return table;
  }();
  return kTable;
}

const OperatorRow* find_operator(const OperatorKind& kind) {
  static const std::vector<OperatorRow> kAll = [] {
    std::vector<OperatorRow> all;
    for (OperatorRow row : kRows) {
      const auto found = translate_table().find(row.name);
      if (found != translate_table().end()) row.translate = found->second;
      all.push_back(row);
    }
    return all;
  }();
  for (const OperatorRow& row : kAll)
    if (row.code == kind.code && (row.code != kCustomCode || row.name == kind.custom)) return &row;
  return nullptr;
}

std::string operator_name(const OperatorKind& kind) {
  if (kind.code == kCustomCode)
    return "CUSTOM " + (kind.custom.empty() ? "(no name)" : kind.custom);
  const OperatorRow* row = find_operator(kind);
  return row ? row->name : "builtin operator " + std::to_string(kind.code);
}

}  // namespace ingot::tflite
