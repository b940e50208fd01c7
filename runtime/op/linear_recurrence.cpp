// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/linear_recurrence.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

using namespace linear_recurrence;
using rules::output;
using rules::refuse;

bool check_heads(const LinearRecurrenceAttributes& t, Violation* v) {
  const uint32_t all[] = {t.heads, t.key_heads, t.query_heads};
  for (const uint32_t heads : all)
    if (heads < 1 || heads > kMaxRecurrenceHeads)
      return refuse(v, "linear_recurrence has 1 to 65536 heads", Violation::kAttribute,
                    kMaxRecurrenceHeads, heads);
  if (t.heads % t.key_heads != 0)
    return refuse(v, "heads share keys", Violation::kAttribute, t.key_heads, t.heads);
  if (t.heads % t.query_heads != 0 && t.query_heads % t.heads != 0)
    return refuse(v, "heads share queries, or queries a head", Violation::kAttribute, t.query_heads,
                  t.heads);
  return true;
}

/// [T, columns] of f32.
bool check_rows(const TensorType& x, int operand, int64_t tokens, Violation* v) {
  if (x.dtype != DType::kF32)
    return refuse(v, "linear_recurrence takes f32", operand, int64_t(DType::kF32),
                  int64_t(x.dtype));
  if (x.rank != 2) return refuse(v, "linear_recurrence takes a row a token", operand, 2, x.rank);
  if (x.dims[0] != tokens)
    return refuse(v, "linear_recurrence takes a row a token", operand, tokens, x.dims[0]);
  return true;
}

/// `count` times what `out` then says.
bool width_of(const TensorType& x, int operand, uint32_t count, int64_t* out, Violation* v) {
  *out = x.dims[1] / int64_t{count};
  return x.dims[1] % int64_t{count} == 0 ||
         refuse(v, "heads of a row have one width", operand, count, x.dims[1]);
}

bool check_states(const OpArguments& a, int64_t keys, int64_t values, Violation* v) {
  const TensorType &states = a.inputs[kStates], &after = a.outputs[0];
  if (states.dtype != DType::kF32)
    return refuse(v, "states are f32", kStates, int64_t(DType::kF32), int64_t(states.dtype));
  int64_t row = 0;
  const bool fits = checked_mul(keys, values, &row) &&
                    checked_mul(row, int64_t{a.as<LinearRecurrenceAttributes>().heads}, &row);
  if (!fits || states.rank < 2 || states.row_length() != row)
    return refuse(v, "a row of states has keys times values of each head", kStates, row,
                  states.rank ? states.row_length() : 0);
  return rules::check_same_dtype(states, after, output(0), v) &&
         rules::check_same_dims(states, after, output(0), v);
}

bool check_index(const TensorType& t, int operand, int64_t tokens, Violation* v) {
  if (t.dtype != DType::kI64)
    return refuse(v, "rows of states are i64", operand, int64_t(DType::kI64), int64_t(t.dtype));
  return (t.rank == 1 && t.dims[0] == tokens) ||
         refuse(v, "rows of states are a number a token", operand, tokens,
                t.rank == 1 ? int64_t{t.dims[0]} : t.rank);
}

bool check_linear_recurrence(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kLinearRecurrenceContract, {0x3fu, 3, 0}, v)) return false;
  const LinearRecurrenceAttributes& t = a.as<LinearRecurrenceAttributes>();
  if (!check_heads(t, v)) return false;
  const TensorType &q = a.inputs[kQuery], &k = a.inputs[kKey], &y = a.outputs[1];
  const int64_t tokens = q.rank == 2 ? int64_t{q.dims[0]} : 0;
  constexpr int kRows[] = {kQuery, kKey, kValue, kDecay, kBeta};
  for (const int i : kRows)
    if (const TensorView* const x = a.optional(i))
      if (!check_rows(*x, i, tokens, v)) return false;
  if (!check_rows(y, output(1), tokens, v)) return false;
  int64_t of_q = 0, keys = 0, values = 0, of_y = 0;
  const uint32_t y_heads = t.heads > t.query_heads ? t.heads : t.query_heads;
  if (!width_of(q, kQuery, t.query_heads, &of_q, v) || !width_of(k, kKey, t.key_heads, &keys, v) ||
      !width_of(a.inputs[kValue], kValue, t.heads, &values, v) ||
      !width_of(y, output(1), y_heads, &of_y, v))
    return false;
  if (of_q != keys) return refuse(v, "queries are as wide as keys", kQuery, keys, of_q);
  if (of_y != values) return refuse(v, "y is as wide as values", output(1), values, of_y);
  if (!check_states(a, keys, values, v) || !check_index(a.inputs[kFrom], kFrom, tokens, v) ||
      !check_index(a.inputs[kTo], kTo, tokens, v))
    return false;
  if (const TensorView* const decay = a.optional(kDecay))
    if (decay->dims[1] != int64_t{t.heads} &&
        (decay->dims[1] / int64_t{t.heads} != keys || decay->dims[1] % int64_t{t.heads} != 0))
      return refuse(v, "decay is of each head, or of each of its keys", kDecay, t.heads,
                    decay->dims[1]);
  if (const TensorView* const beta = a.optional(kBeta))
    if (beta->dims[1] != int64_t{t.heads} && beta->dims[1] != 1)
      return refuse(v, "beta is of each head, or one", kBeta, t.heads, beta->dims[1]);
  return true;
}

uint32_t linear_recurrence_in_place(const OpArguments& a) {
  return rules::overlays(a.inputs[kStates], a.outputs[0]) ? 1u << kStates : 0;
}

}  // namespace

linear_recurrence::Shape linear_recurrence::shape_of(const OpArguments& a) {
  const LinearRecurrenceAttributes& t = a.as<LinearRecurrenceAttributes>();
  Shape s = {};
  s.tokens = a.inputs[kQuery].dims[0], s.rows = a.inputs[kStates].rows();
  s.heads = t.heads, s.key_heads = t.key_heads, s.query_heads = t.query_heads;
  s.y_heads = t.heads > t.query_heads ? t.heads : t.query_heads;
  s.keys = a.inputs[kKey].dims[1] / s.key_heads, s.values = a.inputs[kValue].dims[1] / s.heads;
  const TensorView *const decay = a.optional(kDecay), *const beta = a.optional(kBeta);
  s.decay_by_key = decay && decay->dims[1] != s.heads;
  s.one_beta = beta && beta->dims[1] != s.heads;
  return s;
}

linear_recurrence::Plan linear_recurrence::plan_of(const OpArguments& a) {
  const auto rows = [&](int i) {
    const TensorView* const x = a.optional(i);
    return x ? TokenRows{x->as<const float>(), x->row_stride} : TokenRows{};
  };
  return {shape_of(a),
          rows(kQuery),
          rows(kKey),
          rows(kValue),
          rows(kDecay),
          rows(kBeta),
          a.inputs[kFrom].as<const int64_t>(),
          a.inputs[kTo].as<const int64_t>(),
          a.inputs[kStates].as<const float>(),
          a.outputs[0].as<float>(),
          a.outputs[1].as<float>(),
          a.outputs[1].row_stride};
}

const OpContract kLinearRecurrenceContract = {
    OpCode::kLinearRecurrence,  1,       6,     8,   2, 2, check_linear_recurrence,
    linear_recurrence_in_place, nullptr, 0xc7u, 0x2u};

}  // namespace ingot
