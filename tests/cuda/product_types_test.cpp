// The one template of products with operands that no row has yet: s8 with a scale an output (exact
// on whole numbers), bf16; and few rows times weights of s8. Kernels of this test, in the emulator.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "kernels/cuda/tensorcore/few_rows.cuh"
#include "kernels/cuda/tensorcore/product.cuh"
#include "tools/diagnose/golden/tolerance.h"

using namespace ingot;
using namespace ingot::cuda;

namespace {

using Kernel = void (*)(const ProductParams&);

template <class Type, template <int> class Pixels, int kM, int kO, int kWarpM>
void body(const ProductParams& p) {
  product<Type, Pixels, PanelWeights, kM, kO, kWarpM>(p);
}

void run(Kernel kernel, const ProductParams& p, unsigned blocks, int shared, uint32_t order) {
  struct Call {
    Kernel kernel;
    const ProductParams* p;
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
template <class T>
double at(const ConvShape& q, const std::vector<T>& x, const std::vector<T>& w, int m, int o) {
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
    "products: s8 by s8 is exact, in every order of threads and for every variant that x is read") {
  for (const ConvShape& q : kConvShapes) {
    CAPTURE(q.k());
    CAPTURE(q.o);
    const auto x = numbers<int8_t>(size_t(q.n * q.h * q.w * q.c), 1),
               w = numbers<int8_t>(size_t(q.o * q.k()), 2);
    const auto packed = panels(q, w, 4);
    std::vector<float> scale(size_t(q.o)), bias(size_t(q.o + 16)), y(size_t(q.m() * q.o));
    for (int o = 0; o < q.o; o++)
      scale[size_t(o)] = o % 3 ? 0.5f : 2.0f, bias[size_t(o)] = float(o);
    ProductParams p = params(q, x.data(), packed.data(), 4, bias.data(), y.data());
    p.scale = scale.data();
    const Kernel kernels[] = {body<S8, WindowPixels, 64, 64, 32>,
                              body<S8, SinglePixels, 64, 64, 32>,
                              body<S8, WindowPixels, 32, 128, 32>, body<S8, RowPixels, 64, 64, 32>};
    const ProductTile tiles[] = {kSquareTile, kSquareTile, kFlatTile, kSquareTile};
    for (int kernel = 0; kernel < (q.kernel == 1 ? 4 : 3); kernel++)
      for (uint32_t order : {0u, 1u, 5u}) {
        const ProductTile tile = tiles[kernel];
        p.tiles_m = (p.m + tile.m - 1) / tile.m;
        y.assign(y.size(), NAN);
        run(kernels[kernel], p, unsigned(p.tiles_m * ((q.o + tile.o - 1) / tile.o)),
            tile.shared_bytes(false), order);
        int wrong = 0;
        for (int m = 0; m < q.m(); m++)
          for (int o = 0; o < q.o; o++)
            wrong += y[size_t(m * q.o + o)] !=
                     float(at(q, x, w, m, o)) * scale[size_t(o)] + bias[size_t(o)];
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
    run(body<Bf16, WindowPixels, 64, 64, 32>, p, unsigned(p.tiles_m * ((q.o + 63) / 64)),
        kSquareTile.shared_bytes(false), 3);
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
      run(rows == 1 ? few_rows<S8Weights, 1> : few_rows<S8Weights, kFewRows>, p,
          unsigned((q.o + 15) / 16), 0, 9);
      int wrong = 0;
      for (int m = 0; m < rows; m++)
        for (int o = 0; o < q.o; o++)
          wrong += y[size_t(m * q.o + o)] != float(at(q, whole, w, m, o)) * scale[size_t(o)];
      CHECK(wrong == 0);
    }
}
