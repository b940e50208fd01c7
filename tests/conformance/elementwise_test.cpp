// SPDX-License-Identifier: Apache-2.0
// Elementwise chains: every operator, every broadcast, every type.
#include "runtime/op/elementwise.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;
using Op = ElementwiseOp;

namespace {

using Dims = std::vector<int64_t>;

ElementwiseAttributes steps(std::initializer_list<ElementwiseStep> list,
                            ComputeType compute = ComputeType::kF32) {
  ElementwiseAttributes t;
  t.compute = compute;
  for (const ElementwiseStep& s : list) t.steps[t.step_count++] = s;
  return t;
}

struct Function {
  const char* name;
  Op op;
  FunctionDomain domain;
};
constexpr Function kFunctions[] = {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  {#name, Op::k##name, FunctionDomain::k##domain},
#include "runtime/op/functions.def"
};

struct Range {
  double low, high;
};
Range domain(Op op) {
  switch (op) {
    case Op::kLog:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kPow: return {0.01, 4};
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtanh: return {-0.99, 0.99};
    case Op::kAcosh: return {1, 9};
    case Op::kTan: return {-1.5, 1.5};
    case Op::kReciprocal:
    case Op::kDiv:
    case Op::kMod:
    case Op::kFmod: return {0.5, 7};
    default: return {-4, 4};
  }
}

const std::vector<double> kOdd = {0.0, -0.0, 1e-40, -1e-40, 1e38, -1e38, INFINITY, -INFINITY,
                                  NAN, 1,    -1,    0.5,    88.5, -88.5, 104,      -104};

}  // namespace

TEST_CASE("elementwise: each operator in f32 on vectors, tails and special values") {
  for (const Function& f : kFunctions) {
    if (f.domain == FunctionDomain::kInteger) continue;
    const Op op = f.op;
    const int n = int(op);
    const int arity = elementwise_arity(op);
    const auto t =
        steps({{op, 0, uint8_t(arity > 1 ? 1 : 0), uint8_t(arity > 2 ? 2 : 0), 0.6f, 1.3f}});
    const Range r = domain(op);
    Case c{std::string(f.name), OpCode::kElementwise, &t, {}, {Tensor(DType::kF32, {7, 43})},
           {5e-6, 1e-6}};
    for (int i = 0; i < arity; i++)
      c.inputs.push_back(Tensor(DType::kF32, {7, 43}).random(uint32_t(17 * i + n), r.low, r.high));
    run_case(c);
    c.name += " on special values";
    c.outputs = {Tensor(DType::kF32, {16, 16})};
    for (int i = 0; i < arity; i++) {
      c.inputs[size_t(i)] = Tensor(DType::kF32, {16, 16});
      for (int k = 0; k < 256; k++)
        c.inputs[size_t(i)].set(k, kOdd[size_t(i == 0 ? k % 16 : i == 1 ? k / 16 : (k * 7) % 16)]);
    }
    c.tolerance = {1e-5, 1e-6};
    if (op == Op::kTan || op == Op::kSin || op == Op::kCos) c.tolerance.absolute = 1e-5;
    if (op == Op::kSilu || op == Op::kMish || op == Op::kGeluTanh || op == Op::kGelu ||
        op == Op::kHardSwish) {
      c.inputs[0].random(9, -80, 80);  // x * 0 at infinity is for the formula to say
    }
    run_case(c);
  }
}

TEST_CASE("elementwise: the extremes of a NaN and a number are NaN, whichever stands first") {
  for (const Op op : {Op::kMin, Op::kMax}) {
    for (const DType type : {DType::kF32, DType::kF64}) {
      const auto t =
          steps({{op, 0, 1}}, type == DType::kF64 ? ComputeType::kF64 : ComputeType::kF32);
      Case c{"extremes of NaN", OpCode::kElementwise, &t, {}, {Tensor(type, {2, 37})}, {0, 0}};
      const Tensor nan = Tensor(type, {2, 37}).values({NAN}),
                   number = Tensor(type, {2, 37}).values({2, -2, 0});
      c.oracle_inputs = {nan, nan};
      c.inputs = {nan, number};
      run_case(c);
      c.inputs = {number, nan};
      run_case(c);
    }
  }
}

TEST_CASE("elementwise: broadcasts of every kind and rank") {
  struct Row {
    const char* name;
    std::vector<int64_t> a, b, y;
  };
  const Row rows[] = {
      {"scalars", {}, {}, {}},
      {"scalar with vector", {}, {5}, {5}},
      {"same", {3, 5, 7}, {3, 5, 7}, {3, 5, 7}},
      {"channel, three", {2, 9, 11, 3}, {3}, {2, 9, 11, 3}},
      {"channel, wide", {4, 5, 300}, {300}, {4, 5, 300}},
      {"row", {33, 1}, {33, 40}, {33, 40}},
      {"row, long", {3, 1}, {3, 700}, {3, 700}},
      {"middle", {2, 1, 8}, {2, 17, 8}, {2, 17, 8}},
      {"both ways", {5, 1, 6}, {1, 7, 1}, {5, 7, 6}},
      {"expand", {1, 4}, {}, {6, 4}},
      {"outer", {31, 1}, {1, 29}, {31, 29}},
      {"rank 8", {2, 1, 2, 1, 2, 1, 2, 3}, {1, 2, 1, 2, 1, 2, 1, 3}, {2, 2, 2, 2, 2, 2, 2, 3}},
      {"empty", {4, 0, 3}, {3}, {4, 0, 3}},
      {"one million split by threads", {1000, 70}, {1000, 70}, {1000, 70}},
      {"ones", {1, 1, 1}, {1, 1}, {1, 1, 1}},
      // apart where strided: the last channel of a concat
      {"rows of one", {5, 9, 1}, {5, 9, 1}, {5, 9, 1}},
      {"rows of one, one of them still", {3, 700, 1}, {1}, {3, 700, 1}},
      {"rows of one, broadcast", {5, 1, 1}, {5, 7, 1}, {5, 7, 1}},
  };
  const auto sum = steps({{Op::kAdd, 0, 1}});
  const auto chain = steps({{Op::kMul, 0, 1},
                            {Op::kScaleShift, 2, 0, 0, 1.5f, -0.25f},
                            {Op::kSub, 3, kConstantRegister, 0, 0.5f},
                            {Op::kMax, 4, 0}});
  for (const Row& r : rows) {
    for (const auto* t : {&sum, &chain}) {
      for (int64_t padding : {0, 5}) {
        Case c{r.name, OpCode::kElementwise, t};
        c.inputs = {Tensor(DType::kF32, r.a, padding).random(1),
                    Tensor(DType::kF32, r.b, padding).random(2)};
        c.outputs = {Tensor(DType::kF32, r.y, padding)};
        run_case(c);
        c.inputs = {Tensor(DType::kF16, r.a, padding).random(1),
                    Tensor(DType::kI32, r.b).random(2, -9, 9)};
        run_case(c);
      }
    }
  }
}

TEST_CASE(
    "elementwise: chains of usual steps on rows of fours, more than a grid, halves, broadcasts, an "
    "older result") {
  const auto straight = steps({{Op::kMul, 0, 1},
                               {Op::kAdd, 4, 2},
                               {Op::kSilu, 5},
                               {Op::kFma, 6, 3, 0},
                               {Op::kMax, 7, kConstantRegister, 0, -0.5f}});
  const auto older =
      steps({{Op::kMul, 0, 1}, {Op::kAdd, 4, 2}, {Op::kSilu, 5}, {Op::kFma, 6, 3, 4}});
  const Dims y = {30, 41, 64};
  const Dims others[][3] = {{{64}, {30, 41, 64}, {1}},
                            {{30, 1, 64}, {41, 1}, {30, 1, 1}},
                            {{41, 64}, {30, 41, 1}, {1, 1, 64}}};
  for (const auto* t : {&straight, &older})
    for (const auto& o : others)
      for (DType d : {DType::kF32, DType::kF16, DType::kBF16}) {
        Case c{"chain", OpCode::kElementwise, t, {Tensor(d, y).random(1)}, {Tensor(d, y)}};
        c.tolerance = d == DType::kF32 ? Tolerance{2e-5, 2e-5} : Tolerance{2e-2, 2e-2};
        for (uint32_t k = 0; k < 3; k++)
          c.inputs.push_back(Tensor(k == 1 ? DType::kF32 : d, o[k]).random(k + 2));
        run_case(c);
        c.inputs[0] = Tensor(d, {41, 64}, 1).random(1);  // rows that fours do not start on
        run_case(c);
      }
}

TEST_CASE("elementwise: conversions between all types") {
  const ElementwiseAttributes t;
  for (int from = 1; from <= 13; from++) {
    for (int to = 1; to <= 13; to++) {
      Case c{std::string(dtype_name(DType(from))) + " to " + dtype_name(DType(to)),
             OpCode::kElementwise,
             &t,
             {},
             {},
             {0, 0}};
      c.inputs = {Tensor(DType(from), {3, 100}, 3)
                      .random(uint32_t(from), from == 13 ? 0 : -130, from == 13 ? 1 : 130)};
      c.outputs = {Tensor(DType(to), {3, 100})};
      run_case(c);
      if (from > 4) continue;
      c.name += ", special";
      c.inputs = {Tensor(DType(from), {3, 100})
                      .values({0.5, -0.5, 1.5, -1.5, 300, 70000, 65519, 65520, 1e-8, 6e-8, 3e9,
                               -3e9, 1e19, -1e19, INFINITY, NAN})};
      run_case(c);
    }
  }
}

TEST_CASE("elementwise: whole numbers wrap and never trap") {
  for (const Function& f : kFunctions) {
    if (f.domain == FunctionDomain::kFloat) continue;
    const Op op = f.op;
    for (ComputeType compute : {ComputeType::kI64, ComputeType::kU64}) {
      const int arity = elementwise_arity(op);
      const auto t =
          steps({{op, 0, uint8_t(arity > 1 ? 1 : 0), uint8_t(arity > 2 ? 2 : 0), 2, 5}}, compute);
      const DType dtype = compute == ComputeType::kI64 ? DType::kI64 : DType::kU64;
      Case c{std::string(f.name), OpCode::kElementwise, &t, {}, {Tensor(dtype, {300})}};
      for (int i = 0; i < arity; i++) {
        Tensor x(dtype, {300});
        const int64_t odd[] = {0, 1, -1, 2, 7, -7, 63, 64, 65, INT64_MIN, INT64_MAX, 3};
        for (int k = 0; k < 300; k++)
          x.view().as<int64_t>()[k] = odd[i == 0 ? k % 12 : i == 1 ? k / 12 % 12 : k % 5];
        c.inputs.push_back(x);
      }
      run_case(c);
    }
  }
  const auto add = steps({{Op::kAdd, 0, 1}}, ComputeType::kI64);
  run_case(
      {"i32 plus u8",
       OpCode::kElementwise,
       &add,
       {Tensor(DType::kI32, {9, 4}).random(1, -99, 99), Tensor(DType::kU8, {4}).random(2, 0, 255)},
       {Tensor(DType::kI8, {9, 4})}});
}

TEST_CASE("elementwise: limits of whole numbers that no whole number is") {
  for (const ComputeType compute : {ComputeType::kI64, ComputeType::kU64}) {
    const DType dtype = compute == ComputeType::kI64 ? DType::kI64 : DType::kU64;
    for (const float low : {-INFINITY, -1e30f, 0.0f, 1e30f, INFINITY, NAN})
      for (const float high : {-INFINITY, -1e30f, 3.0f, 1e30f, INFINITY, NAN}) {
        const auto t = steps({{Op::kClip, 0, 0, 0, low, high}}, compute);
        const Tensor x = Tensor(dtype, {9}).values({0, 1, 2, 3, 4, 5, 100, 1e15, 7});
        run_case({"limits", OpCode::kElementwise, &t, {x}, {Tensor(dtype, {9})}, {0, 0}});
      }
  }
}

TEST_CASE("elementwise: doubles") {
  for (const Function& f : kFunctions) {
    if (f.domain == FunctionDomain::kInteger) continue;
    const Op op = f.op;
    const int n = int(op);
    const int arity = elementwise_arity(op);
    const auto t =
        steps({{op, 0, uint8_t(arity > 1 ? 1 : 0), uint8_t(arity > 2 ? 2 : 0), 0.6f, 1.3f}},
              ComputeType::kF64);
    const Range r = domain(op);
    Case c{std::string(f.name),         OpCode::kElementwise, &t, {},
           {Tensor(DType::kF64, {43})}, {1e-14, 1e-14}};
    for (int i = 0; i < arity; i++)
      c.inputs.push_back(Tensor(DType::kF64, {43}).random(uint32_t(17 * i + n), r.low, r.high));
    run_case(c);
  }
}

TEST_CASE("elementwise: the contract refuses") {
  const Tensor x(DType::kF32, {2, 3}), y(DType::kF32, {2, 3});
  const auto good = steps({{Op::kAdd, 0, 1}});
  Case c{"", OpCode::kElementwise, &good, {x, x}, {y}};
  CHECK(refusal({"does not broadcast",
                 OpCode::kElementwise,
                 &good,
                 {x, Tensor(DType::kF32, {2})},
                 {y}}) == "elementwise operand broadcasts to the output");
  CHECK(refusal({"rank above the output's",
                 OpCode::kElementwise,
                 &good,
                 {x, Tensor(DType::kF32, {1, 2, 3})},
                 {y}}) == "elementwise operand broadcasts to the output");
  auto t = steps({{Op::kAdd, 0, 2}});
  CHECK(refusal({"reads its own register", OpCode::kElementwise, &t, {x, x}, {y}}) ==
        "elementwise step reads a register written before");
  t = steps({{Op::kSelect, 0, 1, 253}});
  CHECK(refusal({"third register", OpCode::kElementwise, &t, {x, x}, {y}}) ==
        "elementwise step reads a register written before");
  t = steps({{Op(63), 0}});  // a number that no function has
  CHECK(refusal({"unknown operator", OpCode::kElementwise, &t, {x}, {y}}) ==
        "elementwise step's operator is known");
  t = steps({{Op::kExp, 0}}, ComputeType::kI64);
  CHECK(refusal({"exp of integers", OpCode::kElementwise, &t, {x}, {y}}) ==
        "elementwise step computes in floating point");
  t = steps({{Op::kShiftLeft, 0, 1}});
  CHECK(refusal({"shift of floats", OpCode::kElementwise, &t, {x, x}, {y}}) ==
        "elementwise step computes in integers");
  t = good;
  t.step_count = 17;
  CHECK(refusal({"too many steps", OpCode::kElementwise, &t, {x, x}, {y}}) ==
        "elementwise has at most 16 steps");
  t = good;
  t.compute = ComputeType(4);
  CHECK(refusal({"unknown type", OpCode::kElementwise, &t, {x, x}, {y}}) ==
        "elementwise.compute is known");
  t.step_count = 0, t.compute = ComputeType::kF32;
  CHECK(refusal({"conversion of two", OpCode::kElementwise, &t, {x, x}, {y}}) ==
        "a conversion has one operand");
  CHECK(refusal({"absent operand", OpCode::kElementwise, &good, {x, Tensor()}, {y}}) ==
        "required input is present");
  c.inputs = {};
  CHECK(refusal(c) == "enough inputs");
  c.inputs.assign(9, x);
  CHECK(refusal(c) == "not too many inputs");
  Tensor hostile = x;
  hostile.view().rank = 9;
  CHECK(refusal({"rank 9", OpCode::kElementwise, &good, {hostile, x}, {y}}) == "rank is at most 8");
  hostile = x;
  hostile.view().dims[0] = int64_t{INT32_MAX} + 1;  // more than an extent holds
  CHECK(refusal({"beyond", OpCode::kElementwise, &good, {hostile, x}, {y}}) ==
        "dimension is not negative");
  hostile = x;
  hostile.view().dims[0] = -2;
  CHECK(refusal({"negative", OpCode::kElementwise, &good, {hostile, x}, {y}}) ==
        "dimension is not negative");
  hostile = x;
  for (int i = 0; i < hostile.view().rank; i++) hostile.view().dims[i] = INT32_MAX;
  hostile.view().row_stride = INT32_MAX;
  CHECK(refusal({"overflow", OpCode::kElementwise, &good, {hostile, x}, {y}}) ==
        "tensor is at most 2^60 bytes");
  hostile = x;
  hostile.view().row_stride = 2;
  CHECK(refusal({"stride inside the row", OpCode::kElementwise, &good, {hostile, x}, {y}}) ==
        "row_stride covers the row");
  hostile = x;
  hostile.view().dtype = DType(77);
  CHECK(refusal({"unknown dtype", OpCode::kElementwise, &good, {hostile, x}, {y}}) ==
        "operand has a known dtype");
  hostile = x;
  hostile.view().packing = Packing::kPanels16;
  CHECK(refusal({"packed", OpCode::kElementwise, &good, {hostile, x}, {y}}) == "operand is dense");
}
