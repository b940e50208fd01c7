// SPDX-License-Identifier: Apache-2.0
// Reduce, ArgReduce, Softmax, Normalize, TopK, CumSum.
#include "runtime/op/reduce.h"

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/normalize.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

Dims reduced(const Dims& x, uint32_t axes, bool keep) {
  Dims y;
  for (size_t i = 0; i < x.size(); i++) {
    if (!(axes >> i & 1))
      y.push_back(x[i]);
    else if (keep)
      y.push_back(1);
  }
  return y;
}
Tolerance of(DType d) {
  if (d == DType::kF16) return {2e-3, 1e-3};
  if (d == DType::kBF16) return {1.6e-2, 1e-2};
  if (d == DType::kF64) return {1e-12, 1e-12};
  return {4e-6, 4e-6};
}
const std::vector<double> kOdd = {1, NAN, -3, 2, INFINITY, 5, -INFINITY, 0.0, -0.0, 7};

}  // namespace

TEST_CASE("reduce: every kind over every set of dimensions") {
  const Dims shapes[] = {{},           {37},          {5, 37},
                         {3, 5, 70},   {2, 35, 2},    {83, 7},
                         {3, 21, 5},   {2, 3, 4, 19}, {1, 7, 7, 130},
                         {2, 1, 3, 1}, {3, 0, 4},     {2, 2, 2, 2, 2, 2, 2, 3}};
  for (const Dims& x : shapes)
    for (uint32_t axes = 0; axes < 1u << x.size(); axes++) {
      if (x.size() == 8 && axes % 37 != 0) continue;
      for (int kind = 0; kind < 10; kind++) {
        const ReduceAttributes t{ReduceKind(kind), axes};
        const bool positive = ReduceKind(kind) == ReduceKind::kLogSum;
        for (int64_t p : {0, 3}) {
          Case c{"kind " + std::to_string(kind) + " axes " + std::to_string(axes),
                 OpCode::kReduce,
                 &t,
                 {},
                 {},
                 of(DType::kF32)};
          c.inputs = {Tensor(DType::kF32, x, p).random(axes, positive ? 0.1 : -1.5, 1.5)};
          c.outputs = {Tensor(DType::kF32, reduced(x, axes, p == 0))};
          if (ReduceKind(kind) == ReduceKind::kProd) c.tolerance = {2e-5, 1e-6};
          run_case(c);
        }
      }
    }
}

TEST_CASE("reduce: every type") {
  for (int d = 1; d <= 13; d++)
    for (uint32_t axes : {1u, 2u, 3u, 0u})
      for (int kind = 0; kind < 10; kind++) {
        const DType dtype = DType(d);
        const bool real = d <= 4;
        if (!real && kind >= 8) continue;
        if (dtype == DType::kBool && kind != 2 && kind != 3) continue;
        const ReduceAttributes t{ReduceKind(kind), axes};
        Case c{std::string(dtype_name(dtype)) + " kind " + std::to_string(kind),
               OpCode::kReduce,
               &t,
               {},
               {},
               of(dtype)};
        c.inputs = {Tensor(dtype, {4, 21}).random(uint32_t(d), real ? 0.5 : -4, real ? 1.5 : 5)};
        c.outputs = {Tensor(dtype, reduced({4, 21}, axes, true))};
        run_case(c);
        c.inputs = {Tensor(dtype, {0, 21})};
        c.outputs = {Tensor(dtype, reduced({0, 21}, axes, true))};
        run_case(c);
      }
  for (int kind = 0; kind < 10; kind++)
    for (uint32_t axes : {1u, 2u}) {
      const ReduceAttributes t{ReduceKind(kind), axes};
      run_case({"special values",
                OpCode::kReduce,
                &t,
                {Tensor(DType::kF32, {2, 40}).values(kOdd)},
                {Tensor(DType::kF32, reduced({2, 40}, axes, true))},
                {1, 1}});
    }
}

TEST_CASE("arg_reduce: axes, ties, types") {
  for (int d = 1; d <= 13; d++)
    for (uint32_t axis = 0; axis < 3; axis++)
      for (int flags = 0; flags < 4; flags++) {
        const ArgReduceAttributes t{(flags & 1) != 0, axis, (flags & 2) != 0};
        const Dims x = {4, 5, 33};
        run_case(
            {"arg",
             OpCode::kArgReduce,
             &t,
             {Tensor(DType(d), x, flags).random(axis, d == 13 ? 0 : -5, d == 13 ? 1 : 5)},
             {Tensor(flags & 1 ? DType::kI64 : DType::kI32, reduced(x, 1u << axis, flags != 0))}});
      }
}

TEST_CASE("softmax: every axis, lengths, halves, masks") {
  const Dims shapes[] = {{1},         {19},   {3, 17},   {2, 5, 64}, {2, 33, 3, 18},
                         {2, 100, 1}, {0, 4}, {3, 1, 40}};
  for (const Dims& x : shapes)
    for (uint32_t axis = 0; axis < x.size(); axis++)
      for (bool log : {false, true})
        for (int64_t p : {0, 5})
          for (DType d : {DType::kF32, DType::kF16, DType::kBF16}) {
            const SoftmaxAttributes t{axis, log};
            Case c{"axis " + std::to_string(axis),        OpCode::kSoftmax,  &t,
                   {Tensor(d, x, p).random(axis, -9, 9)}, {Tensor(d, x, p)}, of(d)};
            run_case(c);
            if (p) c.outputs = {Tensor(d, x)}, run_case(c);
          }
  const SoftmaxAttributes t{1};
  run_case({"masked",
            OpCode::kSoftmax,
            &t,
            {Tensor(DType::kF32, {2, 30}).values({1, -INFINITY, 3, 2, -200})},
            {Tensor(DType::kF32, {2, 30})},
            of(DType::kF32)});
  run_case({"NaN stays in its row",
            OpCode::kSoftmax,
            &t,
            {Tensor(DType::kF32, {2, 3}).values({1, NAN, 3, 2, 2, 2})},
            {Tensor(DType::kF32, {2, 3})},
            of(DType::kF32)});
}

TEST_CASE("normalize: layer, rms, instance, group with and without scale and bias") {
  const struct {
    NormKind kind;
    Dims x;
    uint32_t axis, groups;
    int64_t parameters;
  } rows[] = {
      {NormKind::kLayer, {3, 37}, 1, 1, 37},      {NormKind::kLayer, {2, 3, 5, 8}, 2, 1, 40},
      {NormKind::kLayer, {4, 1}, 1, 1, 1},        {NormKind::kRms, {3, 130}, 1, 1, 130},
      {NormKind::kRms, {3, 4, 5}, 0, 1, 60},      {NormKind::kInstance, {2, 5, 7, 19}, 0, 1, 19},
      {NormKind::kInstance, {1, 40, 3}, 0, 1, 3}, {NormKind::kGroup, {2, 5, 7, 24}, 0, 4, 24},
      {NormKind::kGroup, {1, 33, 40}, 0, 1, 40},  {NormKind::kGroup, {3, 4, 4, 18}, 0, 9, 18},
      {NormKind::kGroup, {2, 6}, 0, 3, 6},        {NormKind::kInstance, {0, 4, 4}, 0, 1, 4}};
  for (const auto& r : rows)
    for (int parameters = 0; parameters < 4; parameters++)
      for (int64_t p : {0, 5})
        for (DType d : {DType::kF32, DType::kF16, DType::kBF16}) {
          const bool rows_only = r.kind == NormKind::kLayer || r.kind == NormKind::kRms;
          if (!rows_only && d != DType::kF32) continue;
          if (p && rows_only && r.axis + 1 != r.x.size()) continue;
          const NormalizeAttributes t{r.kind, r.axis, 1e-5f, r.groups};
          Case c{"kind " + std::to_string(int(r.kind)),
                 OpCode::kNormalize,
                 &t,
                 {},
                 {Tensor(d, r.x, p)},
                 of(d)};
          if (d == DType::kF32) c.tolerance = {2e-5, 2e-5};
          c.inputs = {Tensor(d, r.x, p).random(5, -2, 3),
                      parameters & 1 ? Tensor(d, {r.parameters}).random(1, 0.5, 2) : Tensor(),
                      parameters & 2 ? Tensor(d, {r.parameters}).random(2) : Tensor()};
          run_case(c);
        }
}

TEST_CASE("topk: axes, ties, NaN, types") {
  for (int d = 1; d <= 12; d++)
    for (uint32_t axis = 0; axis < 2; axis++)
      for (int64_t k : {0, 1, 3, 8})
        for (bool largest : {false, true}) {
          const TopKAttributes t{axis, largest, true};
          Dims y = {9, 8};
          y[axis] = k;
          run_case({"topk",
                    OpCode::kTopK,
                    &t,
                    {Tensor(DType(d), {9, 8}).random(uint32_t(k), -4, 4)},
                    {Tensor(DType(d), y), Tensor(DType::kI64, y)},
                    {0, 0}});
        }
  const TopKAttributes t{0};
  run_case({"NaN",
            OpCode::kTopK,
            &t,
            {Tensor(DType::kF32, {20}).values(kOdd)},
            {Tensor(DType::kF32, {7}), Tensor(DType::kI64, {7})}});
}

TEST_CASE("cumsum: axes, directions, types") {
  for (int d = 1; d <= 12; d++)
    for (uint32_t axis = 0; axis < 3; axis++)
      for (int flags = 0; flags < 4; flags++) {
        const CumSumAttributes t{axis, (flags & 1) != 0, (flags & 2) != 0};
        run_case({"cumsum",
                  OpCode::kCumSum,
                  &t,
                  {Tensor(DType(d), {3, 7, 4}).random(axis, -3, 3)},
                  {Tensor(DType(d), {3, 7, 4})},
                  d == 3   ? Tolerance{5e-2, 5e-2}
                  : d == 2 ? Tolerance{1e-2, 1e-2}
                           : Tolerance{1e-5, 1e-5}});
      }
}

TEST_CASE("reduce: the contracts refuse") {
  const Tensor x(DType::kF32, {3, 4}), whole(DType::kI32, {3, 4});
  const auto f32 = [](Dims d) { return Tensor(DType::kF32, d); };
  ReduceAttributes r{ReduceKind::kSum, 4};
  CHECK(refusal({"axes", OpCode::kReduce, &r, {x}, {x}}) == "reduce.axes are below the rank");
  r.axes = 2;
  CHECK(refusal({"dims", OpCode::kReduce, &r, {x}, {f32({4})}}) ==
        "reduce's output has the reduced dims");
  r.kind = ReduceKind(10);
  CHECK(refusal({"kind", OpCode::kReduce, &r, {x}, {f32({3, 1})}}) == "reduce.kind is known");
  r.kind = ReduceKind::kLogSum;
  CHECK(refusal({"log of whole", OpCode::kReduce, &r, {whole}, {Tensor(DType::kI32, {3})}}) ==
        "a logarithm needs a floating-point type");
  r.kind = ReduceKind::kSum;
  CHECK(refusal({"sum of bool",
                 OpCode::kReduce,
                 &r,
                 {Tensor(DType::kBool, {3, 4})},
                 {Tensor(DType::kBool, {3})}}) == "bool reduces by max or min only");
  ArgReduceAttributes a{true, 2};
  CHECK(refusal({"axis", OpCode::kArgReduce, &a, {x}, {Tensor(DType::kI64, {3})}}) ==
        "arg_reduce.axis is below the rank");
  a.axis = 1;
  CHECK(refusal({"type", OpCode::kArgReduce, &a, {x}, {f32({3})}}) ==
        "arg_reduce gives i64 or i32");
  CHECK(refusal({"empty", OpCode::kArgReduce, &a, {f32({3, 0})}, {Tensor(DType::kI64, {3})}}) ==
        "arg_reduce's axis is not empty");
  SoftmaxAttributes s{2};
  CHECK(refusal({"axis", OpCode::kSoftmax, &s, {x}, {x}}) == "softmax.axis is below the rank");
  CHECK(refusal({"type", OpCode::kSoftmax, &s, {whole}, {whole}}) ==
        "softmax takes f32, f16 or bf16");
  s.axis = 1;
  CHECK(refusal({"dims", OpCode::kSoftmax, &s, {x}, {f32({4, 3})}}) == "same dimensions");
  NormalizeAttributes n{NormKind::kLayer, 2};
  CHECK(refusal({"axis", OpCode::kNormalize, &n, {x}, {x}}) == "normalize.axis is below the rank");
  n.axis = 1;
  CHECK(refusal({"scale", OpCode::kNormalize, &n, {x, f32({3})}, {x}}) ==
        "normalize's scale and bias fit what is normalized");
  n.epsilon = NAN;
  CHECK(refusal({"epsilon", OpCode::kNormalize, &n, {x}, {x}}) ==
        "normalize.epsilon is finite and not negative");
  n = {NormKind::kGroup, 0, 1e-5f, 3};
  CHECK(refusal({"groups", OpCode::kNormalize, &n, {x}, {x}}) ==
        "normalize.groups divides the channels");
  n.groups = 0;
  CHECK(refusal({"no group", OpCode::kNormalize, &n, {x}, {x}}) ==
        "normalize.groups divides the channels");
  n.kind = NormKind(4);
  CHECK(refusal({"kind", OpCode::kNormalize, &n, {x}, {x}}) == "normalize.kind is known");
  n = {NormKind::kLayer, 0};
  CHECK(refusal({"stride", OpCode::kNormalize, &n, {Tensor(DType::kF32, {3, 4}, 2)}, {x}}) ==
        "normalize over several dimensions takes dense operands");
  TopKAttributes t{1};
  CHECK(refusal({"k", OpCode::kTopK, &t, {x}, {f32({3, 5}), Tensor(DType::kI64, {3, 5})}}) ==
        "topk's output is at most the input along the axis and equal elsewhere");
  CHECK(refusal({"indices", OpCode::kTopK, &t, {x}, {f32({3, 2}), Tensor(DType::kI32, {3, 2})}}) ==
        "topk's indices are i64");
  CHECK(refusal({"one output", OpCode::kTopK, &t, {x}, {f32({3, 2})}}) == "enough outputs");
  t.axis = 2;
  CHECK(refusal({"axis", OpCode::kTopK, &t, {x}, {f32({3, 2}), Tensor(DType::kI64, {3, 2})}}) ==
        "topk.axis is below the rank");
  const CumSumAttributes c{2};
  CHECK(refusal({"axis", OpCode::kCumSum, &c, {x}, {x}}) == "cumsum.axis is below the rank");
  CHECK(refusal({"bool",
                 OpCode::kCumSum,
                 &c,
                 {Tensor(DType::kBool, {3})},
                 {Tensor(DType::kBool, {3})}}) == "cumsum takes numbers");
}
