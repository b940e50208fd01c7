// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/reduce/reduce_plan.cpp - Reduce and ArgReduce: dims as an outer walk over outputs
// and an inner one over what is folded.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/reduce/reduce_params.h"

namespace ingot::cuda {
namespace {

Walk walk_of(const Move& m, int rank) {
  Walk w = {};
  w.rank = rank > 0 ? rank : 1;
  w.dims[0] = fast_divisor(1);
  for (int i = 0; i < rank; i++) {
    w.dims[i] = fast_divisor(m.dims[i]);
    w.strides[i] = m.from[i];
  }
  return w;
}
/// Merged; strides on both sides are the same.
void push(Move* m, const TensorType& x, int i) {
  m->push(x.dims[i], stride_of(x, i), stride_of(x, i));
}

/// f32, or f16 that is summed up in f32: columns of files that are not exact.
bool is_float(const ReduceParams& p, bool last_reduced, const GpuTraits& traits,
              GpuPrecision precision) {
  return p.dtype == DType::kF32 ||
         (p.dtype == DType::kF16 && !last_reduced && has_f16_activations(precision, traits));
}

KernelId reduce_kernel(const ReduceParams& p, bool last_reduced, const GpuTraits& traits,
                       GpuPrecision precision) {
  constexpr int64_t kShort = 8, kLong = 2048;
  if (p.dtype == DType::kF16 && is_float(p, last_reduced, traits, precision))
    return KernelId::reduce_columns_f16;
  if (p.dtype != DType::kF32) return KernelId::reduce_any;
  if (!last_reduced) return KernelId::reduce_columns_f32;
  const bool is_usual = p.kind == ReduceKind::kSum || p.kind == ReduceKind::kMean ||
                        p.kind == ReduceKind::kMax || p.kind == ReduceKind::kMin;
  if (!is_usual) return KernelId::reduce_rows_f32;
  if (p.positions == 1 && p.length <= kShort) return KernelId::reduce_short_f32;
  return p.positions == 1 && p.length >= kLong ? KernelId::reduce_long_f32
                                               : KernelId::reduce_rows_f32;
}

/// Exponentials and logarithms of types that the CPU computes with the C library stay there.
bool supports_reduce(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const ReduceKind kind = a.as<ReduceAttributes>().kind;
  return a.inputs[0].dtype == DType::kF32 ||
         (kind != ReduceKind::kLogSum && kind != ReduceKind::kLogSumExp);
}

/// One reduction as the kernels see it.
struct ReduceJob {
  Move kept, reduced;
  ReduceParams p = {};
  bool last_reduced = false;
};
ReduceJob job_of(const OpArguments& a) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const ReduceAttributes& t = a.as<ReduceAttributes>();
  ReduceJob j;
  ReduceParams& p = j.p;
  p.positions = 1;
  for (int i = 0; i + 1 < x.rank; i++) {
    const bool is_reduced = t.axes >> i & 1;
    push(is_reduced ? &j.reduced : &j.kept, x, i);
    if (is_reduced) p.positions *= x.dims[i];
  }
  j.last_reduced = x.rank > 0 && (t.axes >> (x.rank - 1) & 1);
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.outputs = y.elements();
  p.length = j.last_reduced ? x.row_length() : 1;
  p.columns = fast_divisor(j.last_reduced ? 1 : x.row_length());
  p.kind = t.kind;
  p.dtype = x.dtype, p.y_dtype = y.dtype;
  p.in_rows = j.last_reduced;
  return j;
}

Status launch_reduce(const GpuWork& work, ReduceJob& j) {
  ReduceParams& p = j.p;
  merge(&j.kept);
  p.kept = walk_of(j.kept, j.kept.rank);
  p.inner = 1;
  p.outer = walk_of(j.reduced, 0);
  if (p.positions > 0) {
    merge(&j.reduced);
    const int last = j.reduced.rank - 1;
    p.inner = j.reduced.dims[last];
    p.inner_stride = j.reduced.from[last];
    p.outer = walk_of(j.reduced, last);
  }
  const KernelId kernel = reduce_kernel(p, j.last_reduced, work.traits, work.precision);
  const bool by_block = kernel == KernelId::reduce_long_f32,
             by_half_warp = j.last_reduced && kernel != KernelId::reduce_short_f32;
  const uint32_t blocks = by_block ? blocks_for(p.outputs, 1, work.traits)
                                   : blocks_for(p.outputs, by_half_warp ? 8 : 128, work.traits);
  return launch(work, kernel, blocks, p);
}

/// Parts of equal length that each output's positions are cut into, where a file is not exact:
/// results of parts are reduced in a second launch, so that few outputs over many positions are not
/// a few threads alone. 1: one chain an output, as the contract has it.
int64_t parts_of(ReduceJob j, const GpuTraits& traits, GpuPrecision precision) {
  constexpr int64_t kMaxParts = 256, kLeastPositions = 8, kThreads = 256;
  const ReduceParams& p = j.p;
  const bool keeps_kind = p.kind == ReduceKind::kSum || p.kind == ReduceKind::kMean ||
                          p.kind == ReduceKind::kMax || p.kind == ReduceKind::kMin;
  if (precision == GpuPrecision::kExact || j.last_reduced ||
      !is_float(p, j.last_reduced, traits, precision) || !keeps_kind ||
      p.positions < 8 * kLeastPositions)
    return 1;
  merge(&j.reduced);
  if (j.reduced.rank != 1) return 1;
  int64_t parts = 1;
  for (int64_t n = 2; n <= kMaxParts && n * kLeastPositions <= p.positions &&
                      p.outputs * parts < kThreads * traits.multiprocessors;
       n++)
    if (p.positions % n == 0) parts = n;
  return parts;
}
uint64_t scratch_reduce(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
  if (a.outputs[0].elements() == 0) return 0;
  const ReduceJob j = job_of(a);
  const int64_t parts = parts_of(j, traits, precision);
  return parts > 1 ? uint64_t(j.p.outputs) * uint64_t(parts) * 4 : 0;
}

Status plan_reduce(const GpuWork& work) {
  if (work.arguments->outputs[0].elements() == 0) return {};
  ReduceJob j = job_of(*work.arguments);
  const int64_t parts = parts_of(j, work.traits, work.precision), outputs = j.p.outputs;
  // scratch for other extents, of a session that was bound again, may be too little
  if (parts == 1 || uint64_t(outputs) * uint64_t(parts) * 4 > work.scratch_bytes)
    return launch_reduce(work, j);
  ReduceJob first = j;
  merge(&first.reduced);
  const int64_t length = j.p.positions / parts, stride = first.reduced.from[0];
  first.kept.push(parts, stride * length, stride * length);
  first.reduced = {};
  first.reduced.push(length, stride, stride);
  first.p.positions = length, first.p.outputs = outputs * parts;
  first.p.y = reinterpret_cast<char*>(work.scratch), first.p.y_dtype = DType::kF32;
  INGOT_TRY(launch_reduce(work, first));
  // [kept][part][column]
  const int64_t columns = j.p.columns.divisor;
  j.kept = {}, j.reduced = {};
  j.kept.push(outputs / columns, parts * columns, parts * columns);
  j.reduced.push(parts, columns, columns);
  j.p.positions = parts;
  j.p.x = reinterpret_cast<const char*>(work.scratch), j.p.dtype = DType::kF32;
  return launch_reduce(work, j);
}

Status plan_arg_reduce(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const ArgReduceAttributes& t = work.arguments->as<ArgReduceAttributes>();
  if (y.elements() == 0) return {};
  Move kept;
  for (int i = 0; i < x.rank; i++)
    if (i != int(t.axis)) push(&kept, x, i);
  merge(&kept);
  ArgReduceParams p = {};
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.outputs = y.elements();
  p.n = x.dims[t.axis];
  p.stride = stride_of(x, int(t.axis));
  p.kept = walk_of(kept, kept.rank);
  p.dtype = x.dtype;
  p.is_wide = y.dtype == DType::kI64;
  p.largest = t.largest;
  p.select_last = t.select_last;
  p.by_warp = p.stride == 1;
  return launch(work, KernelId::arg_reduce, blocks_for(p.outputs, p.by_warp ? 4 : 128, work.traits),
                p);
}

uint64_t f16_operands_of_reduce(const OpArguments& a, const GpuTraits&) {
  return a.outputs[0].elements() == 0 || job_of(a).last_reduced ? 0 : ~uint64_t{0};
}

/// One launch needs none.
uint64_t no_scratch(const OpArguments&, const GpuTraits&, GpuPrecision) { return 0; }

constexpr GpuKernelEntry kReduceTable[] = {
    {OpCode::kReduce,
     "reduce",
     supports_reduce,
     scratch_reduce,
     plan_reduce,
     {},
     f16_operands_of_reduce,
     no_scratch},
    {OpCode::kArgReduce, "arg_reduce", nullptr, nullptr, plan_arg_reduce}};

}  // namespace

const Span<const GpuKernelEntry> kReduceRows = Span<const GpuKernelEntry>(kReduceTable);

}  // namespace ingot::cuda
