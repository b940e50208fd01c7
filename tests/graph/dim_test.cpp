// SPDX-License-Identifier: Apache-2.0
// tests/graph/dim_test.cpp - the normal form of dims, and that it never changes what an expression
// is worth.
#include "tools/graph/dim.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "runtime/base/checked_math.h"

using namespace ingot::graph;
using ingot::checked_div;
using ingot::checked_rem;

namespace {
const Dim W = Dim::symbol("W"), H = Dim::symbol("H");
}

TEST_CASE("dim: equal expressions print the same") {
  struct Case {
    const char* name;
    Dim made;
    const char* text;
  };
  const Case cases[] = {
      {"numbers fold", Dim(3) * 4 + 1, "13"},
      {"a factor cancels", (W * 2) / 2, "W"},
      {"a remainder below the divisor goes", (W * 8 + 4) / 8, "W"},
      {"terms are ordered", H + W - H, "W"},
      {"a stride-2 convolution with pad 1", (W + 2 - 3) / 2 + 1, "(W + 1)//2"},
      {"two of them nest", (((W - 1) / 2 + 1) - 1) / 2 + 1, "(W + 3)//4"},
      {"halving twice", (W / 2) / 2, "W//4"},
      {"common factors of sum and divisor", (W * 4 + 6) / 8, "(W + 1)//2"},
      {"a product divides by its factor", W * H / H, "W"},
      {"a polynomial divides by a polynomial", (W * 2 + 4) * H / (W + 2), "2*H"},
      {"rounding up to a multiple", ceil_div(W, 4) * 4, "4*((W + 3)//4)"},
      {"negative", Dim(-1) * W - 3, "-W - 3"},
      {"odd names are quoted", Dim::symbol("a b") + 1, "'a b' + 1"},
      {"what does not divide stays", W / H, "W//H"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(c.made.text() == c.text);
  }
}

TEST_CASE("dim: bounds decide min and max") {
  CHECK(min(W, W + 1) == W);
  CHECK(max(Dim(0), W - 1) == W - 1);  // a symbol is at least 1
  CHECK(min(Dim(800), W).text() == "min(800, W)");
  CHECK(min(Dim(800), Dim::symbol("n", 1, 64)) == Dim::symbol("n"));
  CHECK(max(Dim(32), Dim::symbol("n", 64, 128)) == Dim::symbol("n"));
  CHECK(proven_at_least(W, W / 2));
  CHECK(proven_at_least(W, (W + 1) / 2));
  CHECK(!proven_at_least(W, (W + 2) / 2 + 1));
  CHECK(lower_bound(W * 2 - 1) == 1);
  CHECK(upper_bound(W) == std::nullopt);
}

TEST_CASE("dim: every rewrite keeps the value, on small numbers exhaustively") {
  std::vector<Dim> pool = {W,
                           H,
                           W + H,
                           W * 3 - 1,
                           W * H,
                           W / 2,
                           (W + H) / 3,
                           ceil_div(W, 4),
                           min(W, H),
                           max(W, H * 2),
                           (W * 6 + 4) / 4,
                           W / H};
  const auto floor_of = [](int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); };
  for (int64_t w = 1; w <= 7; w++) {
    for (int64_t h = 1; h <= 5; h++) {
      const std::map<std::string, int64_t> at = {{"W", w}, {"H", h}};
      for (const Dim& a : pool) {
        for (const Dim& b : pool) {
          const int64_t x = a.evaluate(at), y = b.evaluate(at);
          CAPTURE(a.text());
          CAPTURE(b.text());
          CAPTURE(w);
          CAPTURE(h);
          CHECK((a + b).evaluate(at) == x + y);
          CHECK((a - b).evaluate(at) == x - y);
          CHECK((a * b).evaluate(at) == x * y);
          CHECK(min(a, b).evaluate(at) == std::min(x, y));
          CHECK(max(a, b).evaluate(at) == std::max(x, y));
          if (y > 0) CHECK((a / b).evaluate(at) == floor_of(x, y));
          for (const int64_t c : {1, 2, 3, 4, 6})
            CHECK(((a - b) / c).evaluate(at) == floor_of(x - y, c));
          if (proven_at_least(a, b)) CHECK(x >= y);
        }
      }
    }
  }
}

TEST_CASE("dim: substitution, symbols and errors") {
  CHECK((W / 2 + H).substitute({{"W", Dim(9)}}) == H + 4);
  CHECK((W / 2 + H).substitute({{"W", H * 2}}) == H * 2);
  CHECK((W / 2 + H).symbols() == std::vector<std::string>{"H", "W"});
  CHECK_THROWS_AS(W.evaluate({}), DimError);
  CHECK_THROWS_AS(W / Dim(0), DimError);
  CHECK_THROWS_AS(Dim(INT64_MAX) + 1, DimError);
  CHECK_THROWS_AS(Dim(INT64_MAX) * 2, DimError);
  Dim grows = W + H;
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 40; i++) grows = grows * (grows + i);
      }(),
      DimError);
}

TEST_CASE("dim: a dimension that a shape does not have is an error that names the rank") {
  Dims dims = {Dim(2), W};
  CHECK(dims[1] == W);
  CHECK(dims.back() == W);
  std::string message;
  try {
    (void)dims[2];
  } catch (const DimError& error) {
    message = error.what();
  }
  CHECK(message.find("rank 2") != std::string::npos);
  dims.clear();
  CHECK_THROWS_AS(dims[0], DimError);
  CHECK_THROWS_AS(dims.front(), DimError);
  CHECK_THROWS_AS(dims.back(), DimError);
  CHECK_THROWS_AS(dims.pop_back(), DimError);
}

TEST_CASE("dim: the smallest number divided by -1 is no dimension, and ends nothing") {
  int64_t quotient = 7;
  CHECK_FALSE(checked_div<int64_t>(INT64_MIN, -1, &quotient));
  CHECK_FALSE(checked_div<int64_t>(1, 0, &quotient));
  CHECK(quotient == 7);
  CHECK(checked_div<int64_t>(INT64_MIN, 1, &quotient));
  CHECK(quotient == INT64_MIN);
  CHECK(checked_rem<int64_t>(INT64_MIN, -1, &quotient));
  CHECK(quotient == 0);
  uint64_t large = 0;
  CHECK(checked_div<uint64_t>(5, UINT64_MAX, &large));
  CHECK(large == 0);
  // coefficients of terms, divided by each other
  const Dim least = Dim(INT64_MIN) * W, by = Dim(0) - W;
  CHECK_THROWS_AS((void)(least / by).text(), DimError);
}
