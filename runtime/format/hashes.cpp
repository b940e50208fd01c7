// SPDX-License-Identifier: Apache-2.0
// runtime/format/hashes.cpp - the hashes and the zero bytes between parts, checked on request.
#include "runtime/base/sha256.h"
#include "runtime/format/format.h"

namespace ingot {
namespace {

constexpr uint64_t kPieceBytes = 4096;

/// Calls visit(bytes, count) for every piece of a range; stops at the first failure.
template <class Visit>
Status for_each_piece(const Source& source, uint64_t offset, uint64_t bytes, ErrorDetail* detail,
                      Visit visit) {
  if (offset > source.bytes || bytes > source.bytes - offset)
    return fail(detail, Code::kTruncated, "file: ends early", bytes,
                offset < source.bytes ? source.bytes - offset : 0, offset);
  if (source.memory) return visit(source.memory + offset, bytes, offset);
  uint8_t piece[kPieceBytes];
  while (bytes != 0) {
    const uint64_t count = bytes < kPieceBytes ? bytes : kPieceBytes;
    INGOT_TRY(read_source(source, offset, piece, count, detail));
    INGOT_TRY(visit(piece, count, offset));
    offset += count;
    bytes -= count;
  }
  return {};
}

Status check_zeros(const Source& source, uint64_t first, uint64_t end, ErrorDetail* detail) {
  return for_each_piece(source, first, end - first, detail,
                        [&](const uint8_t* bytes, uint64_t count, uint64_t offset) {
                          for (uint64_t i = 0; i < count; i++)
                            if (bytes[i] != 0)
                              return fail(detail, Code::kHashMismatch,
                                          "padding between parts is not zero", 0, bytes[i],
                                          offset + i);
                          return Status();
                        });
}

Status compare(const uint8_t* digest, const PartEntry& entry, uint32_t part, ErrorDetail* detail) {
  if (same_digest(digest, entry.sha256)) return {};
  const Status bad =
      fail(detail, Code::kHashMismatch, "parts[].sha256", entry.bytes, 0, entry.offset);
  if (detail) detail->operand = int32_t(part);
  return bad;
}

}  // namespace

Status check_part_hash(const Source& source, const FileView& file, uint32_t part,
                       ErrorDetail* detail) {
  const PartEntry entry = file_part(file, part);
  Sha256 hash;
  INGOT_TRY(for_each_piece(source, entry.offset, entry.bytes, detail,
                           [&](const uint8_t* bytes, uint64_t count, uint64_t) {
                             hash.update(bytes, size_t(count));
                             return Status();
                           }));
  uint8_t digest[kSha256Bytes];
  hash.finish(digest);
  return compare(digest, entry, part, detail);
}

Status check_all_hashes(const Source& source, const FileView& file, ErrorDetail* detail) {
  uint64_t end = file.header.header_bytes;
  for (uint32_t i = 0; i < file.header.part_count; i++) {
    const PartEntry entry = file_part(file, i);
    INGOT_TRY(check_zeros(source, end, entry.offset, detail));
    INGOT_TRY(check_part_hash(source, file, i, detail));
    end = entry.offset + entry.bytes;
  }
  return {};
}

Status read_part(const Source& source, const FileView& file, uint32_t part,
                 Span<uint8_t> destination, ErrorDetail* detail) {
  const PartEntry entry = file_part(file, part);
  if (destination.size < entry.bytes)
    return fail(detail, Code::kArenaTooSmall, "read_part", entry.bytes, destination.size);
  INGOT_TRY(read_source(source, entry.offset, destination.data, entry.bytes, detail));
  uint8_t digest[kSha256Bytes];
  sha256(destination.data, size_t(entry.bytes), digest);
  return compare(digest, entry, part, detail);
}

}  // namespace ingot
