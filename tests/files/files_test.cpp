// SPDX-License-Identifier: Apache-2.0
// Output files appear whole or not at all; a file's content decides what it is; near names are
// suggested.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch.h"
#include "tools/files/failure.h"
#include "tools/files/file_kind.h"
#include "tools/files/output_file.h"
#include "tools/files/suggest.h"

using namespace ingot::host;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

template <class F>
int exit_of(F&& action, std::string* message = nullptr) {
  try {
    action();
    return 0;
  } catch (const Failure& failure) {
    if (message) *message = failure.message();
    return int(failure.exit());
  }
}

}  // namespace

TEST_CASE("OutputFile: without commit the old file stays and nothing is left beside it") {
  const Scratch scratch;
  write_file(scratch / "out", "old");
  {
    OutputFile file(scratch / "out");
    file.write("new bytes", 9);
    CHECK(read_file(file.temporary()) == "new bytes");
    CHECK(scratch.count() <= 2);  // one where the file system has unnamed files
  }
  CHECK(scratch.count() == 1);
  CHECK(read_file(scratch / "out") == "old");
  OutputFile file(scratch / "out");
  file.write("xew bytes", 9);
  file.write_at(0, "n", 1);
  file.commit();
  CHECK(read_file(scratch / "out") == "new bytes");
  CHECK(scratch.count() == 1);
}

TEST_CASE("OutputFile: a link stays a link and the mode of the old file is kept") {
  const Scratch scratch;
  write_file(scratch / "target", "old");
  fs::permissions(scratch / "target", fs::perms(0640));
  fs::create_symlink("target", scratch / "link");
  OutputFile file(scratch / "link");
  file.write("new", 3);
  file.commit();
  CHECK(fs::is_symlink(scratch / "link"));
  CHECK(read_file(scratch / "target") == "new");
  CHECK(fs::status(scratch / "target").permissions() == fs::perms(0640));
}

TEST_CASE("OutputFile: a folder, a missing folder and a full device are exit 7 and leave nothing") {
  const Scratch scratch;
  std::string message;
  CHECK(exit_of([&] { OutputFile file(scratch.folder.string()); }, &message) == 7);
  CHECK(exit_of([&] { OutputFile file(scratch / "no/such/folder/out"); }, &message) == 7);
  CHECK(message.find("create the folder") != std::string::npos);
  CHECK(exit_of(
            [&] {
              OutputFile file("/dev/full");
              file.write("x", 1);
              file.commit();
            },
            &message) == 7);
  CHECK(message.find("make room") != std::string::npos);
  CHECK(scratch.count() == 0);
}

TEST_CASE("OutputFile: a file size limit is an ordinary error") {
  const Scratch scratch;
  const pid_t child = fork();
  if (child == 0) {
    install_interrupt_cleanup();
    const rlimit limit = {1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string bytes(5000, 'x');
    _exit(exit_of([&] {
      OutputFile file(scratch / "out");
      file.write(bytes.data(), bytes.size());
      file.commit();
    }));
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(scratch.count() == 0);
}

TEST_CASE(
    "install_interrupt_cleanup: an interrupt removes what was being written and ends with the "
    "signal") {
  const Scratch scratch;
  for (const int number : {SIGINT, SIGTERM}) {
    const pid_t child = fork();
    if (child == 0) {
      signal(number, SIG_DFL);
      install_interrupt_cleanup();
      OutputFile file(scratch / "out");
      file.write("half", 4);
      raise(number);
      _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
    CHECK(scratch.count() == 0);
  }
}

TEST_CASE("file_kind: content decides, and common mistakes have their own line") {
  const Scratch scratch;
  struct Refused {
    const char* name;
    std::string bytes;
    int exit;
    const char* says;
  };
  const Refused refused[] = {
      {"empty.onnx", "", 2, "is empty"},
      {"lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n", 2,
       "1234 bytes"},
      {"page.onnx", "\n<!DOCTYPE html><html></html>", 2, "HTML"},
      {"bom.onnx", "\xef\xbb\xbf<HTML>", 2, "HTML"},
  };
  for (const Refused& r : refused) {
    CAPTURE(r.name);
    write_file(scratch / r.name, r.bytes);
    std::string message;
    CHECK(exit_of([&] { file_kind(scratch / r.name); }, &message) == r.exit);
    CHECK(message.find(r.says) != std::string::npos);
  }
  std::string message;
  CHECK(exit_of([&] { file_kind(scratch / "absent"); }, &message) == 7);
  CHECK(message.find("no such file") != std::string::npos);
  CHECK(exit_of([&] { file_kind(scratch.folder.string()); }, &message) == 7);
  CHECK(message.find("is a folder") != std::string::npos);

  using namespace std::string_literals;
  struct Known {
    std::string bytes;
    FileKind kind;
  };
  const Known known[] = {
      {"\x89INGOT\r\n"s, FileKind::kIngot},
      {"\x08\x07\x12\x07pytorch\x3a\xff\xff\x03"s, FileKind::kOnnx},
      {"\x3a\x80\x80\x80\x01\x0a\x02"s, FileKind::kOnnx},
      {"\x1c\0\0\0TFL3"s, FileKind::kTflite},
      {"\x93NUMPY\x01"s, FileKind::kNumpyArray},
      {"PK\x03\x04...."s, FileKind::kZip},
      {"\x80\x02}q"s, FileKind::kPickle},
      {"GGUF\x03"s, FileKind::kGguf},
      {"\x40\0\0\0\0\0\0\0{\"a\""s, FileKind::kSafetensors},
      {"hello"s, FileKind::kOther},
      {"\x89PNG\r\n\x1a\n"s, FileKind::kOther},
  };
  for (const Known& k : known) {
    write_file(scratch / "thing.onnx", k.bytes);
    CAPTURE(int(k.kind));
    CHECK(file_kind(scratch / "thing.onnx") == k.kind);
    CHECK(!kind_text(scratch / "thing.onnx", k.kind).empty());
  }
  CHECK(kind_text(scratch / "thing.onnx", FileKind::kOther) == "a PNG image");
}

TEST_CASE("nearest: small slips are found, strangers are not") {
  const std::vector<std::string> names = {"input", "state", "sr", "--threads"};
  struct Case {
    const char* word;
    const char* found;
  };
  for (const Case& c : {Case{"inptu", "input"},
                        {"Input", "input"},
                        {"stat", "state"},
                        {"--thread", "--threads"},
                        {"zebra", ""},
                        {"", ""}}) {
    CAPTURE(c.word);
    CHECK(nearest(c.word, names) == c.found);
  }
  CHECK(did_you_mean("inptu", names) == "; did you mean 'input'?");
  CHECK(did_you_mean("zebra", {"a", "b"}) == "; there are: 'a', 'b'");
  CHECK(did_you_mean("zebra", {}) == "; there is none");
}
