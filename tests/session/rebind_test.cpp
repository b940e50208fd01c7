// SPDX-License-Identifier: Apache-2.0
// Rebinding: one arena for every binding within the bounds, equal to a session that was made for
// the binding; what is outside is refused by name and changes nothing.
#include <doctest/doctest.h>

#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int64_t kMax = 64;

ingot_session_options rebindable(int32_t threads = 1) {
  ingot_session_options options = session_options();
  options.threads = threads;
  options.flags = INGOT_REBINDABLE;
  return options;
}

std::vector<float> run_branching(Session& session, int64_t n, bool flag) {
  write(session.input("x"), ramp(size_t(n) * 8, float(n)));
  write(session.input("flag"), std::vector<uint8_t>{flag});
  const auto ran = session.run();
  REQUIRE_MESSAGE(ran.ok(), ran.error().text());
  REQUIRE(session.output("y")->dims[0] == (n + 1) / 2);
  return read<float>(session.output("y"));
}

/// y = relu(x), x [extent(N)], N from 1 to 9.
convert::FileSpec sized_network(DimOp op, Dim other, bool times_symbol) {
  convert::FileSpec file;
  file.segment_alignment = 16;
  convert::ProgramSpec& p = file.program;
  const Dim n = p.add_symbol("N", 1, 9);
  Dim extent = p.add_dim_expr(op, other, n);
  if (times_symbol) extent = p.add_dim_expr(DimOp::kMul, extent, n);
  const int32_t x = p.add_value(input("x", {extent}));
  const int32_t y = p.add_value(output("y", {extent}));
  p.add_instruction(step(ElementwiseOp::kRelu), {x}, {y});
  add_ports(&file);
  return file;
}

}  // namespace

TEST_CASE(
    "rebind: every binding in one arena equals a session made for it, up and down, on every "
    "device") {
  FileBytes bytes(branching_network());
  const Model model = open_bytes_or_fail(bytes);
  for (const char* device : {"cpu", "fake:0"})
    for (const int32_t threads : {1, 3}) {
      ingot_session_options options = rebindable(threads);
      options.device = device;
      auto session = model.session(options);
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      CHECK(session->input("x")->dims[0] == kMax);
      for (int64_t turn = 1; turn <= 2 * kMax; turn++) {
        const int64_t n = turn % 2 ? (turn + 1) / 2 : kMax + 1 - turn / 2;
        CAPTURE(n);
        const auto bound = session->rebind("N", n);
        REQUIRE_MESSAGE(bound.ok(), bound.error().text());
        const ingot_binding binding = {"N", n};
        ingot_session_options fixed = session_options();
        fixed.threads = 1;
        fixed.bindings = &binding;
        fixed.binding_count = 1;
        auto own = model.session(fixed);
        REQUIRE(own.ok());
        for (const bool flag : {false, true})
          CHECK(run_branching(*session, n, flag) == run_branching(*own, n, flag));
      }
    }
}

TEST_CASE("rebind: the requirement is exact, and the same whatever is bound first") {
  FileBytes bytes(branching_network());
  const Model model = open_bytes_or_fail(bytes);
  const ingot_binding first = {"N", 5};
  ingot_session_options options = rebindable();
  options.flags |= INGOT_POISON;
  options.arena_kind = INGOT_ARENA_CALLER;
  const ingot_requirements need = model.requirements(options).value();
  options.bindings = &first;
  options.binding_count = 1;
  const ingot_requirements same = model.requirements(options).value();
  CHECK(std::memcmp(&need, &same, sizeof need) == 0);
  AlignedBlock arena(need.arena_bytes, 64);
  options.arena = arena.data();
  options.arena_bytes = need.arena_bytes - 1;
  CHECK(model.session(options).error().code == INGOT_ARENA_TOO_SMALL);
  CHECK(model.session(options).error().need == need.arena_bytes);
  options.arena_bytes = need.arena_bytes;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  CHECK(session->input("x")->dims[0] == 5);
  REQUIRE(session->rebind("N", kMax).ok());
  run_branching(*session, kMax, true);
  run_branching(*session, kMax, false);
  ingot_touched touched = {};
  touched.size = sizeof touched;
  REQUIRE(ingot_session_touched(session->get(), &touched) == INGOT_OK);
  CHECK(touched.arena <= need.arena_bytes);
  CHECK(touched.arena + 64 > need.arena_bytes);
  CHECK(touched.tables + 64 > need.tables);
  const ingot_requirements kept = session->requirements();
  CHECK(std::memcmp(&need, &kept, sizeof need) == 0);
}

TEST_CASE("rebind: what cannot be bound is named, and the session goes on as before") {
  FileBytes bytes(branching_network());
  const Model model = open_bytes_or_fail(bytes);
  auto session = model.session(rebindable());
  REQUIRE(session.ok());
  REQUIRE(session->rebind("N", 7).ok());
  const std::vector<float> before = run_branching(*session, 7, true);
  const ingot_binding twice[] = {{"N", 3}, {"N", 4}};
  const ingot_binding beyond = {"N", 65}, none = {"N", 0}, negative = {"N", -2}, unknown = {"M", 3};
  const auto refuse = [&](const ingot_binding* bindings, size_t count, ingot_code code,
                          uint64_t need) {
    const auto bound = session->rebind(bindings, count);
    CHECK(bound.error().code == code);
    CHECK(bound.error().need == need);
    if (code == INGOT_DIMENSION_OUT_OF_BOUNDS) CHECK(std::string(bound.error().name) == "N");
    CHECK(run_branching(*session, 7, true) == before);
  };
  refuse(&beyond, 1, INGOT_DIMENSION_OUT_OF_BOUNDS, 64);
  refuse(&none, 1, INGOT_DIMENSION_OUT_OF_BOUNDS, 1);
  refuse(&negative, 1, INGOT_DIMENSION_OUT_OF_BOUNDS, 1);
  refuse(&unknown, 1, INGOT_NOT_FOUND, 0);
  refuse(twice, 2, INGOT_INVALID_ARGUMENT, 3);
  refuse(nullptr, 1, INGOT_INVALID_ARGUMENT, 0);
  const ingot_binding seven = {"N", 7};
  ingot_session_options fixed = session_options();
  fixed.bindings = &seven;
  fixed.binding_count = 1;
  auto plain = model.session(fixed);
  REQUIRE(plain.ok());
  CHECK(plain->rebind("N", 3).error().code == INGOT_WRONG_STATE);
  CHECK(run_branching(*plain, 7, true) == before);
}

TEST_CASE("rebind: bounds of the session stand in for those of the file, and bind what has none") {
  FileBytes bytes(branching_network());
  const Model model = open_bytes_or_fail(bytes);
  const ingot_binding most = {"N", 10}, more = {"N", 12};
  ingot_session_options options = rebindable();
  options.upper_bounds = &most;
  options.upper_bound_count = 1;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  CHECK(session->requirements().activations < model.requirements(rebindable()).value().activations);
  CHECK(session->rebind("N", 10).ok());
  CHECK(session->rebind("N", 11).error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
  options.bindings = &more;
  options.binding_count = 1;
  CHECK(model.session(options).error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
  CHECK(model.requirements(options).error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
  options.flags = 0;
  CHECK(model.session(options).error().code == INGOT_INVALID_ARGUMENT);  // bounds without the flag

  convert::FileSpec open_ended = branching_network();
  open_ended.program.symbols[0].high = 0;
  FileBytes without(open_ended);
  const Model unbounded = open_bytes_or_fail(without);
  CHECK(unbounded.session(rebindable()).error().code == INGOT_UNBOUND_DIMENSION);
  ingot_session_options bound = rebindable();
  bound.bindings = &more;
  bound.binding_count = 1;
  auto fixed = unbounded.session(bound);
  REQUIRE_MESSAGE(fixed.ok(), fixed.error().text());
  CHECK(fixed->rebind("N", 13).error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
  CHECK(fixed->rebind("N", 11).ok());
}

TEST_CASE(
    "rebind: a value that is larger at a smaller binding has its place, or is refused with both "
    "numbers") {
  FileBytes falling(sized_network(DimOp::kSub, 100, false));  // 100 - N
  const Model model = open_bytes_or_fail(falling);
  auto session = model.session(rebindable());
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  for (int64_t n = 1; n <= 9; n++) {
    REQUIRE(session->rebind("N", n).ok());
    CHECK(session->input(0)->dims[0] == 100 - n);
    write(session->input(0), ramp(size_t(100 - n)));
    REQUIRE(session->run().ok());
  }
  // (10 - N) * N: 9 at both bounds, 25 between
  FileBytes arched(sized_network(DimOp::kSub, 10, true));
  const Model between = open_bytes_or_fail(arched);
  auto bent = between.session(rebindable());
  REQUIRE_MESSAGE(bent.ok(), bent.error().text());
  const auto refused = bent->rebind("N", 5);
  CHECK(refused.error().code == INGOT_ARENA_TOO_SMALL);
  CHECK(refused.error().need == 100);
  CHECK(refused.error().have == 36);
  CHECK(bent->input(0)->dims[0] == 9);
  write(bent->input(0), ramp(9));
  CHECK(bent->run().ok());
}

TEST_CASE("rebind: ports of the caller's are given back, and bound again with their new extents") {
  FileBytes bytes(branching_network());
  const Model model = open_bytes_or_fail(bytes);
  ingot_session_options options = rebindable();
  options.flags |= INGOT_CALLER_BINDS_PORTS;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  AlignedBlock x(kMax * 32, 64), flag(64, 64), y(kMax * 64, 64);
  *flag.data() = 1;
  for (const int64_t n : {64, 3, 20}) {
    REQUIRE(session->rebind("N", n).ok());
    CHECK(session->run().error().code == INGOT_WRONG_STATE);  // unbound
    ingot_tensor in = session->input("x").value(), on = session->input("flag").value(),
                 out = session->output("y").value();
    in.data = x.data(), on.data = flag.data(), out.data = y.data();
    REQUIRE(session->bind_input(0, in).ok());
    REQUIRE(session->bind_input(1, on).ok());
    REQUIRE(session->bind_output(0, out).ok());
    run_branching(*session, n, true);
    ingot_tensor wrong = in;
    wrong.dims[0]++;
    CHECK(session->bind_input(0, wrong).error().code == INGOT_SHAPE_MISMATCH);
  }
}
