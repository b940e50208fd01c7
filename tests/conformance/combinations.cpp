// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/combinations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>

#include "tests/support/fewer_cases.h"

namespace ingot::conformance {
namespace {

// A sanitizer looks at the accesses of a case, not at its numbers: fewer show it the same code.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INGOT_FEWER_CASES
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define INGOT_FEWER_CASES
#endif
#ifdef INGOT_FEWER_CASES
constexpr size_t kOneIn = 8;
#else
constexpr size_t kOneIn = 1;
#endif
constexpr size_t kMaxWrong = 5;  // then a product ends
// tries to make a case of some values before they count as having none
constexpr int kCompletions = 24;

/// The next set of places in ascending order; false behind the last.
bool next_set(std::vector<size_t>& chosen, size_t places) {
  for (size_t i = chosen.size(); i-- > 0;) {
    if (++chosen[i] > places - (chosen.size() - i)) continue;
    for (size_t k = i + 1; k < chosen.size(); k++) chosen[k] = chosen[k - 1] + 1;
    return true;
  }
  return false;
}

}  // namespace

uint32_t drawn_below(size_t count) {
  static std::mt19937 engine(20261128);
  return uint32_t(engine() % count);
}
bool is_left_out() { return drawn_below(testing::one_case_in()) != 0; }

std::string Combinations::text() const {
  std::string text;
  for (const Place& p : places_)
    text += std::string(text.empty() ? "" : " ") + p.name + "#" + std::to_string(*p.at);
  return text;
}

double Combinations::product() const {
  double product = 1;
  for (const Place& p : places_) product *= p.count;
  return product;
}

/// False where there is no such case.
bool Combinations::run_row(const Row& row) {
  for (size_t i = 0; i < row.size(); i++) *places_[i].at = row[i];
  Case c;
  c.name = text();
  if (!make_(c)) return none_++, false;
  const bool gpu = gpu_every_ != 0 && ran_.size() % gpu_every_ == 0;
  bool refused = false;
  const std::string fault = check_(c, uint32_t(ran_.size()), gpu, &refused);
  if (refused) return refused_++, false;
  ran_.push_back(row);
  on_gpu_ += gpu;
  if (!fault.empty()) {
    FAIL_CHECK(name_ << " " << c.name << ": " << fault);
    wrong_++;
  }
  return true;
}

void Combinations::run_sample() {
  std::mt19937 engine(20261121);
  for (size_t tries = 0; ran_.size() < most_ && tries < 8 * most_ && wrong_ < kMaxWrong; tries++) {
    Row row;
    for (const Place& p : places_) row.push_back(uint16_t(engine() % p.count));
    run_row(row);
  }
}

void Combinations::run_missing() {
  std::mt19937 engine(7);
  std::vector<size_t> chosen;
  for (size_t i = 0; i < together_; i++) chosen.push_back(i);
  do {
    size_t size = 1;
    for (const size_t place : chosen) size *= places_[place].count;
    std::vector<bool> seen(size);
    const auto note = [&](const Row& row) {
      size_t n = 0;
      for (const size_t place : chosen) n = n * places_[place].count + row[place];
      seen[n] = true;
    };
    for (const Row& row : ran_) note(row);
    for (size_t n = 0; n < size && wrong_ < kMaxWrong; n++) {
      bool found = seen[n];
      for (int tries = 0; tries < kCompletions && !found; tries++) {
        Row row;
        for (const Place& p : places_) row.push_back(uint16_t(engine() % p.count));
        size_t rest = n;
        for (size_t i = together_; i-- > 0; rest /= places_[chosen[i]].count)
          row[chosen[i]] = uint16_t(rest % places_[chosen[i]].count);
        found = run_row(row);
      }
      apart_ += !found;
    }
  } while (next_set(chosen, places_.size()));
}

void Combinations::run(const std::function<bool(Case&)>& make, const Check& check) {
  make_ = make, check_ = check;
  const size_t fewer = std::max(kOneIn, testing::one_case_in());
  most_ /= fewer;
  together_ = std::min({together_, places_.size(), fewer > 1 ? size_t{2} : SIZE_MAX});
  const bool whole = product() <= double(most_);
  if (whole) {
    for (size_t n = 0; n < size_t(product()) && wrong_ < kMaxWrong; n++) {
      Row row(places_.size());
      size_t rest = n;
      for (size_t i = places_.size(); i-- > 0; rest /= places_[i].count)
        row[i] = uint16_t(rest % places_[i].count);
      run_row(row);
    }
  } else {
    run_sample();
    run_missing();
  }
  for (size_t i = 0; i < places_.size() && wrong_ == 0; i++)
    for (size_t v = 0; v < places_[i].count; v++) {
      bool ran = false;
      for (const Row& row : ran_) ran |= row[i] == v;
      CHECK_MESSAGE(ran,
                    name_ << ": no case had value " << v << " of " << std::string(places_[i].name));
    }
  const std::string which = whole ? "all"
                                  : "every " + std::to_string(together_) +
                                        " attributes together but " + std::to_string(apart_);
  std::printf(
      "combinations: %-16s %5zu cases of %.3g, %s; %zu on the emulated GPU; %zu have no case, %zu "
      "are refused; one case in %zu\n",
      name_.c_str(), ran_.size(), product(), which.c_str(), on_gpu_, none_, refused_, fewer);
}

}  // namespace ingot::conformance
