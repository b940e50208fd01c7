// SPDX-License-Identifier: Apache-2.0
// Resize: modes, coordinates, roundings, scales, ranks and changed dimensions.
#include "runtime/op/resize.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/cpu/resize/taps.inl"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

ResizeAttributes attributes(size_t rank, ResizeMode mode, int coordinate, int nearest = 0) {
  ResizeAttributes t;
  t.mode = mode;
  t.coordinate = CoordinateMode(coordinate);
  t.nearest = NearestMode(nearest);
  t.rank = uint32_t(rank);
  return t;
}

const struct {
  Dims x, y;
} kShapes[] = {{{1, 5, 7, 19}, {1, 10, 14, 19}},
               {{2, 5, 7, 3}, {2, 8, 5, 3}},
               {{1, 8, 8, 16}, {1, 3, 20, 16}},
               {{4, 6}, {7, 11}},
               {{2, 3, 9, 7}, {2, 3, 23, 37}},
               {{1, 2, 20, 33}, {1, 2, 6, 9}},
               {{9}, {4}},
               {{2, 3, 4, 5, 6}, {2, 6, 7, 3, 6}},
               {{1, 1, 6}, {1, 5, 6}},
               {{3, 4}, {3, 4}},
               {{}, {}},
               {{0, 4}, {0, 8}},
               {{1, 3, 4, 5}, {1, 3, 8, 10}}};

/// The oracle, and the same table of indices on every back end.
void run_on_all(const ResizeAttributes& t, int64_t in, int64_t out) {
  run_case({"pixels",
            OpCode::kResize,
            &t,
            {Tensor(DType::kF32, {in}).random(1)},
            {Tensor(DType::kF32, {out})},
            {0, 0}});
}

}  // namespace

TEST_CASE("resize nearest: every coordinate, rounding and type") {
  for (const auto& s : kShapes)
    for (int coordinate = 0; coordinate < 10; coordinate++)
      for (int nearest = 0; nearest < 4; nearest++)
        for (DType d : {DType::kF32, DType::kU8, DType::kF16, DType::kI64})
          for (int64_t p : {0, 3}) {
            const ResizeAttributes t =
                attributes(s.x.size(), ResizeMode::kNearest, coordinate, nearest);
            if (coordinate > int(CoordinateMode::kTfHalfPixelForNn) && nearest != 2) continue;
            run_case({"nearest",
                      OpCode::kResize,
                      &t,
                      {Tensor(d, s.x, p).random(1, 0, 100)},
                      {Tensor(d, s.y, p)},
                      {0, 0}});
          }
}

TEST_CASE("resize linear and cubic: every coordinate, edges, stated scales") {
  for (const auto& s : kShapes)
    for (int coordinate = 0; coordinate < 5; coordinate++)
      for (ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic})
        for (bool exclude : {false, true})
          for (int64_t p : {0, 3}) {
            ResizeAttributes t = attributes(s.x.size(), mode, coordinate);
            t.exclude_outside = exclude;
            run_case({"mixed",
                      OpCode::kResize,
                      &t,
                      {Tensor(DType::kF32, s.x, p).random(1)},
                      {Tensor(DType::kF32, s.y, p)},
                      {1e-5, 1e-5}});
            for (size_t i = 0; i < s.x.size(); i++)
              if (s.x[i] != s.y[i]) t.scales[i] = 1.3f;
            run_case({"scaled",
                      OpCode::kResize,
                      &t,
                      {Tensor(DType::kF32, s.x, p).random(1)},
                      {Tensor(DType::kF32, s.y, p)},
                      {1e-4, 1e-4}});
          }
}

namespace {

/// The pixel that a source's own formula names, in exact numbers where it has them.
int64_t expected_pixel(CoordinateMode coordinate, NearestMode nearest, int64_t in, int64_t out,
                       int64_t x) {
  const float ratio = float(in) / float(out), at = float(x), scale = float(out) / float(in);
  const auto inside = [&](double p) {
    return int64_t(p < 0 ? 0 : p > double(in - 1) ? double(in - 1) : p);
  };
  switch (coordinate) {
    case CoordinateMode::kAsymmetricMultiplied: return inside(std::floor(at * ratio));
    case CoordinateMode::kTfHalfPixelMultiplied: return inside(std::floor((at + 0.5f) * ratio));
    case CoordinateMode::kAlignCornersMultiplied:
      return out == 1 ? 0 : inside(std::round(at * (float(in - 1) / float(out - 1))));
    case CoordinateMode::kAsymmetricFixedPoint: return inside(double(x * in / out));
    case CoordinateMode::kTfHalfPixelForNn: return inside(std::floor((at + 0.5f) / scale));
    default: break;
  }
  // ONNX, in exact numbers
  const bool half = coordinate == CoordinateMode::kHalfPixel;
  const int64_t above = half ? (2 * x + 1) * in - out : 2 * x * in, below = 2 * out;
  const bool ceil = nearest == NearestMode::kRoundPreferCeil;
  // floor(above / below + 1/2), or ceil(above / below - 1/2)
  const int64_t n = ceil ? above + out : above - out;
  const double p =
      ceil ? std::floor(double(n) / double(below)) : std::ceil(double(n) / double(below));
  return inside(p);
}

}  // namespace

TEST_CASE("resize nearest: the source's own pixel for every pair of sizes") {
  using C = CoordinateMode;
  using N = NearestMode;
  const struct {
    C coordinate;
    N nearest;
    // Of the input: onnxruntime's f32 tells ties of ONNX below 16 from their neighbors.
    int64_t max_in;
  } kForms[] = {
      {C::kAsymmetricMultiplied, N::kFloor, 128},   {C::kTfHalfPixelMultiplied, N::kFloor, 128},
      {C::kAlignCornersMultiplied, N::kFloor, 128}, {C::kAsymmetricFixedPoint, N::kFloor, 128},
      {C::kTfHalfPixelForNn, N::kFloor, 128},       {C::kAsymmetric, N::kRoundPreferCeil, 16},
      {C::kAsymmetric, N::kRoundPreferFloor, 16},   {C::kHalfPixel, N::kRoundPreferCeil, 16},
      {C::kHalfPixel, N::kRoundPreferFloor, 16}};
  for (const auto& form : kForms) {
    const ResizeAttributes t =
        attributes(1, ResizeMode::kNearest, int(form.coordinate), int(form.nearest));
    for (int64_t in = 1; in <= form.max_in; in++)
      for (int64_t out = 1; out <= 128; out++) {
        const auto axis = cpu::tensors::resize_axis(t, 0, in, out, in != out);
        for (int64_t x = 0; x < out; x++) {
          const int64_t expected =
              in == out ? x : expected_pixel(form.coordinate, form.nearest, in, out, x);
          const int64_t found = cpu::tensors::nearest_index(t, axis, x);
          if (found != expected)
            FAIL_CHECK("coordinate " << int(form.coordinate) << ", rounding " << int(form.nearest)
                                     << ", " << in << " to " << out << " at " << x << ": expected "
                                     << expected << ", found " << found);
        }
        if (in % 7 == 0 && (in * 5 + out) % 29 == 0) run_on_all(t, in, out);
      }
  }
}

TEST_CASE("resize nearest: onnxruntime's pixels for every pair of sizes") {
  // What resize_pixels.py writes: rows by coordinate, columns by rounding; onnxruntime 1.32.
  constexpr uint32_t kPixels[6][4] = {
      {0x6eba226f, 0x6cd2b173, 0x70dc4579, 0xc21625c3},  // half_pixel
      {0x02aa9599, 0x7d4964a8, 0x1f4f5ee0, 0x3016e39b},  // asymmetric
      {0xf1a2b052, 0x56cb535a, 0x7eda034c, 0xbebaa3f8},  // align_corners
      {0xb49df8ee, 0x660be2ee, 0x7536533a, 0x9a9ad724},  // pytorch_half_pixel
      {0x007463ef, 0xbad3d751, 0x2b58ebd6, 0x95c9399c},  // half_pixel_symmetric
      {0x2983909b, 0xbc7c2b9a, 0xd41b47ae, 0xa8470ffb},  // tf_half_pixel_for_nn
  };
  for (int coordinate = 0; coordinate < 6; coordinate++)
    for (int nearest = 0; nearest < 4; nearest++) {
      CAPTURE(coordinate);
      CAPTURE(nearest);
      const ResizeAttributes t = attributes(1, ResizeMode::kNearest, coordinate, nearest);
      uint32_t taken = 0;
      for (int64_t in = 1; in <= 128; in++)
        for (int64_t out = 1; out <= 128; out++) {
          if (in == out) continue;
          const auto axis = cpu::tensors::resize_axis(t, 0, in, out, true);
          for (int64_t x = 0; x < out; x++)
            taken = taken * 31 + uint32_t(cpu::tensors::nearest_index(t, axis, x));
          if (in % 9 == 0 && (in * 5 + out) % 61 == 0) run_on_all(t, in, out);
        }
      CHECK(taken == kPixels[coordinate][nearest]);
    }
}

TEST_CASE(
    "resize linear and cubic: coordinates are those of exact numbers for every pair of sizes") {
  for (const CoordinateMode mode :
       {CoordinateMode::kHalfPixel, CoordinateMode::kAsymmetric, CoordinateMode::kAlignCorners})
    for (const ResizeMode kind : {ResizeMode::kLinear, ResizeMode::kCubic}) {
      const ResizeAttributes t = attributes(1, kind, int(mode));
      double worst = 0;
      for (int64_t in = 1; in <= 128; in++)
        for (int64_t out = 1; out <= 128; out++) {
          if (in == out) continue;
          const auto axis = cpu::tensors::resize_axis(t, 0, in, out, true);
          for (int64_t x = 0; x < out; x++) {
            double exact = double(x) * double(in) / double(out);
            if (mode == CoordinateMode::kHalfPixel)
              exact = (double(x) + 0.5) * double(in) / double(out) - 0.5;
            if (mode == CoordinateMode::kAlignCorners)
              exact = out == 1 ? 0 : double(x) * double(in - 1) / double(out - 1);
            const float found = cpu::tensors::resize_coordinate(t, axis, x);
            worst = std::fmax(worst, std::fabs(exact - double(found)));
            if (kind != ResizeMode::kLinear) continue;
            const auto tap = cpu::tensors::resize_tap(t, axis, x);  // a ramp gives the coordinate
            const double value = tap.at[0] + (tap.at[1] - tap.at[0]) * double(tap.weight[0]);
            const double inside = std::fmin(std::fmax(exact, 0), double(in - 1));
            worst = std::fmax(worst, std::fabs(value - inside));
          }
        }
      CHECK(worst < 2.5e-5);  // 128 times 1.5 roundings of f32
    }
}

TEST_CASE("resize: the contract refuses") {
  const Tensor x(DType::kF32, {2, 3, 4, 5}), y(DType::kF32, {2, 6, 8, 5});
  const ResizeAttributes good = attributes(4, ResizeMode::kLinear, 0);
  ResizeAttributes t = good;
  const auto rule = [&](const char* name) {
    return refusal({name, OpCode::kResize, &t, {x}, {y}});
  };
  t.mode = ResizeMode(3);
  CHECK(rule("mode") == "resize.mode is known");
  t = good, t.coordinate = CoordinateMode(10);
  CHECK(rule("coordinate") == "resize.coordinate is known");
  t = good, t.coordinate = CoordinateMode::kTfHalfPixelForNn;
  CHECK(rule("linear") == "resize.coordinate is one of linear and cubic");
  t = good, t.mode = ResizeMode::kNearest, t.coordinate = CoordinateMode::kAsymmetricMultiplied;
  CHECK(rule("rounds") == "resize.coordinate of a source's nearest takes the floor");
  t = good, t.nearest = NearestMode(4);
  CHECK(rule("nearest") == "resize.nearest is known");
  t = good, t.rank = 3;
  CHECK(rule("rank") == "resize.scales has one entry per dimension");
  t = good, t.scales[1] = -1;
  CHECK(rule("negative") == "resize.scales are zero or within 1e-9 .. 1e9");
  t = good, t.scales[1] = NAN;
  CHECK(rule("NaN") == "resize.scales are zero or within 1e-9 .. 1e9");
  t = good, t.cubic_a = INFINITY;
  CHECK(rule("cubic") == "resize.cubic_a is within 16 of zero");
  t = good;
  CHECK(refusal({"type",
                 OpCode::kResize,
                 &t,
                 {Tensor(DType::kU8, {2, 3, 4, 5})},
                 {Tensor(DType::kU8, {2, 6, 8, 5})}}) == "linear and cubic resize take f32");
  CHECK(refusal({"four", OpCode::kResize, &t, {x}, {Tensor(DType::kF32, {3, 4, 5, 6})}}) ==
        "linear and cubic resize change at most 3 dimensions");
  CHECK(refusal({"nothing", OpCode::kResize, &t, {Tensor(DType::kF32, {2, 0, 4, 5})}, {y}}) ==
        "resize cannot fill from an empty dimension");
  t.rank = 1;
  CHECK(refusal({"long",
                 OpCode::kResize,
                 &t,
                 {Tensor(DType::kF32, {2})},
                 {Tensor(DType::kF32, {1 << 24})}}) == "resize extents fit 24 bits");
}
