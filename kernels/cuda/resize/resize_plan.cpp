// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/resize/resize_plan.cpp - Resize, GridSample and RoiAlign.
#include "kernels/cpu/resize/taps.inl"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/resize/resize_params.h"

namespace ingot::cuda {
namespace {

bool is_nearest(const OpArguments& a) {
  return a.as<ResizeAttributes>().mode == ResizeMode::kNearest;
}
int64_t entries_of(const OpArguments& a) {
  int64_t entries = 0;
  for (int i = 0; i < a.outputs[0].rank; i++)
    if (resize_changes(a, i)) entries += a.outputs[0].dims[i];
  return entries;
}
uint64_t resize_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  return uint64_t(entries_of(a)) *
         (is_nearest(a) ? sizeof(int32_t) : sizeof(cpu::tensors::ResizeTap));
}

Status plan_resize(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  ResizeTableParams tables = {};
  ResizeParams p = {};
  int64_t dims[kMaxRank] = {1}, bytes = dtype_bytes(x.dtype);
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.tables = tables.tables = work.scratch;
  p.rank = tables.rank = x.rank;
  tables.t = a.as<ResizeAttributes>();
  for (int i = 0; i < x.rank; i++) {
    const bool changes = resize_changes(a, i);
    dims[i] = y.dims[i];
    p.x_strides[i] = stride_of(x, i);
    p.y_strides[i] = stride_of(y, i);
    p.first[i] = changes ? tables.entries : -1;
    p.changed += changes;
    const cpu::tensors::ResizeAxis axis =
        cpu::tensors::resize_axis(tables.t, i, x.dims[i], y.dims[i], changes);
    tables.extents[i] = axis.extent;
    tables.in_extents[i] = axis.in_extent;
    tables.out_extents[i] = axis.out_extent;
    tables.scales[i] = axis.scale;
    tables.fixed_scales[i] = axis.fixed_scale;
    if (changes) tables.entries += y.dims[i];
    tables.first[i + 1] = tables.entries;
  }
  if (x.rank == 0) {
    p.rank = 1;
    p.first[0] = -1;
    p.x_strides[0] = p.y_strides[0] = 1;
  }
  if (tables.entries > 0) {
    const KernelId kernel = is_nearest(a) ? KernelId::resize_positions : KernelId::resize_taps;
    const Status status =
        launch(work, kernel, blocks_for(tables.entries, 128, work.traits), tables);
    if (!status.ok()) return status;
  }
  const int last = p.rank - 1;
  int unit = int(bytes);
  if (is_nearest(a) && p.first[last] < 0) {  // elements that are only copied join
    uint64_t bits = reinterpret_cast<uintptr_t>(p.x) | reinterpret_cast<uintptr_t>(p.y) |
                    uint64_t(dims[last] * bytes);
    for (int i = 0; i < last; i++)
      bits |= uint64_t(p.x_strides[i] * bytes) | uint64_t(p.y_strides[i] * bytes);
    if (widest_unit(bits) > unit) unit = widest_unit(bits);
    const int64_t ratio = unit / bytes;
    dims[last] /= ratio;
    for (int i = 0; i < last; i++) p.x_strides[i] /= ratio, p.y_strides[i] /= ratio;
  }
  p.count = 1;
  for (int i = 0; i < p.rank; i++) {
    p.dims[i] = fast_divisor(dims[i]);
    p.count *= dims[i];
  }
  p.unit = unit;
  if (is_nearest(a))
    return launch(work, KernelId::resize_nearest, blocks_for(p.count, 256, work.traits), p);
  const bool cubic = tables.t.mode == ResizeMode::kCubic;
  return launch(work, cubic ? KernelId::resize_cubic : KernelId::resize_linear,
                blocks_for(p.count, 128, work.traits), p);
}

/// Copies take any element, mixtures f32.
uint64_t f16_operands_of_resize(const OpArguments& a, const GpuTraits& traits) {
  return is_nearest(a) ? all_or_none_f16(a, traits) : 0;
}

Status plan_grid_sample(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &grid = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  GridSampleParams p = {};
  p.x = x.as<const char>();
  p.grid = grid.as<const float>();
  p.y = y.as<char>();
  p.t = a.as<GridSampleAttributes>();
  p.spatial = x.rank - 2;
  for (int i = 0; i < kMaxGridDims; i++) {
    const int axis = i - (kMaxGridDims - p.spatial);
    p.extents[i] = axis < 0 ? 1 : int64_t{x.dims[1 + axis]};
  }
  const bool nearest = p.t.mode == GridMode::kNearest;
  const int64_t bytes = dtype_bytes(x.dtype), channels = y.row_length();
  const uint64_t bits = reinterpret_cast<uintptr_t>(p.x) | reinterpret_cast<uintptr_t>(p.y) |
                        uint64_t((channels | x.row_stride | y.row_stride) * bytes);
  p.unit = int(bytes);
  if (nearest ? widest_unit(bits) > p.unit : widest_unit(bits) == 16) p.unit = widest_unit(bits);
  const int64_t ratio = p.unit / bytes;
  p.x_pixel = x.row_stride / ratio;
  p.y_pixel = y.row_stride / ratio;
  p.grid_row = grid.row_stride;
  p.channels = fast_divisor(channels / ratio);
  p.places = fast_divisor(y.rows() / y.dims[0]);
  p.count = y.elements() / ratio;
  const KernelId kernel = nearest       ? KernelId::grid_sample_nearest
                          : p.unit == 4 ? KernelId::grid_sample_1
                                        : KernelId::grid_sample_4;
  return launch(work, kernel, blocks_for(p.count, 128, work.traits), p);
}

Status plan_roi_align(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &boxes = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  RoiAlignParams p = {};
  p.x = x.as<const char>();
  p.boxes = boxes.as<const float>();
  p.images = a.inputs[2].as<const int64_t>();
  p.y = y.as<char>();
  p.fault = work.fault;
  p.fault_value = work.fault_value;
  p.t = a.as<RoiAlignAttributes>();
  for (int i = 0; i < 3; i++) p.extents[i] = x.dims[i];
  const int64_t channels = y.row_length();
  const uint64_t bits = reinterpret_cast<uintptr_t>(p.x) | reinterpret_cast<uintptr_t>(p.y) |
                        uint64_t((channels | x.row_stride | y.row_stride) * 4);
  const int64_t ratio = widest_unit(bits) == 16 ? 4 : 1;
  p.x_pixel = x.row_stride / ratio;
  p.y_pixel = y.row_stride / ratio;
  p.box_row = boxes.row_stride;
  p.channels = fast_divisor(channels / ratio);
  p.columns = fast_divisor(y.dims[2]);
  p.lines = fast_divisor(y.dims[1]);
  p.count = y.elements() / ratio;
  return launch(work, ratio == 4 ? KernelId::roi_align_4 : KernelId::roi_align_1,
                blocks_for(p.count, 128, work.traits), p);
}

constexpr GpuKernelEntry kResizeTable[] = {
    {OpCode::kResize, "resize", nullptr, resize_scratch, plan_resize, {}, f16_operands_of_resize},
    {OpCode::kGridSample, "grid_sample", nullptr, nullptr, plan_grid_sample},
    {OpCode::kRoiAlign, "roi_align", nullptr, nullptr, plan_roi_align}};

}  // namespace

const Span<const GpuKernelEntry> kResizeRows = Span<const GpuKernelEntry>(kResizeTable);

}  // namespace ingot::cuda
