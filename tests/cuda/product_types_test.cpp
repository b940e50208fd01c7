// SPDX-License-Identifier: Apache-2.0
// The one template of products: sums of bytes, exact and without bank conflicts however x is read;
// and with operands that no row has yet, bf16, and few rows times weights of s8. Kernels of this
// test, in the emulator.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/quantized/tiles.cuh"
#include "kernels/cuda/tensorcore/skinny_product.cuh"
#include "tools/diagnose/golden/tolerance.h"

using namespace ingot;
using namespace ingot::cuda;

namespace {

template <class Params>
using ProductKernel = void (*)(const Params&);

template <class Type, template <int, int, int> class Pixels, int kM, int kO, int kWarpM,
          class Params>
void body(const Params& p) {
  product<Type, Pixels, PanelWeights, kM, kO, kWarpM>(p);
}

template <class Params>
void run(ProductKernel<Params> kernel, const Params& p, unsigned blocks, int shared,
         uint32_t order) {
  struct Call {
    ProductKernel<Params> kernel;
    const Params* p;
  } call{kernel, &p};
  emulate::set_order(order);
  emulate::counts = {};
  emulate::launch(
      {blocks, unsigned(p.splits), 1}, 128, uint32_t(shared),
      [](const void* c) { static_cast<const Call*>(c)->kernel(*static_cast<const Call*>(c)->p); },
      &call);
  emulate::set_order(0);
  CHECK(emulate::counts.bank_conflicts == 0);
}

/// A convolution with numbers of T, `kPerWord` of them in a word of k.
struct ConvShape {
  int n, h, w, c, o, kernel, stride, pad;
  int oh() const { return (h + 2 * pad - kernel) / stride + 1; }
  int ow() const { return (w + 2 * pad - kernel) / stride + 1; }
  int m() const { return n * oh() * ow(); }
  int k() const { return kernel * kernel * c; }
};

/// sum over the window, in double.
template <class X, class W>
double at(const ConvShape& q, const std::vector<X>& x, const std::vector<W>& w, int m, int o) {
  const int ox = m % q.ow(), oy = m / q.ow() % q.oh(), n = m / q.ow() / q.oh();
  double sum = 0;
  for (int ky = 0; ky < q.kernel; ky++)
    for (int kx = 0; kx < q.kernel; kx++)
      for (int c = 0; c < q.c; c++) {
        const int y = oy * q.stride - q.pad + ky, xx = ox * q.stride - q.pad + kx;
        if (y < 0 || y >= q.h || xx < 0 || xx >= q.w) continue;
        sum += double(x[size_t(((n * q.h + y) * q.w + xx) * q.c + c)]) *
               double(w[size_t(o * q.k() + (ky * q.kernel + kx) * q.c + c)]);
      }
  return sum;
}

/// [O][K] -> [O/16][K / kPerWord][16][kPerWord], zeros behind the last output.
template <class T>
std::vector<T> panels(const ConvShape& q, const std::vector<T>& w, int per_word) {
  std::vector<T> to(size_t((q.o + 15) / 16 * 16 * q.k()));
  for (int o = 0; o < q.o; o++)
    for (int k = 0; k < q.k(); k++)
      to[size_t(((o / 16 * (q.k() / per_word) + k / per_word) * 16 + o % 16) * per_word +
                k % per_word)] = w[size_t(o * q.k() + k)];
  return to;
}

ProductParams params(const ConvShape& q, const void* x, const void* w, int per_word,
                     const float* bias, float* y) {
  ProductParams p = {};
  p.x = static_cast<const float*>(x), p.w = static_cast<const float*>(w), p.bias = bias, p.y = y;
  p.c = q.c / per_word, p.k = q.k() / per_word, p.m = q.m(), p.o = q.o,
  p.readable = (q.o + 15) / 16 * 16, p.columns = (q.o + 3) / 4 * 4;
  p.pixel_stride = p.c, p.row_stride = int64_t(q.w) * p.c, p.channel_stride = 1,
  p.image_stride = q.h * p.row_stride;
  p.panel_stride = int64_t(p.k) * 16, p.n_stride = 1, p.k_stride = 16, p.y_stride = q.o;
  p.steps = (p.k + 15) / 16, p.splits = 1, p.split_steps = p.steps;
  p.h = q.h, p.width = q.w, p.oh = q.oh(), p.ow = q.ow();
  p.kernel_h = p.kernel_w = q.kernel, p.stride_h = p.stride_w = q.stride,
  p.dilation_h = p.dilation_w = 1, p.pad_top = p.pad_left = q.pad;
  p.alpha = 1, p.is_vector = q.o % 4 == 0;
  return p;
}

template <class T>
std::vector<T> numbers(size_t count, int seed) {
  std::vector<T> v(count);
  for (size_t i = 0; i < count; i++) v[i] = T(int(i * 37 + size_t(seed) * 11) % 255 - 127);
  return v;
}

const ConvShape kConvShapes[] = {{1, 6, 7, 16, 64, 1, 1, 0},
                                 {2, 5, 6, 16, 37, 3, 1, 1},
                                 {1, 9, 9, 32, 80, 3, 2, 1},
                                 {1, 8, 9, 48, 20, 1, 1, 0}};

}  // namespace

TEST_CASE(
    "products: s8 by u8 is exact, in every order of threads and for every variant that x is read") {
  for (const ConvShape& q : kConvShapes) {
    CAPTURE(q.k());
    CAPTURE(q.o);
    const auto x = numbers<uint8_t>(size_t(q.n * q.h * q.w * q.c), 1);
    const auto w = numbers<int8_t>(size_t(q.o * q.k()), 2);
    const auto packed = panels(q, w, 4);
    std::vector<int32_t> y(size_t(q.m() * q.o)), zeros(size_t((q.o + 15) / 16 * 16));
    QuantizedTileParams p = {};
    static_cast<ProductParams&>(p) = params(q, x.data(), packed.data(), 4, nullptr, nullptr);
    p.finish.y = y.data(), p.finish.y_pixel = q.o, p.finish.rows[0] = zeros.data();
    p.finish.requant = RequantMode::kToFloat, p.finish.is_whole = 1;
    p.plane = fast_divisor(q.oh() * q.ow());
    p.runs = q.kernel, p.run_bytes = q.kernel * q.c, p.run_words = p.run_bytes / 4;
    p.depth = fast_divisor(q.c), p.by_row = p.in_words = 1;
    struct Variant {
      ProductKernel<QuantizedTileParams> kernel;
      ProductTile tile;
      int unit;  // bytes of what x is counted in
    };
    const Variant variants[] = {{body<S8U8, NumberWindows, 64, 64, 32>, kSquareTile, 4},
                                {body<S8U8, NumberWindows, 32, 128, 32>, kFlatTile, 4},
                                {body<S8U8, BytePixels, 64, 64, 32>, kSquareTile, 1},
                                {body<S8U8, RowPixels, 64, 64, 32>, kSquareTile, 4}};
    for (int i = 0; i < (q.kernel == 1 ? 4 : 3); i++)
      for (uint32_t order : {0u, 1u, 5u}) {
        const Variant& v = variants[i];
        p.tiles_m = (p.m + v.tile.m - 1) / v.tile.m, p.pixel_stride = q.c / v.unit;
        y.assign(y.size(), -1);
        run(v.kernel, p, unsigned(p.tiles_m * ((q.o + v.tile.o - 1) / v.tile.o)),
            v.tile.shared_bytes(kWordWeights), order);
        int wrong = 0;
        for (int m = 0; m < q.m(); m++)
          for (int o = 0; o < q.o; o++)
            wrong += y[size_t(m * q.o + o)] != int32_t(at(q, x, w, m, o));
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE("products: bf16") {
  for (const ConvShape& q : kConvShapes) {
    std::vector<float> x(size_t(q.n * q.h * q.w * q.c)), w(size_t(q.o * q.k())),
        y(size_t(q.m() * q.o));
    for (size_t i = 0; i < x.size(); i++) x[i] = float(uint32_t(i * 2654435761u) >> 16) / 32768 - 1;
    for (size_t i = 0; i < w.size(); i++) w[i] = float(uint32_t(i * 2246822519u) >> 16) / 32768 - 1;
    const auto packed = panels(q, w, 1);
    ProductParams p = params(q, x.data(), packed.data(), 1, nullptr, y.data());
    p.tiles_m = (p.m + 63) / 64;
    run<ProductParams>(body<Bf16, WindowPixels, 64, 64, 32>, p,
                       unsigned(p.tiles_m * ((q.o + 63) / 64)),
                       kSquareTile.shared_bytes(kWordWeights), 3);
    double largest = 0, worst = 0;
    for (int m = 0; m < q.m(); m++)
      for (int o = 0; o < q.o; o++) {
        const double want = at(q, x, w, m, o), error = std::fabs(y[size_t(m * q.o + o)] - want);
        largest = std::max(largest, std::fabs(want)), worst = std::max(worst, error);
      }
    CHECK(worst <= check::kBF16Product.relative * largest);
    CHECK(worst > 1e-5 * largest);  // it is bf16
  }
}

TEST_CASE("products: few rows times weights of s8 with a scale an output") {
  for (const int rows : {1, 3, 4})
    for (const int k : {64, 1000}) {
      CAPTURE(rows);
      CAPTURE(k);
      const ConvShape q = {1, 1, rows, k, 37, 1, 1, 0};
      const auto w = numbers<int8_t>(size_t(q.o * k), 3);
      const auto whole = numbers<int8_t>(size_t(rows * k), 4);
      std::vector<float> x(whole.begin(), whole.end()), scale(size_t(q.o)), y(size_t(rows * q.o));
      for (int o = 0; o < q.o; o++) scale[size_t(o)] = 1.0f / float(1 << o % 5);
      const auto packed = panels(q, w, 4);
      ProductParams p = params(q, x.data(), packed.data(), 4, nullptr, y.data());
      p.pixel_stride = k, p.scale = scale.data();
      run<ProductParams>(
          rows == 1 ? skinny_product<S8Weights, 1> : skinny_product<S8Weights, kSkinnyRows>, p,
          unsigned((q.o + 15) / 16), 0, 9);
      int wrong = 0;
      for (int m = 0; m < rows; m++)
        for (int o = 0; o < q.o; o++)
          wrong += y[size_t(m * q.o + o)] != float(at(q, whole, w, m, o)) * scale[size_t(o)];
      CHECK(wrong == 0);
    }
}
