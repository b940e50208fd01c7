// SPDX-License-Identifier: Apache-2.0
// runtime/format/file_layout.h - the bytes around the program. Everything is little endian;
// schema/README.md has the diagram.
#pragma once
#include <cstdint>

namespace ingot {

constexpr uint8_t kMagic[8] = {0x89, 'I', 'N', 'G', 'O', 'T', '\r', '\n'};
constexpr uint16_t kFormatMajor = 1;  // another major: refused
constexpr uint16_t kFormatMinor = 2;  // a higher minor: read, unless required_features says no
/// A file is of the least minor version that has its parts, so that older readers see a difference
/// only where there is one.
constexpr uint16_t kTuningsMinor = 1;
constexpr uint16_t kTextMinor = 2;
constexpr uint32_t kHeaderFixedBytes = 64;
constexpr uint32_t kPartEntryBytes = 64;
constexpr uint32_t kMaxParts = 1024;
constexpr uint64_t kMaxProgramBytes = uint64_t{1} << 30;

enum class PartKind : uint32_t {
  kProgram = 1,
  kMetadata = 2,
  kWeights = 3,
  kGolden = 4,
  kSignature = 5,
  kTunings = 6,
  kText = 7
};

/// The highest kind that a file of that minor version may have.
constexpr PartKind last_kind(uint16_t minor) {
  return minor >= kTextMinor      ? PartKind::kText
         : minor >= kTuningsMinor ? PartKind::kTunings
                                  : PartKind::kSignature;
}

// Fixed header, 64 bytes:
//   0 magic[8]   8 major u16   10 minor u16   12 header_bytes u32 (fixed header and part table)
//  16 file_bytes u64   24 segment_alignment u32   28 part_count u32
//  32 sha256[32] of the header_bytes bytes with these 32 taken as zero
// Part entry, 64 bytes each, right behind:
//   0 kind u32   4 flags u32 (0)   8 offset u64   16 bytes u64   24 reserved u64 (0)   32
//   sha256[32] of the part's bytes
// Parts lie in ascending order without overlap; bytes between them are zero. Weight parts start at
// multiples of segment_alignment, the others at multiples of 16. Weight part i is the i-th entry of
// kind kWeights.
struct PartEntry {
  PartKind kind;
  uint32_t flags;
  uint64_t offset;
  uint64_t bytes;
  uint8_t sha256[32];
};

struct FileHeader {
  uint16_t major, minor;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint32_t segment_alignment;
  uint32_t part_count;
};

}  // namespace ingot
