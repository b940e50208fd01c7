// SPDX-License-Identifier: Apache-2.0
// The sampler: each stage and the whole chain against a naive one over random logits, penalties,
// edges, the distribution of many draws, and the ids of one seed, which are the same everywhere. It
// needs runtime/text and runtime/base/status.cpp alone, so that it can be built for any machine.
#include "runtime/text/sampler.h"

#include <doctest/doctest.h>

#include <cfloat>
#include <cmath>
#include <new>
#include <set>
#include <string>
#include <type_traits>

#include "runtime/base/philox.h"
#include "runtime/text/candidates.h"
#include "tests/text/naive_sampler.h"

using namespace ingot;
using namespace ingot::test;
using text::SamplerOptions;

namespace {

/// The same numbers on every machine, unlike those of the library.
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : seed_(seed) {}
  uint32_t next() { return philox({{at_++, 0, 0, 0}}, seed_, 1).word[0]; }
  uint32_t below(uint32_t n) { return next() % n; }
  double unit() { return next() * 0x1p-32; }

 private:
  uint32_t seed_, at_ = 0;
};

/// Some of them equal, in clusters and far apart.
std::vector<float> random_logits(Numbers* r, size_t count) {
  std::vector<float> logits(count);
  const float width = float(1 + r->below(12));
  for (float& x : logits)
    x = r->below(8) == 0 ? float(int(r->below(7)) - 3) : float(r->unit() - r->unit()) * width;
  return logits;
}

class OpenSampler {
 public:
  OpenSampler(const SamplerOptions& options, size_t vocabulary) {
    ErrorDetail detail;
    REQUIRE(text::measure_sampler(options, vocabulary, &bytes_, &detail).ok());
    // of exactly that size: a sanitizer sees one byte too many
    memory_ = static_cast<uint8_t*>(::operator new(size_t(bytes_), std::align_val_t(16)));
    REQUIRE(sampler.open(options, vocabulary, {memory_, size_t(bytes_)}, &detail).ok());
  }
  ~OpenSampler() { ::operator delete(memory_, std::align_val_t(16)); }
  OpenSampler(const OpenSampler&) = delete;
  OpenSampler& operator=(const OpenSampler&) = delete;

  int32_t sample(std::vector<float> logits) {
    ErrorDetail detail;
    int32_t id = -1;
    const Status status = sampler.sample({logits.data(), logits.size()}, &id, &detail);
    REQUIRE_MESSAGE(status.ok(), detail.field);
    return id;
  }
  uint64_t bytes() const { return bytes_; }
  text::Sampler sampler;

 private:
  uint64_t bytes_ = 0;
  uint8_t* memory_ = nullptr;
};

/// Candidates over vectors.
struct Lists {
  std::vector<double> logits;
  std::vector<uint64_t> weights;
  std::vector<uint32_t> ids, order;
  text::Candidates c;
  explicit Lists(const std::vector<float>& of)
      : logits(of.begin(), of.end()), weights(of.size()), ids(of.size()), order(of.size()) {
    std::iota(ids.begin(), ids.end(), 0u);
    c = {logits.data(), weights.data(), ids.data(), order.data(), of.size()};
  }
  std::vector<int32_t> kept() const { return {ids.begin(), ids.begin() + std::ptrdiff_t(c.count)}; }
};
NaiveTokens tokens_of(const std::vector<float>& logits) {
  NaiveTokens tokens;
  for (size_t i = 0; i < logits.size(); i++) tokens.push_back({int32_t(i), double(logits[i])});
  return tokens;
}
std::vector<int32_t> ids_of(const NaiveTokens& tokens) {
  std::vector<int32_t> ids;
  for (const NaiveToken& t : tokens) ids.push_back(t.id);
  return ids;
}

std::string refusal(const SamplerOptions& options, uint64_t vocabulary = 8) {
  ErrorDetail detail;
  uint64_t bytes = 0;
  return text::measure_sampler(options, vocabulary, &bytes, &detail).ok() ? "" : detail.field;
}

/// Both ends are in the range, what is next to them is refused by its name.
template <class T>
void check_range(T SamplerOptions::*member, const std::string& name, double low, double high) {
  const double step = std::is_integral_v<T> ? 1 : 1e-9;
  for (const double value : {low, high, low - step, high + step, double(NAN)}) {
    if (std::is_integral_v<T> && !(value >= 0)) continue;
    CAPTURE(value);
    SamplerOptions o;
    o.*member = T(value);
    const bool is_inside = value >= low && value <= high;
    const std::string says = refusal(o);
    CHECK((is_inside ? says.empty() : says.find(name + " is from ") == 0));
  }
}

}  // namespace

TEST_CASE("sampler: weights are exponentials") {
  CHECK(text::weight_of(0) == text::kFullWeight);
  CHECK(text::weight_of(-1e-300) == text::kFullWeight);
  CHECK(text::weight_of(-28.5) == 0);
  CHECK(text::weight_of(-INFINITY) == 0);
  Numbers r(1);
  for (int i = 0; i < 20000; i++) {
    const double x = -30 * r.unit() * (i % 3 ? 1 : r.unit());
    const double exact = std::exp(x) * 0x1p40;
    CHECK(std::fabs(double(text::weight_of(x)) - exact) <= 0.5 + exact * 1e-15);
  }
}

TEST_CASE("sampler: weights of many are those of each") {
  Numbers r(3);
  for (const uint32_t count : {1, 7, 8, 29}) {
    std::vector<float> logits = random_logits(&r, count);
    if (count == 29) logits[2] = -INFINITY, logits[9] = -1e30f;
    Lists lists(logits);
    lists.c.weigh(0.7);
    const double most = lists.logits[lists.c.largest()];
    for (size_t i = 0; i < count; i++)
      CHECK(lists.weights[i] == text::weight_of((lists.logits[i] - most) * (1 / 0.7)));
  }
}

TEST_CASE("sampler: each stage keeps what a naive one keeps") {
  Numbers r(2);
  for (int i = 0; i < 3000; i++) {
    const std::vector<float> logits = random_logits(&r, 1 + r.below(i % 10 ? 40 : 2000));
    const NaiveTokens tokens = tokens_of(logits);
    const double part = i % 7 ? r.unit() : r.below(2);
    CAPTURE(i);
    CAPTURE(part);
    const auto check = [&](const NaiveTokens& expected, auto stage) {
      Lists lists(logits);
      lists.c.weigh(1);
      stage(&lists.c);
      CHECK(lists.kept() == ids_of(expected));
    };
    const size_t k = r.below(uint32_t(logits.size()) + 3);
    check(naive_top_k(tokens, k), [&](auto* c) { c->keep_top_k(k); });
    check(naive_top_p(tokens, part), [&](auto* c) { c->keep_top_p(part); });
    check(naive_min_p(tokens, part), [&](auto* c) { c->keep_min_p(part); });
    check(naive_top_n_sigma(tokens, part * 3), [&](auto* c) { c->keep_top_n_sigma(part * 3); });
    // Equal probabilities are as typical; with the library's logarithms they need not be equal.
    const std::vector<double> p = naive_probabilities(tokens);
    if (std::set<double>(p.begin(), p.end()).size() == p.size())
      check(naive_typical(tokens, part), [&](auto* c) { c->keep_typical(part); });
  }
}

TEST_CASE("sampler: what top-p drops first is less than it may, though weights are rounded up") {
  std::vector<float> logits(10, std::log(1.55f) - 40 * std::log(2.0f));  // a weight of 2
  logits[0] = 0;
  Lists lists(logits);
  lists.c.weigh(1);
  REQUIRE(lists.c.total == text::kFullWeight + 18);
  lists.c.keep_top_p(1 - 16.5 / double(lists.c.total));
  CHECK(lists.kept() == std::vector<int32_t>{0, 1});
}

TEST_CASE("sampler: a temperature whose reciprocal is no number draws the largest") {
  for (const double temperature : {1e-310, 5e-324, 1e-300}) {
    SamplerOptions o;
    o.temperature = temperature;
    OpenSampler s(o, 3);
    CHECK(s.sample({1, 3, 2}) == 1);
  }
}

TEST_CASE("sampler: the chain with penalties, draw by draw, is the naive one") {
  Numbers r(3);
  int near = 0;
  for (int i = 0; i < 1500; i++) {
    const uint32_t vocabulary = 1 + r.below(i % 4 ? 12 : 300);
    SamplerOptions o;
    o.temperature = i % 5 ? 0.1 + 2 * r.unit() : 0;
    const auto some = [&](auto* value, auto other) {
      if (r.below(2)) *value = other;
    };
    some(&o.top_k, r.below(vocabulary + 2));
    some(&o.top_p, r.unit());
    some(&o.min_p, r.unit() / 2);
    some(&o.typical, r.unit());
    some(&o.top_n_sigma, 0.1 + 3 * r.unit());
    some(&o.repeat_penalty, 0.5 + r.unit());
    some(&o.presence_penalty, 2 * r.unit() - 1);
    some(&o.frequency_penalty, r.unit());
    o.repeat_last = 1 + r.below(20);
    some(&o.dry_multiplier, r.unit());
    o.dry_base = 1 + r.unit(), o.dry_allowed_length = 1 + r.below(3), o.dry_last = 1 + r.below(60);
    o.seed = uint64_t(i) << 30;
    std::vector<text::LogitBias> biases;
    for (uint32_t b = r.below(3); b > 0; b--)
      biases.push_back({int32_t(r.below(vocabulary)), r.unit() - 0.5});
    if (vocabulary > 1 && r.below(4) == 0)
      biases.push_back({int32_t(r.below(vocabulary)), -INFINITY});
    o.biases = {biases.data(), biases.size()};
    std::vector<uint8_t> breakers((vocabulary + 7) / 8);
    if (r.below(2)) breakers[r.below(uint32_t(breakers.size()))] = uint8_t(1u << r.below(8));
    if (r.below(2)) o.dry_breakers = {breakers.data(), breakers.size()};
    OpenSampler sampler(o, vocabulary);
    std::vector<int32_t> text;
    for (uint32_t n = r.below(100); n > 0; n--)
      text.push_back(int32_t(r.below(vocabulary / 3 + 1)));
    for (const int32_t id : text) sampler.sampler.accept(id);
    for (uint32_t draw = 0; draw < 4; draw++) {
      CAPTURE(i);
      const std::vector<float> logits = random_logits(&r, vocabulary);
      const NaiveTokens left = naive_chain(o, text, logits);
      const int32_t id = sampler.sample(logits);
      const std::vector<double> p =
          naive_probabilities(left, o.temperature > 0 ? o.temperature : 1);
      int32_t expected = -1;
      bool is_near = false;  // the naive sums may round to the other side
      if (o.temperature == 0) {
        expected = left[size_t(std::max_element(p.begin(), p.end()) - p.begin())].id;
      } else {
        const PhiloxWords w = philox({{draw, 0, 0, 0}}, uint32_t(o.seed), uint32_t(o.seed >> 32));
        const double u = (w.word[1] + w.word[0] * 0x1p-32) * 0x1p-32;
        double sum = 0;
        for (size_t t = 0; t < left.size(); t++) {
          sum += p[t];
          if (std::fabs(sum - u) < 1e-9) is_near = true;
          if (u < sum && expected < 0) expected = left[t].id;
        }
        if (expected < 0) expected = left.back().id;
      }
      near += is_near;
      if (!is_near) CHECK(id == expected);
      sampler.sampler.accept(id);
      text.push_back(id);
    }
  }
  CHECK(near <= 2);
}

TEST_CASE("sampler: many draws have the distribution of the probabilities") {
  const std::vector<float> logits = {0.5f, -1, 2, 2, -INFINITY, 0, 1.25f, -3, 1.25f, 0.75f, -0.5f};
  SamplerOptions o;
  o.temperature = 1.3, o.seed = 12345;
  const int draws = 100000;
  OpenSampler sampler(o, logits.size());
  std::vector<int> times(logits.size());
  for (int i = 0; i < draws; i++) times[size_t(sampler.sample(logits))]++;
  const NaiveTokens left = naive_chain(o, {}, logits);
  const std::vector<double> p = naive_probabilities(left, o.temperature);
  double chi_square = 0;
  for (size_t t = 0; t < left.size(); t++) {
    const double expected = p[t] * draws, off = times[size_t(left[t].id)] - expected;
    chi_square += off * off / expected;
  }
  CHECK(times[4] == 0);
  CHECK(chi_square < 21.67);  // nine degrees of freedom: 1 % lies above
  CHECK(chi_square > 2.088);  // and 1 % below: draws that are too even are no draws
}

TEST_CASE("sampler: a seed draws the same ids, another one others") {
  Numbers r(5);
  const std::vector<float> logits = random_logits(&r, 500);
  SamplerOptions o;
  o.temperature = 2;
  const auto drawn = [&](uint64_t seed) {
    o.seed = seed;
    OpenSampler sampler(o, logits.size());
    std::vector<int32_t> ids, again;
    for (int i = 0; i < 24; i++) ids.push_back(sampler.sample(logits));
    sampler.sampler.reset();
    for (int i = 0; i < 24; i++) again.push_back(sampler.sample(logits));
    CHECK(again == ids);
    return ids;
  };
  const std::vector<int32_t> ids = drawn(7);
  CHECK(drawn(7) == ids);
  CHECK(drawn(8) != ids);
  CHECK(drawn(7 + (uint64_t{1} << 32)) != ids);
}

TEST_CASE("sampler: the ids of one seed, on every machine") {
  Numbers r(6);
  SamplerOptions o;
  o.temperature = 0.9, o.top_k = 400, o.top_p = 0.97, o.min_p = 0.001, o.typical = 0.99;
  o.top_n_sigma = 4, o.repeat_penalty = 1.1, o.frequency_penalty = 0.1, o.dry_multiplier = 0.8;
  o.seed = 42;
  OpenSampler sampler(o, 1000);
  std::string ids;
  for (int i = 0; i < 32; i++) {
    const int32_t id = sampler.sample(random_logits(&r, 1000));
    sampler.sampler.accept(id);
    ids += std::to_string(id) + " ";
  }
  CHECK(ids ==
        "466 431 695 620 906 407 742 473 132 363 702 340 235 410 625 321 130 490 921 104 887 457 "
        "690 932 679 51 432 258 947 982 926 81 ");
}

TEST_CASE("sampler: edges") {
  SamplerOptions o;
  const float inf = INFINITY, nan = NAN;
  SUBCASE("a vocabulary of one token") {
    o.temperature = 1, o.top_k = 3, o.top_p = 0, o.min_p = 1, o.typical = 0, o.top_n_sigma = 1;
    OpenSampler sampler(o, 1);
    CHECK(sampler.sample({-1e30f}) == 0);
  }
  SUBCASE("all but one are impossible") {
    for (const double temperature : {0., 0.01, 100.}) {
      o.temperature = temperature, o.typical = 0.5;
      OpenSampler sampler(o, 4);
      for (int i = 0; i < 10; i++) CHECK(sampler.sample({-inf, -inf, -5, -inf}) == 2);
    }
  }
  SUBCASE("the lowest id of equal ones") {
    for (const uint32_t k : {0u, 1u}) {
      o.temperature = k ? 1 : 0, o.top_k = k;
      OpenSampler sampler(o, 4);
      CHECK(sampler.sample({-1, 3, 3, 3}) == 1);
    }
  }
  SUBCASE("top-p 0 and 1, typical 0: one token, all, one") {
    Lists none({1, 2, 2}), all({1, 2, -40}), typical({0, 0, 0});
    for (Lists* lists : {&none, &all, &typical}) lists->c.weigh(1);
    none.c.keep_top_p(0), all.c.keep_top_p(1), typical.c.keep_typical(0);
    CHECK(none.kept() == std::vector<int32_t>{1});
    Lists half({1, 1, 1, 1});  // two reach it exactly
    half.c.weigh(1), half.c.keep_top_p(0.5);
    CHECK(half.kept() == std::vector<int32_t>{0, 1});
    CHECK(all.kept() == std::vector<int32_t>{0, 1});  // the third has no weight
    CHECK(typical.kept() == std::vector<int32_t>{0});
  }
  SUBCASE("logits that are none") {
    for (const double temperature : {0., 1.}) {
      o.temperature = temperature;
      OpenSampler sampler(o, 3);
      for (const float bad : {nan, inf}) {
        ErrorDetail detail;
        int32_t id = 0;
        float logits[] = {1, -inf, bad};
        CHECK(sampler.sampler.sample(logits, &id, &detail).code() == Code::kInvalidArgument);
        CHECK(detail.offset == 2);
      }
      ErrorDetail detail;
      int32_t id = 0;
      float none[] = {-inf, -inf, -inf}, two[] = {1, 2};
      CHECK(sampler.sampler.sample(none, &id, &detail).code() == Code::kNotFound);
      CHECK(sampler.sampler.sample(two, &id, &detail).code() == Code::kShapeMismatch);
      CHECK(sampler.sample({0, -inf, -inf}) == 0);
    }
  }
  SUBCASE("biases that leave nothing") {
    text::LogitBias biases[] = {{0, -INFINITY}, {1, -INFINITY}};
    o.biases = biases;
    OpenSampler sampler(o, 2);
    ErrorDetail detail;
    int32_t id = 0;
    float logits[] = {1, 2};
    CHECK(sampler.sampler.sample(logits, &id, &detail).code() == Code::kNotFound);
  }
  SUBCASE("the largest logits that there are, and penalties without an end") {
    o.temperature = 100, o.dry_multiplier = 100, o.dry_base = 100, o.repeat_penalty = 100;
    OpenSampler sampler(o, 2);
    for (int i = 0; i < 2000; i++) sampler.sampler.accept(0);
    sampler.sampler.accept(-1), sampler.sampler.accept(2);  // none
    CHECK(sampler.sample({FLT_MAX, 0}) == 1);
  }
}

TEST_CASE("sampler: memory is what is asked for") {
  SamplerOptions o;
  CHECK(OpenSampler(o, 50000).bytes() == 0);  // the most probable token
  o.temperature = 1;
  CHECK(OpenSampler(o, 50000).bytes() == 50000 * 24);
  o.presence_penalty = 1;
  CHECK(OpenSampler(o, 50000).bytes() == 50000 * 24 + 64 * 4);
  o.dry_multiplier = 1, o.dry_last = 4096;
  OpenSampler sampler(o, 50000);
  CHECK(sampler.bytes() == 50000 * 24 + 4096 * 8);
  std::vector<uint64_t> memory(size_t(sampler.bytes() / 8 + 2));
  auto* bytes = reinterpret_cast<uint8_t*>(memory.data());
  bytes += reinterpret_cast<uintptr_t>(bytes) % 16;
  ErrorDetail detail;
  text::Sampler other;
  int32_t id = 0;
  CHECK(other.sample({}, &id, &detail).code() == Code::kWrongState);
  CHECK(other.open(o, 50000, {bytes, size_t(sampler.bytes() - 1)}, &detail).code() ==
        Code::kArenaTooSmall);
  CHECK(detail.need == sampler.bytes());
  CHECK(other.open(o, 50000, {bytes + 8, size_t(sampler.bytes())}, &detail).code() ==
        Code::kMisaligned);
}

TEST_CASE("sampler: options outside their range, each by its name") {
#define INGOT_SAMPLER_OPTION(type, name, value, low, high, group, help) \
  check_range(&SamplerOptions::name, #name, low, high);
#include "runtime/text/sampler_options.def"
  SamplerOptions o;
  CHECK(refusal(o, 0) == "vocabulary");
  CHECK(refusal(o, text::kMaxSampledVocabulary) == "");
  CHECK(refusal(o, text::kMaxSampledVocabulary + 1) == "vocabulary");
  uint8_t bits[] = {0};
  o.dry_breakers = bits;
  CHECK(refusal(o, 8) == "");
  CHECK(refusal(o, 9) == "breakers are a bit for each token");
  for (const text::LogitBias bias :
       {text::LogitBias{-1, 0}, {8, 0}, {0, NAN}, {0, INFINITY}, {0, 2e9}, {0, -2e9}}) {
    text::LogitBias biases[] = {bias};
    SamplerOptions with;
    with.biases = biases;
    CHECK(refusal(with).find("a bias ") == 0);
  }
}

TEST_CASE("sampler: a long text that repeats costs its length") {
  SamplerOptions o;
  o.dry_multiplier = 1, o.dry_base = 1.000001, o.dry_last = 1 << 20;
  OpenSampler sampler(o, 1000);
  for (int i = 0; i < 1 << 20; i++) sampler.sampler.accept(i % 500);
  // 500 tokens are behind a sequence of about a million; with its square this would take hours
  CHECK(sampler.sample(std::vector<float>(1000, 1.f)) == ((1 << 20) % 500 == 0 ? 1 : 0));
}
