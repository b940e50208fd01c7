// SPDX-License-Identifier: Apache-2.0
// What a microcontroller's core accepts, the whole runtime accepts: on every committed file, on
// every case of the refuse table and on programs with changed bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "tests/micro/exact_memory.h"
#include "tests/micro/planned.h"
#include "tests/support/scratch.h"

using namespace ingot;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

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
                                        "attention_batches_without_the_feature",
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
    const Bytes bytes = read_file<Bytes>(entry.path());
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

namespace {

/// x, then `count` values that each overwrite the one before, then y. Or each with storage and an
/// output of its own, all alive to the end.
convert::FileSpec in_place_chain(int count) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  int32_t last = p.add_value(input("x", {16}));
  for (int i = 0; i < count; i++) {
    convert::ValueSpec v = activation("v" + std::to_string(i), {16});
    const int32_t next = p.add_value(i == 0 ? v : in_place_of(v, last));
    p.add_instruction(step(ElementwiseOp::kRelu), {last}, {next});
    last = next;
  }
  p.add_instruction(step(ElementwiseOp::kRelu), {last}, {p.add_value(output("y", {16}))});
  add_ports(&file);
  return with_plan(std::move(file));
}
convert::FileSpec many_outputs(int count) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {16}));
  for (int i = 0; i < count; i++)
    p.add_instruction(step(ElementwiseOp::kRelu), {x},
                      {p.add_value(output("y" + std::to_string(i), {16}))});
  add_ports(&file);
  return with_plan(std::move(file));
}

struct Calls {
  uint64_t count = 0, most = UINT64_MAX;
};
int32_t count_call(void* user, uint32_t) {
  Calls& calls = *static_cast<Calls*>(user);
  return ++calls.count > calls.most;
}
Code open_watched(const Bytes& bytes, Calls* calls) {
  const ExactMemory image(bytes), arena(kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  const auto* rows = reinterpret_cast<const ingot_micro_kernels*>(&firmware::scalar_rows());
  return Code(ingot_micro_open_watched(&model, image.data(), bytes.size(), rows, arena.data(),
                                       kAmpleArena, 0, count_call, calls, &error));
}

}  // namespace

TEST_CASE("micro: opening takes work in proportion to the file, and the hook sees all of it") {
  for (const auto make : {in_place_chain, many_outputs}) {
    double least = 1e9, most = 0;
    for (const int count : {60, 120, 240}) {
      CAPTURE(count);
      const Bytes file = convert::write_memory(make(count));
      Calls calls;
      CHECK(open_watched(file, &calls) == Code::kOk);
      const double each = double(calls.count) / double(file.size());
      least = std::min(least, each), most = std::max(most, each);
    }
    CHECK(least > 0);
    CHECK(most < 1.6 * least);
    CHECK(most * 256 < 2);  // units a byte
  }
}

TEST_CASE("micro: a chain of aliases is bounded, and refused by its name at once") {
  Calls calls;
  const Bytes file = convert::write_memory(in_place_chain(400));
  CHECK(open_watched(file, &calls) == Code::kLimitExceeded);
  CHECK(calls.count * 256 < 2 * file.size());
  CHECK(open_watched(convert::write_memory(in_place_chain(250)), &calls) == Code::kOk);
}

TEST_CASE("micro: the hook ends the opening wherever it is") {
  const Bytes file = convert::write_memory(in_place_chain(200));
  Calls all;
  REQUIRE(open_watched(file, &all) == Code::kOk);
  REQUIRE(all.count > 10);
  for (uint64_t most = 0; most < all.count; most++) {
    Calls calls{0, most};
    CHECK(open_watched(file, &calls) == Code::kCancelled);
    CHECK(calls.count == most + 1);
  }
}
