// SPDX-License-Identifier: Apache-2.0
// tests/conformance/driver_main.cpp - main() of test_conformance_driver: the cases of one shard,
// one at a time, so that one that ends the process hides no other.
//
//   test_conformance_driver [--shard I/N] [--progress FILE] [OPTION of doctest...]
//
// FILE has a line when a case begins and one when it ends ("begin 7 NAME", "end 7 ok|failed MS");
// what it says to be done is not done again, and a case that began and did not end has ended a
// process: it is left out, or done last where a line "cut 7" says that only its time was over. A
// failure says which kernels ran, with their grids.
// Exit 0; 1 where a case failed; 77 without a GPU.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda/bare_gpu.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Shard {
  int index = 0, count = 0;  // 0: no shard, everything
  std::string progress;
  std::vector<char*> rest;  // doctest's
};

bool parse(int argc, char** argv, Shard* out) {
  for (int i = 0; i < argc; i++) {
    if (std::strcmp(argv[i], "--shard") == 0 && i + 1 < argc) {
      if (std::sscanf(argv[++i], "%d/%d", &out->index, &out->count) != 2 || out->count < 1 ||
          out->index < 0 || out->index >= out->count)
        return false;
    } else if (std::strcmp(argv[i], "--progress") == 0 && i + 1 < argc) {
      out->progress = argv[++i];
    } else {
      out->rest.push_back(argv[i]);
    }
  }
  return true;
}

/// What earlier processes did of this shard.
struct Progress {
  std::set<int> done, ended_a_process, cut;
  std::string path;
  bool failed = false;

  explicit Progress(std::string file) : path(std::move(file)) {
    std::ifstream lines(path);
    for (std::string line; std::getline(lines, line);) {
      int number = 0;
      char word[16] = "";
      if (std::sscanf(line.c_str(), "begin %d", &number) == 1) {
        ended_a_process.insert(number);
        cut.erase(number);
      } else if (std::sscanf(line.c_str(), "end %d %15s", &number, word) == 2) {
        ended_a_process.erase(number);
        done.insert(number);
        failed = failed || std::strcmp(word, "failed") == 0;
      } else if (std::sscanf(line.c_str(), "cut %d", &number) == 1) {
        ended_a_process.erase(number);
        cut.insert(number);
      }
    }
    failed = failed || !ended_a_process.empty();
  }
  void add(const std::string& line) const {
    if (path.empty()) return;
    std::ofstream(path, std::ios::app) << line << '\n';
  }
};

Progress* progress = nullptr;
int number_now = 0;
bool began = false, has_failed = false;
int failures_shown = 0;

/// Says what ran on the GPU where a check fails, and which case it is.
struct Listener : doctest::IReporter {
  explicit Listener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& data) override {
    began = true, has_failed = false, failures_shown = 0;
    if (progress) progress->add("begin " + std::to_string(number_now) + " " + data.m_name);
  }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    has_failed = !stats.testCaseSuccess;
  }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& data) override {
    if (data.m_failed) show();
  }
  void log_message(const doctest::MessageData& data) override {
    if (data.m_severity & doctest::assertType::is_check) show();
  }
  void test_case_skipped(const doctest::TestCaseData&) override {}

  static void show() {
    const char* why = nullptr;
    const ingot::test::BareGpu* const gpu = ingot::test::BareGpu::find(&why);
    if (!gpu || failures_shown++ >= 3) return;
    std::printf("  on the GPU ran: %s\n", gpu->last_run().c_str());
  }
};
REGISTER_LISTENER("gpu", 1, Listener);

/// Case `number` of those that the filters leave. False: there are fewer.
bool run_one(const Shard& shard, int number) {
  number_now = number;
  began = false;
  doctest::Context context(int(shard.rest.size()), shard.rest.data());
  context.setOption("first", number);
  context.setOption("last", number);
  context.setOption("minimal", true);
  context.setOption("no-intro", true);
  const Clock::time_point start = Clock::now();
  (void)context.run();
  if (!began) return false;
  progress->failed = progress->failed || has_failed;
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
  progress->add("end " + std::to_string(number) + (has_failed ? " failed " : " ok ") +
                std::to_string(took));
  std::fflush(stdout);
  return true;
}

int run_shard(const Shard& shard) {
  Progress known(shard.progress);
  progress = &known;
  int ran = 0;
  for (int number = shard.index + 1;; number += shard.count) {
    if (known.done.count(number) || known.ended_a_process.count(number) || known.cut.count(number))
      continue;
    if (!run_one(shard, number)) break;
    ran++;
  }
  for (const int number : known.cut) ran += run_one(shard, number);
  for (const int number : known.ended_a_process)
    std::printf("[fail] case %d ended the process in an earlier call\n", number);
  std::printf("shard %d/%d: %d cases now, %zu before\n", shard.index, shard.count, ran,
              known.done.size());
  return known.failed;
}

}  // namespace

int main(int argc, char** argv) {
  // Tests mean the same on a machine with a GPU, as doctest_main.cpp has it.
  setenv("INGOT_CUDA_DRIVER", "/nowhere/libcuda.so", 0);
  Shard shard;
  if (!parse(argc, argv, &shard)) return std::fprintf(stderr, "--shard takes I/N, as 0/16\n"), 64;
  if (shard.count) return run_shard(shard);
  return doctest::Context(int(shard.rest.size()), shard.rest.data()).run();
}
