// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/rope.h"

#include <algorithm>
#include <cmath>

namespace ingot::decoder {
namespace {

/// The pair whose angle turns `turns` times within the original context.
double yarn_pair(const RopeNumbers& n, double turns) {
  return double(n.width) * std::log(n.original_context / (turns * 2 * M_PI)) /
         (2 * std::log(n.base));
}

std::vector<double> frequencies(const RopeNumbers& n) {
  std::vector<double> out;
  const int64_t pairs = n.width / 2;
  double low = 0, high = 0;
  if (n.is_yarn) {
    low = yarn_pair(n, n.beta_fast), high = yarn_pair(n, n.beta_slow);
    if (!n.splits_pairs) low = std::floor(low), high = std::ceil(high);
    low = std::max(0.0, low), high = std::min(double(n.width) - 1, high);
  }
  for (int64_t i = 0; i < pairs; i++) {
    const double plain = std::pow(n.base, -2.0 * double(i) / double(n.width)),
                 own = n.divisors.empty() ? 1 : n.divisors[size_t(i)];
    double scaled = plain / (own * n.divisor);
    if (n.is_yarn) {
      const double ramp = std::clamp((double(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
      scaled = scaled * ramp + plain / own * (1 - ramp);
    }
    out.push_back(scaled);
  }
  return out;
}

}  // namespace

RopeTables rope_tables(const RopeNumbers& numbers, int64_t context) {
  const std::vector<double> all = frequencies(numbers);
  RopeTables tables;
  tables.cosine.reserve(size_t(context) * all.size());
  tables.sine.reserve(size_t(context) * all.size());
  for (int64_t p = 0; p < context; p++)
    for (const double frequency : all) {
      tables.cosine.push_back(float(std::cos(double(p) * frequency) * numbers.magnitude));
      tables.sine.push_back(float(std::sin(double(p) * frequency) * numbers.magnitude));
    }
  return tables;
}

std::vector<float> slopes(const DecoderNumbers& n, int64_t heads) {
  int64_t whole = 1;  // the greatest power of two of them; the others are between theirs
  while (2 * whole <= heads) whole *= 2;
  std::vector<float> all;
  all.reserve(size_t(heads * n.context));
  for (int64_t h = 0; h < heads; h++) {
    const double step = h < whole ? double(h + 1) : double(h - whole) + 0.5,
                 slope = std::exp2(-n.alibi * step / double(whole));
    for (int64_t p = 0; p < n.context; p++) all.push_back(float(slope * double(p)));
  }
  return all;
}

std::vector<float> temperatures(const DecoderNumbers& n) {
  std::vector<float> all;
  all.reserve(size_t(n.context));
  for (int64_t p = 0; p < n.context; p++)
    all.push_back(
        float(1 + n.temperature * std::log1p(std::floor(double(p) / n.temperature_length))));
  return all;
}

std::vector<int64_t> halves_of_neighbors(int64_t begin, int64_t heads, int64_t width,
                                         int64_t turned) {
  std::vector<int64_t> order;
  for (int64_t h = 0; h < heads; h++)
    for (int64_t i = 0; i < width; i++) {
      const int64_t from = i >= turned ? i : i < turned / 2 ? 2 * i : 2 * (i - turned / 2) + 1;
      order.push_back(begin + h * width + from);
    }
  return order;
}

}  // namespace ingot::decoder
