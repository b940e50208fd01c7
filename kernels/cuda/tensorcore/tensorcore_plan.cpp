// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/tensorcore/tensorcore_plan.cpp - rows of products in less than f32: windows, rows
// and matrices become one set of parameters. What these kernels do not count in 32 bits (an image
// of 2^30 pixels) goes to the exact row, which serves every precision.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/tensorcore/product_extents.h"
#include "kernels/cuda/tensorcore/tile_choice.h"
#include "runtime/op/f16_weights.h"
#include "runtime/op/linear.h"
#include "runtime/op/matmul_blocks.h"

namespace ingot::cuda {
namespace {

enum class Load { kRows, kWindows, kFirst, kTransposed, kGrouped, kAny, kWordRows, kWordWindows };

struct Product {
  ProductParams p = {};
  int64_t batches = 1;
  Load load = Load::kRows;
  bool packed_f16 = false;  // w is packed f16 weights
  bool in_f16 = false;
  bool fits = true;  // 32 bits count everything
};

constexpr int64_t kLeastGroup = 16;  // channels that a group reads; fewer are the exact row's

void set_panels(Product* q, const TensorView& w, int64_t o, int64_t k) {
  ProductParams& p = q->p;
  p.w = w.as<const float>();
  q->packed_f16 = w.dtype == DType::kF16;
  p.panel_stride = (q->packed_f16 ? ceil_div(k, 2) : k) * kPanel, p.n_stride = 1,
  p.k_stride = kPanel;
  p.o = narrow(o, &q->fits), p.readable = narrow(round_up(o, kPanel), &q->fits),
  p.k = narrow(k, &q->fits);
}
/// Dense [o][k] in `groups` parts, each a matrix of the batch that reads c neighbouring channels.
void set_groups(Product* q, const TensorView& w, int64_t groups, int64_t o, int64_t k, int64_t c) {
  ProductParams& p = q->p;
  p.w = w.as<const float>();
  p.o = p.readable = narrow(o / groups, &q->fits), p.k = narrow(k, &q->fits);
  p.n_stride = k, p.k_stride = 1, p.panel_stride = k * kPanel;
  q->batches = groups, p.batch_rank = 1, p.batch_dims[0] = fast_divisor(groups);
  p.x_batch[0] = c, p.w_batch[0] = o / groups * k, p.y_batch = p.bias_batch = o / groups;
  p.is_vector = p.is_vector && o / groups % 4 == 0;
}
/// x in f16: a word is two channels, which eights of them make pieces of 16 bytes. @pre x is set
/// as f32 would be
void count_words(Product* q, bool in_eights) {
  ProductParams& p = q->p;
  const bool windows = q->load == Load::kWindows;
  q->fits = q->fits && q->packed_f16 && in_eights && (windows || q->load == Load::kRows);
  q->load = windows ? Load::kWordWindows : Load::kWordRows;
  p.pixel_stride /= 2, p.row_stride /= 2, p.image_stride /= 2;
  p.k /= 2, p.c /= 2;
}
Product conv2d_product(const OpArguments& a) {
  const Conv2dAttributes& t = a.as<Conv2dAttributes>();
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  Product q;
  ProductParams& p = q.p;
  const bool planes = t.input_layout == ChannelLayout::kNchw;
  const int64_t n = x.dims[0], h = x.dims[planes ? 2 : 1], width = x.dims[planes ? 3 : 2];
  const int64_t c = x.dims[planes ? 1 : 3] / t.groups;
  const int64_t taps = int64_t(t.kernel_h) * t.kernel_w;
  set_epilogue(&q.p, y, a.optional(2), a.optional(3), t.activation, t.residual_first);
  if (t.method == ConvMethod::kGrouped)
    set_groups(&q, w, t.groups, y.dims[3], taps * c, c);
  else
    set_panels(&q, w, y.dims[3], taps * c);
  p.x = x.as<const float>();
  p.pixel_stride = planes ? 1 : int64_t{x.row_stride},
  p.channel_stride = planes ? h * x.row_stride : 1;
  p.row_stride = planes ? int64_t{x.row_stride} : width * x.row_stride;
  p.image_stride = planes ? c * p.channel_stride : h * p.row_stride;
  const bool is_row = !planes && is_pointwise(t);
  if (is_row)
    set_rows(&p, n * h * width, c, x.row_stride, &q.fits);
  else
    set_windows(&p, t, n, h, width, c, y, &q.fits);
  const bool in_fours =
      !planes && c % 4 == 0 && x.row_stride % 4 == 0 && is_aligned(p.x) && is_aligned(p.w);
  const bool is_small = t.kernel_h <= kMaxTapRows && t.kernel_w <= 16;
  if (t.method == ConvMethod::kGrouped) {
    // its kernel reads x as f32
    q.fits = q.fits && in_fours && is_small && c >= kLeastGroup && x.dtype != DType::kF16;
    q.load = Load::kGrouped;
    return q;
  }
  q.fits = q.fits && (!q.packed_f16 || is_aligned(p.w));
  q.load = !is_aligned(p.w)                      ? Load::kAny
           : !in_fours || (!is_row && !is_small) ? Load::kFirst
           : is_row                              ? Load::kRows
                                                 : Load::kWindows;
  if (x.dtype == DType::kF16) count_words(&q, c % 8 == 0 && x.row_stride % 8 == 0);
  return q;
}

Product linear_product(const OpArguments& a) {
  const LinearAttributes& t = a.as<LinearAttributes>();
  const TensorView &x = a.inputs[0], &w = a.inputs[1], &y = a.outputs[0];
  Product q;
  set_epilogue(&q.p, y, a.optional(2), a.optional(3), t.activation, t.residual_first);
  set_panels(&q, w, y.row_length(), x.row_length());
  set_rows(&q.p, y.rows(), x.row_length(), x.row_stride, &q.fits);
  q.p.x = x.as<const float>();
  const bool in_fours = x.row_length() % 4 == 0 && x.row_stride % 4 == 0 && is_aligned(q.p.x);
  q.fits = q.fits && (!q.packed_f16 || is_aligned(q.p.w));
  q.load = !is_aligned(q.p.w) ? Load::kAny : in_fours ? Load::kRows : Load::kFirst;
  if (x.dtype == DType::kF16) count_words(&q, x.row_length() % 8 == 0 && x.row_stride % 8 == 0);
  return q;
}

/// Strides of an operand's matrices along the batch of y; 0 where it is broadcast.
void set_batch(const TensorView& t, const TensorView& y, int64_t* strides) {
  int64_t step = t.dims[t.rank - 2] * t.row_stride;
  for (int i = 3; i <= y.rank; i++) {
    const int64_t own = i <= t.rank ? int64_t{t.dims[t.rank - i]} : 1;
    strides[y.rank - i] = own == 1 ? 0 : step;
    step *= own;
  }
}

Product matmul_product(const OpArguments& g) {
  const MatMulAttributes& t = g.as<MatMulAttributes>();
  const TensorView &a = g.inputs[0], &b = g.inputs[1], &y = g.outputs[0];
  const matmul::Extents e = matmul::extents(t, a, b);
  Product q;
  ProductParams& p = q.p;
  set_epilogue(&q.p, y, nullptr, nullptr, {}, false);
  p.alpha = t.alpha;
  set_rows(&p, e.m, e.k, t.trans_a ? 1 : int64_t{a.row_stride}, &q.fits);
  if (t.trans_a) p.channel_stride = a.row_stride;
  p.x = a.as<const float>(), p.w = b.as<const float>();
  p.o = p.readable = narrow(e.n, &q.fits), p.k = narrow(e.k, &q.fits);
  p.n_stride = t.trans_b ? int64_t{b.row_stride} : 1,
  p.k_stride = t.trans_b ? 1 : int64_t{b.row_stride}, p.panel_stride = kPanel * p.n_stride;
  p.y_batch = e.m * y.row_stride, p.batch_rank = y.rank - 2;
  for (int i = 0; i < p.batch_rank; i++)
    p.batch_dims[i] = fast_divisor(y.dims[i]), q.batches *= y.dims[i];
  narrow(q.batches, &q.fits);
  set_batch(a, y, p.x_batch), set_batch(b, y, p.w_batch);
  const bool a_in_fours = !t.trans_a && e.k % 4 == 0 && a.row_stride % 4 == 0 && is_aligned(p.x);
  const bool b_in_fours =
      (t.trans_b ? e.k : e.n) % 4 == 0 && b.row_stride % 4 == 0 && is_aligned(p.w);
  q.load = !a_in_fours || !b_in_fours ? Load::kAny : t.trans_b ? Load::kTransposed : Load::kRows;
  return q;
}

/// Whether 32 bits count what a block's copies add to where they begin: words of a window of x,
/// pieces of w along k.
bool counts_offsets(const ProductParams& p) {
  const int64_t row = int64_t{p.kernel_h} * p.dilation_h,
                column = int64_t{p.kernel_w} * p.dilation_w;
  int64_t rows = 0, columns = 0, channels = 0, w = 0;
  return checked_mul(row, p.row_stride, &rows) && checked_mul(column, p.pixel_stride, &columns) &&
         checked_mul(int64_t{p.c}, p.channel_stride, &channels) &&
         checked_mul(int64_t{p.k}, p.k_stride, &w) && rows < kMaxExtent &&
         columns < kMaxExtent / 2 && channels < kMaxExtent / 2 && w / 4 < kMaxExtent &&
         p.k_stride < kMaxExtent;
}

Product product_of(OpCode op, const OpArguments& a, const GpuTraits& traits,
                   GpuPrecision precision) {
  Product q = op == OpCode::kConv2d   ? conv2d_product(a)
              : op == OpCode::kLinear ? linear_product(a)
                                      : matmul_product(a);
  q.fits = q.fits && counts_offsets(q.p);
  q.in_f16 = is_in_f16(precision, traits);
  // f32 panels in f16: a session has none, but nothing forbids them.
  if (q.in_f16 && !q.packed_f16 && (q.load == Load::kWindows || q.load == Load::kFirst))
    q.load = Load::kAny;
  return q;
}

bool is_word_load(Load load) { return load == Load::kWordRows || load == Load::kWordWindows; }

/// Whether tiles may share windows. kWindows with packed f16 weights: x is f32, and products are
/// f16.
bool may_share(const Product& q) {
  return ((q.load == Load::kWindows && !q.packed_f16) || q.load == Load::kWordWindows) &&
         has_shared_windows(q.p);
}

/// Whether a large tile has a kernel, and a block of this GPU the shared memory for it. It takes
/// whole steps of k of one matrix, and counts pieces of 16 bytes in 32 bits.
bool may_be_large(const Product& q, const GpuTraits& traits) {
  const ProductParams& p = q.p;
  const bool loads = q.load == Load::kWordRows ||
                     (!q.in_f16 && (q.load == Load::kRows || q.load == Load::kWindows));
  int64_t x = 0, w = 0;
  return loads && q.batches == 1 && p.k > 0 && p.k % 16 == 0 &&
         checked_mul(int64_t{p.m}, p.pixel_stride, &x) &&
         checked_mul(int64_t{p.o}, int64_t{p.k}, &w) && x / 4 < kMaxExtent && w / 4 < kMaxExtent &&
         traits.shared_bytes >= uint32_t(kLargeTile.shared_bytes(kWordWeights));
}

/// Tiles that have a kernel for how the operands are read.
bool has_kernel(const Product& q, TileKind kind, const GpuTraits& traits) {
  const Load load = q.load;
  switch (kind) {
    case TileKind::kWide: return load != Load::kAny && load != Load::kGrouped;
    case TileKind::kSquare: return true;
    case TileKind::kFlat:
      return load == Load::kRows || load == Load::kWindows || is_word_load(load);
    case TileKind::kSmall: return load == Load::kRows && q.p.m <= kSkinnyRows;
    case TileKind::kLarge: return may_be_large(q, traits);
    case TileKind::kShared32:
    case TileKind::kShared48:
    case TileKind::kShared64:
    case TileKind::kShared80:
      return may_share(q) && is_worth_sharing(kind, q.p.o) &&
             cut_strips(q.p, max_patch(panels_of(kind))).count > 0;
  }
  return false;
}

/// The model's choice, which is the same at every address but for the tile: where that has no
/// kernel the square one.
TileChoice model_variant(const Product& q, const GpuTraits& traits) {
  double cycles = 0;
  TileChoice c = choose_tile(q.batches, q.p.m, q.p.o, q.p.k, traits.multiprocessors, &cycles,
                             may_be_large(q, traits) ? traits.sm : -1);
  if (!has_kernel(q, c.kind, traits)) c.kind = TileKind::kSquare;
  if (may_share(q)) choose_shared_tile(q.p, traits.multiprocessors, cycles, &c);
  return c;
}

/// The model's choice first. @pre q.fits
void list_variants(const Product& q, const GpuTraits& traits, VariantList* list) {
  const auto add = [&](TileKind kind, int splits, double cycles) {
    list->add({kTileCosts[int(kind)].name, uint16_t(splits), uint16_t(kind)}, cycles);
  };
  const TileChoice first = model_variant(q, traits);
  add(first.kind, first.splits, -1);
  const auto may_cut = [&](TileKind kind, int splits) {
    return is_shared(kind) ? may_split_slices(ceil_div(q.p.c, 16), splits)
                           : may_split(ceil_div(q.p.k, 16), splits);
  };
  for (int i = 0; i < kTileKinds; i++)
    for (int splits = 1; has_kernel(q, TileKind(i), traits) && may_cut(TileKind(i), splits);
         splits *= 2)
      if (TileKind(i) != first.kind || splits != first.splits) add(TileKind(i), splits, 0);
}

/// What was asked for, where it is offered; else the model's. 32 bits may turn out not to count
/// everything.
TileChoice pick(Product* q, const GpuTraits& traits, const GpuVariant* asked) {
  // the most blocks
  q->fits = q->fits && ceil_div(q->p.m, kFlatTile.m) * ceil_div(q->p.o, kSquareTile.o) < kMaxExtent;
  if (!asked || !q->fits) return model_variant(*q, traits);
  VariantList variants;
  list_variants(*q, traits, &variants);
  const GpuVariant& variant = variants.pick(asked);
  return {TileKind(variant.id), variant.parts};
}

/// Fills what follows from the extents and the number of parts.
void split(Product* q, const TileChoice& tile) {
  ProductParams& p = q->p;
  const int splits = tile.splits;
  set_steps(&p);
  if (is_shared(tile.kind)) {
    const int slices = int(ceil_div(p.c, 16));
    p.split_steps = int(ceil_div(slices, splits)), p.splits = int(ceil_div(slices, p.split_steps));
    return;
  }
  set_splits(&p, splits);
}
uint64_t partial_bytes(const Product& q) { return uint64_t(q.batches) * partial_bytes(q.p); }

const GpuKernelEntry* exact_row(OpCode op, const OpArguments& a, const GpuTraits& traits) {
  return find_gpu_row(ingot_cuda_kernel_set, op, a, traits, GpuPrecision::kExact);
}

template <OpCode op>
uint64_t scratch_of(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                    const GpuVariant* variant) {
  if (a.outputs[0].elements() == 0) return 0;
  Product q = product_of(op, a, traits, precision);
  const TileChoice tile = pick(&q, traits, variant);
  if (q.fits) {
    split(&q, tile);
    return partial_bytes(q);
  }
  const GpuKernelEntry* exact = q.packed_f16 ? nullptr : exact_row(op, a, traits);
  return exact && exact->scratch ? exact->scratch(a, traits, GpuPrecision::kExact) : 0;
}
template <OpCode op>
uint64_t scratch_tensorcore(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
  return scratch_of<op>(a, traits, precision, nullptr);
}
template <OpCode op>
uint64_t scratch_of_variant(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                            const GpuVariant& variant) {
  return scratch_of<op>(a, traits, precision, &variant);
}
template <OpCode op>
uint32_t list_tensorcore(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision,
                         GpuVariant* out) {
  if (a.outputs[0].elements() == 0) return 0;
  Product q = product_of(op, a, traits, precision);
  (void)pick(&q, traits, nullptr);
  if (!q.fits) return 0;
  VariantList variants;
  list_variants(q, traits, &variants);
  return variants.copy(out);
}

#define INGOT_KERNELS_OF(name) \
  { KernelId::product_f16_##name, KernelId::product_tf32_##name }
struct Kernels {
  KernelId f16, tf32;
};
/// @pre has_kernel()
Kernels kernels_of(Load load, bool packed_f16, TileKind kind) {
  const bool wide = kind == TileKind::kWide, flat = kind == TileKind::kFlat;
  switch (load) {
    case Load::kRows:
      if (packed_f16)
        return {wide   ? KernelId::product_f16_packed_128x64
                : flat ? KernelId::product_f16_packed_32x128
                       : KernelId::product_f16_packed_64x64,
                KernelId::kCount};
      if (kind == TileKind::kLarge) return {KernelId::kCount, KernelId::product_tf32_rows_128x128};
      if (wide) return INGOT_KERNELS_OF(rows_128x64);
      if (flat) return INGOT_KERNELS_OF(rows_32x128);
      return INGOT_KERNELS_OF(rows_64x64);
    case Load::kWindows:
      if (kind == TileKind::kLarge)
        return {KernelId::kCount, KernelId::product_tf32_windows_128x128};
      if (wide) return INGOT_KERNELS_OF(windows_128x64);
      if (flat) return INGOT_KERNELS_OF(windows_32x128);
      return INGOT_KERNELS_OF(windows_64x64);
    case Load::kFirst:
      if (wide) return INGOT_KERNELS_OF(first_128x64);
      return INGOT_KERNELS_OF(first_64x64);
    case Load::kTransposed:
      if (wide) return INGOT_KERNELS_OF(transposed_128x64);
      return INGOT_KERNELS_OF(transposed_64x64);
    case Load::kGrouped: return INGOT_KERNELS_OF(grouped_64x64);
    case Load::kWordRows:
      if (kind == TileKind::kLarge)
        return {KernelId::product_f16_word_rows_128x128, KernelId::kCount};
      return {wide   ? KernelId::product_f16_word_rows_128x64
              : flat ? KernelId::product_f16_word_rows_32x128
                     : KernelId::product_f16_word_rows_64x64,
              KernelId::kCount};
    case Load::kWordWindows:
      return {wide   ? KernelId::product_f16_word_windows_128x64
              : flat ? KernelId::product_f16_word_windows_32x128
                     : KernelId::product_f16_word_windows_64x64,
              KernelId::kCount};
    case Load::kAny: break;
  }
  return INGOT_KERNELS_OF(any_64x64);
}
#undef INGOT_KERNELS_OF

Status launch_product(const GpuWork& work, Product& q, TileKind kind) {
  ProductParams& p = q.p;
  const bool in_f16 = is_in_f16(work.precision, work.traits);
  const bool few = kind == TileKind::kSmall;
  const Kernels kernels = few ? Kernels() : kernels_of(q.load, q.packed_f16, kind);
  const ProductTile tile = tile_of(kind);
  p.tiles_m = int(ceil_div(p.m, tile.m));
  if (few && q.packed_f16)
    p.k /= 2, p.split_steps = int(ceil_div(p.split_steps, 2));  // of its words
  const KernelId of_one =
      q.packed_f16 ? KernelId::product_one_row_packed_f16 : KernelId::product_one_row;
  const KernelId of_few =
      q.packed_f16 ? KernelId::product_skinny_packed_f16 : KernelId::product_skinny;
  const KernelId kernel = few ? (p.m == 1 ? of_one : of_few) : in_f16 ? kernels.f16 : kernels.tf32;
  const uint32_t blocks =
      few ? uint32_t(ceil_div(p.o, 16)) : uint32_t(p.tiles_m) * uint32_t(ceil_div(p.o, tile.o));
  const double numbers = few ? double(p.m) * kPanel : double(tile.m) * tile.o;
  p.counters = take_counters(work, p, q.batches, blocks, numbers);
  constexpr int64_t kMaxBatches = 65535;
  for (int64_t first = 0; first < q.batches; first += kMaxBatches) {
    const int64_t count = q.batches - first < kMaxBatches ? q.batches - first : kMaxBatches;
    p.batch_first = int(first);
    // where x is f16, weights take as many words as it
    const bool halves_weights = q.packed_f16 && !is_word_load(q.load);
    const bool singly = q.load == Load::kFirst || q.load == Load::kAny;
    const int shared = tile.shared_bytes(halves_weights ? kPackedF16Weights : kWordWeights, singly);
    INGOT_TRY(launch(work, kernel, blocks, p, few ? 0 : uint32_t(shared), uint32_t(p.splits),
                     uint32_t(count)));
  }
  return {};
}

Status launch_shared_windows(const GpuWork& work, Product& q, TileKind kind) {
  SharedWindowsParams s = {};
  s.panels = panels_of(kind), s.product = q.p;
  s.strips = cut_strips(q.p, max_patch(s.panels)), s.images = q.p.m / (q.p.oh * q.p.ow);
  s.product.tiles_m = s.strips.tiles * s.strips.count;
  s.tiles_m = fast_divisor(s.product.tiles_m), s.tiles = fast_divisor(s.strips.tiles),
  s.pitch = fast_divisor(s.strips.pitch), s.image_rows = fast_divisor(s.strips.image_rows);
  const int64_t blocks = s.product.tiles_m * ceil_div(q.p.o, s.panels * 16);
  s.product.counters = q.p.counters =
      take_counters(work, q.p, 1, blocks, double(kSharedPixels) * s.panels * 16);
  return launch(work,
                q.load == Load::kWordWindows ? KernelId::product_f16_shared_windows
                                             : KernelId::product_tf32_shared_windows,
                uint32_t(blocks), s, uint32_t(shared_windows_bytes(s.panels, s.strips.patch)),
                uint32_t(q.p.splits));
}

template <OpCode op>
Status plan_tensorcore(const GpuWork& work) {
  const OpArguments& a = *work.arguments;
  if (a.outputs[0].elements() == 0) return {};
  Product q = product_of(op, a, work.traits, work.precision);
  TileChoice variant = pick(&q, work.traits, work.variant);
  ProductParams& p = q.p;
  if (!q.fits) {
    if (q.packed_f16) return Status(Code::kLimitExceeded);  // no other row reads them
    const GpuKernelEntry* exact = exact_row(op, a, work.traits);
    return exact ? exact->plan(work) : Status(Code::kLimitExceeded);
  }
  split(&q, variant);
  // A session that may be bound again has scratch for its upper bounds, where k may have been cut
  // into fewer parts.
  for (; partial_bytes(q) > work.scratch_bytes; split(&q, variant)) variant.splits /= 2;
  if (p.splits > 1) p.partial = reinterpret_cast<float*>(work.scratch);
  p.is_early = work.constants.has(p.w);
  INGOT_TRY(is_shared(variant.kind) ? launch_shared_windows(work, q, variant.kind)
                                    : launch_product(work, q, variant.kind));
  if (p.splits == 1 || p.counters) return {};
  return launch_add_splits(work, &p, q.batches);
}

template <OpCode op>
bool supports_tensorcore(const OpArguments& a, const GpuTraits& traits, GpuPrecision precision) {
  if (precision == GpuPrecision::kExact || !traits.has_tensor_cores()) return false;
  if (op == OpCode::kMatMul) return true;
  if (op == OpCode::kConv2d && a.as<Conv2dAttributes>().method == ConvMethod::kGrouped) return true;
  if (op == OpCode::kLinear && linear_weights::has_quantized_weights(a)) return false;
  const TensorView* bias = a.optional(2);
  return takes_f16_weights(op, a.attributes, 1, a.inputs[1].packing,
                           bias ? bias->packing : Packing::kVector16);
}

/// x where its kernels read words, what the epilogue reads and writes.
template <OpCode op>
uint64_t f16_operands_of(const OpArguments& a, const GpuTraits& traits) {
  const uint64_t y = uint64_t{1} << a.input_count, residual = 1 << 3;
  if (a.outputs[0].elements() == 0) return 0;
  const bool is_f16 = op != OpCode::kMatMul && a.inputs[0].dtype == DType::kF16;
  Product q = product_of(op, a, traits, GpuPrecision::kFp16);
  (void)pick(&q, traits, nullptr);
  // Of a few rows the kernel that reads w once takes f32. What x has to be is asked again as f32.
  if (is_f16) return uint64_t{q.fits && q.p.m > kSkinnyRows} | residual | y;
  return q.fits ? (op == OpCode::kMatMul ? y : 1 | residual | y) : 0;
}

template <OpCode op>
constexpr GpuKernelEntry row(const char* name) {
  return {op,
          name,
          supports_tensorcore<op>,
          scratch_tensorcore<op>,
          plan_tensorcore<op>,
          {list_tensorcore<op>, scratch_of_variant<op>},
          f16_operands_of<op>};
}
constexpr GpuKernelEntry kTensorcoreTable[] = {row<OpCode::kConv2d>("conv2d_tensorcore"),
                                               row<OpCode::kLinear>("linear_tensorcore"),
                                               row<OpCode::kMatMul>("matmul_tensorcore")};

}  // namespace

const Span<const GpuKernelEntry> kTensorcoreRows = Span<const GpuKernelEntry>(kTensorcoreTable);

}  // namespace ingot::cuda
