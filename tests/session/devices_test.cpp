// SPDX-License-Identifier: Apache-2.0
// Devices: null, and fake GPUs with memory of their own and a fault at every call in turn.
#include <doctest/doctest.h>

#include "runtime/device/fake/fake_device.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

ingot_session_options on(const char* device) {
  ingot_session_options options = session_options();
  options.device = device;
  return options;
}

}  // namespace

TEST_CASE("device: unknown names and cuda are refused by name") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  for (const char* name : {"gpu", "cuda", "cuda:1", "fake:2", ""}) {
    const auto session = model.session(on(name));
    CHECK(session.error().code == INGOT_NO_SUCH_DEVICE);
    CHECK(std::string(session.error().name) == name);
  }
}

TEST_CASE("device: placement says what runs where and why") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  for (const char* name : {"auto", "cpu", "null", "fake:1"}) {
    auto session = model.session(on(name));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    ingot_placement placement = {};
    placement.size = sizeof placement;
    REQUIRE(ingot_session_placement(session->get(), &placement) == INGOT_OK);
    CHECK(std::string(placement.device) == (name[0] == 'a' ? "cpu" : name));
    CHECK(placement.reason[0] != 0);
    CHECK(placement.threads >= 1);
    CHECK(placement.instructions == 4);
    CHECK(std::string(placement.isa) == (name[0] == 'n' ? "" : "oracle"));
  }
}

TEST_CASE("device: null runs and computes nothing") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(on("null"));
  REQUIRE(session.ok());
  write(session->input(0), ramp(32));
  write(session->output(0), std::vector<float>(32, 5.0f));
  REQUIRE(session->run().ok());
  CHECK(read<float>(session->output(0)) == std::vector<float>(32, 5.0f));
}

TEST_CASE("device: fake equals the CPU, bound ports included, and its memory is one reservation") {
  FileBytes bytes(branching_network());
  FileBytes counting(counting_network(true));
  Model model = open_bytes_or_fail(bytes), with_state = open_bytes_or_fail(counting);
  const ingot_binding binding = {"N", 6};
  std::vector<std::vector<float>> answers;
  for (const char* device : {"cpu", "fake:0", "fake:1"}) {
    ingot_session_options options = on(device);
    options.bindings = &binding;
    options.binding_count = 1;
    auto session = model.session(options);
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    write(session->input("x"), ramp(48));
    write(session->input("flag"), std::vector<uint8_t>{0});
    REQUIRE(session->run().ok());
    answers.push_back(read<float>(session->output("y")));
    AlignedBlock out(3 * 16 * 4, 64);
    ingot_tensor tensor = session->output("y").value();
    tensor.data = out.data();
    REQUIRE(session->bind_output(0, tensor).ok());
    write(session->input("x"), ramp(48));
    write(session->input("flag"), std::vector<uint8_t>{0});
    REQUIRE(session->run().ok());
    CHECK(std::memcmp(out.data(), answers[0].data(), 3 * 16 * 4) == 0);
    if (device[0] == 'f') CHECK(fake_gpu(device[5] - '0').reservations == 1);
    auto stateful = with_state.session(on(device));
    REQUIRE(stateful.ok());
    for (int run = 1; run <= 3; run++) {
      write(stateful->input(0), std::vector<float>(8, 2.0f));
      REQUIRE(stateful->run().ok());
      CHECK(read<float>(stateful->output(0))[7] == 1.0f + 2.0f * float(run));
    }
  }
  CHECK(answers[0] == answers[1]);
  CHECK(answers[0] == answers[2]);
  CHECK(fake_gpu(0).reserved_kib == 0);
}

TEST_CASE(
    "device: a fault at every call in turn is reported with the device's name and leaves nothing "
    "reserved") {
  FileBytes bytes(chain_network());
  Model model = open_bytes_or_fail(bytes);
  for (const Code code : {Code::kDeviceLost, Code::kDeviceFault, Code::kOutOfMemory}) {
    int faults = 0;
    for (uint32_t n = 1;; n++) {
      set_fake_fault(0, n, code);
      auto session = model.session(on("fake:0"));
      bool failed = !session;
      if (failed) CHECK(session.error().code == ingot_code(code));
      if (failed) CHECK(std::string(session.error().name) == "fake:0");
      if (session) {
        write(session->input(0), ramp(32));
        const auto ran = session->run();
        failed = !ran;
        if (failed) CHECK(ran.error().code == ingot_code(code));
        if (failed && code != Code::kOutOfMemory) {
          set_fake_fault(0, 0, Code::kOk);
          CHECK(session->run().error().code == INGOT_WRONG_STATE);  // dead
        }
      }
      set_fake_fault(0, 0, Code::kOk);
      if (session) session = Error(INGOT_NOT_FOUND);
      CHECK(fake_gpu(0).reservations == 0);
      CHECK(fake_gpu(0).reserved_kib == 0);
      if (!failed) break;
      faults++;
    }
    CHECK(faults == 6);  // reserve, upload of weights, resolve, upload of x, run, download of y
  }
}

TEST_CASE("device: a GPU with too little memory says what it needs and has") {
  FileBytes bytes(chain_network(4000));
  Model model = open_bytes_or_fail(bytes);
  fake_gpu(1).memory_kib = 64;
  const auto session = model.session(on("fake:1"));
  fake_gpu(1).memory_kib = 1u << 20;
  CHECK(session.error().code == INGOT_OUT_OF_MEMORY);
  CHECK(session.error().need == model.requirements(on("fake:1")).value().arena_bytes);
  CHECK(session.error().have == 65536);
}
