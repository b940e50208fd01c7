// SPDX-License-Identifier: Apache-2.0
// tools/import/tflite/lower_quantized_resize.cpp - RESIZE_BILINEAR of bytes and of int16, as each
// runtime rounds it.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tools/import/tflite/call.h"
#include "tools/import/tflite/quantization.h"

namespace ingot::tflite {
namespace {

using graph::Dims;

/// Weights of `bits` bits along a direction.
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
    const ValueId taken =
        b.cast(b.emit(op::Gather, {x, b.integers(places)}, {{attr::axis, axis}}), wide);
    const ValueId factors = b.constant(graph::make_constant(DType::kI64, dims, weights.data()));
    return b.emit(op::Mul, {taken, b.cast(factors, wide)});
  };
  return b.emit(op::Add, {side(at.first, false), side(at.second, true)});
}

/// In f32 with halves up: the integers of XNNPACK where the weights are no approximations, and
/// near to all where the sizes are not known.
void resize_as_floats(Call& call) {
  aten::Builder& b = call.b;
  Slot& slot = call.slot(0);
  const Slot bytes{call.input(0), false, ""};
  slot.id = b.cast(bytes.id, DType::kF32);
  call.row.translation.translate(call);
  call.slot(0) = bytes;
  const ValueId up = b.emit(op::Add, {call.outputs[0].id, b.scalar(DType::kF32, 0.5)});
  call.give(b.cast(b.emit(op::Floor, {up}), DType::kU8));
}

struct Resizing {
  int64_t from[2] = {}, to[2] = {};
  bool corners = false, half = false, known = true;
};
/// None where the output is quantized another way.
std::optional<Resizing> read_resizing(Call& call) {
  call.expect_rank(0, 4);
  const auto x = call.quantized(0), y = call.output_quantized(0);
  if (!x || !y || x->is_int16 != y->is_int16 || !(x->is_int16 || *x == *y)) return std::nullopt;
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
  const ValueId size = b.emit(
      op::Add, {b.emit(op::Abs, {sum}), b.scalar(wide, double(int64_t{1} << (2 * kBits - 1)))});
  return b.emit(op::Mul,
                {b.emit(op::Sign, {sum}),
                 b.emit(op::Div, {size, b.scalar(wide, double(int64_t{1} << (2 * kBits)))})});
}

/// Positions of TFLite's kernels in f32: what is before, what is after, how far between.
struct BetweenFloats {
  std::vector<int64_t> first, second;
  std::vector<float> near, far;  // weights of the first and of the second
};
BetweenFloats between_of_floats(int64_t from, int64_t to, bool corners, bool half) {
  const int64_t less = corners && to > 1 ? 1 : 0;
  const float scale = float(from - less) / float(to - less);
  BetweenFloats out;
  for (int64_t i = 0; i < to; i++) {
    const float at = half ? (float(i) + 0.5f) * scale - 0.5f : float(i) * scale;
    out.first.push_back(std::max<int64_t>(int64_t(std::floor(at)), 0));
    out.second.push_back(std::min(int64_t(std::ceil(at)), from - 1));
    out.far.push_back(at - float(out.first.back()));
    out.near.push_back(1.0f - out.far.back());
  }
  return out;
}

/// uint8 by TFLite's kernels: four products in f32, halves up. The optimized kernel multiplies the
/// weights of both directions first, the reference one the image by one after the other, and adds
/// in another order.
ValueId resized_by_float_kernels(Call& call, const Resizing& r, bool is_reference) {
  aten::Builder& b = call.b;
  const BetweenFloats h = between_of_floats(r.from[0], r.to[0], r.corners, r.half),
                      w = between_of_floats(r.from[1], r.to[1], r.corners, r.half);
  const auto constant = [&](int64_t rows, int64_t columns, const std::vector<float>& values) {
    return b.constant(graph::make_constant(DType::kF32, {rows, columns, 1}, values.data()));
  };
  const auto product = [&](bool below, bool right) {
    const ValueId rows = b.emit(op::Gather, {call.input(0), b.integers(below ? h.second : h.first)},
                                {{attr::axis, 1}});
    const ValueId corner =
        b.emit(op::Gather, {rows, b.integers(right ? w.second : w.first)}, {{attr::axis, 2}});
    const ValueId x = b.cast(corner, DType::kF32);
    const std::vector<float>&fy = below ? h.far : h.near, &fx = right ? w.far : w.near;
    if (is_reference)
      return b.emit(op::Mul,
                    {b.emit(op::Mul, {x, constant(r.to[0], 1, fy)}), constant(1, r.to[1], fx)});
    std::vector<float> both;
    for (const float y : fy)
      for (const float each : fx) both.push_back(y * each);
    return b.emit(op::Mul, {x, constant(r.to[0], r.to[1], both)});
  };
  // (above left + second) + third + below right
  const ValueId first = product(false, false), second = product(is_reference, !is_reference),
                third = product(!is_reference, is_reference), last = product(true, true);
  const ValueId sum =
      b.emit(op::Add, {b.emit(op::Add, {b.emit(op::Add, {first, second}), third}), last});
  const ValueId up = b.emit(op::Add, {sum, b.scalar(DType::kF32, 0.5)});
  return b.cast(b.emit(op::Floor, {up}), DType::kU8);
}

bool resize_bilinear_int8(Call& call) {
  const auto r = read_resizing(call);
  if (!r) return false;
  const QuantParams x = *call.quantized(0);
  const bool xnnpack = call.as_xnnpack();
  if (!r->known) return resize_as_floats(call), true;
  if (!xnnpack && !x.is_signed)
    return call.give(resized_by_float_kernels(call, *r, call.as_micro())), true;
  aten::Builder& b = call.b;
  const auto number = [&](int64_t n) { return b.scalar(DType::kI32, double(n)); };
  if (!xnnpack) {
    const ValueId image = b.emit(op::Sub, {b.cast(call.input(0), DType::kI32), number(x.offset())});
    const ValueId made = resized_by_kernels(call, *r, image, DType::kI32);
    call.give(b.cast(b.emit(op::Add, {made, number(x.offset())}), DType::kU8));
    return true;
  }
  constexpr int kBits = 11;
  const Between h = between_of_xnnpack(r->from[0], r->to[0], r->corners, r->half, kBits),
                w = between_of_xnnpack(r->from[1], r->to[1], r->corners, r->half, kBits);
  if (h.is_fine && w.is_fine) return resize_as_floats(call), true;
  const ValueId sum = resized(b, resized(b, call.input(0), h, 1, kBits, DType::kI32), w, 2, kBits,
                              DType::kI32);  // halves up
  const ValueId up = b.emit(op::Add, {sum, number(int64_t{1} << (2 * kBits - 1))});
  call.give(b.cast(b.emit(op::Div, {up, number(int64_t{1} << (2 * kBits))}), DType::kU8));
  return true;
}

}  // namespace

bool resize_bilinear_int16(Call& call) {
  const auto r = read_resizing(call);
  if (!r || !r->known) return false;
  call.give(call.b.cast(resized_by_kernels(call, *r, call.input(0), DType::kI64), DType::kI16));
  return true;
}

void add_quantized_resize(QuantizedTable& table) {
  table["RESIZE_BILINEAR"] = resize_bilinear_int8;
}

}  // namespace ingot::tflite
