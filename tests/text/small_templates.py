# SPDX-License-Identifier: Apache-2.0
"""Conversations, and small templates of single constructs, for chat_templates.py."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather at a place.\nNow.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "A city, \"Köln\" for one"},
                "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
                "days": {"type": ["integer", "null"]},
                "at": {
                    "type": "object",
                    "properties": {"lat": {"type": "number"}, "tags": {"type": "array",
                                   "items": {"type": "string"}}},
                },
            },
            "required": ["city"],
        },
        "return": {"type": "string"},
    },
}
NO_ARGUMENTS = {
    "type": "function",
    "function": {
        "name": "now",
        "description": "The time",
        "parameters": {"type": "object", "properties": {}},
    },
}


def _user(text):
    return {"role": "user", "content": text}


def _call(name, arguments, number="abcdefgh1"):
    return {"type": "function", "id": number, "function": {"name": name, "arguments": arguments}}


def conversations():
    """Inputs of eleven kinds."""
    bos = {"bos_token": "<s>", "eos_token": "</s>"}
    system = {"role": "system", "content": "You are  terse.\n"}
    called = [
        _user("Weather in Köln?"),
        {"role": "assistant", "content": "", "tool_calls": [_call("get_weather", {"city": "Köln",
         "days": 2, "at": {"lat": 50.9, "tags": ["a", "b"]}})]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "abcdefgh1", "content": "12 °C"},
    ]
    parts = [{"type": "text", "text": "What is this? "}, {"type": "image"},
             {"type": "text", "text": "And that?"}]
    base = [
        {"messages": [_user("Hello <b>&</b> 'you'")], "add_generation_prompt": True},
        {"messages": [system, _user(" Hi\n"), {"role": "assistant", "content": " Hello! "},
                      _user("Bye")], "add_generation_prompt": True},
        {"messages": [_user("1"), {"role": "assistant", "content": "<think>\nhm\n</think>\n\n2"}],
         "add_generation_prompt": False},
        {"messages": [system, _user("What?")], "add_generation_prompt": True,
         "enable_thinking": False, "thinking": False, "reasoning_effort": "low"},
        {"messages": [_user("What?"), {"role": "assistant", "content": "That.",
                      "reasoning_content": "let me see\n"}, _user("Why?")],
         "add_generation_prompt": True, "enable_thinking": True, "thinking": True},
        {"messages": [system, *called], "tools": [WEATHER, NO_ARGUMENTS],
         "add_generation_prompt": True},
        {"messages": [*called, {"role": "assistant", "content": "12 degrees."}, _user("Thanks")],
         "tools": [WEATHER], "add_generation_prompt": True, "enable_thinking": True},
        {"messages": [_user(parts)], "add_generation_prompt": True},
        {"messages": [_user("a"), _user("b"), {"role": "nobody", "content": "c"}],
         "add_generation_prompt": False, "tools": None},
        {"messages": [_user("2 calls"), {"role": "assistant", "content": None, "tool_calls": [
            _call("now", {}, "abcdefgh1"), _call("get_weather", {"city": "東京", "unit": None,
             "ok": True}, "abcdefgh2")]},
            {"role": "tool", "tool_call_id": "abcdefgh1", "name": "now", "content": "12:00"},
            {"role": "tool", "tool_call_id": "abcdefgh2", "name": "get_weather",
             "content": "{\"t\": 1}"}],
         "tools": [NO_ARGUMENTS, WEATHER], "add_generation_prompt": True,
         "documents": [{"title": "T", "text": "one"}], "date_string": "1 Jan 2026"},
        {"messages": [{"role": "system", "content": ""}, _user(""),
                      {"role": "assistant", "content": ""}, _user(" \n")], "tools": [],
         "add_generation_prompt": True},
    ]
    return [{**bos, **each} for each in base]


def values():
    """Inputs of the small templates."""
    first = {
        "i": 7, "n": -3, "f": 2.5, "big": 12345678901, "yes": True, "no": False, "nil": None,
        "s": "  Hello, World \n", "word": "naïve 東京", "empty": "", "csv": "a,b,,c",
        "list": [3, 1, 2], "words": ["b", "A", "c", "b"], "none": [],
        "dict": {"b": 1, "a": [1, "x", None, True], "it's": {"k": 1.0}},
        "rows": [{"k": "x", "v": 1}, {"k": "y", "v": 2, "w": {"z": 5}}, {"k": "z", "v": 0}],
        "messages": [{"role": "user", "content": "hi"}], "quote": "it's \"q\" \\ \t\x01\x7f é",
    }
    return [first, {**first, "list": [], "s": "\u00a0x\u2028", "i": 0, "dict": {}, "f": 1e15,
                    "rows": [], "word": "", "csv": "x"}]


# By name. Each is rendered for each of values().
TEMPLATES = {
    "chatml": (
        "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + "
        "'<|im_end|>' + '\\n'}}{% endfor %}"
    ),
    "white space": (
        "a\n  {% if yes %}\n  b {{ i }}\n  {%- endif %}\n c {#- no -#} d\n  {%+ if yes %} "
        "e{% endif +%}\n f {{- i -}} g\n\n"
    ),
    "comment lines": "a\n   {# one #}\nb {# two #}\nc\n{# three\nlines #}\n\nd\n",
    "returns": "a\r\n{% if yes %}\r\nb\r{% endif %}\r\n",
    "for": (
        "{% for x in list %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ loop.first }}{{ "
        "loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}|{{ "
        "loop.nextitem }}{{ loop.cycle('o', 'e') }}{{ loop.depth }};{% else %}none{% "
        "endfor %}"
    ),
    "for if": (
        "{% for r in rows if r.v > 0 %}{{ loop.index }}{{ r.k }}{{ loop.last }}{% else "
        "%}-{% endfor %}"
    ),
    "for dict": (
        "{% for k, v in dict.items() %}{{ k }}={{ v }};{% endfor %}{% for k in dict %}{{ k "
        "}}{% endfor %}{% for (k, v) in dict|items %}{{ k }}{% endfor %}"
    ),
    "nested loops": (
        "{% for x in list %}{% for y in words %}{{ loop.index }}{{ x }}{{ y }}{% endfor "
        "%}{{ loop.index }}{% endfor %}"
    ),
    "outer loop": (
        "{% for x in list %}{% set outer = loop %}{% for y in list %}{{ outer.index }}{{ "
        "loop.index }} {% endfor %}{% endfor %}"
    ),
    "break": (
        "{% for x in list %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% if x == 2 "
        "%}{% break %}{% endif %}!{% endfor %}."
    ),
    "break all": "{% for x in list %}{% break %}{{ x }}{% else %}e{% endfor %}.",
    "scopes": (
        "{% set x = 1 %}{% for y in list %}{{ x }}{% set x = y %}{{ x }}{% endfor %}{{ x "
        "}}{% if yes %}{% set x = 9 %}{% endif %}{{ x }}"
    ),
    "loop variable": "{% set y = 'o' %}{% for y in list %}{{ y }}{% endfor %}{{ y }}",
    "namespace": (
        "{% set ns = namespace(a=1, b='x') %}{% for y in list %}{% set ns.a = ns.a + y "
        "%}{% set ns.c = y %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.c }}{{ ns.d is defined "
        "}}"
    ),
    "block set": (
        "{% set x %}\n a{{ i }}{% for y in list %}{{ y }}{% endfor %} \n{% endset %}[{{ x "
        "}}]{% set z | trim | upper %} q {% endset %}[{{ z }}]"
    ),
    "filter block": (
        "{% filter trim %}  {{ s }} {% filter upper %}b{% endfilter %} {% endfilter %}|"
    ),
    "unpacking": (
        "{% set a, b = (1, 2) %}{{ a }}{{ b }}{% for a, b in [(3, 4)] %}{{ a }}{{ b }}{% "
        "endfor %}"
    ),
    "macro": (
        "{% macro m(a, b=i, c='c' ~ b) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ "
        "m(1, 2) }}{{ m(c=3, a=4) }}{{ m() }}"
    ),
    "macro recursion": (
        "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ "
        "f(20) }}"
    ),
    "macro globals": (
        "{% macro g() %}{{ x }}{{ i }}{% set i = 5 %}{{ i }}{% endmacro %}{% set x = 4 "
        "%}{{ g() }}{{ i }}{{ x }}"
    ),
    "macro early": "{{ h() }}{% macro h() %}x{% endmacro %}",
    "macro too many": "{% macro h(a) %}x{% endmacro %}{{ h(1, 2) }}",
    "macro trim": (
        "{% macro h(a) %} {{ a }} {% endmacro %}[{{ h(1)|trim }}]{{ h(2).strip() + '!' }}"
    ),
    "arithmetic": (
        "{{ i + n }} {{ i - n }} {{ i * n }} {{ i / 2 }} {{ i // 2 }} {{ n // 2 }} {{ i % "
        "4 }} {{ n % 4 }} {{ -i }} {{ +f }} {{ f * 2 }} {{ f + i }} {{ 1.5 // 1 }} {{ big "
        "* 2 }} {{ 7.5 % 2 }} {{ -7.5 // 2 }} {{ 123456789 }} {{ -98765432109 }} {{ 0.1 }} "
        "{{ 1_000 }}"
    ),
    "precedence": (
        "{{ 1 + 2 * 3 - 4 }} {{ -2 * 3 }} {{ 'a' ~ 1 + 2 }} {{ not yes and no }} {{ 1 if "
        "no else 2 if no else 3 }} {{ (1 + 2) * 3 }} {{ 2 - 1 - 1 }} {{ not i == 7 }} {{ "
        "-n|abs }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 > 2 >= 2 != 1 }}"
    ),
    "comparison": (
        "{{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) == "
        "[1, 2] }} {{ nil == no }} {{ x == y }} {{ {'a': 1} == {'a': 1.0} }} {{ i >= 7 }}"
    ),
    "order of texts": "{{ 1 < 'a' }}",
    "in": (
        "{{ 1 in list }} {{ 'a' in 'cat' }} {{ 'b' in dict }} {{ 'z' not in dict }} {{ '' "
        "in '' }} {{ 'x' in undefined_one }} {{ nil in [none] }} {{ not 1 in list }}"
    ),
    "in a number": "{{ 1 in i }}",
    "and or": "{{ 0 or 'x' }} {{ '' and 1 }} {{ none or [] }} {{ i and s|trim }} {{ no or no }}",
    "literals": (
        "{{ [1, 'a', none, true, 2.0, [], {}, (1,), (), (1, 2)] }} {{ {'a': 1, 2: 'b'} }} "
        "{{ 'a' 'b' \"c\" }} {{ 'it\\'s' }} {{ '\\u00e9\\x41\\t\\n\\q' }} {{ True }} {{ "
        "None }}"
    ),
    "repr": "{{ [s, word, quote, 'a\\'b', '\"'] }} {{ dict }} {{ rows }} {{ [1.0, f] }}",
    "floats": (
        "{{ f }} {{ 1.0 / 3 }} {{ 100000.0 * 10000000000000 }} {{ 0.1 / 10000 }} {{ 1 / 1 "
        "}} {{ 0.00001 }} {{ [0.1 + 0.2] }} {{ (f * 10000000000) | tojson }}"
    ),
    "undefined": (
        "[{{ nope }}] {{ nope is defined }} {{ nope|default('d') }} {{ dict.zip is defined "
        "}} {{ nope|length }} {{ nope or 1 }} {{ [nope] }} {% for x in nope %}x{% endfor "
        "%} {{ nil.x }} {{ list[99] }} {{ dict['zz'] }} {{ s.nope }} {{ 5 .x if false }} "
        "{{ nope ~ 'a' }} {{ nope|trim }}"
    ),
    "undefined attribute": "{{ nope.x }}",
    "undefined item": "{{ nope['x'] }}",
    "undefined sum": "{{ nope + 'x' }}",
    "undefined order": "{{ nope < 1 }}",
    "undefined call": "{{ nope() }}",
    "no call": "{{ i() }}",
    "attributes": (
        "{{ dict.b }} {{ dict['a'][1] }} {{ rows[1].w.z }} {{ rows[-1]['k'] }} {{ list.0 "
        "}} {{ word[2] }} {{ word[-1] }} {{ rows.0.k }}"
    ),
    "methods as values": (
        "{{ dict.items is defined }} {{ dict['keys'] is defined }} {{ dict.pop is defined "
        "}} {{ s.title is defined }} {{ s['x'] is defined }} {{ 'y' if s.upper }} {{ "
        "dict.items is callable }} {{ dict.items is mapping }} {{ list.count is defined }}"
    ),
    "slice of none": "{{ nil[1:] }}",
    "generators": (
        "{% set g = rows|map(attribute='k') %}{{ g|join }}{{ g|join }}{{ 'y' if g }} {{ g "
        "is sequence }} {{ g is iterable }}{% set u = words|unique %}{% for x in u %}{{ "
        "loop.last }}{% endfor %}{{ 'a' if none|select else 'b' }} {{ dict.items() is "
        "sequence }}"
    ),
    "tojson of a generator": "{{ rows|map(attribute='k')|tojson }}",
    "tojson of a view": "{{ dict.keys()|tojson }}",
    "length of a generator": "{{ rows|map(attribute='k')|length }}",
    "last of a generator": "{{ words|map('upper')|last }}",
    "item of a view": (
        "{{ dict.keys()[0] is defined }} {{ dict.keys()|first }} {{ dict.items()|length }} "
        "{{ range(5)[1] }} {{ range(5)[1:3]|list }}"
    ),
    "slice of a view": "{{ dict.keys()[:1] }}",
    "select of none": "{{ nil|select('odd')|list }} {{ no|map('upper')|list }}",
    "slices": (
        "{{ list[1:] }} {{ list[:-1] }} {{ list[::-1] }} {{ word[2:5] }} {{ word[-2:] }} "
        "{{ word[:2] }}|{{ word[::-1] }}|{{ word[5:1] }}|{{ list[::2] }} {{ list[-2:-1] }} "
        "{{ list[9:] }} {{ word[0:-1:2] }} {{ (1, 2, 3)[1:] }} {{ list[::-2] }} {{ "
        "list[5:-9:-1] }}"
    ),
    "join": (
        "{{ list|join }} {{ words|join(', ') }} {{ rows|join('-', attribute='k') }} {{ "
        "'abc'|join('.') }} {{ ', '.join(words) }} {{ dict|join('+') }} {{ "
        "words|join(d='/') }}"
    ),
    "case": (
        "{{ s|upper }} {{ s|lower }} {{ s|trim|capitalize }} {{ 'ab-cd (ef x'|title }} {{ "
        "\"it's ab1c\".title() }} {{ 'ABC'.lower().upper().capitalize() }} {{ i|upper }}"
    ),
    "strip": (
        "[{{ s.strip() }}] [{{ s|trim }}] [{{ s.lstrip() }}] [{{ s.rstrip() }}] [{{ "
        "'xxaxx'.strip('x') }}] [{{ '..a,'.lstrip('.,') }}] [{{ 'abc'.rstrip('cb') }}] [{{ "
        "' a '|trim(' ') }}] [{{ '東a東'.strip('東') }}] [{{ s.strip(none) }}] [{{ i|trim }}]"
    ),
    "split": (
        "{{ csv.split(',') }} {{ s.split() }} {{ csv.split(',', 1) }} {{ csv.rsplit(',', "
        "1) }} {{ ' a  b c '.split(none, 1) }} {{ csv.split(',')[-1] }} {{ "
        "'aXXb'.split('XX') }} {{ csv.split(sep=',', maxsplit=2) }} {{ ''.split() }} {{ "
        "''.split(',') }} {{ csv.rsplit(',') }}"
    ),
    "split by nothing": "{{ csv.split('') }}",
    "starts": (
        "{{ s.startswith('  H') }} {{ s.endswith('\\n') }} {{ 'abc'.startswith(('x', "
        "'ab')) }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('bc') }} {{ "
        "''.startswith('') }}"
    ),
    "replace": (
        "{{ s|replace('l', 'L') }} {{ s.replace('l', '') }} {{ csv.replace(',', ';', 1) }} "
        "{{ 'abc'.replace('', '-') }} {{ 'aaa'|replace('a', 'b', 2) }} {{ "
        "'aaa'.replace('aa', 'b') }}"
    ),
    "find": "{{ csv.find('b') }} {{ csv.find('zz') }} {{ csv.count(',') }} {{ word.find('東') }}",
    "format": (
        "{{ '{}-{}'.format(1, s) }} {{ '{1}{0}{{}}'.format('a', 'b') }} {{ "
        "'<x{}>'.format('y') }}"
    ),
    "format too few": "{{ '{}{}'.format(1) }}",
    "dict methods": (
        "{{ dict.get('b') }} {{ dict.get('q') }} {{ dict.get('q', 5) }} {{ "
        "dict.keys()|list }} {{ dict.values()|list }} {{ dict.items()|list }} {{ "
        "dict|length }}"
    ),
    "dict sorting": (
        "{{ dict|dictsort }} {% for k, v in {'b': 1, 'A': 2, 'a': 3}|dictsort %}{{ k }}{{ "
        "v }}{% endfor %} {{ {'b': 1, 'A': 2}|dictsort(true) }} {{ dict|items|list }} {{ "
        "dict|dictsort(reverse=true) }}"
    ),
    "mutation": "{% set _ = list.append(4) %}{{ list }}",
    "pop": "{{ dict.pop('b') }}",
    "tojson": (
        "{{ dict|tojson }} {{ rows|tojson(indent=2) }} {{ quote|tojson }} {{ word|tojson "
        "}} {{ word|tojson(ensure_ascii=true) }} {{ [f, i, nil, yes, (1, 2), {}, "
        "[]]|tojson }} {{ dict|tojson(separators=(',', ':')) }} {{ "
        "dict|tojson(sort_keys=true) }} {{ '😀'|tojson(true) }} {{ {1: 2, none: 3, true: "
        "4}|tojson }} {{ dict|tojson(indent=0) }} {{ big|tojson }}"
    ),
    "tojson of nothing": "{{ nope|tojson }}",
    "indent": (
        "{{ 'a\\nb\\n\\nc'|indent }}|{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(2, "
        "blank=true) }}|{{ 'a\\nb\\n'|indent('> ') }}|{{ 'a\\nb'|indent(first=true, "
        "width=1) }}|{{ ''|indent }}"
    ),
    "safe sums": (
        "{{ ('<b>'|safe) + '<i>' }} {{ '&\"' + (quote|safe) }} {{ (s|safe|trim) + '>' }}"
    ),
    "safe sets": "{% set x = '<' | safe %}{% set y = x + '<' %}{{ y + '>' }} {{ x ~ '<' }}",
    "safe case": (
        "{{ '<b>'|safe|length }} {{ '<b>'|safe|tojson }} {{ (' <b>'|safe).strip() + '<' }}"
    ),
    "safe": "{{ '<b>'|safe }} {{ ('<b>'|safe) ~ '<i>' }} {{ dict|tojson|safe }}",
    "first last": (
        "{{ list|first }} {{ list|last }} {{ word|first }} {{ none|first }} {{ dict|first "
        "}} {{ dict|last }} {{ nope|first }}"
    ),
    "sorting": (
        "{{ list|sort }} {{ words|sort }} {{ words|sort(reverse=true) }} {{ "
        "words|sort(case_sensitive=true) }} {{ "
        "rows|sort(attribute='v')|map(attribute='k')|join }}"
    ),
    "unique": (
        "{{ words|unique|list }} {{ [1, 1.0, 2]|unique|list }} {{ ['a', 'A']|unique|join }}"
    ),
    "extremes": (
        "{{ list|min }} {{ list|max }} {{ words|min }} {{ words|max }} {{ list|sum }} {{ "
        "list|reverse|list }} {{ word|reverse }} {{ n|abs }} {{ f|abs }}"
    ),
    "map": (
        "{{ words|map('upper')|list }} {{ rows|map(attribute='w')|list }} {{ "
        "rows|map(attribute='w.z', default=0)|list }} {{ list|map('string')|join('/') }}"
    ),
    "select": (
        "{{ list|select('odd')|list }} {{ list|reject('equalto', 1)|list }} {{ "
        "rows|selectattr('w')|map(attribute='k')|list }} {{ rows|selectattr('v', '>', "
        "0)|list|length }} {{ rows|rejectattr('k', 'in', ['x'])|map(attribute='k')|join }} "
        "{{ [0, 1, '']|select|list }} {{ rows|selectattr('w', 'defined')|list|length }} {{ "
        "rows|selectattr('k', 'equalto', 'y')|first }}"
    ),
    "int": (
        "{{ '42'|int }} {{ 'x'|int }} {{ '3.9'|int }} {{ f|int }} {{ 'x'|int(7) }} {{ ' 5 "
        "'|int }} {{ '2.5'|float }} {{ 'x'|float }} {{ yes|int }} {{ i|float }} {{ "
        "n|string + '!' }} {{ nil|int }}"
    ),
    "list": (
        "{{ 'abc'|list }} {{ dict|list }} {{ (1, 2)|list }} {{ none|list }} {{ list + [4] "
        "}} {{ 'ab' * 2 }}{{ '-' * 0 }}"
    ),
    "list of a number": "{{ i|list }}",
    "length": "{{ list|length }} {{ word|length }} {{ dict|count }} {{ s|length }}",
    "length of a number": "{{ i|length }}",
    "default": (
        "{{ nope|default }} {{ nope|d(1) }} {{ ''|default('x') }} {{ ''|default('x', true) "
        "}} {{ no|default(5, boolean=true) }} {{ nil|default('n') }} {{ nope|default([]) }}"
    ),
    "tests": (
        "{{ s is string }} {{ i is string }} {{ dict is mapping }} {{ list is iterable }} "
        "{{ s is iterable }} {{ s is sequence }} {{ dict is sequence }} {{ i is number }} "
        "{{ f is float }} {{ i is integer }} {{ yes is integer }} {{ yes is boolean }} {{ "
        "yes is true }} {{ no is false }} {{ i is true }} {{ nil is none }} {{ nope is "
        "undefined }} {{ i is odd }} {{ i is even }} {{ i is divisibleby 7 }} {{ i is eq 7 "
        "}} {{ i is in [7] }} {{ i is not none }} {{ yes is number }} {{ nope is iterable "
        "}} {{ nope is sequence }} {{ raise_exception is defined }} {{ i is gt(3) }}"
    ),
    "range": (
        "{{ range(3)|list }} {{ range(1, 4)|list }} {{ range(3, 0, -1)|list }} {{ "
        "range(0)|list }} {{ range(0, 7, 3)|list }} {% for x in range(i) %}{{ x }}{% "
        "endfor %} {{ range(5, 0, -2)|list }}"
    ),
    "range too long": "{{ range(1000000)|list }}",
    "raise": "{% if yes %}{{ raise_exception('no ' ~ i) }}{% endif %}",
    "time": "{{ strftime_now('%d %b %Y, %A %a %B %H:%M:%S %I%p %j %y %m %%') }}",
    "date known": "{% if strftime_now is defined %}{{ strftime_now('%Y-%m-%d') }}{% endif %}",
    "ternary": (
        "{{ 'a' if yes }} {{ 'a' if no }}| {{ 'a' if no else 'b' }} {% if yes and not no "
        "or x %}c{% elif no %}d{% else %}e{% endif %}"
    ),
    "elif": "{% if no %}a{% elif i > 5 %}b{% elif yes %}c{% else %}d{% endif %}",
    "conditional set": (
        "{% if no %}{% set q = 1 %}{% endif %}{{ q }}{% if q is defined %}q{% endif %}{% "
        "if not q is defined %}{% set q = 'x' %}{% endif %}{{ q }}"
    ),
    "generation": (
        "{% for x in list %}{% generation %}{{ x }}{% set y = x %}{% endgeneration %}{{ y "
        "}}{% endfor %}"
    ),
    "print a tuple": "{{ 1, 'a' }} {{ () }}",
    "division by zero": "{{ 1 // (i - i) }}",
    "dict of dicts": "{{ {'a': {'b': [1, {'c': 2}]}}.a.b[1].c }}",
    "unknown role": (
        "{% for m in messages %}{% if m.role == 'user' %}u{% else %}{{ "
        "raise_exception('x') }}{% endif %}{% endfor %}"
    ),
    "long": (
        "{% for x in range(200) %}{{ x }} {% for y in range(20) %}{{ y }}{% endfor %}{% "
        "endfor %}"
    ),
    "sign of a tag": "{{-i}}{{- i-}}{{ -i }}{{+i}}",
    "braces": "{ {{ {'a': {'b': 1}}['a']['b'] }} } {{ {'a':{'b':1}} }}",
    "unknown filter": "{{ s|frobnicate }}",
    "unknown tag": "{% frobnicate %}",
    "unknown test": "{{ s is frobnicate }}",
    "no end": "{% if yes %}a",
    "no end of a tag": "{{ i ",
    "include": "{% include 'x' %}",
    "raw": (
        "a\n  {% raw %}\n{{ x }} {% if %}\n  {% endraw %}\nb {%- raw -%}  {# c #} "
        "{%- endraw -%} d"
    ),
    "raw without an end": "{% raw %}a",
    "index": "{{ s.index('b') }} {{ 'é-x'.index('x') }}",
    "index of nothing": "{{ s.index('?') }}",
    "filter of nobody": (
        "{% if no %}{{ s|frobnicate(1) }}{% endif %}{{ s|nobody if no else 'b' }}"
    ),
    "filter of nobody, met": "{% if yes %}{{ s|frobnicate }}{% endif %}",
    "test of nobody": (
        "{% if no %}{{ s is frobnicate }}{% elif i is not defined or yes %}a{% endif %}"
    ),
    "test of nobody, met": "{{ 1 if s is frobnicate }}",
    "filter of nobody in a loop": (
        "{% if no %}{% for x in list %}{{ x|frobnicate }}{% endfor %}{% endif %}"
    ),
    "method of nobody": "{% if no %}{{ s.frobnicate(1) }}{% endif %}a",
    "method of nobody, met": "{{ s.frobnicate(1) }}",
    "update": "{{ dict.update({'b': 3}) }}",
    "macro in a namespace": (
        "{% macro m(a) %}<{{ a }}>{% endmacro %}{% set ns = namespace(f=m) %}{{ ns.f(1) }}"
    ),
    "macros of a list": "{% macro m(a) %}<{{ a }}>{% endmacro %}{{ [m][0](a=2) }}",
    "macro in a loop": (
        "{% for x in list %}{% if loop.first %}{% macro m(a) %}<{{ a }}{{ s }}>{% endmacro %}"
        "{{ m(x) }}{% endif %}{% endfor %}"
    ),
}
