// SPDX-License-Identifier: Apache-2.0
// What a team takes of a device that it shares: processor time and switches, never the clock.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ingot/ingot.hpp>
#include <map>
#include <string>

#include "runtime/device/host/thread_pool.h"

using namespace ingot;

namespace {

double seconds_of(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

/// Switches of every thread but the calling one.
std::map<std::string, long> switches_of_others() {
  std::map<std::string, long> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = task.path().filename();
    if (id == std::to_string(gettid())) continue;
    std::ifstream status(task.path() / "status");
    for (std::string key; status >> key;)
      if (key == "voluntary_ctxt_switches:" || key == "nonvoluntary_ctxt_switches:") {
        long count = 0;
        status >> count;
        found[id] += count;
      }
  }
  return found;
}

void wait_milliseconds(long count) {
  if (count == 0) return;
  const timespec time = {count / 1000, count % 1000 * 1000000};
  nanosleep(&time, nullptr);
}

/// Steps whose last member comes late, so that the others wait for it; barriers inside too.
struct Steps {
  int count = 20;
  long late_ms = 0;
  bool joins = false;
  std::atomic<int> shares{0};
  std::atomic<int> wrong{0};

  static void share(void* argument, const Team& team) {
    Steps& steps = *static_cast<Steps*>(argument);
    if (team.id == team.size - 1) wait_milliseconds(steps.late_ms);
    steps.shares++;
    if (steps.joins) team.join();
  }
  static void lead(void* argument, ThreadTeam* team) {
    Steps& steps = *static_cast<Steps*>(argument);
    for (int i = 0; i < steps.count; i++) {
      const int before = steps.shares;
      const int size = team ? team->step(share, &steps) : (share(&steps, Team{}), 1);
      steps.wrong += steps.shares != before + size;
    }
  }
};

PoolOptions sleeping_options(int threads, uint32_t spin_us) {
  PoolOptions options;
  options.threads = threads, options.limits_spins = true, options.spin_us = spin_us;
  return options;
}

}  // namespace

TEST_CASE("sharing: between runs a pool takes no processor time and no switch") {
  for (const bool limits : {false, true}) {
    ThreadPool pool;
    PoolOptions options = sleeping_options(4, 0);
    options.limits_spins = limits;
    REQUIRE(pool.start(options, nullptr).ok());
    Steps steps;
    pool.run(4, Steps::lead, &steps);
    wait_milliseconds(300);  // whoever was on its way is asleep
    const auto before = switches_of_others();
    const double took = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    wait_milliseconds(300);
    CHECK(seconds_of(CLOCK_PROCESS_CPUTIME_ID) - took < 0.005);
    CHECK(switches_of_others() == before);
    CHECK(before.size() >= 3);
    pool.stop();
  }
}

TEST_CASE("sharing: without spinning, a leader that waits 200 ms takes next to no processor time") {
  for (const bool joins : {false, true}) {
    ThreadPool pool;
    REQUIRE(pool.start(sleeping_options(3, 0), nullptr).ok());
    double idle = 1;
    // the leader waits for workers that come for the second step: again, where they came later
    for (int tries = 0; tries < 20; tries++) {
      Steps steps;
      steps.count = 10, steps.late_ms = 20, steps.joins = joins;
      const double before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      const ThreadPool::Tally tally = pool.run(3, Steps::lead, &steps);
      CHECK(steps.wrong == 0);
      if (tally.waits < 5) continue;
      idle = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - before;
      break;
    }
    CHECK(idle < 0.03);  // 0.2 s for each member that spins
    pool.stop();
  }
}

TEST_CASE("sharing: every step is done by every member once, whatever the budget") {
  for (const uint32_t spin_us : {0u, 1u, 50u, 100000u}) {
    CAPTURE(spin_us);
    ThreadPool pool;
    REQUIRE(pool.start(sleeping_options(4, spin_us), nullptr).ok());
    for (int run = 0; run < 200; run++) {
      Steps steps;
      steps.joins = run % 2;
      pool.run(1 + run % 4, Steps::lead, &steps);
      REQUIRE(steps.wrong == 0);
    }
    pool.stop();
  }
}

TEST_CASE(
    "sharing: own threads stay on their processors with their niceness, the caller's does not") {
  const os::ProcessorSet usable = os::usable_processors();
  int32_t one = 0;
  while (!usable.has(one)) one++;
  ingot_pool_options options = pool_options();
  options.threads = 2, options.flags = INGOT_POOL_PROCESSORS | INGOT_POOL_NICENESS;
  options.processors = &one, options.processor_count = 1, options.niceness = 7;
  auto pool = Pool::create(options);
  REQUIRE(pool);
  int others = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int id = std::stoi(task.path().filename());
    cpu_set_t set;
    REQUIRE(sched_getaffinity(id, sizeof set, &set) == 0);
    if (id == gettid()) {
      CHECK(CPU_COUNT(&set) == usable.count());
      continue;
    }
    others++;
    CHECK(CPU_COUNT(&set) == 1);
    CHECK(CPU_ISSET(size_t(one), &set));
    CHECK(getpriority(PRIO_PROCESS, id_t(id)) == 7);
  }
  CHECK(others == 1);
}

TEST_CASE("sharing: senseless options, and processors that are not there, are refused") {
  const int32_t far = 1023, beyond = 1024, below = -1;
  struct Case {
    const char* name;
    uint32_t flags;
    int32_t threads, niceness;
    const int32_t* processor;
    ingot_code code;
  };
  const Case cases[] = {
      {"unknown flag", 16, 2, 0, nullptr, INGOT_INVALID_ARGUMENT},
      {"no processor", INGOT_POOL_PROCESSORS, 2, 0, nullptr, INGOT_INVALID_ARGUMENT},
      {"beyond", INGOT_POOL_PROCESSORS, 2, 0, &beyond, INGOT_INVALID_ARGUMENT},
      {"below", INGOT_POOL_PROCESSORS, 2, 0, &below, INGOT_INVALID_ARGUMENT},
      {"both", INGOT_POOL_PROCESSORS | INGOT_POOL_FAST, 2, 0, &far, INGOT_INVALID_ARGUMENT},
      {"niceness", INGOT_POOL_NICENESS, 2, 20, nullptr, INGOT_INVALID_ARGUMENT},
      {"threads", 0, -1, 0, nullptr, INGOT_INVALID_ARGUMENT},
      {"not there", INGOT_POOL_PROCESSORS, 2, 0, &far, INGOT_THREAD_FAILED},
      {"fine", INGOT_POOL_FAST | INGOT_POOL_SPIN, 2, 0, nullptr, INGOT_OK},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    ingot_pool_options options = pool_options();
    options.flags = c.flags, options.threads = c.threads, options.niceness = c.niceness;
    options.processors = c.processor, options.processor_count = c.processor ? 1 : 0;
    ingot_pool* pool = nullptr;
    ingot_error error = {};
    CHECK(ingot_pool_create_with(&options, &pool, &error) == c.code);
    CHECK((pool != nullptr) == (c.code == INGOT_OK));
    ingot_pool_destroy(pool);
  }
}
