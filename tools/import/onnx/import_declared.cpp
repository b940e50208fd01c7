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
  const char* name;
  /// What it is where the file does not say; an Optional one is absent then.
  std::variant<int64_t, double, const char*, OptionalInteger, OptionalNumber, OptionalIntegers,
               OptionalNumbers, ElementTypeNumber>
      otherwise;
};
struct DeclaredOperator {
  const char* op;
  size_t fewest, most;  // inputs
  std::vector<DeclaredAttribute> attributes;
};

void read_declared(Call& call, graph::Node& made, const DeclaredAttribute& row) {
  graph::Attribute& into = made.attributes[row.name];
  const auto present = [&](int32_t type) {
    if (call.attribute(row.name, type)) return true;
    made.attributes.erase(row.name);
    return false;
  };
  if (const auto* number = std::get_if<int64_t>(&row.otherwise))
    into = call.integer(row.name, *number);
  else if (const auto* real = std::get_if<double>(&row.otherwise))
    into = call.number(row.name, *real);
  else if (const auto* word = std::get_if<const char*>(&row.otherwise))
    into = call.text(row.name, *word);
  else if (std::holds_alternative<OptionalInteger>(row.otherwise)) {
    if (present(kAttributeInt)) into = call.integer(row.name, 0);
  } else if (std::holds_alternative<OptionalNumber>(row.otherwise)) {
    if (present(kAttributeFloat)) into = call.number(row.name, 0);
  } else if (std::holds_alternative<OptionalIntegers>(row.otherwise)) {
    if (present(kAttributeInts)) into = *call.integers(row.name);
  } else if (std::holds_alternative<OptionalNumbers>(row.otherwise)) {
    if (present(kAttributeFloats)) into = *call.numbers(row.name);
  } else {
    const int64_t type = call.integer(row.name, 0);
    const DType dtype = type > 0 && type <= INT_MAX ? dtype_of(int32_t(type)) : DType::kInvalid;
    into = int64_t(dtype);
    if (dtype == DType::kInvalid)
      call.refuse(row.name, "element type " + std::to_string(type) + " is not supported");
  }
}

const std::vector<DeclaredOperator>& declared_operators() {
  using I = int64_t;
  static const std::vector<DeclaredOperator> kRows = {
      {"NegativeLogLikelihoodLoss",
       2,
       3,
       {{"ignore_index", OptionalInteger()}, {"reduction", "mean"}}},
      {"SoftmaxCrossEntropyLoss",
       2,
       3,
       {{"ignore_index", OptionalInteger()}, {"reduction", "mean"}}},
      {"SequenceConstruct", 1, SIZE_MAX, {}},
      {"SequenceEmpty", 0, 0, {}},
      {"SequenceInsert", 2, 3, {}},
      {"SequenceErase", 1, 2, {}},
      {"SequenceAt", 2, 2, {}},
      {"SequenceLength", 1, 1, {}},
      {"ConcatFromSequence", 1, 1, {{"axis", I(0)}, {"new_axis", I(0)}}},
      {"SplitToSequence", 1, 2, {{"axis", I(0)}, {"keepdims", I(1)}}},
      {"Optional", 0, 1, {}},
      {"OptionalGetElement", 1, 1, {}},
      {"OptionalHasElement", 0, 1, {}},
      {"CumProd", 2, 2, {{"exclusive", I(0)}, {"reverse", I(0)}}},
      {"Det", 1, 1, {}},
      {"SwiGLU", 2, 2, {{"alpha", 1.0}}},
      {"TensorScatter", 2, 3, {{"axis", I(-2)}, {"mode", "linear"}}},
      {"CausalConvWithState", 2, 4, {{"activation", "none"}}},
      {"LinearAttention",
       3,
       6,
       {{"q_num_heads", I(0)},
        {"kv_num_heads", I(0)},
        {"scale", 0.0},
        {"update_rule", "gated_delta"}}},
      {"Col2Im",
       3,
       3,
       {{"dilations", OptionalIntegers()},
        {"pads", OptionalIntegers()},
        {"strides", OptionalIntegers()}}},
      {"DeformConv",
       3,
       5,
       {{"dilations", OptionalIntegers()},
        {"group", I(1)},
        {"kernel_shape", OptionalIntegers()},
        {"offset_group", I(1)},
        {"pads", OptionalIntegers()},
        {"strides", OptionalIntegers()}}},
      {"TfIdfVectorizer",
       1,
       1,
       {{"max_gram_length", I(0)},
        {"max_skip_count", I(0)},
        {"min_gram_length", I(0)},
        {"mode", ""},
        {"ngram_counts", OptionalIntegers()},
        {"ngram_indexes", OptionalIntegers()},
        {"pool_int64s", OptionalIntegers()},
        {"weights", OptionalNumbers()}}},
      {"BitCast", 1, 1, {{"to", ElementTypeNumber()}}},
  };
  return kRows;
}

void declared(Call& call) {
  for (const DeclaredOperator& row : declared_operators()) {
    if (call.node().op != row.op) continue;
    call.expect_inputs(row.fewest, row.most);
    graph::Node& made = call.emit(row.op);
    for (const DeclaredAttribute& attribute : row.attributes) read_declared(call, made, attribute);
  }
}

}  // namespace

void add_declared(TranslateTable& table) {
  for (const DeclaredOperator& row : declared_operators()) table[row.op] = declared;
}

}  // namespace ingot::onnx
