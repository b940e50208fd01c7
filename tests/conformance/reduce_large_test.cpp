// SPDX-License-Identifier: Apache-2.0
// Reductions at sizes where a back end changes its way: rows longer than a block of threads, more
// rows than a grid, tails of both.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/normalize.h"
#include "runtime/op/reduce.h"
#include "runtime/op/softmax.h"
#include "runtime/op/sort.h"
#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

Tolerance tolerance_of(DType d) {
  return d == DType::kF16    ? Tolerance{4e-3, 4e-3}
         : d == DType::kBF16 ? Tolerance{3e-2, 3e-2}
                             : Tolerance{5e-4, 5e-4};
}

}  // namespace

TEST_CASE("reduce: long rows, many rows, many columns") {
  const struct {
    Dims x;
    uint32_t axes;
  } rows[] = {{{2, 2047}, 2},   {{3, 2048}, 2}, {{2, 4097}, 2},     {{50, 2100}, 2},
              {{1, 9000}, 3},   {{900, 20}, 2}, {{13000, 5}, 2},    {{50, 300}, 1},
              {{9, 3, 700}, 2}, {{7000, 2}, 1}, {{2, 9, 9, 70}, 6}, {{3, 40, 2, 300}, 10}};
  for (const auto& r : rows)
    for (DType d : {DType::kF32, DType::kF16, DType::kI32})
      for (int kind = 0; kind < 10; kind++) {
        if (d == DType::kI32 && kind > 7) continue;
        const ReduceAttributes t{ReduceKind(kind), r.axes};
        Dims y = r.x;
        for (size_t i = 0; i < y.size(); i++)
          if (r.axes >> i & 1) y[i] = 1;
        const bool product = ReduceKind(kind) == ReduceKind::kProd;
        Case c{"kind " + std::to_string(kind),
               OpCode::kReduce,
               &t,
               {},
               {Tensor(d, y)},
               tolerance_of(d)};
        c.inputs = {Tensor(d, r.x).random(uint32_t(kind), product ? 0.999 : 0, product ? 1 : 2)};
        c.tolerance = {5e-2, 5e-2};
        run_case(c);
      }
  for (const auto& r : rows) {
    const ReduceAttributes t{ReduceKind::kSum, r.axes};
    Dims y = r.x;
    for (size_t i = 0; i < y.size(); i++)
      if (r.axes >> i & 1) y[i] = 1;
    const Tensor x = Tensor(DType::kI64, r.x).random(r.axes, -1e9, 1e9);
    run_case({"i64", OpCode::kReduce, &t, {x}, {Tensor(DType::kI64, y)}, {0, 0}});
  }
  for (bool last : {false, true}) {
    const ArgReduceAttributes t{true, 1, last};
    for (DType d : {DType::kF32, DType::kI16})
      run_case({"arg",
                OpCode::kArgReduce,
                &t,
                {Tensor(d, {60, 3001}).random(9, -90, 90)},
                {Tensor(DType::kI64, {60})},
                {0, 0}});
    Tensor odd = Tensor(DType::kF32, {4, 60}).random(3);
    odd.set(0, NAN), odd.set(75, NAN), odd.set(140, -0.0), odd.set(215, INFINITY);
    run_case({"odd", OpCode::kArgReduce, &t, {odd}, {Tensor(DType::kI32, {4})}, {0, 0}});
  }
}

TEST_CASE("softmax, normalize: rows held, rows too long to hold, more rows than a grid") {
  for (DType d : {DType::kF32, DType::kF16})
    for (const Dims& x :
         {Dims{200, 40}, Dims{5, 1024}, Dims{3, 1025}, Dims{50, 1100}, Dims{1, 5000}})
      for (int64_t p : {0, 3}) {
        for (bool log : {false, true}) {
          const SoftmaxAttributes last{1, log}, first{0, log};
          run_case({"softmax",
                    OpCode::kSoftmax,
                    &last,
                    {Tensor(d, x, p).random(3, -9, 9)},
                    {Tensor(d, x, p)},
                    tolerance_of(d)});
          if (x[1] > 1024) continue;
          run_case({"columns",
                    OpCode::kSoftmax,
                    &first,
                    {Tensor(d, x, p).random(4, -9, 9)},
                    {Tensor(d, x, p)},
                    tolerance_of(d)});
        }
        for (NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
          const NormalizeAttributes t{kind, 1, 1e-5f, 1};
          const Tensor scale = Tensor(d, {x[1]}).random(1, 0.5, 2),
                       bias = Tensor(d, {x[1]}).random(2);
          run_case({"norm",
                    OpCode::kNormalize,
                    &t,
                    {Tensor(d, x, p).random(5, -2, 3), scale, bias},
                    {Tensor(d, x, p)},
                    tolerance_of(d)});
        }
      }
  for (uint32_t groups : {1u, 4u, 80u}) {
    const NormalizeAttributes t{NormKind::kGroup, 0, 1e-5f, groups};
    const Tensor scale = Tensor(DType::kF32, {80}).random(1, 0.5, 2),
                 bias = Tensor(DType::kF32, {80}).random(2);
    const Tensor x = Tensor(DType::kF32, {20, 9, 11, 80}, 2).random(7);
    run_case({"group",
              OpCode::kNormalize,
              &t,
              {x, scale, bias},
              {Tensor(DType::kF32, {20, 9, 11, 80})},
              {1e-4, 1e-4}});
  }
}

TEST_CASE("topk, cumsum: lines longer than a block, whole sorts, many lines") {
  const TopKAttributes all{0, false, true};  // more than a block sorts in shared memory
  const Tensor numbers = Tensor(DType::kF32, {2100}).random(5, -99, 99);
  run_case({"sort",
            OpCode::kTopK,
            &all,
            {numbers},
            {Tensor(DType::kF32, {2060}), Tensor(DType::kI64, {2060})},
            {0, 0}});
  for (DType d : {DType::kF32, DType::kI64, DType::kU8})
    for (bool largest : {false, true}) {
      const TopKAttributes last{1, largest, true}, first{0, largest, true};
      for (int64_t k : {1, 60}) {
        const Dims y = {2, k};
        run_case({"topk",
                  OpCode::kTopK,
                  &last,
                  {Tensor(d, {2, 700}).random(6, -99, 99)},
                  {Tensor(d, y), Tensor(DType::kI64, y)},
                  {0, 0}});
      }
      const Dims y = {4, 9};
      run_case({"columns",
                OpCode::kTopK,
                &first,
                {Tensor(d, {300, 9}).random(6, -9, 9)},
                {Tensor(d, y), Tensor(DType::kI64, y)},
                {0, 0}});
      for (uint32_t axis : {0u, 1u}) {
        const CumSumAttributes t{axis, largest, axis == 0};
        const Tolerance loose = {1e-1, 1e-1};
        for (const Dims& x : {Dims{3, 1000}, Dims{70, 100}, Dims{3300, 2}})
          run_case({"cumsum",
                    OpCode::kCumSum,
                    &t,
                    {Tensor(d, x).random(3, 0, 1)},
                    {Tensor(d, x)},
                    loose});
      }
    }
}
