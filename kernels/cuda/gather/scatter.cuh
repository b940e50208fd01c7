// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gather/scatter.cuh - ScatterNd, ScatterElements. Updates apply in their order, as on
// the CPU. Without a reduction the last one of a slot wins: updates claim slots by their number,
// then the owners write. With one, updates are sorted by slot (stably) and each element of a slot
// walks its updates.
#pragma once
#include "kernels/cpu/gather/combine.inl"
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/gather/gather.cuh"
#include "kernels/cuda/gather/scatter_params.h"

namespace ingot::cuda {

/// The slot that update i names; -1 when outside.
GPU_FN int64_t slot_of(const ScatterParams& p, int64_t i) {
  if (!p.by_element) return slice_at(p.indices, p.extents, p.depth, i);
  const int64_t at = index_at(p.indices, i, p.extents[0]);
  if (at < 0) return -1;
  const int64_t base = base_at(p.dims, p.strides, p.rank, uint64_t(i));
  return base + at * p.axis_stride;
}

INGOT_GPU_KERNEL(scatter_claim, ScatterParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const int64_t slot = slot_of(p, i);
    if (slot < 0)
      report(p.indices);
    else if (p.owners)
      atomicMax(reinterpret_cast<unsigned long long*>(p.owners + slot),
                static_cast<unsigned long long>(i + 1));
  }
}

INGOT_GPU_KERNEL(scatter_write, ScatterParams, 256) {
  const int64_t units = p.count * p.row.divisor;
  GPU_ROLLED for (int64_t i = grid_thread(); i < units; i += grid_threads()) {
    const int64_t update = int64_t(divide(uint64_t(i), p.row)), slot = slot_of(p, update);
    if (slot < 0 && !p.owners) report(p.indices);
    if (slot >= 0 && (!p.owners || p.owners[slot] == uint64_t(update + 1)))
      copy_unit(p.updates, i, p.to, slot * p.row.divisor + (i - update * p.row.divisor), p.unit);
  }
}

INGOT_GPU_KERNEL(scatter_keys, ScatterParams, 256) {
  GPU_ROLLED for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
    const int64_t slot = slot_of(p, i);
    if (slot < 0) report(p.indices);
    p.keys[i] = uint64_t(slot < 0 ? p.slots : slot);
    p.numbers[i] = uint64_t(i);
  }
}

/// The result is rounded to the element's type after every update: T is exact for one operation on
/// narrower types.
template <class T>
GPU_FN void combine_updates(const ScatterParams& p, int64_t first, uint64_t slot, int64_t column) {
  const int64_t at = int64_t(slot) * p.row.divisor + column;
  GPU_ROLLED for (int64_t i = first; i < p.count && p.keys[i] == slot; i++) {
    const T old = load_as<T>(p.dtype, p.to, at);
    const T update = load_as<T>(p.dtype, p.updates, int64_t(p.numbers[i]) * p.row.divisor + column);
    store_as(p.dtype, p.to, at, cpu::tensors::combine(p.reduction, old, update));
  }
}

/// An element of a slot a thread: the one at the slot's first update does the work of all.
INGOT_GPU_KERNEL_BLOCKS(scatter_combine, ScatterParams, 256, 4) {
  const int64_t elements = p.count * p.row.divisor;
  GPU_ROLLED for (int64_t i = grid_thread(); i < elements; i += grid_threads()) {
    const int64_t first = int64_t(divide(uint64_t(i), p.row));
    const uint64_t slot = p.keys[first];
    if (slot == uint64_t(p.slots) || (first > 0 && p.keys[first - 1] == slot)) continue;
    const int64_t column = i - first * p.row.divisor;
    switch (p.dtype) {
      case DType::kF32:
      case DType::kF16:
      case DType::kBF16: combine_updates<float>(p, first, slot, column); break;
      case DType::kF64: combine_updates<double>(p, first, slot, column); break;
      case DType::kU64: combine_updates<uint64_t>(p, first, slot, column); break;
      default: combine_updates<int64_t>(p, first, slot, column); break;
    }
  }
}

}  // namespace ingot::cuda
