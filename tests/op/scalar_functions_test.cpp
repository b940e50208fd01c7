// SPDX-License-Identifier: Apache-2.0
// The contract at the head of runtime/op/scalar_functions.h, over all rows and pairs of special
// values.
#include "runtime/op/scalar_functions.h"

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace ingot;
using Op = ElementwiseOp;

namespace {

struct Row {
  const char* name;
  Op op;
  FunctionDomain domain;
  std::string result;
};
const Row kRows[] = {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  {#name, Op::k##name, FunctionDomain::k##domain, #result},
#include "runtime/op/functions.def"
};

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                  kMax = std::numeric_limits<int64_t>::max();
const std::vector<double> kSpecial = {0.0, -0.0,  1,      -1,     0.5,       3,
                                      -3,  1e308, -1e308, 5e-324, kInfinity, -kInfinity};

bool is_negative_zero(double x) { return x == 0 && std::signbit(x); }

}  // namespace

TEST_CASE("scalar functions: NaN makes every result NaN but those that the contract names") {
  const std::set<Op> excepted = {Op::kThresholdedRelu, Op::kShrink, Op::kSelect};
  for (const Row& row : kRows) {
    if (row.domain == FunctionDomain::kInteger || row.result != "Same") continue;
    CAPTURE(row.name);
    const int arity = elementwise_arity(row.op);
    for (int at = 0; at < arity; at++) {
      for (const double other : kSpecial) {
        double x[3] = {other, other, other};
        x[at] = kNan;
        const double y = scalar::call(row.op, x[0], x[1], x[2], {0.6, 1.3});
        // one to any power, anything to the power of zero, the slope of what is not negative
        const bool pow = row.op == Op::kPow && (other == 0 || other == 1),
                   prelu = row.op == Op::kPrelu && at == 1 && !(other < 0);
        if (excepted.count(row.op) == 0 && !pow && !prelu) CHECK(std::isnan(y));
      }
    }
  }
  CHECK(scalar::unary(Op::kThresholdedRelu, kNan, {0.6, 0}) == 0);
  CHECK(scalar::unary(Op::kShrink, kNan, {0.6, 1.3}) == 0);
  CHECK(scalar::unary(Op::kIsNan, kNan) == 1);
  CHECK(scalar::unary(Op::kIsInf, kNan) == 0);
  CHECK(scalar::unary(Op::kLogicalNot, kNan) == 0);
  for (const Op op : {Op::kEqual, Op::kLess, Op::kLessEqual, Op::kGreater, Op::kGreaterEqual})
    CHECK(scalar::binary(op, kNan, 1.0) == 0);
  CHECK(scalar::binary(Op::kNotEqual, kNan, kNan) == 1);
}

TEST_CASE("scalar functions: zero keeps its sign") {
  for (const Op op :
       {Op::kIdentity,  Op::kSqrt,     Op::kSin,       Op::kTanh,  Op::kErf,      Op::kFloor,
        Op::kCeil,      Op::kTrunc,    Op::kRound,     Op::kSign,  Op::kRelu,     Op::kSilu,
        Op::kGelu,      Op::kGeluTanh, Op::kHardSwish, Op::kMish,  Op::kAtan,     Op::kTan,
        Op::kAsin,      Op::kSinh,     Op::kAsinh,     Op::kAtanh, Op::kSoftsign, Op::kElu,
        Op::kLeakyRelu, Op::kCelu,     Op::kSelu}) {
    CAPTURE(int(op));
    CHECK(is_negative_zero(scalar::unary(op, -0.0, {0.6, 1.3})));
    CHECK(scalar::unary(op, 0.0, {0.6, 1.3}) == 0);
    CHECK(!std::signbit(scalar::unary(op, 0.0, {0.6, 1.3})));
  }
  CHECK(is_negative_zero(scalar::unary(Op::kClip, -0.0, {0, 6})));
  CHECK(is_negative_zero(scalar::binary(Op::kPrelu, -0.0, 0.5)));
}

TEST_CASE("scalar functions: minima and maxima of NaN and a number are NaN, whichever is first") {
  for (const Op op : {Op::kMin, Op::kMax})
    for (const double x : kSpecial) {
      CHECK(std::isnan(scalar::binary(op, kNan, x)));
      CHECK(std::isnan(scalar::binary(op, x, kNan)));
    }
}

TEST_CASE("scalar functions: at infinity") {
  CHECK(scalar::unary(Op::kGelu, -kInfinity) == 0);
  CHECK(scalar::unary(Op::kSoftplus, kInfinity) == kInfinity);
  CHECK(scalar::unary(Op::kSoftplus, -kInfinity) == 0);
  CHECK(scalar::unary(Op::kSigmoid, -kInfinity) == 0);
  CHECK(scalar::unary(Op::kElu, -kInfinity, {0.6, 0}) == -0.6);
  for (const Op op : {Op::kSilu, Op::kHardSwish, Op::kMish})
    CHECK(std::isnan(scalar::unary(op, -kInfinity)));
}

TEST_CASE("scalar functions: integers wrap, and divide by zero to zero") {
  const bool is_signed = false, is_unsigned = true;
  CHECK(scalar::unary(Op::kNeg, kLeast, is_signed) == kLeast);
  CHECK(scalar::unary(Op::kAbs, kLeast, is_signed) == kLeast);
  CHECK(scalar::unary(Op::kAbs, kLeast, is_unsigned) == kLeast);
  CHECK(scalar::binary(Op::kAdd, kMax, 1, is_signed) == kLeast);
  CHECK(scalar::binary(Op::kDiv, kLeast, -1, is_signed) == kLeast);
  CHECK(scalar::binary(Op::kDiv, 7, 0, is_signed) == 0);
  CHECK(scalar::binary(Op::kDiv, -1, 2, is_unsigned) == kMax);
  CHECK(scalar::binary(Op::kMod, 7, 0, is_signed) == 0);
  CHECK(scalar::binary(Op::kMod, kLeast, -1, is_signed) == 0);
  CHECK(scalar::binary(Op::kMod, -7, 3, is_signed) == 2);
  CHECK(scalar::binary(Op::kFmod, -7, 3, is_signed) == -1);
  CHECK(scalar::binary(Op::kPow, 3, 41, is_signed) == -420491770248316829);
  CHECK(scalar::binary(Op::kPow, -1, -3, is_signed) == -1);
  CHECK(scalar::binary(Op::kPow, 2, -3, is_signed) == 0);
  CHECK(scalar::binary(Op::kShiftLeft, 1, 64, is_signed) == 0);
  CHECK(scalar::binary(Op::kShiftRight, -8, 64, is_signed) == -1);
  CHECK(scalar::binary(Op::kShiftRight, -8, 64, is_unsigned) == 0);
  CHECK(scalar::binary(Op::kMin, -1, 1, is_signed) == -1);
  CHECK(scalar::binary(Op::kMin, -1, 1, is_unsigned) == 1);
}

TEST_CASE("scalar functions: an activation is its function, then a factor and a sum") {
  for (const double x : kSpecial) {
    const auto same = [&](Activation kind, Op op, const scalar::Numbers& by) {
      const double got = scalar::activate({kind, float(by.alpha), float(by.beta)}, x),
                   want = scalar::unary(op, x, by);
      CHECK((std::isnan(got) ? std::isnan(want) : got == want));
    };
    same(Activation::kNone, Op::kIdentity, {});
    same(Activation::kElu, Op::kElu, {0.5, 0});
    same(Activation::kGeluTanh, Op::kGeluTanh, {});
    CHECK(scalar::activate({Activation::kRelu6, 0, 0}, x) == scalar::unary(Op::kClip, x, {0, 6}));
    CHECK(scalar::activate({Activation::kReluAffine, 2, 1}, x) ==
          2 * scalar::unary(Op::kRelu, x) + 1);
  }
}
