// kernels/cuda/resize/resize.cuh - Resize. Contract, coordinates and order: runtime/op/resize.h.
// One launch makes the tables of source positions (and weights), another reads them: an element a
// thread, or a unit of neighbouring ones that are only copied.
#pragma once
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
        make({p.extents[d], p.in_extents[d], p.out_extents[d], p.scales[d], true}, i - p.first[d]);
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

}  // namespace ingot::cuda
