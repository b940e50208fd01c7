// SPDX-License-Identifier: Apache-2.0
// What convert writes, sessions accept: at the least extents, at odd and different ones; else
// nothing is written.
#include <doctest/doctest.h>

#include "tests/cli/command_line.h"

using namespace cli_test;

TEST_CASE("convert: what it wrote is accepted at every extent, where views are empty too") {
  const Folder folder;
  const std::string file = converted(folder, "directions");
  for (const int steps : {1, 2, 3, 8})
    for (const int batch : {1, 2, 5}) {
      CAPTURE(steps);
      CAPTURE(batch);
      const Ran ran = run({"verify", file, "--dim", "S=" + std::to_string(steps), "--dim",
                           "N=" + std::to_string(batch)});
      CAPTURE(ran.err);
      CHECK(ran.exit == 0);
      CHECK(ran.out.find("not checked") == std::string::npos);
    }
  CHECK(run({"compare", data("directions.onnx"), file, "--dim", "S=4", "--dim", "N=3"}).exit == 0);
}

TEST_CASE("convert: softmax of doubles with dynamic dimensions is its steps") {
  const Folder folder;
  const std::string file = converted(folder, "softmax64");
  const Ran ran = run({"check", file, "--golden", data("softmax64.npz"), "--rtol", "1e-12"});
  CAPTURE(ran.out);
  CAPTURE(ran.err);
  CHECK(ran.exit == 0);
  CHECK(run({"convert", data("softmax64.onnx"), "-o", folder / "fixed.ingot", "--dim", "N=3",
             "--dim", "M=5"})
            .exit == 0);
  CHECK(run({"check", folder / "fixed.ingot", "--golden", data("softmax64.npz"), "--rtol", "1e-12"})
            .exit == 0);
}

TEST_CASE("convert: what no session could run is refused, and nothing is written") {
  const Folder folder;
  const Ran ran = run({"convert", data("resize64.onnx"), "-o", folder / "resize.ingot"});
  CAPTURE(ran.err);
  CHECK(ran.exit == 4);
  CHECK(ran.err.find("no extents of N were found") != std::string::npos);
  CHECK(ran.err.find("--dim") != std::string::npos);
  CHECK(folder.names().empty());
}

TEST_CASE("convert: an extent that no tensor has is refused, without a dimension that could help") {
  const Folder folder;
  const Ran ran = run({"convert", data("vast.onnx"), "-o", folder / "vast.ingot"});
  CAPTURE(ran.err);
  CHECK(ran.exit == 5);
  CHECK(ran.err.find("dimension 0 of its result is 4294967296, expected 0..2147483647") !=
        std::string::npos);
  CHECK(ran.err.find("--dim") == std::string::npos);
  CHECK(folder.names().empty());
}

TEST_CASE("convert: a normalization of doubles with dynamic dimensions is its steps") {
  const Folder folder;
  const std::string file = converted(folder, "norm64");
  for (const int batch : {1, 5})
    CHECK(run({"verify", file, "--dim", "N=" + std::to_string(batch)}).exit == 0);
}

TEST_CASE("convert: dynamic dimensions are computed at by default, and left out by --no-check") {
  const Folder folder;
  const Ran computed = run({"convert", data("wide_ids.onnx"), "-o", folder / "a.ingot"});
  CAPTURE(computed.err);
  CHECK(computed.exit == 0);
  CHECK(computed.err.find("random inputs cannot be computed") != std::string::npos);
  const Ran left = run({"convert", data("wide_ids.onnx"), "-o", folder / "b.ingot", "--no-check"});
  CHECK(left.exit == 0);
  CHECK(left.err.find("random inputs") == std::string::npos);
  CHECK(run({"convert", data("wide_ids.onnx"), "--check", "--no-check"}).exit == 1);
}

TEST_CASE("convert: where a size needs a bound, the refusal names a number that is enough") {
  const Folder folder;
  const Ran refused = run({"convert", data("range.onnx"), "-o", folder / "range.ingot"});
  CAPTURE(refused.err);
  CHECK(refused.exit == 4);
  CHECK(refused.err.find("--max-elements 16 (16 is enough for random inputs") != std::string::npos);
  CHECK(folder.names().empty());
  const Ran example = run(
      {"convert", data("range.onnx"), "-o", folder / "range.ingot", "--golden", data("range.npz")});
  CAPTURE(example.err);
  CHECK(example.err.find("--max-elements 64 (64 is enough for ") != std::string::npos);
  CHECK(run({"convert", data("range.onnx"), "-o", folder / "range.ingot", "--golden",
             data("range.npz"), "--max-elements", "64"})
            .exit == 0);
}

TEST_CASE("convert: a bound that is too small to convert does not end the search for one") {
  const Folder folder;
  const Ran refused = run({"convert", data("windows_of_data.onnx"), "-o", folder / "w.ingot"});
  CAPTURE(refused.err);
  CHECK(refused.exit == 4);
  CHECK(refused.err.find("--max-elements 64 (64 is ") != std::string::npos);
}

TEST_CASE("convert: the bound of an input is enough for what is computed from it") {
  const Folder folder;
  const Ran made =
      run({"convert", data("windows_of_data.onnx"), "-o", folder / "w.ingot", "--dim", "n=0..64"});
  CAPTURE(made.err);
  CHECK(made.exit == 0);
  const Ran large = run({"convert", data("windows_of_data.onnx"), "-o", folder / "l.ingot",
                         "--max-elements", "100000000"});
  CAPTURE(large.err);
  CHECK(large.exit == 0);
  CHECK(large.err.find(" MB at the bounds of its sizes") != std::string::npos);
  CHECK(large.err.find("--dim 'n=1..HIGH'") != std::string::npos);
}
