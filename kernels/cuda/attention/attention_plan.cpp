// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/attention/attention_plan.cpp - attention: one launch; a block a tile of queries.
#include "kernels/cuda/cuda_kernels.h"
#include "runtime/op/attention_blocks.h"

namespace ingot::cuda {
namespace {

AttentionOperand operand_of(const TensorView& t, const attention::Heads& h) {
  return {t.as<float>(), h.batch_stride, h.head_stride, h.token_stride};
}

/// Whether each four numbers of a row begin at a multiple of their size.
bool is_of_fours(const TensorView& t, const AttentionOperand& o) {
  const uint64_t strides = uint64_t(o.batch) | uint64_t(o.head) | uint64_t(o.token);
  return strides % 4 == 0 && reinterpret_cast<uintptr_t>(o.data) % (4 * dtype_bytes(t.dtype)) == 0;
}

constexpr int64_t kFewQueries = 8;      // of a head of keys
constexpr int64_t kFewOfProcessor = 2;  // of all heads of keys

Status plan_attention(const GpuWork& work) {
  if (work.arguments->outputs[0].elements() == 0) return {};
  const OpArguments& a = *work.arguments;
  const AttentionAttributes& t = a.as<AttentionAttributes>();
  const attention::Heads q = attention::heads_of(a.inputs[0], t.heads);
  const int64_t rows = t.heads / t.kv_heads * q.length, all = rows * t.kv_heads * q.batch;
  // One query a block reads keys again for each, but from the second-level cache, and side by side.
  const bool is_few =
      rows <= kFewQueries || all <= kFewOfProcessor * int64_t(work.traits.multiprocessors);
  const AttentionParams p = attention_params(work, is_few ? 1 : kAttentionQueries);
  const DType kept = work.arguments->inputs[1].dtype;
  const auto either = [&](KernelId few, KernelId many) { return is_few ? few : many; };
  const KernelId kernel =
      kept == DType::kF16  ? either(KernelId::attention_cache16_few, KernelId::attention_cache16)
      : kept == DType::kU8 ? either(KernelId::attention_cache8_few, KernelId::attention_cache8)
                           : either(KernelId::attention_few, KernelId::attention);
  return launch(work, kernel, blocks_for(p.tiles, 1, work.traits), p);
}

constexpr GpuKernelEntry kAttentionTable[] = {
    {OpCode::kAttention, "attention", nullptr, nullptr, plan_attention}};

}  // namespace

const Span<const GpuKernelEntry> kAttentionRows = Span<const GpuKernelEntry>(kAttentionTable);

AttentionParams attention_params(const GpuWork& work, int rows) {
  const OpArguments& g = *work.arguments;
  const AttentionAttributes& t = g.as<AttentionAttributes>();
  const TensorView &q = g.inputs[0], &k = g.inputs[1], &v = g.inputs[2], &y = g.outputs[0];
  const attention::Heads hq = attention::heads_of(q, t.heads),
                         hk = attention::heads_of(k, t.kv_heads),
                         hv = attention::heads_of(v, t.kv_heads),
                         hy = attention::heads_of(y, t.heads);
  AttentionParams p = {};
  p.q = operand_of(q, hq), p.k = operand_of(k, hk), p.v = operand_of(v, hv),
  p.y = operand_of(y, hy);
  p.queries = hq.length, p.keys = hk.length, p.group = t.heads / t.kv_heads;
  p.dim = int(hq.dim), p.value_dim = int(hv.dim), p.kv_heads = int(t.kv_heads);
  p.scale = t.scale, p.softcap = t.softcap, p.causal = t.causal;
  p.hidden = attention::hidden_score(t), p.empty = attention::empty_value(t, hk.length);
  p.tiles_of_unit = ceil_div(p.group * p.queries, rows),
  p.tiles = hq.batch * p.kv_heads * p.tiles_of_unit;
  if (const TensorView* mask = g.optional(3)) {
    p.mask = mask->data, p.mask_is_bool = mask->dtype == DType::kBool;
    int64_t step = mask->row_stride;
    for (int i = 0; i < mask->rank; i++) {
      const int64_t extent = mask->dims[mask->rank - 1 - i];
      if (extent > 1) p.mask_strides[3 - i] = i == 0 ? 1 : step;
      if (i > 0) step *= extent;
    }
  }
  if (const TensorView* counts = g.optional(4))
    p.counts = counts->data, p.counts_are_i64 = counts->dtype == DType::kI64,
    p.one_count = counts->elements() <= 1;
  if (const TensorView* batches = g.optional(attention::kKeyBatches))
    p.key_batches = batches->data, p.batches_are_i64 = batches->dtype == DType::kI64;
  if (const TensorView* sinks = g.optional(attention::kSinks)) p.sinks = sinks->as<const float>();
  p.kept_batches = hk.batch,
  p.fours_aligned = hk.dim % 4 == 0 && is_of_fours(k, p.k) && is_of_fours(v, p.v);
  p.y_f16 = y.dtype == DType::kF16;
  p.fault = work.fault, p.fault_value = work.fault_value;
  return p;
}

}  // namespace ingot::cuda
