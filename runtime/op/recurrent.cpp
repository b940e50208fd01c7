// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/recurrent.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/quantized_blocks.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

struct RecurrentExtents {
  int64_t steps, batch, input, hidden, padded, directions, gates;
};

RecurrentExtents extents(const OpArguments& a) {
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  const TensorType& x = a.inputs[0];
  return {x.dims[t.batch_first ? 1 : 0],
          x.dims[t.batch_first ? 0 : 1],
          x.dims[2],
          t.hidden,
          round_up(t.hidden, kPanel),
          t.direction == Direction::kBidirectional ? 2 : 1,
          recurrent_gates(t.kind)};
}

bool check_dims(const TensorType& t, int operand, const int64_t* want, int rank, const char* rule,
                Violation* v) {
  if (t.rank != rank) return rules::refuse(v, rule, operand, rank, t.rank);
  for (int i = 0; i < rank; i++)
    if (t.dims[i] != want[i]) return rules::refuse(v, rule, operand, want[i], t.dims[i]);
  return true;
}

bool check_attributes(const RecurrentAttributes& t, Violation* v) {
  if (uint8_t(t.kind) > uint8_t(RecurrentKind::kRnn))
    return rules::refuse(v, "recurrent.kind is known", Violation::kAttribute, 2, int64_t(t.kind));
  if (uint8_t(t.direction) > uint8_t(Direction::kBidirectional))
    return rules::refuse(v, "recurrent.direction is known", Violation::kAttribute, 2,
                         int64_t(t.direction));
  if (t.hidden == 0 || t.hidden > 1u << 24)
    return rules::refuse(v, "recurrent.hidden is 1 to 2^24", Violation::kAttribute, 1 << 24,
                         t.hidden);
  if (!(t.clip >= 0))
    return rules::refuse(v, "recurrent.clip is not negative", Violation::kAttribute);
  if (t.linear_before_reset && t.kind != RecurrentKind::kGru)
    return rules::refuse(v, "linear_before_reset belongs to gru", Violation::kAttribute, 1,
                         int64_t(t.kind));
  const uint32_t per_direction = t.kind == RecurrentKind::kLstm  ? 3
                                 : t.kind == RecurrentKind::kGru ? 2
                                                                 : 1;
  const uint32_t want = per_direction * (t.direction == Direction::kBidirectional ? 2 : 1);
  if (t.activation_count != 0 && t.activation_count != want)
    return rules::refuse(v, "recurrent has all activations or none", Violation::kAttribute, want,
                         t.activation_count);
  for (uint32_t i = 0; i < t.activation_count; i++)
    if (uint8_t(t.activations[i].kind) >= uint8_t(Activation::kPrelu))
      return rules::refuse(v, "recurrent's activation is known and not prelu",
                           Violation::kAttribute, 14, int64_t(t.activations[i].kind));
  return true;
}

/// Operands that come with weights of bytes, or do not.
bool check_byte_operands(const OpArguments& a, const RecurrentExtents& e, Violation* v) {
  if (!recurrent_of_bytes(a)) {
    for (int i = 8; i <= 9; i++)
      if (a.optional(i)) return rules::refuse(v, "recurrent's weights of f32 have no channels", i);
    return true;
  }
  if (a.as<RecurrentAttributes>().kind != RecurrentKind::kLstm)
    return rules::refuse(v, "recurrent's weights of i8 belong to lstm", 1);
  if (a.optional(3)) return rules::refuse(v, "the biases of bytes are in their channels", 3);
  for (int i = 1; i <= 2; i++) {
    const int channels = i + 7;
    if (!quantized::check_sum(i == 1 ? e.input : e.hidden, i, v)) return false;
    if (!a.optional(channels))
      return rules::refuse(v, "recurrent's weights of i8 have channels", channels);
    if (!quantized::check_channels(a.inputs[channels], channels, RequantMode::kToFloat,
                                   e.directions * e.gates * e.padded, v))
      return false;
  }
  return true;
}

bool check_weights(const OpArguments& a, const RecurrentExtents& e, Violation* v) {
  const int64_t rows = e.directions * e.gates * e.padded;
  const int64_t w_dims[2] = {rows, e.input}, r_dims[2] = {rows, e.hidden};
  const Packing panels = recurrent_of_bytes(a) ? Packing::kPanels16x4 : Packing::kPanels16;
  for (int i = 1; i <= 2; i++) {
    if (a.inputs[i].packing != panels && a.inputs[i].packing != Packing::kDense)
      return rules::refuse(v, "recurrent's weights are panels16, of bytes panels16x4", i,
                           int64_t(panels), int64_t(a.inputs[i].packing));
    if (!check_dims(a.inputs[i], i, i == 1 ? w_dims : r_dims, 2,
                    "recurrent's weights are [directions*gates*P, K]", v))
      return false;
  }
  if (!check_byte_operands(a, e, v)) return false;
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  const int64_t bias_dims[3] = {e.directions, t.linear_before_reset ? 2 : 1, e.gates * e.padded};
  if (const TensorView* bias = a.optional(3))
    if (!check_dims(*bias, 3, bias_dims, 3, "recurrent's bias is [directions, N, gates*P]", v))
      return false;
  const int64_t peephole_dims[2] = {e.directions, 3 * e.padded};
  if (const TensorView* p = a.optional(7)) {
    if (t.kind != RecurrentKind::kLstm) return rules::refuse(v, "peepholes belong to lstm", 7);
    if (!check_dims(*p, 7, peephole_dims, 2, "recurrent's peepholes are [directions, 3*P]", v))
      return false;
  }
  return true;
}

/// Of a thread: rows of bytes, `more` than those of a chunk, or one of each sequence's state.
bool byte_scratch(const OpArguments& a, int64_t more, uint64_t* out) {
  *out = 0;
  if (!recurrent_of_bytes(a)) return true;
  const RecurrentExtents e = extents(a);
  int64_t rows, inputs, states;
  if (!checked_mul(recurrent_chunk_steps(e.steps, e.batch), e.batch, &rows) ||
      !checked_add(rows, more, &rows) || !checked_mul(rows, round_up(e.input, 4), &inputs) ||
      !checked_mul(e.batch, round_up(e.hidden, 4), &states) || inputs > int64_t{1} << 59 ||
      states > int64_t{1} << 59)
    return false;
  *out = recurrent_byte_rows() + uint64_t(inputs > states ? inputs : states) +
         uint64_t(quantized::kSlack);
  return true;
}

bool check_recurrent(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kRecurrentContract, {0x7u, 0u, 0x6u}, v)) return false;
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  if (!check_attributes(t, v)) return false;
  if (a.inputs[0].rank != 3)
    return rules::refuse(v, "recurrent's x is [T,B,I]", 0, 3, a.inputs[0].rank);
  for (int i = 0; i < a.input_count; i++) {
    const bool is_byte = recurrent_of_bytes(a) && (i == 1 || i == 2);
    const DType want = is_byte ? DType::kI8 : i == 6 || i >= 8 ? DType::kI32 : DType::kF32;
    if (a.inputs[i].present() && a.inputs[i].dtype != want)
      return rules::refuse(v, "recurrent's operand types", i, int64_t(want),
                           int64_t(a.inputs[i].dtype));
  }
  const RecurrentExtents e = extents(a);
  if (!check_weights(a, e, v)) return false;
  const int64_t state_dims[3] = {e.directions, e.batch, e.hidden}, lens_dims[1] = {e.batch};
  const int64_t y_dims[2][4] = {{e.steps, e.directions, e.batch, e.hidden},
                                {e.batch, e.steps, e.directions, e.hidden}};
  for (int i = 4; i <= 5; i++)
    if (const TensorView* s = a.optional(i))
      if (!check_dims(*s, i, state_dims, 3, "recurrent's state is [directions, B, H]", v))
        return false;
  if (a.optional(5) && t.kind != RecurrentKind::kLstm)
    return rules::refuse(v, "a cell state belongs to lstm", 5);
  if (const TensorView* lens = a.optional(6))
    if (!check_dims(*lens, 6, lens_dims, 1, "sequence_lens is [B]", v)) return false;
  for (int i = 0; i < a.output_count; i++) {
    if (!a.outputs[i].present()) continue;
    if (a.outputs[i].dtype != DType::kF32)
      return rules::refuse(v, "recurrent gives f32", rules::output(i), 1,
                           int64_t(a.outputs[i].dtype));
    if (i == 2 && t.kind != RecurrentKind::kLstm)
      return rules::refuse(v, "a cell state belongs to lstm", rules::output(2));
    if (!check_dims(a.outputs[i], rules::output(i), i == 0 ? y_dims[t.batch_first] : state_dims,
                    i == 0 ? 4 : 3, "recurrent's result dims", v))
      return false;
  }
  uint64_t floats, bytes;
  if (!recurrent_shared_floats(a, &floats) || !byte_scratch(a, 0, &bytes))
    return rules::refuse(v, "recurrent's scratch is below 2^60 bytes", Violation::kAttribute);
  return true;
}

ScratchNeed recurrent_scratch(const OpArguments& a, int) {
  uint64_t floats = 0, bytes = 0;
  return recurrent_shared_floats(a, &floats) && byte_scratch(a, 0, &bytes)
             ? ScratchNeed{bytes, floats * sizeof(float)}
             : ScratchNeed{};
}

/// A smaller batch has longer chunks, of up to kRecurrentChunkRows - 1 rows more than the batch.
ScratchNeed recurrent_scratch_bound(const OpArguments& a, int threads) {
  const RecurrentExtents e = extents(a);
  const ScratchNeed need = recurrent_scratch(a, threads);
  int64_t floats;
  uint64_t bytes;
  if (!checked_mul(kRecurrentChunkRows * e.gates * e.directions, e.padded, &floats) ||
      floats > int64_t{1} << 57 || !byte_scratch(a, kRecurrentChunkRows, &bytes))
    return need;
  return {bytes, need.shared_bytes + uint64_t(floats) * sizeof(float)};
}

}  // namespace

bool recurrent_of_bytes(const OpArguments& a) { return a.inputs[1].dtype == DType::kI8; }

uint64_t recurrent_byte_rows() {
  return uint64_t(round_up(quantized::kLinearRows * quantized::kLinearRowBytes, 64));
}

int64_t recurrent_chunk_steps(int64_t steps, int64_t batch) {
  const int64_t chunk =
      batch >= kRecurrentChunkRows ? 1 : ceil_div(kRecurrentChunkRows, batch > 0 ? batch : 1);
  return steps < chunk ? steps : chunk;
}

bool recurrent_shared_floats(const OpArguments& a, uint64_t* out) {
  const RecurrentExtents e = extents(a);
  // By direction: products of the inputs of a chunk, of the state, two copies of h, one of c, one
  // of r * h.
  int64_t rows, floats;
  if (!checked_mul(recurrent_chunk_steps(e.steps, e.batch), e.batch, &rows) ||
      !checked_add(rows, e.batch, &rows))
    return false;
  if (!checked_mul(rows, e.gates * e.padded, &floats)) return false;
  int64_t state;
  if (!checked_mul(e.batch, 4 * e.padded, &state) || !checked_add(floats, state, &floats))
    return false;
  if (!checked_mul(floats, e.directions, &floats) || floats > int64_t{1} << 57) return false;
  *out = uint64_t(floats);
  return true;
}

const OpContract kRecurrentContract = {OpCode::kRecurrent,
                                       1,
                                       3,
                                       10,
                                       1,
                                       3,
                                       check_recurrent,
                                       nullptr,
                                       recurrent_scratch,
                                       0,
                                       0,
                                       rules::for_rebinding(recurrent_scratch_bound)};

}  // namespace ingot
