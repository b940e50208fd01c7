// SPDX-License-Identifier: Apache-2.0
// GridSample: modes, paddings, corners, one to three dimensions, places far away and NaN.
#include "runtime/op/grid_sample.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

const struct {
  Dims x, places;
} kShapes[] = {{{2, 5, 7, 3}, {6, 9}},
               {{1, 4, 6, 40}, {3, 5}},
               {{1, 9, 3, 16}, {4, 4}},
               {{1, 1, 1, 2}, {3, 3}},
               {{2, 6, 1}, {19}},
               {{1, 11, 5}, {4}},
               {{2, 3, 4, 5, 6}, {2, 3, 4}},
               {{1, 2, 5, 3, 1}, {3, 2, 5}},
               {{1, 3, 1, 4, 9}, {2, 2, 2}},
               {{0, 4, 4, 3}, {2, 2}},
               {{1, 4, 4, 0}, {2, 2}},
               {{1, 4, 4, 3}, {0, 2}},
               {{1, 3, 33, 130}, {7, 5}}};

Dims grid_dims(const Dims& x, const Dims& places) {
  Dims dims = {x[0]};
  dims.insert(dims.end(), places.begin(), places.end());
  dims.push_back(int64_t(x.size()) - 2);
  return dims;
}
Dims y_dims(const Dims& x, const Dims& places) {
  Dims dims = {x[0]};
  dims.insert(dims.end(), places.begin(), places.end());
  dims.push_back(x.back());
  return dims;
}

template <class Each>
void for_each_form(Each each) {
  for (int mode = 0; mode < 3; mode++)
    for (int padding = 0; padding < 3; padding++)
      for (bool align : {false, true})
        each(GridSampleAttributes{GridMode(mode), GridPadding(padding), align});
}

}  // namespace

TEST_CASE("grid_sample: every mode, padding and shape, inside, around and far away") {
  uint32_t seed = 1;
  for (const auto& s : kShapes)
    for_each_form([&](const GridSampleAttributes& t) {
      for (double reach : {1.0, 1.6, 50.0})
        for (int64_t p : {0, 3}) {
          run_case(
              {"grid_sample",
               OpCode::kGridSample,
               &t,
               {Tensor(DType::kF32, s.x, p).random(++seed),
                Tensor(DType::kF32, grid_dims(s.x, s.places), p).random(++seed, -reach, reach)},
               {Tensor(DType::kF32, y_dims(s.x, s.places), p)},
               {1e-5, 1e-5}});
        }
    });
}

TEST_CASE("grid_sample nearest: every type, and ties to even") {
  const GridSampleAttributes t{GridMode::kNearest, GridPadding::kZeros, true};
  for (DType d : {DType::kF32, DType::kU8, DType::kF16, DType::kI64, DType::kBool, DType::kF64})
    for (const auto& s : kShapes)
      for (int64_t p : {0, 3})
        run_case({"types",
                  OpCode::kGridSample,
                  &t,
                  {Tensor(d, s.x, p).random(1, 0, 100),
                   Tensor(DType::kF32, grid_dims(s.x, s.places)).random(2, -1.3, 1.3)},
                  {Tensor(d, y_dims(s.x, s.places), p)},
                  {0, 0}});
  // -0.5 .. 4.5: halves, outside at both ends
  run_case({"ties",
            OpCode::kGridSample,
            &t,
            {Tensor(DType::kF32, {1, 5, 2}).random(1),
             Tensor(DType::kF32, {1, 6, 1}).values({-1.25, -0.75, -0.25, 0.25, 0.75, 1.25})},
            {Tensor(DType::kF32, {1, 6, 2})},
            {0, 0}});
}

TEST_CASE("grid_sample: every grid is defined, and nothing outside x is read") {
  const double huge = 3.4e38;
  const std::vector<double> places = {NAN,  INFINITY, -INFINITY, huge, -huge, 1e10, -1e10, 2.2e9,
                                      -1e5, 1e5,      -1,        1,    -1e-9, 0,    -3.5,  7};
  for (int64_t channels : {1, 3, 17})
    for_each_form([&](const GridSampleAttributes& t) {
      for (int axis = 0; axis < 2; axis++) {
        Tensor grid(DType::kF32, {1, 16, 1, 2});
        for (int64_t i = 0; i < 32; i++)
          grid.set(grid.offset(i), i % 2 == axis ? places[size_t(i / 2)] : 0.13);
        run_case({"strange",
                  OpCode::kGridSample,
                  &t,
                  {Tensor(DType::kF32, {1, 5, 7, channels}).random(3), grid},
                  {Tensor(DType::kF32, {1, 16, 1, channels})},
                  {1e-5, 1e-5}});
      }
    });
}

TEST_CASE("grid_sample: the contract refuses") {
  const Tensor x(DType::kF32, {2, 5, 7, 3}), grid(DType::kF32, {2, 4, 6, 2}),
      y(DType::kF32, {2, 4, 6, 3});
  const GridSampleAttributes good;
  GridSampleAttributes t = good;
  const auto rule = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return refusal({"refused", OpCode::kGridSample, &t, {a, b}, {c}});
  };
  const auto f32 = [](Dims dims) { return Tensor(DType::kF32, std::move(dims)); };
  t.mode = GridMode(3);
  CHECK(rule(x, grid, y) == "grid_sample.mode is known");
  t = good, t.padding = GridPadding(3);
  CHECK(rule(x, grid, y) == "grid_sample.padding is known");
  t = good;
  CHECK(rule(Tensor(DType::kU8, {2, 5, 7, 3}), grid, Tensor(DType::kU8, {2, 4, 6, 3})) ==
        "linear and cubic grid_sample take f32");
  CHECK(rule(x, Tensor(DType::kF64, {2, 4, 6, 2}), y) == "the grid is f32");
  CHECK(rule(f32({2, 3}), grid, y) == "grid_sample has 1 to 3 spatial dimensions");
  CHECK(rule(f32({2, 3, 3, 3, 3, 3}), grid, y) == "grid_sample has 1 to 3 spatial dimensions");
  CHECK(rule(x, f32({2, 4, 2}), y) == "the grid has the rank of x");
  CHECK(rule(x, grid, f32({2, 4, 3})) == "grid_sample keeps the rank");
  CHECK(rule(x, f32({2, 4, 6, 3}), y) == "the grid names one place a spatial dimension");
  CHECK(rule(x, f32({1, 4, 6, 2}), f32({1, 4, 6, 3})) == "the grid has the batch of x");
  CHECK(rule(x, grid, f32({2, 4, 6, 4})) == "grid_sample keeps the channels");
  CHECK(rule(x, grid, f32({2, 6, 4, 3})) == "y has the places of the grid");
  CHECK(rule(f32({2, 0, 7, 3}), grid, y) == "grid_sample cannot read an empty dimension");
  CHECK(rule(f32({1, 1 << 24, 1}), f32({1, 2, 1}), f32({1, 2, 1})) ==
        "grid_sample extents fit 24 bits");
}
