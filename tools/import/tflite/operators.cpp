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
    {0, "ADD", 11},
    {1, "AVERAGE_POOL_2D", 5},
    {2, "CONCATENATION", 10},
    {3, "CONV_2D", 1},
    {4, "DEPTHWISE_CONV_2D", 2},
    {5, "DEPTH_TO_SPACE", 94},
    {6, "DEQUANTIZE", 38},
    {7, "EMBEDDING_LOOKUP"},
    {8, "FLOOR"},
    {9, "FULLY_CONNECTED", 8},
    {10, "HASHTABLE_LOOKUP"},
    {11, "L2_NORMALIZATION", 12},
    {12, "L2_POOL_2D", 5},
    {13, "LOCAL_RESPONSE_NORMALIZATION", 13},
    {14, "LOGISTIC"},
    {15, "LSH_PROJECTION", 4},
    {16, "LSTM", 14},
    {17, "MAX_POOL_2D", 5},
    {18, "MUL", 21},
    {19, "RELU"},
    {20, "RELU_N1_TO_1"},
    {21, "RELU6"},
    {22, "RESHAPE", 17},
    {23, "RESIZE_BILINEAR", 15},
    {24, "RNN", 7},
    {25, "SOFTMAX", 9},
    {26, "SPACE_TO_DEPTH", 19},
    {27, "SVDF", 6},
    {28, "TANH"},
    {29, "CONCAT_EMBEDDINGS", 3},
    {30, "SKIP_GRAM", 18},
    {31, "CALL", 16},
    {32, "CUSTOM"},
    {33, "EMBEDDING_LOOKUP_SPARSE", 20},
    {34, "PAD", 22},
    {35, "UNIDIRECTIONAL_SEQUENCE_RNN", 31},
    {36, "GATHER", 23},
    {37, "BATCH_TO_SPACE_ND", 24},
    {38, "SPACE_TO_BATCH_ND", 25},
    {39, "TRANSPOSE", 26},
    {40, "MEAN", 27},
    {41, "SUB", 28},
    {42, "DIV", 29},
    {43, "SQUEEZE", 30},
    {44, "UNIDIRECTIONAL_SEQUENCE_LSTM", 71},
    {45, "STRIDED_SLICE", 32},
    {46, "BIDIRECTIONAL_SEQUENCE_RNN", 70},
    {47, "EXP", 33},
    {48, "TOPK_V2", 34},
    {49, "SPLIT", 35},
    {50, "LOG_SOFTMAX", 36},
    {51, "DELEGATE"},
    {52, "BIDIRECTIONAL_SEQUENCE_LSTM", 69},
    {53, "CAST", 37},
    {54, "PRELU"},
    {55, "MAXIMUM", 39},
    {56, "ARG_MAX", 40},
    {57, "MINIMUM", 39},
    {58, "LESS", 41},
    {59, "NEG", 42},
    {60, "PADV2", 43},
    {61, "GREATER", 44},
    {62, "GREATER_EQUAL", 45},
    {63, "LESS_EQUAL", 46},
    {64, "SELECT", 47},
    {65, "SLICE", 48},
    {66, "SIN"},
    {67, "TRANSPOSE_CONV", 49},
    {68, "SPARSE_TO_DENSE", 50},
    {69, "TILE", 51},
    {70, "EXPAND_DIMS", 52},
    {71, "EQUAL", 53},
    {72, "NOT_EQUAL", 54},
    {73, "LOG"},
    {74, "SUM", 27},
    {75, "SQRT"},
    {76, "RSQRT"},
    {77, "SHAPE", 55},
    {78, "POW", 56},
    {79, "ARG_MIN", 57},
    {80, "FAKE_QUANT", 58},
    {81, "REDUCE_PROD", 27},
    {82, "REDUCE_MAX", 27},
    {83, "PACK", 59},
    {84, "LOGICAL_OR", 60},
    {85, "ONE_HOT", 61},
    {86, "LOGICAL_AND", 62},
    {87, "LOGICAL_NOT", 63},
    {88, "UNPACK", 64},
    {89, "REDUCE_MIN", 27},
    {90, "FLOOR_DIV", 65},
    {91, "REDUCE_ANY", 27},
    {92, "SQUARE", 66},
    {93, "ZEROS_LIKE", 67},
    {94, "FILL", 68},
    {95, "FLOOR_MOD", 72},
    {96, "RANGE", 73},
    {97, "RESIZE_NEAREST_NEIGHBOR", 74},
    {98, "LEAKY_RELU", 75},
    {99, "SQUARED_DIFFERENCE", 76},
    {100, "MIRROR_PAD", 77},
    {101, "ABS", 78},
    {102, "SPLIT_V", 79},
    {103, "UNIQUE", 80},
    {104, "CEIL"},
    {105, "REVERSE_V2", 81},
    {106, "ADD_N", 82},
    {107, "GATHER_ND", 83},
    {108, "COS", 84},
    {109, "WHERE", 85},
    {110, "RANK", 86},
    {111, "ELU"},
    {112, "REVERSE_SEQUENCE", 87},
    {113, "MATRIX_DIAG", 88},
    {114, "QUANTIZE", 89},
    {115, "MATRIX_SET_DIAG", 90},
    {116, "ROUND"},
    {117, "HARD_SWISH", 91},
    {118, "IF", 92},
    {119, "WHILE", 93},
    {120, "NON_MAX_SUPPRESSION_V4", 95},
    {121, "NON_MAX_SUPPRESSION_V5", 96},
    {122, "SCATTER_ND", 97},
    {123, "SELECT_V2", 98},
    {124, "DENSIFY", 99},
    {125, "SEGMENT_SUM", 100},
    {126, "BATCH_MATMUL", 101},
    // no operator: what the old field, one byte, says where the number stands in the new one
    {127, "PLACEHOLDER_FOR_GREATER_OP_CODES"},
    {128, "CUMSUM", 102},
    {129, "CALL_ONCE", 103},
    {130, "BROADCAST_TO", 104},
    {131, "RFFT2D", 105},
    {132, "CONV_3D", 106},
    {133, "IMAG"},
    {134, "REAL"},
    {135, "COMPLEX_ABS"},
    {136, "HASHTABLE", 107},
    {137, "HASHTABLE_FIND", 108},
    {138, "HASHTABLE_IMPORT", 109},
    {139, "HASHTABLE_SIZE", 110},
    {140, "REDUCE_ALL", 27},
    {141, "CONV_3D_TRANSPOSE", 106},
    {142, "VAR_HANDLE", 111},
    {143, "READ_VARIABLE", 112},
    {144, "ASSIGN_VARIABLE", 113},
    {145, "BROADCAST_ARGS"},
    {146, "RANDOM_STANDARD_NORMAL", 114},
    {147, "BUCKETIZE", 115},
    {148, "RANDOM_UNIFORM", 114},
    {149, "MULTINOMIAL", 114},
    {150, "GELU", 116},
    {151, "DYNAMIC_UPDATE_SLICE", 117},
    {152, "RELU_0_TO_1"},
    {153, "UNSORTED_SEGMENT_PROD", 118},
    {154, "UNSORTED_SEGMENT_MAX", 119},
    {155, "UNSORTED_SEGMENT_SUM", 121},
    {156, "ATAN2", 122},
    {157, "UNSORTED_SEGMENT_MIN", 120},
    {158, "SIGN", 123},
    {159, "BITCAST", 124},
    {160, "BITWISE_XOR", 125},
    {161, "RIGHT_SHIFT", 126},
    {162, "STABLEHLO_LOGISTIC"},
    {163, "STABLEHLO_ADD"},
    {164, "STABLEHLO_DIVIDE"},
    {165, "STABLEHLO_MULTIPLY"},
    {166, "STABLEHLO_MAXIMUM"},
    {167, "STABLEHLO_RESHAPE"},
    {168, "STABLEHLO_CLAMP"},
    {169, "STABLEHLO_CONCATENATE"},
    {170, "STABLEHLO_BROADCAST_IN_DIM"},
    {171, "STABLEHLO_CONVOLUTION"},
    {172, "STABLEHLO_SLICE"},
    {173, "STABLEHLO_CUSTOM_CALL"},
    {174, "STABLEHLO_REDUCE"},
    {175, "STABLEHLO_ABS"},
    {176, "STABLEHLO_AND"},
    {177, "STABLEHLO_COSINE"},
    {178, "STABLEHLO_EXPONENTIAL"},
    {179, "STABLEHLO_FLOOR"},
    {180, "STABLEHLO_LOG"},
    {181, "STABLEHLO_MINIMUM"},
    {182, "STABLEHLO_NEGATE"},
    {183, "STABLEHLO_OR"},
    {184, "STABLEHLO_POWER"},
    {185, "STABLEHLO_REMAINDER"},
    {186, "STABLEHLO_RSQRT"},
    {187, "STABLEHLO_SELECT"},
    {188, "STABLEHLO_SUBTRACT"},
    {189, "STABLEHLO_TANH"},
    {190, "STABLEHLO_SCATTER"},
    {191, "STABLEHLO_COMPARE"},
    {192, "STABLEHLO_CONVERT"},
    {193, "STABLEHLO_DYNAMIC_SLICE"},
    {194, "STABLEHLO_DYNAMIC_UPDATE_SLICE"},
    {195, "STABLEHLO_PAD"},
    {196, "STABLEHLO_IOTA"},
    {197, "STABLEHLO_DOT_GENERAL"},
    {198, "STABLEHLO_REDUCE_WINDOW"},
    {199, "STABLEHLO_SORT"},
    {200, "STABLEHLO_WHILE"},
    {201, "STABLEHLO_GATHER"},
    {202, "STABLEHLO_TRANSPOSE"},
    {203, "DILATE"},
    {204, "STABLEHLO_RNG_BIT_GENERATOR"},
    {205, "REDUCE_WINDOW"},
    {206, "STABLEHLO_COMPOSITE", 21, true},
    {207, "STABLEHLO_SHIFT_LEFT"},
    {208, "STABLEHLO_CBRT"},
    {209, "STABLEHLO_CASE"},
    {kCustomCode, "TFLite_Detection_PostProcess"},
    {kCustomCode, "Convolution2DTransposeBias"},
    {kCustomCode, "Landmarks2TransformMatrix"},
    {kCustomCode, "TransformTensorBilinear"},
    {kCustomCode, "TransformLandmarks"},
    {kCustomCode, "SignalWindow"},
    {kCustomCode, "SignalFftAutoScale"},
    {kCustomCode, "SignalRfft"},
    {kCustomCode, "SignalEnergy"},
    {kCustomCode, "SignalFilterBank"},
    {kCustomCode, "SignalFilterBankSquareRoot"},
    {kCustomCode, "SignalFilterBankSpectralSubtraction"},
    {kCustomCode, "SignalPCAN"},
    {kCustomCode, "SignalFilterBankLog"},
    {kCustomCode, "SignalFramer"},
    {kCustomCode, "SignalDelay"},
    {kCustomCode, "SignalStacker"},
    {kCustomCode, "SignalOverlapAdd"},
    // clang-format on
};

}  // namespace

const TranslateTable& translate_table() {
  static const TranslateTable kTable = [] {
    TranslateTable table;
    add_declared(table);
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
      if (found != translate_table().end()) row.translation = found->second;
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
