// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import.cpp - inputs, and the order of the steps.
#include "tools/import/onnx/import.h"

#include <filesystem>
#include <optional>

#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/infer/infer_shapes.h"
#include "tools/import/common/empty_dims.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/onnx/bounds_search.h"
#include "tools/import/onnx/narrow.h"
#include "tools/import/onnx/source_file.h"
#include "tools/import/onnx/text_borders.h"
#include "tools/import/onnx/translator.h"
#include "tools/import/onnx/wire.h"

namespace ingot::onnx {
namespace {

using graph::Dim;
using graph::fail_corrupt;
using graph::fail_mismatch;
using graph::fail_unsupported;

}  // namespace

void Translator::bind(const std::string& symbol, const Dim& to, const std::string& where) {
  const auto [found, added] = bound_.emplace(symbol, to);
  if (!added && found->second != to) {
    fail_mismatch(where, "dimension '" + symbol + "' is bound to " + found->second.text() +
                             " and to " + to.text());
  }
}

Dim Translator::input_dim(const ValueInfo& info, size_t axis) {
  const std::string where =
      name_ + ": input '" + std::string(info.name) + "' dimension " + std::to_string(axis);
  const Dimension& declared = info.dims[axis];
  const auto given = options_.input_shapes.find(std::string(info.name));
  const Dim* wanted = given == options_.input_shapes.end() ? nullptr : &given->second[axis];
  const bool fixed = declared.has_value && declared.value >= 0 && declared.symbol.empty();
  const bool anonymous = is_anonymous(declared.symbol);
  if (fixed) {
    if (wanted && wanted->is_static() && *wanted->value() != declared.value) {
      fail_mismatch(where, "the model declares " + std::to_string(declared.value) +
                               ", --input-shape says " + wanted->text() +
                               "; export the model with a dynamic dimension there");
    }
    return Dim(declared.value);
  }
  const std::string symbol = anonymous ? std::string(info.name) + "_dim" + std::to_string(axis)
                                       : std::string(declared.symbol);
  declared_symbols_.insert(symbol);
  if (wanted && wanted->is_static()) {
    const auto other = bound_.find(symbol);
    if (other != bound_.end() && other->second.is_static() && other->second != *wanted &&
        !options_.dims.count(symbol)) {
      model.notes.push_back("dimension '" + symbol + "' is " + other->second.text() + " and, of '" +
                            std::string(info.name) + "', " + wanted->text() +
                            ": the inputs only share its name");
      return *wanted;
    }
    bind(symbol, *wanted, where);
  }
  std::string name = symbol;
  if (wanted && !wanted->is_static()) name = wanted->symbols().front();
  const auto bounds = options_.dims.find(name);
  if (bounds == options_.dims.end()) {
    if (!bound_.count(symbol)) model.symbols.emplace(name, graph::SymbolBounds());
    declared_symbols_.insert(name);
    return Dim::symbol(name);
  }
  declared_symbols_.insert(name);
  if (bounds->second.low == bounds->second.high) {
    bind(symbol, Dim(bounds->second.low), where);
    return Dim(bounds->second.low);
  }
  model.symbols[name] = bounds->second;
  return Dim::symbol(name, bounds->second.low, bounds->second.high);
}

graph::Dims Translator::input_dims(const ValueInfo& info) {
  const std::string name(info.name);
  const auto given = options_.input_shapes.find(name);
  ValueInfo declared = info;
  if (!info.has_shape) {
    if (given == options_.input_shapes.end()) {
      fail_mismatch(name_, "input '" + name + "' has no shape; give one: --input-shape " + name +
                               "=1x3x224x224");
    }
    declared.dims.assign(given->second.size(), Dimension());
  }
  if (declared.dims.size() > size_t(kMaxRank)) {
    fail_unsupported(name_, "input '" + name + "' has " + std::to_string(declared.dims.size()) +
                                " dimensions, at most " + std::to_string(kMaxRank) +
                                " are supported");
  }
  if (given != options_.input_shapes.end() && given->second.size() != declared.dims.size()) {
    fail_mismatch(name_, "input '" + name + "' has " + std::to_string(declared.dims.size()) +
                             " dimensions, --input-shape gives " +
                             std::to_string(given->second.size()));
  }
  graph::Dims dims;
  for (size_t axis = 0; axis < declared.dims.size(); axis++)
    dims.push_back(input_dim(declared, axis));
  return dims;
}

void Translator::declare_inputs(const Graph& source, Scope& scope) {
  for (const ValueInfo& info : source.inputs) {
    const std::string name(info.name);
    if (name.empty()) corrupt("an input has no name");
    const std::optional<ValueId> known = scope.find(info.name);
    if (known) {  // an initializer that old files list as an input too
      if (!model.constant(*known) && model.values[size_t(*known)].shape_known)
        corrupt("input '" + name + "' is listed twice");
      continue;
    }
    const auto narrow = narrow_type(info.element_type);
    const ValueId id =
        model.add_value(name, narrow ? narrow->widened : dtype_of(info.element_type));
    scope.names[info.name] = id;
    if (narrow) note_narrow_port(id, info);
    model.graph.inputs.push_back(id);
    if (!info.kind.empty() && !info.is_tensor) {
      unsupported.push_back({"input", "", "", name,
                             "is a " + std::string(info.kind) + ", only tensors are supported",
                             ""});
      continue;
    }
    if (model.values[size_t(id)].dtype == DType::kInvalid) {
      unsupported.push_back(
          {"input", "", "", name,
           "element type " + element_type_name(info.element_type) + " is not supported", ""});
      continue;
    }
    graph::Dims dims = input_dims(info);
    model.values[size_t(id)].dims = std::move(dims);
    model.values[size_t(id)].shape_known = true;
  }
  // A symbol bound at one place is bound at every place.
  for (const ValueId id : model.graph.inputs) {
    for (Dim& d : model.values[size_t(id)].dims) d = d.substitute(bound_);
  }
  for (const auto& [symbol, to] : bound_) model.symbols.erase(symbol);
}

void Translator::note_narrow_port(ValueId id, const ValueInfo& info) {
  note_type(id, info.element_type);
  const bool is_float = model.values[size_t(id)].dtype == DType::kF32;
  model.notes.push_back("'" + std::string(info.name) + "' is of type " +
                        element_type_name(info.element_type) +
                        (is_float ? ": its port holds those numbers in f32"
                                  : ": its port holds each number in a byte"));
}

void Translator::check_options() {
  for (const auto& [name, dims] : options_.input_shapes) {
    std::string known;
    bool found = false;
    for (const ValueId id : model.graph.inputs) {
      found = found || model.values[size_t(id)].name == name;
      known += (known.empty() ? "'" : ", '") + model.values[size_t(id)].name + "'";
    }
    if (!found)
      fail_mismatch(
          name_, "--input-shape names '" + name + "', which is no input; the inputs are " + known);
  }
  for (const auto& [name, bounds] : options_.dims)
    if (!declared_symbols_.count(name))
      model.symbols[name] = bounds;  // a data-dependent size, or check_dims() refuses
}

void Translator::check_dims(graph::Model& inferred) const {
  for (const auto& [name, bounds] : options_.dims) {
    if (declared_symbols_.count(name)) continue;
    inferred.symbols.erase(name);
    if (inferred.data_dependent.count(name)) continue;
    std::string known;
    for (const std::string& symbol : declared_symbols_)
      known += (known.empty() ? "'" : ", '") + symbol + "'";
    fail_mismatch(name_,
                  "--dim " + name + ": the model has no dynamic dimension of that name; " +
                      (known.empty() ? "all of its dimensions are fixed" : "it has " + known));
  }
}

namespace {

/// What the file declares of its outputs against what its nodes make: another type is an error,
/// another shape is reported.
void compare_outputs(graph::Model& model, const Graph& source, const std::string& name) {
  for (size_t i = 0; i < source.outputs.size(); i++) {
    const ValueInfo& declared = source.outputs[i];
    const graph::Value& made = model.values[size_t(model.graph.outputs[i])];
    const auto narrow = narrow_type(declared.element_type);
    const DType dtype = narrow ? narrow->widened : dtype_of(declared.element_type);
    if (declared.is_tensor && dtype != DType::kInvalid && dtype != made.dtype) {
      fail_corrupt(name, "output '" + made.name + "' is declared as " +
                             element_type_name(declared.element_type) + ", its nodes compute " +
                             dtype_name(made.dtype));
    }
    if (!declared.has_shape) continue;
    bool differs = declared.dims.size() != made.dims.size();
    for (size_t d = 0; !differs && d < made.dims.size(); d++) {
      differs = declared.dims[d].has_value && declared.dims[d].value > 0 &&
                made.dims[d].is_static() && declared.dims[d].value != *made.dims[d].value();
    }
    if (!differs) continue;
    std::string shape;
    for (const Dimension& d : declared.dims) {
      shape += (shape.empty() ? "" : ", ") + (d.has_value        ? std::to_string(d.value)
                                              : d.symbol.empty() ? "?"
                                                                 : std::string(d.symbol));
    }
    model.notes.push_back("output '" + made.name + "' is declared as [" + shape +
                          "], its nodes make " + text(made.dims));
  }
}

}  // namespace

std::optional<graph::Undecided> infer_translated(graph::Model& model, const Graph& source,
                                                 const std::string& name,
                                                 std::vector<graph::Unsupported>* unsupported,
                                                 const std::vector<graph::BranchGuard>& guards,
                                                 std::vector<graph::ForcedEqual>* forced) {
  for (const graph::Value& value : model.values) {
    if (value.constant) model.allow_folding(value.constant->elements());
  }
  try {
    if (auto undecided = graph::infer_shapes_or_ask(model, unsupported, guards, forced))
      return undecided;
    if (forced && !forced->empty()) return std::nullopt;
    if (unsupported->empty()) {
      graph::fold_constants(model);
      graph::lower_runtime_shapes(model);
    }
  } catch (graph::ConversionError& error) {
    if (forced && !forced->empty()) return std::nullopt;
    if (!unsupported->empty()) throw graph::refusal(name, *unsupported);
    error.add_place(name);
    throw;
  }
  for (const ValueId id : model.graph.outputs) {
    const graph::Value& output = model.values[size_t(id)];
    if (unsupported->empty() && !output.shape_known)
      unsupported->push_back(
          {"output", "", "", output.name, "nothing makes it in inference form", ""});
  }
  if (!unsupported->empty()) throw graph::refusal(name, *unsupported);
  compare_outputs(model, source, name);
  return std::nullopt;
}

namespace {

graph::Model import_bytes(std::string_view bytes, const std::string& name,
                          const std::string& folder, const ImportOptions& options) {
  if (const std::string problem = why_no_model(bytes); !problem.empty())
    fail_corrupt(name, problem);
  const Model source = parse_model(bytes, name);
  if (auto text = text_to_cut(source.graph)) throw graph::refusal(name, {std::move(*text)});
  const auto import = [&](const ImportOptions& with) -> importer::Program {
    BoundsSearch search(source, name, folder, with.may_be_empty, true);
    try {
      return {search.run(with), {}};
    } catch (const graph::ConversionError&) {
      if (!search.has_parted()) throw;
    }
    return {BoundsSearch(source, name, folder, with.may_be_empty, false).run(with), {}};
  };
  return importer::allow_empty(options, false, import).model;
}

}  // namespace

graph::Model import_onnx_bytes(std::string_view bytes, const std::string& name,
                               const std::string& folder, const ImportOptions& options) {
  return importer::with_errors_of(name, [&] { return import_bytes(bytes, name, folder, options); });
}

graph::Model import_onnx(const std::string& path, const ImportOptions& options) {
  const auto file = SourceFile::open(path);
  return import_onnx_bytes(file->bytes(), path, std::filesystem::path(path).parent_path().string(),
                           options);
}

}  // namespace ingot::onnx
