// SPDX-License-Identifier: Apache-2.0
// A writer that is killed at any of its system calls, before it and after it, and several writers
// at once: the registry is as it was before the change or as after it, never between.
#include <doctest/doctest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iostream>
#include <set>

#include "tests/cli/command_line.h"
#include "tools/files/failure.h"
#include "tools/registry/registry.h"

using namespace cli_test;
using namespace ingot;
using registry::Registry;
namespace fs = std::filesystem;

namespace {

/// Everything that a reader sees but the time of day.
std::string seen(const std::string& root) {
  std::string text;
  const Registry all(root);
  for (const std::string& name : all.names())
    for (const registry::Version& v : all.versions(name)) {
      text += name + "@" + std::to_string(v.number) + " " + v.record.sha256.substr(0, 8);
      for (const std::string& tag : v.tags) text += " " + tag;
      text += v.pinned ? " pinned\n" : "\n";
    }
  return text;
}

enum class End { kKilled, kDone, kNotTraced };

/// Runs `change` in a process of its own that ends at its `stop`th stop: each system call has one
/// before it and one behind it.
End end_at(int stop, const std::function<void()>& change) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(100);
    raise(SIGSTOP);
    try {
      change();
    } catch (const std::exception&) {
      _exit(101);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return End::kNotTraced;
  for (int at = 0;; at++) {
    if (at == stop) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return End::kKilled;
    }
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      CHECK(WEXITSTATUS(status) == 0);
      return End::kDone;
    }
  }
}

/// What the files of these tests begin with.
const std::string kWeights(8192, 'w');

registry::Record record() {
  registry::Record all;
  all.parts.push_back({"of the weights", 0, kWeights.size()});
  return all;
}

/// Two models; three versions of one, under two tags.
void make(const std::string& root, const Folder& folder) {
  Registry all(root);
  uint64_t shared = 0;
  for (const char* text : {"one", "two", "three"}) {
    spill(folder / "model", kWeights + text);
    all.add("net", folder / "model", record(), {}, &shared);
  }
  all.set_tag("net", "prod", 1);
  all.set_tag("net", "prod", 2);
  all.set_tag("net", "canary", 2);
  all.pin("net", 2, true);
}

struct Sweep {
  const char* name;
  std::function<void(Registry&)> change;
  bool has_middle;  // two changes, one after the other
};

}  // namespace

TEST_CASE("registry: killed at each system call it is as before or as after") {
  const Folder folder;
  const std::string before = folder / "before", file = folder / "model", other = folder / "other";
  make(before, folder);
  spill(other, kWeights + "four");
  spill(file, kWeights + "two");  // bytes that are there already
  uint64_t shared = 0;
  const std::vector<Sweep> sweeps = {
      {"add", [&](Registry& all) { all.add("net", file, record(), {}, &shared); }, false},
      {"add with the weights of another",
       [&](Registry& all) { all.add("net", other, record(), {}, &shared); }, false},
      {"add a model", [&](Registry& all) { all.add("new", file, record(), {}, &shared); }, false},
      {"add with a tag", [&](Registry& all) { all.add("net", file, record(), {"prod"}, &shared); },
       true},
      {"tag", [](Registry& all) { all.set_tag("net", "prod", 3); }, false},
      {"the first tag", [](Registry& all) { all.set_tag("net", "new", 3); }, false},
      {"untag", [](Registry& all) { all.remove_tag("net", "canary"); }, false},
      {"rollback", [](Registry& all) { all.roll_back("net", "prod"); }, false},
      {"pin", [](Registry& all) { all.pin("net", 3, true); }, false},
      {"unpin", [](Registry& all) { all.pin("net", 2, false); }, false},
      {"remove", [](Registry& all) { all.remove("net", 3); }, false}};
  int kills = 0;
  for (const Sweep& sweep : sweeps) {
    CAPTURE(sweep.name);
    const std::string root = folder / "root";
    const auto prepare = [&] {
      fs::remove_all(root);
      fs::copy(before, root, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    };
    prepare();
    const std::string first = seen(root);
    Registry whole(root);
    sweep.change(whole);
    const std::string last = seen(root);
    REQUIRE(first != last);
    std::set<std::string> states;
    for (int stop = 0;; stop++) {
      CAPTURE(stop);
      prepare();
      const End end = end_at(stop, [&] {
        Registry all(root);
        sweep.change(all);
      });
      if (end == End::kNotTraced) {
        std::cout << "[skip] a killed writer: this system traces no process\n";
        return;
      }
      const std::string now = seen(root);
      states.insert(now);
      CHECK(Registry(root).faults().empty());
      if (end == End::kDone) {
        CHECK(now == last);
        break;
      }
      kills++;
      // and the next writer finds no trace of it
      Registry next(root);
      next.set_tag("net", "next", 1);
      CHECK(next.left_over().empty());
      CHECK(next.faults().empty());
    }
    CHECK(states.count(first) == 1);
    CHECK(states.count(last) == 1);
    CHECK(states.size() == (sweep.has_middle ? 3 : 2));
  }
  std::cout << kills << " kills of " << sweeps.size() << " changes\n";
  CHECK(kills > 500);
}

TEST_CASE("registry: a rollback after a killed change goes back to what was there") {
  const Folder folder;
  const std::string root = folder / "root", before = folder / "before";
  make(before, folder);
  for (int stop = 0;; stop++) {
    CAPTURE(stop);
    fs::remove_all(root);
    fs::copy(before, root, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const End end = end_at(stop, [&] { Registry(root).set_tag("net", "prod", 3); });
    if (end == End::kNotTraced) return;  // counted above
    Registry all(root);
    const uint64_t now = all.find({"net", "prod", 0}).number;
    CHECK(all.roll_back("net", "prod") == (now == 3 ? 2 : 1));
    if (end == End::kDone) break;
  }
}

TEST_CASE("registry: writers take turns") {
  const Folder folder;
  const std::string root = folder / "root";
  constexpr int kWriters = 6, kEach = 8;
  std::vector<pid_t> children;
  for (int w = 0; w < kWriters; w++) {
    children.push_back(fork());
    REQUIRE(children.back() >= 0);
    if (children.back() != 0) continue;
    try {
      Registry all(root);
      for (int i = 0; i < kEach; i++) {
        const std::string file = folder / ("model" + std::to_string(w));
        uint64_t shared = 0;
        spill(file, std::to_string(w * kEach + i));
        const uint64_t version = all.add("net", file, record(), {"latest"}, &shared);
        all.set_tag("net", "writer" + std::to_string(w), version);
      }
    } catch (const host::Failure& failure) {
      std::cerr << failure.message() << "\n";
      _exit(1);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const Registry all(root);
  CHECK(all.versions("net").size() == kWriters * kEach);
  CHECK(all.versions("net").back().number == kWriters * kEach);
  CHECK(all.faults().empty());
}

TEST_CASE("registry: a disk that is full leaves what was there") {
  const Folder folder;
  const std::string root = folder / "root";
  make(root, folder);
  const std::string first = seen(root);
  spill(folder / "large", std::string(1 << 20, 'x'));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {65536, 65536};
    setrlimit(RLIMIT_FSIZE, &limit);
    uint64_t shared = 0;
    try {
      Registry(root).add("net", folder / "large", record(), {"prod"}, &shared);
    } catch (const host::Failure& failure) {
      _exit(failure.exit() == host::Exit::kUnavailable ? 0 : 2);
    }
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(seen(root) == first);
  CHECK(Registry(root).left_over().empty());
}
