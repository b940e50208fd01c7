// SPDX-License-Identifier: Apache-2.0
#include "tools/diagnose/gpu_cost/launch_work.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/gemm/tile_model.h"
#include "kernels/cuda/tensorcore/attention_split.h"
#include "kernels/cuda/tensorcore/bottleneck_cost.h"
#include "tools/diagnose/gpu_cost/block_work.h"
#include "tools/diagnose/gpu_cost/row_work.h"
#include "tools/diagnose/gpu_cost/tensor_tiles.h"

namespace ingot::gpu_cost {
namespace {

using namespace ingot::cuda;

double float_bytes(bool is_f16) { return is_f16 ? kHalf : kWord; }
constexpr double kVectorBytes = 16;  // that a thread has under way by default
// What a mask of f32 adds to the loop of attention for a score of a lane; a mask of bools or a cap,
// which are called.
constexpr double kMaskedScore = 8, kCalledScore = 26, kLanes = 32;
// Of the loop of shared windows: products of an eight of words with a panel of outputs, and
// instructions of these.
constexpr double kPanelProducts = 4, kTf32Panel = 12, kF16Panel = 8;
constexpr double kLoadsPerProduct = 2;  // of kernels of one output a thread: x and w

/// The tile of an exact product by its kernel's name, and the share of its multiply-adds that
/// loads of shared memory leave (kernels/cuda/conv2d/conv2d_plan.cpp has the same numbers).
struct F32Tile {
  double m, o, speed;
};
F32Tile f32_tile_of(const char* kernel) {
  if (contains(kernel, "large")) return {LargeTile::kPixels, LargeTile::kChannels, 1.0};
  if (contains(kernel, "square")) return {SquareTile::kPixels, SquareTile::kChannels, 0.8};
  if (contains(kernel, "thin")) return {ThinTile::kPixels, ThinTile::kChannels, 0.6};
  if (contains(kernel, "small")) return {SmallTile::kPixels, SmallTile::kChannels, 0.6};
  return {NarrowTile::kPixels, NarrowTile::kChannels, 0.8};
}

constexpr double kTileDepth = 16;
/// Tiles of m x o over k, each fetched by its block.
void set_tiles(LaunchWork* w, const F32Tile& tile, double batches, double m, double o, double k,
               bool is_early) {
  w->unit = Unit::kF32;
  w->multiply_adds = batches * m * o * k;
  w->blocks = batches * tiles(m, tile.m) * tiles(o, tile.o);
  w->issued = w->blocks * tile.m * tile.o * k / tile.speed;
  w->fetched = w->blocks * ((tile.m + tile.o) * k + tile.m * tile.o) * kWord;
  w->in_flight = (tile.m + tile.o) * kTileDepth * kWord;
  if (!is_early) return;
  w->early_share = tile.o / (tile.m + tile.o);
  w->early_bytes = std::min(w->weight_bytes, batches * o * kTileDepth * kWord);
}
/// One output a thread: both factors of each product are loaded, four at a time in `step` words.
void set_each(LaunchWork* w, double multiply_adds, double step) {
  w->multiply_adds = w->issued = multiply_adds;
  w->on_chip = multiply_adds / step * kLoadsPerProduct * kWord;
}

double image_bytes(const ConvParams& p) {
  const double images = double(p.pixels) / double(p.plane ? p.plane : 1);
  const double whole = images * p.window.h * p.window.w * p.window.c;
  return double(p.groups) * std::min(whole, double(p.pixels) * double(p.k)) * kWord;
}
double output_bytes(const ConvParams& p) {
  return double(p.groups * p.pixels * p.outputs) * (p.residual ? 2 : 1) * kWord;
}

template <class Params>
void describe(const Params&, const char*, const GpuLaunch&, LaunchWork*) {}

void describe(const ConvParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->weight_bytes = double(p.groups * p.outputs * p.k) * kWord;
  w->bytes = image_bytes(p) + output_bytes(p);
  set_tiles(w, f32_tile_of(kernel), double(p.groups), double(p.pixels), double(p.outputs),
            double(p.k), p.is_early);
}

void describe(const ConvEachParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double k = double(p.kernel_h * p.kernel_w * p.c),
               images = double(p.count) / double(p.oh * p.ow * p.outputs * p.groups);
  w->known = true;
  w->unit = Unit::kF32;
  set_each(w, double(p.count) * k, 1);
  w->weight_bytes = double(p.groups * p.outputs) * k * kWord;
  w->bytes =
      (images * double(p.h * p.width * p.c * p.groups) + double(p.count) * (p.residual ? 2 : 1)) *
      kWord;
}

void describe(const PackPanelsParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->weight_bytes = 2 * double(p.groups * p.outputs * p.k) * kWord;
}

/// Quads of channels by some pixels: each tap's weights and the window are 16-byte loads.
void describe_window(const DepthwiseParams& p, double pixels, double outputs, double images,
                     LaunchWork* w) {
  const double taps = double(p.kernel_h * p.kernel_w);
  const double columns = double(p.kernel_w + (std::max(pixels, 1.0) - 1) * double(p.stride_w));
  const double x_bytes = float_bytes(p.x_f16);
  w->known = true;
  w->unit = Unit::kF32;
  w->multiply_adds += outputs * taps;
  w->issued += outputs * taps;
  w->on_chip += outputs / pixels * (taps * kWord + double(p.kernel_h) * columns * x_bytes);
  w->weight_bytes += double(p.c) * taps * kWord;
  w->bytes += images * double(p.h * p.width * p.c) * x_bytes;
}
void describe(const DepthwiseParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  const double pixels = contains(kernel, "any") ? 1 : 4;
  const double rows = double(p.count) / tiles(double(p.ow), pixels) / tiles(double(p.c), 4);
  const double outputs = rows * double(p.ow * p.c);
  describe_window(p, pixels, outputs, rows / double(p.oh), w);
  w->bytes += outputs * (float_bytes(p.y_f16) + (p.residual ? float_bytes(p.residual_f16) : 0));
}
void describe(const DepthwisePointwiseParams& p, const char* kernel, const GpuLaunch& l,
              LaunchWork* w) {
  describe(p.product, kernel, l, w);
  const double pixels = double(p.product.pixels);
  w->bytes = output_bytes(p.product);
  describe_window(p.depthwise, 4, pixels * double(p.depthwise.c),
                  pixels / double(p.depthwise.oh * p.depthwise.ow), w);
}

void describe(const WinogradInputParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double per_tile = double(p.c) * kWord;  // 16 new pixels of 36, 36 written
  w->known = true;
  w->bytes = double(p.count) * per_tile * (16 + 36);
  w->fetched = double(p.count) * per_tile * (36 + 36);
}
void describe(const WinogradOutputParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->bytes = double(p.count) * double(p.o) * kWord * (36 + 16 * (p.residual ? 2 : 1));
}

void describe(const MatMulParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  const double m = double(p.rows.pixels), o = double(p.rows.outputs), k = double(p.rows.k);
  const double batches = double(p.batches);
  w->known = true;
  w->bytes = batches * (m * k + k * o + m * o) * kWord;
  if (!contains(kernel, "each")) return set_tiles(w, f32_tile_of(kernel), batches, m, o, k, false);
  w->unit = Unit::kF32;
  set_each(w, batches * m * o * k, 1);
}

void describe(const SkinnyParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->unit = Unit::kF32;
  w->multiply_adds = w->issued = double(p.rows * p.k * p.outputs);
  w->weight_bytes = double(p.k * p.outputs) * kWord;
  w->bytes = double(p.rows) * double(p.k + p.outputs * (p.residual ? 2 : 1)) * kWord;
  w->in_flight = SkinnyShape::kSharedBytes;
  if (!p.is_early) return;
  using S = SkinnyShape;
  w->early_share = double(S::kDepth * 16) / S::kStage;
  w->early_bytes =
      std::min(w->weight_bytes, double(p.outputs) * S::kDepth * (S::kStages - 1) * kWord);
}

double bytes_of(const PackedWeights& w, double outputs) {
  return outputs * (double(w.k) * w.bits / 8 + double(w.blocks) * (kWord + (w.zeros ? 1 : 0)));
}
/// A number is made of a weight by three instructions beside its products: once for all rows by the
/// relaxed kernels, else by each thread, which has one row or two.
void describe(const SkinnyWeightsParams& p, const char* kernel, const GpuLaunch& l, LaunchWork* w) {
  constexpr double kIssuedPerWeight = 3;
  const bool is_relaxed = contains(kernel, "relaxed");
  const double rows = double(p.rows), numbers = double(p.w.k * p.outputs);
  const double made = is_relaxed ? 1 : p.rows <= WeightsOf8Rows::kRows ? rows : rows / 2;
  w->known = true;
  w->unit = Unit::kF32;
  w->multiply_adds = rows * numbers;
  w->issued = numbers * (rows + kIssuedPerWeight * made);
  w->weight_bytes = bytes_of(p.w, double(p.outputs));
  w->bytes = rows * double(p.w.k + p.outputs * (p.residual ? 2 : 1)) * kWord;
  if (!is_relaxed) w->in_flight = l.shared_bytes;
}
void describe(const ExpandWeightsParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double outputs = double(p.count) / double(std::max<int64_t>(p.groups.divisor, 1));
  w->known = true;
  w->weight_bytes = bytes_of(p.w, outputs);
  w->bytes = outputs * double(p.w.k) * kWord;
}

/// What an epilogue reads and writes for one output.
double finish_bytes(const ProductParams& p) {
  return float_bytes(p.y_f16) + (p.residual ? float_bytes(p.residual_f16) : 0);
}
/// Partial sums of a split, added in order.
void describe_sum(const ProductParams& p, LaunchWork* w) {
  const double sums = double(p.batch_first) * double(p.m) * double(p.columns);
  w->known = true;
  w->bytes = sums * (p.splits * kWord + finish_bytes(p));
}
/// Parts that the last block of a tile of `tile` numbers adds: it reads them and writes outputs.
void add_in_last_block(const ProductParams& p, double tile, double outputs, LaunchWork* w) {
  if (!p.counters) return;
  w->tail = last_block_cycles(p.splits, tile);
  w->bytes += outputs * finish_bytes(p);
}
void describe(const ProductParams& p, const char* kernel, const GpuLaunch& l, LaunchWork* w) {
  if (contains(kernel, "add_splits")) return describe_sum(p, w);
  // f16 products of windows read packed weights alone; see kernels_of() of the plan
  const bool f16 = contains(kernel, "f16");
  const bool packed = contains(kernel, "packed") ||
                      (f16 && (contains(kernel, "windows") || contains(kernel, "first")));
  const bool is_few = contains(kernel, "one_row") || contains(kernel, "product_skinny");
  const bool words = contains(kernel, "word_");  // of two f16, in x and in w
  const double m = p.m, o = p.o, batches = l.grid_z;
  const double k = double(p.k) * (is_few && packed ? 2 : 1),
               weight = packed && !words ? kHalf : kWord;
  const double images = m / (double(p.oh) * double(p.ow));
  w->known = true;
  w->multiply_adds = batches * m * o * k * (words ? 2 : 1);
  w->weight_bytes = batches * o * k * weight;
  const double x = std::min(images * double(p.h) * p.width * p.c, m * k);
  const double sum = p.splits > 1 ? p.splits * kWord : finish_bytes(p);
  w->bytes = batches * (x * kWord + m * o * sum);
  const ProductTile tile = tile_of(kind_of(kernel));
  add_in_last_block(p, is_few ? m * kPanel : double(tile.m) * tile.o, batches * m * o, w);
  if (is_few) {
    w->unit = Unit::kF32;
    w->issued = w->multiply_adds;
    w->in_flight = 128 * kVectorBytes * 4;
    if (p.is_early) w->early_bytes = w->weight_bytes;  // into the second-level cache
    return;
  }
  w->unit = f16 ? Unit::kF16 : Unit::kTf32;
  const double stored = p.splits > 1 ? kWord : float_bytes(p.y_f16);
  set_tensor_tiles(w, kernel, {l.grid_z * 1.0, m, o, k}, stored,
                   weight == kHalf ? kPackedF16Words : kWholeWords, p.splits, p.is_early);
  if (words) w->issued *= 2;
  add_loop(w, kernel);
}
/// Weights are read as they were copied and written as fragments, besides.
void describe(const WeightTileParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  const double m = p.m, o = p.o, words = p.k;
  const WeightTileShape shape = {contains(kernel, "_f16_"), p.weights.bits};
  w->known = true;
  w->unit = shape.is_f16 ? Unit::kF16 : Unit::kTf32;
  w->multiply_adds = m * o * double(p.weights.k);
  w->weight_bytes = bytes_of(p.weights, o);
  w->bytes = m * words * kWord + m * o * (p.splits > 1 ? p.splits * kWord : finish_bytes(p));
  const ProductTile tile = tile_of(kind_of(kernel));
  add_in_last_block(p, double(tile.m) * tile.o, m * o, w);
  set_tensor_tiles(w, kernel, {1, m, o, words}, p.splits > 1 ? kWord : float_bytes(p.y_f16),
                   {shape.packed_bytes() / 16.0, shape.tile_bytes()}, p.splits, p.is_early);
  w->on_chip +=
      w->issued / (tile_of(kind_of(kernel)).m * 16.0) * (shape.tile_bytes() + shape.packed_bytes());
  if (shape.is_f16) w->issued *= 2;
  add_loop(w, kernel);
}
void describe(const RowsAsHalvesParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double rows = double(p.count) / double(std::max<int64_t>(p.pieces.divisor, 1));
  w->known = true;
  w->bytes = rows * double(p.k) * (kWord + kHalf);
}

/// Windows are computed by instructions that are counted with the others; what multiplies is the
/// tensor core.
void describe(const BottleneckParams& p, const char* kernel, const GpuLaunch& l, LaunchWork* w) {
  const bool f16 = contains(kernel, "f16");
  const double images = double(l.grid_z) / p.output_blocks, weight = f16 ? kHalf : kWord;
  const double pixels = images * p.h * p.width, outputs = images * p.oh * p.ow;
  const double numbers = f16 ? 2 : 1, c = p.c * numbers, e = p.expanded, o = p.project.o;
  const BottleneckCost cost = bottleneck_cost(p, images, f16);
  w->known = true;
  w->unit = f16 ? Unit::kF16 : Unit::kTf32;
  w->multiply_adds = pixels * c * e + outputs * e * (9 + o);
  w->weight_bytes = e * (c + o) * weight + e * 9 * kWord;
  w->bytes = pixels * p.c * kWord + outputs * o * finish_bytes(p.project);
  w->blocks = cost.blocks, w->issued = cost.products * numbers;
  w->on_chip = cost.on_chip, w->fetched = cost.fetched, w->instructions = cost.instructions;
  w->in_flight = double(p.patch_pixels) * p.c * kWord;
  if (!p.project.is_early) return;
  const double first = double(p.steps) * 2048;  // the first 32 channels
  w->early_share = first / (first + w->in_flight);
  w->early_bytes = std::min(w->weight_bytes, first);
}

/// Each block multiplies its positions, what lies between rows and behind the last one included, in
/// whole eights of words, and fetches its patch once.
void describe(const SharedWindowsParams& s, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  const ProductParams& p = s.product;
  const bool words = contains(kernel, "f16");  // of two f16
  const double m = p.m, o = p.o, k = p.k, outputs = s.panels * 16;
  const double tile_blocks = double(p.tiles_m) * tiles(o, outputs);
  const double eights = tile_blocks * tiles(p.c, 8) * kSharedTaps;
  w->known = true;
  w->unit = words ? Unit::kF16 : Unit::kTf32;
  w->multiply_adds = m * o * k * (words ? 2 : 1);
  w->weight_bytes = o * k * kWord;
  const double sum = p.splits > 1 ? p.splits * kWord : finish_bytes(p);
  w->bytes = double(s.images) * double(p.h) * p.width * p.c * kWord + m * o * sum;
  add_in_last_block(p, kSharedPixels * outputs, m * o, w);
  w->issued = eights * kSharedPixels * outputs * 8 * (words ? 2 : 1);
  // fragments of four warps: all outputs, and a quarter of the positions
  w->on_chip = eights * 8 * kWord * (kWarps * outputs + kSharedPixels);
  w->fetched = tile_blocks * (double(s.strips.patch) * p.c + outputs * k) * kWord + m * o * sum;
  w->in_flight = (kSharedRing - 1) * shared_stage_bytes(s.panels) + double(s.strips.patch) * 64 / 3;
  w->blocks = tile_blocks * p.splits;
  // The loop's figure is that of all panels; of each one that a tile has not, it has too many.
  const double of_panel = words ? kF16Panel : kTf32Panel,
               absent = double(kMaxSharedPanels - s.panels);
  const double loop = loop_instructions(kernel) * kMaxSharedPanels * kPanelProducts;
  w->instructions = eights * kWarps * (loop - absent * of_panel);
  if (!p.is_early) return;
  const double first = double(shared_stage_bytes(s.panels)) * (kSharedRing - 1);
  w->early_share = first / (first + s.strips.patch * 64.0);
  w->early_bytes = std::min(w->weight_bytes, first * tiles(o, outputs) * p.splits);
}

/// Sums of parts of the keys, and what they are read for again.
double part_bytes(const AttentionParams& p, double queries) {
  return p.splits > 1 ? queries * p.splits * (p.value_dim + 4) * kWord : 0;
}
void describe(const AttentionParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  const double units = double(p.tiles) / double(p.tiles_of_unit);
  const double queries = units * double(p.queries * p.group), keys = units * double(p.keys);
  w->known = true;
  if (contains(kernel, "parts")) {
    w->bytes = part_bytes(p, queries) + queries * p.value_dim * float_bytes(p.y_f16);
    return;
  }
  const bool halves = contains(kernel, "halves"), f16 = halves || contains(kernel, "f16");
  const bool tensor_cores = f16 || contains(kernel, "tf32");
  const double share = p.causal != CausalMask::kNone ? 0.5 : 1;
  w->unit = f16 ? Unit::kF16 : tensor_cores ? Unit::kTf32 : Unit::kF32;
  w->multiply_adds = share * queries * double(p.keys) * double(p.dim + p.value_dim);
  const double number = float_bytes(halves),
               read =
                   double(p.dim + p.value_dim) * float_bytes(halves || contains(kernel, "cache16"));
  const double sums =
      p.splits > 1 ? part_bytes(p, queries) : queries * p.value_dim * float_bytes(p.y_f16);
  w->bytes = keys * read + queries * p.dim * number + sums;
  w->blocks = double(p.tiles) * std::max(p.splits, 1);
  const bool is_few = contains(kernel, "few");  // and each key goes through shared memory alone
  const double rows = tensor_cores ? kTensorQueries : is_few ? 1 : kAttentionQueries;
  const double scores = share * double(p.tiles) * rows * double(p.keys);
  w->issued = scores * double(p.dim + p.value_dim);
  w->fetched = share * double(p.tiles) * double(p.keys) * read;
  // fragments as in a square tile, of halves for 16 queries of a warp and copied for 64; without
  // tensor cores a quad of each factor for four products
  const TileCost& tile = kTileCosts[int(TileKind::kSquare)];
  const double fragment = halves ? kHalf / 16 + kHalf / kTensorQueries
                                 : tile.step_cycles * kChipBytes / (double(tile.m) * tile.o * 16);
  w->on_chip = w->issued * (tensor_cores ? fragment : is_few ? kWord : kLoadsPerProduct);
  if (is_few) w->in_flight = 128 * kVectorBytes * kLoads;
  if (!tensor_cores) return;
  add_loop(w, kernel);
  // A block has a tile of keys and values under way, or two.
  w->in_flight = (f16 ? 2 : 1) * double(kKeyTile) * number;
  if (p.mask || p.softcap > 0)
    w->instructions +=
        scores / kLanes * (p.mask_is_bool || p.softcap > 0 ? kCalledScore : kMaskedScore);
}

/// Of the tensor that is read only what is written.
void describe(const GatherParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->bytes = (contains(kernel, "as_halves") ? 1.5 : 2) * double(p.count) * p.unit;
}
void describe(const GatherElementsParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->bytes = 2 * double(p.count) * p.unit;
}

/// A launch over columns reads what it reduces; of parts the first has all of it.
void describe(const ReduceParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double read = double(p.outputs) * double(p.positions) * double(p.length);
  w->known = true;
  w->bytes = read * dtype_bytes(p.dtype) + double(p.outputs) * dtype_bytes(p.y_dtype);
}

/// Where each output line reads: small beside what is resized with it.
void describe(const ResizeTableParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  w->known = true;
  w->bytes = double(p.entries) * 2 * kWord;
}

void describe(const ConvTransposeParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  // Of a window only the taps that meet a pixel: one in stride_h * stride_w.
  const double taps = double(p.kernel_h * p.kernel_w) / double(p.stride_h * p.stride_w);
  const double columns = tiles(double(p.outputs), 4) * double(p.groups) *
                         tiles(double(p.ow), kTransposePixels) * double(p.oh);
  const double images = double(p.count) / columns;
  const double outputs = images * double(p.oh * p.ow * p.outputs * p.groups);
  w->known = true;
  w->unit = Unit::kF32;
  set_each(w, outputs * taps * double(p.c), 4);
  w->weight_bytes = double(p.groups * p.outputs * p.c) * double(p.kernel_h * p.kernel_w) * kWord;
  w->bytes =
      images * double(p.h * p.width * p.c * p.groups) * float_bytes(contains(kernel, "f16")) +
      outputs * float_bytes(p.y_f16);
}

/// One product of the inputs a chunk; a step reads all weights of the state.
void describe(const RecurrentParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  const double gates = double(p.directions * p.gates) * double(p.padded);
  const bool inputs = contains(kernel, "inputs"), all = contains(kernel, "_steps");
  if (!inputs && !contains(kernel, "_step")) return;
  const double rows = double(p.batch) * (inputs || all ? double(p.count) : 1);
  const double k = double(inputs ? p.input : p.hidden);
  w->known = true;
  w->unit = Unit::kF32;
  set_each(w, rows * gates * k, 4);
  w->weight_bytes = gates * k * kWord;
  w->bytes = rows * (k + gates) * kWord;
  w->fetched = w->weight_bytes * (all ? double(p.count) : 1) + w->bytes;
}

void describe(const QuantizedProductParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double outputs = double(std::max<int64_t>(p.outputs.divisor, 1));
  const double groups = outputs / double(std::max<int64_t>(p.group_outputs.divisor, 1));
  const double images = double(p.count) / (outputs * double(std::max<int64_t>(p.width.divisor, 1)) *
                                           double(std::max<int64_t>(p.height.divisor, 1)));
  w->known = true;
  w->unit = Unit::kDot4;
  set_each(w, double(p.count) * double(p.runs * p.length), p.in_fours ? 4 : 1);
  w->weight_bytes = outputs * double(p.runs * p.length);
  w->bytes = images * double(p.in_h * p.in_w * p.depth) * groups + double(p.count);
}
/// A word of weights for four pixels, a word of x for each.
void describe(const QuantizedDepthwiseParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double channels = 4 * double(p.quads.divisor), taps = p.t.kernel_h * double(p.t.kernel_w);
  const double rows = double(p.count) / (double(p.quads.divisor) * double(p.across.divisor));
  const double outputs = rows * double(p.width) * channels;
  const double images = rows / double(std::max<int64_t>(p.height.divisor, 1));
  w->known = true;
  w->unit = Unit::kF32;  // integer multiply-adds have its rate, or half of it
  w->multiply_adds = w->issued = outputs * taps;
  w->on_chip = outputs * taps * (1 + 1.0 / kDepthwisePixels);
  w->weight_bytes = channels * taps;
  w->bytes = images * double(p.in_h * p.in_w) * channels + outputs;
  w->in_flight = 128 * (kDepthwisePixels + 1) * kWord;
}
/// Words of four bytes, on tensor cores.
void describe(const QuantizedTileParams& p, const char* kernel, const GpuLaunch&, LaunchWork* w) {
  constexpr double kBytes = 4;  // of a word
  const bool bytes = contains(kernel, "bytes");
  const double m = p.m, o = p.o, k = p.k;
  const double images = m / (double(p.oh) * double(p.ow));
  const double pixel = bytes ? double(p.depth.divisor) : p.c * kBytes;
  const double sum = p.finish.requant == RequantMode::kToFloat ? kWord : 1;
  w->known = true;
  w->unit = Unit::kS8;
  w->multiply_adds = m * o * p.runs * p.run_bytes;
  w->weight_bytes = o * p.runs * p.run_bytes;
  w->bytes = std::min(images * double(p.h) * p.width * pixel, m * k * kBytes) + m * o * sum;
  set_tensor_tiles(w, kernel, {1, m, o, k}, sum, kWholeWords, 1, p.is_early);
  w->issued *= kBytes;
  add_loop(w, kernel);
}
void describe(const QuantizedMatMulParams& p, const char*, const GpuLaunch&, LaunchWork* w) {
  const double n = double(std::max<int64_t>(p.n.divisor, 1)),
               m = double(std::max<int64_t>(p.m.divisor, 1)), k = double(p.k);
  const double batches = double(p.count) / (n * m);
  w->known = true;
  w->unit = Unit::kDot4;
  set_each(w, double(p.count) * k, 1);
  w->bytes = batches * (m * k + k * n + m * n);
}

using Describe = void (*)(const GpuLaunch&, LaunchWork*);
template <class Params>
void describe_launch(const GpuLaunch& l, LaunchWork* w) {
  describe(*static_cast<const Params*>(l.params), ingot_cuda_kernel_set.kernels[l.kernel].name, l,
           w);
}
constexpr Describe kDescribe[] = {
#define INGOT_DESCRIBE(name, Params, threads) describe_launch<Params>,
    INGOT_CUDA_KERNELS(INGOT_DESCRIBE)
#undef INGOT_DESCRIBE
};

}  // namespace

LaunchWork work_of(const GpuLaunch& l) {
  LaunchWork w;
  kDescribe[l.kernel](l, &w);
  w.threads = ingot_cuda_kernel_set.kernels[l.kernel].threads;
  w.shared_bytes = l.shared_bytes;
  if (w.blocks == 0) w.blocks = double(l.grid_x) * l.grid_y * l.grid_z;
  if (w.in_flight == 0) w.in_flight = w.threads * kVectorBytes;
  w.fetched = std::max(w.fetched, w.bytes + w.weight_bytes);
  return w;
}

}  // namespace ingot::gpu_cost
