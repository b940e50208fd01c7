// A place for each weight: who is asked what, where instructions run, what crosses between devices,
// and that none of it changes an answer.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "runtime/device/fake/fake_device.h"
#include "runtime/op/control.h"
#include "runtime/op/data_dependent.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

convert::ValueSpec weight(const std::string& name, std::vector<Dim> dims, float first) {
  convert::ValueSpec value = constant(name, dims);
  auto bytes = std::make_shared<std::vector<uint8_t>>(value.bytes.held->size());
  for (size_t i = 0; i < bytes->size() / 4; i++) {
    const float x = first + 0.25f * float(i % 13);
    std::memcpy(bytes->data() + 4 * i, &x, 4);
  }
  value.bytes.held = bytes;
  return value;
}

convert::SourceWeightSpec record(std::vector<std::string> path, int32_t value, const char* device,
                                 std::vector<int64_t> dims) {
  convert::SourceWeightSpec spec;
  spec.path = std::move(path);
  spec.dtype = "float32";
  spec.device = device;
  spec.dims = spec.view = std::move(dims);
  spec.value = value;
  return spec;
}

/// y = ((x + a) * b) + c, then relu: three weights of 8, 32 and 8 elements; the source knows b as
/// part of a checkpoint's state_dict, c as changed, a not at all.
convert::FileSpec three_weights() {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const int32_t x = p.add_value(input("x", {4, 8}));
  const int32_t a = p.add_value(weight("a", {8}, 1)), b = p.add_value(weight("b", {4, 8}, -1));
  const int32_t c = p.add_value(weight("c", {8}, 3));
  const int32_t s = p.add_value(activation("s", {4, 8})), t = p.add_value(activation("t", {4, 8}));
  const int32_t u = p.add_value(in_place_of(activation("u", {4, 8}), t)),
                y = p.add_value(output("y", {4, 8}));
  p.add_instruction(step(ElementwiseOp::kAdd), {x, a}, {s});
  p.add_instruction(step(ElementwiseOp::kMul), {s, b}, {t});
  p.add_instruction(step(ElementwiseOp::kAdd), {t, c}, {u});
  p.add_instruction(step(ElementwiseOp::kRelu), {u}, {y});
  file.metadata.weights.push_back(record({"state_dict", "net.b"}, b, "cuda:1", {4, 8}));
  file.metadata.weights.push_back(record({"state_dict", "module.c"}, -1, "cuda:0", {8}));
  add_ports(&file);
  return file;
}

/// Straight-line, with values in place, storages written in parts and read across them, and weights
/// of several sizes.
convert::FileSpec random_network(uint32_t seed) {
  std::minstd_rand random(seed * 7919 + 1);
  random.discard(5);
  const auto die = [&](size_t n) { return size_t(random() >> 6) % n; };
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  std::vector<int32_t> pool, in_place;  // to read; of those, that may be overwritten
  int names = 0;
  const auto name = [&](const char* stem) { return stem + std::to_string(names++); };
  const auto fresh = [&] { return p.add_value(activation(name("v"), {4, 8})); };
  for (int i = 0; i < 2; i++) pool.push_back(p.add_value(input(name("x"), {4, 8})));
  const auto any = [&] { return pool[die(pool.size())]; };
  const auto made = [&](int32_t value) { pool.push_back(value), in_place.push_back(value); };
  for (size_t n = 6 + die(18); n > 0; n--) {
    switch (die(6)) {
      case 0: {
        const int32_t a = any(), y = fresh();
        p.add_instruction(step(ElementwiseOp::kAbs), {a}, {y});
        made(y);
        break;
      }
      case 1:
      case 2: {
        const bool large = die(2) != 0;
        const int32_t w = p.add_value(weight(
            name("w"), large ? std::vector<Dim>{4, 8} : std::vector<Dim>{8}, float(die(9)) - 4));
        const int32_t a = any(), y = fresh();
        p.add_instruction(step(die(2) ? ElementwiseOp::kAdd : ElementwiseOp::kMul), {a, w}, {y});
        made(y);
        break;
      }
      case 3: {
        const int32_t a = any(), b = any(), y = fresh();
        p.add_instruction(step(ElementwiseOp::kMax), {a, b}, {y});
        made(y);
        break;
      }
      case 4: {  // overwrites what nobody reads later
        if (in_place.empty()) break;
        const size_t at = die(in_place.size());
        const int32_t a = in_place[at];
        in_place.erase(in_place.begin() + long(at));
        pool.erase(std::find(pool.begin(), pool.end(), a));
        const int32_t y = p.add_value(in_place_of(activation(name("v"), {4, 8}), a));
        p.add_instruction(step(ElementwiseOp::kNeg), {a}, {y});
        made(y);
        break;
      }
      default: {  // two parts, each with a weight of its own, and one that reads across both
        const int32_t whole = p.add_value(activation(name("whole"), {8, 8}));
        const int32_t first = p.add_value(view_of(activation(name("part"), {4, 8}), whole));
        const int32_t second = p.add_value(view_of(activation(name("part"), {4, 8}), whole, 32));
        const int32_t across = p.add_value(view_of(activation(name("across"), {4, 8}), whole, 16));
        const int32_t w = p.add_value(weight(name("w"), {8}, 2)), a = any(), b = any(), y = fresh();
        p.add_instruction(step(ElementwiseOp::kAdd), {a, w}, {first});
        p.add_instruction(step(ElementwiseOp::kAbs), {b}, {second});
        p.add_instruction(step(ElementwiseOp::kNeg), {across}, {y});
        made(y);
        pool.push_back(first), pool.push_back(second), pool.push_back(across);
      }
    }
  }
  for (int i = 0; i < 3; i++) {
    const int32_t y = p.add_value(output(name("y"), {4, 8}));
    p.add_instruction(step(ElementwiseOp::kNeg), {i ? any() : pool.back()}, {y});
  }
  add_ports(&file);
  return file;
}

constexpr const char* kAnswers[] = {"cpu", "fake:0", "fake:1", "", nullptr};

Assignment assign(const Model& model, uint32_t seed, const char* device = "cpu") {
  std::minstd_rand random(seed * 31 + 7);
  random.discard(3);
  auto assignment = model.assign(
      device, [&](const ingot_weight&) { return kAnswers[size_t(random() >> 6) % 5]; });
  if (!assignment) throw std::runtime_error(assignment.error().text());
  return std::move(*assignment);
}

ingot_session_options with(const Assignment& assignment) {
  ingot_session_options options = session_options();
  options.assignment = assignment.get();
  return options;
}

void fill(const Model& model, const Session& session) {
  for (uint32_t i = 0; i < model.summary().input_count; i++)
    if (session.input(i)->dtype == INGOT_F32)
      write(session.input(i), ramp(session.input(i)->bytes / 4, float(i) - 3));
}

std::vector<std::vector<float>> run_twice(const Model& model,
                                          const ingot_session_options& options) {
  auto session = model.session(options);
  if (!session) throw std::runtime_error(session.error().text());
  std::vector<std::vector<float>> answers;
  for (int run = 0; run < 2; run++) {
    fill(model, *session);
    if (const auto ran = session->run(); !ran) throw std::runtime_error(ran.error().text());
    for (uint32_t i = 0; i < model.summary().output_count; i++)
      answers.push_back(read<float>(session->output(i)));
  }
  return answers;
}

ingot_weight_place named(const Assignment& assignment, const std::string& name) {
  for (uint32_t i = 0;; i++) {
    const ingot_weight weight = assignment.weight(i);
    if (!weight.name) throw std::runtime_error("no weight " + name);
    if (name == weight.name) return assignment.place(i);
  }
}

void reset_counts() {
  for (int d = 0; d < kFakeDevices; d++)
    fake_gpu(d).uploads = fake_gpu(d).downloads = fake_gpu(d).runs = 0;
}

}  // namespace

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

TEST_CASE("placement: the report says what lies where and why, and what a run transfers") {
  FileBytes bytes(three_weights());
  Model model = open_bytes_or_fail(bytes);
  const auto expected = run_twice(model, session_options());
  auto assignment = model.assign("cpu", [](const ingot_weight& w) {
    return std::strstr(w.name, "net.b")    ? "fake:0"
           : std::strcmp(w.name, "c") == 0 ? "fake:1"
                                           : nullptr;
  });
  REQUIRE(assignment.ok());
  CHECK(std::string(named(*assignment, "a").asked) == "cpu");
  CHECK(named(*assignment, "a").by_callback == 0);
  CHECK(named(*assignment, "a").devices == 1);
  CHECK(named(*assignment, "state_dict.net.b").by_callback == 1);
  CHECK(std::string(named(*assignment, "state_dict.net.b").reason) == "asked for");
  const uint32_t second = named(*assignment, "c").devices == 2 ? 1 : 2;
  CHECK(std::string(assignment->device(second)) == "fake:1");
  CHECK(assignment->device(3) == nullptr);
  CHECK(ingot_assignment_instruction(assignment->get(), 0) == 0);
  CHECK(ingot_assignment_instruction(assignment->get(), 2) == int32_t(second));
  // stays where u was made
  CHECK(ingot_assignment_instruction(assignment->get(), 3) == int32_t(second));
  CHECK(ingot_assignment_instruction(assignment->get(), 4) == -1);
  CHECK(run_twice(model, with(*assignment)) == expected);
  auto session = model.session(with(*assignment));
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
    CHECK(text.find(is_cuda ? "INGOT_CUDA_DRIVER" : "fake:0 or fake:1") != std::string::npos);
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

TEST_CASE(
    "placement: branches, loops, state, data-dependent sizes and other extents come out as on the "
    "CPU alone") {
  SUBCASE("branches in one arena for several extents") {
    FileBytes bytes(branching_network());
    Model model = open_bytes_or_fail(bytes);
    for (uint32_t seed = 0; seed < 12; seed++) {
      const Assignment assignment = assign(model, seed, kAnswers[seed % 3]);
      const ingot_binding high = {"N", 9};
      ingot_session_options options = session_options(), placed = with(assignment);
      for (ingot_session_options* o : {&options, &placed})
        o->bindings = &high, o->binding_count = 1, o->flags = INGOT_REBINDABLE;
      auto alone = model.session(options), session = model.session(placed);
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      for (const int64_t n : {9, 2, 5, 9, 1}) {
        REQUIRE(alone->rebind("N", n).ok());
        REQUIRE(session->rebind("N", n).ok());
        for (const uint8_t flag : {0, 1}) {
          for (Session* s : {&*alone, &*session}) {
            write(s->input("x"), ramp(size_t(n) * 8));
            write(s->input("flag"), std::vector<uint8_t>{flag});
            REQUIRE(s->run().ok());
          }
          CHECK(read<float>(alone->output("y")) == read<float>(session->output("y")));
        }
      }
    }
  }
  SUBCASE("state, kept and restored") {
    FileBytes bytes(counting_network(true));
    Model model = open_bytes_or_fail(bytes);
    for (const char* device : {"fake:0", "fake:1"}) {
      // x is the CPU's, and the copy into the state goes with y.
      auto assignment = model.assign(device, [](const ingot_weight&) { return nullptr; });
      REQUIRE(assignment.ok());
      auto session = model.session(with(*assignment)), other = model.session();
      REQUIRE(session.ok());
      for (int run = 1; run <= 3; run++) {
        write(session->input(0), std::vector<float>(8, 2.0f));
        REQUIRE(session->run().ok());
        CHECK(read<float>(session->output(0))[7] == 1.0f + 2.0f * float(run));
      }
      const auto saved = session->save_state();
      REQUIRE(saved.ok());
      REQUIRE(other->restore_state(saved.value().data(), saved.value().size()).ok());
      write(other->input(0), std::vector<float>(8, 2.0f));
      REQUIRE(other->run().ok());
      CHECK(read<float>(other->output(0))[7] == 9.0f);
    }
  }
  SUBCASE("state that a device writes and another reads") {
    convert::FileSpec file;
    file.segment_alignment = 16;
    convert::ProgramSpec& p = file.program;
    const int32_t x = p.add_value(input("x", {4, 8}));
    convert::ValueSpec kept = activation("s", {4, 8});
    kept.kind = ValueKind::kState;
    const int32_t s = p.add_value(kept), a = p.add_value(weight("a", {8}, 1)),
                  b = p.add_value(weight("b", {8}, 2));
    const int32_t t = p.add_value(activation("t", {4, 8})),
                  u = p.add_value(activation("u", {4, 8}));
    const int32_t y = p.add_value(output("y", {4, 8}));
    p.add_instruction(step(ElementwiseOp::kAdd), {x, a}, {t});
    p.add_instruction(step(ElementwiseOp::kMax), {t, s}, {u});
    p.add_instruction(step(ElementwiseOp::kMul), {u, b}, {y});
    p.add_instruction(CopyAttributes(), {y}, {s});
    p.states.push_back({"s", s, -1, -1, -1});
    add_ports(&file);
    FileBytes bytes(file);
    Model model = open_bytes_or_fail(bytes);
    const auto expected = run_twice(model, session_options());
    for (uint32_t seed = 0; seed < 20; seed++)
      CHECK(run_twice(model, with(assign(model, seed))) == expected);
  }
  SUBCASE("a loop whose body has weights") {
    convert::FileSpec file;
    file.segment_alignment = 16;
    convert::ProgramSpec& p = file.program;
    const int32_t count = p.add_value(input("count", {}, DType::kI64)),
                  x = p.add_value(input("x", {4, 8}));
    const int32_t a = p.add_value(weight("a", {8}, 1)), b = p.add_value(weight("b", {8}, -2)),
                  c = p.add_value(weight("c", {4, 8}, 1));
    const int32_t carried = p.add_value(activation("p", {4, 8})),
                  sum = p.add_value(activation("sum", {4, 8}));
    const int32_t y = p.add_value(output("y", {4, 8}));
    p.add_instruction(step(ElementwiseOp::kAdd), {x, a}, {carried});
    p.add_instruction(LoopAttributes{1, 3}, {count, -1, carried}, {});
    p.add_instruction(step(ElementwiseOp::kMul), {carried, c}, {y});
    p.subprograms.push_back({"body",
                             {{step(ElementwiseOp::kAdd), {carried, b}, {sum}, {}, 1},
                              {step(ElementwiseOp::kMax), {sum, x}, {carried}, {}, 1}}});
    add_ports(&file);
    FileBytes bytes(file);
    Model model = open_bytes_or_fail(bytes);
    for (uint32_t seed = 0; seed < 20; seed++) {
      const Assignment assignment = assign(model, seed);
      auto alone = model.session(), session = model.session(with(assignment));
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      for (const int64_t n : {2, 0, 3, 1}) {
        for (Session* s : {&*alone, &*session}) {
          write(s->input("count"), std::vector<int64_t>{n});
          write(s->input("x"), ramp(32));
          REQUIRE(s->run().ok());
        }
        CHECK(read<float>(alone->output("y")) == read<float>(session->output("y")));
      }
    }
  }
  SUBCASE("sizes that the data decides") {
    convert::FileSpec file;
    file.segment_alignment = 16;
    convert::ProgramSpec& p = file.program;
    p.required_features = {"measured"};
    const Dim n = p.add_symbol("n", 0, 0);
    const int32_t x = p.add_value(input("x", {12})), a = p.add_value(weight("a", {12}, -2)),
                  b = p.add_value(weight("b", {1}, 3));
    const int32_t shifted = p.add_value(activation("shifted", {12}));
    const int32_t found = p.add_value(activation("found", {1, n}, DType::kI64)),
                  number = p.add_value(activation("count", {}, DType::kI64));
    const int32_t where = p.add_value(view_of(activation("where", {n}, DType::kI64), found));
    const int32_t taken = p.add_value(activation("taken", {n})), y = p.add_value(output("y", {n}));
    p.symbols[0].resolved_by = number;
    p.symbols[0].bound = 12;
    p.add_instruction(step(ElementwiseOp::kMax), {x, a}, {shifted});
    p.add_instruction(NonZeroAttributes(), {shifted}, {found, number});
    p.add_instruction(GatherAttributes(), {shifted, where}, {taken});
    p.add_instruction(step(ElementwiseOp::kMul), {taken, b}, {y});
    add_ports(&file);
    FileBytes bytes(file);
    Model model = open_bytes_or_fail(bytes);
    for (uint32_t seed = 0; seed < 20; seed++) {
      const Assignment assignment = assign(model, seed, kAnswers[seed % 3]);
      auto alone = model.session(), session = model.session(with(assignment));
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      CHECK((session->share(1).device == nullptr ||
             ingot_assignment_instruction(assignment.get(), 1) == 0));
      for (const float from : {-9.0f, -3.0f, 1.0f}) {
        for (Session* s : {&*alone, &*session}) {
          write(s->input("x"), ramp(12, from));
          REQUIRE(s->run().ok());
        }
        CHECK(alone->output("y")->dims[0] == session->output("y")->dims[0]);
        CHECK(read<float>(alone->output("y")) == read<float>(session->output("y")));
      }
    }
  }
}

TEST_CASE("placement: weights mapped, copied, in place, and arenas of the caller's") {
  const convert::FileSpec spec = three_weights();
  TemporaryFile file(spec);
  FileBytes bytes(spec);
  ingot_open_options copy = open_options(oracle_table());
  copy.map = INGOT_MAP_COPY;
  copy.trust = INGOT_TRUST_HASHES;
  Model in_place = open_bytes_or_fail(bytes);
  auto mapped = Model::open(file.path(), oracle_table()), copied = Model::open(file.path(), copy);
  REQUIRE(mapped.ok());
  REQUIRE(copied.ok());
  const auto expected = run_twice(in_place, session_options());
  for (const Model* model : {&in_place, &*mapped, &*copied}) {
    const Assignment assignment = assign(*model, 5);
    ingot_session_options options = with(assignment);
    CHECK(run_twice(*model, options) == expected);
    const ingot_requirements need = model->requirements(options).value();
    CHECK(need.device_bytes > 0);
    options.arena_kind = INGOT_ARENA_CALLER;
    AlignedBlock arena(need.arena_bytes * 2, 4096);
    options.arena = arena.data();
    options.arena_bytes = model->requirements(options).value().arena_bytes;
    CHECK(run_twice(*model, options) == expected);
    options.arena_bytes--;
    CHECK(model->session(options).error().code == INGOT_ARENA_TOO_SMALL);
  }
}

TEST_CASE(
    "placement: a fault of either device at every call in turn is named and leaves nothing "
    "behind") {
  FileBytes bytes(three_weights());
  Model model = open_bytes_or_fail(bytes);
  const auto expected = run_twice(model, session_options());
  auto assignment = model.assign("cpu", [](const ingot_weight& w) {
    return std::strstr(w.name, "net.b")    ? "fake:0"
           : std::strcmp(w.name, "c") == 0 ? "fake:1"
                                           : nullptr;
  });
  REQUIRE(assignment.ok());
  for (int gpu = 0; gpu < kFakeDevices; gpu++) {
    for (const Code code : {Code::kDeviceLost, Code::kDeviceFault, Code::kOutOfMemory}) {
      int faults = 0;
      for (uint32_t n = 1;; n++) {
        set_fake_fault(gpu, n, code);
        auto session = model.session(with(*assignment));
        bool failed = !session;
        if (failed) {
          CHECK(session.error().code == ingot_code(code));
          CHECK(std::string(session.error().name) == kFakeNames[gpu]);
        } else {
          fill(model, *session);
          const auto ran = session->run();
          failed = !ran;
          if (failed) CHECK(ran.error().code == ingot_code(code));
          if (failed) CHECK(std::string(ran.error().name) == kFakeNames[gpu]);
          set_fake_fault(gpu, 0, Code::kOk);
          fill(model, *session);
          const auto again = session->run();
          const bool kills = failed && code != Code::kOutOfMemory;
          CHECK(again.ok() == !kills);
          if (kills) CHECK(again.error().code == INGOT_WRONG_STATE);  // dead
          if (!kills) CHECK(read<float>(session->output(0)) == expected[0]);
        }
        set_fake_fault(gpu, 0, Code::kOk);
        if (session) session = Error(INGOT_NOT_FOUND);
        for (int d = 0; d < kFakeDevices; d++) {
          CHECK(fake_gpu(d).reservations == 0);
          CHECK(fake_gpu(d).reserved_kib == 0);
        }
        if (!failed) break;
        faults++;
      }
      CHECK(faults == 6);  // reserve, a weight, resolve; a value comes, the launch, a value goes
    }
  }
}

TEST_CASE(
    "placement: a second device with too little memory says what it needs and has, and the first "
    "is given back") {
  FileBytes bytes(chain_network(4000));
  Model model = open_bytes_or_fail(bytes);
  auto assignment = model.assign("fake:0", [](const ingot_weight&) { return "fake:1"; });
  REQUIRE(assignment.ok());
  fake_gpu(1).memory_kib = 64;
  const auto session = model.session(with(*assignment));
  fake_gpu(1).memory_kib = 1u << 20;
  CHECK(session.error().code == INGOT_OUT_OF_MEMORY);
  CHECK(std::string(session.error().name) == "fake:1");
  ingot_share share = {};
  share.size = sizeof share;
  const ingot_session_options options = with(*assignment);
  REQUIRE(ingot_model_share(model.get(), &options, 2, &share, nullptr) == INGOT_OK);
  CHECK(session.error().need == share.arena_bytes);
  CHECK(session.error().have == 65536);
  CHECK(fake_gpu(0).reservations == 0);
  ingot_session_options limited = with(*assignment);
  limited.arena_bytes = share.arena_bytes - 1;
  CHECK(model.session(limited).error().code == INGOT_ARENA_TOO_SMALL);
}

TEST_CASE(
    "fake device: its memory is its own, begins with a pattern, and an address of the host is "
    "caught") {
  Device gpu;
  ErrorDetail detail;
  REQUIRE(find_device("fake:0", &gpu, nullptr).ok());
  uint8_t* at = nullptr;
  REQUIRE(gpu.interface->reserve(gpu, 256, 64, &at, &detail).ok());
  uint8_t here[256] = {};
  REQUIRE(gpu.interface->download(gpu, here, at, 256, &detail).ok());
  CHECK(std::count(here, here + 256, kFakePattern) == 256);
  CHECK(gpu.interface->upload(gpu, here, at, 16, &detail).code() == Code::kDeviceFault);
  CHECK(gpu.interface->upload(gpu, at + 250, here, 7, &detail).code() == Code::kDeviceFault);
  CHECK(gpu.interface->download(gpu, here, here + 8, 8, &detail).code() == Code::kDeviceFault);
  TensorView operand;
  operand.dtype = DType::kF32, operand.rank = 1, operand.dims[0] = operand.row_stride = 4;
  Call call;
  call.arguments.inputs = &operand, call.arguments.input_count = 1;
  const StepDef step = {StepKind::kRun, 0, 0, 0};
  StepProgram program;
  program.steps = {&step, 1}, program.calls = {&call, 1};
  program.scratch = at;
  for (uint8_t* data : {at, here}) {
    operand.data = data;
    CHECK(gpu.interface->resolve(gpu, program, &detail).ok() == (data == at));
  }
  CHECK(std::string(detail.field).find("operand") != std::string::npos);
  gpu.interface->release(gpu, at, 256);
  CHECK(gpu.interface->upload(gpu, at, here, 1, &detail).code() == Code::kDeviceFault);
}
