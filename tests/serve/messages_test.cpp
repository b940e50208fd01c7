// SPDX-License-Identifier: Apache-2.0
// Anthropic's path as requests meet it: each answer is that of /v1/chat/completions to the same
// question.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/serve/language_models.h"

using namespace serve_test;

namespace {

const std::string kMessages = "/v1/messages", kCount = "/v1/messages/count_tokens";
const std::string kUserHi = quoted("'messages':[{'role':'user','content':'hi'}]");

/// `'` stands for `"`.
std::string message(const std::string& more, const std::string& model = "chat") {
  return post(kMessages, quoted("{'model':'" + model + "','max_tokens':5,'temperature':0," +
                                kUserHi + more + "}"));
}

std::string stream_of(uint16_t port, const std::string& request) {
  Connection connection(port);
  connection.send(request);
  return connection.until("\r\n0\r\n\r\n");
}

/// The kinds of events, one behind another.
std::string kinds_of(const std::string& events) {
  std::string kinds;
  for (size_t at = 0; (at = events.find("event: ", at)) != std::string::npos;) {
    at += 7;
    const std::string kind = events.substr(at, events.find('\n', at) - at);
    if (kind == "content_block_delta" && kinds.size() > 20 &&
        kinds.compare(kinds.size() - 20, 20, "content_block_delta ") == 0)
      continue;
    kinds += kind + " ";
  }
  return kinds;
}

const std::string kMessageTool =
    ",'tools':[{'name':'f','description':'d','input_schema':{'type':'object','properties':{"
    "'x':{'enum':[12,null]}},'required':['x']},'cache_control':{'type':'ephemeral'}}]";

}  // namespace

TEST_CASE("messages: one document, the same as events, and the number of tokens") {
  const LanguageModels models;
  ServerProcess server({models.root});
  const uint16_t port = server.port();
  const std::string chat =
      ask(port, post("/v1/chat/completions",
                     quoted("{'model':'chat','max_tokens':5,'temperature':0," + kUserHi + "}")));
  const std::string said = text_between(chat, "\"content\":\"", "\"");
  REQUIRE_FALSE(said.empty());
  const std::string whole = ask(port, message(""));
  CHECK(status(whole) == 200);
  CHECK(has(whole, quoted("'type':'message','role':'assistant','model':'chat','content':[{"
                          "'type':'text','text':'") +
                       said + "\"}]"));
  CHECK(has(whole, quoted("'stop_reason':'max_tokens','stop_sequence':null")));
  CHECK(has(whole, quoted("'usage':{'input_tokens':1,'cache_creation_input_tokens':0,"
                          "'cache_read_input_tokens':3,'output_tokens':5}")));
  const std::string events = stream_of(port, message(",'stream':true"));
  CHECK(has(events, "Content-Type: text/event-stream"));
  CHECK(kinds_of(events) ==
        "message_start content_block_start content_block_delta content_block_stop message_delta "
        "message_stop ");
  CHECK(streamed(events, "\"text_delta\",\"text\":\"") == said);
  CHECK(has(events, quoted("'content':[],'stop_reason':null,'stop_sequence':null,'usage':{"
                           "'input_tokens':1,")));
  CHECK(has(events, quoted("'delta':{'stop_reason':'max_tokens','stop_sequence':null},'usage':{"
                           "'input_tokens':1,")));
  const std::string blocks = ask(
      port, post(kMessages,
                 quoted("{'model':'chat','max_tokens':5,'temperature':0,'metadata':{'user_id':'x'},"
                        "'thinking':{'type':'disabled'},'messages':[{'role':'user','content':[{"
                        "'type':'text','text':'h','cache_control':{'type':'ephemeral'}},{"
                        "'type':'text','text':'i'}]}]}"),
                 "anthropic-version: 2023-06-01\r\nx-api-key: none\r\n"));
  CHECK(text_between(blocks, "\"text\":\"", "\"") == said);
  // a bias makes the answer, so that the stop text is in it
  const std::string stopped =
      ask(port, message(",'logit_bias':{'6':100},'stop_sequences':['x','aa'],'top_k':1"));
  CHECK(has(stopped, quoted("'text':''}],'stop_reason':'stop_sequence','stop_sequence':'aa'")));
  CHECK(has(stream_of(port, message(",'logit_bias':{'2':100},'stream':true")),
            quoted("'stop_reason':'end_turn'")));
  CHECK(text_between(ask(port, post(kCount, quoted("{'model':'chat'," + kUserHi + "}"))),
                     "\r\n\r\n", "\n") == "{\"input_tokens\":4}");
  CHECK(server.end() == 0);
}

TEST_CASE("messages: systems, calls of tools and their results are those of a chat") {
  const LanguageModels models;
  ServerProcess server({models.root});
  const uint16_t port = server.port();
  const auto counted = [&](const std::string& messages) {
    return text_between(
        ask(port, post(kCount, quoted("{'model':'long'," + messages + kMessageTool + "}"))),
        "\"input_tokens\":", "}");
  };
  const std::string prompt = text_between(
      ask(port,
          post("/v1/chat/completions",
               quoted("{'model':'long','max_tokens':1,'messages':[{'role':'system','content':'ab'},"
                      "{'role':'user','content':'hi'},{'role':'assistant','content':'call'},"
                      "{'role':'tool','content':'result'},{'role':'user','content':'and'}]}"))),
      "\"prompt_tokens\":", ",");
  CHECK(counted("'system':[{'type':'text','text':'a'},{'type':'text','text':'b'}],'messages':["
                "{'role':'user','content':'hi'},{'role':'assistant','content':[{'type':'text',"
                "'text':'call'},{'type':'tool_use','id':'t','name':'f','input':{'x':12}}]},"
                "{'role':'user','content':[{'type':'tool_result','tool_use_id':'t','content':[{"
                "'type':'text','text':'result'}]},{'type':'text','text':'and'}]}]") == prompt);
  // A call that is required, whole and streamed.
  for (const char* choice : {"{'type':'any'}", "{'type':'tool','name':'f'}"}) {
    const std::string more = kMessageTool + ",'max_tokens':200,'tool_choice':" + choice;
    const auto request = [&](const std::string& last) {
      return post(kMessages, quoted("{'model':'long','temperature':0," + kUserHi + more + last));
    };
    const std::string call = ask(port, request("}"));
    CHECK(has(call, quoted("'content':[{'type':'tool_use','id':'toolu_")));
    CHECK(has(call, quoted("'name':'f','input':{'x':")));
    CHECK(has(call, quoted("'stop_reason':'tool_use','stop_sequence':null")));
    const std::string events = stream_of(port, request(",'stream':true}"));
    CHECK(kinds_of(events) ==
          "message_start content_block_start content_block_delta content_block_stop message_delta "
          "message_stop ");
    CHECK(has(events, quoted("'name':'f','input':{}}")));
    CHECK(has(events, quoted("'type':'input_json_delta','partial_json':'{\\'x\\':")));
    CHECK(has(events, quoted("'stop_reason':'tool_use'")));
  }
  const std::string formed = ",'output_config':{'format':{'type':'json_schema','schema':{'const':";
  CHECK(has(ask(port, post(kMessages, quoted("{'model':'long','max_tokens':20," + kUserHi + formed +
                                             "'ab'}}}}"))),
            "\"text\":\"\\\"ab\\\"\"}],\"stop_reason\":\"end_turn\""));
  // What the model wrote before a call is a block of its own; arguments that are no object make
  // no call.
  const auto written = [&](const std::string& arguments, const char* more) {
    const std::string text =
        quoted("ab<tool_call>{'name':'f','arguments':" + arguments + "}</tool_call>", "\\\\\\\"");
    return post(kMessages, quoted("{'model':'long','max_tokens':99," + kUserHi + kMessageTool +
                                  more + ",'grammar':'root ::= ") +
                               "\\\"" + text + "\\\"\"}");
  };
  const std::string two = quoted("[{'type':'text','text':'ab'},{'type':'tool_use','id':'toolu_");
  CHECK(has(ask(port, written("{}", "")), two));
  const std::string events = stream_of(port, written("{}", ",'stream':true"));
  CHECK(kinds_of(events) ==
        "message_start content_block_start content_block_delta content_block_stop "
        "content_block_start content_block_delta content_block_stop message_delta message_stop ");
  CHECK(!has(events, "<tool_call"));
  CHECK(has(ask(port, written("'7'", "")), "\"text\":\"ab<tool_call>{"));
  CHECK(server.end() == 0);
}

TEST_CASE("messages: what is wrong with a request has a number, a kind and a line") {
  const LanguageModels models;
  const std::string token = models.folder / "token.txt";
  std::ofstream(token) << "abcdefghi\n";
  ServerProcess server({models.root, "--token-file", token});
  const uint16_t port = server.port();
  const auto content = [](const std::string& block) {
    return "{'model':'chat','max_tokens':5,'messages':[{'role':'user','content':[" + block + "]}]}";
  };
  const auto more = [](const std::string& field) {
    return "{'model':'chat','max_tokens':5," + kUserHi + "," + field + "}";
  };
  struct Case {
    std::string body;
    int status;
    const char *kind, *text;
  };
  const char *const invalid = "invalid_request_error", *const unknown = "not_found_error";
  const std::vector<Case> cases = {
      {"[]", 400, invalid, "expected a JSON object"},
      {"{'max_tokens':1}", 400, invalid, "'model': is missing"},
      {"{'model':'none'}", 404, unknown, "model 'none' is unknown"},
      {"{'model':'batch'}", 404, unknown, "gives no text"},
      {"{'model':'chat'," + kUserHi + "}", 400, invalid, "'max_tokens': is missing"},
      {"{'model':'chat','max_tokens':1}", 400, invalid, "'messages': is missing"},
      {"{'model':'chat','max_tokens':1,'messages':[]}", 400, invalid, "a list of messages"},
      {"{'model':'chat','max_tokens':1,'messages':[7]}", 400, invalid, "'messages[0]': expected"},
      {"{'model':'chat','max_tokens':1,'messages':[{'role':'system','content':''}]}", 400, invalid,
       "'messages[0].role': expected user or assistant"},
      {"{'model':'chat','max_tokens':1,'messages':[{'role':'assistant','content':'a'}]}", 400,
       invalid, "to continue an answer is not supported"},
      {"{'model':'chat','max_tokens':1,'messages':[{'role':'user'}]}", 400, invalid,
       "'messages[0].content': is missing"},
      {content("{'type':'image','source':{}}"), 400, invalid,
       "'messages[0].content[0]' is not supported: a block of type 'image'"},
      {content("{'type':'text'}"), 400, invalid, "'messages[0].content[0].text': is missing"},
      {content("{'type':'tool_use','id':'a','name':'f','input':{}}"), 400, invalid,
       "a block of type 'tool_use' from the user"},
      {content("{'type':'tool_result'}"), 400, invalid, "tool_use_id': is missing"},
      {content("{'type':'tool_result','tool_use_id':'a','content':[{'type':'image'}]}"), 400,
       invalid, "a part of type 'image', expected text"},
      {more("'system':7"), 400, invalid, "'system': expected a text"},
      {more("'stop_sequences':['']"), 400, invalid, "'stop_sequences': an empty text"},
      {more("'stop':'a'"), 400, invalid, "'stop' is not supported"},
      {more("'logprobs':true"), 400, invalid, "'logprobs' is not supported"},
      {more("'output_config':{'effort':'low'}"), 400, invalid,
       "'output_config.format': is missing"},
      {more("'output_config':{'format':{'type':'json_schema','schema':{'type':'frob'}}}"), 400,
       invalid, "'output_config': "},
      {more("'thinking':{'type':'enabled'}"), 400, invalid, "'thinking' is not supported"},
      {more("'tools':[{'name':'f'}]"), 400, invalid, "'tools[0].input_schema': is missing"},
      {more("'tools':[{'type':'bash_20250124','name':'bash'}]"), 400, invalid, "'tools[0].type'"},
      {more("'tool_choice':{'type':'any'}"), 400, invalid, "expected 'tools'"},
      {more("'tool_choice':'auto'"), 400, invalid, "'tool_choice': expected an object"},
      {more("'temperature':-1"), 400, invalid, "a number from 0 to 100"},
      {more("'frobnicate':1"), 400, invalid, "'frobnicate' is not supported"},
  };
  const std::string key = "x-api-key: abcdefghi\r\n";
  for (const Case& c : cases) {
    const std::string answer = ask(port, post(kMessages, quoted(c.body), key));
    CAPTURE(c.body);
    CAPTURE(answer);
    CHECK(status(answer) == c.status);
    CHECK(has(answer,
              quoted("{'type':'error','error':{'type':'" + std::string(c.kind) + "','message':'")));
    CHECK(has(answer, c.text));
  }
  const std::string bearer = "Authorization: Bearer abcdefghi\r\n";
  CHECK(status(ask(port, post(kCount, quoted(more("'top_k':1")), bearer))) == 200);
  for (const char* wrong :
       {"", "x-api-key: abcdefghj\r\n", "Authorization: Bearer no\r\nx-api-key: abcdefghi\r\n"}) {
    const std::string answer = ask(port, post(kMessages, quoted(more("'top_k':1")), wrong));
    CHECK(status(answer) == 401);
    CHECK(has(answer, "authentication_error"));
  }
  CHECK(status(ask(port, get(kMessages, key))) == 405);
  CHECK(status(ask(port, post("/v1/messages/none", "{}", key))) == 404);
  CHECK(server.end() == 0);
}
