// SPDX-License-Identifier: Apache-2.0
// Networks computed in patches: the bits of the whole, in the arena that is reported, on hosts and
// in a microcontroller's core.
#include "tools/compile/patches/patches.h"

#include <doctest/doctest.h>

#include "tests/compile/core_graph.h"
#include "tests/compile/interpreter.h"
#include "tests/micro/exact_memory.h"
#include "tools/compile/convert/convert.h"
#include "tools/compile/firmware/flash_image.h"
#include "tools/compile/lower/lower.h"
#include "tools/compile/patches/candidates.h"
#include "tools/compile/patches/region.h"

namespace ingot::convert {
namespace {

LoweredProgram lowered_of(const CoreGraph& graph) {
  ConvertOptions options;
  options.winograd = WinogradMode::kOff;
  ConversionReport ignored;
  return lower(graph.model, options, &ignored);
}

ValueId max_pool(CoreGraph& g, ValueId x) {
  const Dims in = g.model.values[size_t(x)].dims;
  return g.node(op::Pool2d, {x},
                {in[0], (in[1] + graph::Dim(1)) / graph::Dim(2),
                 (in[2] + graph::Dim(1)) / graph::Dim(2), in[3]},
                {{attr::kernel_shape, std::vector<int64_t>{3, 3}},
                 {attr::strides, std::vector<int64_t>{2, 2}},
                 {attr::pads, std::vector<int64_t>{1, 1, 1, 1}},
                 {attr::kind, std::string("max")}});
}

/// A stem, a residual block with a depthwise layer, a pool: 21 x 18 images, of odd extents.
CoreGraph residual_network() {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 21, 18, 3}), stem = g.conv(x, 16, 3),
                wide = g.conv(stem, 16, 3, 1, "relu", -1, "depthwise"),
                sum = g.add_to(g.conv(wide, 16, 1, 1, "none"), stem),
                joined = g.concat({sum, g.relu(wide)}, 3);
  g.output(g.conv(max_pool(g, g.relu(joined)), 5, 3, 2));
  return g;
}

/// Layers of bytes whose images shrink: the first take nearly all of the arena.
CoreGraph network_of_bytes() {
  CoreGraph g(3);
  ValueId x = g.input("x", {1, 32, 32, 1}, DType::kU8);
  x = g.conv_of_bytes(x, 16, 3);
  x = g.conv_of_bytes(x, 16, 3, 2, "depthwise");
  x = g.conv_of_bytes(x, 16, 1);
  x = g.conv_of_bytes(x, 16, 3, 2, "depthwise");
  g.output(g.conv_of_bytes(x, 16, 1));
  return g;
}

Tensors expected_of(const LoweredProgram& lowered, uint32_t seed) {
  return run_lowered(lowered, {}, random_inputs(lowered, {}, seed));
}

ConversionResult converted(const CoreGraph& graph, double max_work) {
  ConvertOptions options;
  options.targets = {"mcu"}, options.winograd = WinogradMode::kOff;
  options.min_ram = {max_work > 0, max_work}, options.for_core = true;
  graph::Model copy = graph.model;
  return convert_model(std::move(copy), options);
}

/// Outputs of a microcontroller's core in exactly the arena that it asks for.
std::vector<uint8_t> run_on_core(const std::vector<uint8_t>& file, const Tensors& inputs,
                                 uint32_t* arena_bytes) {
  const std::vector<uint8_t> flash = firmware::flash_image(file, "test");
  const test::ExactMemory image(flash), ample(test::kAmpleArena);
  ingot_micro model;
  ingot_micro_error error = {};
  const int32_t code =
      test::open_micro(image, flash.size(), ample, test::kAmpleArena, &model, &error);
  CAPTURE(error.what);
  CAPTURE(error.index);
  REQUIRE(code == 0);
  *arena_bytes = ingot_micro_arena_bytes(&model);
  const test::ExactMemory arena(*arena_bytes);
  CHECK(test::open_micro(image, flash.size(), arena, *arena_bytes - 1, &model, &error) == 40);
  REQUIRE(test::open_micro(image, flash.size(), arena, *arena_bytes, &model, &error) == 0);
  ingot_micro_tensor tensor;
  REQUIRE(ingot_micro_input(&model, 0, &tensor) == 0);
  std::memcpy(tensor.data, inputs.begin()->second.data(), tensor.bytes);
  REQUIRE(ingot_micro_run(&model, nullptr, nullptr, &error) == 0);
  REQUIRE(ingot_micro_output(&model, 0, &tensor) == 0);
  const auto* const bytes = static_cast<const uint8_t*>(tensor.data);
  return {bytes, bytes + tensor.bytes};
}

}  // namespace

TEST_CASE("patches: windows reach over edges, strides and dilations as worked out by hand") {
  LoweredInstruction instruction;
  QuantizedConv2dAttributes a;
  a.kernel_h = 3, a.stride_h = 2, a.pad_top = 1, a.pad_bottom = 1;
  a.kernel_w = 3, a.dilation_w = 2, a.pad_left = 2, a.pad_right = 2;
  instruction.attributes = a;
  const Area x{{0, 10}, {0, 8}};  // y is 5 x 8
  struct Case {
    Area y, reads;
    Pads pads;
  };
  const Case cases[] = {{{{0, 2}, {0, 1}}, {{0, 4}, {0, 3}}, {1, 2, 0, 0}},
                        {{{2, 3}, {3, 5}}, {{3, 6}, {1, 7}}, {0, 0, 0, 0}},
                        {{{4, 5}, {7, 8}}, {{7, 10}, {5, 8}}, {0, 0, 0, 2}},
                        {{{0, 5}, {0, 8}}, {{0, 10}, {0, 8}}, {1, 2, 0, 2}}};
  for (const Case& c : cases) {
    Pads pads;
    const auto reads = window_area(instruction, x, c.y, &pads);
    REQUIRE(reads);
    CHECK(*reads == c.reads);
    CHECK(pads.top == c.pads.top);
    CHECK(pads.left == c.pads.left);
    CHECK(pads.bottom == c.pads.bottom);
    CHECK(pads.right == c.pads.right);
  }
  a.pad_top = 4;  // the first window lies in the pads alone
  instruction.attributes = a;
  CHECK_FALSE(window_area(instruction, x, {{0, 1}, {0, 1}}, nullptr));
}

TEST_CASE("patches: regions and grids give the bits of the whole") {
  for (const CoreGraph& graph : {residual_network(), network_of_bytes()}) {
    const LoweredProgram whole = lowered_of(graph);
    const Tensors expected = expected_of(whole, 7);
    size_t tried = 0;
    for (uint32_t fullest = 0; fullest < whole.subprograms[0].instructions.size(); fullest++)
      for (const PatchCandidate& candidate : find_candidates(whole, fullest, 1e9)) {
        if (tried++ % 61 != 0) continue;
        CAPTURE(candidate.region.first);
        CAPTURE(candidate.region.last);
        CAPTURE(candidate.grid.rows);
        CAPTURE(candidate.grid.columns);
        LoweredProgram patched = whole;
        compute_in_patches(&patched, candidate.region, candidate.grid);
        check_lowered(patched, false);
        REQUIRE(expected_of(patched, 7) == expected);
      }
    CHECK(tried > 100);
  }
}

TEST_CASE("patches: a branch that is read behind the region is no part of one") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 8, 8, 2}), a = g.conv(x, 2, 3), b = g.conv(a, 2, 3);
  g.output(g.add_to(g.conv(b, 2, 3), a));
  g.output(b);
  for (const PatchCandidate& candidate : find_candidates(lowered_of(g), 1, 1e9)) {
    CHECK(candidate.region.first == 0);  // a is read behind b
    CHECK(candidate.region.last == 1);   // b is an output
  }
}

TEST_CASE("patches: --min-ram takes the arena that it says, with the bits of the whole") {
  for (const CoreGraph& graph : {residual_network(), network_of_bytes()}) {
    const ConversionResult whole = converted(graph, 0), least = converted(graph, 2);
    const MinimumRamReport& said = least.report.min_ram;
    CHECK(said.regions.size() >= 1);
    CHECK(said.work <= 2 * said.whole_work);
    CHECK(said.bytes < said.whole_bytes);
    const LoweredProgram lowered = lowered_of(graph);
    uint32_t whole_bytes = 0, bytes = 0;
    for (uint32_t seed = 0; seed < 3; seed++) {
      const Tensors inputs = random_inputs(lowered, {}, seed);
      const auto expected = run_on_core(write_memory(whole.file), inputs, &whole_bytes);
      CHECK(run_on_core(write_memory(least.file), inputs, &bytes) == expected);
    }
    CHECK(bytes == said.bytes);
    CHECK(whole_bytes == said.whole_bytes);
  }
}

TEST_CASE("patches: no more work than --max-work allows, and a note where nothing is won") {
  CHECK(converted(network_of_bytes(), 2).report.min_ram.work >
        converted(network_of_bytes(), 1.1).report.min_ram.work);
  CoreGraph g;  // one layer: input and output are all of the arena
  g.output(g.relu(g.input("x", {1, 8, 8, 2})));
  const ConversionResult result = converted(g, 2);
  CHECK(result.report.min_ram.regions.empty());
  REQUIRE_FALSE(result.report.notes.empty());
  CHECK(result.report.notes.back().find("no patches make the arena smaller") != std::string::npos);
}

}  // namespace ingot::convert
