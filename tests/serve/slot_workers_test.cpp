// SPDX-License-Identifier: Apache-2.0
// Workers of slots: each body once, all of them over when run() returns, for any number of threads.
#include "tools/serve/core/slot_workers.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <set>

using ingot::serve::SlotWorkers;

TEST_CASE("slot workers: each body is called once, and has ended when run returns") {
  for (int threads = 0; threads < 4; threads++) {
    SlotWorkers workers;
    for (int i = 0; i < threads; i++) workers.add_thread();
    for (size_t round = 0; round < 2000; round++) {
      const size_t count = round % 8;
      std::array<int, 8> calls = {};
      workers.run(count, [&](size_t i) { calls[i]++; });
      for (size_t i = 0; i < calls.size(); i++) REQUIRE(calls[i] == (i < count ? 1 : 0));
    }
  }
}

TEST_CASE("slot workers: bodies run at once on as many threads") {
  SlotWorkers workers;
  for (int i = 0; i < 2; i++) workers.add_thread();
  std::array<std::thread::id, 3> ids;
  std::atomic<int> arrived{0};
  workers.run(3, [&](size_t i) {
    ids[i] = std::this_thread::get_id();
    for (arrived++; arrived < 3;) std::this_thread::yield();
  });
  CHECK(std::set(ids.begin(), ids.end()).size() == 3);
}
