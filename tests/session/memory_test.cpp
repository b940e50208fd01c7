// SPDX-License-Identifier: Apache-2.0
// Promise 2: requirements are exact, one byte less is refused, a failed allocation anywhere at load
// leaves nothing behind.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "tests/session/counting_allocator.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

uint64_t sum(const ingot_requirements& r) {
  return r.weights_mapped + r.weights_copied + r.weights_widened + r.activations + r.state +
         r.scratch + r.tables + r.rounding;
}

struct Shape {
  const char* name;
  convert::FileSpec spec;
  std::vector<ingot_binding> bindings;
};
std::vector<Shape> shapes() {
  return {{"chain", chain_network(37), {}},
          {"state", counting_network(true), {}},
          {"lookup", lookup_network(), {}},
          {"in place", in_place_ports_network(), {}},
          {"branching 5", branching_network(), {{"N", 5}}},
          {"branching 64", branching_network(), {{"N", 64}}},
          {"stored as f16, in one part", stored_network(DType::kF16, false), {}},
          {"stored as bf16, a part apart", stored_network(DType::kBF16, true), {}}};
}

void fill_inputs(const Model& model, Session& session) {
  for (uint32_t i = 0; i < model.summary().input_count; i++) {
    const ingot_tensor tensor = session.input(i).value();
    std::memset(tensor.data,
                tensor.dtype == INGOT_F32    ? 0x3f
                : tensor.dtype == INGOT_BOOL ? 1
                                             : 0,
                tensor.bytes);
  }
}

}  // namespace

TEST_CASE(
    "requirements: exact in every form of the arena; one byte less is refused with both numbers") {
  for (const Shape& shape : shapes()) {
    TemporaryFile file(shape.spec);
    FileBytes bytes(shape.spec);
    for (bool from_path : {true, false}) {
      ingot_model* opened = nullptr;
      Error error;
      ingot_open_options open = open_options(oracle_table());
      if (from_path)
        ingot_model_open(file.path(), &open, &opened, &error);
      else
        ingot_model_open_memory(bytes.data(), bytes.size(), &open, &opened, &error);
      REQUIRE_MESSAGE(opened, error.text());
      const Model model(opened);
      for (const ingot_arena_kind kind :
           {INGOT_ARENA_OWN, INGOT_ARENA_CALLER, INGOT_ARENA_ALLOCATOR}) {
        for (const int32_t threads : {1, 3}) {
          CAPTURE(shape.name);
          CAPTURE(from_path);
          CAPTURE(kind);
          CAPTURE(threads);
          CountingAllocator counting;
          ingot_session_options options = session_options();
          options.threads = threads;
          options.bindings = shape.bindings.data();
          options.binding_count = shape.bindings.size();
          options.arena_kind = kind;
          options.allocator = kind == INGOT_ARENA_ALLOCATOR ? &counting.allocator : nullptr;
          options.flags = INGOT_POISON;
          const auto need = model.requirements(options);
          REQUIRE_MESSAGE(need.ok(), need.error().text());
          const ingot_requirements r = need.value();
          CHECK(sum(r) == r.arena_bytes);
          CHECK(r.threads == threads);
          CHECK((r.outside_bytes > 0) == (threads > 1));
          // What is only widened takes no part of the arena but as f32.
          const uint64_t placed =
              shape.spec.program.values[1].segment ? kPlainBytes : model.summary().weights_bytes;
          if (kind == INGOT_ARENA_OWN && from_path) CHECK(r.weights_mapped == placed);
          if (kind != INGOT_ARENA_OWN && from_path) CHECK(r.weights_copied == placed);
          CHECK(r.weights_widened ==
                (shape.spec.program.required_features.empty() ? 0 : kWidenedBytes));
          if (!from_path) CHECK(r.weights_in_place == model.summary().weights_bytes);
          AlignedBlock arena(r.arena_bytes, 64);
          options.arena = kind == INGOT_ARENA_CALLER ? arena.data() : nullptr;
          options.arena_bytes = r.arena_bytes - 1;
          const auto refused = model.session(options);
          CHECK(refused.error().code == INGOT_ARENA_TOO_SMALL);
          CHECK(refused.error().need == r.arena_bytes);
          CHECK(refused.error().have == r.arena_bytes - 1);
          options.arena_bytes = r.arena_bytes;
          auto session = model.session(options);
          REQUIRE_MESSAGE(session.ok(), session.error().text());
          const ingot_requirements kept = session->requirements();
          CHECK(std::memcmp(&r, &kept, sizeof r) == 0);
          fill_inputs(model, *session);
          const auto ran = session->run();
          REQUIRE_MESSAGE(ran.ok(), ran.error().text());
          ingot_touched touched = {};
          touched.size = sizeof touched;
          REQUIRE(ingot_session_touched(session->get(), &touched) == INGOT_OK);
          const uint64_t page = kind == INGOT_ARENA_OWN ? 4096 : 64;
          CHECK(touched.arena <= r.arena_bytes);
          CHECK(touched.arena + page > r.arena_bytes);
          CHECK(touched.activations + 64 > r.activations + r.state);
          CHECK(touched.tables + 64 > r.tables);
          ingot_memory_report report = {};
          report.size = sizeof report;
          REQUIRE(ingot_session_memory(session->get(), &report) == INGOT_OK);
          CHECK(report.held == r.arena_bytes + r.outside_bytes);
          session = Error(INGOT_NOT_FOUND);  // destroys it
          CHECK(counting.alive.empty());
        }
      }
    }
  }
}

TEST_CASE(
    "requirements: a caller's arena that is not aligned is refused, and null asks for the size "
    "only") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  ingot_session_options options = session_options();
  options.threads = 1;
  options.arena_kind = INGOT_ARENA_CALLER;
  const uint64_t need = model.requirements(options).value().arena_bytes;
  AlignedBlock arena(need + 64, 64);
  options.arena_bytes = need;
  CHECK(model.session(options).error().code == INGOT_INVALID_ARGUMENT);
  options.arena = arena.data() + 8;
  CHECK(model.session(options).error().code == INGOT_MISALIGNED);
}

TEST_CASE("load: every allocation fails once, is reported as such, and nothing leaks") {
  for (const Shape& shape : shapes()) {
    CAPTURE(shape.name);
    FileBytes bytes(shape.spec);
    const ingot_reader reader = bytes.reader();
    CountingAllocator counting;
    const auto load = [&](Error* error) -> bool {
      ingot_open_options open = open_options(oracle_table());
      open.allocator = &counting.allocator;
      ingot_model* opened = nullptr;
      if (ingot_model_open_reader(&reader, &open, &opened, error)) return false;
      const Model model(opened);
      ingot_session_options options = session_options();
      options.threads = 1;
      options.bindings = shape.bindings.data();
      options.binding_count = shape.bindings.size();
      options.arena_kind = INGOT_ARENA_ALLOCATOR;
      options.allocator = &counting.allocator;
      auto session = model.session(options);
      if (!session) {
        *error = session.error();
        return false;
      }
      fill_inputs(model, *session);
      return session->run().ok();
    };
    Error error;
    REQUIRE_MESSAGE(load(&error), error.text());
    const int total = counting.calls;
    CHECK(total == 5);  // four for the model, one for the arena
    CHECK(counting.alive.empty());
    for (int n = 1; n <= total; n++) {
      counting.calls = 0;
      counting.fail_at = n;
      CHECK_FALSE(load(&error));
      CHECK(error.code == INGOT_OUT_OF_MEMORY);
      CHECK(error.need > 0);
      CHECK(counting.alive.empty());
    }
  }
}

TEST_CASE("model: the caller's block holds it; one byte less is refused") {
  FileBytes bytes(chain_network());
  const ingot_reader reader = bytes.reader();
  AlignedBlock block(1 << 20, 64);
  ingot_open_options open = open_options(oracle_table());
  open.memory = block.data();
  open.memory_bytes = 1 << 20;
  ingot_model* opened = nullptr;
  Error error;
  REQUIRE(ingot_model_open_reader(&reader, &open, &opened, &error) == INGOT_OK);
  Model model(opened);
  const uint64_t held = model.summary().model_bytes;
  model = Model();
  open.memory_bytes = held;
  REQUIRE(ingot_model_open_reader(&reader, &open, &opened, &error) == INGOT_OK);
  model = Model(opened);
  CHECK(model.session().ok());
  model = Model();
  open.memory_bytes = held - 1;
  CHECK(ingot_model_open_reader(&reader, &open, &opened, &error) == INGOT_OUT_OF_MEMORY);
  CHECK(error.need == held);
  CHECK(error.have == held - 1);
}

TEST_CASE("session: keep_values gives every value bytes of its own, readable after a run") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  ingot_session_options options = session_options();
  options.threads = 1;
  auto plain = model.session(options);
  options.flags = INGOT_KEEP_VALUES;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  const std::vector<float> x = ramp(32);
  write(session->input(0), x);
  REQUIRE(session->run().ok());
  const auto value = [&](const char* name) {
    ingot_tensor tensor = {};
    Error error;
    const int32_t index = ingot_model_find_value(model.get(), name);
    REQUIRE(index >= 0);
    REQUIRE_MESSAGE(
        ingot_session_value(session->get(), uint32_t(index), &tensor, &error) == INGOT_OK,
        error.text());
    return read<float>(tensor);
  };
  for (size_t i = 0; i < 32; i++) {
    const float a = x[i] > 0 ? x[i] : 0;
    CHECK(value("x")[i] == x[i]);
    CHECK(value("a")[i] == a);
    CHECK(value("b")[i] == -a);
    CHECK(value("c")[i] == -a + float(i % 8));
  }
  ingot_tensor tensor;
  const uint32_t a = uint32_t(ingot_model_find_value(model.get(), "a"));
  CHECK(ingot_session_value(plain->get(), a, &tensor, nullptr) == INGOT_WRONG_STATE);
  CHECK(ingot_session_value(plain->get(), uint32_t(ingot_model_find_value(model.get(), "bias")),
                            &tensor, nullptr) == INGOT_OK);
  CHECK(ingot_session_value(plain->get(), 4711, &tensor, nullptr) == INGOT_NOT_FOUND);
}

TEST_CASE(
    "load: with trusted hashes, weights that changed after opening are refused when they are "
    "copied") {
  FileBytes bytes(chain_network());
  const ingot_reader reader = bytes.reader();
  ingot_open_options open = open_options(oracle_table());
  open.trust = INGOT_TRUST_HASHES;
  ingot_model* opened = nullptr;
  Error error;
  REQUIRE_MESSAGE(ingot_model_open_reader(&reader, &open, &opened, &error) == INGOT_OK,
                  error.text());
  const Model model(opened);
  CHECK(model.session().ok());
  // The bias holds 7.0f, whose bytes are found from the end of the file.
  const float seven = 7;
  uint8_t* at = bytes.data() + bytes.size() - 4;
  while (std::memcmp(at, &seven, 4) != 0) at--;
  at[2] ^= 1;
  CHECK(model.session().error().code == INGOT_HASH_MISMATCH);
  CHECK(ingot_model_verify_hashes(model.get(), &error) == INGOT_HASH_MISMATCH);
}

TEST_CASE("arena: huge pages and prefault change nothing but the layout's start") {
  TemporaryFile file(chain_network(2000));
  auto model = Model::open(file.path(), oracle_table());
  REQUIRE(model.ok());
  ingot_session_options options = session_options();
  options.threads = 1;
  options.flags = INGOT_HUGE_PAGES | INGOT_PREFAULT;
  const ingot_requirements need = model->requirements(options).value();
  CHECK(need.arena_alignment == 2u << 20);
  auto session = model->session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  write(session->input(0), ramp(16000));
  CHECK(session->run().ok());
}

TEST_CASE(
    "requirements: more than the machine has is refused before it is touched, with both numbers") {
  Shape shape{"branching", branching_network(), {{"N", int64_t{1} << 22}}};
  shape.spec.program.symbols[0].high = int64_t{1} << 24;
  TemporaryFile file(shape.spec);
  ingot_model* opened = nullptr;
  Error error;
  const ingot_open_options open = open_options(oracle_table());
  ingot_model_open(file.path(), &open, &opened, &error);
  REQUIRE_MESSAGE(opened, error.text());
  const Model model(opened);
  ingot_session_options options = session_options();
  options.bindings = shape.bindings.data();
  options.binding_count = shape.bindings.size();
  const auto need = model.requirements(options);
  REQUIRE_MESSAGE(need.ok(), need.error().text());
  const uint64_t touched = need->arena_bytes - need->weights_mapped;
  REQUIRE(touched > uint64_t{64} << 20);  // what is smaller is not asked about

  REQUIRE(setenv("INGOT_MEMORY_LIMIT", "63M", 1) == 0);
  const auto refused = model.session(options);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == INGOT_OUT_OF_MEMORY);
  CHECK(refused.error().need == touched);
  CHECK(refused.error().have == uint64_t{63} << 20);
  CHECK(std::string(refused.error().text()).find("INGOT_MEMORY_LIMIT") != std::string::npos);
  // Memory that the caller has is the caller's.
  CountingAllocator counting;
  options.arena_kind = INGOT_ARENA_ALLOCATOR;
  options.allocator = &counting.allocator;
  CHECK(model.session(options).ok());
  options.arena_kind = INGOT_ARENA_OWN;
  options.allocator = nullptr;
  REQUIRE(setenv("INGOT_MEMORY_LIMIT", std::to_string(touched).c_str(), 1) == 0);
  CHECK(model.session(options).ok());
  REQUIRE(setenv("INGOT_MEMORY_LIMIT", "0", 1) == 0);
  CHECK(model.session(options).ok());
  REQUIRE(unsetenv("INGOT_MEMORY_LIMIT") == 0);
}

TEST_CASE("memory limit: one that is stated holds for small sessions too") {
  TemporaryFile file(chain_network(2000));
  auto model = Model::open(file.path(), oracle_table());
  REQUIRE(model.ok());
  REQUIRE(setenv("INGOT_MEMORY_LIMIT", "4K", 1) == 0);
  const auto refused = model->session(session_options());
  REQUIRE(unsetenv("INGOT_MEMORY_LIMIT") == 0);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == INGOT_OUT_OF_MEMORY);
  CHECK(refused.error().have == 4096);
  CHECK(model->session(session_options()).ok());
}
