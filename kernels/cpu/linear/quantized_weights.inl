// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/linear/quantized_weights.inl - weights of 8 or 4 bits with scales, as f32 on the way
// into a product. One row reads them once, as they lie in the file; more rows read a panel that was
// expanded to f32 in the scratch. Contract: runtime/op/linear.h.
#pragma once
#include "kernels/cpu/linear/linear.inl"
#include "kernels/cpu/simd/lockstep.inl"
#include "runtime/op/linear.h"

namespace ingot::cpu {
namespace {

/// panels16 [.][k][16] of i8, four k at a time.
template <class V>
struct Weights8 {
  static constexpr DType kType = DType::kI8;
  static constexpr Packing kPacking = Packing::kPanels16;
  static constexpr int kStep = 4;  // k in a group, which has kGroupBytes of a panel
  static constexpr int64_t kGroupBytes = 4 * kPanel;
  using Group = const int8_t*;
  static int64_t panel_bytes(int64_t k) { return k * kPanel; }
  /// From output `lane` of a panel on.
  static INGOT_INLINE Group load(const uint8_t* p, int lane) {
    return reinterpret_cast<const int8_t*>(p) + lane;
  }
  template <int i>
  static INGOT_INLINE typename V::F number(Group group) {
    return V::load_i8(group + i * kPanel);
  }
};

/// panels16x4 of bytes with two numbers each: a word has eight k of one output.
template <class V>
struct Weights4 {
  static constexpr DType kType = DType::kU8;
  static constexpr Packing kPacking = Packing::kPanels16x4;
  static constexpr int kStep = 8;
  static constexpr int64_t kGroupBytes = 4 * kPanel;
  using Group = typename V::I;
  static int64_t panel_bytes(int64_t k) { return ceil_div(k, kStep) * kGroupBytes; }
  static INGOT_INLINE Group load(const uint8_t* p, int lane) { return V::load_words(p + 4 * lane); }
  template <int i>
  static INGOT_INLINE typename V::F number(Group group) {
    return V::template nibble<i>(group);
  }
};

/// Packed weights [O, k]. Scales and zeros (or null) are panels16 [O, blocks].
struct QuantizedPanels {
  const uint8_t* weights = nullptr;
  const float* scales = nullptr;
  const int8_t* zeros = nullptr;
  int64_t k = 0, block = 0, blocks = 0;
};

inline QuantizedPanels quantized_panels_of(const OpArguments& a) {
  const TensorView* zeros = a.optional(linear_weights::kZeros);
  QuantizedPanels w;
  w.weights = a.inputs[1].as<const uint8_t>();
  w.scales = a.inputs[linear_weights::kScales].as<const float>();
  w.zeros = zeros ? zeros->as<const int8_t>() : nullptr;
  w.k = a.inputs[0].row_length();
  const uint32_t block = a.as<LinearAttributes>().block;
  w.blocks = linear_weights::block_count(block, w.k), w.block = block ? block : w.k;
  return w;
}

/// Some k of NP panels: `words` as they lie, scales and zeros of their block.
template <class V, class W, int NP, bool kHasZeros>
struct WeightGroup {
  using F = typename V::F;
  static constexpr int kVecs = kPanel / V::kLanes, kAll = NP * kVecs;
  typename W::Group words[kAll];
  F scale[kAll], zero[kAll];

  INGOT_INLINE void begin_block(const QuantizedPanels& x, int64_t panel, int64_t block) {
    INGOT_UNROLL for (int j = 0; j < kAll; j++) {
      const int64_t at =
          ((panel + j / kVecs) * x.blocks + block) * kPanel + (j % kVecs) * V::kLanes;
      scale[j] = V::load(x.scales + at);
      if constexpr (kHasZeros) zero[j] = V::load_i8(x.zeros + at);
    }
  }
  INGOT_INLINE void load(const uint8_t* p, int64_t panel_bytes) {
    constexpr int64_t kAhead = 16 * W::kGroupBytes;
    INGOT_UNROLL for (int j = 0; j < kAll; j++) {
      const uint8_t* const own = p + (j / kVecs) * panel_bytes;
      if (j % kVecs == 0) V::prefetch(own + kAhead);
      words[j] = W::load(own, (j % kVecs) * V::kLanes);
    }
  }
  /// Calls use(k + i, w): kPanel * NP weights as f32.
  template <int i, class Use>
  INGOT_INLINE void use_step(int64_t k, const Use& use) const {
    F w[kAll];
    INGOT_UNROLL for (int j = 0; j < kAll; j++) {
      w[j] = W::template number<i>(words[j]);
      if constexpr (kHasZeros) w[j] = V::sub(w[j], zero[j]);
      w[j] = V::mul(w[j], scale[j]);
    }
    use(k + i, w);
  }
  /// The first `steps` k of the group.
  template <class Use, int... i>
  INGOT_INLINE void use_steps(int64_t k, int64_t steps, const Use& use, Indices<i...>) const {
    ((i < steps ? use_step<i>(k, use) : void()), ...);
  }
};

/// Calls use(k, w) with the weights of NP panels from `panel` on, k ascending.
template <class V, class W, int NP, bool kHasZeros, class Use>
INGOT_INLINE void for_weights(const QuantizedPanels& x, int64_t panel, const Use& use) {
  using All = typename MakeIndices<W::kStep>::Type;
  const int64_t panel_bytes = W::panel_bytes(x.k);
  const uint8_t* p = x.weights + panel * panel_bytes;
  WeightGroup<V, W, NP, kHasZeros> group;
  int64_t k = 0;
  for (int64_t block = 0; k < x.k; block++) {
    const int64_t end = min_of(k + x.block, x.k);
    group.begin_block(x, panel, block);
    for (; k + W::kStep <= end; k += W::kStep, p += W::kGroupBytes) {
      group.load(p, panel_bytes);
      group.use_steps(k, W::kStep, use, All());
    }
    if (k == end) continue;
    group.load(p, panel_bytes);  // behind the last k of a row
    group.use_steps(k, end - k, use, All());
    k = end;
  }
}

/// One row times NP panels.
template <class V, class W, int NP, bool kHasZeros>
void quantized_row_tile(const GemmJob& g, const QuantizedPanels& w, const TileShape& shape,
                        int64_t panel) {
  using F = typename V::F;
  constexpr int kAll = NP * (kPanel / V::kLanes);
  const int64_t at = panel * kPanel;
  const float* const bias = bias_at(g.bias, panel);
  F acc[1][kAll];
  INGOT_UNROLL for (int j = 0; j < kAll; j++) acc[0][j] = V::load(bias + j * V::kLanes);
  for_weights<V, W, NP, kHasZeros>(
      w, panel, [&](int64_t k, const F(&column)[kAll]) __attribute__((always_inline)) {
        const F x = V::splat(g.a[k]);
        INGOT_UNROLL for (int j = 0; j < kAll; j++) acc[0][j] = V::fma(x, column[j], acc[0][j]);
      });
  store_tile<V, 1, NP>(shape, acc, g.out + at, 0, g.residual ? g.residual + at : nullptr, 0,
                       min_of(g.o - at, NP * kPanel));
}
template <class V, class W, bool kHasZeros>
void quantized_row(const GemmJob& g, const QuantizedPanels& w, Range panels) {
  // panels side by side whose sums, scales and weights the registers hold
  constexpr int kWide = V::kLanes == 1 ? 1 : V::kLanes == 16 ? 4 : 2;
  const TileShape shape{nullptr, 0, 0, 0, 0, g.out_stride, g.epilogue};
  int64_t p = panels.begin;
  for (; p + kWide <= panels.end; p += kWide)
    quantized_row_tile<V, W, kWide, kHasZeros>(g, w, shape, p);
  for (; p < panels.end; p++) quantized_row_tile<V, W, 1, kHasZeros>(g, w, shape, p);
}

/// Rows [rows) times panels [panels), which are expanded a few at a time.
template <class V, class W, bool kHasZeros>
void quantized_rows(GemmJob g, const QuantizedPanels& w, Range rows, Range panels, float* floats) {
  using F = typename V::F;
  constexpr int kVecs = kPanel / V::kLanes;
  const GemmJob whole = g;
  g.weights = floats, g.reads_on = false;
  for (int64_t p = panels.begin; p < panels.end; p += linear_weights::kExpandedPanels) {
    const int64_t count = min_of(linear_weights::kExpandedPanels, panels.end - p), at = p * kPanel;
    for (int64_t i = 0; i < count; i++) {
      float* const panel = floats + i * w.k * kPanel;
      for_weights<V, W, 1, kHasZeros>(
          w, p + i, [&](int64_t k, const F(&column)[kVecs]) __attribute__((always_inline)) {
            INGOT_UNROLL for (int j = 0; j < kVecs; j++)
                V::store(panel + k * kPanel + j * V::kLanes, column[j]);
          });
    }
    g.o = min_of(whole.o - at, count * kPanel), g.out = whole.out + at;
    g.bias = whole.bias ? whole.bias + at : nullptr;
    g.residual = whole.residual ? whole.residual + at : nullptr;
    gemm<V>(g, rows, {0, count});
  }
}

template <class W>
bool quantized_weights_support(const OpArguments& a) {
  const TensorView *bias = a.optional(2), *scales = a.optional(linear_weights::kScales),
                   *zeros = a.optional(linear_weights::kZeros);
  return scales && a.inputs[1].dtype == W::kType && a.inputs[1].packing == W::kPacking &&
         scales->packing == Packing::kPanels16 &&
         (!zeros || zeros->packing == Packing::kPanels16) &&
         (!bias || bias->packing == Packing::kVector16);
}

template <class V, class W, bool kHasZeros>
void linear_of_panels(const GemmJob& g, const QuantizedPanels& w, int64_t rows, const Team& team) {
  const int64_t panels = ceil_div(g.o, kPanel);
  if (rows == 1) return quantized_row<V, W, kHasZeros>(g, w, part(panels, team.id, team.size));
  Range mine{0, rows}, cut{0, panels};
  if (panels >= team.size)
    cut = part(panels, team.id, team.size);
  else
    mine = part(rows, team.id, team.size);
  quantized_rows<V, W, kHasZeros>(g, w, mine, cut, static_cast<float*>(team.scratch));
}

template <class V, class W>
Status linear_quantized_weights(const OpArguments& a, const Team& team) {
  const TensorView& y = a.outputs[0];
  if (y.elements() == 0) return {};
  Epilogue epilogue;
  const GemmJob g = linear_job(a, &epilogue);
  const QuantizedPanels w = quantized_panels_of(a);
  if (w.zeros)
    linear_of_panels<V, W, true>(g, w, y.rows(), team);
  else
    linear_of_panels<V, W, false>(g, w, y.rows(), team);
  return {};
}

}  // namespace
}  // namespace ingot::cpu
