// SPDX-License-Identifier: Apache-2.0
// Grammars and JSON schemas: which texts they take, byte by byte and in tokens of any length; masks
// against tokens tried one by one; what is refused, by one line; compiled forms of an attacker.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "runtime/text/constraint.h"
#include "tests/text/small_vocabularies.h"
#include "tools/files/failure.h"
#include "tools/text/json_schema.h"

using namespace ingot;

namespace {

using Form = std::vector<uint8_t>;
using Strings = std::vector<std::string>;

Form gbnf(const std::string& text) { return grammar::compile_gbnf(text, "test"); }
Form schema(const std::string& text) { return grammar::compile_schema_text(text, "test"); }

/// Bytes, then pieces of several, then "<end>", which is one of control.
test::Vocabulary vocabulary_of(const Strings& pieces) {
  test::Vocabulary v = test::byte_vocabulary({});
  for (const std::string& piece : pieces) test::add_piece(&v, piece);
  test::add_piece(&v, "<end>", PieceKind::kControl);
  return v;
}
const Strings kPieces = {"\",\"", "\":",      "{\"",  "\"}",    "a\"",      "bc\",",   "12",
                         "},{",   "\n  ",     "true", "e\":[",  "1.5e",     "],",      "\xc3",
                         "\xa9x", "\xe2\x82", "\\u0", "abcabc", "aaaaaaaa", "\"a\":1}"};

struct Matcher {
  explicit Matcher(const Form& form, const Strings& pieces = {})
      : form(form), tokenizer(test::loaded(vocabulary_of(pieces))) {
    const uint64_t bytes = text::TokenConstraint::measure(tokenizer.tables());
    memory = vocabulary::aligned_bytes(bytes);
    ErrorDetail detail;
    REQUIRE(constraint.place(tokenizer.tables(), {memory.get(), bytes}, &detail).ok());
    set = constraint.set({this->form.data(), this->form.size()}, &detail);
  }
  bool accept(int32_t id) {
    ErrorDetail detail;
    return constraint.accept(id, &detail).ok();
  }
  bool takes(const std::string& text) {
    ErrorDetail detail;
    REQUIRE(constraint.restart(&detail).ok());
    for (const char c : text)
      if (!accept(uint8_t(c))) return false;
    return constraint.may_end();
  }
  Form form;
  test::LoadedTokenizer tokenizer;
  vocabulary::AlignedBytes memory;
  text::TokenConstraint constraint;
  Status set;
};

struct Texts {
  const char* grammar;
  Strings taken, refused;
};

void check_texts(const Form& form, const Texts& t) {
  INFO(t.grammar);
  Matcher matcher(form);
  REQUIRE(matcher.set.ok());
  for (const std::string& text : t.taken) CHECK_MESSAGE(matcher.takes(text), text);
  for (const std::string& text : t.refused) CHECK_MESSAGE(!matcher.takes(text), text);
}

/// The line that refuses it.
template <class Compile>
std::string refusal(Compile compile, const std::string& text) {
  try {
    (void)compile(text);
  } catch (const host::Failure& failure) {
    CHECK(failure.message().find('\n') == std::string::npos);
    return failure.message();
  }
  return "compiled";
}
bool says(const std::string& line, const std::string& word) {
  INFO(line);
  return line.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("grammars take the texts that they say") {
  const Texts texts[] = {
      {"root ::= \"yes\" | \"no\"", {"yes", "no"}, {"", "ye", "yesno"}},
      {"root ::= [a-c]+ # some\n  | [^a-z\\x00]{2}", {"abc", "1\xc3\xa9"}, {"d", "1", "a1"}},
      {"root ::= a{2,3} b?\na ::= \"x\" | \"yy\"\nb ::= .",
       {"xx", "xyyx", "xx\xf0\x9f\x98\x80"},
       {"x", "xx\xf0\x9f\x98"}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "((()))"}, {"(()", ")"}},
      {"root ::= (\"a\"*)* (\"b\" | ws root)?\nws ::= [ \\t]", {"", "aab", "a  a\tb"}, {"ba"}},
      {"root ::= \"\\x41\\u00e9\\\"\\n\" [\\]\\-\\\\]",
       {"A\xc3\xa9\"\n]", "A\xc3\xa9\"\n-"},
       {"A\xc3\xa9\"\nx"}},
      {"root ::= [0-9]{30,40} \"z\" | \"q\"{3,}",
       {std::string(30, '7') + "z", std::string(40, '7') + "z", "qqqq"},
       {std::string(29, '7') + "z", std::string(41, '7') + "z", "qq"}},
      {"root ::= a a\na ::= [x-z]{25,} b\nb ::= \"1\" | b2\nb2 ::= \"2\" | a",
       {std::string(25, 'x') + "1" + std::string(40, 'y') + "2"},
       {std::string(25, 'x') + "1" + std::string(24, 'y') + "2"}},
  };
  for (const Texts& t : texts) check_texts(gbnf(t.grammar), t);
}

TEST_CASE("schemas take what is valid by them") {
  const Texts texts[] = {
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{},"c":{"type":"null"}},
           "required":["b"]})",
       {R"({"b":[1]})", R"({"a":1,"b":{"x":"y"},"c":null})", "{\n  \"b\": 1.5e3\n}"},
       {"{}", R"({"a":1})", R"({"b":1,"a":1})", R"({"b":1,"d":1})", R"({"b":1,})"}},
      {R"({"type":"object"})", {"{}", R"({"x":{"y":[true,null,"\u00e9\n"]}})"}, {"[]", "{\"x\"}"}},
      {R"({"properties":{"ab":{"const":1}},"additionalProperties":{"type":"boolean"}})",
       {R"({"ab":1,"abc":true,"a":false})", R"({"":true})", R"({"é":true})"},
       {R"({"ab":true})", R"({"a":1})", R"({"\u0061b":true})"}},
      {R"({"required":["x y"]})", {R"({"x y":0,"z":1})"}, {R"({"z":1})"}},
      {R"({"items":{"enum":["a",1,null]},"minItems":1,"maxItems":2})",
       {"[\"a\"]", "[1, null]"},
       {"[]", "[1,1,1]", "[2]"}},
      {R"({"prefixItems":[{"type":"string"},{"type":"integer"}]})",
       {"[]", "[\"x\"]", "[\"x\",1]"},
       {"[1]", "[\"x\",1,2]"}},
      {R"({"prefixItems":[{"const":1}],"items":{"const":2},"minItems":2})",
       {"[1,2]", "[1,2,2]"},
       {"[1]", "[1,1]"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("\"\u00e9é")", "\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80\""},
       {R"("a")", R"("abcd")", R"("\ud83d")", "\"a\n\""}},
      {R"({"type":"string","maxLength":100})",
       {"\"\"", "\"" + std::string(100, 'x') + "\""},
       {"\"" + std::string(101, 'x') + "\""}},
      {R"({"type":"integer","minimum":-12,"exclusiveMaximum":105})",
       {"-12", "-1", "0", "9", "99", "104"},
       {"-13", "-20", "105", "00", "01", "-0", "200"}},
      {R"({"type":"integer","minimum":987})", {"987", "990", "1000", "99999"}, {"986", "99", "-1"}},
      {R"({"type":"integer","maximum":-5})", {"-5", "-10", "-99"}, {"-4", "0", "5"}},
      {R"({"type":["number","null"],"minimum":0})", {"0.5", "10", "null", "1e9"}, {"-1", "01"}},
      {R"({"anyOf":[{"type":"null"},{"$ref":"#/$defs/t"}],
           "$defs":{"t":{"type":"object","properties":{"n":{"$ref":"#"}}}}})",
       {"null", R"({"n":{"n":null}})"},
       {R"({"n":1})"}},
      {R"({"allOf":[{"properties":{"a":{"type":["integer","string"]}},"required":["a"]},
                    {"properties":{"a":{"type":["string","null"]},"b":{}}}]})",
       {R"({"a":"x"})", R"({"a":"","b":1})"},
       {R"({"a":1})", R"({"b":1})"}},
      {R"({"type":"object","properties":{"k":{"type":"string"}},
           "oneOf":[{"required":["k"]},{"properties":{"n":{"type":"integer"}}}]})",
       {R"({"k":"v"})", R"({"n":3})"},
       {R"({"n":"x"})"}},
      {R"({"enum":["a",2,null],"type":["string","null"]})", {"\"a\"", "null"}, {"2"}},
      {R"({"type":"string","format":"date"})",
       {"\"2024-02-28\"", "\"1999-12-31\""},
       {"\"2024-02-30\"", "\"2024-04-31\"", "\"2024-13-01\"", "\"0000-01-01\""}},
      {R"({"type":"string","format":"date-time"})",
       {"\"2024-01-31T23:59:59.25+02:00\""},
       {"\"2024-01-31 23:59:59Z\"", "\"2024-01-31T24:00:00Z\""}},
      {R"({"type":"string","format":"uuid"})",
       {"\"123e4567-e89b-12d3-a456-426614174000\""},
       {"\"123e4567e89b12d3a456426614174000\""}},
      {R"({"type":"string","pattern":"^[A-F\\d]{2}(-x|\\.)*$"})",
       {"\"0F\"", "\"A1-x.-x\""},
       {"\"G1\"", "\"A1-\""}},
      {R"({"type":"string","pattern":"b\\\\|\"c$"})",
       {R"("ab\\x")", R"("x\"c")"},
       {R"("ab")", R"("\"cx")"}},
      {"true", {"1", "[{}]", "\"x\""}, {"", "tru"}},
      {R"({"properties":{"a~/b":{"type":"integer"},"r":{"$ref":"#/properties/a~0~1b"}}})",
       {R"({"r":1})"},
       {R"({"r":"x"})"}},
  };
  for (const Texts& t : texts) check_texts(schema(t.grammar), t);
}

TEST_CASE("what is no grammar, or cannot be satisfied, is refused by one line") {
  const std::pair<const char*, const char*> grammars[] = {
      {"", "no rule 'root'"},
      {"root ::= a", "no rule 'a'"},
      {"root ::= \"a", "ends inside"},
      {"root ::= (\"a\"", "expected )"},
      {"root ::= [b-a]", "ends before it begins"},
      {"root ::= *", "before '*'"},
      {"root ::= \"a\"{3,2}", "at most 2"},
      {"root ::= \"\\q\"", "escape \\q"},
      {"root ::= \"a\"{2,\n}", "expected a number, found the end of the line"},
      {"root ::= <think>", "not supported"},
      {"root ::= \"a\"\nroot ::= \"b\"", "twice"},
      {"root = \"a\"", "::="},
      {"root ::= root \"a\" | \"b\"", "begins with itself"},
      {"root ::= e f\ne ::= \"\" | \"x\"\nf ::= e root", "no text satisfies"},
      {"root ::= e f\ne ::= \"\" | \"x\"\nf ::= e root | \"y\"", "begins with itself"},
      {"root ::= \"a\" root", "no text satisfies"},
      {"root ::= (((\"a\"{1000}){1000}){1000}){1000}", "larger than"},
      {"root ::= \"\xff\"", "not UTF-8"},
  };
  for (const auto& c : grammars) CHECK_MESSAGE(says(refusal(gbnf, c.first), c.second), c.first);
  CHECK(says(refusal(gbnf, "root ::= " + std::string(1000, '(')), "nest deeper"));
  const std::pair<const char*, const char*> schemas[] = {
      {"[]", "expected a schema"},
      {"{", "test"},
      {R"({"type":"text"})", "#/type"},
      {R"({"properties":{"a":{"not":{}}}})", "#/properties/a/not: 'not' is not supported"},
      {R"({"properties":{"a\n":{"not":{}}}})", "#/properties/a /not: 'not' is not supported"},
      {R"({"uniqueItems":true})", "'uniqueItems'"},
      {R"({"multipleOf":2})", "'multipleOf'"},
      {R"({"type":"number","maximum":2})", "'maximum' of numbers"},
      {R"({"format":"email"})", "the format 'email'"},
      {R"s({"pattern":"a(?=b)"})s", "#/pattern: at 3: a group of this kind"},
      {R"({"pattern":"a*?"})", "not greedy"},
      {R"({"pattern":"a","maxLength":3})", "'pattern' beside a length"},
      {R"({"$ref":"#"})", "leads back to itself"},
      {R"({"$ref":"#/$defs/x"})", "there is no"},
      {R"({"$ref":"other.json"})", "outside of the schema"},
      {R"({"anyOf":[{"$ref":"#"}]})", "no text satisfies"},
      {R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})", "rule '#' begins with itself"},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "no text satisf"},
      {R"({"type":"integer","minimum":3,"maximum":2})", "no text satisfies"},
      {R"({"allOf":[{"type":"string"},{"type":"null"}]})", "no text satisfies"},
      {R"({"allOf":[{"additionalProperties":false},{"properties":{"a":{}}}]})", "of another part"},
      {R"({"minItems":2,"maxItems":1})", "no text satisfies"},
      {R"({"enum":[1],"type":"string"})", "no text satisfies"},
      {"false", "no text satisfies"},
  };
  for (const auto& c : schemas) CHECK_MESSAGE(says(refusal(schema, c.first), c.second), c.first);
  std::string bomb = R"({"$ref":"#/$defs/x30","$defs":{"x0":{})";
  for (int i = 1; i <= 30; i++) {
    const std::string other = R"({"$ref":"#/$defs/x)" + std::to_string(i - 1) + "\"}";
    bomb += ",\"x" + std::to_string(i) + R"(":{"allOf":[)" + other + "," + other + "]}";
  }
  CHECK(says(refusal(schema, bomb + "}}"), "so long a chain"));
  std::string deep;
  for (int i = 0; i < 110; i++) deep += R"({"items":)";
  CHECK(says(refusal(schema, deep + "{}" + std::string(110, '}')), "nest deeper"));
}

TEST_CASE("a hundred thousand alternatives are one automaton") {
  std::string all = "root ::= ";
  for (int i = 0; i < 100000; i++) all += (i ? " | \"n" : "\"n") + std::to_string(i) + "\"";
  Matcher matcher(gbnf(all));
  CHECK(matcher.takes("n99999"));
  CHECK(!matcher.takes("n100000"));
}

/// Random walks: a token is in the mask where its bytes are taken one by one, and only there.
TEST_CASE("masks are of the tokens whose bytes the grammar takes") {
  const Form forms[] = {
      schema(R"({"type":"object","properties":{"a":{"type":"string","maxLength":60},
                 "e":{"type":"array","items":{"enum":["abc","abcabc",12]},"maxItems":4}}})"),
      schema(R"({"items":{"type":"object","properties":{"a":{"type":"number"}}},"maxItems":6})"),
      schema(R"({"type":"string","minLength":40,"maxLength":90})"),
      gbnf("root ::= (x | y | \"a\"{30,50})* \"bc\\\",\"\nx ::= \"a\" x | \"a\"\ny ::= \"a\" y "
           "\"}\" | \"a\\\"\""),
      gbnf("root ::= [\xc2\xa0-\xe2\x82\xbf]{2,8} | \"aaaaaaaa\"+"),
  };
  std::mt19937 random(7);
  for (const Form& form : forms) {
    Matcher walked(form, kPieces), tried(form, kPieces);
    REQUIRE(walked.set.ok());
    const TokenizerView& t = walked.tokenizer.tables();
    for (int round = 0; round < 4; round++) {
      ErrorDetail detail;
      std::vector<int32_t> path;
      REQUIRE(walked.constraint.restart(&detail).ok());
      for (int i = 0; i < 12 && !walked.constraint.is_over(); i++) {
        Span<const uint8_t> bits;
        REQUIRE(walked.constraint.allowed(true, &bits, &detail).ok());
        std::vector<int32_t> open;
        for (uint32_t id = 0; id < t.count; id++) {
          const bool is_open = bits[id / 8] >> (id % 8) & 1;
          REQUIRE(tried.constraint.restart(&detail).ok());
          bool is_taken = true;
          for (const int32_t before : path)
            for (const uint8_t byte : t.piece(uint32_t(before))) is_taken &= tried.accept(byte);
          if (t.kind(id) == PieceKind::kControl)
            is_taken = tried.constraint.may_end();
          else
            for (const uint8_t byte : t.piece(id)) is_taken = is_taken && tried.accept(byte);
          CHECK(is_open == is_taken);
          if (is_open && t.kind(id) != PieceKind::kControl) open.push_back(int32_t(id));
        }
        if (open.empty()) break;
        // Long ones more often than chance has them.
        int32_t id = open[random() % open.size()];
        for (int k = 0; k < 3 && t.piece(uint32_t(id)).size < 2; k++)
          id = open[random() % open.size()];
        REQUIRE(walked.accept(id));
        path.push_back(id);
      }
    }
    CHECK(walked.constraint.work().masks > 0);
  }
}

TEST_CASE("a token that begins with the space that is not printed") {
  const test::LoadedTokenizer tokenizer =
      test::loaded(test::scored_vocabulary({{" ab", -1}, {"ab", -2}, {" ", -3}}));
  const TokenizerView& t = tokenizer.tables();
  const uint64_t bytes = text::TokenConstraint::measure(t);
  const vocabulary::AlignedBytes memory = vocabulary::aligned_bytes(bytes);
  text::TokenConstraint constraint;
  ErrorDetail detail;
  REQUIRE(constraint.place(t, {memory.get(), bytes}, &detail).ok());
  const Form form = gbnf("root ::= \"abab\"");
  REQUIRE(constraint.set({form.data(), form.size()}, &detail).ok());
  const auto allows = [&](uint32_t id) {
    Span<const uint8_t> bits;
    REQUIRE(constraint.allowed(true, &bits, &detail).ok());
    return (bits[id / 8] >> (id % 8) & 1) != 0;
  };
  const uint32_t spaced = t.count - 3, plain = t.count - 2;
  CHECK(allows(spaced));
  CHECK(allows(plain));
  CHECK(!allows(1));  // <s>
  REQUIRE(constraint.accept(int32_t(spaced), &detail).ok());
  CHECK(!allows(spaced));
  CHECK(allows(plain));
  CHECK(constraint.accept(int32_t(spaced), &detail).code() == Code::kInvalidArgument);
  REQUIRE(constraint.accept(int32_t(plain), &detail).ok());
  CHECK(constraint.is_over());
}

TEST_CASE("limits of the automaton are errors, and the state stays") {
  Matcher deep(gbnf("root ::= \"(\" root \")\" | \"x\""));
  ErrorDetail detail;
  Status status;
  uint32_t depth = 0;
  for (; status.ok() && depth < 20000; depth++) status = deep.constraint.accept('(', &detail);
  CHECK(status.code() == Code::kLimitExceeded);
  CHECK(depth > text::kMaxGrammarDepth - 8);
  // Two hundred levels that are closed again, many times: what is left of stacks is dropped.
  Matcher wide(gbnf("root ::= list*\nlist ::= \"(\" list* \")\""));
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < 200; i++) REQUIRE(wide.accept('('));
    for (int i = 0; i < 200; i++) REQUIRE(wide.accept(')'));
  }
  CHECK(wide.constraint.may_end());
  Matcher many(gbnf("root ::= a+ \"b\"\na ::= \"x\" a a a | \"x\" a a | \"x\""));
  status = {};
  for (int i = 0; i < 5000 && status.ok(); i++) status = many.constraint.accept('x', &detail);
  CHECK(status.code() == Code::kLimitExceeded);
}

TEST_CASE("a vocabulary's dead end is an error of its own") {
  test::Vocabulary v = vocabulary_of({});
  v.pieces['b'].kind = PieceKind::kUnused;
  const test::LoadedTokenizer tokenizer = test::loaded(v);
  const uint64_t bytes = text::TokenConstraint::measure(tokenizer.tables());
  const vocabulary::AlignedBytes memory = vocabulary::aligned_bytes(bytes);
  text::TokenConstraint constraint;
  ErrorDetail detail;
  Span<const uint8_t> bits;
  CHECK(constraint.allowed(true, &bits, &detail).code() == Code::kWrongState);
  CHECK(constraint.place(tokenizer.tables(), {memory.get(), bytes - 1}, &detail).code() ==
        Code::kArenaTooSmall);
  REQUIRE(constraint.place(tokenizer.tables(), {memory.get(), bytes}, &detail).ok());
  const Form form = gbnf("root ::= \"ab\"");
  REQUIRE(constraint.set({form.data(), form.size()}, &detail).ok());
  REQUIRE(constraint.allowed(true, &bits, &detail).ok());
  REQUIRE(constraint.accept('a', &detail).ok());
  CHECK(constraint.allowed(true, &bits, &detail).code() == Code::kNotFound);
  CHECK(std::string(detail.field).find("grammar") != std::string::npos);
}

/// Every word of a form set to what hurts: it is refused, or walks within its limits.
TEST_CASE("forms of an attacker are refused or bounded") {
  const Form good = schema(R"({"type":"object","properties":{"a":{"type":"string","maxLength":30},
                               "b":{"$ref":"#"}}})");
  size_t refused = 0, tried = 0;
  for (size_t at = 0; at + 4 <= good.size(); at += 4)
    for (const uint32_t word : {0u, 1u, 0xffffffffu, 0x80000000u, 0x10000000u}) {
      if (at > 600 && (at / 4 + word) % 7) continue;
      Matcher matcher(
          [&] {
            Form form = good;
            store_little<uint32_t>(form.data() + at, word);
            return form;
          }(),
          {"{\"a\":\"", "\"}"});
      tried++;
      if (!matcher.set.ok()) {
        refused++;
        CHECK(!matcher.constraint.is_set());
        continue;
      }
      ErrorDetail detail;
      for (int i = 0; i < 4; i++) {
        Span<const uint8_t> bits;
        if (!matcher.constraint.allowed(true, &bits, &detail).ok()) break;
        uint32_t id = 0;
        while (id < 255 && !(bits[id / 8] >> (id % 8) & 1)) id++;
        if (!matcher.constraint.accept(int32_t(id), &detail).ok()) break;
      }
    }
  CHECK(refused > tried / 4);
  for (size_t size = 0; size < good.size(); size += 1 + size / 8)
    CHECK(!Matcher(Form(good.begin(), good.begin() + ptrdiff_t(size))).set.ok());
}
