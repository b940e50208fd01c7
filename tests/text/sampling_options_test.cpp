// SPDX-License-Identifier: Apache-2.0
// `ingot generate` with a model whose logits are always the same ones: what is drawn, where it
// ends, what --json reports, and every option that is refused, by one line.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
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

constexpr int kContext = 64;

/// A language model of bytes, with "<end>" behind them: these logits, else -20.
std::string constant_model(const Folder& folder, const std::map<int, float>& known) {
  test::Vocabulary v = test::byte_vocabulary({});
  const uint32_t end = test::add_piece(&v, "<end>", PieceKind::kControl);
  std::vector<float> logits(v.pieces.size(), -20);
  for (const auto& [id, logit] : known) logits[id < 0 ? end : uint32_t(id)] = logit;
  convert::FileSpec file;
  convert::ProgramSpec& p = file.program;
  const Dim length = p.add_symbol("T", 1, 8);
  p.add_value(test::input("tokens", {1, length}, DType::kI32));
  p.add_value(test::input("position", {1}, DType::kI64));
  convert::ValueSpec cache = test::activation("keys.0", {kContext, 1});
  cache.kind = ValueKind::kState;
  p.states.push_back({"keys.0", p.add_value(cache), -1, -1, -1});
  convert::ValueSpec constant = test::constant("l", {1, int64_t(logits.size())});
  const auto* bytes = reinterpret_cast<const uint8_t*>(logits.data());
  constant.bytes.held =
      std::make_shared<const std::vector<uint8_t>>(bytes, bytes + logits.size() * sizeof(float));
  const int32_t x = p.add_value(constant),
                y = p.add_value(test::output("logits", {1, int64_t(logits.size())}));
  p.add_instruction(CopyAttributes{}, {x}, {y});
  test::add_ports(&file);
  const std::string path = folder / "constant.ingot";
  convert::write_file(file, path);
  cli::FileParts parts(path);
  parts.put(PartKind::kText, vocabulary::encode_text_part(v, "test"), 0);
  parts.raise_minor(kTextMinor);
  host::OutputFile out(path);
  parts.write(&out);
  out.commit();
  return path;
}

Ran generate(const std::string& file, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"generate", file, "--prompt", "ab"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}
Json report_of(const std::string& file, std::vector<std::string> more) {
  more.push_back("--json");
  const Ran ran = generate(file, more);
  INFO(ran.err);
  REQUIRE(ran.exit == 0);
  return Json::parse(ran.out);
}

}  // namespace

TEST_CASE("generate: the most probable token unless an option shapes a draw") {
  const Folder folder;
  const std::string file = constant_model(folder, {{'x', 2}, {'y', 1.5f}, {'z', 1}, {-1, -3}});
  const Json greedy = report_of(file, {"--tokens", "5"});
  CHECK(greedy["text"] == "xxxxx");
  CHECK(greedy["stopped_by"] == "tokens");
  CHECK(greedy["seed"].is_null());
  CHECK(greedy["sampling"]["temperature"] == 0);
  CHECK(report_of(file, {"--tokens", "5", "--greedy"})["text"] == "xxxxx");
  CHECK(report_of(file, {"--tokens", "5", "--temperature", "0"})["text"] == "xxxxx");
  const Json drawn = report_of(file, {"--tokens", "30", "--seed", "3"});
  CHECK(drawn["seed"] == 3);
  CHECK(drawn["sampling"]["temperature"] == 1);
  for (const char* letter : {"x", "y", "z"}) CHECK(has(drawn["text"], letter));
  CHECK(report_of(file, {"--tokens", "30", "--seed", "3"})["text"] == drawn["text"]);
  CHECK(report_of(file, {"--tokens", "30", "--seed", "4"})["text"] != drawn["text"]);
  CHECK(!has(report_of(file, {"--tokens", "40", "--top-k", "2"})["text"], "z"));
  // a seed of the system's is reported, and gives the same again
  const Json any = report_of(file, {"--tokens", "20", "--temperature", "2"});
  const std::string seed = any["seed"].dump();
  CHECK(report_of(file, {"--tokens", "20", "--temperature", "2", "--seed", seed})["text"] ==
        any["text"]);
  const Ran text = generate(file, {"--tokens", "3", "--top-k", "1"});
  CHECK(text.out == "xxx\n");
  CHECK(has(text.err, "--seed "));
  CHECK(generate(file, {"--tokens", "3"}).err.empty());
}

TEST_CASE("generate: penalties and biases, without a draw too") {
  const Folder folder;
  const std::string file = constant_model(folder, {{'x', 2}, {'y', 1.5f}, {'z', 1}, {-1, -3}});
  CHECK(report_of(file, {"--tokens", "5", "--presence-penalty", "1.1"})["text"] == "xyzxx");
  CHECK(report_of(file, {"--tokens", "6", "--repeat-penalty", "4", "--repeat-last", "1"})["text"] ==
        "xyxyxy");
  const Json biased = report_of(file, {"--tokens", "3", "--bias", "120=-inf", "--bias", "122=0.7"});
  CHECK(biased["text"] == "zzz");
  CHECK(biased["sampling"]["bias"] == Json({{"120", "-inf"}, {"122", 0.7}}));
  // without DRY all are x; a second "xx" costs 4, so y; and so on
  const Json dry =
      report_of(file, {"--tokens", "4", "--dry-multiplier", "4", "--dry-allowed-length", "1"});
  CHECK(dry["text"] == "xxyx");
  CHECK(report_of(file, {"--bias", "256=10"})["stopped_by"] == "end");
}

TEST_CASE("generate: where an answer ends, and a stop text") {
  const Folder folder;
  const std::string file = constant_model(folder, {{'x', 2}, {'y', 1.5f}, {-1, -3}});
  const std::vector<std::string> turns = {"--repeat-penalty", "4", "--repeat-last", "1"};  // xyxyxy
  const auto stopped = [&](std::vector<std::string> more) {
    more.insert(more.end(), turns.begin(), turns.end());
    return report_of(file, more);
  };
  const Json one = stopped({"--stop", "yxy", "--stop", "xx"});
  CHECK(one["text"] == "x");
  CHECK(one["ids"] == Json({'x', 'y', 'x', 'y'}));
  CHECK(one["stopped_by"] == "stop");
  CHECK(one["stop_text"] == "yxy");
  CHECK(one["sampling"]["stop"] == Json({"yxy", "xx"}));
  // what may begin a stop text is printed once the answer ends otherwise
  const Json held = stopped({"--stop", "yxyy", "--tokens", "4"});
  CHECK(held["text"] == "xyxy");
  CHECK(held["stopped_by"] == "tokens");
  CHECK(held["stop_text"].is_null());
  const Json full = stopped({"--tokens", "100"});
  CHECK(full["stopped_by"] == "context");
  CHECK(full["ids"].size() == kContext - 2 + 1);
  CHECK(generate(file, {"--stop", "xxx"}).out == "\n");
}

TEST_CASE("generate: options that are refused, each by one line") {
  const Folder folder;
  const std::string file = constant_model(folder, {{'x', 2}});
  const auto refused = [&](const std::vector<std::string>& options, int exit, const char* says) {
    const Ran ran = generate(file, options);
    CAPTURE(ran.err);
    CHECK(ran.exit == exit);
    CHECK(ran.out.empty());
    CHECK(is_one_error_line(ran.err));
    CHECK(has(ran.err, says));
  };
  refused({"--temperature", "-1"}, 1, "--temperature: expected a number from 0 to 100, found '-1'");
  refused({"--temperature", "nan"}, 1, "--temperature: expected a number from 0 to 100");
  refused({"--top-p", "1.5"}, 1, "--top-p: expected a number from 0 to 1, found '1.5'");
  refused({"--min-p", "-0.1"}, 1, "--min-p: expected a number from 0 to 1");
  refused({"--typical", "x"}, 1, "--typical: expected a number from 0 to 1");
  refused({"--top-k", "-1"}, 1, "--top-k: expected a whole number from 0 to 8388608");
  refused({"--top-k", "2.5"}, 1, "--top-k: expected a whole number");
  refused({"--top-n-sigma", "-1"}, 1, "--top-n-sigma: expected a number from 0 to 100");
  refused({"--repeat-penalty", "0"}, 1, "--repeat-penalty: expected a number from 0.01 to 100");
  refused({"--repeat-last", "0", "--presence-penalty", "1"}, 1, "--repeat-last: expected a whole");
  refused({"--dry-base", "0.5", "--dry-multiplier", "1"}, 1,
          "--dry-base: expected a number from 1");
  refused({"--seed", "-1"}, 1, "--seed: expected a whole number from 0");
  refused({"--greedy", "--top-k", "3"}, 1, "--greedy and --top-k");
  refused({"--greedy", "--seed", "3"}, 1, "--greedy and --seed");
  refused({"--repeat-last", "3"}, 1, "--repeat-last without a penalty");
  refused({"--dry-base", "2"}, 1, "--dry-base without a penalty");
  refused({"--dry-multiplier", "0", "--dry-last", "9"}, 1, "--dry-last without a penalty");
  refused({"--bias", "3"}, 1, "--bias: expected ID=X, found '3'");
  refused({"--bias", "a=3"}, 1, "--bias: expected a whole number");
  refused({"--bias", "3=inf"}, 1, "--bias 3: expected a number from -1e+09 to 1e+09");
  refused({"--bias", "3=1", "--bias", "3=2"}, 1, "--bias 3: given twice");
  refused({"--bias", "257=1"}, 5, "--bias 257: ");
  refused({"--stop", ""}, 1, "--stop: expected a text, found an empty one");
  std::vector<std::string> many;
  for (int i = 0; i < 100000; i++) many.push_back("--stop=a");
  refused(many, 1, "--stop: 100000 stop texts, at most 256");
  refused({"--stop", std::string(40000, 'a')}, 1, "bytes of stop texts, at most 32768");
  std::vector<std::string> none;
  for (int id = 0; id < 257; id++) none.push_back("--bias=" + std::to_string(id) + "=-inf");
  refused(none, 5, "no token is left");
  const std::string broken = constant_model(folder, {{'x', NAN}});
  const Ran ran = run({"generate", broken, "--prompt", "a", "--seed", "1"});
  CHECK(ran.exit == 5);
  CHECK(has(ran.err, "the logit of token 120 is not a number"));
}
