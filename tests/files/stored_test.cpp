// SPDX-License-Identifier: Apache-2.0
// The reader of builds without libzip: what numpy.savez writes, and nothing that it does not
// understand.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tools/files/failure.h"
#include "tools/files/npz/stored_archive.h"

using namespace ingot;
using namespace ingot::host;
namespace fs = std::filesystem;

namespace {

const fs::path kStoredData = INGOT_NPZ_DATA;

/// 0, or the exit code of the refusal.
int exit_of(const std::string& path, std::vector<Array>* out = nullptr) {
  try {
    std::vector<Array> read = read_stored_npz(path);
    if (out) *out = std::move(read);
    return 0;
  } catch (const Failure& failure) {
    CHECK(failure.message().find(path) == 0);
    return int(failure.exit());
  }
}

}  // namespace

TEST_CASE(
    "stored npz: the same arrays as libzip gives, and packed ones are refused with what to do") {
  const std::string path = (kStoredData / "sound_stored.npz").string();
  std::vector<Array> mine;
  REQUIRE(exit_of(path, &mine) == 0);
  CHECK(mine.size() == 42);
  CHECK(find_array(mine, "in:a/b")->as<int32_t>()[0] == 7);
  if (has_npz_reader()) {
    const std::vector<Array> theirs = read_npz(path);
    REQUIRE(theirs.size() == mine.size());
    for (size_t i = 0; i < mine.size(); i++) {
      CAPTURE(mine[i].name);
      CHECK(mine[i].name == theirs[i].name);
      CHECK(mine[i].dims == theirs[i].dims);
      CHECK(mine[i].bytes == theirs[i].bytes);
      CHECK(mine[i].text == theirs[i].text);
    }
  }
  CHECK(exit_of((kStoredData / "sound_deflated.npz").string()) == 4);
}

TEST_CASE(
    "stored npz: cut anywhere it is refused; a changed byte is refused or changes no element") {
  const fs::path path = fs::temp_directory_path() / "ingot_stored_test.npz";
  Array a;
  a.name = "x";
  a.dtype = DType::kF32;
  a.dims = {2, 3};
  a.bytes.assign(24, 7);
  write_npz(path.string(), {a});
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto spill = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  };
  for (size_t size = 1; size < bytes.size(); size++) {
    spill(bytes.substr(0, size));
    CAPTURE(size);
    CHECK(exit_of(path.string()) == 2);
  }
  int refused = 0;
  for (size_t at = 0; at < bytes.size(); at++)
    for (const int bit : {0, 3, 7}) {
      std::string changed = bytes;
      changed[at] = char(changed[at] ^ (1 << bit));
      spill(changed);
      std::vector<Array> read;
      if (exit_of(path.string(), &read)) {
        refused++;
        continue;
      }
      CAPTURE(at);
      if (!read.empty()) CHECK(read[0].bytes == a.bytes);
    }
  CHECK(refused > int(bytes.size()));
  fs::remove(path);
}
