// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstring>

#include "tests/format/small_files.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("open: a written file decodes to what was specified") {
  const convert::FileSpec spec = small_network();
  const std::vector<uint8_t> bytes = convert::write_memory(spec);
  for (const bool as_memory : {false, true}) {
    CAPTURE(as_memory);
    OpenWith how;
    how.as_memory = as_memory;
    how.hashes = true;
    const Opened o = open_bytes(bytes, how);
    CAPTURE(o.detail.field);
    CAPTURE(o.detail.name);
    REQUIRE(o.status.ok());
    CHECK(o.file.header.part_count == 4);
    CHECK(o.file.weight_part_count == 1);
    const ProgramDef& p = o.program;
    REQUIRE(p.values.size == spec.program.values.size());
    REQUIRE(p.instructions.size == 5);
    REQUIRE(p.steps.size == 5);
    CHECK(p.max_operands == 4);
    CHECK(std::string(p.values[0].name) == "x");
    CHECK(p.values[4].root == 3);
    CHECK(p.values[5].root == 3);
    CHECK(p.values[6].segment_offset == p.values[7].segment_offset);  // equal bytes are stored once
    CHECK(p.instructions[0].op == OpCode::kConv2d);
    const auto& conv = *static_cast<const Conv2dAttributes*>(p.instructions[0].attributes);
    CHECK(conv.kernel_h == 3);
    CHECK(conv.pad_right == 1);
    CHECK(p.instructions[0].source_count == 1);
    CHECK(o.bound.value_bytes[3] == 4 * 4 * 16 * 4);
    CHECK(o.bound.value_bytes[1] == 3 * 3 * 3 * 16 * 4);
    CHECK(std::string(p.outputs[0].layout) == "NHWC");
    CHECK(p.alignment == 64);
  }
}

TEST_CASE("open: branches lie behind their condition and expressions follow the binding") {
  const std::vector<uint8_t> bytes = convert::write_memory(branching_network());
  OpenWith how;
  how.symbol_values = {7};
  const Opened o = open_bytes(bytes, how);
  CAPTURE(o.detail.field);
  REQUIRE(o.status.ok());
  const auto steps = o.program.steps;
  REQUIRE(steps.size == 7);  // relu, neg, if, copy, jump, tanh, slice
  CHECK(steps[2].kind == StepKind::kIf);
  CHECK(steps[2].target == 5);
  CHECK(steps[4].kind == StepKind::kJump);
  CHECK(steps[4].target == 6);
  CHECK(value_type(o.program, o.bound, 6).dims[0] == 4);
  const auto& slice = *static_cast<const SliceAttributes*>(o.bound.attributes[3]);
  CHECK(slice.starts[0] == 3);
  CHECK(o.bound.root_offset[4] == 32);
  CHECK(o.bound.value_bytes[4] == (6 * 16 + 8) * 4);

  how.symbol_values = {65};
  CHECK(open_bytes(bytes, how).status.code() == Code::kDimensionOutOfBounds);
  how.symbol_values = {-1};
  const Opened unbound = open_bytes(bytes, how);
  CHECK(unbound.status.code() == Code::kUnboundDimension);
  CHECK(std::string(unbound.detail.name) == "N");
}

TEST_CASE("open: one byte of memory less than measured is refused with both numbers") {
  const std::vector<uint8_t> bytes = convert::write_memory(small_network());
  const Opened good = open_bytes(bytes);
  REQUIRE(good.status.ok());
  uint64_t need = 0;
  ErrorDetail detail;
  REQUIRE(measure_program(good.file, contract_table(), &need, &detail).ok());
  std::vector<uint64_t> block(need / 8 + 2);
  auto* memory = reinterpret_cast<uint8_t*>(block.data());
  ProgramDef program;
  CHECK(open_program(good.file, contract_table(), {memory, need - 1}, &program, &detail).code() ==
        Code::kArenaTooSmall);
  CHECK(detail.need == need);
  CHECK(detail.have == need - 1);
  CHECK(open_program(good.file, contract_table(), {memory, need}, &program, &detail).ok());
  const uint64_t bind_need = binding_bytes(good.program);
  std::vector<uint64_t> binding(bind_need / 8 + 2);
  BoundProgram bound;
  memory = reinterpret_cast<uint8_t*>(binding.data());
  CHECK(bind_program(good.program, {}, {memory, bind_need - 1}, &bound, &detail).code() ==
        Code::kArenaTooSmall);
  CHECK(bind_program(good.program, {}, {memory, bind_need}, &bound, &detail).ok());
}

TEST_CASE("open: an operator that the table lacks is refused with its name") {
  const std::vector<uint8_t> bytes = convert::write_memory(small_network());
  const Opened good = open_bytes(bytes);
  REQUIRE(good.status.ok());
  KernelTable table = contract_table();
  table.entry_count = 3;  // conv2d is there, elementwise is not
  std::vector<uint64_t> block(1 << 16);
  ProgramDef program;
  ErrorDetail detail;
  const Status status = open_program(
      good.file, table, {reinterpret_cast<uint8_t*>(block.data()), 8 << 16}, &program, &detail);
  CHECK(status.code() == Code::kUnsupportedOperator);
  CHECK(status.instruction() == 1);
  CHECK(std::string(detail.field) == "elementwise");
}

TEST_CASE("write: metadata and golden come back by part, with their hash compared") {
  const std::vector<uint8_t> bytes = convert::write_memory(small_network());
  const Opened o = open_bytes(bytes);
  REQUIRE(o.status.ok());
  REQUIRE(o.file.metadata_part == 1);
  REQUIRE(o.file.golden_part == 3);
  const PartEntry entry = file_part(o.file, 1);
  CHECK(memcmp(bytes.data() + entry.offset + 4, "INGM", 4) == 0);
}
