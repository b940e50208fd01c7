// SPDX-License-Identifier: Apache-2.0
// Channels of integer convolutions that are one number at every pixel are computed by nobody: the
// outputs, evaluated before and after, stay what they were.
#include <doctest/doctest.h>

#include <random>

#include "tests/support/graph_builder.h"
#include "tools/compile/passes/pipeline.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int64_t kZero = 120;

/// Integer convolutions one after another; outputs that are in `dead` have no weights.
struct Convolutions {
  GraphBuilder g;
  std::mt19937 random{7};
  std::string mode = "float_even";

  template <class T>
  ValueId constant(DType dtype, const Dimensions& dims, const std::vector<T>& values) {
    const ValueId id = g.model.add_constant("k" + std::to_string(g.model.values.size()),
                                            graph::make_constant(dtype, dims, values.data()));
    graph::Value& value = g.model.values[size_t(id)];
    value.dtype = dtype, value.shape_known = true;
    value.dims = graph::Dims(dims.begin(), dims.end());
    return id;
  }
  int drawn(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }

  ValueId image(int64_t channels) {
    const Dimensions dims = {1, 5, 5, channels};
    return g.node(op::Quantize, {g.input("x", dims)},
                  {{attr::scale, 1.0 / 64}, {attr::zero_point, kZero}}, dims, DType::kU8);
  }
  /// `step`: what outputs in `dead` are above the zero point.
  ValueId add(ValueId x, int64_t outputs, int kernel, bool padded, bool depthwise,
              const std::vector<int64_t>& dead, int step = 0) {
    const graph::Dims in = g.model.values[size_t(x)].dims;
    const int64_t inputs = depthwise ? 1 : *in[3].value();
    std::vector<int8_t> w(size_t(outputs * kernel * kernel * inputs));
    for (int8_t& each : w) each = int8_t(drawn(-90, 90));
    const size_t row = w.size() / size_t(outputs);
    std::vector<int32_t> bias, multipliers, shifts;
    std::vector<float> by;
    for (int64_t o = 0; o < outputs; o++) {
      bias.push_back(drawn(-3000, 3000));
      by.push_back(float(drawn(1, 20)) / 4000);
      multipliers.push_back(drawn(1 << 30, INT32_MAX)), shifts.push_back(drawn(6, 9));
    }
    for (const int64_t o : dead) {
      std::fill_n(w.begin() + o * int64_t(row), row, int8_t(0));
      // as training leaves them: a bias near 2^30, a scale near zero
      bias[size_t(o)] = 1 << 30, by[size_t(o)] = float(step) / float(1 << 30);
      multipliers[size_t(o)] = step ? 1 << 30 : 0, shifts[size_t(o)] = step ? 29 : 0;
      if (step && mode != "float_even") bias[size_t(o)] = step * (1 << 30);  // / 2 / 2^29
    }
    std::vector<ValueId> operands = {x, constant(DType::kI8, {outputs, kernel, kernel, inputs}, w),
                                     constant(DType::kI32, {outputs}, bias)};
    if (mode == "float_even") {
      operands.push_back(constant(DType::kF32, {outputs}, by));
    } else {
      operands.push_back(constant(DType::kI32, {outputs}, multipliers));
      operands.push_back(constant(DType::kI32, {outputs}, shifts));
    }
    const int64_t pad = padded ? kernel / 2 : 0, extent = *in[1].value() + 2 * pad - kernel + 1;
    passes::Attributes attributes = {{attr::kernel_h, int64_t(kernel)},
                                     {attr::kernel_w, int64_t(kernel)},
                                     {attr::x_zero, kZero},
                                     {attr::y_zero, kZero},
                                     {attr::requant, mode},
                                     {attr::low, int64_t(10)}};
    for (const auto side : {attr::pad_top, attr::pad_left, attr::pad_bottom, attr::pad_right})
      attributes[side] = pad;
    if (depthwise)
      attributes[attr::groups] = outputs, attributes[attr::method] = std::string("depthwise");
    return g.node(op::QuantizedConv2d, operands, attributes, {1, extent, extent, outputs},
                  DType::kU8);
  }
  /// Channels of each convolution after the passes, in order. What the outputs were, they are.
  std::vector<int64_t> channels() {
    double worst = 1;
    convert_and_compare(g, worst);
    CHECK(worst == 0);
    CHECK(passes::why_not_core_form(g.model) == "");
    std::vector<int64_t> all;
    for (const graph::Node& node : g.model.graph.nodes)
      if (node.op == op::QuantizedConv2d)
        all.push_back(*g.model.values[size_t(node.outputs[0])].dims[3].value());
    return all;
  }
};
const std::vector<int64_t> kDead = {0, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 20, 22, 23};  // of 24
using Channels = std::vector<int64_t>;

}  // namespace

TEST_CASE("constant channels go through depthwise convolutions into biases") {
  for (const char* mode : {"float_even", "fixed_up", "fixed_away"}) {
    CAPTURE(mode);
    Convolutions c;
    c.mode = mode;
    ValueId x = c.add(c.image(5), 24, 1, false, false, kDead);
    x = c.add(x, 24, 3, true, true, {});
    c.g.output(c.add(x, 7, 3, false, false, {}));
    CHECK(c.channels() == Channels{16, 16, 7});  // nine vary, in eights
  }
}

TEST_CASE("a border of other bytes keeps a channel, no border does not") {
  for (const bool padded : {true, false}) {
    for (const char* mode : {"float_even", "fixed_up"}) {
      CAPTURE(padded);
      CAPTURE(mode);
      Convolutions c;
      c.mode = mode;
      ValueId x = c.add(c.image(5), 24, 1, false, false, kDead, 1);
      x = c.add(x, 24, 3, padded, true, {});
      c.g.output(c.add(x, 7, 1, false, false, {}));
      CHECK(c.channels() == (padded ? Channels{24, 24, 7} : Channels{16, 16, 7}));
    }
  }
}

TEST_CASE("outputs that are constant because their inputs are") {
  Convolutions c;
  std::vector<int64_t> all(16);
  for (size_t i = 0; i < all.size(); i++) all[i] = int64_t(i);
  ValueId x = c.add(c.image(3), 16, 1, false, false, all);
  x = c.add(x, 24, 1, false, false, {});
  c.g.output(c.add(x, 4, 1, false, false, {}));
  CHECK(c.channels() == Channels{8, 8, 4});
}

TEST_CASE("what leaves the model, or is read by others, keeps its channels") {
  Convolutions c;
  const ValueId x = c.add(c.image(3), 24, 1, false, false, kDead);
  c.g.output(x);
  c.g.output(c.add(x, 4, 1, false, false, {}));
  CHECK(c.channels() == Channels{24, 4});

  Convolutions d;
  const ValueId y = d.add(d.image(3), 24, 1, false, false, kDead);
  d.g.output(d.g.node(op::OffsetByte, {y}, {}, {1, 5, 5, 24}, DType::kI8));
  d.g.output(d.add(y, 4, 1, false, false, {}));
  CHECK(d.channels() == Channels{24, 4});
}

TEST_CASE("numbers of outputs without weights become small ones") {
  for (const char* mode : {"float_even", "fixed_up", "fixed_away"})
    for (const int step : {-3, 0, 1, 5}) {
      CAPTURE(mode);
      CAPTURE(step);
      if (std::string(mode) != "float_even" && (step < -1 || step > 1)) continue;  // of 2^30
      Convolutions c;
      c.mode = mode;
      c.g.output(c.add(c.image(3), 24, 1, false, false, kDead, step));
      CHECK(c.channels() == Channels{24});
      for (const graph::Node& node : c.g.model.graph.nodes)
        if (node.op == op::QuantizedConv2d)
          for (const int64_t o : kDead)
            CHECK(std::abs(c.g.model.constant(node.inputs[2])->as<int32_t>()[o]) <= 1024);
    }
}
