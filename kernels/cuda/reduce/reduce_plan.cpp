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

KernelId reduce_kernel(const ReduceParams& p, bool last_reduced) {
  constexpr int64_t kShort = 8, kLong = 2048;
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

Status plan_reduce(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  const ReduceAttributes& t = work.arguments->as<ReduceAttributes>();
  if (y.elements() == 0) return {};
  Move kept, reduced;
  ReduceParams p = {};
  p.positions = 1;
  for (int i = 0; i + 1 < x.rank; i++) {
    const bool is_reduced = t.axes >> i & 1;
    push(is_reduced ? &reduced : &kept, x, i);
    if (is_reduced) p.positions *= x.dims[i];
  }
  const bool last_reduced = x.rank > 0 && (t.axes >> (x.rank - 1) & 1);
  p.x = x.as<const char>();
  p.y = y.as<char>();
  p.outputs = y.elements();
  p.length = last_reduced ? x.row_length() : 1;
  p.columns = fast_divisor(last_reduced ? 1 : x.row_length());
  p.kind = t.kind;
  p.dtype = x.dtype;
  p.in_rows = last_reduced;
  merge(&kept);
  p.kept = walk_of(kept, kept.rank);
  p.inner = 1;
  p.outer = walk_of(reduced, 0);
  if (p.positions > 0) {
    merge(&reduced);
    const int last = reduced.rank - 1;
    p.inner = reduced.dims[last];
    p.inner_stride = reduced.from[last];
    p.outer = walk_of(reduced, last);
  }
  const KernelId kernel = reduce_kernel(p, last_reduced);
  const bool by_block = kernel == KernelId::reduce_long_f32,
             by_half_warp = last_reduced && kernel != KernelId::reduce_short_f32;
  const uint32_t blocks = by_block ? blocks_for(p.outputs, 1, work.traits)
                                   : blocks_for(p.outputs, by_half_warp ? 8 : 128, work.traits);
  return launch(work, kernel, blocks, p);
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

constexpr GpuKernelEntry kReduceTable[] = {
    {OpCode::kReduce, "reduce", supports_reduce, nullptr, plan_reduce},
    {OpCode::kArgReduce, "arg_reduce", nullptr, nullptr, plan_arg_reduce}};

}  // namespace

const Span<const GpuKernelEntry> kReduceRows = Span<const GpuKernelEntry>(kReduceTable);

}  // namespace ingot::cuda
