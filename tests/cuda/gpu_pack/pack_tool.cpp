// SPDX-License-Identifier: Apache-2.0
// tests/cuda/gpu_pack/pack_tool.cpp - files of a pack: hashes, copies, weights by seed.
//
//   pack_tool copy FROM TO
//   pack_tool check PACK                     every file of PACK/manifest.tsv, whole
//   pack_tool seed TABLE OUT                 weights that seed_networks.py left out
// Errors   one line; exit 1: cannot be done, 2: damaged, 64: wrong words.
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/sha256.h"

namespace {

int fail(int code, const std::string& text) {
  std::fprintf(stderr, "pack: %s\n", text.c_str());
  return code;
}

/// "" or what is wrong with one file.
std::string wrong_with(const std::string& path, uint64_t bytes, const std::string& hash) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "is missing";
  const uint64_t found = uint64_t(file.tellg());
  if (found != bytes)
    return "expected " + std::to_string(bytes) + " bytes, found " + std::to_string(found);
  std::vector<char> all(bytes);
  file.seekg(0);
  file.read(all.data(), std::streamsize(bytes));
  uint8_t digest[ingot::kSha256Bytes];
  ingot::sha256(all.data(), all.size(), digest);
  char text[2 * ingot::kSha256Bytes + 1];
  for (size_t i = 0; i < sizeof digest; i++) std::snprintf(text + 2 * i, 3, "%02x", digest[i]);
  return hash == text ? "" : "has another SHA-256 than the manifest";
}

int check(const std::string& pack) {
  std::ifstream manifest(pack + "/manifest.tsv");
  if (!manifest) return fail(2, pack + "/manifest.tsv is missing: copy the pack again, whole");
  std::string line;
  int damaged = 0;
  bool ended = false;
  while (std::getline(manifest, line)) {
    std::istringstream words(line);
    std::string hash, path;
    uint64_t bytes = 0;
    if (line == "end") {
      ended = true;
    } else if (words >> hash >> bytes >> path) {
      const std::string wrong = wrong_with(pack + "/" + path, bytes, hash);
      if (wrong.empty()) continue;
      fail(2, path + " " + wrong);
      damaged++;
    }
  }
  if (!ended) return fail(2, "manifest.tsv is cut off: copy the pack again, whole");
  if (!damaged) return 0;
  return fail(2, std::to_string(damaged) + " files are damaged: copy the pack again, whole");
}

/// splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014).
struct Random {
  uint64_t state;
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Mean 0, deviation 1, within 3.5: a sum of four uniform numbers, exact in f32.
  float normal() {
    const uint64_t bits = (*this)();
    int sum = 0;
    for (int i = 0; i < 4; i++) sum += int(bits >> 16 * i & 0xffff) - 0x8000;
    return float(sum) * (1.0f / 65536) * 1.7320508f;
  }
};

/// Lines "offset count mean deviation" of f32 numbers, in the order of their offsets.
int seed(const char* table, const char* out) {
  std::ifstream rows(table);
  const std::string half = std::string(out) + ".tmp";
  std::ofstream file(half, std::ios::binary);
  if (!rows || !file) return fail(1, std::string(rows ? out : table) + ": cannot be opened");
  uint64_t offset = 0, count = 0, at = 0;
  float mean = 0, deviation = 0;
  std::vector<float> numbers;
  while (rows >> offset >> count >> mean >> deviation) {
    if (offset < at) return fail(2, std::string(table) + ": offsets do not rise");
    Random random{offset + 1};
    numbers.resize(count);
    for (float& x : numbers) x = mean + deviation * random.normal();
    file.seekp(std::streamoff(offset));
    file.write(reinterpret_cast<const char*>(numbers.data()), std::streamsize(count * 4));
    at = offset + count * 4;
  }
  file.close();
  if (!file || std::rename(half.c_str(), out) != 0)
    return fail(1, std::string(out) + ": not written whole: is the disk full?");
  return 0;
}

int copy(const char* from, const char* to) {
  std::ifstream source(from, std::ios::binary);
  std::ofstream target(to, std::ios::binary);
  target << source.rdbuf();
  target.close();
  return source && target ? 0 : fail(1, std::string(to) + ": not written whole");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "copy" && argc == 4) return copy(argv[2], argv[3]);
  if (what == "check" && argc == 3) return check(argv[2]);
  if (what == "seed" && argc == 4) return seed(argv[2], argv[3]);
  return fail(64,
              "usage: pack_tool now | limit SECONDS COMMAND... | make DIR MIB | copy FROM TO | "
              "check PACK | seed TABLE OUT");
}
