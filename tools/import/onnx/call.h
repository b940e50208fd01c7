// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/call.h - one source node while it is translated: typed access to what it says,
// and the nodes it becomes.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/import/onnx/translator.h"

namespace ingot::onnx {

/// An attribute's name in the file: a text, or that of the graph's where both have the same.
struct AttributeText {
  Text text;
  AttributeText(Text name) : text(name) {}                           // NOLINT
  AttributeText(const char* name) : text(name) {}                    // NOLINT
  AttributeText(const std::string& name) : text(name) {}             // NOLINT
  AttributeText(graph::AttributeName name) : text(name_of(name)) {}  // NOLINT
  template <unsigned Types>
  AttributeText(graph::AttributeKey<Types> key) : text(name_of(key.name)) {}  // NOLINT
};

class Call {
 public:
  Call(Translator& translator, Scope& scope, const Node& node, int64_t opset);

  int64_t opset() const { return opset_; }
  const Node& node() const { return node_; }
  /// The operator of the graph that has the source's name; kNone: none.
  graph::Operator op() const { return graph::find_operator(node_.op); }
  Translator& translator() { return translator_; }
  Scope& scope() { return scope_; }

  // What the node says. Asking for an attribute makes it known; one that nobody asked for is
  // unsupported, unless it stands in no_effect.h.
  const Attribute* attribute(AttributeText name, int32_t type);
  int64_t integer(AttributeText name, int64_t otherwise);
  double number(AttributeText name, double otherwise);
  std::string text(AttributeText name, const std::string& otherwise);
  std::optional<std::vector<int64_t>> integers(AttributeText name);
  std::optional<std::vector<double>> numbers(AttributeText name);
  std::vector<std::string> texts(AttributeText name);
  const std::set<Text>& known_attributes() const { return known_; }  // those asked for so far

  size_t input_count() const { return inputs_.size(); }
  ValueId input(size_t i) const { return i < inputs_.size() ? inputs_[i] : kAbsent; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const graph::Constant* constant(size_t i) const { return translator_.model.constant(input(i)); }
  /// The element type of an input that is narrower in the file than in the graph; 0: it is not.
  int32_t narrow_type_of(size_t i) const {
    const auto found = translator_.narrow_types.find(input(i));
    return found == translator_.narrow_types.end() ? 0 : found->second;
  }
  size_t output_count() const { return node_.outputs.size(); }
  bool wants(size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }
  ValueId output(size_t i);  // kAbsent when not wanted
  std::vector<ValueId> outputs();

  // What it becomes.
  graph::Node& emit(graph::Operator op, std::vector<ValueId> inputs, std::vector<ValueId> outputs);
  graph::Node& emit(graph::Operator op) { return emit(op, inputs_, outputs()); }
  ValueId temporary(const std::string& suffix);
  /// That output exists in training (or for training) only.
  void leave_out(size_t output, const std::string& why);
  void alias(size_t output, ValueId value);  // the output is that value
  /// `element_type`: of the file.
  void make_constant(size_t output, graph::Constant constant, int32_t element_type = 0);

  void refuse(const std::string& attribute, const std::string& why, const std::string& hint = "");
  void note(const std::string& sentence);
  bool refused() const { return refused_; }
  /// Attributes that nobody asked for.
  void refuse_unknown_attributes();
  /// Fails unless lowest <= inputs <= highest and the first `lowest` are present.
  /// highest SIZE_MAX: a list, in which none may be missing.
  void expect_inputs(size_t lowest, size_t highest);

 private:
  Translator& translator_;
  Scope& scope_;
  const Node& node_;
  int64_t opset_;
  std::vector<ValueId> inputs_;
  std::map<size_t, ValueId> outputs_;
  std::set<Text> known_;
  uint32_t source_ = 0;
  bool refused_ = false;
};

using Translate = void (*)(Call&);
/// A function that translates an operator, and how many inputs that has.
struct Translation {
  Translation() = default;
  Translation(Translate asks_itself) : translate(asks_itself) {}  // NOLINT
  Translation(size_t fewest, size_t most, Translate function)
      : translate(function), expected({fewest, most}) {}
  void operator()(Call& call) const {
    if (expected) call.expect_inputs(expected->first, expected->second);
    translate(call);
  }

  Translate translate = nullptr;
  std::optional<std::pair<size_t, size_t>> expected;  // none: the function says it
};
using TranslateTable = std::map<Text, Translation>;
/// Cast to a type that the graph has not. import_quantize.cpp
void cast_narrow(Call& call, int32_t element_type);
/// kernel_shape, strides, dilations, pads, auto_pad as they are given; absent ones are filled in by
/// shape inference. False where it refused one.
bool read_window(Call& call, graph::Node& made);
/// num_heads, mask_filter_value, unidirectional and scale of an attention of com.microsoft.
/// import_contrib.cpp
void read_heads(Call& call, graph::Node& made);

/// A node that becomes Custom, since a plugin has its operator. import_custom.cpp
void import_custom(Call& call);

/// All operators of the default domain.
const TranslateTable& translate_table();
/// Those of com.microsoft, which onnxruntime's tools write.
const TranslateTable& microsoft_table();

/// Those of ai.onnx.ml.
const TranslateTable& ml_table();
/// Those of ai.onnx.preview.
const TranslateTable& preview_table();

// One per family, in import_<family>.cpp.
void add_elementwise(TranslateTable& table);
void add_shape(TranslateTable& table);
void add_movement(TranslateTable& table);
void add_conv(TranslateTable& table);
void add_matmul(TranslateTable& table);
void add_normalize(TranslateTable& table);
void add_recurrent(TranslateTable& table);
void add_control(TranslateTable& table);
void add_quantize(TranslateTable& table);
void add_quantized(TranslateTable& table);
void add_contrib(TranslateTable& table);          // of com.microsoft
void add_simplified_norm(TranslateTable& table);  // onnxruntime's, in the default domain
void add_grid_sample(TranslateTable& table);      // as com.microsoft has it
void add_declared(TranslateTable& table);
void add_declared_contrib(TranslateTable& table);
void add_quantized_attention(TranslateTable& table);
void add_quantized_recurrent(TranslateTable& table);
void add_block_weights(TranslateTable& table);  // of com.microsoft

}  // namespace ingot::onnx
