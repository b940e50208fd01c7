// kernels/cuda/conv2d/chain_plan.cpp - a chain of convolutions as its stages, one after the other
// through two buffers; depthwise and pointwise in one launch where that pays.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "runtime/op/chain.h"

namespace ingot::cuda {
namespace {

// more than any device has: the session refuses, naming both numbers
constexpr uint64_t kTooLarge = uint64_t{1} << 62;

/// Results of even stages and of odd ones lie apart.
struct Buffers {
  uint64_t bytes[2] = {0, 0};
  conv::Extents stages[kMaxChainStages];
  explicit Buffers(const OpArguments& a) {
    const ChainAttributes& t = a.as<ChainAttributes>();
    conv::chain_extents(a, stages);
    for (uint32_t i = 0; i + 1 < t.stage_count; i++) {
      const conv::Extents& e = stages[i];
      uint64_t need = uint64_t(row(e)) * 4;
      const bool fits = checked_mul<uint64_t>(need, uint64_t(e.n), &need) &&
                        checked_mul<uint64_t>(need, uint64_t(e.oh), &need) &&
                        checked_mul<uint64_t>(need, uint64_t(e.ow), &need) && need < kTooLarge;
      need = fits ? (need + 255) / 256 * 256 : kTooLarge;
      if (need > bytes[i % 2]) bytes[i % 2] = need;
    }
  }
  static int64_t row(const conv::Extents& e) { return round_up(e.o, 4); }
};

bool supports_chain(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const Packing packing =
        t.stages[i].method == ConvMethod::kDirect ? Packing::kPanels16 : Packing::kDepthwise16;
    const TensorView* bias = a.optional(int(2 + 2 * i));
    if (a.inputs[1 + 2 * i].packing != packing || (bias && bias->packing != Packing::kVector16))
      return false;
  }
  return true;
}

uint64_t chain_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const Buffers b(a);
  return b.bytes[0] + b.bytes[1];
}

Status plan_chain(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const ChainAttributes& t = a.as<ChainAttributes>();
  const Buffers buffers(a);
  const TensorView* residual = a.optional(conv::chain_residual(t));
  if (a.outputs[0].elements() == 0) return {};
  const auto job_of = [&](uint32_t i) {
    const TensorView* bias = a.optional(int(2 + 2 * i));
    ConvJob j;
    j.t = &t.stages[i], j.e = buffers.stages[i];
    j.w = a.inputs[1 + 2 * i].as<float>(), j.bias = bias ? bias->as<float>() : nullptr;
    if (i + 1 == t.stage_count) {
      j.y = a.outputs[0].as<float>(), j.y_stride = a.outputs[0].row_stride;
      if (residual) j.residual = residual->as<float>(), j.residual_stride = residual->row_stride;
    } else {
      j.y = reinterpret_cast<float*>(work.scratch + (i % 2 ? buffers.bytes[0] : 0)),
      j.y_stride = Buffers::row(j.e);
    }
    return j;
  };
  const float* x = a.inputs[0].as<float>();
  int64_t x_stride = a.inputs[0].row_stride;
  for (uint32_t i = 0; i < t.stage_count; i++) {
    ConvJob j = job_of(i);
    j.x = x, j.x_stride = x_stride;
    Status status;
    const ConvJob next = job_of(i + 1 < t.stage_count ? i + 1 : i);
    if (i + 1 < t.stage_count && joins_pointwise(work, j, next)) {
      status = launch_depthwise_pointwise(work, j, next);
      j = next;
      i++;
    } else {
      status = launch_conv(work, j, nullptr);
    }
    if (!status.ok()) return status;
    x = j.y, x_stride = j.y_stride;
  }
  return {};
}

constexpr GpuKernelEntry kChainTable[] = {
    {OpCode::kChain, "chain", supports_chain, chain_scratch, plan_chain}};

}  // namespace

const Span<const GpuKernelEntry> kChainRows = Span<const GpuKernelEntry>(kChainTable);

}  // namespace ingot::cuda
