// SPDX-License-Identifier: Apache-2.0
// tests/session/control_test.cpp - loops and branches that a run decides.
#include "runtime/op/control.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/cuda/branching_networks.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE(
    "control: a loop runs as often as its count and its condition say, alone and with helpers") {
  FileBytes bytes(looping_network(3, {64, 64}));
  Model model = open_bytes_or_fail(bytes);
  for (const int threads : {1, 2}) {
    auto session = model.session(with_threads(threads));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    for (const int64_t count : {0, 1, 2, 3, 2, -4}) {
      for (const int64_t end : {int64_t(100), int64_t(0), int64_t(1)}) {
        CAPTURE(count);
        CAPTURE(end);
        const std::vector<float> x = ramp(64 * 64);
        write(session->input("count"), std::vector<int64_t>{count});
        write(session->input("end"), std::vector<int64_t>{end});
        write(session->input("x"), x);
        REQUIRE(session->run().ok());
        int64_t made = 0;
        std::vector<float> p = x;
        for (float& v : p) v = std::max(v, 0.0f);
        for (bool go = end != count; made < count && go; made++) {
          go = made != end;
          for (size_t i = 0; i < p.size(); i++) p[i] = -(p[i] + x[i]);
        }
        for (float& v : p) v = std::fabs(v);
        CHECK(read<int64_t>(session->output("made")) == std::vector<int64_t>{made});
        CHECK(read<float>(session->output("y")) == p);
      }
    }
  }
}

TEST_CASE(
    "control: a count above what the file allows ends the run, and the session stays usable") {
  FileBytes bytes(looping_network(3, {64, 64}));
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(with_threads(1));
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  for (const int64_t count : {4, 3}) {
    write(session->input("count"), std::vector<int64_t>{count});
    write(session->input("end"), std::vector<int64_t>{100});
    write(session->input("x"), ramp(64 * 64));
    const auto ran = session->run();
    CHECK(ran.ok() == (count == 3));
    if (ran.ok()) continue;
    CHECK(ran.error().code == INGOT_CONTROL_REFUSED);
    CHECK(ran.error().instruction == 2);
    CHECK(ran.error().need == 3);
    CHECK(ran.error().have == 4);
  }
}

TEST_CASE("control: a branch that is not there ends the run, and the session stays usable") {
  FileBytes bytes(one_sided_network());
  Model model = open_bytes_or_fail(bytes);
  auto session = model.session(with_threads(1));
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  for (const uint8_t flag : {1, 0}) {
    write(session->input("flag"), std::vector<uint8_t>{flag});
    write(session->input("x"), std::vector<float>(8, 2.0f));
    const auto ran = session->run();
    CHECK(ran.ok() == (flag == 0));
    if (!ran.ok())
      CHECK(ran.error().code == INGOT_CONTROL_REFUSED);
    else
      CHECK(read<float>(session->output("y")) == std::vector<float>(8, -2.0f));
  }
}
