// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/conv.inl - convolutions of bytes as products without im2col, dense and in
// groups. Contract: runtime/op/quantized_conv2d.h.
#pragma once
#include "kernels/cpu/quantized/band.inl"

namespace ingot::cpu {
namespace {

/// The runs of one pixel's sum. @return how many
inline int64_t fill_int8_segments(const QuantizedConv2dAttributes& t, int64_t channels,
                                  const Int8Band& band, Segment* segments, int64_t* length) {
  int64_t dims[4];
  quantized::direct_dims(t, 1, channels, dims);
  const int64_t per_row = dims[1] / t.kernel_h;
  *length = round_up(dims[2] * dims[3], 4);
  for (int64_t i = 0; i < dims[1]; i++)
    segments[i] = {i / per_row * t.dilation_h * band.row_stride +
                       i % per_row * t.dilation_w * band.pixel_stride,
                   i * *length * kPanel};
  return dims[1];
}

/// The sum of the bytes that each output pixel of a band reads; those of a window in one chain.
template <class V>
void sum_windows(const QuantizedConv2dAttributes& t, const Int8Band& band, int64_t channels,
                 int64_t rows, int64_t cols, int32_t* sums) {
  // pixels next to each other without a gap are one run
  const bool dense = t.dilation_w == 1 && band.pixel_stride == channels;
  const int64_t runs = dense ? 1 : t.kernel_w, length = dense ? t.kernel_w * channels : channels;
  for (int64_t y = 0; y < rows; y++)
    for (int64_t x = 0; x < cols; x++) {
      typename V::I sum = V::isplat(0);
      for (int64_t ky = 0; ky < t.kernel_h; ky++)
        for (int64_t kx = 0; kx < runs; kx++)
          sum = add_bytes<V>(sum,
                             band.at + (y * t.stride_h + ky * t.dilation_h) * band.row_stride +
                                 (x * t.stride_w + kx * t.dilation_w) * band.pixel_stride,
                             length);
      sums[y * cols + x] = V::isum(sum);
    }
}

/// The same as one panel of products with weights of one: of a short window the last step, from a
/// vector to one number, would take longer. `x`: of the band's convolution.
template <class V>
__attribute__((noinline)) void sum_short_windows(const QuantizedConv2dAttributes& t,
                                                 const Int8TileShape& x, const Int8Band& band,
                                                 int64_t channels, int64_t rows, int64_t cols,
                                                 int32_t* sums) {
  alignas(64) uint8_t ones[Dot::kShortWindow * kPanel];
  int64_t dims[4];
  quantized::direct_dims(t, 1, channels, dims);
  const int64_t run = dims[2] * dims[3];
  for (int64_t s = 0; s < x.segment_count; s++) {
    uint8_t* const at = ones + s * x.segment_length * kPanel;
    fill_bytes<V>(at, 1, x.segment_length * kPanel);
    for (int64_t k = run; k < x.segment_length; k++)
      for (int64_t i = 0; i < kPanel; i++) at[k / 4 * 4 * kPanel + i * 4 + k % 4] = 0;
  }
  Requantization none;
  none.mode = RequantMode::kToFloat;  // sums without a bias
  Int8TileShape shape = x;
  shape.requantization = &none;
  alignas(64) int32_t products[Dot::kTall * kPanel];
  const int64_t tiles = ceil_div(cols, Dot::kTall);
  for (int64_t y = 0; y < rows; y++)
    for (int64_t i = 0; i < tiles; i++) {
      const Range p = part(cols, i, tiles);
      Int8TileAt at;
      at.a = band.at + y * t.stride_h * band.row_stride + p.begin * x.pixel_stride;
      at.half = (p.count() + 1) / 2 * x.pixel_stride;
      at.b = reinterpret_cast<const int8_t*>(ones), at.raw = products;
      Int8Tiles<V>::kSingle.rows[p.count()](shape, at);
      for (int64_t k = 0; k < p.count(); k++) sums[y * cols + p.begin + k] = products[k * kPanel];
    }
}

template <class V>
void window_sums(const QuantizedConv2dAttributes& t, const Int8TileShape& x, const Int8Band& band,
                 int64_t channels, int64_t rows, int64_t cols, int32_t* sums) {
  if constexpr (Dot::kShortWindow > 0)
    if (x.segment_count * x.segment_length <= Dot::kShortWindow)
      return sum_short_windows<V>(t, x, band, channels, rows, cols, sums);
  sum_windows<V>(t, band, channels, rows, cols, sums);
}

/// One band, all panels of the range.
template <class V>
void int8_conv_band(const Int8ConvJob& j, const Int8Band& band, Range rows, Range cols,
                    Range panels) {
  const QuantizedConv2dAttributes& t = *j.t;
  Segment* segments = reinterpret_cast<Segment*>(j.memory);
  Int8TileShape shape;
  shape.segments = segments;
  shape.segment_count = fill_int8_segments(t, j.in.c, band, segments, &shape.segment_length);
  shape.pixel_stride = int64_t(t.stride_w) * band.pixel_stride;
  shape.panel_stride = shape.segment_count * shape.segment_length * kPanel;
  shape.out_stride = j.out.pixel_stride, shape.requantization = j.requantization;
  shape.plane = j.scratch->plane;
  int32_t* sums = nullptr;
  if (j.requantization->wants_sums()) {
    sums = reinterpret_cast<int32_t*>(j.memory + j.scratch->sums);
    window_sums<V>(t, shape, band, j.in.c, rows.count(), cols.count(), sums);
  }
  const int64_t panel_bytes = kPanel * j.requantization->element_bytes();
  const int64_t down = int64_t(t.stride_h) * band.row_stride;
  const int64_t pixels = rows.count() * cols.count();
  const auto multiply = [&](int64_t p, int count, int64_t outputs) {
    const int64_t most = Int8Tiles<V>::rows(count), tiles = ceil_div(cols.count(), most);
    // narrow images: a tile spans two rows
    const int64_t step = cols.count() * 2 <= most ? 2 : 1;
    for (int64_t y = rows.begin; y < rows.end; y += step) {
      Int8TileAt at;
      at.a = band.at + (y - rows.begin) * down;
      at.b = j.weights + p * shape.panel_stride, at.output = p * kPanel, at.cols = outputs;
      at.out = j.out.row(y) + cols.begin * j.out.pixel_stride + p * panel_bytes;
      at.steps = &j.steps;
      at.sums = sums ? sums + (y - rows.begin) * cols.count() : nullptr;
      if (int8_pixels<V>(shape, at, {cols.count(), down, j.out.row_stride}, pixels)) return;
      if (step == 2 && y + 1 < rows.end) {
        at.half = down, at.out_half = j.out.row_stride, at.sums_half = cols.count();
        Int8Tiles<V>::run(count, 2 * cols.count(), shape, at);
        continue;
      }
      for (int64_t i = 0; i < tiles; i++) {
        const Range x = part(cols.count(), i, tiles);
        const int64_t h = (x.count() + 1) / 2;
        Int8TileAt here = at;
        here.a += x.begin * shape.pixel_stride, here.half = h * shape.pixel_stride;
        here.out += x.begin * j.out.pixel_stride, here.out_half = h * j.out.pixel_stride;
        if (sums) here.sums += x.begin, here.sums_half = h;
        Int8Tiles<V>::run(count, x.count(), shape, here);
      }
    }
  };
  for_int8_panels(&shape, j.weights, pixels, panels, j.out.c, multiply);
}

/// What every image of the batch shares.
struct Int8ConvCall {
  const QuantizedConv2dAttributes& t;
  const TensorView &x, &y;
  quantized::ConvScratch scratch;
  Requantization requantization;
  const uint8_t* halo = nullptr;  // of save_halo()
  explicit Int8ConvCall(const OpArguments& a)
      : t(a.as<QuantizedConv2dAttributes>()),
        x(a.inputs[0]),
        y(a.outputs[0]),
        requantization(requantization_of(a, t.requant, t.y_zero, t.low, t.high, t.w_zero)) {
    if (y.elements() != 0)
      (void)quantized::conv_scratch(t, x, y, &scratch);  // checked by the contract
  }
  Int8ConvJob job(const OpArguments& a, int64_t n, Range rows, const Team& team) const {
    Int8ConvJob j;
    j.halo = {halo, rows};
    j.t = &t, j.scratch = &scratch, j.in = int8_image(x, n), j.out = int8_image(y, n);
    j.weights = a.inputs[1].as<const int8_t>(), j.requantization = &requantization;
    j.outside = t.x_zero;
    if (requantization.to_float()) {
      j.steps = row_quant_params(a.inputs[3], n / (x.dims[0] / a.inputs[3].dims[0]));
      j.outside = uint32_t(j.steps.zero);
    }
    j.memory = static_cast<char*>(team.scratch);
    return j;
  }
  /// A product of pixels, read where they lie.
  bool is_pointwise(const OpArguments& a) const {
    return t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 && t.stride_w == 1 &&
           !scratch.copies && (!requantization.to_float() || a.inputs[3].dims[0] == 1);
  }
  /// y overwrites x, whose rows a team then shares out; not so where every value is kept.
  bool is_in_place() const { return x.data == y.data; }
  /// Saves what this member's windows read of its neighbours' rows, and waits for all to have done
  /// so. Every member calls it. `rows`: of the whole batch, this member's.
  void save_halo(Range rows, const Team& team) {
    uint8_t* const memory = static_cast<uint8_t*>(team.scratch) + scratch.halo;
    const int64_t h = y.dims[1], row = y.dims[2] * y.dims[3] * dtype_bytes(y.dtype);
    if (rows.count() > 0) {
      const int64_t up = min_of(rows.begin % h, t.pad_top),
                    down = min_of(h - 1 - (rows.end - 1) % h, t.pad_bottom);
      std::memcpy(memory, x.as<uint8_t>() + (rows.begin - up) * row, size_t(up * row));
      std::memcpy(memory + up * row, x.as<uint8_t>() + rows.end * row, size_t(down * row));
      halo = memory + up * row;
    }
    team.join();
  }
  /// Output rows of the whole batch, of `oh` rows an image: f(image, its rows).
  template <class F>
  static void for_rows(Range rows, int64_t oh, F f) {
    for (int64_t r = rows.begin; r < rows.end;) {
      const int64_t n = r / oh, y0 = r % oh, y1 = min_of(oh, y0 + rows.end - r);
      f(n, Range{y0, y1});
      r += y1 - y0;
    }
  }
};

inline bool quantized_conv2d_is(const OpArguments& a, ConvMethod method, Packing packing) {
  return a.as<QuantizedConv2dAttributes>().method == method && a.inputs[1].packing == packing;
}
inline bool quantized_direct_supports(const OpArguments& a) {
  return quantized_conv2d_is(a, ConvMethod::kDirect, Packing::kPanels16x4);
}
inline bool quantized_grouped_supports(const OpArguments& a) {
  return quantized_conv2d_is(a, ConvMethod::kGrouped, Packing::kDense);
}

template <class V>
Status quantized_conv2d_direct(const OpArguments& a, const Team& team) {
  Int8ConvCall call(a);
  int64_t n = call.y.dims[0], oh = call.y.dims[1], ow = call.y.dims[2];
  const int64_t o = call.y.dims[3];
  if (call.y.elements() == 0) return {};
  const bool by_pixels = call.is_pointwise(a);
  if (by_pixels) {  // pixels of all images as one row
    ow *= n * oh, n = oh = 1;
    call.scratch.bands.cols *= call.scratch.bands.rows, call.scratch.bands.rows = 1;
#if defined(INGOT_PIXEL_LANES)
    // weights are searched once a band; sums would need the contract's room
    if (!call.requantization.wants_sums())
      call.scratch.bands.cols = max_of(call.scratch.bands.cols, kLaneBand);
#endif
  }
  // panels where weights are larger than the image, columns where there are few rows
  const int64_t all = n * oh, count = ceil_div(o, kPanel), c = call.x.dims[3],
                k = int64_t(call.t.kernel_h) * call.t.kernel_w * c;
  Range rows = {0, all}, cols = {0, ow}, panels = {0, count};
  if (call.is_in_place()) {
    rows = part(all, team.id, team.size);
    if (team.size > 1) call.save_halo(rows, team);
  } else if (count >= 2 * team.size && count * kPanel * k > call.x.dims[1] * call.x.dims[2] * c)
    panels = part(count, team.id, team.size);
  else if (all >= 4 * team.size || ow < 28 * team.size)
    rows = part(all, team.id, team.size);
  else
    cols = part(ow, team.id, team.size);
  if (panels.count() <= 0) return {};
  call.for_rows(rows, oh, [&](int64_t image, Range r) {
    Int8ConvJob j = call.job(a, image, r, team);
    if (by_pixels) j.in.h = 1, j.in.w = ow, j.out.h = 1, j.out.w = ow;
    for_bands<V>(j, r, cols, [&](const Int8Band& band, Range y, Range x) {
      int8_conv_band<V>(j, band, y, x, panels);
    });
  });
  return {};
}

/// Dense weights [o][rows][run] of one group -> panels16x4.
inline void pack_int8_panels(const int8_t* from, int64_t o, int64_t rows, int64_t run,
                             int8_t* panels) {
  const int64_t groups = ceil_div(run, 4), depth = rows * groups * 4;
  std::memset(panels, 0, size_t(round_up(o, kPanel) * depth));
  for (int64_t i = 0; i < o; i++) {
    int8_t* panel = panels + i / kPanel * depth * kPanel + i % kPanel * 4;
    for (int64_t r = 0; r < rows; r++)
      for (int64_t k = 0; k < run; k++)
        panel[(r * groups + k / 4) * kPanel * 4 + k % 4] = from[(i * rows + r) * run + k];
  }
}

/// Groups in turn, each packed into panels in the scratch and run as a dense convolution of a slice
/// of the channels.
template <class V>
Status quantized_conv2d_grouped(const OpArguments& a, const Team& team) {
  const Int8ConvCall call(a);
  if (call.y.elements() == 0) return {};
  const QuantizedConv2dAttributes& t = call.t;
  const int64_t groups = t.groups, c = call.x.dims[3] / groups, o = call.y.dims[3] / groups,
                all = call.y.dims[0] * call.y.dims[1];
  int64_t dims[4];
  quantized::direct_dims(t, o, c, dims);
  const int64_t depth = quantized::panel_depth(dims), padded = round_up(o, kPanel);
  int8_t* const panels = static_cast<int8_t*>(team.scratch) + call.scratch.panels;
  int32_t* const vectors = reinterpret_cast<int32_t*>(panels + round_up(padded * depth, 64));
  const bool by_groups = groups >= team.size;
  const Range mine = by_groups ? part(groups, team.id, team.size) : Range{0, groups};
  const Range rows = by_groups ? Range{0, all} : part(all, team.id, team.size);
  if (rows.count() <= 0) return {};
  for (int64_t g = mine.begin; g < mine.end; g++) {
    pack_int8_panels(a.inputs[1].as<const int8_t>() + g * o * dims[1] * dims[2] * c, o, dims[1],
                     dims[2] * c, panels);
    // a group's numbers start anywhere: padded copies
    Requantization r = call.requantization;
    for (int i = 0; i < kMaxChannelRows; i++) {
      if (!r.rows[i]) continue;
      int32_t* const to = vectors + i * padded;
      std::memset(to, 0, size_t(padded) * 4);
      std::memcpy(to, r.rows[i] + g * o, size_t(o) * 4);
      r.rows[i] = to;
    }
    call.for_rows(rows, call.y.dims[1], [&](int64_t image, Range y) {
      Int8ConvJob j = call.job(a, image, y, team);
      j.in.at += g * c * j.in.element, j.in.c = c;
      j.out.at += g * o * j.out.element, j.out.c = o;
      j.weights = panels, j.requantization = &r;
      for_bands<V>(j, y, {0, call.y.dims[2]}, [&](const Int8Band& band, Range rows_of, Range cols) {
        int8_conv_band<V>(j, band, rows_of, cols, {0, ceil_div(o, kPanel)});
      });
    });
  }
  return {};
}

}  // namespace
}  // namespace ingot::cpu
