// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/normalize/normalize.inl - layer, rms, instance and group normalization. Contract and
// order: runtime/op/normalize.h.
#pragma once
#include "kernels/cpu/elementwise/convert.inl"
#include "kernels/cpu/reduce/lanes.inl"
#include "runtime/op/normalize.h"

namespace ingot::cpu {
namespace {
namespace tensors {

/// y[i] = fma((x[i] - mean) * inverse, scale[i], bias[i]); scale and bias may be null; y may be x.
template <class V>
INGOT_INLINE void apply_norm(const float* x, float* y, int64_t n, const float* scale,
                             const float* bias, typename V::F mean, typename V::F inverse) {
  using F = typename V::F;
  int64_t i = 0;
  if (scale && bias) {
    constexpr int kVecs = kPanel / V::kLanes;
    for (; i + kPanel <= n; i += kPanel) {
      F v[kVecs];
      INGOT_UNROLL for (int j = 0; j < kVecs; j++) v[j] =
          V::mul(V::sub(V::load(x + i + j * V::kLanes), mean), inverse);
      INGOT_UNROLL for (int j = 0; j < kVecs; j++) v[j] =
          V::fma(v[j], V::load(scale + i + j * V::kLanes), V::load(bias + i + j * V::kLanes));
      INGOT_UNROLL for (int j = 0; j < kVecs; j++) V::store(y + i + j * V::kLanes, v[j]);
    }
  }
  for (; i < n; i += V::kLanes) {
    const int64_t left = n - i;
    const bool whole = left >= V::kLanes;
    const auto get = [&](const float* p) {
      return whole ? V::load(p + i) : V::load_partial(p + i, left);
    };
    F v = V::mul(V::sub(get(x), mean), inverse);
    if (scale && bias)
      v = V::fma(v, get(scale), get(bias));
    else if (scale)
      v = V::mul(v, get(scale));
    else if (bias)
      v = V::add(v, get(bias));
    if (whole)
      V::store(y + i, v);
    else
      V::store_partial(y + i, v, left);
  }
}

template <class V>
void norm_row(const NormalizeAttributes& t, const float* x, float* y, int64_t n, const float* scale,
              const float* bias) {
  using F = typename V::F;
  float lanes[kPanel] = {};
  float mean = 0;
  if (t.kind == NormKind::kLayer) {
    fold_row<V>(lanes, x, n, [](F a, F b) { return V::add(a, b); });
    mean = sum_tree(lanes) / float(n);
    for (float& lane : lanes) lane = 0;
  }
  const F shift = V::splat(mean);
  fold_row<V>(lanes, x, n, [&](F a, F b) {
    const F d = V::sub(b, shift);
    return V::fma(d, d, a);
  });
  const float inverse = 1.0f / __builtin_sqrtf(sum_tree(lanes) / float(n) + t.epsilon);
  apply_norm<V>(x, y, n, scale, bias, shift, V::splat(inverse));
}

/// Up to 16 rows whose length is a multiple of 16, four at a time so that their chains hide each
/// other's latency. The same sums as norm_row's.
constexpr int64_t kNormBlock = 16;
template <class V>
void norm_block(const NormalizeAttributes& t, const float* x, int64_t x_stride, float* y,
                int64_t y_stride, int64_t rows, int64_t n, const float* scale, const float* bias) {
  using F = typename V::F;
  constexpr int kVecs = kPanel / V::kLanes, kTogether = V::kLanes == 1 ? 1 : 4;
  alignas(64) float lanes[(kNormBlock + kTogether) * kPanel], sums[kNormBlock + kPanel],
      mean[kNormBlock] = {};
  const auto fold = [&](auto term) __attribute__((always_inline)) {
    for (int64_t r = 0; r < rows; r += kTogether) {
      const float* row[kTogether];
      F acc[kTogether][kVecs], shift[kTogether];
      INGOT_UNROLL for (int g = 0; g < kTogether; g++) {
        const int64_t at = least_of(r + g, rows - 1);
        row[g] = x + at * x_stride, shift[g] = V::splat(mean[at]);
        INGOT_UNROLL for (int j = 0; j < kVecs; j++) acc[g][j] = V::zero();
      }
      for (int64_t i = 0; i < n; i += kPanel)
        INGOT_UNROLL for (int g = 0; g < kTogether; g++)
            INGOT_UNROLL for (int j = 0; j < kVecs; j++) acc[g][j] =
                term(acc[g][j], V::load(row[g] + i + j * V::kLanes), shift[g]);
      INGOT_UNROLL for (int g = 0; g < kTogether; g++) INGOT_UNROLL for (int j = 0; j < kVecs; j++)
          V::store(lanes + (r + g) * kPanel + j * V::kLanes, acc[g][j]);
    }
    fold_rows<V>(lanes, rows, sums, [](F a, F b) { return V::add(a, b); });
  };
  if (t.kind == NormKind::kLayer) {
    fold([](F a, F b, F) { return V::add(a, b); });
    for (int64_t r = 0; r < rows; r++) mean[r] = sums[r] / float(n);
  }
  fold([](F a, F b, F shift) {
    const F d = V::sub(b, shift);
    return V::fma(d, d, a);
  });
  for (int64_t r = 0; r < rows; r++) {
    const float inverse = 1.0f / __builtin_sqrtf(sums[r] / float(n) + t.epsilon);
    apply_norm<V>(x + r * x_stride, y + r * y_stride, n, scale, bias, V::splat(mean[r]),
                  V::splat(inverse));
  }
}

template <class V>
void norm_rows(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  const TensorView *scale = a.optional(1), *bias = a.optional(2);
  int64_t rows = 1, n = 1;
  for (int i = 0; i < x.rank; i++) (i < int(t.axis) ? rows : n) *= x.dims[i];
  const bool strided = int(t.axis) == x.rank - 1;
  const int64_t x_stride = strided ? int64_t{x.row_stride} : n,
                y_stride = strided ? int64_t{y.row_stride} : n;
  const Part mine = part_of(team, rows, 1, most_of(1, 2048 / most_of(n, 1)));
  if (x.dtype == DType::kF32) {
    int64_t r = mine.begin;
    for (; n > 0 && n % kPanel == 0 && r < mine.end; r += kNormBlock)
      norm_block<V>(t, x.as<const float>() + r * x_stride, x_stride, y.as<float>() + r * y_stride,
                    y_stride, least_of(kNormBlock, mine.end - r), n,
                    scale ? scale->as<const float>() : nullptr,
                    bias ? bias->as<const float>() : nullptr);
    for (; r < mine.end; r++)
      norm_row<V>(t, x.as<const float>() + r * x_stride, y.as<float>() + r * y_stride, n,
                  scale ? scale->as<const float>() : nullptr,
                  bias ? bias->as<const float>() : nullptr);
    return;
  }
  float *row = static_cast<float*>(team.scratch), *scales = row + n, *biases = row + 2 * n;
  // a parameter may itself be strided
  const auto load_parameter = [&](const TensorView* p, float* to) {
    for (int64_t r = 0; p && p->row_length() > 0 && r < p->rows(); r++)
      load_block<float>(p->dtype, p->as<const uint16_t>() + r * p->row_stride, p->row_length(),
                        to + r * p->row_length());
  };
  load_parameter(scale, scales);
  load_parameter(bias, biases);
  for (int64_t r = mine.begin; r < mine.end; r++) {
    load_block<float>(x.dtype, x.as<const uint16_t>() + r * x_stride, n, row);
    norm_row<V>(t, row, row, n, scale ? scales : nullptr, bias ? biases : nullptr);
    store_block<float>(x.dtype, row, n, y.as<uint16_t>() + r * y_stride);
  }
}

/// For channels [first, last) of one image: sum over its positions of (x - mean) (squared: its
/// square), position i in lane i % 16.
template <class V>
void channel_sums(const float* x, int64_t positions, int64_t stride, int64_t first, int64_t last,
                  const float* mean, float* sums) {
  using F = typename V::F;
  for (int64_t c = first; c < last; c += V::kLanes) {
    const int64_t count = least_of(V::kLanes, last - c);
    const bool whole = count == V::kLanes;
    const F shift = mean ? V::load_partial(mean + c, count) : V::zero();
    F lanes[kPanel];
    for (F& lane : lanes) lane = V::zero();
    const auto step = [&](int64_t i, int lane) __attribute__((always_inline)) {
      const F v = whole ? V::load(x + i * stride + c) : V::load_partial(x + i * stride + c, count);
      if (mean) {
        const F d = V::sub(v, shift);
        lanes[lane] = V::fma(d, d, lanes[lane]);
      } else {
        lanes[lane] = V::add(lanes[lane], v);
      }
    };
    int64_t i = 0;
    for (; i + kPanel <= positions; i += kPanel)
      for (int k = 0; k < kPanel; k++) step(i + k, k);
    for (int k = 0; i + k < positions; k++) step(i + k, k);
    for (int half = kPanel / 2; half > 0; half /= 2)
      for (int k = 0; k < half; k++) lanes[k] = V::add(lanes[k], lanes[k + half]);
    V::store_partial(sums + c, lanes[0], count);
  }
}

/// Replaces the sums of the channels of each group by their chain's total, divided by the count.
inline void share_in_groups(float* sums, int64_t first, int64_t last, int64_t size, float count) {
  for (int64_t c = first; c < last; c += size) {
    float total = sums[c];
    for (int64_t k = 1; k < size; k++) total += sums[c + k];
    for (int64_t k = 0; k < size; k++) sums[c + k] = total / count;
  }
}

template <class V>
void norm_channels(const OpArguments& a, const Team& team) {
  const TensorView &x = a.inputs[0], &y = a.outputs[0];
  const NormalizeAttributes& t = a.as<NormalizeAttributes>();
  const int64_t channels = x.row_length(), images = x.dims[0];
  if (x.elements() == 0) return;
  const int64_t positions = x.rows() / images,
                groups = t.kind == NormKind::kGroup ? t.groups : channels, size = channels / groups;
  const float *scale = a.optional(1) ? a.inputs[1].as<const float>() : nullptr,
              *bias = a.optional(2) ? a.inputs[2].as<const float>() : nullptr;
  float *mean = static_cast<float*>(team.scratch), *inverse = mean + channels;
  const bool by_image = images >= team.size;
  const Part mine = by_image ? part_of(team, images) : part_of(team, groups, most_of(1, 16 / size));
  const Part batch = by_image ? mine : Part{0, images};
  const int64_t first = by_image ? 0 : mine.begin * size,
                last = by_image ? channels : mine.end * size;
  const float count = float(positions * size);
  for (int64_t n = batch.begin; n < batch.end && first < last; n++) {
    const float* from = x.as<const float>() + n * positions * x.row_stride;
    channel_sums<V>(from, positions, x.row_stride, first, last, nullptr, mean);
    share_in_groups(mean, first, last, size, count);
    channel_sums<V>(from, positions, x.row_stride, first, last, mean, inverse);
    share_in_groups(inverse, first, last, size, count);
    for (int64_t c = first; c < last; c++)
      inverse[c] = 1.0f / __builtin_sqrtf(inverse[c] + t.epsilon);
    for (int64_t i = 0; i < positions; i++) {
      float* to = y.as<float>() + (n * positions + i) * y.row_stride;
      for (int64_t c = first; c < last; c += V::kLanes) {
        const int64_t left = last - c;
        const auto one = [&](const float* p) { return p ? p + c : nullptr; };
        apply_norm<V>(
            from + i * x.row_stride + c, to + c, least_of(left, V::kLanes), one(scale), one(bias),
            left >= V::kLanes ? V::load(mean + c) : V::load_partial(mean + c, left),
            left >= V::kLanes ? V::load(inverse + c) : V::load_partial(inverse + c, left));
      }
    }
  }
}

template <class V>
Status normalize(const OpArguments& a, const Team& team) {
  const NormKind kind = a.as<NormalizeAttributes>().kind;
  if (kind == NormKind::kLayer || kind == NormKind::kRms)
    norm_rows<V>(a, team);
  else
    norm_channels<V>(a, team);
  return {};
}

}  // namespace tensors
}  // namespace
}  // namespace ingot::cpu
