// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/passes/quantize/block_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/op/linear.h"
#include "tools/files/work_budget.h"

namespace ingot::passes {
namespace {

constexpr int kScalesTried = 24;

struct Fit {
  float scale;
  double error;
};

/// Of numbers in -low .. high steps.
double error_of(const float* w, int64_t count, double scale, double low, double high) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    const double q = std::clamp(std::nearbyint(double(w[i]) / scale), -low, high);
    const double error = q * scale - double(w[i]);
    sum += error * error;
  }
  return sum;
}

/// Two's complement has one step more below zero: a negative scale gives it to the other side.
/// A smaller scale cuts the largest weights off and rounds the others more finely.
float fitted_scale(const float* w, int64_t count, int64_t bits) {
  const double high = double((int64_t(1) << (bits - 1)) - 1), low = bits == 4 ? high + 1 : high;
  double least = 0, most = 0;
  for (int64_t i = 0; i < count; i++)
    least = std::min(least, double(w[i])), most = std::max(most, double(w[i]));
  const double largest = std::max(-least, most);
  if (largest < 2.0 * double(std::numeric_limits<float>::min()) * high) return 1;
  if (bits != 4) return float(largest / high);
  double best = largest / high, error = std::numeric_limits<double>::infinity();
  for (const double sign : {1.0, -1.0})
    for (int i = 0; i < kScalesTried; i++) {
      const double widest =
          std::max(most / (sign > 0 ? high : low), -least / (sign > 0 ? low : high));
      const double scale = sign * double(float(widest * (1 - 0.4 * i / kScalesTried)));
      const double found = error_of(w, count, scale, low, high);
      if (found < error) error = found, best = scale;
    }
  return float(best);
}

}  // namespace

BlockWeights quantize_block_weights(const Constant& weights, int64_t bits, int64_t block) {
  BlockWeights made;
  made.outputs = weights.dims[0], made.k = weights.dims[1];
  made.bits = bits, made.block = block < made.k ? block : 0;
  host::charge_work(uint64_t(made.outputs) * uint64_t(made.k));
  const double high = double((int64_t(1) << (bits - 1)) - 1), low = bits == 4 ? high + 1 : high;
  const int64_t length = made.block ? made.block : made.k;
  made.numbers.reserve(size_t(made.outputs * made.k));
  for (int64_t o = 0; o < made.outputs; o++)
    for (int64_t b = 0; b < made.blocks(); b++) {
      const int64_t count = std::min(length, made.k - b * length);
      const float* const w = weights.as<float>() + o * made.k + b * length;
      const float scale = fitted_scale(w, count, bits);
      made.scales.push_back(scale);
      for (int64_t i = 0; i < count; i++)
        made.numbers.push_back(
            int8_t(std::clamp(std::nearbyint(double(w[i]) / double(scale)), -low, high)));
    }
  return made;
}

Constant expanded(const BlockWeights& weights) {
  std::vector<float> all;
  host::charge_memory(uint64_t(weights.numbers.size()) * 4);
  all.reserve(weights.numbers.size());
  for (int64_t i = 0; i < int64_t(weights.numbers.size()); i++) {
    const int64_t o = i / weights.k, column = i % weights.k,
                  at = o * weights.blocks() + (weights.block ? column / weights.block : 0);
    const int zero = weights.zeros.empty() ? 0 : weights.zeros[size_t(at)];
    all.push_back(float(weights.numbers[size_t(i)] - zero) * weights.scales[size_t(at)]);
  }
  return graph::make_constant(DType::kF32, {weights.outputs, weights.k}, all.data());
}

void set_block_weights(Editor& e, const BlockWeights& weights, const std::string& name,
                       std::vector<ValueId>* inputs, Attributes* attributes) {
  const std::vector<int64_t> dims = {weights.outputs, weights.k},
                             scales = {weights.outputs, weights.blocks()};
  inputs->resize(linear_weights::kScales + 1, kAbsent);
  (*inputs)[1] =
      e.new_constant(name, graph::make_constant(DType::kI8, dims, weights.numbers.data()));
  (*inputs)[linear_weights::kScales] = e.new_constant(
      name + "/scales", graph::make_constant(DType::kF32, scales, weights.scales.data()));
  if (!weights.zeros.empty())
    inputs->push_back(e.new_constant(
        name + "/zeros", graph::make_constant(DType::kI8, scales, weights.zeros.data())));
  (*attributes)[attr::bits] = weights.bits;
  (*attributes)[attr::block] = weights.block;
}

BlockWeights block_weights_of(const Model& model, const Node& linear) {
  const Constant &w = *model.constant(linear.inputs[1]),
                 &scales = *model.constant(linear.inputs[linear_weights::kScales]);
  const Constant* zeros = linear.inputs.size() > size_t(linear_weights::kZeros)
                              ? model.constant(linear.inputs[linear_weights::kZeros])
                              : nullptr;
  BlockWeights found;
  found.outputs = w.dims[0], found.k = w.dims[1];
  found.bits = linear.integer(attr::bits, 8), found.block = linear.integer(attr::block, 0);
  const auto taken = [](auto elements, auto* to) { to->assign(elements.begin(), elements.end()); };
  taken(w.as<int8_t>().part(0, w.elements()), &found.numbers);
  taken(scales.as<float>().part(0, scales.elements()), &found.scales);
  if (zeros) taken(zeros->as<int8_t>().part(0, zeros->elements()), &found.zeros);
  return found;
}

}  // namespace ingot::passes
