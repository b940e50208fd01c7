// tools/import/tflite/lower_quantized_product.cpp - convolutions and products of bytes, in the
// numbers of XNNPACK: multipliers are (input * weight) / output in f32, in this order.
#include <cmath>
#include <limits>

#include "runtime/op/requantize.h"
#include "tools/files/work_budget.h"
#include "tools/import/tflite/window.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

/// Constant weights as the operators want them.
struct Weights {
  std::vector<int8_t> values;  // [outputs][products]
  std::vector<float> scales;   // one, or one of each output
  int64_t zero = 0;            // of `values`
  int64_t outputs = 0, products = 0;
};

/// Elements in the order of the file; of uint8 less 128. False for what is quantized another way.
bool read_weights_bytes(Call& call, size_t input, int64_t channel_axis, Weights* out) {
  const fb::Tensor& t = call.tensor(input);
  const ModelFile& file = call.translator.file();
  const bool is_unsigned = t.type() == fb::TensorType::uint8 || t.type() == fb::TensorType::uint4;
  if (!file.bytes(t).is_there || !ModelFile::is_quantized(t) || t.type() == fb::TensorType::int16 ||
      t.type() == fb::TensorType::int32 || t.type() == fb::TensorType::int64 ||
      t.type() == fb::TensorType::int2)
    return false;
  const TensorQuantization q = file.quantization(t);
  if (q.scales.size() > 1 && q.axis != channel_axis) return false;
  for (const int64_t zero : q.zero_points)
    if (zero != q.zero_points[0]) return false;
  const int32_t offset = is_unsigned ? 128 : 0;
  const std::string name = ModelFile::name(t, size_t(call.tensor_index(input)));
  for (const int32_t n : read_steps(file, t, name)) out->values.push_back(int8_t(n - offset));
  out->scales = q.scales;
  out->zero = q.zero_points[0] - offset;
  call.mark_read(input);
  return true;
}

/// Bias, multipliers: operands 2 and 3. The zero point of x goes into the bias.
bool read_channels_bytes(Call& call, size_t input, const Steps& x, const Steps& y, const Weights& w,
                         std::vector<ValueId>* operands) {
  std::vector<int32_t> bias(size_t(w.outputs), 0);
  if (call.has(input)) {
    const fb::Tensor& t = call.tensor(input);
    if (t.type() != fb::TensorType::int32 || !call.translator.file().bytes(t).is_there)
      return false;
    bias =
        read_steps(call.translator.file(), t, ModelFile::name(t, size_t(call.tensor_index(input))));
    call.mark_read(input);
    if (int64_t(bias.size()) != w.outputs)
      call.corrupt("its bias has " + std::to_string(bias.size()) + " elements, expected " +
                   std::to_string(w.outputs));
  }
  if (w.products > quantized::kMaxProducts)
    call.refuse("filter", "a sum of " + std::to_string(w.products) +
                              " products of bytes leaves 32 bits, at "
                              "most " +
                              std::to_string(quantized::kMaxProducts) + " are supported");
  host::charge_work(w.values.size() / 8);
  std::vector<float> multipliers(size_t(w.outputs), 0);
  for (int64_t o = 0; o < w.outputs; o++) {
    int64_t sum = 0;
    for (int64_t k = 0; k < w.products; k++) sum += w.values[size_t(o * w.products + k)] - w.zero;
    const int64_t whole = int64_t(bias[size_t(o)]) - x.zero * sum;
    if (whole < std::numeric_limits<int32_t>::min() || whole > std::numeric_limits<int32_t>::max())
      call.refuse("bias", "channel " + std::to_string(o) + " with the zero point of the input is " +
                              std::to_string(whole) + ", which leaves 32 bits");
    bias[size_t(o)] = int32_t(whole);
    const float scale = w.scales[w.scales.size() > 1 ? size_t(o) : 0];
    multipliers[size_t(o)] = x.scale * scale / y.scale;
    if (!std::isfinite(multipliers[size_t(o)]))
      call.corrupt("the scales of channel " + std::to_string(o) + " leave the range of float32");
  }
  operands->push_back(call.b.constant(graph::make_constant(DType::kI32, {w.outputs}, bias.data())));
  operands->push_back(
      call.b.constant(graph::make_constant(DType::kF32, {w.outputs}, multipliers.data())));
  return true;
}

void add_output_bytes(const Steps& y, const Limits& limits, aten::Attributes* attributes) {
  (*attributes)["requant"] = std::string("float_even");
  (*attributes)["y_zero"] = int64_t(y.zero);
  (*attributes)["low"] = limits.low;
  (*attributes)["high"] = limits.high;
}

/// What both kinds of convolution share. `weights` are [O, h, w, C / groups].
bool convolved_bytes(Call& call, const Weights& w, int64_t kh, int64_t kw, int64_t groups) {
  const auto x = call.steps(0), y = call.output_steps(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  if (!x || !y || !range) return false;
  const ValueId image = call.input(0);
  const Dims dims = call.b.dims(image);
  aten::Attributes attributes = window_attributes(
      call, dims, {kh, call.integer("stride_h"), call.integer("dilation_h_factor")},
      {kw, call.integer("stride_w"), call.integer("dilation_w_factor")});
  const int64_t each = w.products / (kh * kw);
  std::vector<ValueId> operands = {
      image, call.b.constant(
                 graph::make_constant(DType::kI8, {w.outputs, kh, kw, each}, w.values.data()))};
  if (!read_channels_bytes(call, 2, *x, *y, w, &operands)) return false;
  attributes["groups"] = groups;
  attributes["method"] = std::string(groups == 1                        ? "direct"
                                     : each == 1 && groups == w.outputs ? "depthwise"
                                                                        : "grouped");
  attributes["x_zero"] = int64_t(x->zero);
  attributes["w_zero"] = w.zero;
  add_output_bytes(*y, limits_of_xnnpack(*range, *y), &attributes);
  call.give(call.b.emit("QuantizedConv2d", operands, std::move(attributes)));
  return true;
}

/// Four extents that are known, of a filter; that of the channels of the image.
bool read_filter_bytes(Call& call, std::vector<int64_t>* filter, int64_t* channels) {
  call.expect_inputs(2, 3);
  call.expect_rank(0, 4);
  *filter = ModelFile::shape(call.tensor(1));
  const auto last = call.b.dims(call.input(0)).back().value();
  if (filter->size() != 4)
    call.corrupt("its filter has " + std::to_string(filter->size()) + " dimensions, expected 4");
  if (!last || *last < 1) return false;
  for (const int64_t d : *filter)
    if (d < 1) call.corrupt("its filter has an extent of " + std::to_string(d));
  *channels = *last;
  return true;
}

bool convolve_bytes(Call& call) {
  std::vector<int64_t> filter;  // [O, h, w, I / groups]
  int64_t channels = 0;
  Weights w;
  if (!read_filter_bytes(call, &filter, &channels) || !read_weights_bytes(call, 1, 0, &w))
    return false;
  w.outputs = filter[0], w.products = filter[1] * filter[2] * filter[3];
  if (channels % filter[3] != 0 || filter[0] % (channels / filter[3]) != 0)
    call.corrupt("its input has " + std::to_string(channels) + " channels, its filter " +
                 std::to_string(filter[3]) + " to " + std::to_string(filter[0]));
  return convolved_bytes(call, w, filter[1], filter[2], channels / filter[3]);
}

bool convolve_depthwise_bytes(Call& call) {
  std::vector<int64_t> filter;  // [1, h, w, C * multiplier]
  int64_t channels = 0;
  Weights plain;
  if (!read_filter_bytes(call, &filter, &channels) || !read_weights_bytes(call, 1, 3, &plain))
    return false;
  if (filter[0] != 1 || filter[3] % channels != 0)
    call.corrupt("its filter of " + std::to_string(filter[3]) + " channels does not fit " +
                 std::to_string(channels));
  Weights w = plain;
  w.outputs = filter[3], w.products = filter[1] * filter[2];
  for (int64_t o = 0; o < w.outputs; o++)
    for (int64_t k = 0; k < w.products; k++)
      w.values[size_t(o * w.products + k)] = plain.values[size_t(k * w.outputs + o)];
  return convolved_bytes(call, w, filter[1], filter[2], channels);
}

/// Whatever is in front of the last axis counts as rows.
bool fully_connected_bytes(Call& call) {
  call.expect_inputs(2, 3);
  const auto x = call.steps(0), y = call.output_steps(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  Weights w;
  const std::vector<int64_t> filter = ModelFile::shape(call.tensor(1));  // [O, I]
  if (call.integer("weights_format") != 0 || !x || !y || !range || filter.size() != 2 ||
      filter[0] < 1 || filter[1] < 1 || !read_weights_bytes(call, 1, 0, &w))
    return false;
  w.outputs = filter[0], w.products = filter[1];
  ValueId rows = call.input(0);
  const Dims in = call.b.dims(rows);
  const bool keep = call.flag("keep_num_dims");
  if (in.empty()) call.corrupt("its input has no dimensions");
  if (keep ? in.back() != Dim(filter[1]) : in.size() != 2 || in[1] != Dim(filter[1])) {
    const Dim count = graph::product(in) / Dim(filter[1]);
    if (keep || count * Dim(filter[1]) != graph::product(in))
      call.corrupt("its input has shape " + graph::text(in) + ", its weights " +
                   graph::text(Dims{Dim(filter[0]), Dim(filter[1])}));
    rows = call.b.reshape(rows, Dims{count, Dim(filter[1])});
  }
  std::vector<ValueId> operands = {rows, call.b.constant(graph::make_constant(
                                             DType::kI8, {filter[0], filter[1]}, w.values.data()))};
  if (!read_channels_bytes(call, 2, *x, *y, w, &operands)) return false;
  aten::Attributes attributes = {{"w_zero", w.zero}};
  add_output_bytes(*y, limits_of_xnnpack(*range, *y), &attributes);
  call.give(call.b.emit("QuantizedLinear", operands, std::move(attributes)));
  return true;
}

void check_bytes(Call& call, const Taps& taps) {
  for (const int64_t n : {taps.kernel, taps.stride, taps.dilation})
    if (n < 1 || n > (int64_t{1} << 31))
      call.corrupt("its window, stride or dilation is " + std::to_string(n));
}

}  // namespace

aten::Attributes window_attributes(Call& call, const Dims& image, const Taps& height,
                                   const Taps& width) {
  check_bytes(call, height), check_bytes(call, width);
  const bool same = call.integer("padding") == 0;
  int64_t pads[2][2] = {};
  const Taps* const both[] = {&height, &width};
  for (size_t i = 0; same && i < 2; i++) {
    const Taps& t = *both[i];
    const auto in = image[i + 1].value();
    if (!in && t.stride == 1) {  // as many pixels as it had
      pads[i][0] = (t.kernel - 1) * t.dilation / 2;
      pads[i][1] = (t.kernel - 1) * t.dilation - pads[i][0];
      continue;
    }
    if (!in)
      call.refuse("padding",
                  "SAME with stride " + std::to_string(t.stride) +
                      " needs the extent of a symbolic dimension (" + image[i + 1].text() + ")",
                  "bind it with --dim or --input-shape");
    const int64_t count = (*in + t.stride - 1) / t.stride;
    const int64_t total =
        std::max<int64_t>((count - 1) * t.stride + (t.kernel - 1) * t.dilation + 1 - *in, 0);
    pads[i][0] = total / 2, pads[i][1] = total - total / 2;
  }
  return {{"kernel_h", height.kernel},     {"kernel_w", width.kernel},
          {"stride_h", height.stride},     {"stride_w", width.stride},
          {"dilation_h", height.dilation}, {"dilation_w", width.dilation},
          {"pad_top", pads[0][0]},         {"pad_bottom", pads[0][1]},
          {"pad_left", pads[1][0]},        {"pad_right", pads[1][1]}};
}

void add_quantized_products(BytesTable& table) {
  table["CONV_2D"] = convolve_bytes;
  table["DEPTHWISE_CONV_2D"] = convolve_depthwise_bytes;
  table["FULLY_CONNECTED"] = fully_connected_bytes;
}

}  // namespace ingot::tflite
