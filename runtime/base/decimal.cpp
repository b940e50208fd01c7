// SPDX-License-Identifier: Apache-2.0
// runtime/base/decimal.cpp - fractions of whole numbers of any size: Steele and White's digits, and
// long division.
#include "runtime/base/decimal.h"

#include <cstring>

namespace ingot {
namespace {

/// A whole number, lowest word first.
class Whole {
 public:
  explicit Whole(uint64_t value = 0) {
    add(uint32_t(value));
    if (value >> 32) words_[0] = uint32_t(value), words_[1] = uint32_t(value >> 32), size_ = 2;
  }
  bool is_zero() const { return size_ == 0; }
  int bits() const {
    if (size_ == 0) return 0;
    int top = 32;
    while (!(words_[size_ - 1] >> (top - 1))) top--;
    return 32 * (size_ - 1) + top;
  }
  void add(uint32_t value) {
    uint64_t carry = value;
    for (int i = 0; carry; i++) {
      if (i == size_) words_[size_++] = 0;
      carry += words_[i];
      words_[i] = uint32_t(carry);
      carry >>= 32;
    }
  }
  void multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < size_; i++) {
      carry += uint64_t(words_[i]) * factor;
      words_[i] = uint32_t(carry);
      carry >>= 32;
    }
    if (carry) words_[size_++] = uint32_t(carry);
    trim();
  }
  void multiply_by_ten_to(int power) {
    for (; power >= 9; power -= 9) multiply(1000000000u);
    for (; power > 0; power--) multiply(10);
  }
  void shift(int count) {
    if (size_ == 0) return;
    const int words = count / 32, rest = count % 32;
    if (rest) {
      uint32_t carry = 0;
      for (int i = 0; i < size_; i++) {
        const uint32_t word = words_[i];
        words_[i] = word << rest | carry;
        carry = word >> (32 - rest);
      }
      if (carry) words_[size_++] = carry;
    }
    if (words == 0) return;
    std::memmove(words_ + words, words_, size_t(size_) * sizeof *words_);
    std::memset(words_, 0, size_t(words) * sizeof *words_);
    size_ += words;
  }
  /// @pre *this >= other
  void subtract(const Whole& other) {
    int64_t borrow = 0;
    for (int i = 0; i < size_; i++) {
      borrow += int64_t(words_[i]) - (i < other.size_ ? int64_t(other.words_[i]) : 0);
      words_[i] = uint32_t(borrow);
      borrow >>= 32;
    }
    trim();
  }
  /// -1, 0 or 1: less than, equal to or more than `other`.
  int compare(const Whole& other) const {
    if (size_ != other.size_) return size_ < other.size_ ? -1 : 1;
    for (int i = size_ - 1; i >= 0; i--)
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
    return 0;
  }
  /// compare(*this + more, other)
  int compare_sum(const Whole& more, const Whole& other) const {
    Whole sum = *this;
    uint64_t carry = 0;
    for (int i = 0; i < more.size_ || carry; i++) {
      if (i == sum.size_) sum.words_[sum.size_++] = 0;
      carry += uint64_t(sum.words_[i]) + (i < more.size_ ? more.words_[i] : 0);
      sum.words_[i] = uint32_t(carry);
      carry >>= 32;
    }
    return sum.compare(other);
  }

 private:
  void trim() {
    while (size_ > 0 && words_[size_ - 1] == 0) size_--;
  }
  // 10^(kMaxDigits + kMaxPower) shifted by what a double's exponent has room for
  static constexpr int kWords = 176;
  uint32_t words_[kWords];
  int size_ = 0;
};

constexpr int kMaxDigits = 800;  // of a text; more are one that is not 0, and decide a tie alike
constexpr int kMaxPower = 400;   // beyond it every number is too large, or 0
constexpr int kFractionBits = 52, kLeastExponent = -1074;

/// x is mantissa * 2^exponent.
void take_apart(double x, uint64_t* mantissa, int* exponent) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const int field = int(bits >> kFractionBits & 0x7FF);
  *mantissa = bits & ((uint64_t{1} << kFractionBits) - 1);
  if (field) *mantissa |= uint64_t{1} << kFractionBits;
  *exponent = (field ? field - 1 : 0) + kLeastExponent;
}

double put_together(uint64_t mantissa, int exponent) {
  const bool is_normal = mantissa >> kFractionBits;
  const uint64_t field = is_normal ? uint64_t(exponent - kLeastExponent + 1) : 0;
  const uint64_t bits = field << kFractionBits | (mantissa & ((uint64_t{1} << kFractionBits) - 1));
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

/// The double nearest to number / divisor; false: there is none that is finite.
bool divide(Whole number, Whole divisor, double* out) {
  if (number.is_zero()) return *out = 0, true;
  // The quotient is below 2^(exponent + 53), and at least half of that.
  int exponent = number.bits() - divisor.bits() - kFractionBits;
  Whole largest = divisor;
  Whole scaled = number;
  const int place = exponent + kFractionBits;
  place >= 0 ? largest.shift(place) : scaled.shift(-place);
  if (scaled.compare(largest) < 0) exponent--;
  if (exponent < kLeastExponent) exponent = kLeastExponent;
  exponent >= 0 ? divisor.shift(exponent) : number.shift(-exponent);
  uint64_t mantissa = 0;
  for (int bit = kFractionBits; bit >= 0; bit--) {
    Whole part = divisor;
    part.shift(bit);
    if (number.compare(part) < 0) continue;
    number.subtract(part);
    mantissa |= uint64_t{1} << bit;
  }
  number.shift(1);
  const int half = number.compare(divisor);
  if (half > 0 || (half == 0 && mantissa % 2)) mantissa++;
  if (mantissa >> (kFractionBits + 1)) mantissa >>= 1, exponent++;
  if (exponent > 1023 - kFractionBits) return false;
  return *out = put_together(mantissa, exponent), true;
}

bool says(const char* text, size_t count, const char* word) {
  if (std::strlen(word) != count) return false;
  for (size_t i = 0; i < count; i++)
    if ((text[i] | 0x20) != word[i]) return false;
  return true;
}

}  // namespace

DecimalDigits shortest_digits(double x) {
  DecimalDigits out;
  uint64_t mantissa;
  int exponent;
  take_apart(x, &mantissa, &exponent);
  if (mantissa == 0) {
    out.digits[0] = '0';
    out.count = out.exponent = 1;
    return out;
  }
  // x = r / s; what lies within low / s below and high / s above is x again.
  const bool is_power = mantissa == uint64_t{1} << kFractionBits && exponent > kLeastExponent;
  const bool is_even = mantissa % 2 == 0;  // its borders are its own
  Whole r(mantissa), s(1), low(1), high(1);
  r.shift((exponent > 0 ? exponent : 0) + 1 + is_power);
  s.shift((exponent < 0 ? -exponent : 0) + 1 + is_power);
  if (exponent > 0) low.shift(exponent);
  high = low;
  if (is_power) high.shift(1);
  int bits = exponent;  // x is in [2^(bits - 1), 2^bits)
  for (uint64_t m = mantissa; m; m >>= 1) bits++;
  out.exponent = (bits - 1) * 1233 / 4096;  // of log10(2), never too large by more than one
  if (out.exponent >= 0) {
    s.multiply_by_ten_to(out.exponent);
  } else {
    r.multiply_by_ten_to(-out.exponent);
    low.multiply_by_ten_to(-out.exponent);
    high.multiply_by_ten_to(-out.exponent);
  }
  const auto passes = [&](const Whole& least) {  // x and what is x again reach s
    const int order = r.compare_sum(least, s);
    return is_even ? order >= 0 : order > 0;
  };
  while (passes(high)) {
    s.multiply(10);
    out.exponent++;
  }
  for (bool is_last = false; !is_last;) {
    r.multiply(10), low.multiply(10), high.multiply(10);
    // The first estimate may be too large by one: then a digit is 0 and none was given yet.
    int digit = 0;
    for (; r.compare(s) >= 0; digit++) r.subtract(s);
    const int below = r.compare(low);
    const bool is_low = is_even ? below <= 0 : below < 0, is_high = passes(high);
    if (is_low && is_high) {
      Whole twice = r;
      twice.shift(1);
      const int order = twice.compare(s);
      if (order > 0 || (order == 0 && digit % 2)) digit++;
    } else if (is_high) {
      digit++;
    }
    is_last = is_low || is_high;
    if (digit == 0 && out.count == 0 && !is_last)
      out.exponent--;
    else
      out.digits[out.count++] = char('0' + digit);
  }
  return out;
}

DecimalRead read_decimal(const char* text, size_t count, double* out) {
  const char *at = text, *const end = text + count;
  const bool is_negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+')) at++;
  const auto give = [&](double x) {
    *out = is_negative ? -x : x;
    return DecimalRead::kRead;
  };
  const size_t rest = size_t(end - at);
  if (says(at, rest, "inf") || says(at, rest, "infinity")) return give(__builtin_inf());
  if (says(at, rest, "nan")) return give(__builtin_nan(""));
  Whole number;
  int64_t power = 0;  // the number is `number` * 10^power
  int taken = 0;
  bool has_digit = false, is_fraction = false, is_beyond = false;
  for (; at < end && (*at == '.' || (*at >= '0' && *at <= '9')); at++) {
    if (*at == '.') {
      if (is_fraction) return DecimalRead::kNone;
      is_fraction = true;
      continue;
    }
    has_digit = true;
    const uint32_t digit = uint32_t(*at - '0');
    if (taken >= kMaxDigits) {
      is_beyond |= digit != 0;
      power += !is_fraction;
      continue;
    }
    if (digit || taken) {
      number.multiply(10);
      number.add(digit);
      taken++;
    }
    power -= is_fraction;
  }
  if (!has_digit) return DecimalRead::kNone;
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    const bool is_small = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end) return DecimalRead::kNone;
    int64_t given = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
      if (given < (int64_t{1} << 40)) given = given * 10 + (*at - '0');
    power += is_small ? -given : given;
  }
  if (at != end) return DecimalRead::kNone;
  if (number.is_zero() || power + taken < -kMaxPower) return give(0);
  if (power + taken > kMaxPower) return DecimalRead::kTooLarge;
  if (is_beyond) {  // a digit more, which is not 0
    number.multiply(10);
    number.add(1);
    power--;
  }
  Whole divisor(1);
  if (power >= 0)
    number.multiply_by_ten_to(int(power));
  else
    divisor.multiply_by_ten_to(int(-power));
  double x = 0;
  if (!divide(number, divisor, &x)) return DecimalRead::kTooLarge;
  return give(x);
}

}  // namespace ingot
