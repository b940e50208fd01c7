// SPDX-License-Identifier: Apache-2.0
// A microcontroller's core gives the bits of the whole runtime, in the arena that it asked for and
// not a byte less.
#include <doctest/doctest.h>

#include "ingot/ingot.h"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/micro/exact_memory.h"
#include "tests/micro/planned.h"
#include "tools/compile/firmware/flash_image.h"

using namespace ingot;
using namespace ingot::test;

namespace {

void fill(void* to, uint64_t bytes, uint64_t seed) {
  // bytes of small floats and of any integers
  for (uint64_t i = 0; i < bytes; i++)
    static_cast<uint8_t*>(to)[i] = i % 4 == 3 ? 0x3e : uint8_t((i * 37 + seed * 11) % 251);
}

using Outputs = std::vector<std::vector<uint8_t>>;

/// False: no session is made. `code`: of its run.
bool run_whole(const Bytes& file, Outputs* out, int32_t* code) {
  const ExactMemory image(file);
  ingot_error error = {};
  ingot_open_options open = INGOT_INIT(ingot_open_options);
  open.kernels = reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar"));
  ingot_model* model = nullptr;
  if (ingot_model_open_memory(image.data(), file.size(), &open, &model, &error)) return false;
  ingot_session_options options = INGOT_INIT(ingot_session_options);
  options.threads = 1;
  ingot_session* session = nullptr;
  const bool made = ingot_session_create(model, &options, &session, &error) == INGOT_OK;
  if (made) {
    ingot_tensor t = {};
    for (uint32_t i = 0; ingot_session_input(session, i, &t) == INGOT_OK; i++)
      fill(t.data, t.bytes, i);
    *code = ingot_session_run(session, &error);
    for (uint32_t i = 0; ingot_session_output(session, i, &t) == INGOT_OK; i++)
      out->emplace_back(static_cast<uint8_t*>(t.data), static_cast<uint8_t*>(t.data) + t.bytes);
    ingot_session_destroy(session);
  }
  ingot_model_destroy(model);
  return made;
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
    Outputs expected;
    int32_t code = 0;
    if (!run_whole(file, &expected, &code)) continue;
    ingot_micro_tensor t;
    for (int again = 0; again < 2; again++) {
      for (uint32_t i = 0; ingot_micro_input(&model, i, &t) == 0; i++) fill(t.data, t.bytes, i);
      CHECK(ingot_micro_run(&model, nullptr, nullptr, &error) == code);
      for (uint32_t i = 0; code == 0 && i < expected.size(); i++) {
        REQUIRE(ingot_micro_output(&model, i, &t) == 0);
        REQUIRE(t.bytes == expected[i].size());
        CHECK(std::memcmp(t.data, expected[i].data(), t.bytes) == 0);
      }
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
