// SPDX-License-Identifier: Apache-2.0
// The caller is checked: nulls everywhere, sizes of structs, names and indices, questions about a
// model, embedded goldens.
#include <doctest/doctest.h>

#include "ingot/pipeline.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("api: a null anywhere is refused and never followed") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session();
  REQUIRE(session.ok());
  ingot_model* const m = model.get();
  ingot_session* const s = session->get();
  ingot_open_options open = open_options(oracle_table());
  ingot_model* out_model = m;
  ingot_session* out_session = s;
  ingot_pipeline* out_pipeline = nullptr;
  ingot_error error;
  ingot_tensor tensor;
  ingot_value_type type;
  ingot_state state = {};
  state.size = sizeof state;
  ingot_symbol symbol;
  ingot_instruction instruction;
  ingot_golden* golden;
  ingot_golden_case golden_case;
  ingot_pool* pool;
  uint64_t part_bytes;
  const char* name;
  const ingot_reader reader = {nullptr, 0, nullptr};
  const ingot_code refused[] = {
      ingot_model_open(nullptr, &open, &out_model, &error),
      ingot_model_open("x", nullptr, &out_model, &error),
      ingot_model_open("x", &open, nullptr, &error),
      ingot_model_open_memory(nullptr, 1, &open, &out_model, &error),
      ingot_model_open_memory(bytes.data(), 1, nullptr, &out_model, nullptr),
      ingot_model_open_reader(nullptr, &open, &out_model, &error),
      ingot_model_open_reader(&reader, &open, &out_model, &error),
      ingot_model_verify_hashes(nullptr, &error),
      ingot_model_summarize(nullptr, nullptr),
      ingot_model_summarize(m, nullptr),
      ingot_model_symbol(nullptr, 0, &symbol),
      ingot_model_symbol(m, 0, nullptr),
      ingot_model_input(nullptr, 0, &type),
      ingot_model_output(m, 0, nullptr),
      ingot_model_value(nullptr, 0, &type),
      ingot_model_instruction(nullptr, 0, &instruction),
      ingot_model_instruction(m, 0, nullptr),
      ingot_model_part(nullptr, INGOT_PART_METADATA, 0, nullptr, 0, &part_bytes, &error),
      ingot_model_part(m, INGOT_PART_METADATA, 0, nullptr, 0, nullptr, &error),
      ingot_model_part(m, INGOT_PART_METADATA, 0, nullptr, 8, &part_bytes, &error),
      ingot_golden_open(nullptr, &golden, &error),
      ingot_golden_open(m, nullptr, &error),
      ingot_golden_case_at(nullptr, 0, &golden_case),
      ingot_golden_input(nullptr, 0, 0, &name, &tensor),
      ingot_model_requirements(m, nullptr, nullptr, &error),
      ingot_model_requirements(nullptr, nullptr, nullptr, &error),
      ingot_session_create(nullptr, nullptr, &out_session, &error),
      ingot_session_start(nullptr, &error),
      ingot_session_wait(nullptr, &error),
      ingot_session_poll(s, nullptr, &error),
      ingot_pipeline_create(nullptr, nullptr, &out_pipeline, &error),
      ingot_pipeline_create(m, nullptr, nullptr, &error),
      ingot_pipeline_requirements_of(m, nullptr, nullptr, &error),
      ingot_pipeline_acquire(nullptr, &error),
      ingot_pipeline_push(nullptr, &error),
      ingot_pipeline_pop(nullptr, nullptr, &error),
      ingot_pipeline_pop_until(nullptr, 0, nullptr, &error),
      ingot_pipeline_release(nullptr, &error),
      ingot_pipeline_finish(nullptr),
      ingot_pipeline_input(nullptr, 0, &tensor),
      ingot_pipeline_output(nullptr, 0, &tensor),
      ingot_session_create(m, nullptr, nullptr, &error),
      ingot_session_input(nullptr, 0, &tensor),
      ingot_session_input(s, 0, nullptr),
      ingot_session_output_by_name(s, nullptr, &tensor),
      ingot_session_bind_input(nullptr, 0, nullptr, &error),
      ingot_session_run(nullptr, &error),
      ingot_session_run_until(nullptr, 1, nullptr),
      ingot_session_reset_state(nullptr, &error),
      ingot_model_state(nullptr, 0, &state),
      ingot_model_state(m, 0, nullptr),
      ingot_session_state(nullptr, 0, &tensor),
      ingot_session_save_state(nullptr, nullptr, 0, &part_bytes, &error),
      ingot_session_restore_state(nullptr, bytes.data(), 1, &error),
      ingot_session_check_state(nullptr, &error),
      ingot_session_park(nullptr, &error),
      ingot_session_set_profile(nullptr, nullptr, nullptr),
      ingot_session_value(nullptr, 0, &tensor, &error),
      ingot_session_value(s, 0, nullptr, &error),
      ingot_session_memory(nullptr, nullptr),
      ingot_session_placement(s, nullptr),
      ingot_session_instruction(nullptr, 0, &instruction),
      ingot_session_requirements(s, nullptr),
      ingot_session_counters(nullptr, nullptr),
      ingot_session_touched(s, nullptr),
      ingot_pool_create(1, nullptr, &error),
      ingot_pool_create(-1, &pool, &error),
      ingot_pool_create(INGOT_MAX_THREADS + 1, &pool, &error),
  };
  for (const ingot_code code : refused) CHECK(code == INGOT_INVALID_ARGUMENT);
  CHECK(out_model == nullptr);
  CHECK(out_session == nullptr);
  ingot_model_destroy(nullptr);
  ingot_session_destroy(nullptr);
  ingot_session_cancel(nullptr);
  ingot_pool_destroy(nullptr);
  ingot_golden_close(nullptr);
  CHECK(ingot_model_find_input(nullptr, "x") == -1);
  CHECK(ingot_model_find_output(m, nullptr) == -1);
  CHECK(ingot_model_find_value(m, "") == -1);
  CHECK(ingot_pool_threads(nullptr) == 0);
  CHECK(ingot_golden_case_count(nullptr) == 0);
}

TEST_CASE(
    "api: structs carry their size; unknown tails must be zero, short ones are read as far as they "
    "go") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  struct Larger {
    ingot_session_options options;
    uint64_t future;
  } larger = {session_options(), 0};
  ingot_requirements need = {};
  need.size = sizeof need;
  larger.options.size = sizeof larger;
  larger.options.threads = 1;
  CHECK(ingot_model_requirements(model.get(), &larger.options, &need, nullptr) == INGOT_OK);
  larger.future = 1;
  CHECK(ingot_model_requirements(model.get(), &larger.options, &need, nullptr) ==
        INGOT_INVALID_ARGUMENT);
  larger.options.size = 0;
  CHECK(ingot_model_requirements(model.get(), &larger.options, &need, nullptr) ==
        INGOT_INVALID_ARGUMENT);
  larger.options.size = offsetof(ingot_session_options, pool);
  CHECK(ingot_model_requirements(model.get(), &larger.options, &need, nullptr) == INGOT_OK);
  need.size = 0;
  CHECK(ingot_model_requirements(model.get(), &larger.options, &need, nullptr) ==
        INGOT_INVALID_ARGUMENT);
  ingot_requirements shorter = {};
  shorter.size = offsetof(ingot_requirements, weights_mapped);
  shorter.scratch = 4711;
  CHECK(ingot_model_requirements(model.get(), &larger.options, &shorter, nullptr) == INGOT_OK);
  CHECK(shorter.arena_bytes > 0);
  CHECK(shorter.scratch == 4711);
}

TEST_CASE("api: options that contradict each other are refused") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  auto pool = Pool::create(2);
  const ingot_executor executor = {nullptr, [](void*, void (*)(void*, int32_t), void*, int32_t) {}};
  const ingot_executor empty = {nullptr, nullptr};
  const auto code = [&](auto&& change) {
    ingot_session_options options = session_options();
    options.threads = 1;
    change(options);
    return model.session(options).error().code;
  };
  CHECK(code([](auto& o) { o.flags = 1u << 30; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([](auto& o) { o.threads = -1; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([](auto& o) { o.threads = INGOT_MAX_THREADS + 1; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([&](auto& o) { o.pool = pool->get(), o.threads = 3; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([&](auto& o) { o.pool = pool->get(), o.executor = &executor; }) ==
        INGOT_INVALID_ARGUMENT);
  CHECK(code([&](auto& o) { o.executor = &empty; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([&](auto& o) { o.executor = &executor, o.threads = 0; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([](auto& o) { o.binding_count = 1; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([](auto& o) { o.arena_kind = 3; }) == INGOT_INVALID_ARGUMENT);
  CHECK(code([](auto& o) { o.arena_kind = INGOT_ARENA_ALLOCATOR; }) == INGOT_INVALID_ARGUMENT);
  ingot_open_options open = open_options(nullptr);
  CHECK(Model::open(bytes.data(), bytes.size(), open).error().code == INGOT_INVALID_ARGUMENT);
  open.kernels = oracle_table();
  open.trust = 2;
  CHECK(Model::open(bytes.data(), bytes.size(), open).error().code == INGOT_INVALID_ARGUMENT);
}

TEST_CASE("api: a model answers questions about itself") {
  FileBytes bytes(branching_network());
  Model model = open_bytes_or_fail(bytes);
  const ingot_model_summary summary = model.summary();
  CHECK(summary.input_count == 2);
  CHECK(summary.output_count == 1);
  CHECK(summary.symbol_count == 1);
  CHECK(summary.instruction_count == 6);
  CHECK(summary.file_bytes == bytes.size());
  ingot_symbol symbol;
  REQUIRE(ingot_model_symbol(model.get(), 0, &symbol) == INGOT_OK);
  CHECK(std::string(symbol.name) == "N");
  CHECK(symbol.high == 64);
  CHECK(ingot_model_symbol(model.get(), 1, &symbol) == INGOT_NOT_FOUND);
  ingot_value_type type;
  REQUIRE(ingot_model_input(model.get(), uint32_t(ingot_model_find_input(model.get(), "x")),
                            &type) == INGOT_OK);
  CHECK(type.rank == 2);
  CHECK(type.dims[0] == -1);
  CHECK(type.dim_symbol[0] == 0);
  CHECK(type.dims[1] == 8);
  CHECK(type.dim_symbol[1] == INGOT_DIM_NUMBER);
  REQUIRE(ingot_model_output(model.get(), 0, &type) == INGOT_OK);
  CHECK(type.dim_symbol[0] == INGOT_DIM_EXPRESSION);
  char text[32];
  const size_t length =
      ingot_model_dim_text(model.get(), uint32_t(type.value), 0, text, sizeof text);
  CHECK(length == std::strlen(text));
  CHECK(std::string(text) == "(N + 1) / 2");
  CHECK(ingot_model_dim_text(model.get(), uint32_t(type.value), 9, text, sizeof text) == 0);
  CHECK(ingot_model_output(model.get(), 1, &type) == INGOT_NOT_FOUND);
  ingot_instruction instruction;
  REQUIRE(ingot_model_instruction(model.get(), 2, &instruction) == INGOT_OK);
  CHECK(std::string(instruction.op) == "if");
  CHECK(ingot_model_instruction(model.get(), 6, &instruction) == INGOT_NOT_FOUND);
}

TEST_CASE("api: parts and the embedded golden") {
  convert::FileSpec spec = chain_network();
  spec.goldens = {{{{"x", DType::kF32, {4, 8}, std::vector<uint8_t>(128)}},
                   {{"y", DType::kF32, {4, 8}, std::vector<uint8_t>(128)}},
                   1e-4,
                   1e-5}};
  FileBytes bytes(spec);
  Model model = open_bytes_or_fail(bytes);
  uint64_t part_bytes = 0;
  REQUIRE(ingot_model_part(model.get(), INGOT_PART_GOLDEN, 0, nullptr, 0, &part_bytes, nullptr) ==
          INGOT_OK);
  CHECK(part_bytes == model.summary().golden_bytes);
  std::vector<uint8_t> part(part_bytes);
  CHECK(ingot_model_part(model.get(), INGOT_PART_GOLDEN, 0, part.data(), part_bytes, &part_bytes,
                         nullptr) == INGOT_OK);
  CHECK(ingot_model_part(model.get(), INGOT_PART_GOLDEN, 0, part.data(), part_bytes - 1,
                         &part_bytes, nullptr) == INGOT_INVALID_ARGUMENT);
  CHECK(ingot_model_part(model.get(), INGOT_PART_WEIGHTS, 9, nullptr, 0, &part_bytes, nullptr) ==
        INGOT_NOT_FOUND);
  ingot_golden* golden = nullptr;
  Error error;
  REQUIRE_MESSAGE(ingot_golden_open(model.get(), &golden, &error) == INGOT_OK, error.text());
  CHECK(ingot_golden_case_count(golden) == 1);
  ingot_golden_case counts;
  REQUIRE(ingot_golden_case_at(golden, 0, &counts) == INGOT_OK);
  CHECK(counts.input_count == 1);
  CHECK(counts.rtol == 1e-4);
  const char* name;
  ingot_tensor tensor;
  REQUIRE(ingot_golden_output(golden, 0, 0, &name, &tensor) == INGOT_OK);
  CHECK(std::string(name) == "y");
  CHECK(tensor.bytes == 128);
  CHECK(ingot_golden_output(golden, 0, 1, &name, &tensor) == INGOT_NOT_FOUND);
  CHECK(ingot_golden_case_at(golden, 1, &counts) == INGOT_NOT_FOUND);
  ingot_golden_close(golden);
  FileBytes without(chain_network());
  CHECK(ingot_golden_open(open_bytes_or_fail(without).get(), &golden, &error) == INGOT_NOT_FOUND);
}

TEST_CASE("api: files that cannot be opened say why") {
  const auto code = [](const char* path) {
    const auto model = Model::open(path, oracle_table());
    CHECK_FALSE(model.error().text().empty());
    return model.error().code;
  };
  CHECK(code("/no/such/file.ingot") == INGOT_FILE_OPEN);
  CHECK(code("/") == INGOT_FILE_OPEN);
  FileBytes bytes(chain_network());
  ingot_open_options open = open_options(oracle_table());
  CHECK(Model::open(bytes.data(), 100, open).error().code == INGOT_TRUNCATED);
  CHECK(Model::open(bytes.data() + 1, bytes.size() - 1, open).error().code == INGOT_MISALIGNED);
  bytes.data()[1] ^= 1;
  CHECK(Model::open(bytes.data(), bytes.size(), open).error().code == INGOT_NOT_INGOT);
}
