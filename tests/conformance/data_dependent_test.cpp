// SPDX-License-Identifier: Apache-2.0
// NonZero, Unique and NonMaxSuppression: every type, ties, NaN, nothing found and everything found.
#include "runtime/op/data_dependent.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
const double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

Tensor count() { return Tensor(DType::kI64, {}); }

Case unique_case(const UniqueAttributes& t, const Tensor& x, uint32_t wanted) {
  const TensorView& v = x.view();
  const Dims dims(v.dims, v.dims + v.rank);
  const int64_t m = t.flat ? product(dims) : dims[t.axis];
  Case c{"unique", OpCode::kUnique, &t, {x}, {}, {0, 0}};
  c.outputs.push_back(wanted & 1 ? Tensor(v.dtype, t.flat ? Dims{m} : dims) : Tensor());
  for (uint32_t i = 1; i <= 3; i++)
    c.outputs.push_back(wanted >> i & 1 ? Tensor(DType::kI64, {m}) : Tensor());
  c.outputs.push_back(count());
  return c;
}

Case nms_case(const NonMaxSuppressionAttributes& t, int64_t batch, int64_t classes, int64_t boxes,
              int64_t most, double overlap, double score, int64_t rows) {
  Case c{"nms", OpCode::kNonMaxSuppression, &t, {}, {Tensor(DType::kI64, {rows, 3}), count()},
         {0, 0}};
  c.inputs = {Tensor(DType::kF32, {batch, boxes, 4}).random(uint32_t(boxes), 0.25, 4),
              Tensor(DType::kF32, {batch, classes, boxes}).random(uint32_t(most + 7), 0, 1),
              Tensor(DType::kI64, {1}).values({double(most)}),
              Tensor(DType::kF32, {1}).values({overlap}), Tensor(DType::kF32, {}).values({score})};
  return c;
}

}  // namespace

TEST_CASE("nonzero: ranks and types, none and all") {
  for (int d = 1; d <= 13; d++)
    for (const Dims& dims :
         {Dims{}, Dims{0}, Dims{1}, Dims{17}, Dims{3, 5}, Dims{2, 0, 3}, Dims{2, 3, 4, 5}})
      for (const double high : {0.0, 1.0, 2.0}) {
        const NonZeroAttributes t;
        Tensor x = Tensor(DType(d), dims).random(uint32_t(dims.size()), 0, high);
        if (DType(d) == DType::kBool) x.values({0, high, 0, 1});
        run_case({"nonzero",
                  OpCode::kNonZero,
                  &t,
                  {x},
                  {Tensor(DType::kI64, {int64_t(dims.size()), product(dims)}), count()},
                  {0, 0}});
      }
  const NonZeroAttributes t;
  for (const DType d : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64})
    run_case({"signs and NaN",
              OpCode::kNonZero,
              &t,
              {Tensor(d, {2, 3}).values({-0.0, 0.0, kNan, -1, INFINITY, 0})},
              {Tensor(DType::kI64, {2, 6}), count()},
              {0, 0}});
}

TEST_CASE("unique: types, axes, orders, any of the results") {
  for (int d = 1; d <= 13; d++)
    for (const bool sorted : {false, true})
      for (const Dims& dims : {Dims{0}, Dims{1}, Dims{40}, Dims{3, 7}, Dims{4, 2, 3}})
        for (int64_t axis = -1; axis < int64_t(dims.size()); axis++) {
          const UniqueAttributes t{uint32_t(axis < 0 ? 0 : axis), axis < 0, sorted};
          Tensor x = Tensor(DType(d), dims).random(uint32_t(axis + 3), 0, 3);
          if (DType(d) == DType::kBool || DType(d) == DType::kF32) x.values({1, 0, 1, 1, 0, 0, 1});
          run_case(unique_case(t, x, 15));
        }
  const UniqueAttributes flat{};
  for (uint32_t wanted = 0; wanted < 16; wanted++)
    run_case(unique_case(
        flat, Tensor(DType::kF32, {9}).values({kNan, 2, -1, kNan, 2, INFINITY, -1, 0, 0}), wanted));
}

TEST_CASE("nms: batches, classes, limits, both kinds of boxes, ties") {
  for (const bool center : {false, true})
    for (const int64_t boxes : {0, 1, 7, 60})
      for (const int64_t most : {0, 2, 100})
        for (const double overlap : {0.0, 0.4, 1.0}) {
          const NonMaxSuppressionAttributes t{center};
          run_case(nms_case(t, 2, 3, boxes, most, overlap, 0.3, 6 * boxes));
          run_case(nms_case(t, 1, 2, boxes, most, overlap, 2.0, 2 * boxes));
          // room for fewer than asked
          run_case(nms_case(t, 1, 1, boxes, most, overlap, 0.0, boxes < 3 ? boxes : 3));
        }
  const NonMaxSuppressionAttributes t{};
  Case ties = nms_case(t, 1, 1, 6, 6, 0.5, 0.1, 6);
  ties.inputs[0].values({0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 5, 5, 6, 6, 6, 6, 5, 5, 2, 2, 2, 2});
  ties.inputs[1].values({0.5, 0.5, 0.5, 0.25, 0.25, kNan});
  run_case(ties);
  Case plain = ties;
  plain.inputs.resize(2);
  run_case(plain);  // without a limit: none
}

TEST_CASE("data-dependent: more than a block of a GPU has") {
  const NonZeroAttributes z;
  for (const Dims& dims : {Dims{70001}, Dims{3, 1, 5, 4099}})
    for (const double high : {0.5001, 0.75, 2.0})
      if (!is_left_out())
        run_case({"nonzero",
                  OpCode::kNonZero,
                  &z,
                  {Tensor(DType::kI8, dims).random(uint32_t(dims.size()), 0, high)},
                  {Tensor(DType::kI64, {int64_t(dims.size()), product(dims)}), count()},
                  {0, 0}});
  for (const bool sorted : {false, true})
    for (const int64_t items : {1023, 1024, 1025, 2048, 2049, 5000}) {
      if (is_left_out()) continue;
      const UniqueAttributes flat{0, true, sorted}, by_row{1, false, sorted};
      run_case(
          unique_case(flat, Tensor(DType::kI16, {items}).random(uint32_t(items), -20, 20), 15));
      if (items < 2048)
        run_case(unique_case(
            by_row, Tensor(DType::kF32, {2, items, 2}).random(7, 0, 1).values({0, 1, 1, 0, 0}),
            15));
    }
  const UniqueAttributes distinct{};
  run_case(unique_case(distinct, Tensor(DType::kF64, {260}).random(1, -1, 1), 15));
}

TEST_CASE("nms: many candidates, few and many picked, boxes that are no boxes") {
  for (const bool center : {false, true}) {
    const NonMaxSuppressionAttributes t{center};
    run_case(nms_case(t, 1, 1, 2500, 40, 0.1, 0.0, 2500));  // more than shared memory sorts
    run_case(nms_case(t, 2, 2, 2049, 7, 0.0, 0.02, 4 * 2049));
    run_case(nms_case(t, 1, 2, 2048, 1, 0.3, -1.0, 4096));
    Case apart = nms_case(t, 1, 1, 330, 1000, 0.5, -5.0, 330);  // more picked than a tile has
    std::vector<double> corners;
    for (int i = 0; i < 330; i++)
      corners.insert(corners.end(), {3.0 * i, 0.0, center ? 1.0 : 3.0 * i + 2, 2.0});
    apart.inputs[0].values(corners);
    apart.inputs[1].values({0.5, -0.0, 0.0, 0.5, -2, 0.25});
    run_case(apart);
    Case odd = nms_case(t, 1, 2, 300, 300, 0.0, -1.0, 600);
    if (center)
      odd.inputs[0].values({0, 0,        1, 1,    kNan, 0, 1,     1,        0,   kNan, 2,
                            2, 0.5,      0, kNan, 2,    1, 1,     INFINITY, 1,   1,    -INFINITY,
                            1, INFINITY, 1, 1,    0,    0, -0.25, 0.25,     1e9, 1e9});
    else
      odd.inputs[0].values({0,        0, 1, 1,        kNan,      0,  1,        1, 0,  kNan, 2, 2,
                            INFINITY, 0, 1, INFINITY, -INFINITY, -1, INFINITY, 2, 0,  0,    0, 0,
                            1,        1, 1, kNan,     1e9,       0,  -1e9,     1, 0.5});
    odd.inputs[1].values({0.5, kNan, INFINITY, -INFINITY, -0.0, 0.0, 0.25});
    run_case(odd);
    odd.inputs[3].values({kNan});
    run_case(odd);
    odd.inputs[3].values({0.9});
    odd.inputs[4].values({kNan});
    run_case(odd);
    odd.inputs[4].values({-INFINITY});
    odd.inputs[2].values({-3});
    run_case(odd);
    // Thresholds below zero, extents below zero: what shares no area never overlaps.
    for (const double threshold : {-0.5, -0.0, 0.25}) {
      Case below = nms_case(t, 1, 1, 6, 6, threshold, -1.0, 6);
      below.inputs[0].values({0,   0,   2, 2, 0.5, 0.5, -2, 2, 0.25, 0.25, -2, -2,
                              0.5, 0.5, 2, 2, 9,   9,   1,  1, 0,    1,    2,  -1});
      below.inputs[1].values({0.5, 0.4, 0.3, 0.2, 0.1, 0.05});
      run_case(below);
    }
  }
}

TEST_CASE("data-dependent: the contracts refuse") {
  const Tensor x(DType::kF32, {3, 4}), n = count();
  const auto i64 = [](Dims d) { return Tensor(DType::kI64, d); };
  const NonZeroAttributes z;
  CHECK(refusal({"room", OpCode::kNonZero, &z, {x}, {i64({2, 11}), n}}) ==
        "extents of indices are planned for the most");
  CHECK(refusal({"rank", OpCode::kNonZero, &z, {x}, {i64({12}), n}}) == "rank of indices");
  CHECK(refusal({"type", OpCode::kNonZero, &z, {x}, {Tensor(DType::kI32, {2, 12}), n}}) ==
        "indices and counts are i64");
  CHECK(refusal({"count", OpCode::kNonZero, &z, {x}, {i64({2, 12}), i64({1})}}) ==
        "what is found is an i64 scalar");
  const UniqueAttributes u{2, false, true}, flat{};
  CHECK(refusal({"axis", OpCode::kUnique, &u, {x}, {x, Tensor(), Tensor(), Tensor(), n}}) ==
        "unique.axis is below the rank");
  CHECK(refusal({"room",
                 OpCode::kUnique,
                 &flat,
                 {x},
                 {Tensor(DType::kF32, {11}), Tensor(), Tensor(), Tensor(), n}}) ==
        "unique's y is planned for the most");
  CHECK(
      refusal(
          {"inverse", OpCode::kUnique, &flat, {x}, {Tensor(), Tensor(), i64({3}), Tensor(), n}}) ==
      "extents of indices are planned for the most");
  const NonMaxSuppressionAttributes s;
  const Tensor boxes(DType::kF32, {1, 5, 4}), scores(DType::kF32, {1, 2, 5});
  CHECK(refusal({"boxes",
                 OpCode::kNonMaxSuppression,
                 &s,
                 {Tensor(DType::kF32, {1, 5, 3}), scores},
                 {i64({4, 3}), n}}) == "boxes are [B, N, 4]");
  CHECK(refusal({"scores",
                 OpCode::kNonMaxSuppression,
                 &s,
                 {boxes, Tensor(DType::kF32, {1, 2, 4})},
                 {i64({4, 3}), n}}) == "scores are [B, C, N]");
  CHECK(refusal({"setting",
                 OpCode::kNonMaxSuppression,
                 &s,
                 {boxes, scores, Tensor(DType::kI32, {})},
                 {i64({4, 3}), n}}) == "a setting of non_max_suppression has this type");
  CHECK(refusal({"rows", OpCode::kNonMaxSuppression, &s, {boxes, scores}, {i64({4, 2}), n}}) ==
        "non_max_suppression's y is i64 [n, 3]");
}
