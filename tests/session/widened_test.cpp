// SPDX-License-Identifier: Apache-2.0
// Weights that the file stores as f16 or bf16: f32 for the kernels, wherever the file and the arena
// lie.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "runtime/device/fake/fake_device.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

std::vector<float> expected(const std::vector<float>& x) {
  const std::vector<float> n = stored_weights();
  std::vector<float> y(120);
  for (size_t i = 0; i < 120; i++) y[i] = x[i] * n[i] + n[120 + i % 40] + n[i % 40];
  return y;
}

std::vector<float> run(Session& session, const std::vector<float>& x) {
  write(session.input(0), x);
  const auto ran = session.run();
  REQUIRE_MESSAGE(ran.ok(), ran.error().text());
  return read<float>(session.output(0));
}

Model open_path(const char* path, ingot_trust trust = INGOT_TRUST_NONE,
                ingot_map map = INGOT_MAP_SHARE) {
  ingot_open_options options = open_options(oracle_table());
  options.trust = trust;
  options.map = map;
  auto model = Model::open(path, options);
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  return std::move(*model);
}

ingot_session_options plain() {
  ingot_session_options options = session_options();
  options.threads = 1;
  return options;
}

}  // namespace

TEST_CASE(
    "widened: mapped, copied, in the caller's memory and arena, on a device, all give what f32 "
    "gives") {
  const std::vector<float> x = ramp(120), y = expected(x);
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const bool apart : {false, true}) {
      TemporaryFile file(stored_network(dtype, apart));
      FileBytes bytes(stored_network(dtype, apart));
      const ingot_reader reader = bytes.reader();
      std::vector<Model> models;
      for (const ingot_trust trust : {INGOT_TRUST_NONE, INGOT_TRUST_HASHES})
        for (const ingot_map map : {INGOT_MAP_SHARE, INGOT_MAP_COPY})
          models.push_back(open_path(file.path(), trust, map));
      models.push_back(open_bytes_or_fail(bytes));
      ingot_open_options open = open_options(oracle_table());
      open.trust = INGOT_TRUST_HASHES;
      ingot_model* opened = nullptr;
      Error error;
      REQUIRE(ingot_model_open_reader(&reader, &open, &opened, &error) == INGOT_OK);
      models.push_back(Model(opened));
      for (size_t m = 0; m < models.size(); m++) {
        CAPTURE(int(dtype));
        CAPTURE(apart);
        CAPTURE(m);
        for (const char* device : {"cpu", "fake:0"}) {
          ingot_session_options options = plain();
          options.device = device;
          auto session = models[m].session(options);
          REQUIRE_MESSAGE(session.ok(), session.error().text());
          CHECK(run(*session, x) == y);
          CHECK(session->requirements().weights_widened == kWidenedBytes);
        }
        ingot_session_options options = plain();
        options.arena_kind = INGOT_ARENA_CALLER;
        auto need = models[m].requirements(options);
        if (!need) continue;  // a mapped model wants an arena of its own
        AlignedBlock arena(need->arena_bytes, 64);
        options.arena = arena.data();
        options.arena_bytes = need->arena_bytes;
        auto session = models[m].session(options);
        REQUIRE_MESSAGE(session.ok(), session.error().text());
        CHECK(run(*session, x) == y);
      }
    }
}

TEST_CASE(
    "widened: sessions of one model have copies of their own, parking keeps them, prefaulting and "
    "huge pages do no "
    "harm") {
  TemporaryFile file(stored_network(DType::kF16, true));
  Model model = open_path(file.path());
  const std::vector<float> x = ramp(120), y = expected(x);
  ingot_session_options options = plain();
  options.flags = INGOT_PREFAULT | INGOT_HUGE_PAGES;
  auto first = model.session(options), second = model.session(plain());
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(run(*first, x) == y);
  REQUIRE(first->park().ok());
  CHECK(run(*second, x) == y);
  first = Error(INGOT_NOT_FOUND);
  CHECK(run(*second, x) == y);
}

TEST_CASE("widened: rebinding finds the weights where they are") {
  convert::FileSpec spec = stored_network(DType::kF16, true);
  const Dim rows = spec.program.add_symbol("N", 1, 8);
  for (const size_t value : {0, 4, 5}) spec.program.values[value].dims[0] = rows;
  spec.program.values[1].dims = {40};
  const std::vector<float> n = stored_weights();
  const auto* raw = reinterpret_cast<const uint8_t*>(n.data());
  spec.program.values[1].bytes.held = std::make_shared<const std::vector<uint8_t>>(raw, raw + 160);
  TemporaryFile file(spec);
  for (const ingot_map map : {INGOT_MAP_SHARE, INGOT_MAP_COPY}) {
    Model model = open_path(file.path(), INGOT_TRUST_NONE, map);
    ingot_session_options options = plain();
    options.flags = INGOT_REBINDABLE | INGOT_POISON;
    const ingot_binding most = {"N", 8};
    options.bindings = &most;
    options.binding_count = 1;
    auto session = model.session(options);
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    for (const int64_t extent : {8, 3, 1, 8}) {
      const ingot_binding binding = {"N", extent};
      Error error;
      REQUIRE_MESSAGE(ingot_session_rebind(session->get(), &binding, 1, &error) == INGOT_OK,
                      error.text());
      const std::vector<float> x = ramp(size_t(extent) * 40), y = run(*session, x);
      for (size_t i = 0; i < y.size(); i++)
        CHECK(y[i] == x[i] * n[i % 40] + n[120 + i % 40] + n[i % 40]);
    }
  }
}

TEST_CASE("widened: the memory report names what was converted at load") {
  FileBytes bytes(stored_network(DType::kBF16, false));
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(plain());
  REQUIRE(session.ok());
  ingot_memory_report report = {};
  report.size = sizeof report;
  REQUIRE(ingot_session_memory(session->get(), &report) == INGOT_OK);
  uint64_t converted = 0;
  for (uint32_t i = 0; i < report.row_count; i++)
    if (std::string(report.rows[i].owner) == "weights (converted at load)")
      converted = report.rows[i].bytes;
  CHECK(converted == kWidenedBytes);
  CHECK(session->requirements().weights_in_place == model.summary().weights_bytes);
}

TEST_CASE(
    "widened: with --trust hashes a file whose halves change after opening is refused when the "
    "session is made") {
  TemporaryFile file(stored_network(DType::kF16, true));
  Model model = open_path(file.path(), INGOT_TRUST_HASHES);
  CHECK(model.session(plain()).ok());
  const uint64_t at = model.summary().file_bytes - 4;  // the last part is that of the halves
  std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(long(at))
      .write("\x11\x22", 2);
  const auto session = model.session(plain());
  CHECK(session.error().code == INGOT_HASH_MISMATCH);
  CHECK(open_path(file.path()).session(plain()).ok());  // nobody asked
}

TEST_CASE("widened: infinities, NaNs and subnormals arrive as they are") {
  convert::FileSpec spec = stored_network(DType::kF16, false);
  std::vector<float> numbers(120, 0.0f);
  numbers[0] = std::numeric_limits<float>::infinity();
  numbers[1] = -numbers[0];
  numbers[2] = std::numeric_limits<float>::quiet_NaN();
  numbers[3] = 0x1p-24f;
  numbers[4] = -0x3p-20f;
  const auto* raw = reinterpret_cast<const uint8_t*>(numbers.data());
  spec.program.values[1].bytes.held = std::make_shared<const std::vector<uint8_t>>(raw, raw + 480);
  FileBytes bytes(spec);
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(plain());
  REQUIRE(session.ok());
  ingot_tensor w = {};
  Error error;
  REQUIRE_MESSAGE(ingot_session_value(session->get(), 1, &w, &error) == INGOT_OK, error.text());
  REQUIRE(w.dtype == INGOT_F32);
  CHECK(std::memcmp(w.data, numbers.data(), 480) == 0);
}

TEST_CASE("widened: a fault of the device at every call in turn leaves nothing reserved") {
  FileBytes bytes(stored_network(DType::kF16, true));
  Model model = open_bytes_or_fail(bytes);
  for (uint32_t n = 1; n < 64; n++) {
    set_fake_fault(0, n, Code::kDeviceLost);
    ingot_session_options options = plain();
    options.device = "fake:0";
    auto session = model.session(options);
    if (session) break;
    CHECK(session.error().code == INGOT_DEVICE_LOST);
    CHECK(fake_gpu(0).reserved_kib == 0);
  }
  set_fake_fault(0, 0, Code::kDeviceLost);
}
