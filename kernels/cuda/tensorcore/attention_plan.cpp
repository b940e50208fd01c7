// kernels/cuda/tensorcore/attention_plan.cpp - attention on tensor cores: one launch; a block 64
// queries.
#include "kernels/cuda/attention/attention_params.h"
#include "kernels/cuda/cuda_kernels.h"
#include "runtime/op/attention_blocks.h"

namespace ingot::cuda {
namespace {

/// Heads that lie where 16 bytes can be read, and are not wider than the kernels' registers.
bool is_fit(const AttentionOperand& o, int dim) {
  return reinterpret_cast<uintptr_t>(o.data) % 16 == 0 && o.batch % 4 == 0 && o.head % 4 == 0 &&
         o.token % 4 == 0 && dim % 4 == 0 && dim <= kTensorHead;
}

Status plan_tensor_attention(const GpuWork& work) {
  if (work.arguments->outputs[0].elements() == 0) return {};
  const AttentionParams p = attention_params(work, kTensorQueries);
  if (!is_fit(p.q, p.dim) || !is_fit(p.k, p.dim) || !is_fit(p.v, p.value_dim) ||
      !is_fit(p.y, p.value_dim) || (p.mask && p.mask_strides[3] != 1) || p.tiles > INT32_MAX ||
      p.group * p.queries > INT32_MAX || p.keys > INT32_MAX / 2) {
    const GpuKernelEntry* exact = find_gpu_row(ingot_cuda_kernel_set, OpCode::kAttention,
                                               *work.arguments, work.traits, GpuPrecision::kExact);
    return exact ? exact->plan(work) : Status(Code::kLimitExceeded);
  }
  const bool in_f16 = is_in_f16(work.precision, work.traits),
             narrow = p.dim <= 64 && p.value_dim <= 64;
  const KernelId kernel =
      // for narrow heads too: it fills its registers with two blocks
      !in_f16  ? KernelId::attention_tf32_128
      : narrow ? KernelId::attention_f16_64
               : KernelId::attention_f16_128;
  return launch(work, kernel, blocks_for(p.tiles, 1, work.traits), p, 2 * 4096 * 4);
}

bool supports_tensor_attention(const OpArguments&, const GpuTraits& traits,
                               GpuPrecision precision) {
  return precision != GpuPrecision::kExact && traits.has_tensor_cores();
}

constexpr GpuKernelEntry kTensorAttentionTable[] = {{OpCode::kAttention, "attention_tensorcore",
                                                     supports_tensor_attention, nullptr,
                                                     plan_tensor_attention}};

}  // namespace

const Span<const GpuKernelEntry> kTensorAttentionRows =
    Span<const GpuKernelEntry>(kTensorAttentionTable);

}  // namespace ingot::cuda
