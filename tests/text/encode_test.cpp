// SPDX-License-Identifier: Apache-2.0
// Each model against a naive one, on small vocabularies and random texts; added tokens; memory;
// work that grows with the text and not its square.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "tests/text/small_vocabularies.h"
#include "tools/files/failure.h"

using namespace ingot;
using namespace ingot::test;

namespace {

Ids without_ends(const LoadedTokenizer& t, std::string_view text, bool parse_special = false) {
  text::EncodeOptions options;
  options.add_special = false, options.parse_special = parse_special;
  return t.encode(text, options);
}

/// Joins the neighbors of the least key, the first of them, until none is left.
template <class Key>
std::vector<std::string> join_naively(std::vector<std::string> parts, Key key_of) {
  for (;;) {
    size_t best = parts.size();
    double least = 0;
    for (size_t i = 0; i + 1 < parts.size(); i++) {
      const auto [is_pair, key] = key_of(parts[i], parts[i + 1]);
      if (is_pair && (best == parts.size() || key < least)) best = i, least = key;
    }
    if (best == parts.size()) return parts;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + std::ptrdiff_t(best) + 1);
  }
}

std::string random_text(std::mt19937* random, const std::string& letters, size_t length) {
  std::string text;
  for (size_t i = 0; i < length; i++) text += letters[(*random)() % letters.size()];
  return text;
}

}  // namespace

TEST_CASE("encode: byte pairs join by rank, the first of equal ones") {
  const LoadedTokenizer t = loaded(byte_vocabulary({{"a", "b"}, {"b", "c"}, {"ab", "c"}}));
  const int32_t ab = 256, bc = 257, abc = 258;
  CHECK(without_ends(t, "abc") == Ids{abc});
  CHECK(without_ends(t, "bcab") == Ids{bc, ab});
  CHECK(without_ends(t, "bbc") == Ids{'b', bc});
  CHECK(without_ends(t, "") == Ids{});
  CHECK(without_ends(t, std::string("\0\xff", 2)) == Ids{0, 255});
}

TEST_CASE("encode: random merges give what a naive join gives, in short parts and long ones") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    std::vector<std::pair<std::string, std::string>> merges;
    std::vector<std::string> known = {"a", "b", "c", "d"};
    for (int m = 0; m < 12; m++) {
      const std::string left = known[random() % known.size()],
                        right = known[random() % known.size()];
      if (left.size() + right.size() > 12) continue;
      merges.emplace_back(left, right);
      known.push_back(left + right);
    }
    const Vocabulary v = byte_vocabulary(merges);
    const vocabulary::PieceIndex index = vocabulary::index_of(v.pieces);
    const LoadedTokenizer t = loaded(v);
    for (const size_t length : {1u, 7u, 24u, 25u, 26u, 80u, 300u}) {
      const std::string text = random_text(&random, "abcd", length);
      std::vector<std::string> letters;
      for (const char c : text) letters.emplace_back(1, c);
      const auto joined = join_naively(letters, [&](const auto& left, const auto& right) {
        const auto at = std::find(merges.begin(), merges.end(), std::pair(left, right));
        return std::pair(at != merges.end(), double(at - merges.begin()));
      });
      Ids expected;
      for (const std::string& piece : joined) expected.push_back(int32_t(index.at(piece)));
      CAPTURE(text);
      REQUIRE(without_ends(t, text) == expected);
    }
  }
}

TEST_CASE("encode: scored pairs give what a naive join gives; the rest falls back to bytes") {
  std::mt19937 random(8);
  for (int round = 0; round < 200; round++) {
    std::map<std::string, double> scores = {{" ", -50.}, {"a", -51.}, {"b", -52.}};
    for (int p = 0; p < 10; p++)
      scores[random_text(&random, "ab ", 2 + random() % 3)] = -double(random() % 8);
    const Vocabulary v = scored_vocabulary({scores.begin(), scores.end()});
    const vocabulary::PieceIndex index = vocabulary::index_of(v.pieces);
    const LoadedTokenizer t = loaded(v);
    for (const size_t length : {0u, 1u, 9u, 60u}) {
      const std::string text = random_text(&random, "aabb c", length);
      std::vector<std::string> letters;
      if (!text.empty()) letters.emplace_back(" ");
      for (const char c : text) letters.emplace_back(1, c);
      const auto joined = join_naively(letters, [&](const auto& left, const auto& right) {
        const auto at = scores.find(left + right);
        return std::pair(at != scores.end(), at == scores.end() ? 0. : -at->second);
      });
      Ids expected;
      for (const std::string& piece : joined)
        expected.push_back(int32_t(piece == "c" ? 2 + 'c' : index.at(piece)));
      CAPTURE(text);
      REQUIRE(without_ends(t, text) == expected);
      REQUIRE(t.decode(expected, false) == text);
    }
  }
}

TEST_CASE("encode: unigram takes the split of the largest sum") {
  std::mt19937 random(9);
  for (int round = 0; round < 200; round++) {
    std::map<std::string, double> scores = {{" ", -4.25}, {"a", -5.5}};
    for (int p = 0; p < 10; p++)
      scores[random_text(&random, "ab ", 2 + random() % 3)] = -double(random() % 4096) / 256;
    Vocabulary v = scored_vocabulary({scores.begin(), scores.end()}, TextModel::kUnigram);
    v.byte_pieces.clear();  // b alone is unknown
    const LoadedTokenizer t = loaded(v);
    double lowest = 0;
    for (const auto& row : scores) lowest = std::min(lowest, row.second);
    for (const size_t length : {1u, 5u, 40u}) {
      const std::string text = random_text(&random, "aabb ", length), spaced = " " + text;
      std::vector<double> best(spaced.size() + 1, -1e30);
      best[0] = 0;
      for (size_t end = 1; end <= spaced.size(); end++)
        for (size_t begin = end > 8 ? end - 8 : 0; begin < end; begin++) {
          const auto at = scores.find(spaced.substr(begin, end - begin));
          const bool is_unknown = at == scores.end() && end - begin == 1;
          if (at == scores.end() && !is_unknown) continue;
          best[end] = std::max(best[end], best[begin] + (is_unknown ? lowest - 10 : at->second));
        }
      double sum = 0;
      std::string back;
      for (const int32_t id : without_ends(t, text)) {
        const Piece& piece = v.pieces[size_t(id)];
        const bool is_unknown = id == v.unknown;
        sum += is_unknown ? lowest - 10 : piece.score;
        back += is_unknown ? "b" : piece.bytes;
      }
      CAPTURE(text);
      REQUIRE(back == spaced);
      REQUIRE(std::fabs(sum - best.back()) < 1e-9);
    }
  }
}

TEST_CASE("encode: unknown characters one after another are one piece where the model says so") {
  Vocabulary v = scored_vocabulary({{" ", -1.}, {"a", -2.}}, TextModel::kUnigram);
  v.byte_pieces.clear();
  const int32_t space = 258, a = 259;
  CHECK(without_ends(loaded(v), "xya") == Ids{space, 0, 0, a});
  v.fuse_unknown = true;
  CHECK(without_ends(loaded(v), "xya x") == Ids{space, 0, a, space, 0});
}

TEST_CASE("encode: words are the longest pieces, or unknown as a whole") {
  const LoadedTokenizer t = loaded(word_vocabulary());
  const int32_t un = 3, aff = 4, able = 5, b = 7, bang = 9, middle = 10, e = 11;
  CHECK(without_ends(t, "unaffable") == Ids{un, aff, able});
  CHECK(without_ends(t, "UNAFFABLE!") == Ids{un, aff, able, bang});
  CHECK(without_ends(t, "una") == Ids{0});
  CHECK(without_ends(t, " ab\tab ") == Ids{6, b, 6, b});
  CHECK(without_ends(t, "\xc3\x89 e\xcc\x81") == Ids{e, e});  // E acute; e and an accent
  CHECK(without_ends(t,
                     "a\xe4\xb8\xad\xe4\xb8\xad"
                     "b") == Ids{6, middle, middle, 8});
  // Private use and a mark of formats are dropped, what is not assigned is a part of its word.
  CHECK(without_ends(t,
                     "a\xee\x80\x80\xe2\x80\x8b"
                     "b a\xcd\xb8") == Ids{6, b, 0});
  CHECK(without_ends(t, "a" + std::string(99, 'b')).size() == 100);
  CHECK(without_ends(t, "a" + std::string(100, 'b')) == Ids{0});
  CHECK(t.encode("a") == Ids{1, 6, 2});
  CHECK(t.decode({1, un, aff, 6, 2}, false) == "unaff a");
}

TEST_CASE(
    "encode: added tokens always, control tokens where they are asked for, spaces they take") {
  Vocabulary v = byte_vocabulary({{" ", "a"}}, {TextStage::kGpt2});
  const int32_t end = int32_t(add_piece(&v, "<|end|>", PieceKind::kControl)),
                mask = int32_t(add_piece(&v, "<m>", PieceKind::kAdded)),
                longer = int32_t(add_piece(&v, "<m>>", PieceKind::kAdded)),
                both = int32_t(add_piece(&v, "<t>", PieceKind::kAdded));
  v.pieces.back().takes_spaces = kTakesSpacesBefore | kTakesSpacesBehind;
  const LoadedTokenizer t = loaded(v);
  CHECK(without_ends(t, "a<|end|>").size() == 8);
  CHECK(without_ends(t, "a<|end|>", true) == Ids{'a', end});
  CHECK(without_ends(t, "<m><m>><m") == Ids{mask, longer, '<', 'm'});
  CHECK(without_ends(t, "a \xe3\x80\x80<t>\n a<m> a") == Ids{'a', both, 'a', mask, 256});
  CHECK(t.decode({'a', end}, false) == "a");
  CHECK(t.decode({'a', end}, true) == "a<|end|>");
}

TEST_CASE("encode: a space before a text as the model wants it") {
  const std::vector<std::pair<std::string, double>> pieces = {{" ", -1.}, {"a", -2.}, {" a", -3.}};
  struct Case {
    SpacePrefix prefix;
    bool unless, collapse;
    const char* text;
    std::string normalized;
  };
  const Case cases[] = {{SpacePrefix::kNever, false, false, "a a", "a| a"},
                        {SpacePrefix::kFirst, false, false, "a<m>a", " a|<m>|a"},
                        {SpacePrefix::kAlways, false, false, "a<m>a", " a|<m>| a"},
                        {SpacePrefix::kAlways, false, false, " a", " | a"},
                        {SpacePrefix::kAlways, true, false, " a", " a"},
                        {SpacePrefix::kAlways, true, false,
                         "\xe2\x96\x81"
                         "a",
                         " a"},
                        {SpacePrefix::kAlways, false, true, "  a   a ", " a| a"},
                        {SpacePrefix::kNever, false, true, "   ", ""}};
  for (const Case& c : cases) {
    Vocabulary v = scored_vocabulary(pieces);
    v.space_prefix = c.prefix, v.prefix_unless_space = c.unless, v.collapse_spaces = c.collapse;
    add_piece(&v, "<m>", PieceKind::kAdded);
    std::string found;
    for (const int32_t id : without_ends(loaded(v), c.text))
      found += (found.empty() ? "" : "|") + v.pieces[size_t(id)].bytes;
    CAPTURE(c.text);
    CHECK(found == c.normalized);
  }
}

TEST_CASE("encode: strings are replaced first, the longest one, or by clusters") {
  const std::string mark = "\xcc\x81", long_mark = "\xe0\xbc\x98";  // of two bytes, of three
  struct Case {
    bool by_cluster;
    std::string text, replaced;
  };
  const Case cases[] = {
      {false, "a" + mark, "A"},
      {false, "ab", "ab"},
      {false, "x" + mark + "y", "b" + mark + "y"},
      {false, "\t\tq\xff", "  a\xef\xbf\xbd"},
      {true, "a" + mark, "A"},         // the whole cluster is a string
      {true, "x" + mark + "y", "by"},  // its marks go with its first character
      {true, "x" + long_mark + long_mark, "b" + long_mark + long_mark},  // too long: one by one
      {true, "a" + mark + long_mark, "a" + mark + long_mark},  // whose strings are not found
      {true, "\t" + mark, " " + mark}};                        // nothing joins a tab
  for (const Case& c : cases) {
    Vocabulary v = scored_vocabulary({{" ", -1.}, {"a", -2.}});
    v.replacements = {{{"a" + mark, "A"}, {"x", "b"}, {"\t", " "}, {"q", "a"}}, c.by_cluster};
    v.space_prefix = SpacePrefix::kNever;
    std::string found;
    for (const int32_t id : without_ends(loaded(v), c.text)) found += v.pieces[size_t(id)].bytes;
    CAPTURE(c.text);
    CHECK(found == c.replaced);
  }
  Vocabulary v = scored_vocabulary({{" ", -1.}, {"a", -2.}});
  v.collapse_spaces = v.keep_end_space = v.prefix_unless_space = true;
  CHECK(without_ends(loaded(v), "  a   a  ") == without_ends(loaded(v), "a a "));
  CHECK(without_ends(loaded(v), "a ").size() == 3);
  CHECK(without_ends(loaded(v), "   ").size() == 1);
}

TEST_CASE("encode: composed text where the model wants it, in memory that is measured") {
  Vocabulary v = byte_vocabulary({{"\xc3", "\xa9"}});
  v.normalizer = TextNormalizer::kNfc;
  const LoadedTokenizer t = loaded(v);
  CHECK(without_ends(t, "e\xcc\x81\xc3\xa9") == Ids{256, 256});
  CHECK(without_ends(t, "\xe1\xbe\x82").size() == 3);
  CHECK(without_ends(t, "\xf0\x9d\x85\xa0").size() == 12);  // three codes, which stay apart
}

TEST_CASE("encode: memory is measured, and one byte or id less is refused with both numbers") {
  for (const std::vector<uint8_t>& part : small_parts()) {
    const LoadedTokenizer t(part, "test");
    const std::string text = "abc <|end|> 12 a\xc3\xa9 <tab> b";
    text::EncodeNeed need;
    ErrorDetail detail;
    REQUIRE(text::measure_encode(t.tables(), text.size(), &need, &detail).ok());
    const vocabulary::AlignedBytes memory = vocabulary::aligned_bytes(need.memory_bytes + 16);
    std::memset(memory.get(), 0x5a, need.memory_bytes + 16);
    std::vector<int32_t> ids(need.ids);
    size_t count = 0;
    const Span<const uint8_t> bytes{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    const auto encode = [&](uint64_t memory_bytes, size_t id_count) {
      return text::encode(t.tables(), bytes, {}, {memory.get(), memory_bytes},
                          {ids.data(), id_count}, &count, &detail);
    };
    REQUIRE(encode(need.memory_bytes, ids.size()).ok());
    const size_t exact = count;
    for (size_t i = 0; i < 16; i++) CHECK(memory[need.memory_bytes + i] == 0x5a);
    CHECK(encode(need.memory_bytes, exact).ok());
    CHECK(encode(need.memory_bytes, exact - 1).code() == Code::kArenaTooSmall);
    CHECK((detail.need == exact && detail.have == exact - 1));
    if (need.memory_bytes) {
      CHECK(encode(need.memory_bytes - 1, exact).code() == Code::kArenaTooSmall);
      CHECK((detail.need == need.memory_bytes && detail.have == need.memory_bytes - 1));
    }
    CHECK(text::measure_encode(t.tables(), text::kMaxEncodeBytes + 1, &need, &detail).code() ==
          Code::kLimitExceeded);
  }
}

TEST_CASE("encode: a character without a piece is refused where the model has no unknown one") {
  Vocabulary v = byte_vocabulary({}, {TextStage::kNumber});
  v.byte_pieces['x'] = -1;
  add_piece(&v, "<t>", PieceKind::kAdded);
  const LoadedTokenizer t = loaded(v);
  CHECK(without_ends(t, "ab").size() == 2);
  for (const std::string before : {"", "ab", "a12b", "1<t>a1"}) {
    try {
      (void)t.encode(before + "x1");
      FAIL("it is taken");
    } catch (const host::Failure& failure) {
      const std::string where = " at byte " + std::to_string(before.size()) + " of it";
      CHECK(failure.message().find(where) != std::string::npos);
    }
  }
}

TEST_CASE("encode: work grows with n log n of a text, whatever it repeats") {
  Vocabulary pairs = byte_vocabulary({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}, {" ", " "}});
  Vocabulary scored =
      scored_vocabulary({{"a", -1.}, {"aa", -2.}, {"aaaa", -1.5}, {" ", -3.}, {"  ", -4.}});
  Vocabulary unigram = scored;
  unigram.model = TextModel::kUnigram;
  const char* units[] = {"a", " ", "ab", "\n", " \n", "\xe4\xb8\xad", "\xcc\x81", "a "};
  constexpr size_t kBytes = size_t{1} << 20;
  for (const Vocabulary& v : {pairs, scored, unigram, word_vocabulary()}) {
    const LoadedTokenizer t = loaded(v);
    for (const std::string unit : units) {
      std::string text;
      while (text.size() < kBytes) text += unit;
      text::EncodeWork work;
      text::EncodeOptions options;
      options.work = &work;
      (void)t.encode(text, options);
      CAPTURE(int(v.model));
      CAPTURE(unit);
      const double n = double(text.size());
      CHECK(double(work.characters) <= 16 * n);
      CHECK(double(work.joins) <= 8 * n);
      CHECK(double(work.moves) <= 3 * n * std::log2(2 * n));
      // Of words, a text of marks alone is none.
      CHECK((work.joins + work.characters > 0 || v.model == TextModel::kWords));
    }
  }
}
