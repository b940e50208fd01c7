// SPDX-License-Identifier: Apache-2.0
// What `ingot verify` runs has an end: a loop of 2^40 iterations, one instruction that takes long,
// 3 GB for a file of 1 KB.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/command_line.h"
#include "tests/format/small_files.h"
#include "tests/support/onnx_writer.h"
#include "tools/files/npz/npz.h"

using namespace cli_test;
using namespace ingot;

namespace {

/// y = |x| through a loop of `most` iterations; a golden of zeros. y and x are [extents].
std::string looping(const Folder& folder, int64_t most, std::vector<int64_t> extents = {4}) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t x = p.add_value(test::input("x", extents)),
                y = p.add_value(test::output("y", extents));
  const int32_t i = p.add_value(test::activation("i", {}, DType::kI64));
  p.subprograms.push_back({"body", {}});
  p.add_instruction(test::step(ElementwiseOp::kNeg), {x}, {y});
  p.add_instruction(LoopAttributes{1, most}, {-1, -1, y}, {i});
  p.add_instruction(test::step(ElementwiseOp::kAbs), {y}, {y}, 1);
  test::add_ports(&f);
  uint64_t bytes = 4;
  for (const int64_t extent : extents) bytes *= uint64_t(extent);
  const std::vector<uint8_t> zeros(bytes < 4096 ? bytes : 0);
  if (!zeros.empty())
    f.goldens = {
        {{{"x", DType::kF32, extents, zeros}}, {{"y", DType::kF32, extents, zeros}}, 0, 0}};
  std::string path = folder / "looping.ingot";
  convert::write_file(f, path);
  return path;
}

/// One number becomes 3 GB on its way to another: y [1] is the sum of x [1] expanded to `elements`.
std::string wide(const Folder& folder, int64_t elements) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  const int32_t x = p.add_value(test::input("x", {1})),
                all = p.add_value(test::activation("all", {elements}));
  const int32_t y = p.add_value(test::output("y", {1}));
  p.add_instruction(TileAttributes(), {x}, {all});
  p.add_instruction(ReduceAttributes{ReduceKind::kSum, 1}, {all}, {y});
  test::add_ports(&f);
  f.goldens = {{{{"x", DType::kF32, {1}, std::vector<uint8_t>(4)}},
                {{"y", DType::kF32, {1}, std::vector<uint8_t>(4)}},
                0,
                0}};
  std::string path = folder / "wide.ingot";
  convert::write_file(f, path);
  return path;
}

/// One instruction that takes hours: no overlap is found between `boxes` empty ones, so each is
/// compared with all.
std::string slow(const Folder& folder, int64_t boxes) {
  convert::FileSpec f;
  f.segment_alignment = 16;
  convert::ProgramSpec& p = f.program;
  p.required_features = {"measured"};
  const Dim n = p.add_symbol("n", 0, 0);
  const int32_t x = p.add_value(test::input("x", {1, 1, 1})),
                some = p.add_value(test::activation("boxes", {1, boxes, 4}));
  const int32_t scores = p.add_value(test::activation("scores", {1, 1, boxes}));
  const int32_t most = p.add_value(test::constant("most", {1}, Packing::kDense, DType::kI64));
  const int32_t y = p.add_value(test::output("y", {n, 3}, DType::kI64));
  const int32_t count = p.add_value(test::activation("count", {}, DType::kI64));
  p.symbols[0].resolved_by = count, p.symbols[0].bound = boxes;
  std::vector<uint8_t> large(8, 0x7f);
  p.values[size_t(most)].bytes = {std::make_shared<std::vector<uint8_t>>(large), nullptr};
  p.add_instruction(TileAttributes(), {x}, {some});
  p.add_instruction(TileAttributes(), {x}, {scores});
  p.add_instruction(NonMaxSuppressionAttributes(), {some, scores, most}, {y, count});
  test::add_ports(&f);
  f.goldens = {{{{"x", DType::kF32, {1, 1, 1}, std::vector<uint8_t>(4)}},
                {{"y", DType::kI64, {1, 3}, std::vector<uint8_t>(24)}},
                0,
                0}};
  std::string path = folder / "slow.ingot";
  convert::write_file(f, path);
  return path;
}

/// y = -x, 2^30 times over, as a source.
std::string looping_source(const Folder& folder) {
  using test::OnnxGraph;
  OnnxGraph body, graph;
  body.input("i", {}, 7).input("go", {}, 9).input("h", {4});
  body.node("Identity", {"go"}, {"still"}).node("Neg", {"h"}, {"next"});
  body.output("still").output("next");
  graph.input("x", {4}).initializer("turns", {}, std::vector<int64_t>{int64_t{1} << 30});
  graph.node("Loop", {"turns", "", "x"}, {"y"}, {test::graph_attribute("body", body.proto)});
  graph.output("y");
  std::string path = folder / "looping.onnx";
  std::ofstream(path, std::ios::binary) << graph.bytes(16);
  return path;
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("verify: a loop of 2^40 iterations ends at --seconds, with one line and both numbers") {
  const Folder folder;
  const std::string file = looping(folder, int64_t{1} << 40);
  CHECK(slurp(file).size() < 2048);
  Ran ran;
  CHECK(seconds_of([&] {
          ran = run({"verify", file, "--seconds", "0.5", "--threads", "1"});
        }) < 30);
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(has(ran.err, "--seconds allows 0.5"));
  CHECK(has(ran.err, "1,099,511,627,778 instructions"));
  CHECK(has(ran.out, "1,099,511,627,778 instructions"));
  const Ran report = run({"verify", file, "--seconds", "0.5", "--json"});
  CHECK(report.exit == 7);
  const auto json = nlohmann::json::parse(report.out);
  CHECK(json["passed"] == false);
  CHECK(json["exit"] == 7);
  CHECK(run({"verify", file, "--seconds", "nothing"}).exit == 1);
  CHECK(run({"verify", looping(folder, 1000), "--seconds", "60"}).exit == 0);
}

TEST_CASE("verify: one instruction that takes hours is given up too") {
  const Folder folder;
  const std::string file = slow(folder, 1 << 20);
  Ran ran;
  CHECK(seconds_of([&] { ran = run({"verify", file, "--seconds", "0.5", "--json"}); }) < 40);
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(has(ran.err, "--seconds allows 0.5"));
  CHECK(nlohmann::json::parse(ran.out)["exit"] == 7);
  CHECK(run({"verify", slow(folder, 1), "--seconds", "60"}).exit == 0);
}

TEST_CASE("verify: 3 GB for a file of 1 KB are refused before they are taken, with both numbers") {
  const Folder folder;
  const int64_t elements = int64_t{3} << 28;  // 3 GiB
  const std::string file = wide(folder, elements);
  CHECK(slurp(file).size() < 2048);
  const Ran ran = run({"verify", file});
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(has(ran.err, "3,221,2"));
  CHECK(has(ran.err, "--bytes allows 1,073,7"));
  const std::string small = wide(folder, 1024);
  CHECK(run({"verify", small}).exit == 0);
  const Ran less = run({"verify", small, "--bytes", "4K"});
  CHECK(less.exit == 7);
  CHECK(has(less.err, "--bytes allows 4,096;"));
}

TEST_CASE("run, bench, why, report, check: a loop of 2^40 iterations ends at --max-run-seconds") {
  const Folder folder;
  const std::string file = looping(folder, int64_t{1} << 40), inputs = folder / "in.npz";
  host::Array x, y;
  x.name = "in:x", x.dtype = DType::kF32, x.dims = {4}, x.bytes.resize(16);
  y = x, y.name = "out:y";
  host::write_npz(inputs, {x, y});
  const std::vector<std::vector<std::string>> commands = {
      {"run", file, "--inputs", inputs, "--outputs", folder / "out.npz"},
      {"bench", file},
      {"why", file},
      {"report", file, "-o", folder / "report"},
      {"check", file, "--golden", inputs},
  };
  for (std::vector<std::string> words : commands) {
    words.insert(words.end(), {"--max-run-seconds", "0.5", "--threads", "1"});
    CAPTURE(words[0]);
    Ran ran;
    CHECK(seconds_of([&] { ran = run(words); }) < 30);
    CHECK(ran.exit == 7);
    CHECK(is_one_error_line(ran.err));
    CHECK(has(ran.err, "--max-run-seconds"));
  }
  CHECK(run({"run", file, "--inputs", inputs, "--outputs", folder / "out.npz", "--seconds", "0.5"})
            .exit == 7);
  CHECK(run({"run", slow(folder, 1 << 20), "--inputs", inputs, "--outputs", "out.npz", "--seconds",
             "nothing"})
            .exit == 1);
  const std::string hours = slow(folder, 1 << 20);
  CHECK(seconds_of([&] {
          CHECK(run({"bench", hours, "--max-run-seconds", "0.5"}).exit == 7);
        }) < 40);
  CHECK(run({"run", looping(folder, 1000), "--inputs", inputs, "--outputs", folder / "out.npz",
             "--max-run-seconds", "60"})
            .exit == 0);
}

TEST_CASE("compare: a source whose loop has 2^30 iterations ends at --max-run-seconds") {
  const Folder folder;
  const std::string source = looping_source(folder), file = folder / "from_source.ingot";
  REQUIRE(run({"convert", source, "-o", file, "--no-check"}).exit == 0);
  Ran ran;
  CHECK(seconds_of([&] {
          ran = run({"compare", source, file, "--max-run-seconds", "0.5", "--threads", "1"});
        }) < 30);
  CHECK(ran.exit == 7);
  CHECK(is_one_error_line(ran.err));
  CHECK(has(ran.err, "--max-run-seconds"));
}

TEST_CASE("run, bench, why, report, check, compare: a run has a limit where none is asked for") {
  for (const char* command : {"run", "bench", "why", "report", "check", "compare"}) {
    CAPTURE(command);
    std::string help = run({command, "--help"}).out;
    help = std::regex_replace(help.substr(help.find("--max-run-seconds")), std::regex("\\s+"), " ");
    CHECK(has(help.substr(0, 200), "0: any time (default: 300)"));
  }
}

TEST_CASE("inspect: says how many instructions a run executes at most") {
  const Folder folder;
  const std::string file = looping(folder, int64_t{1} << 40);
  CHECK(nlohmann::json::parse(run({"inspect", file, "--json"}).out)["steps"] ==
        (uint64_t{1} << 40) + 2);
  CHECK(has(run({"inspect", file}).out, "1,099,511,627,778 instructions at most"));
}
