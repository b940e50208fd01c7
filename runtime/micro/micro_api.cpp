// SPDX-License-Identifier: Apache-2.0
// runtime/micro/micro_api.cpp - the functions of ingot/micro.h: checks the caller, opens, runs.
#include <cstring>

#include "ingot/micro.h"
#include "runtime/base/float_state.h"
#include "runtime/micro/work.h"

using namespace ingot;
using namespace ingot::micro;

namespace {

static_assert(sizeof(MicroModel) <= sizeof(ingot_micro), "the caller's struct holds the model");
static_assert(alignof(MicroModel) <= alignof(ingot_micro), "and lies as the model has to");
constexpr uintptr_t kImageAlignment = 16, kArenaAlignment = 64;

int32_t report(const MicroError& e, ingot_micro_error* out) {
  if (out) *out = {int32_t(e.code), e.index, e.need, e.have, e.what};
  return int32_t(e.code);
}

/// A model that was opened; a copy, since the caller's words may lie anywhere.
MicroModel model_of(const ingot_micro* from) {
  MicroModel m;
  memcpy(static_cast<void*>(&m), from, sizeof m);
  return m;
}

bool is_aligned(const void* at, uintptr_t alignment, const char* what, MicroError* e) {
  const uint32_t rest = uint32_t(reinterpret_cast<uintptr_t>(at) % alignment);
  return rest == 0 || refuse(e, Code::kMisaligned, what, -1, uint32_t(alignment), rest);
}

bool start(const MicroModel& m, MicroError* e) {
  return !m.kernels->start_states || m.kernels->start_states(m, e);
}

bool open(ingot_micro* out, const void* image, size_t bytes, const ingot_micro_kernels* kernels,
          void* arena, size_t arena_bytes, uint32_t flags, Watch* watch, MicroError* e) {
  if (!out || !image || !kernels || !arena)
    return refuse(e, Code::kInvalidArgument, INGOT_MICRO_TEXT("an argument is null"));
  if (!is_aligned(image, kImageAlignment, INGOT_MICRO_TEXT("image"), e) ||
      !is_aligned(arena, kArenaAlignment, INGOT_MICRO_TEXT("arena"), e))
    return false;
  MicroModel m = {};
  m.kernels = reinterpret_cast<const MicroKernelTable*>(kernels);
  m.arena = static_cast<uint8_t*>(arena);
  m.arena_bytes = arena_bytes < kMaxBytes ? uint32_t(arena_bytes) : kMaxBytes;
  if (!open_image(static_cast<const uint8_t*>(image), bytes, flags & INGOT_MICRO_CHECK_WEIGHTS, &m,
                  watch, e) ||
      !validate(&m, watch, e) || !start(m, e))
    return false;
  memcpy(out, &m, sizeof m);
  return true;
}

int32_t port(const ingot_micro* model, bool is_input, uint32_t index, ingot_micro_tensor* out) {
  if (!model || !out) return int32_t(Code::kInvalidArgument);
  const MicroModel m = model_of(model);
  const FlatVector& ports = is_input ? m.inputs : m.outputs;
  if (index >= ports.count) return int32_t(Code::kNotFound);
  FlatReader r = reader_of(m);
  const uint32_t value = r.word(r.element(ports, index), port_field::kValue);
  MicroValue v;
  if (!read_value(m, value, &v, nullptr)) return int32_t(Code::kStructureInvalid);
  out->data = address_of(m, value, v);
  out->bytes = v.bytes, out->dtype = int32_t(v.type.dtype), out->rank = v.type.rank;
  for (int i = 0; i < kMaxRank; i++) out->dims[i] = int32_t(int64_t{v.type.dims[i]});
  return out->data ? 0 : int32_t(Code::kPlanInvalid);
}

/// One instruction. Whatever the flash says by now, nothing outside of it and the arena is touched
/// but by kernels, whose contracts held when the model was opened.
bool run_instruction(const MicroModel& m, uint32_t step, MicroError* e) {
  MicroCall call;
  if (!read_call(m, step, &call, e)) return false;
  const uint32_t all = call.arguments.input_count + uint32_t{call.arguments.output_count};
  for (uint32_t k = 0; k < all; k++) {
    if (call.values[k] == -1) continue;
    MicroValue v;
    if (!read_value(m, uint32_t(call.values[k]), &v, e)) return false;
    call.views[k].data = address_of(m, uint32_t(call.values[k]), v);
    if (!call.views[k].data)
      return refuse(e, Code::kPlanInvalid, INGOT_MICRO_TEXT("the image has changed"),
                    int32_t(step));
  }
  const MicroKernel* row = find_row(*m.kernels, call.op, &call.arguments);
  if (!row)
    return refuse(e, Code::kNoKernel, INGOT_MICRO_TEXT("the image has changed"), int32_t(step));
  uint16_t block;
  memcpy(&block, scratch_table(m) + 2 * step, sizeof block);
  Team team;
  team.scratch = m.arena + block * kScratchBlock;
  const OpContract& contract = *row->entry.contract;
  if (contract.scratch) {
    const uint64_t own = contract.scratch(call.arguments, 1).per_thread_bytes;
    team.shared =
        m.arena + block * kScratchBlock + (own + kScratchBlock - 1) / kScratchBlock * kScratchBlock;
  }
  const Status status = row->entry.run(call.arguments, team);
  return status.ok() ||
         refuse(e, status.code(), INGOT_MICRO_TEXT("an index outside its range"), int32_t(step));
}

}  // namespace

extern "C" {

int32_t ingot_micro_open(ingot_micro* out, const void* image, size_t bytes,
                         const ingot_micro_kernels* kernels, void* arena, size_t arena_bytes,
                         uint32_t flags, ingot_micro_error* error) {
  return ingot_micro_open_watched(out, image, bytes, kernels, arena, arena_bytes, flags, nullptr,
                                  nullptr, error);
}

int32_t ingot_micro_open_watched(ingot_micro* out, const void* image, size_t bytes,
                                 const ingot_micro_kernels* kernels, void* arena,
                                 size_t arena_bytes, uint32_t flags, ingot_micro_hook hook,
                                 void* user, ingot_micro_error* error) {
  MicroError e;
  Watch watch(hook, user);
  open(out, image, bytes, kernels, arena, arena_bytes, flags, &watch, &e);
  return report(e, error);
}

uint32_t ingot_micro_arena_bytes(const ingot_micro* model) { return model_of(model).arena_bytes; }

int32_t ingot_micro_input(const ingot_micro* model, uint32_t index, ingot_micro_tensor* out) {
  return port(model, true, index, out);
}
int32_t ingot_micro_output(const ingot_micro* model, uint32_t index, ingot_micro_tensor* out) {
  return port(model, false, index, out);
}

int32_t ingot_micro_run(const ingot_micro* model, ingot_micro_hook hook, void* user,
                        ingot_micro_error* error) {
  MicroError e;
  if (!model) {
    refuse(&e, Code::kInvalidArgument, INGOT_MICRO_TEXT("an argument is null"));
    return report(e, error);
  }
  const DefaultFloatState float_state;
  const MicroModel m = model_of(model);
  for (uint32_t step = 0; step < m.instructions.count; step++) {
    if (hook && hook(user, step) != 0) {
      refuse(&e, Code::kCancelled, INGOT_MICRO_TEXT("the hook ended the run"), int32_t(step));
      break;
    }
    if (!run_instruction(m, step, &e)) break;
  }
  return report(e, error);
}

int32_t ingot_micro_reset_state(const ingot_micro* model, ingot_micro_error* error) {
  MicroError e;
  if (!model)
    refuse(&e, Code::kInvalidArgument, INGOT_MICRO_TEXT("an argument is null"));
  else
    start(model_of(model), &e);
  return report(e, error);
}

}  // extern "C"
