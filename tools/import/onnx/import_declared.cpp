// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_declared.cpp - operators that become one node with the inputs and
// attributes that their row declares; what they mean is a rule of shape inference.
#include <algorithm>
#include <cstdint>
#include <variant>

#include "tools/graph/functions.h"
#include "tools/import/onnx/call.h"
#include "tools/import/onnx/tensor.h"

namespace ingot::onnx {
namespace {

/// Absent in the graph where the file does not say it.
enum class Optional { kInteger, kNumber, kIntegers, kNumbers, kElementType };
struct Required {};  // integers
struct Truth {
  bool otherwise;  // any number but 0 is 1
};
/// A type of TensorProto, which becomes a DType.
struct ElementType {
  int64_t otherwise;
};
struct Words {
  const char* otherwise;
  std::vector<const char*> known;
};
/// One number in the file, a list of one in the graph.
struct Listed {
  int64_t otherwise;
};

struct DeclaredAttribute {
  graph::AttributeName name;
  /// What the attribute is, or what it is where the file does not say.
  std::variant<int64_t, double, const char*, std::vector<int64_t>, Optional, Required, Truth,
               ElementType, Words, Listed>
      otherwise;
  // the opset that brought a number or words; before, it is as where the file does not say
  int64_t since = 0;
};
/// An attribute of which one value alone is known, and no node has it.
struct OneValue {
  const char* name;
  int64_t value;
  const char* why = "only 1 (float) is supported";
};

struct DeclaredOperator {
  const char* name;
  graph::Operator op;
  size_t fewest, most;  // inputs
  std::vector<DeclaredAttribute> attributes;
  int64_t since = 0;  // of rows of one name the last that is not newer than the model
  std::vector<OneValue> one_values = {};
};
using DeclaredOperators = std::vector<DeclaredOperator>;

DeclaredOperator row(graph::Operator op, size_t fewest, size_t most,
                     std::vector<DeclaredAttribute> attributes = {}, int64_t since = 0,
                     std::vector<OneValue> one_values = {}) {
  return {row_of(op).name, op, fewest, most, std::move(attributes), since, std::move(one_values)};
}

std::string listed(const std::vector<const char*>& words) {
  std::string all;
  for (size_t i = 0; i < words.size(); i++)
    all += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + std::string(words[i]);
  return all;
}

/// Reads an attribute into `into` by what its row says; false: the node is to have none.
struct Reader {
  Call& call;
  graph::AttributeName name;
  graph::Attribute& into;
  bool is_asked;         // the opset has the attribute
  std::string& missing;  // the first required one that the file does not say

  bool operator()(int64_t otherwise) const {
    into = is_asked ? call.integer(name, otherwise) : otherwise;
    return true;
  }
  bool operator()(double otherwise) const {
    into = is_asked ? call.number(name, otherwise) : otherwise;
    return true;
  }
  bool operator()(const char* otherwise) const {
    into = is_asked ? call.text(name, otherwise) : std::string(otherwise);
    return true;
  }
  bool operator()(const std::vector<int64_t>& otherwise) const {
    into = call.integers(name).value_or(otherwise);
    return true;
  }
  bool operator()(Optional kind) const {
    constexpr int32_t kTypes[] = {kAttributeInt, kAttributeFloat, kAttributeInts, kAttributeFloats,
                                  kAttributeInt};
    if (!is_asked || !call.attribute(name, kTypes[size_t(kind)])) return false;
    switch (kind) {
      case Optional::kInteger: into = call.integer(name, 0); break;
      case Optional::kNumber: into = call.number(name, 0); break;
      case Optional::kIntegers: into = *call.integers(name); break;
      case Optional::kNumbers: into = *call.numbers(name); break;
      case Optional::kElementType: return (*this)(ElementType{0});
    }
    return true;
  }
  bool operator()(Required) const {
    const auto all = call.integers(name);
    if (all) into = *all;
    if (!all && missing.empty()) missing = text(name);
    return all.has_value();
  }
  bool operator()(Truth truth) const {
    into = int64_t(call.integer(name, truth.otherwise) != 0);
    return true;
  }
  bool operator()(ElementType element) const {
    const int64_t type = call.integer(name, element.otherwise);
    const DType dtype = dtype_of(type);
    into = int64_t(dtype);
    if (dtype == DType::kInvalid)
      call.refuse(text(name), "element type " + element_type_name(type) + " is not supported");
    return true;
  }
  bool operator()(const Words& words) const {
    const std::string word = is_asked ? call.text(name, words.otherwise) : words.otherwise;
    const bool is_known = std::any_of(words.known.begin(), words.known.end(),
                                      [&](const char* known) { return word == known; });
    if (!is_known) call.refuse(text(name), "'" + word + "', known are " + listed(words.known));
    into = word;
    return true;
  }
  bool operator()(Listed one) const {
    into = std::vector<int64_t>{call.integer(name, one.otherwise)};
    return true;
  }
};

template <const DeclaredOperators& (*kRows)()>
void declared(Call& call) {
  const DeclaredOperator* found = nullptr;
  for (const DeclaredOperator& each : kRows())
    if (call.node().op == each.name && call.opset() >= each.since) found = &each;
  call.expect_inputs(found->fewest, found->most);
  graph::Attributes attributes;
  std::string missing;
  for (const DeclaredAttribute& each : found->attributes) {
    graph::Attribute value;
    const Reader reader{call, each.name, value, call.opset() >= each.since, missing};
    if (std::visit(reader, each.otherwise)) attributes[each.name] = std::move(value);
  }
  if (!missing.empty()) call.translator().corrupt(describe(call.node()) + ": lacks its " + missing);
  for (const OneValue& each : found->one_values)
    if (call.integer(each.name, each.value) != each.value) call.refuse(each.name, each.why);
  if (!call.refused()) call.emit(found->op).attributes = std::move(attributes);
}

template <const DeclaredOperators& (*kRows)()>
void add_rows(TranslateTable& table) {
  for (const DeclaredOperator& each : kRows()) table[each.name] = declared<kRows>;
}

constexpr Optional kInteger = Optional::kInteger, kNumber = Optional::kNumber,
                   kIntegers = Optional::kIntegers, kNumbers = Optional::kNumbers;
constexpr int64_t kNever = INT64_MAX;  // what no file says
using Integers = std::vector<int64_t>;
const OneValue kInFloat = {"stash_type", 1};
const std::vector<OneValue> kPlainTransform = {
    {"signal_ndim", 1, "transforms over more than one dimension"},
    {"normalized", 0, "only 0 is defined"}};

using DeclaredAttributes = std::vector<DeclaredAttribute>;
/// The geometry of a convolution or a pool.
const DeclaredAttributes& window_attributes() {
  static const DeclaredAttributes kAll = {
      {attr::kernel_shape, kIntegers},
      {attr::strides, kIntegers},
      {attr::dilations, kIntegers},
      {attr::pads, kIntegers},
      {attr::auto_pad, Words{"NOTSET", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}}}};
  return kAll;
}
DeclaredAttributes with(DeclaredAttributes all, const DeclaredAttributes& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

DeclaredOperators make_rows() {
  const DeclaredAttributes& in_windows = window_attributes();
  const DeclaredAttributes no = {},
                           loss = {{attr::ignore_index, kInteger}, {attr::reduction, "mean"}},
                           seeded = {{attr::dtype, Optional::kElementType}, {attr::seed, kNumber}},
                           window = {{attr::periodic, 1}, {attr::output_datatype, ElementType{1}}};
  const DeclaredAttribute reduction = {attr::reduction,
                                       Words{"none", {"none", "add", "mul", "max", "min"}}, 16};
  DeclaredOperators rows = {
  // elementwise
#define INGOT_NUMBERED_1(name, alpha, value) row(op::name, 1, 1, {{attr::alpha, double(value)}}),
#define INGOT_NUMBERED_2(name, alpha, value, beta, second) \
  row(op::name, 1, 1, {{attr::alpha, double(value)}, {attr::beta, double(second)}}),
#include "tools/graph/numbered_functions.def"
      row(op::Swish, 1, 1, {{attr::alpha, 1.0}}),
      row(op::Clip, 1, 1, {{attr::min, kNumber}, {attr::max, kNumber}}),
      row(op::Clip, 1, 3, no, 11),
      row(op::Gelu, 1, 1, {{attr::approximate, Words{"none", {"none", "tanh"}}}}),
      row(op::IsInf, 1, 1, {{attr::detect_negative, 1}, {attr::detect_positive, 1}}),
      row(op::Mod, 2, 2, {{attr::fmod, 0}}),
      row(op::BitShift, 2, 2, {{attr::direction, Words{"", {"LEFT", "RIGHT"}}}}),
      row(op::BitCast, 1, 1, {{attr::to, ElementType{0}}}),
      row(op::Where, 3, 3),
      row(op::Mean, 1, SIZE_MAX),
      row(op::SwiGLU, 2, 2, {{attr::alpha, 1.0}}),
      // movement
      row(op::Transpose, 1, 1, {{attr::perm, kIntegers}}),
      row(op::Concat, 1, SIZE_MAX, {{attr::axis, 1}}),
      row(op::Concat, 1, SIZE_MAX, {{attr::axis, 0}}, 4),
      row(op::Split, 1, 1, {{attr::axis, 0}, {attr::split, kIntegers}}),
      row(op::Split, 1, 2, {{attr::axis, 0}, {attr::num_outputs, kInteger, 18}}, 13),
      row(op::Slice, 1, 1,
          {{attr::starts, Required()}, {attr::ends, Required()}, {attr::axes, kIntegers}}),
      row(op::Slice, 3, 5, no, 10),
      row(op::Reshape, 1, 1, {{attr::shape, Required()}}),
      row(op::Reshape, 2, 2, {{attr::allowzero, 0}}, 5),
      row(op::Flatten, 1, 1, {{attr::axis, 1}}),
      row(op::Squeeze, 1, 1, {{attr::axes, kIntegers}}),
      row(op::Squeeze, 1, 2, no, 13),
      row(op::Unsqueeze, 1, 1, {{attr::axes, kIntegers}}),
      row(op::Unsqueeze, 1, 2, no, 13),
      row(op::Expand, 2, 2),
      row(op::Trilu, 1, 2, {{attr::upper, 1}}),
      row(op::CenterCropPad, 2, 2, {{attr::axes, kIntegers}}),
      row(op::ReverseSequence, 2, 2, {{attr::batch_axis, 1}, {attr::time_axis, 0}}),
      row(op::Col2Im, 3, 3,
          {{attr::dilations, kIntegers}, {attr::pads, kIntegers}, {attr::strides, kIntegers}}),
      row(op::AffineGrid, 2, 2, {{attr::align_corners, 0}}),
      // by indices
      row(op::Gather, 2, 2, {{attr::axis, 0}}),
      row(op::GatherElements, 2, 2, {{attr::axis, 0}}),
      row(op::GatherND, 2, 2, {{attr::batch_dims, 0}}),
      {"Scatter", op::ScatterElements, 3, 3, {reduction, {attr::axis, 0}}},
      row(op::ScatterElements, 3, 3, {reduction, {attr::axis, 0}}),
      row(op::ScatterND, 3, 3, {reduction}),
      row(op::OneHot, 3, 3, {{attr::axis, -1}}),
      row(op::TensorScatter, 2, 3, {{attr::axis, -2}, {attr::mode, "linear"}}),
      // products and windows
      row(op::MatMul, 2, 2),
      row(op::MatMulInteger, 2, 4),
      row(op::Det, 1, 1),
      row(op::Conv, 2, 3, with(in_windows, {{attr::group, 1}})),
      row(op::ConvTranspose, 2, 3,
          with(in_windows, {{attr::group, 1},
                            {attr::output_padding, kIntegers},
                            {attr::output_shape, kIntegers}})),
      row(op::AveragePool, 1, 1,
          with(in_windows, {{attr::ceil_mode, 0}, {attr::count_include_pad, 0}})),
      row(op::MaxUnpool, 2, 3,
          {{attr::kernel_shape, kIntegers}, {attr::strides, kIntegers}, {attr::pads, kIntegers}}),
      row(op::GlobalAveragePool, 1, 1),
      row(op::GlobalMaxPool, 1, 1),
      row(op::DeformConv, 3, 5,
          {{attr::dilations, kIntegers},
           {attr::group, 1},
           {attr::kernel_shape, kIntegers},
           {attr::offset_group, 1},
           {attr::pads, kIntegers},
           {attr::strides, kIntegers}}),
      row(op::CausalConvWithState, 2, 4, {{attr::activation, "none"}}),
      row(op::DynamicQuantizeLinear, 1, 1),
      // rows
      row(op::InstanceNormalization, 3, 3, {{attr::epsilon, 1e-5f}}),
      // scale and bias per group, then per channel
      row(op::GroupNormalization, 3, 3,
          {{attr::epsilon, 1e-5f}, {attr::num_groups, 0}, {attr::per_group, 1, kNever}}),
      row(op::GroupNormalization, 3, 3,
          {{attr::epsilon, 1e-5f}, {attr::num_groups, 0}, {attr::per_group, 0, kNever}}, 21,
          {kInFloat}),
      row(op::LayerNormalization, 2, 3, {{attr::axis, -1}, {attr::epsilon, 1e-5f}}, 0, {kInFloat}),
      row(op::RMSNormalization, 2, 2, {{attr::axis, -1}, {attr::epsilon, 1e-5f}}, 0, {kInFloat}),
      row(op::MeanVarianceNormalization, 1, 1, {{attr::axes, Integers{0, 2, 3}}}),
      row(op::LRN, 1, 1,
          {{attr::alpha, 1e-4f}, {attr::beta, 0.75}, {attr::bias, 1.0}, {attr::size, 0}}),
      row(op::CumSum, 2, 2, {{attr::exclusive, 0}, {attr::reverse, 0}}),
      row(op::CumProd, 2, 2, {{attr::exclusive, 0}, {attr::reverse, 0}}),
      row(op::NegativeLogLikelihoodLoss, 2, 3, loss),
      row(op::SoftmaxCrossEntropyLoss, 2, 3, loss),
      // attention
      row(op::Attention, 3, 6,
          {{attr::qk_matmul_output_mode, 0},
           {attr::is_causal, 0},
           {attr::q_num_heads, 0},
           {attr::kv_num_heads, 0},
           {attr::softcap, 0.0},
           {attr::scale, kNumber}}),
      row(op::RotaryEmbedding, 3, 4,
          {{attr::interleaved, 0}, {attr::num_heads, 0}, {attr::rotary_embedding_dim, 0}}),
      row(op::LinearAttention, 3, 6,
          {{attr::q_num_heads, 0},
           {attr::kv_num_heads, 0},
           {attr::scale, 0.0},
           {attr::update_rule, "gated_delta"}}),
      // as many as the data says
      row(op::NonZero, 1, 1),
      row(op::Compress, 2, 2, {{attr::axis, kInteger}}),
      row(op::Unique, 1, 1, {{attr::axis, kInteger}, {attr::sorted, 1}}),
      row(op::NonMaxSuppression, 2, 5, {{attr::center_point_box, 0}}),
      row(op::TopK, 1, 1,
          {{attr::axis, -1},
           {attr::largest, 1, kNever},
           {attr::sorted, 1, kNever},
           {attr::k, Listed{1}}}),
      row(op::TopK, 2, 2, {{attr::axis, -1}, {attr::largest, 1, 11}, {attr::sorted, 1, 11}}, 10),
      // spectral
      row(op::DFT, 1, 2, {{attr::axis, Listed{1}}, {attr::inverse, 0}, {attr::onesided, 0}}),
      row(op::DFT, 1, 3, {{attr::inverse, 0}, {attr::onesided, 0}}, 20),
      row(op::STFT, 2, 4, {{attr::onesided, 1}}),
      row(op::HannWindow, 1, 1, window),
      row(op::HammingWindow, 1, 1, window),
      row(op::BlackmanWindow, 1, 1, window),
      row(op::MelWeightMatrix, 5, 5, {{attr::output_datatype, ElementType{1}}}),
      // random: which numbers is no part of ONNX, they are those of runtime/op/random.h
      row(op::RandomNormal, 0, 0,
          with(seeded, {{attr::mean, 0.0}, {attr::scale, 1.0}, {attr::shape, Integers()}})),
      row(op::RandomNormalLike, 1, 1, with(seeded, {{attr::mean, 0.0}, {attr::scale, 1.0}})),
      row(op::RandomUniform, 0, 0,
          with(seeded, {{attr::low, 0.0}, {attr::high, 1.0}, {attr::shape, Integers()}})),
      row(op::RandomUniformLike, 1, 1, with(seeded, {{attr::low, 0.0}, {attr::high, 1.0}})),
      row(op::Bernoulli, 1, 1, seeded),
      row(op::Multinomial, 1, 1, with(seeded, {{attr::sample_size, 1}})),
      // tensors out of shapes and numbers
      row(op::Shape, 1, 1, {{attr::start, 0}, {attr::end, kInteger}}),
      row(op::Size, 1, 1),
      row(op::Range, 3, 3),
      row(op::EyeLike, 1, 1, {{attr::k, 0}, {attr::dtype, Optional::kElementType}}),
      row(op::TfIdfVectorizer, 1, 1,
          {{attr::max_gram_length, 0},
           {attr::max_skip_count, 0},
           {attr::min_gram_length, 0},
           {attr::mode, ""},
           {attr::ngram_counts, kIntegers},
           {attr::ngram_indexes, kIntegers},
           {attr::pool_int64s, kIntegers},
           {attr::weights, kNumbers}}),
      // sequences
      row(op::SequenceConstruct, 1, SIZE_MAX),
      row(op::SequenceEmpty, 0, 0),
      row(op::SequenceInsert, 2, 3),
      row(op::SequenceErase, 1, 2),
      row(op::SequenceAt, 2, 2),
      row(op::SequenceLength, 1, 1),
      row(op::ConcatFromSequence, 1, 1, {{attr::axis, 0}, {attr::new_axis, 0}}),
      row(op::SplitToSequence, 1, 2, {{attr::axis, 0}, {attr::keepdims, 1}}),
      row(op::Optional, 0, 1),
      row(op::OptionalGetElement, 1, 1),
      row(op::OptionalHasElement, 0, 1),
  };
  // what attention sees beside the first six inputs, and how far
  DeclaredOperator attention = *std::find_if(
      rows.begin(), rows.end(), [](const auto& each) { return each.op == op::Attention; });
  attention.most = 7, attention.since = 24;
  rows.push_back(attention);
  attention.since = 25;
  for (const auto name : {attr::left_window_size, attr::right_window_size})
    attention.attributes.push_back({name, -1});
  rows.push_back(attention);
  for (const graph::Function& function : graph::kFunctions)
    if (function.is_onnx && function.operands == 1) rows.push_back(row(function.node, 1, 1));
  for (size_t i = 0; i < graph::kOperatorCount; i++) {
    const graph::Operator op{uint16_t(i)};
    if (!graph::kReductions.has(op)) continue;
    const int64_t by_input = op == op::ReduceSum ? 13 : 18;  // its axes
    rows.push_back(row(op, 1, 1, {{attr::keepdims, Truth{true}}, {attr::axes, kIntegers}}));
    rows.push_back(
        row(op, 1, 2, {{attr::keepdims, Truth{true}}, {attr::noop_with_empty_axes, 0}}, by_input));
  }
  for (const graph::Operator op : {op::ArgMax, op::ArgMin})
    rows.push_back(
        row(op, 1, 1,
            {{attr::axis, 0}, {attr::keepdims, Truth{true}}, {attr::select_last_index, 0, 12}}));
  for (const graph::Operator op : {op::Softmax, op::LogSoftmax, op::Hardmax}) {
    // Before opset 13 all dimensions from the axis on are one.
    rows.push_back(row(op, 1, 1, {{attr::axis, 1}, {attr::flatten, 1, kNever}}));
    rows.push_back(row(op, 1, 1, {{attr::axis, -1}}, 13));
  }
  return rows;
}
const DeclaredOperators& default_rows() {
  static const DeclaredOperators kRows = make_rows();
  return kRows;
}

/// Of com.microsoft.
const DeclaredOperators& contrib_rows() {
  static const DeclaredOperators kRows = {
      {"QuickGelu", op::Swish, 1, 1, {{attr::alpha, 1.702f}}},
      row(op::FusedMatMul, 2, 2,
          {{attr::alpha, 1.0},
           {attr::transA, Truth{false}},
           {attr::transB, Truth{false}},
           {attr::transBatchA, Truth{false}},
           {attr::transBatchB, Truth{false}}}),
      row(op::EmbedLayerNormalization, 7, 9, {{attr::epsilon, 1e-12f}, {attr::mask_index_type, 0}}),
      row(op::Inverse, 1, 1),
      row(op::ConvTransposeWithDynamicPads, 2, 4,
          with(window_attributes(), {{attr::group, 1}, {attr::output_padding, kIntegers}})),
      row(op::PackedAttention, 5, 6,
          {{attr::num_heads, 0},
           {attr::mask_filter_value, -10000.0},
           {attr::unidirectional, 0},
           {attr::scale, kNumber},
           {attr::qkv_hidden_sizes, kIntegers}}),
      // along the last dimension: real numbers to pairs, and back
      row(op::Rfft, 1, 1, {{attr::onesided, 1}}, 0, kPlainTransform),
      row(op::Irfft, 1, 1, {{attr::onesided, 1}}, 0, kPlainTransform),
  };
  return kRows;
}

}  // namespace

void add_declared(TranslateTable& table) { add_rows<default_rows>(table); }
void add_declared_contrib(TranslateTable& table) { add_rows<contrib_rows>(table); }

}  // namespace ingot::onnx
