// SPDX-License-Identifier: Apache-2.0
// Chat templates: what is refused at conversion, by line and construct; what they render; budgets
// of steps, calls and memory. tests/text/chat_templates.py compares many with jinja2.
#include <doctest/doctest.h>

#include "tests/text/small_chats.h"
#include "tools/files/failure.h"

using namespace ingot;
using namespace ingot::test;

TEST_CASE("templates: white space around tags, as trim_blocks and lstrip_blocks cut it") {
  CHECK(rendered("a\n  {% if true %}\nb\n  {% endif %}\nc\n") == "a\nb\nc");
  CHECK(rendered("  {{ 1 }}\n") == "  1");
  CHECK(rendered("a  {%- if true -%}  b  {%- endif %}\n\nc") == "ab\nc");
  CHECK(rendered("  {%+ if true %}a{% endif +%}\nb") == "  a\nb");
  CHECK(rendered("a {{- 1 -}}\n b") == "a1b");
  CHECK(rendered("x {# a\n{{ #}\ny") == "x y");
  CHECK(rendered("a\r\nb\r") == "a\nb");
  CHECK(rendered("{ {{ {'a': {'b': 1}}['a']['b'] }} }") == "{ 1 }");
}

TEST_CASE("templates: statements") {
  CHECK(rendered("{% for x in [1, 2] %}{{ loop.index }}{{ x }}{% else %}e{% endfor %}") == "1122");
  CHECK(rendered("{% for x in [] %}a{% else %}e{% endfor %}") == "e");
  CHECK(rendered("{% for x in [1, 2, 3] if x != 2 %}{{ loop.index }}{{ x }}{% endfor %}") ==
        "1123");
  CHECK(rendered("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}") == "a1");
  CHECK(rendered("{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}"
                 "{% if x == 3 %}{% break %}{% endif %}.{% endfor %}") == "1.3");
  CHECK(rendered("{% set x = 1 %}{% for y in [5] %}{{ x }}{% set x = y %}{{ x }}{% endfor %}"
                 "{{ x }}") == "151");
  CHECK(rendered("{% set n = namespace(a=1) %}{% for y in [5] %}{% set n.a = n.a + y %}"
                 "{% endfor %}{{ n.a }}") == "6");
  CHECK(rendered("{% set x | upper %}a{{ 1 }}{% endset %}{{ x }}") == "A1");
  CHECK(rendered("{% filter trim | upper %} a {% endfilter %}") == "A");
  CHECK(rendered("{% macro m(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) ~ m(b=3, a=4) }}") ==
        "[12][43]");
  CHECK(rendered("{% if a %}1{% elif b %}2{% else %}3{% endif %}", {{"b", 1}}) == "2");
  CHECK(rendered("{% generation %}a{% endgeneration %}") == "a");
  CHECK(rendered("a\n {% raw %} {{ x }}{% if %}\n {% endraw %}\nb{%- raw -%} c {%- endraw %}") ==
        "a\n {{ x }}{% if %}\nbc");
  CHECK(rendered("{% for x in [1] %}{% if x %}{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(x) }}"
                 "{% endif %}{% endfor %}") == "<1>");
  CHECK(rendered("{% macro m(a) %}<{{ a }}>{% endmacro %}{% set n = namespace(f=m) %}{{ n.f(1) }}"
                 "{{ [m][0](a=2) }}") == "<1><2>");
  CHECK(rendered("{% if x %}{{ 1 | frob }}{{ x is frob }}{% endif %}{{ 1 if x else 2 }}") == "2");
  CHECK(rendered("{% if x %}{{ 1.frob() }}{% endif %}{{ 'é-x'.index('x') }}") == "2");
}

TEST_CASE("templates: expressions") {
  const ChatJson inputs = {{"s", " a b "}, {"list", {3, 1}}, {"dict", {{"k", {{"z", 1}}}}}};
  const struct {
    const char *source, *text;
  } rows[] = {
      {"{{ 1 + 2 * 3 - 1 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }}", "6 3 2 3.5"},
      {"{{ 70000 * 70000 }} {{ 123456789012 }} {{ 1.5 }}", "4900000000 123456789012 1.5"},
      {"{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 if false }}", "True False "},
      {"{{ 'a' in s and not 'c' in s }} {{ 4 not in list }}", "True True"},
      {"{{ s[1:-1] }} {{ list[::-1] }} {{ 'h\u00e9'[-1] }}", "a b [1, 3] \u00e9"},
      {"{{ dict.k.z }} {{ dict['k']['z'] }} {{ dict.q is defined }}", "1 1 False"},
      {"{{ [1, 'a', none, (1,)] }} {{ {'a': true} }}", "[1, 'a', None, (1,)] {'a': True}"},
      {"{{ list | tojson }} {{ dict | tojson(indent=1) }}",
       "[3, 1] {\n \"k\": {\n  \"z\": 1\n }\n}"},
      {"{{ 'a,b'.split(',') }} {{ '-'.join(['a', 'b']) }} {{ s.strip() }}", "['a', 'b'] a-b a b"},
      {"{{ nope }}{{ nope | default('d') }} {{ list | length }}", "d 2"},
      {"{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'gt', 1) | map(attribute='a') | list }}", "[2]"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.source);
    CHECK(rendered(row.source, inputs) == row.text);
  }
}

TEST_CASE("templates: what is not known is refused by line and construct") {
  const struct {
    const char *source, *says;
  } rows[] = {
      {"a\n{{ x | frob }}", "line 2: not known: the filter 'frob'"},
      {"{{ x is frob }}", "line 1: not known: the test 'frob'"},
      {"{{ x.zfill(2) }}", "line 1: not known: the method 'zfill'"},
      {"{% if x %}{{ x | round }}{% endif %}", "the filter 'round'"},
      {"{{ 1 if x is sameas y }}", "the test 'sameas'"},
      {"{% if x %}{% for y in x %}{{ y | frob }}{% endfor %}{% endif %}", "the filter 'frob'"},
      {"\n\n{% include 'a' %}", "line 3: not known: the tag 'include'"},
      {"{% raw %}a", "'raw' without 'endraw'"},
      {"{% call m() %}a{% endcall %}", "the tag 'call'"},
      {"{% for x in y recursive %}a{% endfor %}", "a recursive loop"},
      {"{% for x in y %}{% macro m() %}{{ x }}{% endmacro %}{% endfor %}", "a macro in a macro"},
      {"{% for x in y %}{% macro m() %}{{ m() }}{% endmacro %}{% endfor %}", "a macro in a macro"},
      {"{% macro m() %}{{ caller() }}{% endmacro %}", "'caller' of a macro"},
      {"{% break %}", "'break' or 'continue' outside of a loop"},
      {"{% for x in y %}{% set z %}{% break %}{% endset %}{% endfor %}", "'break' or 'continue'"},
      {"{{ 2 ** 3 }}", "the operator '**'"},
      {"{{ joiner(',') }}", "'joiner'"},
      {"{{ m(*x) }}", "'*' in front of an argument"},
      {"{{ x | trim(a=1) }}", "the argument 'a' of 'trim'"},
      {"{{ x | upper(1) }}", "an argument more of 'upper'"},
      {"{{ x | map('frob') }}", "this form of 'map'"},
      {"{{ x | selectattr('a', 'frob') }}", "this test of 'selectattr'"},
      {"{{ namespace(x) }}", "this argument of 'namespace'"},
      {"{% if x %}", "a block without 'endif'"},
      {"{% endif %}", "the tag 'endif' here"},
      {"{{ x", "a tag without an end"},
      {"{# x", "a comment without an end"},
      {"{{ 'x }}", "a text without an end"},
      {"{{ 1e5 }}", "a number with an exponent"},
      {"{{ '\\N{DASH}' }}", "the escape \\N"},
      {"{{ x ? 1 }}", "the character '?'"},
      {"{{ (1] }}", "']' closes nothing"},
  };
  for (const auto& row : rows) {
    const std::string refused = chat::chat_template_of(row.source, "file").refused;
    CAPTURE(row.source);
    CAPTURE(refused);
    CHECK(refused.find("file: chat template, ") == 0);
    CHECK(refused.find(row.says) != std::string::npos);
    CHECK(refused.find('\n') == std::string::npos);
  }
}

TEST_CASE("templates: constructs beyond the limits are refused, not a crash") {
  const auto repeated = [](const char* text, int times) {
    std::string all;
    for (int i = 0; i < times; i++) all += text;
    return all;
  };
  for (const std::string& source :
       {"{{ " + repeated("(", 20000) + "1" + repeated(")", 20000) + " }}",
        "{{ " + repeated("not ", 20000) + "1 }}", "{{ " + repeated("-", 20000) + "1 }}",
        "{{ 1" + repeated(" + 1", 20000) + " }}", "{{ x" + repeated(".a", 20000) + " }}",
        "{{ x" + repeated("|trim", 20000) + " }}", "{{ x" + repeated("[0]", 20000) + " }}",
        repeated("{% if x %}", 20000), "{% if x %}" + repeated("{% elif x %}", 20000),
        "{{ [" + repeated("1,", 70000) + "] }}", repeated("{{ x }}", 40000),
        std::string(2 << 20, 'x')})
    CHECK_FALSE(chat::chat_template_of(source, "file").refused.empty());
}

TEST_CASE("templates: an error of a template says its line and its message") {
  const auto says = [](const char* source, const ChatJson& inputs = ChatJson::object()) {
    try {
      (void)rendered(source, inputs);
    } catch (const host::Failure& failure) {
      CHECK(failure.exit() == host::Exit::kMismatch);
      return failure.message();
    }
    return std::string("nothing");
  };
  CHECK(says("a\n{{ raise_exception('only \u00e9 ' ~ 1) }}") ==
        "test: chat template, line 2: it says: only \u00e9 1");
  CHECK(says("{% if true %}\n{{ 1 | frob }}{% endif %}") ==
        "test: chat template, line 2: it says: No filter named 'frob' found.");
  CHECK(says("{{ 1 if 1 is frob }}") ==
        "test: chat template, line 1: it says: No test named 'frob' found.");
  CHECK(says("{{ {}.update({}) }}") != "nothing");
  CHECK(says("{{ 'a'.index('x') }}") != "nothing");
  CHECK(says("\n\n{{ nope.x }}") == "test: chat template, line 3: a value is undefined ('x')");
  CHECK(says("{{ 1 // 0 }}").find("division by zero") != std::string::npos);
  CHECK(says("{{ [].append(1) }}").find("changes its object") != std::string::npos);
  CHECK(says("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}").find("more arguments") !=
        std::string::npos);
  CHECK(says("{{ '\u00e9' | upper }}").find("beyond ASCII") != std::string::npos);
}

TEST_CASE("templates: budgets of steps, calls, memory, output and depth") {
  const auto code_of = [](const char* source, uint64_t steps, size_t memory, size_t output,
                          ErrorDetail* detail, const ChatJson& inputs = ChatJson::object()) {
    return render_raw(chat_of(source), inputs, steps, memory, output, detail);
  };
  ErrorDetail d;
  const char* kLong =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  CHECK(code_of(kLong, 100000, 1 << 24, 1 << 16, &d) == Code::kLimitExceeded);
  CHECK(std::string(d.field) == "steps");
  CHECK(d.need == 100000);
  const char* kForever = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
  CHECK(code_of(kForever, 1 << 26, 1 << 24, 1 << 16, &d) == Code::kLimitExceeded);
  CHECK(std::string(d.field) == "calls");
  const char* kDoubles =
      "{% set n = namespace(s='x') %}{% for a in range(100) %}"
      "{% set n.s = n.s + n.s %}{% endfor %}";
  CHECK(code_of(kDoubles, 1 << 26, 1 << 16, 1 << 20, &d) == Code::kArenaTooSmall);
  CHECK(std::string(d.field) == "memory");
  CHECK(d.need > d.have);
  CHECK(d.have == 1 << 16);
  CHECK(code_of("{{ 'abc' * 100 }}", 1 << 20, 1 << 16, 100, &d) == Code::kArenaTooSmall);
  CHECK(std::string(d.field) == "output");
  CHECK(code_of("{{ 'x' * 9000000000 }}", 1 << 20, 1 << 16, 100, &d) == Code::kArenaTooSmall);
  CHECK(code_of("{{ range(100001) }}", 1 << 20, 1 << 16, 100, &d) == Code::kLimitExceeded);
  ChatJson deep = 1;
  for (int i = 0; i < 100; i++) deep = ChatJson::array({deep});
  for (const char* source : {"{{ x }}", "{{ x | tojson }}", "{{ x == x }}"}) {
    CHECK(code_of(source, 1 << 26, 1 << 20, 1 << 16, &d, {{"x", deep}}) == Code::kLimitExceeded);
    CHECK(std::string(d.field) == "depth of a value");
  }
  const char* kNested =
      "{% set n = namespace(x=1) %}{% for a in range(3000) %}"
      "{% set n.x = {'k': [n.x]} %}{% endfor %}{{ n.x == n.x }}";
  CHECK(code_of(kNested, 1 << 26, 1 << 24, 1 << 16, &d) == Code::kLimitExceeded);
  // Every size of memory: an error or the text, and never more than there is.
  const ChatJson inputs = {{"messages", {{{"role", "user"}, {"content", "Hello"}}}}};
  const LoadedTokenizer chat = chat_of(kChatMl);
  bool was_enough = false;
  for (size_t memory = 0; memory < 4096; memory += 16) {
    const Code code = render_raw(chat, inputs, 1 << 20, memory, 256, &d);
    REQUIRE((code == Code::kOk || code == Code::kArenaTooSmall));
    CHECK((!was_enough || code == Code::kOk));
    was_enough = code == Code::kOk;
  }
  CHECK(was_enough);
}

TEST_CASE("templates: tokens of the file stand in for inputs that are not given") {
  Vocabulary v = byte_vocabulary({});
  v.chat = chat::chat_template_of("{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}", "x");
  v.chat.bos = "<s>";
  CHECK(chat::render_chat(loaded(v).chat(), ChatJson::object(), {}, "x") == "<s>False");
  CHECK(chat::render_chat(loaded(v).chat(), {{"bos_token", "B"}}, {}, "x") == "BFalse");
}

TEST_CASE("templates: the time is that which the caller gives") {
  const LoadedTokenizer chat = chat_of("{{ strftime_now('%d %b %Y %A %j') }}");
  CHECK(chat::render_chat(chat.chat(), ChatJson::object(), {2024, 2, 29, 0, 0, 0}, "x") ==
        "29 Feb 2024 Thursday 060");
  CHECK_THROWS_AS((void)chat::render_chat(chat.chat(), ChatJson::object(), {}, "x"), host::Failure);
}
