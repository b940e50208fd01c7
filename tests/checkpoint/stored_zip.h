// SPDX-License-Identifier: Apache-2.0
// tests/checkpoint/stored_zip.h - zip archives of stored members, made by hand so that a test can
// also make wrong ones.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ingot::test {

inline std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; i++) out += i < 8 ? char(value >> (8 * i)) : char(0);
  return out;
}

inline uint32_t crc_of(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= uint8_t(c);
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

inline std::string stored_zip(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string file, directory;
  for (const auto& [name, bytes] : members) {
    const std::string common = little(0, 2) + little(0, 2) + little(0, 2) + little(0x21, 2) +
                               little(crc_of(bytes), 4) + little(bytes.size(), 4) +
                               little(bytes.size(), 4) + little(name.size(), 2) + little(0, 2);
    directory += "PK\1\2" + little(20, 2) + little(20, 2) + common + little(0, 2) + little(0, 2) +
                 little(0, 2) + little(0, 4) + little(file.size(), 4) + name;
    file += "PK\3\4" + little(20, 2) + common + name + bytes;
  }
  const std::string end = "PK\5\6" + little(0, 4) + little(members.size(), 2) +
                          little(members.size(), 2) + little(directory.size(), 4) +
                          little(file.size(), 4) + little(0, 2);
  return file + directory + end;
}

}  // namespace ingot::test
