// SPDX-License-Identifier: Apache-2.0
// The part with a tokenizer in an .ingot file: taken at its place and its version alone; `ingot
// tokenize` reads it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/text/small_vocabularies.h"
#include "tools/session/file_parts.h"

using namespace ingot;
using namespace cli_test;
using Json = nlohmann::json;

namespace {

Ran must(const std::vector<std::string>& arguments) {
  const Ran ran = run(arguments);
  CAPTURE(ran.err);
  REQUIRE(ran.exit == 0);
  return ran;
}

/// The file with this part, `minor` in its header.
void put_text(const std::string& path, const std::vector<uint8_t>& part, uint16_t minor) {
  cli::FileParts parts(path);
  parts.put(PartKind::kText, part, 0);
  parts.raise_minor(minor);
  host::OutputFile out(path);
  parts.write(&out);
  out.commit();
}

}  // namespace

TEST_CASE("tokenize: the tokenizer of an .ingot file, which is whole and sound as before") {
  const Folder folder;
  const std::string file = converted(folder, "linear");
  put_text(file, test::small_parts()[0], kTextMinor);
  CHECK(must({"tokenize", file, "abc", "a", "--ids"}).out == "257 258\n");
  const Json report = Json::parse(must({"tokenize", file, "abc a", "--json"}).out);
  CHECK(report["ids"] == Json({257, 258}));
  CHECK(report["pieces"] == Json({"abc", " a"}));
  CHECK(report["tokens"] == 2);
  CHECK(must({"tokenize", file, "257 258", "--decode"}).out == "abc a");
  CHECK(must({"tokenize", file, "a<|end|>", "--ids", "--special"}).out == "97 260\n");
  must({"verify", file});
  must({"upgrade", file, "-o", folder / "up.ingot"});
  CHECK(must({"tokenize", folder / "up.ingot", "abc", "--ids"}).out == "257\n");
}

TEST_CASE("tokenize: parts of a text in files that may not have one, damaged ones, and none") {
  const Folder folder;
  const std::string file = converted(folder, "linear");
  const Ran none = run({"tokenize", file, "a"});
  CHECK(none.exit == 5);
  CHECK(has(none.err, "has no tokenizer"));
  std::vector<uint8_t> damaged = test::small_parts()[0];
  for (size_t i = damaged.size() / 2; i < damaged.size(); i++) damaged[i] ^= 0x55;
  put_text(file, damaged, kTextMinor);
  const Ran bad = run({"tokenize", file, "a"});
  CHECK(bad.exit == 2);
  CHECK(has(bad.err, "tokenizer in it is damaged"));
  const std::string early = converted(folder, "linear");
  put_text(early, test::small_parts()[0], kTuningsMinor);
  const Ran refused = run({"tokenize", early, "a"});
  CHECK(refused.exit == 2);
  CHECK(has(refused.err, "parts[].kind"));
  CHECK(run({"tokenize", file, "a", "--file", file}).exit == 1);
}
