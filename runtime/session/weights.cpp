// SPDX-License-Identifier: Apache-2.0
// runtime/session/weights.cpp - mapping, reading and uploading weight parts.
#include "runtime/session/weights.h"

#include "runtime/base/os/file.h"
#include "runtime/base/sha256.h"
#include "runtime/base/widen.h"

namespace ingot {
namespace {

/// The whole pages of the file that hold a part.
struct Pages {
  uint64_t file_offset, arena_offset, bytes;
};
Pages pages_of(const PartEntry& part, uint64_t arena_offset) {
  const uint64_t page = os::page_bytes();
  const uint64_t beside = part.offset & (page - 1);
  return {part.offset - beside, arena_offset - beside,
          (beside + part.bytes + page - 1) & ~(page - 1)};
}

Status map_part(const OpenModel& model, const PartEntry& part, uint64_t at, const Arena& arena,
                ErrorDetail* detail) {
  if (!part.bytes) return {};
  const Pages pages = pages_of(part, at);
  return map_weights(arena, pages.arena_offset, model.source.file, pages.file_offset, pages.bytes,
                     detail);
}

/// Reads a part, and where hashes are trusted compares what was read, not what the file held when
/// it was opened.
Status copy_part(const OpenModel& model, uint32_t index, uint8_t* to, ErrorDetail* detail) {
  const PartEntry part = weight_part(model.file, index);
  INGOT_TRY(read_source(model.source, part.offset, to, part.bytes, detail));
  if (!model.check_hashes) return {};
  uint8_t digest[kSha256Bytes];
  sha256(to, size_t(part.bytes), digest);
  if (same_digest(digest, part.sha256)) return {};
  const Status status = fail(detail, Code::kHashMismatch,
                             "weights: changed since the file was opened", 0, 0, part.offset);
  if (detail) detail->operand = int32_t(index);
  return status;
}

}  // namespace

Status load_weights(const OpenModel& model, const Layout& layout, const Arena& arena,
                    ErrorDetail* detail) {
  if (layout.weights == WeightsForm::kInPlace) return {};
  for (uint32_t i = 0; i < model.file.weight_part_count; i++) {
    const uint64_t at = layout.part_offsets[i];
    if (at == kNoOffset) continue;
    if (layout.weights == WeightsForm::kMapped)
      INGOT_TRY(map_part(model, weight_part(model.file, i), at, arena, detail));
    else
      INGOT_TRY(copy_part(model, i, arena.base + at, detail));
  }
  return {};
}

Status apply_arena_options(const OpenModel& model, const Layout& layout, const Arena& arena,
                           const ArenaOptions& arena_options, ErrorDetail* detail) {
  for (uint32_t i = 0; layout.weights == WeightsForm::kMapped && i < model.file.weight_part_count;
       i++) {
    const PartEntry part = weight_part(model.file, i);
    if (!part.bytes || layout.part_offsets[i] == kNoOffset) continue;
    const Pages pages = pages_of(part, layout.part_offsets[i]);
    INGOT_TRY(apply_arena_options(arena.base + pages.arena_offset, pages.bytes, false,
                                  arena_options, detail));
  }
  return apply_arena_options(arena.base + layout.writable, arena.bytes - layout.writable, true,
                             arena_options, detail);
}

Status upload_weights(const OpenModel& model, const Layout& layout, Device& device, uint8_t* base,
                      ErrorDetail* detail) {
  const Allocator allocator = allocator_of(model);
  uint8_t* staging = nullptr;
  if (!model.source.memory && model.file.weight_part_count)
    INGOT_TRY(allocate(allocator, kStagingBytes, 64, "staging of weights", &staging, detail));
  Status status;
  for (uint32_t i = 0; i < model.file.weight_part_count && status.ok(); i++) {
    if (layout.part_offsets[i] == kNoOffset) continue;
    const PartEntry part = weight_part(model.file, i);
    uint8_t* to = base + layout.part_offsets[i];
    if (model.source.memory)
      status = device.interface->upload(device, to, model.source.memory + part.offset, part.bytes,
                                        detail);
    for (uint64_t done = 0; staging && done < part.bytes && status.ok(); done += kStagingBytes) {
      const uint64_t bytes = part.bytes - done < kStagingBytes ? part.bytes - done : kStagingBytes;
      status = read_source(model.source, part.offset + done, staging, bytes, detail);
      if (status.ok()) status = device.interface->upload(device, to + done, staging, bytes, detail);
    }
  }
  if (staging) allocator.release(allocator.user, staging, kStagingBytes);
  return status;
}

namespace {

void widen(DType stored, const uint8_t* from, uint8_t* to, uint64_t bytes) {
  (stored == DType::kF16 ? widen_f16 : widen_bf16)(from, to, size_t(bytes / 4));
}

}  // namespace

Status widen_elements(const OpenModel& model, const ValueDef& value, uint64_t first, uint8_t* to,
                      uint64_t bytes, ErrorDetail* detail) {
  const uint64_t at =
      weight_part(model.file, value.segment).offset + value.segment_offset + 2 * first;
  const uint8_t* from = to + bytes / 2;
  if (model.source.memory)
    from = model.source.memory + at;
  else
    INGOT_TRY(read_source(model.source, at, to + bytes / 2, bytes / 2, detail));
  widen(value.stored, from, to, bytes);
  return {};
}

namespace {

Status upload_widened(const OpenModel& model, const ValueDef& value, Device& device, uint8_t* to,
                      ErrorDetail* detail) {
  constexpr uint64_t kChunkBytes = 16 * 1024;
  uint8_t chunk[kChunkBytes];
  for (uint64_t done = 0; done < value.constant_bytes; done += kChunkBytes) {
    const uint64_t bytes =
        value.constant_bytes - done < kChunkBytes ? value.constant_bytes - done : kChunkBytes;
    INGOT_TRY(widen_elements(model, value, done / 4, chunk, bytes, detail));
    INGOT_TRY(device.interface->upload(device, to + done, chunk, bytes, detail));
  }
  return {};
}

}  // namespace

Status check_read_parts(const OpenModel& model, const Layout& layout, ErrorDetail* detail) {
  if (!model.check_hashes || model.source.memory) return {};
  for (uint32_t i = 0; i < model.file.weight_part_count; i++)
    if (layout.part_offsets[i] == kNoOffset)
      INGOT_TRY(
          check_part_hash(model.source, model.file, model.file.first_weight_part + i, detail));
  return {};
}

Status widen_weights(const OpenModel& model, const Layout& layout, uint8_t* base, Device* device,
                     ErrorDetail* detail) {
  if (!layout.widened_bytes) return {};
  for (const ValueDef& value : model.program.values) {
    if (!is_widened_in(layout, value)) continue;
    uint8_t* to = base + layout.widened + kWidenedBlock * value.widened_block;
    if (device)
      INGOT_TRY(upload_widened(model, value, *device, to, detail));
    else
      INGOT_TRY(widen_elements(model, value, 0, to, value.constant_bytes, detail));
  }
  return check_read_parts(model, layout, detail);
}

}  // namespace ingot
