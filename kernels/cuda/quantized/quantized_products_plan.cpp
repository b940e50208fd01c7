// kernels/cuda/quantized/quantized_products_plan.cpp - QuantizedConv2d, QuantizedLinear, and
// QuantizedChain stage by stage.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/quantized/quantized_params.h"
#include "runtime/op/quantized_chain.h"
#include "runtime/op/quantized_linear.h"

namespace ingot::cuda {
namespace {

bool has_packing(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const Packing packing = a.inputs[1].packing;
  return packing == Packing::kDense || packing == Packing::kPanels16x4 ||
         packing == Packing::kDepthwise16;
}

/// Bytes from the first element of x to behind its last.
uint64_t bytes_of(const TensorType& x) {
  const int64_t rows = x.rows(), columns = x.rank ? int64_t(x.dims[x.rank - 1]) : 1;
  if (x.elements() == 0) return 0;
  return uint64_t((rows - 1) * x.row_stride + columns) * uint64_t(dtype_bytes(x.dtype));
}

/// What both are told by: operands, channels, the sizes of y.
QuantizedProductParams product_params(const OpArguments& a) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &channels = a.inputs[2], &y = a.outputs[0];
  QuantizedProductParams p = {};
  p.x = x.data, p.w = w.as<const int8_t>(), p.y = y.data;
  for (int64_t i = 0; i < channels.dims[0]; i++)
    p.rows[i] = channels.as<const int32_t>() + i * channels.dims[1];
  p.count = y.elements();
  p.outputs = fast_divisor(w.dims[0]);
  p.x_pixel = x.row_stride, p.y_pixel = y.row_stride;
  p.is_whole = y.dtype == DType::kI32;
  p.packing = w.packing;
  return p;
}

Status launch_product(const GpuWork& work, QuantizedProductParams p, int64_t images) {
  if (p.count == 0) return {};
  const OpArguments& a = *work.arguments;
  const TensorView* const steps = a.optional(3);
  p.steps = steps ? steps->as<const float>() : nullptr;
  p.step_images = fast_divisor(steps ? images / steps->dims[0] : 1);
  const uint64_t bits = uint64_t(p.depth) | uint64_t(p.x_pixel) | reinterpret_cast<uintptr_t>(p.x) |
                        reinterpret_cast<uintptr_t>(p.w);
  p.in_fours = p.packing == Packing::kPanels16x4 && bits % 4 == 0;
  const bool words = a.inputs[0].dtype == DType::kI16;
  return launch(work, words ? KernelId::quantized_product_i16 : KernelId::quantized_product_u8,
                blocks_for(p.count, 128, work.traits), p);
}

/// A convolution that may overwrite its image reads a copy of it: threads of a GPU run in any order.
uint64_t image_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  return quantized::works_in_place(t, a.inputs[0], a.outputs[0]) ? align256(bytes_of(a.inputs[0]))
                                                                 : 0;
}

Status plan_conv(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  QuantizedProductParams p = product_params(a);
  p.t = a.as<QuantizedConv2dAttributes>();
  if (x.data == y.data && x.elements()) {
    INGOT_TRY(plan_copy_bytes(work, x.data, work.scratch, int64_t(bytes_of(x))));
    p.x = work.scratch;
  }
  p.width = fast_divisor(y.dims[2]), p.height = fast_divisor(y.dims[1]);
  p.group_outputs = fast_divisor(w.dims[0] / p.t.groups);
  p.in_h = x.dims[1], p.in_w = x.dims[2];
  p.depth = w.dims[3], p.runs = w.dims[1], p.length = w.dims[2] * w.dims[3];
  return launch_product(work, p, x.dims[0]);
}

Status plan_linear(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &w = a.inputs[1];
  const QuantizedLinearAttributes& t = a.as<QuantizedLinearAttributes>();
  QuantizedProductParams p = product_params(a);
  p.t.requant = t.requant, p.t.w_zero = t.w_zero;
  p.t.y_zero = t.y_zero, p.t.low = t.low, p.t.high = t.high;
  p.width = p.height = fast_divisor(1);
  p.group_outputs = p.outputs;
  p.in_h = p.in_w = 1;
  p.depth = p.length = w.dims[1], p.runs = 1;
  return launch_product(work, p, x.rows());
}

Status plan_matmul(const GpuWork& work) {
  const TensorView &a = work.arguments->inputs[0], &b = work.arguments->inputs[1],
                   &y = work.arguments->outputs[0];
  QuantizedMatMulParams p = {};
  p.count = y.elements();
  if (p.count == 0) return {};
  p.a = a.as<const uint8_t>(), p.b = b.as<const uint8_t>(), p.y = y.as<uint8_t>();
  p.n = fast_divisor(y.dims[y.rank - 1]), p.m = fast_divisor(y.dims[y.rank - 2]);
  p.k = a.dims[a.rank - 1];
  p.a_row = a.row_stride, p.b_row = b.row_stride, p.y_row = y.row_stride;
  p.t = work.arguments->as<QuantizedMatMulAttributes>();
  return launch(work, KernelId::quantized_matmul, blocks_for(p.count, 128, work.traits), p);
}

/// Two images take turns between the stages.
uint64_t between_bytes(const quantized::ChainStages& stages) {
  uint64_t most = 0;
  for (int i = 0; i + 1 < stages.count; i++) {
    const uint64_t bytes = align256(bytes_of(stages.stage[i].outputs[0]));
    most = bytes > most ? bytes : most;
  }
  return most;
}
uint64_t chain_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  quantized::ChainStages stages;
  quantized::chain_stages(a, &stages);
  return 2 * between_bytes(stages);
}

/// No stage overwrites its image but the last, whose y may lie where x does: by then x was read.
Status plan_chain(const GpuWork& work) {
  quantized::ChainStages stages;
  quantized::chain_stages(*work.arguments, &stages);
  const uint64_t bytes = between_bytes(stages);
  for (int i = 0; i < stages.count; i++) {
    quantized::ChainStage& stage = stages.stage[i];
    if (i) stage.inputs[0].data = work.scratch + uint64_t(i % 2) * bytes;
    if (i + 1 < stages.count) stage.outputs[0].data = work.scratch + uint64_t((i + 1) % 2) * bytes;
    const OpArguments arguments = stage.arguments();
    GpuWork one = work;
    one.arguments = &arguments;
    INGOT_TRY(plan_conv(one));
  }
  return {};
}

/// Fixed point is for who wants another runtime's integers.
bool has_scale(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  return a.as<QuantizedMatMulAttributes>().requant == RequantMode::kFloatEven;
}

constexpr GpuKernelEntry kQuantizedProductTable[] = {
    {OpCode::kQuantizedConv2d, "quantized_conv2d", has_packing, image_scratch, plan_conv},
    {OpCode::kQuantizedLinear, "quantized_linear", has_packing, nullptr, plan_linear},
    {OpCode::kQuantizedMatMul, "quantized_mat_mul", has_scale, nullptr, plan_matmul},
    {OpCode::kQuantizedChain, "quantized_chain", nullptr, chain_scratch, plan_chain}};

}  // namespace

const Span<const GpuKernelEntry> kQuantizedProductRows =
    Span<const GpuKernelEntry>(kQuantizedProductTable);

}  // namespace ingot::cuda
