// SPDX-License-Identifier: Apache-2.0
#include "tools/text/json_pieces.h"

#include <algorithm>
#include <cstdio>

namespace ingot::grammar {
namespace {

constexpr uint32_t kMaxIndent = 20;
constexpr uint64_t kLargestInteger = 999999999999999;  // where no bound says another
const CodeSet kPlain = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0xd7ff}, {0xe000, kMaxCode}};

uint64_t power_of_ten(size_t exponent) {
  uint64_t power = 1;
  for (size_t i = 0; i < exponent; i++) power *= 10;
  return power;
}

}  // namespace

template <class Make>
ExprId JsonPieces::once(const char* name, Make make) {
  const auto [at, is_new] = made_.try_emplace(name, 0);
  if (is_new) {
    const uint32_t rule = at->second = g_.add_rule(name, true);
    g_.define(rule, make());
    return g_.call(rule);
  }
  return g_.call(at->second);
}

ExprId JsonPieces::space() {
  return once("space", [&] {
    const ExprId lines = g_.sequence({g_.bytes("\n"), g_.repeat(g_.bytes(" "), 0, kMaxIndent)});
    return g_.optional(g_.choice({g_.bytes(" "), lines}));
  });
}

ExprId JsonPieces::character() {
  // No escape of a surrogate: half of a pair is no character.
  const ExprId low =
      g_.sequence({g_.set({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}),
                   g_.repeat(hex(), 3, 3)});
  const ExprId high =
      g_.sequence({g_.set({{'D', 'D'}, {'d', 'd'}}), digit('0', '7'), g_.repeat(hex(), 2, 2)});
  const ExprId code = g_.sequence({g_.bytes("u"), g_.choice({low, high})});
  const CodeSet letters = sorted_set({{'"', '"'},
                                      {'\\', '\\'},
                                      {'/', '/'},
                                      {'b', 'b'},
                                      {'f', 'f'},
                                      {'n', 'n'},
                                      {'r', 'r'},
                                      {'t', 't'}});
  const ExprId escape = g_.sequence({g_.bytes("\\"), g_.choice({g_.set(letters), code})});
  return g_.choice({g_.set(kPlain), escape});
}

ExprId JsonPieces::character_of(const CodeSet& set) {
  std::vector<ExprId> parts;
  if (const CodeSet plain = common_set(set, kPlain); !plain.empty()) parts.push_back(g_.set(plain));
  for (const CodeRange& r : common_set(set, {{0, 0x1f}, {'"', '"'}, {'\\', '\\'}}))
    for (uint32_t code = r.low; code <= r.high; code++) {
      char text[8];
      const char* const letter = code == '\b'   ? "\\b"
                                 : code == '\f' ? "\\f"
                                 : code == '\n' ? "\\n"
                                 : code == '\r' ? "\\r"
                                 : code == '\t' ? "\\t"
                                 : code == '"'  ? "\\\""
                                 : code == '\\' ? "\\\\"
                                                : nullptr;
      snprintf(text, sizeof text, "\\u%04x", code);
      parts.push_back(g_.bytes(letter ? letter : text));
    }
  return g_.choice(std::move(parts));
}

ExprId JsonPieces::string() {
  return once("string", [&] { return quoted(g_.repeat(character(), 0, kUnbounded)); });
}

ExprId JsonPieces::integer() {
  return once("integer", [&] { return integer_between({}, {}); });
}

ExprId JsonPieces::number(bool is_negative_allowed) {
  return once(is_negative_allowed ? "number" : "positive number", [&] {
    const ExprId whole = g_.choice({g_.bytes("0"), g_.sequence({digit('1', '9'), digits(0, 14)})});
    const ExprId fraction = g_.sequence({g_.bytes("."), digits(1, 15)});
    const ExprId exponent =
        g_.sequence({g_.set({{'E', 'E'}, {'e', 'e'}}),
                     g_.optional(g_.set({{'+', '+'}, {'-', '-'}})), digits(1, 2)});
    std::vector<ExprId> parts = {whole, g_.optional(fraction), g_.optional(exponent)};
    if (is_negative_allowed) parts.insert(parts.begin(), g_.optional(g_.bytes("-")));
    return g_.sequence(std::move(parts));
  });
}

ExprId JsonPieces::object() {
  return once("object", [&] {
    Expr members;
    members.has_extra = true;
    members.extra = g_.sequence({name(string()), value()});
    members.separator = separator();
    members.behind = space();
    return braces(g_.members(std::move(members)));
  });
}

ExprId JsonPieces::value() {
  return once("value", [&] {
    const ExprId more = g_.repeat(g_.sequence({separator(), value()}), 0, kUnbounded);
    const ExprId array = brackets(g_.optional(g_.sequence({value(), more, space()})));
    return g_.choice({object(), array, string(), number(), boolean(), g_.bytes("null")});
  });
}

/// Numbers of equally many digits.
ExprId JsonPieces::between(const std::string& low, const std::string& high) {
  const size_t rest = low.size() - 1;
  const auto whole = [&](char a, char b) {
    return g_.sequence({digit(a, b), digits(uint32_t(rest), uint32_t(rest))});
  };
  if (rest == 0) return digit(low[0], high[0]);
  if (low[0] == high[0])
    return g_.sequence({digit(low[0], low[0]), between(low.substr(1), high.substr(1))});
  std::vector<ExprId> parts;
  char first = low[0], last = high[0];
  if (low.find_first_not_of('0', 1) != std::string::npos) {
    parts.push_back(
        g_.sequence({digit(first, first), between(low.substr(1), std::string(rest, '9'))}));
    first++;
  }
  const bool has_top = high.find_first_not_of('9', 1) != std::string::npos;
  if (has_top) {
    parts.push_back(
        g_.sequence({digit(last, last), between(std::string(rest, '0'), high.substr(1))}));
    last--;
  }
  if (first <= last) parts.push_back(whole(first, last));
  return g_.choice(std::move(parts));
}

ExprId JsonPieces::whole_between(uint64_t low, uint64_t high) {
  std::vector<ExprId> parts;
  const size_t most = std::to_string(high).size();
  for (size_t length = std::to_string(low).size(); length <= most; length++) {
    const uint64_t least = length == 1 ? 0 : power_of_ten(length - 1);
    const std::string a = std::to_string(std::max(low, least));
    const std::string b = length == most ? std::to_string(high) : std::string(length, '9');
    parts.push_back(between(a, b));
  }
  return g_.choice(std::move(parts));
}

ExprId JsonPieces::integer_between(std::optional<int64_t> low, std::optional<int64_t> high) {
  const auto magnitude = [](int64_t x) { return x < 0 ? 0 - uint64_t(x) : uint64_t(x); };
  // Ten times a bound that lies beyond what is usual: there is room on its other side.
  const auto room = [&](int64_t bound) {
    const uint64_t m = magnitude(bound);
    return m > kLargestInteger ? (m > UINT64_MAX / 10 ? UINT64_MAX : m * 10) : kLargestInteger;
  };
  const uint64_t most = !high ? room(low.value_or(0)) : *high < 0 ? 0 : magnitude(*high);
  const uint64_t deepest = !low ? room(high.value_or(0)) : *low > 0 ? 0 : magnitude(*low);
  std::vector<ExprId> parts;
  if (!high || *high >= 0)
    parts.push_back(whole_between(low && *low > 0 ? magnitude(*low) : 0, most));
  if (!low || *low < 0)
    parts.push_back(g_.sequence(
        {g_.bytes("-"), whole_between(high && *high < 0 ? magnitude(*high) : 1, deepest)}));
  return g_.choice(std::move(parts));
}

/// What may stand behind `depth` bytes that the sorted names [first, last) have in common.
ExprId JsonPieces::names_behind(const std::vector<std::string>& names, size_t first, size_t last,
                                size_t depth, ExprId tail) {
  std::vector<ExprId> parts;
  CodeSet taken;
  const bool is_name = names[first].size() == depth;
  if (!is_name) parts.push_back(quote());
  for (size_t i = first + is_name; i < last;) {
    const uint8_t byte = uint8_t(names[i][depth]);
    size_t end = i;
    while (end < last && uint8_t(names[end][depth]) == byte) end++;
    // Names beyond ASCII: no other begins with one of those characters.
    if (byte >= 0x80) {
      taken.push_back({0x80, kMaxCode});
      break;
    }
    taken.push_back({byte, byte});
    if (byte != '"' && byte != '\\' && byte >= 0x20)
      parts.push_back(
          g_.sequence({g_.set({{byte, byte}}), names_behind(names, i, end, depth + 1, tail)}));
    i = end;
  }
  const CodeSet others = common_set(kPlain, negated_set(sorted_set(taken)));
  parts.push_back(g_.sequence({g_.set(others), tail}));
  return g_.choice(std::move(parts));
}

ExprId JsonPieces::other_name(std::vector<std::string> names) {
  const ExprId tail = g_.sequence({g_.repeat(g_.set(kPlain), 0, kUnbounded), quote()});
  if (names.empty()) return g_.sequence({quote(), tail});
  std::sort(names.begin(), names.end());
  return g_.sequence({quote(), names_behind(names, 0, names.size(), 0, tail)});
}

ExprId JsonPieces::date() {
  const auto day = [&](char tens, char low, char high) {
    return g_.sequence({digit(tens, tens), digit(low, high)});
  };
  // The 29th of February is in no month here: it is not in every year.
  const ExprId to_28 = g_.choice({day('0', '1', '9'), day('1', '0', '9'), day('2', '0', '8')});
  const ExprId to_30 = g_.choice({to_28, g_.bytes("29"), g_.bytes("30")});
  const ExprId to_31 = g_.choice({to_30, g_.bytes("31")});
  const auto months = [&](std::initializer_list<const char*> names, ExprId days) {
    std::vector<ExprId> parts;
    for (const char* month : names) parts.push_back(g_.bytes(month));
    return g_.sequence({g_.choice(std::move(parts)), g_.bytes("-"), days});
  };
  const ExprId year = g_.sequence({digit('1', '9'), digits(3, 3), g_.bytes("-")});
  return g_.sequence(
      {year, g_.choice({months({"02"}, to_28), months({"04", "06", "09", "11"}, to_30),
                        months({"01", "03", "05", "07", "08", "10", "12"}, to_31)})});
}

ExprId JsonPieces::time() {
  const ExprId hours = g_.choice({g_.sequence({digit('0', '1'), digit('0', '9')}),
                                  g_.sequence({digit('2', '2'), digit('0', '3')})});
  const ExprId sixty = g_.sequence({digit('0', '5'), digit('0', '9')});
  const ExprId part = g_.optional(g_.sequence({g_.bytes("."), digits(1, 6)}));
  const ExprId sign = g_.set({{'+', '+'}, {'-', '-'}});
  const ExprId zone = g_.choice({g_.bytes("Z"), g_.sequence({sign, hours, g_.bytes(":"), sixty})});
  return g_.sequence({hours, g_.bytes(":"), sixty, g_.bytes(":"), sixty, part, zone});
}

bool JsonPieces::format(const std::string& name, ExprId* out) {
  if (name == "date") {
    *out = date();
  } else if (name == "time") {
    *out = time();
  } else if (name == "date-time") {
    *out = g_.sequence({date(), g_.bytes("T"), time()});
  } else if (name == "uuid") {
    const ExprId dash = g_.bytes("-");
    const auto some = [&](uint32_t count) { return g_.repeat(hex(), count, count); };
    *out = g_.sequence({some(8), dash, some(4), dash, some(4), dash, some(4), dash, some(12)});
  } else {
    return false;
  }
  return true;
}

}  // namespace ingot::grammar
