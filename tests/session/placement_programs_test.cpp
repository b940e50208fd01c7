// SPDX-License-Identifier: Apache-2.0
// Assignments of programs with branches, loops, state and sizes that depend on data, in every kind
// of memory, and when a device fails.
#include "runtime/op/control.h"
#include "runtime/op/data_dependent.h"
#include "tests/session/placement_models.h"

using namespace ingot;
using namespace ingot::test;

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

TEST_CASE_FIXTURE(
    PlacedWeights,
    "placement: a fault of either device at every call in turn is named and leaves nothing "
    "behind") {
  for (int gpu = 0; gpu < kFakeDevices; gpu++) {
    for (const Code code : {Code::kDeviceLost, Code::kDeviceFault, Code::kOutOfMemory}) {
      int faults = 0;
      for (uint32_t n = 1;; n++) {
        set_fake_fault(gpu, n, code);
        auto session = model.session(with(assignment));
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
