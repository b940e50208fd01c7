// SPDX-License-Identifier: Apache-2.0
// kernels/cpu/oracle/linear_recurrence.cpp - LinearRecurrence in double: token by token, head by
// head, column by column. What a token leaves is f32, as the rows are: how tokens are split into
// runs changes nothing.
#include "runtime/op/linear_recurrence.h"

#include "kernels/cpu/oracle/access.h"
#include "kernels/cpu/oracle/oracle.h"

namespace ingot::cpu::oracle {
namespace {

using namespace ingot::linear_recurrence;

/// One token and one column of a head's matrix.
struct Column {
  const OpArguments& a;
  Shape s;
  int64_t token, head, column;

  double number(int operand, int64_t at) const {
    const TensorView& x = a.inputs[operand];
    return double(x.as<const float>()[token * x.row_stride + at]);
  }
  double key(int64_t i) const { return number(kKey, head / (s.heads / s.key_heads) * s.keys + i); }
  float& state(int64_t row, int64_t i) const {
    const TensorView& states = a.outputs[0];
    return states.as<float>()[row * states.row_length() + (head * s.keys + i) * s.values + column];
  }
  double decayed(int64_t from, int64_t i) const {
    const double before = from < 0 ? 0 : double(state(from, i));
    if (!a.optional(kDecay)) return before;
    return before * number(kDecay, s.decay_by_key ? head * s.keys + i : head);
  }
  void change(int64_t from, int64_t to) const {
    double u = number(kValue, head * s.values + column), known = 0;
    for (int64_t i = 0; i < s.keys; i++) known += key(i) * decayed(from, i);
    if (a.optional(kBeta)) u = number(kBeta, s.one_beta ? 0 : head) * (u - known);
    for (int64_t i = 0; i < s.keys; i++) state(to, i) = float(decayed(from, i) + key(i) * u);
  }
  double read(int64_t row, int64_t query_head) const {
    double sum = 0;
    for (int64_t i = 0; i < s.keys; i++)
      sum += number(kQuery, query_head * s.keys + i) * double(state(row, i));
    return sum;
  }
};

}  // namespace

Status linear_recurrence(const OpArguments& a, const Team& team) {
  if (team.id != 0) return {};
  const Shape s = shape_of(a);
  const TensorView &states = a.inputs[kStates], &after = a.outputs[0], &y = a.outputs[1];
  for (int64_t i = 0; i < states.elements(); i++)
    after.as<float>()[i] = states.as<const float>()[i];
  bool good = true;
  for (int64_t t = 0; t < s.tokens; t++) {
    const int64_t from = a.inputs[kFrom].as<const int64_t>()[t],
                  to = a.inputs[kTo].as<const int64_t>()[t];
    const bool is_known = from >= -1 && from < s.rows && to >= 0 && to < s.rows;
    good = good && is_known;
    for (int64_t n = 0; n < s.y_heads; n++)
      for (int64_t c = 0; c < s.values; c++) {
        const int64_t of_head = s.y_heads / s.heads;
        const Column column = {a, s, t, n / of_head, c};
        if (is_known && n % of_head == 0) column.change(from, to);
        y.as<float>()[t * y.row_stride + n * s.values + c] =
            is_known ? float(column.read(to, n / (s.y_heads / s.query_heads))) : 0.0f;
      }
  }
  return good ? Status() : Status(Code::kBadIndexValue);
}

}  // namespace ingot::cpu::oracle
