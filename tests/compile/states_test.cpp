// SPDX-License-Identifier: Apache-2.0
// Pairs of ports as state: a file that keeps them against the same model converted plainly, its
// outputs fed back by hand, bit for bit over several runs; and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "ingot/ingot.hpp"
#include "kernels/cpu/cpu_kernels.h"
#include "tests/compile/core_graph.h"
#include "tools/compile/convert/convert.h"

namespace ingot::convert {
namespace {

using Bytes = std::vector<uint8_t>;
using Pairs = std::vector<StatePair>;

/// A converted model and its session.
struct Running {
  ConversionReport report;
  Bytes file;
  Model model;
  Session session;

  Running(const CoreGraph& graph, const ConvertOptions& options,
          const std::vector<ingot_binding>& bindings = {}) {
    graph::Model copy = graph.model;
    ConversionResult converted = convert_model(std::move(copy), options);
    report = std::move(converted.report);
    const Bytes written = write_memory(converted.file);
    file.resize(written.size() + 64);
    uint8_t* at = file.data() + (64 - reinterpret_cast<uintptr_t>(file.data()) % 64) % 64;
    std::memcpy(at, written.data(), written.size());
    auto opened = Model::open(
        at, written.size(),
        open_options(reinterpret_cast<const ingot_kernel_table*>(cpu_kernels("scalar"))));
    REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().text()));
    model = std::move(*opened);
    ingot_session_options session_options = ingot::session_options();
    session_options.bindings = bindings.data();
    session_options.binding_count = bindings.size();
    session_options.threads = 1;
    session_options.flags = INGOT_POISON;
    auto made = model.session(session_options);
    REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.error().text()));
    session = std::move(*made);
  }
  void write(const std::string& name, const Bytes& bytes) {
    const ingot_tensor port = session.input(name.c_str()).value();
    REQUIRE(port.bytes == bytes.size());
    std::memcpy(port.data, bytes.data(), bytes.size());
  }
  Bytes read(const std::string& name) const {
    const ingot_tensor port = session.output(name.c_str()).value();
    REQUIRE(port.data);
    const uint8_t* at = static_cast<const uint8_t*>(port.data);
    return Bytes(at, at + port.bytes);
  }
  void run() {
    const auto result = session.run();
    REQUIRE_MESSAGE(result.ok(), (result.ok() ? "" : result.error().text()));
  }
};

ConvertOptions with(const Pairs& pairs) {
  ConvertOptions options;
  options.states = pairs;
  return options;
}

Bytes random_floats(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<float> numbers(bytes / 4);
  for (float& x : numbers) x = draw(random);
  Bytes result(bytes);
  std::memcpy(result.data(), numbers.data(), numbers.size() * 4);
  return result;
}

/// Both conversions over six runs; the plain one is fed back by hand. Returns the report of the one
/// with state.
ConversionReport check(const CoreGraph& graph, const Pairs& pairs,
                       const std::vector<std::string>& outputs,
                       const std::vector<ingot_binding>& bindings = {}) {
  Running plain(graph, {}, bindings), kept(graph, with(pairs), bindings);
  CHECK(kept.model.summary().state_count == pairs.size());
  CHECK(kept.model.summary().input_count == plain.model.summary().input_count - pairs.size());
  CHECK(kept.model.summary().output_count == plain.model.summary().output_count - pairs.size());
  std::vector<Bytes> fed;
  for (const StatePair& pair : pairs)
    fed.emplace_back(plain.session.input(pair.input.c_str())->bytes, uint8_t{0});
  for (uint32_t step = 0; step < 6; step++) {
    CAPTURE(step);
    for (size_t i = 0; i < pairs.size(); i++) plain.write(pairs[i].input, fed[i]);
    const Bytes x = random_floats(plain.session.input("x")->bytes, step);
    plain.write("x", x);
    kept.write("x", x);
    plain.run();
    kept.run();
    for (size_t i = 0; i < pairs.size(); i++) fed[i] = plain.read(pairs[i].output);
    for (const std::string& name : outputs) {
      CAPTURE(name);
      CHECK(kept.read(name) == plain.read(name));
    }
  }
  return kept.report;
}

ValueId named(CoreGraph* g, const std::string& name, ValueId id) {
  g->model.values[size_t(id)].name = name;
  return id;
}

std::string refusal(const CoreGraph& graph, const ConvertOptions& options, int exit_code) {
  try {
    graph::Model copy = graph.model;
    (void)convert_model(std::move(copy), options);
  } catch (const graph::ConversionError& error) {
    CHECK(error.exit_code == exit_code);
    return error.message;
  }
  FAIL("not refused");
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("state: a sum is computed over the state it replaces, without a copy") {
  CoreGraph g;
  const ValueId x = g.input("x", {4, 8}), s = g.input("s", {4, 8});
  const ValueId next = named(&g, "next", g.add_to(s, x));
  g.output(named(&g, "y", g.relu(next)));
  g.output(next);
  const ConversionReport report = check(g, {{"s", "next"}}, {"y"});
  CHECK(report.states == 1);
  CHECK(report.states_in_place == 1);
  CHECK(report.copies.empty());
}

TEST_CASE("state: read after its next value is known, so that it is copied at the end") {
  CoreGraph g;
  const ValueId x = g.input("x", {4, 8}), s = g.input("s", {4, 8});
  const ValueId next = named(&g, "next", g.relu(x));
  g.output(named(&g, "y", g.add_to(g.add_to(next, next), s)));
  g.output(next);
  CHECK(check(g, {{"s", "next"}}, {"y"}).states_in_place == 0);
}

TEST_CASE("state: readers are moved before the next value where they can be") {
  CoreGraph g;
  const ValueId x = g.input("x", {4, 8}), s = g.input("s", {4, 8});
  const ValueId next = named(&g, "next", g.relu(x));
  g.output(named(&g, "y", g.relu(s)));
  g.output(next);
  const ConversionReport report = check(g, {{"s", "next"}}, {"y"});
  CHECK(report.states_in_place == 1);
}

TEST_CASE("state: rows that move up, a window of what was last seen") {
  CoreGraph g;
  const ValueId x = g.input("x", {1, 8}), s = g.input("s", {5, 8});
  const ValueId rest =
      g.node(op::Slice, {s}, {4, 8},
             {{attr::starts, Dims{1, 0}}, {attr::steps, std::vector<int64_t>{1, 1}}});
  const ValueId next = named(&g, "next", g.concat({rest, x}, 0));
  g.output(named(&g, "y", g.relu(next)));
  g.output(next);
  check(g, {{"s", "next"}}, {"y"});
}

TEST_CASE(
    "state: two that change places, one that takes a part of the other, one that never changes") {
  CoreGraph g;
  const ValueId x = g.input("x", {2, 8}), a = g.input("a", {2, 8}), b = g.input("b", {2, 8}),
                c = g.input("c", {1, 8}), d = g.input("d", {2, 8});
  const ValueId same =
      g.node(op::Slice, {d}, {2, 8},
             {{attr::starts, Dims{0, 0}}, {attr::steps, std::vector<int64_t>{1, 1}}});
  const ValueId sum = g.add_to(g.add_to(a, x), g.add_to(b, d));
  g.output(named(&g, "y", g.add_to(sum, c)));
  const ValueId a2 = g.node(op::Reshape, {b}, {2, 8}), b2 = g.node(op::Reshape, {sum}, {2, 8});
  const ValueId c2 =
      g.node(op::Slice, {a}, {1, 8},
             {{attr::starts, Dims{1, 0}}, {attr::steps, std::vector<int64_t>{1, 1}}});
  g.output(named(&g, "a2", a2));
  g.output(named(&g, "b2", b2));
  g.output(named(&g, "c2", c2));
  g.output(named(&g, "d2", same));
  check(g, {{"a", "a2"}, {"b", "b2"}, {"c", "c2"}, {"d", "d2"}}, {"y"});
}

TEST_CASE("state: symbolic dims are those of the binding") {
  for (const int64_t n : {1, 2, 7}) {
    CoreGraph g;
    const graph::Dim rows = graph::Dim::symbol("N");
    const ValueId x = g.input("x", {rows, 8}), s = g.input("s", {rows, 8});
    const ValueId next = named(&g, "next", g.add_to(g.relu(s), x));
    g.output(named(&g, "y", g.add_to(next, s)));
    g.output(next);
    check(g, {{"s", "next"}}, {"y"}, {{"N", n}});
  }
}

TEST_CASE("state: random graphs with three states") {
  for (uint32_t seed = 1; seed <= 60; seed++) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CoreGraph g(seed);
    std::vector<ValueId> values{g.input("x", {1, 4, 4, 4})};
    for (const char* name : {"s0", "s1", "s2"}) values.push_back(g.input(name, {1, 4, 4, 4}));
    const auto pick = [&] { return values[random() % values.size()]; };
    for (int i = 0; i < 10; i++) {
      const ValueId a = pick(), b = pick();
      const Dims dims = g.model.values[size_t(a)].dims;
      switch (random() % 5) {
        case 0: values.push_back(g.relu(a)); break;
        case 1:
          values.push_back(g.slice_channels(g.concat({a, b}, 3), int64_t(random() % 5), 4));
          break;
        case 2:
          values.push_back(g.node(op::Slice, {g.concat({a, b}, 1)}, dims,
                                  {{attr::starts, Dims{0, int64_t(random() % 5), 0, 0}},
                                   {attr::steps, std::vector<int64_t>{1, 1, 1, 1}}}));
          break;
        case 3:
          values.push_back(g.node(op::Reshape, {g.relu(g.node(op::Reshape, {a}, {1, 64}))}, dims));
          break;
        case 4: values.push_back(g.add_to(a, b)); break;
      }
    }
    g.output(named(&g, "y", g.relu(values.back())));
    Pairs pairs;
    // mostly something computed, now and then a state or the input itself
    for (int i = 0; i < 3; i++) {
      const ValueId from =
          values[random() % 4 ? values.size() - 1 - random() % 6 : random() % values.size()];
      const std::string name = "n" + std::to_string(i);
      g.output(named(&g, name, g.node(op::Reshape, {from}, {1, 4, 4, 4})));
      pairs.push_back({"s" + std::to_string(i), name, 0});
    }
    check(g, pairs, {"y"});
  }
}

TEST_CASE("state: initial values") {
  CoreGraph g;
  const ValueId x = g.input("x", {2, 4}), s = g.input("s", {2, 4});
  const ValueId next = named(&g, "next", g.add_to(s, x));
  g.output(named(&g, "y", g.relu(next)));
  g.output(next);
  ConvertOptions options;
  add_state(options, "s=next");
  set_state_init(options, "s=2.5");
  Running running(g, options);
  for (int fresh = 0; fresh < 2; fresh++) {
    for (int step = 1; step <= 3; step++) {
      const std::vector<float> ones(8, 1);
      Bytes bytes(32);
      std::memcpy(bytes.data(), ones.data(), 32);
      running.write("x", bytes);
      running.run();
      CHECK(running.session.output<float>("y").value()[7] == 2.5f + float(step));
    }
    REQUIRE(running.session.reset_state().ok());
  }
}

TEST_CASE("state: pairs that make no sense are refused with what was found") {
  CoreGraph g;
  const ValueId x = g.input("x", {2, 4}), s = g.input("state", {2, 4});
  g.input("other", {2, 4});
  g.output(named(&g, "stateN", g.add_to(s, x)));
  g.output(named(&g, "wide", g.concat({s, x}, 1)));
  g.output(
      named(&g, "ids", g.node(op::ArgReduce, {x}, {2}, {{attr::axis, int64_t{1}}}, DType::kI64)));
  const auto refused = [&](const Pairs& pairs) { return refusal(g, with(pairs), 5); };
  CHECK(has(refused({{"stat", "stateN"}}), "no input 'stat'; did you mean 'state'?"));
  CHECK(has(refused({{"state", "statN"}}), "no output 'statN'; did you mean 'stateN'?"));
  CHECK(has(refused({{"state", "wide"}}), "f32 [2, 4] and output f32 [2, 8]"));
  CHECK(has(refused({{"state", "ids"}}), "f32 [2, 4] and output i64 [2]"));
  CHECK(
      has(refused({{"state", "stateN"}, {"state", "wide"}}), "the input 'state' is in two pairs"));
  CHECK(has(refused({{"state", "stateN"}, {"other", "stateN"}}),
            "the output 'stateN' is in two pairs"));
  ConvertOptions options;
  CHECK_THROWS_AS(add_state(options, "state"), const graph::ConversionError&);
  CHECK_THROWS_AS(add_state(options, "state="), const graph::ConversionError&);
  CHECK_THROWS_AS(set_state_init(options, "state=1"), const graph::ConversionError&);
  add_state(options, "state=stateN");
  CHECK_THROWS_AS(set_state_init(options, "state=one"), const graph::ConversionError&);
}

TEST_CASE("state: ports that look like it are pointed out, others are not") {
  CoreGraph g;
  const ValueId x = g.input("x", {2, 4}), s = g.input("state", {2, 4}), h = g.input("h_in", {2, 4}),
                c = g.input("c", {2, 2});
  g.output(named(&g, "stateN", g.add_to(s, x)));
  g.output(named(&g, "h_out", g.add_to(h, x)));
  g.output(named(&g, "cn", g.relu(x)));  // another shape than c
  g.output(named(&g, "y", g.relu(c)));
  graph::Model copy = g.model;
  const std::vector<std::string> hints = convert_model(std::move(copy), {}).report.hints;
  REQUIRE(hints.size() == 2);
  CHECK(has(hints[0], "--state state=stateN"));
  CHECK(has(hints[1], "--state h_in=h_out"));
  copy = g.model;
  CHECK(convert_model(std::move(copy), with({{"state", "stateN"}})).report.hints.size() == 1);
}

}  // namespace ingot::convert
