// SPDX-License-Identifier: Apache-2.0
// Operators of plugins: converted, run at every extent and thread count, and each way in which a
// plugin can be wrong or missing, through the real binary and real shared libraries.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "runtime/include/ingot/cpu.h"
#include "runtime/include/ingot/ingot.hpp"
#include "tests/cli/command_line.h"
#include "tests/support/onnx_writer.h"
#include "tools/files/npz/npz.h"
#include "tools/plugins/plugins.h"

using namespace cli_test;
using namespace ingot::test;
using ingot::host::Array;

namespace {

const std::string kWhiten = INGOT_WHITEN, kOdd = INGOT_ODD_PLUGIN, kEmpty = INGOT_EMPTY_PLUGIN;

std::string written(const Folder& folder, const OnnxGraph& graph) {
  const std::string path = folder / "net.onnx";
  Proto model = graph.model(13);
  for (const char* domain : {"com.example", "org.odd"})
    model.message(8, Proto().text(1, domain).varint(2, 1));
  spill(path, model.bytes);
  return path;
}

/// x [rows, 6] with open rows -> Relu -> the operator -> Neg.
OnnxGraph network(const std::string& op, const std::vector<Proto>& attributes = {},
                  const std::string& domain = "org.odd") {
  OnnxGraph g;
  g.input("x", {"N", 6});
  g.node("Abs", {"x"}, {"a"});
  g.node(op, {"a"}, {"b"}, attributes, domain);
  g.node("Neg", {"b"}, {"y"});
  g.output("y");
  return g;
}

Array numbers(int64_t rows) {
  Array x;
  x.name = "x";
  x.dtype = ingot::DType::kF32;
  x.dims = {rows, 6};
  x.bytes.resize(size_t(rows) * 6 * sizeof(float));
  for (int64_t i = 0; i < rows * 6; i++) {
    const float value = float(std::sin(double(i) * 1.7)) * 3;
    std::memcpy(x.bytes.data() + size_t(i) * sizeof(float), &value, sizeof value);
  }
  return x;
}

float at(const Array& array, int64_t i) {
  float value;
  std::memcpy(&value, array.bytes.data() + size_t(i) * sizeof(float), sizeof value);
  return value;
}

/// The output y for so many rows.
Array answer(const Folder& folder, const std::string& file, const std::string& plugin, int64_t rows,
             int threads) {
  ingot::host::write_npz(folder / "in.npz", {numbers(rows)});
  const Ran ran = run({"run", file, "--plugin", plugin, "--inputs", folder / "in.npz", "--outputs",
                       folder / "out.npz", "--threads", std::to_string(threads)});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return ingot::host::read_npz(folder / "out.npz").at(0);
}

std::string convert(const Folder& folder, const OnnxGraph& graph, const std::string& plugin) {
  const Ran ran = run({"convert", written(folder, graph), "-o", folder / "net.ingot", "--plugin",
                       plugin, "--check"});
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return folder / "net.ingot";
}

/// Negated sums of three rows, every second one.
void check_rows(const Folder& folder, const std::string& file, int64_t rows) {
  CAPTURE(rows);
  const Array x = numbers(rows), y = answer(folder, file, kOdd, rows, 2);
  REQUIRE(y.dims == std::vector<int64_t>{(rows - 3) / 2 + 1, 6});
  for (int64_t r = 0; r < y.dims[0]; r++)
    for (int64_t i = 0; i < 6; i++) {
      double sum = 0;
      for (int64_t w = 0; w < 3; w++) sum += std::fabs(double(at(x, (r * 2 + w) * 6 + i)));
      CHECK(at(y, r * 6 + i) == -float(sum));
    }
}

}  // namespace

TEST_CASE("plugin: the example is converted, verified and run at every extent") {
  const Folder folder;
  const std::string file =
      convert(folder, network("Whiten", {attribute("epsilon", 0.25f)}, "com.example"), kWhiten);
  for (const int64_t rows : {1, 2, 7, 64})
    for (const int threads : {1, 2}) {
      CAPTURE(rows);
      CAPTURE(threads);
      const Array x = numbers(rows), y = answer(folder, file, kWhiten, rows, threads);
      REQUIRE(y.dims == x.dims);
      for (int64_t r = 0; r < rows; r++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < 6; i++) mean += std::fabs(double(at(x, r * 6 + i))) / 6;
        for (int64_t i = 0; i < 6; i++)
          squares += std::pow(std::fabs(double(at(x, r * 6 + i))) - mean, 2) / 6;
        for (int64_t i = 0; i < 6; i++)
          CHECK(double(at(y, r * 6 + i)) ==
                doctest::Approx(-(std::fabs(double(at(x, r * 6 + i))) - mean) /
                                std::sqrt(squares + 0.25))
                    .epsilon(1e-5));
      }
    }
  const Ran verified = run({"verify", file, "--plugin", kWhiten});
  CHECK(verified.exit == 0);
  const Ran inspected = run({"inspect", file, "--plugin", kWhiten});
  CHECK(inspected.exit == 0);
  CHECK(has(inspected.out, "custom"));
}

TEST_CASE("plugin: extents that are scaled and shifted, and scratch") {
  const Folder folder;
  const std::string file = convert(
      folder, network("Rows", {attribute("window", int64_t{3}), attribute("stride", int64_t{2})}),
      kOdd);
  for (const int64_t rows : {3, 4, 5, 20}) check_rows(folder, file, rows);
  ingot::host::write_npz(folder / "in.npz", {numbers(2)});
  const Ran small = run({"run", file, "--plugin", kOdd, "--inputs", folder / "in.npz", "--outputs",
                         folder / "out.npz"});
  CHECK(small.exit != 0);
  CHECK(is_one_error_line(small.err));
}

TEST_CASE("plugin: programs of PyTorch, by namespace and name") {
  const Folder folder;
  const std::string data = INGOT_PLUGIN_DATA, file = folder / "net.ingot";
  const Ran exported = run({"convert", data + "/rows.pt2", "-o", file, "--plugin", kOdd});
  CAPTURE(exported.err);
  REQUIRE(exported.exit == 0);
  for (const int64_t rows : {5, 6, 9, 64}) check_rows(folder, file, rows);
  const Ran traced =
      run({"convert", data + "/rows.pt", "-o", file, "--plugin", kOdd, "--input-shape", "x=9,6"});
  CAPTURE(traced.err);
  REQUIRE(traced.exit == 0);
  check_rows(folder, file, 9);
  const Ran without = run({"convert", data + "/rows.pt2", "-o", folder / "none.ingot"});
  CHECK(without.exit == 4);
  CHECK(has(without.err, "odd.rows"));
}

TEST_CASE("plugin: attributes of every kind arrive") {
  const Folder folder;
  const std::string file = convert(
      folder,
      network("Attributes", {attribute("a", std::string("AB")), attribute("b", int64_t{-3}),
                             attribute("c", 0.5f), attribute("d", std::vector<int64_t>{7, 8}),
                             attribute("e", std::vector<float>{1.5f, 2.5f}),
                             tensor_attribute("f", tensor("", {2}, std::vector<int64_t>{4, 5}))}),
      kOdd);
  const Array y = answer(folder, file, kOdd, 1, 1);
  const std::vector<float> expected = {-65, -66, 3, -0.5f, -7, -8, -1.5f, -2.5f, -4, -5};
  REQUIRE(y.dims == std::vector<int64_t>{int64_t(expected.size())});
  for (size_t i = 0; i < expected.size(); i++) CHECK(at(y, int64_t(i)) == expected[i]);
}

TEST_CASE("plugin: an attribute that plugins are not given is refused by name") {
  const Folder folder;
  OnnxGraph inner;
  inner.output("a");
  const Ran ran = run(
      {"convert", written(folder, network("Attributes", {graph_attribute("body", inner.proto)})),
       "-o", folder / "net.ingot", "--plugin", kOdd});
  CHECK(ran.exit == 4);
  CHECK(has(ran.err, "body"));
  CHECK(folder.names() == std::vector<std::string>{"net.onnx"});
}

TEST_CASE("plugin: missing when it is converted, and when it is run") {
  const Folder folder;
  const OnnxGraph graph = network("Whiten", {}, "com.example");
  const Ran without = run({"convert", written(folder, graph), "-o", folder / "net.ingot"});
  CHECK(without.exit == 4);
  CHECK(has(without.err, "com.example"));
  const Ran why = run({"inspect", folder / "net.onnx"});
  CHECK(has(why.out, "--plugin"));
  const std::string file = convert(folder, graph, kWhiten);
  for (const std::vector<std::string>& command : {std::vector<std::string>{"verify", file},
                                                  {"inspect", file},
                                                  {"verify", file, "--plugin", kOdd}}) {
    const Ran ran = run(command);
    CAPTURE(ran.err);
    CHECK(ran.exit == 4);
    CHECK(has(ran.err, "com.example::Whiten"));
    CHECK(has(ran.err, "--plugin"));
    CHECK(is_one_error_line(ran.err));
  }
}

TEST_CASE("plugin: one that fails, lies or refuses is named with its place") {
  const Folder folder;
  ingot::host::write_npz(folder / "in.npz", {numbers(4)});
  {
    const Ran ran = run({"convert", written(folder, network("Fail")), "-o", folder / "net.ingot",
                         "--plugin", kOdd});
    REQUIRE(ran.exit == 0);
    const Ran failed = run({"run", folder / "net.ingot", "--plugin", kOdd, "--inputs",
                            folder / "in.npz", "--outputs", folder / "out.npz"});
    CHECK(failed.exit == 5);
    CHECK(has(failed.err, "org.odd::Fail"));
    CHECK(has(failed.err, "instruction 1"));
    CHECK(is_one_error_line(failed.err));
  }
  {
    const std::string file = convert(folder, network("Lie"), kOdd);
    RunOptions lies;
    lies.environment = {{"ODD_PLUGIN_LIES", "1"}};
    const Ran lied = run({"run", file, "--plugin", kOdd, "--inputs", folder / "in.npz", "--outputs",
                          folder / "out.npz"},
                         lies);
    CHECK(lied.exit == 5);
    CHECK(has(lied.err, "what its shape function says"));
    CHECK(has(lied.err, "expected 5, found 4"));
    CHECK(is_one_error_line(lied.err));
  }
  for (const auto& row : {std::pair<const char*, const char*>{"Refuse", "takes nothing"},
                          {"Senseless", "element type 99"},
                          {"Squared", "no rule"}}) {
    const std::string op = row.first, words = row.second;
    CAPTURE(op);
    const Ran ran = run(
        {"convert", written(folder, network(op)), "-o", folder / "none.ingot", "--plugin", kOdd});
    CAPTURE(ran.err);
    CHECK(ran.exit == 4);
    CHECK(has(ran.err, words));
    CHECK(has(ran.err, "n1"));
  }
  // with fixed extents there is nothing to find
  CHECK(run({"convert", written(folder, network("Squared")), "-o", folder / "fixed.ingot", "--dim",
             "N=3", "--plugin", kOdd})
            .exit == 0);
}

TEST_CASE("plugin: what is no plugin") {
  const Folder folder;
  const std::string file = convert(folder, network("Lie"), kOdd);
  spill(folder / "text.so", "not a library");
  for (const std::string& plugin : {folder / "absent.so", folder / "text.so", kEmpty}) {
    const Ran ran = run({"verify", file, "--plugin", plugin});
    CAPTURE(ran.err);
    CHECK(ran.exit == 7);
    CHECK(has(ran.err, "--plugin " + plugin));
    CHECK(is_one_error_line(ran.err));
  }
}

TEST_CASE("plugin: the C interface takes operators of the program's own") {
  const Folder folder;
  const std::string file = convert(folder, network("Whiten", {}, "com.example"), kWhiten);
  ingot_open_options options = INGOT_INIT(ingot_open_options);
  options.kernels = ingot_cpu_kernels(nullptr);
  ingot_model* model = nullptr;
  ingot_error error = {};
  CHECK(ingot_model_open(file.c_str(), &options, &model, &error) == INGOT_UNSUPPORTED_OPERATOR);
  CHECK(std::string(error.name) == "com.example::Whiten");
  ingot::plugins::load(kWhiten);
  options.operators = ingot::plugins::operators().data();
  options.operator_count = ingot::plugins::operators().size();
  REQUIRE(ingot_model_open(file.c_str(), &options, &model, &error) == INGOT_OK);
  ingot_model_destroy(model);

  ingot_custom_operator broken = *options.operators[0];
  const ingot_custom_operator* list[] = {&broken};
  options.operators = list;
  options.operator_count = 1;
  const auto refused = [&] {
    const ingot_code code = ingot_model_open(file.c_str(), &options, &model, &error);
    if (code == INGOT_OK) ingot_model_destroy(model);
    return code;
  };
  broken.size = 3;
  CHECK(refused() == INGOT_INVALID_ARGUMENT);
  broken = *ingot::plugins::operators()[0], broken.run = nullptr;
  CHECK(refused() == INGOT_INVALID_ARGUMENT);
  broken = *ingot::plugins::operators()[0], broken.name = nullptr;
  CHECK(refused() == INGOT_INVALID_ARGUMENT);
  broken = *ingot::plugins::operators()[0], broken.flags = 0x80;
  CHECK(refused() == INGOT_INVALID_ARGUMENT);
  list[0] = nullptr;
  CHECK(refused() == INGOT_INVALID_ARGUMENT);
  options.operators = nullptr;
  CHECK(refused() == INGOT_INVALID_ARGUMENT);
}
