// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/movement/movement_plan.cpp - Transpose, Slice, Tile, Copy, Concat, Pad: any element
// type, by its width.
#include <cstring>

#include "kernels/cpu/elementwise/convert.inl"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "runtime/op/concat.h"
#include "runtime/op/copy.h"
#include "runtime/op/slice.h"
#include "runtime/op/transpose.h"

namespace ingot::cuda {
namespace {

Move move_of(const TensorType& x) {
  Move m;
  m.bytes = dtype_bytes(x.dtype);
  return m;
}

Status plan_transpose(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const TransposeAttributes& t = work.arguments->as<TransposeAttributes>();
  Move m = move_of(x);
  for (int i = 0; i < y.rank; i++) m.push(y.dims[i], stride_of(x, t.perm[i]), stride_of(y, i));
  return plan_move(work, m, x.data, y.data);
}

Status plan_slice(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const SliceAttributes& t = work.arguments->as<SliceAttributes>();
  if (y.elements() == 0) return {};
  Move m = move_of(x);
  int64_t start = 0;
  for (int i = 0; i < x.rank; i++) {
    const int64_t stride = stride_of(x, i);
    start += t.starts[i] * stride;
    m.push(y.dims[i], y.dims[i] == 1 ? 0 : t.steps[i] * stride, stride_of(y, i));
  }
  return plan_move(work, m, x.as<const char>() + start * m.bytes, y.data);
}

Status plan_tile(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  if (y.elements() == 0) return {};
  Move m = move_of(x);
  for (int i = 0; i < x.rank; i++) {
    const int64_t stride = stride_of(y, i);
    m.push(y.dims[i] / x.dims[i], 0, stride * x.dims[i]);
    m.push(x.dims[i], stride_of(x, i), stride);
  }
  return plan_move(work, m, x.data, y.data);
}

/// Both strided, with rows of different lengths: through dense scratch.
bool needs_two_copies(const TensorType& x, const TensorType& y) {
  return !x.is_dense() && !y.is_dense() && x.row_length() != y.row_length() && x.elements() > 0;
}
uint64_t copy_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  return needs_two_copies(x, y) ? uint64_t(x.elements()) * uint64_t(dtype_bytes(x.dtype)) : 0;
}
/// Rows of `length` elements.
Status copy_rows(const GpuWork& work, const TensorType& type, int64_t length, const void* from,
                 int64_t from_stride, void* to, int64_t to_stride) {
  Move m = move_of(type);
  m.push(length == 0 ? 0 : type.elements() / length, from_stride, to_stride);
  m.push(length, 1, 1);
  return plan_move(work, m, from, to);
}
Status plan_copy(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  if (x.elements() == 0) return {};
  // then rows are dense on both sides, or in the same places
  const bool same_place = x.data == y.data;
  if (same_place) return {};
  if (needs_two_copies(x, y)) {
    const Status first =
        copy_rows(work, x, x.row_length(), x.data, x.row_stride, work.scratch, x.row_length());
    return first.ok() ? copy_rows(work, y, y.row_length(), work.scratch, y.row_length(), y.data,
                                  y.row_stride)
                      : first;
  }
  const int64_t length = x.is_dense() ? y.row_length() : x.row_length();
  return copy_rows(work, x, length, x.data, x.is_dense() ? length : int64_t{x.row_stride}, y.data,
                   y.is_dense() ? length : int64_t{y.row_stride});
}

/// What an input becomes: rows from strides to strides, the columns contiguous. False: it has more
/// dimensions.
bool is_rows(const TensorView& x, const TensorView& y, int axis, Move* m) {
  *m = move_of(x);
  for (int i = 0; i < x.rank; i++) m->push(x.dims[i], stride_of(x, i), stride_of(y, i));
  int64_t columns = 1;
  for (int i = axis; i < x.rank; i++) columns *= x.dims[i];
  const bool dense = axis == x.rank - 1 || (x.is_dense() && y.is_dense());
  if (!dense) return false;
  m->rank = 2;
  m->dims[0] = extent_of(x, 0, axis);
  m->dims[1] = columns;
  m->from[0] = axis == x.rank - 1 ? int64_t{x.row_stride} : columns;
  m->to[0] =
      axis == x.rank - 1 ? int64_t{y.row_stride} : int64_t{y.dims[axis]} * stride_of(y, axis);
  m->from[1] = m->to[1] = 1;
  return true;
}
/// Inputs [first, last) of one launch.
Status plan_pieces(const GpuWork& work, const TensorView& y, const Move* moves,
                   const void* const* from, const int64_t* columns, int count) {
  ConcatParams p = {};
  const int64_t bytes = dtype_bytes(y.dtype);
  uint64_t bits = reinterpret_cast<uintptr_t>(y.data);
  for (int k = 0; k < count; k++) {
    const Move& m = moves[k];
    bits |= reinterpret_cast<uintptr_t>(from[k]) | uint64_t(columns[k] * bytes) |
            uint64_t(m.dims[1] * bytes);
    if (m.dims[0] > 1) bits |= uint64_t(m.from[0] * bytes) | uint64_t(m.to[0] * bytes);
  }
  const int unit = widest_unit(bits);
  const int64_t ratio = unit / bytes;
  int64_t most = 0;
  p.to = y.as<char>();
  p.rows = moves[0].dims[0];
  p.to_stride = moves[0].to[0] / ratio;
  p.unit = unit;
  for (int k = 0; k < count; k++) {
    const int64_t wide = moves[k].dims[1] / ratio;
    p.pieces[k] = {static_cast<const char*>(from[k]), wide, moves[k].from[0] / ratio,
                   columns[k] / ratio, fast_divisor(wide)};
    most = wide > most ? wide : most;
  }
  return launch(work, KernelId::concat_units, blocks_for(p.rows * most, 256, work.traits), p, 0,
                uint32_t(count));
}
Status plan_concat(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView& y = a.outputs[0];
  const int axis = int(a.as<ConcatAttributes>().axis);
  const int64_t axis_stride = stride_of(y, axis), bytes = dtype_bytes(y.dtype);
  Move moves[kConcatPieces];
  const void* from[kConcatPieces];
  int64_t columns[kConcatPieces], start = 0;
  int count = 0;
  for (int k = 0; k < a.input_count; k++) {
    const TensorView& x = a.inputs[k];
    const int64_t at = start * axis_stride;
    start += x.dims[axis];
    if (x.elements() > 0) {
      if (is_rows(x, y, axis, &moves[count])) {
        from[count] = x.data;
        columns[count++] = at;
      } else {
        const Status status = plan_move(work, moves[count], x.data, y.as<char>() + at * bytes);
        if (!status.ok()) return status;
      }
    }
    if (count == kConcatPieces || (count > 0 && k + 1 == a.input_count)) {
      const Status status = plan_pieces(work, y, moves, from, columns, count);
      if (!status.ok()) return status;
      count = 0;
    }
  }
  return {};
}

/// The bits of an attribute as an element of any type, by the CPU's rules: truncation toward zero,
/// then the low bits.
uint64_t fill_bits(DType dtype, float value) {
  uint64_t element = 0;
  cpu::tensors::store_block<float>(dtype, &value, 1, &element);
  return element;
}

/// Dimensions that nothing is put before or behind join the one outside them.
void push_dim(PadParams* p, int64_t* dims, int64_t dim, int64_t extent, int64_t before,
              int64_t from, int64_t to) {
  const int last = p->rank - 1;
  const bool whole = before == 0 && dim == extent;
  if (last >= 0 && whole && p->from_strides[last] == from * extent &&
      p->to_strides[last] == to * dim && extent > 0 && p->mode == PadMode::kConstant) {
    dims[last] *= dim;
    p->extents[last] *= extent;
    p->before[last] *= dim;
    p->from_strides[last] = from;
    p->to_strides[last] = to;
    return;
  }
  dims[p->rank] = dim;
  p->extents[p->rank] = extent;
  p->before[p->rank] = before;
  p->from_strides[p->rank] = from;
  p->to_strides[p->rank++] = to;
}
Status plan_pad(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const PadAttributes& t = a.as<PadAttributes>();
  if (y.elements() == 0) return {};
  PadParams p = {};
  int64_t dims[kMaxRank] = {}, bytes = dtype_bytes(x.dtype);
  p.from = x.as<const char>();
  p.to = y.as<char>();
  p.mode = t.mode;
  p.value_bytes = int(bytes);
  p.fill = fill_bits(x.dtype, t.value);
  if (const TensorView* value = a.optional(1)) p.value = value->as<const char>();
  for (int i = 0; i < x.rank; i++)
    push_dim(&p, dims, y.dims[i], x.dims[i], t.before[i], stride_of(x, i), stride_of(y, i));
  if (p.rank == 0) push_dim(&p, dims, 1, 1, 0, 1, 1);
  const int last = p.rank - 1;
  uint64_t bits = reinterpret_cast<uintptr_t>(p.from) | reinterpret_cast<uintptr_t>(p.to) |
                  uint64_t(dims[last] * bytes) | uint64_t(p.extents[last] * bytes) |
                  uint64_t(p.before[last] * bytes);
  for (int i = 0; i < last; i++)
    bits |= uint64_t(p.from_strides[i] * bytes) | uint64_t(p.to_strides[i] * bytes);
  // Other modes repeat single elements, so a unit may hold several only where the last dimension
  // stays as it is.
  const bool may_widen =
      p.mode == PadMode::kConstant || (p.before[last] == 0 && p.extents[last] == dims[last]);
  const int unit = may_widen && widest_unit(bits) > bytes ? widest_unit(bits) : int(bytes);
  const int64_t ratio = unit / bytes;
  dims[last] /= ratio, p.extents[last] /= ratio, p.before[last] /= ratio;
  p.count = 1;
  for (int i = 0; i < p.rank; i++) {
    if (i < last) p.from_strides[i] /= ratio, p.to_strides[i] /= ratio;
    p.dims[i] = fast_divisor(dims[i]);
    p.count *= dims[i];
  }
  p.unit = unit;
  return launch(work, KernelId::pad_units, blocks_for(p.count, 256, work.traits), p);
}

constexpr GpuKernelEntry kMovementTable[] = {
    {OpCode::kTranspose, "transpose", nullptr, nullptr, plan_transpose, {}, all_or_none_f16},
    {OpCode::kSlice, "slice", nullptr, nullptr, plan_slice, {}, all_or_none_f16},
    {OpCode::kTile, "tile", nullptr, nullptr, plan_tile, {}, all_or_none_f16},
    {OpCode::kCopy, "copy", nullptr, copy_scratch, plan_copy, {}, all_or_none_f16},
    {OpCode::kConcat, "concat", nullptr, nullptr, plan_concat, {}, all_or_none_f16},
    {OpCode::kPad, "pad", nullptr, nullptr, plan_pad, {}, all_or_none_f16}};

}  // namespace

const Span<const GpuKernelEntry> kMovementRows = Span<const GpuKernelEntry>(kMovementTable);

}  // namespace ingot::cuda
