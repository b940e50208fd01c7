// SPDX-License-Identifier: Apache-2.0
// What a conversion computes by default: extents of dynamic dimensions that nobody chose.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/diagnose/faulty.h"
#include "tests/diagnose/networks.h"
#include "tests/support/onnx_writer.h"
#include "tools/cli/conversion/check_conversion.h"

using namespace ingot;
using namespace ingot::test;

namespace {

constexpr double kSeconds = 600;  // enough wherever it runs

cli::CheckedConversion open_network() {
  OnnxGraph g;
  g.input("x", {{"N"}, {4}}).output("y").initializer("w", {4, 3}, std::vector<float>(12, 0.5f));
  g.node("MatMul", {"x", "w"}, {"a"}).node("Sigmoid", {"a"}, {"y"});
  const std::string source = networks().source("open"), file = networks().file("open.ingot");
  std::ofstream(source, std::ios::binary) << g.bytes();
  convert::write_file(convert::convert_source(source, {}).file, file);
  return {source, file, {}};
}

}  // namespace

TEST_CASE("convert: a kernel that is wrong is found at extents that nobody chose") {
  cli::CheckedConversion made = open_network();
  CHECK_NOTHROW(cli::check_open_extents(made, kSeconds));
  made.kernels = reinterpret_cast<const ingot_kernel_table*>(broken_table("linear_f32"));
  REQUIRE(made.kernels);
  CHECK_NOTHROW(cli::check_open_extents(made, 0));
  std::string said;
  try {
    cli::check_open_extents(made, kSeconds);
  } catch (const host::Failure& failure) {
    CHECK(failure.exit() == host::Exit::kCheckFailed);
    said = failure.what();
  }
  CAPTURE(said);
  CHECK(said.find("with N=") != std::string::npos);
  CHECK(said.find("kernel linear_f32") != std::string::npos);
}
