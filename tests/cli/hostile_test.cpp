// Damaged files through the whole program: whatever the bytes, an exit code of the table and never a signal.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <random>

#include "tests/cli/command_line.h"

using namespace cli_test;

namespace {

void check_clean_end(const Ran& ran) {
  CHECK(ran.signal == 0);
  CHECK(ran.exit >= 0);
  CHECK(ran.exit < 8);  // 8 is a fault of our own
  if (ran.exit != 0) CHECK(is_one_error_line(ran.err));
}

}  // namespace

TEST_CASE("hostile: damaged models and goldens end every command with a code and one line") {
  const Folder folder;
  const std::string model = slurp(cast(folder, "batch")), golden = slurp(data("batch.npz")),
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
    check_clean_end(run({"inspect", folder / "m.ingot", "--ops", "--tensors", "--plan", "--dim", "N=2"}));
    check_clean_end(run({"check", folder / "m.ingot", "--golden", data("batch.npz")}));
    check_clean_end(run({"check", folder / "batch.ingot", "--golden", folder / "g.npz"}));
    check_clean_end(run({"convert", folder / "s.onnx", "-o", folder / "o.ingot"}));
  }
}

TEST_CASE("interrupt: a bench that is stopped says nothing more and ends by the signal") {
  const Folder folder;
  const std::string model = cast(folder, "batch");
  const Ran ran = run({"bench", model, "--dim", "N=200000", "--seconds", "50"},
                      {{}, [] {
                         const pid_t runner = getpid();
                         if (fork() == 0) {  // interrupts the command that this process is about to become
                           usleep(400'000);
                           kill(runner, SIGINT);
                           _exit(0);
                         }
                       }});
  CHECK(ran.signal == SIGINT);
  CHECK(ran.out.empty());
  CHECK(folder.names() == std::vector<std::string>{"batch.ingot"});
}
