// SPDX-License-Identifier: Apache-2.0
// Checkpoints whose headers are long or ask for much: twice the header may cost a little more than
// twice the steps and bytes (tools/files/work_budget.h), and what is out of proportion is refused
// with one line before memory is taken. No clock is read.
#include <doctest/doctest.h>

#include <fstream>
#include <functional>

#include "tests/checkpoint/reading_cost.h"
#include "tests/checkpoint/stored_zip.h"
#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/checkpoint.h"
#include "tools/files/failure.h"
#include "tools/files/output_file.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

using test::Cost;
using test::cost_of;
using test::cost_of_file;
using test::repeated;

std::string safetensors(const std::string& header, size_t data) {
  return test::little(header.size(), 8) + header + std::string(data, '\0');
}
std::string tensor(const std::string& name, const std::string& shape, int begin, int end) {
  return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + shape + "],\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}
std::string many_tensors(int n) {
  return safetensors(
      "{" + repeated(n, [](int i) { return tensor("t" + std::to_string(i), "1", i, i + 1); }) + "}",
      size_t(n));
}
std::string many_facts(int n) {
  return safetensors("{\"__metadata__\":{" +
                         repeated(n, [](int i) { return "\"k" + std::to_string(i) + "\":\"v\""; }) +
                         "}}",
                     0);
}

}  // namespace

TEST_CASE("work: a header of twice as many tensors or facts costs twice as much") {
  constexpr int kCount = 20000;
  for (const auto& made : {many_tensors, many_facts}) {
    const Cost once = cost_of_file(made(kCount), ".safetensors"),
               twice = cost_of_file(made(2 * kCount), ".safetensors");
    CHECK(once.said == "");
    CHECK(twice.said == "");
    CHECK(twice.tensors == 2 * once.tensors);
    CHECK(once.steps > 0);
    CHECK(double(twice.steps) <= 2.2 * double(once.steps));
    CHECK(double(twice.bytes) <= 2.2 * double(once.bytes));
  }
}

TEST_CASE("work: JSON keeps the order of the file, and is read in one go through it") {
  const std::string text = "{\"b\":[1,-2,3.5,true,null,\"x\"],\"a\":{\"d\":{},\"c\":[[]]},\"\":0}";
  CHECK(parse_bounded_json(text, "test").dump() == text);
  CHECK(parse_bounded_json("[]", "test").dump() == "[]");
  CHECK(parse_bounded_json(" 7 ", "test") == 7);
  const auto refused = [](const std::string& bad) {
    return cost_of(bad.size(), [&] { return parse_bounded_json(bad, "test").size(); });
  };
  CHECK(refused("{\"a\":1,\"b\":2,\"a\":3}").said ==
        "test: is no sound JSON: key 'a' is there twice");
  for (const char* bad : {"", "{", "[1,", "{\"a\"}", "[1]]", "\"a", "nul"}) {
    CAPTURE(std::string(bad));
    CHECK(refused(bad).exit == 2);
  }
  CHECK(refused(std::string(200, '[')).said.find("nests more than 128 levels") !=
        std::string::npos);
}

TEST_CASE("work: values without number are refused before a parser makes them") {
  const std::string text = "[" + std::string(20'000'000, ',') + "]";
  const Cost cost = cost_of(1000, [&] { return parse_bounded_json(text, "test").size(); });
  CHECK(cost.exit == 7);
  CHECK(cost.said.find("in proportion") != std::string::npos);
}

TEST_CASE("work: a tensor has no million dimensions") {
  const Cost cost = cost_of_file(
      safetensors("{" + tensor("a", repeated(100000, [](int) { return "1"; }), 0, 1) + "}", 1),
      ".safetensors");
  CHECK(cost.exit == 2);
  CHECK(cost.said.find("100000 dimensions") != std::string::npos);
}

TEST_CASE("work: a member that an archive unpacks counts as memory of its file") {
  const std::string content(1 << 20, 'x');
  const std::string zip = test::stored_zip({{"member", content}});
  const host::TemporaryPath file(".zip");
  std::ofstream(file.path(), std::ios::binary).write(zip.data(), std::streamsize(zip.size()));
  const auto archive = Archive::open(file.path());
  const Cost cost =
      cost_of(zip.size(), [&] { return archive->read("member", content.size()).size(); });
  CHECK(cost.said == "");
  CHECK(cost.bytes == content.size());
  host::WorkBudget::set_factor(1e-6);
  const Cost little =
      cost_of(zip.size(), [&] { return archive->read("member", content.size()).size(); });
  host::WorkBudget::set_factor(1);
  CHECK(little.exit == 7);
}

}  // namespace ingot::checkpoint
