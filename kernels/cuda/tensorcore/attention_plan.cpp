// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/attention_plan.cpp - attention on tensor cores: a block 64
// queries and all keys, or a part of them; then a second launch adds the parts up.
#include "kernels/cuda/attention/attention_params.h"
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/tensorcore/attention_split.h"
#include "runtime/op/attention_blocks.h"

namespace ingot::cuda {
namespace {

/// How many of q, k and v are f16.
int halves_of(const OpArguments& a) {
  return (a.inputs[0].dtype == DType::kF16) + (a.inputs[1].dtype == DType::kF16) +
         (a.inputs[2].dtype == DType::kF16);
}

/// Heads that lie where `numbers` of them can be read at `bytes`, and are not wider than the
/// kernels' registers.
bool is_fit(const AttentionOperand& o, int dim, int numbers, int bytes) {
  return reinterpret_cast<uintptr_t>(o.data) % uintptr_t(bytes) == 0 && o.batch % numbers == 0 &&
         o.head % numbers == 0 && o.token % numbers == 0 && dim % numbers == 0 &&
         dim <= kTensorHead;
}

/// @pre q, k and v have one type
bool is_fit(const AttentionParams& p, bool halves) {
  const int of_piece = halves ? 8 : 4;
  const int64_t batches = p.tiles / p.tiles_of_unit / p.kv_heads;
  return is_fit(p.q, p.dim, of_piece, 16) && is_fit(p.k, p.dim, of_piece, 16) &&
         is_fit(p.v, p.value_dim, of_piece, 16) && is_fit(p.y, p.value_dim, 4, p.y_f16 ? 8 : 16) &&
         batches * p.y.batch / 4 <= INT32_MAX && (!p.mask || p.mask_strides[3] == 1) &&
         p.tiles <= INT32_MAX && p.group * p.queries <= INT32_MAX && p.keys <= INT32_MAX / 2;
}

/// The widest head of the kernel: in tf32 one for all, since it fills its registers with two
/// blocks.
int head_of(const AttentionParams& p, bool in_f16) {
  return in_f16 && p.dim <= 64 && p.value_dim <= 64 ? 64 : kTensorHead;
}
uint64_t partial_bytes(const AttentionParams& p) {
  const int64_t rows = p.tiles / p.tiles_of_unit * p.group * p.queries;
  return p.splits == 1 ? 0 : uint64_t(rows) * uint64_t(p.splits) * uint64_t(p.value_dim + 4) * 4;
}
void cut_keys(AttentionParams* p, int splits, int head) {
  const int64_t of_part = round_up(ceil_div(p->keys, splits), keys_of_tile(head));
  p->split_keys = int(of_part ? of_part : keys_of_tile(head));
  p->splits = p->keys ? int(ceil_div(p->keys, p->split_keys)) : 1;
}
/// As the cost model has them. @pre is_fit(*p)
void cut_keys(AttentionParams* p, const GpuTraits& traits, int head) {
  cut_keys(p, key_parts(p->tiles, ceil_div(p->keys, keys_of_tile(head)), traits.multiprocessors),
           head);
}

uint64_t scratch_of_attention(const OpArguments& a, const GpuTraits& traits,
                              GpuPrecision precision) {
  if (a.outputs[0].elements() == 0) return 0;
  GpuWork work;
  work.arguments = &a;
  AttentionParams p = attention_params(work, kTensorQueries);
  if (!is_fit(p, halves_of(a) > 0)) return 0;  // the exact row's, which asks for none
  cut_keys(&p, traits, head_of(p, is_in_f16(precision, traits)));
  return partial_bytes(p);
}
uint64_t no_scratch(const OpArguments&, const GpuTraits&, GpuPrecision) { return 0; }

Status plan_tensor_attention(const GpuWork& work) {
  if (work.arguments->outputs[0].elements() == 0) return {};
  AttentionParams p = attention_params(work, kTensorQueries);
  const int f16 = halves_of(*work.arguments);
  if ((f16 != 0 && f16 != 3) || !is_fit(p, f16 > 0)) {
    // The exact kernel reads and writes f32; f16_operands_of_attention() has promised nothing else.
    if (f16 || p.y_f16) return Status(Code::kLimitExceeded);
    const GpuKernelEntry* exact = find_gpu_row(ingot_cuda_kernel_set, OpCode::kAttention,
                                               *work.arguments, work.traits, GpuPrecision::kExact);
    return exact ? exact->plan(work) : Status(Code::kLimitExceeded);
  }
  const bool in_f16 = is_in_f16(work.precision, work.traits);
  const int head = head_of(p, in_f16);
  cut_keys(&p, work.traits, head);
  // A session that may be bound again has scratch for its upper bounds, where keys may have been
  // cut into fewer parts.
  while (partial_bytes(p) > work.scratch_bytes) cut_keys(&p, p.splits / 2, head);
  if (p.splits > 1) p.partial = reinterpret_cast<float*>(work.scratch);
  const KernelId narrow = f16 ? KernelId::attention_halves_64 : KernelId::attention_f16_64,
                 wide = f16 ? KernelId::attention_halves_128 : KernelId::attention_f16_128,
                 kernel = !in_f16      ? KernelId::attention_tf32_128
                          : head == 64 ? narrow
                                       : wide;
  const uint32_t shared_bytes = (in_f16 && !f16 ? 12 : 8) * kKeyTile;
  const bool y_f16 = p.y_f16;
  p.y_f16 = y_f16 && p.splits == 1;  // sums of parts are f32
  INGOT_TRY(launch(work, kernel, blocks_for(p.tiles, 1, work.traits), p, shared_bytes,
                   uint32_t(p.splits)));
  if (p.splits == 1) return {};
  p.y_f16 = y_f16;
  const int64_t fours = p.tiles / p.tiles_of_unit * p.group * p.queries * (p.value_dim / 4);
  return launch(work, KernelId::attention_parts, blocks_for(fours, 128, work.traits), p);
}

bool supports_tensor_attention(const OpArguments& a, const GpuTraits& traits,
                               GpuPrecision precision) {
  // Keys and values that a program keeps in f16 are the exact kernel's, those of 8 bits the CPU's.
  const bool keeps_f16 = a.inputs[0].dtype == DType::kF32 && halves_of(a) == 2;
  return !a.optional(attention::kKeyBatches) && !a.optional(attention::kSinks) && !keeps_f16 &&
         a.inputs[1].dtype != DType::kU8 && precision != GpuPrecision::kExact &&
         traits.has_tensor_cores();
}

/// q, k and v all together, and y; of some of the three y alone, and all are asked again as f32.
uint64_t f16_operands_of_attention(const OpArguments& a, const GpuTraits&) {
  const uint64_t y = uint64_t{1} << a.input_count, heads = 7;
  if (a.outputs[0].elements() == 0) return 0;
  const int f16 = halves_of(a);
  if (f16 != 0 && f16 != 3) return y;
  GpuWork work;
  work.arguments = &a;
  const AttentionParams p = attention_params(work, kTensorQueries);
  if (f16) return is_fit(p, true) ? heads | y : y;
  return is_fit(p, false) ? y : 0;
}

constexpr GpuKernelEntry kTensorAttentionTable[] = {{OpCode::kAttention,
                                                     "attention_tensorcore",
                                                     supports_tensor_attention,
                                                     scratch_of_attention,
                                                     plan_tensor_attention,
                                                     {},
                                                     f16_operands_of_attention,
                                                     no_scratch}};

}  // namespace

const Span<const GpuKernelEntry> kTensorAttentionRows =
    Span<const GpuKernelEntry>(kTensorAttentionTable);

}  // namespace ingot::cuda
