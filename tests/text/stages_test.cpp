// SPDX-License-Identifier: Apache-2.0
// The patterns of pre-tokenizers: parts of texts, which are those of the regular expressions that
// stages.cpp states (tests/text/against_tokenizers.py compares whole tokenizers), and work that
// grows with a text.
#include "runtime/text/stages.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/text/normalize.h"
#include "runtime/text/unicode.h"

using namespace ingot;
using namespace ingot::text;

namespace {

std::string parts_of(const std::vector<TextStage>& stages, const std::string& text) {
  PartWalk walk({stages.data(), stages.size()}, reinterpret_cast<const uint8_t*>(text.data()),
                text.size());
  std::string parts;
  for (Range part; walk.next(&part);)
    parts += (parts.empty() ? "" : "|") + text.substr(part.begin, part.end - part.begin);
  return parts;
}

std::string encoded(uint32_t code) {
  uint8_t bytes[4];
  return {reinterpret_cast<const char*>(bytes), put_code(code, bytes)};
}

}  // namespace

TEST_CASE("stages: parts of texts that tell patterns apart") {
  struct Case {
    std::vector<TextStage> stages;
    const char *text, *parts;
  };
  const Case cases[] = {
      {{}, "a b\nc", "a b\nc"},
      {{TextStage::kGpt2}, "I'm he'LL 12a  b!?", "I|'m| he|'|LL| 12|a| | b|!?"},
      {{TextStage::kGpt2}, "a\n\n b  ", "a|\n\n| b|  "},
      {{TextStage::kGpt2}, "a \n\tb", "a| \n|\t|b"},
      {{TextStage::kNumber, TextStage::kGpt2}, "a 12", "a| |1|2"},
      {{TextStage::kLlama3}, "I'M 12345 x!abc  y", "I|'M| |123|45| x|!abc| | y"},
      {{TextStage::kLlama3}, "a!\n\n b \n \n c", "a|!\n\n| b| \n \n| c"},
      {{TextStage::kLlama3},
       "'\xc5\xbf"
       "un",
       "'\xc5\xbf|un"},
      {{TextStage::kQwen2}, "123", "1|2|3"},
      {{TextStage::kQwen2}, "e\xcc\x81x", "e|\xcc\x81x"},
      {{TextStage::kQwen35}, "e\xcc\x81x", "e\xcc\x81x"},
      {{TextStage::kGpt4o},
       "HelloWorld ABCdef it's X/Y//\n",
       "Hello|World| ABCdef| it's| X|/Y|//\n"},
      {{TextStage::kGpt4o},
       "\xe6\x96\x87"
       "ABC",
       "\xe6\x96\x87|ABC"},
      {{TextStage::kTekken}, "it's 12", "it|'s| |1|2"},
      {{TextStage::kNumbers3, TextStage::kHanKana, TextStage::kDeepseek3},
       "a1234\xe4\xb8\xad\xe6\x96\x87"
       "b !x",
       "a|123|4|\xe4\xb8\xad\xe6\x96\x87|b| !|x"},
      {{TextStage::kDeepseek3}, "a.b\x01\x02 ?!\n", "a|.b|\x01\x02| ?!\n"},
      {{TextStage::kNewline, TextStage::kLetters, TextStage::kMarks, TextStage::kHanHangul,
        TextStage::kNumber},
       "a b,\n 12",
       "a| b|,|\n| |1|2"},
      {{TextStage::kNewline, TextStage::kCasedLetters, TextStage::kWidePunctuation,
        TextStage::kTrailingSpace, TextStage::kHanHangul, TextStage::kNumbers},
       "ab \xd5\xa1 x.  \n",
       "ab| \xd5\xa1| x|.|  |\n"},
      {{TextStage::kPunctuation, TextStage::kGpt2, TextStage::kDigits3},
       "a $12345!",
       "a| |$|123|45|!"},
      {{TextStage::kLines}, "a b\n\nc", "a b|\n\n|c"},
      {{TextStage::kSpaces}, "a  b c", "a| | b| c"},
      {{TextStage::kSpaceRuns}, "a  b c", "a|  b| c"},
      {{TextStage::kBert},
       " ab,c\t\xe4\xb8\xad"
       "d ",
       "ab|,|c|\xe4\xb8\xad|d"},
      {{TextStage::kBloom}, "a b, c|d", "a| b|,| c|||d"},
      {{TextStage::kGpt2}, "a\xff\xfe b", "a|\xff\xfe| b"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(parts_of(c.stages, c.text) == c.parts);
  }
}

TEST_CASE("stages: every byte is in one part, and work grows with the text") {
  const char* units[] = {"a",
                         " ",
                         "\n",
                         " \n",
                         "\xe6\x96\x87"
                         "A",
                         "\xcc\x81",
                         "'",
                         "1",
                         "a ",
                         "  \xe4\xb8\xad",
                         "\xcc\x81"
                         "A",
                         "!",
                         "'s",
                         "/\n/",
                         "\xff",
                         "\xe3\x80\x80"};
  constexpr size_t kBytes = 1 << 14;
  std::vector<std::vector<TextStage>> lists;
  for (uint8_t stage = 0; stage < kTextStages; stage++) lists.push_back({TextStage(stage)});
  lists.push_back({TextStage::kNewline, TextStage::kCasedLetters, TextStage::kWidePunctuation,
                   TextStage::kTrailingSpace, TextStage::kHanHangul, TextStage::kNumbers});
  for (const auto& stages : lists)
    for (const std::string unit : units)
      for (const std::string last : {"", "x", "\xe4\xb8\xad", "\n"}) {
        std::string text;
        while (text.size() < kBytes) text += unit;
        text += last;
        PartWalk walk({stages.data(), stages.size()}, reinterpret_cast<const uint8_t*>(text.data()),
                      text.size());
        size_t at = 0;
        bool is_whole = true;
        for (Range part; walk.next(&part); at = part.end)
          is_whole = is_whole && part.end > part.begin &&
                     (part.begin == at || stages[0] == TextStage::kBert);
        CAPTURE(int(stages[0]));
        CAPTURE(unit);
        CAPTURE(last);
        CHECK(is_whole);
        if (stages[0] != TextStage::kBert) CHECK(at == text.size());
        CHECK(walk.looked_at() <= 16 * (text.size() + 1) * stages.size());
      }
}

TEST_CASE("unicode: composed text is that of NFC, in the order of classes, however many marks") {
  const auto composed = [](const std::string& text) {
    std::vector<uint32_t> codes(4 * text.size());
    std::string out(3 * text.size(), '\0');
    out.resize(compose_text({reinterpret_cast<const uint8_t*>(text.data()), text.size()},
                            codes.data(), reinterpret_cast<uint8_t*>(out.data())));
    return out;
  };
  const auto text_of = [](const std::vector<uint32_t>& codes) {
    std::string text;
    for (const uint32_t code : codes) text += encoded(code);
    return text;
  };
  const struct {
    std::vector<uint32_t> from, to;
  } cases[] = {{{}, {}},
               {{'e', 0x301, 'x'}, {0xE9, 'x'}},
               {{0x212B}, {0xC5}},
               {{0x1100, 0x1161, 0x11A8, 0x11A8}, {0xAC01, 0x11A8}},
               {{0xAC00, 0x11A8}, {0xAC01}},
               {{0x958}, {0x915, 0x93C}},
               {{0x344}, {0x308, 0x301}},
               {{'a', 0x315, 0x300, 0x5AE, 0x300, 'b'}, {0xE0, 0x5AE, 0x300, 0x315, 'b'}},
               {{'a', 0x323, 0x302}, {0x1EAD}},
               {{0xE2, 0x323}, {0x1EAD}},
               {{0x301, 'e'}, {0x301, 'e'}},
               {{0x9C7, 0x9BE}, {0x9CB}},
               {{0x1D15E}, {0x1D157, 0x1D165}}};
  for (const auto& c : cases) CHECK(composed(text_of(c.from)) == text_of(c.to));
  CHECK(composed("e\xcc\x81\xff\xcc\x81\xed\xa0\x80") == "\xc3\xa9\xff\xcc\x81\xed\xa0\x80");
  std::vector<uint32_t> above(200000, 0x301), all = {'x'}, ordered = {'x'};
  for (size_t i = 0; i < above.size(); i++) all.push_back(0x301), all.push_back(0x323);
  ordered.insert(ordered.end(), above.size(), 0x323);
  ordered.insert(ordered.end(), above.begin(), above.end());
  CHECK(composed(text_of(all)) == text_of(ordered));
}

TEST_CASE("unicode: classes, folds and bytes") {
  constexpr unsigned kNone = kControl | kUnassigned;
  const struct {
    uint32_t code;
    unsigned traits;
  } classes[] = {
      {'A', kUpper},          {'z', kLower},        {0x1C5, kUpper},     {0x2B0, kOtherLetter},
      {0x4E2D, kOtherLetter}, {0x301, kNonspacing}, {0x903, kOtherMark}, {'7', kNumber},
      {0xBD, kNumber},        {0x2160, kNumber},    {'!', kPunctuation}, {'$', kSymbol},
      {' ', kSpace},          {0x3000, kSpace},     {0x85, kSpace},      {'\n', kSpace | kNewline},
      {0x1C, kControl},       {0x200B, kControl},   {0xE000, kControl},  {0x10FFFD, kControl},
      {0x378, kNone},         {0xFFFF, kNone},      {0x10FFFF, kNone}};
  for (const auto& c : classes) {
    CAPTURE(c.code);
    CHECK(traits_of(c.code) == c.traits);
  }
  const struct {
    uint32_t code;
    std::vector<uint32_t> folded;
  } folds[] = {{'A', {'a'}},
               {0xC9, {'e'}},
               {0x130, {'i'}},
               {0x301, {}},
               {0xDF, {0xDF}},
               {0xAC01, {0x1100, 0x1161, 0x11A8}},
               {0xAC00, {0x1100, 0x1161}},
               {0x1D160, {0x1D158, 0x1D165, 0x1D16E}},
               {0xF900, {0x8C48}},
               {0x10400, {0x10428}}};
  for (const auto& f : folds) {
    uint32_t out[3];
    const size_t count = fold(f.code, out);
    CAPTURE(f.code);
    CHECK(std::vector<uint32_t>(out, out + count) == f.folded);
  }
  for (uint32_t code = 0; code < 0x110000; code++) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const std::string bytes = encoded(code);
    const Char c = char_at(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (c.code != code || c.bytes != bytes.size()) FAIL_CHECK("code point " << code);
    uint32_t out[3];
    const size_t count = fold(code, out);
    if (count > 3) FAIL_CHECK("fold of " << code);
    size_t folded = 0;
    for (size_t i = 0; i < count; i++) folded += encoded(out[i]).size();
    if (folded > 3 * bytes.size()) FAIL_CHECK("bytes of the fold of " << code);
  }
  for (const std::string bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80",
                                "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe4\xb8", "\xff"}) {
    const Char c = char_at(reinterpret_cast<const uint8_t*>(bad.data()), bad.size());
    CAPTURE(bad);
    CHECK((c.code == kReplacement && c.bytes == 1));
  }
}
