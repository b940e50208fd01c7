// SPDX-License-Identifier: Apache-2.0
// Renders chat templates as a converted file has them, for tests/text/chat_templates.py: a JSON
// list of {"template", "inputs": [..], "now": [year, month, day, hour, minute, second]} on standard
// input; on standard output a list of {"refused"}, or of {"answers": [{"text"} or {"error"}]}.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "tests/text/small_vocabularies.h"
#include "tools/files/failure.h"
#include "tools/text/rendered_chat.h"

using namespace ingot;
using Json = nlohmann::ordered_json;

namespace {

Json render(const Json& asked) {
  test::Vocabulary v = test::byte_vocabulary({});
  v.chat = chat::chat_template_of(asked.at("template").get<std::string>(), "template");
  const vocabulary::LoadedTokenizer tokenizer = test::loaded(v);
  if (!v.chat.refused.empty()) return {{"refused", v.chat.refused}};
  const auto& at = asked.at("now");
  const text::LocalTime now = {at[0], at[1], at[2], at[3], at[4], at[5]};
  Json answers = Json::array();
  for (const Json& inputs : asked.at("inputs")) {
    try {
      answers.push_back({{"text", chat::render_chat(tokenizer.chat(), inputs, now, "template")}});
    } catch (const host::Failure& failure) {
      answers.push_back({{"error", failure.message()}});
    }
  }
  return {{"answers", answers},
          {"instructions", v.chat.program.code.size()},
          {"functions", v.chat.program.functions.size()}};
}

}  // namespace

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  Json all = Json::array();
  for (const Json& asked : Json::parse(text)) all.push_back(render(asked));
  puts(all.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return 0;
}
