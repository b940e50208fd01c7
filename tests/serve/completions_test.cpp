// SPDX-License-Identifier: Apache-2.0
// OpenAI's paths as requests meet them: a language model of random weights, whose answers are long
// where they are to be, and the same each time.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/serve/language_models.h"

using namespace serve_test;

namespace {

const std::string kChat = "/v1/chat/completions", kText = "/v1/completions";
const std::string kHi = "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]";
const std::string kEndless =
    "{\"model\":\"long\",\"prompt\":\"hi\",\"max_tokens\":59000,\"ignore_eos\":true,"
    "\"temperature\":0";

std::string chat(const std::string& more) {
  return post(kChat, "{\"model\":\"chat\"," + kHi + (more.empty() ? "" : "," + more) + "}");
}

/// The value of a metric of the model "long".
std::string metric(Connection& asks, const std::string& name) {
  asks.send(get("/metrics"));
  const std::string all = asks.answer();
  const size_t at = all.find("\n" + name);
  REQUIRE(at != std::string::npos);
  const size_t space = all.find(' ', at);
  return all.substr(space + 1, all.find('\n', space) - space - 1);
}

void await_metric(Connection& asks, const std::string& name, const std::string& value) {
  for (int i = 0; i < 12000; i++) {
    if (metric(asks, name) == value) return;
    usleep(5000);
  }
  FAIL("a minute without " << name << " " << value);
}

const std::string kRunning = "ingot_running_answers{model=\"long\",version=\"1\"}";
const std::string kQueued = "ingot_queued_answers{model=\"long\",version=\"1\"}";
const std::string kCancelled =
    "ingot_answers_total{model=\"long\",version=\"1\",result=\"cancelled\"}";

}  // namespace

TEST_CASE("completions: one document, and the same answer as events") {
  const LanguageModels models;
  ServerProcess server({models.root, "--slots", "2"});
  const uint16_t port = server.port();
  const std::string list = ask(port, get("/v1/models"));
  struct stat file {};
  REQUIRE(stat((models.root + "/chat/1/model.ingot").c_str(), &file) == 0);
  CHECK(has(list, "{\"id\":\"chat\",\"object\":\"model\",\"created\":" +
                      std::to_string(file.st_mtime) + ",\"owned_by\":\"ingot\"}"));
  CHECK(has(list, "\"id\":\"long\""));
  CHECK_FALSE(has(list, "\"id\":\"batch\""));
  CHECK(status(ask(port, get("/v1/models/chat"))) == 200);
  CHECK(status(ask(port, get("/v1/models/chat@1"))) == 200);

  const std::string whole = ask(port, chat("\"temperature\":0,\"max_tokens\":5"));
  CHECK(status(whole) == 200);
  CHECK(has(whole, "\"object\":\"chat.completion\""));
  CHECK(has(whole, "\"finish_reason\":\"length\""));
  CHECK(has(whole, "\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":5,\"total_tokens\":9,"));
  const std::string said = text_between(whole, "\"content\":\"", "\"");
  CHECK_FALSE(said.empty());

  Connection connection(port);
  for (const bool includes_usage : {true, false}) {  // on one connection, which stays open
    connection.send(
        chat(std::string("\"temperature\":0,\"max_completion_tokens\":5,\"stream\":true") +
             (includes_usage ? ",\"stream_options\":{\"include_usage\":true}" : "")));
    const std::string events = connection.until("\r\n0\r\n\r\n");
    CHECK(status(events) == 200);
    CHECK(has(events, "Content-Type: text/event-stream"));
    CHECK(has(events, "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"));
    CHECK(streamed(events, "\"delta\":{\"content\":\"") == said);
    CHECK(has(events, "\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\""));
    CHECK(has(events, "\"choices\":[],\"usage\":{\"prompt_tokens\":4") == includes_usage);
    CHECK(has(events, "data: [DONE]\n\n"));
  }
  Connection old(port);
  std::string request = chat("\"temperature\":0,\"max_tokens\":5,\"stream\":true");
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  old.send(request);
  const std::string plain = old.until("[DONE]\n\n");
  CHECK_FALSE(has(plain, "chunked"));
  CHECK(streamed(plain, "\"delta\":{\"content\":\"") == said);
  CHECK(old.is_closed_within(20000));

  const std::string parts =
      ask(port, post(kChat,
                     "{\"model\":\"chat@1\",\"temperature\":0,\"max_tokens\":5,\"messages\":[{"
                     "\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"h\"},{"
                     "\"type\":\"text\",\"text\":\"i\"}]}]}"));
  CHECK(text_between(parts, "\"content\":\"", "\"") == said);
  const std::string text =
      ask(port, post(kText,
                     "{\"model\":\"chat\",\"prompt\":[[4,13,14,5]],\"max_tokens\":5,"
                     "\"temperature\":0,\"logprobs\":1}"));
  CHECK(text_between(text, "\"text\":\"", "\"") == said);  // the ids of the chat's prompt
  CHECK(has(text, "\"text_offset\":[0,"));
  CHECK(has(text, "\"prompt_tokens\":4"));
  const auto drawn = [&](const char* seed) {
    return text_between(ask(port, chat("\"max_tokens\":20,\"seed\":" + std::string(seed))),
                        "\"content\":", ",\"refusal\"");
  };
  CHECK(drawn("7") == drawn("7"));
  CHECK(drawn("7") != drawn("8"));
  CHECK(drawn("-7") == drawn("-7"));
  CHECK(text_between(ask(port, chat("\"max_tokens\":2,\"logit_bias\":{\"6\":100}")),
                     "\"content\":", ",\"refusal\"") == "\"aa\"");
  const std::string stopped =
      ask(port, chat("\"logit_bias\":{\"6\":100},\"stop\":[\"x\",\"aa\"],\"logprobs\":true,"
                     "\"top_logprobs\":2"));
  CHECK(has(stopped, "\"content\":\"\""));
  CHECK(has(stopped, "\"finish_reason\":\"stop\""));
  CHECK(has(stopped, "\"token\":\"a\",\"logprob\":"));
  CHECK(has(stopped, "\"bytes\":[97]"));
  // what clients send out of habit
  CHECK(status(ask(port, chat("\"user\":\"me\",\"n\":1,\"tools\":[],\"tool_choice\":\"none\","
                              "\"response_format\":{\"type\":\"text\"},\"stop\":null,"
                              "\"metadata\":{},\"top_p\":1,\"presence_penalty\":0"))) == 200);
  CHECK(has(ask(port, chat("\"chat_template_kwargs\":{\"mood\":\"!\"}")), "\"prompt_tokens\":5"));
  CHECK(has(ask(port, get("/metrics")), "ingot_slots{model=\"chat\",version=\"1\"} 2\n"));
  CHECK(goes_on(port));
  CHECK(server.end() == 0);
}

const std::string kTool =
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":"
    "\"object\",\"properties\":{\"x\":{\"enum\":[12,null]}},\"required\":[\"x\"]}}}]";

std::string schema_field(const std::string& schema) {
  return "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":" + schema +
         "}}";
}

/// By the model with room for it, the most probable tokens.
std::string long_chat(const std::string& more) {
  return post(kChat, "{\"model\":\"long\",\"temperature\":0," + kHi + "," + more + "}");
}

TEST_CASE("completions: answers by schemas and grammars, calls of tools") {
  const LanguageModels models;
  ServerProcess server({models.root});
  const uint16_t port = server.port();
  const auto content = [&](const std::string& more) {
    const std::string answer = ask(port, long_chat(more));
    CHECK(has(answer, "\"finish_reason\":\"stop\""));
    return text_between(answer, "\"content\":", ",\"refusal\"");
  };
  CHECK(content(schema_field("{\"const\":\"ab\"}")) == "\"\\\"ab\\\"\"");
  CHECK(content("\"grammar\":\"root ::= [x-z]{30}\"").size() == 32);
  const std::string object = content(
      "\"response_format\":{\"type\":\"json_object\"},\"max_tokens\":40,"
      "\"logit_bias\":{\"158\":100}");  // }
  CHECK(has(object, "}"));
  const auto stream = [&](const std::string& request) {
    Connection connection(port);
    connection.send(request);
    return connection.until("\r\n0\r\n\r\n");
  };
  // A call that is required, whole and streamed.
  for (const char* choice :
       {"\"required\"", "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"}) {
    const std::string call = ask(port, long_chat(kTool + ",\"tool_choice\":" + choice));
    CHECK(has(call, "\"content\":null,\"tool_calls\":[{\"id\":\"call_"));
    CHECK(has(call, "\"function\":{\"name\":\"f\",\"arguments\":\"{"));
    CHECK(has(call, "\"finish_reason\":\"tool_calls\""));
    const std::string events =
        stream(long_chat("\"stream\":true," + kTool + ",\"tool_choice\":" + choice));
    CHECK(has(events, "\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_"));
    CHECK(has(events, "\"finish_reason\":\"tool_calls\""));
    CHECK(text_between(call, "\"arguments\":", "}}],\"refusal\"") ==
          text_between(events, "\"arguments\":", "}}]},\"logprobs\""));
  }
  // One that the model wrote: what stands before it is content. Another name is content, too.
  const auto asked = [&](const std::string& text, const char* more) {
    return long_chat(kTool + more + ",\"grammar\":\"root ::= \\\"" + text + "\\\"\"");
  };
  const auto tagged = [](const std::string& name) {
    return "ab<tool_call>{'name':'" + name + "','arguments':{}}</tool_call>";
  };
  const auto in_grammar = [](const std::string& text) { return quoted(text, "\\\\\\\""); };
  const std::string called = ask(port, asked(in_grammar(tagged("f")), ""));
  CHECK(has(called, "\"content\":\"ab\",\"tool_calls\":"));
  CHECK(has(called, "\"arguments\":\"{}\""));
  const std::string events = stream(asked(in_grammar(tagged("f")), ",\"stream\":true"));
  CHECK(has(events, "\"delta\":{\"tool_calls\":"));
  CHECK(!has(events, "<tool_call"));
  CHECK(has(ask(port, asked(in_grammar(tagged("g")), "")), "\"content\":\"ab<tool_call>"));
  CHECK(has(ask(port, asked(in_grammar(tagged("f")), ",\"tool_choice\":\"none\"")),
            "\"content\":\"ab<tool_call>"));
  CHECK(server.end() == 0);
}

TEST_CASE("completions: what is wrong with a request has a number, a field and a line") {
  const LanguageModels models;
  ServerProcess server({models.root});
  const uint16_t port = server.port();
  std::string stops = "\"stop\":[\"b\"";
  for (int i = 1; i < 100000; i++) stops += ",\"b\"";
  const std::vector<RefusedCase> cases = {
      {post(kChat, ""), 400, "no sound JSON", ""},
      {post(kChat, "[]"), 400, "expected a JSON object", ""},
      {post(kChat, "{\"model\":\"\xff\"}"), 400, "the body is not UTF-8", ""},
      {post(kChat, std::string(1000, '[')), 400, "nests more than 24 levels", ""},
      {post(kChat, "{\"model\":\"chat\",\"model\":\"chat\"}"), 400, "key 'model' is there twice",
       ""},
      {post(kChat, "{}"), 400, "'model': is missing", "model"},
      {post(kChat, "{\"model\":7}"), 400, "'model': expected a text", "model"},
      {post(kChat, "{\"model\":\"none\"}"), 404, "model 'none' is unknown", "model"},
      {post(kChat, "{\"model\":\"chat@2\"}"), 404, "version 2 is not served", "model"},
      {post(kChat, "{\"model\":\"batch\"}"), 404, "gives no text: its file has no tokenizer",
       "model"},
      {post(kChat, "{\"model\":\"chat\"}"), 400, "'messages': is missing", "messages"},
      {post(kChat, "{\"model\":\"chat\",\"messages\":[]}"), 400, "a list of messages", "messages"},
      {post(kChat, "{\"model\":\"chat\",\"messages\":[{\"role\":\"user\"}]}"), 400, "is missing",
       "messages[0].content"},
      {post(kChat, "{\"model\":\"chat\",\"messages\":[{\"role\":\"tool\",\"tool_calls\":[{}]}]}"),
       400, "calls of a function", "messages[0].tool_calls"},
      {post(kChat,
            "{\"model\":\"chat\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
            "\"image_url\"}]}]}"),
       400, "a part of type 'image_url', expected text", "messages[0].content[0]"},
      {post(kChat, "{\"model\":\"chat\",\"messages\":[{\"role\":\"fool\",\"content\":\"\"}]}"), 400,
       "no fools", ""},
      {post(kChat, "{\"model\":\"chat\",\"messages\":[{\"role\":\"user\",\"content\":\"" +
                       std::string(100, 'a') + "\"}]}"),
       400, "has room for 48", ""},
      {post(kText, "{\"model\":\"chat\"}"), 400, "'prompt': is missing", "prompt"},
      {post(kText, "{\"model\":\"chat\",\"prompt\":[]}"), 400, "expected a text", "prompt"},
      {post(kText, "{\"model\":\"chat\",\"prompt\":[\"a\",\"b\"]}"), 400, "one prompt", "prompt"},
      {post(kText, "{\"model\":\"chat\",\"prompt\":[289]}"), 400, "from 0 to 288", "prompt"},
      {post(kText, "{\"model\":\"chat\",\"prompt\":\"a\",\"echo\":true}"), 400, "not supported",
       "echo"},
      {post(kText, "{\"model\":\"chat\",\"prompt\":\"a\",\"logprobs\":true}"), 400, "0 to 20",
       "logprobs"},
      {chat("\"temperature\":-1"), 400, "a number from 0 to 100", "temperature"},
      {chat("\"temperature\":\"1\""), 400, "a number from 0 to 100", "temperature"},
      {chat("\"top_k\":1.5"), 400, "an integer from 0", "top_k"},
      {chat("\"top_p\":2"), 400, "a number from 0 to 1", "top_p"},
      {chat("\"max_tokens\":0"), 400, "an integer from 1", "max_tokens"},
      {chat("\"max_tokens\":1,\"max_completion_tokens\":2"), 400, "another number",
       "max_completion_tokens"},
      {chat("\"n\":2"), 400, "expected 1", "n"},
      {chat("\"seed\":1.5"), 400, "expected an integer", "seed"},
      {chat("\"stream\":1"), 400, "true or false", "stream"},
      {chat("\"stream_options\":{\"include_usage\":true}"), 400, "expected 'stream'",
       "stream_options"},
      {chat("\"stop\":\"\""), 400, "an empty text", "stop"},
      {chat("\"stop\":[7]"), 400, "expected a text", "stop"},
      {chat("\"stop\":\"a\\u0000\""), 400, "a zero byte", "stop"},
      {chat(stops + "]"), 400, "100000 texts, at most 256", "stop"},
      {chat("\"stop\":\"" + std::string(40000, 'a') + "\""), 400, "32768", ""},
      {chat("\"logit_bias\":{\"289\":1}"), 400, "0 to 288", "logit_bias"},
      {chat("\"logit_bias\":{\"a\":1}"), 400, "'a' is no token", "logit_bias"},
      {chat("\"logit_bias\":{\"1\":101}"), 400, "-100 to 100", "logit_bias"},
      {chat("\"top_logprobs\":2"), 400, "expected 'logprobs'", "top_logprobs"},
      {chat("\"logprobs\":true,\"top_logprobs\":21"), 400, "0 to 20", "top_logprobs"},
      {chat("\"tools\":[{}]"), 400, "functions with a name", "tools"},
      {chat("\"tool_choice\":\"required\""), 400, "expected 'tools'", "tool_choice"},
      {chat("\"tool_choice\":\"some\""), 400, "auto, none, required", "tool_choice"},
      {chat(kTool + ",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"g\"}}"), 400,
       "there is no tool 'g'", "tool_choice"},
      {chat("\"response_format\":{\"type\":\"xml\"}"), 400, "'xml' is none of", "response_format"},
      {chat(schema_field("{\"not\":{}}")), 400, "#/not: 'not' is not supported", "response_format"},
      {chat(schema_field("{\"$ref\":\"#\"}")), 400, "leads back to itself", "response_format"},
      {chat(schema_field("false")), 400, "no text satisfies it", "response_format"},
      {chat("\"grammar\":\"root ::= x\""), 400, "there is no rule 'x'", "grammar"},
      {chat("\"ignore_eos\":true," + schema_field("{}")), 400, "expected false", "ignore_eos"},
      {chat("\"frobnicate\":1"), 400, "'frobnicate' is not supported", "frobnicate"},
      {get(kChat), 405, "expected POST", ""},
      {post("/v1/models", ""), 405, "expected GET", ""},
      {post("/v1/none", "{}"), 404, "there are /v1/models", ""},
      {get("/v1/models/none"), 404, "model 'none' is unknown", "model"},
      {post(kChat, std::string(5 << 20, ' ')), 413, "are a request to any model here", ""},
      {post(kChat, bomb("8000000"), "Content-Encoding: gzip\r\n"), 413, "a compressed body of more",
       ""},
      {post(kChat, "{}", "Origin: http://evil.example\r\n"), 403, "Origin", ""},
      {"POST " + kChat + " HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n", 403,
       "Host", ""},
  };
  check_refused(port, cases);
  CHECK(has(ask(port, post(kChat, "{\"model\":\"none\"}")), "\"code\":\"model_not_found\""));
  CHECK(has(ask(port, chat("\"temperature\":0,\"max_tokens\":1")), "\"completion_tokens\":1"));
  CHECK(server.end() == 0);
}

TEST_CASE("completions: a token is asked for, and slots may be left out") {
  const LanguageModels models;
  const std::string token = models.folder / "token.txt";
  std::ofstream(token) << "abcdefghi\n";
  ServerProcess server({models.root, "--token-file", token, "--slots", "0"});
  const uint16_t port = server.port();
  const std::string answer = ask(port, chat(""));
  CHECK(status(answer) == 401);
  CHECK(has(answer, "\"code\":\"invalid_api_key\""));
  CHECK(status(ask(port, get("/v1/models"))) == 401);
  const std::string with = "Authorization: Bearer abcdefghi\r\n";
  CHECK(has(ask(port, get("/v1/models", with)), "\"data\":[]"));
  CHECK(has(ask(port, post(kChat, "{\"model\":\"chat\"}", with)), "--slots 0"));
}

TEST_CASE("completions: a full queue, clients that go, and clients that do not read") {
  const LanguageModels models;
  ServerProcess server(
      {models.root, "--max-queued-answers", "1", "--request-seconds", "1", "--drain-seconds", "5"});
  const uint16_t port = server.port();
  Connection asks(port);
  {
    Connection runs(port), waits(port);
    runs.send(post(kText, kEndless + "}"));
    await_metric(asks, kRunning, "1");
    waits.send(post(kText, kEndless + ",\"stream\":true}"));
    await_metric(asks, kQueued, "1");
    const std::string refused = ask(port, post(kText, kEndless + "}"));
    CHECK(status(refused) == 429);
    CHECK(has(refused, "Retry-After: 1"));
    CHECK(has(refused, "\"type\":\"rate_limit_error\""));
    CHECK(has(refused, "1 requests wait for a slot already"));
    CHECK(status(ask(port, chat("\"max_tokens\":1"))) == 200);  // of another model
  }                                                             // both close
  await_metric(asks, kQueued, "0");
  await_metric(asks, kRunning, "0");
  CHECK(metric(asks, kCancelled) == "2");
  {
    Connection reads(port);
    reads.send(post(kText, kEndless + ",\"stream\":true}"));
    CHECK(has(reads.until("\n\n"), "text/event-stream"));
    CHECK(metric(asks, kRunning) == "1");
  }
  await_metric(asks, kRunning, "0");
  CHECK(metric(asks, kCancelled) == "3");
  Connection idles(port, 4096);  // and does not read
  idles.send(post(kText, kEndless + ",\"stream\":true,\"logprobs\":20}"));
  await_metric(asks, kRunning, "1");
  await_metric(asks, kRunning, "0");
  CHECK(metric(asks, kCancelled) == "4");
  CHECK(goes_on(port));
  CHECK(server.end() == 0);
}

TEST_CASE("completions: an answer beyond its time, and one beyond the server's end") {
  const LanguageModels models;
  ServerProcess server({models.root, "--max-answer-seconds", "1", "--drain-seconds", "20"});
  const uint16_t port = server.port();
  const std::string late = ask(port, post(kText, kEndless + "}"));
  CHECK(status(late) == 504);
  CHECK(has(late, "--max-answer-seconds"));
  Connection reads(port);
  reads.send(post(kText, kEndless + ",\"stream\":true}"));
  const std::string events = reads.until("\r\n0\r\n\r\n");
  CHECK(has(events, "\"finish_reason\":null"));
  CHECK(has(events, "data: {\"error\":{\"message\":\"the answer took longer than"));
  CHECK_FALSE(has(events, "[DONE]"));
  CHECK(reads.is_closed_within(20000));
  Connection asks(port), last(port);
  await_metric(asks, kRunning, "0");  // the one before may still count
  last.send(post(kText, kEndless + ",\"stream\":true}"));
  await_metric(asks, kRunning, "1");
  server.signal_end();
  const std::string drained = last.until("\r\n0\r\n\r\n");
  CAPTURE(drained.substr(drained.size() - std::min<size_t>(drained.size(), 500)));
  CHECK(has(drained, "data: {\"error\""));  // it had begun
  CHECK(server.wait() == 0);
}
