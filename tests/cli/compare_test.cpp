// SPDX-License-Identifier: Apache-2.0
// ingot compare: its words, its exit codes, its page.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/onnx_writer.h"
#include "tools/files/npz/npy.h"

using namespace cli_test;
using Json = nlohmann::json;

TEST_CASE("compare: a file that does what its source does diverges nowhere") {
  const Folder folder;
  const std::string file = converted(folder, "linear");
  Ran ran = run({"compare", data("linear.onnx"), file, "--golden", data("linear.npz")});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.rfind("no divergence\n", 0) == 0);
  ran = run({"compare", data("linear.onnx"), file, "--json"});  // random inputs
  REQUIRE(ran.exit == 0);
  const Json report = Json::parse(ran.out);
  CHECK(report["diverges"] == false);
  CHECK(report["is_fresh_conversion"] == true);
  CHECK(report["instructions_compared"] == report["instructions"].size());
  CHECK(report["outputs_against"] == "source");
  CHECK(ran.err.find("no golden") == std::string::npos);  // notes are in the report
}

TEST_CASE(
    "compare: a golden that differs from what the source computes names the output's node and "
    "exits with 6") {
  const Folder folder;
  const Ran ran = run({"compare", data("linear.onnx"), "--golden", data("linear_wrong.npz")});
  CHECK(ran.exit == 6);
  CHECK(ran.out.find("wrong import, at Relu 'act'") != std::string::npos);
  CHECK(is_one_error_line(ran.err));
}

TEST_CASE("compare: streams are followed step by step") {
  const Ran ran = run({"compare", data("stream.onnx"), "--golden", data("stream.npz")});
  INFO(ran.err);
  CHECK(ran.exit == 0);
  CHECK(ran.out.find("all 5 steps") != std::string::npos);
}

TEST_CASE("compare: dynamic dimensions take their extents from the golden or from --dim") {
  const Folder folder;
  const std::string file = converted(folder, "batch");
  CHECK(run({"compare", data("batch.onnx"), file, "--golden", data("batch.npz")}).exit == 0);
  CHECK(run({"compare", data("batch.onnx"), file, "--dim", "N=3"}).exit == 0);
}

TEST_CASE("compare: a file of another source, and words that are none, are refused") {
  const Folder folder;
  const std::string file = converted(folder, "linear");
  Ran ran = run({"compare", data("stream.onnx"), file});
  CHECK(ran.exit == 5);
  CHECK(is_one_error_line(ran.err));
  ran = run({"compare", file, file});
  CHECK(ran.exit == 1);
  ran = run({"compare", data("linear.onnx"), file, "--rtol", "much"});
  CHECK(ran.exit == 1);
}

TEST_CASE("compare: the page is one file that asks nobody for anything") {
  const Folder folder;
  const std::string file = converted(folder, "linear"), page = folder / "page.html";
  REQUIRE(run({"compare", data("linear.onnx"), file, "--html", page}).exit == 0);
  const std::string text = slurp(page);
  CHECK(text.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK(text.find("dense") != std::string::npos);
  CHECK(text.find("src=") == std::string::npos);
  CHECK(text.find("href=") == std::string::npos);
  CHECK(text.find("@import") == std::string::npos);
  CHECK(text.find("fetch(") == std::string::npos);
  CHECK(
      run({"compare", data("linear.onnx"), file, "--html", folder / "no/such/folder.html"}).exit ==
      7);
}

TEST_CASE(
    "compare: a stream whose state the file keeps is followed from the golden's first state to its "
    "last") {
  const Folder folder;
  const std::string file = folder / "kept.ingot";
  REQUIRE(run({"convert", data("stream.onnx"), "-o", file, "--state", "s=sn"}).exit == 0);
  const std::vector<std::string> compare = {"compare", data("stream.onnx"), file, "--state", "s=sn",
                                            "--json"};
  const auto against = [&](const std::string& path) {
    std::vector<std::string> words = compare;
    words.insert(words.end(), {"--golden", path});
    return run(words);
  };
  Ran ran = against(data("stream.npz"));
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  Json report = Json::parse(ran.out);
  CHECK(report["is_fresh_conversion"] == true);
  CHECK(report["steps"] == 5);
  CHECK(report["step"] == 0);  // none is wrong: the first one was looked into
  CHECK(report["outputs"].size() == 1);
  CHECK(report["instructions_compared"] == report["instructions"].size());
  struct Wrong {
    const char *golden, *value;
    int step;
  };
  for (const Wrong& wrong :
       {Wrong{"stream_wrong.npz", "y", 3}, Wrong{"stream_wrong_state.npz", "sn", 4}}) {
    CAPTURE(wrong.golden);
    ran = against(data(wrong.golden));
    CHECK(ran.exit == 6);
    report = Json::parse(ran.out);
    CHECK(report["stage"] == "import");
    CHECK(report["step"] == wrong.step);
    CHECK(report["value"] == wrong.value);
  }
}

TEST_CASE("compare: equal means that something on every output's path was compared") {
  const Folder folder;
  const std::string file = converted(folder, "linear");
  // the same input, no value in common
  Ran ran = run({"compare", data("stranger.onnx"), file, "--json"});
  CAPTURE(ran.err);
  CHECK(ran.exit == 6);
  CHECK(is_one_error_line(ran.err));
  CHECK(ran.out.find("no divergence") == std::string::npos);
  for (const char* part : {"'y'", "'z'", "0 of", "instructions were", "options of its conversion"})
    CHECK(ran.err.find(part) != std::string::npos);
  // One output has its twin, the other is in the source alone, or in the file alone.
  ran = run({"compare", data("half_stranger.onnx"), file});
  CHECK(ran.exit == 6);
  CHECK(ran.err.find("output 'z' ") != std::string::npos);
  const std::string half = converted(folder, "half_stranger");
  ran = run({"compare", data("linear.onnx"), half, "--json"});
  CHECK(ran.exit == 6);
  const Json report = Json::parse(ran.out);
  CHECK(report["uncompared_outputs"] == Json({"z"}));
  CHECK(report["equal"] == false);
  CHECK(report["diverges"] == false);
  CHECK(run({"compare", data("half_stranger.onnx"), half}).exit == 0);
}

TEST_CASE(
    "nothing equals nothing: check, verify, diff and convert --check compare something or fail") {
  const Folder folder;
  const std::string file = converted(folder, "nothing");
  Ran ran = run({"check", file, "--golden", data("nothing.npz")});
  CAPTURE(ran.err);
  CHECK(ran.exit == 6);
  CHECK(ran.err.find("nothing was compared") != std::string::npos);
  for (const char* option : {"--check", "--golden"}) {
    std::vector<std::string> words = {"convert", data("nothing.onnx"), "-o", folder / "no.ingot",
                                      option};
    if (std::string(option) == "--golden") words.push_back(data("nothing.npz"));
    ran = run(words);
    CAPTURE(ran.err);
    CHECK(ran.exit == 6);
    CHECK(ran.err.find("nothing was compared") != std::string::npos);
  }
  const std::string empty(8, '\0');
  std::string none = empty + "{}      ";
  none[0] = 8;
  spill(folder / "a.safetensors", none);
  spill(folder / "b.safetensors", none);
  ran = run({"diff", folder / "a.safetensors", folder / "b.safetensors"});
  CAPTURE(ran.err);
  CHECK(ran.exit == 6);
  // The naive kernels against themselves.
  RunOptions naive;
  naive.environment = {{"INGOT_CPU_ISA", "oracle"}};
  CHECK(run({"convert", data("linear.onnx"), "-o", folder / "no.ingot", "--check"}, naive).exit ==
        1);
}

namespace {

/// One product of 64 x 32, with weights of that sign.
std::string product(const Folder& folder, const std::string& name, float sign) {
  std::vector<float> weights;
  for (int i = 0; i < 64 * 32; i++) weights.push_back(sign * float((i * 37) % 29 - 14) / 29);
  ingot::test::OnnxGraph g;
  g.input("x", {4, 64}).initializer("w", {64, 32}, weights);
  spill(folder / name, g.node("MatMul", {"x", "w"}, {"y"}).output("y").bytes());
  return folder / name;
}

}  // namespace

TEST_CASE("compare: what a quantized file was asked to lose is no divergence, anything else is") {
  const Folder folder;
  const std::string file = folder / "m.ingot", source = product(folder, "net.onnx", 1),
                    other = product(folder, "other.onnx", -1);
  struct Asked {
    std::vector<std::string> options;
    std::string says;
  };
  const std::string samples = folder / "samples.npy";
  ingot::host::Array array;
  array.dtype = ingot::DType::kF32;
  array.dims = {8, 4, 64};
  std::string bytes = ingot::host::npy_header(array);
  for (int i = 0; i < 8 * 4 * 64; i++) {
    const float x = float((i * 53) % 101 - 50) / 50;
    bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  spill(samples, bytes);
  for (const Asked& asked :
       {Asked{{"--dtype", "int8"}, "as int8, inputs quantized in each run"},
        Asked{{"--dtype", "int8", "--calibrate", samples}, "as int8, calibrated on 8 samples"},
        Asked{{"--dtype", "w8"}, "weights of linear layers as w8"},
        Asked{{"--dtype", "w4:32"}, "weights of linear layers as w4:32"}}) {
    CAPTURE(asked.says);
    std::vector<std::string> convert = {"convert", source, "-o", file, "-q"};
    convert.insert(convert.end(), asked.options.begin(), asked.options.end());
    REQUIRE(run(convert).exit == 0);
    Ran ran = run({"compare", source, file, "--json"});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    const Json report = Json::parse(ran.out);
    CHECK(report["equal"] == true);
    CHECK(has(report["quantization"], asked.says));
    CHECK(report["outputs"][0]["largest_error"] > 0);
    ran = run({"compare", source, file});
    CHECK(ran.exit == 0);
    CHECK(has(ran.out, "no divergence\n"));
    CHECK(has(ran.err, "quantized: "));
    CHECK(!has(ran.err, "repeat the options"));
    // The user's tolerance is kept, and so is the source.
    CHECK(run({"compare", source, file, "--rtol", "1e-6"}).exit == 6);
    ran = run({"compare", other, file});
    CHECK(ran.exit == 6);
    CHECK(has(ran.err, "wrong conversion"));
  }
}
