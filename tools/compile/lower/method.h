// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/method.h - direct or Winograd, for every convolution of a graph, from
// arithmetic against bytes.
#pragma once
#include <map>
#include <string>

#include "tools/compile/program/lowered_program.h"
#include "tools/compile/program/options.h"

namespace ingot::convert {

struct MethodChoice {
  ConvMethod method = ConvMethod::kDirect;
  std::string why;
  uint64_t extra_bytes = 0;  // of weights, against direct
};
using MethodChoices = std::map<const graph::Node*, MethodChoice>;

/// A 3x3 convolution as the cost model sees it.
struct ConvShape {
  int64_t batch = 1, out_h = 0, out_w = 0, channels = 0, outputs = 0;
};

/// Products, and weight bytes at the price of streaming them from memory: in flops, so that both
/// can be added.
/// `speed`: of the products, times that of f32.
double direct_cost(const ConvShape& shape, double speed = 1);
double winograd_cost(const ConvShape& shape);
/// At least 7 tiles of 4x4, 16 channels each way, and cheaper than direct.
bool winograd_pays(const ConvShape& shape);

/// Whether ConvertOptions::exact_sources have all that the node comes from.
bool stays_exact(const graph::Node& node, const ConvertOptions& options);

/// Chooses for every Conv2d with method "direct" of the model, branches included, at the extents of
/// `typical`.
MethodChoices choose_methods(const graph::Model& model, const ConvertOptions& options,
                             const Bindings& typical);

}  // namespace ingot::convert
