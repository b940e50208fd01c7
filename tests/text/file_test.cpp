// The part with a tokenizer in an .ingot file: taken at its place and its version alone; `ingot
// tokenize` reads it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/format/small_files.h"
#include "tests/text/small_vocabularies.h"
#include "tools/compile/write/file_writer.h"
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

/// A file of one instruction with this part, `minor` in its header.
void write_with_text(const std::string& path, const std::vector<uint8_t>& part, uint16_t minor) {
  convert::write_file(test::one_instruction(test::step(ElementwiseOp::kAdd),
                                            {test::input("x", {2, 4}), test::constant("w", {4})},
                                            {test::output("y", {2, 4})}),
                      path);
  cli::FileParts parts(path);
  parts.put(PartKind::kText, part, 0);
  parts.raise_minor(minor);
  host::OutputFile out(path);
  parts.write(&out);
  out.commit();
}

}  // namespace

TEST_CASE("tokenize: the tokenizer of an .ingot file, which runs as before") {
  const Folder folder;
  const std::string file = folder / "net.ingot";
  write_with_text(file, test::small_parts()[0], kTextMinor);
  CHECK(must({"tokenize", file, "abc", "a", "--ids"}).out == "257 258\n");
  const Json report = Json::parse(must({"tokenize", file, "abc a", "--json"}).out);
  CHECK(report["ids"] == Json({257, 258}));
  CHECK(report["pieces"] == Json({"abc", " a"}));
  CHECK(report["tokens"] == 2);
  CHECK(must({"tokenize", file, "257 258", "--decode"}).out == "abc a");
  CHECK(must({"tokenize", file, "a<|end|>", "--ids", "--special"}).out == "97 260\n");
  must({"run", file});
  must({"verify", file});
  must({"upgrade", file, "-o", folder / "up.ingot"});
  CHECK(must({"tokenize", folder / "up.ingot", "abc", "--ids"}).out == "257\n");
}

TEST_CASE("tokenize: parts of a text in files that may not have one, damaged ones, and none") {
  const Folder folder;
  const std::string file = folder / "net.ingot";
  write_with_text(file, test::small_parts()[0], kTuningsMinor);
  const Ran early = run({"tokenize", file, "a"});
  CHECK(early.exit == 2);
  CHECK(early.err.find("parts[].kind") != std::string::npos);
  std::vector<uint8_t> damaged = test::small_parts()[0];
  for (size_t i = damaged.size() / 2; i < damaged.size(); i++) damaged[i] ^= 0x55;
  write_with_text(file, damaged, kTextMinor);
  const Ran bad = run({"tokenize", file, "a"});
  CHECK(bad.exit == 2);
  CHECK(bad.err.find("tokenizer in it is damaged") != std::string::npos);
  convert::write_file(test::one_instruction(test::step(ElementwiseOp::kAdd),
                                            {test::input("x", {2, 4}), test::constant("w", {4})},
                                            {test::output("y", {2, 4})}),
                      file);
  const Ran none = run({"tokenize", file, "a"});
  CHECK(none.exit == 5);
  CHECK(none.err.find("has no tokenizer") != std::string::npos);
  CHECK(run({"tokenize", file, "a", "--file", file}).exit == 1);
}
