// SPDX-License-Identifier: Apache-2.0
// Products of two matrices of bytes: every tail of the three extents, batches, either order of the
// second, zero points, limits, sums that fill 32 bits, and what the contract refuses.
#include "runtime/op/quantized_matmul.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;
using Attributes = QuantizedMatMulAttributes;

/// The same scale in fixed point, `left` times a power that shifts to the left of small sums.
void fixed(Attributes* t, RequantMode mode, int left) {
  int exponent = 0;
  const double fraction = std::frexp(double(t->scale), &exponent);
  t->requant = mode, t->scale = 0;
  t->multiplier = int32_t(fraction * 2147483647.0);
  t->shift = left ? -exponent : -3;
}

/// `batch` dimensions in front of m x k times k x n.
Case product(const Attributes& t, Dims batch, int64_t m, int64_t k, int64_t n, uint32_t seed) {
  Dims a = batch, b = batch, y = batch;
  a.insert(a.end(), {m, k}), y.insert(y.end(), {m, n});
  b.insert(b.end(), {t.trans_b ? n : k, t.trans_b ? k : n});
  Case c{"quantized_mat_mul", OpCode::kQuantizedMatMul, &t, {}, {}, {0, 0}};
  c.inputs = {Tensor(DType::kU8, a).random(seed, 0, 255),
              Tensor(DType::kU8, b).random(seed + 1, 0, 255)};
  c.outputs = {Tensor(DType::kU8, y)};
  return c;
}

}  // namespace

TEST_CASE("quantized_mat_mul: the product of its attributes and extents") {
  Combinations all("quantized_mat_mul", 1500, 2, 0);
  const Axis<Dims> batch = all.axis<Dims>("batch", {{}, {1}, {3}, {2, 5}, {0}});
  const Axis<int> m = all.axis<int>("m", {1, 2, 7, 29, 61, 0});
  const Axis<int> k = all.axis<int>("k", {1, 3, 4, 32, 63, 0});
  const Axis<int> n = all.axis<int>("n", {1, 15, 16, 33, 70, 0});
  const Axis<int> trans_b = all.axis("trans_b", 2);
  const Axis<int> a_zero = all.axis<int>("a_zero", {0, 128, 255});
  const Axis<int> b_zero = all.axis<int>("b_zero", {0, 128, 131, 255});
  const Axis<Dims> limits = all.axis<Dims>("limits", {{128, 0, 255}, {0, 0, 255}, {255, 30, 250}});
  const Axis<int> mode = all.axis<int>("mode", {0, 1, 2, 3});
  Attributes t;
  uint32_t seed = 0;
  all.run([&](Case& c) {
    t = {};
    t.trans_b = trans_b() != 0, t.a_zero = uint32_t(a_zero()), t.b_zero = uint32_t(b_zero());
    t.y_zero = uint32_t(limits()[0]), t.low = uint32_t(limits()[1]), t.high = uint32_t(limits()[2]);
    t.scale = float(40 / (9000 * std::sqrt(double(k() + 1))));
    if (mode()) fixed(&t, RequantMode(mode()), seed % 3 ? 1 : 0);
    c = product(t, batch(), m(), k(), n(), seed += 2);
    return true;
  });
}

TEST_CASE("quantized_mat_mul: matrices as attention has them, and sums that fill 32 bits") {
  Attributes t;
  t.a_zero = 120, t.b_zero = 3, t.y_zero = 128, t.scale = 1e-4f;
  run_case(product(t, {2, 3}, 65, 32, 129, 5));
  t.trans_b = true;
  run_case(product(t, {2, 3}, 130, 64, 77, 9));
  t.a_zero = t.b_zero = 0, t.scale = 1e-8f;
  Case most = product(t, {}, 2, 65793, 3, 1);
  most.inputs[0].values({255}), most.inputs[1].values({255, 0, 255});
  run_case(most);
}

TEST_CASE("quantized_mat_mul: the contract refuses") {
  struct Wrong {
    const char* rule;
    void (*spoil)(Attributes&, Case&);
  };
  using T = Attributes;
  const Wrong wrongs[] = {
      {"quantized_mat_mul works on u8", [](T&, Case& c) { c.inputs[1].view().dtype = DType::kI8; }},
      {"operands are matrices", [](T&, Case& c) { c.inputs[0] = Tensor(DType::kU8, {6}); }},
      {"same rank",
       [](T&, Case& c) {
         c.inputs[1] = Tensor(DType::kU8, {6, 5});
       }},
      {"dimensions before the matrices are the same",
       [](T&, Case& c) {
         c.inputs[1] = Tensor(DType::kU8, {1, 6, 5});
       }},
      {"b has a row for each column of a", [](T& t, Case&) { t.trans_b = true; }},
      {"y is [..., M, N]",
       [](T&, Case& c) {
         c.outputs[0] = Tensor(DType::kU8, {2, 4, 6});
       }},
      {"a_zero is a byte", [](T& t, Case&) { t.a_zero = 256; }},
      {"b_zero is a byte", [](T& t, Case&) { t.b_zero = 256; }},
      {"y_zero is a number of y", [](T& t, Case&) { t.y_zero = 256; }},
      {"low is at most high", [](T& t, Case&) { t.low = 9, t.high = 8; }},
      {"a scale is a positive normal number", [](T& t, Case&) { t.scale = 0; }},
      {"a scale is a positive normal number", [](T& t, Case&) { t.scale = NAN; }},
      {"the scale of fixed point is 0",
       [](T& t, Case&) { t.requant = RequantMode::kFixedAway, t.shift = 1; }},
      {"a multiplier of fixed point is not negative",
       [](T& t, Case&) { fixed(&t, RequantMode::kFixedUp, 1), t.multiplier = -1; }},
      {"a shift of fixed point is in its range",
       [](T& t, Case&) { fixed(&t, RequantMode::kFixedOnce, 1), t.shift = -31; }},
      {"quantized_mat_mul gives bytes", [](T& t, Case&) { t.requant = RequantMode::kToFloat; }},
      {"sums of 64 bits are of 16-bit numbers",
       [](T& t, Case&) { t.requant = RequantMode::kFixedWide; }},
      {"a sum of products of bytes fits 32 bits",
       [](T&, Case& c) {
         c.inputs = {Tensor(DType::kU8, {2, 4, 65794}), Tensor(DType::kU8, {2, 65794, 5})};
       }},
  };
  for (const Wrong& w : wrongs) {
    Attributes t;
    Case c = product(t, {2}, 4, 6, 5, 1);
    w.spoil(t, c);
    CHECK(refusal(c) == w.rule);
  }
}
