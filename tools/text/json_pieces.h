// SPDX-License-Identifier: Apache-2.0
// tools/text/json_pieces.h - strings, numbers and any value of JSON as parts of a grammar.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "tools/text/grammar.h"

namespace ingot::grammar {

class JsonPieces {
 public:
  explicit JsonPieces(Grammar* grammar) : g_(*grammar) {}

  // Rules of their own, each made when it is asked for first.
  ExprId space();   // between two parts, on a new line too
  ExprId string();  // any
  ExprId integer();
  ExprId number(bool is_negative_allowed = true);
  ExprId value();
  ExprId object();  // any

  /// Any character of a string, as JSON writes it.
  ExprId character();
  /// One of the set, as JSON writes it.
  ExprId character_of(const CodeSet& set);
  ExprId quoted(ExprId content) { return g_.sequence({quote(), content, quote()}); }
  ExprId boolean() { return g_.choice({g_.bytes("true"), g_.bytes("false")}); }
  ExprId digits(uint32_t least, uint32_t most) { return g_.repeat(digit('0', '9'), least, most); }
  ExprId digit(char low, char high) { return g_.set({{uint32_t(low), uint32_t(high)}}); }
  /// A whole number in [low, high]. @pre low <= high
  ExprId integer_between(std::optional<int64_t> low, std::optional<int64_t> high);
  /// A name, which is plain text without escapes, that is none of these.
  ExprId other_name(std::vector<std::string> names);
  /// `"name": `
  ExprId name(ExprId quoted_name) {
    return g_.sequence({quoted_name, g_.bytes(":"), g_.optional(g_.bytes(" "))});
  }
  ExprId separator() { return g_.sequence({g_.bytes(","), space()}); }
  /// `{}`, or members between the brackets. @param content  of any number of them
  ExprId braces(ExprId content) {
    return g_.sequence({g_.bytes("{"), space(), content, g_.bytes("}")});
  }
  ExprId brackets(ExprId content) {
    return g_.sequence({g_.bytes("["), space(), content, g_.bytes("]")});
  }
  /// Of a string: "date", "time", "date-time", "uuid". False: not known.
  bool format(const std::string& name, ExprId* out);

 private:
  ExprId quote() { return g_.bytes("\""); }
  ExprId hex() { return g_.set({{'0', '9'}, {'A', 'F'}, {'a', 'f'}}); }
  ExprId between(const std::string& low, const std::string& high);
  ExprId whole_between(uint64_t low, uint64_t high);
  ExprId names_behind(const std::vector<std::string>& names, size_t first, size_t last,
                      size_t depth, ExprId tail);
  ExprId date();
  ExprId time();
  template <class Make>
  ExprId once(const char* name, Make make);

  Grammar& g_;
  std::map<std::string, uint32_t> made_;
};

}  // namespace ingot::grammar
