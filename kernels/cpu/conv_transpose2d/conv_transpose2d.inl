// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/conv_transpose2d/conv_transpose2d.inl - gathered at the output: pixels of one phase
// (ox modulo the stride) see the same taps, so they are a tile whose segments are the taps that
// reach them. Contract: runtime/op/conv_transpose2d.h.
#pragma once
#include "kernels/cpu/conv2d/band.inl"
#include "kernels/cpu/gemm/pack.inl"
#include "runtime/op/conv_transpose_blocks.h"

namespace ingot::cpu {
namespace {

struct TransposeJob {
  const ConvTranspose2dAttributes* t = nullptr;
  conv::TransposeBand band;
  NhwcView in, out;
  const float* weights = nullptr;  // panels16 over [O, kh, kw, C]
  const float* bias = nullptr;
  const Epilogue* epilogue = nullptr;
  Segment* segments = nullptr;
  float* copy = nullptr;
};

inline int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// Taps that reach output row oy at columns of `phase`; first is the input row at the head of the
/// band.
inline int64_t transpose_segments(const TransposeJob& j, int64_t oy, int64_t phase, int64_t first) {
  const ConvTranspose2dAttributes& t = *j.t;
  const int64_t c = j.in.c, row = j.band.in_cols * c;
  int64_t count = 0;
  for (int64_t ky = 0; ky < t.kernel_h; ky++) {
    const int64_t y = oy + t.pad_top - ky * t.dilation_h;
    if (y < 0 || y % t.stride_h != 0 || y / t.stride_h >= j.in.h) continue;
    for (int64_t kx = 0; kx < t.kernel_w; kx++) {
      const int64_t x = phase + t.pad_left - kx * t.dilation_w, column = floor_div(x, t.stride_w);
      if (column * t.stride_w != x) continue;
      j.segments[count++] = {(y / t.stride_h - first) * row + (column + j.band.left) * c,
                             (ky * t.kernel_w + kx) * c * kPanel};
    }
  }
  return count;
}

/// Output rows [rows) of one image, at most band.rows of them.
template <class V>
void transpose_rows(const TransposeJob& j, Range rows, Range panels) {
  const ConvTranspose2dAttributes& t = *j.t;
  const int64_t c = j.in.c, sw = t.stride_w, pixel = j.out.pixel_stride;
  const int64_t first =
      floor_div(rows.begin + t.pad_top - (int64_t(t.kernel_h) - 1) * t.dilation_h, t.stride_h);
  const int64_t end = floor_div(rows.end - 1 + t.pad_top, t.stride_h) + 1;
  copy_band(j.in, first, end - first, -j.band.left, j.band.in_cols, c, j.copy);
  TileShape shape;
  shape.segments = j.segments, shape.segment_length = c, shape.pixel_stride = c,
  shape.out_stride = sw * pixel, shape.epilogue = j.epilogue;
  shape.panel_stride = int64_t(t.kernel_h) * t.kernel_w * c * kPanel;
  for (int64_t y = rows.begin; y < rows.end; y++)
    for (int64_t phase = 0; phase < min_of(sw, j.out.w); phase++) {
      const int64_t n = ceil_div(j.out.w - phase, sw);
      shape.segment_count = transpose_segments(j, y, phase, first);
      for_panels<V>(panels, j.out.c, [&](int64_t p, int count, int64_t outputs) {
        const float* w = j.weights + p * shape.panel_stride;
        float* out = j.out.row(y) + phase * pixel + p * kPanel;
        const int64_t done =
            narrow_pixels<V>(shape, j.copy, n, w, bias_at(j.bias, p), out, nullptr, outputs);
        const int64_t most = Tiles<V>::rows(count), tiles = ceil_div(n - done, most);
        for (int64_t i = 0; i < tiles; i++) {
          const Range x = tile_part<V>(n - done, i, most);
          const int64_t h = (x.count() + 1) / 2, at = done + x.begin;
          Tiles<V>::tile(count, x.count())(shape, j.copy + at * c, h * c, w, bias_at(j.bias, p),
                                           out + at * shape.out_stride, h * shape.out_stride,
                                           nullptr, 0, outputs);
        }
      });
    }
}

template <class V>
void transpose_image(const TransposeJob& j, Range rows, Range panels) {
  const int64_t bands = ceil_div(rows.count(), j.band.rows);
  for (int64_t i = 0; i < bands; i++) {
    const Range r = part(rows.count(), i, bands);
    transpose_rows<V>(j, {rows.begin + r.begin, rows.begin + r.end}, panels);
  }
}

inline bool conv_transpose2d_supports(const OpArguments& a) {
  const TensorView* bias = a.optional(2);
  const Packing packing =
      a.as<ConvTranspose2dAttributes>().groups == 1 ? Packing::kPanels16 : Packing::kDense;
  return a.inputs[1].packing == packing && (!bias || bias->packing == Packing::kVector16);
}

template <class V>
Status conv_transpose2d_f32(const OpArguments& a, const Team& team) {
  const ConvTranspose2dAttributes& t = a.as<ConvTranspose2dAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const int64_t groups = t.groups, c = x.dims[3] / groups, o = y.dims[3] / groups,
                k = int64_t(t.kernel_h) * t.kernel_w * c;
  const Epilogue epilogue = make_epilogue(t.activation, false, nullptr);
  TransposeJob j;
  j.t = &t, j.epilogue = &epilogue;
  // checked by the contract
  (void)conv::transpose_band(t, x.dims[2], y.dims[1], y.dims[2], c, &j.band);
  char* scratch = static_cast<char*>(team.scratch);
  const int64_t table =
      (int64_t(t.kernel_h) * t.kernel_w * int64_t(sizeof(Segment)) + 63) / 64 * 64;
  j.segments = reinterpret_cast<Segment*>(scratch),
  j.copy = reinterpret_cast<float*>(scratch + table);
  float* packed = reinterpret_cast<float*>(scratch + table + round_up(j.band.elements * 4, 64));
  const int64_t all = y.dims[0] * y.dims[1], count = ceil_div(o, kPanel);
  Range rows{0, all}, mine{0, groups}, panels{0, count};
  if (all >= 2 * team.size || (groups < team.size && count < team.size))
    rows = part(all, team.id, team.size);
  else if (groups >= team.size)
    mine = part(groups, team.id, team.size);
  else
    panels = part(count, team.id, team.size);
  if (rows.count() <= 0 || panels.count() <= 0) return {};
  for (int64_t g = mine.begin; g < mine.end; g++) {
    if (groups > 1) pack_rows(a.inputs[1].as<float>() + g * o * k, o, k, k, packed);
    // a group's biases start anywhere: padded copies
    for (int64_t p = panels.begin; p < panels.end; p += kWidest) {
      alignas(64) float bias[kWidest * kPanel];
      const int64_t some = min_of(panels.end - p, kWidest),
                    outputs = min_of(o - p * kPanel, some * kPanel);
      for (int64_t i = 0; i < kWidest * kPanel; i++)
        bias[i] =
            a.optional(2) && i < outputs ? a.inputs[2].as<float>()[g * o + p * kPanel + i] : 0.0f;
      j.bias = bias, j.weights = (groups > 1 ? packed : a.inputs[1].as<float>()) + p * kPanel * k;
      for (int64_t r = rows.begin; r < rows.end;) {
        const int64_t n = r / y.dims[1], y0 = r % y.dims[1],
                      y1 = min_of(y.dims[1], y0 + rows.end - r);
        j.in = nhwc_view(x, false, n), j.out = nhwc_view(y, false, n);
        j.in.at += g * c, j.in.c = c, j.out.at += g * o + p * kPanel, j.out.c = outputs;
        transpose_image<V>(j, {y0, y1}, {0, some});
        r += y1 - y0;
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace ingot::cpu
