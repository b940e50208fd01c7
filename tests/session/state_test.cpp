// SPDX-License-Identifier: Apache-2.0
// State from outside: listed, seen, saved, restored, refused; and parking, which keeps it.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "runtime/base/sha256.h"
#include "runtime/format/state_file.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// y = x + s, s = y, with `rows` rows of 8.
convert::FileSpec adding_network(int64_t rows, const char* name = "s", DType dtype = DType::kF32) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const auto value = [&](const char* text, ValueKind kind) {
    convert::ValueSpec v;
    v.name = text;
    v.kind = kind;
    v.dtype = dtype;
    v.dims = {rows, 8};
    return p.add_value(v);
  };
  const int32_t x = value("x", ValueKind::kInput), s = value(name, ValueKind::kState),
                y = value("y", ValueKind::kOutput);
  ElementwiseAttributes add;
  add.step_count = 1;
  add.steps[0] = {ElementwiseOp::kAdd, 0, 1, 0, 0, 0};
  if (dtype == DType::kF64) add.compute = ComputeType::kF64;
  p.add_instruction(add, {x, s}, {y});
  p.add_instruction(CopyAttributes(), {y}, {s});
  p.states.push_back({name, s, -1, -1, -1, "y"});
  p.inputs.push_back({"x", x, "", {}});
  p.outputs.push_back({"y", y, "", {}});
  return file;
}

struct Running {
  FileBytes bytes;
  Model model;
  Session session;
  explicit Running(const convert::FileSpec& spec, ingot_session_options options = session_options())
      : bytes(spec) {
    model = open_bytes_or_fail(bytes);
    options.threads = 1;
    auto made = model.session(options);
    if (!made) throw std::runtime_error(made.error().text());
    session = std::move(*made);
  }
  void step(float x) {
    std::vector<float> values(session.input(0)->bytes / 4, x);
    write(session.input(0), values);
    REQUIRE(session.run().ok());
  }
  std::vector<float> state() { return read<float>(session.state(0)); }
};

/// The hash at the end made right again, so that what lies before it is looked at.
void reseal(std::vector<uint8_t>* saved) {
  sha256(saved->data(), saved->size() - kSha256Bytes, saved->data() + saved->size() - kSha256Bytes);
}

ingot_code restore_code(Session& session, const std::vector<uint8_t>& saved) {
  const auto result = session.restore_state(saved.data(), saved.size());
  return result.ok() ? ingot_code{INGOT_OK} : result.error().code;
}

}  // namespace

TEST_CASE("state: variables are listed with their names and types") {
  Running r(adding_network(4));
  CHECK(r.model.summary().state_count == 1);
  ingot_state state{};
  state.size = sizeof state;
  REQUIRE(ingot_model_state(r.model.get(), 0, &state) == INGOT_OK);
  CHECK(std::string(state.type.name) == "s");
  CHECK(std::string(state.output_name) == "y");
  CHECK(state.type.dtype == INGOT_F32);
  CHECK(state.type.rank == 2);
  CHECK(state.type.dims[0] == 4);
  CHECK(state.type.kind == 4);
  CHECK(state.has_initial_value == 0);
  CHECK(ingot_model_state(r.model.get(), 1, &state) == INGOT_NOT_FOUND);
  CHECK(ingot_model_find_state(r.model.get(), "s") == 0);
  CHECK(ingot_model_find_state(r.model.get(), "y") == -1);
  ingot_tensor tensor{};
  CHECK(ingot_session_state(r.session.get(), 1, &tensor) == INGOT_NOT_FOUND);
  REQUIRE(ingot_session_state(r.session.get(), 0, &tensor) == INGOT_OK);
  CHECK(tensor.bytes == 4 * 8 * 4);
  r.step(2);
  r.step(2);
  CHECK(r.state() == std::vector<float>(32, 4));
  write(r.session.state(0), std::vector<float>(32, 10));  // may be written between runs
  r.step(2);
  CHECK(r.state() == std::vector<float>(32, 12));
  REQUIRE(ingot_session_value(r.session.get(), uint32_t(state.type.value), &tensor, nullptr) ==
          INGOT_OK);
  CHECK(tensor.data == r.session.state(0)->data);
}

TEST_CASE(
    "state: saved after a step, restored into another session, on any device, it goes on with the "
    "same bits") {
  Running a(adding_network(4));
  for (int i = 0; i < 3; i++) a.step(0.1f);
  auto saved = a.session.save_state();
  REQUIRE(saved.ok());
  a.step(0.7f);
  const std::vector<float> expected = read<float>(a.session.output(0));
  for (const char* device : {"cpu", "fake:0"}) {
    CAPTURE(device);
    ingot_session_options options = session_options();
    options.device = device;
    Running b(adding_network(4), options);
    REQUIRE(restore_code(b.session, *saved) == INGOT_OK);
    auto again = b.session.save_state();
    REQUIRE(again.ok());
    CHECK(*again == *saved);
    b.step(0.7f);
    CHECK(read<float>(b.session.output(0)) == expected);
    REQUIRE(b.session.reset_state().ok());
    b.step(0.7f);
    CHECK(read<float>(b.session.output(0))[0] == 0.7f);
  }
  Running lent(adding_network(4));  // and from the device to the host
  ingot_session_options options = session_options();
  options.device = "fake:0";
  Running gpu(adding_network(4), options);
  for (int i = 0; i < 3; i++) gpu.step(0.1f);
  auto from_device = gpu.session.save_state();
  REQUIRE(from_device.ok());
  CHECK(*from_device == *saved);
  ingot_tensor tensor{};
  CHECK(ingot_session_state(gpu.session.get(), 0, &tensor) == INGOT_WRONG_STATE);
}

TEST_CASE("state: a place that is too small is refused with the size, and size 0 asks for it") {
  Running r(adding_network(4));
  uint64_t bytes = 0;
  REQUIRE(ingot_session_save_state(r.session.get(), nullptr, 0, &bytes, nullptr) == INGOT_OK);
  std::vector<uint8_t> place(bytes);
  Error error;
  uint64_t again = 0;
  CHECK(ingot_session_save_state(r.session.get(), place.data(), bytes - 1, &again, &error) ==
        INGOT_INVALID_ARGUMENT);
  CHECK(again == bytes);
  CHECK(error.need == bytes);
  CHECK(ingot_session_save_state(r.session.get(), place.data(), bytes, &again, &error) == INGOT_OK);
}

TEST_CASE("state: what does not belong is refused by name, and the session goes on as it was") {
  Running r(adding_network(4));
  r.step(1);
  const std::vector<uint8_t> saved = *r.session.save_state();
  const auto other_model = [&](const convert::FileSpec& spec) {
    Running other(spec);
    other.step(1);
    return *other.session.save_state();
  };
  std::vector<uint8_t> wrong_dims = other_model(adding_network(5)),
                       wrong_name = other_model(adding_network(4, "t"));
  CHECK(restore_code(r.session, wrong_dims) == INGOT_STATE_MISMATCH);  // another program
  // the same program, another binding
  std::memcpy(wrong_dims.data() + 32, saved.data() + 32, 32);
  reseal(&wrong_dims);
  std::memcpy(wrong_name.data() + 32, saved.data() + 32, 32);
  reseal(&wrong_name);
  std::vector<uint8_t> newer = saved;
  newer[8] = 2;
  std::vector<uint8_t> flipped = saved, longer = saved, more = saved;
  flipped[120] ^= 4;
  longer.push_back(0);
  more[12] = 2;
  reseal(&more);
  struct Case {
    const char* what;
    std::vector<uint8_t> bytes;
    ingot_code code;
  } cases[] = {{"other dims", wrong_dims, INGOT_STATE_MISMATCH},
               {"other name", wrong_name, INGOT_STATE_MISMATCH},
               {"newer", newer, INGOT_UNSUPPORTED_VERSION},
               {"flipped", flipped, INGOT_HASH_MISMATCH},
               {"longer", longer, INGOT_STRUCTURE_INVALID},
               {"one variable more than there is", more, INGOT_STRUCTURE_INVALID},
               {"nothing like it", std::vector<uint8_t>(200, 7), INGOT_NOT_INGOT},
               {"a model", {r.bytes.data(), r.bytes.data() + r.bytes.size()}, INGOT_NOT_INGOT}};
  for (const Case& c : cases) {
    CAPTURE(c.what);
    const auto result = r.session.restore_state(c.bytes.data(), c.bytes.size());
    REQUIRE(!result.ok());
    CHECK(result.error().code == c.code);
    CHECK(result.error().text().find("state") != std::string::npos);
    CHECK(*r.session.save_state() == saved);
  }
  const auto dims = r.session.restore_state(wrong_dims.data(), wrong_dims.size());
  CHECK(dims.error().need == 4);
  CHECK(dims.error().have == 5);
  CHECK(std::string(dims.error().name) == "s");
  r.step(1);
  CHECK(r.state() == std::vector<float>(32, 2));
}

TEST_CASE("state: every truncation and every flipped bit is refused") {
  Running r(adding_network(1));
  r.step(1);
  const std::vector<uint8_t> saved = *r.session.save_state();
  for (size_t size = 0; size < saved.size(); size++) {
    CAPTURE(size);
    const ingot_code code = restore_code(r.session, {saved.begin(), saved.begin() + long(size)});
    CHECK((code == INGOT_TRUNCATED || (size == 0 && code != INGOT_OK)));
  }
  for (size_t bit = 0; bit < saved.size() * 8; bit++) {
    std::vector<uint8_t> bytes = saved;
    bytes[bit / 8] ^= uint8_t(1 << bit % 8);
    CAPTURE(bit);
    CHECK(restore_code(r.session, bytes) != INGOT_OK);
  }
  CHECK(*r.session.save_state() == saved);
}

TEST_CASE("state: what is not a number is named at save, restore and check, and reset mends it") {
  struct Case {
    DType dtype;
    uint64_t bits, infinity;
  } cases[] = {{DType::kF32, 0x7fc00001u, 0xff800000u},
               {DType::kF64, 0xfff0000000000001u, 0x7ff0000000000000u}};
  for (const Case& c : cases) {
    Running r(adding_network(4, "s", c.dtype));
    const size_t width = c.dtype == DType::kF32 ? 4 : 8;
    const std::vector<uint8_t> fresh = *r.session.save_state();
    uint8_t* data = static_cast<uint8_t*>(r.session.state(0)->data);
    std::memcpy(data + 9 * width, &c.infinity, width);
    CHECK(r.session.check_state().ok());
    std::vector<uint8_t> saved = *r.session.save_state();
    std::memcpy(data + 21 * width, &c.bits, width);
    for (const Error& error : {r.session.check_state().error(), r.session.save_state().error()}) {
      CHECK(error.code == INGOT_BAD_STATE_VALUE);
      CHECK(error.have == 21);
      CHECK(std::string(error.name) == "s");
      CHECK(error.text().find("reset the state") != std::string::npos);
    }
    const size_t data_at = saved.size() - kSha256Bytes - 32 * width;
    std::memcpy(saved.data() + data_at + 3 * width, &c.bits, width);
    reseal(&saved);
    const auto result = r.session.restore_state(saved.data(), saved.size());
    REQUIRE(!result.ok());
    CHECK(result.error().code == INGOT_BAD_STATE_VALUE);
    CHECK(result.error().have == 3);
    REQUIRE(r.session.reset_state().ok());
    CHECK(r.session.check_state().ok());
    CHECK(*r.session.save_state() == fresh);
  }
}

TEST_CASE("state: a model without state saves and restores nothing") {
  Running r(chain_network());
  auto saved = r.session.save_state();
  REQUIRE(saved.ok());
  CHECK(saved->size() == kStateHeaderBytes + kSha256Bytes);
  CHECK(restore_code(r.session, *saved) == INGOT_OK);
  CHECK(r.session.check_state().ok());
  CHECK(r.session.state(0u).error().code == INGOT_NOT_FOUND);
}

namespace {

/// Whole pages of a tensor that are in memory, and how many there are.
std::pair<size_t, size_t> resident_pages(const ingot_tensor& tensor) {
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (uintptr_t(tensor.data) + page - 1) & ~(page - 1);
  const uintptr_t last = (uintptr_t(tensor.data) + tensor.bytes) & ~(page - 1);
  std::vector<unsigned char> flags((last - first) / page);
  REQUIRE(mincore(reinterpret_cast<void*>(first), last - first, flags.data()) == 0);
  size_t count = 0;
  for (const unsigned char flag : flags) count += flag & 1;
  return {count, flags.size()};
}

ingot_memory_report memory_of(const Session& session) {
  ingot_memory_report report{};
  report.size = sizeof report;
  ingot_session_memory(session.get(), &report);
  return report;
}

}  // namespace

TEST_CASE(
    "park: pages of activations go back to the system, state stays, and the next run gives the "
    "same answer") {
  Running parked(adding_network(16384)), other(adding_network(16384));  // 512 KiB a tensor
  for (int i = 0; i < 2; i++) parked.step(0.1f), other.step(0.1f);
  const ingot_memory_report before = memory_of(parked.session);
  CHECK(resident_pages(parked.session.input(0).value()).first ==
        resident_pages(parked.session.input(0).value()).second);
  for (int round = 0; round < 2; round++) {  // twice over is the same
    REQUIRE(parked.session.park().ok());
    CHECK(resident_pages(parked.session.input(0).value()).first == 0);
    CHECK(resident_pages(parked.session.output(0).value()).first == 0);
    CHECK(resident_pages(parked.session.state(0).value()).first ==
          resident_pages(parked.session.state(0).value()).second);
    const ingot_memory_report now = memory_of(parked.session);
    CHECK(now.held + (900 << 10) < before.held);
    CHECK(now.peak == before.held);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < now.row_count; i++) sum += now.rows[i].bytes;
    CHECK(sum == now.held);
  }
  CHECK(*parked.session.save_state() == *other.session.save_state());
  parked.step(0.3f);
  other.step(0.3f);
  CHECK(read<float>(parked.session.output(0)) == read<float>(other.session.output(0)));
  CHECK(memory_of(parked.session).held == before.held);
}

TEST_CASE("park: refused where there are no pages of ours to give back") {
  Running own(adding_network(64));
  const ingot_requirements need = own.session.requirements();
  AlignedBlock block(need.arena_bytes, need.arena_alignment);
  ingot_session_options lent = session_options(), device = session_options();
  lent.arena_kind = INGOT_ARENA_CALLER;
  lent.arena = block.data();
  lent.arena_bytes = need.arena_bytes;
  device.device = "fake:0";
  for (const ingot_session_options& options : {lent, device}) {
    Running r(adding_network(64), options);
    r.step(1);
    const auto result = r.session.park();
    REQUIRE(!result.ok());
    CHECK(result.error().code == INGOT_WRONG_STATE);
    CHECK(result.error().text().find("park") != std::string::npos);
    r.step(1);
    CHECK(read<float>(r.session.output(0))[0] == 2);
  }
}
