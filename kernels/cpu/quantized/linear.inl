// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/linear.inl - rows of bytes times constant panels. Contract:
// runtime/op/quantized_linear.h.
#pragma once
#include "kernels/cpu/quantized/band.inl"
#include "runtime/op/quantized_blocks.h"
#include "runtime/op/quantized_linear.h"

namespace ingot::cpu {
namespace {

inline bool quantized_linear_supports(const OpArguments& a) {
  return a.inputs[1].packing == Packing::kPanels16x4;
}

/// Rows of k bytes, or copies of them where k is no multiple of 4; of 16-bit numbers copies of
/// their upper and lower bytes.
struct Int8Rows {
  const uint8_t* at = nullptr;
  int64_t stride = 0;
  int64_t plane = 0;                      // as in Int8TileShape
  const int32_t* sums = nullptr;          // null: weights have no zero point
  const RowQuantParams* steps = nullptr;  // null: x has none of its own
};

/// `steps`: of groups of x's rows, or null.
template <class V>
Int8Rows load_rows(const TensorView& x, const TensorView* steps, Range rows, bool wants_sums,
                   void* scratch) {
  const int64_t k = x.row_length(), padded = round_up(k, 4);
  RowQuantParams* const all = static_cast<RowQuantParams*>(scratch);
  int32_t* const sums = reinterpret_cast<int32_t*>(all + quantized::kLinearRows);
  uint8_t* const copy =
      static_cast<uint8_t*>(scratch) + quantized::kLinearRows * quantized::kLinearRowBytes;
  if (x.dtype == DType::kI16) {
    const int64_t plane = quantized::linear_plane(k);
    const uint8_t* const from = x.as<const uint8_t>() + rows.begin * x.row_stride * 2;
    for (int64_t i = 0; i < rows.count(); i++) {
      uint8_t* const to = copy + i * padded;
      split_int16(from + i * x.row_stride * 2, k, to, to + plane);
      std::memset(to + k, 0, size_t(padded - k));
      std::memset(to + plane + k, 0, size_t(padded - k));
    }
    return {copy, padded, plane};
  }
  Int8Rows out{x.as<const uint8_t>() + rows.begin * x.row_stride, x.row_stride};
  if (steps) {
    const int64_t each = x.rows() / steps->dims[0];
    for (int64_t i = 0; i < rows.count(); i++)
      all[i] = row_quant_params(*steps, (rows.begin + i) / each);
    out.steps = all;
  }
  if (wants_sums) {
    for (int64_t i = 0; i < rows.count(); i++)
      sums[i] = V::isum(add_bytes<V>(V::isplat(0), out.at + i * out.stride, k));
    out.sums = sums;
  }
  if (k == padded) return out;
  for (int64_t i = 0; i < rows.count(); i++) {
    std::memcpy(copy + i * padded, out.at + i * out.stride, size_t(k));
    std::memset(copy + i * padded + k, 0, size_t(padded - k));
  }
  out.at = copy, out.stride = padded;
  return out;
}

/// One row: panels stream from memory, several at a time.
template <class V, int NP>
INGOT_INLINE int64_t int8_row_panels(Int8TileShape& shape, Int8TileAt at, const int8_t* w,
                                     uint8_t* out, int64_t o, int64_t p, int64_t end) {
  const int64_t panel_bytes = kPanel * shape.requantization->element_bytes();
  PanelState state;
  for (; p + NP <= end; p += NP) {
    at.b = w + p * shape.panel_stride, at.output = p * kPanel;
    at.out = out + p * panel_bytes, at.cols = min_of(o - p * kPanel, NP * kPanel);
    state.fill(&shape, at.b, at.output, NP);
    run_int8_tile<V>(int8_tile<V, 1, NP>, shape, at, 1, NP);
  }
  return p;
}

/// `rows` of x times panels [panels) of w, to rows of `out` that are shape.out_stride bytes apart,
/// of o outputs. `scratch`: of load_rows(). Of the shape, what depends on x alone is set here.
template <class V>
void multiply_int8_rows(Int8TileShape shape, const TensorView& x, const TensorView* steps,
                        Range rows, Range panels, const int8_t* w, uint8_t* out, int64_t o,
                        void* scratch) {
  const Requantization& r = *shape.requantization;
  int64_t most = quantized::kLinearRows;
#if defined(INGOT_PIXEL_LANES) || defined(INGOT_SIMD_AMX)
  // nothing of rows is in the scratch: fewer searches of the weights
  if (x.dtype == DType::kU8 && x.row_length() % 4 == 0 && !steps && !r.wants_sums()) most *= 4;
#endif
  const int64_t element = r.element_bytes(), y_row = shape.out_stride,
                blocks = ceil_div(rows.count(), most);
  shape.steps_stride = 1;
  for (int64_t b = 0; b < blocks; b++) {
    const Range some = part(rows.count(), b, blocks);
    const Range block = {rows.begin + some.begin, rows.begin + some.end};
    const Int8Rows from = load_rows<V>(x, steps, block, r.wants_sums(), scratch);
    uint8_t* const to = out + block.begin * y_row;
    shape.pixel_stride = from.stride, shape.plane = from.plane;
    Int8TileAt at;
    at.a = from.at, at.sums = from.sums, at.steps = from.steps;
    if (block.count() == 1) {
      int64_t p = int8_row_panels<V, Dot::kWide>(shape, at, w, to, o, panels.begin, panels.end);
      if constexpr (Dot::kWide >= 8) p = int8_row_panels<V, 4>(shape, at, w, to, o, p, panels.end);
      if constexpr (Dot::kWide >= 4) p = int8_row_panels<V, 2>(shape, at, w, to, o, p, panels.end);
      int8_row_panels<V, 1>(shape, at, w, to, o, p, panels.end);
      continue;
    }
    const auto multiply = [&](int64_t p, int columns, int64_t outputs) {
      at.b = w + p * shape.panel_stride, at.output = p * kPanel, at.cols = outputs;
      at.out = to + p * kPanel * element;
      if (int8_pixels<V>(shape, at, {block.count(), 0, 0}, block.count())) return;
      const int64_t tiles = ceil_div(block.count(), Int8Tiles<V>::rows(columns));
      for (int64_t i = 0; i < tiles; i++) {
        const Range part_of = part(block.count(), i, tiles);
        const int64_t h = (part_of.count() + 1) / 2;
        Int8TileAt here = at;
        here.a += part_of.begin * from.stride, here.half = h * from.stride;
        here.out += part_of.begin * y_row, here.out_half = h * y_row;
        if (here.sums) here.sums += part_of.begin, here.sums_half = h;
        if (here.steps) here.steps += part_of.begin, here.steps_half = h;
        Int8Tiles<V>::run(columns, part_of.count(), shape, here);
      }
    };
    for_int8_panels(&shape, w, block.count(), panels, o, multiply);
  }
}

template <class V>
Status quantized_linear(const OpArguments& a, const Team& team) {
  const QuantizedLinearAttributes& t = a.as<QuantizedLinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const Requantization r = requantization_of(a, t.requant, t.y_zero, t.low, t.high, t.w_zero);
  const int64_t k = round_up(x.row_length(), 4), o = y.row_length(), count = ceil_div(o, kPanel);
  const Segment whole{0, 0};
  Int8TileShape shape;
  shape.segments = &whole, shape.segment_count = 1, shape.segment_length = k;
  shape.panel_stride = k * kPanel, shape.requantization = &r;
  shape.out_stride = y.row_stride * r.element_bytes();
  Range rows = {0, y.rows()}, panels = {0, count};
  if (rows.end == 1 || (count >= 2 * team.size && count * kPanel > rows.end))
    panels = part(count, team.id, team.size);
  else
    rows = part(rows.end, team.id, team.size);
  if (panels.count() <= 0) return {};
  multiply_int8_rows<V>(shape, x, a.optional(3), rows, panels, a.inputs[1].as<const int8_t>(),
                        y.as<uint8_t>(), o, team.scratch);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
