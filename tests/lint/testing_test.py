#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/support/testing.py: what it counts is what ./dev test adds up (count_log of
cmake/dev/stages.sh), stages run side by side where they may, a program that hangs or refuses
otherwise than expected is a failure, and no script of tests/ has a last line of another form.

  testing_test.py ROOT
"""

import contextlib
import io
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "tests/support"))
from testing import Checks, run, work_folder  # noqa: E402

COUNTED = 'cd "$1"; . cmake/dev/stages.sh; count_log "$2"; echo $stage_passed $stage_failed $stage_skipped'
# Stages that say when they began and ended stand for ./dev's.
DEV = """echo "begin $2" >>calls; sleep 0.5; echo "end $2" >>calls; [ "$2" != models ] || exit 1
echo "stage: 3 passed, 0 failed"
"""
STAGES = """cd "$2"; jobs=2; . "$1/cmake/dev/stages.sh"
run_stages demo lint sizes gcc models tidy package
echo "$passed $failed $skipped" """
LAST_LINE = re.compile(r"""print\(\s*f?["']((?:[^"'\\]|\\.)*?) passed, """)


def planted(results, skips):
    """What Checks prints and returns for these results."""
    text, inner = io.StringIO(), Checks("planted")
    with contextlib.redirect_stdout(text):
        for number, why in enumerate(results):
            inner.report(f"check {number}", why)
        for reason in skips:
            inner.skip(reason)
        status = inner.finish()
    return text.getvalue(), status


def counts(checks, folder):
    for results, skips, wanted, ended in (
        (["", "", "wrong"], ["no GPU"], "2 1 1", 1),
        (["", None], [], "1 0 0", 0),
        ([], ["no GPU"], "0 0 1", 0),
        ([], [], "0 0 0", 1),
    ):
        text, status = planted(results, skips)
        (folder / "log").write_text(text)
        found = run("bash", "-c", COUNTED, "-", ROOT, folder / "log").stdout.strip()
        checks.check(found == wanted, f"{results} {skips}: counted as {wanted}", found)
        checks.check(status == ended, f"{results} {skips}: ends with {ended}", status)


def stages(checks, folder):
    """Side by side, two at once, and each after what it needs; demo alone."""
    (folder / "dev").write_text(DEV)
    done = run("bash", "-euc", STAGES, "-", ROOT, folder, seconds=60)
    checks.check(done.stdout.splitlines()[-1:] == ["18 1 0"], "stages are added up", done.output)
    running, most, ended = set(), 0, []
    for verb, name in (line.split() for line in (folder / "calls").read_text().splitlines()):
        if verb == "end":
            running.remove(name)
            ended.append(name)
            continue
        checks.check(name != "demo" and "demo" not in running or not running, f"{name} beside demo")
        running.add(name)
        most = max(most, len(running))
        needs = {"models": {"gcc"}, "tidy": {"gcc"}, "package": {"gcc"}, "sizes": {"gcc", "models"}}
        checks.check(needs.get(name, set()) <= set(ended), f"{name} began after {ended}")
    checks.check(most == 2, f"{most} stages at once")


def programs(checks):
    say = lambda text, code: run("sh", "-c", f"printf '{text}' >&2; exit {code}")
    checks.check(run("sleep", 20, seconds=0.2).returncode == 124, "a program that hangs is ended")
    checks.check(not run("sh", ["-c", "exit 0"]).error, "lists of words, exit code 0")
    done = run("sh", "-c", "echo $PLANTED", env={"PLANTED": 7 * "x"}).output
    checks.check(done == 7 * "x", "a variable is added to the environment", done)
    refused = say("ingot: no such file\\n", 2)
    checks.check("exit 2" in refused.error, "what failed", refused.error)
    checks.report("as expected", refused.refusal((2, 7), "ingot: ", "no such file"))
    for what, done in (
        ("another exit code", say("ingot: no such file\\n", 3)),
        ("success", say("ingot: no such file\\n", 0)),
        ("two lines", say("ingot: no such file\\nand more\\n", 2)),
        ("other words", say("ingot: no such folder\\n", 2)),
    ):
        checks.check(done.refusal(2, "no such file"), f"{what} is no expected refusal")


def main():
    checks = Checks("testing")
    with work_folder() as folder:
        counts(checks, folder)
        stages(checks, folder)
    programs(checks)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for start in LAST_LINE.findall(path.read_text()):
            form = re.fullmatch(r"[a-z0-9_]+: \{[^}]*\}", start)
            checks.check(form, f"{path.relative_to(ROOT)}: '{start} passed': use Checks.finish()")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
