// SPDX-License-Identifier: Apache-2.0
// State in a microcontroller's core: kept from run to run and reset with the bits of the whole
// runtime, in every way that a program can write it; what is wrong with it is refused.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/micro/planned.h"
#include "tests/micro/side_by_side.h"

using namespace ingot;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

convert::ValueSpec state(const std::string& name, std::vector<Dim> dims,
                         DType dtype = DType::kF32) {
  convert::ValueSpec v = activation(name, std::move(dims), dtype);
  v.kind = ValueKind::kState;
  return v;
}
SliceAttributes slice_from(int64_t start) {
  SliceAttributes a;
  a.rank = 1, a.starts[0] = start;
  return a;
}
convert::FileSpec flash_file() {
  convert::FileSpec f;
  f.segment_alignment = 16;
  return f;
}
convert::FileSpec finished(convert::FileSpec f) {
  add_ports(&f);
  return with_plan(std::move(f));
}

/// s = s + x in place, y = -s.
convert::FileSpec sum_in_place() {
  convert::FileSpec f = flash_file();
  ProgramSpec& p = f.program;
  p.add_value(input("x", {4}));                       // 0
  p.add_value(state("s", {4}));                       // 1
  p.add_value(constant("init", {4}));                 // 2
  p.add_value(in_place_of(activation("t", {4}), 1));  // 3
  p.add_value(output("y", {4}));                      // 4
  p.add_instruction(step(ElementwiseOp::kAdd), {1, 0}, {3});
  p.add_instruction(step(ElementwiseOp::kNeg), {3}, {4});
  p.states.push_back({"s", 1, 2, -1, -1});
  return finished(std::move(f));
}

/// y = s + x, copied to s.
convert::FileSpec copied_back() {
  convert::FileSpec f = flash_file();
  ProgramSpec& p = f.program;
  p.add_value(input("x", {4}));   // 0
  p.add_value(state("s", {4}));   // 1
  p.add_value(output("y", {4}));  // 2
  p.add_instruction(step(ElementwiseOp::kAdd), {1, 0}, {2});
  p.add_instruction(CopyAttributes(), {2}, {1});
  p.states.push_back({"s", 1, -1, 0, 0});
  return finished(std::move(f));
}

/// s = s[2:] and x behind it, written through views; y = all of s.
convert::FileSpec shift_register(DType dtype) {
  convert::FileSpec f = flash_file();
  ProgramSpec& p = f.program;
  p.add_value(input("x", {2}, dtype));                           // 0
  p.add_value(state("s", {6}, dtype));                           // 1
  p.add_value(constant("init", {6}, Packing::kDense, dtype));    // 2
  p.add_value(activation("tail", {4}, dtype));                   // 3
  p.add_value(view_of(activation("head", {4}, dtype), 1));       // 4
  p.add_value(view_of(activation("newest", {2}, dtype), 1, 4));  // 5
  p.add_value(output("y", {6}, dtype));                          // 6
  p.add_instruction(slice_from(2), {1}, {3});
  p.add_instruction(CopyAttributes(), {3}, {4});
  p.add_instruction(CopyAttributes(), {0}, {5});
  p.add_instruction(CopyAttributes(), {1}, {6});
  p.states.push_back({"s", 1, 2, -1, -1});
  return finished(std::move(f));
}

/// The output is the state itself.
convert::FileSpec output_in_state() {
  convert::FileSpec f = flash_file();
  ProgramSpec& p = f.program;
  p.add_value(input("x", {4}));                   // 0
  p.add_value(state("s", {4}));                   // 1
  p.add_value(in_place_of(output("y", {4}), 1));  // 2
  p.add_instruction(step(ElementwiseOp::kAdd), {1, 0}, {2});
  p.states.push_back({"s", 1, -1, -1, -1});
  return finished(std::move(f));
}

/// Two states that take each other's place, one that nothing touches, one without elements.
convert::FileSpec exchanged() {
  convert::FileSpec f = flash_file();
  ProgramSpec& p = f.program;
  p.add_value(input("x", {4}));            // 0
  p.add_value(state("a", {4}));            // 1
  p.add_value(state("b", {4}));            // 2
  p.add_value(activation("before", {4}));  // 3
  p.add_value(output("y", {4}));           // 4
  p.add_value(constant("init", {4}));      // 5
  p.add_value(state("untouched", {3}));    // 6
  p.add_value(state("empty", {0}));        // 7
  p.add_value(constant("other", {3}));     // 8
  p.add_instruction(CopyAttributes(), {1}, {3});
  p.add_instruction(step(ElementwiseOp::kAdd), {1, 0}, {4});
  p.add_instruction(CopyAttributes(), {2}, {1});
  p.add_instruction(step(ElementwiseOp::kAdd), {3, 0}, {2});
  p.states = {{"untouched", 6, 8, -1, -1},
              {"b", 2, -1, -1, -1},
              {"a", 1, 5, -1, -1},
              {"empty", 7, -1, -1, -1}};
  return finished(std::move(f));
}

struct Named {
  const char* name;
  convert::FileSpec file;
};
std::vector<Named> stateful_files() {
  return {{"sum_in_place", sum_in_place()},
          {"copied_back", copied_back()},
          {"shift_register f32", shift_register(DType::kF32)},
          {"shift_register i8", shift_register(DType::kI8)},
          {"output_in_state", output_in_state()},
          {"exchanged", exchanged()}};
}

FillInput numbers(uint64_t seed) {
  return [seed](uint32_t i, void* to, uint64_t bytes) {
    for (uint64_t k = 0; k < bytes; k++)
      static_cast<uint8_t*>(to)[k] = k % 4 == 3 ? 0x3e : uint8_t((k * 37 + (seed + i) * 59) % 251);
  };
}

Code open_code(const Bytes& bytes, ingot_micro_error* error = nullptr) {
  const ExactMemory image(bytes), arena(kAmpleArena);
  ingot_micro model;
  return Code(open_micro(image, bytes.size(), arena, kAmpleArena, &model, error));
}
Code open_code(const convert::FileSpec& file, ingot_micro_error* error = nullptr) {
  return open_code(convert::write_memory(file), error);
}

}  // namespace

TEST_CASE("state: runs in a row and after a reset have the bits of the whole runtime") {
  for (const Named& each : stateful_files()) {
    CAPTURE(each.name);
    SideBySide both(convert::write_memory(each.file));
    REQUIRE(both.is_open());
    const std::vector<uint8_t> fresh = both.states();
    REQUIRE_FALSE(fresh.empty());
    for (int pass = 0; pass < 3; pass++) {
      std::vector<uint8_t> before = fresh;
      for (uint64_t run = 0; run < 4; run++) {
        CHECK(both.run(numbers(7 * run)) == "");
        CHECK(both.states() != before);  // each run goes on from the one before
        before = both.states();
      }
      CHECK(both.reset() == "");
      CHECK(both.states() == fresh);
    }
    CHECK(both.has_moved());
  }
}

TEST_CASE("state: it starts as its constant, else as zeros, whatever the arena held") {
  const convert::FileSpec spec = exchanged();
  const auto& init = *spec.program.values[5].bytes.held;
  const Bytes file = convert::write_memory(spec);
  const ExactMemory image(file), arena(kAmpleArena);
  std::memset(arena.data(), 0xa5, kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  REQUIRE(open_micro(image, file.size(), arena, kAmpleArena, &model, &error) == 0);
  SideBySide both(file);
  const std::vector<uint8_t> states = both.states();  // untouched, b, a
  REQUIRE(states.size() == 12 + 16 + 16);
  CHECK(std::memcmp(states.data() + 12, std::vector<uint8_t>(16).data(), 16) == 0);
  CHECK(std::memcmp(states.data() + 28, init.data(), 16) == 0);
  // the core wrote the same into what was no zeros
  ingot_micro_tensor t;
  REQUIRE(ingot_micro_input(&model, 0, &t) == 0);
  std::memset(t.data, 0, t.bytes);
  REQUIRE(ingot_micro_run(&model, nullptr, nullptr, &error) == 0);
  REQUIRE(ingot_micro_output(&model, 0, &t) == 0);  // a + 0
  CHECK(std::memcmp(t.data, states.data() + 28, 16) == 0);
}

TEST_CASE("state: a reset changes nothing else, and a model without state has none to reset") {
  const Bytes file = convert::write_memory(sum_in_place());
  const ExactMemory image(file), arena(kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  REQUIRE(open_micro(image, file.size(), arena, kAmpleArena, &model, &error) == 0);
  const uint32_t bytes = ingot_micro_arena_bytes(&model);
  std::memset(arena.data(), 0x5a, bytes);
  CHECK(ingot_micro_reset_state(&model, &error) == 0);
  uint32_t changed = 0;
  for (uint32_t i = 0; i < bytes; i++) changed += arena.data()[i] != 0x5a;
  CHECK(changed <= 16);
  CHECK(changed > 0);
  CHECK(ingot_micro_reset_state(nullptr, &error) == int32_t(Code::kInvalidArgument));
  const Bytes plain = convert::write_memory(with_plan(small_network()));
  const ExactMemory small(plain);
  REQUIRE(open_micro(small, plain.size(), arena, kAmpleArena, &model, &error) == 0);
  CHECK(ingot_micro_reset_state(&model, nullptr) == 0);
}

TEST_CASE("state: a kernel table that keeps none refuses by name") {
  const Bytes file = convert::write_memory(sum_in_place());
  const ExactMemory image(file), arena(kAmpleArena);
  micro::MicroKernelTable table = firmware::scalar_rows();
  table.start_states = nullptr;
  const auto* rows = reinterpret_cast<const ingot_micro_kernels*>(&table);
  ingot_micro model;
  ingot_micro_error error;
  CHECK(ingot_micro_open(&model, image.data(), file.size(), rows, arena.data(), kAmpleArena, 0,
                         &error) == int32_t(Code::kUnsupportedFeature));
  CHECK(std::string(error.what).find("state") != std::string::npos);
  // a value of the kind that no variable names is none either
  convert::FileSpec unnamed = sum_in_place();
  unnamed.program.states.clear();
  const Bytes other = convert::write_memory(unnamed);
  const ExactMemory other_image(other);
  CHECK(ingot_micro_open(&model, other_image.data(), other.size(), rows, arena.data(), kAmpleArena,
                         0, &error) == int32_t(Code::kMeaningInvalid));
}

TEST_CASE("state: committed files with state open, or are refused by name") {
  int count = 0;
  for (const char* name : {"state", "symbolic_state", "recurrent"}) {
    CAPTURE(name);
    std::ifstream in(
        fs::path(INGOT_SOURCE_DIR) / "tests/golden/accept/v1" / (std::string(name) + ".ingot"),
        std::ios::binary);
    const Bytes bytes(std::istreambuf_iterator<char>(in), {});
    REQUIRE_FALSE(bytes.empty());
    ingot_micro_error error = {};
    const Code code = open_code(bytes, &error);
    CAPTURE(error.what);
    CHECK((code == Code::kUnsupportedFeature || code == Code::kUnsupportedOperator));
    count++;
  }
  CHECK(count == 3);
  // the same with a plan, and its extents bound
  for (const AcceptedBase& base : planned_table().bases) {
    if (base.name != "state" && base.name != "symbolic_state") continue;
    CAPTURE(base.name);
    convert::FileSpec file = base.make();
    for (convert::ValueSpec& value : file.program.values)
      for (Dim& dim : value.dims)
        if (dim < 0) dim = 2;
    file.program.symbols.clear(), file.program.dim_exprs.clear();
    SideBySide both(convert::write_memory(with_plan(std::move(file))));
    REQUIRE(both.is_open());
    for (uint64_t run = 0; run < 3; run++) CHECK(both.run(numbers(run)) == "");
    CHECK(both.reset() == "");
    count++;
  }
  CHECK(count == 5);
}

TEST_CASE("state: places in the plan are its own for all of the run") {
  ingot_micro_error error;
  // x of the first instruction and y of the last never live together; s lives with both
  for (const size_t other : {0, 4}) {
    convert::FileSpec file = sum_in_place();
    auto& offsets = file.program.plan->offsets;
    offsets[other] = offsets[1];
    CHECK(open_code(file, &error) == Code::kPlanInvalid);
  }
  convert::FileSpec untouched = exchanged();  // a state that no instruction has in its step
  untouched.program.plan->offsets[6] = untouched.program.plan->offsets[4];
  CHECK(open_code(untouched, &error) == Code::kPlanInvalid);
  convert::FileSpec shared = sum_in_place();
  shared.program.plan->offsets[4] = shared.program.plan->offsets[0];
  CHECK(open_code(shared, &error) == Code::kOk);
  for (const uint64_t place : {uint64_t{32}, uint64_t{1} << 20, kNoOffset}) {
    convert::FileSpec file = sum_in_place();
    file.program.plan->offsets[1] = place;
    CAPTURE(place);
    CHECK(open_code(file, &error) == Code::kPlanInvalid);
    CHECK(error.index == 1);
  }
}

TEST_CASE("state: what is read and written where is held against it") {
  const auto refused = [](const char* what, convert::FileSpec file) {
    CAPTURE(what);
    ingot_micro_error error;
    const Bytes bytes = convert::write_memory(with_plan(std::move(file)));
    CHECK(open_code(bytes, &error) == Code::kMeaningInvalid);
    CHECK_FALSE(open_bytes(bytes).status.ok());
  };
  convert::FileSpec f = sum_in_place();
  f.program.subprograms[0].instructions[1].inputs = {1};
  refused("the state is read after it was overwritten in place", f);
  f = shift_register(DType::kF32);
  f.program.subprograms[0].instructions[0] = {CopyAttributes(), {4}, {3}, {}, 1};
  refused("a part is read before it is written", f);
  f = shift_register(DType::kF32);
  f.program.values[4].dims = {5}, f.program.values[3].dims = {5};
  f.program.subprograms[0].instructions[0].attributes = slice_from(1);
  refused("parts overlap", f);
  f = copied_back();
  f.program.subprograms[0].instructions[0].outputs = {1};
  f.program.subprograms[0].instructions[1] = {CopyAttributes(), {1}, {2}, {}, 1};
  refused("an instruction writes what it reads", f);
  f = sum_in_place();
  f.program.values[1].alias = AliasKind::kView, f.program.values[1].alias_of = 0;
  refused("a state that lies in something else", f);
  for (const int32_t root : {0, 2}) {
    f = shift_register(DType::kF32);
    f.program.values[5] = view_of(activation("newest", {2}), root);
    refused("a view of an input or a constant is written", f);
  }
  f = exchanged();
  f.program.states[2].init = 8;
  refused("an initial value of another size", f);
  f = sum_in_place();
  f.program.values[1].row_stride = 4;
  refused("an initial value of rows that lie apart", f);
}

TEST_CASE("state: a reset stays in the image and the arena, whatever the flash says by then") {
  const Bytes file = convert::write_memory(exchanged());
  const Opened base = open_bytes(file);
  REQUIRE(base.status.ok());
  const ExactMemory image(file), ample(kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  REQUIRE(open_micro(image, file.size(), ample, kAmpleArena, &model, &error) == 0);
  const uint32_t bytes = ingot_micro_arena_bytes(&model);
  const ExactMemory arena(bytes);
  REQUIRE(open_micro(image, file.size(), arena, bytes, &model, &error) == 0);
  int failed = 0;
  for (uint64_t at = base.file.program_offset;
       at < base.file.program_offset + base.file.program_bytes; at++)
    for (const uint8_t flip : {1, 4, 0x80, 0xff}) {
      image.data()[at] = uint8_t(file[at] ^ flip);
      failed += ingot_micro_reset_state(&model, &error) != 0;
      image.data()[at] = file[at];
    }
  CHECK(failed > 50);
  CHECK(ingot_micro_reset_state(&model, &error) == 0);
}

TEST_CASE("state: changed programs are refused, or have the bits of the whole runtime") {
  int run = 0, refused = 0;
  for (const Named& each : stateful_files()) {
    const Bytes file = convert::write_memory(each.file);
    const Opened base = open_bytes(file);
    REQUIRE(base.status.ok());
    for (uint64_t at = base.file.program_offset;
         at < base.file.program_offset + base.file.program_bytes; at++)
      for (const uint8_t to : {uint8_t(file[at] ^ 1), uint8_t(file[at] ^ 4), uint8_t(0xff)}) {
        if (to == file[at]) continue;
        Bytes changed = file;
        changed[at] = to;
        rehash(&changed);
        CAPTURE(each.name);
        CAPTURE(at);
        CAPTURE(int(to));
        if (open_code(changed) != Code::kOk) {
          refused++;
          continue;
        }
        SideBySide both(changed);
        if (!both.is_open()) continue;  // names and the like, which nobody on a device reads
        for (uint64_t k = 0; k < 2; k++) CHECK(both.run(numbers(k)) == "");
        CHECK(both.reset() == "");
        run++;
      }
  }
  CHECK(run > 200);
  CHECK(refused > 1000);
}
