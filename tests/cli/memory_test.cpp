// SPDX-License-Identifier: Apache-2.0
// One network, one definition of its memory: what `ingot why`, `ingot bench` and the example in C
// print adds up, and where two of them differ the option that makes the difference is named.
#include <doctest/doctest.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"

using namespace cli_test;
using Json = nlohmann::json;

namespace {

uint64_t sum_of_parts(const Json& memory) {
  uint64_t sum = 0;
  for (const char* part : {"weights_mapped", "weights_copied", "weights_widened", "activations",
                           "state", "scratch", "tables", "rounding"})
    sum += memory[part].get<uint64_t>();
  return sum;
}

Json report_of(const std::vector<std::string>& words) {
  const Ran ran = run(words);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return Json::parse(ran.out);
}

/// The number behind `word` in a line of the example.
uint64_t number_behind(const std::string& text, const std::string& word) {
  const size_t at = text.find(word + " ");
  REQUIRE(at != std::string::npos);
  return std::stoull(text.substr(at + word.size() + 1));
}

}  // namespace

TEST_CASE("memory: why, bench and minimal.c count the same parts of one network") {
  const Folder folder;
  struct Network {
    std::string source;
    std::vector<std::string> options;
  };
  const std::string digits = std::string(INGOT_MODELS) + "/../../examples/digits/digits.onnx";
  for (const Network& network :
       {Network{data("linear.onnx"), {}}, Network{digits, {"--dim", "n=1"}},
        Network{digits, {"--dim", "n=3", "--dtype", "fp16"}},
        Network{data("stream.onnx"), {"--state", "s=sn"}}}) {
    CAPTURE(network.source);
    const std::string file = folder / "m.ingot";
    std::vector<std::string> convert = {"convert", network.source, "-o", file, "-q"};
    convert.insert(convert.end(), network.options.begin(), network.options.end());
    REQUIRE(run(convert).exit == 0);
    const Json why = report_of({"why", file, "--threads", "1", "--json"})["memory"];
    const Json bench = report_of({"bench", file, "--threads", "1", "--seconds", "0.01", "--json"});
    CHECK(sum_of_parts(why) == why["arena_bytes"]);
    CHECK(sum_of_parts(bench["memory"]) == bench["arena_bytes"]);
    // bench has inputs and outputs of its own, and says what the session takes with them inside.
    CHECK(bench["with_ports_bytes"] == why["arena_bytes"]);
    CHECK(bench["ports_bytes"] > 0);
    for (const char* part : {"weights_mapped", "weights_widened", "state"})
      CHECK(bench["memory"][part] == why[part]);
#ifdef INGOT_MINIMAL_C
    FILE* const pipe = popen((INGOT_MINIMAL_C " '" + file + "'").c_str(), "r");
    REQUIRE(pipe);
    char line[512] = {};
    REQUIRE(fgets(line, sizeof line, pipe));
    while (fgetc(pipe) != EOF) continue;
    REQUIRE(pclose(pipe) == 0);
    CAPTURE(std::string(line));
    const auto part = [&](const char* word) { return number_behind(line, word); };
    const uint64_t arena = part("arena:");
    CHECK(arena == why["caller_arena_bytes"]);
    CHECK(arena == part("bytes: weights") + part("converted") + part("activations") +
                       part("state") + part("scratch") + part("tables") + part("rounding"));
    for (const char* same : {"activations", "state", "scratch"}) CHECK(part(same) == why[same]);
    CHECK(part("converted") == why["weights_widened"]);
#else
    std::printf("[skip] memory of minimal.c: this tree builds no examples\n");
#endif
  }
}
