// SPDX-License-Identifier: Apache-2.0
// runtime/session/packed_f16_weights.cpp - see packed_f16_weights.h.
#include "runtime/session/packed_f16_weights.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/f16_weights.h"
#include "runtime/session/weights.h"

namespace ingot {
namespace {

bool is_placed(const ValueDef& value) {
  return value.kind == ValueKind::kConstant && !value.inline_data;
}

}  // namespace

void find_f16_weights(const ProgramDef& program, Span<F16WeightPlace> places) {
  for (size_t i = 0; i < places.size; i++) {
    const ValueDef& v = program.values[i];
    places[i] = {0, is_placed(v) && v.dtype == DType::kF32 && v.packing == Packing::kPanels16 &&
                        f16_weight_bytes(v.dims, v.rank) != 0};
  }
  for (const StateDef& state : program.states)
    if (state.init >= 0) places[size_t(state.init)].is_packed = false;
  for (const InstructionDef& instruction : program.instructions)
    for (uint32_t k = 0; k < instruction.input_count; k++) {
      const int32_t v = instruction.inputs[k],
                    bias = k + 1 < instruction.input_count ? instruction.inputs[k + 1] : -1;
      if (v < 0 || !places[size_t(v)].is_packed) continue;
      places[size_t(v)].is_packed = takes_f16_weights(
          instruction.op, instruction.attributes, k, program.values[size_t(v)].packing,
          bias < 0 ? Packing::kVector16 : program.values[size_t(bias)].packing);
    }
}

namespace {

Status lay_out_constants(const ProgramDef& program, Span<F16WeightPlace> places, uint64_t* bytes,
                         ErrorDetail* detail) {
  bool any = false;
  for (const F16WeightPlace& place : places) any = any || place.is_packed;
  uint64_t end = 0;
  for (size_t i = 0; any && i < places.size; i++) {
    const ValueDef& v = program.values[i];
    if (!is_placed(v)) continue;
    uint64_t at;
    const uint64_t own = places[i].is_packed ? f16_weight_bytes(v.dims, v.rank) : v.constant_bytes;
    if (!checked_align(end, kWidenedBlock, &at) || at / kWidenedBlock > UINT32_MAX ||
        !checked_add(at, own, &end))
      return fail(detail, Code::kLimitExceeded, "bytes of all constants, each by itself",
                  kWidenedBlock * UINT32_MAX, end);
    places[i].block = uint32_t(at / kWidenedBlock);
  }
  *bytes = end;
  return {};
}

void drop(const OpenModel& model) {
  const Allocator from = allocator_of(model);
  from.release(from.user, model.f16_weights.places.data,
               model.f16_weights.places.size * sizeof(F16WeightPlace));
}

Status place(const OpenModel& model, ErrorDetail* detail) {
  const Allocator from = allocator_of(model);
  const size_t count = model.program.values.size;
  uint8_t* block;
  INGOT_TRY(allocate(from, count * sizeof(F16WeightPlace), 64, "places of constants on a device",
                     &block, detail));
  F16Weights made;
  made.code = &kF16WeightPacker;
  made.places = {reinterpret_cast<F16WeightPlace*>(block), count};
  find_f16_weights(model.program, made.places);
  const Status status = lay_out_constants(model.program, made.places, &made.bytes, detail);
  if (!status.ok()) {
    from.release(from.user, block, count * sizeof(F16WeightPlace));
    return status;
  }
  model.f16_weights = made;
  return {};
}

constexpr uint64_t kRowBytes = 64;  // of a panel: 16 f32

/// How a constant is packed: runs of rows of panels, all panels as one where none has an odd
/// row at its end.
struct PanelRuns {
  uint64_t runs, rows;
  explicit PanelRuns(const ValueDef& value) {
    uint64_t k = 1;
    for (int i = 1; i < value.rank; i++) k *= uint64_t(value.dims[i]);
    const uint64_t panels = value.constant_bytes / kRowBytes / k;
    runs = k % 2 ? panels : 1, rows = k % 2 ? k : panels * k;
  }
};

/// Pairs of one constant: read(first row, count) answers where `count` rows are, `staging` has room
/// for what is made of them.
template <class Read>
Status upload_runs(const ValueDef& value, Device& device, uint8_t* to, uint8_t* staging,
                   uint64_t staging_bytes, ErrorDetail* detail, const Read& read) {
  const PanelRuns all(value);
  const uint64_t most = staging_bytes / kRowBytes & ~uint64_t{1};
  for (uint64_t run = 0; run < all.runs; run++)
    for (uint64_t done = 0; done < all.rows; done += most) {
      const uint64_t rows = all.rows - done < most ? all.rows - done : most,
                     bytes = (rows + 1) / 2 * kRowBytes;
      const uint8_t* from = nullptr;
      INGOT_TRY(read(run * all.rows + done, rows, &from));
      make_f16_weights(from, size_t(rows), staging);
      INGOT_TRY(device.interface->upload(device, to, staging, bytes, detail));
      to += bytes;
    }
  return {};
}

/// One constant to its place.
Status upload_constant(const OpenModel& model, const ValueDef& value, bool is_packed,
                       Device& device, uint8_t* to, uint8_t* staging, ErrorDetail* detail) {
  const uint64_t at = weight_part(model.file, value.segment).offset + value.segment_offset;
  // Bytes [first, first + bytes) as kernels of the CPU see them; in memory where they are, else in
  // staging.
  const auto read = [&](uint64_t first, uint64_t bytes, const uint8_t** from) -> Status {
    *from = staging;
    if (is_widened(value)) return widen_elements(model, value, first / 4, staging, bytes, detail);
    if (model.source.memory) return *from = model.source.memory + at + first, Status();
    return read_source(model.source, at + first, staging, bytes, detail);
  };
  if (is_packed)
    return upload_runs(value, device, to, staging, kStagingBytes, detail,
                       [&](uint64_t row, uint64_t rows, const uint8_t** from) {
                         return read(row * kRowBytes, rows * kRowBytes, from);
                       });
  for (uint64_t done = 0; done < value.constant_bytes; done += kStagingBytes) {
    const uint64_t left = value.constant_bytes - done,
                   bytes = left < kStagingBytes ? left : kStagingBytes;
    const uint8_t* from = nullptr;
    INGOT_TRY(read(done, bytes, &from));
    INGOT_TRY(device.interface->upload(device, to + done, from, bytes, detail));
  }
  return {};
}

Status upload_constants(const OpenModel& model, const Layout& layout, Device& device, uint8_t* base,
                        ErrorDetail* detail) {
  const Allocator allocator = allocator_of(model);
  uint8_t* staging = nullptr;
  INGOT_TRY(allocate(allocator, kStagingBytes, 64, "staging of weights", &staging, detail));
  Status status;
  for (size_t i = 0; i < model.program.values.size && status.ok(); i++) {
    const F16WeightPlace& place = model.f16_weights.places[i];
    if (is_placed(model.program.values[i]))
      status =
          upload_constant(model, model.program.values[i], place.is_packed, device,
                          base + layout.constants + kWidenedBlock * place.block, staging, detail);
  }
  allocator.release(allocator.user, staging, kStagingBytes);
  return status.ok() ? check_read_parts(model, layout, detail) : status;
}

Status upload_f16_weights(const ValueDef& value, const uint8_t* panels, Device& device, uint8_t* to,
                          ErrorDetail* detail) {
  uint8_t chunk[16 * 1024];
  return upload_runs(value, device, to, chunk, sizeof chunk, detail,
                     [&](uint64_t row, uint64_t, const uint8_t** from) {
                       return *from = panels + row * kRowBytes, Status();
                     });
}

}  // namespace

const F16WeightPacker kF16WeightPacker = {place, drop, upload_constants, upload_f16_weights};

}  // namespace ingot
