// SPDX-License-Identifier: Apache-2.0
// A second back end joins by its row (three_backends.def): with CUDA's over the fake driver at its
// side it is listed, opened by name, and taken by "auto".
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ingot/cpu.h"
#include "runtime/device/fake/fake_device.h"
#include "tests/support/log_lines.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr const char* kToyNames[] = {"toy:0", "toy:1"};
int toy_count = 2;  // devices that its driver finds

void describe_toy(const Device&, DriverFacts* out) {
  *out = {"a toy", "libtoy.so", "Play", 3, 1, "TOY_SPEED limits it to", "slow"};
}

/// The fake device, with what only a back end's has.
const DeviceInterface& toy_device() {
  static const DeviceInterface table = [] {
    DeviceInterface d = kFakeDevice;
    d.kind = "toy";
    d.describe_driver = describe_toy;
    return d;
  }();
  return table;
}

Status find_toy(const char* name, Device* out, ErrorDetail* detail) {
  for (int i = 0; i < toy_count; i++) {
    if (std::strcmp(name, i ? kToyNames[i] : "toy") != 0 && std::strcmp(name, kToyNames[i]) != 0)
      continue;
    *out = {&toy_device(), kToyNames[i], "asked for", i};
    return {};
  }
  return fail(detail, Code::kNoSuchDevice, "device: no toy of that number");
}

bool find_best_toy(Device* out, const char** why_not) {
  *why_not = "auto: no toy";
  return toy_count > 0 && find_toy("toy", out, nullptr).ok();
}

bool offer_toy(uint32_t index, DeviceOffer* out) {
  if (index >= uint32_t(toy_count)) return false;
  *out = {kToyNames[index], true, "a toy"};
  return true;
}

ingot_session_options on(const char* device) {
  ingot_session_options options = session_options();
  options.device = device;
  options.threads = 1;
  return options;
}

/// x -> y; the fake driver is named before anything asks for a device.
Model open_chain(ingot_log log = {}) {
  setenv("INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA, 1);
  auto model = Model::open(INGOT_CHAIN, ingot_cpu_kernels(nullptr));
  REQUIRE_MESSAGE(model.ok(), model.error().text());
  if (log.write) model->set_log(log);
  return std::move(*model);
}

std::vector<float> answer(Session& session) {
  const ingot_tensor x = session.input(0).value();
  std::vector<float> values(size_t(x.bytes) / 4);
  for (size_t i = 0; i < values.size(); i++) values[i] = float(i) - 10.5f;
  std::memcpy(x.data, values.data(), size_t(x.bytes));
  const auto ran = session.run();
  REQUIRE_MESSAGE(ran.ok(), ran.error().text());
  const ingot_tensor y = session.output(0).value();
  values.resize(size_t(y.bytes) / 4);
  std::memcpy(values.data(), y.data, size_t(y.bytes));
  return values;
}

std::string device_of(const Model& model, const char* device) {
  auto session = model.session(on(device));
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  return session->share(0).device;
}

}  // namespace

extern "C" const DeviceBackend ingot_toy_backend;
const DeviceBackend ingot_toy_backend = {find_toy, find_best_toy, offer_toy,
                                         /*takes_stream=*/false};

TEST_CASE("backends: every row's devices are listed in order, and a row without its library") {
  const Model model = open_chain();
  std::vector<std::string> names;
  ingot_device device = {};
  device.size = sizeof device;
  for (uint32_t i = 0; ingot_device_at(i, &device) == INGOT_OK; i++) {
    names.push_back(device.name);
    if (names.back() != "absent") CHECK_MESSAGE(device.exists, device.name);
    if (names.back() != "absent") continue;
    CHECK(!device.exists);
    CHECK(std::string(device.why) == "this program was linked without Absent");
  }
  CHECK(names == std::vector<std::string>{"cpu", "toy:0", "toy:1", "absent", "cuda:0", "fake:0",
                                          "fake:1", "null"});
}

TEST_CASE("backends: both are opened by name, and answer as the CPU") {
  const Model model = open_chain();
  std::vector<float> expected;
  for (const char* name : {"cpu", "toy", "toy:1", "cuda", "cuda:0"}) {
    CAPTURE(name);
    auto session = model.session(on(name));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    const std::string opened = session->share(0).device;
    CHECK(opened.substr(0, std::strlen(name)) == name);
    const std::vector<float> found = answer(*session);
    if (expected.empty()) expected = found;
    CHECK(found == expected);
  }
}

TEST_CASE("backends: auto takes the first row's that has a device") {
  const Model model = open_chain();
  CHECK(device_of(model, "auto") == "toy:0");
  toy_count = 0;
  CHECK(device_of(model, "auto") == "cuda:0");
  toy_count = 2;
}

TEST_CASE(
    "backends: a name is refused by its back end, by its absence, or with the names there are") {
  const Model model = open_chain();
  const auto text_of = [&](const ingot_session_options& options) {
    const auto session = model.session(options);
    REQUIRE(!session.ok());
    return std::string(session.error().text());
  };
  CHECK(text_of(on("toy:2")).find("no toy of that number") != std::string::npos);
  CHECK(text_of(on("absent:1")).find("linked without Absent") != std::string::npos);
  for (const char* name : {"toys", "cudas", "absentee", "to"})
    CHECK(
        text_of(on(name)).find("use auto, cpu, toy or toy:1, absent or absent:1, cuda or cuda:1") !=
        std::string::npos);
  ingot_session_options with_stream = on("toy");
  with_stream.gpu_stream = &with_stream;
  CHECK(text_of(with_stream).find("options.gpu_stream: for a session") != std::string::npos);
  with_stream.device = "absent";
  CHECK(text_of(with_stream).find("linked without Absent") != std::string::npos);
  int nothing = 0;  // CUDA's is asked, and knows no such stream
  with_stream.device = "cuda";
  with_stream.gpu_stream = &nothing;
  CHECK(text_of(with_stream).find("CUDA_ERROR_INVALID_HANDLE") != std::string::npos);
}

TEST_CASE("backends: each tells a log of its driver") {
  LogLines log;
  const Model model = open_chain(log.log);
  CHECK(device_of(model, "toy:1") == "toy:1");
  CHECK(log.has_info("toy:1: a toy; driver libtoy.so for Play 3.1"));
  CHECK(log.warnings() == std::vector<std::string>{"toy:1: TOY_SPEED limits it to 'slow'"});
  CHECK(device_of(model, "cuda") == "cuda:0");
  CHECK(log.has_info(" for CUDA 1"));
  CHECK(log.warnings().size() == 1);
  const size_t lines = log.lines.size();
  CHECK(device_of(model, "cpu") == "cpu");
  CHECK(log.lines.size() == lines + 1);  // what was chosen, and no driver
}
