// SPDX-License-Identifier: Apache-2.0
// runtime/device/cuda/image_reader.cpp - reading the container of device code.
#include "runtime/device/cuda/image_reader.h"

#include <cstring>

#include "runtime/base/byte_order.h"
#include "runtime/base/sha256.h"
#include "runtime/device/cuda/lzma.h"

namespace ingot::cuda {
namespace {

constexpr char kMagic[] = "INGOTGPU";
constexpr size_t kHeaderBytes = 16, kEntryBytes = 64, kUnitBytes = 16, kDigestBytes = 16;
constexpr uint32_t kVersion = 2;
enum Packing : uint16_t { kStored = 0, kLzma = 1 };

}  // namespace

bool image_at(Span<const uint8_t> all, uint32_t index, ImageEntry* out) {
  if (all.size < kHeaderBytes || memcmp(all.data, kMagic, 8) != 0 ||
      load_little<uint32_t>(all.data + 8) != kVersion)
    return false;
  const uint32_t count = load_little<uint32_t>(all.data + 12);
  if (index >= count || count > (all.size - kHeaderBytes) / kEntryBytes) return false;
  const uint8_t* at = all.data + kHeaderBytes + size_t(index) * kEntryBytes;
  if (!memchr(at, 0, kUnitBytes)) return false;
  const uint32_t sm = load_little<uint32_t>(at + 16), compiler = load_little<uint32_t>(at + 20);
  const uint32_t offset = load_little<uint32_t>(at + 28), packed = load_little<uint32_t>(at + 32);
  const uint32_t unpacked = load_little<uint32_t>(at + 36), stream = load_little<uint32_t>(at + 40);
  const uint32_t first = load_little<uint32_t>(at + 44);
  if (offset < kHeaderBytes + count * kEntryBytes || offset > all.size ||
      packed > all.size - offset || stream > kMaxUnpackedBytes || first > stream ||
      unpacked > stream - first || sm > 9999 || compiler > 999999)
    return false;
  out->unit = reinterpret_cast<const char*>(at);
  out->sm = int(sm);
  out->compiler = int(compiler);
  out->os_abi = at[24];
  out->abi_version = at[25];
  out->packing = load_little<uint16_t>(at + 26);
  out->unpacked_bytes = unpacked;
  out->packed = {all.data + offset, packed};
  out->stream_bytes = stream;
  out->first = first;
  out->digest = at + 48;
  return true;
}

/// "Binary compatibility is supported only for the desktop. It is not supported for Tegra. Also,
/// the binary compatibility between desktop and Tegra is not supported." (CUDA C++ Programming
/// Guide, section Binary Compatibility)
bool is_tegra(int sm) {
  // Nano, TX2, Xavier, Orin, Thor (under two names)
  constexpr int kIntegrated[] = {53, 62, 72, 87, 101, 110};
  for (const int one : kIntegrated)
    if (one == sm) return true;
  return false;
}

bool image_runs_on(int built, int device) {
  if (built == device) return true;
  return built != 0 && built / 10 == device / 10 && built % 10 <= device % 10 && !is_tegra(built) &&
         !is_tegra(device);
}

bool driver_takes(const ImageEntry& entry, int driver) {
  return entry.compiler < 13000 || driver >= 13000;
}

bool find_image(Span<const uint8_t> all, const char* unit, int sm, ImageEntry* out, int driver) {
  bool found = false;
  ImageEntry entry;
  for (uint32_t i = 0; image_at(all, i, &entry); i++) {
    if (strcmp(entry.unit, unit) != 0 || !image_runs_on(entry.sm, sm) ||
        !driver_takes(entry, driver))
      continue;
    if (found && (entry.sm < out->sm || (entry.sm == out->sm && entry.compiler >= out->compiler)))
      continue;
    *out = entry;
    found = true;
  }
  return found;
}

const uint8_t* unpack_image(const ImageEntry& entry, uint8_t* out) {
  const size_t size = size_t(entry.stream_bytes);
  if (entry.packing == kStored) {
    if (entry.packed.size != size) return nullptr;
    if (size) memcpy(out, entry.packed.data, size);
  } else if (entry.packing != kLzma || !lzma_decode(entry.packed, out, size, true)) {
    return nullptr;
  }
  uint8_t digest[kSha256Bytes];
  sha256(out + entry.first, size_t(entry.unpacked_bytes), digest);
  return memcmp(digest, entry.digest, kDigestBytes) == 0 ? out + entry.first : nullptr;
}

}  // namespace ingot::cuda
