// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/format/refuse_table.h"
#include "tests/support/scratch.h"

using namespace ingot;
using namespace ingot::test;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(INGOT_SOURCE_DIR) / "tests/golden/refuse";

/// file -> code and rule, as the committed table says.
std::map<std::string, std::pair<std::string, std::string>> committed_rules() {
  std::map<std::string, std::pair<std::string, std::string>> rules;
  std::ifstream in(kFolder / "rules.tsv");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string file, code, rule;
    if (line.empty() || line[0] == '#') continue;
    std::getline(fields, file, '\t');
    std::getline(fields, code, '\t');
    std::getline(fields, rule);
    rules[file] = {code, rule};
  }
  return rules;
}

}  // namespace

TEST_CASE("refuse: every base opens, so that its cases are wrong in one thing only") {
  for (const AcceptedBase& base : refuse_table().bases) {
    CAPTURE(base.name);
    OpenWith how;
    how.hashes = true;
    const Opened opened = open_bytes(convert::write_memory(base.make()), how);
    CAPTURE(opened.detail.field);
    CHECK(opened.status.ok());
  }
}

TEST_CASE("refuse: every case is refused with its code, by the rule written down for it") {
  const auto rules = committed_rules();
  std::set<std::string> seen;
  for (const RefuseCase& c : refuse_table().cases) {
    CAPTURE(c.file_name());
    CHECK(seen.insert(c.file_name()).second);
    const Bytes bytes = c.make();
    for (const bool as_memory : {false, true}) {
      OpenWith how;
      how.as_memory = as_memory;
      const Opened opened = open_bytes(bytes, how);
      CHECK(opened.status.code() == c.code);
      CHECK(opened.detail.code == c.code);
      const auto rule = rules.find(c.file_name());
      REQUIRE(rule != rules.end());  // regenerate tests/golden/refuse
      CHECK(rule->second.first == code_name(opened.status.code()));
      CHECK(rule->second.second == opened.detail.field);
    }
  }
  CHECK(seen.size() == rules.size());
}

TEST_CASE("refuse: every committed file is refused with the code in its name") {
  std::map<std::string, Bytes> expected;
  for (const RefuseCase& c : refuse_table().cases)
    if (Bytes made = c.make(); made.size() <= kMaxCommittedBytes)
      expected[c.file_name()] = std::move(made);
  int count = 0, meaning = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() != ".ingot") continue;
    const std::string name = fs::relative(entry.path(), kFolder).generic_string();
    CAPTURE(name);
    REQUIRE(expected.count(name) == 1);
    CHECK(read_file<Bytes>(entry.path()) ==
          expected[name]);  // else: regenerate tests/golden/refuse
    const int code = std::stoi(entry.path().filename().string().substr(1));
    Source source;
    ErrorDetail detail;
    REQUIRE(source_from_path(entry.path().c_str(), &source, &detail).ok());
    const Opened opened = open_source(source);
    close_source(&source);
    CHECK(int(opened.status.code()) == code);
    count++;
    meaning += code == int(Code::kMeaningInvalid);
  }
  MESSAGE(count, " files refused, ", meaning, " of them sound in structure and wrong in meaning");
  CHECK(count == int(expected.size()));
  CHECK(meaning >= 200);
}

TEST_CASE("refuse: a meaning failure names a place inside the program") {
  for (const RefuseCase& c : refuse_table().cases) {
    if (c.code != Code::kMeaningInvalid) continue;
    CAPTURE(c.file_name());
    const Opened opened = open_bytes(c.make());
    CHECK(opened.detail.offset >= opened.file.program_offset);
    CHECK(opened.detail.offset < opened.file.program_offset + opened.file.program_bytes);
    CHECK(opened.detail.field[0] != 0);
  }
}

TEST_CASE("accept: files of every released version still open") {
  int count = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(fs::path(INGOT_SOURCE_DIR) / "tests/golden/accept")) {
    if (entry.path().extension() != ".ingot") continue;
    CAPTURE(entry.path().string());
    Source source;
    ErrorDetail detail;
    REQUIRE(source_from_path(entry.path().c_str(), &source, &detail).ok());
    OpenWith how;
    how.hashes = true;
    const Opened opened = open_source(source, how);
    close_source(&source);
    CAPTURE(opened.detail.field);
    CHECK(opened.status.ok());
    count++;
  }
  CHECK(count >= 30);
}
