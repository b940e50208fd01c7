// SPDX-License-Identifier: Apache-2.0
// Recurrent networks, elementwise steps and camera frames: over their attributes.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/op/elementwise.h"
#include "runtime/op/image_input.h"
#include "runtime/op/recurrent.h"
#include "tests/conformance/combinations.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

using Dims = std::vector<int64_t>;

/// Weights of `rows` in panels, zero past `hidden` of each block of p, as the packer leaves them.
/// They are so small that 70 steps do not amplify what was rounded.
Tensor gate_weights(int64_t rows, int64_t p, int64_t hidden, int64_t k, uint32_t seed) {
  Tensor w(DType::kF32, {rows, k}, 0, Packing::kPanels16),
      from = Tensor(DType::kF32, {rows, k}).random(seed, -0.3, 0.3);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < k; i++)
      w.view().as<float>()[(r / 16 * k + i) * 16 + r % 16] =
          r % p < hidden ? float(from.at(r * k + i)) : 0;
  return w;
}
Tensor padded(Tensor v, int64_t p, int64_t hidden) {
  for (int64_t i = 0; i < v.view().elements(); i++)
    if (i % p >= hidden) v.set(i, 0);
  return v;
}

}  // namespace

TEST_CASE("combinations: recurrent") {
  Combinations all("recurrent", 3000, 3, 24);
  const auto kind = all.axis<RecurrentKind>(
      "kind", {RecurrentKind::kLstm, RecurrentKind::kGru, RecurrentKind::kRnn});
  const auto direction = all.axis<Direction>(
      "direction", {Direction::kForward, Direction::kReverse, Direction::kBidirectional});
  const auto steps = all.axis<int64_t>("steps", {0, 1, 2, 5, 70});
  const auto batch = all.axis<int64_t>("batch", {1, 2, 5, 17});
  const auto input = all.axis<int64_t>("input", {1, 5, 16, 20});
  const auto hidden = all.axis<int64_t>("hidden", {1, 7, 16, 17, 33});
  const auto bias = all.axis<bool>("bias", {false, true});
  const auto h0 = all.axis<bool>("h0", {false, true});
  const auto c0 = all.axis<bool>("c0", {false, true});
  const auto lengths = all.axis("lengths", 4);  // none, some, none at all, all
  const auto peepholes = all.axis<bool>("peepholes", {false, true});
  const auto linear = all.axis<bool>("linear_before_reset", {false, true});
  const auto batch_first = all.axis<bool>("batch_first", {false, true});
  const auto clip = all.axis<float>("clip", {0, 0.3f});
  const auto activations = all.axis("activations", 4);                   // the defaults; others
  const auto results = all.axis<int>("results", {1, 2, 3, 4, 5, 6, 7});  // which of y, h, c
  RecurrentAttributes t;
  all.run([&](Case& c) {
    const bool lstm = kind() == RecurrentKind::kLstm;
    if (!lstm && (c0() || peepholes() || (results() & 4))) return false;
    if (kind() != RecurrentKind::kGru && linear()) return false;
    t = {};
    t.kind = kind(), t.direction = direction(), t.hidden = uint32_t(hidden()), t.clip = clip();
    t.linear_before_reset = linear(), t.batch_first = batch_first();
    const int64_t d = direction() == Direction::kBidirectional ? 2 : 1, g = recurrent_gates(kind()),
                  p = (hidden() + 15) / 16 * 16, b = batch(), h = hidden();
    if (activations()) {
      const uint32_t each = lstm ? 3 : kind() == RecurrentKind::kGru ? 2 : 1;
      t.activation_count = uint32_t(d) * each;
      const Activation bounded[] = {Activation::kTanh, Activation::kSigmoid,
                                    Activation::kHardSigmoid, Activation::kClip,
                                    Activation::kRelu6};
      for (uint32_t i = 0; i < t.activation_count; i++)
        t.activations[i] = {bounded[(i * 2 + uint32_t(activations())) % 5], 0.2f, 0.5f};
    }
    c.op = OpCode::kRecurrent, c.attributes = &t, c.tolerance = {3e-4, 3e-4};  // over 70 steps
    const Dims x = batch_first() ? Dims{b, steps(), input()} : Dims{steps(), b, input()},
               y = batch_first() ? Dims{b, steps(), d, h} : Dims{steps(), d, b, h},
               state = {d, b, h};
    c.inputs = {Tensor(DType::kF32, x).random(1),
                gate_weights(d * g * p, p, h, input(), 2),
                gate_weights(d * g * p, p, h, h, 3),
                bias() || linear()
                    ? padded(Tensor(DType::kF32, {d, linear() ? 2 : 1, g * p}).random(4), p, h)
                    : Tensor(),
                h0() ? Tensor(DType::kF32, state).random(5) : Tensor(),
                c0() ? Tensor(DType::kF32, state).random(6) : Tensor(),
                Tensor(),
                peepholes() ? padded(Tensor(DType::kF32, {d, 3 * p}).random(8), p, h) : Tensor()};
    if (lengths() == 1) c.inputs[6] = Tensor(DType::kI32, {b}).random(7, 0, double(steps()));
    if (lengths() > 1)
      c.inputs[6] = Tensor(DType::kI32, {b}).values({lengths() == 2 ? 0 : double(steps())});
    c.outputs = {results() & 1 ? Tensor(DType::kF32, y) : Tensor(),
                 results() & 2 ? Tensor(DType::kF32, state) : Tensor()};
    if (lstm) c.outputs.push_back(results() & 4 ? Tensor(DType::kF32, state) : Tensor());
    return true;
  });
}

TEST_CASE("combinations: elementwise") {
  using Op = ElementwiseOp;
  Combinations all("elementwise", 8000, 3, 16);
  const auto op = all.axis<Op>(
      "operator",
      {Op::kIdentity,     Op::kNeg,        Op::kAbs,        Op::kSign,     Op::kRelu,   Op::kSquare,
       Op::kClip,         Op::kAdd,        Op::kSub,        Op::kMul,      Op::kDiv,    Op::kMin,
       Op::kMax,          Op::kMod,        Op::kFmod,       Op::kPrelu,    Op::kEqual,  Op::kLess,
       Op::kGreaterEqual, Op::kLogicalAnd, Op::kLogicalXor, Op::kNotEqual, Op::kSelect, Op::kFma});
  const auto compute = all.axis<ComputeType>(
      "compute", {ComputeType::kF32, ComputeType::kI64, ComputeType::kF64, ComputeType::kU64});
  const auto y =
      all.axis<Dims>("dims", {{2, 3, 17}, {1, 5, 64}, {4, 1, 1}, {3, 7, 1}, {2, 2, 300}});
  const auto a_full = all.axis("a", 8);  // which dimensions it has in full
  const auto b_full = all.axis("b", 8);
  const auto c_full = all.axis("c", 8);
  const auto constant = all.axis("constant", 4);  // no operand; a, b or c is the step's number
  const auto a_type = all.axis<DType>(
      "a_type", {DType::kF32, DType::kF16, DType::kI32, DType::kI64, DType::kU8, DType::kBool});
  const auto b_type =
      all.axis<DType>("b_type", {DType::kF32, DType::kBF16, DType::kF64, DType::kI8});
  const auto y_type = all.axis<DType>(
      "y_type", {DType::kF32, DType::kF16, DType::kI32, DType::kI64, DType::kU8, DType::kBool});
  const auto more = all.axis<bool>("more steps", {false, true});
  const auto x_padding = all.axis<int64_t>("x_padding", {0, 5});
  const auto y_padding = all.axis<int64_t>("y_padding", {0, 3});
  ElementwiseAttributes t;
  all.run([&](Case& c) {
    const int arity = elementwise_arity(op());
    if (constant() > arity || (constant() && arity == 1)) return false;
    if ((arity < 3 && c_full() != 7) || (arity < 2 && b_full() != 7)) return false;
    t = {};
    t.compute = compute();
    uint8_t at[3] = {}, inputs = 0;
    for (int i = 0; i < 3; i++)
      at[i] = i >= arity ? 0 : constant() == i + 1 ? kConstantRegister : inputs++;
    t.steps[t.step_count++] = {op(), at[0], at[1], at[2], 2, 3};
    if (more()) {
      t.steps[t.step_count++] = {Op::kAdd, inputs, kConstantRegister, 0, 1, 0};
      t.steps[t.step_count++] = {Op::kMax, uint8_t(inputs + 1), 0, 0, 0, 0};
    }
    c.op = OpCode::kElementwise, c.attributes = &t, c.tolerance = {5e-6, 1e-6};
    const int full[3] = {a_full(), b_full(), c_full()};
    const DType types[3] = {a_type(), b_type(), a_type()};
    for (int i = 0; i < arity; i++) {
      if (constant() == i + 1) continue;
      Dims dims = y();
      for (size_t k = 0; k < 3; k++)
        if (!(full[i] >> k & 1)) dims[k] = 1;
      const bool is_bool = types[i] == DType::kBool,
                 is_unsigned = types[i] == DType::kU8 || compute() == ComputeType::kU64;
      Tensor x = Tensor(types[i], dims, x_padding())
                     .random(uint32_t(i + 1),
                             is_bool       ? 0
                             : is_unsigned ? 1
                                           : -9,
                             is_bool ? 1 : 9);
      for (int64_t k = 0; k < x.view().elements() && !is_bool; k++)
        x.set(k, std::floor(x.at(k)) + (compute() == ComputeType::kF32 ? 0.25 : 0));
      c.inputs.push_back(x);
    }
    if (y_type() == DType::kF16) c.tolerance = {2e-3, 1e-3};
    c.outputs = {Tensor(y_type(), y(), y_padding())};
    return true;
  });
}

TEST_CASE("combinations: camera frames") {
  struct Geometry {
    uint32_t width, height;
    ImageArea source;
    int64_t y_width, y_height;
    ImageArea target;
  };
  Combinations all("image_input", 3000, 3, 16);
  const auto format = all.axis("format", kPixelFormatCount);
  const auto geometry =
      all.axis<Geometry>("geometry", {{34, 6, {0, 0, 34, 6}, 34, 6, {0, 0, 34, 6}},
                                      {70, 34, {0, 0, 70, 34}, 33, 15, {0, 0, 33, 15}},
                                      {12, 10, {0, 0, 12, 10}, 37, 24, {4, 0, 28, 24}},
                                      {64, 40, {7, 3, 51, 35}, 23, 21, {2, 3, 17, 16}},
                                      {66, 36, {0, 0, 66, 36}, 22, 16, {0, 2, 22, 12}},
                                      {8, 4, {3, 1, 1, 1}, 5, 4, {0, 0, 5, 4}},
                                      {20, 12, {1, 1, 18, 11}, 1, 1, {0, 0, 1, 1}}});
  const auto interpolation = all.axis("interpolation", 3);
  const auto matrix = all.axis<ColorMatrix>("matrix", {ColorMatrix::kBt601, ColorMatrix::kBt709});
  const auto siting =
      all.axis<ChromaSiting>("siting", {ChromaSiting::kLeft, ChromaSiting::kCenter});
  const auto full_range = all.axis<bool>("full_range", {false, true});
  const auto bgr = all.axis<bool>("bgr", {false, true});
  const auto planar = all.axis<bool>("planar", {false, true});
  const auto channels = all.axis<uint32_t>("channels", {1, 3});
  const auto frames = all.axis<int64_t>("frames", {1, 2});
  const auto gap = all.axis<int64_t>("gap", {0, 6});
  const auto apart = all.axis<bool>("planes apart", {false, true});
  ImageInputAttributes t;
  all.run([&](Case& c) {
    const Geometry& g = geometry();
    t = {};
    t.format = PixelFormat(format()), t.interpolation = PixelInterpolation(interpolation());
    t.matrix = matrix(), t.siting = siting(), t.full_range = full_range(), t.bgr = bgr(),
    t.planar = planar();
    t.width = g.width, t.height = g.height, t.source = g.source, t.target = g.target,
    t.channels = channels();
    for (uint32_t k = 0; k < channels(); k++)
      t.pad[k] = 114 + float(k), t.scale[k] = 1.0f / (58.0f + float(k)),
      t.bias[k] = -2.1f + 0.1f * float(k);
    const int planes = pixel_layout(t.format).planes;
    for (int i = 0; i < (apart() ? planes : 1); i++) {
      const int64_t rows =
          apart() ? plane_rows(t.format, t.height, i) : frame_rows(t.format, t.height);
      c.inputs.push_back(
          Tensor(DType::kU8, {frames(), rows, plane_row_bytes(t.format, t.width, i) + gap()})
              .random(uint32_t(7 + i), 0, 255));
    }
    const int64_t deep = channels();
    c.op = OpCode::kImageInput, c.attributes = &t, c.tolerance = {2e-6, 4e-5};
    c.outputs = {planar() ? Tensor(DType::kF32, {frames(), deep, g.y_height, g.y_width})
                          : Tensor(DType::kF32, {frames(), g.y_height, g.y_width, deep})};
    return true;
  });
}
