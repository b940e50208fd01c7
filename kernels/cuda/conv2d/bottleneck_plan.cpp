// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/conv2d/bottleneck_plan.cpp - which three stages of a chain are one launch, and the
// tile of it: the one that takes the fewest cycles of those that fit shared memory.
#include "kernels/cpu/simd/half.inl"
#include "kernels/cuda/conv2d/conv2d_launch.h"
#include "kernels/cuda/tensorcore/bottleneck_cost.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kMaxNumbers = 1 << 30, kMaxChannels = 1 << 15;
constexpr int kMaxTile = 32;

bool is_whole_pointwise(const Conv2dAttributes& t) {
  return t.method == ConvMethod::kDirect && t.input_layout == ChannelLayout::kNhwc &&
         t.groups == 1 && t.kernel_h == 1 && t.kernel_w == 1 && t.stride_h == 1 &&
         t.stride_w == 1 && !t.pad_top && !t.pad_left && !t.pad_bottom && !t.pad_right;
}
bool is_window(const Conv2dAttributes& t) {
  return t.method == ConvMethod::kDepthwise && t.kernel_h == 3 && t.kernel_w == 3 &&
         t.dilation_h == 1 && t.dilation_w == 1 && t.stride_h == t.stride_w && t.stride_h <= 2;
}

/// What the kernel reads: 16 bytes at a time, and f16 where weights are packed.
bool reads_operands(const BottleneckJob& b) {
  const ConvJob &e = b.expand, &w = b.window, &o = b.project;
  const int64_t whole = b.is_f16 ? 8 : 4;
  if (e.x_f16 != b.is_f16 || e.y_f16 != b.is_f16 || w.y_f16 != b.is_f16) return false;
  return e.e.c > 0 && e.e.c % whole == 0 && e.x_stride % whole == 0 &&
         (!b.is_f16 || w.e.c % 8 == 0) && is_aligned(e.x) && is_aligned(e.w) &&
         is_aligned(e.bias) && is_aligned(w.w) && is_aligned(w.bias) && is_aligned(o.w) &&
         e.x != o.y;
}
/// Pieces of an image of x, and blocks, are counted in 32 and 16 bits.
bool counts_in_32_bits(const BottleneckJob& b) {
  const conv::Extents &e = b.expand.e, &o = b.project.e;
  constexpr int64_t kMaxBlocks = 65535;
  int64_t numbers = 0;
  return checked_mul(e.h, e.w, &numbers) && checked_mul(numbers, b.expand.x_stride, &numbers) &&
         numbers < kMaxNumbers && o.oh * o.ow < kMaxNumbers && o.oh <= kMaxBlocks &&
         o.ow < kMaxNumbers && e.c < kMaxChannels && e.o < kMaxChannels && o.o < kMaxChannels &&
         o.n <= kMaxBlocks / ceil_div(o.o, kBlockOutputs) && b.window.t->pad_top < 1 << 20 &&
         b.window.t->pad_left < 1 << 20;
}

/// What is no clamp is one that changes nothing.
EpilogueParams always_clamped(const ActivationSpec& activation) {
  EpilogueParams e = epilogue_params(activation, false);
  if (!e.clamps) e.low = -__builtin_inff();
  return e;
}

HalvesClamp halves_of(const EpilogueParams& e) {
  return {cpu::f32_to_f16(e.low) * 0x10001u, cpu::f32_to_f16(e.high) * 0x10001u};
}

BottleneckParams params_of(const BottleneckJob& b) {
  const ConvJob &e = b.expand, &w = b.window, &o = b.project;
  const int64_t halves = b.is_f16 ? 2 : 1;  // numbers in a word
  BottleneckParams p = {};
  p.x = e.x, p.expand_w = e.w, p.expand_bias = e.bias, p.window_w = w.w, p.window_bias = w.bias,
  p.project_w = o.w;
  const int64_t pixel = e.x_stride / halves;
  p.pixel_pieces = int(pixel / 4), p.row_pieces = int(e.e.w * pixel / 4),
  p.image_stride = e.e.h * e.e.w * pixel;
  p.c = int(e.e.c / halves), p.k = int(ceil_div(e.e.o, halves)), p.expanded = int(e.e.o);
  p.expand_panel = uint32_t(p.c) * (kPanel / 4), p.project_panel = uint32_t(p.k) * (kPanel / 4);
  p.padded = int(round_up(e.e.o, kPanel)), p.output_blocks = int(ceil_div(o.e.o, kBlockOutputs));
  p.h = int(e.e.h), p.width = int(e.e.w), p.oh = int(o.e.oh), p.ow = int(o.e.ow);
  p.steps = int(ceil_div(p.c, 16));
  p.expand_panels = int(ceil_div(e.e.o, kPanel)), p.project_panels = int(ceil_div(o.e.o, kPanel));
  p.stride = int(w.t->stride_h), p.pad_top = int(w.t->pad_top), p.pad_left = int(w.t->pad_left);
  p.expand = always_clamped(e.t->activation), p.window = always_clamped(w.t->activation);
  p.expand_halves = halves_of(p.expand), p.window_halves = halves_of(p.window);
  ProductParams& q = p.project;
  q.bias = o.bias, q.residual = o.residual, q.y = o.y, q.alpha = 1;
  q.y_stride = o.y_stride, q.residual_stride = o.residual_stride;
  q.o = int(o.e.o), q.activation = o.t->activation, q.residual_first = o.t->residual_first;
  q.y_f16 = o.y_f16, q.residual_f16 = o.residual_f16;
  q.is_vector = is_aligned(q.y, q.y_f16 ? 8 : 16) && is_aligned(q.bias) &&
                is_aligned(q.residual, q.residual_f16 ? 8 : 16) && q.y_stride % 4 == 0 &&
                q.residual_stride % 4 == 0;
  return p;
}

/// Bytes of shared memory; 0: the tile is none of the kernel's.
int set_tile(BottleneckParams* p, int height, int width, bool is_f16) {
  const int cells_h = int(ceil_div(height, kCellHeight));
  p->tile_h = height, p->tile_w = width, p->cells_w = int(ceil_div(width, kCellWidth));
  p->cells = cells_h * p->cells_w;
  p->patch_w = (width - 1) * p->stride + 3;
  p->patch_pixels = ((height - 1) * p->stride + 3) * p->patch_w;
  p->groups = int(ceil_div(p->patch_pixels, 8));
  // exact for 160 pixels and 8 cells
  p->patch_inverse = int(ceil_div(1 << 16, p->patch_w)),
  p->cell_inverse = int(ceil_div(1 << 8, p->cells_w));
  if (p->cells > kMaxCells || p->groups > kMaxPatchGroups) return 0;
  p->tiles_w = int(ceil_div(p->ow, width)), p->tiles_h = int(ceil_div(p->oh, height));
  const int outputs =
      int(ceil_div(p->project.o < kBlockOutputs ? p->project.o : kBlockOutputs, 32));
  const int steps = is_f16 ? 1 : 2, patch = p->steps * p->groups * 512;
  // Cells reach beyond the patch where a tile is none of whole cells; what they find there is of no
  // pixel, and may be the patch.
  const int last = ((cells_h * kCellHeight - 1) * p->stride + 2) * p->patch_w +
                   (p->cells_w * kCellWidth - 1) * p->stride + 3;
  int expanded = p->groups * 8 * kExpandedPitch;
  const int others[] = {p->cells * 512 * steps, last * kExpandedPitch - patch};
  for (const int bytes : others) expanded = bytes > expanded ? bytes : expanded;
  p->patch_at = int(round_up(expanded, 128));
  p->expand_at = p->patch_at + patch;
  p->project_at = p->expand_at + p->steps * 2048;
  p->channels_at = p->project_at + steps * outputs * 2048;
  const int copies = p->channels_at + kChannelRows * kChannelRow,
            sums = p->cells * kCellPixels * (outputs * 32 + 4) * 4;
  return copies > sums ? copies : sums;
}

StagedBottleneck staged(const GpuWork& work, const BottleneckJob& b) {
  const conv::Extents &e = b.expand.e, &o = b.project.e;
  const auto element = [](bool is_f16) { return is_f16 ? 2.0 : 4.0; };
  return {double(e.n * e.h * e.w),
          double(o.n * o.oh * o.ow),
          double(e.c),
          double(e.o),
          double(o.o),
          element(b.is_f16),
          element(b.project.y_f16),
          b.project.residual ? element(b.project.residual_f16) : 0,
          !b.is_f16 && joins_pointwise(work, b.window, b.project)};
}

}  // namespace

bool choose_bottleneck(const GpuWork& work, const BottleneckJob& b, BottleneckLaunch* out) {
  const bool has_type =
      b.is_f16 ? work.precision == GpuPrecision::kFp16
               : work.precision == GpuPrecision::kFast && !is_in_f16(work.precision, work.traits);
  const conv::Extents& o = b.project.e;
  if (o.n < 1 || o.oh < 1 || o.ow < 1 || o.o < 1) return false;
  if (!has_type || !work.traits.has_tensor_cores() || !is_whole_pointwise(*b.expand.t) ||
      !is_window(*b.window.t) || !is_whole_pointwise(*b.project.t) || !reads_operands(b) ||
      !counts_in_32_bits(b))
    return false;
  const StagedBottleneck stages = staged(work, b);
  const double bytes = stages.pixels * stages.c * stages.element +
                       stages.inner * stages.o * (stages.y_element + stages.residual_element);
  double least = staged_cycles(work.traits, stages);
  BottleneckParams p = params_of(b);
  bool found = false;
  for (int height = 1; height <= kMaxTile && height < p.oh + 1; height++)
    for (int width = 1; width <= kMaxTile && width < p.ow + 1; width++) {
      const int shared = set_tile(&p, height, width, b.is_f16);
      if (shared == 0) break;  // wider ones have too many cells as well
      if (uint32_t(shared) > kBottleneckShared) continue;
      const BottleneckCost cost = bottleneck_cost(p, double(o.n), b.is_f16);
      const double cycles = bottleneck_cycles(work.traits, p, cost, bytes);
      if (cycles >= least) continue;
      least = cycles, found = true;
      *out = {p, uint32_t(o.n), uint32_t(shared)};
    }
  return found;
}

Status launch_bottleneck(const GpuWork& work, const BottleneckLaunch& l, bool is_f16) {
  BottleneckParams p = l.p;
  const GpuConstants& c = work.constants;
  p.project.is_early = c.has(p.expand_w) && c.has_or_null(p.expand_bias);
  return launch(work, is_f16 ? KernelId::bottleneck_f16 : KernelId::bottleneck_tf32,
                uint32_t(l.p.tiles_w), p, l.shared_bytes, uint32_t(l.p.tiles_h),
                l.images * uint32_t(l.p.output_blocks));
}

}  // namespace ingot::cuda
