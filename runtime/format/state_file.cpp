// SPDX-License-Identifier: Apache-2.0
// runtime/format/state_file.cpp - see state_file.h.
#include "runtime/format/state_file.h"

#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/checked_math.h"

namespace ingot {
namespace {

constexpr uint64_t kAlign = 8;
constexpr uint64_t kMaxStateExtent = INT32_MAX;  // what an Extent holds
constexpr uint64_t kMaxStateNameBytes = 4096;

uint64_t padded(uint64_t bytes) { return (bytes + kAlign - 1) & ~(kAlign - 1); }

bool all_zero(const uint8_t* bytes, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    if (bytes[i]) return false;
  return true;
}

}  // namespace

bool next_state_record(const StateFile& file, uint64_t* at, StateRecord* out) {
  const auto fits = [&](uint64_t bytes) { return bytes <= file.size && *at <= file.size - bytes; };
  if (!fits(kStateRecordBytes)) return false;
  const uint8_t* head = file.bytes + *at;
  StateRecord record;
  record.name_bytes = load_little<uint32_t>(head);
  record.type.dtype = DType(head[4]);
  record.type.rank = head[5];
  record.bytes = load_little<uint64_t>(head + 8);
  if (record.type.rank > kMaxRank || dtype_bytes(record.type.dtype) == 0 || head[6] || head[7])
    return false;
  if (record.name_bytes > kMaxStateNameBytes || record.bytes > file.size) return false;
  *at += kStateRecordBytes;
  if (!fits(8 * uint64_t(record.type.rank))) return false;
  int64_t elements = 1;
  for (int i = 0; i < record.type.rank; i++) {
    const uint64_t extent = load_little<uint64_t>(file.bytes + *at + 8 * uint64_t(i));
    if (extent > kMaxStateExtent || !checked_mul(elements, int64_t(extent), &elements))
      return false;
    record.type.dims[i] = int64_t(extent);
  }
  *at += 8 * uint64_t(record.type.rank);
  int64_t bytes;
  if (!checked_mul(elements, int64_t(dtype_bytes(record.type.dtype)), &bytes) ||
      uint64_t(bytes) != record.bytes)
    return false;
  record.type.row_stride = record.type.row_length();
  if (!fits(padded(record.name_bytes))) return false;
  record.name = reinterpret_cast<const char*>(file.bytes + *at);
  if (std::memchr(record.name, 0, record.name_bytes)) return false;
  if (!all_zero(file.bytes + *at + record.name_bytes,
                padded(record.name_bytes) - record.name_bytes))
    return false;
  *at += padded(record.name_bytes);
  if (!fits(padded(record.bytes))) return false;
  record.data = file.bytes + *at;
  if (!all_zero(record.data + record.bytes, padded(record.bytes) - record.bytes)) return false;
  *at += padded(record.bytes);
  *out = record;
  return true;
}

Status open_state_file(const uint8_t* bytes, uint64_t size, StateFile* out, ErrorDetail* detail) {
  const uint64_t shown = size < sizeof kStateMagic ? size : sizeof kStateMagic;
  if (!bytes || shown == 0 || std::memcmp(bytes, kStateMagic, size_t(shown)) != 0)
    return fail(detail, Code::kNotIngot, "state: no saved state, or damaged in its first bytes");
  const uint64_t least = kStateHeaderBytes + kSha256Bytes;
  if (size < least) return fail(detail, Code::kTruncated, "state: bytes", least, size);
  StateFile file;
  file.bytes = bytes;
  file.major = load_little<uint16_t>(bytes + 8);
  file.minor = load_little<uint16_t>(bytes + 10);
  if (file.major != kStateMajor)
    return fail(detail, Code::kUnsupportedVersion, "state: format version", kStateMajor,
                file.major);
  const uint64_t stated = load_little<uint64_t>(bytes + 16);
  if (stated > size) return fail(detail, Code::kTruncated, "state: bytes", stated, size);
  if (stated < size)
    return fail(detail, Code::kStructureInvalid, "state: bytes beyond its end", stated, size);
  file.size = size - kSha256Bytes;
  uint8_t digest[kSha256Bytes];
  sha256(bytes, size_t(file.size), digest);
  if (!same_digest(digest, bytes + file.size))
    return fail(detail, Code::kHashMismatch, "state: bytes are not those that were saved");
  file.count = load_little<uint32_t>(bytes + 12);
  file.program_sha256 = bytes + 32;
  uint64_t at = kStateHeaderBytes;
  StateRecord record;
  for (uint32_t i = 0; i < file.count; i++)
    if (!next_state_record(file, &at, &record))
      return fail(detail, Code::kStructureInvalid, "state: a variable is not sound", file.count, i,
                  at);
  if (at != file.size)
    return fail(detail, Code::kStructureInvalid, "state: bytes behind the last variable", at, size,
                at);
  *out = file;
  return {};
}

StateWriter::StateWriter(uint8_t* out, uint32_t count, const uint8_t program_sha256[kSha256Bytes])
    : out_(out) {
  uint8_t* head = take(kStateHeaderBytes);
  if (!head) return;
  std::memcpy(head, kStateMagic, sizeof kStateMagic);
  store_little<uint16_t>(head + 8, kStateMajor);
  store_little<uint16_t>(head + 10, kStateMinor);
  store_little<uint32_t>(head + 12, count);
  std::memcpy(head + 32, program_sha256, kSha256Bytes);
}

/// Zeroed, up to a multiple of 8.
uint8_t* StateWriter::take(uint64_t bytes) {
  uint8_t* at = out_ ? out_ + size_ : nullptr;
  if (at) std::memset(at, 0, size_t(padded(bytes)));
  size_ += padded(bytes);
  return at;
}

uint8_t* StateWriter::add(const char* name, const TensorType& type, uint64_t data_bytes) {
  uint64_t name_bytes = std::strlen(name);
  if (name_bytes > kMaxStateNameBytes) name_bytes = kMaxStateNameBytes;
  if (uint8_t* head = take(kStateRecordBytes)) {
    store_little<uint32_t>(head, uint32_t(name_bytes));
    head[4] = uint8_t(type.dtype);
    head[5] = type.rank;
    store_little<uint64_t>(head + 8, data_bytes);
  }
  for (int i = 0; i < type.rank; i++)
    if (uint8_t* extent = take(8)) store_little<uint64_t>(extent, uint64_t(type.dims[i]));
  if (uint8_t* text = take(name_bytes)) std::memcpy(text, name, size_t(name_bytes));
  return take(data_bytes);
}

void StateWriter::finish() {
  if (out_) {
    store_little<uint64_t>(out_ + 16, size_ + kSha256Bytes);
    sha256(out_, size_t(size_), out_ + size_);
  }
  size_ += kSha256Bytes;
}

}  // namespace ingot
