// SPDX-License-Identifier: Apache-2.0
// tests/serve/language_models.h - a repository with language models of random weights beside the
// model of batch_model.h, and what answers are read with.
#pragma once
#include <filesystem>

#include "tests/serve/batch_model.h"

namespace serve_test {

/// "chat" has a context of 48 tokens, "long" of 60,000, which take half a minute; "batch" is none.
struct LanguageModels : Models {
  LanguageModels() {
    write("chat", "48");
    write("long", "60000");
  }
  void write(const std::string& name, const std::string& context) const {
    const std::string to = root + "/" + name + "/1";
    std::filesystem::create_directories(to);
    REQUIRE(std::system((INGOT_WRITE_CHAT_MODEL " " + to + "/model.ingot " + context).c_str()) ==
            0);
  }
};

inline std::string text_between(const std::string& all, const std::string& from,
                                const std::string& to) {
  const size_t at = all.find(from);
  CAPTURE(all);
  REQUIRE(at != std::string::npos);
  const size_t begin = at + from.size();
  return all.substr(begin, all.find(to, begin) - begin);
}

/// The texts of a stream's events, one behind another.
inline std::string streamed(const std::string& answer, const std::string& key) {
  std::string all;
  for (size_t at = 0; (at = answer.find(key, at)) != std::string::npos;) {
    at += key.size();
    const size_t end = answer.find('"', at);  // no test's text has one
    all += answer.substr(at, end - at);
  }
  return all;
}

/// `\"` in the place of each `'`.
inline std::string quoted(std::string text, const std::string& quote = "\"") {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += quote.size())
    text.replace(at, 1, quote);
  return text;
}

}  // namespace serve_test
