// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/ports/ports.cuh - inputs into the arena, outputs out of it, from and to where the
// descriptor block says when they run (decision D49). The block lies in pinned memory: binding
// another buffer changes two words and no graph.
#pragma once
#include "kernels/cuda/device/bytes.cuh"
#include "kernels/cuda/ports/ports_kernels.h"

namespace ingot::cuda {

/// 16 bytes a thread where both sides allow it: pinned memory crosses the bus in whole
/// transactions.
GPU_FN void copy_rows(char* to, uint64_t to_stride, const char* from, uint64_t from_stride,
                      uint64_t row_bytes, uint64_t rows) {
  if (to_stride == row_bytes && from_stride == row_bytes) row_bytes *= rows, rows = 1;
  const uint64_t step = uint64_t(grid_threads());
  const bool wide =
      ((uint64_t(to) | uint64_t(from) | (rows > 1 ? to_stride | from_stride : 0)) & 15) == 0;
  const uint64_t wide_count = wide ? row_bytes / 16 : 0, tail = row_bytes - wide_count * 16;
  for (uint64_t i = uint64_t(grid_thread()); i < wide_count * rows; i += step) {
    const uint64_t row = i / wide_count, at = i - row * wide_count;
    reinterpret_cast<Bytes16*>(to + row * to_stride)[at] =
        reinterpret_cast<const Bytes16*>(from + row * from_stride)[at];
  }
  for (uint64_t i = uint64_t(grid_thread()); i < tail * rows; i += step) {
    const uint64_t row = i / tail, at = wide_count * 16 + i - row * tail;
    to[row * to_stride + at] = from[row * from_stride + at];
  }
}

INGOT_GPU_KERNEL(copy_in, PortParams, 256) {
  copy_rows(p.home, p.home_stride, reinterpret_cast<const char*>(p.descriptor->address),
            p.descriptor->row_stride, p.row_bytes, p.rows);
}
INGOT_GPU_KERNEL(copy_out, PortParams, 256) {
  copy_rows(reinterpret_cast<char*>(p.descriptor->address), p.descriptor->row_stride, p.home,
            p.home_stride, p.row_bytes, p.rows);
}

}  // namespace ingot::cuda
