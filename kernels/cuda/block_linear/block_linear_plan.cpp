// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_linear_plan.cpp - products with weights in blocks: a launch each,
// a block a panel of 32 outputs and a tile of rows. They are exact in every precision.
#include "kernels/cuda/cuda_kernels.h"
#include "runtime/base/checked_math.h"
#include "runtime/op/grouped_linear.h"

namespace ingot::cuda {
namespace {

constexpr uint32_t kMaxGrid = 65535;

struct CodeKernels {
  KernelId row, rows;
};
constexpr CodeKernels kCodeKernels[] = {
#define INGOT_CODE_KERNELS(name, type) {KernelId::block_row_##name, KernelId::block_rows_##name},
    INGOT_CUDA_CODE_TYPES(INGOT_CODE_KERNELS)
#undef INGOT_CODE_KERNELS
};
constexpr BlockType kCodeTypes[] = {
#define INGOT_CODE_TYPE(name, type) BlockType::type,
    INGOT_CUDA_CODE_TYPES(INGOT_CODE_TYPE)
#undef INGOT_CODE_TYPE
};
constexpr bool follow_the_enum() {
  for (size_t i = 0; i < sizeof kCodeTypes / sizeof *kCodeTypes; i++)
    if (kCodeTypes[i] != BlockType(i)) return false;
  return sizeof kCodeTypes / sizeof *kCodeTypes == size_t(BlockType::kF16);
}
static_assert(follow_the_enum(), "kernels are found by the number of their type");

/// To how many bytes rows are aligned that lie `stride` apart: 1, 4 or 16.
int32_t alignment_of(const void* at, int64_t stride) {
  const uint64_t bits = uint64_t(reinterpret_cast<uintptr_t>(at)) | uint64_t(stride);
  return bits % 16 == 0 ? 16 : bits % 4 == 0 ? 4 : 1;
}
uint32_t grid_of(int64_t n) { return uint32_t(n < kMaxGrid ? n : kMaxGrid); }

/// `groups`: of GroupedLinear.
Status plan_products(const GpuWork& work, BlockType type, const BlockGroups& groups) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const BlockFormat f = block_format(type);
  BlockLinearParams p = {};
  p.x = x.as<const uint8_t>(), p.w = w.as<const uint8_t>(), p.y = y.as<float>();
  p.rows = y.rows(), p.outputs = y.row_length(), p.units = w.dims[1] / f.bytes;
  p.panels = ceil_div(p.outputs, block_weights::kOutputs);
  p.panel_bytes = w.dims[1] * int64_t{block_weights::kOutputs};
  p.x_stride = x.row_stride, p.y_stride = y.row_stride;
  p.groups = groups;
  p.w_aligned = alignment_of(p.w, 0), p.x_aligned = alignment_of(p.x, p.x_stride);
  p.type = type;
  if (!groups.ends) {
    const TensorView *bias = a.optional(2), *residual = a.optional(3);
    p.bias = bias ? bias->as<const float>() : nullptr;
    p.residual = residual ? residual->as<const float>() : nullptr;
    p.residual_stride = residual ? int64_t{residual->row_stride} : 0;
  }
  const bool is_few = p.rows <= FloatBlocksOfFew::kRows;
  const int tile = f.is_float()  ? is_few ? FloatBlocksOfFew::kRows : FloatBlocksOfMany::kRows
                   : p.rows == 1 ? 1
                                 : kBlockRows;
  p.tiles = ceil_div(p.rows, tile);
  // Each group may end with a tile that is not full; and ends that fall are met by a tile at least.
  if (groups.ends) p.tiles += groups.experts;
  const KernelId kernel = f.is_float()
                              ? is_few ? KernelId::float_blocks_few : KernelId::float_blocks_many
                          : tile == 1 ? kCodeKernels[int(type)].row
                                      : kCodeKernels[int(type)].rows;
  const uint32_t shared = !f.is_float() ? 0
                          : is_few      ? FloatBlocksOfFew::kSharedBytes
                                        : FloatBlocksOfMany::kSharedBytes;
  return launch(work, kernel, grid_of(p.tiles), p, shared, grid_of(p.panels));
}

Status plan_linear(const GpuWork& work) {
  return plan_products(work, work.arguments->as<BlockLinearAttributes>().type, {});
}

bool supports_grouped(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  return grouped::has_blocks(a);  // mixtures of f32 are the CPU's
}
Status plan_grouped(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &w = a.inputs[1], &ends = a.inputs[2], &y = a.outputs[0];
  BlockGroups groups = {};
  groups.ends = ends.data, groups.experts = ends.elements();
  groups.expert_bytes = round_up(y.row_length(), block_weights::kOutputs) * int64_t{w.dims[1]};
  groups.are_i64 = ends.dtype == DType::kI64;
  groups.fault = work.fault, groups.fault_value = work.fault_value;
  return plan_products(work, a.as<GroupedLinearAttributes>().type, groups);
}

Status plan_quantize(const GpuWork& work) {
  const TensorView &x = work.arguments->inputs[0], &y = work.arguments->outputs[0];
  if (x.elements() == 0) return {};
  const BlockFormat f = block_format(work.arguments->as<BlockQuantizeAttributes>().type);
  BlockQuantizeParams p = {};
  p.x = x.as<const float>(), p.y = y.as<uint8_t>();
  p.rows = x.rows(), p.units = x.row_length() / f.unit;
  p.x_stride = x.row_stride, p.y_stride = y.row_stride;
  p.unit = f.unit, p.sub = f.sub, p.zero = f.zero, p.has_min = f.has_min;
  p.is_aligned = alignment_of(p.y, p.y_stride) >= 4;
  return launch(work, KernelId::block_quantize,
                blocks_for(p.rows * p.units * 32, kBlockThreads, work.traits), p);
}

Status plan_gather(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  const TensorView &w = a.inputs[0], &indices = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const BlockType type = a.as<BlockGatherAttributes>().type;
  const BlockFormat f = block_format(type);
  BlockGatherParams p = {};
  p.w = w.as<const uint8_t>(), p.indices = indices.data, p.y = y.as<float>();
  p.outputs = w.dims[0], p.units = w.dims[1] / f.bytes, p.y_stride = y.row_stride;
  const int64_t pieces = p.units * (f.unit / 32);
  p.pieces = fast_divisor(pieces), p.count = indices.elements() * pieces;
  p.type = type, p.is_aligned = alignment_of(p.w, 0) >= 4;
  p.are_i64 = indices.dtype == DType::kI64;
  p.fault = work.fault, p.fault_value = work.fault_value;
  return launch(work, KernelId::block_gather, blocks_for(p.count, kBlockThreads, work.traits), p);
}

constexpr GpuKernelEntry kBlockTable[] = {
    {OpCode::kBlockQuantize, "block_quantize", nullptr, nullptr, plan_quantize},
    {OpCode::kBlockLinear, "block_linear", nullptr, nullptr, plan_linear},
    {OpCode::kGroupedLinear, "grouped_blocks", supports_grouped, nullptr, plan_grouped},
    {OpCode::kBlockGather, "block_gather", nullptr, nullptr, plan_gather}};

}  // namespace

const Span<const GpuKernelEntry> kBlockLinearRows = Span<const GpuKernelEntry>(kBlockTable);

}  // namespace ingot::cuda
