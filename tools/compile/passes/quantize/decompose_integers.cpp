// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLinear, MatMulInteger and ConvInteger in floating point, for devices without
// integer kernels.
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes::quantize {
namespace {

constexpr int64_t kWhole = int64_t(1) << 24, kMaxByte = 255;  // sums that f32 holds

/// Nodes of one source, in the dims of what they are made of.
class Speller {
 public:
  Speller(Editor& editor, const Node& from) : e(editor), from_(from) {}
  ValueId number(float x) {
    return e.new_constant(from_.name + "/number", graph::make_constant(DType::kF32, {}, &x));
  }
  ValueId f32(graph::Operator op, std::vector<ValueId> inputs, const Dims& dims,
              Attributes attributes = {}) {
    return e.emit(op, std::move(inputs), DType::kF32, dims, from_, std::move(attributes));
  }
  ValueId cast(ValueId x, DType to) {
    return e.emit(op::Cast, {x}, to, e.dims(x), from_, {{attr::to, int64_t(to)}});
  }
  void give(ValueId made, ValueId y) {
    if (y >= 0) e.add(op::Identity, {made}, {y}, from_);
  }

 private:
  Editor& e;
  const Node& from_;
};

/// Scale and zero point of what x holds, zero included, as onnxruntime has them.
void spell_dynamic(Editor& e, Node& node) {
  const ValueId x = node.inputs[0];
  const std::vector<ValueId> outputs = node.outputs;
  const Dims dims = e.dims(x);
  e.kill(node);
  Speller s(e, node);
  Integers axes;
  for (size_t i = 0; i < dims.size(); i++) axes.push_back(int64_t(i));
  const ValueId nothing = s.number(0), most = s.number(255);
  const auto extreme = [&](graph::Operator reduce, graph::Operator with_zero) {
    const Attributes all = {{attr::axes, axes}, {attr::keepdims, int64_t(0)}};
    return s.f32(with_zero, {axes.empty() ? x : s.f32(reduce, {x}, {}, all), nothing}, {});
  };
  const ValueId high = extreme(op::ReduceMax, op::Max), low = extreme(op::ReduceMin, op::Min),
                range = s.f32(op::Sub, {high, low}, {}),
                flat = e.emit(op::Equal, {range, nothing}, DType::kBool, {}, node),
                scale =
                    s.f32(op::Where, {flat, s.number(1), s.f32(op::Div, {range, most}, {})}, {});
  const auto limited = [&](ValueId of, const Dims& to) {
    return s.f32(op::Clip, {of}, to, {{attr::min, 0.0}, {attr::max, 255.0}});
  };
  const ValueId offset = s.f32(op::Div, {s.f32(op::Neg, {low}, {}), scale}, {});
  const ValueId zero = limited(s.f32(op::Round, {offset}, {}), {});
  const ValueId steps = s.f32(op::Round, {s.f32(op::Div, {x, scale}, dims)}, dims);
  s.give(s.cast(limited(s.f32(op::Add, {steps, zero}, dims), dims), DType::kU8), outputs[0]);
  s.give(scale, outputs[1]);
  s.give(s.cast(zero, DType::kU8), outputs[2]);
}

/// x less its zero point.
ValueId whole_numbers(Editor& e, Speller& s, const Node& node) {
  const ValueId x = s.cast(node.inputs[0], DType::kF32);
  if (node.inputs.size() <= 2 || node.inputs[2] < 0) return x;
  const ValueId zero = e.reshape(s.cast(node.inputs[2], DType::kF32), {}, node);
  return s.f32(op::Sub, {x, zero}, e.dims(x));
}
/// Weights less their zero points, of which there may be one of each element of `axis`.
ValueId whole_weights(Editor& e, const Node& node, size_t axis) {
  const Constant& w = *e.constant(node.inputs[1]);
  const Constant* const zero =
      node.inputs.size() > 3 && node.inputs[3] >= 0 ? e.constant(node.inputs[3]) : nullptr;
  int64_t inner = 1;
  for (size_t i = axis + 1; i < w.dims.size(); i++) inner *= w.dims[i];
  host::charge_work(uint64_t(w.elements()));
  host::charge_memory(uint64_t(w.elements()) * 12);
  std::vector<double> all;
  for (int64_t i = 0; i < w.elements(); i++) {
    const int64_t c = zero && zero->elements() > 1 ? i / inner % zero->elements() : 0;
    all.push_back(graph::read_number(w, i) - (zero ? graph::read_number(*zero, c) : 0));
  }
  return e.new_constant(e.value(node.inputs[1]).name, make_f32(w.dims, all));
}

/// The i32 sums of whole numbers x and w. f32 holds short ones; longer ones are the sum of two,
/// with the upper and the lower 4 bits of x.
void spell_product(Editor& e, Node& node) {
  const bool image = node.op == op::ConvInteger;
  const Dims w_dims = e.dims(node.inputs[1]);
  int64_t count = image ? 1 : *w_dims[0].value();
  for (size_t i = 1; image && i < w_dims.size(); i++) count *= *w_dims[i].value();
  if (count > kWhole / (kMaxByte * 16))
    graph::fail_unsupported("node '" + node.name + "' (" + text(node.op) + "): sums of " +
                            std::to_string(count) + " products of bytes, at most " +
                            std::to_string(kWhole / (kMaxByte * 16)) +
                            " are supported without integer kernels; leave out --target");
  Speller s(e, node);
  const ValueId y = node.outputs[0], x = whole_numbers(e, s, node),
                w = whole_weights(e, node, image ? 0 : 1);
  const Attributes attributes = image ? node.attributes : Attributes{};
  const Dims dims = e.dims(y);
  e.kill(node);
  const auto sum = [&](ValueId part) {
    return s.cast(s.f32(image ? op::Conv : op::MatMul, {part, w}, dims, attributes), DType::kI32);
  };
  if (count <= kWhole / (kMaxByte * kMaxByte)) return s.give(sum(x), y);
  const ValueId sixteen = s.number(16);
  const Dims of = e.dims(x);
  const ValueId upper = s.f32(op::Floor, {s.f32(op::Div, {x, sixteen}, of)}, of);
  const ValueId lower = s.f32(op::Sub, {x, s.f32(op::Mul, {upper, sixteen}, of)}, of);
  const int32_t by = 16;
  const ValueId factor =
      e.new_constant(node.name + "/number", graph::make_constant(DType::kI32, {}, &by));
  const ValueId whole = e.emit(op::Mul, {sum(upper), factor}, DType::kI32, dims, node);
  e.add(op::Add, {whole, sum(lower)}, {y}, node);
}

}  // namespace

uint32_t decompose_integers(Editor& e) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->op == op::DynamicQuantizeLinear) spell_dynamic(e, *node), changed++;
    if (node->op == op::MatMulInteger || node->op == op::ConvInteger)
      spell_product(e, *node), changed++;
  }
  return changed;
}

}  // namespace ingot::passes::quantize
