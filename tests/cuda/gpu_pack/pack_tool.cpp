// tests/cuda/gpu_pack/pack_tool.cpp - what PACK/run needs beside a shell's own words: a clock, a
// limit of time, room on a disk, hashes of files, weights by seed.
//
//   pack_tool now                            seconds of a clock that only rises
//   pack_tool limit SECONDS COMMAND...       its exit status; 124 where the time was over
//   pack_tool make DIR MIB                   makes DIR; an error where less is free there
//   pack_tool copy FROM TO
//   pack_tool check PACK                     every file of PACK/manifest.tsv, whole
//   pack_tool seed TABLE OUT                 weights that seed_networks.py left out
// Errors   one line; exit 1: cannot be done, 2: damaged, 64: wrong words.
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/sha256.h"

namespace {

using Clock = std::chrono::steady_clock;

int fail(int code, const std::string& text) {
  std::fprintf(stderr, "pack: %s\n", text.c_str());
  return code;
}

/// In a process group of its own, so that what the command began ends with it.
int limit(long seconds, char** command) {
  const pid_t child = fork();
  if (child < 0) return fail(1, std::string("no process: ") + std::strerror(errno));
  if (child == 0) {
    setpgid(0, 0);
    execvp(command[0], command);
    _exit(fail(127, std::string(command[0]) + ": " + std::strerror(errno)));
  }
  setpgid(child, child);
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  bool asked = false;
  for (int status = 0;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      kill(-child, SIGKILL);
      if (asked) return 124;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    if (!asked && Clock::now() >= end) {
      kill(-child, SIGTERM);
      asked = true;
    } else if (asked && Clock::now() >= end + std::chrono::seconds(3)) {
      kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// With every folder above it.
int make(const std::string& folder, uint64_t mib) {
  for (size_t at = 1; at <= folder.size(); at++)
    if (at == folder.size() || folder[at] == '/')
      if (mkdir(folder.substr(0, at).c_str(), 0777) != 0 && errno != EEXIST)
        return fail(1,
                    folder + ": cannot be made: " + std::strerror(errno) + "; name another --out");
  struct statvfs disk = {};
  if (statvfs(folder.c_str(), &disk) != 0) return fail(1, folder + ": " + std::strerror(errno));
  const uint64_t free_mib = uint64_t(disk.f_bavail) * disk.f_frsize >> 20;
  if (free_mib < mib)
    return fail(1, folder + ": " + std::to_string(mib) + " MiB are needed, " +
                       std::to_string(free_mib) + " are free");
  return 0;
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
  if (what == "now" && argc == 2)
    return std::printf("%ld\n", long(std::chrono::duration_cast<std::chrono::seconds>(
                                         Clock::now().time_since_epoch())
                                         .count())),
           0;
  if (what == "limit" && argc > 3) return limit(std::atol(argv[2]), argv + 3);
  if (what == "make" && argc == 4) return make(argv[2], std::strtoull(argv[3], nullptr, 10));
  if (what == "copy" && argc == 4) return copy(argv[2], argv[3]);
  if (what == "check" && argc == 3) return check(argv[2]);
  if (what == "seed" && argc == 4) return seed(argv[2], argv[3]);
  return fail(64,
              "usage: pack_tool now | limit SECONDS COMMAND... | make DIR MIB | copy FROM TO | "
              "check PACK | seed TABLE OUT");
}
