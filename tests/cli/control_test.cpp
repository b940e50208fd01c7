// SPDX-License-Identifier: Apache-2.0
// Loops, slices, ranges and branches that data or dimensions decide, converted and run as a user
// would; goldens are onnxruntime's (tests/models/make_control.py).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using ingot::host::Array;

namespace {

std::string model(const std::string& name) {
  return std::string(INGOT_MODELS) + "/control/" + name;
}

std::string convert(const Folder& folder, const std::string& name) {
  const std::string file = folder / (name + ".ingot");
  const Ran ran = run({"convert", model(name + ".onnx"), "-o", file});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return file;
}

}  // namespace

TEST_CASE("control: what data decides equals onnxruntime, file by file") {
  const Folder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"trips_from_data", "trips_from_data"},
      {"trips_from_data", "trips_from_data_none"},
      {"sizes_inside_loop", "sizes_inside_loop"},
      {"slice_from_data", "slice_from_data"},
      {"slice_from", "slice_from"},
      {"slice_from", "slice_from_end"},
      {"range_from", "range_from"},
      {"range_from_symbolic", "range_from_symbolic"},
      {"branches", "branches_narrow"},
      {"branches", "branches_wide"}};
  for (const auto& pair : cases) {
    const char* golden = pair.second;
    CAPTURE(golden);
    const Ran ran = run(
        {"check", convert(folder, pair.first), "--golden", model(std::string(golden) + ".npz")});
    INFO(ran.out);
    INFO(ran.err);
    CHECK(ran.exit == 0);
  }
}

TEST_CASE(
    "control: one file serves the extents of both branches, and refuses a branch beyond its own") {
  const Folder folder;
  const std::string file = convert(folder, "branches");
  const auto answer = [&](int64_t extent, bool narrow) {
    Array x, c;
    x.name = "x", x.dtype = ingot::DType::kF32, x.dims = {1, extent};
    x.bytes.assign(size_t(4 * extent), 0);
    for (int64_t i = 0; i < extent; i++) x.as<float>()[i] = float(i);
    c.name = "c", c.dtype = ingot::DType::kBool, c.bytes = {uint8_t(narrow)};
    ingot::host::write_npz(folder / "in.npz", {x, c});
    return run({"run", file, "--inputs", folder / "in.npz", "--outputs", folder / "out.npz"});
  };
  const auto result = [&] {
    const std::vector<Array> all = ingot::host::read_npz(folder / "out.npz");
    REQUIRE(ingot::host::find_array(all, "y"));
    return ingot::host::find_array(all, "y")->as<float>()[0];
  };
  for (const int64_t extent : {8, 12, 15}) {
    CAPTURE(extent);
    REQUIRE(answer(extent, true).exit == 0);
    CHECK(result() == float(extent - 1) / 2);
  }
  for (const int64_t extent : {8, 15, 16, 39}) {
    CAPTURE(extent);
    REQUIRE(answer(extent, false).exit == 0);
    CHECK(result() == float(extent - 1));
  }
  const Ran beyond = answer(16, true);
  CHECK(beyond.exit != 0);
  CHECK(is_one_error_line(beyond.err));
  CHECK(beyond.err.find("not converted for this branch") != std::string::npos);
  for (const int64_t extent : {7, 40}) CHECK(answer(extent, false).exit == 5);
}

TEST_CASE(
    "control: place says what branches and loops on a GPU add to a run, and verbs give the CPU's "
    "numbers there") {
  const Folder folder;
  const std::string file = folder / "looping.ingot",
                    source = std::string(INGOT_MODELS) + "/looping/looping";
  REQUIRE(run({"convert", source + ".onnx", "-o", file}).exit == 0);
  RunOptions options;
  options.environment = {{"INGOT_CUDA_DRIVER", INGOT_FAKE_CUDA}};
  const auto place = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"place", file, "--device", "cuda", "--dim", "T=9", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run(words, options);
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    return nlohmann::json::parse(ran.out);
  };
  const auto decided = place({});  // by the GPU, inside one launch
  CHECK(decided["devices"][0]["launches"] == 1);
  CHECK(decided["devices"][0]["waits"] == 1);
  REQUIRE(decided["branches"].size() == 5);
  for (const auto& branch : decided["branches"]) {
    CHECK(branch["on_device"] == true);
    CHECK(branch["why"] == "");
    CHECK(branch["launches"] == 0);
    CHECK(branch["waits"] == 0);
  }
  const auto report = place({"--host-branches"});
  REQUIRE(report["devices"].size() == 1);
  CHECK(report["devices"][0]["name"] == "cuda:0");
  // before the first loop, between the two, behind the second
  CHECK(report["devices"][0]["launches"] == 3);
  // the iterations of both are counted before they begin
  CHECK(report["devices"][0]["waits"] == 1);
  // Each time step, each step of the loop behind it, its If on both sides, and the loop in one of
  // them that ends by what it computes.
  REQUIRE(report["branches"].size() == 5);
  int loops = 0, waiting = 0;
  for (const auto& branch : report["branches"]) {
    CHECK(branch["device"] == "cuda:0");
    CHECK(branch["launches"] >= 1);
    CHECK(branch["on_device"] == false);
    CHECK(branch["why"] == "it was asked for: INGOT_HOST_BRANCHES");
    loops += branch["kind"] == "each iteration";
    waiting += branch["waits"] > 0;
  }
  CHECK(loops == 3);
  CHECK(waiting >= 2);
  const Ran shown = run({"place", file, "--device", "cuda", "--dim", "T=9"}, options);
  CHECK(shown.out.find("each iteration") != std::string::npos);
  CHECK(shown.out.find("on the device") != std::string::npos);
  for (const char* way : {"--strict", "--host-branches"})
    CHECK(
        run({"check", file, "--golden", source + ".npz", "--device", "cuda", way}, options).exit ==
        0);
}
