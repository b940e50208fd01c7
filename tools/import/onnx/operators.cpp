// SPDX-License-Identifier: Apache-2.0
#include "tools/import/onnx/operators.h"

#include <algorithm>
#include <map>
#include <set>

#include "tools/import/onnx/call.h"
#include "tools/import/onnx/no_effect.h"

namespace ingot::onnx {
namespace {

constexpr size_t kProbedInputs = 12;  // more than any operator has but lists

/// What each operator does not take. One that is not here takes all that ONNX says, in the types
/// named above the list.
const std::map<std::string_view, const char*> kLimits = {
    {"AffineGrid", "constant size"},
    {"Attention", "width and number of heads fixed"},
    {"AveragePool", "one to three spatial dimensions; pads not negative"},
    {"BatchNormalization", "converted in inference form, with a note"},
    {"BitCast", "types of one width; not floats and bool"},
    {"Cast", "not to or from text"},
    {"Col2Im", "constant extents"},
    {"CumProd", "a length with a bound"},
    {"DeformConv", "two spatial dimensions"},
    {"Det", "one to four rows"},
    {"Optional", "inside a model, with a value"},
    {"SequenceAt", "inside a model; constant position"},
    {"SequenceErase", "inside a model; constant position"},
    {"SequenceInsert", "inside a model; constant position"},
    {"SplitToSequence", "inside a model; a fixed extent"},
    {"TfIdfVectorizer", "of numbers"},
    {"CenterCropPad", "shape constant or made from shapes"},
    {"Constant", "no text"},
    {"ConstantOfShape", "shape constant, made from shapes, or bounded by --dim or --max-elements"},
    {"Conv",
     "f32; one to three spatial dimensions with constant weights, any number with computed ones; "
     "pads not negative"},
    {"ConvInteger", "constant weights: integer kernels, sums of at most 65793 products; else 4112"},
    {"ConvTranspose",
     "f32; fast with constant weights and one or two spatial dimensions; output padding below the "
     "stride"},
    {"DFT", "length constant, at most 2^22, or made from shapes"},
    {"DequantizeLinear",
     "of 8- and 16-bit integers and i32; computed in f32 where integer kernels do not take it"},
    {"Dropout", "converted in inference form, with a note"},
    {"Expand", "shape constant, made from shapes, or bounded by --dim"},
    {"GRU",
     "f32; constant weights; functions Sigmoid, Tanh, Relu, HardSigmoid, LeakyRelu, Elu, Softplus"},
    {"GatherND", "fixed last dimension of the indices"},
    {"GlobalLpPool", "p 1 or 2"},
    {"GridSample", "floats; nearest of every type at places in f32"},
    {"GroupNormalization", "fixed number of channels"},
    {"HammingWindow", "size constant or made from shapes"},
    {"HannWindow", "size constant or made from shapes"},
    {"BlackmanWindow", "size constant or made from shapes"},
    {"If", "branches of one rank, unless dimensions decide the condition; see control.md"},
    {"Loop",
     "trip count constant or made from shapes, or a condition that compares a counter with one, or "
     "bounded by --max-elements; see control.md"},
    {"Scan", "opset 9 or newer"},
    {"LSTM",
     "f32; constant weights; no input_forget; functions Sigmoid, Tanh, Relu, HardSigmoid, "
     "LeakyRelu, Elu, Softplus"},
    {"LpNormalization", "p 1 or 2"},
    {"LpPool", "p 1 or 2, or any without ceil_mode; one to three spatial dimensions"},
    {"MaxPool",
     "one to three spatial dimensions; Indices of f32; no 32- or 64-bit integers; pads not "
     "negative"},
    {"MelWeightMatrix", "constant inputs"},
    {"OneHot", "depth constant, made from shapes, or bounded by --dim or --max-elements"},
    {"Pad", "pads constant, made from shapes or bounded; constant value"},
    {"MatMulInteger",
     "integer kernels take constant weights, sums of at most 65793 products; others are slower"},
    {"QLinearConv", "constant weights for integer kernels"},
    {"QLinearMatMul", "constant weights for integer kernels"},
    {"QuantizeLinear",
     "to 8- and 16-bit integers; computed in f32 where integer kernels do not take it"},
    {"RNN",
     "f32; constant weights; functions Sigmoid, Tanh, Relu, HardSigmoid, LeakyRelu, Elu, Softplus"},
    {"Range",
     "start and delta constant, limit constant or made from shapes; others bounded by "
     "--max-elements"},
    {"Reshape", "shape constant or made from shapes, one dimension dynamic; or bounded"},
    {"Resize",
     "linear and cubic are of f32 and change at most three dimensions; scales of a run not with "
     "cubic; antialias and tf_crop_and_resize need fixed extents and a constant region"},
    {"RoiAlign", "at most 256 samples a bin in each direction"},
    {"STFT", "constant step; length constant, at most 2^22, or made from shapes"},
    {"Slice", "constant axes"},
    {"Squeeze", "without axes a symbolic dimension stays, with a note"},
    {"Tile", "repeats constant, made from shapes or bounded"},
    {"Upsample", "as Resize with asymmetric coordinates"},
};

/// Adds the attributes that are read of a node with `inputs` inputs, translated by itself.
void probe(const Translation& translate, Text name, int64_t opset, size_t inputs,
           std::set<std::string>* attributes) {
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
  static_assert(std::size(kNames) == kProbedInputs);
  const Model source;
  const ImportOptions options;
  Translator translator(source, "probe", "", options);
  Scope scope;
  scope.graph = &translator.model.graph;
  Node node;
  node.op = name;
  for (size_t i = 0; i < inputs; i++) {
    scope.names[kNames[i]] = translator.model.add_value(kNames[i], DType::kF32);
    node.inputs.push_back(kNames[i]);
  }
  node.outputs = {"y"};
  Call call(translator, scope, node, opset);
  try {
    translate(call);
  } catch (const graph::ConversionError&) {  // attributes that were read before count
  }
  for (const Text attribute : call.known_attributes()) attributes->emplace(attribute);
  for (const NoEffect& row : attributes_without_effect())
    if (row.op == name) attributes->emplace(row.attribute);
}

OperatorForm form_of(Text name, const Translation& translate) {
  OperatorForm form;
  form.name = name;
  std::set<std::string> attributes;
  for (size_t n = 0; n <= kProbedInputs; n++)
    for (const int64_t opset :
         {int64_t(7), int64_t(9), int64_t(11), int64_t(13), int64_t(17), int64_t(kNewestOpset)})
      probe(translate, name, opset, n, &attributes);
  form.attributes.assign(attributes.begin(), attributes.end());
  if (const auto found = kLimits.find(name); found != kLimits.end()) form.limits = found->second;
  return form;
}

/// Names with commas, in lines of at most 100 columns; ends with a point.
void add_names(std::string* page, const std::vector<std::string>& names) {
  size_t column = page->size() - page->rfind('\n');
  for (const std::string& name : names) {
    const bool fits = column + name.size() + 1 < 100;
    if (!fits) page->back() = '\n';
    column = (fits ? column : 0) + name.size() + 2;
    *page += name + ", ";
  }
  page->resize(page->size() - 2);
  *page += ".\n";
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, translate] : table) names.emplace_back(name);
  return names;
}

}  // namespace

std::vector<OperatorForm> operator_forms() {
  std::vector<OperatorForm> forms;
  for (const auto& [name, translate] : translate_table()) forms.push_back(form_of(name, translate));
  for (const auto& [name, limits] : kLimits)
    if (!translate_table().count(name))
      graph::fail_internal("limits are written of " + std::string(name) +
                           ", which is not translated: " + limits);
  std::sort(forms.begin(), forms.end(),
            [](const OperatorForm& a, const OperatorForm& b) { return a.name < b.name; });
  return forms;
}

std::string operators_page() {
  const std::vector<OperatorForm> forms = operator_forms();
  std::string page =
      "# Operators of ONNX that can be converted\n"
      "`ingot operators --markdown` prints this page, `ingot operators NAME` an operator's "
      "attributes\n"
      "(any other is refused), `./dev show operator-types` types and devices.\n\n";
  page +=
      std::to_string(forms.size()) + " operators of the default domain, opsets " +
      std::to_string(kOldestOpset) + " to " + std::to_string(kNewestOpset) +
      "; functions that a model carries are inlined.\n"
      "Elementwise operators, reductions and movement work in every number type that ONNX "
      "allows them,\n"
      "short of complex and text; a port of float8, float4, int4 or int2 holds its numbers in f32, "
      "i8 or u8.\n"
      "\"Made from shapes\" means that the value follows from dimensions, symbolic ones included. "
      "What a\n"
      "limit excludes is refused with the node's name and exit code 4.\n\n";
  std::vector<std::string> plain;
  std::vector<std::pair<std::string, std::string>> rows;  // names, and their limits
  for (const OperatorForm& form : forms) {
    if (form.limits.empty()) {
      plain.push_back(form.name);
      continue;
    }
    const auto same = std::find_if(rows.begin(), rows.end(),
                                   [&](const auto& row) { return row.second == form.limits; });
    if (same == rows.end())
      rows.emplace_back(form.name, form.limits);
    else
      same->first += ", " + form.name;
  }
  page += "Without limits: ";
  add_names(&page, plain);
  page += "\nWith limits:\n\n";
  for (const auto& [names, limits] : rows) page += "- " + names + ": " + limits + "\n";
  page +=
      "\n## Operators of com.microsoft\n"
      "What onnxruntime's optimizer and its tools write, in floating point and on 8-bit "
      "integers: ";
  add_names(&page, names_of(microsoft_table()));
  page +=
      "\n## Operators of ai.onnx.ml\n"
      "Trees have an operator of their own, the rest becomes gathers, products and comparisons.\n"
      "Labels that are texts become their places in the list, ZipMap a tensor of scores, with a "
      "note;\n"
      "texts as inputs are refused. Converted: ";
  add_names(&page, names_of(ml_table()));
  page +=
      "\n## Attributes without effect\n"
      "These are accepted and change no number of an inference.\n\n";
  for (const NoEffect& row : attributes_without_effect())
    page += std::string("- ") + row.op + "." + row.attribute + ": " + row.reason + "\n";
  return page;
}

}  // namespace ingot::onnx
