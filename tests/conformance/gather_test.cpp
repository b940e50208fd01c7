// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements, GatherNd, ScatterNd, ScatterElements: every axis, negative and bad
// indices, reductions.
#include "runtime/op/gather.h"

#include <doctest/doctest.h>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
const DType kWidths[] = {DType::kF32, DType::kU8, DType::kF16, DType::kI64};

Tensor random(DType d, const Dims& dims) { return Tensor(d, dims).random(3, 0, 100); }

}  // namespace

TEST_CASE("gather: every axis and index rank") {
  for (uint32_t axis = 0; axis < 3; axis++)
    for (const Dims& index_dims : {Dims{}, Dims{4}, Dims{2, 3}, Dims{0}})
      for (DType index_type : {DType::kI32, DType::kI64})
        for (DType d : kWidths) {
          const GatherAttributes t{axis};
          const Dims data = {5, 6, 7};
          Dims y(data.begin(), data.begin() + axis);
          y.insert(y.end(), index_dims.begin(), index_dims.end());
          y.insert(y.end(), data.begin() + axis + 1, data.end());
          run_case({"gather",
                    OpCode::kGather,
                    &t,
                    {random(d, data), Tensor(index_type, index_dims).values({0, -1, 4, 2, -5})},
                    {Tensor(d, y)}});
        }
  const GatherAttributes t{0};
  run_case({"embedding",
            OpCode::kGather,
            &t,
            {random(DType::kF32, {1000, 65}), Tensor(DType::kI64, {3, 50}).random(1, 0, 999)},
            {Tensor(DType::kF32, {3, 50, 65})}});
  run_failing_case({"too large",
                    OpCode::kGather,
                    &t,
                    {random(DType::kF32, {5}), Tensor(DType::kI64, {2}).values({1, 5})},
                    {Tensor(DType::kF32, {2})}},
                   Code::kBadIndexValue);
  run_failing_case({"too small",
                    OpCode::kGather,
                    &t,
                    {random(DType::kF32, {5}), Tensor(DType::kI64, {2}).values({-6, 1})},
                    {Tensor(DType::kF32, {2})}},
                   Code::kBadIndexValue);
  run_failing_case({"of nothing",
                    OpCode::kGather,
                    &t,
                    {random(DType::kF32, {0, 3}), Tensor(DType::kI64, {1}).values({0})},
                    {Tensor(DType::kF32, {1, 3})}},
                   Code::kBadIndexValue);
}

TEST_CASE("gather_elements and scatter_elements: every axis") {
  for (uint32_t axis = 0; axis < 3; axis++)
    for (DType d : kWidths) {
      const GatherElementsAttributes g{axis};
      const Tensor indices = Tensor(DType::kI64, {3, 4, 5}).random(7, -3, 2);
      run_case({"gather",
                OpCode::kGatherElements,
                &g,
                {random(d, {3, 4, 6}), indices},
                {Tensor(d, {3, 4, 5})}});
      for (int r = 0; r < 5; r++) {
        const ScatterElementsAttributes s{axis, ScatterReduction(r)};
        run_case({"scatter " + std::to_string(r),
                  OpCode::kScatterElements,
                  &s,
                  {random(d, {3, 4, 6}), indices, Tensor(d, {3, 4, 5}).random(9, 0, 4)},
                  {Tensor(d, {3, 4, 6})},
                  {1e-6, 1e-6}});
      }
    }
  const GatherElementsAttributes g{1};
  run_failing_case({"bad",
                    OpCode::kGatherElements,
                    &g,
                    {random(DType::kF32, {2, 2}), Tensor(DType::kI32, {2, 1}).values({0, 2})},
                    {Tensor(DType::kF32, {2, 1})}},
                   Code::kBadIndexValue);
  const ScatterElementsAttributes s{1};
  run_failing_case({"bad",
                    OpCode::kScatterElements,
                    &s,
                    {random(DType::kF32, {2, 2}), Tensor(DType::kI32, {2, 1}).values({0, -3}),
                     random(DType::kF32, {2, 1})},
                    {Tensor(DType::kF32, {2, 2})}},
                   Code::kBadIndexValue);
}

TEST_CASE("gather_nd and scatter_nd: depths, slices, batches") {
  struct Row {
    Dims data, indices, y;
    uint32_t batch;
  };
  const Row rows[] = {
      {{4, 5, 6}, {3, 1}, {3, 5, 6}, 0}, {{4, 5, 6}, {3, 2}, {3, 6}, 0},
      {{4, 5, 6}, {2, 2, 3}, {2, 2}, 0}, {{4, 5, 6}, {3}, {}, 0},
      {{2, 5, 6}, {2, 1}, {2, 6}, 1},    {{2, 4, 5, 6}, {2, 4, 3, 1}, {2, 4, 3, 6}, 2},
      {{4, 5}, {0, 1}, {0, 5}, 0}};
  for (const Row& r : rows)
    for (DType d : kWidths) {
      const GatherNdAttributes g{r.batch};
      const Tensor indices = Tensor(DType::kI64, r.indices).random(5, -4, 3);
      run_case({"gather", OpCode::kGatherNd, &g, {random(d, r.data), indices}, {Tensor(d, r.y)}});
      if (r.batch != 0) continue;
      for (int k = 0; k < 5; k++) {
        const ScatterNdAttributes s{ScatterReduction(k)};
        run_case({"scatter " + std::to_string(k),
                  OpCode::kScatterNd,
                  &s,
                  {random(d, r.data), indices, Tensor(d, r.y).random(8, 0, 4)},
                  {Tensor(d, r.data)},
                  {1e-6, 1e-6}});
      }
    }
  const GatherNdAttributes g;
  run_failing_case({"bad",
                    OpCode::kGatherNd,
                    &g,
                    {random(DType::kF32, {2, 2}), Tensor(DType::kI64, {1, 2}).values({0, 2})},
                    {Tensor(DType::kF32, {1})}},
                   Code::kBadIndexValue);
  const ScatterNdAttributes s;
  run_failing_case({"bad",
                    OpCode::kScatterNd,
                    &s,
                    {random(DType::kF32, {2, 2}), Tensor(DType::kI64, {1, 2}).values({-3, 0}),
                     random(DType::kF32, {1})},
                    {Tensor(DType::kF32, {2, 2})}},
                   Code::kBadIndexValue);
}

TEST_CASE("scatter: thousands of updates, many of them of one element, in their order") {
  for (DType d : {DType::kF32, DType::kF16, DType::kU8, DType::kI64, DType::kF64})
    for (int r = 0; r < 5; r++) {
      const ScatterElementsAttributes s{0, ScatterReduction(r)};
      const int64_t updates = 5000;
      Tensor indices = Tensor(DType::kI32, {updates}).random(11, -700, 699);
      for (int64_t i = 0; i < updates; i += 3) indices.set(i, 5);
      run_case({"scatter " + std::to_string(r),
                OpCode::kScatterElements,
                &s,
                {Tensor(d, {700}).random(1, 0, 1), indices,
                 Tensor(d, {updates}).random(2, 0, r == 2 ? 1.1 : 3)},
                {Tensor(d, {700})},
                {1e-2, 1e-2}});
      const ScatterNdAttributes nd{ScatterReduction(r)};
      run_case(
          {"rows " + std::to_string(r),
           OpCode::kScatterNd,
           &nd,
           {Tensor(d, {300, 5}).random(1, 0, 1), Tensor(DType::kI64, {900, 1}).random(4, -300, 299),
            Tensor(d, {900, 5}).random(2, 0, 1)},
           {Tensor(d, {300, 5})},
           {1e-2, 1e-2}});
    }
  const ScatterNdAttributes none;
  run_failing_case({"bad index of empty slices",
                    OpCode::kScatterNd,
                    &none,
                    {Tensor(DType::kF32, {3, 0}), Tensor(DType::kI64, {2, 1}).values({0, 3}),
                     Tensor(DType::kF32, {2, 0})},
                    {Tensor(DType::kF32, {3, 0})}},
                   Code::kBadIndexValue);
}

TEST_CASE("gather: the contracts refuse") {
  const Tensor data = random(DType::kF32, {4, 5}), index = Tensor(DType::kI64, {3});
  const auto f32 = [](Dims d) { return Tensor(DType::kF32, d); };
  GatherAttributes g{2};
  CHECK(refusal({"axis", OpCode::kGather, &g, {data, index}, {f32({3, 5})}}) ==
        "gather.axis is below the rank");
  g.axis = 0;
  CHECK(refusal({"rank", OpCode::kGather, &g, {data, index}, {f32({15})}}) ==
        "gather's output rank");
  CHECK(refusal({"dims", OpCode::kGather, &g, {data, index}, {f32({5, 3})}}) ==
        "gather's output dims");
  CHECK(refusal({"type", OpCode::kGather, &g, {data, Tensor(DType::kF32, {3})}, {f32({3, 5})}}) ==
        "indices are i32 or i64");
  const GatherElementsAttributes e{0};
  CHECK(refusal({"reach",
                 OpCode::kGatherElements,
                 &e,
                 {data, Tensor(DType::kI64, {2, 6})},
                 {f32({2, 6})}}) == "indices lie inside data");
  CHECK(refusal({"rank", OpCode::kGatherElements, &e, {data, index}, {f32({3})}}) ==
        "indices have data's rank");
  GatherNdAttributes n;
  CHECK(
      refusal({"depth", OpCode::kGatherNd, &n, {data, Tensor(DType::kI64, {2, 3})}, {f32({2})}}) ==
      "an index has at most the dimensions of data");
  CHECK(refusal({"no depth",
                 OpCode::kGatherNd,
                 &n,
                 {data, Tensor(DType::kI64, {2, 0})},
                 {f32({2, 4, 5})}}) == "an index has at most the dimensions of data");
  n.batch_dims = 2;
  CHECK(refusal(
            {"batch", OpCode::kGatherNd, &n, {data, Tensor(DType::kI64, {4, 5, 1})}, {f32({4})}}) ==
        "batch_dims is below both ranks");
  ScatterNdAttributes s{ScatterReduction(5)};
  CHECK(refusal({"reduction",
                 OpCode::kScatterNd,
                 &s,
                 {data, Tensor(DType::kI64, {2, 1}), f32({2, 5})},
                 {data}}) == "scatter's reduction is known");
  s.reduction = ScatterReduction::kAdd;
  CHECK(refusal({"updates",
                 OpCode::kScatterNd,
                 &s,
                 {data, Tensor(DType::kI64, {2, 1}), f32({2, 4})},
                 {data}}) == "dims follow from indices and data");
  CHECK(refusal({"output",
                 OpCode::kScatterNd,
                 &s,
                 {data, Tensor(DType::kI64, {2, 1}), f32({2, 5})},
                 {f32({5, 4})}}) == "same dimensions");
  const ScatterElementsAttributes se{5};
  CHECK(refusal({"axis",
                 OpCode::kScatterElements,
                 &se,
                 {data, Tensor(DType::kI64, {2, 5}), f32({2, 5})},
                 {data}}) == "scatter_elements.axis is below the rank");
}
