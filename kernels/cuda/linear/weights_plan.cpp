// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/linear/weights_plan.cpp - Linear with weights of 8 and 4 bits: a few rows by kernels
// that read them as they lie, more rows by tiles that do (weight_tiles.h) where products are not
// exact, else by the kernels of f32 weights, panels of which are made in scratch, some at a time.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/linear/weight_tiles.h"
#include "runtime/op/linear.h"

namespace ingot::cuda {
namespace {

/// Of panels of f32 at a time: enough outputs for tiles on every multiprocessor, few enough to stay
/// in a large second-level cache.
constexpr uint64_t kExpandedBytes = 16 << 20;
constexpr double kLast = 1e300;  // the model takes another one
// Others are tiles (tensorcore/tile_choice.h).
enum : uint16_t { kSkinnyVariant = 64, kRelaxedRowsVariant, kExpandedVariant };

bool is_aligned16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

bool supports_weights(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const TensorView *bias = a.optional(2), *scales = a.optional(linear_weights::kScales),
                   *zeros = a.optional(linear_weights::kZeros);
  const TensorView& w = a.inputs[1];
  const bool is_packed = (w.dtype == DType::kI8 && w.packing == Packing::kPanels16) ||
                         (w.dtype == DType::kU8 && w.packing == Packing::kPanels16x4);
  return scales && is_packed && scales->packing == Packing::kPanels16 &&
         (!zeros || zeros->packing == Packing::kPanels16) &&
         (!bias || bias->packing == Packing::kVector16);
}

PackedWeights weights_of(const OpArguments& a) {
  const TensorView &w = a.inputs[1], &scales = a.inputs[linear_weights::kScales];
  const TensorView* const zeros = a.optional(linear_weights::kZeros);
  const uint32_t block = a.as<LinearAttributes>().block;
  PackedWeights p = {};
  p.bits = w.dtype == DType::kU8 ? 4 : 8;
  p.k = a.inputs[0].row_length();
  p.panel_bytes = p.bits == 8 ? p.k * kPanel : ceil_div(p.k, 8) * 4 * kPanel;
  p.blocks = linear_weights::block_count(block, p.k);
  p.block = fast_divisor(block ? block : p.k > 1 ? p.k : 1);
  p.numbers = w.as<const uint8_t>(), p.scales = scales.as<const float>();
  p.zeros = zeros ? zeros->as<const int8_t>() : nullptr;
  p.is_aligned = is_aligned16(p.numbers) && is_aligned16(p.scales) && is_aligned16(p.zeros);
  return p;
}

/// The same product of some outputs, with weights as f32.
class ExpandedPart {
 public:
  explicit ExpandedPart(const OpArguments& a)
      : attributes_(a.as<LinearAttributes>()), y_(a.outputs[0]) {
    attributes_.block = 0;
    for (int i = 0; i < 4; i++) inputs_[i] = i < a.input_count ? a.inputs[i] : TensorView();
    inputs_[1].dtype = DType::kF32, inputs_[1].packing = Packing::kPanels16;
    arguments_.attributes = &attributes_, arguments_.inputs = inputs_, arguments_.outputs = &y_;
    arguments_.input_count = 4, arguments_.output_count = 1;
    outputs_ = y_.row_length();
  }
  /// Outputs that are expanded at a time.
  int64_t outputs_at_once() const {
    const uint64_t panel = uint64_t(inputs_[0].row_length()) * kPanel * sizeof(float);
    const int64_t panels = panel ? int64_t(kExpandedBytes / panel) : 1 << 20;
    const int64_t most = (panels < 1 ? 1 : panels) * kPanel;
    return outputs_ < most ? outputs_ : most;
  }
  uint64_t weight_bytes() const {
    return align256(uint64_t(ceil_div(outputs_at_once(), kPanel)) *
                    uint64_t(inputs_[0].row_length()) * kPanel * sizeof(float));
  }
  /// From output `first` on, of `original`.
  const OpArguments& set(const OpArguments& original, int64_t first, int64_t count,
                         float* weights) {
    const auto part = [&](int i) {
      if (!inputs_[i].present() || !original.inputs[i].data) return;
      inputs_[i].data = original.inputs[i].as<float>() + first;
    };
    part(2), part(3);
    if (inputs_[2].present()) inputs_[2].dims[0] = int32_t(count);
    if (inputs_[3].present()) inputs_[3].dims[inputs_[3].rank - 1] = int32_t(count);
    y_.dims[y_.rank - 1] = int32_t(count);
    if (original.outputs[0].data) y_.data = original.outputs[0].as<float>() + first;
    inputs_[1].dims[0] = int32_t(count), inputs_[1].dims[1] = int32_t(inputs_[0].row_length());
    inputs_[1].data = weights;
    return arguments_;
  }
  int64_t outputs() const { return outputs_; }

 private:
  LinearAttributes attributes_;
  TensorView inputs_[4], y_;
  OpArguments arguments_;
  int64_t outputs_ = 0;
};

const GpuKernelEntry* row_of_f32(const OpArguments& a, const GpuTraits& traits,
                                 GpuPrecision precision) {
  return find_gpu_row(ingot_cuda_kernel_set, OpCode::kLinear, a, traits, precision);
}

bool is_few(const OpArguments& a) { return a.outputs[0].rows() <= WeightsOf16Rows::kRows; }

uint64_t expanded_scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                          bool least) {
  if (a.outputs[0].elements() == 0) return 0;
  ExpandedPart part(a);
  const OpArguments& one = part.set(a, 0, part.outputs_at_once(), nullptr);
  const GpuKernelEntry* row = row_of_f32(one, traits, precision);
  if (!row) return 0;
  return part.weight_bytes() + (least ? least_gpu_scratch(*row, one, traits, precision)
                                      : gpu_scratch(*row, one, traits, precision, nullptr));
}

bool is_f16(const OpArguments& a) {
  const TensorView* residual = a.optional(3);
  return a.inputs[0].dtype == DType::kF16 || a.outputs[0].dtype == DType::kF16 ||
         (residual && residual->dtype == DType::kF16);
}

/// What a product is computed by: the variants and, of more than a few rows, its tiles.
struct Choice {
  WeightTiles tiles;
  VariantList variants;
  Choice(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
    if (is_few(a)) {
      if (precision != GpuPrecision::kExact && weights_of(a).is_aligned)
        variants.add({"relaxed_rows", 1, kRelaxedRowsVariant}, 0);
      variants.add({"skinny", 1, kSkinnyVariant}, 1);
    } else {
      tiles = weight_tiles(a, weights_of(a), traits, precision);
      if (tiles.fits) list_weight_tiles(tiles, traits, &variants);
    }
    // its kernels take f32
    if (!is_f16(a)) variants.add({"expanded", 1, kExpandedVariant}, kLast);
  }
  uint64_t scratch(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                   const GpuVariant& variant) const {
    switch (variant.id) {
      case kSkinnyVariant:
      case kRelaxedRowsVariant: return 0;
      case kExpandedVariant: return expanded_scratch(a, traits, precision, false);
      default: return weight_tiles_scratch(tiles, variant.parts);
    }
  }
};

uint64_t scratch_of_variant(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                            const GpuVariant& variant) {
  if (a.outputs[0].elements() == 0) return 0;
  return Choice(a, traits, precision).scratch(a, traits, precision, variant);
}
uint64_t scratch_weights(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
  if (a.outputs[0].elements() == 0) return 0;
  const Choice choice(a, traits, precision);
  if (choice.variants.count() == 0) return 0;
  return choice.scratch(a, traits, precision, choice.variants.pick(nullptr));
}
/// Of f32 there is a way that needs none, see plan_rows_by_rows(); of f16 tiles alone.
uint64_t least_scratch_weights(const OpArguments& a, const GpuTraits& traits,
                               GpuPrecision precision) {
  if (is_few(a) || a.outputs[0].elements() == 0 || !is_f16(a)) return 0;
  return weight_tiles_scratch(weight_tiles(a, weights_of(a), traits, precision), 0);
}
uint32_t list_weights(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                      GpuVariant* out) {
  if (a.outputs[0].elements() == 0) return 0;
  return Choice(a, traits, precision).variants.copy(out);
}
/// Of tiles. Where x cannot be f16 it is asked again as f32.
uint64_t f16_operands_of_weights(const OpArguments& a, const GpuTraits& traits) {
  if (a.outputs[0].elements() == 0 || is_few(a)) return 0;
  const uint64_t x = 1, others = uint64_t{1} << 3 | uint64_t{1} << a.input_count;
  const WeightTiles tiles = weight_tiles(a, weights_of(a), traits, GpuPrecision::kFp16);
  if (tiles.fits && tiles.is_aligned) return x | others;
  return a.inputs[0].dtype == DType::kF16 ? others : 0;
}

/// `count` rows from `first` on, WeightsOf16Rows::kRows at most.
Status launch_skinny(const GpuWork& work, bool is_relaxed, int64_t first, int64_t count) {
  const OpArguments& a = *work.arguments;
  const LinearAttributes& t = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const TensorView *bias = a.optional(2), *residual = a.optional(3);
  SkinnyWeightsParams p = {};
  p.x = x.as<const float>() + first * x.row_stride, p.y = y.as<float>() + first * y.row_stride;
  p.bias = bias ? bias->as<const float>() : nullptr;
  p.residual = residual ? residual->as<const float>() + first * residual->row_stride : nullptr;
  p.rows = count, p.outputs = y.row_length();
  p.x_stride = x.row_stride, p.y_stride = y.row_stride;
  p.residual_stride = residual ? int64_t{residual->row_stride} : 0;
  p.w = weights_of(a);
  p.epilogue = epilogue_params(t.activation, t.residual_first);
  if (is_relaxed)
    return launch(work,
                  p.rows == 1   ? KernelId::relaxed_weights_by_1_row
                  : p.rows <= 4 ? KernelId::relaxed_weights_by_4_rows
                                : KernelId::relaxed_weights_by_16_rows,
                  uint32_t(ceil_div(p.outputs, kPanel)), p);
  const bool is_8 = p.rows <= WeightsOf8Rows::kRows;
  return launch(work, is_8 ? KernelId::weights_by_8_rows : KernelId::weights_by_16_rows,
                blocks_for(p.outputs, kPanel, work.traits), p,
                is_8 ? WeightsOf8Rows::kSharedBytes : WeightsOf16Rows::kSharedBytes);
}

Status launch_expanded(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  ExpandedPart part(a);
  const PackedWeights w = weights_of(a);
  const uint64_t bytes = part.weight_bytes();
  if (work.scratch_bytes < bytes) return Status(Code::kLimitExceeded);
  float* const weights = reinterpret_cast<float*>(work.scratch);
  const int64_t step = part.outputs_at_once();
  for (int64_t first = 0; first < part.outputs(); first += step) {
    const int64_t left = part.outputs() - first, count = left < step ? left : step;
    ExpandWeightsParams p = {};
    p.to = weights, p.w = w;
    p.w.numbers += first / kPanel * w.panel_bytes;
    p.w.scales += first * w.blocks;
    if (w.zeros) p.w.zeros += first * w.blocks;
    p.groups = fast_divisor(ceil_div(w.k, 8));
    p.count = ceil_div(count, kPanel) * p.groups.divisor * kPanel;
    if (w.k)
      INGOT_TRY(launch(work, KernelId::expand_weights, blocks_for(p.count, 256, work.traits), p));
    const OpArguments& one = part.set(a, first, count, weights);
    const GpuKernelEntry* row = row_of_f32(one, work.traits, work.precision);
    if (!row) return Status(Code::kLimitExceeded);
    GpuWork inner = work;
    inner.arguments = &one, inner.variant = nullptr;
    inner.scratch = work.scratch + bytes, inner.scratch_bytes = work.scratch_bytes - bytes;
    INGOT_TRY(row->plan(inner));
  }
  return {};
}

/// A few rows after the other: without scratch, from any address. For x that lies where tiles
/// cannot be read from, and sessions that are bound again with less scratch than tiles need.
Status plan_rows_by_rows(const GpuWork& work) {
  const int64_t rows = work.arguments->outputs[0].rows(), most = WeightsOf16Rows::kRows;
  const bool is_relaxed =
      work.precision != GpuPrecision::kExact && weights_of(*work.arguments).is_aligned;
  for (int64_t first = 0; first < rows; first += most)
    INGOT_TRY(launch_skinny(work, is_relaxed, first, rows - first < most ? rows - first : most));
  return {};
}

Status plan_weights(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  if (a.outputs[0].elements() == 0) return {};
  const Choice choice(a, work.traits, work.precision);
  if (choice.variants.count() == 0) return Status(Code::kLimitExceeded);
  const GpuVariant& variant = choice.variants.pick(work.variant);
  switch (variant.id) {
    case kSkinnyVariant:
    case kRelaxedRowsVariant:
      return launch_skinny(work, variant.id == kRelaxedRowsVariant, 0, a.outputs[0].rows());
    case kExpandedVariant:
      if (work.scratch_bytes >= expanded_scratch(a, work.traits, work.precision, true))
        return launch_expanded(work);
      break;
    default:
      if (choice.tiles.is_aligned && work.scratch_bytes >= weight_tiles_scratch(choice.tiles, 0))
        return launch_weight_tiles(work, choice.tiles, variant);
      break;
  }
  return is_f16(a) ? Status(Code::kLimitExceeded) : plan_rows_by_rows(work);
}

constexpr GpuKernelEntry kWeightsTable[] = {{OpCode::kLinear,
                                             "linear_weights",
                                             supports_weights,
                                             scratch_weights,
                                             plan_weights,
                                             {list_weights, scratch_of_variant},
                                             f16_operands_of_weights,
                                             least_scratch_weights}};

}  // namespace

const Span<const GpuKernelEntry> kWeightsRows = Span<const GpuKernelEntry>(kWeightsTable);

}  // namespace ingot::cuda
