// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/recurrent.cpp - LSTM, GRU and RNN as ONNX writes them, one gate of one unit at
// a time, in double.
#include "runtime/op/recurrent.h"

#include <cmath>
#include <cstdlib>

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/activation.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

/// One direction of one instruction.
struct Cell {
  const OpArguments& a;
  const RecurrentAttributes& t;
  int direction;
  int64_t hidden, padded, gates;

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

  double input_sum(int64_t gate, int64_t unit, int64_t step, int64_t batch) const {
    const TensorView& x = a.inputs[0];
    const int64_t row = t.batch_first ? batch * x.dims[1] + step : step * x.dims[1] + batch;
    double sum = bias(0, gate, unit);
    for (int64_t k = 0; k < x.dims[2]; k++)
      sum += weight(1, gate, unit, k) * read(x, row * x.dims[2] + k);
    return sum;
  }
  double state_sum(int64_t gate, int64_t unit, const double* h) const {
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

/// The whole sequence of one element of the batch. `room` holds 5 x hidden doubles.
void run_sequence(const Cell& cell, int64_t batch, int64_t length, double* room) {
  const OpArguments& a = cell.a;
  const int64_t n = cell.hidden, steps = a.inputs[0].dims[cell.t.batch_first ? 1 : 0];
  const int64_t batches = a.inputs[0].dims[cell.t.batch_first ? 0 : 1];
  const int64_t directions = cell.t.direction == Direction::kBidirectional ? 2 : 1;
  const bool reverse = cell.t.direction == Direction::kReverse || cell.direction == 1;
  const int64_t state_row = cell.direction * batches + batch;
  double *h = room, *c = room + n, *fresh = room + 2 * n, *reset = room + 3 * n;
  for (int64_t u = 0; u < n; u++) {
    h[u] = a.optional(4) ? read(a.inputs[4], state_row * n + u) : 0;
    c[u] = a.optional(5) ? read(a.inputs[5], state_row * n + u) : 0;
  }
  for (int64_t s = 0; s < steps; s++) {
    const int64_t step = s >= length ? s : reverse ? length - 1 - s : s;
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
  double* room = static_cast<double*>(std::calloc(size_t(t.hidden), 5 * sizeof(double)));
  if (!room) return Code::kOutOfMemory;
  for (int d = 0; d < (t.direction == Direction::kBidirectional ? 2 : 1); d++)
    for (int64_t b = 0; b < batches; b++)
      run_sequence(Cell(a, d), b, a.optional(6) ? read_integer(a.inputs[6], b) : steps, room);
  std::free(room);
  return {};
}

}  // namespace ingot::cpu::oracle
