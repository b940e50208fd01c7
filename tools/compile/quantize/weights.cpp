// SPDX-License-Identifier: Apache-2.0
// Weights as bytes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/compile/quantize/insert.h"

namespace ingot::quantize {
namespace {

constexpr double kLargest = 127;
constexpr int kScalesTried = 40;

/// A tensor as [outer, channels, inner].
struct Along {
  int64_t outer = 1, channels = 1, inner = 1;
};
Along along(const std::vector<int64_t>& dims, int64_t axis) {
  Along a;
  for (size_t i = 0; i < dims.size(); i++)
    (int64_t(i) < axis ? a.outer : int64_t(i) == axis ? a.channels : a.inner) *= dims[i];
  return a;
}

template <class Visit>
void for_channel(const Along& a, int64_t channel, Visit visit) {
  for (int64_t o = 0; o < a.outer; o++)
    for (int64_t i = 0; i < a.inner; i++) visit((o * a.channels + channel) * a.inner + i);
}

double rounded(double w, double scale) {
  return std::clamp(std::nearbyint(w / scale), -kLargest, kLargest);
}

/// A smaller scale cuts the largest weights off and rounds the others more finely.
double fitted_scale(const float* w, const Along& a, int64_t channel, double largest) {
  double best = largest / kLargest, least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kScalesTried; k++) {
    const double scale = largest / kLargest * (1 - 0.5 * k / kScalesTried);
    double cost = 0;
    for_channel(a, channel, [&](int64_t i) {
      const double error = rounded(w[i], scale) * scale - w[i];
      cost += error * error;
    });
    if (cost < least) least = cost, best = scale;
  }
  return best;
}

}  // namespace

ByteWeights quantize_weights(const Constant& weights, int64_t axis, bool fit,
                             const std::vector<double>& smallest) {
  const Along a = along(weights.dims, axis);
  const float* w = weights.as<float>();
  ByteWeights made;
  made.bytes.resize(size_t(weights.elements()));
  for (int64_t c = 0; c < a.channels; c++) {
    double largest = 0;
    for_channel(a, c, [&](int64_t i) { largest = std::max(largest, std::fabs(double(w[i]))); });
    double scale = fit ? fitted_scale(w, a, c, largest) : largest / kLargest;
    if (!smallest.empty()) scale = std::max(scale, smallest[size_t(c)]);
    // A channel of zeros: any scale does.
    scale = std::max(scale, 2.0 * std::numeric_limits<float>::min());
    made.scales.push_back(float(scale));
    for_channel(a, c, [&](int64_t i) {
      made.bytes[size_t(i)] = int8_t(rounded(w[i], double(made.scales.back())));
    });
  }
  return made;
}

std::vector<double> mean_error(const Layer& layer, const Constant& weights,
                               const ByteWeights& rounded, const std::vector<double>& means) {
  const Along a = along(weights.dims, layer.axis);
  const float* w = weights.as<float>();
  std::vector<double> errors(size_t(a.channels), 0);
  // Indices of one output channel run over the inputs of its group, each with its taps.
  const bool is_conv = layer.op == op::Conv;
  const int64_t taps = is_conv ? a.inner / weights.dims[1] : 1;
  for (int64_t c = 0; c < a.channels; c++) {
    const int64_t group = c / std::max<int64_t>(a.channels / layer.groups, 1);
    int64_t at = 0;
    for_channel(a, c, [&](int64_t i) {
      const int64_t input = is_conv ? group * weights.dims[1] + at / taps : at;
      at++;
      if (input >= int64_t(means.size())) return;
      const double error =
          double(rounded.bytes[size_t(i)]) * double(rounded.scales[size_t(c)]) - double(w[i]);
      errors[size_t(c)] += error * means[size_t(input)];
    });
  }
  return errors;
}

}  // namespace ingot::quantize
