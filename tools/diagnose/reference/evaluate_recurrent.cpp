// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "tools/diagnose/reference/evaluator.h"

namespace ingot::reference {
namespace {

using graph::Node;

struct Cell {
  std::string kind;  // lstm, gru, rnn
  int64_t directions, gates, hidden, inputs;
  bool batch_first, reverse, apart;
  const Tensor *w, *r, *h0, *c0;
  std::vector<double> input_bias, recurrent_bias;  // [D, G*H] each
};

// w x + b for one gate row, of direction d.
double affine(const Tensor& w, int64_t d, int64_t rows, int64_t row, const double* x, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < n; k++) sum += w.at[size_t((d * rows + row) * n + k)] * x[k];
  return sum;
}

void step(const Cell& cell, int64_t d, const double* x, std::vector<double>& h,
          std::vector<double>& c) {
  int64_t n = cell.hidden, rows = cell.gates * n;
  std::vector<double> from_x, from_h, next(static_cast<size_t>(n), 0.0);
  for (int64_t row = 0; row < rows; row++) {
    from_x.push_back(affine(*cell.w, d, rows, row, x, cell.inputs) +
                     cell.input_bias[size_t(d * rows + row)]);
    from_h.push_back(affine(*cell.r, d, rows, row, h.data(), n) +
                     cell.recurrent_bias[size_t(d * rows + row)]);
  }
  for (int64_t i = 0; i < n; i++) {
    auto gate = [&](int64_t g) { return from_x[size_t(g * n + i)] + from_h[size_t(g * n + i)]; };
    size_t k = size_t(i);
    if (cell.kind == "lstm") {
      c[k] = sigmoid(gate(2)) * c[k] + sigmoid(gate(0)) * std::tanh(gate(3));
      next[k] = sigmoid(gate(1)) * std::tanh(c[k]);
    } else if (cell.kind == "gru") {
      double z = sigmoid(gate(0)), candidate;
      if (cell.apart) {
        candidate = from_x[size_t(2 * n + i)] + sigmoid(gate(1)) * from_h[size_t(2 * n + i)];
      } else {
        std::vector<double> reset;
        for (int64_t j = 0; j < n; j++)
          reset.push_back(sigmoid(from_x[size_t(n + j)] + from_h[size_t(n + j)]) * h[size_t(j)]);
        candidate = from_x[size_t(2 * n + i)] +
                    affine(*cell.r, d, rows, 2 * n + i, reset.data(), n) +
                    cell.recurrent_bias[size_t(d * rows + 2 * n + i)];
      }
      next[k] = (1 - z) * std::tanh(candidate) + z * h[k];
    } else {
      next[k] = std::tanh(gate(0));
    }
  }
  h = next;
}

std::vector<Tensor> sequence(const Cell& cell, const Tensor& x, bool source_states) {
  int64_t time = x.dims[cell.batch_first ? 1 : 0], batch = x.dims[cell.batch_first ? 0 : 1],
          d = cell.directions, n = cell.hidden;
  Tensor y{cell.batch_first ? Dimensions{batch, time, d, n} : Dimensions{time, d, batch, n}, {}};
  Tensor last_h{source_states ? Dimensions{batch, d, n} : Dimensions{d, batch, n}, {}};
  y.at.assign(size_t(y.elements()), 0);
  last_h.at.assign(size_t(last_h.elements()), 0);
  Tensor last_c = last_h;
  for (int64_t k = 0; k < d; k++)
    for (int64_t b = 0; b < batch; b++) {
      size_t state = size_t(source_states ? b * d + k : k * batch + b) * size_t(n);
      std::vector<double> h(size_t(n), 0.0), c(size_t(n), 0.0);
      if (cell.h0)
        h.assign(cell.h0->at.begin() + long(state), cell.h0->at.begin() + long(state) + n);
      if (cell.c0)
        c.assign(cell.c0->at.begin() + long(state), cell.c0->at.begin() + long(state) + n);
      for (int64_t s = 0; s < time; s++) {
        int64_t t = cell.reverse || k == 1 ? time - 1 - s : s;
        step(cell, k,
             &x.at[size_t((cell.batch_first ? b * time + t : t * batch + b) * cell.inputs)], h, c);
        size_t at =
            size_t(cell.batch_first ? (b * time + t) * d + k : (t * d + k) * batch + b) * size_t(n);
        for (int64_t i = 0; i < n; i++) y.at[at + size_t(i)] = h[size_t(i)];
      }
      for (int64_t i = 0; i < n; i++)
        last_h.at[state + size_t(i)] = h[size_t(i)], last_c.at[state + size_t(i)] = c[size_t(i)];
    }
  return {y, last_h, last_c};
}

bool usual_activations(const Node& node) {
  if (!node.has(attr::activations)) return true;
  std::vector<std::string> usual =
      node.op == op::LSTM  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : node.op == op::GRU ? std::vector<std::string>{"Sigmoid", "Tanh"}
                           : std::vector<std::string>{"Tanh"};
  auto names = std::get<std::vector<std::string>>(node.attributes.at(attr::activations));
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] != usual[i % usual.size()]) return false;
  return node.op != op::Recurrent;
}

/// Of each head the whole matrix at once.
std::vector<Tensor> linear_recurrence(Evaluator& e, const Node& node) {
  const Tensor &q = e.in(node, 0), &k = e.in(node, 1), &v = e.in(node, 2), &states = e.in(node, 3),
               &from = e.in(node, 4), &to = e.in(node, 5);
  const int64_t heads = node.integer(attr::heads, 1), key_heads = node.integer(attr::key_heads, 1),
                query_heads = node.integer(attr::query_heads, 1), tokens = v.dims[0],
                keys = k.dims[1] / key_heads, values = v.dims[1] / heads,
                most = std::max(heads, query_heads), row = states.dims.back(),
                rows = row ? states.elements() / row : 0;
  Tensor after = states, y{{tokens, most * values}, {}};
  y.at.assign(size_t(y.elements()), 0);
  for (int64_t t = 0; t < tokens; t++) {
    const int64_t begin = int64_t(from.at[size_t(t)]), end = int64_t(to.at[size_t(t)]);
    if (begin < -1 || begin >= rows || end < 0 || end >= rows)
      throw std::runtime_error("evaluator: a bad row of states");
    const auto row_of = [&](const Tensor& x, int64_t head, int64_t width) {
      return x.at.data() + t * x.dims[1] + head * width;
    };
    for (int64_t h = 0; h < heads; h++) {
      std::vector<double> state(size_t(keys * values), 0);
      if (begin >= 0) {
        const auto at = after.at.begin() + begin * row + h * keys * values;
        state.assign(at, at + keys * values);
      }
      const double* const key = row_of(k, h / (heads / key_heads), keys);
      std::vector<double> added(row_of(v, h, values), row_of(v, h, values) + values);
      if (e.has(node, 6)) {
        const Tensor& decay = e.in(node, 6);
        const bool by_key = decay.dims[1] != heads;
        for (int64_t i = 0; i < keys * values; i++)
          state[size_t(i)] *= row_of(decay, h, by_key ? keys : 1)[by_key ? i / values : 0];
      }
      if (e.has(node, 7)) {
        const Tensor& beta = e.in(node, 7);
        for (int64_t i = 0; i < keys * values; i++)
          added[size_t(i % values)] -= key[i / values] * state[size_t(i)];
        for (double& x : added) x *= row_of(beta, 0, 1)[beta.dims[1] == heads ? h : 0];
      }
      for (int64_t i = 0; i < keys * values; i++)
        state[size_t(i)] += key[i / values] * added[size_t(i % values)];
      std::copy(state.begin(), state.end(), after.at.begin() + end * row + h * keys * values);
      for (int64_t n = h * most / heads; n < (h + 1) * most / heads; n++) {
        const double* const query = row_of(q, n / (most / query_heads), keys);
        for (int64_t i = 0; i < keys * values; i++)
          y.at[size_t(t * y.dims[1] + n * values + i % values)] +=
              query[i / values] * state[size_t(i)];
      }
    }
  }
  return {after, y};
}

}  // namespace

std::vector<Tensor> evaluate_recurrent(Evaluator& e, const Node& node) {
  if (node.op == op::LinearRecurrence) return linear_recurrence(e, node);
  bool core = node.op == op::Recurrent;
  if (!core && !graph::kRecurrences.has(node.op)) return {};
  if (node.inputs.size() > 8) throw std::runtime_error("evaluator: weights of bytes");
  if (!usual_activations(node) || node.number(attr::clip, 0) != 0)
    throw std::runtime_error("evaluator: default cells only");
  Cell cell;
  cell.kind = core                  ? node.text(attr::kind, "lstm")
              : node.op == op::LSTM ? "lstm"
              : node.op == op::GRU  ? "gru"
                                    : "rnn";
  cell.gates = cell.kind == "lstm" ? 4 : cell.kind == "gru" ? 3 : 1;
  cell.w = &e.in(node, 1);
  cell.r = &e.in(node, 2);
  cell.directions = cell.w->dims[0];
  cell.hidden = node.integer(core ? attr::hidden : attr::hidden_size, 0);
  cell.inputs = cell.w->dims[2];
  cell.batch_first = node.integer(core ? attr::batch_first.name : attr::layout.name, 0) != 0;
  cell.reverse = node.text(attr::direction, "forward") == "reverse";
  cell.apart = node.integer(attr::linear_before_reset, 0) != 0;
  size_t rows = size_t(cell.gates * cell.hidden), all = size_t(cell.directions) * rows;
  cell.input_bias.assign(all, 0);
  cell.recurrent_bias.assign(all, 0);
  if (e.has(node, 3)) {
    const Tensor& b = e.in(node, 3);
    size_t kinds = core ? size_t(b.dims[1]) : 2;
    for (size_t d = 0; d < size_t(cell.directions); d++)
      for (size_t i = 0; i < rows; i++) {
        cell.input_bias[d * rows + i] = b.at[d * kinds * rows + i];
        if (kinds == 2) cell.recurrent_bias[d * rows + i] = b.at[(d * kinds + 1) * rows + i];
      }
  }
  size_t h0 = core ? 4 : 5;
  cell.h0 = e.has(node, h0) ? &e.in(node, h0) : nullptr;
  cell.c0 = e.has(node, h0 + 1) ? &e.in(node, h0 + 1) : nullptr;
  return sequence(cell, e.in(node, 0), !core && cell.batch_first);
}

}  // namespace ingot::reference
