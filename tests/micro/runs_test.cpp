// SPDX-License-Identifier: Apache-2.0
// A microcontroller's core gives the bits of the whole runtime, in the arena that it asked for and
// not a byte less.
#include <doctest/doctest.h>

#include "tests/micro/planned.h"
#include "tests/micro/side_by_side.h"
#include "tools/compile/firmware/flash_image.h"

using namespace ingot;
using namespace ingot::test;

namespace {

void fill(void* to, uint64_t bytes, uint64_t seed) {
  // bytes of small floats and of any integers
  for (uint64_t i = 0; i < bytes; i++)
    static_cast<uint8_t*>(to)[i] = i % 4 == 3 ? 0x3e : uint8_t((i * 37 + seed * 11) % 251);
}

int32_t stop_at(void* user, uint32_t instruction) {
  return instruction >= *static_cast<uint32_t*>(user);
}

}  // namespace

TEST_CASE("micro: outputs are those of the whole runtime, in exactly the arena that it names") {
  int compared = 0;
  for (const AcceptedBase& base : planned_table().bases) {
    const Bytes file = convert::write_memory(base.make());
    CAPTURE(base.name);
    const ExactMemory image(file), ample(kAmpleArena);
    ingot_micro model;
    ingot_micro_error error;
    if (open_micro(image, file.size(), ample, kAmpleArena, &model, &error) != 0) continue;
    const uint32_t need = ingot_micro_arena_bytes(&model);
    const ExactMemory arena(need), less(need - 1);
    REQUIRE(open_micro(image, file.size(), arena, need, &model, &error) == 0);
    CHECK(ingot_micro_arena_bytes(&model) == need);
    CHECK(open_micro(image, file.size(), less, need - 1, &model, &error) ==
          int32_t(Code::kArenaTooSmall));
    CHECK(error.need == need);
    CHECK(error.have == need - 1);
    REQUIRE(open_micro(image, file.size(), arena, need, &model, &error) == 0);
    SideBySide both(file);
    if (!both.is_open()) continue;
    for (int again = 0; again < 2; again++) {
      for (uint64_t run = 0; run < 3; run++)
        CHECK(both.run([run](uint32_t i, void* to, uint64_t bytes) {
          fill(to, bytes, i + 5 * run);
        }) == "");
      CHECK(both.reset() == "");
    }
    compared++;
  }
  CHECK(compared >= 10);
}

TEST_CASE("micro: a hook ends a run before the instruction that it is called for") {
  const Bytes file = convert::write_memory(with_plan(small_network()));
  const ExactMemory image(file), arena(kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  REQUIRE(open_micro(image, file.size(), arena, kAmpleArena, &model, &error) == 0);
  uint32_t at = 1;
  CHECK(ingot_micro_run(&model, stop_at, &at, &error) == int32_t(Code::kCancelled));
  CHECK(error.index == 1);
  at = UINT32_MAX;
  CHECK(ingot_micro_run(&model, stop_at, &at, &error) == 0);
}

TEST_CASE("micro: what the caller gets wrong is named") {
  const Bytes file = convert::write_memory(with_plan(small_network()));
  const ExactMemory image(file), arena(kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  const auto* rows = reinterpret_cast<const ingot_micro_kernels*>(&firmware::scalar_rows());
  CHECK(ingot_micro_open(&model, image.data() + 4, file.size(), rows, arena.data(), kAmpleArena, 0,
                         &error) == int32_t(Code::kMisaligned));
  CHECK(error.need == 16);
  CHECK(error.have == 4);
  CHECK(ingot_micro_open(&model, image.data(), file.size(), rows, arena.data() + 32, kAmpleArena, 0,
                         &error) == int32_t(Code::kMisaligned));
  CHECK(error.need == 64);
  CHECK(ingot_micro_open(&model, image.data(), file.size(), nullptr, arena.data(), kAmpleArena, 0,
                         &error) == int32_t(Code::kInvalidArgument));
  // without the row of the convolution: its instruction and its number
  std::vector<micro::MicroKernel> rest;
  for (uint32_t i = 0; i < firmware::scalar_rows().count; i++)
    if (firmware::scalar_rows().rows[i].entry.op != OpCode::kConv2d)
      rest.push_back(firmware::scalar_rows().rows[i]);
  const micro::MicroKernelTable table = {rest.data(), uint32_t(rest.size())};
  CHECK(ingot_micro_open(&model, image.data(), file.size(),
                         reinterpret_cast<const ingot_micro_kernels*>(&table), arena.data(),
                         kAmpleArena, 0, &error) == int32_t(Code::kUnsupportedOperator));
  CHECK(error.index == 0);
  CHECK(error.need == uint32_t(OpCode::kConv2d));
}

TEST_CASE("micro: weights are held against their hashes when that is asked for") {
  const Bytes whole = convert::write_memory(with_plan(small_network()));
  Bytes file = firmware::flash_image(whole, "small");
  CHECK(file.size() < whole.size());  // without what only hosts read
  const ExactMemory arena(kAmpleArena);
  ingot_micro model;
  ingot_micro_error error;
  file.back() ^= 0xff;  // the last part is weights
  const ExactMemory image(file);
  CHECK(open_micro(image, file.size(), arena, kAmpleArena, &model, &error) == 0);
  CHECK(open_micro(image, file.size(), arena, kAmpleArena, &model, &error,
                   INGOT_MICRO_CHECK_WEIGHTS) == int32_t(Code::kHashMismatch));
}
