// SPDX-License-Identifier: Apache-2.0
// runtime/format/state_file.h - the bytes of a saved state: what a session's variables hold, for
// any device.
//   0 magic[8]   8 major u16   10 minor u16   12 count u32   16 file_bytes u64   24 reserved u64
//   (0)
//  32 sha256[32] of the model's program part 64 records, `count` of them, each at a multiple of 8:
//       0 name_bytes u32   4 dtype u8   5 rank u8   6 reserved u16 (0)   8 data_bytes u64   16
//       dims[rank] i64
//       then the name, then the elements (row-major, little endian), each followed by zeros up to a
//       multiple of 8
//     sha256[32] of all before it
// Owns     nothing: records point into the caller's bytes.
// Threads  any.
// Allocates nothing.
// Errors   kNotIngot kTruncated kUnsupportedVersion kHashMismatch kStructureInvalid.
#pragma once
#include "runtime/base/sha256.h"
#include "runtime/base/span.h"
#include "runtime/base/status.h"
#include "runtime/op/tensor.h"

namespace ingot {

constexpr uint8_t kStateMagic[8] = {0x89, 'I', 'N', 'G', 'S', 'T', '\r', '\n'};
// another major: refused; a higher minor: read
constexpr uint16_t kStateMajor = 1, kStateMinor = 0;
constexpr uint64_t kStateHeaderBytes = 64, kStateRecordBytes = 16;

struct StateRecord {
  const char* name = nullptr;  // not ended by 0
  uint32_t name_bytes = 0;
  TensorType type;  // dense
  const uint8_t* data = nullptr;
  uint64_t bytes = 0;
};

struct StateFile {
  const uint8_t* bytes = nullptr;
  uint64_t size = 0;  // without the hash at the end
  uint32_t count = 0;
  uint16_t major = 0, minor = 0;
  const uint8_t* program_sha256 = nullptr;
};

/// Everything that can be said without a model: sizes, hash, every record.
Status open_state_file(const uint8_t* bytes, uint64_t size, StateFile* out, ErrorDetail* detail);
/// The record at `*at` (kStateHeaderBytes for the first), and where the next begins. False: not
/// sound; never for a file that was opened.
bool next_state_record(const StateFile& file, uint64_t* at, StateRecord* out);

/// Writes a state file, or measures it: with a null `out` nothing is written and size() counts.
class StateWriter {
 public:
  StateWriter(uint8_t* out, uint32_t count, const uint8_t program_sha256[kSha256Bytes]);
  /// Where the elements go, type.elements() of them; null while measuring.
  uint8_t* add(const char* name, const TensorType& type, uint64_t data_bytes);
  /// After every record: fills in the size and the hash.
  void finish();
  uint64_t size() const { return size_; }

 private:
  uint8_t* take(uint64_t bytes);
  uint8_t* out_;
  uint64_t size_ = 0;
};

}  // namespace ingot
