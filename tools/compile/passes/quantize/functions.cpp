// SPDX-License-Identifier: Apache-2.0
// Functions of bytes: sums and products of two tensors, tables, softmax, concatenation.
#include <algorithm>
#include <cmath>

#include "runtime/op/quantized_elementwise.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/files/work_budget.h"
#include "tools/graph/elementwise_steps.h"
#include "tools/graph/fold/fold_constants.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes::quantize {
namespace {

constexpr size_t kMaxFunctionNodes = 32;
using Numbers = std::vector<float>;  // one of each byte

Numbers numbers_of(const QuantParams& params) {
  Numbers all;
  for (int64_t i = 0; i < 256; i++) all.push_back(float(i - params.zero) * params.scale);
  return all;
}

/// What folding computes of one element; not what changes places, or adds up several.
bool is_of_one_element(const Editor& e, const Node& node) {
  std::vector<DType> types;
  for (const ValueId x : node.inputs) {
    if (x < 0) return false;
    types.push_back(e.value(x).dtype);
  }
  return node.op == op::Cast || graph::elementwise_steps(node, types);
}

/// The numbers of an f32 value for every byte of the one tensor that it is made of.
class FunctionOfInt8 {
 public:
  explicit FunctionOfInt8(const Int8Graph& g) : g_(g) {}

  bool compute(ValueId x) {
    if (made_.count(x)) return true;
    const Editor& e = g_.e;
    if (const auto params = g_.quant_params(x)) {
      if (leaf_ >= 0) return false;
      leaf_ = x;
      put(x, numbers_of(*params));
      return true;
    }
    const Node* node = e.producer(x);
    if (!node || node->outputs.size() != 1 || ++nodes_ > kMaxFunctionNodes) return false;
    if (!is_of_one_element(e, *node)) return false;
    bool any = false;
    for (const ValueId in : node->inputs) {
      const Constant* constant = e.constant(in);
      if (in < 0 || (constant && constant->elements() != 1)) return false;
      if (constant) continue;
      if (!compute(in) || !same(e.dims(in), e.dims(x))) return false;
      any = true;
    }
    return any && fold(*node);
  }
  ValueId leaf() const { return leaf_; }
  Numbers numbers(ValueId x) const {
    Numbers all;
    for (const double each : graph::read_numbers(made_.at(x))) all.push_back(float(each));
    return all;
  }

 private:
  void put(ValueId x, const Numbers& all) {
    made_[x] = graph::make_constant(DType::kF32, {256}, all.data());
  }
  bool fold(const Node& node) {
    Model scratch;
    Node copy = node;
    for (ValueId& in : copy.inputs) {
      const Constant* constant = g_.e.constant(in);
      Constant each = constant ? *constant : made_.at(in);
      if (constant) each.dims.clear();
      const DType dtype = each.dtype;
      const Dims dims(each.dims.begin(), each.dims.end());
      in = scratch.add_constant("x", std::move(each));
      Value& value = scratch.values[size_t(in)];
      value.dtype = dtype, value.dims = dims, value.shape_known = true;
    }
    copy.outputs[0] = scratch.add_value("y", g_.e.value(node.outputs[0]).dtype);
    Value& y = scratch.values[size_t(copy.outputs[0])];
    y.dims = {Dim(256)}, y.shape_known = true;
    if (!graph::fold_node(scratch, copy)) return false;
    made_[node.outputs[0]] = *scratch.constant(copy.outputs[0]);
    return true;
  }

  const Int8Graph& g_;
  size_t nodes_ = 0;
  ValueId leaf_ = kAbsent;
  std::map<ValueId, Constant> made_;
};

std::vector<int64_t> limited(const Numbers& numbers, const Output& to) {
  std::vector<int64_t> table;
  for (const float x : numbers) table.push_back(std::clamp(byte_of(to.params, x), to.low, to.high));
  return table;
}
}  // namespace

ValueId recognize_function(Int8Graph& g, ValueId x, const Output& to) {
  FunctionOfInt8 function(g);
  if (!function.compute(x) || g.e.value(x).dtype != DType::kF32) return kAbsent;
  return g.lookup(g.bytes(function.leaf()), limited(function.numbers(x), to), *to.from);
}

ValueId Int8Graph::rescaled(ValueId x, const QuantParams& from, const Output& to,
                            const Node& node) {
  return lookup(bytes(x), limited(numbers_of(from), to), node);
}

ValueId recognize_concat(Int8Graph& g, const Node& root, const Output& to) {
  std::vector<QuantParams> all;
  for (const ValueId part : root.inputs) {
    const auto params = g.quant_params(part);
    if (!params) return kAbsent;
    all.push_back(*params);
  }
  std::vector<ValueId> parts;
  for (size_t i = 0; i < all.size(); i++)
    parts.push_back(g.rescaled(root.inputs[i], all[i], to, root));
  return g.e.emit(op::Concat, parts, DType::kU8, g.e.dims(root.outputs[0]), root,
                  {{attr::axis, root.integer(attr::axis, 0)}});
}

ValueId recognize_sum(Int8Graph& g, const Node& root, const Output& to) {
  const auto a = g.quant_params(root.inputs[0]), b = g.quant_params(root.inputs[1]);
  if (!a || !b) return kAbsent;
  Attributes attributes = {{attr::requant, std::string("float_even")},
                           {attr::a_zero, a->zero},
                           {attr::b_zero, b->zero},
                           {attr::y_zero, to.params.zero},
                           {attr::low, to.low},
                           {attr::high, to.high}};
  if (root.op == op::Mul) {
    const float scale = a->scale * b->scale / to.params.scale;
    if (!std::isnormal(scale) || scale > 16384) return kAbsent;
    attributes[attr::function] = std::string("mul");
    attributes[attr::scale] = double(scale);
  } else {
    const float by_a = a->scale / to.params.scale, by_b = b->scale / to.params.scale,
                larger = std::max(by_a, by_b);
    if (!(larger >= 1.0f / 1024 && larger < 512)) return kAbsent;
    const int shift = quantized_sum_shift(DType::kU8) - std::ilogb(larger);
    attributes[attr::function] = std::string(root.op == op::Add ? "add" : "sub");
    attributes[attr::a_multiplier] = int64_t(std::nearbyint(std::ldexp(by_a, shift)));
    attributes[attr::b_multiplier] = int64_t(std::nearbyint(std::ldexp(by_b, shift)));
    attributes[attr::y_shift] = int64_t(shift);
  }
  Editor& e = g.e;
  ValueId x = g.bytes(root.inputs[0]), y = g.bytes(root.inputs[1]);
  // Both of one shape, and both reshaped from another: computed in that one.
  const Node *above_x = e.producer_if(x, op::Reshape), *above_y = e.producer_if(y, op::Reshape);
  Dims dims = e.dims(root.outputs[0]);
  if (above_x && above_y && same(e.dims(x), dims) && same(e.dims(y), dims) &&
      same(e.dims(above_x->inputs[0]), e.dims(above_y->inputs[0])))
    x = above_x->inputs[0], y = above_y->inputs[0], dims = e.dims(x);
  const ValueId made = e.emit(op::QuantizedElementwise, {x, y}, DType::kU8, dims, root, attributes);
  return e.reshape(made, e.dims(root.outputs[0]), root);
}

/// Softmax of the last dimension.
ValueId recognize_rows(Int8Graph& g, const Node& root, const Output& to) {
  Editor& e = g.e;
  const auto x = g.quant_params(root.inputs[0]);
  const size_t rank = e.rank(root.inputs[0]);
  if (!x || rank < 1 || to.low != 0 || to.high != 255) return kAbsent;
  const int64_t axis = root.integer(attr::axis, int64_t(rank) - 1);
  Numbers table(256);
  for (int i = 0; i < 256; i++) table[size_t(255 - i)] = std::exp(-x->scale * float(i));
  const ValueId exponents = e.new_constant(root.name + "/exponents",
                                           graph::make_constant(DType::kF32, {256}, table.data()));
  Integers last;
  for (int64_t i = 0; i < int64_t(rank); i++)
    if (i != axis) last.push_back(i);
  last.push_back(axis);
  const ValueId rows = e.transpose(g.bytes(root.inputs[0]), last, root);
  const ValueId y =
      e.emit(op::QuantizedSoftmax, {rows, exponents}, DType::kU8, e.dims(rows), root,
             {{attr::scale, double(to.params.scale)}, {attr::y_zero, to.params.zero}});
  return e.transpose(y, inverse(last), root);
}

}  // namespace ingot::passes::quantize
