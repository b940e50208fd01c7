#!/usr/bin/env python3
"""Each registration of an operator is taken away in turn: the build fails, or a test that names it.

  removal.py [NAME] [--rows 5-9] [--jobs N] [--list] [--again]

The registrations are what the commit that added the operator changed in sources that were there
(each run of added lines; changed lines go back to what they were) and each source that it added.
Each is removed alone in a work tree of HEAD under build/removal, where the targets below are built
and their tests run. Prints a row for each: what failed first. Exit code 1 when nothing did, or what
failed does not name the operator. Rows that are known from an earlier run of the same commit are
kept in build/removal/results.json; --again runs them anew. Where a later commit changed the same
lines, what was added within them is taken away; where it changed that too, the row is counted as
skipped: a newer operator has it whole.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build/removal"
TREE = WORK / "tree"
CODE = (".fbs", ".def", ".h", ".cpp", ".inl", ".cuh")
PYTHON = ROOT / "build/venv/bin/python"
INGOT = "build/gcc/bin/ingot"
SKIPPED = ["[skip]", "a later commit changed what was added"]

# subject of the commit, names by which a test knows it, targets, tests in the order of their cost
OPERATORS = {
    "GridSample": (
        "op: GridSample",
        r"grid.?sample",
        ["ingot_cli", "test_operators", "test_conformance_grid_sample"],
        [
            ["ctest", "--test-dir", "build/gcc", "-R", "^operators$", "--output-on-failure"],
            ["build/gcc/tests/conformance/test_conformance_grid_sample"],
            [str(PYTHON), "tests/onnx_nodes/run_forms.py", "--ingot", INGOT, "sample"],
        ],
    ),
    "RoiAlign": (
        "op: RoiAlign",
        r"roi.?align",
        ["ingot_cli", "test_operators", "test_conformance_roi_align", "test_aten"],
        [
            ["ctest", "--test-dir", "build/gcc", "-R", "^operators$", "--output-on-failure"],
            ["build/gcc/tests/conformance/test_conformance_roi_align"],
            ["build/gcc/tests/aten/test_aten"],
            [str(PYTHON), "tests/onnx_nodes/run_nodes.py", "--ingot", INGOT, "roialign"],
            ["bash", "-c", f"{INGOT} operators --markdown | diff - docs/operators.md"],
        ],
    ),
    "Trunc": (
        "op: trunc",
        r"trunc",
        ["ingot_cli", "test_operators", "test_conformance_elementwise", "test_aten", "test_passes"],
        [
            ["ctest", "--test-dir", "build/gcc", "-R", "^operators$", "--output-on-failure"],
            ["build/gcc/tests/conformance/test_conformance_elementwise"],
            ["build/gcc/tests/aten/test_aten"],
            ["build/gcc/tests/passes/test_passes"],
        ],
    ),
}


def run(*command, cwd=ROOT, check=True):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done


def git(*command, cwd=ROOT):
    return run("git", *command, cwd=cwd).stdout


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
        return False

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


def prepare():
    head = git("rev-parse", "HEAD").strip()
    if not TREE.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        git("worktree", "prune")
        git("worktree", "add", "--detach", str(TREE), "HEAD")
    git("checkout", "--quiet", "--detach", head, cwd=TREE)
    git("checkout", "--quiet", "--", ".", cwd=TREE)
    options = [f"-DINGOT_{x}" for x in ("TESTS=ON", "WERROR=ON", "CUDA=OFF", "UNITY=ON")]
    if run("which", "ccache", check=False).returncode == 0:
        options += [f"-DCMAKE_{x}_COMPILER_LAUNCHER=ccache" for x in ("C", "CXX")]
    run("cmake", "-S", ".", "-B", "build/gcc", "-G", "Ninja", *options, cwd=TREE)
    return head


def first_fault(text, names):
    """The line that says what is wrong, one that names the operator if there is one."""
    lines = [
        line.strip()
        for line in text.splitlines()
        if re.search(r"error|undefined reference|missing|\[fail\]|FAIL|differ|ERROR", line)
    ]
    named = [line for line in lines if re.search(names, line, re.I)]
    return (named or lines or text.strip().splitlines() or ["nothing was said"])[0]


def try_all(operator, jobs):
    """(what noticed, its line), or None."""
    _, names, targets, tests = OPERATORS[operator]
    there = [
        t
        for t in targets
        if not t.startswith("test_conformance_")
        or (TREE / f"tests/conformance/{t[len('test_conformance_') :]}_test.cpp").exists()
    ]
    done = run("ninja", "-C", "build/gcc", f"-j{jobs}", *there, cwd=TREE, check=False)
    if done.returncode:
        return "build", first_fault(done.stdout + done.stderr, names)
    for command in tests:
        if not command[0].startswith("build/") or (TREE / command[0]).exists():
            done = run(*command, cwd=TREE, check=False)
            if done.returncode:
                text = done.stdout + done.stderr
                what = pathlib.Path(command[1] if command[0] == str(PYTHON) else command[0]).name
                if command[0] == "ctest":
                    what = command[4].strip("^$")
                fault = first_fault(text, names)
                if not re.search(names, text, re.I):
                    return None
                return what, fault
    return None


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
    head = prepare()
    file = WORK / "results.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    if args.again or known.get("head") != head:
        known = {"head": head}
    unnoticed, removed, skipped = [], 0, 0
    for operator, rows in every.items():
        if f"{operator} whole" not in known:
            found = try_all(operator, args.jobs)
            if found:
                sys.exit(f"{operator}: nothing is removed, and {found[0]} fails: {found[1]}")
            known[f"{operator} whole"] = True
        for row in rows:
            key = f"{operator} {row.key()}"
            if key not in known:
                there = row.remove()
                known[key] = try_all(operator, args.jobs) if there else SKIPPED
                git("checkout", "--quiet", "--", ".", cwd=TREE)
                file.write_text(json.dumps(known, indent=1))
            noticed = known[key]
            if not noticed:
                unnoticed.append(row.name)
            print(f"{operator:11} {row.name}", flush=True)
            print(
                f"{'':11}   {': '.join(noticed)[:160] if noticed else 'NOTHING NOTICED'}",
                flush=True,
            )
            skipped += noticed == SKIPPED
            removed += noticed != SKIPPED
    print(f"{removed} registrations removed, {removed - len(unnoticed)} noticed, {skipped} skipped")
    if unnoticed:
        sys.exit("nothing noticed: " + ", ".join(unnoticed))


if __name__ == "__main__":
    main()
