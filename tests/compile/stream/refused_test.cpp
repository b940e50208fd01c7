// SPDX-License-Identifier: Apache-2.0
// What cannot run frame by frame is refused by name, with what would work.
#include <doctest/doctest.h>

#include "tests/support/graph_builder.h"
#include "tools/compile/stream/stream.h"

using namespace ingot;
using namespace ingot::test;
using convert::StreamOptions;
using passes::Attributes;
using Integers = std::vector<int64_t>;

namespace {

struct Refusal {
  int exit_code = 0;
  std::string message;
  size_t operators = 0;
};

Refusal refusal_of(graph::Model& model, const StreamOptions& options) {
  const size_t nodes = model.graph.nodes.size();
  try {
    stream_frames(model, options);
  } catch (const graph::ConversionError& error) {
    CHECK(model.graph.nodes.size() == nodes);  // as it was
    return {error.exit_code, error.message, error.unsupported.size()};
  }
  return {};
}

Attributes window(Integers kernel, Integers pads, Integers strides) {
  return {{attr::kernel_shape, kernel},
          {attr::strides, strides},
          {attr::dilations, Integers(kernel.size(), 1)},
          {attr::pads, pads},
          {attr::group, int64_t{1}}};
}

}  // namespace

TEST_CASE("stream_frames: operators that need all frames are refused by name, all of them") {
  struct Case {
    const char* name;
    ValueId (*build)(GraphBuilder& g, ValueId x);
    const char* said;
  };
  const Case cases[] = {
      {"softmax over time",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Softmax, {x}, {{attr::axis, int64_t{2}}});
       },
       "Softmax 'Softmax_0' cannot run frame by frame: softmax over the whole axis"},
      {"a mean over time",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::ReduceMean, {x},
                       {{attr::axes, Integers{2}}, {attr::keepdims, int64_t{1}}}, {1, 3, 1});
       },
       "ReduceMean 'ReduceMean_0' cannot run frame by frame: reduces over the whole axis; a "
       "pooling with a window says over how many frames"},
      {"every frame with every frame",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::MatMul,
                       {g.node(op::Transpose, {x}, {{attr::perm, Integers{0, 2, 1}}}), x});
       },
       "MatMul 'MatMul_1' cannot run frame by frame: it multiplies each frame by each, as "
       "attention does"},
      {"positions",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Add, {x, g.weights({3, 12})});
       },
       "Add 'Add_0' cannot run frame by frame: an operand has numbers of its own for each frame of "
       "the whole, such as positions"},
      {"time and channels flattened",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Reshape, {x}, {}, {1, 36});
       },
       "Reshape 'Reshape_0' cannot run frame by frame: it mixes the axis with others"},
      {"frames in the other order",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Slice, {x},
                       {{attr::starts, graph::Dims{0, 0, 11}}, {attr::steps, Integers{1, 1, -1}}},
                       {1, 3, 12});
       },
       "Slice 'Slice_0' cannot run frame by frame: it turns the order of the frames round"},
      {"two of them",
       [](GraphBuilder& g, ValueId x) {
         return g.node(op::Add, {g.node(op::Softmax, {x}, {{attr::axis, int64_t{2}}}),
                                 g.node(op::CumSum, {x},
                                        {{attr::axis, int64_t{2}},
                                         {attr::exclusive, int64_t{0}},
                                         {attr::reverse, int64_t{0}}})});
       },
       "softmax over the whole axis; 2 operators in all"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    GraphBuilder g;
    g.output(c.build(g, g.input("x", {1, 3, 12})));
    StreamOptions options;
    options.axis = 2, options.frames = 1;
    const Refusal refusal = refusal_of(g.model, options);
    CAPTURE(refusal.message);
    CHECK(refusal.exit_code == 4);
    CHECK(refusal.message.find(c.said) != std::string::npos);
    CHECK(refusal.operators == (std::string(c.name) == "two of them" ? 2 : 1));
  }
}

TEST_CASE("stream_frames: what looks ahead is named with the latency that allows it") {
  GraphBuilder g;
  const ValueId x = g.input("x", {1, 3, 12});
  const ValueId causal = g.node(op::Conv, {x, g.weights({3, 3, 3})}, window({3}, {2, 0}, {1}));
  const ValueId strided =
      g.node(op::Conv, {causal, g.weights({3, 3, 2})}, window({2}, {0, 0}, {2}));
  g.output(g.node(op::Conv, {strided, g.weights({3, 3, 3})}, window({3}, {1, 1}, {1})));
  StreamOptions options;
  options.axis = 2, options.frames = 2, options.latency = 1;
  const Refusal refusal = refusal_of(g.model, options);
  CAPTURE(refusal.message);
  CHECK(refusal.exit_code == 4);
  CHECK(refusal.message.find("Conv 'Conv_2' looks ahead") != std::string::npos);
  CHECK(refusal.message.find("--latency 2 allows it") != std::string::npos);
  options.latency = 2;
  CHECK(refusal_of(g.model, options).exit_code == 0);
}

TEST_CASE("stream_frames: an option that does not fit the network says what would") {
  struct Case {
    const char* input;
    size_t axis;
    int64_t frames;
    const char* said;
  };
  const Case cases[] = {
      {"", 2, 3, "take 4 frames together, expected a multiple of that; take --stream 2=4"},
      {"", 3, 4, "input 'x' has no axis 3, its shape is [1, 3, 12]"},
      {"", 2, 16, "has 12 frames, expected at most as many new ones a run"},
      {"xx", 2, 4, "--stream xx:2=4: the network has no input 'xx'; did you mean 'x'?"},
      {"frames", 2, 4, "the network has no input 'frames'; there is: 'x'"},
  };
  for (const Case& c : cases) {
    GraphBuilder g;
    const ValueId x = g.input("x", {1, 3, 12});
    const ValueId y = g.node(op::Conv, {x, g.weights({3, 3, 2})}, window({2}, {0, 0}, {2}));
    g.output(g.node(op::Conv, {y, g.weights({3, 3, 2})}, window({2}, {0, 0}, {2})));
    StreamOptions options;
    options.input = c.input, options.axis = c.axis, options.frames = c.frames;
    const Refusal refusal = refusal_of(g.model, options);
    CAPTURE(refusal.message);
    CHECK(refusal.exit_code == 5);
    CHECK(refusal.message.find(c.said) != std::string::npos);
  }
}

TEST_CASE("set_stream: axis and count, of an input by name") {
  StreamOptions options;
  convert::set_stream(options, "2=16");
  CHECK(options.input.empty());
  CHECK(options.axis == 2);
  CHECK(options.frames == 16);
  convert::set_stream(options, "features:0:1=4");
  CHECK(options.input == "features:0");
  CHECK(options.axis == 1);
  for (const char* wrong : {"2", "2=", "=2", "2=0", "2=-1", "x=1", "-1=1", "2=1x"}) {
    CAPTURE(wrong);
    int code = 0;
    try {
      convert::set_stream(options, wrong);
    } catch (const graph::ConversionError& error) {
      code = error.exit_code;
    }
    CHECK(code == 1);
  }
}
