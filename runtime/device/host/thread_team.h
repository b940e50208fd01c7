// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/thread_team.h - the members of a run: one leader, and workers that come and
// go between steps.
//
// One word holds everything that must change together:
//
//   | sense 1 | open 1 | limit 6 | ...one bit for each worker that is in |
//
// A worker that finds the word open sets its bit and takes part from the next step on, so that a
// late one delays nobody. The leader begins a step by flipping sense: the bits set at that moment
// are the team, numbered densely. Team members arrive on a counter; the leader goes on when all
// have. A worker that waits too long takes its bit back, naps, and returns. The leader ends the run
// by clearing the word, which dismisses whoever is in.
//
// Owns     nothing.
// Errors   none.
// Allocates nothing.
// Threads  open, step, close: the leader's, one run at a time (try_open says so). serve: any
//          number, each with its own id.
// Calls    The leader makes at most one system call in a run, a wait: when workers stay away for
//          longer than the spin bound. From then on it runs alone, with equal results. Waking
//          workers is the pool's. With limit_spins() no member spins for longer than that: it
//          sleeps until it is woken, which takes a wake and a wait of each step at most.
#pragma once
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "runtime/base/os/thread.h"
#include "runtime/op/contract.h"

namespace ingot {

using TeamWord = std::conditional_t<os::kHasThreads, uint64_t, uint32_t>;
constexpr int kMaxHelpers = int(sizeof(TeamWord)) * 8 - 8;
constexpr int kMaxTeam = kMaxHelpers + 1;
static_assert(kMaxTeam <= kMaxThreads, "scratch formulas and tables know no more");

class ThreadTeam {
 public:
  /// A member's share of a step.
  using Job = void (*)(void* argument, const Team& team);

  /// The most pauses that a member spins for at a time, 0 too. @pre no run is open
  void limit_spins(uint32_t spins) { leader_spins_ = worker_spins_ = spins, sleeps_ = true; }

  /// Begins a run with up to `limit` members; false when a run is in progress.
  bool try_open(int limit);
  /// Before the first step: spins until `limit` members are in, or for `spins` pauses. A worker
  /// takes some 5 to 50 us to wake, which a long first step would otherwise go without.
  void await_helpers(int limit, uint32_t spins) const;
  /// Runs job(argument, team) on the leader and on every worker that is in, and returns when all
  /// are done. Gives the team's size.
  int step(Job job, void* argument);
  /// Ends the run. Workers touch nothing of it any more.
  void close();
  /// Waits of the leader in this run, or in the one that was closed last: 0 or 1, but with
  /// limit_spins(). Any thread.
  uint32_t waits() const { return waits_.load(std::memory_order_relaxed); }

  /// Takes part as worker `id` (1..kMaxHelpers) until the run ends; returns at once when none is
  /// open or the team is full. Ids of a team are dense and change from step to step.
  void serve(int id);

 private:
  struct Member;
  static void join(void* member);
  void join_team(const Member& member);
  void lead_wait(std::atomic<uint32_t>* word, uint32_t target, bool until_equal);
  void wake_leader();
  bool wait_for_step(TeamWord bit, TeamWord sense);
  template <class Waiting>
  void sleep_while(const Waiting& waiting);
  void wake_members();
  void dismiss();

  // What a step begins with lies in one cache line, and what it ends with in another: two transfers
  // between cores a step.
  alignas(64) std::atomic<TeamWord> word_{0};
  Job job_ = nullptr;  // these three are written by the leader between steps
  void* argument_ = nullptr;
  TeamWord team_ = 0;
  alignas(64) std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> leader_asleep_{0};
  alignas(64) std::atomic<uint32_t> joined_{0};  // of the barrier inside a step
  std::atomic<uint32_t> phase_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
  std::atomic<uint32_t> waits_{0};  // written by the leader
  // Bounds of spinning, in pauses of 5 to 50 ns. A worker that loses its processor is back within a
  // scheduler's slice, which the leader sits out; a worker gives way earlier, since nobody waits
  // for one that has left.
  uint32_t leader_spins_ = 1u << 18, worker_spins_ = 1u << 14;
  bool sleeps_ = false;                           // beyond them a member sleeps until it is woken
  alignas(64) std::atomic<uint32_t> changes_{0};  // of word_ and phase_, where members sleep
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace ingot
