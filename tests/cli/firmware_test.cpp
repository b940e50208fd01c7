// SPDX-License-Identifier: Apache-2.0
// ingot firmware: what it writes, and what it refuses before anything is written.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "tests/cli/command_line.h"

using namespace cli_test;
namespace fs = std::filesystem;

namespace {

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) count++;
  return count;
}

void refuses(const std::vector<std::string>& arguments, int exit,
             const std::vector<std::string>& says) {
  const Ran ran = run(arguments);
  CAPTURE(ran.err);
  CHECK(ran.exit == exit);
  CHECK(is_one_error_line(ran.err));
  for (const std::string& part : says) CHECK_MESSAGE(ran.err.find(part) != std::string::npos, part);
}

}  // namespace

TEST_CASE("firmware: a model of one operator names one kernel, and the project is whole") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), project = folder / "project";
  const Ran ran = run({"firmware", model, "-o", project});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  CHECK(count_of(slurp(project + "/kernels.cpp"), "{row(\"") == 1);
  CHECK(count_of(slurp(project + "/kernels.cpp"), "{row(\"linear_f32\")") == 1);
  for (const char* file :
       {"Makefile", "CMakeLists.txt", "toolchain.cmake", "board.mk", "memory.ld", "image.ld",
        "startup.c", "main.c", "models.h", "LICENSE", "README.md",
        "ingot/runtime/micro/validate.cpp", "ingot/runtime/include/ingot/micro.h",
        "ingot/runtime/base/sha256_x86.cpp"})
    CHECK_MESSAGE(fs::exists(project + "/" + file), file);
  CHECK(slurp(project + "/memory.ld").find("ORIGIN = 0x20000000") != std::string::npos);
  // the stack is in front of what it could run into
  const std::string image = slurp(project + "/image.ld");
  CHECK(image.find("  .stack ") < image.find("  .data "));
  CHECK(image.find("  .data ") < image.find("  .bss "));
  CHECK(image.find("  .bss ") != std::string::npos);
  const std::string header = slurp(project + "/models.h");
  CHECK(header.rfind("/* SPDX-License-Identifier: Apache-2.0 */", 0) == 0);
  const std::string kernels = slurp(project + "/kernels.cpp");
  CHECK(kernels.rfind("// SPDX-License-Identifier: Apache-2.0\n// Written by ingot ", 0) == 0);
  CHECK(count_of(header, "FIRMWARE_MODELS_H") == 2);
  CHECK(count_of(slurp(project + "/models/linear.c"), "SHA-256 ") == 1);
  CHECK(count_of(slurp(project + "/Makefile"), "-MMD") == 1);
  CHECK(count_of(slurp(project + "/startup.c"), "SysTick_Handler") > 1);
  CHECK(count_of(slurp(project + "/README.md"), "libstdc++-arm-none-eabi-newlib") == 1);
  refuses({"firmware", model, "-o", project}, 1, {project, "is there already"});
}

TEST_CASE("firmware: a board that is too small is refused with both numbers, and nothing is left") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), project = folder / "project";
  refuses({"firmware", model, "-o", project, "--board", "microbit", "--stack", "16384"}, 7,
          {"--board microbit", "RAM", "expected", "found 16384", "--min-ram", "larger board"});
  CHECK_FALSE(fs::exists(project));
  refuses({"firmware", model, "-o", project, "--board", "arduino"}, 1,
          {"--board", "'arduino'", "microbit"});
}

TEST_CASE("firmware: a board of one's own, by processor, flash and RAM") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), project = folder / "project";
  const std::vector<std::string> words = {"firmware",  model,     "-o",   project, "--cpu",
                                          "cortex-m4", "--flash", "512K", "--ram"};
  const auto with = [&](const std::string& ram) {
    std::vector<std::string> all = words;
    all.push_back(ram);
    return all;
  };
  refuses(with("4K"), 7, {"--board custom", "RAM", "found 4096"});
  refuses(with("much"), 1, {"--ram", "expected BYTES", "found 'much'"});
  refuses({"firmware", model, "-o", project, "--cpu", "cortex-m4"}, 1, {"expected all three"});
  refuses({"firmware", model, "-o", project, "--cpu", "z80", "--flash", "1M", "--ram", "1M"}, 1,
          {"--cpu: 'z80' is not known", "cortex-m0plus"});
  REQUIRE(run(with("96K@0x20010000")).exit == 0);
  const std::string memory = slurp(project + "/memory.ld");
  CHECK(count_of(memory, "ORIGIN = 0x08000000, LENGTH = 524288") == 1);
  CHECK(count_of(memory, "ORIGIN = 0x20010000, LENGTH = 98304") == 1);
}

TEST_CASE("firmware: a source's batch is one where nobody says otherwise") {
  const Folder folder;
  const Ran ran = run({"firmware", data("batch.onnx"), "-o", folder / "project"});
  CAPTURE(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.err.find("'N' is the batch, which is 1") != std::string::npos);
}

TEST_CASE("firmware: a stack in which no model can be opened, or that wraps, is refused") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), project = folder / "project";
  for (const char* stack : {"0", "100", "2559", "4294967296", "4294973440"})
    refuses(
        {"firmware", model, "-o", project, "--stack", stack}, 1,
        {"--stack", "expected at least 2560 and at most", "found '" + std::string(stack) + "'"});
  CHECK_FALSE(fs::exists(project));
  CHECK(run({"firmware", model, "-o", project, "--stack", "2560"}).exit == 0);
}

TEST_CASE("firmware: operators that the core has no kernel for are named, all at once") {
  const Folder folder;
  const std::string seeds = std::string(INGOT_MODELS) + "/../fuzz/seeds/fuzz_onnx/",
                    chain = folder / "chain.ingot";
  refuses({"plan", seeds + "recurrent.onnx", "--dim", "T=3"}, 4,
          {"recurrent.onnx", "no kernel for", "recurrent; ", "docs/firmware.md"});
  refuses({"plan", seeds + "resize.onnx", "--dim", "H=4", "--dim", "W=4"}, 4,
          {"no kernel for resize, conv_transpose2d; docs/firmware.md"});
  // where chains alone are in the way, the source is taken
  const std::string source = data("chain.onnx");
  CHECK(run({"plan", source}).exit == 0);
  REQUIRE(run({"convert", source, "-o", chain, "--target", "mcu"}).exit == 0);
  refuses({"firmware", chain, "-o", folder / "a"}, 4,
          {"no kernel for chain; ", "name the source instead"});
}

TEST_CASE("firmware: --min-ram is for sources that become a microcontroller's file") {
  const Folder folder;
  const std::string model = converted(folder, "linear"),
                    source = std::string(INGOT_MODELS) + "/../../examples/digits/digits.onnx";
  refuses({"firmware", model, "-o", folder / "a", "--min-ram"}, 1, {"--min-ram", "convert it"});
  refuses({"convert", source, "-o", folder / "a", "--min-ram"}, 1, {"--min-ram", "--target mcu"});
  refuses(
      {"convert", source, "-o", folder / "a", "--target", "mcu", "--min-ram", "--winograd", "9"}, 1,
      {"--min-ram", "--winograd"});
  CHECK(run({"plan", source, "--dim", "n=1", "--max-work", "1.5"}).exit == 1);
  for (const char* work : {"0.5", "nan"})
    CHECK(run({"plan", source, "--dim", "n=1", "--min-ram", "--max-work", work}).exit == 1);
  CHECK_FALSE(fs::exists(folder / "a"));
  const Ran ran = run({"plan", source, "--dim", "n=1", "--min-ram", "--max-work", "1.5"});
  INFO(ran.err);
  CHECK(ran.exit == 0);
}

TEST_CASE("firmware: dynamic dimensions and what is no model are refused by name") {
  const Folder folder;
  refuses({"firmware", converted(folder, "batch"), "-o", folder / "a"}, 5, {"--dim N=NUMBER"});
  refuses({"firmware", folder / "absent.ingot", "-o", folder / "a"}, 7, {"absent.ingot"});
}

TEST_CASE("firmware: a model with state has its own part of the arena and some runs in a row") {
  const Folder folder;
  const std::string state = folder / "keeps.ingot", plain = converted(folder, "linear"),
                    project = folder / "project";
  REQUIRE(run({"convert", data("stream.onnx"), "--state", "s=sn", "-o", state, "--target", "mcu"})
              .exit == 0);
  const Ran ran = run({"firmware", plain, state, "-o", project});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  const std::string list = slurp(project + "/models/list.c");
  CHECK(count_of(list, "linear_outputs, 1, 0, ") == 1);
  CHECK(count_of(list, "keeps_outputs, 8, 0, ") == 0);
  CHECK(count_of(list, "keeps_outputs, 8, ") == 1);
  CHECK(count_of(slurp(project + "/models/keeps.c"), "keeps_inputs[64]") == 1);
  CHECK(count_of(slurp(project + "/kernels.cpp"), "micro::start_states") == 1);
  CHECK(count_of(slurp(project + "/README.md"), "State is kept from run to run: keeps.") == 1);
  CHECK(count_of(slurp(project + "/ingot/runtime/include/ingot/micro.h"),
                 "ingot_micro_reset_state(") == 1);
  CHECK(fs::exists(project + "/ingot/runtime/micro/states.cpp"));
  // without one nothing of it is linked
  REQUIRE(run({"firmware", plain, "-o", folder / "other"}).exit == 0);
  CHECK(count_of(slurp(folder / "other/kernels.cpp"), "start_states") == 0);
  CHECK(count_of(slurp(folder / "other/README.md"), "State is kept") == 0);
  // in turns it would start over each time
  CHECK(run({"plan", state, "--shared-arena"}).exit == 0);
  CHECK(run({"plan", state, plain}).exit == 0);
  refuses({"plan", plain, state, "--shared-arena"}, 4, {"keeps.ingot", "keeps state"});
}

TEST_CASE("plan: models in turn take the largest arena and give the outputs of each alone") {
  const Folder folder;
  const std::string a = converted(folder, "linear"), b = converted(folder, "stream");
  const auto numbers = [](const std::string& text, const std::string& row) {
    const size_t at = text.find(row);
    REQUIRE(at != std::string::npos);
    std::string digits;
    for (size_t i = at + row.size(); i < text.size() && text[i] != '\n'; i++) {
      if (text[i] == ' ' && !digits.empty()) break;
      if (std::isdigit(static_cast<unsigned char>(text[i]))) digits += text[i];
    }
    return std::stoll(digits);
  };
  const Ran alone = run({"plan", a});
  INFO(alone.err);
  REQUIRE(alone.exit == 0);
  CHECK(alone.out.find("shared") == std::string::npos);
  const Ran both = run({"plan", a, b, "--shared-arena"});
  INFO(both.err);
  REQUIRE(both.exit == 0);
  const int64_t first = numbers(both.out, a), second = numbers(both.out, b);
  CHECK(first == numbers(alone.out, "sum"));
  CHECK(first != second);
  CHECK(numbers(both.out, "sum") == first + second);
  CHECK(numbers(both.out, "shared arena") == std::max(first, second));
  CHECK(numbers(both.out, "saved") == std::min(first, second));
  CHECK(both.out.find("twice over: 2 models, the outputs of each alone") != std::string::npos);
  refuses({"plan", a, converted(folder, "batch"), "--shared-arena"}, 5,
          {"batch", "--dim N=NUMBER"});
  refuses({"plan", folder / "absent.ingot"}, 7, {"absent.ingot"});
}
