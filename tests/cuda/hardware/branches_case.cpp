// SPDX-License-Identifier: Apache-2.0
// branches_gpu.cpp as a case of test_conformance_driver, which has all that it links: one program
// less in a pack of 50 MiB. Asked for with --no-skip alone; INGOT_REPLAYS says how often.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/cuda/hardware/branches_gpu.h"

TEST_CASE("control flow on a GPU" * doctest::skip()) {
  const char* const text = std::getenv("INGOT_REPLAYS");
  REQUIRE_MESSAGE(text, "INGOT_REPLAYS is not set");
  CHECK(ingot::test::run_branches(std::atoi(text)) == 0);
}
