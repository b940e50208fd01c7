// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/recurrent.cpp - LSTM, GRU and RNN as ONNX writes them, one gate of one unit at
// a time, in double.
#include "runtime/op/recurrent.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/activation.h"
#include "kernels/cpu/oracle/dynamic_range.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

/// One direction of one instruction.
struct Cell {
  const OpArguments& a;
  const RecurrentAttributes& t;
  int direction;
  int64_t hidden, padded, gates;
  const double* bytes = nullptr;  // of x, where weights are bytes
  GroupNumbers of_x, of_h;

  Cell(const OpArguments& arguments, int d)
      : a(arguments),
        t(a.as<RecurrentAttributes>()),
        direction(d),
        hidden(t.hidden),
        padded((hidden + 15) / 16 * 16),
        gates(recurrent_gates(t.kind)) {}

  double weight(int operand, int64_t gate, int64_t unit, int64_t k) const {
    const TensorView& w = a.inputs[operand];
    const int64_t row = (direction * gates + gate) * padded + unit;
    if (w.packing == Packing::kDense) return read(w, row * w.row_stride + k);
    if (w.packing == Packing::kPanels16x4)
      return read(w, ((row / 16 * ((w.dims[1] + 3) / 4) + k / 4) * 16 + row % 16) * 4 + k % 4);
    return read(w, (row / 16 * w.dims[1] + k) * 16 + row % 16);
  }
  double bias(int which, int64_t gate, int64_t unit) const {
    const TensorView* b = a.optional(3);
    if (!b || which >= b->dims[1]) return 0;
    return read(*b, (direction * b->dims[1] + which) * gates * padded + gate * padded + unit);
  }
  double peephole(int gate, int64_t unit) const {
    const TensorView* p = a.optional(7);
    return p ? read(*p, (direction * 3 + gate) * padded + unit) : 0;
  }
  /// Number n of this direction's functions f, g, h.
  double apply(int n, double x) const {
    const int per_direction = t.kind == RecurrentKind::kLstm  ? 3
                              : t.kind == RecurrentKind::kGru ? 2
                                                              : 1;
    if (t.activation_count != 0) return activate(t.activations[direction * per_direction + n], x);
    const bool squash = n == 0 && t.kind != RecurrentKind::kRnn;
    return activate({squash ? Activation::kSigmoid : Activation::kTanh, 0, 0}, x);
  }
  double limit(double x) const {
    return t.clip > 0 ? std::fmin(std::fmax(x, -double(t.clip)), double(t.clip)) : x;
  }

  int32_t channel(int operand, int64_t row, int64_t gate, int64_t unit) const {
    const TensorView& all = a.inputs[operand + 7];
    return all.as<const int32_t>()[row * all.dims[1] + (direction * gates + gate) * padded + unit];
  }
  float channel_float(int operand, int64_t row, int64_t gate, int64_t unit) const {
    const int32_t bits = channel(operand, row, gate, unit);
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  /// Of n bytes, as to_float of runtime/op/requantize.h.
  double byte_sum(int operand, int64_t gate, int64_t unit, const double* from, int64_t n,
                  const GroupNumbers& numbers) const {
    const bool has_zeros = a.inputs[operand + 7].dims[0] == 4;
    const double zero = has_zeros ? double(channel(operand, 3, gate, unit)) : 0.0;
    double sum = -double(numbers.zero) * channel(operand, 0, gate, unit);  // below 2^53
    for (int64_t k = 0; k < n; k++)
      sum += from[k] * (weight(operand, gate, unit, k) - limited(zero, -255, 255));
    const float factor = numbers.scale * channel_float(operand, 1, gate, unit),
                product = float(int32_t(uint32_t(uint64_t(int64_t(sum))))) * factor;
    return double(product + channel_float(operand, 2, gate, unit));
  }

  double input_sum(int64_t gate, int64_t unit, int64_t step, int64_t batch) const {
    const TensorView& x = a.inputs[0];
    const int64_t row = t.batch_first ? batch * x.dims[1] + step : step * x.dims[1] + batch;
    if (bytes) return byte_sum(1, gate, unit, bytes + row * x.dims[2], x.dims[2], of_x);
    double sum = bias(0, gate, unit);
    for (int64_t k = 0; k < x.dims[2]; k++)
      sum += weight(1, gate, unit, k) * read(x, row * x.dims[2] + k);
    return sum;
  }
  /// `h`: where weights are bytes, bytes.
  double state_sum(int64_t gate, int64_t unit, const double* h) const {
    if (bytes) return byte_sum(2, gate, unit, h, hidden, of_h);
    double sum = bias(1, gate, unit);
    for (int64_t k = 0; k < hidden; k++) sum += weight(2, gate, unit, k) * h[k];
    return sum;
  }
};

double flush(double x) { return std::fabs(x) < 1.1754943508222875e-38 ? 0 : x; }

/// h, c (in and out), fresh (room for the new h), reset (room for r * h): `hidden` each.
void lstm_step(const Cell& cell, int64_t step, int64_t batch, double* h, double* c, double* fresh) {
  for (int64_t u = 0; u < cell.hidden; u++) {
    double gate[4];
    for (int g = 0; g < 4; g++)
      gate[g] = cell.input_sum(g, u, step, batch) + cell.state_sum(g, u, h);
    const double i = cell.apply(0, cell.limit(gate[0] + cell.peephole(0, u) * c[u]));
    const double f = cell.apply(0, cell.limit(gate[2] + cell.peephole(2, u) * c[u]));
    const double next = flush(f * c[u] + i * cell.apply(1, cell.limit(gate[3])));
    const double o = cell.apply(0, cell.limit(gate[1] + cell.peephole(1, u) * next));
    c[u] = next;
    fresh[u] = flush(o * cell.apply(2, next));
  }
}

void gru_step(const Cell& cell, int64_t step, int64_t batch, const double* h, double* reset,
              double* fresh) {
  for (int64_t u = 0; u < cell.hidden; u++)
    reset[u] =
        cell.apply(0, cell.limit(cell.input_sum(1, u, step, batch) + cell.state_sum(1, u, h)));
  double* scaled = reset + cell.hidden;
  for (int64_t u = 0; u < cell.hidden; u++) scaled[u] = reset[u] * h[u];
  for (int64_t u = 0; u < cell.hidden; u++) {
    const double z =
        cell.apply(0, cell.limit(cell.input_sum(0, u, step, batch) + cell.state_sum(0, u, h)));
    const double from_state = cell.t.linear_before_reset ? reset[u] * cell.state_sum(2, u, h)
                                                         : cell.state_sum(2, u, scaled);
    const double g = cell.apply(1, cell.limit(cell.input_sum(2, u, step, batch) + from_state));
    fresh[u] = flush((1 - z) * g + z * h[u]);
  }
}

void rnn_step(const Cell& cell, int64_t step, int64_t batch, const double* h, double* fresh) {
  for (int64_t u = 0; u < cell.hidden; u++)
    fresh[u] = flush(
        cell.apply(0, cell.limit(cell.input_sum(0, u, step, batch) + cell.state_sum(0, u, h))));
}

void store_state(const OpArguments& a, int output, int64_t row, const double* state,
                 int64_t hidden) {
  if (output >= a.output_count || !a.outputs[output].present()) return;
  for (int64_t u = 0; u < hidden; u++) write(a.outputs[output], row * hidden + u, state[u]);
}

/// Where element `batch` is at its step s, of `length`.
int64_t time_of(const Cell& cell, int64_t s, int64_t length) {
  const bool reverse = cell.t.direction == Direction::kReverse || cell.direction == 1;
  return s >= length ? s : reverse ? length - 1 - s : s;
}

/// The whole sequence of one element of the batch. `room` holds 5 x hidden doubles.
void run_sequence(const Cell& cell, int64_t batch, int64_t length, double* room) {
  const OpArguments& a = cell.a;
  const int64_t n = cell.hidden, steps = a.inputs[0].dims[cell.t.batch_first ? 1 : 0];
  const int64_t batches = a.inputs[0].dims[cell.t.batch_first ? 0 : 1];
  const int64_t directions = cell.t.direction == Direction::kBidirectional ? 2 : 1;
  const int64_t state_row = cell.direction * batches + batch;
  double *h = room, *c = room + n, *fresh = room + 2 * n, *reset = room + 3 * n;
  for (int64_t u = 0; u < n; u++) {
    h[u] = a.optional(4) ? read(a.inputs[4], state_row * n + u) : 0;
    c[u] = a.optional(5) ? read(a.inputs[5], state_row * n + u) : 0;
  }
  for (int64_t s = 0; s < steps; s++) {
    const int64_t step = time_of(cell, s, length);
    if (s < length) {
      switch (cell.t.kind) {
        case RecurrentKind::kLstm: lstm_step(cell, step, batch, h, c, fresh); break;
        case RecurrentKind::kGru: gru_step(cell, step, batch, h, reset, fresh); break;
        case RecurrentKind::kRnn: rnn_step(cell, step, batch, h, fresh); break;
      }
      for (int64_t u = 0; u < n; u++) h[u] = fresh[u];
    } else {
      for (int64_t u = 0; u < n; u++) fresh[u] = 0;  // past the end of this sequence
    }
    const int64_t row = cell.t.batch_first ? (batch * steps + step) * directions + cell.direction
                                           : (step * directions + cell.direction) * batches + batch;
    store_state(a, 0, row, fresh, n);
  }
  store_state(a, 1, state_row, h, n);
  store_state(a, 2, state_row, c, n);
}

/// One direction of weights of bytes. `bytes` holds x, `room` (3 B + 1) x hidden doubles.
void run_bytes(Cell cell, double* bytes, double* room) {
  const OpArguments& a = cell.a;
  const TensorView& x = a.inputs[0];
  const bool batch_first = cell.t.batch_first;
  const int64_t n = cell.hidden, steps = x.dims[batch_first ? 1 : 0],
                batches = x.dims[batch_first ? 0 : 1];
  const auto length_of = [&](int64_t b) {
    return a.optional(6) ? read_integer(a.inputs[6], b) : steps;
  };
  int64_t longest = 0;
  for (int64_t b = 0; b < batches; b++) longest = length_of(b) > longest ? length_of(b) : longest;
  const auto time = [&](int64_t i) {
    return batch_first ? i / x.dims[2] % steps : i / x.dims[2] / batches;
  };
  Group group;
  for (int64_t i = 0; i < x.elements(); i++)
    if (time(i) < longest) group.add(x.as<const float>()[i]);
  cell.of_x = numbers_of(DynamicRange::kFull, group);
  for (int64_t i = 0; i < x.elements(); i++)
    bytes[i] = byte_of(DynamicRange::kFull, group, cell.of_x, x.as<const float>()[i]);
  cell.bytes = bytes;

  double *h = room, *c = h + batches * n, *h_bytes = c + batches * n,
         *fresh = h_bytes + batches * n;
  for (int64_t i = 0; i < batches * n; i++) {
    h[i] = a.optional(4) ? read(a.inputs[4], cell.direction * batches * n + i) : 0;
    c[i] = a.optional(5) ? read(a.inputs[5], cell.direction * batches * n + i) : 0;
  }
  const int64_t directions = cell.t.direction == Direction::kBidirectional ? 2 : 1;
  for (int64_t s = 0; s < steps; s++) {
    Group state;
    for (int64_t i = 0; i < batches * n; i++)
      if (s <= length_of(i / n)) state.add(float(h[i]));
    cell.of_h = numbers_of(DynamicRange::kFull, state);
    for (int64_t i = 0; i < batches * n; i++)
      h_bytes[i] = byte_of(DynamicRange::kFull, state, cell.of_h, float(h[i]));
    for (int64_t b = 0; b < batches; b++) {
      const int64_t step = time_of(cell, s, length_of(b));
      for (int64_t u = 0; u < n; u++) fresh[u] = 0;
      if (s < length_of(b)) {
        lstm_step(cell, step, b, h_bytes + b * n, c + b * n, fresh);
        for (int64_t u = 0; u < n; u++) h[b * n + u] = fresh[u];
      }
      store_state(a, 0,
                  batch_first ? (b * steps + step) * directions + cell.direction
                              : (step * directions + cell.direction) * batches + b,
                  fresh, n);
    }
  }
  for (int64_t b = 0; b < batches; b++) {
    store_state(a, 1, cell.direction * batches + b, h + b * n, n);
    store_state(a, 2, cell.direction * batches + b, c + b * n, n);
  }
}

}  // namespace

Status recurrent(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  const int64_t steps = a.inputs[0].dims[t.batch_first ? 1 : 0],
                batches = a.inputs[0].dims[t.batch_first ? 0 : 1];
  if (const TensorView* lens = a.optional(6))
    for (int64_t b = 0; b < batches; b++)
      if (read_integer(*lens, b) < 0 || read_integer(*lens, b) > steps) return Code::kBadIndexValue;
  // The C library's: a program in C that links the kernels need not link that of C++.
  const bool of_bytes = recurrent_of_bytes(a);
  double* room =
      static_cast<double*>(std::calloc(size_t(t.hidden), size_t(3 * batches + 5) * sizeof(double)));
  double* bytes =
      of_bytes
          ? static_cast<double*>(std::calloc(size_t(a.inputs[0].elements()) + 1, sizeof(double)))
          : nullptr;
  const bool has_room = room && (bytes || !of_bytes);
  for (int d = 0; has_room && d < (t.direction == Direction::kBidirectional ? 2 : 1); d++) {
    if (of_bytes) run_bytes(Cell(a, d), bytes, room);
    for (int64_t b = 0; b < batches && !of_bytes; b++)
      run_sequence(Cell(a, d), b, a.optional(6) ? read_integer(a.inputs[6], b) : steps, room);
  }
  std::free(bytes);
  std::free(room);
  return has_room ? Status() : Status(Code::kOutOfMemory);
}

}  // namespace ingot::cpu::oracle
