// SPDX-License-Identifier: Apache-2.0
// Faults inside the bodies of loops, each found at its node and in the iteration where it begins.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "tests/diagnose/faulty.h"
#include "tests/diagnose/networks.h"
#include "tools/diagnose/program/find_divergence.h"

using namespace ingot;
using namespace ingot::test;
using cli::DivergenceCause;
using compare::Iterations;

namespace {

cli::DivergenceQuestion question() {
  cli::DivergenceQuestion q;
  q.source = networks().source("loops");
  q.golden = networks().golden("loops");
  q.session.threads = 1;
  return q;
}

struct LoopTally {
  size_t planted = 0, located = 0;
  ~LoopTally() { printf("compare: %zu of %zu planted faults located: loops\n", located, planted); }
};
LoopTally g_loop_tally;

/// Checks who is blamed, for which node, and since when.
void check_blamed(const cli::DivergenceAnswer& a, DivergenceCause cause, const std::string& by,
                  const std::vector<std::string>& nodes, const Iterations& iterations) {
  const std::string text = a.headline() + " (" + a.value + ": " + a.detail + ")";
  INFO(text);
  const bool is_right_node = std::count(nodes.begin(), nodes.end(), a.node) == 1;
  CHECK(a.cause == cause);
  CHECK(a.pass.rfind(by, 0) == 0);
  CHECK(is_right_node);
  CHECK(a.iterations == iterations);
  g_loop_tally.planted++;
  g_loop_tally.located +=
      a.cause == cause && a.pass.rfind(by, 0) == 0 && is_right_node && a.iterations == iterations;
}

cli::DivergenceAnswer planted_in(const std::string& stage, const Change& change) {
  Planted planted(stage, change);
  cli::DivergenceQuestion q = question();
  q.options.observe = planted.observer();
  const std::string path = networks().file("fault.ingot");
  convert::write_file(convert::convert_source(q.source, q.options).file, path);
  q.file = path;
  q.options.observe = planted.observer();
  cli::DivergenceAnswer a = cli::find_divergence(q);
  CHECK_MESSAGE(planted.is_planted(), "the fault could not be planted");
  return a;
}

Change floats(const char* source, size_t operand, std::function<void(std::vector<float>&)> change) {
  return [=](graph::Model& model) {
    return change_floats(model, find_node(model, "", source), operand, change);
  };
}

graph::Node* loop_of(graph::Model& model, const char* source) {
  graph::Node* node = find_node(model, "Loop", source);
  return node && node->has(attr::most) ? node : nullptr;
}

}  // namespace

TEST_CASE("compare: every instruction of a loop in a loop is checked, in every iteration") {
  const cli::DivergenceAnswer a = cli::find_divergence(question());
  const std::string text = a.headline() + " (" + a.value + ": " + a.detail + ")";
  INFO(text);
  CHECK(a.cause == DivergenceCause::kNone);
  CHECK(a.is_fresh_conversion);
  CHECK(a.instructions_ran > 8);
  CHECK(a.instructions_known == a.instructions_ran);
  CHECK(a.notes.empty());
  cli::DivergenceQuestion q = question();
  q.golden.clear();
  CHECK(cli::find_divergence(q).cause == DivergenceCause::kNone);
}

TEST_CASE("compare: a pass that is wrong in the body of a loop") {
  const auto transpose = [](std::vector<float>& w) {
    for (size_t i = 0; i < 16; i++)
      for (size_t j = 0; j < i; j++) std::swap(w[i * 16 + j], w[j * 16 + i]);
  };
  check_blamed(planted_in("canonicalize", floats("hw", 1, transpose)), DivergenceCause::kPass,
               "canonicalize", {"hw"}, {0});
  const auto third = [](std::vector<float>& gains) { gains[3] += 0.5f; };
  check_blamed(planted_in("canonicalize", floats("gain", 0, third)), DivergenceCause::kPass,
               "canonicalize", {"gain"}, {3});
  const auto other_axis = [](graph::Model& model) {
    graph::Node* node = find_node(model, "Softmax", "share");
    if (node) node->attributes[attr::axis] = int64_t(0);
    return node != nullptr;
  };
  check_blamed(planted_in("canonicalize", other_axis), DivergenceCause::kPass, "canonicalize",
               {"share"}, {0, 0});
}

TEST_CASE("compare: a pass that is wrong about a loop itself") {
  const auto fewer = [](graph::Model& model) {
    graph::Node* loop = loop_of(model, "small");
    if (!loop || loop->inputs[0] >= 0) return false;
    loop->attributes[attr::most] = graph::Dims{2};
    return true;
  };
  check_blamed(planted_in("canonicalize", fewer), DivergenceCause::kPass, "canonicalize", {"small"},
               {0});
  const auto swapped = [](graph::Model& model) {
    graph::Node* loop = loop_of(model, "last");
    if (!loop) return false;
    std::vector<graph::ValueId>& next = loop->subgraph(attr::body)->outputs;
    std::swap(next[1], next[2]);
    return true;
  };
  check_blamed(planted_in("canonicalize", swapped), DivergenceCause::kPass, "canonicalize",
               {"last"}, {1});
}

TEST_CASE("compare: a wrong kernel shows in the first iteration that it computes") {
  struct Fault {
    const char* kernel;
    std::vector<std::string> nodes;
    Iterations iterations;
  };
  const Fault faults[] = {{"linear_f32", {"hw", "mixed", "bent"}, {0}},
                          {"gather", {"gain"}, {0}},
                          {"softmax", {"share"}, {0, 0}}};
  for (const Fault& fault : faults) {
    CAPTURE(fault.kernel);
    cli::DivergenceQuestion q = question();
    q.open.kernels = reinterpret_cast<const ingot_kernel_table*>(broken_table(fault.kernel));
    REQUIRE(q.open.kernels);
    check_blamed(cli::find_divergence(q), DivergenceCause::kKernel, fault.kernel, fault.nodes,
                 fault.iterations);
  }
}

TEST_CASE("compare: weights that were packed wrongly are found in the body that reads them") {
  cli::DivergenceQuestion q = question();
  q.file = networks().file("weights.ingot");
  REQUIRE(write_with_wrong_weights(q.source, "wl", 17, 0.5f, q.file));
  const cli::DivergenceAnswer a = cli::find_divergence(q);
  CHECK(!a.is_fresh_conversion);
  check_blamed(a, DivergenceCause::kConversion, "linear", {"hw", "mixed", "bent"}, {0});
}
