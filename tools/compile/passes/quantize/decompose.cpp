// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear in floating point, which is what they mean, where no integer
// arithmetic was found around them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/match.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes::quantize {
namespace {

struct Range {
  double low, high;
};
Range range_of(DType dtype) {
  switch (dtype) {
    case DType::kI8: return {-128, 127};
    case DType::kI16: return {-32768, 32767};
    case DType::kU16: return {0, 65535};
    default: return {0, 255};
  }
}

/// Scale, or zero point, as an f32 constant that broadcasts to what has `rank` dimensions.
ValueId numbers_along(Editor& e, const Node& node, size_t operand, size_t rank) {
  const bool is_scale = operand == 1;
  if (node.op == op::Quantize || node.op == op::Dequantize) {
    const float number =
        float(is_scale ? node.number(attr::scale, 1) : double(node.integer(attr::zero_point, 0)));
    return e.new_constant(node.name + (is_scale ? "/scale" : "/zero"),
                          graph::make_constant(DType::kF32, {}, &number));
  }
  const Constant given = *e.constant(node.inputs[operand]);
  std::vector<int64_t> dims;
  if (!given.dims.empty()) {
    dims.assign(rank, 1);
    dims[size_t(node.integer(attr::axis, 0))] = given.dims[0];
  }
  return e.new_constant(e.value(node.inputs[operand]).name,
                        make_f32(dims, graph::read_numbers(given)));
}

void spell_quantize(Editor& e, Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const DType to = e.value(y).dtype;
  const Dims dims = e.dims(y);
  const ValueId scale = numbers_along(e, node, 1, dims.size()),
                zero = numbers_along(e, node, 2, dims.size());
  e.kill(node);
  const auto emit = [&](graph::Operator op, std::vector<ValueId> inputs,
                        Attributes attributes = {}) {
    return e.emit(op, std::move(inputs), DType::kF32, dims, node, std::move(attributes));
  };
  const Range range = range_of(to);
  const ValueId steps = emit(op::Add, {emit(op::Round, {emit(op::Div, {x, scale})}), zero});
  const ValueId kept = emit(op::Clip, {steps}, {{attr::min, range.low}, {attr::max, range.high}});
  e.add(op::Cast, {kept}, {y}, node, {{attr::to, int64_t(to)}});
}

/// (x - zero) * scale, the difference exact.
void spell_dequantize(Editor& e, Node& node) {
  const ValueId x = node.inputs[0], y = node.outputs[0];
  const Dims dims = e.dims(y);
  const bool wide = e.value(x).dtype == DType::kI32;
  const ValueId scale = numbers_along(e, node, 1, dims.size());
  ValueId zero = wide ? node.inputs[2] : numbers_along(e, node, 2, dims.size());
  if (wide && e.rank(zero) == 1 && dims.size() > 1) {
    std::vector<int64_t> along(dims.size(), 1);
    along[size_t(node.integer(attr::axis, 0))] = e.constant(zero)->dims[0];
    zero = e.new_constant(e.value(zero).name, with_dims(*e.constant(zero), along));
  }
  e.kill(node);
  const auto floats = [&](ValueId of) {
    return e.emit(op::Cast, {of}, DType::kF32, dims, node, {{attr::to, int64_t(DType::kF32)}});
  };
  const ValueId steps = wide ? floats(e.emit(op::Sub, {x, zero}, DType::kI32, dims, node))
                             : e.emit(op::Sub, {floats(x), zero}, DType::kF32, dims, node);
  e.add(op::Mul, {steps, scale}, {y}, node);
}

/// Place of the scale of element i.
size_t channel_of(const Node& node, const Constant& x, size_t scales, int64_t i) {
  if (scales <= 1) return 0;
  const size_t axis = size_t(node.integer(attr::axis, 0));
  const int64_t block = node.integer(attr::block_size, 0);
  int64_t inner = 1;
  for (size_t d = axis + 1; d < x.dims.size(); d++) inner *= x.dims[d];
  if (block == 0) return size_t(i / std::max<int64_t>(inner, 1)) % scales;
  const int64_t extent = x.dims[axis], blocks = extent / block + (extent % block != 0);
  const int64_t outer = i / (inner * extent), along = i / inner % extent;
  return size_t((outer * blocks + along / block) * inner + i % inner);
}

/// Constants are computed now. False where it is none.
bool compute_constant(Editor& e, Node& node) {
  const Constant* x = e.constant(node.inputs[0]);
  if (!x || (node.op != op::QuantizeLinear && node.op != op::DequantizeLinear)) return false;
  const Constant scale = *e.constant(node.inputs[1]), zero = *e.constant(node.inputs[2]);
  const ValueId y = node.outputs[0];
  const DType to = e.value(y).dtype;
  const Range range = range_of(to);
  host::charge_work(uint64_t(x->elements()));
  host::charge_memory(uint64_t(x->elements()) * 12);
  std::vector<double> all;
  for (int64_t i = 0; i < x->elements(); i++) {
    const int64_t c = int64_t(channel_of(node, *x, size_t(scale.elements()), i));
    const double z = double(graph::read_integer(zero, c)), number = graph::read_number(*x, i);
    const float by = scale.as<float>()[c];
    if (to == DType::kF32) {
      all.push_back(double(float(number - z) * by));
      continue;
    }
    const double steps = std::nearbyint(double(float(number) / by)) + z;
    all.push_back(std::isnan(steps) ? z : std::clamp(steps, range.low, range.high));
  }
  const std::vector<int64_t> integers =
      to == DType::kF32 ? Integers{} : Integers(all.begin(), all.end());
  const Constant made =
      to == DType::kF32 ? make_f32(x->dims, all) : graph::make_integer(to, x->dims, integers);
  if (e.is_output(y)) {  // a port needs a node that writes it
    e.kill(node);
    e.add(op::Identity, {e.new_constant(e.value(y).name + "/constant", made)}, {y}, node);
    return true;
  }
  e.kill(node);
  e.replace_reads(y, e.new_constant(e.value(y).name, made));
  return true;
}

}  // namespace

void decompose(Editor& e, Node& node) {
  if (compute_constant(e, node)) return;
  if (node.op == op::QuantizeLinear || node.op == op::Quantize) spell_quantize(e, node);
  if (node.op == op::DequantizeLinear || node.op == op::Dequantize) spell_dequantize(e, node);
}

uint32_t compute_quantized_constants(Editor& e) {
  uint32_t changed = 0;
  for (Node* node : e.nodes())
    if (node->op == op::QuantizeLinear) changed += compute_constant(e, *node);
  return changed;
}

}  // namespace ingot::passes::quantize

namespace ingot::passes {
namespace {

/// What the import makes of a long sum of integers (infer_quantize.cpp): upper bits times w, times
/// 16, and lower bits times w.
struct WholeSum {
  Node *upper = nullptr, *lower = nullptr;  // MatMul or Conv
  ValueId x = kAbsent;
};
std::optional<WholeSum> whole_sum(const Editor& e, const Node& add) {
  const auto made = [&](ValueId id, graph::Operator op) { return e.producer_if(id, op); };
  const auto product = [&](ValueId id) -> Node* {
    Node* const cast = made(id, op::Cast);
    Node* const node = cast ? e.producer(cast->inputs[0]) : nullptr;
    return node && (node->op == op::MatMul || node->op == op::Conv) ? node : nullptr;
  };
  Node* const shifted = made(add.inputs[0], op::Mul);
  WholeSum sum;
  sum.upper =
      shifted && is_scalar(e.model, shifted->inputs[1], 16) ? product(shifted->inputs[0]) : nullptr;
  sum.lower = product(add.inputs[1]);
  if (!sum.upper || !sum.lower || sum.upper->op != sum.lower->op ||
      sum.upper->inputs[1] != sum.lower->inputs[1])
    return std::nullopt;
  const ValueId high = sum.upper->inputs[0];
  Node *const floor = made(high, op::Floor), *const rest = made(sum.lower->inputs[0], op::Sub);
  Node* const part = floor ? made(floor->inputs[0], op::Div) : nullptr;
  Node* const back = rest ? made(rest->inputs[1], op::Mul) : nullptr;
  if (!part || !back || back->inputs[0] != high || rest->inputs[0] != part->inputs[0] ||
      !is_scalar(e.model, part->inputs[1], 16) || !is_scalar(e.model, back->inputs[1], 16))
    return std::nullopt;
  sum.x = part->inputs[0];
  return sum;
}

/// A sum of integers that becomes f32 at once needs no more than one product in f32.
uint32_t join_sums(Editor& e) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Cast || e.value(node->outputs[0]).dtype != DType::kF32)
      continue;
    Node* const add = e.producer_if(node->inputs[0], op::Add);
    if (!add || !e.read_once(node->inputs[0])) continue;
    const auto sum = whole_sum(e, *add);
    if (!sum) continue;
    const graph::Operator op = sum->upper->op;
    const ValueId w = sum->upper->inputs[1], y = node->outputs[0];
    const Attributes attributes = sum->upper->attributes;
    e.merge_sources(*node, *add);
    e.kill(*node);
    e.add(op, {sum->x, w}, {y}, *node, attributes);
    changed++;
  }
  return changed;
}

}  // namespace

uint32_t decompose_quantization(Editor& e, Remarks&) {
  uint32_t changed = quantize::decompose_integers(e);
  changed += join_sums(e);
  for (Node* node : e.nodes())
    if (node->op == op::QuantizeLinear || node->op == op::DequantizeLinear)
      quantize::decompose(e, *node), changed++;
  return changed;
}

}  // namespace ingot::passes
