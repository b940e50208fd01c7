// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/quantized_products_plan.cpp - QuantizedConv2d, QuantizedLinear, and
// QuantizedChain stage by stage; QuantizedMatMul.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/movement/strides.h"
#include "kernels/cuda/quantized/quantized_tiles.h"
#include "kernels/cuda/tensorcore/product_extents.h"
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
  p.x = x.data, p.w = w.as<const int8_t>();
  p.count = y.elements();
  p.outputs = fast_divisor(w.dims[0]);
  p.x_pixel = x.row_stride;
  p.packing = w.packing;
  p.finish.y = y.data, p.finish.y_pixel = y.row_stride;
  p.finish.is_whole = y.dtype == DType::kI32;
  p.finish.in_fours = y.row_stride % 4 == 0 && is_aligned(y.data, 4);
  for (int64_t i = 0; i < channels.dims[0]; i++)
    p.finish.rows[i] = channels.as<const int32_t>() + i * channels.dims[1];
  return p;
}
/// Of either's attributes, and of the steps of `images`.
template <class Attributes>
void set_finish(const OpArguments& a, const Attributes& t, int64_t images, QuantizedFinish* f) {
  const TensorView* const steps = a.optional(3);
  f->requant = t.requant, f->w_zero = t.w_zero;
  f->y_zero = t.y_zero, f->low = t.low, f->high = t.high;
  f->steps = steps ? steps->as<const float>() : nullptr;
  f->step_images = fast_divisor(steps ? images / steps->dims[0] : 1);
}

/// A convolution that may overwrite its image reads a copy: threads of a GPU run in any order.
uint64_t image_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const QuantizedConv2dAttributes& t = a.as<QuantizedConv2dAttributes>();
  return quantized::works_in_place(t, a.inputs[0], a.outputs[0]) ? align256(bytes_of(a.inputs[0]))
                                                                 : 0;
}

bool reads_copy(const OpArguments& a) {
  return a.inputs[0].data == a.outputs[0].data && a.inputs[0].elements() != 0;
}

/// @param image where x is read, if not where it lies
QuantizedProductParams conv_params(const OpArguments& a, const void* image) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  QuantizedProductParams p = product_params(a);
  if (image) p.x = image;
  p.t = a.as<QuantizedConv2dAttributes>();
  p.width = fast_divisor(y.dims[2]), p.height = fast_divisor(y.dims[1]);
  p.group_outputs = fast_divisor(w.dims[0] / p.t.groups);
  p.in_h = x.dims[1], p.in_w = x.dims[2];
  p.depth = w.dims[3], p.runs = w.dims[1], p.length = w.dims[2] * w.dims[3];
  set_finish(a, p.t, x.dims[0], &p.finish);
  return p;
}

QuantizedProductParams linear_params(const OpArguments& a) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1];
  QuantizedProductParams p = product_params(a);
  p.width = p.height = fast_divisor(1);
  p.group_outputs = p.outputs;
  p.in_h = p.in_w = 1;
  p.depth = p.length = w.dims[1], p.runs = 1;
  set_finish(a, a.as<QuantizedLinearAttributes>(), x.rows(), &p.finish);
  return p;
}

bool is_depthwise_in_fours(const OpArguments& a, const QuantizedProductParams& p) {
  const int64_t channels = p.outputs.divisor;
  return p.packing == Packing::kDepthwise16 && a.inputs[0].dtype == DType::kU8 &&
         channels % 4 == 0 && p.x_pixel % 4 == 0 && is_aligned(p.x, 4) && is_aligned(p.w, 4);
}
Status launch_depthwise(const GpuWork& work, const QuantizedProductParams& p) {
  QuantizedDepthwiseParams d = {};
  d.x = static_cast<const uint8_t*>(p.x), d.w = p.w;
  d.width = p.width.divisor;
  const int64_t quads = p.outputs.divisor / 4, across = ceil_div(d.width, kDepthwisePixels);
  d.count = p.count / p.outputs.divisor / d.width * across * quads;
  d.quads = fast_divisor(quads), d.across = fast_divisor(across), d.height = p.height;
  d.in_h = p.in_h, d.in_w = p.in_w, d.x_pixel = p.x_pixel;
  d.tap_stride = round_up(p.outputs.divisor, kPanel);
  d.border = p.t.x_zero * 0x01010101u;
  d.t = p.t, d.finish = p.finish;
  return launch(work, KernelId::quantized_depthwise, blocks_for(d.count, 128, work.traits), d);
}

Status launch_product(const GpuWork& work, QuantizedProductParams p) {
  const OpArguments& a = *work.arguments;
  if (is_depthwise_in_fours(a, p)) return launch_depthwise(work, p);
  const QuantizedTiles tiles = quantized_tiles(a, p);
  VariantList variants;
  list_quantized_variants(tiles, work.traits, &variants);
  const GpuVariant& variant = variants.pick(work.variant);
  if (!is_each(variant)) return launch_tiles(work, tiles, variant);
  const uint64_t bits = uint64_t(p.depth) | uint64_t(p.x_pixel) | reinterpret_cast<uintptr_t>(p.x) |
                        reinterpret_cast<uintptr_t>(p.w);
  p.in_fours = p.packing == Packing::kPanels16x4 && bits % 4 == 0;
  const bool words = a.inputs[0].dtype == DType::kI16;
  return launch(work, words ? KernelId::quantized_product_i16 : KernelId::quantized_product_u8,
                blocks_for(p.count, 128, work.traits), p);
}

Status plan_conv(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  if (a.outputs[0].elements() == 0) return {};
  const void* image = nullptr;
  if (reads_copy(a)) {
    image = work.scratch;
    INGOT_TRY(
        plan_copy_bytes(work, a.inputs[0].data, work.scratch, int64_t(bytes_of(a.inputs[0]))));
  }
  return launch_product(work, conv_params(a, image));
}

Status plan_linear(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  if (a.outputs[0].elements() == 0) return {};
  return launch_product(work, linear_params(a));
}

template <bool kConv>
uint32_t list_product(const OpArguments& a, const GpuTraits& traits, GpuPrecision,
                      GpuVariant* out) {
  if (a.outputs[0].elements() == 0) return 0;
  // a copy is aligned as scratch is
  alignas(256) static constexpr uint8_t kScratch[1] = {};
  VariantList variants;
  list_quantized_variants(
      quantized_tiles(
          a, kConv ? conv_params(a, reads_copy(a) ? kScratch : nullptr) : linear_params(a)),
      traits, &variants);
  return variants.copy(out);
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
    one.arguments = &arguments, one.variant = nullptr;
    INGOT_TRY(plan_conv(one));
  }
  return {};
}

/// Fixed point is for who wants another runtime's integers.
bool has_scale(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  return a.as<QuantizedMatMulAttributes>().requant == RequantMode::kFloatEven;
}

constexpr GpuKernelEntry kQuantizedProductTable[] = {
    {OpCode::kQuantizedConv2d,
     "quantized_conv2d",
     has_packing,
     image_scratch,
     plan_conv,
     {list_product<true>, nullptr}},
    {OpCode::kQuantizedLinear,
     "quantized_linear",
     has_packing,
     nullptr,
     plan_linear,
     {list_product<false>, nullptr}},
    {OpCode::kQuantizedMatMul, "quantized_mat_mul", has_scale, nullptr, plan_matmul},
    {OpCode::kQuantizedChain, "quantized_chain", nullptr, chain_scratch, plan_chain}};

}  // namespace

const Span<const GpuKernelEntry> kQuantizedProductRows =
    Span<const GpuKernelEntry>(kQuantizedProductTable);

}  // namespace ingot::cuda
