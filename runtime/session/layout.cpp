// SPDX-License-Identifier: Apache-2.0
// runtime/session/layout.cpp - one cursor over the arena.
#include "runtime/session/layout.h"

#include "runtime/base/bump_allocator.h"
#include "runtime/base/os/file.h"
#include "runtime/base/os/memory.h"
#include "runtime/session/assignment.h"
#include "runtime/session/tables.h"

namespace ingot {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

/// Offset of `bytes` behind what was placed before.
uint64_t place(BumpAllocator* cursor, uint64_t bytes, uint64_t alignment) {
  (void)cursor->take<uint8_t>(bytes, alignment);
  return cursor->used() - bytes;
}

/// Parts of which nothing but widened constants is used have no place: kNoOffset, and 0 for the
/// others.
void find_parts(const OpenModel& model, const Layout& layout, uint64_t* offsets) {
  for (uint32_t i = 0; i < model.file.weight_part_count; i++) offsets[i] = 0;
  const auto mark = [&](bool widened, uint64_t to) {
    for (const ValueDef& value : model.program.values)
      if (value.kind == ValueKind::kConstant && !value.inline_data &&
          is_widened_in(layout, value) == widened)
        offsets[value.segment] = to;
  };
  mark(true, kNoOffset);
  mark(false, 0);
}

/// Parts at the head. A mapped part takes the whole pages that hold it, and lies in them as in the
/// file.
void place_weights(const OpenModel& model, const Layout& layout, uint64_t page,
                   BumpAllocator* cursor, uint64_t* weights_bytes) {
  find_parts(model, layout, model.workspace.part_offsets);
  for (uint32_t i = 0; i < model.file.weight_part_count; i++) {
    const PartEntry part = weight_part(model.file, i);
    uint64_t* at = &model.workspace.part_offsets[i];
    if (*at == kNoOffset) continue;
    *weights_bytes += part.bytes;
    if (layout.weights == WeightsForm::kMapped) {
      const uint64_t beside = part.offset & (page - 1);
      *at = place(cursor, beside + part.bytes, page) + beside;
    } else {
      *at = place(cursor, part.bytes, 64);
    }
  }
}

/// The constants that lie in the program itself, as a range of its bytes.
void find_inline(const ProgramDef& program, Layout* layout) {
  uintptr_t first = UINTPTR_MAX, end = 0;
  for (const ValueDef& value : program.values) {
    if (!value.inline_data) continue;
    const uintptr_t at = uintptr_t(value.inline_data);
    if (at < first) first = at;
    if (at + value.constant_bytes > end) end = at + value.constant_bytes;
  }
  if (first >= end) return;
  layout->inline_first = reinterpret_cast<const uint8_t*>(first & ~uintptr_t{63});
  layout->tables_bytes = end - (first & ~uintptr_t{63});
}

}  // namespace

Status lay_out(const OpenModel& model, const SessionRequest& request, const Preparation& p,
               Layout* out, ErrorDetail* detail) {
  const bool on_host = p.device.interface->host_memory;
  const bool reserves = on_host && request.arena_source == ArenaSource::kOwn;
  if (reserves && !os::kHasPages)
    return fail(detail, Code::kInvalidArgument,
                "options.arena_kind: this system cannot reserve memory; lend an arena");
  if (!on_host && request.arena_source != ArenaSource::kOwn)
    return fail(detail, Code::kInvalidArgument,
                "options.arena_kind: this device has memory of its own");
  const uint64_t page = reserves ? os::page_bytes() : 1;
  const uint64_t start = reserves ? (request.huge_pages ? kHugePage : page) : 1;
  Layout l;
  const uint64_t tensor_alignment = model.program.alignment > 64 ? model.program.alignment : 64;
  l.alignment = start > tensor_alignment ? start : tensor_alignment;
  if (!on_host)
    l.weights = WeightsForm::kCopied;
  else if (model.source.memory)
    l.weights = WeightsForm::kInPlace;
  else
    l.weights = reserves && model.source.file.is_open() && !model.copy_weights
                    ? WeightsForm::kMapped
                    : WeightsForm::kCopied;

  BumpAllocator cursor(nullptr), apart(nullptr);  // apart: weights that all sessions share
  const bool shares = !on_host && p.device.interface->shares_weights;
  BumpAllocator* weights = shares ? &apart : &cursor;
  l.has_bf16_weights = p.planned.bound.has_bf16_weights;
  l.f16_weights = os::kHasOtherDevices && holds_f16_weights(model, p.device);
  if (l.f16_weights) {
    for (uint32_t i = 0; i < model.file.weight_part_count; i++)
      model.workspace.part_offsets[i] = kNoOffset;
    l.part_offsets = model.workspace.part_offsets;
    l.weights_bytes = model.f16_weights.bytes;
    l.constants = place(weights, l.weights_bytes, kWidenedBlock);
  } else if (l.weights != WeightsForm::kInPlace) {
    place_weights(model, l, page, weights, &l.weights_bytes);
    l.part_offsets = model.workspace.part_offsets;
  }
  l.writable = l.weights == WeightsForm::kMapped ? place(&cursor, 0, start) : 0;
  if (!l.f16_weights)
    l.widened_bytes =
        l.has_bf16_weights ? model.program.widened_beside_bf16 : model.program.widened_bytes;
  if (l.widened_bytes) l.widened = place(weights, l.widened_bytes, kWidenedBlock);
  BumpAllocator tables(nullptr);
  (void)carve_tables(model, p, &tables);
  const bool is_among = !p.scratch.places.empty();  // scratch among the activations
  // What a run may leave untouched lies never last, so that the arena's last bytes prove its size.
  const bool tables_last = is_among && p.scratch.beyond;
  if (on_host) {
    l.tables_bytes = tables.used();
    if (!tables_last) l.tables = place(&cursor, l.tables_bytes, 64);
  } else {
    l.pinned_bytes = pinned_bytes(model, p);
    l.host_bytes = tables.used() + l.pinned_bytes;
    find_inline(model.program, &l);
    l.tables = place(weights, l.tables_bytes, 64);
  }
  if (shares) l.shared_bytes = apart.used();
  if (!is_among) {
    l.scratch_bytes = p.scratch.per_thread * uint64_t(p.threads) + p.scratch.shared;
    l.scratch = place(&cursor, l.scratch_bytes, p.device.interface->scratch ? 256 : 64);
  }
  l.activations_bytes = p.planned.bytes;
  l.activations = place(&cursor, l.activations_bytes, tensor_alignment);
  if (is_among) {
    l.scratch_bytes = p.scratch.beyond;
    l.scratch = place(&cursor, l.scratch_bytes, 1);
  }
  if (tables_last) l.tables = place(&cursor, l.tables_bytes, 64);
  (void)place(&cursor, 0, page);
  l.bytes = cursor.used();
  const bool overflows =
      p.threads && p.scratch.per_thread > (uint64_t{1} << 62) / uint64_t(p.threads);
  if (l.bytes > uint64_t{1} << 62 || l.host_bytes > uint64_t{1} << 62 || overflows ||
      l.bytes > SIZE_MAX)
    return fail(detail, Code::kLimitExceeded, "arena bytes", uint64_t{1} << 62, l.bytes);
  *out = l;
  return {};
}

Requirements sum_up(const OpenModel& model, const Preparation& p) {
  const Layout& l = p.layout;
  Requirements r;
  r.arena_bytes = l.bytes;
  r.arena_alignment = l.alignment;
  r.weights_mapped = l.weights == WeightsForm::kMapped ? l.weights_bytes : 0;
  r.weights_copied = l.weights == WeightsForm::kCopied ? l.weights_bytes : 0;
  r.weights_in_place = l.weights == WeightsForm::kInPlace ? model.weights_bytes : 0;
  r.weights_widened = l.widened_bytes;
  r.state = p.planned.state_bytes;
  r.activations = l.activations_bytes - p.planned.state_bytes;
  r.scratch = l.scratch_bytes;
  r.tables = l.tables_bytes;
  r.weights_shared = l.shared_bytes;
  uint64_t constants = l.weights_bytes + r.weights_widened + l.tables_bytes;
  if (l.shared_bytes) r.weights_copied = r.tables = constants = 0;
  r.rounding = l.bytes - constants - l.activations_bytes - l.scratch_bytes;
  r.outside_bytes = l.host_bytes + p.device.interface->outside_bytes(
                                       p.device, outline_of(model.program, p.device));
  if (p.split)
    for (const DeviceShare& share : p.split->shares)
      r.device_bytes += share.bytes, r.weights_shared += share.shared_bytes;
  if (p.starts_threads) r.outside_bytes += uint64_t(p.threads - 1) * os::thread_outside_bytes();
  if (p.starts_background) r.outside_bytes += os::thread_outside_bytes();
  r.activations_lower_bound = p.planned.lower_bound;
  const ProgramDef& program = model.program;
  r.steps = count_steps(program, p.planned.bound);
  if (p.planned.peak_step < program.steps.size &&
      program.steps[p.planned.peak_step].kind != StepKind::kJump)
    r.peak_instruction = program.steps[p.planned.peak_step].index;
  r.threads = p.threads;
  return r;
}

}  // namespace ingot
