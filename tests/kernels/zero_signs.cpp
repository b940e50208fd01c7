// SPDX-License-Identifier: Apache-2.0
// ReLU and limits keep the sign of zero, and NaN, on 64-bit Arm whichever compiler made them: Clang
// 14 made one instruction of a comparison and a choice, which turns -0 into +0. Alone in a program,
// so that a cross build by GCC can make it with Clang as well.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kernels/cpu/simd/neon.h"
// the rest needs a V
#include "kernels/cpu/elementwise/steps_wide.inl"
#include "kernels/cpu/simd/activation.inl"

using namespace ingot;
using namespace ingot::cpu;

namespace {

int wrong = 0;

/// The same bits, but of NaN any.
template <class T>
void expect(const char* what, T x, T found, T wanted) {
  const bool same =
      wanted != wanted ? found != found : std::memcmp(&found, &wanted, sizeof(T)) == 0;
  if (same) return;
  std::printf("%s of %g: expected %g, found %g\n", what, double(x), double(wanted), double(found));
  wrong++;
}

template <class T>
struct Sample {
  T x, relu, clipped;  // to [0, 6]
};
template <class T>
constexpr Sample<T> kSamples[] = {
    {T(-0.0), T(-0.0), T(-0.0)}, {T(0), T(0), T(0)},       {T(-3), T(0), T(0)},
    {T(2), T(2), T(2)},          {T(9), T(9), T(6)},       {T(INFINITY), T(INFINITY), T(6)},
    {T(-INFINITY), T(0), T(0)},  {T(NAN), T(NAN), T(NAN)},
};
constexpr int kCount = 8;

/// What kernels loop over: memory that the compiler knows nothing of.
__attribute__((noinline)) void relu_f32(const float* x, float* y, int n) {
  for (int i = 0; i < n; i += 4)
    V::store(y + i, activate<V, Activation::kRelu>(V::load(x + i), V::zero(), V::zero()));
}
__attribute__((noinline)) void clip_f32(const float* x, float* y, int n) {
  for (int i = 0; i < n; i += 4)
    V::store(y + i, V::min(V::splat(6), V::max(V::zero(), V::load(x + i))));
}
__attribute__((noinline)) void relu_f64(const double* x, double* y, int n) {
  ElementwiseStep s;
  s.op = ElementwiseOp::kRelu;
  for (int i = 0; i < n; i++) y[i] = tensors::step_f64(s, x[i], 0, 0);
}

}  // namespace

int main() {
  float f32[kCount], relu[kCount], clipped[kCount];
  double f64[kCount], wide[kCount];
  for (int i = 0; i < kCount; i++) f32[i] = kSamples<float>[i].x, f64[i] = kSamples<double>[i].x;
  relu_f32(f32, relu, kCount), clip_f32(f32, clipped, kCount), relu_f64(f64, wide, kCount);
  for (int i = 0; i < kCount; i++) {
    expect("relu of f32", f32[i], relu[i], kSamples<float>[i].relu);
    expect("clip of f32", f32[i], clipped[i], kSamples<float>[i].clipped);
    expect("relu of f64", f64[i], wide[i], kSamples<double>[i].relu);
  }
  std::printf("zero_signs: %d wrong\n", wrong);
  return wrong != 0;
}
