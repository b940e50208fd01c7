// SPDX-License-Identifier: Apache-2.0
// Help, version, completion, and every way to mistype a command line.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/cli/command_line.h"

using namespace cli_test;

namespace {
const char* const kCommandNames[] = {"convert", "inspect", "run",     "bench",     "check",
                                     "verify",  "why",     "kernels", "operators", "completion",
                                     "upgrade", "doctor",  "registry"};
}

TEST_CASE("--help: every command says what it does, its options, and examples") {
  const Ran all = run({"--help"});
  CHECK(all.exit == 0);
  CHECK(all.err.empty());
  CHECK(all.out.find("Exit codes: 0 ok, 1 usage") != std::string::npos);
  for (const char* command : kCommandNames) {
    CAPTURE(command);
    CHECK(all.out.find(command) != std::string::npos);
    const Ran ran = run({command, "--help"});
    CHECK(ran.exit == 0);
    CHECK(ran.err.empty());
    CHECK(ran.out.find("Examples:\n") != std::string::npos);
    CHECK(ran.out.find(std::string("ingot ") + command) != std::string::npos);
  }
}

TEST_CASE("--help: the spellings that are a contract are all there") {
  struct Contract {
    const char* command;
    std::vector<const char*> words;
  };
  const Contract contracts[] = {
      {"convert",
       {"--output", "--check", "--golden", "--input-shape", "--dim", "--target", "--winograd",
        "--dtype", "--keep-fp32", "--allow-overflow", "--io-layout", "--metadata", "--explain",
        "--dry-run", "--state", "--state-init", "-o"}},
      {"inspect", {"--json", "--ops", "--tensors", "--plan", "--metadata"}},
      {"run",
       {"--inputs", "--outputs", "--device", "--threads", "--dim", "--arena-bytes", "--trust",
        "--map", "--profile", "--dump", "--load-state", "--save-state"}},
      {"bench", {"--device", "--threads", "--dim", "--seconds", "--json"}},
      {"check", {"--golden", "--rtol", "--atol"}},
      {"generate",
       {"--greedy",
        "--temperature",
        "--top-k",
        "--top-p",
        "--min-p",
        "--typical",
        "--top-n-sigma",
        "--repeat-penalty",
        "--repeat-last",
        "--presence-penalty",
        "--frequency-penalty",
        "--dry-multiplier",
        "--dry-base",
        "--dry-allowed-length",
        "--dry-last",
        "--bias",
        "--seed",
        "--stop",
        "--grammar",
        "--json-schema"}},
      {"embed", {"--text", "--file", "--output", "--prompt", "--prefix", "--json", "-o"}},
      {"grammar", {"--json-schema", "--output", "-o"}},
      {"perplexity", {"--text", "--window", "--stride", "--tokens", "--json"}},
      {"chat", {"--system", "--template-option", "--tokens", "--temperature", "--seed", "--stop"}},
  };
  for (const Contract& contract : contracts) {
    const std::string help = run({contract.command, "--help", "all"}).out;
    for (const char* word : contract.words) {
      CAPTURE(contract.command);
      CAPTURE(word);
      CHECK(help.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("convert --help: ten options; all of them by group behind --help all") {
  const std::string few = run({"convert", "--help"}).out;
  size_t options = 0;
  for (size_t at = 0; (at = few.find("\n  -", at)) != std::string::npos; at++) options++;
  CHECK(options == 10);
  CHECK(few.find("ingot convert --help all\n") != std::string::npos);
  CHECK(few.find("--winograd") == std::string::npos);
  const Ran all = run({"convert", "--help", "all"});
  CHECK(all.exit == 0);
  CHECK(all.out.find("\nWeights from a checkpoint (--weights):\n") != std::string::npos);
  CHECK(all.out == run({"help", "convert", "all"}).out);
  CHECK(run({"run", "--help", "all"}).out == run({"run", "--help"}).out);
}

TEST_CASE("--version: names version, commit, build and the sets that INGOT_CPU_ISA takes") {
  const Ran ran = run({"--version"});
  CHECK(ran.exit == 0);
  CHECK(ran.out.rfind("ingot ", 0) == 0);
  CHECK(ran.out.find("\ninstruction sets: scalar") != std::string::npos);
  for (const char* line : {"\ncommit: ", "\nbuilt with: ", "\ndevice code: "}) {
    CAPTURE(line);
    const size_t at = ran.out.find(line);
    REQUIRE(at != std::string::npos);
    CHECK(ran.out[at + std::strlen(line)] != '\n');
  }
}

TEST_CASE("usage errors: one line, exit 1, and a suggestion where one is near") {
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case cases[] = {
      {{"konvert", "x"}, "did you mean 'convert'?"},
      {{"--vresion"}, "did you mean '--version'?"},
      {{"frobnicate"}, "see: ingot --help"},
      {{"convert"}, "SOURCE"},
      {{"run", "m.ingot", "--input", "a", "--outputs", "b"}, "did you mean '--inputs'?"},
      {{"run", "m.ingot", "--inputs", "a"}, "--outputs"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--threads", "many"},
       "--threads: expected auto or a whole number from 0 to"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--threads", "1000"}, "found '1000'"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--trust", "hash"},
       "did you mean 'hashes'?"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--map", "both"},
       "expected share or copy"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--dim", "N"}, "expected NAME=VALUE"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--dim", "N=1..4"},
       "ranges are for convert"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--dim", "N=1", "--dim", "N=2"},
       "given twice"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--arena-bytes", "lots"},
       "expected a number of bytes"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--device", "gpu"}, "a GPU is cuda"},
      {{"run", "m.ingot", "--inputs", "a", "--outputs", "b", "--device", "CUDA"},
       "did you mean 'cuda'?"},
      {{"bench", "m.ingot", "--seconds", "-1"}, "--seconds"},
      {{"bench", "m.ingot", "another"}, "one argument too many"},
      {{"check", "m.ingot", "--golden", "g.npz", "--rtol", "x"}, "--rtol"},
      {{"completion", "tcsh"}, "expected bash, zsh or fish"},
      {{"kernels", "m.ingot", "--isa", "scaler"}, "did you mean 'scalar'?"},
      {{"convert", "linear.onnx", "--winograd", "perhaps"}, "winograd"},
      {{"convert", "linear.onnx", "--io-layout", "x=nwhc"}, "io-layout"},
      {{"convert", "linear.onnx", "--target", "abacus"}, "target"},
  };
  for (const Case& c : cases) {
    std::string line;
    for (const std::string& word : c.arguments) line += word + " ";
    CAPTURE(line);
    const Ran ran = run(c.arguments);
    CAPTURE(ran.err);
    CHECK(ran.exit == 1);
    CHECK(is_one_error_line(ran.err));
    CHECK(ran.err.find(c.says) != std::string::npos);
  }
}

TEST_CASE("no command at all prints the help and is a usage error") {
  const Ran ran = run({});
  CHECK(ran.exit == 1);
  CHECK(ran.out.find("convert") != std::string::npos);
}

TEST_CASE("INGOT_CPU_ISA: an unknown name is a usage error that lists the known ones") {
  const Folder folder;
  const std::string model = converted(folder, "linear");
  const Ran ran = run({"bench", model, "--seconds", "0"}, {{{"INGOT_CPU_ISA", "sse9"}}, nullptr});
  CHECK(ran.exit == 1);
  CHECK(is_one_error_line(ran.err));
  CHECK(ran.err.find("scalar") != std::string::npos);
  CHECK(ran.err.find("oracle") != std::string::npos);
}

TEST_CASE("completion: each shell's script knows every command and option") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const Ran ran = run({"completion", shell});
    CHECK(ran.exit == 0);
    for (const char* command : kCommandNames) CHECK(ran.out.find(command) != std::string::npos);
    for (const char* option : {"arena-bytes", "io-layout", "golden"})
      CHECK(ran.out.find(option) != std::string::npos);
  }
  const Folder folder;
  spill(folder / "bash.sh", run({"completion", "bash"}).out);
  const std::string script =
      "source '" + (folder / "bash.sh") +
      "'; COMP_WORDS=(ingot run --tr); COMP_CWORD=2; _ingot; echo \"${COMPREPLY[*]}\" > '" +
      (folder / "reply") + "'";
  if (system(("bash -c \"" + std::string("true") + "\"").c_str()) == 0) {
    spill(folder / "try.sh", script);
    CHECK(system(("bash '" + (folder / "try.sh") + "'").c_str()) == 0);
    CHECK(slurp(folder / "reply") == "--trust\n");
  }
}

TEST_CASE("a full standard output is exit 7, not silence") {
  // ./dev pipes reports into files; losing half of one must not look like success.
  const Ran ran =
      run({"completion", "bash"}, {{}, [] { (void)!freopen("/dev/full", "w", stdout); }});
  CHECK(ran.exit == 7);
}
