// SPDX-License-Identifier: Apache-2.0
// tests/text/naive_sampler.h - the stages of a sampler as their papers have them: probabilities in
// double, sorted lists, the library's exponential and logarithm.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "runtime/text/sampler.h"

namespace ingot::test {

struct NaiveToken {
  int32_t id;
  double logit;
};
using NaiveTokens = std::vector<NaiveToken>;

inline std::vector<double> naive_probabilities(const NaiveTokens& tokens, double temperature = 1) {
  double most = -INFINITY, sum = 0;
  for (const NaiveToken& t : tokens) most = std::max(most, t.logit);
  std::vector<double> p;
  for (const NaiveToken& t : tokens) p.push_back(std::exp((t.logit - most) / temperature));
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

/// The tokens whose places in `order` are the first ones that reach `mass`, by id again.
inline NaiveTokens naive_mass(const NaiveTokens& tokens, const std::vector<double>& keys,
                              double mass) {
  const std::vector<double> p = naive_probabilities(tokens);
  std::vector<size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  double sum = 0;
  size_t kept = 0;
  while (kept < order.size()) {
    sum += p[order[kept++]];
    if (sum >= mass) break;
  }
  order.resize(kept);
  std::sort(order.begin(), order.end());
  NaiveTokens out;
  for (const size_t i : order) out.push_back(tokens[i]);
  return out;
}

inline std::vector<double> naive_keys(const NaiveTokens& tokens) {
  std::vector<double> keys;
  for (const NaiveToken& t : tokens) keys.push_back(-t.logit);
  return keys;
}

inline NaiveTokens naive_top_k(const NaiveTokens& tokens, size_t k) {
  NaiveTokens out = tokens;
  if (k == 0 || k >= out.size()) return out;
  std::stable_sort(out.begin(), out.end(),
                   [](const NaiveToken& a, const NaiveToken& b) { return a.logit > b.logit; });
  out.resize(k);
  std::sort(out.begin(), out.end(),
            [](const NaiveToken& a, const NaiveToken& b) { return a.id < b.id; });
  return out;
}

inline NaiveTokens naive_top_p(const NaiveTokens& tokens, double mass) {
  return naive_mass(tokens, naive_keys(tokens), mass);
}

inline NaiveTokens naive_typical(const NaiveTokens& tokens, double mass) {
  const std::vector<double> p = naive_probabilities(tokens);
  double entropy = 0;
  for (const double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
  std::vector<double> keys;
  for (const double x : p) keys.push_back(std::fabs(-std::log(x) - entropy));
  return naive_mass(tokens, keys, mass);
}

template <class Keeps>
NaiveTokens naive_filter(const NaiveTokens& tokens, Keeps keeps) {
  NaiveTokens out;
  for (size_t i = 0; i < tokens.size(); i++)
    if (keeps(i)) out.push_back(tokens[i]);
  return out;
}

inline NaiveTokens naive_min_p(const NaiveTokens& tokens, double part) {
  const std::vector<double> p = naive_probabilities(tokens);
  const double most = *std::max_element(p.begin(), p.end());
  return naive_filter(tokens, [&](size_t i) { return p[i] >= part * most; });
}

inline NaiveTokens naive_top_n_sigma(const NaiveTokens& tokens, double n) {
  double most = -INFINITY, mean = 0, squares = 0;
  for (const NaiveToken& t : tokens)
    most = std::max(most, t.logit), mean += t.logit / double(tokens.size());
  for (const NaiveToken& t : tokens) squares += (t.logit - mean) * (t.logit - mean);
  const double deviation = std::sqrt(squares / double(tokens.size()));
  return naive_filter(tokens, [&](size_t i) { return tokens[i].logit >= most - n * deviation; });
}

inline std::vector<int32_t> naive_last(const std::vector<int32_t>& text, size_t count) {
  return {text.end() - std::ptrdiff_t(std::min(count, text.size())), text.end()};
}

inline void naive_repeats(const text::SamplerOptions& o, const std::vector<int32_t>& text,
                          std::vector<double>* logits) {
  std::map<int32_t, int> times;
  for (const int32_t id : naive_last(text, o.repeat_last)) times[id]++;
  for (const auto& [id, count] : times) {
    double& logit = (*logits)[size_t(id)];
    if (logit > 0)
      logit /= o.repeat_penalty;
    else
      logit *= o.repeat_penalty;
    logit -= count * o.frequency_penalty + o.presence_penalty;
  }
}

/// Every earlier end of the longest sequence that ends the text, one token after the other.
inline void naive_dry(const text::SamplerOptions& o, const std::vector<int32_t>& all,
                      std::vector<double>* logits) {
  const std::vector<int32_t> text = naive_last(all, o.dry_last);
  const auto is_breaker = [&](int32_t id) {
    return o.dry_breakers.size && (o.dry_breakers[size_t(id) / 8] >> (id % 8)) % 2;
  };
  std::map<int32_t, size_t> longest;
  for (size_t end = 1; end < text.size(); end++) {  // text[end] stands behind the sequence
    size_t n = 0;
    while (n < end && text[end - 1 - n] == text[text.size() - 1 - n] &&
           !is_breaker(text[text.size() - 1 - n]))
      n++;
    longest[text[end]] = std::max(longest[text[end]], n);
  }
  for (const auto& [id, n] : longest)
    if (n >= o.dry_allowed_length && !is_breaker(id))
      (*logits)[size_t(id)] -=
          o.dry_multiplier * std::pow(o.dry_base, double(n - o.dry_allowed_length));
}

/// What is left to draw from.
inline NaiveTokens naive_chain(const text::SamplerOptions& o, const std::vector<int32_t>& text,
                               const std::vector<float>& logits) {
  std::vector<double> adjusted(logits.begin(), logits.end());
  for (const text::LogitBias& bias : o.biases) adjusted[size_t(bias.id)] += bias.add;
  naive_repeats(o, text, &adjusted);
  if (o.dry_multiplier > 0) naive_dry(o, text, &adjusted);
  NaiveTokens tokens;
  for (size_t i = 0; i < adjusted.size(); i++)
    if (adjusted[i] > -INFINITY) tokens.push_back({int32_t(i), adjusted[i]});
  if (o.top_n_sigma > 0) tokens = naive_top_n_sigma(tokens, o.top_n_sigma);
  tokens = naive_top_k(tokens, o.top_k);
  if (o.typical < 1) tokens = naive_typical(tokens, o.typical);
  if (o.top_p < 1) tokens = naive_top_p(tokens, o.top_p);
  if (o.min_p > 0) tokens = naive_min_p(tokens, o.min_p);
  return tokens;
}

}  // namespace ingot::test
