// SPDX-License-Identifier: Apache-2.0
// runtime/session/scratch_places.cpp - see scratch_places.h.
#include "runtime/session/scratch_places.h"

#include "runtime/plan/place_scratch.h"

namespace ingot {

bool is_straight(const ProgramDef& program) {
  if (program.steps.size != program.instructions.size) return false;
  for (const StepDef& step : program.steps)
    if (step.kind != StepKind::kRun) return false;
  return true;
}

namespace {

uint64_t bytes_of(const ScratchPlace& need, int threads) {
  return (uint64_t{need.stride} * uint64_t(threads) + need.at) * kScratchBlock;
}

}  // namespace

void place_scratch(const OpenModel& model, const SessionRequest& request, Span<ScratchPlace> needs,
                   Preparation* p) {
  const ProgramDef& program = model.program;
  const DeviceInterface& device = *p->device.interface;
  const bool is_fixed = !request.rebindable && program.symbols.size == program.free_symbols;
  if (!is_fixed || p->split || !device.host_memory || device.scratch || !is_straight(program))
    return;
  for (const ScratchPlace& need : needs)  // more than a place can say
    if (need.at == UINT32_MAX || need.stride == UINT32_MAX) return;
  ScratchPlacer placer(p->planned.lifetimes, p->planned.offsets, model.workspace.planner);
  uint64_t end = p->planned.bytes;
  const uint64_t table = needs.size * sizeof(ScratchPlace);
  const uint64_t region = p->scratch.per_thread * uint64_t(p->threads) + p->scratch.shared;
  for (uint32_t s = 0; s < program.steps.size; s++) {
    ScratchPlace& need = needs[program.steps[s].index];
    const uint64_t bytes = bytes_of(need, p->threads);
    const uint64_t at = bytes ? placer.place(s, bytes, kScratchBlock) : 0;
    if (at / kScratchBlock > UINT32_MAX) return;
    if (at + bytes > end) end = at + bytes;
    need.at = uint32_t(at / kScratchBlock);
  }
  // the places would take more than they save
  if (end - p->planned.bytes + table >= region) return;
  p->scratch.places = {needs.data, needs.size};
  p->scratch.beyond = end - p->planned.bytes;
}

}  // namespace ingot
