// SPDX-License-Identifier: Apache-2.0
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

/// The launches of one chain.
class ChainLaunches {
 public:
  explicit ChainLaunches(const GpuWork& work)
      : work_(work),
        a_(*work.arguments),
        t_(a_.as<ChainAttributes>()),
        buffers_(a_, work.traits, work.precision) {}
  Status launch() {
    const float* x = a_.inputs[0].as<float>();
    int64_t x_stride = a_.inputs[0].row_stride;
    bool x_f16 = a_.inputs[0].dtype == DType::kF16;
    for (uint32_t i = 0; i < t_.stage_count; i++) {
      ConvJob j = job_of(i);
      j.x = x, j.x_stride = x_stride, j.x_f16 = x_f16;
      Status status;
      const StageArguments stage(a_, buffers_, i, work_.scratch);
      const GpuKernelEntry* row = product_row(stage.get(), work_.traits, work_.precision);
      BottleneckLaunch bottleneck;
      if (row && joins_bottleneck(i, j, &bottleneck)) {
        status = launch_bottleneck(work_, bottleneck, is_packed(i));
        j = job_of(i += 2);
      } else if (row) {
        const uint64_t own = buffers_.bytes[0] + buffers_.bytes[1];
        GpuWork one = work_;
        one.arguments = &stage.get(), one.variant = nullptr;
        one.scratch = work_.scratch + own, one.scratch_bytes = work_.scratch_bytes - own;
        status = row->plan(one);
      } else if (joins_next(i, j)) {
        const ConvJob next = job_of(++i);
        status = launch_depthwise_pointwise(work_, j, next);
        j = next;
      } else {
        status = launch_conv(work_, j, nullptr);
      }
      if (!status.ok()) return status;
      x = j.y, x_stride = j.y_stride, x_f16 = j.y_f16;
    }
    return {};
  }

 private:
  /// Stage i but for its x.
  [[gnu::noinline]] ConvJob job_of(uint32_t i) const {
    const TensorView* bias = a_.optional(int(2 + 2 * i));
    ConvJob j;
    j.t = &t_.stages[i], j.e = buffers_.stages[i];
    j.w = a_.inputs[1 + 2 * i].as<float>(), j.bias = bias ? bias->as<float>() : nullptr;
    if (i + 1 < t_.stage_count) {
      j.y = reinterpret_cast<float*>(work_.scratch + buffers_.place_of(i)),
      j.y_stride = Buffers::row(j.e), j.y_f16 = buffers_.dtypes[i] == DType::kF16;
      return j;
    }
    const TensorView* residual = a_.optional(conv::chain_residual(t_));
    j.y = a_.outputs[0].as<float>(), j.y_stride = a_.outputs[0].row_stride;
    j.y_f16 = a_.outputs[0].dtype == DType::kF16;
    if (residual) j.residual = residual->as<float>(), j.residual_stride = residual->row_stride;
    j.residual_f16 = residual && residual->dtype == DType::kF16;
    return j;
  }
  /// Stage i reads what the stage before it has left.
  [[gnu::noinline]] ConvJob job_behind(const ConvJob& before, uint32_t i) const {
    ConvJob j = job_of(i);
    j.x = before.y, j.x_stride = before.y_stride, j.x_f16 = before.y_f16;
    return j;
  }
  bool is_packed(uint32_t i) const { return a_.inputs[1 + 2 * i].dtype == DType::kF16; }

  bool joins_bottleneck(uint32_t i, const ConvJob& first, BottleneckLaunch* out) const {
    if (i + 2 >= t_.stage_count || is_packed(i) != is_packed(i + 2)) return false;
    const BottleneckJob b = {first, job_behind(first, i + 1), job_of(i + 2), is_packed(i)};
    return choose_bottleneck(work_, b, out);
  }
  /// The results of both stages may lie in one buffer: then those behind go to the other.
  bool joins_next(uint32_t i, const ConvJob& first) {
    if (i + 1 >= t_.stage_count || is_packed(i + 1)) return false;
    if (joins_pointwise(work_, first, job_of(i + 1))) return true;
    if (i + 2 >= t_.stage_count) return false;
    buffers_.swapped ^= 1;
    if (joins_pointwise(work_, first, job_of(i + 1)) && fits(i + 1)) return true;
    buffers_.swapped ^= 1;
    return false;
  }
  /// Whether what is stored from stage i on has room where it lies now.
  bool fits(uint32_t i) const {
    BottleneckLaunch bottleneck;
    for (; i + 1 < t_.stage_count; i++) {
      if (!buffers_.has_room(i)) return false;
      if (joins_bottleneck(i + 1, job_behind(job_of(i), i + 1), &bottleneck)) i += 2;
    }
    return true;
  }

  const GpuWork& work_;
  const OpArguments& a_;
  const ChainAttributes& t_;
  Buffers buffers_;
};

Status plan_chain(const GpuWork& work) {
  if (work.arguments->outputs[0].elements() == 0) return {};
  return ChainLaunches(work).launch();
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
