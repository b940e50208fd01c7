// Resize: modes, coordinates, roundings, scales, ranks and changed dimensions.
#include "runtime/op/resize.h"

#include <doctest/doctest.h>

#include <cmath>

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

}  // namespace

TEST_CASE("resize nearest: every coordinate, rounding and type") {
  for (const auto& s : kShapes)
    for (int coordinate = 0; coordinate < 5; coordinate++)
      for (int nearest = 0; nearest < 4; nearest++)
        for (DType d : {DType::kF32, DType::kU8, DType::kF16, DType::kI64})
          for (int64_t p : {0, 3}) {
            const ResizeAttributes t =
                attributes(s.x.size(), ResizeMode::kNearest, coordinate, nearest);
            run_case({"nearest",
                      OpCode::kResize,
                      &t,
                      {Tensor(d, s.x, p).random(1, 0, 100)},
                      {Tensor(d, s.y, p)},
                      {0, 0},
                      {}});
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
                      {1e-5, 1e-5},
                      {}});
            for (size_t i = 0; i < s.x.size(); i++)
              if (s.x[i] != s.y[i]) t.scales[i] = 1.3f;
            run_case({"scaled",
                      OpCode::kResize,
                      &t,
                      {Tensor(DType::kF32, s.x, p).random(1)},
                      {Tensor(DType::kF32, s.y, p)},
                      {1e-4, 1e-4},
                      {}});
          }
}

TEST_CASE("resize: the contract refuses") {
  const Tensor x(DType::kF32, {2, 3, 4, 5}), y(DType::kF32, {2, 6, 8, 5});
  const ResizeAttributes good = attributes(4, ResizeMode::kLinear, 0);
  ResizeAttributes t = good;
  const auto rule = [&](const char* name) {
    return refusal({name, OpCode::kResize, &t, {x}, {y}, {}, {}});
  };
  t.mode = ResizeMode(3);
  CHECK(rule("mode") == "resize.mode is known");
  t = good, t.coordinate = CoordinateMode(5);
  CHECK(rule("coordinate") == "resize.coordinate is known");
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
                 {Tensor(DType::kU8, {2, 6, 8, 5})},
                 {},
                 {}}) == "linear and cubic resize take f32");
  CHECK(refusal({"four", OpCode::kResize, &t, {x}, {Tensor(DType::kF32, {3, 4, 5, 6})}, {}, {}}) ==
        "linear and cubic resize change at most 3 dimensions");
  CHECK(
      refusal({"nothing", OpCode::kResize, &t, {Tensor(DType::kF32, {2, 0, 4, 5})}, {y}, {}, {}}) ==
      "resize cannot fill from an empty dimension");
  t.rank = 1;
  CHECK(refusal({"long",
                 OpCode::kResize,
                 &t,
                 {Tensor(DType::kF32, {2})},
                 {Tensor(DType::kF32, {1 << 24})},
                 {},
                 {}}) == "resize extents fit 24 bits");
}
