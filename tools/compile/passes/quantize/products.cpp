// SPDX-License-Identifier: Apache-2.0
// Convolutions and products with constant weights: sums of bytes in whole numbers, multipliers
// (input * weight) / output in f32, in this order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/op/requantize.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/quantize/int8_graph.h"
#include "tools/compile/passes/quantize/int8_operands.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/graph/window.h"

namespace ingot::passes::quantize {
namespace {

/// [outputs][products], of uint8 less 128.
struct Weights {
  Constant values;
  std::vector<float> scales;  // one, or one of each output
  int64_t zero = 0;
  int64_t outputs = 0;
  float scale(int64_t o) const { return scales[scales.size() > 1 ? size_t(o) : 0]; }
};

/// Weights of which dimension `channels` counts the outputs; `to_front` brings it to the front.
std::optional<Weights> read_weights(const Int8Graph& g, ValueId w, const Integers& to_front) {
  const auto found = g.quantized_constant(w);
  if (!found || g.e.rank(w) != to_front.size()) return std::nullopt;
  const Constant& integers = *found->integers;
  if (integers.dtype != DType::kI8 && integers.dtype != DType::kU8) return std::nullopt;
  const Integers turn = found->perm.empty() ? to_front : [&] {
    Integers both;
    for (const int64_t axis : to_front) both.push_back(found->perm[size_t(axis)]);
    return both;
  }();
  if (found->scales.empty() || (found->scales.size() > 1 && found->axis != turn[0]))
    return std::nullopt;
  for (const int64_t zero : found->zeros)
    if (zero != found->zeros[0]) return std::nullopt;
  Weights out;
  out.values = signed_weights(integers, turn);
  out.scales = found->scales;
  out.zero = found->zeros[0] - (integers.dtype == DType::kU8 ? 128 : 0);
  out.outputs = out.values.dims[0];
  return out;
}

/// A bias of floating point, or of integers with whatever scale, on the steps of the sums.
std::optional<std::vector<int64_t>> read_bias(const Int8Graph& g, ValueId bias, const Weights& w,
                                              float x_scale) {
  std::vector<int64_t> sums(size_t(w.outputs), 0);
  if (bias < 0) return sums;
  std::vector<double> all;
  const auto found = g.quantized_constant(bias);
  if (found && !found->perm.empty()) return std::nullopt;
  const Constant* constant = found ? found->integers : g.e.constant(bias);
  if (!constant || (constant->elements() != 1 && constant->elements() != w.outputs) ||
      (!constant->dims.empty() && constant->elements() != constant->dims.back()))
    return std::nullopt;
  if (!found && constant->dtype != DType::kF32) return std::nullopt;
  const size_t last = size_t(constant->elements()) - 1;
  for (int64_t o = 0; o < w.outputs; o++) {
    const int64_t at = int64_t(std::min(size_t(o), last));
    const double step = double(x_scale) * double(w.scale(o));
    double steps = graph::read_number(*constant, at);
    if (found) {
      const size_t scale = found->scales.size() > 1 ? size_t(at) : 0;
      if (scale >= found->scales.size()) return std::nullopt;
      steps -= double(found->zeros[scale]);
      // what quantizers write is the product of both scales, rounded once
      const double ratio = double(found->scales[scale]) / step;
      if (std::fabs(ratio - 1) > 1e-5) steps *= ratio;
    } else {
      steps /= step;
    }
    if (!(std::fabs(steps) < 2147483648.0)) return std::nullopt;
    sums[size_t(o)] = int64_t(std::nearbyint(steps));
  }
  return sums;
}

/// Operands 2 and 3: the bias, with the zero point of x in it, and the multipliers. False where
/// they leave their range.
bool add_channels(Int8Graph& g, const Weights& w, const std::vector<int64_t>& bias,
                  const QuantParams& x, const Output& to, std::vector<ValueId>* operands) {
  const int64_t products = w.outputs ? w.values.elements() / w.outputs : 0;
  if (products < 1 || products > quantized::kMaxProducts) return false;
  host::charge_work(uint64_t(w.values.elements()) / 8);
  std::vector<int32_t> whole;
  std::vector<float> multipliers;
  for (int64_t o = 0; o < w.outputs; o++) {
    int64_t sum = 0;
    for (int64_t k = 0; k < products; k++) sum += w.values.as<int8_t>()[o * products + k] - w.zero;
    const int64_t start = bias[size_t(o)] - x.zero * sum;
    if (start < std::numeric_limits<int32_t>::min() || start > std::numeric_limits<int32_t>::max())
      return false;
    whole.push_back(int32_t(start));
    multipliers.push_back(x.scale * w.scale(o) / to.params.scale);
    if (!std::isfinite(multipliers.back())) return false;
  }
  const std::string name = to.from->name;
  operands->push_back(g.e.new_constant(
      name + "/bias", graph::make_constant(DType::kI32, {w.outputs}, whole.data())));
  operands->push_back(g.e.new_constant(
      name + "/multipliers", graph::make_constant(DType::kF32, {w.outputs}, multipliers.data())));
  return true;
}

/// The operator, over an image of bytes and weights [O, kh, kw, I / groups].
ValueId convolved(Int8Graph& g, const Node& root, const Output& to, const QuantParams& x,
                  const Weights& w, const std::vector<ValueId>& numbers, ValueId image,
                  Attributes attributes) {
  Editor& e = g.e;
  std::vector<ValueId> operands = {image, e.new_constant(e.value(root.inputs[1]).name, w.values)};
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  set_groups(root.integer(attr::group, 1), w.outputs, w.values.dims[3], &attributes);
  attributes[attr::x_zero] = x.zero, attributes[attr::w_zero] = w.zero;
  limit(to, &attributes);
  const ValueId y = e.emit(op::QuantizedConv2d, operands, DType::kU8,
                           image_dims(e.dims(root.outputs[0])), root, attributes);
  e.value(y).layout = "NHWC";
  return from_image(e, y, root);
}

}  // namespace

ValueId recognize_convolution(Int8Graph& g, const Node& root, const Output& to) {
  Editor& e = g.e;
  const size_t rank = e.rank(root.inputs[0]);
  const auto x = g.quant_params(root.inputs[0]);
  if (!x || (rank != 3 && rank != 4) || e.rank(root.inputs[1]) != rank ||
      root.integers(attr::kernel_shape).size() != rank - 2 || !windows_fit(e, root))
    return kAbsent;
  auto w = read_weights(g, root.inputs[1], to_channels_last(rank));
  if (!w) return kAbsent;
  if (rank == 3) w->values.dims.insert(w->values.dims.begin() + 1, 1);
  const auto bias = read_bias(g, root.inputs.size() > 2 ? root.inputs[2] : kAbsent, *w, x->scale);
  std::vector<ValueId> numbers;
  if (!bias || !add_channels(g, *w, *bias, *x, to, &numbers)) return kAbsent;
  const ValueId image = image_of(e, g.bytes(root.inputs[0]), root);
  return convolved(g, root, to, *x, *w, numbers, image, window(root));
}

// A transposed convolution is a convolution with the filter turned around, over the image with zero
// points between its pixels.
namespace {

/// [I, O / groups, kh, kw] as weights of that convolution.
std::optional<Weights> read_turned_weights(const Int8Graph& g, const Node& root) {
  const bool rows = g.e.rank(root.inputs[1]) == 3;
  auto w = read_weights(g, root.inputs[1], rows ? Integers{1, 2, 0} : Integers{1, 2, 3, 0});
  if (!w) return std::nullopt;
  Integers dims = w->values.dims;
  if (rows) dims.insert(dims.begin() + 1, 1);
  const int64_t groups = root.integer(attr::group, 1);
  if (groups < 1 || dims[3] % groups != 0) return std::nullopt;
  const Integers apart = {dims[0], dims[1], dims[2], groups, dims[3] / groups};
  w->values = permuted(with_dims(w->values, apart), {3, 0, 1, 2, 4});
  w->values.dims = {groups * dims[0], dims[1], dims[2], dims[3] / groups};
  const std::vector<float> each = w->scales;
  for (int64_t i = 1; i < groups && each.size() > 1; i++)
    w->scales.insert(w->scales.end(), each.begin(), each.end());
  w->outputs = groups * dims[0];
  if (w->values.elements() == 0) return std::nullopt;
  std::vector<uint8_t> turned = *w->values.bytes;
  const int64_t taps = dims[1] * dims[2], depth = w->values.dims[3];
  for (int64_t o = 0; o < w->outputs; o++) {
    uint8_t* const at = turned.data() + o * taps * depth;
    for (int64_t i = 0; i < taps / 2; i++)
      std::swap_ranges(at + i * depth, at + (i + 1) * depth, at + (taps - 1 - i) * depth);
  }
  w->values = graph::make_constant(DType::kI8, w->values.dims, turned.data());
  return w;
}

/// Along one direction: what lies before the spread image, and behind it; less than nothing is cut.
struct Margin {
  int64_t before = 0, behind = 0;
};
std::optional<Margin> margin_of(const graph::WindowSide& s, const Dim& in, const Dim& out) {
  const int64_t reach = s.dilation * (s.kernel - 1);
  const Dim behind = out + Dim(s.begin) - in * Dim(s.stride);
  if (!behind.value()) return std::nullopt;
  return Margin{reach - s.begin, *behind.value()};
}

ValueId spread_out(Editor& e, ValueId image, const Node& root, const QuantParams& x,
                   const graph::Window2d& taps, Margin* h, Margin* w) {
  const Dims dims = e.dims(image);
  const int64_t rows = taps.h.stride, columns = taps.w.stride;
  const Dim high = dims[1] * Dim(rows), wide = dims[2] * Dim(columns);
  if (rows > 1 || columns > 1) {
    const ValueId apart =
        e.reshape(image, {dims[0], dims[1], Dim(1), dims[2], Dim(1), dims[3]}, root);
    const ValueId filled =
        e.emit(op::Pad, {apart}, DType::kU8,
               {dims[0], dims[1], Dim(rows), dims[2], Dim(columns), dims[3]}, root,
               {{attr::mode, std::string("constant")},
                {attr::before, Dims(6, Dim(0))},
                {attr::value, double(x.zero)}});
    image = e.reshape(filled, {dims[0], high, wide, dims[3]}, root);
  }
  const auto cut = [](int64_t n) { return std::max<int64_t>(-n, 0); };
  const int64_t top = cut(h->before), bottom = cut(h->behind), left = cut(w->before),
                right = cut(w->behind);
  if (top + bottom + left + right != 0)
    image = e.emit(op::Slice, {image}, DType::kU8,
                   {dims[0], high - Dim(top + bottom), wide - Dim(left + right), dims[3]}, root,
                   {{attr::starts, Dims{Dim(0), Dim(top), Dim(left), Dim(0)}},
                    {attr::steps, Integers{1, 1, 1, 1}}});
  for (Margin* each : {h, w}) {
    each->before = std::max<int64_t>(each->before, 0);
    each->behind = std::max<int64_t>(each->behind, 0);
  }
  e.value(image).layout = "NHWC";
  return image;
}

}  // namespace

ValueId recognize_transposed_convolution(Int8Graph& g, const Node& root, const Output& to) {
  Editor& e = g.e;
  const size_t rank = e.rank(root.inputs[0]);
  const auto x = g.quant_params(root.inputs[0]);
  if (!x || (rank != 3 && rank != 4) || e.rank(root.inputs[1]) != rank ||
      root.integers(attr::kernel_shape).size() != rank - 2)
    return kAbsent;
  const graph::Window2d taps = graph::window_of(root);
  const Dims in = image_dims(e.dims(root.inputs[0])), out = image_dims(e.dims(root.outputs[0]));
  auto h = margin_of(taps.h, in[1], out[1]), w = margin_of(taps.w, in[2], out[2]);
  const auto weights = read_turned_weights(g, root);
  if (!h || !w || !weights) return kAbsent;
  const auto bias =
      read_bias(g, root.inputs.size() > 2 ? root.inputs[2] : kAbsent, *weights, x->scale);
  std::vector<ValueId> numbers;
  if (!bias || !add_channels(g, *weights, *bias, *x, to, &numbers)) return kAbsent;
  const ValueId image =
      spread_out(e, image_of(e, g.bytes(root.inputs[0]), root), root, *x, taps, &*h, &*w);
  return convolved(g, root, to, *x, *weights, numbers, image,
                   {{attr::kernel_h, taps.h.kernel},
                    {attr::kernel_w, taps.w.kernel},
                    {attr::dilation_h, taps.h.dilation},
                    {attr::dilation_w, taps.w.dilation},
                    {attr::pad_top, h->before},
                    {attr::pad_bottom, h->behind},
                    {attr::pad_left, w->before},
                    {attr::pad_right, w->behind}});
}

namespace {

/// Of two tensors that the run computes. The second may lie transposed, which spares turning it.
ValueId multiplied_matrices(Int8Graph& g, const Node& root, const QuantParams& x,
                            const Output& to) {
  Editor& e = g.e;
  const ValueId a = root.inputs[0], b = root.inputs[1];
  const graph::Dims left = e.dims(a), right = e.dims(b);
  const QuantParams y = *g.quant_params(b);
  const float scale = x.scale * y.scale / to.params.scale;
  const auto depth = left.back().value();
  if (left.size() < 2 || left.size() != right.size() || !std::isnormal(scale) || !depth ||
      *depth > quantized::kMaxProducts ||
      !same(Dims(left.begin(), left.end() - 2), Dims(right.begin(), right.end() - 2)))
    return kAbsent;
  ValueId second = g.bytes(b);
  bool transposed = false;
  if (const Node* const turn = e.producer_if(second, op::Transpose)) {
    Integers perm = turn->integers(attr::perm);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    second = e.transpose(turn->inputs[0], perm, *turn);
    transposed = true;
  }
  Attributes attributes = {
      {attr::trans_b, int64_t(transposed)}, {attr::a_zero, x.zero}, {attr::b_zero, y.zero},
      {attr::y_zero, to.params.zero},       {attr::low, to.low},    {attr::high, to.high},
      {attr::scale, double(scale)}};
  return e.emit(op::QuantizedMatMul, {g.bytes(a), second}, DType::kU8, e.dims(root.outputs[0]),
                root, std::move(attributes));
}

}  // namespace

ValueId recognize_product(Int8Graph& g, const Node& root, const Output& to) {
  Editor& e = g.e;
  ValueId a = root.inputs[0], bias = kAbsent;
  bool transposed = false;
  const Node* product = &root;
  if (root.op == op::Add) {  // of a bias
    for (size_t i = 0; i < 2; i++)
      if (const Node* made = e.producer_if(root.inputs[i], op::MatMul);
          made && e.read_once(root.inputs[i]))
        product = made, bias = root.inputs[1 - i];
    if (product == &root || e.rank(root.outputs[0]) != e.rank(product->outputs[0])) return kAbsent;
    a = product->inputs[0];
  }
  if (product->op == op::Gemm) {
    transposed = product->integer(attr::transB, 0) != 0;
    if (product->integer(attr::transA, 0) != 0 || product->number(attr::alpha, 1) != 1)
      return kAbsent;
    if (product->inputs.size() > 2) bias = product->inputs[2];
    if (bias >= 0 && product->number(attr::beta, 1) != 1) return kAbsent;
  }
  const auto x = g.quant_params(a);
  if (!x || e.rank(a) < 2) return kAbsent;
  if (&root == product && root.op == op::MatMul && g.quant_params(root.inputs[1]) &&
      !g.quantized_constant(root.inputs[1]))
    return multiplied_matrices(g, root, *x, to);
  const auto w = read_weights(g, product->inputs[1], transposed ? Integers{0, 1} : Integers{1, 0});
  if (!w || e.dims(a).back() != Dim(w->values.dims[1])) return kAbsent;
  const auto sums = read_bias(g, bias, *w, x->scale);
  std::vector<ValueId> numbers;
  if (!sums || !add_channels(g, *w, *sums, *x, to, &numbers)) return kAbsent;
  std::vector<ValueId> operands = {g.bytes(a),
                                   e.new_constant(e.value(product->inputs[1]).name, w->values)};
  operands.insert(operands.end(), numbers.begin(), numbers.end());
  Attributes attributes = {{attr::w_zero, w->zero}};
  limit(to, &attributes);
  return e.emit(op::QuantizedLinear, operands, DType::kU8, e.dims(root.outputs[0]), root,
                attributes);
}

/// What ceil_mode adds is padding, which is no maximum.
ValueId largest_bytes(Int8Graph& g, const Node& node, ValueId bytes) {
  Editor& e = g.e;
  const ValueId image = image_of(e, bytes, node);
  const Dims dims = image_dims(e.dims(node.outputs[0]));
  graph::Window2d taps = graph::window_of(node);
  const auto extend = [](graph::WindowSide& s, const Dim& in, const Dim& out) {
    const Dim end =
        (out - Dim(1)) * Dim(s.stride) + Dim(s.dilation * (s.kernel - 1) + 1 - s.begin) - in;
    if (end.value() && *end.value() > s.end) s.end = *end.value();
  };
  extend(taps.h, e.dims(image)[1], dims[1]), extend(taps.w, e.dims(image)[2], dims[2]);
  Node sized = node;
  graph::set_window(&sized, taps);
  Attributes attributes = window(sized);
  attributes[attr::kind] = std::string("max");
  const ValueId y = e.emit(op::QuantizedPool2d, {image}, DType::kU8, dims, node, attributes);
  e.value(y).layout = "NHWC";
  return from_image(e, y, node);
}

}  // namespace ingot::passes::quantize
