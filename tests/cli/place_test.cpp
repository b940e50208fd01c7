// SPDX-License-Identifier: Apache-2.0
// --place and ingot place: weights by name to devices, where they were trained among them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using Json = nlohmann::json;

namespace {

/// linear.onnx with weights that were saved by a parallel wrapper, elsewhere.
std::string convert_trained(const Folder& folder, const std::string& name) {
  const std::string model = folder / (name + ".ingot");
  const Ran ran =
      run({"convert", data("linear.onnx"), "--weights", data(name + ".pth"), "-o", model});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return model;
}

std::vector<uint8_t> answer(const Folder& folder, const std::string& model,
                            std::vector<std::string> more) {
  std::vector<std::string> words = {
      "run", model, "--inputs", data("linear.npz"), "--outputs", folder / "out.npz"};
  words.insert(words.end(), more.begin(), more.end());
  const Ran ran = run(words);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return ingot::host::read_npz(folder / "out.npz").at(0).bytes;
}

}  // namespace

TEST_CASE(
    "place: the report says where each weight was trained, where it lies and why, and what auto "
    "passed over") {
  const Folder folder;
  const std::string model = convert_trained(folder, "trained_cuda");
  const Json auto_report = Json::parse(run({"place", model, "--json"}).out);
  CHECK(auto_report["default"] == "cpu");
  CHECK(auto_report["devices"].size() == 1);
  REQUIRE(auto_report["weights"].size() == 2);
  for (const Json& weight : auto_report["weights"]) {
    CHECK(weight["trained_on"] == "cuda:1");  // a fact about it, and no more
    CHECK(weight["lies_on"] == Json::array({"cpu"}));
    CHECK(weight["by_rule"] == false);
  }
  const Ran shown = run({"place", model});
  CHECK(has(shown.out,
            "auto: cpu (cuda: device: the library that INGOT_CUDA_DRIVER names cannot be loaded"));
  const Json split = Json::parse(run({"place", model, "--device", "fake:0", "--place", "*=cpu",
                                      "--place", "*module.w=fake:1", "--json"})
                                     .out);
  for (const Json& weight : split["weights"]) {
    // One product reads both: the larger has its way, and the other follows.
    CHECK(weight["lies_on"] == Json::array({"fake:1"}));
    CHECK(weight["asked"] == (weight["name"] == "state_dict.module.w" ? "fake:1" : "cpu"));
    CHECK((weight["reason"] == "asked for") == (weight["name"] == "state_dict.module.w"));
  }
  const Ran text = run({"place", model, "--place", "*=fake:1"});
  CHECK(has(text.out, "state_dict.module.b"));
  CHECK(has(text.out, "asked for"));
}

TEST_CASE(
    "place: what a GPU leaves to the CPU is listed one by one, in the words with which --strict "
    "refuses the first") {
  const Folder folder;
  RunOptions gpu;
  gpu.environment = {{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}};
  for (const char* name : {"slice_from_data", "sizes_inside_loop"}) {
    CAPTURE(name);
    const std::string model = folder / (std::string(name) + ".ingot");
    REQUIRE(run({"convert", std::string(INGOT_MODELS) + "/control/" + name + ".onnx", "-o", model})
                .exit == 0);
    const Json report = Json::parse(run({"place", model, "--device", "cuda", "--json"}, gpu).out);
    const Json& left = report["left_to_cpu"];
    REQUIRE(!left.empty());
    CHECK(report["devices"][0]["name"] == "cpu");
    CHECK(report["devices"][0]["instructions"] == left.size());
    for (const Json& instruction : left) {
      CHECK(instruction["operator"] != "");
      CHECK(instruction["why"] != "");
      CHECK(instruction["why"] != "the session's device");
    }
    const Ran shown = run({"place", model, "--device", "cuda"}, gpu);
    CHECK(has(shown.out, "left to the CPU:\n"));
    CHECK(has(shown.out, left[0]["why"]));
    const Ran strict = run({"place", model, "--device", "cuda", "--strict"}, gpu);
    CAPTURE(strict.err);
    CHECK(strict.exit == 4);
    CHECK(is_one_error_line(strict.err));
    // The first with a reason of its own: a Loop goes to the CPU with what is in it.
    size_t first = 0;
    while (first + 1 < left.size() && has(left[first]["why"], "in an If or a Loop")) first++;
    CHECK(has(strict.err, "instruction " + left[first]["instruction"].dump() + ": "));
    CHECK(has(strict.err, "strict: " + left[first]["why"].get<std::string>()));
    CHECK(Json::parse(run({"place", model, "--device", "cpu", "--json"}, gpu).out)["left_to_cpu"]
              .empty());
  }
}

TEST_CASE(
    "place: a run gives the same bytes wherever weights lie, where they were trained among it") {
  const Folder folder;
  const std::string model = convert_trained(folder, "trained_fakes");
  const auto expected = answer(folder, model, {});
  CHECK(answer(folder, model, {"--place", "*=fake:0"}) == expected);
  CHECK(answer(folder, model, {"--device", "fake:0", "--place", "s*.*.b*=fake:1"}) == expected);
  CHECK(answer(folder, model, {"--place", "*=trained"}) == expected);
  const Json report = Json::parse(run({"place", model, "--place", "*=trained", "--json"}).out);
  for (const Json& weight : report["weights"]) CHECK(weight["asked"] == weight["trained_on"]);
  CHECK(run({"bench", model, "--seconds", "0", "--place", "*=fake:1"}).exit == 0);
  CHECK(run({"bench", model, "--seconds", "0", "--device", "fake:1"}).exit == 0);
}

TEST_CASE("place: devices, patterns and words that are not there are refused with what there is") {
  const Folder folder;
  const std::string model = convert_trained(folder, "trained_cuda");
  const struct {
    std::vector<std::string> words;
    int exit;
    std::string says;
  } rows[] = {
      {{"--place", "*=trained"},
       7,
       "'state_dict.module.w=cuda:1': device: the library that INGOT_CUDA_DRIVER names cannot be "
       "loaded: /nowhere/libcuda.so: cannot open shared object file: No such file or directory; "
       "install the GPU's driver, or use cpu"},
      {{"--place", "*.w=cuda:0"}, 7, "state_dict.module.w=cuda:0"},
      {{"--place", "*=fake:7"}, 7, "there are two fakes, 0 and 1; use auto, cpu, cuda or cuda:1"},
      {{"--place", "*=null"}, 7, "null computes nothing"},
      {{"--device", "cuda"}, 7, "or use cpu"},
      {{"--device", "cuda:1", "--place", "*=cpu"}, 7, "or use cpu"},
      {{"--device", "fake:2"}, 7, "there are two fakes"},
      {{"--place", "state_dict.module.v=cpu"}, 5, "did you mean 'state_dict.module.w'?"},
      {{"--place", "nothing*=cpu"}, 5, "ingot place FILE lists them"},
      {{"--place", "s*module*v=cpu"}, 5, "has no such weight"},
      {{"--place", "w"}, 1, "expected PATTERN=DEVICE"},
      {{"--device", "gpu"}, 1, "--device"},
  };
  for (const auto& row : rows) {
    for (const char* command : {"place", "bench"}) {
      std::vector<std::string> words = {command, model};
      words.insert(words.end(), row.words.begin(), row.words.end());
      const Ran ran = run(words);
      CAPTURE(ran.err);
      CHECK(ran.exit == row.exit);
      CHECK(has(ran.err, row.says));
      CHECK(is_one_error_line(ran.err));
    }
  }
}
