// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/reference/evaluate_dynamic.cpp - floats quantized by what they hold, and the
// products of integers behind that, as ONNX and runtime/op/dynamic_quantize.h say.
#include <algorithm>
#include <cmath>

#include "tools/diagnose/reference/evaluator.h"
#include "tools/graph/window.h"

namespace ingot::reference {
namespace {

using graph::Node;

/// Bytes, and scale and zero point of each group.
std::vector<Tensor> quantized_by_contents(Evaluator& e, const Node& node) {
  const Tensor& x = e.in(node, 0);
  const std::string kind = node.text(attr::range, "full");
  const size_t axis = size_t(node.integer(attr::axis, 0));
  int64_t groups = 1;
  for (size_t i = 0; i < axis; i++) groups *= x.dims[i];
  const size_t each = groups > 0 ? x.at.size() / size_t(groups) : 0;
  Tensor y{x.dims, {}}, steps{{groups, 2}, {}};
  for (size_t g = 0; g < size_t(groups); g++) {
    float low = 0, high = 0;
    for (size_t i = g * each; i < (g + 1) * each; i++)
      low = std::fmin(low, float(x.at[i])), high = std::fmax(high, float(x.at[i]));
    const float most = std::fmax(high, -low);
    float scale = 1, zero = 0;
    if (kind == "full") {
      if (most > 0) scale = (high - low) / 255.0f;
      zero = std::nearbyint(std::clamp(0.0f - low / scale, 0.0f, 255.0f));
    } else if (kind == "symmetric") {
      if (most > 0) scale = most / 127.0f;
    } else if (most > 0) {
      const double wide = (double(high) - double(low)) / 255.0, below = -low / wide,
                   above = high / wide;
      zero = float(std::round(
          std::clamp(128 + below < 127 + above ? -128 + below : 127 - above, -128.0, 127.0)));
      scale = float(wide);
    }
    const double offset = kind == "full" ? 0 : 128;
    for (size_t i = g * each; i < (g + 1) * each; i++) {
      const float v = float(x.at[i]);
      if (kind == "full")
        y.at.push_back(std::clamp(std::nearbyint(double(v / scale)) + zero, 0.0, 255.0));
      else
        y.at.push_back(std::clamp(std::round(double(zero + v * (kind == "symmetric" && most > 0
                                                                    ? 127.0f / most
                                                                    : 1.0f / scale))),
                                  kind == "symmetric" ? -127.0 : -128.0, 127.0) +
                       offset);
    }
    steps.at.push_back(scale), steps.at.push_back(zero + offset);
  }
  return {y, steps};
}

/// Bytes, scale, zero point.
std::vector<Tensor> quantized_linearly(Evaluator& e, const Node& node) {
  Node whole = node;
  whole.attributes = {};
  const std::vector<Tensor> made = quantized_by_contents(e, whole);
  return {made[0], Tensor{{}, {made[1].at[0]}}, Tensor{{}, {made[1].at[1]}}};
}

/// Operand i less its zero point, operand i + 2, which may be one of each element of `axis`.
Tensor less_zero(Evaluator& e, const Node& node, size_t i, size_t axis) {
  Tensor x = e.in(node, i);
  if (!e.has(node, i + 2)) return x;
  const Tensor& zero = e.in(node, i + 2);
  size_t at = 0;
  for_each_index(x.dims, [&](const Dimensions& index) {
    x.at[at++] -= zero.at[zero.at.size() == 1 ? 0 : size_t(index[axis])];
  });
  return x;
}

Tensor multiplied_integers(Evaluator& e, const Node& node) {
  const Tensor x = less_zero(e, node, 0, 0), w = less_zero(e, node, 1, 1);
  const int64_t k = w.dims[0], outputs = w.dims[1], rows = k ? x.elements() / k : 0;
  Tensor y{x.dims, {}};
  y.dims.back() = outputs;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t o = 0; o < outputs; o++) {
      double sum = 0;
      for (int64_t i = 0; i < k; i++)
        sum += x.at[size_t(row * k + i)] * w.at[size_t(i * outputs + o)];
      y.at.push_back(sum);
    }
  return y;
}

/// Of one or two dimensions.
Tensor convolved_integers(Evaluator& e, const Node& node) {
  Tensor x = less_zero(e, node, 0, 0), w = less_zero(e, node, 1, 0);
  const bool flat = x.dims.size() == 3;
  for (Tensor* each : {&x, &w})
    if (flat) each->dims.insert(each->dims.begin() + 2, 1);
  const graph::Window2d taps = graph::window_of(node);
  const int64_t groups = node.integer(attr::group, 1), per_group = w.dims[0] / groups;
  const auto extent = [](const graph::WindowSide& s, int64_t in) {
    return (in + s.begin + s.end - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
  };
  Tensor y{{x.dims[0], w.dims[0], extent(taps.h, x.dims[2]), extent(taps.w, x.dims[3])}, {}};
  for_each_index(y.dims, [&](const Dimensions& at) {
    double sum = 0;
    for_each_index({w.dims[1], w.dims[2], w.dims[3]}, [&](const Dimensions& tap) {
      const int64_t row = at[2] * taps.h.stride + tap[1] * taps.h.dilation - taps.h.begin,
                    column = at[3] * taps.w.stride + tap[2] * taps.w.dilation - taps.w.begin;
      if (row < 0 || row >= x.dims[2] || column < 0 || column >= x.dims[3]) return;
      const Dimensions from = {at[0], at[1] / per_group * w.dims[1] + tap[0], row, column},
                       by = {at[1], tap[0], tap[1], tap[2]};
      sum += x.at[size_t(offset_of(x.dims, from))] * w.at[size_t(offset_of(w.dims, by))];
    });
    y.at.push_back(sum);
  });
  if (flat) y.dims.erase(y.dims.begin() + 2);
  return y;
}

}  // namespace

std::vector<Tensor> evaluate_dynamic(Evaluator& e, const Node& node) {
  if (node.op == op::DynamicQuantize) return quantized_by_contents(e, node);
  if (node.op == op::DynamicQuantizeLinear) return quantized_linearly(e, node);
  if (node.op == op::MatMulInteger) return {multiplied_integers(e, node)};
  if (node.op == op::ConvInteger) return {convolved_integers(e, node)};
  return {};
}

}  // namespace ingot::reference
