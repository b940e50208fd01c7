// What a microcontroller's core accepts, the whole runtime accepts: on every committed file, on
// every case of the refuse table and on programs with changed bytes.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tests/micro/exact_memory.h"
#include "tests/micro/planned.h"

using namespace ingot;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

Code open_code(const Bytes& bytes, ingot_micro_error* error = nullptr) {
  const ExactMemory image(bytes), arena(kAmpleArena);
  ingot_micro model;
  return Code(open_micro(image, bytes.size(), arena, kAmpleArena, &model, error));
}

/// A lone program of every accepted kind that the core takes.
std::map<std::string, Bytes> accepted_bases() {
  std::map<std::string, Bytes> files;
  for (const AcceptedBase& base : planned_table().bases) {
    Bytes bytes = convert::write_memory(base.make());
    if (open_code(bytes) == Code::kOk) files[base.name] = std::move(bytes);
  }
  return files;
}

}  // namespace

TEST_CASE("micro: files that open are those without symbols, branches, state and parts") {
  int opened = 0, refused = 0;
  for (const AcceptedBase& base : planned_table().bases) {
    CAPTURE(base.name);
    ingot_micro_error error = {};
    const Code code = open_code(convert::write_memory(base.make()), &error);
    CAPTURE(error.what);
    const bool for_hosts = code == Code::kUnsupportedFeature || code == Code::kUnsupportedOperator;
    CHECK((code == Code::kOk || for_hosts));
    (code == Code::kOk ? opened : refused)++;
  }
  CHECK(opened >= 10);
  CHECK(refused >= 5);
}

TEST_CASE("micro: every case of the refuse table is refused, with a plan or without") {
  // what nobody on a device reads: names, types of the source, the strings of features
  const std::set<std::string> unread = {"linear_quantized_without_the_feature",
                                        "attention_without_the_feature",
                                        "value_source_dtype_unknown",
                                        "port_input_name_twice",
                                        "port_input_name_empty",
                                        "port_input_name_with_zero",
                                        "port_input_name_long"};
  int same_code = 0;
  for (const RefuseCase& c : planned_table().cases) {
    CAPTURE(c.file_name());
    const Code code = open_code(c.make());
    CHECK((code == Code::kOk) == (unread.count(c.base + "_" + c.name) == 1));
    same_code += code == c.code;
  }
  CHECK(same_code > 200);
}

TEST_CASE("micro: every committed hostile file is refused") {
  int count = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(INGOT_SOURCE_DIR) / "tests/golden/refuse")) {
    if (entry.path().extension() != ".ingot") continue;
    const Bytes bytes = read_file(entry.path());
    CAPTURE(entry.path().string());
    CHECK(open_code(bytes) != Code::kOk);
    count++;
  }
  CHECK(count > 600);
}

TEST_CASE("micro: a changed byte of a program never gives what the whole runtime refuses") {
  int accepted = 0, refused = 0;
  for (const auto& base_file : accepted_bases()) {
    const std::string& name = base_file.first;
    const Bytes& file = base_file.second;
    const Opened base = open_bytes(file);
    if (!base.status.ok() || base.file.program_bytes > 2000) continue;
    for (uint64_t at = base.file.program_offset;
         at < base.file.program_offset + base.file.program_bytes; at++)
      for (const uint8_t to : {uint8_t(file[at] ^ 1), uint8_t(file[at] ^ 0x80), uint8_t(0xff)}) {
        if (to == file[at]) continue;
        Bytes changed = file;
        changed[at] = to;
        rehash(&changed);
        CAPTURE(name);
        CAPTURE(at);
        CAPTURE(int(to));
        ingot_micro_error error;
        if (open_code(changed, &error) != Code::kOk) {
          refused++;
          continue;
        }
        const Opened whole = open_bytes(changed);
        CAPTURE(whole.detail.field);
        // names, sources and the structure of what nobody on a device reads are not looked at
        const bool unread = whole.status.code() == Code::kStructureInvalid ||
                            whole.status.code() == Code::kMeaningInvalid;
        CHECK((whole.status.ok() || unread));
        accepted++;
      }
  }
  CHECK(accepted > 100);
  CHECK(refused > 1000);
}

TEST_CASE("micro: cut off at every length") {
  const auto files = accepted_bases();
  REQUIRE_FALSE(files.empty());
  const Bytes& file = files.begin()->second;
  for (size_t n = 0; n < file.size(); n++) {
    CAPTURE(n);
    const Code code = open_code(Bytes(file.begin(), file.begin() + std::ptrdiff_t(n)));
    CHECK((code == Code::kTruncated || code == Code::kNotIngot));
  }
}
