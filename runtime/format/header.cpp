// SPDX-License-Identifier: Apache-2.0
// runtime/format/header.cpp - the fixed header and the part table: every field, in the order in
// which it can be trusted.
#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/sha256.h"
#include "runtime/format/format.h"

namespace ingot {
namespace {

constexpr uint64_t kPartAlignment = 16;
constexpr uint32_t kMaxSegmentAlignment = 1u << 24;
// bytes that a newer minor version may put behind the part table
constexpr uint32_t kMaxHeaderGrowth = 1u << 16;

FileHeader parse_header(const uint8_t* p) {
  return {load_little<uint16_t>(p + 8),  load_little<uint16_t>(p + 10),
          load_little<uint32_t>(p + 12), load_little<uint64_t>(p + 16),
          load_little<uint32_t>(p + 24), load_little<uint32_t>(p + 28)};
}

PartEntry parse_entry(const uint8_t* p) {
  PartEntry e = {PartKind(load_little<uint32_t>(p)),
                 load_little<uint32_t>(p + 4),
                 load_little<uint64_t>(p + 8),
                 load_little<uint64_t>(p + 16),
                 {}};
  memcpy(e.sha256, p + 32, sizeof e.sha256);
  return e;
}

/// What can be said of the first 64 bytes alone.
Status check_fixed(const uint8_t* p, uint64_t source_bytes, FileHeader* out, ErrorDetail* d) {
  const FileHeader h = parse_header(p);
  if (h.major != kFormatMajor) {
    const Status bad = fail(d, Code::kUnsupportedVersion, "header.major", kFormatMajor, h.major, 8);
    if (d)
      d->hint =
          "the file was made for another version of Ingot; convert the model again or update the "
          "library";
    return bad;
  }
  if (h.part_count == 0 || h.part_count > kMaxParts)
    return fail(d, Code::kLimitExceeded, "header.part_count", kMaxParts, h.part_count, 28);
  const uint32_t least = kHeaderFixedBytes + h.part_count * kPartEntryBytes;
  const bool newer = h.minor > kFormatMinor;
  if (h.header_bytes < least || h.header_bytes > least + (newer ? kMaxHeaderGrowth : 0))
    return fail(d, Code::kHeaderInvalid, "header.header_bytes", least, h.header_bytes, 12);
  if (source_bytes < h.file_bytes)
    return fail(d, Code::kTruncated, "header.file_bytes", h.file_bytes, source_bytes, 16);
  if (source_bytes > h.file_bytes)
    return fail(d, Code::kHeaderInvalid, "header.file_bytes", h.file_bytes, source_bytes, 16);
  if (h.header_bytes > h.file_bytes)
    return fail(d, Code::kHeaderInvalid, "header.file_bytes", h.header_bytes, h.file_bytes, 16);
  if (!is_power_of_two(h.segment_alignment) || h.segment_alignment < kPartAlignment ||
      h.segment_alignment > kMaxSegmentAlignment)
    return fail(d, Code::kHeaderInvalid, "header.segment_alignment", kPartAlignment,
                h.segment_alignment, 24);
  *out = h;
  return {};
}

Status read_fixed(const Source& source, uint8_t* fixed, FileHeader* out, ErrorDetail* d) {
  uint8_t magic[8] = {};
  const uint64_t available = source.bytes < sizeof magic ? source.bytes : sizeof magic;
  INGOT_TRY(read_source(source, 0, magic, available, d));
  if (available < sizeof magic || memcmp(magic, kMagic, sizeof magic) != 0) {
    const Status bad = fail(d, Code::kNotIngot, "header.magic", load_little<uint64_t>(kMagic),
                            load_little<uint64_t>(magic), 0);
    if (d) d->hint = "an .ingot file is made by: ingot convert MODEL";
    return bad;
  }
  INGOT_TRY(read_source(source, 0, fixed, kHeaderFixedBytes, d));
  return check_fixed(fixed, source.bytes, out, d);
}

Status check_header_hash(const uint8_t* head, uint32_t header_bytes, ErrorDetail* d) {
  static constexpr uint8_t kZero[kSha256Bytes] = {};
  uint8_t digest[kSha256Bytes];
  Sha256 hash;
  hash.update(head, 32);
  hash.update(kZero, sizeof kZero);
  hash.update(head + 64, header_bytes - 64);
  hash.finish(digest);
  return same_digest(digest, head + 32) ? Status()
                                        : fail(d, Code::kHashMismatch, "header.sha256", 0, 0, 32);
}

Status fail_part(ErrorDetail* d, Code code, const char* field, uint64_t need, uint64_t have,
                 uint32_t part, uint32_t at) {
  const Status bad =
      fail(d, code, field, need, have, kHeaderFixedBytes + uint64_t(part) * kPartEntryBytes + at);
  if (d) d->operand = int32_t(part);
  return bad;
}

bool known_kind(PartKind kind, uint16_t minor) {
  return kind >= PartKind::kProgram && kind <= last_kind(minor);
}

/// One entry: its fields and its place behind `previous_end`.
Status check_entry(const FileView& f, uint32_t i, const PartEntry& e, uint64_t previous_end,
                   ErrorDetail* d) {
  const uint8_t* raw = f.head + kHeaderFixedBytes + size_t(i) * kPartEntryBytes;
  const bool newer = f.header.minor > kFormatMinor;
  if (uint32_t(e.kind) == 0 || (!newer && !known_kind(e.kind, f.header.minor)))
    return fail_part(d, Code::kHeaderInvalid, "parts[].kind", uint64_t(last_kind(f.header.minor)),
                     uint64_t(e.kind), i, 0);
  if (!newer && e.flags != 0)
    return fail_part(d, Code::kHeaderInvalid, "parts[].flags", 0, e.flags, i, 4);
  if (!newer && load_little<uint64_t>(raw + 24) != 0)
    return fail_part(d, Code::kHeaderInvalid, "parts[].reserved", 0,
                     load_little<uint64_t>(raw + 24), i, 24);
  const uint64_t alignment =
      e.kind == PartKind::kWeights ? f.header.segment_alignment : kPartAlignment;
  if (e.offset < previous_end)
    return fail_part(d, Code::kHeaderInvalid, "parts[].offset overlaps", previous_end, e.offset, i,
                     8);
  if (e.offset % alignment != 0)
    return fail_part(d, Code::kHeaderInvalid, "parts[].offset alignment", alignment, e.offset, i,
                     8);
  if (e.offset - previous_end >= alignment)
    return fail_part(d, Code::kHeaderInvalid, "parts[].offset leaves a gap", previous_end, e.offset,
                     i, 8);
  uint64_t end;
  if (!checked_add(e.offset, e.bytes, &end))
    return fail_part(d, Code::kHeaderInvalid, "parts[].bytes", 0, e.bytes, i, 16);
  if (end > f.header.file_bytes)
    return fail_part(d, Code::kHeaderInvalid, "parts[].bytes", f.header.file_bytes, end, i, 16);
  return {};
}

/// Notes what the part is; at most one of each kind but weights, and weights side by side.
Status place_part(FileView* f, uint32_t i, const PartEntry& e, ErrorDetail* d) {
  int32_t* single = nullptr;
  int32_t program = f->program_offset ? 0 : -1;
  switch (e.kind) {
    case PartKind::kProgram: single = &program; break;
    case PartKind::kMetadata: single = &f->metadata_part; break;
    case PartKind::kGolden: single = &f->golden_part; break;
    case PartKind::kSignature: single = &f->signature_part; break;
    case PartKind::kTunings: single = &f->tunings_part; break;
    case PartKind::kText: single = &f->text_part; break;
    case PartKind::kWeights: {
      if (f->weight_part_count == 0) f->first_weight_part = i;
      if (f->first_weight_part + f->weight_part_count != i)
        return fail_part(d, Code::kHeaderInvalid, "parts[].kind: weight parts are not side by side",
                         f->first_weight_part + f->weight_part_count, i, i, 0);
      f->weight_part_count++;
      return {};
    }
    default: return {};  // of a newer minor version
  }
  if (*single >= 0)
    return fail_part(d, Code::kHeaderInvalid, "parts[].kind is there twice", 1, 2, i, 0);
  *single = int32_t(i);
  if (e.kind == PartKind::kProgram) {
    if (e.bytes > kMaxProgramBytes)
      return fail_part(d, Code::kLimitExceeded, "parts[].bytes of the program", kMaxProgramBytes,
                       e.bytes, i, 16);
    f->program_offset = e.offset;
    f->program_bytes = e.bytes;
  }
  return {};
}

Status check_table(FileView* f, ErrorDetail* d) {
  uint64_t end = f->header.header_bytes;
  int32_t program_part = -1;
  for (uint32_t i = 0; i < f->header.part_count; i++) {
    const PartEntry e = file_part(*f, i);
    INGOT_TRY(check_entry(*f, i, e, end, d));
    INGOT_TRY(place_part(f, i, e, d));
    if (e.kind == PartKind::kProgram) program_part = int32_t(i);
    end = e.offset + e.bytes;
  }
  if (program_part < 0)
    return fail(d, Code::kHeaderInvalid, "parts[]: no program", 1, 0, kHeaderFixedBytes);
  if (end != f->header.file_bytes)
    return fail(d, Code::kHeaderInvalid, "header.file_bytes", end, f->header.file_bytes, 16);
  f->program_part = uint32_t(program_part);
  return {};
}

}  // namespace

PartEntry file_part(const FileView& file, uint32_t index) {
  return parse_entry(file.head + kHeaderFixedBytes + size_t(index) * kPartEntryBytes);
}

Status measure_head(const Source& source, uint64_t* image_bytes, ErrorDetail* detail) {
  uint8_t bytes[kHeaderFixedBytes];
  FileHeader header;
  INGOT_TRY(read_fixed(source, bytes, &header, detail));
  *image_bytes = 0;
  if (source.memory) return {};
  for (uint32_t i = 0; i < header.part_count; i++) {
    INGOT_TRY(read_source(source, kHeaderFixedBytes + uint64_t(i) * kPartEntryBytes, bytes,
                          kPartEntryBytes, detail));
    const PartEntry e = parse_entry(bytes);
    if (e.kind != PartKind::kProgram) continue;
    if (e.bytes > kMaxProgramBytes)
      return fail_part(detail, Code::kLimitExceeded, "parts[].bytes of the program",
                       kMaxProgramBytes, e.bytes, i, 16);
    if (e.offset > header.file_bytes || e.bytes > header.file_bytes - e.offset)
      return fail_part(detail, Code::kHeaderInvalid, "parts[].bytes", header.file_bytes, e.bytes, i,
                       16);
    *image_bytes = round_up(header.header_bytes, kPartAlignment) + e.bytes;
    return {};
  }
  return fail(detail, Code::kHeaderInvalid, "parts[]: no program", 1, 0, kHeaderFixedBytes);
}

Status read_head(const Source& source, Span<uint8_t> image, FileView* out, ErrorDetail* detail) {
  *out = FileView{};
  if (reinterpret_cast<uintptr_t>(image.data) % kPartAlignment != 0)
    return fail(detail, Code::kMisaligned, "image", kPartAlignment,
                reinterpret_cast<uintptr_t>(image.data) % kPartAlignment);
  uint8_t fixed[kHeaderFixedBytes];
  FileView f;
  INGOT_TRY(read_fixed(source, fixed, &f.header, detail));
  const uint64_t head_bytes = round_up(f.header.header_bytes, kPartAlignment);
  if (source.memory) {
    f.head = source.memory;
  } else {
    if (image.size < head_bytes)
      return fail(detail, Code::kArenaTooSmall, "image", head_bytes, image.size);
    INGOT_TRY(read_source(source, 0, image.data, f.header.header_bytes, detail));
    f.head = image.data;
    // From here on only what was read counts, even if the file changed in between.
    if (memcmp(fixed, f.head, sizeof fixed) != 0)
      return fail(detail, Code::kFileRead, "header: the file is being changed");
  }
  INGOT_TRY(check_header_hash(f.head, f.header.header_bytes, detail));
  INGOT_TRY(check_table(&f, detail));
  if (source.memory) {
    f.program = source.memory + f.program_offset;
  } else {
    if (image.size - head_bytes < f.program_bytes)
      return fail(detail, Code::kArenaTooSmall, "image", head_bytes + f.program_bytes, image.size);
    INGOT_TRY(
        read_source(source, f.program_offset, image.data + head_bytes, f.program_bytes, detail));
    f.program = image.data + head_bytes;
  }
  uint8_t digest[kSha256Bytes];
  sha256(f.program, size_t(f.program_bytes), digest);
  if (!same_digest(digest, file_part(f, f.program_part).sha256))
    return fail_part(detail, Code::kHashMismatch, "parts[].sha256 of the program", 0, 0,
                     f.program_part, 32);
  *out = f;
  return {};
}

}  // namespace ingot
