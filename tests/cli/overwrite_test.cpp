// SPDX-License-Identifier: Apache-2.0
// Nothing is written over a file that the command reads: every command that writes, every file that
// it reads, under its own name, a hard link and a symbolic one. A command, or an option that names
// a file, which is not listed here fails.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>

#include "tests/cli/command_line.h"

using namespace cli_test;

namespace {

/// Options that name files, and what the positional words name.
struct Files {
  std::vector<std::string> reads, writes;
};
const std::map<std::string, Files> kCommands = {
    {"convert",
     {{"SOURCE", "--golden", "--weights", "--calibrate"}, {"--output", "--sensitivity-html"}}},
    {"inspect", {{"FILE"}, {}}},
    {"run", {{"FILE", "--inputs", "--load-state"}, {"--outputs", "--profile", "--save-state"}}},
    {"bench", {{"FILE", "--inputs"}, {}}},
    {"check", {{"FILE_OR_SOURCE", "--golden"}, {}}},
    {"verify", {{"FILE"}, {}}},
    {"compare", {{"SOURCE", "FILE", "--golden"}, {"--html"}}},
    {"upgrade", {{"FILE"}, {"--output"}}},  // which may be FILE
    {"why", {{"FILE"}, {"--html"}}},
    {"report", {{"FILE"}, {"--output"}}},
    {"place", {{"FILE"}, {}}},
    {"tune", {{"FILE"}, {"--output"}}},  // which may be FILE; a GPU is needed
    {"kernels", {{"FILE"}, {"--output"}}},
    {"firmware", {{"MODEL"}, {"--output"}}},
    {"plan", {{"MODEL"}, {}}},
    {"diff", {{"A", "B"}, {}}},
    {"operators", {{}, {}}},
    {"tokenize", {{"FILE", "--file"}, {}}},
    {"generate", {{"FILE", "--draft", "--file", "--grammar", "--messages"}, {}}},
    {"chat", {{"FILE", "--draft", "--grammar"}, {}}},
    {"embed", {{"FILE", "--file"}, {"--output"}}},
    {"grammar", {{"FILE"}, {"--output"}}},
    {"perplexity", {{"FILE", "--text"}, {}}},
    {"extract", {{"FILE"}, {"--output"}}},
    {"registry", {{}, {}}},  // nothing is written over in one
    {"serve", {{"--tls-cert", "--tls-key", "--token-file"}, {}}},
    {"doctor", {{}, {}}},
    {"completion", {{}, {}}},
    {"help", {{}, {}}},
};

/// The first words that bash completes.
std::set<std::string> commands_of(const std::string& bash) {
  std::set<std::string> all;
  const size_t at = bash.find("compgen -W '") + 12;
  std::istringstream words(bash.substr(at, bash.find('\'', at) - at));
  for (std::string word; words >> word;)
    if (word[0] != '-') all.insert(word);
  return all;
}

/// Options whose argument is called as a file is.
std::set<std::string> file_options_of(const std::string& help) {
  std::set<std::string> all;
  for (size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2)) {
    std::istringstream words(help.substr(at, 80));
    std::string name, type;
    words >> name >> type;
    const size_t dot = type.rfind('.');
    const bool is_file =
        type == "FILE" || type == "CHECKPOINT" ||
        (dot != std::string::npos && type.find_first_of("=|,:") == std::string::npos &&
         type.substr(0, dot).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") ==
             std::string::npos &&
         dot + 1 < type.size());
    if (is_file && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos)
      all.insert(name);
  }
  return all;
}

std::string shard(const std::string& name, const std::string& shape, size_t floats) {
  std::string head = "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + shape +
                     "],\"data_offsets\":[0," + std::to_string(floats * 4) + "]}}";
  while (head.size() % 8) head += ' ';
  std::string bytes(8, '\0');
  bytes[0] = char(head.size());
  return bytes + head + std::string(floats * 4, '\1');
}

/// A folder with one of everything that commands read.
struct Everything {
  Folder folder;
  Everything() {
    for (const char* name :
         {"external.onnx", "external.data", "linear.npz", "stream.npz", "linear.onnx"})
      spill(folder / name, slurp(data(name)));
    spill(folder / "w.safetensors", shard("w", "4,3", 12));
    spill(folder / "b.safetensors", shard("b", "3", 3));
    spill(folder / "all.index.json",
          "{\"weight_map\":{\"w\":\"w.safetensors\",\"b\":\"b.safetensors\"}}");
    converted(folder, "linear");
    const std::string stream = folder / "stream.ingot";
    REQUIRE(run({"convert", data("stream.onnx"), "-o", stream, "--state", "s=sn"}).exit == 0);
    REQUIRE(run({"run", stream, "--inputs", folder / "stream.npz", "--outputs", folder / "out.npz",
                 "--save-state", folder / "s.state"})
                .exit == 0);
  }
};

/// `output` in `words` becomes each file of `reads`, and links to it: refused, and nothing has
/// changed.
void keeps(const Everything& all, const std::vector<std::string>& words,
           const std::vector<std::string>& reads) {
  for (const std::string& name : reads) {
    const std::string path = all.folder / name, link = all.folder / "symbolic",
                      other = all.folder / "hard";
    const std::string before = slurp(path);
    REQUIRE(!before.empty());
    REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
    REQUIRE(::link(path.c_str(), other.c_str()) == 0);
    for (const std::string& target : {path, link, other}) {
      std::vector<std::string> arguments;
      for (const std::string& word : words)
        arguments.push_back(word == "OUTPUT" ? target
                            : word[0] == '@' ? all.folder / word.substr(1)
                                             : word);
      std::string line;
      for (const std::string& word : arguments) line += word + " ";
      CAPTURE(line);
      const Ran ran = run(arguments);
      CAPTURE(ran.err);
      CHECK(ran.exit == 1);
      CHECK(is_one_error_line(ran.err));
      CHECK(slurp(path) == before);
      struct stat found;
      REQUIRE(lstat(link.c_str(), &found) == 0);
      CHECK(S_ISLNK(found.st_mode));
      REQUIRE(lstat(path.c_str(), &found) == 0);
      CHECK(found.st_nlink == 2);
      if (slurp(path) != before) spill(path, before);
    }
    unlink(link.c_str());
    unlink(other.c_str());
  }
  for (const std::string& name : all.folder.names()) CHECK(name[0] != '.');
}

}  // namespace

TEST_CASE("overwrite: every command, and every option that names a file, is listed in this test") {
  std::set<std::string> listed;
  for (const auto& known_command : kCommands) {
    const std::string& command = known_command.first;
    const Files& files = known_command.second;
    listed.insert(command);
    std::set<std::string> known(files.reads.begin(), files.reads.end());
    known.insert(files.writes.begin(), files.writes.end());
    CAPTURE(command);
    for (const std::string& option :
         file_options_of(run(command == "help" ? std::vector<std::string>{"help"}
                                               : std::vector<std::string>{command, "--help", "all"})
                             .out)) {
      CAPTURE(option);
      CHECK(known.count(option) == 1);
    }
  }
  CHECK(commands_of(run({"completion", "bash"}).out) == listed);
}

TEST_CASE("overwrite: no command writes over a file that it reads") {
  const Everything all;
  const std::vector<std::string> external = {"external.onnx", "external.data"},
                                 shards = {"all.index.json", "w.safetensors", "b.safetensors"};
  keeps(all, {"convert", "@external.onnx", "-o", "OUTPUT"}, external);
  keeps(all, {"convert", "@external.onnx", "-o", "OUTPUT", "--check"}, external);
  keeps(all, {"convert", "@external.onnx", "-o", "OUTPUT", "--golden", "@linear.npz"},
        {"external.data", "linear.npz"});
  keeps(all, {"convert", "@external.onnx", "-o", "OUTPUT", "--weights", "@all.index.json"},
        external);
  keeps(all, {"convert", "@external.onnx", "-o", "OUTPUT", "--weights", "@all.index.json"}, shards);
  keeps(
      all,
      {"convert", "@linear.onnx", "-o", "OUTPUT", "--dtype", "int8", "--calibrate", "@linear.npz"},
      {"linear.onnx", "linear.npz"});
  keeps(all,
        {"convert", "@linear.onnx", "-o", "@made.ingot", "--dtype", "int8", "--calibrate",
         "@linear.npz", "--sensitivity-html", "OUTPUT"},
        {"linear.onnx", "linear.npz"});
  for (const char* output : {"--outputs", "--profile", "--save-state"}) {
    std::vector<std::string> words = {"run",         "@stream.ingot", "--inputs",
                                      "@stream.npz", output,          "OUTPUT"};
    if (std::string(output) != "--outputs") words.insert(words.end(), {"--outputs", "@new.npz"});
    keeps(all, words, {"stream.ingot", "stream.npz"});
    words.insert(words.end(), {"--load-state", "@s.state"});
    if (std::string(output) != "--save-state") keeps(all, words, {"s.state"});
  }
  keeps(all, {"compare", "@external.onnx", "--golden", "@linear.npz", "--html", "OUTPUT"},
        {"external.onnx", "external.data", "linear.npz"});
  keeps(all, {"compare", "@linear.onnx", "@linear.ingot", "--html", "OUTPUT"},
        {"linear.onnx", "linear.ingot"});
  keeps(all, {"why", "@linear.ingot", "--html", "OUTPUT"}, {"linear.ingot"});
  keeps(all, {"report", "@linear.ingot", "-o", "OUTPUT"}, {"linear.ingot"});
  keeps(all, {"kernels", "@linear.ingot", "-o", "OUTPUT"}, {"linear.ingot"});
  keeps(all, {"extract", "@all.index.json", "-o", "OUTPUT"}, shards);
  keeps(all, {"extract", "@external.onnx", "-o", "OUTPUT"}, external);
}

TEST_CASE("overwrite: what is read to be replaced is replaced") {
  const Everything all;
  const std::string state = all.folder / "s.state", before = slurp(state);
  const Ran ran =
      run({"run", all.folder / "stream.ingot", "--inputs", all.folder / "stream.npz", "--outputs",
           all.folder / "new.npz", "--load-state", state, "--save-state", state});
  CAPTURE(ran.err);
  CHECK(ran.exit == 0);
  CHECK(slurp(state) != before);
  CHECK(run({"upgrade", all.folder / "linear.ingot"}).exit == 0);
  CHECK(run({"upgrade", all.folder / "linear.ingot", "-o", all.folder / "linear.ingot"}).exit == 0);
  // An output that another run left is no input of this one.
  CHECK(run({"run", all.folder / "stream.ingot", "--inputs", all.folder / "stream.npz", "--outputs",
             all.folder / "new.npz"})
            .exit == 0);
}
