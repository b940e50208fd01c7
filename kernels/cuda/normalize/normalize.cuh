// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/normalize/normalize.cuh - layer, rms, instance and group norm. Contract and order:
// runtime/op/normalize.h. layer, rms: rows of up to 1024 elements are held by half a warp, longer
// ones take a block. instance, group: a thread for each of the 16 virtual lanes of a channel, 32
// neighbouring channels a block; sums, then squares, then the groups, then all elements.
#pragma once
#include "kernels/cuda/softmax/softmax.cuh"

namespace ingot::cuda {

GPU_FN float inverse_deviation(float squares, float count, float epsilon) {
  return 1.0f / __builtin_sqrtf(squares / count + epsilon);
}
GPU_FN float normalized(float x, float mean, float inverse, bool has_scale, float scale,
                        bool has_bias, float bias) {
  const float v = (x - mean) * inverse;
  if (has_scale && has_bias) return V::fma(v, scale, bias);
  return has_scale ? v * scale : has_bias ? v + bias : v;
}
/// Bits of scale and bias, where there are any.
struct NormBits {
  uint32_t x, scale, bias;
};
GPU_FN NormBits norm_bits(const NormRowsParams& p, int64_t i, uint32_t x) {
  return {x, p.scale ? load_bits(p.dtype, p.scale, i) : 0,
          p.bias ? load_bits(p.dtype, p.bias, i) : 0};
}
GPU_FN void store_normalized(const NormRowsParams& p, int64_t y, float x, const NormBits& bits,
                             float mean, float inverse) {
  store_real(p.y_dtype, p.y, y,
             normalized(x, mean, inverse, p.scale, real_of(p.dtype, bits.scale), p.bias,
                        real_of(p.dtype, bits.bias)));
}

GPU_FN void norm_held(const NormRowsParams& p, float* held, int64_t row) {
  const int64_t x = row * p.x_stride, y = row * p.y_stride;
  const int n = row < p.rows ? int(p.n) : 0;
  float sum = 0, squares = 0;
  each_of_row(
      n, [&](int i) { return load_bits(p.x_dtype, p.x, x + i); },
      [&](int i, uint32_t bits) { sum += held[i] = real_of(p.x_dtype, bits); });
  const float mean = p.has_mean ? sum_lanes(sum) / float(p.n) : 0.0f;
  each_of_row(
      n, [&](int i) { return held[i]; },
      [&](int, float v) {
        const float d = v - mean;
        squares = V::fma(d, d, squares);
      });
  const float inverse = inverse_deviation(sum_lanes(squares), float(p.n), p.epsilon);
  each_of_row(
      n, [&](int i) { return norm_bits(p, i, 0); },
      [&](int i, const NormBits& bits) {
        store_normalized(p, y + i, held[i], bits, mean, inverse);
      });
}

INGOT_GPU_KERNEL(norm_rows, NormRowsParams, 64) {
  float* held = held_row<64>();
  GPU_ROLLED for (int64_t row = grid_row(); row - row % 2 < p.rows; row += grid_rows())
      norm_held(p, held, row);
}

INGOT_GPU_KERNEL(norm_long, NormRowsParams, 256) {
  GPU_SHARED(RowChunks, chunks);
  GPU_ROLLED for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const int64_t x = row * p.x_stride, y = row * p.y_stride;
    const auto load = [&](int64_t i) { return load_bits(p.x_dtype, p.x, x + i); };
    const auto real = [&](uint32_t bits) { return real_of(p.x_dtype, bits); };
    const float mean = p.has_mean ? sum_block(&chunks, p.n, load, real) / float(p.n) : 0.0f;
    const float squares = fold_block(
        &chunks, p.n, 0.0f, load, [&](uint32_t bits) { return real(bits) - mean; },
        [](float a, float d) { return V::fma(d, d, a); }, [](float a, float b) { return a + b; });
    const float inverse = inverse_deviation(squares, float(p.n), p.epsilon);
    each_loaded<2>(
        int64_t{threadIdx.x}, p.n, kLongThreads,
        [&](int64_t i) { return norm_bits(p, i, load(i)); },
        [&](int64_t i, const NormBits& bits) {
          store_normalized(p, y + i, real(bits.x), bits, mean, inverse);
        });
  }
}

constexpr int kChannelTile = 32;

/// The chain over the channels of c's group, over their count.
GPU_FN float group_share(const NormChannelsParams& p, const float* sums, int64_t image, int64_t c) {
  const int64_t first = int64_t(divide(uint64_t(c), p.group)) * p.group.divisor;
  const float* own = sums + image * p.channels.divisor + first;
  float total = own[0];
  GPU_ROLLED for (int64_t k = 1; k < p.group.divisor; k++) total += own[k];
  return total / float(p.positions * p.group.divisor);
}

/// For each channel of each image: position i in lane i % 16, then the tree. squares: of the
/// differences from the mean.
template <bool squares>
GPU_FN void channel_sums(const NormChannelsParams& p) {
  GPU_SHARED_ARRAY(float, lanes, [kRowLanes][kChannelTile]);
  GPU_SHARED_ARRAY(float, means, [kChannelTile]);
  const int column = int(threadIdx.x % kChannelTile), lane = int(threadIdx.x / kChannelTile);
  const int64_t channels = p.channels.divisor, tiles = (channels + kChannelTile - 1) / kChannelTile;
  GPU_ROLLED for (int64_t t = blockIdx.x; t < tiles * p.images; t += gridDim.x) {
    const int64_t image = t / tiles, c = t % tiles * kChannelTile + column;
    const bool is_live = c < channels;
    if (squares && lane == 0) means[column] = is_live ? group_share(p, p.sums, image, c) : 0.0f;
    __syncthreads();
    const float* x = p.x + image * p.positions * p.x_stride + c;
    float sum = 0;
    const float mean = squares ? means[column] : 0.0f;
    sum = fold_lane(
        is_live ? p.positions : 0, sum, [&](int64_t i) { return x[i * p.x_stride]; },
        [&](float acc, float v) {
          const float d = v - mean;
          return squares ? V::fma(d, d, acc) : acc + v;
        },
        lane);
    lanes[lane][column] = sum;
    for (int half = kRowLanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane < half) lanes[lane][column] += lanes[lane + half][column];
    }
    if (lane == 0 && is_live)
      (squares ? p.squares : p.sums)[image * channels + c] = lanes[0][column];
    __syncthreads();
  }
}
INGOT_GPU_KERNEL(norm_channel_sums, NormChannelsParams, 512) { channel_sums<false>(p); }
INGOT_GPU_KERNEL(norm_channel_squares, NormChannelsParams, 512) { channel_sums<true>(p); }

INGOT_GPU_KERNEL(norm_channel_finish, NormChannelsParams, 128) {
  const int64_t count = p.images * p.channels.divisor;
  GPU_ROLLED for (int64_t i = grid_thread(); i < count; i += grid_threads()) {
    uint64_t image = uint64_t(i);
    const int64_t c = int64_t(take_remainder(&image, p.channels));
    p.means[i] = group_share(p, p.sums, int64_t(image), c);
    p.inverses[i] =
        1.0f / __builtin_sqrtf(group_share(p, p.squares, int64_t(image), c) + p.epsilon);
  }
}

INGOT_GPU_KERNEL(norm_channel_apply, NormChannelsParams, 256) {
  const int64_t count = p.images * p.positions * p.channels.divisor;
  GPU_ROLLED for (int64_t i = grid_thread(); i < count; i += grid_threads()) {
    uint64_t row = uint64_t(i);
    const int64_t c = int64_t(take_remainder(&row, p.channels)),
                  image = int64_t(divide(row, p.by_positions));
    const int64_t of_image = image * p.channels.divisor + c;
    const float x = p.x[int64_t(row) * p.x_stride + c], scale = p.scale ? p.scale[c] : 0.0f,
                bias = p.bias ? p.bias[c] : 0.0f;
    p.y[int64_t(row) * p.y_stride + c] =
        normalized(x, p.means[of_image], p.inverses[of_image], p.scale, scale, p.bias, bias);
  }
}

}  // namespace ingot::cuda
