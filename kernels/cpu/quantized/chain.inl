// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/quantized/chain.inl - a depthwise convolution of bytes with its pointwise neighbors,
// band by band. Contract: runtime/op/quantized_chain.h.
//
// The input rows of a band lie in a window for each 64 channels, pads included, where the expansion
// writes them; what the next band reads too is moved to its top. Each thread owns rows of the
// output; rows at the seams between threads are expanded by both.
#pragma once
#include "kernels/cpu/quantized/depthwise.inl"
#include "runtime/op/quantized_chain.h"

namespace ingot::cpu {
namespace {

inline bool quantized_chain_supports(const OpArguments& a) {
  const QuantizedChainAttributes& t = a.as<QuantizedChainAttributes>();
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const bool depthwise = t.stages[i].method == ConvMethod::kDepthwise;
    if (a.inputs[1 + 2 * i].packing != (depthwise ? Packing::kDepthwise16 : Packing::kPanels16x4))
      return false;
  }
  return true;
}

template <class V>
struct Int8Chain {
  quantized::ChainStages stages;
  quantized::ChainWindows sizes;
  Requantization requantizations[kMaxQuantizedStages];
  const quantized::ConvScratch no_copies;
  char* memory;
  Int8Image x, y;  // of the image

  static_assert(sizeof(DepthwiseSlice<V>) <= quantized::kDepthwiseStateBytes,
                "the contract has room for it");

  Int8Chain(const OpArguments& a, const Team& team) : memory(static_cast<char*>(team.scratch)) {
    quantized::chain_stages(a, &stages);
    // checked by the contract
    (void)quantized::chain_windows(a.as<QuantizedChainAttributes>(), stages, &sizes);
    for (int i = 0; i < stages.count; i++) {
      const QuantizedConv2dAttributes& t = attributes(i);
      requantizations[i] = requantization_of(stages.stage[i].arguments(), t.requant, t.y_zero,
                                             t.low, t.high, t.w_zero);
    }
  }
  const QuantizedConv2dAttributes& attributes(int i) const { return stages.stage[i].attributes; }
  const int8_t* weights(int i) const {
    return stages.stage[i].inputs[1].template as<const int8_t>();
  }
  const QuantizedConv2dAttributes& depthwise() const { return attributes(stages.depthwise); }
  int64_t channels() const { return stages.y().dims[3]; }
  int64_t channels_of(int64_t slice) const {
    return min_of(quantized::kDepthwiseChannels,
                  channels() - slice * quantized::kDepthwiseChannels);
  }

  DepthwiseSlice<V>& state(int64_t slice) const {
    return *reinterpret_cast<DepthwiseSlice<V>*>(memory + sizes.state +
                                                 uint64_t(slice) * sizes.state_bytes);
  }
  void prepare() {
    const int d = stages.depthwise;
    for (int64_t s = 0; s < sizes.slices; s++) {
      const int64_t c = s * quantized::kDepthwiseChannels;
      char* const taps = reinterpret_cast<char*>(&state(s)) + quantized::kDepthwiseStateBytes;
      state(s).prepare(depthwise(), stages.y().dims[2], 0, weights(d) + c,
                       round_up(channels(), kPanel), from_channel(requantizations[d], c),
                       channels_of(s), taps);
    }
  }

  Int8ConvJob job(int stage, const Requantization& r) const {
    Int8ConvJob j;
    j.t = &attributes(stage), j.scratch = &no_copies, j.weights = weights(stage);
    j.requantization = &r, j.outside = attributes(stage).x_zero, j.memory = memory;
    return j;
  }

  /// Rows [y0, y0 + rows) of the depthwise stage's input, n channels from c on, pads included, to
  /// `to`.
  void fill_rows(int64_t c, int64_t n, int64_t y0, int64_t rows, uint8_t* to) const {
    const int64_t h = stages.x().dims[1], w = stages.x().dims[2], left = depthwise().pad_left,
                  row = sizes.in_cols * n;
    const BandFill<V> fill{0, depthwise().x_zero};
    if (!stages.expands()) {
      Int8Image in = x;
      in.at += c, in.c = n;
      return copy_int8_band<V>(in, {}, y0, rows, -left, sizes.in_cols, fill, to);
    }
    const int64_t first = min_of(y0 + rows, max_of(y0, 0)),
                  end = max_of(first, min_of(y0 + rows, h)),
                  cols = max_of(0, min_of(w, sizes.in_cols - left)),
                  right = max_of(0, sizes.in_cols - left - w);
    fill.outside(to, (first - y0) * row);
    fill.outside(to + (end - y0) * row, (y0 + rows - end) * row);
    for (int64_t y = first - y0; y < end - y0; y++) {
      fill.outside(to + y * row, min_of(left, sizes.in_cols) * n);
      fill.outside(to + (y + 1) * row - right * n, right * n);
    }
    if (end == first || cols == 0) return;
    const Requantization r = from_channel(requantizations[0], c);
    Int8ConvJob j = job(0, r);
    j.weights += c / kPanel * round_up(x.c, 4) * kPanel;
    j.in = x;
    j.out.at = to + (first - y0) * row + left * n;
    j.out.c = n, j.out.pixel_stride = n, j.out.row_stride = row;
    int8_conv_band<V>(j, {x.row(first), x.pixel_stride, x.row_stride}, {0, end - first}, {0, cols},
                      {0, ceil_div(n, kPanel)});
  }

  /// Rows `rows` of the depthwise stage's output; `before` of the band directly above are done.
  void run_band(Range rows, int64_t before) const {
    const QuantizedConv2dAttributes& t = depthwise();
    const int64_t in_rows = rows_read(t, rows.count()), ow = stages.y().dims[2], c = channels(),
                  kept = before ? max_of(0, rows_read(t, 1) - t.stride_h) : 0;
    uint8_t* const projected = reinterpret_cast<uint8_t*>(memory + sizes.rows);
    for (int64_t s = 0; s < sizes.slices; s++) {
      const int64_t n = channels_of(s), from = s * quantized::kDepthwiseChannels,
                    row = sizes.in_cols * n;
      uint8_t* const window =
          reinterpret_cast<uint8_t*>(memory + sizes.window + uint64_t(s) * sizes.window_bytes);
      if (kept) copy_bytes<V>(window, window + (rows_read(t, before) - kept) * row, kept * row);
      fill_rows(from, n, rows.begin * t.stride_h - t.pad_top + kept, in_rows - kept,
                window + kept * row);
      // what kernels read past the last pixel meets weights of zero, and is never left unwritten
      std::memset(window + in_rows * row, 0, quantized::kSlack);
      const Requantization r = from_channel(requantizations[stages.depthwise], from);
      Int8ConvJob j = job(stages.depthwise, r);
      j.in.c = n;
      j.out = y;
      j.out.at = y.row(rows.begin) + from;
      if (stages.projects())
        j.out.at = projected + from, j.out.pixel_stride = c, j.out.row_stride = ow * c;
      j.out.c = n;
      state(s).run(j, {window, n, row}, {0, rows.count()}, {0, ow});
    }
    if (!stages.projects()) return;
    const int last = stages.count - 1;
    const int64_t pixels = rows.count() * ow;
    std::memset(projected + pixels * c, 0, quantized::kSlack);
    Int8ConvJob j = job(last, requantizations[last]);
    j.in.c = c, j.out = y, j.out.at = y.row(rows.begin);
    int8_conv_band<V>(j, {projected, c, pixels * c}, {0, 1}, {0, pixels},
                      {0, ceil_div(y.c, kPanel)});
  }
};

template <class V>
Status quantized_chain(const OpArguments& a, const Team& team) {
  if (a.outputs[0].elements() == 0) return {};
  Int8Chain<V> chain(a, team);
  const int64_t oh = a.outputs[0].dims[1];
  const Range mine = part(a.outputs[0].dims[0] * oh, team.id, team.size);
  if (mine.count() <= 0) return {};
  chain.prepare();
  Int8ConvCall::for_rows(mine, oh, [&](int64_t image, Range rows) {
    chain.x = int8_image(a.inputs[0], image), chain.y = int8_image(a.outputs[0], image);
    int64_t before = 0;
    for (int64_t r = rows.begin; r < rows.end; r += before) {
      const int64_t count = min_of(chain.sizes.band_rows, rows.end - r);
      chain.run_band({r, r + count}, before);
      before = count;
    }
  });
  return {};
}

}  // namespace
}  // namespace ingot::cpu
