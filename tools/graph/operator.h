// SPDX-License-Identifier: Apache-2.0
// tools/graph/operator.h - the operators of a graph, from the rows of operators.def. Code names one
// as op::Conv: a name that has no row does not compile.
// Threads  any.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace ingot::graph {

enum class Operator : uint16_t {
  kNone,  // of a name without a row
#define OPERATOR(name, form, kind, operands, inputs, attributes) name,
#include "tools/graph/operators.def"
#undef OPERATOR
};

enum class OperatorClass : uint8_t {
  kElementwise,
  kMovement,
  kIndex,
  kProduct,
  kWindow,
  kReduction,
  kNormalization,
  kRecurrent,
  kAttention,
  kSampling,
  kSelection,
  kControl,
  kQuantization,
  kSpectral,
  kRandom,
  kSequence,
  kGeneration,
  kLoss,
  kCustom
};

enum class OperatorForm : uint8_t { kSource, kNormal, kCore, kBoth };

struct OperatorRow {
  const char* name;
  OperatorForm form;
  OperatorClass kind;
  const char* operands;
};
/// By Operator; the first is kNone's.
inline constexpr OperatorRow kOperators[] = {
    {"", OperatorForm::kSource, OperatorClass::kCustom, ""},
#define OPERATOR(name, form, kind, operands, inputs, attributes) \
  {#name, OperatorForm::k##form, OperatorClass::k##kind, operands},
#include "tools/graph/operators.def"
#undef OPERATOR
};
inline constexpr size_t kOperatorCount = std::size(kOperators);

constexpr const OperatorRow& row_of(Operator op) { return kOperators[size_t(op)]; }
constexpr OperatorClass class_of(Operator op) { return row_of(op).kind; }
/// "Conv".
inline std::string text(Operator op) { return row_of(op).name; }

/// kNone where no row has the name.
constexpr Operator find_operator(std::string_view name) {
  for (size_t i = 1; i < kOperatorCount; i++)
    if (name == kOperators[i].name) return Operator(i);
  return Operator::kNone;
}

/// A set of operators that is known when it is compiled.
class Operators {
 public:
  constexpr Operators(std::initializer_list<Operator> all) {
    for (const Operator op : all) words_[size_t(op) / 64] |= uint64_t(1) << (size_t(op) % 64);
  }
  constexpr bool has(Operator op) const {
    return (words_[size_t(op) / 64] >> (size_t(op) % 64) & 1) != 0;
  }

 private:
  uint64_t words_[kOperatorCount / 64 + 1] = {};
};

}  // namespace ingot::graph

namespace ingot::op {
using enum graph::Operator;
}  // namespace ingot::op

namespace ingot::graph {

/// ONNX's reductions; Reduce is what they become.
inline constexpr Operators kReductions = {
    op::ReduceSum, op::ReduceMean, op::ReduceMax,       op::ReduceMin,    op::ReduceProd,
    op::ReduceL1,  op::ReduceL2,   op::ReduceSumSquare, op::ReduceLogSum, op::ReduceLogSumExp};
/// ONNX's layers over time; Recurrent is what they become.
inline constexpr Operators kRecurrences = {op::LSTM, op::GRU, op::RNN};

/// It quantizes numbers to bytes, or computes on such.
constexpr bool is_of_integers(Operator op) {
  constexpr Operators kProducts = {
      op::ConvInteger,     op::DynamicQuantizeLSTM, op::Lookup,
      op::MatMulInteger,   op::QuantizedConv2d,     op::QuantizedLinear,
      op::QuantizedMatMul, op::QuantizedPool2d,     op::QuantizedSoftmax};
  return kProducts.has(op) ||
         (class_of(op) == OperatorClass::kQuantization && op != op::BlockQuantize);
}

}  // namespace ingot::graph
