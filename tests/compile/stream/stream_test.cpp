// SPDX-License-Identifier: Apache-2.0
// Networks over time that run frame by frame give the frames of the whole: which, is worked out by
// hand for each row.
#include "tools/compile/stream/stream.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/graph_builder.h"

using namespace ingot;
using namespace ingot::test;
using convert::StreamedNetwork;
using convert::StreamOptions;
using passes::Attributes;
using Integers = std::vector<int64_t>;
using graph::Dims;

namespace {

constexpr int64_t kFrames = 24;

Attributes window(int64_t kernel, int64_t begin, int64_t end, int64_t dilation = 1,
                  int64_t stride = 1) {
  return {{attr::kernel_shape, Integers{kernel}},
          {attr::strides, Integers{stride}},
          {attr::dilations, Integers{dilation}},
          {attr::pads, Integers{begin, end}},
          {attr::group, int64_t{1}}};
}
ValueId conv(GraphBuilder& g, ValueId x, const Attributes& attributes) {
  return g.node(op::Conv,
                {x, g.weights({3, 3, std::get<Integers>(attributes.at(attr::kernel_shape))[0]}),
                 g.weights({3})},
                attributes);
}
ValueId cut(GraphBuilder& g, ValueId x, int64_t start, int64_t count, int64_t step = 1) {
  return g.node(op::Slice, {x},
                {{attr::starts, Dims{0, 0, start}}, {attr::steps, Integers{1, 1, step}}},
                {1, 3, count});
}
ValueId pad(GraphBuilder& g, ValueId x, int64_t before, int64_t count, double value) {
  return g.node(op::Pad, {x},
                {{attr::mode, std::string("constant")},
                 {attr::before, Dims{0, 0, before}},
                 {attr::value, value}},
                {1, 3, count});
}
ValueId pool(GraphBuilder& g, ValueId x, graph::Operator op, const Attributes& attributes,
             int64_t count_pads = 0) {
  Attributes all = attributes;
  all[attr::count_include_pad] = count_pads;
  const int64_t kernel = std::get<Integers>(all.at(attr::kernel_shape))[0],
                stride = std::get<Integers>(all.at(attr::strides))[0],
                dilation = std::get<Integers>(all.at(attr::dilations))[0];
  const Integers pads = std::get<Integers>(all.at(attr::pads));
  const graph::Dim frames = g.model.values[size_t(x)].dims[2];
  return g.node(
      op, {x}, all,
      {1, 3, (*frames.value() + pads[0] + pads[1] - (kernel - 1) * dilation - 1) / stride + 1});
}
ValueId gru(GraphBuilder& g, ValueId x) {  // [1, 3, T] -> [T, 1, 1, 4]
  const ValueId steps = g.node(op::Transpose, {x}, {{attr::perm, Integers{2, 0, 1}}});
  return g.nodes(op::GRU, {steps, g.weights({1, 12, 3}), g.weights({1, 12, 4})},
                 {{attr::direction, std::string("forward")},
                  {attr::hidden_size, int64_t{4}},
                  {attr::layout, int64_t{0}},
                  {attr::linear_before_reset, int64_t{1}},
                  {attr::activations, std::vector<std::string>{"Sigmoid", "Tanh"}},
                  {attr::activation_alpha, std::vector<double>{0, 0}},
                  {attr::activation_beta, std::vector<double>{0, 0}}},
                 {{kFrames, 1, 1, 4}})[0];
}

struct Network {
  const char* name;
  ValueId (*build)(GraphBuilder& g, ValueId x);
  size_t axis;  // of the output
  int64_t frames, latency;
  int64_t delay, from, to;  // frame t of the whole is frame t + delay, equal in [from, to)
};

/// The outputs of every run, one after another along the axis.
Tensor run_streamed(const GraphBuilder& g, const StreamedNetwork& streamed, const Tensor& x,
                    size_t axis, int64_t frames) {
  const graph::Model& model = g.model;
  const auto find = [&](const std::vector<ValueId>& ports, const std::string& name) {
    for (const ValueId id : ports)
      if (model.values[size_t(id)].name == name) return id;
    FAIL("no port " << name);
    return graph::kAbsent;
  };
  const auto dims_of = [&](ValueId id) {
    Dimensions dims;
    for (const graph::Dim& dim : model.values[size_t(id)].dims) dims.push_back(*dim.value());
    return dims;
  };
  std::map<std::string, Tensor> states;
  for (const convert::StreamState& state : streamed.states) {
    Tensor& first = states[state.input] = {dims_of(find(model.graph.inputs, state.input)), {}};
    first.at.assign(size_t(first.elements()), state.init);
  }
  std::vector<Tensor> pieces;
  const int64_t runs = x.dims[2] / frames;
  for (int64_t run = 0; run < runs; run++) {
    Evaluator evaluator(model);
    Tensor piece{{1, 3, frames}, {}};
    for (int64_t c = 0; c < 3; c++)
      for (int64_t t = 0; t < frames; t++)
        piece.at.push_back(x.at[size_t(c * x.dims[2] + run * frames + t)]);
    evaluator.set(model.graph.inputs[0], piece);
    for (const auto& [name, tensor] : states) evaluator.set(find(model.graph.inputs, name), tensor);
    evaluator.run(model.graph);
    for (const convert::StreamState& state : streamed.states)
      states[state.input] = evaluator.get(find(model.graph.outputs, state.output));
    pieces.push_back(evaluator.get(model.graph.outputs[0]));
    CHECK(pieces.back().dims == dims_of(model.graph.outputs[0]));
  }
  Tensor all{pieces[0].dims, {}};
  all.dims[axis] *= runs;
  for_each_index(all.dims, [&](const Dimensions& at) {
    const int64_t each = pieces[0].dims[axis];
    Dimensions inner = at;
    inner[axis] %= each;
    const Tensor& piece = pieces[size_t(at[axis] / each)];
    all.at.push_back(piece.at[size_t(offset_of(piece.dims, inner))]);
  });
  return all;
}

/// Frames of the whole in [from, to) that are not the stream's, bit by bit.
int64_t unequal_frames(const Tensor& whole, const Tensor& streamed, const Network& network,
                       int64_t from, int64_t to) {
  std::set<int64_t> unequal;
  for_each_index(whole.dims, [&](const Dimensions& at) {
    const int64_t t = at[network.axis];
    if (t < from || t >= to || t + network.delay >= streamed.dims[network.axis]) return;
    Dimensions there = at;
    there[network.axis] = t + network.delay;
    if (whole.at[size_t(offset_of(whole.dims, at))] !=
        streamed.at[size_t(offset_of(streamed.dims, there))])
      unequal.insert(t);
  });
  return int64_t(unequal.size());
}

}  // namespace

TEST_CASE("stream_frames: each run gives the frames of the whole network, to the bit") {
  const Network networks[] = {
      {"causal convolution", [](GraphBuilder& g, ValueId x) { return conv(g, x, window(3, 2, 0)); },
       2, 1, 0, 0, 0, 24},
      {"causal and dilated, then another",
       [](GraphBuilder& g, ValueId x) {
         return conv(g, conv(g, x, window(3, 8, 0, 4)), window(2, 1, 0));
       },
       2, 3, 0, 0, 0, 24},
      {"without padding: the first frame waits, nothing looks ahead",
       [](GraphBuilder& g, ValueId x) { return conv(g, x, window(3, 0, 0)); }, 2, 1, 0, 2, 0, 22},
      {"same padding looks one frame ahead",
       [](GraphBuilder& g, ValueId x) { return conv(g, x, window(3, 1, 1)); }, 2, 1, 1, 1, 0, 23},
      // the second pads at frame 0, where the stream has what the first made of frames before
      {"same padding twice",
       [](GraphBuilder& g, ValueId x) {
         return conv(g, conv(g, x, window(3, 1, 1)), window(3, 1, 1));
       },
       2, 2, 2, 2, 1, 22},
      {"padded on both sides and cut behind",
       [](GraphBuilder& g, ValueId x) { return cut(g, conv(g, x, window(3, 2, 2)), 0, kFrames); },
       2, 1, 0, 0, 0, 24},
      {"zeros before, then no padding",
       [](GraphBuilder& g, ValueId x) {
         return conv(g, pad(g, x, 2, kFrames + 2, 0), window(3, 0, 0));
       },
       2, 1, 0, 0, 0, 24},
      {"a number before, then no padding",
       [](GraphBuilder& g, ValueId x) {
         return conv(g, pad(g, x, 2, kFrames + 2, 0.5), window(3, 0, 0));
       },
       2, 2, 0, 0, 0, 24},
      {"stride 2, causal",
       [](GraphBuilder& g, ValueId x) { return conv(g, x, window(3, 2, 0, 1, 2)); }, 2, 2, 0, 0, 0,
       12},
      {"stride 2 with one frame on each side needs none of the next run",
       [](GraphBuilder& g, ValueId x) { return conv(g, x, window(3, 1, 1, 1, 2)); }, 2, 4, 0, 0, 0,
       12},
      {"every second frame from the second on",
       [](GraphBuilder& g, ValueId x) { return cut(g, x, 1, 12, 2); }, 2, 2, 0, 0, 0, 12},
      {"branches of different delay wait for each other",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Add, {conv(g, x, window(5, 2, 2)), conv(g, x, window(3, 1, 1))});
       },
       2, 1, 2, 2, 0, 22},
      {"joined with what waits",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Concat, {x, conv(g, x, window(3, 1, 1))}, {{attr::axis, int64_t{1}}});
       },
       2, 1, 1, 1, 0, 23},
      {"the largest of three",
       [](GraphBuilder& g, ValueId x) { return pool(g, x, op::MaxPool, window(3, 2, 0)); }, 2, 1, 0,
       0, 0, 24},
      {"averages that count the padding",
       [](GraphBuilder& g, ValueId x) { return pool(g, x, op::AveragePool, window(3, 2, 0), 1); },
       2, 1, 0, 0, 0, 24},
      // of two and of one frame at the front
      {"averages that leave the padding out",
       [](GraphBuilder& g, ValueId x) { return pool(g, x, op::AveragePool, window(3, 2, 0), 0); },
       2, 1, 0, 0, 2, 24},
      {"an average of all frames slides",
       [](GraphBuilder& g, ValueId x) {
         return pool(g, x, op::AveragePool, window(kFrames, 0, 0, 1, kFrames));
       },
       2, 1, 0, 23, 0, 1},
      {"a recurrent layer", gru, 0, 2, 0, 0, 0, 24},
      {"rows, a product and softmax",
       [](GraphBuilder& g, ValueId x) {
         const ValueId rows = g.node(op::Transpose, {x}, {{attr::perm, Integers{0, 2, 1}}});
         const ValueId flat = g.node(op::Reshape, {rows}, {}, {kFrames, 3});
         return g.node(op::Softmax, {g.node(op::MatMul, {flat, g.weights({3, 5})})},
                       {{attr::axis, int64_t{1}}});
       },
       0, 4, 0, 0, 0, 24},
      {"a mean over channels",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::ReduceMean, {x},
                       {{attr::axes, Integers{1}}, {attr::keepdims, int64_t{0}}}, {1, kFrames});
       },
       1, 1, 0, 0, 0, 24},
  };
  for (const Network& network : networks) {
    CAPTURE(network.name);
    GraphBuilder g;
    const ValueId y = network.build(g, g.input("x", {1, 3, kFrames}));
    g.output(y);
    const std::string name = g.model.values[size_t(y)].name;
    const Tensor whole = g.outputs().at(name);
    StreamOptions options;
    options.axis = 2, options.frames = network.frames, options.latency = network.latency;
    const StreamedNetwork streamed = stream_frames(g.model, options);
    std::map<std::string, std::string> metadata(streamed.metadata.begin(), streamed.metadata.end());
    CHECK(metadata.at("ingot.stream." + name) ==
          "axis " + std::to_string(network.axis) + " delay " + std::to_string(network.delay) +
              " equal " + std::to_string(network.from) + " to " + std::to_string(network.to));
    const Tensor given =
        run_streamed(g, streamed, g.input_tensor("x"), network.axis, network.frames);
    CHECK(unequal_frames(whole, given, network, network.from, network.to) == 0);
    CHECK(unequal_frames(whole, given, network, 0, network.from) == network.from);
  }
}

TEST_CASE("stream_frames: what a run computes is reported") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 3, kFrames});
  g.output(conv(g, conv(g, x, window(3, 2, 0)), window(3, 2, 0)));
  StreamOptions options;
  options.axis = 2, options.frames = 2;
  const StreamedNetwork streamed = stream_frames(g.model, options);
  REQUIRE(g.model.notes.size() == 2);
  // 2 frames of 2 layers with 3 x 3 channels and 3 taps
  CHECK(g.model.notes[0].find("108 of 1296 multiply-adds, 1.000 times") != std::string::npos);
  CHECK(streamed.states.size() == 2);
  CHECK(streamed.states[0].has_channels_second);
}
