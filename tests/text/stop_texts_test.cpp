// SPDX-License-Identifier: Apache-2.0
// Stop texts against a naive search of the whole answer, whatever tokens it comes in; nothing that
// belongs to the answer is held back longer than needed.
#include "runtime/text/stop_texts.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/base/philox.h"

using namespace ingot;

namespace {

using Texts = std::vector<std::string>;

class Stops {
 public:
  explicit Stops(const Texts& texts) : texts_(texts) {
    for (const std::string& text : texts_)
      views_.push_back({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    ErrorDetail detail;
    uint64_t bytes = 0;
    REQUIRE(text::measure_stop_texts(views(), &bytes, &detail).ok());
    memory_.resize(size_t(bytes));
    REQUIRE(stops.open(views(), {memory_.data(), memory_.size()}, &detail).ok());
  }
  std::string put(const std::string& bytes) {
    std::vector<uint8_t> out(stops.held() + bytes.size());  // not a byte more
    const size_t n =
        stops.put({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, out.data());
    return {out.begin(), out.begin() + std::ptrdiff_t(n)};
  }
  std::string finish() {
    std::vector<uint8_t> out(stops.held());
    const size_t n = stops.finish(out.data());
    return {out.begin(), out.begin() + std::ptrdiff_t(n)};
  }
  text::StopTexts stops;

 private:
  Span<const text::StopText> views() const { return {views_.data(), views_.size()}; }
  Texts texts_;
  std::vector<text::StopText> views_;
  std::vector<uint8_t> memory_;
};

struct Answer {
  std::string text;
  bool is_stopped = false;
};

/// The first end of a text; in front of the longest one there.
Answer naive(const Texts& texts, const std::string& answer) {
  for (size_t end = 1; end <= answer.size(); end++) {
    size_t longest = 0;
    for (const std::string& text : texts)
      if (text.size() <= end && answer.compare(end - text.size(), text.size(), text) == 0)
        longest = std::max(longest, text.size());
    if (longest) return {answer.substr(0, end - longest), true};
  }
  return {answer};
}

/// How many bytes at the end may begin a text.
size_t naive_held(const Texts& texts, const std::string& answer) {
  size_t most = 0;
  for (const std::string& text : texts)
    for (size_t n = 1; n < text.size() && n <= answer.size(); n++)
      if (answer.compare(answer.size() - n, n, text, 0, n) == 0) most = std::max(most, n);
  return most;
}

Status refusal(const Texts& texts, ErrorDetail* detail) {
  std::vector<text::StopText> views;
  for (const std::string& text : texts)
    views.push_back({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  uint64_t bytes = 0;
  return text::measure_stop_texts({views.data(), views.size()}, &bytes, detail);
}

}  // namespace

TEST_CASE("stop texts: over the borders of tokens, in front of the longest that ends first") {
  Stops stops({"\n\nUser", "\nUser:", "END"});
  CHECK(stops.put("Hello\n") == "Hello");
  CHECK(stops.put("\nUs") == "");
  CHECK(stops.put("ual EN") == "\n\nUsual ");
  CHECK(stops.put("") == "");
  CHECK(stops.put("E\n\nUs") == "ENE");
  CHECK(stops.stops.stopped_by() == -1);
  CHECK(stops.put("er: no") == "");
  CHECK(stops.stops.stopped_by() == 0);
  CHECK(stops.put("more") == "");
  CHECK(stops.finish() == "");
  Stops shorter({"bc", "abcd", "abc"});
  CHECK(shorter.put("xab") == "x");
  CHECK(shorter.put("c") == "");
  CHECK(shorter.stops.stopped_by() == 2);
  Stops same({"xy", "ab", "ab"});
  CHECK(same.put("ab") == "");
  CHECK(same.stops.stopped_by() == 1);
  Stops none({});
  CHECK(none.put("abc") == "abc");
  CHECK(none.finish() == "");
}

TEST_CASE("stop texts: every answer of three letters, in all splits") {
  const std::vector<Texts> sets = {{"a"},          {"aa", "b"},  {"aab"},
                                   {"abab", "ba"}, {"abcab"},    {"aabaa", "abb", "c"},
                                   {"bbbbbb"},     {"ab", "ab"}, {"cb", "acbb"}};
  int held_long = 0, other = 0;  // two million comparisons: one check
  for (const Texts& texts : sets)
    for (int code = 0; code < 3 * 3 * 3 * 3 * 3 * 3; code++) {
      std::string answer;
      for (int i = 0, rest = code; i < 6; i++, rest /= 3) answer += char('a' + rest % 3);
      const Answer expected = naive(texts, answer);
      for (unsigned split = 0; split < 32; split++) {  // a bit for each border
        Stops stops(texts);
        std::string token, found, seen;
        for (size_t i = 0; i < answer.size(); i++) {
          token += answer[i];
          if (i + 1 < answer.size() && !(split >> i & 1)) continue;
          found += stops.put(token);
          seen += token;
          token.clear();
          if (stops.stops.stopped_by() < 0)
            held_long += found.size() + naive_held(texts, seen) != seen.size();
        }
        found += stops.finish();
        other += found != expected.text || (stops.stops.stopped_by() >= 0) != expected.is_stopped;
      }
    }
  CHECK(held_long == 0);
  CHECK(other == 0);
}

TEST_CASE("stop texts: long answers of random tokens") {
  uint32_t at = 0;
  const auto below = [&at](uint32_t n) { return philox({{at++, 0, 0, 0}}, 9, 9).word[0] % n; };
  for (int round = 0; round < 2000; round++) {
    Texts texts(1 + below(5));
    const uint32_t letters = 2 + below(3);
    for (std::string& text : texts)
      for (uint32_t n = 2 + below(9); n > 0; n--) text += char('a' + below(letters));
    std::string answer, found;
    Stops stops(texts);
    for (uint32_t tokens = below(60); tokens > 0; tokens--) {
      std::string token;
      for (uint32_t n = below(6); n > 0; n--) token += char('a' + below(letters));
      answer += token;
      found += stops.put(token);
    }
    found += stops.finish();
    const Answer expected = naive(texts, answer);
    CHECK(found == expected.text);
    CHECK((stops.stops.stopped_by() >= 0) == expected.is_stopped);
  }
}

TEST_CASE("stop texts: empty ones and too many are refused") {
  ErrorDetail detail;
  CHECK(refusal({"a", ""}, &detail).code() == Code::kInvalidArgument);
  CHECK(detail.offset == 1);
  CHECK(refusal(Texts(text::kMaxStopTexts, "a"), &detail).ok());
  CHECK(refusal(Texts(100000, "a"), &detail).code() == Code::kLimitExceeded);
  CHECK(detail.need == text::kMaxStopTexts);
  CHECK(detail.have == 100000);
  CHECK(refusal({std::string(text::kMaxStopBytes, 'a')}, &detail).ok());
  CHECK(refusal({std::string(text::kMaxStopBytes, 'a'), "b"}, &detail).code() ==
        Code::kLimitExceeded);
  CHECK(std::string(detail.field) == "bytes of stop texts");
  const uint8_t letter = 'a';
  const text::StopText one[] = {{&letter, 1}};
  uint8_t memory[2];
  text::StopTexts stops;
  CHECK(stops.open(one, memory, &detail).code() == Code::kArenaTooSmall);
}
