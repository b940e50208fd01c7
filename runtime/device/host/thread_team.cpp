// SPDX-License-Identifier: Apache-2.0
// runtime/device/host/thread_team.cpp - joining, steps, and bounded waiting.
#include "runtime/device/host/thread_team.h"

namespace ingot {
namespace {

constexpr int kBits = int(sizeof(TeamWord)) * 8;
constexpr TeamWord kSense = TeamWord{1} << (kBits - 1);
constexpr TeamWord kOpen = TeamWord{1} << (kBits - 2);
constexpr int kLimitShift = kBits - 8;
constexpr TeamWord kHelpers = (TeamWord{1} << kLimitShift) - 1;

constexpr uint64_t kNapNs = 100000;

int limit_of(TeamWord word) { return int((word >> kLimitShift) & 63); }
uint32_t count(TeamWord bits) { return uint32_t(__builtin_popcountll(uint64_t{bits})); }

/// Sleeps for a moment; nobody wakes it.
void nap() {
  std::atomic<uint32_t> nobody{0};
  os::wait_on(&nobody, 0, kNapNs);
}

}  // namespace

struct ThreadTeam::Member {
  ThreadTeam* thread_team;
  uint32_t size;
  bool leads;
};

bool ThreadTeam::try_open(int limit) {
  if (busy_.exchange(1, std::memory_order_acquire)) return false;
  os::acquired(&busy_);
  waits_.store(0, std::memory_order_relaxed);
  if (limit > kMaxTeam) limit = kMaxTeam;
  os::releases(&word_);
  word_.store(kOpen | TeamWord(limit) << kLimitShift, std::memory_order_release);
  return true;
}

/// Behind a change of word_ or phase_. Whoever is about to sleep has counted itself before it
/// looked at changes_, and looked at those two behind it.
void ThreadTeam::wake_members() {
  if (!sleeps_) return;
  changes_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst)) os::wake_sleepers(&changes_, kMaxHelpers);
}

void ThreadTeam::dismiss() {
  os::releases(&word_);
  word_.store(0, std::memory_order_release);
  wake_members();
}

void ThreadTeam::close() {
  dismiss();
  os::releases(&busy_);
  busy_.store(0, std::memory_order_release);
}

void ThreadTeam::await_helpers(int limit, uint32_t spins) const {
  if (sleeps_ && spins > leader_spins_) spins = leader_spins_;
  while (spins-- && int(count(word_.load(std::memory_order_relaxed) & kHelpers)) + 1 < limit)
    os::pause_processor();
}

int ThreadTeam::step(Job job, void* argument) {
  TeamWord seen = word_.load(std::memory_order_acquire);
  if (!(seen & kHelpers)) {
    job(argument, Team{});
    return 1;
  }
  job_ = job;
  argument_ = argument;
  arrived_.store(0, std::memory_order_relaxed);
  do {
    team_ = seen & kHelpers;
    os::releases(&word_);
  } while (!word_.compare_exchange_weak(seen, seen ^ kSense, std::memory_order_acq_rel,
                                        std::memory_order_acquire));
  wake_members();
  const uint32_t workers = count(team_);
  Member self{this, workers + 1, true};
  job(argument, Team{0, int(self.size), join, &self, nullptr, nullptr});
  lead_wait(&arrived_, workers, true);
  os::acquired(&arrived_);
  // Whoever stayed away once may do so again, and the one wait of this run is spent: go on alone.
  if (waits() && !sleeps_) word_.store(0, std::memory_order_release);
  return int(self.size);
}

/// Waits until *word == target (or until it differs): spins, then sleeps, once in a run unless its
/// spins are limited.
void ThreadTeam::lead_wait(std::atomic<uint32_t>* word, uint32_t target, bool until_equal) {
  const auto done = [&] {
    return (word->load(std::memory_order_seq_cst) == target) == until_equal;
  };
  for (uint32_t spins = 0; (waits() && !sleeps_) || spins < leader_spins_; spins++) {
    if (done()) return;
    os::pause_processor();
  }
  leader_asleep_.store(1, std::memory_order_seq_cst);
  if (done()) return leader_asleep_.store(0, std::memory_order_seq_cst);
  waits_.store(waits() + 1, std::memory_order_relaxed);
  while (!done() && leader_asleep_.load(std::memory_order_seq_cst))
    os::wait_on(&leader_asleep_, 1, 0);
  leader_asleep_.store(0, std::memory_order_seq_cst);
  while (!done()) os::pause_processor();
}

void ThreadTeam::wake_leader() {
  if (leader_asleep_.load(std::memory_order_seq_cst) && leader_asleep_.exchange(0))
    os::wake_sleepers(&leader_asleep_, 1);
}

/// Once, while waiting() holds, which only a change of word_ or phase_ ends.
template <class Waiting>
void ThreadTeam::sleep_while(const Waiting& waiting) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t seen = changes_.load(std::memory_order_seq_cst);
  if (waiting()) os::wait_on(&changes_, seen, 0);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

void ThreadTeam::join(void* member) {
  const Member& self = *static_cast<const Member*>(member);
  self.thread_team->join_team(self);
}

/// Sense-reversing barrier of the team within a step.
void ThreadTeam::join_team(const Member& member) {
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  os::releases(&joined_);
  if (joined_.fetch_add(1, std::memory_order_acq_rel) + 1 == member.size) {
    os::acquired(&joined_);
    joined_.store(0, std::memory_order_relaxed);
    os::releases(&phase_);
    phase_.store(phase + 1, std::memory_order_seq_cst);
    if (!member.leads) wake_leader();
    wake_members();
    return;
  }
  if (member.leads) {
    lead_wait(&phase_, phase, false);
    return os::acquired(&phase_);
  }
  const auto waiting = [&] { return phase_.load(std::memory_order_acquire) == phase; };
  for (uint32_t spins = 0; waiting(); spins++) {
    if (spins < worker_spins_)
      os::pause_processor();
    else if (sleeps_)
      sleep_while(waiting);
    else
      os::wait_on(&phase_, phase, kNapNs);
  }
  os::acquired(&phase_);
}

/// True when a step with this worker in it begins; false when it is out, by dismissal or because it
/// left to nap.
bool ThreadTeam::wait_for_step(TeamWord bit, TeamWord sense) {
  for (uint32_t spins = 0;; spins++) {
    TeamWord now = word_.load(std::memory_order_acquire);
    if (!(now & bit)) return false;
    if ((now & kSense) != sense) return true;
    if (spins < worker_spins_) {
      os::pause_processor();
    } else if (sleeps_) {
      sleep_while([&] {
        const TeamWord word = word_.load(std::memory_order_acquire);
        return (word & bit) && (word & kSense) == sense;
      });
    } else if (word_.compare_exchange_strong(now, now & ~bit, std::memory_order_acq_rel)) {
      nap();
      return false;
    }
  }
}

void ThreadTeam::serve(int id) {
  const TeamWord bit = TeamWord{1} << (id - 1);
  for (;;) {
    TeamWord seen = word_.load(std::memory_order_acquire);
    do {
      if (!(seen & kOpen) || int(count(seen & kHelpers)) + 1 >= limit_of(seen)) return;
    } while (!word_.compare_exchange_weak(seen, seen | bit, std::memory_order_acq_rel,
                                          std::memory_order_acquire));
    for (TeamWord sense = seen & kSense; wait_for_step(bit, sense); sense ^= kSense) {
      os::acquired(&word_);
      Member self{this, count(team_) + 1, false};
      job_(argument_,
           Team{int(count(team_ & (bit - 1))) + 1, int(self.size), join, &self, nullptr, nullptr});
      os::releases(&arrived_);
      if (arrived_.fetch_add(1, std::memory_order_seq_cst) + 1 == self.size - 1) wake_leader();
    }
  }
}

}  // namespace ingot
