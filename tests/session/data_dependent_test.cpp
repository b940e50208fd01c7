// SPDX-License-Identifier: Apache-2.0
// Sizes that only the data tells: every operator behind them sees what was found, outputs show
// it, nothing moves; what a file or the data gets wrong is a named error and the session goes on.
#include "runtime/op/data_dependent.h"

#include <doctest/doctest.h>

#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

struct Network {
  convert::FileSpec file;
  Dim n = 0, x_extent = 0;
  int32_t x = -1, found = -1, count = -1;
};

void resolve_by(convert::ProgramSpec* p, const char* name, int32_t by, Dim bound) {
  for (convert::SymbolSpec& symbol : p->symbols)
    if (symbol.name == name) symbol.low = 0, symbol.resolved_by = by, symbol.bound = bound;
}

/// found [1, n] = NonZero(x [extent]); the extent is 12, or a free symbol.
Network finding(bool free_extent = false) {
  Network net;
  net.file.segment_alignment = 16;
  convert::ProgramSpec& p = net.file.program;
  p.required_features = {"measured"};
  net.x_extent = free_extent ? p.add_symbol("W", 1, 40) : Dim{12};
  net.n = p.add_symbol("n", 0, 0);
  net.x = p.add_value(input("x", {net.x_extent}));
  net.found = p.add_value(activation("found", {1, net.n}, DType::kI64));
  net.count = p.add_value(activation("count", {}, DType::kI64));
  resolve_by(&p, "n", net.count, net.x_extent);
  p.add_instruction(NonZeroAttributes(), {net.x}, {net.found, net.count});
  return net;
}

/// y [n] = the elements of x that are not zero; sum [1] of them; picked [n, 1] as a view of it; and
/// where they are.
convert::FileSpec packing_network(bool free_extent = false) {
  Network net = finding(free_extent);
  convert::ProgramSpec& p = net.file.program;
  const int32_t where = p.add_value(view_of(activation("where", {net.n}, DType::kI64), net.found));
  const int32_t y = p.add_value(output("y", {net.n}));
  const int32_t negated = p.add_value(activation("negated", {net.n}));
  const int32_t twice = p.add_value(in_place_of(activation("twice", {net.n}), negated));
  const int32_t sum = p.add_value(output("sum", {1}));
  const int32_t at = p.add_value(output("at", {net.n, 1}, DType::kI64));
  p.add_instruction(GatherAttributes(), {net.x, where}, {y});
  p.add_instruction(step(ElementwiseOp::kNeg), {y}, {negated});
  p.add_instruction(step(ElementwiseOp::kAdd), {negated, y}, {twice});
  p.add_instruction(step(ElementwiseOp::kSub), {y, twice},
                    {p.add_value(activation("again", {net.n}))});
  p.add_instruction(ReduceAttributes{ReduceKind::kSum, 1}, {int32_t(p.values.size() - 1)}, {sum});
  p.add_instruction(CopyAttributes(), {where}, {at});
  add_ports(&net.file);
  return net.file;
}

std::vector<float> sparse(size_t size, uint32_t pattern) {
  std::vector<float> x(size, 0.0f);
  for (size_t i = 0; i < size; i++)
    if (pattern >> (i % 12) & 1) x[i] = float(i) + 0.5f;
  return x;
}

void check_packed(Session& session, const std::vector<float>& x) {
  write(session.input("x"), x);
  const auto ran = session.run();
  REQUIRE_MESSAGE(ran.ok(), ran.error().text());
  std::vector<float> expected;
  std::vector<int64_t> where;
  float sum = 0;
  for (size_t i = 0; i < x.size(); i++)
    if (x[i] != 0) expected.push_back(x[i]), where.push_back(int64_t(i)), sum += x[i];
  const ingot_tensor y = session.output("y").value(), at = session.output("at").value();
  CHECK(y.dims[0] == int64_t(expected.size()));
  CHECK(at.dims[0] == int64_t(expected.size()));
  CHECK(read<float>(y) == expected);
  CHECK(read<int64_t>(at) == where);
  CHECK(read<float>(session.output("sum"))[0] == sum);
}

Code open_code(const convert::FileSpec& file) {
  const Opened opened = open_bytes(convert::write_memory(file));
  return opened.status.code();
}

}  // namespace

TEST_CASE(
    "data-dependent: every number of elements, on every device, with values kept and ports bound") {
  FileBytes bytes(packing_network());
  const Model model = open_bytes_or_fail(bytes);
  CHECK(model.summary().symbol_count == 0);  // nothing to bind
  for (const char* device : {"cpu", "fake:0"})
    for (const uint32_t flags : {0u, uint32_t(INGOT_KEEP_VALUES)}) {
      ingot_session_options options = session_options();
      options.device = device;
      options.flags = flags;
      auto session = model.session(options);
      REQUIRE_MESSAGE(session.ok(), session.error().text());
      CHECK(session->output("y")->dims[0] == 12);  // the bound, before anything was found
      for (uint32_t pattern = 0; pattern < 4096; pattern += 7)
        check_packed(*session, sparse(12, pattern));
      check_packed(*session, sparse(12, 0));
      check_packed(*session, sparse(12, 4095));
    }
  ingot_session_options options = session_options();
  options.flags = INGOT_CALLER_BINDS_PORTS;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  AlignedBlock x(64, 64), y(64, 64), sum(64, 64), at(128, 64);
  const auto bind = [&](bool is_input, uint32_t index, AlignedBlock& memory) {
    ingot_tensor tensor = is_input ? session->input(index).value() : session->output(index).value();
    tensor.data = memory.data();
    const auto bound =
        is_input ? session->bind_input(index, tensor) : session->bind_output(index, tensor);
    REQUIRE_MESSAGE(bound.ok(), bound.error().text());
  };
  bind(true, 0, x), bind(false, 0, y), bind(false, 1, sum), bind(false, 2, at);
  for (const uint32_t pattern : {5u, 4095u, 0u, 1024u}) check_packed(*session, sparse(12, pattern));
  ingot_tensor small = session->output(0).value();
  CHECK(small.dims[0] == 1);
  small.dims[0] = 5;
  // room for the most is wanted
  CHECK(session->bind_output(0, small).error().code == INGOT_SHAPE_MISMATCH);
}

TEST_CASE("data-dependent: with a free extent, bound and bound again") {
  FileBytes bytes(packing_network(true));
  const Model model = open_bytes_or_fail(bytes);
  CHECK(model.summary().symbol_count == 1);
  ingot_session_options options = session_options();
  options.flags = INGOT_REBINDABLE;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  for (const int64_t w : {40, 1, 13, 24, 39}) {
    REQUIRE(session->rebind("W", w).ok());
    CHECK(session->output("y")->dims[0] == w);
    for (const uint32_t pattern : {0u, 4095u, 1365u, 1u})
      check_packed(*session, sparse(size_t(w), pattern));
  }
  const ingot_binding n = {"n", 4};
  options.bindings = &n;
  options.binding_count = 1;
  CHECK(model.session(options).error().code == INGOT_NOT_FOUND);  // is found, not bound
}

TEST_CASE("data-dependent: what the data gets wrong is named, and the session goes on") {
  Network net = finding();
  convert::ProgramSpec& p = net.file.program;
  const Dim m = p.add_symbol("m", 0, 0);
  const int32_t other = p.add_value(input("k", {}, DType::kI64));
  const int32_t k = p.add_value(activation("k found", {}, DType::kI64));
  ElementwiseAttributes same;
  same.compute = ComputeType::kI64;
  p.add_instruction(same, {other}, {k});
  resolve_by(&p, "m", k, 12);
  const int32_t where = p.add_value(view_of(activation("where", {net.n}, DType::kI64), net.found));
  const int32_t picked = p.add_value(activation("picked", {net.n}));
  const int32_t top = p.add_value(activation("top", {m}));
  const int32_t index = p.add_value(activation("index", {m}, DType::kI64));
  const int32_t y = p.add_value(output("y", {m}));
  p.add_instruction(GatherAttributes(), {net.x, where}, {picked});
  p.add_instruction(TopKAttributes{0, true, true}, {net.x}, {top, index});
  p.add_instruction(step(ElementwiseOp::kAdd), {top, picked}, {y});  // needs as many as were found
  add_ports(&net.file);
  FileBytes bytes(net.file);
  const Model model = open_bytes_or_fail(bytes);
  auto session = model.session();
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  const auto run = [&](int64_t asked) {
    write(session->input("x"), sparse(12, 7));
    write(session->input("k"), std::vector<int64_t>{asked});
    return session->run();
  };
  CHECK(run(3).ok());
  CHECK(session->output("y")->dims[0] == 3);
  for (const int64_t asked : {int64_t{13}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const auto beyond = run(asked);
    CHECK(beyond.error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
    CHECK(std::string(beyond.error().name) == "m");
    CHECK(beyond.error().need == 12);
    CHECK(beyond.error().have == uint64_t(asked));
  }
  const auto contradicting = run(5);  // three were found
  CHECK(contradicting.error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
  CHECK(contradicting.error().instruction == 4);
  CHECK(run(3).ok());
  CHECK(session->output("y")->dims[0] == 3);
}

TEST_CASE("data-dependent: an extent that grows as less is found never leaves what was planned") {
  Network net = finding();
  convert::ProgramSpec& p = net.file.program;
  // 8 at the bound, 20 when nothing is found
  const Dim rest = p.add_dim_expr(DimOp::kSub, 20, net.n);
  const int32_t y = p.add_value(output("y", {rest}));
  const int32_t one = p.add_value(input("one", {1}));
  p.add_instruction(TileAttributes(), {one}, {y});
  add_ports(&net.file);
  FileBytes bytes(net.file);
  const Model model = open_bytes_or_fail(bytes);
  auto session = model.session();
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  write(session->input("one"), std::vector<float>{2.0f});
  write(session->input("x"), sparse(12, 4095));
  CHECK(session->run().ok());
  CHECK(session->output("y")->dims[0] == 8);
  write(session->input("one"), std::vector<float>{2.0f});
  write(session->input("x"), sparse(12, 15));
  const auto grown = session->run();
  CHECK(grown.error().code == INGOT_DIMENSION_OUT_OF_BOUNDS);
  CHECK(grown.error().need == 32);
  CHECK(grown.error().have == 64);
}

namespace {

/// What a run leaves in the outputs of a session whose arena held `fill` before; nothing where the
/// run is refused.
std::vector<std::vector<uint8_t>> outputs_over(const Model& model, int fill,
                                               const std::vector<float>& x, int64_t asked,
                                               Code* code) {
  ingot_session_options options = session_options();
  ingot_requirements need = {};
  need.size = sizeof need;
  REQUIRE(ingot_model_requirements(model.get(), &options, &need, nullptr) == INGOT_OK);
  AlignedBlock arena(need.arena_bytes, need.arena_alignment);
  std::memset(arena.data(), fill, need.arena_bytes);
  options.arena_kind = INGOT_ARENA_CALLER;
  options.arena = arena.data();
  options.arena_bytes = need.arena_bytes;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  write(session->input("x"), x);
  write(session->input("asked"), std::vector<int64_t>{asked});
  const auto ran = session->run();
  *code = Code(ran.ok() ? INGOT_OK : ran.error().code);
  std::vector<std::vector<uint8_t>> all;
  for (uint32_t i = 0; ran.ok() && i < model.summary().output_count; i++)
    all.push_back(read<uint8_t>(session->output(i)));
  return all;
}

enum class Reader { kView, kOutput };

/// found [1, n] is read as [m], a size of the caller's, through a view that starts where it does.
convert::FileSpec longer_view(Reader reader) {
  Network net = finding();
  convert::ProgramSpec& p = net.file.program;
  const Dim m = p.add_symbol("m", 0, 0);
  ElementwiseAttributes same;
  same.compute = ComputeType::kI64;
  const int32_t k = p.add_value(activation("k", {}, DType::kI64));
  p.add_instruction(same, {p.add_value(input("asked", {}, DType::kI64))}, {k});
  resolve_by(&p, "m", k, 12);
  const bool is_output = reader != Reader::kView;
  const convert::ValueSpec part =
      is_output ? output("part", {m}, DType::kI64) : activation("part", {m}, DType::kI64);
  const int32_t view = p.add_value(view_of(part, net.found));
  if (!is_output)
    p.add_instruction(CopyAttributes(), {view}, {p.add_value(output("y", {m, 1}, DType::kI64))});
  add_ports(&net.file);
  return net.file;
}

}  // namespace

TEST_CASE("data-dependent: memory that nobody wrote reaches no output, whatever the arena held") {
  for (const Reader reader : {Reader::kView, Reader::kOutput}) {
    FileBytes bytes(longer_view(reader));
    const Model model = open_bytes_or_fail(bytes);
    int refused = 0;
    for (const uint32_t pattern : {0u, 7u, 4095u})
      for (int64_t asked = 0; asked <= 12; asked++) {
        CAPTURE(pattern);
        CAPTURE(asked);
        Code first, second;
        const auto one = outputs_over(model, 0xa5, sparse(12, pattern), asked, &first);
        const auto other = outputs_over(model, 0x3c, sparse(12, pattern), asked, &second);
        CHECK(one == other);
        CHECK(first == second);
        const int64_t found = pattern == 0 ? 0 : pattern == 7 ? 3 : 12;
        CHECK(first == (asked <= found ? Code::kOk : Code::kDimensionOutOfBounds));
        refused += first != Code::kOk;
      }
    CHECK(refused == 12 + 9);
  }
}

TEST_CASE("data-dependent: a kept value has the extents that were found, not those of its bound") {
  FileBytes bytes(packing_network());
  const Model model = open_bytes_or_fail(bytes);
  ingot_session_options options = session_options();
  options.flags = INGOT_KEEP_VALUES;
  auto session = model.session(options);
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  const uint32_t found = uint32_t(ingot_model_find_value(model.get(), "found"));
  ingot_tensor tensor;
  // nothing wrote it yet
  CHECK(ingot_session_value(session->get(), found, &tensor, nullptr) == INGOT_WRONG_STATE);
  check_packed(*session, sparse(12, 5));
  REQUIRE(ingot_session_value(session->get(), found, &tensor, nullptr) == INGOT_OK);
  CHECK(tensor.dims[1] == 2);
}

TEST_CASE("data-dependent: an older reader, or a file without the feature's name, is told so") {
  convert::FileSpec file = packing_network();
  file.program.required_features = {"measured", "tomorrow"};
  CHECK(open_code(file) == Code::kUnsupportedFeature);
}
