// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower_cell.cpp - one step of an LSTM, GRU or RNN, spelled out; and the angle of
// a point.
#include "tools/import/aten/operands.h"

namespace ingot::aten {
namespace {

class Cell {
 public:
  explicit Cell(Operands& operands) : o(operands), b(operands.b) {}

  Results lstm() {
    const std::vector<ValueId> hx = o.read_all("hx");
    if (hx.size() != 2)
      o.corrupt("hx has " + std::to_string(hx.size()) + " tensors, expected h and c");
    const ValueId gates =
        // i f g o
        b.emit(op::Add, {product(o.read("input"), "w_ih", "b_ih"), product(hx[0], "w_hh", "b_hh")});
    const ValueId i = part(gates, 0, 4), f = part(gates, 1, 4), g = part(gates, 2, 4),
                  out = part(gates, 3, 4);
    const ValueId kept = b.emit(op::Mul, {b.emit(op::Sigmoid, {f}), hx[1]});
    const ValueId c =
        b.emit(op::Add, {kept, b.emit(op::Mul, {b.emit(op::Sigmoid, {i}), b.emit(op::Tanh, {g})})});
    const ValueId h = b.emit(op::Mul, {b.emit(op::Sigmoid, {out}), b.emit(op::Tanh, {c})});
    return {Value::of(b.own(h)), Value::of(b.own(c))};
  }

  Results gru() {
    const ValueId h = o.read("hx");
    // r z n
    const ValueId x = product(o.read("input"), "w_ih", "b_ih"), y = product(h, "w_hh", "b_hh");
    const auto gate = [&](int64_t i) {
      return b.emit(op::Sigmoid, {b.emit(op::Add, {part(x, i, 3), part(y, i, 3)})});
    };
    const ValueId r = gate(0), z = gate(1);
    const ValueId n =
        b.emit(op::Tanh, {b.emit(op::Add, {part(x, 2, 3), b.emit(op::Mul, {r, part(y, 2, 3)})})});
    return o.result(b.emit(op::Add, {n, b.emit(op::Mul, {z, b.emit(op::Sub, {h, n})})}));
  }

  Results rnn() {
    const ValueId sum = b.emit(
        op::Add, {product(o.read("input"), "w_ih", "b_ih"), product(o.read("hx"), "w_hh", "b_hh")});
    return o.result(b.emit(o.op() == "rnn_relu_cell" ? op::Relu : op::Tanh, {sum}));
  }

 private:
  /// x times the weight's transpose, plus the bias where there is one.
  ValueId product(ValueId x, const char* weight, const char* bias) {
    const ValueId y = b.emit(op::MatMul, {x, b.transpose(o.read(weight), {1, 0})});
    return o.given(bias) ? b.emit(op::Add, {y, o.read(bias)}) : y;
  }
  ValueId part(ValueId gates, int64_t index, int64_t count) {
    const Dim width = b.dims(gates).back();
    if (!width.is_static() || *width.value() % count != 0)
      o.corrupt("its gates have shape " + graph::text(b.dims(gates)));
    const int64_t each = *width.value() / count;
    return b.slice(gates, b.rank(gates) - 1, Dim(index * each), Dim((index + 1) * each));
  }

  Operands& o;
  Builder& b;
};

Results lstm_cell(Operands& o) { return Cell(o).lstm(); }
Results gru_cell(Operands& o) { return Cell(o).gru(); }
Results rnn_cell(Operands& o) { return Cell(o).rnn(); }

}  // namespace

void add_cells(Table& table) {
  const std::string weights = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None";
  table.add("lstm_cell", "Tensor input, Tensor[] hx, " + weights, lstm_cell);
  table.add("gru_cell", "Tensor input, Tensor hx, " + weights, gru_cell);
  table.add_all("rnn_tanh_cell rnn_relu_cell", "Tensor input, Tensor hx, " + weights, rnn_cell);
}

}  // namespace ingot::aten
