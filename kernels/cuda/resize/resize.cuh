// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/resize/resize.cuh - Resize, GridSample and RoiAlign. Contracts, coordinates and
// order: runtime/op/resize.h, grid_sample.h, roi_align.h. Resize: one launch makes the tables of
// source positions (and weights), another reads them: an element a thread, or a unit of
// neighbouring ones that are only copied. GridSample, RoiAlign: four channels of a place or bin a
// thread where they are aligned, else one.
#pragma once
#include "kernels/cpu/resize/grid_taps.inl"
#include "kernels/cpu/resize/roi_taps.inl"
#include "kernels/cpu/resize/taps.inl"
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/device/lane.h"
#include "kernels/cuda/resize/resize_params.h"

namespace ingot::cuda {

using cpu::tensors::ResizeTap;

template <class Entry, class Make>
GPU_FN void make_tables(const ResizeTableParams& p, Make make) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.entries; i += grid_threads()) {
    int d = 0;
    while (i >= p.first[d + 1]) d++;
    static_cast<Entry*>(p.tables)[i] =
        make({p.extents[d], p.in_extents[d], p.out_extents[d], p.scales[d], p.fixed_scales[d], true},
             i - p.first[d]);
  }
}
INGOT_GPU_KERNEL(resize_positions, ResizeTableParams, 128) {
  make_tables<int32_t>(p, [&](const cpu::tensors::ResizeAxis& axis, int64_t out) {
    return cpu::tensors::nearest_index(p.t, axis, out);
  });
}
INGOT_GPU_KERNEL(resize_taps, ResizeTableParams, 128) {
  make_tables<ResizeTap>(p, [&](const cpu::tensors::ResizeAxis& axis, int64_t out) {
    return cpu::tensors::resize_tap(p.t, axis, out);
  });
}

INGOT_GPU_KERNEL(resize_nearest, ResizeParams, 256) {
  const int32_t* tables = static_cast<const int32_t*>(p.tables);
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    int64_t from = 0, to = 0;
    GPU_ROLLED for (int d = p.rank - 1; d >= 0; d--) {
      const int64_t k = int64_t(take_remainder(&rest, p.dims[d]));
      from += (p.first[d] < 0 ? k : int64_t(tables[p.first[d] + k])) * p.x_strides[d];
      to += k * p.y_strides[d];
    }
    copy_unit(p.x, from, p.y, to, p.unit);
  }
}

namespace {  // as the taps
/// The changed dimensions of one element, outermost first.
struct Mix {
  const ResizeTap* taps[kMaxResizeDims];
  int64_t strides[kMaxResizeDims];
};
}  // namespace
/// What lies at `at`, mixed over `levels` dimensions from `level` on; the innermost is mixed first.
template <bool cubic, int level, int levels>
GPU_FN float mix(const Mix& m, const float* x, int64_t at) {
  if constexpr (level == levels) {
    return x[at];
  } else {
    const ResizeTap& tap = *m.taps[level];
    const auto get = [&](int k) {
      return mix<cubic, level + 1, levels>(m, x, at + int64_t(tap.at[k]) * m.strides[level]);
    };
    if constexpr (cubic) {
      float sum = 0;
      GPU_ROLLED for (int k = 0; k < 4; k++) sum = V::fma(get(k), tap.weight[k], sum);
      return sum;
    } else {
      const float low = get(0);
      return V::fma(get(1) - low, tap.weight[0], low);
    }
  }
}

template <bool cubic>
GPU_FN void resize_mixed(const ResizeParams& p) {
  const ResizeTap* tables = static_cast<const ResizeTap*>(p.tables);
  const float* x = reinterpret_cast<const float*>(p.x);
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    int64_t from = 0, to = 0;
    Mix m;
    INGOT_UNROLL for (int k = 0; k < kMaxResizeDims; k++) m.taps[k] = tables, m.strides[k] = 0;
    GPU_ROLLED for (int d = p.rank - 1; d >= 0; d--) {
      const int64_t k = int64_t(take_remainder(&rest, p.dims[d]));
      to += k * p.y_strides[d];
      if (p.first[d] < 0) {
        from += k * p.x_strides[d];
      } else {  // pushed in front: no index that registers could not have
        m.taps[2] = m.taps[1], m.strides[2] = m.strides[1];
        m.taps[1] = m.taps[0], m.strides[1] = m.strides[0];
        m.taps[0] = tables + p.first[d] + k, m.strides[0] = p.x_strides[d];
      }
    }
    float y;
    switch (p.changed) {
      case 0: y = x[from]; break;
      case 1: y = mix<cubic, 0, 1>(m, x, from); break;
      case 2: y = mix<cubic, 0, 2>(m, x, from); break;
      default: y = mix<cubic, 0, 3>(m, x, from); break;
    }
    reinterpret_cast<float*>(p.y)[to] = y;
  }
}
INGOT_GPU_KERNEL(resize_linear, ResizeParams, 128) { resize_mixed<false>(p); }
INGOT_GPU_KERNEL(resize_cubic, ResizeParams, 128) { resize_mixed<true>(p); }

using GridPlace = cpu::tensors::GridPlace<V>;

GPU_FN bool has_dim(const GridSampleParams& p, int d) { return d >= kMaxGridDims - p.spatial; }
GPU_FN GridPlace grid_place(const GridSampleParams& p, int d, int64_t row) {
  if (!has_dim(p, d)) return {0, 0};
  return cpu::tensors::grid_place<V>(p.t, cpu::tensors::grid_axis(p.t.align_corners, p.extents[d]),
                                     p.grid[row * p.grid_row + kMaxGridDims - 1 - d]);
}
/// Element of tap k, -1 where it counts as zero; `weight` is multiplied by its own. What an axis is
/// follows from the parameters and is computed again: registers are scarcer.
GPU_FN int64_t grid_tap(const GridSampleParams& p, int d, const GridPlace& place, int k,
                        float* weight) {
  if (!has_dim(p, d)) return 0;
  *weight *= cpu::tensors::grid_weight<V>(p.t.mode, place, k);
  const cpu::tensors::GridAxis axis = cpu::tensors::grid_axis(p.t.align_corners, p.extents[d]);
  return cpu::tensors::grid_index<V>(p.t, axis, place, k);
}
/// Calls use(element, weight) for each tap of a place that counts, in the order of the contract.
template <class Use>
GPU_FN void for_each_tap(const GridSampleParams& p, int64_t row, Use use) {
  uint64_t image = uint64_t(row);
  take_remainder(&image, p.places);
  const GridPlace z = grid_place(p, 0, row), y = grid_place(p, 1, row), x = grid_place(p, 2, row);
  const int taps = cpu::tensors::grid_taps(p.t.mode);
  GPU_ROLLED for (int i = 0; i < (has_dim(p, 0) ? taps : 1); i++) {
    float outer = 1;
    int64_t plane = grid_tap(p, 0, z, i, &outer);
    if (plane < 0) continue;
    plane += int64_t(image) * p.extents[0];
    GPU_ROLLED for (int j = 0; j < (has_dim(p, 1) ? taps : 1); j++) {
      float middle = outer;
      int64_t line = grid_tap(p, 1, y, j, &middle);
      if (line < 0) continue;
      line += plane * p.extents[1];
      GPU_ROLLED for (int k = 0; k < taps; k++) {
        float weight = middle;
        const int64_t at = grid_tap(p, 2, x, k, &weight);
        if (at >= 0) use(line * p.extents[2] + at, weight);
      }
    }
  }
}

GPU_FN void zero_unit(char* to, int64_t at, int bytes) {
  switch (bytes) {
    case 1: to[at] = 0; break;
    case 2: reinterpret_cast<uint16_t*>(to)[at] = 0; break;
    case 4: reinterpret_cast<uint32_t*>(to)[at] = 0; break;
    case 8: reinterpret_cast<uint64_t*>(to)[at] = 0; break;
    default: reinterpret_cast<Bytes16*>(to)[at] = {}; break;
  }
}
INGOT_GPU_KERNEL(grid_sample_nearest, GridSampleParams, 128) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t row = uint64_t(i);
    const int64_t unit = int64_t(take_remainder(&row, p.channels));
    const int64_t to = int64_t(row) * p.y_pixel + unit;
    int64_t from = -1;
    for_each_tap(p, int64_t(row), [&](int64_t pixel, float) { from = pixel * p.x_pixel + unit; });
    if (from >= 0)
      copy_unit(p.x, from, p.y, to, p.unit);
    else
      zero_unit(p.y, to, p.unit);
  }
}

template <int width>
struct alignas(width * 4) GridChannels {
  float v[width];
};
template <int width>
GPU_FN void grid_sample_mixed(const GridSampleParams& p) {
  using Unit = GridChannels<width>;
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t row = uint64_t(i);
    const int64_t unit = int64_t(take_remainder(&row, p.channels));
    Unit sum;
    INGOT_UNROLL for (int c = 0; c < width; c++) sum.v[c] = 0;
    for_each_tap(p, int64_t(row), [&](int64_t pixel, float weight) {
      const Unit x = reinterpret_cast<const Unit*>(p.x)[pixel * p.x_pixel + unit];
      INGOT_UNROLL for (int c = 0; c < width; c++) sum.v[c] = V::fma(x.v[c], weight, sum.v[c]);
    });
    reinterpret_cast<Unit*>(p.y)[int64_t(row) * p.y_pixel + unit] = sum;
  }
}
INGOT_GPU_KERNEL_BLOCKS(grid_sample_1, GridSampleParams, 128, 6) { grid_sample_mixed<1>(p); }
INGOT_GPU_KERNEL_BLOCKS(grid_sample_4, GridSampleParams, 128, 6) { grid_sample_mixed<4>(p); }

using cpu::tensors::RoiBin;
using cpu::tensors::RoiRange;
using cpu::tensors::RoiTap;

/// Calls use(line tap, column tap) for each place of a bin that lies inside; gives their number.
template <class Use>
GPU_FN int64_t for_each_place(const RoiAlignParams& p, const RoiBin& down, const RoiBin& across,
                              Use use) {
  const RoiRange lines = cpu::tensors::roi_range(down, p.extents[1]),
                 columns = cpu::tensors::roi_range(across, p.extents[2]);
  int64_t inside = 0;
  GPU_ROLLED for (int32_t i = lines.begin; i < lines.end; i++) {
    const RoiTap line = cpu::tensors::roi_tap(down, i, p.extents[1]);
    if (!line.inside) continue;
    GPU_ROLLED for (int32_t j = columns.begin; j < columns.end; j++) {
      const RoiTap column = cpu::tensors::roi_tap(across, j, p.extents[2]);
      if (!column.inside) continue;
      use(line, column), inside++;
    }
  }
  return inside;
}
template <int width>
GPU_FN void roi_align(const RoiAlignParams& p) {
  using Unit = GridChannels<width>;
  const bool largest = p.t.mode == RoiMode::kMax;
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    uint64_t rest = uint64_t(i);
    const int64_t unit = int64_t(take_remainder(&rest, p.channels));
    const int64_t to = int64_t(rest) * p.y_pixel + unit;
    const int64_t bin_x = int64_t(take_remainder(&rest, p.columns)),
                  bin_y = int64_t(take_remainder(&rest, p.lines)), image = p.images[rest];
    if (image < 0 || image >= p.extents[0]) {
      *p.fault = p.fault_value;
      continue;
    }
    const float* const box = p.boxes + int64_t(rest) * p.box_row;
    const RoiBin down = cpu::tensors::roi_bin(p.t, box[1], box[3], p.lines.divisor, bin_y),
                 across = cpu::tensors::roi_bin(p.t, box[0], box[2], p.columns.divisor, bin_x);
    const Unit* const x =
        reinterpret_cast<const Unit*>(p.x) + image * p.extents[1] * p.extents[2] * p.x_pixel + unit;
    Unit y;
    INGOT_UNROLL for (int c = 0; c < width; c++) y.v[c] = largest ? -__builtin_inff() : 0;
    const auto take = [&](int64_t line, int64_t column, float weight) {
      const Unit from = x[(line * p.extents[2] + column) * p.x_pixel];
      INGOT_UNROLL for (int c = 0; c < width; c++) {
        const float product = from.v[c] * weight;
        if (!largest)
          y.v[c] = V::fma(from.v[c], weight, y.v[c]);
        else if (product > y.v[c] || product != product)
          y.v[c] = product;
      }
    };
    const int64_t inside =
        for_each_place(p, down, across, [&](const RoiTap& line, const RoiTap& column) {
          take(line.low, column.low, (1 - line.weight) * (1 - column.weight));
          take(line.low, column.high, (1 - line.weight) * column.weight);
          take(line.high, column.low, line.weight * (1 - column.weight));
          take(line.high, column.high, line.weight * column.weight);
        });
    const int64_t places = int64_t(down.places) * across.places;
    INGOT_UNROLL for (int c = 0; c < width; c++) {
      if (!largest)
        y.v[c] = inside > 0 ? y.v[c] / float(places) : 0;
      else if (inside < places || places == 0)  // others count as zero
        y.v[c] = y.v[c] <= 0 ? 0 : y.v[c];
    }
    reinterpret_cast<Unit*>(p.y)[to] = y;
  }
}
INGOT_GPU_KERNEL(roi_align_1, RoiAlignParams, 128) { roi_align<1>(p); }
INGOT_GPU_KERNEL(roi_align_4, RoiAlignParams, 128) { roi_align<4>(p); }

}  // namespace ingot::cuda
