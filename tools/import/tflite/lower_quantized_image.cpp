// tools/import/tflite/lower_quantized_image.cpp - images of bytes that grow: transposed
// convolutions and bilinear resizing, in whole numbers.
#include <algorithm>
#include <cmath>

#include "tools/import/tflite/quantized_channels.h"

namespace ingot::tflite {
namespace {

using graph::Dim;
using graph::Dims;

// Transposed convolutions are convolutions with the filter turned around, over the image with
// zero points between its pixels.

/// Along one direction.
struct Spread {
  int64_t from = 0, to = 0, kernel = 1, stride = 1;
  int64_t before = 0, after = 0;  // of the convolution; what is negative is cut off behind
};
bool find_pads(Call& call, bool same, Spread* s) {
  for (const int64_t n : {s->from, s->to, s->kernel, s->stride})
    if (n < 1 || n > (int64_t{1} << 24)) call.corrupt("its extents are out of range");
  const int64_t steps =
      same ? (s->to + s->stride - 1) / s->stride : (s->to - s->kernel) / s->stride + 1;
  const int64_t total = std::max<int64_t>((steps - 1) * s->stride + s->kernel - s->to, 0);
  const int64_t pad = same ? total / 2 : 0;
  s->before = s->kernel - 1 - pad;
  // behind each pixel, the last one too, lie stride - 1 zero points
  s->after = s->to - s->from * s->stride + pad;
  return s->before >= 0 && s->from * s->stride + s->after > 0;
}

ValueId spread_out(Call& call, ValueId image, const Steps& x, const Spread& h, const Spread& w) {
  aten::Builder& b = call.b;
  const Dims dims = b.dims(image);
  const ValueId apart = b.reshape(image, {dims[0], dims[1], Dim(1), dims[2], Dim(1), dims[3]});
  const ValueId filled =
      b.emit("Pad",
             {apart, b.integers({0, 0, 0, 0, 0, 0, 0, 0, h.stride - 1, 0, w.stride - 1, 0}),
              x.is_word ? b.scalar(DType::kI16, 0) : b.scalar(DType::kU8, double(x.zero))},
             {{"mode", std::string("constant")}});
  ValueId wide =
      b.reshape(filled, {dims[0], Dim(h.from * h.stride), Dim(w.from * w.stride), dims[3]});
  if (h.after < 0) wide = b.slice(wide, 1, Dim(0), Dim(h.from * h.stride + h.after));
  if (w.after < 0) wide = b.slice(wide, 2, Dim(0), Dim(w.from * w.stride + w.after));
  return wide;
}

bool convolve_transposed_bytes(Call& call) {
  call.expect_inputs(3, 4);
  call.expect_rank(2, 4);
  const auto x = call.quantized(2), y = call.output_quantized(0);
  const auto range = range_of_activation(call.integer("fused_activation_function"));
  const std::vector<int64_t> filter = ModelFile::shape(call.tensor(1));  // [O, h, w, I]
  const Dims in = call.b.dims(call.input(2));
  const std::vector<int64_t> wanted = call.known_integers(0, "output_shape");
  if (filter.size() != 4 || wanted.size() != 4)
    call.corrupt("its filter has " + std::to_string(filter.size()) +
                 " dimensions, its output shape " + std::to_string(wanted.size()) +
                 " extents, expected 4");
  if (!in[1].value() || !in[2].value() || !x || !y || !range || in[3] != Dim(filter[3]) ||
      x->is_word != y->is_word)
    return false;
  Spread h{*in[1].value(), wanted[1], filter[1], call.integer("stride_h")},
      w{*in[2].value(), wanted[2], filter[2], call.integer("stride_w")};
  const bool same = call.integer("padding") == 0;
  Weights weights;
  if (!find_pads(call, same, &h) || !find_pads(call, same, &w) ||
      !read_weights_bytes(call, 1, 0, &weights))
    return false;
  weights.outputs = filter[0], weights.products = filter[1] * filter[2] * filter[3];
  for (int64_t o = 0; o < filter[0]; o++) {  // turned around
    int8_t* const at = weights.values.data() + o * weights.products;
    for (int64_t i = 0, taps = filter[1] * filter[2]; i < taps / 2; i++)
      std::swap_ranges(at + i * filter[3], at + (i + 1) * filter[3],
                       at + (taps - 1 - i) * filter[3]);
  }
  const ValueId image = spread_out(call, call.input(2), *x, h, w);
  const ValueId filters =
      call.b.constant(graph::make_constant(DType::kI8, filter, weights.values.data()));
  Rounding rounding = rounding_of_convolution(call, *x, 3);
  // Micro does not read the option.
  if (x->is_word && call.as_micro() && !call.has(3)) rounding.requant = "fixed_wide";
  bool read = true;
  const auto made = [&](const char* requant) {
    rounding.requant = requant;
    std::vector<ValueId> operands = {image, filters};
    read = read && read_channels_bytes(call, 3, *x, *y, weights, rounding, &operands);
    if (!read) return kAbsent;
    aten::Attributes attributes = {
        {"kernel_h", filter[1]},      {"kernel_w", filter[2]},
        {"pad_top", h.before},        {"pad_bottom", std::max<int64_t>(h.after, 0)},
        {"pad_left", w.before},       {"pad_right", std::max<int64_t>(w.after, 0)},
        {"x_zero", int64_t(x->zero)}, {"w_zero", weights.zero}};
    add_output_bytes(*y, call.limits(*range, *y), rounding, &attributes);
    return call.b.emit("QuantizedConv2d", operands, attributes);
  };
  const ValueId out = rounding.is_narrow() && !call.as_micro() && (x->is_signed || x->is_word)
                          ? rounded_together(call, kTogether, filter[0], made)
                          : made(rounding.requant);
  if (out != kAbsent) call.give(out);
  return out != kAbsent;
}

// Resizing: weights of `bits` bits along each direction.

struct Between {
  std::vector<int64_t> first, second;
  std::vector<int32_t> weight;  // of the second; that of the first is the rest
  bool is_fine = true;          // the weights are no approximations
};
/// XNNPACK's: positions in f32.
Between between_of_xnnpack(int64_t from, int64_t to, bool corners, bool half, int bits) {
  const int64_t less = corners && to != 1 ? 1 : 0;
  const float scale = float(from - less) / float(to - less);
  const float offset = half ? 0.5f * scale - 0.5f : 0.0f, unit = float(1 << bits);
  Between out;
  for (int64_t i = 0; i < to; i++) {
    float at = float(i) * scale;
    if (half) at = std::clamp(at + offset, 0.0f, float(from - 1));
    const int64_t first = int64_t(at);
    const float rest = (at - float(first)) * unit;
    out.first.push_back(std::min(first, from - 1));
    out.second.push_back(std::min(first + 1, from - 1));
    out.weight.push_back(int32_t(std::nearbyint(rest)));
    out.is_fine &= rest == std::nearbyint(rest);
  }
  return out;
}
/// TFLite's kernels': positions in whole numbers.
Between between_of_kernels(int64_t from, int64_t to, bool corners, bool half, int bits) {
  const int64_t less = corners && to > 1 ? 1 : 0, unit = int64_t{1} << bits;
  const int64_t scale = (unit * (from - less) + (to - less) / 2) / (to - less);
  Between out;
  for (int64_t i = 0; i < to; i++) {
    const int64_t at = i * scale + (half ? scale / 2 - unit / 2 : 0);
    const int64_t first = std::max<int64_t>(at / unit, 0);
    out.first.push_back(std::min(first, from - 1));
    out.second.push_back(std::clamp<int64_t>((at + unit - 1) / unit, 0, from - 1));
    out.weight.push_back(int32_t(at - first * unit));
  }
  return out;
}

/// [.., from, ..] to [.., to, ..] along `axis`, times 2^bits, in whole numbers of `wide`.
ValueId resized(aten::Builder& b, ValueId x, const Between& at, int64_t axis, int bits,
                DType wide) {
  const auto side = [&](const std::vector<int64_t>& places, bool second) {
    std::vector<int64_t> weights;
    for (const int32_t each : at.weight) weights.push_back(second ? each : (1 << bits) - each);
    std::vector<int64_t> dims(size_t(b.rank(x) - axis), 1);
    dims[0] = int64_t(weights.size());
    const ValueId taken = b.cast(b.emit("Gather", {x, b.integers(places)}, {{"axis", axis}}), wide);
    const ValueId factors = b.constant(graph::make_constant(DType::kI64, dims, weights.data()));
    return b.emit("Mul", {taken, b.cast(factors, wide)});
  };
  return b.emit("Add", {side(at.first, false), side(at.second, true)});
}

/// In f32 with halves up: the integers of XNNPACK where the weights are no approximations, and
/// those of TFLite's kernels of uint8.
void resize_as_floats(Call& call) {
  aten::Builder& b = call.b;
  Slot& slot = call.slot(0);
  const Slot bytes{call.input(0), false, ""};
  slot.id = b.cast(bytes.id, DType::kF32);
  call.row.translate(call);
  call.slot(0) = bytes;
  const ValueId up = b.emit("Add", {call.outputs[0].id, b.scalar(DType::kF32, 0.5)});
  call.give(b.cast(b.emit("Floor", {up}), DType::kU8));
}

struct Resizing {
  int64_t from[2] = {}, to[2] = {};
  bool corners = false, half = false, known = true;
};
/// None where the output is quantized another way.
std::optional<Resizing> read_resizing(Call& call) {
  call.expect_inputs(2, 2);
  call.expect_rank(0, 4);
  const auto x = call.quantized(0), y = call.output_quantized(0);
  if (!x || !y || x->is_word != y->is_word || !(x->is_word || *x == *y)) return std::nullopt;
  const Dims in = call.b.dims(call.input(0)), size = call.known_dims(1, "size");
  if (size.size() != 2) call.corrupt("its size has " + std::to_string(size.size()) + " extents");
  Resizing out;
  out.corners = call.flag("align_corners"), out.half = call.flag("half_pixel_centers");
  constexpr int64_t kMax = 1 << 16;
  for (size_t i = 0; i < 2; i++) {
    const auto from = in[i + 1].value(), to = size[i].value();
    out.known &= from && to && *from >= 1 && *to >= 1 && *from <= kMax && *to <= kMax;
    if (out.known) out.from[i] = *from, out.to[i] = *to;
  }
  return out;
}

/// Numbers of the file in `wide`, by TFLite's kernels: rounded once, ties away from zero.
ValueId resized_by_kernels(Call& call, const Resizing& r, ValueId image, DType wide) {
  constexpr int kBits = 10;
  aten::Builder& b = call.b;
  const Between h = between_of_kernels(r.from[0], r.to[0], r.corners, r.half, kBits),
                w = between_of_kernels(r.from[1], r.to[1], r.corners, r.half, kBits);
  const ValueId sum = resized(b, resized(b, image, h, 1, kBits, wide), w, 2, kBits, wide);
  const ValueId size =
      b.emit("Add", {b.emit("Abs", {sum}), b.scalar(wide, double(int64_t{1} << (2 * kBits - 1)))});
  return b.emit("Mul", {b.emit("Sign", {sum}),
                        b.emit("Div", {size, b.scalar(wide, double(int64_t{1} << (2 * kBits)))})});
}

bool resize_bilinear_bytes(Call& call) {
  const auto r = read_resizing(call);
  if (!r) return false;
  const Steps x = *call.quantized(0);
  const bool xnnpack = call.as_xnnpack();
  if (!r->known || (!xnnpack && !x.is_signed)) return resize_as_floats(call), true;
  aten::Builder& b = call.b;
  const auto number = [&](int64_t n) { return b.scalar(DType::kI32, double(n)); };
  if (!xnnpack) {
    const ValueId image = b.emit("Sub", {b.cast(call.input(0), DType::kI32), number(x.offset())});
    const ValueId made = resized_by_kernels(call, *r, image, DType::kI32);
    call.give(b.cast(b.emit("Add", {made, number(x.offset())}), DType::kU8));
    return true;
  }
  constexpr int kBits = 11;
  const Between h = between_of_xnnpack(r->from[0], r->to[0], r->corners, r->half, kBits),
                w = between_of_xnnpack(r->from[1], r->to[1], r->corners, r->half, kBits);
  if (h.is_fine && w.is_fine) return resize_as_floats(call), true;
  const ValueId sum = resized(b, resized(b, call.input(0), h, 1, kBits, DType::kI32), w, 2, kBits,
                              DType::kI32);  // halves up
  const ValueId up = b.emit("Add", {sum, number(int64_t{1} << (2 * kBits - 1))});
  call.give(b.cast(b.emit("Div", {up, number(int64_t{1} << (2 * kBits))}), DType::kU8));
  return true;
}

}  // namespace

bool resize_bilinear_words(Call& call) {
  const auto r = read_resizing(call);
  if (!r || !r->known) return false;
  call.give(call.b.cast(resized_by_kernels(call, *r, call.input(0), DType::kI64), DType::kI16));
  return true;
}

void add_quantized_transposed(BytesTable& table) {
  table["TRANSPOSE_CONV"] = convolve_transposed_bytes;
}
void add_quantized_image(BytesTable& table) {
  add_quantized_transposed(table);
  table["RESIZE_BILINEAR"] = resize_bilinear_bytes;
}

}  // namespace ingot::tflite
