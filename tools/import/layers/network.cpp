// SPDX-License-Identifier: Apache-2.0
#include "tools/import/layers/network.h"

#include <algorithm>
#include <cstring>

#include "tools/checkpoint/tensors/compare_tensors.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/infer/infer_shapes.h"

namespace ingot::layers {

using graph::Dim;
using graph::fail_corrupt;
using graph::fail_mismatch;
using graph::fail_unsupported;

namespace {
// Of a model with more of them the notes do not name each.
constexpr size_t kNamedStates = 8;
}  // namespace

Weight transposed(const Weight& weight, const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * weight.dims[d];
  Weight out;
  std::vector<int64_t> steps;
  for (const int64_t axis : perm) {
    out.dims.push_back(weight.dims[size_t(axis)]);
    steps.push_back(strides[size_t(axis)]);
  }
  out.values.resize(weight.values.size());
  std::vector<int64_t> at(rank, 0);
  int64_t from = 0;
  for (float& value : out.values) {
    value = weight.values[size_t(from)];
    for (size_t d = rank; d-- > 0;) {
      from += steps[d];
      if (++at[d] < out.dims[d]) break;
      from -= steps[d] * out.dims[d];
      at[d] = 0;
    }
  }
  return out;
}

Network::Network(const std::string& file, const std::string& format,
                 const importer::ImportOptions& options)
    : b(model), file_(file), options_(options) {
  model.source_format = format;
  model.max_elements = options.max_elements;
  model.name = file.substr(file.rfind('/') + 1);
  model.name = model.name.substr(0, model.name.rfind('.'));
  model.graph.name = model.name;
}

Dim Network::open_dim(const std::string& input, size_t axis, const std::string& symbol) {
  const std::string where = file_ + ": input '" + input + "' dimension " + std::to_string(axis);
  std::string name = symbol;
  const auto bind = [&](const Dim& to) {
    const auto [found, added] = bound_.emplace(symbol, to);
    if (!added && found->second != to)
      fail_mismatch(where, "dimension '" + symbol + "' is bound to " + found->second.text() +
                               " and to " + to.text());
    return to;
  };
  symbols_.insert(symbol);
  const auto given = options_.input_shapes.find(input);
  if (given != options_.input_shapes.end()) {
    const Dim& wanted = given->second[axis];
    if (wanted.is_static()) return bind(wanted);
    name = wanted.symbols().front();
    symbols_.insert(name);
  }
  const auto bounds = options_.dims.find(name);
  if (bounds == options_.dims.end()) {
    const int64_t low = options_.may_be_empty.count(name) ? 0 : 1;
    model.symbols[name] = {low, 0};
    return Dim::symbol(name, low, 0);
  }
  if (bounds->second.low == bounds->second.high) return bind(Dim(bounds->second.low));
  model.symbols[name] = bounds->second;
  return Dim::symbol(name, bounds->second.low, bounds->second.high);
}

ValueId Network::input(const std::string& name, DType dtype, const std::vector<int64_t>& dims,
                       const std::vector<std::string>& symbols) {
  const auto given = options_.input_shapes.find(name);
  if (given != options_.input_shapes.end() && given->second.size() != dims.size())
    fail_mismatch(file_, "input '" + name + "' has " + std::to_string(dims.size()) +
                             " dimensions, --input-shape gives " +
                             std::to_string(given->second.size()));
  if (dims.size() > size_t(kMaxRank))
    fail_unsupported(file_, "input '" + name + "' has " + std::to_string(dims.size()) +
                                " dimensions, at most " + std::to_string(kMaxRank) +
                                " are supported");
  const ValueId id = model.add_value(name, dtype);
  graph::Dims made;
  for (size_t axis = 0; axis < dims.size(); axis++) {
    if (dims[axis] < 0) {
      made.push_back(open_dim(name, axis, symbols[axis]));
      continue;
    }
    made.push_back(Dim(dims[axis]));
    if (given != options_.input_shapes.end() && given->second[axis].is_static() &&
        given->second[axis] != made.back())
      fail_mismatch(file_, "input '" + name + "' dimension " + std::to_string(axis) +
                               ": the model declares " + std::to_string(dims[axis]) +
                               ", --input-shape says " + given->second[axis].text());
  }
  graph::Value& value = model.values[size_t(id)];
  value.dims = std::move(made);
  value.shape_known = true;
  model.graph.inputs.push_back(id);
  return id;
}

void Network::check_options() const {
  std::string inputs, symbols;
  for (const ValueId id : model.graph.inputs)
    inputs += (inputs.empty() ? "'" : ", '") + model.values[size_t(id)].name + "'";
  for (const auto& [name, dims] : options_.input_shapes) {
    const bool found = std::any_of(
        model.graph.inputs.begin(), model.graph.inputs.end(),
        [&, &wanted = name](ValueId id) { return model.values[size_t(id)].name == wanted; });
    if (!found)
      fail_mismatch(
          file_, "--input-shape names '" + name + "', which is no input; the inputs are " + inputs);
  }
  for (const std::string& symbol : symbols_)
    symbols += (symbols.empty() ? "'" : ", '") + symbol + "'";
  for (const auto& [name, bounds] : options_.dims)
    if (!symbols_.count(name))
      fail_mismatch(
          file_, "--dim " + name + ": the model has no dynamic dimension of that name; " +
                     (symbols.empty() ? "all of its dimensions are fixed" : "it has " + symbols));
}

Weight Network::weight(const checkpoint::Tensor& tensor) {
  Weight out;
  out.dims = tensor.dims;
  if (tensor.type == checkpoint::ElementType::kF32) {
    const std::vector<uint8_t> bytes = checkpoint::tensor_bytes(tensor);
    out.values.resize(bytes.size() / 4);
    if (!bytes.empty()) std::memcpy(out.values.data(), bytes.data(), bytes.size());
    return out;
  }
  widened_[checkpoint::element_name(tensor.type)]++;
  for (const double x : checkpoint::as_numbers(tensor)) out.values.push_back(float(x));
  return out;
}

ValueId Network::constant(const Weight& weight) {
  return b.constant(graph::make_constant(DType::kF32, weight.dims, weight.values.data()));
}

ValueId Network::state(const std::string& name, const graph::Dims& dims, DType dtype) {
  std::vector<int64_t> extents;
  for (const Dim& dim : dims) {
    if (!dim.is_static())
      throw Refused{"stateful", "keeps an extent that is dynamic (" + dim.text() + ")",
                    "bind it with --dim"};
    extents.push_back(*dim.value());
  }
  for (const ValueId id : model.graph.inputs)
    if (model.values[size_t(id)].name == name)
      throw Refused{"stateful", "would keep a second '" + name + "'", "call the layer once"};
  return input(name, dtype, extents, {});
}
void Network::keep(ValueId state, ValueId next) { kept_.push_back({state, next}); }

graph::Model Network::finish(std::vector<std::pair<std::string, ValueId>> outputs) {
  check_options();
  for (const auto& [before, next] : kept_) {
    const std::string name = model.values[size_t(before)].name;
    states_.push_back({name, name + ".next"});
    outputs.emplace_back(states_.back().output, next);
    if (kept_.size() <= kNamedStates) b.note("state '" + name + "' is kept from run to run");
  }
  std::set<ValueId> taken(model.graph.inputs.begin(), model.graph.inputs.end());
  for (auto [name, id] : outputs) {
    if (id == kAbsent || !b.unsupported.empty()) continue;
    if (taken.count(id) || model.constant(id)) id = b.emit(op::Identity, {id});
    // an Identity is looked through: a copy that stays
    if (!taken.insert(id).second || model.constant(id)) {
      graph::Node copy;
      copy.op = op::Identity;
      copy.inputs = {id};
      const graph::Value from = model.values[size_t(id)];
      id = model.add_value(name, from.dtype);
      model.values[size_t(id)].dims = from.dims;
      model.values[size_t(id)].shape_known = true;
      copy.outputs = {id};
      model.graph.nodes.push_back(std::move(copy));
      taken.insert(id);
    }
    model.values[size_t(id)].name = name;
    model.graph.outputs.push_back(id);
  }
  std::string kinds;
  for (const std::string& kind : inference_) kinds += (kinds.empty() ? "" : ", ") + kind;
  if (!kinds.empty()) b.note(kinds + " converted in inference form");
  for (const auto& [type, count] : widened_)
    b.note(std::to_string(count) + " weights of " + type + " are kept as float32");
  if (!b.unsupported.empty()) throw graph::refusal(file_, b.unsupported);
  if (model.graph.outputs.empty()) fail_corrupt(file_, "the model has no outputs");
  for (const graph::Value& value : model.values)
    if (value.constant) model.allow_folding(value.constant->elements());
  graph::fold_constants(model);
  graph::lower_runtime_shapes(model);
  return std::move(model);
}

}  // namespace ingot::layers
