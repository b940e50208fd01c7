// SPDX-License-Identifier: Apache-2.0
// tests/support/scratch.h - files of a test: a folder of its own, and bytes to and from a path.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace ingot::test {

template <class Bytes = std::string>
Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}
inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The lowest `bytes` bytes of a number, the lowest first.
inline std::string little_endian(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; i++) out += char(value >> (8 * i));
  return out;
}

/// A folder of its own, removed with all that is in it.
struct Scratch {
  std::filesystem::path folder;
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "ingot_test_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder for temporary files");
    folder = name;
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string operator/(const std::string& name) const { return (folder / name).string(); }
  size_t count() const {
    return size_t(std::distance(std::filesystem::directory_iterator(folder), {}));
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    write_file(folder / name, bytes);
    return *this / name;
  }
};

}  // namespace ingot::test
