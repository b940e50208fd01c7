// SPDX-License-Identifier: Apache-2.0
// The thread team: every step by every member once, barriers inside steps, late and lost workers,
// busy pools, forks.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/device/host/thread_pool.h"

using namespace ingot;

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kTsan = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif
#else
constexpr bool kTsan = false;
#endif

/// A run of steps in which plain memory passes from member to member: what TSan and the sums would
/// catch.
struct Relay {
  static constexpr int kSteps = 200;
  int cells[kMaxTeam] = {};  // written by a member, read by its neighbour behind the barrier
  int sums[kMaxTeam] = {};
  int members = 0;  // of the step
  int ids_seen[kMaxTeam] = {};
  std::vector<int> sizes;
  int wrong = 0;

  static void share(void* argument, const Team& team) {
    Relay& relay = *static_cast<Relay*>(argument);
    relay.ids_seen[team.id]++;
    if (team.id == 0) relay.members = team.size;
    relay.cells[team.id] = team.id + 1;
    team.join();
    relay.sums[team.id] = relay.cells[(team.id + 1) % team.size];
    team.join();
    relay.cells[team.id] = 0;
  }
  static void lead(void* argument, ThreadTeam* thread_team) {
    Relay& relay = *static_cast<Relay*>(argument);
    for (int step = 0; step < kSteps; step++) {
      int size = 1;
      if (thread_team)
        size = thread_team->step(share, &relay);
      else
        share(&relay, Team{});
      relay.check(size);
    }
  }
  /// On the leader, after a step, while no worker may touch anything.
  void check(int size) {
    sizes.push_back(size);
    wrong += members != size;
    for (int i = 0; i < kMaxTeam; i++) {
      wrong += ids_seen[i] != (i < size);
      if (i < size) wrong += sums[i] != (i + 1) % size + 1;
      ids_seen[i] = sums[i] = 0;
    }
  }
};

}  // namespace

TEST_CASE(
    "thread team: every member takes each step once, barriers part its halves, workers join as "
    "they "
    "come") {
  for (int threads : {1, 2, 3, 4, 8}) {
    CAPTURE(threads);
    ThreadPool pool;
    REQUIRE(pool.start(threads, nullptr).ok());
    CHECK(pool.threads() == threads);
    for (int run = 0; run < (kTsan ? 5 : 20); run++) {
      Relay relay;
      const ThreadPool::Tally tally = pool.run(threads, Relay::lead, &relay);
      CHECK(relay.wrong == 0);
      CHECK(*std::max_element(relay.sizes.begin(), relay.sizes.end()) <= threads);
      CHECK(tally.wakes == (threads > 1));
      CHECK(tally.waits <= 1);
      CHECK_FALSE(tally.alone);
    }
    pool.stop();
  }
}

TEST_CASE("thread team: a limit below the pool's size holds, whoever is woken") {
  ThreadPool pool;
  REQUIRE(pool.start(4, nullptr).ok());
  for (int run = 0; run < 30; run++) {
    Relay relay;
    pool.run(2, Relay::lead, &relay);
    CHECK(relay.wrong == 0);
    CHECK(*std::max_element(relay.sizes.begin(), relay.sizes.end()) <= 2);
  }
  pool.stop();
}

// In the next three nothing is measured in time, so that no load of the machine changes them: a
// worker is late until the leader has begun to wait for it. What they wait for themselves has no
// bound but that of the whole program: a thread team without workers would not end.

TEST_CASE("thread team: workers do come, and a step waits for all of them") {
  ThreadPool pool;
  REQUIRE(pool.start(3, nullptr).ok());
  struct Gather {
    std::atomic<int> arrived{0};
    int most = 1, wrong = 0;
  } gather;
  const auto gather_all = [](void* argument, ThreadTeam* thread_team) {
    Gather& g = *static_cast<Gather*>(argument);
    // A run whose leader had to wait goes on alone: only the next one has workers.
    while (g.most < 3 && thread_team->waits() == 0) {
      g.arrived = 0;
      const int size =
          thread_team->step([](void* p, const Team&) { static_cast<Gather*>(p)->arrived++; }, &g);
      g.wrong += g.arrived != size;
      g.most = std::max(g.most, size);
      std::this_thread::yield();
    }
  };
  while (gather.most < 3) pool.run(3, gather_all, &gather);
  CHECK(gather.wrong == 0);
  pool.stop();
}

TEST_CASE("thread team: a worker that stays away costs one wait, then the leader goes on alone") {
  ThreadPool pool;
  REQUIRE(pool.start(2, nullptr).ok());
  struct Slow {
    ThreadTeam* thread_team = nullptr;
    std::atomic<int> absences{0};
    int steps_after = 0, alone_after = 0;
  } slow;
  const ThreadPool::Tally tally = pool.run(
      2,
      [](void* argument, ThreadTeam* thread_team) {
        Slow& s = *static_cast<Slow*>(argument);
        s.thread_team = thread_team;
        const auto stay_away = [](void* p, const Team& team) {
          if (team.id == 0) return;
          static_cast<Slow*>(p)->absences++;
          while (static_cast<Slow*>(p)->thread_team->waits() == 0) std::this_thread::yield();
        };
        while (s.absences == 0) thread_team->step(stay_away, &s);
        for (int i = 0; i < 50; i++) {
          s.steps_after++;
          s.alone_after += thread_team->step([](void*, const Team&) {}, &s) == 1;
        }
      },
      &slow);
  CHECK(slow.absences == 1);
  CHECK(tally.wakes == 1);
  CHECK(tally.waits == 1);
  CHECK(slow.alone_after == slow.steps_after);
  Relay relay;
  do {  // later runs have workers again
    relay.sizes.clear();
    CHECK(pool.run(2, Relay::lead, &relay).waits <= 1);
    CHECK(relay.wrong == 0);
  } while (*std::max_element(relay.sizes.begin(), relay.sizes.end()) < 2);
  pool.stop();
}

TEST_CASE(
    "thread team: a barrier inside a step that a worker is late for costs the same one wait") {
  ThreadPool pool;
  REQUIRE(pool.start(2, nullptr).ok());
  struct Late {
    ThreadTeam* thread_team = nullptr;
    std::atomic<int> times{0};
  } late;
  const ThreadPool::Tally tally = pool.run(
      2,
      [](void* argument, ThreadTeam* thread_team) {
        Late& l = *static_cast<Late*>(argument);
        l.thread_team = thread_team;
        while (l.times == 0)
          thread_team->step(
              [](void* p, const Team& team) {
                Late& seen = *static_cast<Late*>(p);
                if (team.id) {
                  while (seen.thread_team->waits() == 0) std::this_thread::yield();
                  seen.times++;
                }
                for (int i = 0; i < 10; i++) team.join();
              },
              &l);
      },
      &late);
  CHECK(late.times == 1);
  CHECK(tally.waits == 1);
  pool.stop();
}

TEST_CASE("thread team: of two runs at once on one pool one goes alone, with right results") {
  ThreadPool pool;
  REQUIRE(pool.start(3, nullptr).ok());
  std::atomic<int> wrong{0}, alone{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; t++)
    callers.emplace_back([&] {
      for (int run = 0; run < (kTsan ? 5 : 30); run++) {
        Relay relay;
        alone += pool.run(3, Relay::lead, &relay).alone;
        wrong += relay.wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
  MESSAGE(alone.load() << " runs alone");
  pool.stop();
}

TEST_CASE("thread team: the child of a fork runs alone, says so, and can be destroyed") {
  if (kTsan) return;  // TSan does not follow a fork with threads
  ThreadPool pool;
  REQUIRE(pool.start(3, nullptr).ok());
  const pid_t child = fork();
  if (child == 0) {
    Relay relay;
    const ThreadPool::Tally tally = pool.run(3, Relay::lead, &relay);
    const bool right = relay.wrong == 0 && tally.alone && tally.wakes == 0 && pool.is_forked();
    pool.stop();
    ThreadPool own;  // a new pool in the child has threads
    Relay again;
    const bool works = own.start(2, nullptr).ok() && own.run(2, Relay::lead, &again).wakes == 1 &&
                       again.wrong == 0;
    own.stop();
    _exit(right && works ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(pool.is_forked());
  Relay relay;
  CHECK_FALSE(pool.run(3, Relay::lead, &relay).alone);
  CHECK(relay.wrong == 0);
  pool.stop();
}

TEST_CASE("thread team: workers sleep between runs: an idle pool uses no processor time") {
  ThreadPool pool;
  REQUIRE(pool.start(3, nullptr).ok());
  Relay relay;
  pool.run(3, Relay::lead, &relay);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();  // of all threads of the process
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used = double(std::clock() - before) / CLOCKS_PER_SEC;
  CHECK(used < 0.05);
  pool.stop();
}
