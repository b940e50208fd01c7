// SPDX-License-Identifier: Apache-2.0
// `ingot convert --check` where floats are rounded to bytes: what lies next to a tie is no fault, a
// kernel that is a step off is.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>

#include "tests/diagnose/faulty.h"
#include "tests/diagnose/networks.h"
#include "tests/support/onnx_writer.h"
#include "tools/cli/conversion/check_oracle.h"

using namespace ingot;
using namespace ingot::test;

namespace {

/// x w, to bytes by what a run holds, and back: so many numbers that some lie next to a tie.
std::string rounding_network() {
  constexpr int kRows = 400, kK = 256, kN = 512;
  std::vector<float> w(size_t(kK * kN));
  for (size_t i = 0; i < w.size(); i++) w[i] = std::sin(float(i) * 0.7f) * 0.2f;
  OnnxGraph g;
  g.input("x", {{kRows}, {kK}}).output("y").initializer("w", {kK, kN}, w);
  g.node("MatMul", {"x", "w"}, {"a"});
  g.node("DynamicQuantizeLinear", {"a"}, {"q", "s", "z"});
  g.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
  const std::string source = networks().source("rounding"),
                    file = networks().file("rounding.ingot");
  std::ofstream(source, std::ios::binary) << g.bytes();
  convert::write_file(convert::convert_source(source, {}).file, file);
  return file;
}

cli::OracleCheck checked(const std::string& file, const KernelTable* kernels) {
  return cli::check_against_oracle(file, {}, reinterpret_cast<const ingot_kernel_table*>(kernels));
}

}  // namespace

TEST_CASE("check: bytes next to a tie are no fault, and a kernel that is off is named") {
  const std::string file = rounding_network();
  const cli::OracleCheck right = checked(file, nullptr);
  REQUIRE(right.values.size() == 1);
  REQUIRE(!right.values[0].comparison.passed);  // else the network above shows nothing
  REQUIRE(right.instructions);
  CHECK(right.is_rounding());
  CHECK(right.instructions->calls >= 3);
  for (const char* kernel : {"dynamic_quantize", "linear_f32", "elementwise"}) {
    CAPTURE(kernel);
    const KernelTable* const broken = broken_table(kernel);
    REQUIRE(broken);
    const cli::OracleCheck wrong = checked(file, broken);
    CHECK(!wrong.is_rounding());
    REQUIRE(wrong.instructions);
    REQUIRE(wrong.instructions->wrong);
    CHECK(wrong.instructions->wrong->kernel == kernel);
    CHECK(wrong.instructions->wrong->measure.differing == 1);
  }
}
