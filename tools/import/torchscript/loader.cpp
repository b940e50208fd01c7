// SPDX-License-Identifier: Apache-2.0
#include "tools/import/torchscript/loader.h"

#include "tools/import/aten/quantized_tensor.h"
#include "tools/import/torchscript/packed_parameters.h"

namespace ingot::torchscript {
namespace {

using checkpoint::kNoNode;
using checkpoint::Node;
using checkpoint::NodeId;
using checkpoint::NodeKind;

constexpr int kMaxLevels = 200;

std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

}  // namespace

Value Loader::load(const std::string& name) { return value(pickled_.tree().root, name, 0); }
Value Loader::load(const std::vector<NodeId>& nodes, const std::string& name) {
  std::vector<Value> out;
  for (const NodeId id : nodes)
    out.push_back(value(id, below(name, "c" + std::to_string(out.size())), 1));
  return Value::tuple(std::move(out));
}

Value Loader::value(NodeId id, const std::string& path, int depth) {
  if (id == kNoNode) return Value::none();
  if (depth > kMaxLevels)
    graph::fail_corrupt("'" + path + "': objects nest deeper than " + std::to_string(kMaxLevels) +
                        " levels");
  const Node& node = pickled_.tree().at(id);
  switch (node.kind) {
    case NodeKind::kNone: return Value::none();
    case NodeKind::kBool: return Value::of(node.integer != 0);
    case NodeKind::kInteger: return Value::of(graph::Dim(node.integer));
    case NodeKind::kFloat: return Value::of(node.number);
    case NodeKind::kText:
    case NodeKind::kBytes: return Value::of(node.text);
    default: break;
  }
  const auto known = known_.find(id);
  if (known != known_.end()) return known->second;
  switch (node.kind) {
    case NodeKind::kList: return known_[id] = items(node, path, depth, false);
    case NodeKind::kTuple: return known_[id] = items(node, path, depth, true);
    case NodeKind::kDict: return known_[id] = dictionary(node, path, depth);
    case NodeKind::kCall: return call(id, path, depth);
    default: break;
  }
  auto unreadable = std::make_shared<Unreadable>();
  unreadable->why = "is something that a program cannot hold";
  return Value::of(std::shared_ptr<aten::Foreign>(unreadable));
}

Value Loader::items(const Node& node, const std::string& path, int depth, bool is_tuple) {
  std::vector<Value> out;
  for (size_t i = 0; i < node.items.size(); i++)
    out.push_back(value(node.items[i],
                        is_tuple && depth == 0 ? below(path, "c" + std::to_string(i))
                                               : below(path, std::to_string(i)),
                        depth + 1));
  return is_tuple ? Value::tuple(std::move(out)) : Value::list(std::move(out));
}

Value Loader::dictionary(const Node& node, const std::string& path, int depth) {
  auto made = std::make_shared<Dictionary>();
  for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
    const Value key = value(node.items[i], path, depth + 1);
    made->items.emplace_back(key, value(node.items[i + 1], below(path, key.text), depth + 1));
  }
  return Value::of(std::shared_ptr<aten::Foreign>(made));
}

Value Loader::call(NodeId id, const std::string& path, int depth) {
  const checkpoint::ValueTree& tree = pickled_.tree();
  const Node& node = tree.at(id);
  Pickled::Loaded loaded;
  if (pickled_.tensor(id, path, &loaded)) {
    if (!loaded.why.empty()) {
      auto unreadable = std::make_shared<Unreadable>();
      unreadable->why = loaded.why;
      return known_[id] = Value::of(std::shared_ptr<aten::Foreign>(unreadable));
    }
    const auto [at, fresh] = tensors_.emplace(pickled_.identity(id), Value());
    if (fresh && loaded.quantization) {
      at->second = quantized(loaded, path);
    } else if (fresh) {
      constants_.push_back(builder_.model.add_constant(path, std::move(loaded.constant)));
      at->second = Value::of(builder_.own(constants_.back()));
    }
    return known_[id] = at->second;
  }
  const std::string name = tree.global_name(node.items[0]);
  const NodeId first = node.items.size() > 1 ? node.items[1] : kNoNode;
  const bool is_enumeration =
      first != kNoNode && pickled_.tree().at(first).kind != NodeKind::kTuple;
  if (name.compare(0, 10, "__torch__.") == 0 && is_enumeration)
    return known_[id] = value(first, path, depth + 1);
  if (name.compare(0, 10, "__torch__.") == 0) return object(id, name, path, depth);
  if (name.compare(0, 18, "torch.jit._pickle.") == 0 && first != kNoNode)
    // restore_type_tag, build_intlist and the like
    return known_[id] = value(first, path, depth + 1);
  if (name == "torch.device" && first != kNoNode) return known_[id] = value(first, path, depth + 1);
  if (name == "collections.OrderedDict") {
    Node as_dict;
    as_dict.items = node.extra;
    return known_[id] = dictionary(as_dict, path, depth);
  }
  auto unreadable = std::make_shared<Unreadable>();
  unreadable->why = "is made by '" + name + "'";
  return known_[id] = Value::of(std::shared_ptr<aten::Foreign>(unreadable));
}

Value Loader::quantized_rows(const Pickled::Loaded& loaded, const std::string& path) {
  const checkpoint::Quantization& by = *loaded.quantization;
  const std::vector<int64_t>& dims = loaded.constant.dims;
  const int64_t count = int64_t(by.scales.size());
  if (dims.size() != 2 || by.axis != 0 || dims[0] != count ||
      by.float_zero_points.size() != by.scales.size())
    graph::fail_corrupt("'" + path + "': has " + std::to_string(count) +
                        " scales along dimension " + std::to_string(by.axis) + " of " +
                        graph::text(graph::Dims(dims.begin(), dims.end())));
  auto made = std::make_shared<QuantizedRows>();
  const auto column = [&](const std::vector<double>& numbers) {
    const std::vector<float> floats(numbers.begin(), numbers.end());
    return Value::of(builder_.own(
        builder_.constant(graph::make_constant(DType::kF32, {count, 1}, floats.data()))));
  };
  made->bytes = Value::of(builder_.own(builder_.model.add_constant(path, loaded.constant)));
  made->scales = column(by.scales);
  made->zero_points = column(by.float_zero_points);
  return Value::of(std::shared_ptr<aten::Foreign>(made));
}

/// The numbers that its integers stand for.
Value Loader::quantized(const Pickled::Loaded& loaded, const std::string& path) {
  const checkpoint::Quantization& by = *loaded.quantization;
  if (by.scheme == "per_channel_affine_float_qparams" || !by.float_zero_points.empty())
    return quantized_rows(loaded, path);
  const bool in_channels = by.scheme == "per_channel_affine";
  const int64_t count = int64_t(by.scales.size()), axis = in_channels ? by.axis : 0;
  const int64_t rank = int64_t(loaded.constant.dims.size());
  if (in_channels && (axis < 0 || axis >= rank || loaded.constant.dims[size_t(axis)] != count))
    graph::fail_corrupt(
        "'" + path + "': has " + std::to_string(count) + " scales along dimension " +
        std::to_string(axis) + " of " +
        graph::text(graph::Dims(loaded.constant.dims.begin(), loaded.constant.dims.end())));
  const std::vector<float> scales(by.scales.begin(), by.scales.end());
  const std::vector<int64_t> dims =
      in_channels ? std::vector<int64_t>{count} : std::vector<int64_t>{};
  const graph::ValueId numbers = aten::dequantize(
      builder_, builder_.model.add_constant(path, loaded.constant),
      builder_.constant(graph::make_constant(DType::kF32, dims, scales.data())),
      builder_.constant(graph::make_constant(DType::kI64, dims, by.zero_points.data())), axis);
  const aten::Tensor made = builder_.own(numbers);
  if (!in_channels)
    aten::Builder::set_quantization(made, {loaded.constant.dtype, by.scales[0], by.zero_points[0]});
  return Value::of(made);
}

Value Loader::object(NodeId id, const std::string& type, const std::string& path, int depth) {
  const checkpoint::ValueTree& tree = pickled_.tree();
  auto made = std::make_shared<Object>();
  made->type = type;
  made->path = path;
  const Value result = known_[id] = Value::of(std::shared_ptr<aten::Foreign>(made));
  objects_.push_back(made);
  const NodeId state = tree.at(id).state;
  constexpr const char* kOfLibrary = "__torch__.torch.classes.";  // written in C++
  if (type.rfind(kOfLibrary, 0) == 0)
    return known_[id] =
               packed_parameters(type, value(state, path, depth + 1), builder_, "'" + path + "'");
  if (state != kNoNode && restores_(type)) {
    made->state = value(state, path, depth + 1);
    containers_.note(result, *made->state);
    restored_.push_back(made);
    return result;
  }
  if (state == kNoNode || tree.at(state).kind != NodeKind::kDict) return result;
  const std::vector<NodeId>& pairs = tree.at(state).items;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const Node& key = tree.at(pairs[i]);
    if (key.kind != NodeKind::kText) continue;
    Value loaded = value(pairs[i + 1], below(path, key.text), depth + 1);
    if (key.text == "training" && loaded.is(Value::Kind::kBool) && loaded.truth) {
      loaded = Value::of(false);
      builder_.note("was saved in training mode; converted in inference form");
    }
    containers_.note(result, loaded);
    made->slots.push_back(key.text);
    made->attributes[key.text] = std::move(loaded);
  }
  return result;
}

}  // namespace ingot::torchscript
