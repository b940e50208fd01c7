// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/quantized/tiles.cuh - QuantizedConv2d and QuantizedLinear of bytes on tensor cores:
// the one product of kernels/cuda/tensorcore with words of four bytes, its sums requantized as they
// are stored. Sums are whole numbers modulo 2^32, so tiles and tensor cores change no bit.
// Contracts: runtime/op/quantized_conv2d.h, runtime/op/requantize.h.
#pragma once
#include "kernels/cuda/quantized/finish.cuh"
#include "kernels/cuda/tensorcore/product.cuh"

namespace ingot::cuda {

/// What lies outside of an image: its zero point.
struct NumberBorder {
  uint32_t word;
  GPU_FN NumberBorder make(const QuantizedTileParams& p, int64_t image) {
    return {p.finish.steps ? uint32_t(quant_params_of(p.finish, image).zero) * 0x01010101u
                           : p.border};
  }
  /// A tap that the window does not have is 0: it counts in no sum of numbers.
  GPU_MEMBER void copy(void* to, const void* from, bool exists, bool is_inside) const {
    const uint32_t w = exists ? word : 0;
    if (is_inside)
      copy_async16(to, from, true);
    else
      *static_cast<FourOf<uint32_t>*>(to) = {{w, w, w, w}};
  }
};
template <int kRows, int kStepsPerStage, int kThreads>
using NumberWindows = BorderedWindows<kRows, kStepsPerStage, kThreads, NumberBorder>;

/// Any channels, at any address: a word of k is four bytes of a run, or what is left of it. A word
/// at a time where channels are in fours, else a byte at a time.
template <int kRows, int kStepsPerStage, int kThreads>
struct BytePixels {
  static_assert(kThreads == kProductThreads, "tiles that are not large");
  static constexpr int kTable = 0;
  static constexpr bool kRoundsOnce = false;
  using Pixel = SinglePixel<kRows, kStepsPerStage>;
  const uint8_t* x;
  int64_t image;  // pixel (0, 0) of it, in pixels
  Pixel pixel;
  int run, word;
  NumberBorder border;
  GPU_FN BytePixels make(const QuantizedTileParams& p, const float* x, int first, int k) {
    BytePixels s;
    s.pixel = Pixel::make(p, first);
    if (!s.pixel.exists) s.pixel.y0 = -(1 << 30) - (1 << 29);  // no tap of it is inside
    s.x = reinterpret_cast<const uint8_t*>(x), s.image = int64_t(s.pixel.image) * p.h * p.width;
    s.border = NumberBorder::make(p, s.pixel.image);
    k += s.pixel.first;
    s.run = k / p.run_words, s.word = k - s.run * p.run_words;
    return s;
  }
  /// The address of byte `i` of the run, or null outside of the image.
  GPU_MEMBER const uint8_t* byte_of(const QuantizedTileParams& p, int i) const {
    const int tap = p.by_row ? int(divide(uint32_t(i), p.depth)) : 0;
    const int ky = p.by_row ? run : run / p.kernel_w, kx = p.by_row ? tap : run - ky * p.kernel_w;
    const int iy = pixel.y0 + ky * p.dilation_h, ix = pixel.x0 + kx * p.dilation_w;
    if (unsigned(iy) >= unsigned(p.h) || unsigned(ix) >= unsigned(p.width)) return nullptr;
    return x + (image + int64_t(iy) * p.width + ix) * p.pixel_stride + i -
           tap * int(p.depth.divisor);
  }
  GPU_MEMBER void skip(int) {}
  GPU_MEMBER void skip_words(const QuantizedTileParams& p, int words) {
    word += words;
    while (word >= p.run_words && run < p.runs) word -= p.run_words, run++;
  }
  GPU_MEMBER void load(const QuantizedTileParams& p, int, char* tile) {
    GPU_ROLLED for (int i = 0; i < Pixel::kEach; i++) {
      uint32_t* to = reinterpret_cast<uint32_t*>(pixel.place(tile, pixel.first + i));
      if (p.in_words && run < p.runs) {
        const uint8_t* from = byte_of(p, word * 4);
        if (from)
          copy_async4(to, from, true);
        else
          *to = border.word;
      } else {
        uint32_t bytes = 0;
        GPU_ROLLED for (int b = 0; b < 4 && run < p.runs && word * 4 + b < p.run_bytes; b++) {
          const uint8_t* from = byte_of(p, word * 4 + b);
          bytes |= (from ? *from : border.word & 255) << 8 * b;
        }
        *to = bytes;
      }
      skip_words(p, 1);
    }
    if (Pixel::kEach < Pixel::kWords) skip_words(p, Pixel::kWords - Pixel::kEach);
  }
};

/// Four neighbouring outputs from `o` on, a multiple of 4, of row m; `numbers` counts x alone.
GPU_FN void store_sums(const QuantizedTileParams& p, int64_t, int64_t m, int o, const int* sums,
                       const int32_t* numbers) {
  const ImageQuantParams steps = quant_params_of(p.finish, int64_t(divide(uint64_t(m), p.plane)));
  const int64_t to = m * p.finish.y_pixel + o;
  const int count = p.o - o < 4 ? p.o - o : 4;
  FourNumbers four;
  GPU_ROLLED for (int e = 0; e < count; e++)
      four.put(p.finish, steps, o, e, {sums[e], p.counts_numbers ? *numbers : 0}, to);
  four.store(p.finish, count, to);
}

}  // namespace ingot::cuda
