#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each registration of an operator is taken away in turn: the build fails, or a test that names it.

  removal.py [NAME] [--rows 5-9] [--jobs N] [--list] [--again]

The registrations are what the commit that added the operator changed in sources that were there
(each run of added lines; changed lines go back to what they were) and each source that it added.
Each is removed alone in a work tree of HEAD under build/removal. There the objects are built first
whose sources name the operator, then what each test below needs, test by test, to the first that
fails. Nothing is optimized and scalar kernels alone are built: they are registered in the source
that all instruction sets share. Prints a row for each: what failed first, and its seconds. Exit
code 1 when nothing did, or when a test failed that does not name the operator. Rows that are known
from an earlier run of the same sources are kept in build/removal/results.json; --again runs them
anew. Where a later commit changed the same lines, what was added within them is taken away, or what
is left of them; where less than half is left, the row is counted as skipped.
"""

import argparse
import difflib
import hashlib
import json
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build/removal"
TREE = WORK / "tree"
CODE = (".fbs", ".def", ".h", ".cpp", ".inl", ".cuh")
PYTHON = ROOT / "build/venv/bin/python"
INGOT = "build/gcc/bin/ingot"
SKIPPED = ["[skip]", "a later commit changed what was added"]

OPERATORS_TEST = (
    "test_operators",
    ["ctest", "--test-dir", "build/gcc", "-R", "^operators$", "--output-on-failure"],
)
ATEN_TEST = ("test_aten", ["build/gcc/tests/import/aten/test_aten"])


def conformance(name):
    return f"test_conformance_{name}", [f"build/gcc/tests/conformance/test_conformance_{name}"]


# subject of the commit, names by which a test knows it, (target, test) in the order of their cost
OPERATORS = {
    "GridSample": (
        "op: GridSample",
        r"grid.?sample",
        [
            OPERATORS_TEST,
            conformance("grid_sample"),
            (
                "ingot_cli",
                [
                    str(PYTHON),
                    "tests/frameworks/onnx_backend/run_forms.py",
                    "--ingot",
                    INGOT,
                    "sample",
                ],
            ),
        ],
    ),
    "RoiAlign": (
        "op: RoiAlign",
        r"roi.?align",
        [
            OPERATORS_TEST,
            conformance("roi_align"),
            ATEN_TEST,
            (
                "ingot_cli",
                [
                    str(PYTHON),
                    "tests/frameworks/onnx_backend/run_nodes.py",
                    "--ingot",
                    INGOT,
                    "roialign",
                ],
            ),
            (
                "ingot_cli",
                ["bash", "-c", f"{INGOT} operators --markdown | diff - docs/operators.md"],
            ),
        ],
    ),
    "Trunc": (
        "op: trunc",
        r"trunc",
        [
            OPERATORS_TEST,
            conformance("elementwise"),
            ATEN_TEST,
            ("test_passes", ["build/gcc/tests/compile/passes/test_passes"]),
        ],
    ),
}


def git(*command, cwd=ROOT):
    return run("git", *command, cwd=cwd).succeeded().stdout


def is_comment(lines):
    return all(not line.strip() or line.strip().startswith("//") for line in lines)


class Registration:
    """Lines of one file, or the file."""

    def __init__(self, path, old, new, number):
        self.path, self.old, self.new = path, old, new
        first = next((n.strip() for n in new if n.strip()), "")
        self.name = f"{path}:{number} {first[:60]}" if new else f"{path} (the file)"

    def key(self):
        return hashlib.sha256(repr((self.path, self.old, self.new)).encode()).hexdigest()[:16]

    def remove(self):
        at = TREE / self.path
        if not self.new:
            at.unlink()
            return True
        text, block = at.read_text(), "".join(self.new)
        kept = "".join(self.old) if len(self.old) <= len(self.new) else ""
        for block, instead in ((block, kept), (self.inserted(), "")):
            # white space is as it may be: sources are formatted
            pattern = r"\s*".join(map(re.escape, block.split()))
            if block.split() and len(re.findall(pattern, text)) == 1:
                at.write_text(re.sub(pattern, lambda _, to=instead: to.strip(), text))
                return True
        return self.remove_what_is_left(at)

    def remove_what_is_left(self, at):
        """Of lines that a later commit changed in part: from the first to the last one there."""
        lines = at.read_text().splitlines(keepends=True)
        there = difflib.SequenceMatcher(None, lines, self.new, autojunk=False)
        runs = [run for run in there.get_matching_blocks() if run.size]
        if not runs or 2 * sum(run.size for run in runs) < len(self.new):
            return False
        first, last = runs[0].a, runs[-1].a + runs[-1].size
        if last - first > 2 * len(self.new):
            return False
        at.write_text("".join(lines[:first] + self.old + lines[last:]))
        return True

    def inserted(self):
        """What the new lines have between the beginning and the end of the old ones."""
        old, new = "".join(self.old), "".join(self.new)
        start = len(os.path.commonprefix([old, new]))
        end = len(os.path.commonprefix([old[start:][::-1], new[start:][::-1]]))
        return new[start : len(new) - end]


def registrations(commit):
    """In the order of the commit's files; paths as HEAD has them."""
    moved = {}
    for line in git("diff", "--name-status", "-M", "--diff-filter=R", commit, "HEAD").splitlines():
        _, before, after = line.split("\t")
        moved[before] = after
    found = []
    for line in git("diff", "--name-status", f"{commit}^", commit).splitlines():
        status, path = line.split("\t")[:2]
        now = moved.get(path, path)
        if not path.endswith(CODE) or re.match(r"tests/(?!conformance/)", path):
            continue  # no operator without a conformance test; other tests are no registrations
        if status == "A":
            found.append(Registration(now, [], [], 0))
            continue
        diff = git("diff", "-U0", f"{commit}^", commit, "--", path)
        for hunk in re.split(r"^@@ ", diff, flags=re.M)[1:]:
            head, _, body = hunk.partition("\n")
            lines = body.splitlines(keepends=True)
            old = [one[1:] for one in lines if one.startswith("-")]
            new = [one[1:] for one in lines if one.startswith("+")]
            if new and not is_comment(new):
                number = int(re.search(r"\+(\d+)", head)[1])
                found.append(Registration(now, old, new, number))
    return found


def sources():
    """What a result depends on, as one word."""
    parts = "cmake kernels runtime schema tools docs/operators.md tests/op/operators_test.cpp"
    tests = "tests/import/aten tests/conformance tests/frameworks/onnx_backend tests/compile/passes tests/support"
    trees = git("ls-tree", "HEAD", *parts.split(), *tests.split())
    return hashlib.sha256(trees.encode()).hexdigest()[:16]


def prepare():
    head = git("rev-parse", "HEAD").strip()
    if not TREE.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(TREE), "HEAD")
    git("checkout", "--quiet", "--", ".", cwd=TREE)
    git("checkout", "--quiet", "--detach", head, cwd=TREE)
    options = [f"-DINGOT_{x}" for x in ("TESTS=ON", "WERROR=ON", "CUDA=OFF", "UNITY=ON")]
    options += ["-DINGOT_ISAS=none", "-DINGOT_SHARED_LIBRARY=OFF"]
    options += ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O0"]
    options += ["-DCMAKE_CXX_FLAGS_DEBUG=-O0"]
    if not run("which", "ccache").error:
        options += [f"-DCMAKE_{x}_COMPILER_LAUNCHER=ccache" for x in ("C", "CXX")]
    run("cmake", "-S", ".", "-B", "build/gcc", "-G", "Ninja", *options, cwd=TREE).succeeded()


def naming_objects(names):
    """Objects that have a source which names the operator: there a removal shows first."""
    naming, target = [], None
    text = {}
    for line in run("ninja", "-C", "build/gcc", "-t", "deps", cwd=TREE).stdout.splitlines():
        if line.endswith("(VALID)"):
            target = line.partition(":")[0]
        elif target and line.endswith((".cpp", ".inl", ".cuh", "_plan.h")):
            path = (TREE / "build/gcc" / line.strip()).resolve()
            if path not in text:
                text[path] = path.is_relative_to(TREE) and path.exists() and path.read_text()
            if text[path] and re.search(names, text[path], re.I):
                naming.append(target)
                target = None
    return naming


def first_fault(text, names):
    """The line that says what is wrong, one that names the operator if there is one."""
    lines = [
        line.strip()
        for line in text.splitlines()
        if re.search(r"error|undefined reference|missing|\[fail\]|FAIL|differ|ERROR", line)
    ]
    named = [line for line in lines if re.search(names, line, re.I)]
    return (named or lines or text.strip().splitlines() or ["nothing was reported"])[0]


def build(jobs, *targets):
    """None, or what the build says."""
    done = run("ninja", "-C", "build/gcc", f"-j{jobs}", *targets, cwd=TREE)
    return done.stdout + done.stderr if done.returncode else None


def try_all(operator, objects, jobs):
    """(what noticed, its line), or None."""
    _, names, tests = OPERATORS[operator]
    fault = build(jobs, *objects) if objects else None
    if fault and "unknown target" in fault:
        fault = None  # without the source that was removed there is no such object
    for target, command in tests:
        if fault:
            break
        case = f"tests/conformance/{target[len('test_conformance_') :]}_test.cpp"
        if target.startswith("test_conformance_") and not (TREE / case).exists():
            continue  # the test itself is what was removed
        fault = build(jobs, target)
        if fault:
            break
        done = run(*command, cwd=TREE)
        if done.returncode:
            text = done.stdout + done.stderr
            what = pathlib.Path(command[1] if command[0] == str(PYTHON) else command[0]).name
            if command[0] == "ctest":
                what = command[4].strip("^$")
            return (what, first_fault(text, names)) if re.search(names, text, re.I) else None
    return ("build", first_fault(fault, names)) if fault else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("operator", nargs="?", choices=sorted(OPERATORS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rows", default="1-", help="of each operator, as --list counts them")
    parser.add_argument("--again", action="store_true")
    args = parser.parse_args()
    every = {}
    for operator in [args.operator] if args.operator else OPERATORS:
        subject = OPERATORS[operator][0]
        commit = git("log", "-1", "--format=%H", "--grep", f"^{subject}").strip()
        if not commit:
            sys.exit(f"no commit has the subject '{subject}'")
        first, _, last = args.rows.partition("-")
        rows = registrations(commit)
        every[operator] = rows[int(first) - 1 : int(last) if last else len(rows)]
    if args.list:
        for operator, rows in every.items():
            print(f"{operator}: {len(rows)} registrations")
            for n, row in enumerate(rows, int(first)):
                print(f"  {n:2} {row.name}")
        return
    prepare()
    file = WORK / "results.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if args.again or known.get("sources") != sources():
        known = {"sources": sources()}
    unnoticed, removed, skipped, done = [], 0, 0, 0
    count = sum(len(rows) for rows in every.values())
    for operator, rows in every.items():
        if any(f"{operator} {row.key()}" not in known for row in rows):
            print(f"{operator}: everything in place, built and tested", flush=True)
            found = try_all(operator, [], args.jobs)
            if found:
                sys.exit(f"{operator}: nothing is removed, and {found[0]} fails: {found[1]}")
            objects = naming_objects(OPERATORS[operator][1])
        for row in rows:
            key, began = f"{operator} {row.key()}", time.monotonic()
            if key not in known:
                there = row.remove()
                known[key] = try_all(operator, objects, args.jobs) if there else SKIPPED
                git("checkout", "--quiet", "--", ".", cwd=TREE)
                file.write_text(json.dumps(known, indent=1))
            noticed = known[key]
            done += 1
            seconds = time.monotonic() - began
            print(f"[{done}/{count}] {operator} {row.name} ({seconds:.0f} s)", flush=True)
            print(f"    {': '.join(noticed)[:160] if noticed else 'NOTHING NOTICED'}", flush=True)
            if not noticed:
                unnoticed.append(row.name)
            skipped += noticed == SKIPPED
            removed += noticed != SKIPPED
    for name in unnoticed:
        print(f"nothing noticed: {name}")
    print(f"{removed} registrations removed, {removed - len(unnoticed)} noticed, {skipped} skipped")
    sys.exit(1 if unnoticed else 0)


if __name__ == "__main__":
    main()
