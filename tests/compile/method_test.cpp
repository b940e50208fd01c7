// SPDX-License-Identifier: Apache-2.0
// Direct against Winograd.
#include "tools/compile/lower/method.h"

#include <doctest/doctest.h>

namespace ingot::convert {
namespace {

/// One 3x3 convolution a layer, side by side.
graph::Model layers(const std::vector<ConvShape>& shapes) {
  graph::Model model;
  for (const ConvShape& s : shapes) {
    const graph::ValueId x = model.add_value("x", DType::kF32),
                         y = model.add_value("y", DType::kF32);
    model.values[size_t(x)].dims = {s.batch, s.out_h, s.out_w, s.channels};
    model.values[size_t(y)].dims = {s.batch, s.out_h, s.out_w, s.outputs};
    graph::Node node;
    node.op = op::Conv2d;
    node.inputs = {x};
    node.outputs = {y};
    node.attributes[attr::kernel_shape] = std::vector<int64_t>{3, 3};
    node.attributes[attr::pads] = std::vector<int64_t>{1, 1, 1, 1};
    model.graph.nodes.push_back(std::move(node));
  }
  return model;
}

size_t count_winograd(const MethodChoices& choices) {
  size_t n = 0;
  for (const auto& [node, choice] : choices) n += choice.method == ConvMethod::kWinogradF43;
  return n;
}

}  // namespace

TEST_CASE("winograd_pays: from 10x10 up, off at 7x7, and not for few channels") {
  struct Case {
    ConvShape shape;
    bool pays;
  };
  const Case cases[] = {{{1, 7, 7, 512, 512}, false},  {{1, 8, 8, 256, 256}, false},
                        {{1, 10, 10, 256, 256}, true}, {{1, 14, 14, 256, 256}, true},
                        {{1, 56, 56, 64, 64}, true},   {{1, 56, 56, 3, 64}, false},
                        {{1, 56, 56, 64, 8}, false},   {{1, 320, 320, 16, 16}, true}};
  for (const Case& c : cases) {
    CAPTURE(c.shape.out_h);
    CAPTURE(c.shape.channels);
    CHECK(winograd_pays(c.shape) == c.pays);
  }
}

TEST_CASE(
    "choose_methods: off is off, a budget buys the best layers first, auto takes all that pay") {
  const graph::Model model =
      layers({{1, 14, 14, 256, 256}, {1, 56, 56, 64, 64}, {1, 7, 7, 512, 512}});
  ConvertOptions options;
  CHECK(count_winograd(choose_methods(model, options, {})) == 2);
  options.winograd = WinogradMode::kOff;
  CHECK(count_winograd(choose_methods(model, options, {})) == 0);
  options.winograd = WinogradMode::kBudget;
  options.winograd_bytes = 27 * 64 * 64 * 4;  // just the second layer
  const MethodChoices choices = choose_methods(model, options, {});
  CHECK(count_winograd(choices) == 1);
  CHECK(choices.at(&model.graph.nodes[1]).method == ConvMethod::kWinogradF43);
  CHECK(choices.at(&model.graph.nodes[1]).extra_bytes == options.winograd_bytes);
  options.winograd_bytes -= 1;
  CHECK(count_winograd(choose_methods(model, options, {})) == 0);
}

TEST_CASE("choose_methods: a file for flash has no winograd unless a budget asks for it") {
  const graph::Model model = layers({{1, 56, 56, 64, 64}});
  ConvertOptions options;
  set_targets(options, "mcu");
  CHECK(count_winograd(choose_methods(model, options, {})) == 0);
  set_winograd(options, "1000000");
  CHECK(count_winograd(choose_methods(model, options, {})) == 1);
}

TEST_CASE("choose_methods: bf16 has winograd where that is twice as quick, and what stays exact") {
  graph::Model model = layers({{1, 64, 64, 128, 128}, {1, 10, 10, 256, 256}, {1, 56, 56, 16, 16}});
  for (uint32_t i = 0; i < 3; i++) model.graph.nodes[i].sources = {i};
  const auto is_winograd = [&](const ConvertOptions& options) {
    const MethodChoices choices = choose_methods(model, options, {});
    std::string all;
    for (const graph::Node& node : model.graph.nodes)
      all += choices.at(&node).method == ConvMethod::kWinogradF43 ? 'w' : '-';
    return all;
  };
  ConvertOptions options;
  CHECK(is_winograd(options) == "www");
  for (const char* precision : {"fast", "fp16"}) {
    set_precision(options, precision);
    CHECK(is_winograd(options) == "---");
  }
  set_precision(options, "bf16");
  CHECK(is_winograd(options) == "w-w");
  options.exact_sources = {1};
  CHECK(is_winograd(options) == "www");
  options.winograd = WinogradMode::kOff;
  CHECK(is_winograd(options) == "---");
}

TEST_CASE("choose_methods: strides, dilation and nchw input stay direct") {
  const std::pair<graph::AttributeName, graph::Attribute> others[] = {
      {attr::strides, std::vector<int64_t>{2, 1}},
      {attr::dilations, std::vector<int64_t>{1, 2}},
      {attr::group, int64_t{2}}};
  for (const auto& [key, value] : others) {
    graph::Model model = layers({{1, 56, 56, 64, 64}});
    model.graph.nodes[0].attributes[key] = value;
    CHECK(count_winograd(choose_methods(model, {}, {})) == 0);
  }
  graph::Model model = layers({{1, 56, 56, 64, 64}});
  model.graph.nodes[0].attributes[attr::input_layout] = std::string("nchw");
  CHECK(count_winograd(choose_methods(model, {}, {})) == 0);
}

}  // namespace ingot::convert
