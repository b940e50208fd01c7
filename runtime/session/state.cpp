// SPDX-License-Identifier: Apache-2.0
// runtime/session/state.cpp - state variables from outside: their initial values, saved, restored,
// checked.
#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/format/state_file.h"
#include "runtime/session/session.h"

namespace ingot {
namespace {

constexpr uint64_t kChunk = 256;  // through the stack, for devices without host memory

Status name_state(const ProgramDef& program, size_t index, Status status, ErrorDetail* detail) {
  name_error(detail, program.states[index].name);
  if (detail) detail->operand = int32_t(index);
  return status;
}

/// Elements of f16, bf16, f32 or f64 that are NaN: exponent all ones, mantissa not zero.
template <class Bits>
bool any_nan(const uint8_t* data, uint64_t bytes, Bits infinity, uint64_t* element) {
  constexpr Bits kNoSign = Bits(~(Bits(1) << (8 * sizeof(Bits) - 1)));
  for (uint64_t at = 0; at < bytes; at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, data + at, sizeof bits);
    if (Bits(bits & kNoSign) <= infinity) continue;
    *element = at / sizeof(Bits);
    return true;
  }
  return false;
}

bool find_nan(DType dtype, const uint8_t* data, uint64_t bytes, uint64_t* element) {
  switch (dtype) {
    case DType::kF32: return any_nan<uint32_t>(data, bytes, 0x7f800000u, element);
    case DType::kF64: return any_nan<uint64_t>(data, bytes, 0x7ff0000000000000u, element);
    case DType::kF16: return any_nan<uint16_t>(data, bytes, 0x7c00u, element);
    case DType::kBF16: return any_nan<uint16_t>(data, bytes, 0x7f80u, element);
    default: return false;
  }
}

Status refuse_nan(const ProgramDef& program, size_t index, uint64_t element, ErrorDetail* detail) {
  const Status status =
      fail(detail, Code::kBadStateValue, "state: an element is not a number", 0, element);
  if (detail) detail->hint = "reset the state";
  return name_state(program, index, status, detail);
}

/// Elements are saved as they lie in memory, and the format says little endian.
Status refuse_big_endian(ErrorDetail* detail) {
  return kLittleEndianHost
             ? Status()
             : fail(detail, Code::kWrongState, "state: not saved or restored on a big-endian host");
}

Status read_state(RunSession* s, const StateSlot& slot, uint64_t from, uint8_t* to, uint64_t bytes,
                  ErrorDetail* detail) {
  if (!s->device.interface->host_memory)
    return s->device.interface->download(s->device, to, slot.home + from, bytes, detail);
  std::memcpy(to, slot.home + from, size_t(bytes));
  return {};
}

StateSlot part_of(StateSlot slot, StatePart part) {
  if (part.count == 1) return slot;
  slot.view.dims[0] = slot.view.dims[0] / part.count;
  slot.bytes /= uint64_t(part.count);
  slot.home += uint64_t(part.index) * slot.bytes;
  return slot;
}

Status refuse_while_running(const RunSession& s, const char* field, ErrorDetail* detail) {
  return s.is_running ? fail(detail, Code::kWrongState, field) : Status();
}

PartEntry program_part(const OpenModel& model) {
  return file_part(model.file, model.file.program_part);
}

/// A record against the variable of its place.
Status match_record(const ProgramDef& program, size_t index, const StateSlot& slot,
                    const StateRecord& record, ErrorDetail* detail) {
  const char* name = program.states[index].name;
  const auto refuse = [&](const char* field, uint64_t need, uint64_t have) {
    return name_state(program, index, fail(detail, Code::kStateMismatch, field, need, have),
                      detail);
  };
  if (std::strlen(name) != record.name_bytes ||
      std::memcmp(name, record.name, record.name_bytes) != 0)
    return refuse("state: a variable of another name is saved in this place", 0, 0);
  if (slot.view.dtype != record.type.dtype)
    return refuse("state: saved with another element type", uint64_t(slot.view.dtype),
                  uint64_t(record.type.dtype));
  if (slot.view.rank != record.type.rank)
    return refuse("state: saved with another number of dimensions", slot.view.rank,
                  record.type.rank);
  for (int i = 0; i < slot.view.rank; i++)
    if (slot.view.dims[i] != record.type.dims[i])
      return refuse("state: saved with other dims", uint64_t(slot.view.dims[i]),
                    uint64_t(record.type.dims[i]));
  if (slot.bytes != record.bytes)
    return refuse("state: saved with another size", slot.bytes, record.bytes);
  uint64_t element;
  if (find_nan(slot.view.dtype, record.data, record.bytes, &element))
    return refuse_nan(program, index, element, detail);
  return {};
}

}  // namespace

Status reset_state(RunSession* s, ErrorDetail* detail, bool is_zero) {
  INGOT_TRY(refuse_while_running(*s, "reset_state: the session is running", detail));
  static constexpr uint8_t kZeros[kChunk] = {};
  for (size_t i = 0; i < s->model->program.states.size; i++) {
    const StateSlot& slot = s->tables.states[i];
    if (s->device.interface->host_memory) {
      if (slot.init)
        std::memcpy(slot.home, slot.init, size_t(slot.bytes));
      else if (!is_zero)
        std::memset(slot.home, 0, size_t(slot.bytes));
      continue;
    }
    uint8_t chunk[kChunk];
    for (uint64_t done = 0; done < slot.bytes; done += sizeof chunk) {
      const uint64_t bytes = slot.bytes - done < sizeof chunk ? slot.bytes - done : sizeof chunk;
      const uint8_t* from = kZeros;
      if (slot.init) {
        INGOT_TRY(s->device.interface->download(s->device, chunk, slot.init + done, bytes, detail));
        from = chunk;
      }
      INGOT_TRY(s->device.interface->upload(s->device, slot.home + done, from, bytes, detail));
    }
  }
  return {};
}

Status save_state(RunSession* s, uint8_t* out, uint64_t capacity, uint64_t* out_bytes,
                  ErrorDetail* detail, StatePart only) {
  *out_bytes = 0;
  INGOT_TRY(refuse_while_running(*s, "save_state: the session is running", detail));
  INGOT_TRY(refuse_big_endian(detail));
  const ProgramDef& program = s->model->program;
  const PartEntry part = program_part(*s->model);
  StateWriter measure(nullptr, uint32_t(program.states.size), part.sha256);
  for (size_t i = 0; i < program.states.size; i++) {
    const StateSlot slot = part_of(s->tables.states[i], only);
    measure.add(program.states[i].name, slot.view, slot.bytes);
  }
  measure.finish();
  *out_bytes = measure.size();
  if (capacity == 0) return {};
  if (capacity < measure.size())
    return fail(detail, Code::kInvalidArgument, "capacity: at least", measure.size(), capacity);
  StateWriter writer(out, uint32_t(program.states.size), part.sha256);
  for (size_t i = 0; i < program.states.size; i++) {
    const StateSlot slot = part_of(s->tables.states[i], only);
    uint8_t* data = writer.add(program.states[i].name, slot.view, slot.bytes);
    INGOT_TRY(read_state(s, slot, 0, data, slot.bytes, detail));
    uint64_t element;
    if (find_nan(slot.view.dtype, data, slot.bytes, &element))
      return refuse_nan(program, i, element, detail);
  }
  writer.finish();
  return {};
}

Status restore_state(RunSession* s, const uint8_t* bytes, uint64_t size, ErrorDetail* detail,
                     StatePart only) {
  INGOT_TRY(refuse_while_running(*s, "restore_state: the session is running", detail));
  INGOT_TRY(refuse_big_endian(detail));
  const ProgramDef& program = s->model->program;
  StateFile file;
  INGOT_TRY(open_state_file(bytes, size, &file, detail));
  if (!same_digest(file.program_sha256, program_part(*s->model).sha256))
    return fail(detail, Code::kStateMismatch,
                "state: saved from another model, or another version of it");
  if (file.count != program.states.size)
    return fail(detail, Code::kStateMismatch, "state: number of variables", program.states.size,
                file.count);
  StateRecord record;
  for (int pass = 0; pass < 2; pass++) {  // all is checked before anything changes
    uint64_t at = kStateHeaderBytes;
    for (size_t i = 0; i < program.states.size; i++) {
      const StateSlot slot = part_of(s->tables.states[i], only);
      if (!next_state_record(file, &at, &record))
        return fail(detail, Code::kStructureInvalid, "state: a variable is not sound", file.count,
                    i, at);
      if (pass == 0)
        INGOT_TRY(match_record(program, i, slot, record, detail));
      else if (s->device.interface->host_memory)
        std::memcpy(slot.home, record.data, size_t(record.bytes));
      else
        INGOT_TRY(
            s->device.interface->upload(s->device, slot.home, record.data, record.bytes, detail));
    }
  }
  return {};
}

namespace {
template <size_t N>
bool begins_with(const char* name, const char (&prefix)[N]) {
  return std::strncmp(name, prefix, N - 1) == 0;
}
}  // namespace

bool has_snapshots(const StateDef& state) { return begins_with(state.name, "snapshots."); }
bool has_window(const StateDef& state) { return begins_with(state.name, "windows."); }

bool copy_state_rows(RunSession* s, int64_t from, int64_t to, int64_t begin, int64_t end) {
  if (!s->device.interface->host_memory) return false;
  for (size_t i = 0; i < s->model->program.states.size; i++) {
    const StateSlot& slot = s->tables.states[i];
    const int64_t rows = slot.view.dims[1];
    const uint64_t bytes = slot.bytes / uint64_t(slot.view.dims[0] * rows);
    const StateDef& state = s->model->program.states[i];
    const bool is_one = has_snapshots(state), is_ring = has_window(state);
    const int64_t first = is_one    ? end % rows
                          : is_ring ? 0
                                    : begin,
                  count = is_one    ? 1
                          : is_ring ? rows
                                    : end - begin;
    std::memcpy(slot.home + uint64_t(to * rows + first) * bytes,
                slot.home + uint64_t(from * rows + first) * bytes, size_t(uint64_t(count) * bytes));
  }
  return true;
}

Status check_state(RunSession* s, ErrorDetail* detail) {
  INGOT_TRY(refuse_while_running(*s, "check_state: the session is running", detail));
  for (size_t i = 0; i < s->model->program.states.size; i++) {
    const StateSlot& slot = s->tables.states[i];
    uint8_t chunk[kChunk];
    for (uint64_t done = 0; done < slot.bytes; done += sizeof chunk) {
      const uint64_t bytes = slot.bytes - done < sizeof chunk ? slot.bytes - done : sizeof chunk;
      INGOT_TRY(read_state(s, slot, done, chunk, bytes, detail));
      uint64_t element;
      if (find_nan(slot.view.dtype, chunk, bytes, &element))
        return refuse_nan(s->model->program, i,
                          done / uint64_t(dtype_bytes(slot.view.dtype)) + element, detail);
    }
  }
  return {};
}

}  // namespace ingot
