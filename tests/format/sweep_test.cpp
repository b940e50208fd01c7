// SPDX-License-Identifier: Apache-2.0
// Truncation at every byte and damage to every byte of small files: with hashes each is refused;
// without, nothing crashes.
#include <doctest/doctest.h>

#include "runtime/base/byte_order.h"
#include "tests/format/refuse_table.h"

using namespace ingot;
using namespace ingot::test;

namespace {

std::vector<Bytes> sweep_files() {
  std::vector<Bytes> files = {convert::write_memory(small_network()),
                              convert::write_memory(branching_network())};
  for (const AcceptedBase& base : refuse_table().bases)
    if (base.name == "view" || base.name == "chain" || base.name == "slice_symbolic" ||
        base.name == "stored")
      files.push_back(convert::write_memory(base.make()));
  return files;
}

/// The part that a byte lies in, or 0.
PartKind part_of(const Bytes& file, size_t at) {
  const uint32_t parts = load_little<uint32_t>(file.data() + 28);
  for (uint32_t i = 0; i < parts; i++) {
    const uint8_t* entry = file.data() + kHeaderFixedBytes + i * kPartEntryBytes;
    const uint64_t offset = load_little<uint64_t>(entry + 8),
                   bytes = load_little<uint64_t>(entry + 16);
    if (at >= offset && at - offset < bytes) return PartKind(load_little<uint32_t>(entry));
  }
  return PartKind(0);
}

}  // namespace

TEST_CASE("sweep: a file cut anywhere is refused") {
  for (const Bytes& file : sweep_files())
    for (size_t length = 0; length < file.size(); length++)
      for (const bool as_memory : {false, true}) {
        OpenWith how;
        how.as_memory = as_memory;
        const Code code =
            open_bytes(Bytes(file.begin(), file.begin() + long(length)), how).status.code();
        if (code != (length < 8 ? Code::kNotIngot : Code::kTruncated))
          FAIL_CHECK("length ", length, ": ", code_name(code));
      }
}

TEST_CASE(
    "sweep: with hashes every changed byte is refused; without, only bytes that cannot steer are "
    "let through") {
  const uint8_t changes[] = {0x01, 0x80, 0xff};
  for (const Bytes& file : sweep_files())
    for (size_t at = 0; at < file.size(); at++)
      for (const uint8_t change : changes) {
        Bytes damaged = file;
        damaged[at] ^= change;
        OpenWith how;
        how.hashes = true;
        if (open_bytes(damaged, how).status.ok())
          FAIL_CHECK("byte ", at, " of ", file.size(), " with hashes");
        how.hashes = false;
        const PartKind part = part_of(file, at);
        const bool steers =
            at < load_little<uint32_t>(file.data() + 12) || part == PartKind::kProgram;
        if (open_bytes(damaged, how).status.ok() == steers)
          FAIL_CHECK("byte ", at, " of ", file.size(), " without hashes");
      }
}

TEST_CASE("sweep: damage under correct hashes meets validation, which always ends with an answer") {
  const uint8_t changes[] = {0x01, 0x02, 0x10, 0x80, 0xff};
  size_t opened = 0, refused = 0;
  for (const Bytes& file : sweep_files()) {
    const uint64_t first = load_little<uint64_t>(file.data() + kHeaderFixedBytes + 8);
    const uint64_t count = load_little<uint64_t>(file.data() + kHeaderFixedBytes + 16);
    for (size_t at = 0; at < first + count; at++)
      for (const uint8_t change : changes) {
        if (at >= 32 && at < 64) continue;
        Bytes damaged = file;
        damaged[at] ^= change;
        if (at >= 12 && at < 16 && load_little<uint32_t>(damaged.data() + 12) > damaged.size())
          continue;  // nothing to hash
        if (at >= 28 && at < 32) continue;
        rehash(&damaged);
        (open_bytes(damaged).status.ok() ? opened : refused)++;
      }
  }
  MESSAGE(opened, " opened, ", refused, " refused");
  CHECK(refused > opened);
  CHECK(opened > 0);  // names and unused bits
}
