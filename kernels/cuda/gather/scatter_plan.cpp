// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gather/scatter_plan.cpp - ScatterNd and ScatterElements: data is copied, then
// updates apply in their order.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gather/scatter_params.h"

namespace ingot::cuda {
namespace {

int64_t sort_share(int64_t count) {
  const int64_t tiles = (count + kSortTile - 1) / kSortTile,
                each = (tiles + kSortBlocks - 1) / kSortBlocks;
  return each * kSortTile;
}

}  // namespace

uint64_t sort_scratch(int64_t count) {
  return align256(uint64_t(count) * 8) * 4 + kSortDigits * kSortBlocks * 8;
}

Status plan_sort(const GpuWork& work, uint8_t* scratch, int64_t count, int bits, uint64_t** keys,
                 uint64_t** numbers) {
  const uint64_t each = align256(uint64_t(count) * 8);
  uint64_t* room[2][2];
  for (int i = 0; i < 4; i++)
    room[i / 2][i % 2] = reinterpret_cast<uint64_t*>(scratch + uint64_t(i) * each);
  int from = 0;
  for (int shift = 0; shift < bits; shift += 8, from = 1 - from) {
    SortParams p = {room[from][0],
                    room[from][1],
                    room[1 - from][0],
                    room[1 - from][1],
                    reinterpret_cast<uint64_t*>(scratch + each * 4),
                    count,
                    sort_share(count),
                    shift};
    const uint32_t blocks = uint32_t((count + p.share - 1) / p.share);
    Status status = launch(work, KernelId::sort_count, blocks, p);
    if (!status.ok()) return status;
    SortParams scan = p;
    scan.share = blocks;
    status = launch(work, KernelId::sort_scan, 1, scan);
    if (!status.ok()) return status;
    status = launch(work, KernelId::sort_place, blocks, p);
    if (!status.ok()) return status;
  }
  *keys = room[from][0];
  *numbers = room[from][1];
  return {};
}

namespace {

ScatterReduction reduction_of(const OpArguments& a, bool by_element) {
  return by_element ? a.as<ScatterElementsAttributes>().reduction
                    : a.as<ScatterNdAttributes>().reduction;
}
/// Elements of a slot, and the updates.
int64_t row_of(const OpArguments& a, bool by_element) {
  return by_element ? 1 : extent_of(a.inputs[0], int(a.inputs[1].row_length()), a.inputs[0].rank);
}
int64_t updates_of(const OpArguments& a, bool by_element) {
  return by_element ? a.inputs[1].elements() : a.inputs[1].rows();
}
int64_t slots_of(const OpArguments& a, bool by_element) {
  return by_element ? a.inputs[0].elements()
                    : extent_of(a.inputs[0], 0, int(a.inputs[1].row_length()));
}

template <bool by_element>
uint64_t scratch_scatter(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  if (reduction_of(a, by_element) == ScatterReduction::kNone)
    return uint64_t(slots_of(a, by_element)) * 8;
  return sort_scratch(updates_of(a, by_element));
}

Status plan_last(const GpuWork& work, ScatterParams p, int64_t bytes) {
  const int unit = widest_unit(uint64_t(bytes) | reinterpret_cast<uintptr_t>(p.to) |
                               reinterpret_cast<uintptr_t>(p.updates));
  p.row = fast_divisor(bytes / unit);
  p.unit = unit;
  if (p.count > 1) {
    p.owners = reinterpret_cast<uint64_t*>(work.scratch);
    INGOT_TRY(launch(work, KernelId::clear_words, blocks_for(p.slots, 256, work.traits),
                     ClearParams{p.owners, p.slots}));
    INGOT_TRY(launch(work, KernelId::scatter_claim, blocks_for(p.count, 256, work.traits), p));
  }
  return launch(work, KernelId::scatter_write,
                blocks_for(p.count * p.row.divisor, 256, work.traits), p);
}

Status plan_combined(const GpuWork& work, ScatterParams p) {
  p.keys = reinterpret_cast<uint64_t*>(work.scratch);
  p.numbers = reinterpret_cast<uint64_t*>(work.scratch + align256(uint64_t(p.count) * 8));
  Status status = launch(work, KernelId::scatter_keys, blocks_for(p.count, 256, work.traits), p);
  if (!status.ok()) return status;
  int bits = 1;
  while (bits < 63 && p.slots >> bits != 0) bits++;
  status = plan_sort(work, work.scratch, p.count, bits, &p.keys, &p.numbers);
  if (!status.ok()) return status;
  return launch(work, KernelId::scatter_combine,
                blocks_for(p.count * p.row.divisor, 256, work.traits), p);
}

template <bool by_element>
Status plan_scatter(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &data = a.inputs[0], &indices = a.inputs[1], &updates = a.inputs[2],
                   &y = a.outputs[0];
  const int64_t bytes = dtype_bytes(data.dtype), row = row_of(a, by_element);
  if (data.data != y.data) {
    const Status status = plan_copy_bytes(work, data.data, y.data, data.elements() * bytes);
    if (!status.ok()) return status;
  }
  ScatterParams p = {};
  p.count = updates_of(a, by_element);
  if (p.count == 0) return {};
  p.to = y.as<char>();
  p.updates = updates.as<const char>();
  p.indices = indices_of(work, indices);
  p.slots = slots_of(a, by_element);
  p.row = fast_divisor(row > 0 ? row : 1);
  p.reduction = reduction_of(a, by_element);
  p.dtype = data.dtype;
  p.by_element = by_element;
  if constexpr (by_element) {
    const int axis = int(a.as<ScatterElementsAttributes>().axis);
    Move m;
    for (int i = 0; i < data.rank; i++)
      m.push(indices.dims[i], i == axis ? 0 : stride_of(data, i), stride_of(indices, i));
    merge(&m);
    p.rank = m.rank;
    for (int i = 0; i < m.rank; i++) p.dims[i] = fast_divisor(m.dims[i]), p.strides[i] = m.from[i];
    p.extents[0] = data.dims[axis];
    p.axis_stride = stride_of(data, axis);
  } else {
    p.depth = int(indices.row_length());
    for (int k = 0; k < p.depth; k++) p.extents[k] = data.dims[k];
  }
  if (row == 0)
    // nothing to write
    return launch(work, KernelId::scatter_claim, blocks_for(p.count, 256, work.traits), p);
  return p.reduction == ScatterReduction::kNone ? plan_last(work, p, row * bytes)
                                                : plan_combined(work, p);
}

constexpr GpuKernelEntry kScatterTable[] = {
    {OpCode::kScatterNd, "scatter_nd", nullptr, scratch_scatter<false>, plan_scatter<false>},
    {OpCode::kScatterElements, "scatter_elements", nullptr, scratch_scatter<true>,
     plan_scatter<true>}};

}  // namespace

const Span<const GpuKernelEntry> kScatterRows = Span<const GpuKernelEntry>(kScatterTable);

}  // namespace ingot::cuda
