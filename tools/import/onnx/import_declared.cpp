// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_declared.cpp - operators that become a node of the same name, with the
// inputs and attributes that their row declares; what they mean is a rule of shape inference.
#include <climits>
#include <cstdint>
#include <variant>

#include "tools/import/onnx/call.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

struct OptionalInteger {};
struct OptionalNumber {};
struct OptionalIntegers {};
struct OptionalNumbers {};
struct ElementTypeNumber {};  // of TensorProto, which becomes a DType
struct DeclaredAttribute {
  graph::AttributeName name;
  /// What it is where the file does not say; an Optional one is absent then.
  std::variant<int64_t, double, const char*, OptionalInteger, OptionalNumber, OptionalIntegers,
               OptionalNumbers, ElementTypeNumber>
      otherwise;
};
struct DeclaredOperator {
  graph::Operator op;
  size_t fewest, most;  // inputs
  std::vector<DeclaredAttribute> attributes;
};

void read_declared(Call& call, graph::Node& made, const DeclaredAttribute& row) {
  graph::Attribute& into = made.attributes[row.name];
  const graph::AttributeName name = row.name;
  const auto present = [&](int32_t type) {
    if (call.attribute(name, type)) return true;
    made.attributes.erase(row.name);
    return false;
  };
  if (const auto* number = std::get_if<int64_t>(&row.otherwise))
    into = call.integer(name, *number);
  else if (const auto* real = std::get_if<double>(&row.otherwise))
    into = call.number(name, *real);
  else if (const auto* word = std::get_if<const char*>(&row.otherwise))
    into = call.text(name, *word);
  else if (std::holds_alternative<OptionalInteger>(row.otherwise)) {
    if (present(kAttributeInt)) into = call.integer(name, 0);
  } else if (std::holds_alternative<OptionalNumber>(row.otherwise)) {
    if (present(kAttributeFloat)) into = call.number(name, 0);
  } else if (std::holds_alternative<OptionalIntegers>(row.otherwise)) {
    if (present(kAttributeInts)) into = *call.integers(name);
  } else if (std::holds_alternative<OptionalNumbers>(row.otherwise)) {
    if (present(kAttributeFloats)) into = *call.numbers(name);
  } else {
    const int64_t type = call.integer(name, 0);
    const DType dtype = type > 0 && type <= INT_MAX ? dtype_of(int32_t(type)) : DType::kInvalid;
    into = int64_t(dtype);
    if (dtype == DType::kInvalid)
      call.refuse(text(name), "element type " + std::to_string(type) + " is not supported");
  }
}

const std::vector<DeclaredOperator>& declared_operators() {
  using I = int64_t;
  static const std::vector<DeclaredOperator> kRows = {
      {op::NegativeLogLikelihoodLoss,
       2,
       3,
       {{attr::ignore_index, OptionalInteger()}, {attr::reduction, "mean"}}},
      {op::SoftmaxCrossEntropyLoss,
       2,
       3,
       {{attr::ignore_index, OptionalInteger()}, {attr::reduction, "mean"}}},
      {op::SequenceConstruct, 1, SIZE_MAX, {}},
      {op::SequenceEmpty, 0, 0, {}},
      {op::SequenceInsert, 2, 3, {}},
      {op::SequenceErase, 1, 2, {}},
      {op::SequenceAt, 2, 2, {}},
      {op::SequenceLength, 1, 1, {}},
      {op::ConcatFromSequence, 1, 1, {{attr::axis, I(0)}, {attr::new_axis, I(0)}}},
      {op::SplitToSequence, 1, 2, {{attr::axis, I(0)}, {attr::keepdims, I(1)}}},
      {op::Optional, 0, 1, {}},
      {op::OptionalGetElement, 1, 1, {}},
      {op::OptionalHasElement, 0, 1, {}},
      {op::CumProd, 2, 2, {{attr::exclusive, I(0)}, {attr::reverse, I(0)}}},
      {op::Det, 1, 1, {}},
      {op::SwiGLU, 2, 2, {{attr::alpha, 1.0}}},
      {op::TensorScatter, 2, 3, {{attr::axis, I(-2)}, {attr::mode, "linear"}}},
      {op::CausalConvWithState, 2, 4, {{attr::activation, "none"}}},
      {op::LinearAttention,
       3,
       6,
       {{attr::q_num_heads, I(0)},
        {attr::kv_num_heads, I(0)},
        {attr::scale, 0.0},
        {attr::update_rule, "gated_delta"}}},
      {op::Col2Im,
       3,
       3,
       {{attr::dilations, OptionalIntegers()},
        {attr::pads, OptionalIntegers()},
        {attr::strides, OptionalIntegers()}}},
      {op::DeformConv,
       3,
       5,
       {{attr::dilations, OptionalIntegers()},
        {attr::group, I(1)},
        {attr::kernel_shape, OptionalIntegers()},
        {attr::offset_group, I(1)},
        {attr::pads, OptionalIntegers()},
        {attr::strides, OptionalIntegers()}}},
      {op::TfIdfVectorizer,
       1,
       1,
       {{attr::max_gram_length, I(0)},
        {attr::max_skip_count, I(0)},
        {attr::min_gram_length, I(0)},
        {attr::mode, ""},
        {attr::ngram_counts, OptionalIntegers()},
        {attr::ngram_indexes, OptionalIntegers()},
        {attr::pool_int64s, OptionalIntegers()},
        {attr::weights, OptionalNumbers()}}},
      {op::BitCast, 1, 1, {{attr::to, ElementTypeNumber()}}},
  };
  return kRows;
}

void declared(Call& call) {
  for (const DeclaredOperator& row : declared_operators()) {
    if (call.op() != row.op) continue;
    call.expect_inputs(row.fewest, row.most);
    graph::Node& made = call.emit(row.op);
    for (const DeclaredAttribute& attribute : row.attributes) read_declared(call, made, attribute);
  }
}

}  // namespace

void add_declared(TranslateTable& table) {
  for (const DeclaredOperator& row : declared_operators()) table[row_of(row.op).name] = declared;
}

}  // namespace ingot::onnx
