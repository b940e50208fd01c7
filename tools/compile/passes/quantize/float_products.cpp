// SPDX-License-Identifier: Apache-2.0
// Convolutions and products of bytes whose result nothing takes to bytes at once: sums in whole
// numbers, then f32(sum) * (x's scale * w's scale) + bias. Steps of x are known, or computed in the
// run: (f32(bytes) - zero) * scale, as DequantizeLinear of such is spelled.
#include "runtime/op/requantize.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/compile/passes/quantize/int8_operands.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes::quantize {
namespace {

/// Weights with the outputs in front, and what their sums lack.
struct FloatWeights {
  Constant values;
  std::vector<int32_t> sums, zeros;
  std::vector<float> scales;
  bool any_zero = false;
  int64_t outputs = 0;
};

std::optional<FloatWeights> read_float_weights(const Int8Graph& g, ValueId id,
                                               const Integers& to_front) {
  const auto found = g.quantized_constant(id);
  if (!found || g.e.rank(id) != to_front.size() || found->scales.empty()) return std::nullopt;
  const Constant& integers = *found->integers;
  if (integers.dtype != DType::kI8 && integers.dtype != DType::kU8) return std::nullopt;
  Integers turn = to_front;
  if (!found->perm.empty())
    for (int64_t& axis : turn) axis = found->perm[size_t(axis)];
  if (found->scales.size() > 1 && found->axis != turn[0]) return std::nullopt;
  FloatWeights w;
  w.values = signed_weights(integers, turn);
  w.outputs = w.values.dims[0];
  const int64_t products = w.outputs ? w.values.elements() / w.outputs : 0,
                offset = integers.dtype == DType::kU8 ? 128 : 0;
  if (products < 1 || products > quantized::kMaxProducts) return std::nullopt;
  host::charge_work(uint64_t(w.values.elements()) / 8);
  for (int64_t o = 0; o < w.outputs; o++) {
    const size_t at = found->scales.size() > 1 ? size_t(o) : 0;
    const int64_t zero = found->zeros[at] - offset;
    int64_t sum = 0;
    for (int64_t k = 0; k < products; k++) sum += w.values.as<int8_t>()[o * products + k];
    w.scales.push_back(found->scales[at]);
    w.zeros.push_back(int32_t(zero));
    w.sums.push_back(int32_t(sum - products * zero));
    w.any_zero |= zero != 0;
  }
  return w;
}

/// Of numbers, or integers behind DequantizeLinear; one for each output.
std::optional<std::vector<float>> read_float_bias(const Int8Graph& g, ValueId id, int64_t outputs) {
  std::vector<float> all(size_t(outputs), 0.0f);
  if (id < 0) return all;
  const auto found = g.quantized_constant(id);
  if (found && !found->perm.empty()) return std::nullopt;
  const Constant* const held = found ? found->integers : g.e.constant(id);
  if (!held || (!found && held->dtype != DType::kF32) || held->elements() != outputs ||
      (!held->dims.empty() && held->dims.back() != outputs))
    return std::nullopt;
  for (int64_t o = 0; o < outputs; o++) {
    const double number = graph::read_number(*held, o);
    const size_t at = found && found->scales.size() > 1 ? size_t(o) : 0;
    all[size_t(o)] =
        found ? float(number - double(found->zeros[at])) * found->scales[at] : float(number);
  }
  return all;
}

/// f32 made of bytes on steps that the run computes, one of each row or one for all.
struct RunTimeInt8 {
  ValueId bytes = kAbsent;                  // u8 or i8
  ValueId scale = kAbsent, zero = kAbsent;  // f32, or any type; kAbsent: 0
  bool in_rows = false;
};
bool is_one_element(const Editor& e, ValueId id) { return graph::product(e.dims(id)) == Dim(1); }
/// A number of each row: the dims of x, but for the last.
bool is_of_rows(const Editor& e, ValueId id, const Dims& dims) {
  Dims rows = dims;
  rows.back() = Dim(1);
  return e.dims(id) == rows;
}
std::optional<RunTimeInt8> run_time_bytes(const Editor& e, ValueId x) {
  const Node* const times = e.producer_if(x, op::Mul);
  if (!times || e.rank(x) < 1) return std::nullopt;
  const auto source = [&](ValueId id) -> std::optional<ValueId> {
    const Node* const cast = e.producer_if(id, op::Cast);
    if (!cast || e.value(id).dtype != DType::kF32) return std::nullopt;
    return cast->inputs[0];
  };
  const auto bytes_of = [&](ValueId id) -> std::optional<ValueId> {
    const auto from = source(id);
    if (!from) return std::nullopt;
    const DType dtype = e.value(*from).dtype;
    return dtype == DType::kU8 || dtype == DType::kI8 ? from : std::nullopt;
  };
  for (const size_t first : {size_t(0), size_t(1)}) {
    RunTimeInt8 found;
    found.scale = times->inputs[1 - first];
    ValueId apart = times->inputs[first];
    if (const Node* const sub = e.producer_if(apart, op::Sub))
      apart = sub->inputs[0], found.zero = sub->inputs[1];
    const auto bytes = bytes_of(apart);
    if (!bytes || e.value(found.scale).dtype != DType::kF32) continue;
    found.bytes = *bytes;
    const Dims& dims = e.dims(x);
    if (e.dims(found.bytes) != dims) continue;
    found.in_rows = !is_one_element(e, found.scale) && is_of_rows(e, found.scale, dims);
    const bool fits = found.in_rows || is_one_element(e, found.scale);
    if (!fits || (found.zero >= 0 && !is_one_element(e, found.zero) &&
                  !(found.in_rows && is_of_rows(e, found.zero, dims))))
      continue;
    return found;
  }
  return std::nullopt;
}

/// The steps that DynamicQuantize gave beside these bytes, where the scale and the zero point are
/// taken out of them.
ValueId given_steps(const Editor& e, const RunTimeInt8& x) {
  const Node* const made = e.producer_if(x.bytes, op::DynamicQuantize);
  if (!made || x.zero < 0) return kAbsent;
  const auto is_number = [&](ValueId id, int64_t at) {
    for (;;) {
      const Node* const node = e.producer(id);
      if (!node) return false;
      if (node->op == op::Slice) {
        const Dims starts = node->dims(attr::starts);
        return node->inputs[0] == made->outputs[1] && starts.size() == 2 && starts[1] == Dim(at);
      }
      if (node->op != op::Reshape && node->op != op::Cast) return false;
      id = node->inputs[0];
    }
  };
  return is_number(x.scale, 0) && is_number(x.zero, 1) ? made->outputs[1] : kAbsent;
}

/// f32 [groups, 2] of u8.
ValueId steps_of(Editor& e, const RunTimeInt8& x, const Node& node) {
  if (const ValueId steps = given_steps(e, x); steps >= 0) return steps;
  const Dim groups = x.in_rows ? graph::product(e.dims(x.scale)) : Dim(1);
  const Dims column = {groups, Dim(1)};
  const float offset = e.value(x.bytes).dtype == DType::kI8 ? 128.0f : 0.0f;
  const auto number = [&](const char* what, float value) {
    return e.new_constant(node.name + what, graph::make_constant(DType::kF32, {1, 1}, &value));
  };
  const auto as_column = [&](ValueId id) {
    if (e.value(id).dtype != DType::kF32)
      id =
          e.emit(op::Cast, {id}, DType::kF32, e.dims(id), node, {{attr::to, int64_t(DType::kF32)}});
    return e.reshape(id, is_one_element(e, id) ? Dims{Dim(1), Dim(1)} : column, node);
  };
  const auto repeated = [&](ValueId id) {
    if (!x.in_rows || e.dims(id) == column) return id;
    return e.emit(op::Expand, {id}, DType::kF32, column, node);
  };
  ValueId zero = x.zero >= 0 ? as_column(x.zero) : number("/zero", 0);
  if (offset != 0)
    zero = e.emit(op::Add, {zero, number("/offset", offset)}, DType::kF32, e.dims(zero), node);
  return e.emit(op::Concat, {as_column(x.scale), repeated(zero)}, DType::kF32, {groups, Dim(2)},
                node, {{attr::axis, int64_t(1)}});
}

}  // namespace

bool recognize_float_product(Int8Graph& g, Node& node) {
  Editor& e = g.e;
  if (node.outputs[0] < 0 || (!e.reader_count(node.outputs[0]) && !e.is_output(node.outputs[0])))
    return false;
  const bool image = node.op == op::Conv, is_gemm = node.op == op::Gemm;
  if (!image && !is_gemm && node.op != op::MatMul) return false;
  const auto x = g.quant_params(node.inputs[0]);
  const auto made_in_run = x ? std::nullopt : run_time_bytes(e, node.inputs[0]);
  const size_t rank = e.rank(node.inputs[0]);
  if ((!x && !made_in_run) || (image && made_in_run && made_in_run->in_rows) ||
      (image && ((rank != 3 && rank != 4) || e.rank(node.inputs[1]) != rank ||
                 node.integers(attr::kernel_shape).size() != rank - 2 || !windows_fit(e, node))))
    return false;
  if (!image && (rank < 2 || e.rank(node.inputs[1]) != 2)) return false;
  if (is_gemm && (node.integer(attr::transA, 0) != 0 || node.number(attr::alpha, 1) != 1 ||
                  (node.inputs.size() > 2 && node.number(attr::beta, 1) != 1)))
    return false;
  const bool turned = is_gemm && node.integer(attr::transB, 0) != 0;
  auto w = read_float_weights(g, node.inputs[1],
                              image    ? to_channels_last(rank)
                              : turned ? Integers{0, 1}
                                       : Integers{1, 0});
  if (!w || (!image && e.dims(node.inputs[0]).back() != Dim(w->values.dims[1]))) return false;
  const auto bias =
      read_float_bias(g, node.inputs.size() > 2 ? node.inputs[2] : kAbsent, w->outputs);
  if (!bias) return false;
  if (image && rank == 3) w->values.dims.insert(w->values.dims.begin() + 1, 1);
  const auto constant = [&](const std::string& what, Constant made) {
    return e.new_constant(node.name + what, std::move(made));
  };
  const auto whole = [&](const char* what, const std::vector<int32_t>& all) {
    return constant(what, graph::make_constant(DType::kI32, {w->outputs}, all.data()));
  };
  const auto floats = [&](const char* what, const std::vector<float>& all, Integers dims) {
    return constant(what, graph::make_constant(DType::kF32, std::move(dims), all.data()));
  };
  ValueId bytes = x ? g.bytes(node.inputs[0]) : made_in_run->bytes;
  if (e.value(bytes).dtype == DType::kI8)
    bytes = e.emit(op::OffsetByte, {bytes}, DType::kU8, e.dims(bytes), node);
  const std::vector<ValueId> operands = {
      image ? image_of(e, bytes, node) : bytes,
      e.new_constant(e.value(node.inputs[1]).name, w->values),
      whole("/weight_sums", w->sums),
      floats("/scales", w->scales, {w->outputs}),
      floats("/biases", *bias, {w->outputs}),
      w->any_zero ? whole("/weight_zeros", w->zeros) : kAbsent,
      x ? floats("/steps", {x->scale, float(x->zero)}, {1, 2}) : steps_of(e, *made_in_run, node)};
  Attributes attributes;
  if (image) {
    attributes = window(node);
    set_groups(node.integer(attr::group, 1), w->outputs, w->values.dims[3], &attributes);
  }
  attributes[attr::requant] = std::string("to_float");
  const Dims dims = e.dims(node.outputs[0]);
  ValueId y = e.emit(image ? op::QuantizedConv2d : op::QuantizedLinear, operands, DType::kF32,
                     image ? image_dims(dims) : dims, node, attributes);
  if (image) e.value(y).layout = "NHWC", y = from_image(e, y, node);
  const ValueId old = node.outputs[0];
  if (!e.is_output(old) && e.bypass(node, y)) return true;
  e.kill(node);
  e.add(op::Identity, {y}, {old}, node);
  return true;
}

}  // namespace ingot::passes::quantize
