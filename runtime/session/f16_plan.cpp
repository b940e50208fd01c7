// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/f16_plan.h"

#include "runtime/base/checked_math.h"
#include "runtime/device/gpu/f16_activations.h"
#include "runtime/plan/greedy_planner.h"
#include "runtime/session/scratch_places.h"

namespace ingot {
namespace {

/// Operands where nothing has a place yet.
struct Unplaced {
  const OpenModel& model;
  const Device& device;
  const BoundProgram& bound;
  const LifetimeRules& rules;
  TensorView* operands;
  uint64_t storage;  // where each begins

  static OpArguments arguments(void* self, uint32_t index) {
    const Unplaced& u = *static_cast<Unplaced*>(self);
    const OpArguments a = operand_types_on(u.model, u.device, u.bound, {}, index, u.operands);
    const InstructionDef& instruction = u.model.program.instructions[index];
    TensorView* operand = u.operands;
    for (uint32_t k = 0; k < instruction.input_count; k++)
      (operand++)->data = u.address_of(instruction.inputs[k]);
    for (uint32_t k = 0; k < instruction.output_count; k++)
      (operand++)->data = u.address_of(instruction.outputs[k]);
    return a;
  }
  void* address_of(int32_t value) const {
    if (value < 0) return nullptr;
    const int32_t root = storage_root(model.program, value, rules);
    return reinterpret_cast<void*>(
        uintptr_t(storage + bound.root_offset[value] - bound.root_offset[root]));
  }
};

void choose(const OpenModel& model, const Device& device, const BoundProgram& bound,
            const LifetimeRules& rules, TensorView* operands, uint64_t* storage) {
  // Aligned as every plan of this program is, and to no more.
  Unplaced unplaced = {model, device,   bound,
                       rules, operands, kLowestStorage + model.program.alignment};
  device.interface->choose_f16(
      device, {&model.program, rules, Unplaced::arguments, &unplaced, unplaced.storage}, storage);
}

Status halve(const OpenModel& model, const SessionRequest& request, const Device& device,
             PlannedProgram* planned, ErrorDetail* detail) {
  // Values that are kept are f32, as whoever asks for them expects.
  if (GpuPrecision(model.program.precision) != GpuPrecision::kFp16 || request.rules.keep_values ||
      !is_straight(model.program))
    return {};
  INGOT_TRY(place_f16_weights(model, device, detail));
  planned->chooses_f16 = true;
  if (!planned->capacities.empty()) return {};
  // Capacities are of sessions that may be rebound: here their room is free.
  const Span<uint64_t> storage(model.workspace.capacities, model.program.values.size);
  choose(model, device, planned->bound, request.rules, model.workspace.operands, storage.data);
  halve_f16_lifetimes(storage.data, {model.workspace.lifetimes, storage.size});
  planned->f16_storage = {storage.data, storage.size};
  return {};
}

/// False: it overflows.
bool end_of(Span<const Lifetime> lifetimes, Span<const uint64_t> offsets, uint64_t* end) {
  *end = 0;
  for (size_t i = 0; i < lifetimes.size; i++) {
    uint64_t own;
    if (!lifetimes[i].bytes || offsets[i] == kNoOffset) continue;
    if (!checked_add(offsets[i], lifetimes[i].bytes, &own)) return false;
    if (own > *end) *end = own;
  }
  return true;
}

Status place(const OpenModel& model, Span<const uint64_t> file, PlannedProgram* planned,
             ErrorDetail* detail) {
  const ProgramDef& program = model.program;
  const Workspace& w = model.workspace;
  const Span<uint64_t> offsets(w.offsets, program.values.size);
  PlanSummary summary;
  const Status status = plan_greedy(
      planned->lifetimes, uint32_t(program.steps.size ? program.steps.size : 1), program.alignment,
      {w.planner, size_t(w.planner_bytes)}, offsets, &summary, detail);
  planned->offsets = {offsets.data, offsets.size};
  // What is f16 may as well take the first half of its place in the file's plan.
  uint64_t own, of_file;
  const bool fits = !file.empty() && end_of(planned->lifetimes, file, &of_file);
  if (fits &&
      (!status.ok() || (end_of(planned->lifetimes, planned->offsets, &own) && of_file <= own))) {
    planned->offsets = file;
    return {};
  }
  return status;
}

void mark_calls(const OpenModel& model, const Preparation& p, const LifetimeRules& rules,
                uint8_t* base, const Tables& tables) {
  const ProgramDef& program = model.program;
  TensorView* operand = tables.operands;
  const auto mark = [&](int32_t value) {
    TensorView* const view = operand++;
    if (value < 0 || !p.planned.f16_storage[size_t(value)]) return;
    const size_t root = size_t(storage_root(program, value, rules));
    const uint64_t at = p.planned.offsets[root];
    if (at == kNoOffset || !p.planned.lifetimes[root].bytes) {
      view->dtype = DType::kF16;  // empty: it has an address and no bytes
      return;
    }
    make_f16(view, reinterpret_cast<uintptr_t>(base + p.layout.activations + at));
  };
  for (uint32_t i = 0; i < program.instructions.size; i++) {
    const InstructionDef& instruction = program.instructions[i];
    const uint32_t first = continues_operands(program, i, false);
    for (uint32_t k = first; k < instruction.input_count; k++) mark(instruction.inputs[k]);
    for (uint32_t k = 0; k < instruction.output_count; k++) mark(instruction.outputs[k]);
  }
}

}  // namespace

const F16Planner kF16Planner = {halve, place, choose, mark_calls};

}  // namespace ingot
