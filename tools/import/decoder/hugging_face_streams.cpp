// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_streams.h"

#include <cmath>

namespace ingot::decoder {
namespace {

/// Deviations above the mean of normal numbers, below which is `share` of them, by halves.
double normal_quantile(double share) {
  double low = -kMaxDeviations, high = kMaxDeviations;
  for (int step = 0; step < 80; step++) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Shares of gates that stay shut, by layer; where it says none, as the class has it.
void read_sparsity(Config& config, DecoderNumbers* n) {
  constexpr const char* kKey = "activation_sparsity_pattern";
  constexpr size_t kUsualLayers = 10;
  constexpr double kUsualShare = 0.95;
  const size_t layers = n->layers.size();
  std::vector<double> shares = config.numbers(kKey);
  if (!config.find(kKey)) {
    shares.assign(layers, 0);
    for (size_t i = 0; layers > kUsualLayers && i < kUsualLayers; i++) shares[i] = kUsualShare;
  }
  if (shares.size() != layers)
    config.refuse(kKey, "a list of " + std::to_string(layers) + " numbers");
  for (size_t i = 0; i < layers; i++) {
    if (!(shares[i] >= 0 && shares[i] < 1))
      config.refuse(kKey, "numbers of 0 to less than 1, and that of layer " + std::to_string(i) +
                              " is " + std::to_string(shares[i]));
    if (shares[i] > 0) n->layers[i].threshold = normal_quantile(shares[i]);
  }
}

}  // namespace

std::vector<int64_t> read_widths(Config& config, const char* key, int64_t layers) {
  const Json* const value = config.find(key);
  if (!value || !value->is_array())
    return std::vector<int64_t>(size_t(layers), config.need(key, kMaxWidth));
  const std::vector<double> all = config.numbers(key);
  if (int64_t(all.size()) != layers)
    config.refuse(key, "a number, or a list of " + std::to_string(layers) + ", and there are " +
                           std::to_string(all.size()));
  std::vector<int64_t> widths;
  for (const double x : all) {
    if (!(x >= 1 && x <= double(kMaxWidth)) || x != std::floor(x))
      config.refuse(key, "whole numbers of 1 to " + std::to_string(kMaxWidth));
    widths.push_back(int64_t(x));
  }
  return widths;
}

void read_streams(Config& config, DecoderNumbers* n) {
  StreamNumbers& s = n->streams;
  s.count = config.integer("altup_num_inputs", 0, 2, kMaxStreams);
  if (s.count == 0) config.refuse("altup_num_inputs", "a number");
  s.active = config.integer("altup_active_idx", 0, 0, s.count - 1);
  s.rank = config.need("laurel_rank", kMaxWidth);
  s.scales_active = config.flag("altup_correct_scale", true);
  n->layer_input = config.need("hidden_size_per_layer_input", kMaxWidth);
  for (const char* key : {"altup_coef_clip", "altup_lr_multiplier"})  // of training
    (void)config.find(key);
  read_sparsity(config, n);
}

}  // namespace ingot::decoder
