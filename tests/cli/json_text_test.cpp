// SPDX-License-Identifier: Apache-2.0
// Numbers of reports: nine digits, also where the shortest way to write a double is not found.
#include "tools/cli/output/json_text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using nlohmann::ordered_json;

TEST_CASE("reports: no number of a clock has more than nine digits") {
  CHECK(ingot::cli::json_text(13.904887500000001) == "13.9048875");
  CHECK(ordered_json(346.09572).dump().size() > 12);  // what this is about
  std::mt19937 random(1);
  for (int i = 0; i < 50'000; i++) {
    const double number = std::ldexp(double(random()), -32 - int(random() % 24));
    const std::string text = ingot::cli::json_text(number);
    CAPTURE(text);
    const std::string digits = text.substr(0, text.find('e'));
    const size_t first = digits.find_first_not_of("0.");
    const size_t points = first < digits.find('.') ? 1 : 0;
    REQUIRE(digits.size() - first - points <= 9);
    REQUIRE(std::abs(ordered_json::parse(text).get<double>() - number) <= 1e-7 * number);
  }
}
