// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/quantize/dynamic.h"

#include <cstdint>

#include "runtime/op/requantize.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/editor.h"
#include "tools/compile/quantize/insert.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::quantize {
namespace {

using passes::Editor;
using Bytes = std::pair<ValueId, ValueId>;  // of a tensor: bytes, steps of its rows

/// A product, its weights' dimension of outputs, and its bias where there is one.
struct Product {
  Node* node = nullptr;
  int64_t axis = 1;
  ValueId bias = kAbsent;
};

/// Node is null for what is no such layer.
Product product_of(const Editor& e, Node& node) {
  if (node.op != op::MatMul && node.op != op::Gemm) return {};
  Product found{&node, 1, kAbsent};
  if (node.op == op::Gemm) {
    if (node.integer(attr::transA, 0) != 0 || node.number(attr::alpha, 1) != 1) return {};
    found.axis = node.integer(attr::transB, 0) != 0 ? 0 : 1;
    if (node.inputs.size() > 2) found.bias = node.inputs[2];
    if (found.bias >= 0 && node.number(attr::beta, 1) != 1) return {};
  }
  const Constant* w = e.constant(node.inputs[1]);
  if (!w || w->dtype != DType::kF32 || w->dims.size() != 2 || w->elements() == 0 ||
      w->dims[size_t(1 - found.axis)] > quantized::kMaxProducts ||
      e.value(node.inputs[0]).dtype != DType::kF32 || e.constant(node.inputs[0]) ||
      e.rank(node.inputs[0]) < 2)
    return {};
  return found;
}

class DynamicLinear {
 public:
  DynamicLinear(Editor& editor, const Keep& keep, std::set<std::string>* matched,
                const std::set<ValueId>* only, DynamicLayers* found)
      : e(editor), keep_(keep), matched_(*matched), only_(only), found_(*found) {}

  void run() {
    for (Node* node : e.nodes()) {
      const Product product = product_of(e, *node);
      if (!product.node || (only_ && !only_->count(node->inputs[1]))) continue;
      found_.names.push_back(node->name);
      if (is_kept(*node))
        found_.kept++;
      else
        quantize(product);
    }
  }

 private:
  bool is_kept(const Node& node) {
    bool kept = false;
    for (const std::string& pattern : keep_.patterns)
      for (const std::string& name :
           {node.name, e.value(node.inputs[1]).name, e.value(node.outputs[0]).name})
        if (!name.empty() && matches(pattern, name)) kept = true, matched_.insert(pattern);
    return kept;
  }

  /// The first dimensions count the rows, each with a scale and a zero point.
  Bytes bytes_of(ValueId x, const Node& node) {
    const auto known = bytes_.find(x);
    if (known != bytes_.end()) return known->second;
    const graph::Dims dims = e.dims(x);
    const std::string name = e.value(x).name;
    const graph::Dim rows = graph::product(graph::Dims(dims.begin(), dims.end() - 1));
    const Bytes made = {e.new_value(name + "/bytes", DType::kU8, dims),
                        e.new_value(name + "/steps", DType::kF32, {rows, graph::Dim(2)})};
    e.add(op::DynamicQuantize, {x}, {made.first, made.second}, node,
          {{attr::range, std::string("full")}, {attr::axis, int64_t(dims.size()) - 1}});
    return bytes_[x] = made;
  }

  bool is_bias(ValueId id, int64_t outputs) const {
    const Constant* const bias = id >= 0 ? e.constant(id) : nullptr;
    return bias && bias->dtype == DType::kF32 && bias->elements() == outputs &&
           !bias->dims.empty() && bias->dims.back() == outputs;
  }
  ValueId row_of(const Node& node, const char* what, DType dtype, int64_t count, const void* all) {
    return e.new_constant(node.name + what, graph::make_constant(dtype, {count}, all));
  }

  void quantize(const Product& product) {
    Node& node = *product.node;
    const Constant& weights = *e.constant(node.inputs[1]);
    const std::string name = e.value(node.inputs[1]).name;
    const int64_t outputs = weights.dims[size_t(product.axis)],
                  depth = weights.dims[size_t(1 - product.axis)];
    require_finite(weights, text(node.op), node.name, "weights");
    const ByteWeights made = quantize_weights(weights, product.axis, true, {});
    Constant bytes = graph::make_constant(DType::kI8, weights.dims, made.bytes.data());
    if (product.axis == 1) bytes = passes::permuted(bytes, {1, 0});
    host::charge_work(uint64_t(bytes.elements()));
    std::vector<int32_t> sums;
    for (int64_t o = 0; o < outputs; o++) {
      int32_t sum = 0;
      for (int64_t k = 0; k < depth; k++) sum += bytes.as<int8_t>()[o * depth + k];
      sums.push_back(sum);
    }
    std::vector<float> biases(size_t(outputs), 0.0f);
    ValueId added = product.bias, y = node.outputs[0];
    Node* behind = nullptr;  // the Add of a bias
    if (added < 0 && e.read_once(y) && e.readers(y)[0]->op == op::Add &&
        passes::same(e.dims(e.readers(y)[0]->outputs[0]), e.dims(y))) {
      behind = e.readers(y)[0];
      added = behind->inputs[behind->inputs[0] == y ? 1 : 0];
    }
    if (is_bias(added, outputs)) {
      require_finite(*e.constant(added), text(node.op), node.name, "bias");
      const auto all = e.constant(added)->as<float>().part(0, outputs);
      biases.assign(all.begin(), all.end());
      added = kAbsent;
      if (behind) y = behind->outputs[0], e.kill(*behind);
    } else if (behind) {
      added = kAbsent;  // stays where it is
    }
    const Bytes x = bytes_of(node.inputs[0], node);
    const std::vector<ValueId> operands = {
        x.first,
        e.new_constant(name, bytes),
        row_of(node, "/weight_sums", DType::kI32, outputs, sums.data()),
        row_of(node, "/scales", DType::kF32, outputs, made.scales.data()),
        row_of(node, "/biases", DType::kF32, outputs, biases.data()),
        kAbsent,
        x.second};
    const graph::Dims dims = e.dims(y);
    const passes::Attributes attributes = {{attr::requant, std::string("to_float")}};
    e.kill(node);
    if (added < 0) {
      e.add(op::QuantizedLinear, operands, {y}, node, attributes);
      return;
    }
    const ValueId sum = e.emit(op::QuantizedLinear, operands, DType::kF32, dims, node, attributes);
    e.add(op::Add, {sum, added}, {y}, node);
  }

  Editor& e;
  const Keep& keep_;
  std::set<std::string>& matched_;
  const std::set<ValueId>* only_;
  DynamicLayers& found_;
  std::map<ValueId, Bytes> bytes_;
};

}  // namespace

DynamicLayers quantize_in_each_run(Model& model, const Keep& keep, std::set<std::string>* matched,
                                   const std::set<ValueId>* only) {
  DynamicLayers found;
  for (graph::Graph* graph : passes::graphs_inside_out(model.graph)) {
    Editor e(model, *graph);
    DynamicLinear(e, keep, matched, only, &found).run();
    e.commit();
  }
  return found;
}

std::set<size_t> find_row_layers(const Model& model, Keep keep) {
  std::set<size_t> rows;
  for (size_t before = SIZE_MAX; before != rows.size();) {
    before = rows.size();
    std::set<std::string> matched;
    const Sites sites = find_sites(model, keep, &matched);
    std::set<ValueId> made_of_bytes;
    for (const Layer& layer : sites.layers)
      if (!layer.gives_floats) made_of_bytes.insert(layer.output);
    for (const size_t step : sites.steps)
      for (const ValueId id : model.graph.nodes[step].outputs) made_of_bytes.insert(id);
    // What such a layer gives is floating point, so that others behind it may follow.
    for (const Layer& layer : sites.layers)
      if (layer.op != op::Conv && !made_of_bytes.count(layer.input))
        rows.insert(layer.node), keep.nodes.insert(layer.node);
  }
  return rows;
}

}  // namespace ingot::quantize
