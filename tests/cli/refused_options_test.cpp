// SPDX-License-Identifier: Apache-2.0
// What a command line says that cannot be meant: options that would be passed over without a word,
// variables that nothing can read, pipes and empty names where files belong. Each is one line that
// names what it is about.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;

namespace {

void refused(const std::vector<std::string>& arguments, int exit,
             const std::vector<std::string>& says, const RunOptions& options = {}) {
  std::string line;
  for (const std::string& word : arguments) line += word + " ";
  CAPTURE(line);
  const Ran ran = run(arguments, options);
  CAPTURE(ran.err);
  CHECK(ran.exit == exit);
  CHECK(is_one_error_line(ran.err));
  for (const std::string& part : says) {
    CAPTURE(part);
    CHECK(has(ran.err, part));
  }
}

RunOptions with(const std::string& name, const std::string& value) {
  RunOptions options;
  options.environment = {{name, value}};
  return options;
}

ingot::host::Array floats(const std::string& name, std::vector<int64_t> dims) {
  size_t count = 4;
  for (const int64_t dim : dims) count *= size_t(dim);
  ingot::host::Array array;
  array.name = name;
  array.dtype = ingot::DType::kF32;
  array.dims = std::move(dims);
  array.bytes.assign(count, 0);
  return array;
}

}  // namespace

TEST_CASE("numbers that are none, and limits in the environment") {
  const Folder folder;
  const std::string source = data("linear.onnx"), out = folder / "o.ingot";
  for (const char* text : {"nan", "-1", "inf", "ten"})
    refused({"convert", source, "-o", out, "--limit", text}, 1,
            {"--limit: expected a number from 0", text});
  for (const char* text : {"nan", "-1", "ten", ""})
    refused({"convert", source, "-o", out}, 1, {"INGOT_WORK_LIMIT: expected a number"},
            with("INGOT_WORK_LIMIT", text));
  for (const char* text : {"1.5G", "-1", "lots", ""})
    refused({"convert", source, "-o", out}, 1, {"INGOT_MEMORY_LIMIT: expected a number of bytes"},
            with("INGOT_MEMORY_LIMIT", text));
  CHECK(run({"convert", source, "-o", out, "--limit", "0"}).exit == 0);
  CHECK(run({"convert", source, "-o", out}, with("INGOT_MEMORY_LIMIT", "4g")).exit == 0);
}

TEST_CASE("options that would be passed over without a word") {
  const Folder folder;
  const std::string out = folder / "o.ingot", batch = data("batch.onnx");
  const auto convert = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"convert", batch, "-o", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  refused(convert({"--dim", "N=2", "--dim", "N=3"}), 1, {"--dim N: given twice"});
  refused(convert({"--input-shape", "x=2x4", "--input-shape", "x=3x4"}), 1,
          {"--input-shape x: given twice"});
  refused(convert({"--io-layout", "x=nhwc", "--io-layout", "x=nchw"}), 1,
          {"--io-layout x: given twice"});
  refused(convert({"--metadata", "a=1", "--metadata", "a=2"}), 1, {"--metadata a: given twice"});
  refused(convert({"--keep-training-state"}), 1, {"--keep-training-state", "--weights"});
  refused(convert({"--weights", "q8_0"}), 5, {"language models", "--dtype int8 --calibrate"});
  refused(convert({"--weights", "q4_2"}), 1, {"--weights q4_2", "did you mean 'q4_"});
  refused(convert({"--latency", "1"}), 1, {"--latency: is read with --stream alone"});
  refused(convert({"--rtol", "1"}), 1, {"--rtol: is read with --golden alone"});
  refused(convert({"--check", "--no-check"}), 1, {"--check and --no-check"});
  refused(convert({"--io-layout", "x=nhwc"}), 5, {"--io-layout x=nhwc", "2 dimensions"});
  CHECK(folder.names().empty());
}

TEST_CASE("empty names and pipes where files belong") {
  const Folder folder;
  const std::string model = converted(folder, "linear"), pipe = folder / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  refused({"convert", data("linear.onnx"), "-o", ""}, 1, {"--output: the name of a file is empty"});
  refused({"convert", ""}, 1, {"SOURCE: the name of a file is empty"});
  refused({"run", model, "--inputs", "", "--outputs", folder / "o.npz"}, 1,
          {"--inputs", "name of a file is empty"});
  refused({"run", model, "--inputs", pipe, "--outputs", folder / "o.npz"}, 7,
          {"is a pipe", "say -"});
  refused({"check", model, "--golden", pipe}, 7, {"is a pipe"});
  refused({"convert", pipe}, 7, {"is a pipe", "say -"});
}

TEST_CASE("which axis is wrong, and no file that the user did not name") {
  const Folder folder;
  const std::string model = converted(folder, "batch"), in = folder / "in.npz",
                    golden = folder / "golden.npz";
  const std::string inspected = run({"inspect", model, "--json"}).out;
  CAPTURE(inspected);
  ingot::host::write_npz(in, {floats("x", {2, 9})});
  refused({"run", model, "--inputs", in, "--outputs", folder / "o.npz"}, 5,
          {"dimension 1 is 9, expected 4"});
  ingot::host::write_npz(in, {floats("x", {4})});
  refused({"run", model, "--inputs", in, "--outputs", folder / "o.npz"}, 5,
          {"it has 1 dimensions, expected 2"});
  ingot::host::write_npz(golden, {floats("in:x", {2, 4}), floats("out:z", {2, 4})});
  const std::string out = folder / "o.ingot";
  for (const std::vector<std::string>& line : std::vector<std::vector<std::string>>{
           {"convert", data("batch.onnx"), "-o", out, "--golden", golden},
           {"check", data("batch.onnx"), "--golden", golden}}) {
    const Ran ran = run(line);
    CAPTURE(ran.err);
    CHECK(ran.exit == 5);
    CHECK(!has(ran.err, "/proc/"));
    CHECK(has(ran.err, line[0] == "convert" ? out + " has no output 'z'"
                                            : data("batch.onnx") + " has no output 'z'"));
  }
  refused({"compare", data("batch.onnx"), "--golden", golden}, 5,
          {"nothing was compared with it", "out:NAME"});
}

TEST_CASE("help is as wide as the terminal says") {
  for (const size_t width : {size_t(60), size_t(80), size_t(100)}) {
    const Ran ran = run({"convert", "--help"}, with("COLUMNS", std::to_string(width)));
    const std::string text = ran.out.substr(0, ran.out.find("Examples:"));
    size_t longest = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    CAPTURE(width);
    CHECK(longest <= width);
    CHECK(longest + 20 > width);
  }
}

TEST_CASE("doctor: a root that is not there") {
  refused({"doctor", "--root", "/nonexistent"}, 7,
          {"--root /nonexistent", "No such file", "name the folder"});
}

TEST_CASE("help that does not reach standard output") {
  RunOptions full;
  full.in_child = [] { dup2(open("/dev/full", O_WRONLY), 1); };
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"--help"}, {"help", "run"}, {"-V"}})
    refused(line, 7, {"standard output: cannot be written", "No space left"}, full);
}
