// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/gpu_pack/archive.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ingot::pack {
namespace {

constexpr size_t kBlock = 512;

/// Of ustar; numbers are octal texts.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100],
      magic[6], version[2], rest[247];
};
static_assert(sizeof(Header) == kBlock, "");

unsigned sum_of(Header head) {
  std::memset(head.checksum, ' ', sizeof head.checksum);
  unsigned sum = 0;
  for (const char& c : std::string(reinterpret_cast<const char*>(&head), kBlock))
    sum += static_cast<unsigned char>(c);
  return sum;
}

}  // namespace

std::string make_archive(const Files& files) {
  std::string out;
  for (const auto& [name, content] : files) {
    Header head = {};
    std::snprintf(head.name, sizeof head.name, "%s", name.c_str());
    std::snprintf(head.mode, sizeof head.mode, "%07o", 0644u);
    std::snprintf(head.uid, sizeof head.uid, "%07o", 0u);
    std::snprintf(head.gid, sizeof head.gid, "%07o", 0u);
    std::snprintf(head.size, sizeof head.size, "%011lo",
                  static_cast<unsigned long>(content.size()));
    std::snprintf(head.mtime, sizeof head.mtime, "%011o", 0u);
    head.type = '0';
    std::memcpy(head.magic, "ustar", 6);
    std::memcpy(head.version, "00", 2);
    std::snprintf(head.checksum, sizeof head.checksum, "%06o", sum_of(head));
    head.checksum[7] = ' ';
    out.append(reinterpret_cast<const char*>(&head), kBlock);
    out += content;
    out.append((kBlock - content.size() % kBlock) % kBlock, '\0');
  }
  return out.append(2 * kBlock, '\0');
}

bool read_archive(const std::string& archive, Files* out) {
  for (size_t at = 0; at + kBlock <= archive.size();) {
    Header head;
    std::memcpy(&head, archive.data() + at, kBlock);
    if (!head.name[0]) return true;  // the end
    if (std::strtoul(head.checksum, nullptr, 8) != sum_of(head)) return false;
    const size_t size = std::strtoul(head.size, nullptr, 8);
    at += kBlock;
    if (size > archive.size() - at) return false;
    out->emplace_back(std::string(head.name, strnlen(head.name, sizeof head.name)),
                      archive.substr(at, size));
    at += (size + kBlock - 1) / kBlock * kBlock;
  }
  return false;
}

}  // namespace ingot::pack
