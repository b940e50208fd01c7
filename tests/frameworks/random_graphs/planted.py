#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bugs planted in the import, the passes and the kernels, one at a time, and the graph of the
fuzzer that finds each: onnxruntime's answer differs, or ingot refuses, where without the bug both agree.

  planted.py --runner GRAPH_RUNNER [--graphs N] [--first SEED] [--write PAGE] [name ...]

Ends with 1 where a bug is not found within N graphs. Needs the packages onnx and onnxruntime."""

import pathlib
import sys

import onnxruntime
from compare import first_difference
from draw import drawable_rules
from fuzz import check, drawn_model
from graph import Unsuitable
from runtimes import Peer, Refused, Runner

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import text_parser, work_folder  # noqa: E402

HEAD = """# Planted bugs
Made by `./dev show planted-onnx`. Each bug is planted alone in what `./dev fuzz-onnx` runs: the
import and the passes change every node that they can change so, a kernel leaves the last element of
its result as that before it. A bug is found by the first graph whose answer differs from
onnxruntime's, or that is refused, while the same graph without the bug gives the same answer.

| bug | graphs drawn until it is found | by |
| --- | --- | --- |
"""


def suspicion(runner, model, feeds, answers, options):
    """How the bug that is planted shows, or empty."""
    try:
        runner.convert(model, options)
    except Refused as refused:
        return f"refused when converted ({refused.code})"
    try:
        runner.ask("placed")
    except Refused:
        return ""
    for fed, wanted in zip(feeds, answers):
        try:
            found = runner.run(fed)
        except Refused as refused:
            return f"refused when run ({refused.code})"
        differs = first_difference(found, wanted)
        if differs:
            return "another " + ("shape" if differs[1].startswith("shape") else "answer")
    return ""


def try_seed(seed, rules, runner, left):
    """{bug: how it shows} of those that this graph finds."""
    try:
        g, model, feeds = drawn_model(rules, seed)
        peer = Peer(model)
        answers = [peer.run(fed) for fed in feeds]
    except (Unsuitable, Refused):
        return {}
    found = {}
    for bug in left:
        runner.ask("plant", bug)
        how = suspicion(runner, model, feeds, answers, g.options)
        if how:
            found[bug] = how
    runner.ask("plant", "")
    # A graph that differs without the bug as well shows nothing.
    return found if found and check(model, feeds, runner, g.options).kind == "equal" else {}


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--graphs", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    rules, rows = drawable_rules(), {}
    with work_folder() as folder:
        runner = Runner(a.runner, folder)
        bugs = runner.ask("bugs")
        bugs = [b for b in bugs if not a.names or any(n in b for n in a.names)]
        for seed in range(a.first, a.first + a.graphs):
            left = [bug for bug in bugs if bug not in rows]
            if not left:
                break
            for bug, how in try_seed(seed, rules, runner, left).items():
                rows[bug] = f"| {bug} | {seed - a.first + 1} | {how} |"
                print(rows[bug], flush=True)
        runner.close()
    missed = [bug for bug in bugs if bug not in rows]
    for bug in missed:
        rows[bug] = f"| {bug} | not within {a.graphs} | |"
        print(f"[fail] {bug}: not found within {a.graphs} graphs")
    last = f"{len(bugs) - len(missed)} of {len(bugs)} planted bugs are found"
    print(f"{last} (onnxruntime {onnxruntime.__version__})")
    if a.write and not a.names:
        a.write.parent.mkdir(parents=True, exist_ok=True)
        a.write.write_text(HEAD + "".join(rows[b] + "\n" for b in bugs) + f"\n{last}.\n")
    return 1 if missed or not bugs else 0


if __name__ == "__main__":
    sys.exit(main())
