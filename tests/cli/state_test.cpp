// SPDX-License-Identifier: Apache-2.0
// State on the command line: --state, saved and loaded state, streams; and ingot upgrade.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/sha256.h"
#include "runtime/format/file_layout.h"
#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using Json = nlohmann::json;
using ingot::host::Array;
using ingot::host::read_npz;

namespace {

std::string convert_with_state(const Folder& folder) {
  const std::string model = folder / "kept.ingot";
  const Ran ran = run({"convert", data("stream.onnx"), "--state", "s=sn", "-o", model});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return model;
}

const Array& array_of(const std::vector<Array>& arrays, const std::string& name) {
  for (const Array& array : arrays)
    if (array.name == name) return array;
  FAIL("no array " << name);
  return arrays[0];
}

}  // namespace

TEST_CASE(
    "--state: the pair leaves the ports; check and run follow the stream either way, with the same "
    "bits") {
  const Folder folder;
  const std::string kept = convert_with_state(folder), plain = converted(folder, "stream");
  const Json seen = Json::parse(run({"inspect", kept, "--json"}).out);
  REQUIRE(seen["state_variables"].size() == 1);
  CHECK(seen["states"] == 1);
  CHECK(seen["state_variables"][0]["name"] == "s");
  CHECK(seen["state_variables"][0]["output"] == "sn");
  CHECK(seen["inputs"].size() + 1 ==
        Json::parse(run({"inspect", plain, "--json"}).out)["inputs"].size());
  CHECK(has(run({"inspect", kept}).out, "was fed back from sn; starts at zero"));
  std::vector<std::vector<uint8_t>> answers;
  for (const std::string& model : {kept, plain}) {
    const Ran checked = run({"check", model, "--golden", data("stream.npz"), "--json"});
    INFO(checked.err);
    CHECK(checked.exit == 0);
    CHECK(Json::parse(checked.out)["outputs"].size() == 2);
    const Ran ran =
        run({"run", model, "--inputs", data("stream.npz"), "--outputs", folder / "out.npz"});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    answers.push_back(array_of(read_npz(folder / "out.npz"), "y").bytes);
  }
  CHECK(answers[0] == answers[1]);
}

TEST_CASE("--state: what does not fit is one line and exit code 5, and nothing is written") {
  const Folder folder;
  const std::vector<std::vector<std::string>> wrong = {{"--state", "state=sn"},
                                                       {"--state", "s=other"},
                                                       {"--state", "s=sn", "--state", "s=y"},
                                                       {"--state", "s=sn", "--state-init", "x=1"}};
  for (const std::vector<std::string>& options : wrong) {
    std::vector<std::string> line = {"convert", data("stream.onnx"), "-o", folder / "a.ingot"};
    line.insert(line.end(), options.begin(), options.end());
    const Ran ran = run(line);
    CAPTURE(ran.err);
    CHECK(ran.exit == 5);
    CHECK(is_one_error_line(ran.err));
  }
  CHECK(has(run({"convert", data("stream.onnx"), "--state", "state=sn"}).err,
            "has no input 'state'"));
  CHECK(run({"convert", data("stream.onnx"), "--state", "s", "-o", folder / "a.ingot"}).exit == 1);
  CHECK(folder.names().empty());
}

TEST_CASE(
    "run: state saved on one instruction set and loaded on another goes on with the same bits") {
  const Folder folder;
  const std::string model = convert_with_state(folder);
  const std::string version = run({"--version"}).out;
  std::vector<std::string> isas;
  for (const char* isa : {"scalar", "avx2", "avx512", "neon"})
    if (has(version, std::string(" ") + isa)) isas.emplace_back(isa);
  std::vector<std::vector<uint8_t>> answers, states;
  for (const std::string& first : isas) {
    for (const std::string& second : isas) {
      const std::string state = folder / "s.state", out = folder / "out.npz";
      const Ran a = run(
          {"run", model, "--inputs", data("stream.npz"), "--outputs", out, "--save-state", state},
          {{{"INGOT_CPU_ISA", first}}, nullptr});
      INFO(a.err);
      REQUIRE(a.exit == 0);
      states.push_back({});
      const std::string saved = slurp(state);
      states.back().assign(saved.begin(), saved.end());
      const Ran b = run(
          {"run", model, "--inputs", data("stream.npz"), "--outputs", out, "--load-state", state},
          {{{"INGOT_CPU_ISA", second}}, nullptr});
      INFO(b.err);
      REQUIRE(b.exit == 0);
      answers.push_back(array_of(read_npz(out), "y").bytes);
    }
  }
  for (const auto& answer : answers) CHECK(answer == answers[0]);
  for (const auto& state : states) CHECK(state == states[0]);
  const Json seen = Json::parse(run({"inspect", folder / "s.state", "--json"}).out);
  CHECK(seen["kind"] == "state");
  CHECK(seen["state_variables"][0]["name"] == "s");
  CHECK(has(run({"inspect", folder / "s.state"}).out, "saved state"));
}

TEST_CASE("run: a state that does not belong, or is damaged, is one line; nothing is written") {
  const Folder folder;
  const std::string model = convert_with_state(folder), state = folder / "s.state";
  REQUIRE(run({"run", model, "--inputs", data("stream.npz"), "--outputs", folder / "o.npz",
               "--save-state", state})
              .exit == 0);
  const std::string good = slurp(state);
  const std::string other = folder / "other.ingot";
  REQUIRE(
      run({"convert", data("stream.onnx"), "--state", "s=sn", "--state-init", "s=1", "-o", other})
          .exit == 0);
  std::filesystem::remove(folder / "o.npz");
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  spill(folder / "flipped", flipped);
  spill(folder / "short", good.substr(0, 100));
  struct Case {
    std::string model, state;
    int exit;
  } cases[] = {{other, state, 5}, {model, folder / "flipped", 2}, {model, folder / "short", 2},
               {model, model, 2}, {model, data("stream.npz"), 2}, {model, folder / "nowhere", 7}};
  for (const Case& c : cases) {
    const Ran ran = run({"run", c.model, "--inputs", data("stream.npz"), "--outputs",
                         folder / "o.npz", "--load-state", c.state});
    CAPTURE(ran.err);
    CHECK(ran.exit == c.exit);
    CHECK(is_one_error_line(ran.err));
  }
  CHECK(!std::filesystem::exists(folder / "o.npz"));
  CHECK(run({"inspect", folder / "flipped"}).exit == 2);
  const Ran unwritable = run({"run", model, "--inputs", data("stream.npz"), "--outputs",
                              folder / "o.npz", "--save-state", folder / "no/such/folder"});
  CHECK(unwritable.exit == 7);
}

TEST_CASE("upgrade: a file of this version keeps its bytes") {
  const Folder folder;
  const std::string model = converted(folder, "stream"), before = slurp(model);
  const Ran in_place = run({"upgrade", model});
  INFO(in_place.err);
  CHECK(in_place.exit == 0);
  CHECK(has(in_place.out, "nothing to change"));
  CHECK(slurp(model) == before);
  CHECK(run({"upgrade", model, "-o", folder / "copy.ingot"}).exit == 0);
  CHECK(slurp(folder / "copy.ingot") == before);
}

TEST_CASE(
    "upgrade: files of every released version are written as this version writes them, and stay "
    "so") {
  const Folder folder;
  size_t changed = 0, files = 0;
  const std::string released = std::string(INGOT_CLI_DATA) + "/../../golden/accept/v1";
  for (const auto& entry : std::filesystem::directory_iterator(released)) {
    const std::string path = entry.path().string(), name = entry.path().filename().string();
    CAPTURE(name);
    files++;
    const Ran ran = run({"upgrade", path, "-o", folder / name});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    const std::string first = slurp(folder / name);
    changed += first != slurp(path);
    CHECK(run({"verify", folder / name, "--json"}).exit == run({"verify", path, "--json"}).exit);
    const Ran again = run({"upgrade", folder / name});
    CHECK(again.exit == 0);
    CHECK(has(again.out, "nothing to change"));
    CHECK(slurp(folder / name) == first);
    if (files >= 12) break;
  }
  CHECK(files >= 10);
  MESSAGE(changed << " of " << files << " were changed");
}

TEST_CASE("upgrade: a file without metadata gets it; a newer or damaged one is refused") {
  const Folder folder;
  const std::string model = converted(folder, "stream");
  const std::string whole = slurp(model);
  const auto number = [&](size_t at) {
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--) value = value << 8 | uint8_t(whole[at + size_t(i)]);
    return value;
  };
  REQUIRE(whole[28] == 2);  // the program, the metadata, and nothing behind
  const size_t program = size_t(number(64 + 8)), bytes = size_t(number(64 + 16));
  // one part, right behind the shorter table
  std::string bare = whole.substr(0, 128) + whole.substr(program, bytes);
  bare[28] = 1, bare[12] = char(128), bare[64 + 8] = char(128);
  for (int i = 0; i < 8; i++) bare[16 + size_t(i)] = char(uint64_t(bare.size()) >> 8 * i);
  const auto seal = [](std::string* file) {
    const size_t header = uint8_t((*file)[12]) | size_t(uint8_t((*file)[13])) << 8;
    std::fill(file->begin() + 32, file->begin() + 64, '\0');
    uint8_t digest[32];
    ingot::sha256(file->data(), header, digest);
    std::copy(digest, digest + 32, file->begin() + 32);
  };
  seal(&bare);
  spill(folder / "bare.ingot", bare);
  CHECK(Json::parse(run({"inspect", folder / "bare.ingot", "--json"}).out)["metadata"].is_null());
  const Ran ran = run({"upgrade", folder / "bare.ingot", "-o", folder / "up.ingot"});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  CHECK(has(ran.out, "metadata added"));
  CHECK(has(std::string(Json::parse(
                run({"inspect", folder / "up.ingot", "--json"}).out)["metadata"]["producer"]),
            "upgraded"));
  for (const char* name : {"bare.ingot", "up.ingot"})
    CHECK(run({"check", folder / name, "--golden", data("stream.npz")}).exit == 0);
  CHECK(run({"verify", folder / "up.ingot"}).exit == 0);
  std::string newer = whole;
  newer[10] = char(ingot::kFormatMinor + 1);
  seal(&newer);
  spill(folder / "newer.ingot", newer);
  const Ran refused = run({"upgrade", folder / "newer.ingot"});
  CHECK(refused.exit == 4);
  CHECK(is_one_error_line(refused.err));
  CHECK(slurp(folder / "newer.ingot") == newer);
  std::string broken = whole;
  broken[whole.size() - 1] ^= 1;
  spill(folder / "broken.ingot", broken);
  CHECK(run({"upgrade", folder / "broken.ingot", "-o", folder / "never.ingot"}).exit == 2);
  CHECK(!std::filesystem::exists(folder / "never.ingot"));
}
