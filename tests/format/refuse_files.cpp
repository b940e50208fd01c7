// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "runtime/base/byte_order.h"
#include "tests/format/refuse_table.h"

namespace ingot::test {
namespace {

constexpr size_t kEntry =
    kHeaderFixedBytes;  // entry 0 is the program, 1 the metadata, 2 the weights, 3 the golden part
size_t entry(int i) { return kEntry + size_t(i) * kPartEntryBytes; }
void put16(Bytes& b, size_t at, uint16_t n) { store_little(b.data() + at, n); }
void put32(Bytes& b, size_t at, uint32_t n) { store_little(b.data() + at, n); }
void put64(Bytes& b, size_t at, uint64_t n) { store_little(b.data() + at, n); }
uint64_t get64(const Bytes& b, size_t at) { return load_little<uint64_t>(b.data() + at); }

}  // namespace

void add_file_cases(RefuseTable* t) {
  t->base("header", [] {
    convert::FileSpec f = one_instruction(
        step(ElementwiseOp::kAdd), {input("x", {2, 4}), constant("w", {4})}, {output("y", {2, 4})});
    f.goldens.push_back({});
    return f;
  });
  t->bytes(
      "magic", [](Bytes& b) { b[0] = 'X'; }, Code::kNotIngot);
  t->bytes(
      "magic_of_text_mode", [](Bytes& b) { b[6] = '\n'; }, Code::kNotIngot);
  t->bytes(
      "major_two", [](Bytes& b) { put16(b, 8, 2); }, Code::kUnsupportedVersion);
  t->bytes(
      "major_zero", [](Bytes& b) { put16(b, 8, 0); }, Code::kUnsupportedVersion);
  t->bytes(
      "header_bytes_short", [](Bytes& b) { put32(b, 12, 64); }, Code::kHeaderInvalid);
  t->bytes(
      "header_bytes_long", [](Bytes& b) { put32(b, 12, 336); }, Code::kHeaderInvalid);
  t->stale(
      "header_bytes_huge", [](Bytes& b) { put32(b, 12, 0xffffffffu); }, Code::kHeaderInvalid);
  t->bytes(
      "file_bytes_less", [](Bytes& b) { put64(b, 16, b.size() - 1); }, Code::kHeaderInvalid);
  t->bytes(
      "file_bytes_more", [](Bytes& b) { put64(b, 16, b.size() + 1); }, Code::kTruncated);
  t->bytes(
      "file_bytes_huge", [](Bytes& b) { put64(b, 16, ~uint64_t{0}); }, Code::kTruncated);
  t->bytes(
      "bytes_behind_the_end", [](Bytes& b) { b.push_back(0); }, Code::kHeaderInvalid);
  t->bytes(
      "part_grown_over_the_end",
      [](Bytes& b) { put64(b, entry(3) + 16, get64(b, entry(3) + 16) + 1); }, Code::kHeaderInvalid);
  t->bytes(
      "segment_alignment_zero", [](Bytes& b) { put32(b, 24, 0); }, Code::kHeaderInvalid);
  t->bytes(
      "segment_alignment_eight", [](Bytes& b) { put32(b, 24, 8); }, Code::kHeaderInvalid);
  t->bytes(
      "segment_alignment_odd", [](Bytes& b) { put32(b, 24, 48); }, Code::kHeaderInvalid);
  t->bytes(
      "segment_alignment_huge", [](Bytes& b) { put32(b, 24, 0x80000000u); }, Code::kHeaderInvalid);
  t->bytes(
      "part_count_zero", [](Bytes& b) { put32(b, 28, 0); }, Code::kLimitExceeded);
  t->stale(
      "part_count_huge", [](Bytes& b) { put32(b, 28, 0xffffffffu); }, Code::kLimitExceeded);
  t->stale(
      "part_count_wraps", [](Bytes& b) { put32(b, 28, 0x4000001u), put32(b, 12, 128); },
      Code::kLimitExceeded);
  t->bytes(
      "part_kind_zero", [](Bytes& b) { put32(b, entry(1), 0); }, Code::kHeaderInvalid);
  t->bytes(
      "part_kind_unknown", [](Bytes& b) { put32(b, entry(1), 6); }, Code::kHeaderInvalid);
  t->bytes(
      "text_of_minor_one", [](Bytes& b) { put16(b, 10, 1), put32(b, entry(3), 7); },
      Code::kHeaderInvalid);
  t->bytes(
      "text_twice", [](Bytes& b) { put16(b, 10, 2), put32(b, entry(1), 7), put32(b, entry(3), 7); },
      Code::kHeaderInvalid);
  t->bytes(
      "part_kind_behind_text", [](Bytes& b) { put16(b, 10, 2), put32(b, entry(3), 8); },
      Code::kHeaderInvalid);
  t->bytes(
      "part_flags", [](Bytes& b) { put32(b, entry(1) + 4, 1); }, Code::kHeaderInvalid);
  t->bytes(
      "part_reserved", [](Bytes& b) { put64(b, entry(2) + 24, 1); }, Code::kHeaderInvalid);
  t->bytes(
      "part_in_the_header", [](Bytes& b) { put64(b, entry(0) + 8, 64); }, Code::kHeaderInvalid);
  t->bytes(
      "parts_overlap", [](Bytes& b) { put64(b, entry(1) + 8, get64(b, entry(0) + 8)); },
      Code::kHeaderInvalid);
  t->bytes(
      "part_unaligned", [](Bytes& b) { put64(b, entry(1) + 8, get64(b, entry(1) + 8) + 4); },
      Code::kHeaderInvalid);
  t->bytes(
      "part_leaves_a_gap", [](Bytes& b) { put64(b, entry(0) + 16, get64(b, entry(0) + 16) - 64); },
      Code::kHeaderInvalid);
  t->bytes(
      "part_bytes_overflow", [](Bytes& b) { put64(b, entry(2) + 16, ~uint64_t{0}); },
      Code::kHeaderInvalid);
  t->bytes(
      "part_offset_overflow", [](Bytes& b) { put64(b, entry(3) + 8, ~uint64_t{15}); },
      Code::kHeaderInvalid);
  t->bytes(
      "program_twice", [](Bytes& b) { put32(b, entry(3), 1); }, Code::kHeaderInvalid);
  t->bytes(
      "no_program", [](Bytes& b) { put32(b, entry(0), 4), put32(b, entry(3), 5); },
      Code::kHeaderInvalid);
  t->bytes(
      "metadata_twice", [](Bytes& b) { put32(b, entry(3), 2); }, Code::kHeaderInvalid);
  t->bytes(
      "weights_apart",
      [](Bytes& b) { put32(b, entry(1), 3), put32(b, entry(2), 2), put32(b, entry(3), 3); },
      Code::kHeaderInvalid);
  t->bytes(
      "program_of_zero_bytes",
      [](Bytes& b) {
        const uint64_t at = get64(b, entry(1) + 8);
        put64(b, entry(0) + 8, at), put64(b, entry(0) + 16, 0);
        put32(b, entry(0), 2), put32(b, entry(1), 1);
      },
      Code::kHeaderInvalid);
  t->stale(
      "header_hash", [](Bytes& b) { b[40] ^= 1; }, Code::kHashMismatch);
  t->stale(
      "program_hash", [](Bytes& b) { b[get64(b, entry(0) + 8) + 100] ^= 1; }, Code::kHashMismatch);
  t->bytes(
      "program_is_noise",
      [](Bytes& b) {
        for (uint64_t i = 0; i < get64(b, entry(0) + 16); i++)
          b[get64(b, entry(0) + 8) + i] = uint8_t(i * 37 + 11);
      },
      Code::kStructureInvalid);
  t->bytes(
      "program_is_zero",
      [](Bytes& b) { memset(b.data() + get64(b, entry(0) + 8), 0, get64(b, entry(0) + 16)); },
      Code::kStructureInvalid);
  t->bytes(
      "program_identifier", [](Bytes& b) { b[get64(b, entry(0) + 8) + 4] = 'X'; },
      Code::kStructureInvalid);
  t->bytes(
      "program_root_outside", [](Bytes& b) { put32(b, get64(b, entry(0) + 8), 0x7ffffff0u); },
      Code::kStructureInvalid);
  t->stale(
      "cut_in_the_magic", [](Bytes& b) { b.resize(5); }, Code::kNotIngot);
  t->stale(
      "empty", [](Bytes& b) { b.clear(); }, Code::kNotIngot);
  t->stale(
      "cut_in_the_header", [](Bytes& b) { b.resize(40); }, Code::kTruncated);
  t->stale(
      "cut_in_the_part_table", [](Bytes& b) { b.resize(100); }, Code::kTruncated);
  t->stale(
      "cut_in_the_program", [](Bytes& b) { b.resize(get64(b, entry(0) + 8) + 9); },
      Code::kTruncated);
}

}  // namespace ingot::test
