// SPDX-License-Identifier: Apache-2.0
// tools/compile/lower/method.cpp - see method.h. Figures: one core of an AVX-512 server at 264
// GFLOP/s, weights beyond the caches at 41 GB/s; prototypes/whole_model measured the rule "at least
// 7 tiles" on six networks.
#include "tools/compile/lower/method.h"

#include <algorithm>

#include "runtime/base/checked_math.h"
#include "tools/graph/window.h"

namespace ingot::convert {
namespace {

constexpr double kFlopsPerStreamedByte = 6.4;
constexpr double kInputTransformFlops = 400;   // of one 6x6 tile and channel, traffic included
constexpr double kOutputTransformFlops = 200;  // of one 4x4 tile and output
constexpr double kBf16Speed = 2;               // of its dot products, times that of f32
constexpr uint8_t kBf16 = 3;                   // ConvertOptions::precision
constexpr int64_t kLeastTiles = 7;
constexpr int64_t kLeastChannels = 16;

int64_t tiles_of(const ConvShape& s) { return ceil_div(s.out_h, 4) * ceil_div(s.out_w, 4); }
int64_t padded_weights(const ConvShape& s) { return s.channels * round_up(s.outputs, kPanel); }

struct Candidate {
  const graph::Node* node;
  ConvShape shape;
  uint64_t extra_bytes;
  double saved;
};

bool has_winograd_form(const graph::Node& node) {
  const graph::Window2d window = graph::window_of(node);
  return node.text(attr::method, "direct") == "direct" && window.h.kernel == 3 &&
         window.w.kernel == 3 && window.h.is_plain() && window.w.is_plain() &&
         node.integer(attr::group, 1) == 1 && node.text(attr::input_layout, "nhwc") == "nhwc";
}

std::string shape_text(const ConvShape& s) {
  return std::to_string(s.out_h) + "x" + std::to_string(s.out_w) + ", " +
         std::to_string(s.channels) + " to " + std::to_string(s.outputs);
}

void gather(const graph::Model& model, const graph::Graph& graph, const ConvertOptions& options,
            const Bindings& typical, MethodChoices* choices, std::vector<Candidate>* candidates) {
  for (const graph::Node& node : graph.nodes) {
    for (graph::AttributeName key : {attr::then_branch, attr::else_branch, attr::body})
      if (const auto found = node.attributes.find(key); found != node.attributes.end())
        gather(model, *std::get<std::shared_ptr<graph::Graph>>(found->second), options, typical,
               choices, candidates);
    if (node.op != op::Conv2d || !has_winograd_form(node)) continue;
    const graph::Dims& x = model.values[size_t(node.inputs[0])].dims;
    const graph::Dims& y = model.values[size_t(node.outputs[0])].dims;
    if (x.size() != 4 || y.size() != 4) continue;
    const auto extent = [&](const graph::Dim& dim) { return dim.evaluate(typical); };
    const ConvShape shape{extent(y[0]), extent(y[1]), extent(y[2]), extent(x[3]), extent(y[3])};
    if (options.winograd == WinogradMode::kOff) {
      (*choices)[&node] = {ConvMethod::kDirect, "winograd is off", 0};
    } else if (!winograd_pays(shape)) {
      (*choices)[&node] = {ConvMethod::kDirect,
                           "direct: winograd does not pay at " + shape_text(shape), 0};
    } else {
      candidates->push_back({&node, shape,
                             uint64_t(padded_weights(shape)) * 4 * (kWinogradPlanes - 9),
                             direct_cost(shape) - winograd_cost(shape)});
    }
  }
}

}  // namespace

double direct_cost(const ConvShape& s, double speed) {
  return 2.0 * 9 * double(s.batch * s.out_h * s.out_w) * double(padded_weights(s)) / speed +
         kFlopsPerStreamedByte * 9 * 4 * double(padded_weights(s));
}

double winograd_cost(const ConvShape& s) {
  const double tiles = double(s.batch * tiles_of(s));
  return 2.0 * kWinogradPlanes * tiles * double(padded_weights(s)) +
         kFlopsPerStreamedByte * kWinogradPlanes * 4 * double(padded_weights(s)) +
         tiles * (kInputTransformFlops * double(s.channels) +
                  kOutputTransformFlops * double(s.outputs));
}

bool winograd_pays(const ConvShape& s) {
  return s.channels >= kLeastChannels && s.outputs >= kLeastChannels &&
         tiles_of(s) >= kLeastTiles && winograd_cost(s) < direct_cost(s);
}

bool stays_exact(const graph::Node& node, const ConvertOptions& options) {
  return !node.sources.empty() &&
         std::all_of(node.sources.begin(), node.sources.end(),
                     [&](uint32_t source) { return options.exact_sources.count(source) != 0; });
}

MethodChoices choose_methods(const graph::Model& model, const ConvertOptions& options,
                             const Bindings& typical) {
  MethodChoices choices;
  std::vector<Candidate> candidates;
  gather(model, model.graph, options, typical, &choices, &candidates);
  uint64_t left = ~uint64_t{0};
  const bool has_budget = options.winograd == WinogradMode::kBudget;
  if (has_budget) left = options.winograd_bytes;
  // Four times the weights are too dear in flash, and where weights are stored smaller: the
  // transform would multiply what rounding costs, so that its own stay f32. Unless asked for.
  else if (options.targets == std::vector<std::string>{"mcu"} ||
           options.storage.dtype != DType::kF32)
    left = 0;
  // Most saved per byte first; stable, so that equal layers keep their order.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) {
                     return a.saved * double(b.extra_bytes) > b.saved * double(a.extra_bytes);
                   });
  for (const Candidate& candidate : candidates) {
    const std::string shape = shape_text(candidate.shape);
    // Tensor cores, which fast and fp16 are for, read plain panels. A CPU's bf16 is twice as quick
    // as f32, and Winograd up to four times.
    const bool is_quicker =
        options.precision == kBf16 && options.targets == std::vector<std::string>{"cpu"} &&
        (stays_exact(*candidate.node, options) ||
         winograd_cost(candidate.shape) < direct_cost(candidate.shape, kBf16Speed));
    const bool needs_panels = !has_budget && options.precision && !is_quicker;
    if (needs_panels || candidate.extra_bytes > left) {
      choices[candidate.node] = {ConvMethod::kDirect,
                                 "direct: winograd at " + shape + " passes the byte budget", 0};
      continue;
    }
    left -= candidate.extra_bytes;
    choices[candidate.node] = {ConvMethod::kWinogradF43, "winograd: " + shape,
                               candidate.extra_bytes};
  }
  return choices;
}

}  // namespace ingot::convert
