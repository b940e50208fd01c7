// kernels/cuda/conv2d/chain_plan.cpp - a chain of convolutions as its stages, one after the other
// through two buffers; depthwise and pointwise, and an inverted bottleneck, in one launch where
// that pays. In fast and fp16
// files a stage that is a product is the convolution's own row of tensor cores; in fp16 files what
// lies between is f16, wherever the stage behind it can read that.
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/tensorcore/tensorcore_params.h"
#include "runtime/op/chain.h"

namespace ingot::cuda {
namespace {

// more than any device has: the session refuses, naming both numbers
constexpr uint64_t kTooLarge = uint64_t{1} << 62;

/// Results of even stages and of odd ones lie apart; behind a swap the other way round.
struct Buffers {
  uint64_t bytes[2] = {0, 0};
  uint64_t needs[kMaxChainStages] = {};  // of what a stage leaves
  uint32_t swapped = 0;
  conv::Extents stages[kMaxChainStages];
  DType dtypes[kMaxChainStages];  // of what a stage leaves for the next
  Buffers(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
    const ChainAttributes& t = a.as<ChainAttributes>();
    conv::chain_extents(a, stages);
    for (uint32_t i = 0; i + 1 < t.stage_count; i++) {
      const conv::Extents& e = stages[i];
      const bool in_f16 = has_f16_activations(precision, traits) &&
                          reads_f16(t.stages[i + 1], e.o, a.inputs[3 + 2 * i]);
      dtypes[i] = in_f16 ? DType::kF16 : DType::kF32;
      uint64_t need = uint64_t(row(e)) * uint64_t(dtype_bytes(dtypes[i]));
      const bool fits = checked_mul<uint64_t>(need, uint64_t(e.n), &need) &&
                        checked_mul<uint64_t>(need, uint64_t(e.oh), &need) &&
                        checked_mul<uint64_t>(need, uint64_t(e.ow), &need) && need < kTooLarge;
      need = fits ? (need + 255) / 256 * 256 : kTooLarge;
      needs[i] = need;
      if (need > bytes[i % 2]) bytes[i % 2] = need;
    }
  }
  uint64_t place_of(uint32_t i) const { return (i + swapped) % 2 ? bytes[0] : 0; }
  bool has_room(uint32_t i) const { return needs[i] <= bytes[(i + swapped) % 2]; }
  /// 16 bytes begin each, in f16 as well.
  static int64_t row(const conv::Extents& e) { return round_up(e.o, 8); }
  /// Depthwise any, products eights of channels with packed weights.
  static bool reads_f16(const Conv2dAttributes& t, int64_t channels, const TensorView& w) {
    return t.method == ConvMethod::kDepthwise || (w.dtype == DType::kF16 && channels % 8 == 0 &&
                                                  t.kernel_h <= kMaxTapRows && t.kernel_w <= 16);
  }
};

/// One stage as an instruction of its own.
class StageArguments {
 public:
  StageArguments(const OpArguments& a, const Buffers& buffers, uint32_t i, uint8_t* scratch) {
    const ChainAttributes& t = a.as<ChainAttributes>();
    inputs_[0] = i ? between(buffers, i - 1, scratch) : a.inputs[0];
    inputs_[1] = a.inputs[1 + 2 * i];
    if (const TensorView* bias = a.optional(int(2 + 2 * i))) inputs_[2] = *bias;
    const bool is_last = i + 1 == t.stage_count;
    const TensorView* residual = a.optional(conv::chain_residual(t));
    if (is_last && residual) inputs_[3] = *residual;
    output_ = is_last ? a.outputs[0] : between(buffers, i, scratch);
    arguments_.attributes = &t.stages[i];
    arguments_.inputs = inputs_, arguments_.input_count = 4;
    arguments_.outputs = &output_, arguments_.output_count = 1;
  }
  StageArguments(const StageArguments&) = delete;
  const OpArguments& get() const { return arguments_; }

 private:
  /// What stage i leaves. `scratch` null: addresses are not known yet.
  static TensorView between(const Buffers& buffers, uint32_t i, uint8_t* scratch) {
    const conv::Extents& e = buffers.stages[i];
    TensorView view;
    view.dtype = buffers.dtypes[i], view.rank = 4;
    view.dims[0] = e.n, view.dims[1] = e.oh, view.dims[2] = e.ow, view.dims[3] = e.o;
    view.row_stride = Buffers::row(e);
    if (scratch) view.data = scratch + buffers.place_of(i);
    return view;
  }
  TensorView inputs_[4];
  TensorView output_;
  OpArguments arguments_;
};

/// The row of tensor cores for a stage; null where the stage is exact arithmetic.
const GpuKernelEntry* product_row(const OpArguments& stage, const GpuTraits& traits,
                                  GpuPrecision precision) {
  if (precision == GpuPrecision::kExact || !traits.has_tensor_cores() ||
      stage.as<Conv2dAttributes>().method != ConvMethod::kDirect)
    return nullptr;
  return find_gpu_row(ingot_cuda_kernel_set, OpCode::kConv2d, stage, traits, precision);
}

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

bool has_products(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
  if (precision == GpuPrecision::kExact || !traits.has_tensor_cores()) return false;
  const ChainAttributes& t = a.as<ChainAttributes>();
  bool any = false;
  for (uint32_t i = 0; i < t.stage_count; i++)
    any = any || t.stages[i].method == ConvMethod::kDirect;
  return any && supports_chain(a, traits, precision);
}

/// Behind the buffers: what one stage at a time asks for, or makes do with.
template <bool kLeast>
uint64_t chain_scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
  const Buffers b(a, traits, precision);
  uint64_t most = 0;
  for (uint32_t i = 0; i < a.as<ChainAttributes>().stage_count; i++) {
    const StageArguments stage(a, b, i, nullptr);
    const GpuKernelEntry* row = product_row(stage.get(), traits, precision);
    if (!row) continue;
    const uint64_t bytes = kLeast ? least_gpu_scratch(*row, stage.get(), traits, precision)
                                  : gpu_scratch(*row, stage.get(), traits, precision, nullptr);
    most = bytes > most ? bytes : most;
  }
  return b.bytes[0] + b.bytes[1] + most;
}

Status plan_chain(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const ChainAttributes& t = a.as<ChainAttributes>();
  Buffers buffers(a, work.traits, work.precision);
  const TensorView* residual = a.optional(conv::chain_residual(t));
  if (a.outputs[0].elements() == 0) return {};
  const auto job_of = [&](uint32_t i) {
    const TensorView* bias = a.optional(int(2 + 2 * i));
    ConvJob j;
    j.t = &t.stages[i], j.e = buffers.stages[i];
    j.w = a.inputs[1 + 2 * i].as<float>(), j.bias = bias ? bias->as<float>() : nullptr;
    if (i + 1 == t.stage_count) {
      j.y = a.outputs[0].as<float>(), j.y_stride = a.outputs[0].row_stride;
      j.y_f16 = a.outputs[0].dtype == DType::kF16;
      if (residual) j.residual = residual->as<float>(), j.residual_stride = residual->row_stride;
      j.residual_f16 = residual && residual->dtype == DType::kF16;
    } else {
      j.y = reinterpret_cast<float*>(work.scratch + buffers.place_of(i)),
      j.y_stride = Buffers::row(j.e), j.y_f16 = buffers.dtypes[i] == DType::kF16;
    }
    return j;
  };
  const auto is_packed = [&](uint32_t i) { return a.inputs[1 + 2 * i].dtype == DType::kF16; };
  const auto joins = [&](uint32_t i, const ConvJob& first, BottleneckLaunch* out) {
    BottleneckJob b = {first, job_of(i + 1), job_of(i + 2), is_packed(i), false};
    b.window.x = first.y, b.window.x_stride = first.y_stride, b.window.x_f16 = first.y_f16;
    b.joins_pointwise = !is_packed(i + 2) && joins_pointwise(work, b.window, b.project);
    return is_packed(i) == is_packed(i + 2) && choose_bottleneck(work, b, out);
  };
  // Whether what is stored from stage i on has room where it lies now.
  const auto fits = [&](uint32_t i) {
    BottleneckLaunch bottleneck;
    for (; i + 1 < t.stage_count; i++) {
      if (!buffers.has_room(i)) return false;
      ConvJob next = job_of(i + 1);
      const ConvJob own = job_of(i);
      next.x = own.y, next.x_stride = own.y_stride, next.x_f16 = own.y_f16;
      if (i + 3 < t.stage_count && joins(i + 1, next, &bottleneck)) i += 2;
    }
    return true;
  };
  // The results of both stages would lie in one buffer: those behind may be in the other.
  const auto joins_swapped = [&](uint32_t i, const ConvJob& first) {
    if (i + 2 >= t.stage_count) return false;
    buffers.swapped ^= 1;
    if (joins_pointwise(work, first, job_of(i + 1)) && fits(i + 1)) return true;
    buffers.swapped ^= 1;
    return false;
  };
  const float* x = a.inputs[0].as<float>();
  int64_t x_stride = a.inputs[0].row_stride;
  bool x_f16 = a.inputs[0].dtype == DType::kF16;
  for (uint32_t i = 0; i < t.stage_count; i++) {
    ConvJob j = job_of(i);
    j.x = x, j.x_stride = x_stride, j.x_f16 = x_f16;
    Status status;
    const StageArguments stage(a, buffers, i, work.scratch);
    const GpuKernelEntry* row = product_row(stage.get(), work.traits, work.precision);
    const ConvJob next = job_of(i + 1 < t.stage_count ? i + 1 : i);
    BottleneckLaunch bottleneck;
    if (row && i + 2 < t.stage_count && joins(i, j, &bottleneck)) {
      status = launch_bottleneck(work, bottleneck, is_packed(i));
      j = job_of(i + 2);
      i += 2;
    } else if (row) {
      GpuWork one = work;
      one.arguments = &stage.get(), one.variant = nullptr;
      one.scratch = work.scratch + buffers.bytes[0] + buffers.bytes[1];
      one.scratch_bytes = work.scratch_bytes - buffers.bytes[0] - buffers.bytes[1];
      status = row->plan(one);
    } else if (i + 1 < t.stage_count && a.inputs[3 + 2 * i].dtype == DType::kF32 &&
               (joins_pointwise(work, j, next) || joins_swapped(i, j))) {
      const ConvJob both = job_of(i + 1);
      status = launch_depthwise_pointwise(work, j, both);
      j = both;
      i++;
    } else {
      status = launch_conv(work, j, nullptr);
    }
    if (!status.ok()) return status;
    x = j.y, x_stride = j.y_stride, x_f16 = j.y_f16;
  }
  return {};
}

/// What the first stage reads, what the last one reads beside it and writes.
uint64_t f16_operands_of_chain(const OpArguments& a, const GpuTraits& traits) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  if (a.outputs[0].elements() == 0) return 0;
  const Buffers buffers(a, traits, GpuPrecision::kFp16);
  const auto of_stage = [&](uint32_t i) {
    constexpr uint64_t kAll = ~uint64_t{0};
    const StageArguments stage(a, buffers, i, nullptr);
    if (t.stages[i].method == ConvMethod::kDepthwise) return kAll;
    const GpuKernelEntry* row = product_row(stage.get(), traits, GpuPrecision::kFp16);
    return row && row->f16_operands ? row->f16_operands(stage.get(), traits) : uint64_t{0};
  };
  constexpr int kStageImage = 0, kStageResidual = 3, kStageOutput = 4;
  const uint64_t first = of_stage(0), last = of_stage(t.stage_count - 1);
  uint64_t operands = first >> kStageImage & 1;
  operands |= (last >> kStageOutput & 1) << a.input_count;
  const int residual = conv::chain_residual(t);
  if (residual < a.input_count) operands |= (last >> kStageResidual & 1) << residual;
  return operands;
}

constexpr GpuKernelEntry kChainTable[] = {{OpCode::kChain,
                                           "chain_tensorcore",
                                           has_products,
                                           chain_scratch<false>,
                                           plan_chain,
                                           {},
                                           f16_operands_of_chain,
                                           chain_scratch<true>},
                                          {OpCode::kChain,
                                           "chain",
                                           supports_chain,
                                           chain_scratch<false>,
                                           plan_chain,
                                           {},
                                           f16_operands_of_chain,
                                           chain_scratch<true>}};

}  // namespace

const Span<const GpuKernelEntry> kChainRows = Span<const GpuKernelEntry>(kChainTable);

}  // namespace ingot::cuda
