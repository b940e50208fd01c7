// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/gather/gather_plan.cpp - Gather, GatherElements, GatherNd: whole rows in units as
// wide as they allow.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gather/gather_params.h"
#include "kernels/cuda/movement/movement_params.h"
#include "runtime/op/gather.h"

namespace ingot::cuda {

Indices indices_of(const GpuWork& work, const TensorView& t) {
  return {t.as<const char>(), work.fault, work.fault_value, t.dtype == DType::kI64};
}

namespace {

/// The rest of the parameters, for rows of `elements` elements.
Status plan_rows(const GpuWork& work, GatherParams* p, int64_t rows, int64_t elements) {
  const TensorView &data = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const int64_t bytes = elements * dtype_bytes(data.dtype);
  if (rows == 0 || bytes == 0) return {};
  p->from = data.as<const char>();
  p->to = y.as<char>();
  p->indices = indices_of(work, work.arguments->inputs[1]);
  const bool rounds = data.dtype == DType::kF32 && y.dtype == DType::kF16;
  const uintptr_t from = reinterpret_cast<uintptr_t>(p->from),
                  to = reinterpret_cast<uintptr_t>(p->to);
  const bool in_fours = elements % 4 == 0 && from % 16 == 0 && to % 8 == 0;
  const int unit = rounds ? (in_fours ? 16 : 4) : widest_unit(uint64_t(bytes) | from | to);
  p->row = fast_divisor(bytes / unit);
  p->count = rows * (bytes / unit);
  p->unit = unit;
  return launch(work, rounds ? KernelId::gather_as_halves : KernelId::gather_units,
                blocks_for(p->count, 256, work.traits), *p);
}

Status plan_gather(const GpuWork& work) {
  const TensorView &data = work.arguments->inputs[0], &indices = work.arguments->inputs[1];
  const int axis = int(work.arguments->as<GatherAttributes>().axis);
  const int64_t outer = extent_of(data, 0, axis), count = indices.elements();
  if (outer == 0 || count == 0) return {};
  GatherParams p = {};
  p.tuples = fast_divisor(count);
  p.tuples_repeat = true;
  p.slices = p.extents[0] = data.dims[axis];
  p.depth = 1;
  return plan_rows(work, &p, outer * count, extent_of(data, axis + 1, data.rank));
}

Status plan_gather_nd(const GpuWork& work) {
  const TensorView &data = work.arguments->inputs[0], &indices = work.arguments->inputs[1];
  const int batch_dims = int(work.arguments->as<GatherNdAttributes>().batch_dims);
  const int64_t in_batch = extent_of(indices, batch_dims, indices.rank - 1);
  if (in_batch == 0) return {};
  GatherParams p = {};
  p.tuples = fast_divisor(in_batch);
  p.depth = int(indices.row_length());
  p.slices = extent_of(data, batch_dims, batch_dims + p.depth);
  for (int k = 0; k < p.depth; k++) p.extents[k] = data.dims[batch_dims + k];
  return plan_rows(work, &p, indices.rows(), extent_of(data, batch_dims + p.depth, data.rank));
}

Status plan_gather_elements(const GpuWork& work) {
  const TensorView &data = work.arguments->inputs[0], &indices = work.arguments->inputs[1],
                   &y = work.arguments->outputs[0];
  const int axis = int(work.arguments->as<GatherElementsAttributes>().axis);
  if (y.elements() == 0) return {};
  Move m;
  for (int i = 0; i < data.rank; i++)
    m.push(indices.dims[i], i == axis ? 0 : stride_of(data, i), stride_of(y, i));
  merge(&m);
  GatherElementsParams p = {};
  p.from = data.as<const char>();
  p.to = y.as<char>();
  p.indices = indices_of(work, indices);
  p.count = y.elements();
  p.extent = data.dims[axis];
  p.axis_stride = stride_of(data, axis);
  p.rank = m.rank;
  for (int i = 0; i < m.rank; i++) {
    p.dims[i] = fast_divisor(m.dims[i]);
    p.from_strides[i] = m.from[i];
  }
  p.unit = dtype_bytes(data.dtype);
  return launch(work, KernelId::gather_elements, blocks_for(p.count, 256, work.traits), p);
}

/// Rows of f16 are moved, those of f32 moved or rounded: of a table of constants, for one. Not
/// where they are not whole fours: the scales of a table of bytes, one a row, keep f32.
uint64_t f16_operands_of_rows(const OpArguments& a, int64_t elements) {
  const uint64_t y = uint64_t{1} << a.input_count;
  if (a.inputs[0].dtype != DType::kF16) return elements > 0 && elements % 4 == 0 ? y : 0;
  return a.outputs[0].dtype == DType::kF16 ? 1 | y : 0;
}
uint64_t f16_operands_of_gather(const OpArguments& a, const GpuTraits&) {
  const TensorView& data = a.inputs[0];
  const int axis = int(a.as<GatherAttributes>().axis);
  return f16_operands_of_rows(a, extent_of(data, axis + 1, data.rank));
}
uint64_t f16_operands_of_gather_nd(const OpArguments& a, const GpuTraits&) {
  const TensorView &data = a.inputs[0], &indices = a.inputs[1];
  const int depth = int(a.as<GatherNdAttributes>().batch_dims) + int(indices.row_length());
  return f16_operands_of_rows(a, extent_of(data, depth, data.rank));
}

constexpr GpuKernelEntry kGatherTable[] = {
    {OpCode::kGather, "gather", nullptr, nullptr, plan_gather, {}, f16_operands_of_gather},
    {OpCode::kGatherElements, "gather_elements", nullptr, nullptr, plan_gather_elements},
    {OpCode::kGatherNd,
     "gather_nd",
     nullptr,
     nullptr,
     plan_gather_nd,
     {},
     f16_operands_of_gather_nd}};

}  // namespace

const Span<const GpuKernelEntry> kGatherRows = Span<const GpuKernelEntry>(kGatherTable);

}  // namespace ingot::cuda
