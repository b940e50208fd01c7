// Convolutions and products of bytes whose result nothing takes to bytes at once: sums in whole
// numbers, then f32(sum) * (x's scale * w's scale) + bias.
#include "runtime/op/requantize.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/byte_graph.h"
#include "tools/compile/passes/quantize/byte_operands.h"
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

std::optional<FloatWeights> read_float_weights(const ByteGraph& g, ValueId id,
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
std::optional<std::vector<float>> read_float_bias(const ByteGraph& g, ValueId id, int64_t outputs) {
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

}  // namespace

bool recognise_float_product(ByteGraph& g, Node& node) {
  Editor& e = g.e;
  if (node.outputs[0] < 0 || (!e.reader_count(node.outputs[0]) && !e.is_output(node.outputs[0])))
    return false;
  const bool image = node.op == "Conv", is_gemm = node.op == "Gemm";
  if (!image && !is_gemm && node.op != "MatMul") return false;
  const auto x = g.steps(node.inputs[0]);
  const size_t rank = e.rank(node.inputs[0]);
  if (!x || (image && ((rank != 3 && rank != 4) || e.rank(node.inputs[1]) != rank ||
                       node.integers("kernel_shape").size() != rank - 2 || !windows_fit(e, node))))
    return false;
  if (!image && (rank < 2 || e.rank(node.inputs[1]) != 2)) return false;
  if (is_gemm && (node.integer("transA", 0) != 0 || node.number("alpha", 1) != 1 ||
                  (node.inputs.size() > 2 && node.number("beta", 1) != 1)))
    return false;
  const bool turned = is_gemm && node.integer("transB", 0) != 0;
  auto w = read_float_weights(g, node.inputs[1],
                              image    ? outputs_first(rank)
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
  const ValueId bytes = g.bytes(node.inputs[0]);
  const std::vector<ValueId> operands = {image ? image_of(e, bytes, node) : bytes,
                                         e.new_constant(e.value(node.inputs[1]).name, w->values),
                                         whole("/weight_sums", w->sums),
                                         floats("/scales", w->scales, {w->outputs}),
                                         floats("/biases", *bias, {w->outputs}),
                                         w->any_zero ? whole("/weight_zeros", w->zeros) : kAbsent,
                                         floats("/steps", {x->scale, float(x->zero)}, {1, 2})};
  Attributes attributes;
  if (image) {
    attributes = window(node);
    set_groups(node.integer("group", 1), w->outputs, w->values.dims[3], &attributes);
  }
  attributes["requant"] = std::string("to_float");
  const Dims dims = e.dims(node.outputs[0]);
  ValueId y = e.emit(image ? "QuantizedConv2d" : "QuantizedLinear", operands, DType::kF32,
                     image ? image_dims(dims) : dims, node, attributes);
  if (image) e.value(y).layout = "NHWC", y = from_image(e, y, node);
  const ValueId old = node.outputs[0];
  if (!e.is_output(old) && e.bypass(node, y)) return true;
  e.kill(node);
  e.add("Identity", {y}, {old}, node);
  return true;
}

}  // namespace ingot::passes::quantize
