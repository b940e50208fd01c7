// SPDX-License-Identifier: Apache-2.0
// HDF5 and .keras: committed samples of every layout, files that lead elsewhere, damage at every
// place.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/sha256.h"
#include "tests/support/scratch.h"
#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"

using namespace ingot;
using namespace ingot::checkpoint;
using test::read_file;

namespace {

const std::string kFolder = std::string(INGOT_TEST_SOURCE) + "/keras/";

std::string sha256(const std::vector<uint8_t>& bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  uint8_t digest[32];
  hash.finish(digest);
  std::string text;
  for (const uint8_t byte : digest) {
    const char* const digits = "0123456789abcdef";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

host::Exit exit_of(const std::string& path) {
  try {
    const Checkpoint c = read_checkpoint(path);
    for (const Tensor& t : c.tensors) (void)tensor_bytes(t);
  } catch (const host::Failure& failure) {
    CHECK(failure.message().find('\n') == std::string::npos);
    return failure.exit();
  }
  return host::Exit::kOk;
}

}  // namespace

TEST_CASE("every layout of Keras, against h5py's own reading") {
  for (const char* name :
       {"small.keras", "small.h5", "small.weights.h5", "bf16.keras", "types.h5"}) {
    CAPTURE(name);
    const Checkpoint c = read_checkpoint(kFolder + name);
    const auto expected = nlohmann::json::parse(read_file(kFolder + name + ".json"));
    CHECK(c.tensors.size() == expected.size());
    for (const Tensor& t : c.tensors) {
      CAPTURE(path_text(t.path));
      REQUIRE(expected.contains(path_text(t.path)));
      const auto& want = expected[path_text(t.path)];
      CHECK(element_name(t.type) == want[0].get<std::string>());
      CHECK(t.dims == want[1].get<std::vector<int64_t>>());
      CHECK(sha256(tensor_bytes(t)) == want[2].get<std::string>());
    }
  }
}

TEST_CASE("what stands around the tensors") {
  for (const char* name : {"small.keras", "small.h5"}) {
    CAPTURE(name);
    bool configured = false, version = false;
    for (const Fact& fact : read_checkpoint(kFolder + name).facts) {
      configured |= fact.path == Path{"model_config"};
      version |= fact.path == Path{"keras_version"};
    }
    CHECK(configured);
    CHECK(version);
  }
  const Checkpoint code = read_checkpoint(kFolder + "lambda.keras");
  REQUIRE(code.notes.size() == 1);
  CHECK(code.notes[0].find("Lambda layer 'twice'") == 0);
}

TEST_CASE("what leads out of the file is refused, unknown filters are named") {
  CHECK(exit_of(kFolder + "evil_external_link.h5") == host::Exit::kUnsafe);
  CHECK(exit_of(kFolder + "evil_external_storage.h5") == host::Exit::kUnsafe);
  CHECK(exit_of(kFolder + "evil_virtual.h5") == host::Exit::kUnsafe);
  CHECK(read_checkpoint(kFolder + "evil_circle.h5").notes.size() == 1);
  CHECK(exit_of(kFolder + "evil_huge.h5") == host::Exit::kCorrupt);
  CHECK(exit_of(kFolder + "filter_lzf.h5") == host::Exit::kUnsupported);
}

TEST_CASE("damage ends in data or in a refusal") {
  const host::TemporaryPath file(".h5");
  size_t refused = 0;
  const auto attempt = [&](const std::string& bytes) {
    std::ofstream(file.path(), std::ios::binary) << bytes;
    const host::Exit exit = exit_of(file.path());
    CHECK(exit != host::Exit::kInternal);
    refused += exit != host::Exit::kOk;
  };
  for (const char* name : {"small.weights.h5", "types.h5", "small.keras"}) {
    const std::string whole = read_file(kFolder + name);
    REQUIRE(whole.size() > 1000);
    for (size_t cut = 9; cut < whole.size(); cut += 211) attempt(whole.substr(0, cut));
    for (size_t i = 8; i < whole.size(); i += 13) {
      std::string changed = whole;
      changed[i] = char(changed[i] ^ (1 << (i % 8)));
      attempt(changed);
    }
  }
  CHECK(refused > 250);
}
