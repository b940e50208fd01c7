// SPDX-License-Identifier: Apache-2.0
// What the integers of ports stand for, in what the commands print and write.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "ingot/cpu.h"
#include "runtime/include/ingot/ingot.hpp"
#include "tests/cli/command_line.h"
#include "tests/support/onnx_writer.h"

using namespace cli_test;
using Json = nlohmann::json;
using ingot::test::OnnxGraph;

namespace {

constexpr int kI8 = 3;  // of ONNX

/// y = quantize(relu(dequantize(x))), from i8 to u8.
std::string network(const Folder& folder) {
  OnnxGraph g;
  g.input("x", {1, 4}, kI8)
      .initializer("xs", {}, std::vector<float>{0.1f})
      .initializer("xz", {}, std::vector<int8_t>{-3})
      .initializer("ys", {}, std::vector<float>{0.0235294122f})
      .initializer("yz", {}, std::vector<uint8_t>{7})
      .node("DequantizeLinear", {"x", "xs", "xz"}, {"real"})
      .node("Relu", {"real"}, {"positive"})
      .node("QuantizeLinear", {"positive", "ys", "yz"}, {"y"});
  spill(folder / "net.onnx", g.output("y").bytes());
  return folder / "net.onnx";
}

}  // namespace

TEST_CASE("scale and zero point of ports: inspect, its JSON, the C interface, firmware") {
  const Folder folder;
  const std::string source = network(folder), file = folder / "net.ingot",
                    project = folder / "project";
  REQUIRE(run({"convert", source, "-o", file, "-q"}).exit == 0);
  for (const std::string& path : {source, file}) {
    CAPTURE(path);
    Ran ran = run({"inspect", path});
    INFO(ran.err);
    REQUIRE(ran.exit == 0);
    CHECK(has(ran.out, "scale 0.100000001, zero point -3"));
    CHECK(has(ran.out, "scale 0.0235294122, zero point 7"));
    ran = run({"inspect", path, "--json"});
    const Json report = Json::parse(ran.out);
    CHECK(report["inputs"][0]["scale"].get<float>() == 0.1f);
    CHECK(report["inputs"][0]["zero_point"] == -3);
    CHECK(report["outputs"][0]["scale"].get<float>() == 0.0235294122f);
    CHECK(report["outputs"][0]["zero_point"] == 7);
  }
  {
    auto model = ingot::Model::open(file.c_str(), ingot_cpu_kernels("scalar"));
    REQUIRE(model.ok());
    const auto x = model->quantization("x"), y = model->quantization("y");
    REQUIRE(x.ok());
    REQUIRE(y.ok());
    CHECK(x->scale == double(0.1f));  // to the bit
    CHECK(x->zero_point == -3);
    CHECK(y->scale == double(0.0235294122f));
    CHECK(y->zero_point == 7);
    CHECK(model->quantization("z").error().code == INGOT_INVALID_ARGUMENT);
  }
  REQUIRE(run({"firmware", file, "-o", project}).exit == 0);
  const std::string header = slurp(project + "/models.h");
  for (const char* line :
       {"#define NET_INPUT_0_SCALE 0.100000001f\n", "#define NET_INPUT_0_ZERO_POINT (-3)\n",
        "#define NET_OUTPUT_0_SCALE 0.0235294122f\n", "#define NET_OUTPUT_0_ZERO_POINT 7\n"})
    CHECK_MESSAGE(has(header, line), line);
}

TEST_CASE("scale and zero point of ports: none where there are none, and refused where they lie") {
  const Folder folder;
  const std::string file = converted(folder, "linear");
  const Json report = Json::parse(run({"inspect", file, "--json"}).out);
  CHECK(!report["inputs"][0].contains("scale"));
  auto model = ingot::Model::open(file.c_str(), ingot_cpu_kernels("scalar"));
  REQUIRE(model.ok());
  CHECK(model->quantization("x").error().code == INGOT_NOT_FOUND);
  CHECK(has(model->quantization("x").error().text(), "the file records none for this port"));
  for (const char* lie : {"scale 1 zero_point 3 bits 3ff", "scale 1 bits 3ff0000000000000",
                          "scale 1 zero_point 99999999999 bits 3ff0000000000000",
                          "scale nan zero_point 1 bits 7ff8000000000000",
                          "scale -1 zero_point 1 bits bff0000000000000", ""}) {
    CAPTURE(lie);
    const std::string other = folder / "lie.ingot";
    REQUIRE(run({"convert", data("linear.onnx"), "-o", other, "-q", "--metadata",
                 std::string("ingot.quantization.x=") + lie})
                .exit == 0);
    auto wrong = ingot::Model::open(other.c_str(), ingot_cpu_kernels("scalar"));
    REQUIRE(wrong.ok());
    CHECK(wrong->quantization("x").error().code == INGOT_STRUCTURE_INVALID);
    CHECK(run({"inspect", other}).exit == 0);
  }
}
