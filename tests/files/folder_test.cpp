// SPDX-License-Identifier: Apache-2.0
// A folder of files appears whole or not at all, whoever writes one of that name at the same time.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/support/scratch.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/output_folder.h"

using namespace ingot::host;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

int files_below(const std::string& path) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path)) files += entry.is_regular_file();
  return files;
}
void make_old(const fs::path& path) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

/// How a child ends that has written half of a folder.
template <class End>
int end_of_child(const std::string& path, End end) {
  const pid_t child = fork();
  if (child == 0) {
    install_interrupt_cleanup();
    OutputFolder folder(path);
    folder.add("a.txt", "half");
    folder.add("inner/most/b.txt", "half");
    end();
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

TEST_CASE("OutputFolder: appears with all its files at commit, and leaves nothing without") {
  const Scratch place;
  {
    OutputFolder folder(place / "out");
    folder.add("a.txt", "1");
    folder.add("inner/most/b.txt", "2");
    CHECK_FALSE(fs::exists(place / "out"));
    CHECK(place.count() == 1);
  }
  CHECK(place.count() == 0);
  OutputFolder folder(place / "made/for/it/out");
  folder.add("a.txt", "1");
  folder.add("inner/most/b.txt", "2");
  CHECK(folder.commit() == 2);
  CHECK(read_file(place / "made/for/it/out/inner/most/b.txt") == "2");
  CHECK(files_below(place / "made") == 2);
}

TEST_CASE("OutputFolder: what a user has under a similar name stays") {
  const Scratch place;
  for (const char* name : {".out.writing", ".out.abcdefgh.tmp"}) {
    fs::create_directories(place / name);
    std::ofstream(fs::path(place / name) / "precious") << "x";
    make_old(fs::path(place / name) / "precious");
    make_old(place / name);
  }
  OutputFolder folder(place / "out");
  folder.add("a.txt", "1");
  folder.commit();
  CHECK(fs::exists(place / ".out.writing/precious"));
  CHECK(fs::exists(place / ".out.abcdefgh.tmp/precious"));
}

TEST_CASE("OutputFolder: two at once write apart, and one of them is whole") {
  const Scratch place;
  OutputFolder first(place / "out"), second(place / "out");
  CHECK(first.temporary() != second.temporary());
  for (const char* name : {"a.txt", "inner/b.txt"})
    first.add(name, "first"), second.add(name, "second");
  CHECK(second.commit() == 2);
  std::string message;
  try {
    first.commit();
  } catch (const Failure& failure) {
    CHECK(failure.exit() == Exit::kUsage);
    message = failure.message();
  }
  CHECK(message.find("another process") != std::string::npos);
  CHECK(read_file(place / "out/a.txt") == "second");
  CHECK(read_file(place / "out/inner/b.txt") == "second");
}

TEST_CASE("OutputFolder: a folder, a file or a link that is there is not replaced") {
  const Scratch place;
  fs::create_directories(place / "empty");
  std::ofstream(place / "file") << "x";
  fs::create_symlink("nowhere", place / "link");
  for (const char* name : {"empty", "file", "link"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(OutputFolder(place / name), Failure);
  }
  OutputFolder late(place / "late");
  late.add("a.txt", "1");
  fs::create_directories(place / "late");  // another program's
  CHECK_THROWS_AS(late.commit(), Failure);
  CHECK(fs::is_empty(place / "late"));
}

TEST_CASE("OutputFolder: an interrupt leaves nothing, a kill what the next try removes") {
  const Scratch place;
  CHECK(end_of_child(place / "out", [] { raise(SIGTERM); }) == SIGTERM);
  CHECK(place.count() == 0);
  CHECK(end_of_child(place / "out", [] { raise(SIGKILL); }) == SIGKILL);
  REQUIRE(place.count() == 1);
  const fs::path left = fs::directory_iterator(place.folder)->path();
  {
    OutputFolder young(place / "out");  // may be another process that is about to lock it
    CHECK(fs::exists(left));
  }
  make_old(left / ".ingot-writing");
  OutputFolder folder(place / "out");
  CHECK_FALSE(fs::exists(left));
  OutputFolder other(place / "out");
  make_old(fs::path(other.temporary()) / ".ingot-writing");
  OutputFolder third(place / "out");  // the other is written still
  CHECK(fs::exists(other.temporary()));
}
