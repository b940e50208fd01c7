// SPDX-License-Identifier: Apache-2.0
// Decimal digits of doubles, and back, against the C++ library's.
#include "runtime/base/decimal.h"

#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

using namespace ingot;

namespace {

std::string shown(double x) {
  const DecimalDigits d = shortest_digits(x);
  std::string text(1, d.digits[0]);
  if (d.count > 1) text += "." + std::string(d.digits + 1, size_t(d.count - 1));
  const int power = d.exponent - 1;
  const std::string size = std::to_string(power < 0 ? -power : power);
  return text + (power < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}
std::string expected(double x) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, x, std::chars_format::scientific).ptr};
}

void check_both(double x) {
  const std::string text = shown(x);
  CHECK(text == expected(x));
  double back = 0;
  CHECK(read_decimal(text.data(), text.size(), &back) == DecimalRead::kRead);
  CHECK(back == x);
}

/// As the library reads it; a number that is too small for any double is 0.
void check_read(const std::string& text) {
  CAPTURE(text);
  double wanted = 0, found = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), wanted);
  const DecimalRead ours = read_decimal(text.data(), text.size(), &found);
  if (read.ec == std::errc::result_out_of_range) {
    CHECK((ours == DecimalRead::kTooLarge || (ours == DecimalRead::kRead && found == 0)));
  } else if (read.ec == std::errc() && read.ptr == text.data() + text.size()) {
    CHECK(ours == DecimalRead::kRead);
    CHECK(std::memcmp(&wanted, &found, sizeof found) == 0);
  } else {
    CHECK(ours == DecimalRead::kNone);
  }
}

uint64_t next_bits(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state ^ *state >> 29;
}

}  // namespace

TEST_CASE("decimal: the shortest digits of any double, which read as it") {
  uint64_t state = 1;
  for (int i = 0; i < 20000; i++) {
    const uint64_t bits = next_bits(&state) & ~(uint64_t{1} << 63);
    double x;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isfinite(x)) check_both(x);
  }
  for (int i = 0; i < 20000; i++) check_both(double(next_bits(&state) % 100000000) / 1000);
  for (int exponent = -1074; exponent <= 1023; exponent++) {
    const double x = std::ldexp(1.0, exponent);
    check_both(x);
    check_both(std::nextafter(x, 0));
    check_both(std::nextafter(x, INFINITY));
  }
  for (const double x : {0.0, 0.1, 0.3, 1.0, 5e-324, 9007199254740993.0, 1e22, 1e23, 1.5e300})
    check_both(x);
  check_both(1.7976931348623157e308);
}

TEST_CASE("decimal: texts that are numbers, and others") {
  for (const char* text : {"1",
                           "-1",
                           "0",
                           "-0",
                           "1.",
                           ".5",
                           ".",
                           "",
                           "-",
                           "1e5",
                           "1e+5",
                           "1E-5",
                           "1e",
                           "1e+",
                           "e5",
                           "1.2.3",
                           " 1",
                           "1 ",
                           "0x10",
                           "inf",
                           "-INF",
                           "Infinity",
                           "nan",
                           "infinit",
                           "1e309",
                           "-1e400",
                           "1e99999999999999999999",
                           "1e-99999999999999999999",
                           "0e99999999999999999999",
                           "1e-400",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "4.9406564584124654e-324",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "9007199254740993",
                           "9007199254740992.999999999999",
                           "9007199254740993.000000000000000000000001"})
    check_read(text);
  uint64_t state = 2;
  for (int i = 0; i < 20000; i++) {
    std::string text;
    const uint64_t digits = 1 + next_bits(&state) % (i % 50 ? 30 : 1200);
    const uint64_t point = next_bits(&state) % (2 * digits);
    for (uint64_t d = 0; d < digits; d++) {
      if (d == point) text += '.';
      text += char('0' + next_bits(&state) % 10);
    }
    if (next_bits(&state) % 2) text += "e" + std::to_string(int(next_bits(&state) % 700) - 350);
    check_read(text);
  }
  // Halfway between two doubles: exactly, and a little beyond it in a digit far behind.
  for (const double x : {1.0, 3.0, 1048577.0, 0x1.fffffffffffffp-5, 0x1p-1000}) {
    char text[1200];
    const double step = std::nextafter(x, INFINITY) - x;
    // x + step / 2 has at most 1,100 digits: exact by long double only where that is wider.
    if (sizeof(long double) <= sizeof(double)) break;
    const int length = snprintf(text, sizeof text, "%.1080Lf", (long double)x + step / 2.0L);
    check_read({text, size_t(length)});
    check_read(std::string(text, size_t(length)) + std::string(200, '0') + "1");
  }
}
