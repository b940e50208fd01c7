// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/precision/reduced_kernels.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/cuda_kernels.h"
#include "runtime/op/chain.h"
#include "runtime/op/half_products.h"
#include "runtime/op/linear.h"

namespace ingot::precision {
namespace {

constexpr const char* kEmulated = "orin-nano";  // one that has tf32 and f16

/// Operands that are multiplied, from the first on.
uint16_t multiplied(OpCode op) {
  switch (op) {
    case OpCode::kConv2d:
    case OpCode::kLinear:
    case OpCode::kMatMul: return 2;
    case OpCode::kAttention: return 3;
    default: return 0;
  }
}

Format format_of(GpuPrecision precision) {
  return precision == GpuPrecision::kFp16   ? Format::kF16
         : precision == GpuPrecision::kBf16 ? Format::kBf16
                                            : Format::kTf32;
}

/// Whether a CPU may compute it of halves, with however many rows.
bool is_of_halves(OpCode op, const OpArguments& a) {
  if (op == OpCode::kLinear)
    return is_rounded(a.as<LinearAttributes>().reduced_precision) &&
           !linear_weights::has_quantized_weights(a) &&
           half_products::pays(a.inputs[0].row_length(), a.outputs[0].row_length(),
                               half_products::kRows);
  if (op != OpCode::kConv2d) return false;
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  conv::Extents e = conv::extents(t, a.inputs[0], a.outputs[0]);
  e.n = std::max(e.n, half_products::kRows);
  return half_products::takes(t, e);
}

/// The numbers of a dense tensor, row by row.
void round_rows(Format format, const TensorView& view) {
  if (view.dtype != DType::kF32 || view.packing != Packing::kDense || !view.data) return;
  const int64_t rows = view.elements() ? view.rows() : 0, length = view.row_length();
  if (view.is_dense()) return round_to(format, view.as<float>(), size_t(rows * length));
  for (int64_t r = 0; r < rows; r++)
    round_to(format, view.as<float>() + r * view.row_stride, size_t(length));
}

}  // namespace

ReducedKernels::ReducedKernels(const ingot_kernel_table* kernels, const cli::ProgramView& view,
                               GpuPrecision precision, const std::vector<bool>& exact)
    : view_(view),
      precision_(precision),
      traits_(gpu_cost::traits_of(*gpu_cost::find_gpu_model(kEmulated))),
      format_(format_of(precision)),
      kernels_(reinterpret_cast<const KernelTable*>(kernels)),
      exact_(exact),
      rounded_steps_(exact.size()),
      hook_(kernels, [this](const KernelEntry& entry, const OpArguments& arguments,
                            const Team& team) { return call(entry, arguments, team); }) {
  if (precision != GpuPrecision::kFp16) return;
  const gpu_cost::GpuOperands operands(view, *gpu_cost::find_gpu_model(kEmulated), precision);
  const uint64_t* const storage = operands.f16_storage();
  if (storage) is_f16_.assign(storage, storage + view.program().values.size);
}

Status ReducedKernels::call(const KernelEntry& entry, const OpArguments& arguments,
                            const Team& team) {
  if (is_f16_.empty() && exact_.empty()) return run_rounded(entry, arguments, team);
  // Without Ifs and Loops calls come in the order of the steps.
  const ProgramDef& program = view_.program();
  if (calls_ == program.steps.size) calls_ = 0;  // the next run
  step_ = calls_++;
  const InstructionDef& instruction = program.instructions[program.steps[step_].index];
  if (instruction.op != entry.op || instruction.output_count != arguments.output_count)
    return Status(Code::kInternal);
  if (!exact_.empty() && exact_[step_]) return entry.run(arguments, team);
  const Status status = run_rounded(entry, arguments, team);
  if (is_f16_.empty() || !status.ok()) return status;
  for (uint16_t o = 0; o < arguments.output_count; o++)
    if (instruction.outputs[o] >= 0 && is_f16_[size_t(instruction.outputs[o])])
      round_rows(format_, arguments.outputs[o]);
  return status;
}

Status ReducedKernels::run_rounded(const KernelEntry& entry, const OpArguments& arguments,
                                   const Team& team) {
  return entry.op == OpCode::kChain ? run_chain(arguments, team)
                                    : run_product(entry, arguments, team);
}

/// Whether tensor cores multiply it, or in bf16 a CPU's halves. Of what they have no kernel for the
/// row says that nothing may be f16, and takes the exact one.
bool ReducedKernels::is_reduced(OpCode op, const OpArguments& arguments) const {
  if (!multiplied(op) || arguments.input_count < 2) return false;
  if (precision_ == GpuPrecision::kBf16) return is_of_halves(op, arguments);
  const GpuKernelEntry* const row =
      find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits_, precision_);
  if (!row) return false;
  // Panels of weights of 8 and 4 bits are multiplied by the row of f32 panels.
  if (row == find_gpu_row(ingot_cuda_kernel_set, op, arguments, traits_, GpuPrecision::kExact))
    return op == OpCode::kLinear && arguments.inputs[1].dtype != DType::kF32;
  return !row->f16_operands || row->f16_operands(arguments, traits_) != 0;
}

/// A copy in the same layout. Panels are numbers, too; what lies between rows is nobody's.
TensorView ReducedKernels::rounded(const TensorView& view, Memory* memory) const {
  TensorView copy = view;
  uint64_t bytes = 0;
  if (view.dtype != DType::kF32 || !view.data || !storage_bytes(view, &bytes) || !bytes)
    return copy;
  memory->resize(std::max<size_t>(memory->size(), (bytes + 63) / 64));
  memcpy(memory->data(), view.data, bytes);
  copy.data = memory->data();
  round_to(format_, copy.as<float>(), bytes / sizeof(float));
  return copy;
}

/// Scales of weights of 8 and 4 bits as products of f16 have them: f16 of 64 times what they are
/// (kernels/cuda/linear/weight_tiles.cuh), so that one of 1024 is infinite here, too.
TensorView ReducedKernels::times_64(const TensorView& scales) {
  uint64_t bytes = 0;
  if (scales.dtype != DType::kF32 || !scales.data || !storage_bytes(scales, &bytes)) return scales;
  TensorView copy = rounded(scales, &operands_[2]);
  const size_t count = bytes / sizeof(float);
  float* const to = copy.as<float>();
  for (size_t i = 0; i < count; i++) to[i] = scales.as<const float>()[i] * 64;
  round_to(format_, to, count);
  for (size_t i = 0; i < count; i++) to[i] /= 64;
  return copy;
}

Status ReducedKernels::run_product(const KernelEntry& entry, const OpArguments& arguments,
                                   const Team& team) {
  if (!is_reduced(entry.op, arguments)) return entry.run(arguments, team);
  if (!exact_.empty()) rounded_steps_[step_] = true;
  std::vector<TensorView> inputs(arguments.inputs, arguments.inputs + arguments.input_count);
  for (uint16_t i = 0; i < multiplied(entry.op) && i < arguments.input_count; i++)
    inputs[i] = rounded(inputs[i], &operands_[i]);
  if (entry.op == OpCode::kLinear && arguments.input_count > linear_weights::kScales &&
      precision_ == GpuPrecision::kFp16)
    inputs[linear_weights::kScales] = times_64(arguments.inputs[linear_weights::kScales]);
  OpArguments own = arguments;
  own.inputs = inputs.data();
  return entry.run(own, team);
}

/// Its stages one after the other, as a GPU has them: what lies between is f16 in fp16, or is
/// rounded by the stage that multiplies it.
Status ReducedKernels::run_chain(const OpArguments& a, const Team& team) {
  const ChainAttributes& t = a.as<ChainAttributes>();
  conv::Extents stages[kMaxChainStages];
  conv::chain_extents(a, stages);
  TensorView x = a.inputs[0];
  for (uint32_t i = 0; i < t.stage_count; i++) {
    const bool is_last = i + 1 == t.stage_count;
    TensorView inputs[4] = {x, a.inputs[1 + 2 * i], {}, {}}, y = a.outputs[0];
    if (const TensorView* bias = a.optional(int(2 + 2 * i))) inputs[2] = *bias;
    if (const TensorView* residual = a.optional(conv::chain_residual(t)); residual && is_last)
      inputs[3] = *residual;
    if (!is_last) {
      const conv::Extents& e = stages[i];
      y = {};
      y.dtype = DType::kF32, y.rank = 4;
      y.dims[0] = e.n, y.dims[1] = e.oh, y.dims[2] = e.ow, y.dims[3] = e.o;
      y.row_stride = e.o;
      uint64_t bytes = 0;
      if (!storage_bytes(y, &bytes)) return Status(Code::kLimitExceeded);
      between_[i % 2].resize(bytes / 64 + 1);
      y.data = between_[i % 2].data();
    }
    OpArguments stage;
    stage.attributes = &t.stages[i];
    stage.inputs = inputs, stage.input_count = 4, stage.outputs = &y, stage.output_count = 1;
    const KernelEntry* const kernel = find_kernel(*kernels_, OpCode::kConv2d, stage);
    if (!kernel) return Status(Code::kInternal);
    const ScratchNeed need =
        kernel->contract->scratch ? kernel->contract->scratch(stage, 1) : ScratchNeed{};
    const size_t own = need.per_thread_bytes / 64 + 1;
    scratch_.resize(std::max(scratch_.size(), own + need.shared_bytes / 64 + 1));
    Team alone = team;
    alone.scratch = scratch_.data(), alone.shared = scratch_.data() + own;
    const Status status = run_product(*kernel, stage, alone);
    if (!status.ok()) return status;
    if (!is_last && format_ == Format::kF16) round_rows(format_, y);
    x = y;
  }
  return {};
}

}  // namespace ingot::precision
