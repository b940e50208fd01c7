// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/block_linear/block_linear_plan.cpp - products with weights in blocks: a launch each,
// a block a panel of 32 outputs (four on tensor cores) and a tile of rows. They are exact in every
// precision.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/tile_model.h"
#include "runtime/op/grouped_linear.h"

namespace ingot::cuda {
namespace {

constexpr uint32_t kMaxGrid = 65535;

struct CodeKernels {
  KernelId row, rows, tiles;
};
constexpr CodeKernels kCodeKernels[] = {
#define INGOT_CODE_KERNELS(name, type) \
  {KernelId::block_row_##name, KernelId::block_rows_##name, KernelId::block_tiles_##name},
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

/// Rows of a tile, as files name the variant.
constexpr GpuVariant kRow = {"1", 1, 1}, kRows = {"8", 1, kBlockRows},
                     kTensorTiles = {"64", 1, BlockTiles::kRows};
constexpr double kSixteenRows = 90;  // on tensor cores: instructions of a warp for 32 k of a panel

BlockType type_of(const OpArguments& a, bool is_grouped) {
  return is_grouped ? a.as<GroupedLinearAttributes>().type : a.as<BlockLinearAttributes>().type;
}
/// Each group may end with a tile that is not full; and ends that fall are met by a tile at least.
int64_t tiles_of(int64_t rows, int64_t tile, int64_t groups) {
  return ceil_div(rows, tile) + groups;
}

VariantList variants_of(const OpArguments& a, const GpuTraits& traits, bool is_grouped) {
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  const BlockFormat f = block_format(type_of(a, is_grouped));
  VariantList list;
  const int64_t rows = y.rows(), panels = ceil_div(y.row_length(), block_weights::kOutputs),
                groups = is_grouped ? a.inputs[2].elements() : 0;
  if (f.is_float() || y.elements() == 0) return list;
  const double pieces = double(w.dims[1] / f.bytes * (f.unit / 32)) / kIssueCycle;
  const auto add = [&](const GpuVariant& v, int64_t own_panels, double of_piece) {
    const double blocks =
        double(tiles_of(rows, v.id, groups)) * double(ceil_div(panels, own_panels));
    list.add(v, cycles_of_blocks(blocks, pieces * of_piece, 1, 0, 0, traits.multiprocessors));
  };
  if (rows == 1) {
    add(kRow, 1, kDecodeIssue + kCodeRowIssue);
    return list;
  }
  add(kRows, 1, kDecodeIssue + double(rows < kBlockRows ? rows : kBlockRows) * kCodeRowIssue);
  if (traits.has_tensor_cores() && alignment_of(w.data, 0) >= 4 &&
      alignment_of(x.data, x.row_stride) >= 4) {
    const int64_t sixteens = ceil_div(rows < BlockTiles::kRows ? rows : BlockTiles::kRows, 16),
                  halves = ceil_div(sixteens, BlockTiles::kParts);
    add(kTensorTiles, BlockTiles::kPanels,
        BlockTiles::kPanels * (double(halves) * kDecodeIssue + double(sixteens) * kSixteenRows));
  }
  return list;
}
template <bool kIsGrouped>
uint32_t list_products(const OpArguments& a, const GpuTraits& traits, GpuPrecision,
                       GpuVariant* out) {
  return variants_of(a, traits, kIsGrouped).copy(out);
}

/// `groups`: of GroupedLinear, where it is that.
Status plan_products(const GpuWork& work, bool is_grouped, const BlockGroups& groups) {
  const OpArguments& a = *work.arguments;
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  if (y.elements() == 0) return {};
  const BlockType type = type_of(a, is_grouped);
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
  if (!is_grouped) {
    const TensorView *bias = a.optional(2), *residual = a.optional(3);
    p.bias = bias ? bias->as<const float>() : nullptr;
    p.residual = residual ? residual->as<const float>() : nullptr;
    p.residual_stride = residual ? int64_t{residual->row_stride} : 0;
  }
  if (f.is_float()) {
    const bool is_few = p.rows <= FloatBlocksOfFew::kRows;
    p.tiles = tiles_of(p.rows, is_few ? FloatBlocksOfFew::kRows : FloatBlocksOfMany::kRows,
                       groups.experts);
    return is_few ? launch(work, KernelId::float_blocks_few, grid_of(p.tiles), p,
                           FloatBlocksOfFew::kSharedBytes, grid_of(p.panels))
                  : launch(work, KernelId::float_blocks_many, grid_of(p.tiles), p,
                           FloatBlocksOfMany::kSharedBytes, grid_of(p.panels));
  }
  const uint16_t tile = variants_of(a, work.traits, is_grouped).pick(work.variant).id;
  const CodeKernels& kernels = kCodeKernels[int(type)];
  p.tiles = tiles_of(p.rows, tile, groups.experts);
  if (tile == kTensorTiles.id)
    return launch(work, kernels.tiles, grid_of(p.tiles), p, 0,
                  grid_of(ceil_div(p.panels, BlockTiles::kPanels)));
  return launch(work, tile == kRow.id ? kernels.row : kernels.rows, grid_of(p.tiles), p, 0,
                grid_of(p.panels));
}

Status plan_linear(const GpuWork& work) { return plan_products(work, false, {}); }

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
  return plan_products(work, true, groups);
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
    {OpCode::kBlockLinear,
     "block_linear",
     nullptr,
     nullptr,
     plan_linear,
     {list_products<false>, nullptr}},
    {OpCode::kGroupedLinear,
     "grouped_blocks",
     supports_grouped,
     nullptr,
     plan_grouped,
     {list_products<true>, nullptr}},
    {OpCode::kBlockGather, "block_gather", nullptr, nullptr, plan_gather}};

}  // namespace

const Span<const GpuKernelEntry> kBlockLinearRows = Span<const GpuKernelEntry>(kBlockTable);

}  // namespace ingot::cuda
