// SPDX-License-Identifier: Apache-2.0
// "-" as a file, "--", help, quiet, and what a killed command leaves behind.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace cli_test;
using Json = nlohmann::json;

namespace {

/// With standard input from `path`.
RunOptions reading(const std::string& path) {
  RunOptions options;
  options.in_child = [path] { dup2(open(path.c_str(), O_RDONLY), 0); };
  return options;
}

/// Makes every file of the folder look two minutes old.
void age(const Folder& folder) {
  for (const std::string& name : folder.names()) {
    const timespec times[2] = {{time(nullptr) - 120, 0}, {time(nullptr) - 120, 0}};
    utimensat(AT_FDCWD, (folder / name).c_str(), times, 0);
  }
}

}  // namespace

TEST_CASE("-: standard input is a source, a file, inputs; standard output takes what is written") {
  const Folder folder;
  const std::string source = data("linear.onnx"), model = folder / "m.ingot";
  const Ran converted = run({"convert", "-", "-o", model}, reading(source));
  CHECK(converted.exit == 0);
  const Ran streamed = run({"convert", "-", "-o", "-"}, reading(source));
  CHECK(streamed.exit == 0);
  CHECK(streamed.out == slurp(model));
  CHECK(has(streamed.err, "standard output: "));
  const Ran checked = run({"convert", source, "-o", "-", "--golden", data("linear.npz")});
  CHECK(checked.exit == 0);
  spill(folder / "checked.ingot", checked.out);
  CHECK(run({"verify", folder / "checked.ingot"}).exit == 0);

  const Ran inspected = run({"inspect", "-"}, reading(model));
  CHECK(inspected.exit == 0);
  CHECK(inspected.out.rfind("standard input: Ingot file", 0) == 0);
  CHECK(has(inspected.out, "\n  source        onnx\n"));
  CHECK(run({"run", model, "--inputs", data("linear.npz"), "--outputs", folder / "o.npz"}).exit ==
        0);
  const Ran outputs =
      run({"run", model, "--inputs", "-", "--outputs", "-"}, reading(data("linear.npz")));
  CHECK(outputs.exit == 0);
  CHECK(outputs.out == slurp(folder / "o.npz"));
  CHECK(folder.names() == std::vector<std::string>{"checked.ingot", "m.ingot", "o.npz"});
}

TEST_CASE("-: what cannot be is one line with exit 1") {
  const Ran unnamed = run({"convert", "-"}, reading(data("linear.onnx")));
  CHECK(unnamed.exit == 1);
  CHECK(has(unnamed.err, "-o OUT.ingot"));
  const Ran twice =
      run({"run", "-", "--inputs", "-", "--outputs", "-"}, reading(data("linear.onnx")));
  CHECK(twice.exit == 1);
  CHECK(has(twice.err, "given twice"));
  const Ran empty = run({"inspect", "-"});  // /dev/null
  CHECK(empty.exit == 2);
  CHECK(has(empty.err, "standard input"));
  for (const Ran* ran : {&unnamed, &twice, &empty}) CHECK(is_one_error_line(ran->err));
}

TEST_CASE("--: what follows is a file, whatever it begins with") {
  const Folder folder;
  spill(folder / "-x.onnx", slurp(data("linear.onnx")));
  RunOptions there;
  there.in_child = [&] { (void)!chdir(folder.path().c_str()); };
  CHECK(run({"convert", "-o", "a.ingot", "--", "-x.onnx"}, there).exit == 0);
  CHECK(run({"inspect", "--json", "--", "a.ingot"}, there).exit == 0);
  const Ran behind = run({"convert", "--", "-x.onnx", "-o", "b.ingot"}, there);
  CHECK(behind.exit == 1);
  CHECK(has(behind.err, "'-o' stands behind '--'"));
  CHECK(has(behind.err, "options come before it"));
}

TEST_CASE(
    "help: the text of --help, by name, in groups, no line beyond 100 columns, with defaults") {
  for (const char* command : {"convert", "run", "help", "completion"}) {
    const Ran asked = run({"help", command});
    CHECK(asked.exit == 0);
    CHECK(asked.out == run({command, "--help"}).out);
  }
  CHECK(run({"help"}).out == run({"--help"}).out);
  const Ran typo = run({"help", "konvert"});
  CHECK(typo.exit == 1);
  CHECK(has(typo.err, "did you mean 'convert'?"));
  const std::string convert = run({"help", "convert", "all"}).out;
  CHECK(has(convert, "(default: auto)"));
  CHECK(has(run({"help", "run"}).out, "(default: share)"));
  const std::string all = run({"--help"}).out;
  for (const char* heading : {"\nRun:\n", "\nCheck:\n", "\nHelp:\n"}) CHECK(has(all, heading));
  for (const char* command :
       {"convert", "run", "bench", "compare", "tune", "inspect", "doctor", "why"}) {
    const std::string text = run({command, "--help", "all"}).out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      CAPTURE(text.substr(at, end - at));
      CHECK(end - at <= 100);
      at = end + 1;
    }
  }
}

TEST_CASE("-V is --version, -q leaves out notes and the summary") {
  CHECK(run({"-V"}).out == run({"--version"}).out);
  const Folder folder;
  const Ran quiet = run({"convert", "-q", data("linear.onnx"), "-o", folder / "m.ingot"});
  CHECK(quiet.exit == 0);
  CHECK(quiet.out.empty());
  CHECK(quiet.err.empty());
  CHECK(has(run({"inspect", "--quiet", folder / "m.ingot"}).out, "Ingot file"));
  CHECK(run({"inspect", "-q", folder / "none.ingot"}).err != "");
}

TEST_CASE(
    "inspect: options about programs show the program of a source and are refused for "
    "checkpoints") {
  const Folder folder;
  const std::string model = converted(folder, "linear");
  const Json source =
      Json::parse(run({"inspect", data("linear.onnx"), "--ops", "--plan", "--json"}).out);
  const Json file = Json::parse(run({"inspect", model, "--ops", "--plan", "--json"}).out);
  CHECK(source["ops"] == file["ops"]);
  CHECK(source["plan"] == file["plan"]);
  CHECK(has(run({"inspect", data("linear.onnx"), "--ops"}).out, "\nInstructions\n"));
  CHECK(run({"inspect", data("linear.npz"), "--tensors"}).exit == 0);  // which it lists anyhow
  for (const char* option : {"--ops", "--plan", "--metadata"}) {
    const Ran ran = run({"inspect", data("linear.npz"), option});
    CHECK(ran.exit == 1);
    CHECK(is_one_error_line(ran.err));
    CHECK(has(ran.err, option));
  }
  CHECK(run({"inspect", model, "--hashes"}).exit == 1);
}

TEST_CASE(
    "inspect: dims are integers in every kind of file, names of open ones stand beside them") {
  const Folder folder;
  const std::string model = converted(folder, "batch");
  for (const std::string& file : {data("batch.onnx"), model}) {
    const Json port = Json::parse(run({"inspect", file, "--json"}).out)["inputs"][0];
    CAPTURE(port.dump());
    CHECK(std::all_of(port["dims"].begin(), port["dims"].end(),
                      [](const Json& d) { return d.is_number_integer(); }));
    CHECK(port["dims"][0] == -1);
    CHECK(port["dim_names"][0] == "N");
    CHECK(port["dim_names"][1] == "");
  }
}

TEST_CASE("a killed conversion leaves nothing that the next one does not remove") {
  const Folder folder;
  for (int round = 0; round < 40; round++) {
    const pid_t child = fork();
    if (child == 0) {
      const int nothing = open("/dev/null", O_WRONLY);
      dup2(nothing, 1);
      dup2(nothing, 2);
      const std::string source = data("linear.onnx"), output = folder / "m.ingot";
      execl(INGOT_BINARY, "ingot", "convert", source.c_str(), "-o", output.c_str(), nullptr);
      _exit(127);
    }
    usleep(useconds_t(round * 500));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    unlink((folder / "m.ingot").c_str());
  }
  // What an ingot of before, or a file system without unnamed files, leaves.
  const std::string abandoned = folder / ".m.ingot.abcdefgh.tmp",
                    other = folder / ".n.ingot.abcdefgh.tmp";
  const std::string locked = folder / ".m.ingot.bcdefghi.tmp";
  for (const std::string& path : {abandoned, other, locked}) spill(path, "half");
  age(folder);
  const std::string young = folder / ".m.ingot.cdefghij.tmp";
  spill(young, "half");
  const int held = open(locked.c_str(), O_RDONLY);
  CHECK(flock(held, LOCK_EX) == 0);
  CHECK(run({"convert", data("linear.onnx"), "-o", folder / "m.ingot"}).exit == 0);
  close(held);
  CHECK(folder.names() == std::vector<std::string>{".m.ingot.bcdefghi.tmp", ".m.ingot.cdefghij.tmp",
                                                   ".n.ingot.abcdefgh.tmp", "m.ingot"});
}
