// SPDX-License-Identifier: Apache-2.0
// Damaged files through the whole program: whatever the bytes, an exit code of the table and never
// a signal.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/command_line.h"

using namespace cli_test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

void check_clean_end(const Ran& ran) {
  CHECK(ran.signal == 0);
  CHECK(ran.exit >= 0);
  CHECK(ran.exit < 8);  // 8 is an internal error
  if (ran.exit != 0) CHECK(is_one_error_line(ran.err));
}

}  // namespace

TEST_CASE("hostile: damaged models and goldens end every command with a code and one line") {
  const Folder folder;
  const std::string model = slurp(converted(folder, "batch")), golden = slurp(data("batch.npz")),
                    source = slurp(data("batch.onnx"));
  std::mt19937 random(11);
  const auto damage = [&](std::string bytes) {
    if (random() % 3 == 0)
      bytes.resize(random() % bytes.size());
    else
      for (unsigned i = 0; i < 1 + random() % 3; i++)
        bytes[random() % std::min<size_t>(bytes.size(), 4096)] ^= char(1 + random() % 255);
    return bytes;
  };
  for (int round = 0; round < 12; round++) {
    CAPTURE(round);
    spill(folder / "m.ingot", damage(model));
    spill(folder / "g.npz", damage(golden));
    spill(folder / "s.onnx", damage(source));
    check_clean_end(run({"verify", folder / "m.ingot"}));
    check_clean_end(
        run({"inspect", folder / "m.ingot", "--ops", "--tensors", "--plan", "--dim", "N=2"}));
    check_clean_end(run({"check", folder / "m.ingot", "--golden", data("batch.npz")}));
    check_clean_end(run({"check", folder / "batch.ingot", "--golden", folder / "g.npz"}));
    check_clean_end(run({"convert", folder / "s.onnx", "-o", folder / "o.ingot"}));
  }
}

TEST_CASE(
    "hostile: names in a file reach a terminal without control characters, whatever the command") {
  const Folder folder;
  const std::string source = data("escapes.onnx"), model = folder / "o.ingot";
  const std::vector<std::vector<std::string>> commands = {
      {"convert", source, "-o", model, "--explain"},
      {"inspect", source},
      {"inspect", model, "--ops", "--tensors", "--plan", "--metadata"},
      {"inspect", model, "--json"},
      {"verify", model},
      {"bench", model, "--seconds", "0"},
      {"why", model, "--seconds", "0"},
      {"bench", model, "--seconds", "0", "--dim", "M=1"}};
  for (const auto& command : commands) {
    CAPTURE(command[0]);
    const Ran ran = run(command);
    CHECK(ran.exit < 8);
    for (const std::string& text : {ran.out, ran.err}) {
      for (size_t i = 0; i < text.size(); i++) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool c1 =
            byte >= 0x80 && byte < 0xa0 && i && static_cast<unsigned char>(text[i - 1]) == 0xc2;
        CHECK_FALSE(((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f || c1));
      }
    }
  }
  CHECK(run({"inspect", source}).out.find("[31mred") != std::string::npos);  // named all the same
}

TEST_CASE("hostile: controls of two bytes and turned text are hidden, and escaped in JSON") {
  const Folder folder;
  std::string bytes = slurp(data("escapes.onnx"));
  const std::string before = "\x1b[31m", after = "\xe2\x80\xae\xc2\x85";  // U+202E, U+0085
  int changed = 0;
  for (size_t at = bytes.find(before); at != std::string::npos;
       at = bytes.find(before, at), changed++)
    bytes.replace(at, before.size(), after);
  REQUIRE(changed > 0);
  const std::string source = folder / "turned.onnx", model = folder / "o.ingot";
  spill(source, bytes);
  const Ran made = run({"convert", source, "-o", model, "--explain"}),
            shown = run({"inspect", source}), json = run({"inspect", model, "--json"}),
            timed = run({"bench", model, "--seconds", "0", "--json"});
  for (const Ran* ran : {&made, &shown, &json, &timed}) {
    CHECK(ran->exit < 8);
    for (const char* hidden : {"\xe2\x80\xae", "\xc2\x85"}) {
      CHECK(ran->out.find(hidden) == std::string::npos);
      CHECK(ran->err.find(hidden) == std::string::npos);
    }
  }
  CHECK(shown.out.find("red") != std::string::npos);  // named all the same
  REQUIRE(nlohmann::json::accept(json.out));
  CHECK(json.out.find("\\u202e\\u0085red") != std::string::npos);
  CHECK(nlohmann::json::parse(json.out).dump().find("\xe2\x80\xae\xc2\x85red") !=
        std::string::npos);
}

TEST_CASE("hostile: bytes in a name that are no UTF-8 reach a terminal as '?'") {
  const Folder folder;
  std::string bytes = slurp(data("escapes.onnx"));
  // 0x9b alone begins a control sequence where a terminal has 8 bits, as 0x1b '[' does
  std::replace(bytes.begin(), bytes.end(), '\x1b', '\x9b');
  const std::string source = folder / "escapes8.onnx", model = folder / "o.ingot";
  spill(source, bytes);
  const std::vector<std::vector<std::string>> commands = {
      {"inspect", source}, {"convert", source, "-o", model, "--explain"}, {"inspect", model}};
  for (const auto& command : commands) {
    CAPTURE(command[0]);
    const Ran ran = run(command);
    CHECK(ran.exit < 8);
    if (command[0] == "inspect")
      CHECK(ran.out.find("[31mred") != std::string::npos);  // named all the same
    CHECK((ran.out + ran.err).find('\x9b') == std::string::npos);
  }
}

TEST_CASE("hostile: where memory ends every command says so, whatever it had begun") {
  if (kSanitized) {
    std::cout << "[skip] limits of the address space: a sanitizer needs it whole\n";
    return;
  }
  const Folder folder;
  const std::string model = converted(folder, "batch");
  int refused = 0, done = 0;
  for (const rlim_t megabytes : {40, 48, 56, 64, 80, 96, 128, 192, 256, 1024}) {
    CAPTURE(megabytes);
    const auto limit = [megabytes] {
      const rlimit few = {megabytes << 20, megabytes << 20};
      setrlimit(RLIMIT_AS, &few);
    };
    for (const auto& command : std::vector<std::vector<std::string>>{
             {"convert", data("batch.onnx"), "-o", folder / "o.ingot"},
             {"bench", model, "--seconds", "0", "--threads", "2", "--dim", "N=1000000"}}) {
      const Ran ran = run(command, {{}, limit});
      CAPTURE(command[0]);
      CAPTURE(ran.err);
      CHECK(ran.signal == 0);
      if (ran.exit == 127) continue;  // not even the program itself could be loaded
      CHECK((ran.exit == 0 || ran.exit == 7));
      if (ran.exit != 0) CHECK(is_one_error_line(ran.err));
      refused += ran.exit == 7, done += ran.exit == 0;
    }
  }
  CHECK(refused > 0);
  CHECK(done > 0);
}

TEST_CASE("interrupt: a bench that is stopped says nothing more and ends by the signal") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  const Ran ran = run({"bench", model, "--dim", "N=200000", "--seconds", "50"},
                      {{}, [] {
                         const pid_t runner = getpid();
                         // interrupts the command that this process is about to become
                         if (fork() == 0) {
                           usleep(400'000);
                           kill(runner, SIGINT);
                           _exit(0);
                         }
                       }});
  CHECK(ran.signal == SIGINT);
  CHECK(ran.out.empty());
  CHECK(folder.names() == std::vector<std::string>{"batch.ingot"});
}
