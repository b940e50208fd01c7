// SPDX-License-Identifier: Apache-2.0
// runtime/op/attention.cpp - the contract of attention.
#include "runtime/op/attention.h"

#include "runtime/op/attention_blocks.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

using attention::Heads;
using rules::refuse;

/// Head layout of one operand, `heads` of them; k and v may be f16 or u8, both.
bool check_heads(const TensorType& t, int operand, int64_t heads, DType dtype, Violation* v) {
  if (t.dtype != dtype)
    return refuse(v, "attention's q and y are f32, k and v both f32, f16 or u8", operand,
                  int64_t(dtype), int64_t(t.dtype));
  if (t.rank != 3 && t.rank != 4)
    return refuse(v, "attention takes [B, T, heads * D] or [B, heads, T, D]", operand, 4, t.rank);
  if (t.rank == 4 && t.dims[1] != heads)
    return refuse(v, "attention's operands have their number of heads", operand, heads, t.dims[1]);
  if (t.rank == 3 && t.dims[2] % heads != 0)
    return refuse(v, "heads divide attention's last dimension", operand, heads, t.dims[2]);
  const int64_t row = t.rank == 4 ? int64_t{t.dims[3]} : int64_t{t.dims[2]} / heads;
  if (dtype == DType::kU8 && row % attention::kScaledBytes != 0)
    return refuse(v, "attention's heads of u8 are whole blocks of 36 bytes", operand,
                  attention::kScaledBytes, row);
  const int64_t dim = attention::heads_of(t, heads).dim;
  return dim <= attention::kMaxHeadDim ||
         refuse(v, "attention's heads are at most 4096 wide", operand, attention::kMaxHeadDim, dim);
}

bool check_mask(const TensorType& mask, int64_t batch, int64_t heads, int64_t queries, int64_t keys,
                Violation* v) {
  if (mask.dtype != DType::kF32 && mask.dtype != DType::kBool)
    return refuse(v, "attention's mask is f32 or bool8", 3, int64_t(DType::kF32),
                  int64_t(mask.dtype));
  if (mask.rank > 4) return refuse(v, "attention's mask has at most 4 dimensions", 3, 4, mask.rank);
  const int64_t full[4] = {batch, heads, queries, keys};
  for (int i = 0; i < mask.rank; i++) {
    const int64_t extent = mask.dims[mask.rank - 1 - i], whole = full[3 - i];
    if (extent != 1 && extent != whole)
      return refuse(v, "attention's mask broadcasts to [B, heads, Tq, Tk]", 3, whole, extent);
  }
  return true;
}

bool check_sinks(const TensorType& sinks, const AttentionAttributes& t, Violation* v) {
  if (sinks.dtype != DType::kF32)
    return refuse(v, "attention's sinks are f32", 6, int64_t(DType::kF32), int64_t(sinks.dtype));
  if (sinks.rank != 1 || int64_t{sinks.dims[0]} != t.heads)
    return refuse(v, "attention's sinks are [heads]", 6, t.heads, sinks.elements());
  return t.empty_rows == EmptyRows::kZero ||
         refuse(v, "attention's empty rows are zero with sinks", Violation::kAttribute,
                int64_t(EmptyRows::kZero), int64_t(t.empty_rows));
}

bool check_attention(const OpArguments& g, Violation* v) {
  if (!rules::check_operands(g, kAttentionContract, {0x7u, 1u, 0u}, v)) return false;
  const AttentionAttributes& t = g.as<AttentionAttributes>();
  if (t.heads == 0 || t.kv_heads == 0)
    return refuse(v, "attention has heads", Violation::kAttribute, 1,
                  t.heads ? t.kv_heads : t.heads);
  if (t.heads % t.kv_heads != 0)
    return refuse(v, "attention.kv_heads divides heads", Violation::kAttribute, t.heads,
                  t.kv_heads);
  if (uint8_t(t.causal) > uint8_t(CausalMask::kBottomRight))
    return refuse(v, "attention.causal is known", Violation::kAttribute, 2, int64_t(t.causal));
  if (!(t.softcap >= 0) || t.softcap > 3.4028234e38f)
    return refuse(v, "attention.softcap is finite and not negative", Violation::kAttribute);
  if (!(t.scale >= -3.4028234e38f && t.scale <= 3.4028234e38f))
    return refuse(v, "attention.scale is finite", Violation::kAttribute);
  if (uint8_t(t.empty_rows) > uint8_t(EmptyRows::kMean))
    return refuse(v, "attention.empty_rows is known", Violation::kAttribute, 2,
                  int64_t(t.empty_rows));
  const TensorView* mask = g.optional(3);
  if (t.empty_rows == EmptyRows::kMean && mask && mask->dtype != DType::kBool)
    return refuse(v, "attention's empty rows are a mean with a bool mask only", 3,
                  int64_t(DType::kBool), int64_t(mask->dtype));
  const TensorType &q = g.inputs[0], &k = g.inputs[1], &x = g.inputs[2], &y = g.outputs[0];
  const DType kept = k.dtype == DType::kF16 || k.dtype == DType::kU8 ? k.dtype : DType::kF32;
  if (!check_heads(q, 0, t.heads, DType::kF32, v) || !check_heads(k, 1, t.kv_heads, kept, v) ||
      !check_heads(x, 2, t.kv_heads, kept, v) ||
      !check_heads(y, rules::output(0), t.heads, DType::kF32, v))
    return false;
  const Heads hq = attention::heads_of(q, t.heads), hk = attention::heads_of(k, t.kv_heads),
              hv = attention::heads_of(x, t.kv_heads), hy = attention::heads_of(y, t.heads);
  const TensorView* const batches = g.optional(5);
  if (!batches && hk.batch != hq.batch)
    return refuse(v, "attention's operands have one batch", 1, hq.batch, hk.batch);
  if (hv.batch != hk.batch)
    return refuse(v, "attention's operands have one batch", 2, hk.batch, hv.batch);
  if (batches) {
    if (!rules::is_index(batches->dtype))
      return refuse(v, "attention's key batches are i32 or i64", 5, int64_t(DType::kI64),
                    int64_t(batches->dtype));
    if (batches->rank > 1 || batches->elements() != hq.batch)
      return refuse(v, "attention's key batches are [B]", 5, hq.batch, batches->elements());
  }
  if (hk.dim != hq.dim) return refuse(v, "heads of q and k are equally wide", 1, hq.dim, hk.dim);
  if (hv.length != hk.length)
    return refuse(v, "k and v have as many tokens", 2, hk.length, hv.length);
  if (hy.batch != hq.batch)
    return refuse(v, "attention's y has q's batch", rules::output(0), hq.batch, hy.batch);
  if (hy.length != hq.length)
    return refuse(v, "attention's y has q's tokens", rules::output(0), hq.length, hy.length);
  if (hy.dim != hv.dim)
    return refuse(v, "heads of y and v are equally wide", rules::output(0), hv.dim, hy.dim);
  if (const TensorView* sinks = g.optional(attention::kSinks))
    if (!check_sinks(*sinks, t, v)) return false;
  if (mask)
    if (!check_mask(*mask, hq.batch, t.heads, hq.length, hk.length, v)) return false;
  if (const TensorView* counts = g.optional(4)) {
    if (!rules::is_index(counts->dtype))
      return refuse(v, "attention's key counts are i32 or i64", 4, int64_t(DType::kI64),
                    int64_t(counts->dtype));
    if (counts->rank > 1 || (counts->elements() != 1 && counts->elements() != hq.batch))
      return refuse(v, "attention's key counts are [B] or one number", 4, hq.batch,
                    counts->elements());
  }
  return true;
}

ScratchNeed attention_scratch(const OpArguments& g, int) {
  const AttentionAttributes& t = g.as<AttentionAttributes>();
  if (g.outputs[0].elements() == 0) return {};
  const Heads q = attention::heads_of(g.inputs[0], t.heads),
              k = attention::heads_of(g.inputs[1], t.kv_heads),
              v = attention::heads_of(g.inputs[2], t.kv_heads);
  const int64_t rows = attention::unit_rows(q, t, g.optional(5) != nullptr);
  return {uint64_t(attention::scratch_of(rows, k.length, q.dim, v.dim).total) * sizeof(float), 0};
}

}  // namespace

const OpContract kAttentionContract = {
    OpCode::kAttention, 1, 3, 7, 1, 1, check_attention, nullptr, attention_scratch, 0xfu, 0x1u};

}  // namespace ingot
