// SPDX-License-Identifier: Apache-2.0
// tools/compile/firmware/flash_image.cpp - see flash_image.h.
#include "tools/compile/firmware/flash_image.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"
#include "tools/files/failure.h"

namespace ingot::firmware {
namespace {

// places of constants in a part are multiples of 16, or of 64 where the file's parts are further
// apart
constexpr uint32_t kPartAlignment = 16, kMaxAlignment = 64, kHashAt = 32;

size_t aligned(size_t n, uint32_t alignment) { return (n + alignment - 1) / alignment * alignment; }

struct KeptPart {
  uint32_t entry;  // index in the file's table
  bool is_weights;
  size_t from, bytes;
};

}  // namespace

std::vector<uint8_t> flash_image(const std::vector<uint8_t>& file, const std::string& name) {
  const auto damaged = [&] {
    host::fail(host::Exit::kCorrupt, name + ": the table of parts is damaged; convert it again");
  };
  if (file.size() < kHeaderFixedBytes) damaged();
  const uint32_t parts = load_little<uint32_t>(&file[28]);
  std::vector<KeptPart> kept;
  for (uint32_t i = 0; i < parts; i++) {
    const size_t at = kHeaderFixedBytes + size_t{i} * kPartEntryBytes;
    if (at + kPartEntryBytes > file.size()) damaged();
    const PartKind kind = PartKind(load_little<uint32_t>(&file[at]));
    const uint64_t from = load_little<uint64_t>(&file[at + 8]),
                   bytes = load_little<uint64_t>(&file[at + 16]);
    if (from > file.size() || bytes > file.size() - from) damaged();
    if (kind == PartKind::kProgram || kind == PartKind::kWeights)
      kept.push_back({i, kind == PartKind::kWeights, size_t(from), size_t(bytes)});
  }
  const uint32_t alignment = std::min(load_little<uint32_t>(&file[24]), kMaxAlignment);
  const size_t header_bytes = kHeaderFixedBytes + kept.size() * kPartEntryBytes;
  std::vector<uint8_t> image(header_bytes);
  std::memcpy(image.data(), file.data(), kHeaderFixedBytes);
  for (size_t k = 0; k < kept.size(); k++) {
    image.resize(aligned(image.size(), kept[k].is_weights ? alignment : kPartAlignment));
    const size_t entry = kHeaderFixedBytes + k * kPartEntryBytes, start = image.size();
    std::memcpy(&image[entry], &file[kHeaderFixedBytes + size_t{kept[k].entry} * kPartEntryBytes],
                kPartEntryBytes);
    store_little<uint64_t>(&image[entry + 8], start);
    image.insert(image.end(), file.begin() + std::ptrdiff_t(kept[k].from),
                 file.begin() + std::ptrdiff_t(kept[k].from + kept[k].bytes));
  }
  store_little<uint32_t>(&image[12], uint32_t(header_bytes));
  store_little<uint64_t>(&image[16], image.size());
  store_little<uint32_t>(&image[24], alignment);
  store_little<uint32_t>(&image[28], uint32_t(kept.size()));
  std::memset(&image[kHashAt], 0, kSha256Bytes);
  uint8_t digest[kSha256Bytes];
  sha256(image.data(), header_bytes, digest);
  std::memcpy(&image[kHashAt], digest, sizeof digest);
  return image;
}

}  // namespace ingot::firmware
