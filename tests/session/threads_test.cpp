// SPDX-License-Identifier: Apache-2.0
// Whole sessions on many threads, made to be run under ThreadSanitizer (./dev test tsan): sessions
// of one model that share a pool, sessions made and destroyed while others run, the caller's
// threads, cancelling and deadlines from outside.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "ingot/cpu.h"
#include "tests/session/session_models.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr int kCallers = 4;

// what write_threads_network made
constexpr char kNetwork[] = "threads.ingot";

/// The model on the best kernels here, a golden made by one thread, and a check of any session
/// against it.
struct SmallNetwork {
  Model model;
  std::vector<float> x = ramp(14 * 14 * 16, -0.4f), expected;

  SmallNetwork() {
    for (size_t i = 0; i < x.size(); i++) x[i] = float(i % 23) * 0.05f - 0.5f;
    auto opened = Model::open(kNetwork, ingot_cpu_kernels(nullptr));
    REQUIRE_MESSAGE(opened.ok(), opened.error().text());
    model = std::move(*opened);
    auto session = model.session(with(1));
    REQUIRE_MESSAGE(session.ok(), session.error().text());
    write(session->input(0), x);
    REQUIRE(session->run().ok());
    expected = read<float>(session->output(0));
    bool any = false;
    for (const float y : expected) any = any || y != 0;
    REQUIRE(any);
  }
  static ingot_session_options with(int32_t threads, ingot_pool* pool = nullptr) {
    ingot_session_options options = session_options();
    options.threads = threads;
    options.pool = pool;
    return options;
  }
  /// 0 when the run succeeded and gave the golden's bits.
  int run(const Session& session) const {
    write(session.input(0), x);
    if (ingot_session_run(session.get(), nullptr) != INGOT_OK) return 1;
    return read<float>(session.output(0)) != expected;
  }
};

/// Calls body(i) on kCallers threads at once.
void at_once(const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kCallers; i++) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

/// An application's own pool: a queue under a lock, threads that outlive many runs.
class OwnThreads {
 public:
  explicit OwnThreads(int count) {
    for (int i = 0; i < count; i++) threads_.emplace_back([this] { work(); });
  }
  ~OwnThreads() {
    {
      const std::lock_guard hold(lock_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  static void parallel(void* user, void (*body)(void*, int32_t), void* argument, int32_t n) {
    OwnThreads& own = *static_cast<OwnThreads*>(user);
    std::atomic<int32_t> left{n - 1};
    {
      const std::lock_guard hold(own.lock_);
      for (int32_t i = 1; i < n; i++)
        own.queue_.push_back([=, &left] {
          body(argument, i);
          left.fetch_sub(1, std::memory_order_release);
        });
    }
    own.wake_.notify_all();
    body(argument, 0);
    while (left.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  void work() {
    std::unique_lock hold(lock_);
    for (;;) {
      wake_.wait(hold, [this] { return ends_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> job = std::move(queue_.back());
      queue_.pop_back();
      hold.unlock();
      job();
      hold.lock();
    }
  }
  std::mutex lock_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> queue_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("threads: sessions of one model on one shared pool, each caller with its own") {
  const SmallNetwork network;
  auto pool = Pool::create(3);
  REQUIRE(pool.ok());
  std::atomic<int> wrong{0};
  at_once([&](int caller) {
    auto session = network.model.session(SmallNetwork::with(caller % 3 + 1, pool->get()));
    if (!session) {
      wrong++;
      return;
    }
    for (int run = 0; run < 15; run++) wrong += network.run(*session);
    ingot_counters counters{};
    counters.size = sizeof counters;
    ingot_session_counters(session->get(), &counters);
    wrong += counters.runs != 15 || counters.wakes > 15 || counters.waits > 15;
  });
  CHECK(wrong == 0);
}

TEST_CASE(
    "threads: sessions are made, run and destroyed while others run; each with threads of its own, "
    "or the shared "
    "pool") {
  const SmallNetwork network;
  auto pool = Pool::create(2);
  REQUIRE(pool.ok());
  std::atomic<int> wrong{0};
  at_once([&](int caller) {
    for (int round = 0; round < 8; round++) {
      const bool shared = (caller + round) % 2 == 0;
      const ingot_session_options options = SmallNetwork::with(2, shared ? pool->get() : nullptr);
      auto need = network.model.requirements(options);
      auto session = network.model.session(options);
      wrong += !need || !session || session->requirements().arena_bytes != need->arena_bytes ||
               network.run(*session);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE(
    "threads: a model is opened, asked and closed on many threads, from one file and from one "
    "buffer") {
  const SmallNetwork network;
  FileBytes bytes(chain_network(64));
  std::atomic<int> wrong{0};
  at_once([&](int caller) {
    for (int round = 0; round < 6; round++) {
      ingot_open_options options = open_options(ingot_cpu_kernels(nullptr));
      if (round % 2) options.map = INGOT_MAP_COPY;
      auto own = caller % 2 ? Model::open(bytes.data(), bytes.size(), options)
                            : Model::open(kNetwork, options);
      if (!own) {
        wrong++;
        continue;
      }
      ingot_value_type type{};
      wrong += ingot_model_input(network.model.get(), 0, &type) != INGOT_OK;
      wrong += ingot_model_verify_hashes(own->get(), nullptr) != INGOT_OK;
      wrong += network.model.summary().instruction_count == 0;
      auto session = own->session(SmallNetwork::with(2));
      if (caller % 2 == 0) wrong += !session || network.run(*session);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: the application's own threads serve several sessions at once") {
  const SmallNetwork network;
  OwnThreads own(3);
  const ingot_executor executor = {&own, OwnThreads::parallel};
  std::atomic<int> wrong{0};
  at_once([&](int) {
    ingot_session_options options = SmallNetwork::with(3);
    options.executor = &executor;
    auto session = network.model.session(options);
    if (!session) {
      wrong++;
      return;
    }
    for (int run = 0; run < 8; run++) wrong += network.run(*session);
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads: another thread cancels, deadlines pass: named, and the next run is right") {
  const SmallNetwork network;
  auto pool = Pool::create(2);
  REQUIRE(pool.ok());
  std::atomic<int> wrong{0}, cancelled{0}, finished{0};
  at_once([&](int caller) {
    auto session = network.model.session(SmallNetwork::with(2, caller % 2 ? pool->get() : nullptr));
    if (!session) {
      wrong++;
      return;
    }
    std::atomic<bool> ends{false};
    std::mutex quiet;  // held: nobody cancels
    std::thread other([&] {
      while (!ends.load(std::memory_order_relaxed)) {
        {
          const std::lock_guard<std::mutex> lock(quiet);
          session->cancel();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
    const auto begin = std::chrono::steady_clock::now();
    int cancels = 0;
    for (int run = 0; run < 25 || cancels == 0; run++) {  // at least one cancel finds a run
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(60)) break;
      write(session->input(0), network.x);
      const bool timed = run % 5 == 4;
      const auto ran = timed ? session->run_until(ingot_clock_ns() + uint64_t(run % 25) * 20000)
                             : session->run();
      const ingot_code code = ran ? INGOT_OK : ran.error().code;
      cancels += code == INGOT_CANCELLED;
      wrong += code != INGOT_OK && code != INGOT_CANCELLED &&
               !(timed && code == INGOT_DEADLINE_EXCEEDED);
      if (code == INGOT_OK) wrong += read<float>(session->output(0)) != network.expected;
      if (run % 8 != 7) continue;
      // However slow the machine: without a cancel between, a run that met the last one is followed
      // by one that finishes.
      const std::lock_guard<std::mutex> lock(quiet);
      if (!session->run())
        finished += session->run().ok();
      else
        finished++;
    }
    cancelled += cancels > 0;
    ends = true;
    other.join();
    // A cancel that came after the last run ends the next one; the one behind it is right again.
    const ingot_code next = session->run() ? INGOT_OK : INGOT_CANCELLED;
    wrong += next != INGOT_OK && next != INGOT_CANCELLED;
    wrong += network.run(*session);
    session->cancel();
    wrong += session->run().error().code != INGOT_CANCELLED;
    wrong += session->run_until(1).error().code != INGOT_DEADLINE_EXCEEDED;
    wrong += network.run(*session);
  });
  CHECK(wrong == 0);
  CHECK(cancelled == kCallers);
  CHECK(finished >= 3 * kCallers);
}

TEST_CASE("threads: a session moves from thread to thread, its state with it") {
  FileBytes bytes(counting_network(true));
  const Model model = open_bytes_or_fail(bytes, ingot_cpu_kernels(nullptr));
  auto session = model.session(SmallNetwork::with(2));
  REQUIRE_MESSAGE(session.ok(), session.error().text());
  int wrong = 0;
  for (int run = 1; run <= 6; run++) {
    std::thread mover([&] {
      write(session->input(0), std::vector<float>(8, 2.0f));
      wrong += !session->run() ||
               read<float>(session->output(0)) != std::vector<float>(8, 1 + 2.0f * float(run));
    });
    mover.join();
  }
  CHECK(wrong == 0);
}
