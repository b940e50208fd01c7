// SPDX-License-Identifier: Apache-2.0
// /v1/embeddings as requests meet it: a model of random weights whose vectors have 8 numbers and
// whose texts have 8 tokens at most.
#include <doctest/doctest.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tests/serve/batch_model.h"

using namespace serve_test;

namespace {

struct EmbeddingModels : Models {
  EmbeddingModels() {
    const std::string to = root + "/embed/1";
    std::filesystem::create_directories(to);
    REQUIRE(std::system((INGOT_WRITE_CHAT_MODEL " " + to + "/model.ingot 48 embedding").c_str()) ==
            0);
  }
};

std::string embeddings(const std::string& input, const std::string& more = "") {
  return post("/v1/embeddings", "{\"model\":\"embed\",\"input\":" + input + more + "}");
}

/// What stands between both, from the nth time on that `from` does.
std::string part(const std::string& all, const std::string& from, const std::string& to,
                 int nth = 0) {
  size_t at = all.find(from);
  for (int i = 0; i < nth && at != std::string::npos; i++) at = all.find(from, at + 1);
  CAPTURE(all);
  REQUIRE(at != std::string::npos);
  const size_t begin = at + from.size();
  return all.substr(begin, all.find(to, begin) - begin);
}

/// Numbers as JSON, of floats in base64.
std::string numbers_of(const std::string& base64) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes, text;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : base64) {
    if (c == '=') break;
    bits = bits << 6 | uint32_t(kDigits.find(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += char(bits >> count);
  }
  for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    float value = 0;
    std::memcpy(&value, bytes.data() + i, 4);
    char digits[40];
    if (i) text += ',';
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  return text;
}

}  // namespace

TEST_CASE("embeddings: texts and tokens, as numbers and in base64") {
  const EmbeddingModels models;
  ServerProcess server({models.root});
  const uint16_t port = server.port();
  CHECK(has(ask(port, get("/v1/models")), "\"id\":\"embed\""));
  CHECK(status(ask(port, get("/v1/models/embed"))) == 200);
  Connection connection(port);
  const auto answer_to = [&](const std::string& request) {
    connection.send(request);
    const std::string answer = connection.answer();
    CHECK(status(answer) == 200);
    return answer;
  };
  const std::string one = answer_to(embeddings("\"ab\"", ",\"encoding_format\":\"float\""));
  const std::string vector = part(one, "\"embedding\":[", "]");
  CHECK(std::count(vector.begin(), vector.end(), ',') == 7);
  CHECK(has(one, "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\",\"index\":0,"));
  CHECK(has(one, "\"model\":\"embed\",\"usage\":{\"prompt_tokens\":3,\"total_tokens\":3}}"));
  CHECK(numbers_of("AACAPwAAAMA=") == "1,-2");
  const std::string packed = answer_to(embeddings("\"ab\"", ",\"encoding_format\":\"base64\""));
  CHECK(numbers_of(part(packed, "\"embedding\":\"", "\"")) == vector);
  // of texts, each as if it were alone; <s> a b
  const std::string three = answer_to(embeddings("[\"c\",\"ab\",\"ab\"]", ",\"dimensions\":8"));
  CHECK(part(three, "\"embedding\":[", "]", 0) != vector);
  CHECK(part(three, "\"embedding\":[", "]", 1) == vector);
  CHECK(part(three, "\"embedding\":[", "]", 2) == vector);
  CHECK(has(three, "\"usage\":{\"prompt_tokens\":8,"));
  CHECK(part(answer_to(embeddings("[1,6,7]")), "\"embedding\":[", "]") == vector);
  const std::string lists = answer_to(embeddings("[[1,8],[1,6,7]]", ",\"user\":\"u\""));
  CHECK(part(lists, "\"embedding\":[", "]", 1) == vector);
  const std::string infer = ask(port, post("/v2/models/embed/infer",
                                           "{\"inputs\":[{\"name\":\"tokens\",\"shape\":[1,3],"
                                           "\"datatype\":\"INT32\",\"data\":[1,6,7]}]}"));
  CHECK(part(infer, "\"data\":[", "]") == vector);
  CHECK(server.end() == 0);
}

TEST_CASE("embeddings: what is wrong is reported, and others go on") {
  const EmbeddingModels models;
  ServerProcess server({models.root});
  const uint16_t port = server.port();
  std::string texts = "[\"a\"";
  for (int i = 0; i < 2048; i++) texts += ",\"a\"";
  const std::vector<RefusedCase> cases = {
      {embeddings("[]"), 400, "expected a text, a list", "input"},
      {embeddings("\"\""), 400, "an empty text", "input"},
      {embeddings("[\"a\",\"\"]"), 400, "an empty text", "input"},
      {embeddings("[[]]"), 400, "without a token", "input"},
      {embeddings("7"), 400, "expected a text, a list", "input"},
      {embeddings("[null]"), 400, "expected texts, or lists", "input"},
      {embeddings("[1,\"a\"]"), 400, "0 to 288", "input"},
      {embeddings("[289]"), 400, "0 to 288", "input"},
      {embeddings("[-1]"), 400, "0 to 288", "input"},
      {embeddings("\"abcdefgh\""), 400, "9 tokens, the context of model 'embed' has room for 8",
       "input"},
      {embeddings(texts + "]"), 400, "2049 texts, at most 2048", "input"},
      {embeddings("\"a\"", ",\"dimensions\":4"), 400, "have 8 numbers", "dimensions"},
      {embeddings("\"a\"", ",\"encoding_format\":\"int8\""), 400, "\\\"float\\\" or",
       "encoding_format"},
      {embeddings("\"a\"", ",\"frobnicate\":1"), 400, "'frobnicate' is not supported",
       "frobnicate"},
      {post("/v1/embeddings", "{\"model\":\"embed\"}"), 400, "'input': is missing", "input"},
      {post("/v1/embeddings", "{}"), 400, "the name of a model", "model"},
      {post("/v1/embeddings", "{\"model\":\"batch\",\"input\":\"a\"}"), 404,
       "gives no embeddings: it has no input 'tokens'", "model"},
      {post("/v1/embeddings", "{\"model\":\"none\",\"input\":\"a\"}"), 404, "unknown", "model"},
      {post("/v1/completions", "{\"model\":\"embed\",\"prompt\":\"a\"}"), 404, "gives no text",
       "model"},
      {get("/v1/embeddings"), 405, "expected POST", ""},
      {post("/v1/none", ""), 404, "/v1/embeddings", ""},
  };
  check_refused(port, cases);
  CHECK(has(ask(port, embeddings("\"abcdefgh\"")), "\"code\":\"context_length_exceeded\""));
  CHECK(status(ask(port, embeddings("\"a\""))) == 200);
  CHECK(server.end() == 0);
}
