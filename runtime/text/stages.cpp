// SPDX-License-Identifier: Apache-2.0
// runtime/text/stages.cpp - the patterns. Each function has its regular expression above it; it
// gives the end of the match at `i`, or `i`. A search begins at each character in turn, so that a
// match that fails must be cheap: one that scans far and fails says how far nothing can match.
#include "runtime/text/stages.h"

#include <initializer_list>

#include "runtime/text/scan.h"

namespace ingot::text {
namespace {

/// 's|'t|'re|'ve|'m|'ll|'d, in any case; U+017F folds to s.
size_t contraction(const Scan& s, size_t i, bool any_case) {
  if (s.at(i).code != '\'') return i;
  const auto lower = [any_case](const Char& c) {
    if (any_case && c.code >= 'A' && c.code <= 'Z') return c.code + 32;
    return any_case && c.code == 0x17F ? uint32_t('s') : c.code;
  };
  const Char a = s.at(i + 1);
  if (a.bytes == 0) return i;
  const uint32_t first = lower(a);
  const size_t one = i + 1 + a.bytes;
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return one;
  const Char b = s.at(one);
  const uint32_t second = lower(b);
  const bool two = (first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
                   (first == 'l' && second == 'l');
  return two ? one + b.bytes : i;
}

/// \s+(?!\S)|\s+
size_t white_space(const Scan& s, size_t i, size_t run_end) {
  if (run_end == s.end()) return run_end;
  size_t last = i;
  for (size_t at = i; at < run_end; at += s.at(at).bytes) last = at;
  return last > i ? last : run_end;
}

/// \s*[\r\n]+|\s+(?!\S)|\s+
size_t lines_and_space(const Scan& s, size_t i) {
  size_t newline = i;
  const size_t end = s.run(i, [&, at = i](const Char& c) mutable {
    if (!c.is(kSpace)) return false;
    at += c.bytes;
    if (c.is(kNewline)) newline = at;
    return true;
  });
  if (newline > i) return newline;
  return end > i ? white_space(s, i, end) : i;
}

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2(const Scan& s, size_t i) {
  const size_t short_form = contraction(s, i, false);
  if (short_form > i) return short_form;
  const Char c = s.at(i);
  const size_t from = i + (c.code == ' ');
  const Char first = c.code == ' ' ? s.at(from) : c;
  if (first.is(kLetter)) return s.run_of(from, kLetter);
  if (first.is(kNumber)) return s.run_of(from, kNumber);
  if (first.is_not(kSpace)) return s.run_not(from, kSpace | kLetter | kNumber);
  return white_space(s, i, s.run_of(i, kSpace));
}

struct Rules {
  unsigned word = kLetter;   // of the letters of a word
  bool contractions = true;  // before words
  bool by_case = false;      // a word is large letters, then small ones
  bool short_forms = false;  // a word may end in a contraction
  int most_digits = 3;
  bool slash = false;  // behind symbols, besides line ends
};

/// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ or, if `large`, + and * the other way
size_t word_by_case(const Scan& s, size_t i, bool large) {
  constexpr unsigned kLarge = kUpper | kOtherLetter | kMark, kSmall = kLower | kOtherLetter | kMark;
  size_t both = i;  // behind the last of the large ones that are small too
  const size_t end = s.run(i, [&, at = i](const Char& c) mutable {
    if (!c.is(kLarge)) return false;
    at += c.bytes;
    if (c.is(kSmall)) both = at;
    return true;
  });
  const size_t small_end = s.run_of(end, kSmall);
  if (large) return end > i ? small_end : i;
  return small_end > end ? small_end : both;
}

/// [^\r\n\p{L}\p{N}]? and a word by case, tried with the character before it, then without.
size_t cased_word(const Scan& s, size_t i) {
  const Char c = s.at(i);
  const bool may_skip = c.is_not(kNewline | kLetter | kNumber);
  for (const bool large : {false, true}) {
    if (may_skip) {
      const size_t end = word_by_case(s, i + c.bytes, large);
      if (end > i + c.bytes) return end;
    }
    const size_t end = word_by_case(s, i, large);
    if (end > i) return end;
  }
  return i;
}

size_t word(const Scan& s, size_t i, const Rules& rules) {
  if (rules.by_case) {
    const size_t end = cased_word(s, i);
    return end > i && rules.short_forms ? contraction(s, end, true) : end;
  }
  const Char c = s.at(i);
  if (c.is_not(kNewline | kLetter | kNumber)) {
    const size_t end = s.run_of(i + c.bytes, rules.word);
    if (end > i + c.bytes) return end;
  }
  return s.run_of(i, rules.word);
}

size_t digits(const Scan& s, size_t i, int most) {
  return s.run(i, [&](const Char& c) { return c.is(kNumber) && most-- > 0; });
}

/// (?i:'s|..)|[^\r\n\p{L}\p{N}]?WORD|\p{N}{1,n}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t modern(const Scan& s, size_t i, const Rules& rules) {
  if (rules.contractions) {
    const size_t end = contraction(s, i, true);
    if (end > i) return end;
  }
  size_t end = word(s, i, rules);
  if (end > i) return end;
  end = digits(s, i, rules.most_digits);
  if (end > i) return end;
  const size_t from = i + (s.at(i).code == ' ');
  end = s.run_not(from, kSpace | kNumber | kLetter | rules.word);
  if (end > from)
    return s.run(end,
                 [&](const Char& c) { return c.is(kNewline) || (rules.slash && c.code == '/'); });
  return lines_and_space(s, i);
}

constexpr Rules kLlama3Rules = {};
constexpr Rules kQwen2Rules = {kLetter, true, false, false, 1, false};
constexpr Rules kQwen35Rules = {kLetter | kMark, true, false, false, 1, false};
constexpr Rules kGpt4oRules = {kLetter, false, true, true, 3, true};
constexpr Rules kTekkenRules = {kLetter, false, true, false, 1, true};

bool is_ascii_letter(const Char& c) {
  return (c.code >= 'a' && c.code <= 'z') || (c.code >= 'A' && c.code <= 'Z');
}
bool is_ascii_mark(const Char& c) { return c.code < 0x80 && c.is(kPunctuation | kSymbol); }

/// [!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*
/// |\s*[\r\n]+|\s+(?!\S)|\s+
size_t deepseek3(const Scan& s, size_t i) {
  const Char c = s.at(i);
  if (is_ascii_mark(c)) {
    const size_t end = s.run(i + 1, is_ascii_letter);
    if (end > i + 1) return end;
  }
  constexpr unsigned kWord = kLetter | kMark, kMarks = kPunctuation | kSymbol;
  if (c.is_not(kNewline | kLetter | kMarks)) {
    const size_t end = s.run_of(i + c.bytes, kWord);
    if (end > i + c.bytes) return end;
  }
  size_t end = s.run_of(i, kWord);
  if (end > i) return end;
  const size_t from = i + (c.code == ' ');
  end = s.run_of(from, kMarks);
  if (end > from) return s.run_of(end, kNewline);
  return lines_and_space(s, i);
}

bool is_cased_letter(const Char& c) {
  static constexpr uint32_t kNot[][2] = {{0x560, 0x588},     {0x10C7, 0x10FF},  {0x1C80, 0x1C88},
                                         {0x2D00, 0x2D2D},   {0xA790, 0xA7FA},  {0xAB30, 0xAB68},
                                         {0x10570, 0x105BC}, {0x16E40, 0x1DF1E}};
  if (!c.is(kUpper | kLower)) return false;
  for (const auto& range : kNot)
    if (c.code >= range[0] && c.code <= range[1]) return false;
  return true;
}
bool is_wide_mark(const Char& c) {
  static constexpr uint32_t kMarks[][2] = {{'!', '/'},       {':', '~'},       {0xFF01, 0xFF0F},
                                           {0xFF1A, 0xFF5E}, {0x2018, 0x201F}, {0x3000, 0x3002}};
  for (const auto& range : kMarks)
    if (c.code >= range[0] && c.code <= range[1]) return true;
  return false;
}
bool is_han_hangul(const Char& c) {
  return (c.code >= 0x800 && c.code <= 0x9FA5) || (c.code >= 0xAC00 && c.code <= 0xD7FF);
}
bool is_han_kana(const Char& c) {
  return (c.code >= 0x4E00 && c.code <= 0x9FA5) || (c.code >= 0x3040 && c.code <= 0x30FF);
}
bool is_falcon_mark(const Char& c) { return c.is(kPunctuation) || is_ascii_mark(c); }
bool is_bloom(const Char& c) {
  if (c.is(kSpace)) return false;
  for (const uint32_t mark : {0x28u, 0x7Cu, 0x2Eu, 0x2Cu, 0x21u, 0x3Fu, 0x2026u, 0x3002u, 0xFF0Cu,
                              0x3001u, 0x964u, 0x6D4u, 0x60Cu, 0x29u})
    if (c.code == mark) return false;
  return true;
}

/// \s?CLASS+
template <class Accepts>
size_t spaced(const Scan& s, size_t i, Accepts accepts) {
  const Char c = s.at(i);
  if (c.is(kSpace)) {
    const size_t end = s.run(i + c.bytes, accepts);
    if (end > i + c.bytes) return end;
  }
  return s.run(i, accepts);
}

size_t one(const Scan& s, size_t i, unsigned traits) {
  const Char c = s.at(i);
  return c.is(traits) ? i + c.bytes : i;
}

size_t digits3(const Scan& s, size_t i) {
  for (size_t k = i; k < i + 3; k++) {
    const Char c = s.at(k);
    if (c.code < '0' || c.code > '9') return i;
  }
  return i + 3;
}

/// A word, a mark or an ideograph; the space between them is a gap.
size_t bert(const Scan& s, size_t i) {
  const auto is_alone = [](const Char& c) { return is_falcon_mark(c) || is_ideograph(c.code); };
  const Char c = s.at(i);
  if (is_alone(c)) return i + c.bytes;
  return s.run(i, [&](const Char& each) { return !each.is(kSpace) && !is_alone(each); });
}

/// The match at `i`, or `i`; then nothing matches before *next.
size_t match(TextStage stage, const Scan& s, size_t i, size_t* next) {
  *next = i + s.at(i).bytes;
  switch (stage) {
    case TextStage::kGpt2: return gpt2(s, i);
    case TextStage::kLlama3: return modern(s, i, kLlama3Rules);
    case TextStage::kQwen2: return modern(s, i, kQwen2Rules);
    case TextStage::kQwen35: return modern(s, i, kQwen35Rules);
    case TextStage::kGpt4o: return modern(s, i, kGpt4oRules);
    case TextStage::kTekken: return modern(s, i, kTekkenRules);
    case TextStage::kDeepseek3: return deepseek3(s, i);
    case TextStage::kNumber: return one(s, i, kNumber);
    case TextStage::kNumbers: return s.run_of(i, kNumber);
    case TextStage::kNumbers3: return digits(s, i, 3);
    case TextStage::kDigits3: return digits3(s, i);
    case TextStage::kPunctuation: return s.run(i, is_falcon_mark);
    case TextStage::kNewline: return one(s, i, kNewline);
    case TextStage::kLines: {
      const bool is_end = s.at(i).code == '\n';
      return s.run(i, [is_end](const Char& c) { return (c.code == '\n') == is_end; });
    }
    case TextStage::kCasedLetters: return spaced(s, i, is_cased_letter);
    case TextStage::kWidePunctuation: return spaced(s, i, is_wide_mark);
    case TextStage::kTrailingSpace: {
      const size_t end = s.run_of(i, kSpace);
      if (end == s.end()) return end;
      if (end > i) *next = end;
      return i;
    }
    case TextStage::kHanHangul: return s.run(i, is_han_hangul);
    case TextStage::kLetters: return spaced(s, i, [](const Char& c) { return c.is(kLetter); });
    case TextStage::kMarks: return spaced(s, i, [](const Char& c) { return c.is(kPunctuation); });
    case TextStage::kHanKana: return s.run(i, is_han_kana);
    case TextStage::kSpaces:
      return s.run(i + (s.at(i).code == ' '), [](const Char& c) { return c.code != ' '; });
    case TextStage::kBert: return bert(s, i);
    case TextStage::kBloom: {
      const size_t from = i + (s.at(i).code == ' '), end = s.run(from, is_bloom);
      return end > from ? end : i;
    }
    case TextStage::kSpaceRuns:
      return s.run(s.run(i, [](const Char& c) { return c.code == ' '; }),
                   [](const Char& c) { return c.code != ' '; });
  }
  return i;
}

}  // namespace

PartWalk::PartWalk(Span<const TextStage> stages, const uint8_t* text, size_t bytes)
    : stages_(stages), text_(text) {
  levels_[0] = {0, bytes, 0, 0};
}

bool PartWalk::next(Range* part) {
  for (;;) {
    Level& level = levels_[depth_];
    if (level.at == level.end) {
      if (depth_ == 0) return false;
      depth_--;
      continue;
    }
    if (depth_ == stages_.size) {
      *part = {level.at, level.end};
      level.at = level.end;
      return true;
    }
    Range given;
    if (level.match_end > level.match && level.match == level.at) {
      given = {level.match, level.match_end};
    } else {  // the next match, and the gap before it first
      const Scan scan(text_, level.end, &looked_at_);
      size_t at = level.at, end = at, next = at;
      while (at < level.end && (end = match(stages_[depth_], scan, at, &next)) == at) at = next;
      level.match = at, level.match_end = end;
      given = at > level.at ? Range{level.at, at} : Range{at, end};
    }
    level.at = given.end;
    if (stages_[depth_] == TextStage::kBert && given.end == level.match) continue;  // space
    levels_[++depth_] = {given.begin, given.end, 0, 0};
  }
}

}  // namespace ingot::text
