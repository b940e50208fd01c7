// SPDX-License-Identifier: Apache-2.0
// A place for each weight: who is asked what, where instructions run, what crosses between devices,
// and that none of it changes an answer.
#include "tests/session/placement_models.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE(
    "placement: each weight is asked for once, with its name, size and where it was trained, and "
    "never again") {
  FileBytes bytes(three_weights());
  Model model = open_bytes_or_fail(bytes);
  std::vector<std::string> asked;
  auto assignment = model.assign(nullptr, [&](const ingot_weight& w) {
    asked.push_back(std::string(w.name) + " " + w.trained_on + " " + std::to_string(w.rank) + " " +
                    std::to_string(w.dims[0]) + " " + std::to_string(w.bytes) + " " +
                    ingot_dtype_name(w.dtype));
    return "fake:1";
  });
  REQUIRE(assignment.ok());
  // As recorded; then what the records do not mention, trained where a weight of that name behind
  // its wrappers was.
  CHECK(asked == std::vector<std::string>{"state_dict.net.b cuda:1 2 4 128 f32", "a  1 8 32 f32",
                                          "c cuda:0 1 8 32 f32"});
  auto session = model.session(with(*assignment));
  REQUIRE(session.ok());
  fill(model, *session);
  REQUIRE(session->run().ok());
  CHECK(asked.size() == 3);
}

TEST_CASE_FIXTURE(PlacedWeights,
                  "placement: the report says what lies where and why, and what a run transfers") {
  CHECK(std::string(named(assignment, "a").asked) == "cpu");
  CHECK(named(assignment, "a").by_callback == 0);
  CHECK(named(assignment, "a").devices == 1);
  CHECK(named(assignment, "state_dict.net.b").by_callback == 1);
  CHECK(std::string(named(assignment, "state_dict.net.b").reason) == "asked for");
  const uint32_t second = named(assignment, "c").devices == 2 ? 1 : 2;
  CHECK(std::string(assignment.device(second)) == "fake:1");
  CHECK(assignment.device(3) == nullptr);
  CHECK(ingot_assignment_instruction(assignment.get(), 0) == 0);
  CHECK(ingot_assignment_instruction(assignment.get(), 2) == int32_t(second));
  // stays where u was made
  CHECK(ingot_assignment_instruction(assignment.get(), 3) == int32_t(second));
  CHECK(ingot_assignment_instruction(assignment.get(), 4) == -1);
  CHECK(run_twice(model, with(assignment)) == expected);
  auto session = model.session(with(assignment));
  REQUIRE(session.ok());
  const ingot_share cpu = session->share(0), last = session->share(second);
  CHECK(cpu.instructions == 1);
  CHECK(cpu.launches == 1);
  CHECK(cpu.weights_bytes == 32);
  CHECK(last.instructions == 2);
  CHECK(last.launches == 1);
  CHECK(last.uploads == 1);    // t, that is u
  CHECK(last.downloads == 1);  // y
  CHECK(last.upload_bytes == 128);
  CHECK(last.weights_bytes == 64);  // 32, and where the next would begin
  ingot_placement placement = {};
  placement.size = sizeof placement;
  REQUIRE(ingot_session_placement(session->get(), &placement) == INGOT_OK);
  CHECK(std::string(placement.device) == "cpu, fake:0, fake:1");
  const ingot_requirements need = session->requirements();
  CHECK(need.device_bytes == session->share(1).arena_bytes + session->share(2).arena_bytes);
  CHECK(need.arena_bytes == cpu.arena_bytes);
  CHECK(fake_gpu(0).reservations == 1);
  CHECK(fake_gpu(1).reservations == 1);
}

TEST_CASE(
    "placement: where an instruction's weights were asked for apart the largest has its way, and "
    "what was not asked "
    "for follows") {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {4, 8})), y = p.add_value(output("y", {4, 8}));
  const int32_t large = p.add_value(weight("large", {4, 8}, 1)),
                small = p.add_value(weight("small", {8}, 2));
  ElementwiseAttributes fma = step(ElementwiseOp::kFma);
  fma.steps[0].c = 2;
  p.add_instruction(fma, {x, large, small}, {y});
  // One product for two weights of the source: the larger of the two has its way.
  file.metadata.weights.push_back(record({"q"}, large, "cuda:0", {1, 8}));
  file.metadata.weights.push_back(record({"kv"}, large, "cuda:1", {3, 8}));
  add_ports(&file);
  FileBytes bytes(file);
  Model model = open_bytes_or_fail(bytes);
  const auto ask = [&](const char* q, const char* kv, const char* small_one) {
    auto assignment = model.assign("cpu", [&](const ingot_weight& w) {
      return std::strcmp(w.name, "q") == 0 ? q : std::strcmp(w.name, "kv") == 0 ? kv : small_one;
    });
    REQUIRE(assignment.ok());
    return std::move(*assignment);
  };
  const auto lies = [](const Assignment& a, const char* name) {
    const ingot_weight_place row = named(a, name);
    return std::string(a.device(uint32_t(__builtin_ctz(row.devices)))) + ": " + row.reason;
  };
  const std::string follows =
      "with a weight that was asked for there and is read by the same instruction";
  const Assignment apart = ask("fake:1", "fake:0", "fake:1");
  CHECK(lies(apart, "kv") == "fake:0: asked for");
  CHECK(lies(apart, "q") == "fake:0: " + follows);
  CHECK(lies(apart, "small") == "fake:0: " + follows);
  const Assignment one = ask("", nullptr, "fake:1");
  CHECK(lies(one, "kv") == "fake:1: " + follows);
  CHECK(lies(one, "small") == "fake:1: asked for");
  const Assignment none = ask(nullptr, nullptr, nullptr);
  CHECK(lies(none, "small") == "cpu: not asked for: the session's device");
  const auto expected = run_twice(model, session_options());
  for (const Assignment* a : {&apart, &one, &none}) CHECK(run_twice(model, with(*a)) == expected);
}

TEST_CASE("placement: a device that is not there is refused with the weight and the alternatives") {
  FileBytes bytes(three_weights()), others(chain_network());
  Model model = open_bytes_or_fail(bytes), other = open_bytes_or_fail(others);
  for (const char* device : {"cuda", "cuda:0", "fake:2", "gpu", "null", "trained"}) {
    const auto refused =
        model.assign("cpu", [&](const ingot_weight& w) { return *w.trained_on ? device : ""; });
    REQUIRE(!refused.ok());
    CHECK(refused.error().code == INGOT_NO_SUCH_DEVICE);
    CHECK(std::string(refused.error().name) == std::string("state_dict.net.b=") + device);
    const std::string text = refused.error().text();
    const bool is_cuda = std::strncmp(device, "cuda", 4) == 0;
    CHECK(text.find(is_cuda ? "or use cpu" : "use auto, cpu, ") != std::string::npos);
    CHECK(text.find(is_cuda ? "INGOT_CUDA_DRIVER" : "use auto, cpu, cuda or cuda:1") !=
          std::string::npos);
    const auto whole = model.assign(device, [](const ingot_weight&) { return nullptr; });
    CHECK(whole.error().code == INGOT_NO_SUCH_DEVICE);
    CHECK(std::string(whole.error().name) == device);
  }
  const Assignment assignment = assign(model, 1);
  CHECK(other.session(with(assignment)).error().code == INGOT_INVALID_ARGUMENT);
  ingot_session_options both = with(assignment);
  both.device = "cpu";
  CHECK(model.session(both).error().code == INGOT_INVALID_ARGUMENT);
  int known = 0;
  ingot_device device = {};
  device.size = sizeof device;
  for (; ingot_device_at(uint32_t(known), &device) == INGOT_OK; known++)
    CHECK(bool(device.exists) == (std::string(device.name) != "cuda"));
  CHECK(known == 5);
}

TEST_CASE(
    "placement: random programs in random places give the CPU's bits, every value of them, exactly "
    "the transfers that "
    "were stated") {
  int split = 0;
  for (uint32_t seed = 0; seed < 150; seed++) {
    CAPTURE(seed);
    FileBytes bytes(random_network(seed));
    Model model = open_bytes_or_fail(bytes);
    ingot_session_options keep = session_options();
    keep.flags = INGOT_KEEP_VALUES;
    auto alone = model.session(keep);
    REQUIRE(alone.ok());
    fill(model, *alone);
    REQUIRE(alone->run().ok());
    const auto expected = run_twice(model, session_options());
    for (uint32_t place = 0; place < 4; place++) {
      const Assignment assignment = assign(model, seed * 4 + place, place == 3 ? "fake:1" : "cpu");
      ingot_session_options options = with(assignment);
      options.flags = place == 1 ? uint32_t{INGOT_KEEP_VALUES} : 0u;
      options.threads = 1 + int32_t(place % 2);
      ingot_share stated[3] = {};
      int devices = 0;
      for (uint32_t i = 0; i < 3; i++) {
        stated[i].size = sizeof stated[i];
        if (ingot_model_share(model.get(), &options, i, &stated[i], nullptr)) break;
        devices += stated[i].instructions != 0;
      }
      // which stay in the arena of a split
      if (place == 2 && devices > 1) options.flags = INGOT_CALLER_BINDS_PORTS;
      reset_counts();
      REQUIRE(run_twice(model, options) == expected);
      for (const ingot_share& share : stated) {
        if (!share.device || share.device[0] != 'f') continue;
        const FakeGpu& gpu = fake_gpu(share.device[5] - '0');
        CHECK(gpu.runs == 2 * share.launches);
        CHECK(gpu.downloads == 2 * share.downloads);
        CHECK(gpu.uploads >= 2 * share.uploads);  // the weights, when the session was made
      }
      split += devices > 1;
      if (place != 1) continue;
      auto session = model.session(options);
      REQUIRE(session.ok());
      fill(model, *session);
      REQUIRE(session->run().ok());
      for (uint32_t v = 0; v < model.summary().value_count; v++) {
        ingot_tensor want = {}, have = {};
        if (ingot_session_value(alone->get(), v, &want, nullptr)) continue;
        // a device alone keeps them to itself
        if (devices == 1 && session->share(0).device[0] == 'f') continue;
        REQUIRE(ingot_session_value(session->get(), v, &have, nullptr) == INGOT_OK);
        CHECK(std::memcmp(want.data, have.data, want.bytes) == 0);
      }
    }
  }
  CHECK(split > 300);
  CHECK(fake_gpu(0).reservations + fake_gpu(1).reservations == 0);
}
