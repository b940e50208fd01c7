// SPDX-License-Identifier: Apache-2.0
// runtime/session/split.cpp - segments and transfers, memory of devices, and a device that is
// several.
#include "runtime/session/split.h"

#include <cstring>
#include <new>

#include "runtime/device/segments.h"
#include "runtime/session/backend_services.h"
#include "runtime/session/session.h"
#include "runtime/session/weights.h"

namespace ingot {
namespace {

/// Follows who has the newest bytes of each storage. Counts; writes segments and transfers where
/// there is room for them.
class Walk {
 public:
  /// `holders` is working memory: by value, bit i is device i.
  Walk(const OpenModel& model, const LifetimeRules& rules, const PlannedProgram& planned,
       SplitPlan* plan, uint8_t* holders)
      : program_(model.program),
        rules_(rules),
        planned_(planned),
        plan_(*plan),
        holders_(holders) {}

  void run(Segment* segments, Transfer* transfers) {
    segments_ = segments, transfers_ = transfers;
    std::memset(holders_, 0, program_.values.size);
    for (const PortDef& port : program_.inputs) hold(port.value, 0);
    for (const StateDef& state : program_.states) hold(state.value, 0);
    for (uint32_t step = 0; step < program_.steps.size;) {
      const uint32_t end = unit_end(program_, step);
      const uint32_t device = plan_.assignment->of_instruction[program_.steps[step].index];
      if (!plan_.segment_count || device != last_.device || resolving_ != kNoInstruction) {
        settle();
        open({device, step, end, plan_.transfer_count});
      }
      last_.end_step = end;
      if (segments_) segments_[plan_.segment_count - 1] = last_;
      for (uint32_t s = step; s < end; s++) bring_operands(s, device);
      for (uint32_t s = step; s < end; s++) {
        const InstructionDef& instruction = program_.instructions[program_.steps[s].index];
        for (uint32_t k = 0; k < instruction.output_count; k++)
          if (instruction.outputs[k] >= 0) hold(instruction.outputs[k], device);
        if (device && instruction.resolves) resolving_ = program_.steps[s].index;
      }
      step = end;
    }
    settle();
    const uint32_t steps = uint32_t(program_.steps.size);
    open({0, steps, steps, plan_.transfer_count});
    for (const PortDef& port : program_.outputs) bring(port.value, 0);
    for (const StateDef& state : program_.states) bring(state.value, 0);
    for (size_t v = 0; rules_.keep_values && v < program_.values.size; v++) bring(int32_t(v), 0);
  }

 private:
  int32_t root(int32_t value) const { return storage_root(program_, value, rules_); }
  void hold(int32_t value, uint32_t device) { holders_[root(value)] = uint8_t(1u << device); }

  void open(const Segment& segment) {
    last_ = segment;
    if (segments_) segments_[plan_.segment_count] = segment;
    plan_.segment_count++;
    bring_resolved();
  }
  /// The numbers that the segment before ended with, before their storage is another value's.
  void bring_resolved() {
    if (resolving_ == kNoInstruction) return;
    const InstructionDef& instruction = program_.instructions[resolving_];
    resolving_ = kNoInstruction;
    for (size_t i = program_.free_symbols; i < program_.symbols.size; i++)
      for (uint32_t k = 0; k < instruction.output_count; k++)
        if (program_.symbols[i].resolved_by == instruction.outputs[k])
          bring(instruction.outputs[k], 0);
  }
  /// Counts what a segment that is whole launches and waits for.
  void settle() {
    if (!plan_.segment_count) return;
    const Device& device = plan_.devices[last_.device];
    LaunchCounts launch_counts = {1, 1};
    if (device.interface->runs_segments) {
      StepProgram part = outline_of(program_, device);
      part.first_step = last_.first_step;
      part.steps.size = last_.end_step;
      launch_counts = launch_counts_of(part, false, 0);
    }
    DeviceShare& share = plan_.shares[last_.device];
    share.launches += launch_counts.launches;
    if (!device.interface->host_memory) share.waits += launch_counts.waits;
  }
  void bring_operands(uint32_t step, uint32_t device) {
    const InstructionDef& instruction = program_.instructions[program_.steps[step].index];
    for (uint32_t k = 0; k < instruction.input_count; k++)
      if (instruction.inputs[k] >= 0) bring(instruction.inputs[k], device);
    // A part of a storage is written into what the other parts have already.
    for (uint32_t k = 0; k < instruction.output_count; k++)
      if (instruction.outputs[k] >= 0) bring(instruction.outputs[k], device);
  }
  /// Nothing for constants, and for what is not written yet.
  void bring(int32_t value, uint32_t device) {
    const int32_t r = root(value);
    uint8_t& holders = holders_[r];
    if (!holders || (holders >> device & 1)) return;
    if (!(holders & 1)) move(r, uint32_t(__builtin_ctz(holders)), false);
    if (device != 0) move(r, device, true);
    holders = uint8_t(holders | 1u | 1u << device);
  }
  void move(int32_t r, uint32_t device, bool is_upload) {
    const uint64_t bytes = planned_.lifetimes[size_t(r)].bytes,
                   offset = planned_.offsets[size_t(r)];
    if (!bytes || offset == kNoOffset) return;
    DeviceShare& share = plan_.shares[device];
    (is_upload ? share.uploads : share.downloads)++;
    (is_upload ? share.upload_bytes : share.download_bytes) += bytes;
    share.waits++;
    if (transfers_) transfers_[plan_.transfer_count] = {device, is_upload, r, offset, bytes};
    plan_.transfer_count++;
  }

  const ProgramDef& program_;
  const LifetimeRules& rules_;
  const PlannedProgram& planned_;
  SplitPlan& plan_;
  uint8_t* holders_;
  Segment* segments_ = nullptr;
  Transfer* transfers_ = nullptr;
  Segment last_ = {};
  uint32_t resolving_ = kNoInstruction;  // that the last segment ends with, on a device
};

void reset_counts(SplitPlan* plan) {
  plan->segment_count = plan->transfer_count = 0;
  for (DeviceShare& share : plan->shares) {
    share.launches = share.uploads = share.downloads = share.waits = 0;
    share.upload_bytes = share.download_bytes = 0;
  }
}

Status plan(const OpenModel& model, const LifetimeRules& rules, Preparation* p,
            ErrorDetail* detail) {
  SplitPlan& plan = *p->split;
  const DeviceAssignment& a = *plan.assignment;
  if (model.workspace.planner_bytes < model.program.values.size)
    return fail(detail, Code::kInternal, "split: workspace", model.program.values.size,
                model.workspace.planner_bytes);
  for (uint32_t d = 0; d < kMaxDevices; d++) {
    plan.devices[d] = a.devices[d];
    plan.devices[d].host_branches = p->device.host_branches;
    plan.devices[d].blocking_wait = p->device.blocking_wait;
  }
  Walk(model, rules, p->planned, &plan, model.workspace.planner).run(nullptr, nullptr);
  for (uint32_t d = 0; d < a.device_count; d++)  // of all GPUs, whoever reads them
    if (plan.devices[d].interface->variant && !p->tunings.part.size)
      INGOT_TRY(backend_services()->tunings(model, p, detail));
  for (uint32_t d = 0; d < a.device_count; d++) {
    DeviceShare& share = plan.shares[d];
    share.instructions = a.instruction_counts[d];
    share.weights_bytes = a.weights_bytes[d];
    if (d == 0 || !share.instructions) continue;
    BumpAllocator cursor(nullptr);
    if (a.is_fallback && plan.devices[d].interface->shares_weights)
      share.shared_bytes = share.weights_bytes;
    (void)cursor.take<uint8_t>(share.weights_bytes - share.shared_bytes, 64);
    share.scratch_bytes = p->scratch.per_thread + p->scratch.shared;
    if (plan.devices[d].interface->scratch)
      INGOT_TRY(find_device_scratch(model, p->planned.bound, plan.devices[d],
                                    {{}, tunings_of(*p), a.of_instruction.data, d},
                                    model.workspace.operands, &share.scratch_bytes, detail));
    const uint64_t words = find_word_bytes(model, plan.devices[d], a.of_instruction.data, d);
    (void)cursor.take<uint8_t>(share.scratch_bytes + words, 256);
    share.scratch = cursor.used() - share.scratch_bytes - words;
    (void)cursor.take<uint8_t>(p->planned.bytes,
                               model.program.alignment > 64 ? model.program.alignment : 64);
    share.activations = cursor.used() - p->planned.bytes;
    share.bytes = cursor.used() ? cursor.used() : 1;
    if (share.bytes > uint64_t{1} << 62)
      return fail(detail, Code::kLimitExceeded, "arena bytes of a device", uint64_t{1} << 62,
                  share.bytes);
  }
  return {};
}

struct Block {
  Split* split;
  Segment* segments;
  Transfer* transfers;
  uint64_t* part_offsets;
};
Block carve(const OpenModel& model, const SplitPlan& plan, BumpAllocator* bump) {
  Block block;
  block.split = bump->take<Split>(1);
  block.segments = bump->take<Segment>(plan.segment_count);
  block.transfers = bump->take<Transfer>(plan.transfer_count);
  block.part_offsets = bump->take<uint64_t>(model.file.weight_part_count);
  return block;
}
uint64_t block_bytes(const OpenModel& model, const Preparation& p) {
  BumpAllocator measure(nullptr);
  (void)carve(model, *p.split, &measure);
  return measure.used();
}

void release(SplitPlan* plan) {
  for (uint32_t d = kMaxDevices; d-- > 0;) {
    if (!plan->bases[d]) continue;
    Device& device = plan->devices[d];
    device.interface->release(device, plan->bases[d], plan->shares[d].bytes);
    plan->bases[d] = nullptr;
    if (plan->weights[d])
      backend_services()->shared_weights->drop(*plan->assignment->model, plan->weights[d]);
    plan->weights[d] = nullptr;
  }
}

struct Residing {
  const OpenModel* model;
  const Preparation* p;
  const uint8_t* home;
  uint32_t index;
};
Status upload_residing(void* user, Device& device, uint8_t* base, ErrorDetail* detail) {
  const Residing& r = *static_cast<Residing*>(user);
  for (const WeightPlacement& at : r.p->split->assignment->placements) {
    if (at.device != r.index) continue;
    const ValueDef& value = r.model->program.values[size_t(at.value)];
    const uint8_t* from = constant_address(*r.model, r.p->layout, r.home, value);
    INGOT_TRY(has_f16_weights(*r.model, device, at.value)
                  ? r.model->f16_weights.code->upload_f16_weights(value, from, device,
                                                                  base + at.offset, detail)
                  : device.interface->upload(device, base + at.offset, from, value.constant_bytes,
                                             detail));
  }
  return {};
}

Status take_one(const OpenModel& model, const Preparation& p, const SessionRequest& request,
                const uint8_t* home, uint32_t d, ErrorDetail* detail) {
  SplitPlan& plan = *p.split;
  const DeviceShare& share = plan.shares[d];
  Device& device = plan.devices[d];
  if (request.arena_source != ArenaSource::kCaller && request.arena_bytes &&
      share.bytes > request.arena_bytes)
    return fail_on(device, detail, Code::kArenaTooSmall,
                   "options.arena_bytes (a limit, of each device)", share.bytes,
                   request.arena_bytes);
  const uint64_t alignment = model.program.alignment > 64 ? model.program.alignment : 64;
  INGOT_TRY(device.interface->reserve(device, share.bytes, alignment, &plan.bases[d], detail));
  Residing residing = {&model, &p, home, d};
  if (!share.shared_bytes) return upload_residing(&residing, device, plan.bases[d], detail);
  return backend_services()->shared_weights->hold(model, plan.assignment->devices[d], true,
                                                  share.shared_bytes, {&residing, upload_residing},
                                                  &plan.weights[d], detail);
}

Status take(const OpenModel& model, const Preparation& p, const SessionRequest& request,
            const uint8_t* home, ErrorDetail* detail) {
  for (uint32_t d = 1; d < p.split->assignment->device_count; d++) {
    if (!p.split->shares[d].instructions) continue;
    const Status status = take_one(model, p, request, home, d, detail);
    if (status.ok()) continue;
    release(p.split);
    return status;
  }
  return {};
}

void fill(const OpenModel& model, const LifetimeRules& rules, const Preparation& p,
          RunSession* session, uint8_t* at) {
  BumpAllocator bump(at);
  const Block block = carve(model, *p.split, &bump);
  Split* split = new (block.split) Split;
  static_cast<SplitPlan&>(*split) = *p.split;
  reset_counts(split);
  Walk(model, rules, p.planned, split, model.workspace.planner)
      .run(block.segments, block.transfers);
  split->home = session->arena.base + p.layout.activations;
  split->segments = {block.segments, split->segment_count};
  split->transfers = {block.transfers, split->transfer_count};
  split->part_offsets = block.part_offsets;
  for (uint32_t d = 0; d < p.split->assignment->device_count; d++)
    split->host_decides[d] = why_host_decides(split->devices[d]);
  if (p.layout.part_offsets)
    std::memcpy(block.part_offsets, p.layout.part_offsets,
                model.file.weight_part_count * sizeof(uint64_t));
  session->split = split;
  session->device.state = split;
}

uint8_t* weights_of(const SplitPlan& plan, uint32_t d) {
  return plan.weights[d] ? plan.weights[d] : plan.bases[d];
}

void* away(const SplitPlan& plan, const Preparation& p, uint32_t instruction, int32_t root,
           uint64_t offset, void* at_home) {
  const uint32_t d = plan.assignment->of_instruction[instruction];
  if (d == 0) return at_home;
  if (const WeightPlacement* at = find_placement(*plan.assignment, d, root))
    return weights_of(plan, d) + at->offset + offset;
  uint8_t* activations = plan.bases[d] + plan.shares[d].activations;
  const uint64_t at = p.planned.offsets[size_t(root)];
  const bool is_empty = at == kNoOffset || !p.planned.lifetimes[size_t(root)].bytes;
  return is_empty ? activations : activations + at + offset;
}

void* home(const RunSession& s, uint32_t instruction, int32_t value, void* away) {
  const Split& split = *s.split;
  const uint32_t d = split.assignment->of_instruction[instruction];
  if (d == 0) return away;
  const int32_t root = storage_root(s.model->program, value, s.rules);
  if (const WeightPlacement* at = find_placement(*split.assignment, d, root)) {
    Layout layout = s.layout;
    layout.part_offsets = split.part_offsets;
    const uint8_t* first =
        constant_address(*s.model, layout, s.arena.base, s.model->program.values[size_t(root)]);
    return const_cast<uint8_t*>(first) +
           (static_cast<uint8_t*>(away) - weights_of(split, d) - at->offset);
  }
  return split.home + (static_cast<uint8_t*>(away) - split.bases[d] - split.shares[d].activations);
}

/// The program as one device sees it, up to the end of a segment.
StepProgram program_of(const Split& split, const StepProgram& whole, const Segment& segment) {
  StepProgram part = whole;
  part.first_step = segment.first_step;
  part.steps.size = segment.end_step;
  if (segment.device == 0) return part;
  const DeviceShare& share = split.shares[segment.device];
  part.host_decides = split.host_decides[segment.device];
  part.scratch = split.bases[segment.device] + share.scratch;
  if (split.devices[segment.device].interface->scratch) part.scratch_stride = share.scratch_bytes;
  part.shared_scratch = part.scratch + part.scratch_stride;
  return part;
}

Status resolve(Device& device, const StepProgram& program, ErrorDetail* detail) {
  Split& split = *static_cast<Split*>(device.state);
  for (const Segment& segment : split.segments) {
    Device& on = split.devices[segment.device];
    INGOT_TRY(on.interface->resolve(on, program_of(split, program, segment), detail));
  }
  return {};
}

/// The instruction that resolves a size at the end of a segment of a device.
uint32_t resolving_of(const StepProgram& program, const Segment& segment) {
  if (segment.device == 0 || segment.first_step == segment.end_step) return kNoInstruction;
  const StepDef& last = program.steps[segment.end_step - 1];
  return last.kind == StepKind::kRun && program.instructions[last.index].resolves ? last.index
                                                                                  : kNoInstruction;
}

Status move(Split& split, const Transfer& t, ErrorDetail* detail) {
  Device& on = split.devices[t.device];
  uint8_t* there = split.bases[t.device] + split.shares[t.device].activations + t.offset;
  uint8_t* here = split.home + t.offset;
  return t.is_upload ? on.interface->upload(on, there, here, t.bytes, detail)
                     : on.interface->download(on, here, there, t.bytes, detail);
}

Status run(Device& device, const StepProgram& program, const RunControl& control,
           ThreadTeam* thread_team, ErrorDetail* detail) {
  Split& split = *static_cast<Split*>(device.state);
  size_t done = 0;
  uint32_t resolving = kNoInstruction;
  for (size_t i = 0; i < split.segments.size; i++) {
    const Segment& segment = split.segments[i];
    const size_t until =
        i + 1 < split.segments.size ? split.segments[i + 1].first_transfer : split.transfers.size;
    for (; done < until; done++) INGOT_TRY(move(split, split.transfers[done], detail));
    if (resolving != kNoInstruction)
      INGOT_TRY(program.resolve.after(program.resolve.user, resolving, detail));
    if (segment.first_step == segment.end_step) continue;
    resolving = resolving_of(program, segment);
    if (resolving != kNoInstruction)
      INGOT_TRY(program.resolve.before(program.resolve.user, resolving, detail));
    Device& on = split.devices[segment.device];
    INGOT_TRY(on.interface->run(on, program_of(split, program, segment), control,
                                segment.device ? nullptr : thread_team, detail));
  }
  return {};
}

uint64_t outside_bytes(const Device&, const StepProgram&) { return 0; }

}  // namespace

const SplitCode kSplitCode = {plan, block_bytes, take, release, fill, away, home};
const DeviceInterface kSplitDevice = {"split", true,    nullptr, nullptr,      nullptr,
                                      nullptr, resolve, run,     outside_bytes};

}  // namespace ingot
