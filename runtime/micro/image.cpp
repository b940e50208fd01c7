// SPDX-License-Identifier: Apache-2.0
// runtime/micro/image.cpp - the header and the part table of a file in flash, in the order in which
// their fields can be trusted: the rules of runtime/format/header.cpp.
#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/checked_math.h"
#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"
#include "runtime/micro/work.h"

namespace ingot::micro {
namespace {

constexpr uint32_t kHashAt = 32, kPartAlignment = 16;
constexpr uint32_t kMaxSegmentAlignment = 1u << 24, kMaxHeaderGrowth = 1u << 16;

uint32_t load(const uint8_t* at) { return load_little<uint32_t>(at); }

/// A number of 64 bits that has to fit 32; else the largest, which no part reaches.
uint32_t load_offset(const uint8_t* at) { return load(at + 4) ? kNoPlace : load(at); }

bool header_error(MicroError* e, const char* what, uint32_t need, uint32_t have) {
  return refuse(e, Code::kHeaderInvalid, what, -1, need, have);
}

bool check_hash(const uint8_t* bytes, uint32_t count, const uint8_t* expected, const char* what,
                int32_t index, Watch* watch, MicroError* e) {
  constexpr uint32_t kBlock = 1024;  // a unit of the watch: as long as some hundred values
  uint8_t digest[kSha256Bytes];
  Sha256 hash;
  while (count != 0) {
    const uint32_t block = count < kBlock ? count : kBlock;
    hash.update(bytes, block);
    bytes += block, count -= block;
    if (!watch->spend(Watch::kUnits / 4, e)) return false;
  }
  hash.finish(digest);
  return same_digest(digest, expected) || refuse(e, Code::kHashMismatch, what, index);
}

bool check_header_hash(const uint8_t* head, uint32_t header_bytes) {
  uint8_t digest[kSha256Bytes] = {};
  Sha256 hash;
  hash.update(head, kHashAt);
  hash.update(digest, sizeof digest);  // the hash's own place counts as zeros
  hash.update(head + kHeaderFixedBytes, header_bytes - kHeaderFixedBytes);
  hash.finish(digest);
  return same_digest(digest, head + kHashAt);
}

bool check_fixed(const uint8_t* p, uint64_t bytes, MicroError* e) {
  if (bytes < sizeof kMagic || memcmp(p, kMagic, sizeof kMagic) != 0)
    return refuse(e, Code::kNotIngot, INGOT_MICRO_TEXT("header.magic"));
  if (bytes < kHeaderFixedBytes)
    return refuse(e, Code::kTruncated, INGOT_MICRO_TEXT("header"), -1, kHeaderFixedBytes,
                  uint32_t(bytes));
  const uint32_t major = load_little<uint16_t>(p + 8), header_bytes = load(p + 12),
                 file_bytes = load_offset(p + 16), segment = load(p + 24), parts = load(p + 28);
  if (major != kFormatMajor)
    return refuse(e, Code::kUnsupportedVersion, INGOT_MICRO_TEXT("header.major"), -1, kFormatMajor,
                  major);
  if (parts == 0 || parts > kMaxParts)
    return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("header.part_count"), -1, kMaxParts,
                  parts);
  const bool newer = load_little<uint16_t>(p + 10) > kFormatMinor;
  const uint32_t least = kHeaderFixedBytes + parts * kPartEntryBytes;
  if (header_bytes < least || header_bytes > least + (newer ? kMaxHeaderGrowth : 0))
    return header_error(e, INGOT_MICRO_TEXT("header.header_bytes"), least, header_bytes);
  if (bytes != file_bytes)
    return refuse(e, bytes < file_bytes ? Code::kTruncated : Code::kHeaderInvalid,
                  INGOT_MICRO_TEXT("header.file_bytes"), -1, file_bytes, uint32_t(bytes));
  if (header_bytes > file_bytes)
    return header_error(e, INGOT_MICRO_TEXT("header.file_bytes"), header_bytes, file_bytes);
  if (!is_power_of_two(segment) || segment < kPartAlignment || segment > kMaxSegmentAlignment)
    return header_error(e, INGOT_MICRO_TEXT("header.segment_alignment"), kPartAlignment, segment);
  return true;
}

struct PartWalk {
  uint32_t end;        // of the part before
  uint32_t kinds = 0;  // bit k: a part of kind k was there
};

/// One entry: its fields, its place behind the one before, and what it is.
bool check_part(const uint8_t* image, uint32_t index, PartWalk* walk, MicroModel* out, Watch* watch,
                MicroError* e) {
  const uint8_t* entry = image + kHeaderFixedBytes + index * kPartEntryBytes;
  const uint32_t kind = load(entry), offset = load_offset(entry + 8),
                 bytes = load_offset(entry + 16), file_bytes = load(image + 16),
                 minor = load_little<uint16_t>(image + 10);
  const bool newer = minor > kFormatMinor, weights = kind == uint32_t(PartKind::kWeights);
  // each minor version has one kind more
  static_assert(last_kind(0) == PartKind::kSignature && last_kind(1) == PartKind(6) &&
                    last_kind(2) == PartKind(7) && kFormatMinor == 2,
                "the sum below");
  const uint32_t last = uint32_t(PartKind::kSignature) + minor;
  if (kind == 0 ||
      (!newer && (kind > last || load(entry + 4) || load(entry + 24) || load(entry + 28))))
    return header_error(e, INGOT_MICRO_TEXT("parts[].kind, flags or reserved"), 0, kind);
  const uint32_t alignment = weights ? load(image + 24) : kPartAlignment;
  if (offset < walk->end || offset % alignment != 0 || offset - walk->end >= alignment)
    return header_error(e, INGOT_MICRO_TEXT("parts[].offset"), walk->end, offset);
  if (offset > file_bytes || bytes > file_bytes - offset)
    return header_error(e, INGOT_MICRO_TEXT("parts[].bytes"), file_bytes, bytes);
  walk->end = offset + bytes;
  if (weights) {
    if (out->weight_parts == 0) out->weight_entry = index;
    if (out->weight_entry + out->weight_parts++ != index)
      return header_error(e, INGOT_MICRO_TEXT("parts[].kind: weight parts are side by side"),
                          out->weight_entry, index);
    return true;
  }
  if (kind <= uint32_t(PartKind::kText)) {
    if (walk->kinds >> kind & 1)
      return header_error(e, INGOT_MICRO_TEXT("parts[].kind is there twice"), 1, kind);
    walk->kinds |= 1u << kind;
  }
  if (kind == uint32_t(PartKind::kProgram)) {
    if (bytes > kMaxBytes)
      return refuse(e, Code::kLimitExceeded, INGOT_MICRO_TEXT("parts[].bytes of the program"), -1,
                    kMaxBytes, bytes);
    out->program = offset, out->program_bytes = bytes;
    if (!check_hash(image + offset, bytes, entry + kHashAt,
                    INGOT_MICRO_TEXT("parts[].sha256 of the program"), -1, watch, e))
      return false;
  }
  return true;
}

}  // namespace

bool open_image(const uint8_t* image, uint64_t bytes, bool check_weights, MicroModel* out,
                Watch* watch, MicroError* error) {
  if (!check_fixed(image, bytes, error)) return false;
  const uint32_t header_bytes = load(image + 12), parts = load(image + 28);
  if (!check_header_hash(image, header_bytes))
    return refuse(error, Code::kHashMismatch, INGOT_MICRO_TEXT("header.sha256"));
  out->image = image, out->weight_entry = out->weight_parts = 0;
  out->program = out->program_bytes = 0, out->weight_alignment = load(image + 24) < 64 ? 16 : 64;
  PartWalk walk{header_bytes};
  for (uint32_t i = 0; i < parts; i++)
    if (!check_part(image, i, &walk, out, watch, error)) return false;
  if (!(walk.kinds >> uint32_t(PartKind::kProgram) & 1))
    return header_error(error, INGOT_MICRO_TEXT("parts[]: no program"), 1, 0);
  if (walk.end != bytes)
    return header_error(error, INGOT_MICRO_TEXT("header.file_bytes"), walk.end, uint32_t(bytes));
  for (uint32_t i = 0; check_weights && i < out->weight_parts; i++) {
    const uint8_t* entry = image + kHeaderFixedBytes + (out->weight_entry + i) * kPartEntryBytes;
    if (!check_hash(image + load(entry + 8), load(entry + 16), entry + kHashAt,
                    INGOT_MICRO_TEXT("parts[].sha256 of weights"), int32_t(i), watch, error))
      return false;
  }
  return true;
}

}  // namespace ingot::micro
