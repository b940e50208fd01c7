// tests/aten/composed_numbers_test.cpp - operators that are lowered to several others give eager
// PyTorch's numbers (torch 2.15): running and sorted values, small linear algebra, masks, spectra.
#include <cmath>

#include "tests/aten/program.h"
#include "tools/diagnose/reference/evaluator.h"

using namespace ingot;
using namespace ingot::test;
using aten::Value;
using Numbers = std::vector<double>;

namespace {

/// The first element that is further off than 2e-5 of the largest, or -1.
int64_t first_difference(const Numbers& got, const Numbers& expected) {
  if (got.size() != expected.size()) return 0;
  double largest = 0;
  for (const double x : expected) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < got.size(); i++)
    if (!(std::abs(got[i] - expected[i]) <= 2e-5 * largest)) return int64_t(i);
  return -1;
}

/// What the nodes compute: not all of them fold while they are made.
Numbers computed(Program& p, const Value& value) {
  reference::Evaluator evaluator(p.model);
  evaluator.run(p.model.graph);
  return evaluator.get(p.builder.read(value.tensor)).at;
}

}  // namespace

TEST_CASE("operators of several nodes give PyTorch's numbers") {
  Program p;
  const Value x = p.floats({2, 3}, {2, -1, 0.5, 3, 0.25, -2}), b = p.floats({3}, {-1, 0.5, 2}),
              x2 = p.floats({2, 3}, {1.5, 0, 3, -1, 1.25, 4}),
              b2 = p.floats({3}, {1.25, 0.75, 2.25}), b1 = p.floats({3}, {1, 0.5, 2}),
              b3 = p.floats({3}, {-0.333333343, 0.166666672, 0.666666687}),
              m = p.floats({3, 3}, {0, 2, 1, 1, 1, 0, 3, 0, 1}),
              p3 = p.floats({3, 3}, {6, 2, 1, 2, 3, 3, 1, 3, 11}),
              mask = p.tensor(DType::kBool, {2, 3}, {1, 0, 1, 1, 0, 0});
  struct Row {
    const char* op;
    std::vector<Value> arguments;
    Numbers expected;
  };
  const Row rows[] = {
      {"cumprod", {x, whole(1)}, {2, -2, -1, 3, 0.75, -1.5}},
      {"cummax", {x, whole(1)}, {2, 2, 2, 3, 3, 3}},
      {"cummin", {x, whole(0)}, {2, -1, 0.5, 2, -1, -2}},
      {"logcumsumexp", {x, whole(1)}, {2, 2.04858732, 2.24131131, 3, 3.06196761, 3.0682807}},
      {"kthvalue", {x, whole(2)}, {0.5, 0.25}},
      {"median", {x}, {0.25}},
      {"quantile", {x, real(0.3), whole(1)}, {-0.0999999642, -0.649999976}},
      {"histc", {x, whole(4), real(-2), real(2)}, {1, 1, 2, 1}},
      {"bucketize", {x, b}, {2, 0, 1, 3, 1, 0}},
      {"searchsorted", {b, x}, {2, 0, 1, 3, 1, 0}},
      {"inverse",
       {m},
       {-0.199999988, 0.399999976, 0.200000018, 0.200000018, 0.599999964, -0.199999988, 0.599999964,
        -1.19999993, 0.399999976}},
      {"det", {m}, {-5}},
      {"linalg_solve", {m, b}, {0.799999952, -0.300000012, -0.399999946}},
      {"linalg_cholesky",
       {p3},
       {2.44948983, 0, 0, 0.816496611, 1.52752519, 0, 0.408248305, 1.74574327, 2.79028916}},
      {"matrix_power", {m, whole(3)}, {5, 12, 6, 6, 5, 2, 18, 12, 7}},
      {"trace", {m}, {2}},
      {"kron",
       {b, x},
       {-2, 1, -0.5, 1, -0.5, 0.25, 4, -2, 1, -3, -0.25, 2, 1.5, 0.125, -1, 6, 0.5, -4}},
      {"cross", {x, x2, whole(1)}, {-3, -5.25, 1.5, 3.5, -10, 4}},
      {"diag_embed", {b, whole(-1)}, {0, 0, 0, 0, -1, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 2, 0}},
      {"nonzero", {mask}, {0, 0, 0, 2, 1, 0}},
      {"masked_select", {x, mask}, {2, 0.5, 3}},
      {"masked_scatter", {x, mask, x2}, {1.5, -1, 0, 3, 0.25, -2}},
      {"rot90", {x}, {0.5, -2, -1, 0.25, 2, 3}},
      {"xlogy", {x2, b1}, {0, 0, 2.07944155, -0, -0.866433978, 2.77258873}},
      {"digamma", {b2}, {-0.227453679, -1.08586049, 0.572546363}},
      {"erfinv", {b3}, {-0.304570198, 0.148795351, 0.684070349}},
      {"i0", {x}, {2.27958512, 1.26606596, 1.06348348, 4.88079262, 1.01568627, 2.27958512}},
      {"logaddexp2",
       {x, x2},
       {2.77155328, 0.584962487, 3.23484063, 3.0874629, 1.83496249, 4.02236795}},
      {"copysign", {x, x2}, {2, 1, 0.5, -3, 0.25, 2}},
      {"mse_loss", {x, x2}, {10.083333}},
      {"trapezoid", {x}, {0.25, 0.75}},
      {"renorm",
       {x, whole(2), whole(0), real(1)},
       {0.872871518, -0.436435759, 0.21821788, 0.830057383, 0.069171451, -0.553371608}},
  };
  std::vector<Value> made;
  for (const Row& row : rows) made.push_back(p.results(row.op, row.arguments).at(0));
  REQUIRE(p.refusals() == "");
  for (const Row& row : rows) {
    CAPTURE(std::string(row.op));
    CHECK(first_difference(computed(p, made[size_t(&row - rows)]), row.expected) == -1);
  }
}

TEST_CASE("complex tensors: spectra, products, and back") {
  Program p;
  const Value x = p.floats({2, 3}, {2, -1, 0.5, 3, 0.25, -2});
  const Value spectrum = p.call("fft_fft", {x});
  CHECK(first_difference(computed(p, p.call("abs", {spectrum})),
                         {1.5, 2.59807611, 2.59807611, 1.25, 4.33733797, 4.33733797}) == -1);
  const Value square = p.call("mul", {spectrum, spectrum});
  CHECK(first_difference(computed(p, p.call("real", {square})),
                         {2.25, 3.375, 3.375, 1.5625, 11.21875, 11.21875}) == -1);
  const Value back = p.call("fft_irfft", {p.call("fft_rfft", {x}), whole(3)});
  CHECK(first_difference(computed(p, back), {2, -1, 0.5, 3, 0.25, -2}) == -1);
  CHECK(p.refusals() == "");
  (void)p.call("sin", {spectrum});
  CHECK(p.refusals().find("aten::sin|self|sin_") == 0);
}

TEST_CASE("what is written to a complex tensor's pairs is seen in it") {
  Program p;
  const Value pairs = p.floats({2, 2}, {3, 4, 6, 8});
  const Value z = p.call("view_as_complex", {pairs});
  (void)p.call("mul_", {pairs, real(2)});
  CHECK(computed(p, p.call("abs", {z})) == Numbers{10, 20});
  (void)p.call("zero_", {p.call("imag", {z})});
  CHECK(computed(p, pairs) == Numbers{6, 0, 12, 0});
  CHECK(p.refusals() == "");
}

TEST_CASE("a result is written where out= says") {
  Program p;
  const Value x = p.floats({2}, {1, 2}), z = p.floats({2}, {0, 0});
  (void)p.call_with("add", {x, x}, {{"out", z}});
  CHECK(computed(p, z) == Numbers{2, 4});
  CHECK(p.refusals() == "");
}
