// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU, RNN: directions, batches, lengths, peepholes, clipping, activations, chunks of long
// sequences.
#include "runtime/op/recurrent.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/conformance/runner.h"

using namespace ingot;
using namespace ingot::conformance;

namespace {

struct Setup {
  RecurrentKind kind = RecurrentKind::kLstm;
  Direction direction = Direction::kForward;
  int64_t steps = 3, batch = 1, input = 5, hidden = 7;
  bool bias = true, state = true, lens = false, peepholes = false, batch_first = false,
       linear = false, bytes = false, zeros = false;
};

RecurrentAttributes attributes(const Setup& s) {
  RecurrentAttributes t;
  t.kind = s.kind;
  t.direction = s.direction;
  t.hidden = uint32_t(s.hidden);
  t.linear_before_reset = s.linear;
  t.batch_first = s.batch_first;
  return t;
}

/// Weights of bytes become [rows, k] of random ones in panels; padding rows are zero.
Tensor byte_panels(const Setup& s, int64_t rows, int64_t k, uint32_t seed) {
  const int64_t p = (s.hidden + 15) / 16 * 16;
  Tensor w(DType::kI8, {rows, k}, 0, Packing::kPanels16x4),
      from = Tensor(DType::kI32, {rows, k}).random(seed, -128, 128);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < k; i++)
      w.view().as<int8_t>()[((r / 16 * ((k + 3) / 4) + i / 4) * 16 + r % 16) * 4 + i % 4] =
          r % p < s.hidden ? int8_t(from.at(r * k + i)) : int8_t(0);
  return w;
}

/// Sums, scales, biases and zero points of such weights.
Tensor byte_channels(const Setup& s, const Tensor& w, uint32_t seed) {
  const int64_t rows = w.view().dims[0], k = w.view().dims[1], p = (s.hidden + 15) / 16 * 16;
  Tensor all(DType::kI32, {s.zeros ? 4 : 3, rows});
  const Tensor scale = Tensor(DType::kF32, {rows}).random(seed, 0.001, 0.004),
               bias = Tensor(DType::kF32, {rows}).random(seed + 1, -0.5, 0.5),
               zero = Tensor(DType::kI32, {rows}).random(seed + 2, -9, 9);
  int32_t* const to = all.view().as<int32_t>();
  for (int64_t r = 0; r < rows; r++) {
    if (r % p >= s.hidden) continue;
    const int32_t of_row = s.zeros ? int32_t(zero.at(r)) : 0;
    for (int64_t i = 0; i < k; i++)
      to[r] += w.view().as<int8_t>()[((r / 16 * ((k + 3) / 4) + i / 4) * 16 + r % 16) * 4 + i % 4] -
               of_row;
    const float numbers[2] = {float(scale.at(r)), s.bias ? float(bias.at(r)) : 0};
    std::memcpy(to + rows + r, &numbers[0], sizeof(float));
    std::memcpy(to + 2 * rows + r, &numbers[1], sizeof(float));
    if (s.zeros) to[3 * rows + r] = of_row;
  }
  return all;
}

Case make_case(const Setup& s, const RecurrentAttributes& t) {
  const int64_t d = s.direction == Direction::kBidirectional ? 2 : 1, g = recurrent_gates(s.kind),
                p = (s.hidden + 15) / 16 * 16;
  // zero in the rows past `hidden`, as the packer leaves them
  const auto weights = [&](int64_t k, uint32_t seed) {
    Tensor w(DType::kF32, {d * g * p, k}, 0, Packing::kPanels16),
        from = Tensor(DType::kF32, {d * g * p, k}).random(seed, -0.5, 0.5);
    for (int64_t r = 0; r < d * g * p; r++)
      for (int64_t i = 0; i < k; i++)
        w.view().as<float>()[(r / 16 * k + i) * 16 + r % 16] =
            r % p < s.hidden ? float(from.at(r * k + i)) : 0;
    return w;
  };
  const auto padded = [&](Tensor v) {
    for (int64_t i = 0; i < v.view().elements(); i++)
      if (i % p >= s.hidden) v.set(i, 0);
    return v;
  };
  const std::vector<int64_t> x_dims = s.batch_first
                                          ? std::vector<int64_t>{s.batch, s.steps, s.input}
                                          : std::vector<int64_t>{s.steps, s.batch, s.input};
  const std::vector<int64_t> y_dims = s.batch_first
                                          ? std::vector<int64_t>{s.batch, s.steps, d, s.hidden}
                                          : std::vector<int64_t>{s.steps, d, s.batch, s.hidden};
  const bool lstm = s.kind == RecurrentKind::kLstm;
  Case c{"", OpCode::kRecurrent, &t, {}, {}, {1e-5, 1e-5}};
  c.inputs = {
      Tensor(DType::kF32, x_dims).random(1),
      weights(s.input, 2),
      weights(s.hidden, 3),
      s.bias ? padded(Tensor(DType::kF32, {d, s.linear ? 2 : 1, g * p}).random(4)) : Tensor(),
      s.state ? Tensor(DType::kF32, {d, s.batch, s.hidden}).random(5) : Tensor(),
      s.state && lstm ? Tensor(DType::kF32, {d, s.batch, s.hidden}).random(6) : Tensor(),
      Tensor(),
      Tensor()};
  if (s.lens) c.inputs[6] = Tensor(DType::kI32, {s.batch}).random(7, 0, double(s.steps));
  if (s.peepholes) c.inputs[7] = padded(Tensor(DType::kF32, {d, 3 * p}).random(8));
  if (s.bytes) {
    c.tolerance = {1e-3, 1e-3};  // a state on the edge between two bytes
    c.inputs[1] = byte_panels(s, d * g * p, s.input, 2), c.inputs[3] = Tensor();
    c.inputs[2] = byte_panels(s, d * g * p, s.hidden, 3);
    c.inputs.push_back(byte_channels(s, c.inputs[1], 9));
    c.inputs.push_back(byte_channels(s, c.inputs[2], 12));
  }
  c.outputs = {Tensor(DType::kF32, y_dims), Tensor(DType::kF32, {d, s.batch, s.hidden})};
  if (lstm) c.outputs.push_back(Tensor(DType::kF32, {d, s.batch, s.hidden}));
  return c;
}

}  // namespace

TEST_CASE("recurrent: every kind, direction, batch, layout and optional operand") {
  for (int kind = 0; kind < 3; kind++)
    for (int direction = 0; direction < 3; direction++)
      for (int64_t batch : {1, 3})
        for (int64_t hidden : {1, 7, 16, 33})
          for (int flags = 0; flags < 32; flags++) {
            if (is_left_out()) continue;
            Setup s;
            s.kind = RecurrentKind(kind), s.direction = Direction(direction), s.batch = batch,
            s.hidden = hidden;
            s.bias = flags & 1, s.state = flags & 2, s.lens = flags & 4, s.batch_first = flags & 8;
            if (flags & 16) {
              if (s.kind == RecurrentKind::kLstm)
                s.peepholes = true;
              else if (s.kind == RecurrentKind::kGru)
                s.linear = true;
              else
                continue;
            }
            const RecurrentAttributes t = attributes(s);
            Case c = make_case(s, t);
            c.name = "kind " + std::to_string(kind) + " direction " + std::to_string(direction) +
                     " flags " + std::to_string(flags);
            run_case(c);
          }
}

TEST_CASE("recurrent: clipping, activations, results left out, long and empty sequences") {
  for (int kind = 0; kind < 3; kind++) {
    Setup s;
    s.kind = RecurrentKind(kind), s.direction = Direction::kBidirectional, s.batch = 2,
    s.hidden = 20;
    RecurrentAttributes t = attributes(s);
    t.clip = 0.3f;
    run_case(make_case(s, t));
    t = attributes(s);
    t.activation_count = 2 * (kind == 0 ? 3 : kind == 1 ? 2 : 1);
    for (uint32_t i = 0; i < t.activation_count; i++)
      t.activations[i] = {Activation(1 + i), 0.3f, 0.6f};
    Case c = make_case(s, t);
    c.tolerance = {1e-4, 1e-4};  // gates without bounds amplify
    run_case(c);
    t = attributes(s);
    c = make_case(s, t);
    c.outputs[0] = Tensor();
    run_case(c);
    c = make_case(s, t);
    c.outputs.resize(1);
    run_case(c);
    for (Direction d : {Direction::kForward, Direction::kReverse}) {
      s = {};
      s.kind = RecurrentKind(kind), s.direction = d;
      s.steps = 150, s.hidden = 16;
      t = attributes(s);
      run_case(make_case(s, t));
      s.batch = 3, s.lens = true, s.batch_first = true;
      t = attributes(s);
      run_case(make_case(s, t));
      s.steps = 0, s.lens = false;
      t = attributes(s);
      run_case(make_case(s, t));
      s.batch = 0, s.steps = 4;
      t = attributes(s);
      run_case(make_case(s, t));
    }
    s = {};  // large enough for the team to share a direction
    s.kind = RecurrentKind(kind), s.hidden = 300, s.batch = 4, s.steps = 3;
    t = attributes(s);
    run_case(make_case(s, t));
  }
}

TEST_CASE(
    "recurrent: more steps than a chunk of products, more sequences than a block, a launch a step "
    "in both directions") {
  for (int kind = 0; kind < 3; kind++)
    for (bool large : {false, true}) {
      if (!large && kind != 1) continue;
      Setup s;
      s.kind = RecurrentKind(kind), s.direction = Direction::kBidirectional,
      s.bias = s.state = s.lens = true;
      s.steps = large ? 3 : 130, s.batch = 17, s.hidden = large ? (kind == 2 ? 190 : 112) : 16,
      s.input = large ? 70 : 3;
      s.batch_first = large;
      const RecurrentAttributes t = attributes(s);
      Case c = make_case(s, t);
      c.tolerance = {1e-4, 1e-4};
      run_case(c);
    }
}

TEST_CASE("recurrent: weights of bytes") {
  for (int direction = 0; direction < 3; direction++)
    for (int64_t batch : {1, 3})
      for (int64_t hidden : {1, 7, 16, 33, 96})
        for (int flags = 0; flags < 64; flags++) {
          if (is_left_out()) continue;
          Setup s;
          s.bytes = true, s.direction = Direction(direction), s.batch = batch, s.hidden = hidden;
          s.steps = 5, s.input = flags & 1 ? 6 : 24;
          s.bias = flags & 1, s.state = flags & 2, s.lens = flags & 4, s.batch_first = flags & 8;
          s.peepholes = flags & 16, s.zeros = flags & 32;
          RecurrentAttributes t = attributes(s);
          if (flags & 2) t.clip = 0.75f;
          Case c = make_case(s, t);
          c.name = "bytes, direction " + std::to_string(direction) + " flags " +
                   std::to_string(flags) + " hidden " + std::to_string(hidden);
          run_case(c);
        }
  for (int64_t steps : {0, 1, 150})  // of several chunks
    for (int64_t batch : {1, 5}) {
      Setup s;
      s.bytes = true, s.steps = steps, s.batch = batch, s.hidden = 20, s.lens = steps > 1,
      s.direction = Direction::kBidirectional;
      const RecurrentAttributes t = attributes(s);
      Case c = make_case(s, t);
      c.name = "bytes, steps " + std::to_string(steps);
      run_case(c);
    }
  Setup s;  // several members share a direction
  s.bytes = true, s.hidden = 300, s.batch = 4, s.zeros = true;
  const RecurrentAttributes t = attributes(s);
  run_case(make_case(s, t));
}

TEST_CASE("recurrent: the contract refuses") {
  Setup s;
  const RecurrentAttributes good = attributes(s);
  RecurrentAttributes t = good;
  Case c = make_case(s, t);
  const auto rule = [&] { return refusal(c); };
  t.kind = RecurrentKind(3);
  CHECK(rule() == "recurrent.kind is known");
  t = good, t.direction = Direction(3);
  CHECK(rule() == "recurrent.direction is known");
  t = good, t.hidden = 0;
  CHECK(rule() == "recurrent.hidden is 1 to 2^24");
  t = good, t.hidden = 8;
  CHECK(rule() == "recurrent's weights are [directions*gates*P, K]");
  t = good, t.hidden = 17;
  CHECK(rule() == "recurrent's weights are [directions*gates*P, K]");
  t = good, t.clip = NAN;
  CHECK(rule() == "recurrent.clip is not negative");
  t = good, t.linear_before_reset = true;
  CHECK(rule() == "linear_before_reset belongs to gru");
  t = good, t.activation_count = 2;
  CHECK(rule() == "recurrent has all activations or none");
  t = good, t.activation_count = 3, t.activations[1].kind = Activation::kPrelu;
  CHECK(rule() == "recurrent's activation is known and not prelu");
  t = good, t.batch_first = true;
  CHECK(rule() != "");
  t = good;
  c.inputs[3] = Tensor(DType::kF32, {1, 2, 64});
  CHECK(rule() == "recurrent's bias is [directions, N, gates*P]");
  c = make_case(s, t), c.inputs[4] = Tensor(DType::kF32, {1, 1, 8});
  CHECK(rule() == "recurrent's state is [directions, B, H]");
  c = make_case(s, t), c.inputs[6] = Tensor(DType::kI64, {1});
  CHECK(rule() == "recurrent's operand types");
  c = make_case(s, t), c.inputs[6] = Tensor(DType::kI32, {2});
  CHECK(rule() == "sequence_lens is [B]");
  c = make_case(s, t), c.outputs[0] = Tensor(DType::kF32, {3, 1, 1, 8});
  CHECK(rule() == "recurrent's result dims");
  c = make_case(s, t), c.inputs[0] = Tensor(DType::kF32, {3, 5});
  CHECK(rule() == "recurrent's x is [T,B,I]");
  c = make_case(s, t), c.inputs[7] = Tensor(DType::kF32, {1, 47});
  CHECK(rule() == "recurrent's peepholes are [directions, 3*P]");
  s.bytes = true;
  c = make_case(s, t);
  c.inputs[3] = Tensor(DType::kF32, {1, 1, 64});
  CHECK(rule() == "the biases of bytes are in their channels");
  c = make_case(s, t), c.inputs[9] = Tensor();
  CHECK(rule() == "recurrent's weights of i8 have channels");
  c = make_case(s, t), c.inputs[8] = Tensor(DType::kI32, {2, 64});
  CHECK(rule() == "sums, scales, biases and perhaps zero points of weights are there");
  s.bytes = false, c = make_case(s, t), c.inputs.resize(8);
  c.inputs.push_back(Tensor(DType::kI32, {3, 64}));
  CHECK(rule() == "recurrent's weights of f32 have no channels");
  s.bytes = true, s.kind = RecurrentKind::kGru;
  const RecurrentAttributes gru = attributes(s);
  c = make_case(s, gru);
  CHECK(rule() == "recurrent's weights of i8 belong to lstm");
  s.bytes = false, s.kind = RecurrentKind::kRnn;
  const RecurrentAttributes rnn = attributes(s);
  c = make_case(s, rnn), c.inputs[5] = Tensor(DType::kF32, {1, 1, 7});
  CHECK(rule() == "a cell state belongs to lstm");
  c = make_case(Setup{}, good), c.inputs[6] = Tensor(DType::kI32, {1}).values({4});
  run_failing_case(c, Code::kBadIndexValue);
}
