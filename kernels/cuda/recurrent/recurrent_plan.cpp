// SPDX-License-Identifier: Apache-2.0
// kernels/cuda/recurrent/recurrent_plan.cpp - chunks of steps: products of the inputs in one
// launch, then the steps, one launch each or, where the weights are small or the launches would be
// too many, all in one.
#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/recurrent/recurrent_params.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kChunkRows = 2048;         // rows of x whose products are made at once
constexpr int64_t kSmallWeights = 32 << 10;  // elements: one block reads them all at every step
constexpr int64_t kMaxSteps = 4096;          // launches

struct Extents {
  int64_t steps, batch, input, hidden, padded, gates, directions, chunk;
};
Extents extents_of(const OpArguments& a) {
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  const TensorType& x = a.inputs[0];
  Extents e = {};
  e.steps = x.dims[t.batch_first ? 1 : 0];
  e.batch = x.dims[t.batch_first ? 0 : 1];
  e.input = x.dims[2];
  e.hidden = t.hidden;
  e.padded = (e.hidden + 15) / 16 * 16;
  e.gates = recurrent_gates(t.kind);
  e.directions = t.direction == Direction::kBidirectional ? 2 : 1;
  const int64_t fit = e.batch >= kChunkRows || e.batch == 0 ? 1 : kChunkRows / e.batch;
  e.chunk = e.steps < fit ? e.steps : fit;
  return e;
}
/// Floats of: products of the inputs, of the state; h twice, c, r * h.
struct Room {
  int64_t products, states, each;
};
Room room_of(const Extents& e) {
  const int64_t rows = e.directions * e.batch;
  return {rows * e.chunk * e.gates * e.padded, rows * e.gates * e.padded, rows * e.padded};
}

/// Panels of f32 alone: the oracle's dense weights are not for kernels, bytes are for the CPU.
bool supports_recurrent(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  return a.inputs[1].packing == Packing::kPanels16 && a.inputs[2].packing == Packing::kPanels16;
}
uint64_t recurrent_scratch(const OpArguments& a, const GpuTraits&, GpuPrecision) {
  const Room r = room_of(extents_of(a));
  return uint64_t(r.products + r.states + 4 * r.each) * sizeof(float);
}

template <class T>
T* operand(const TensorView* views, int count, int i) {
  return i < count && views[i].present() ? views[i].as<T>() : nullptr;
}

void set_activations(const RecurrentAttributes& t, RecurrentParams* p) {
  for (int d = 0; d < p->directions; d++) {
    p->f[d] = {t.kind == RecurrentKind::kRnn ? Activation::kTanh : Activation::kSigmoid, 0, 0};
    p->g[d] = p->act_h[d] = {Activation::kTanh, 0, 0};
    if (t.activation_count == 0) continue;
    const int each = t.kind == RecurrentKind::kLstm ? 3 : t.kind == RecurrentKind::kGru ? 2 : 1;
    p->f[d] = t.activations[d * each];
    if (each > 1) p->g[d] = t.activations[d * each + 1];
    if (each > 2) p->act_h[d] = t.activations[d * each + 2];
  }
}

RecurrentParams params_of(const GpuWork& work, const Extents& e) {
  const OpArguments& a = *work.arguments;
  const RecurrentAttributes& t = a.as<RecurrentAttributes>();
  RecurrentParams p = {};
  const auto input = [&](int i) { return operand<const float>(a.inputs, a.input_count, i); };
  p.x = input(0), p.w = input(1), p.r = input(2), p.bias = input(3);
  p.h0 = input(4), p.c0 = input(5), p.peepholes = input(7);
  p.lengths = operand<const int32_t>(a.inputs, a.input_count, 6);
  p.y = operand<float>(a.outputs, a.output_count, 0);
  p.h_out = operand<float>(a.outputs, a.output_count, 1);
  p.c_out = operand<float>(a.outputs, a.output_count, 2);
  const Room room = room_of(e);
  p.products = reinterpret_cast<float*>(work.scratch);
  p.states = p.products + room.products;
  p.h[0] = p.states + room.states;
  p.h[1] = p.h[0] + room.each;
  p.c = p.h[1] + room.each;
  p.reset = p.c + room.each;
  p.fault = work.fault;
  p.fault_value = work.fault_value;
  p.steps = e.steps, p.batch = e.batch, p.input = e.input, p.hidden = e.hidden, p.padded = e.padded,
  p.chunk = e.chunk;
  p.clip = t.clip;
  p.kind = t.kind;
  p.gates = int(e.gates);
  p.directions = int(e.directions);
  p.biases = p.bias ? int(a.inputs[3].dims[1]) : 0;
  p.batch_first = t.batch_first;
  p.linear_before_reset = t.linear_before_reset;
  p.backwards = t.direction == Direction::kReverse;
  set_activations(t, &p);
  return p;
}

/// The steps of one chunk.
Status plan_steps(const GpuWork& work, RecurrentParams p, bool at_once) {
  const int64_t rows = kRecurrentThreads / (16 * p.gates), tiles = (p.batch + rows - 1) / rows;
  const uint32_t row_tiles = uint32_t(tiles < 65535 ? tiles : 65535),
                 directions = uint32_t(p.directions);
  if (at_once) return launch(work, KernelId::recurrent_steps, 1, p, 0, row_tiles, directions);
  const bool in_two = p.kind == RecurrentKind::kGru && !p.linear_before_reset;
  const uint32_t panels = uint32_t(p.padded / 16);
  for (p.step = p.done; p.step < p.done + p.count; p.step++)
    for (int part = 0; part <= int(in_two); part++) {
      p.first_gate = part == 0 ? 0 : 2;
      p.last_gate = in_two && part == 0 ? 2 : p.gates;
      const Status status =
          launch(work, KernelId::recurrent_step, panels, p, 0, row_tiles, directions);
      if (!status.ok()) return status;
    }
  return {};
}

Status plan_recurrent(const GpuWork& work) {
  const Extents e = extents_of(*work.arguments);
  if (e.batch == 0) return {};
  RecurrentParams p = params_of(work, e);
  Status status = launch(work, KernelId::recurrent_start,
                         blocks_for(e.directions * e.batch * e.padded, 128, work.traits), p);
  const bool at_once = e.gates * e.padded * e.hidden <= kSmallWeights || e.steps > kMaxSteps;
  const int64_t panel_tiles = (e.gates * e.padded / 16 + 3) / 4;
  for (p.done = 0; status.ok() && p.done < e.steps; p.done += e.chunk) {
    p.count = e.steps - p.done < e.chunk ? e.steps - p.done : e.chunk;
    const int64_t tiles = panel_tiles * ((p.count * e.batch + 31) / 32);
    status = launch(work, KernelId::recurrent_inputs, blocks_for(tiles, 1, work.traits), p, 0, 1,
                    uint32_t(e.directions));
    if (status.ok()) status = plan_steps(work, p, at_once);
  }
  if (!status.ok()) return status;
  return launch(work, KernelId::recurrent_finish,
                blocks_for(e.directions * e.batch * e.hidden, 128, work.traits), p);
}

Status plan_linear_recurrence(const GpuWork& work) {
  const LinearRecurrenceParams p = {linear_recurrence::plan_of(*work.arguments), work.fault,
                                    work.fault_value};
  const int64_t columns = p.plan.shape.heads * p.plan.shape.values;
  if (columns == 0 && p.plan.shape.tokens == 0) return {};
  return launch(work, KernelId::linear_recurrence,
                blocks_for(columns > 0 ? columns : 1, 128, work.traits), p);
}

constexpr GpuKernelEntry kRecurrentTable[] = {
    {OpCode::kRecurrent, "recurrent", supports_recurrent, recurrent_scratch, plan_recurrent},
    {OpCode::kLinearRecurrence, "linear_recurrence", nullptr, nullptr, plan_linear_recurrence}};

}  // namespace

const Span<const GpuKernelEntry> kRecurrentRows = Span<const GpuKernelEntry>(kRecurrentTable);

}  // namespace ingot::cuda
