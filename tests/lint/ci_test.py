# SPDX-License-Identifier: Apache-2.0
"""Continuous integration runs everything on the repository alone, then what shared material adds,
and fails where either does. A checkout with .ci/run and a `./dev` that records its calls stands in.
A stage behind the deadline is a skip that the last line counts.
  ci_test.py SOURCE_DIR"""

import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, work_folder  # noqa: E402

root = pathlib.Path(sys.argv[1])
# Fails where it is asked to, and says what it sees.
DEV = """#!/usr/bin/env bash
cd "$(dirname "${BASH_SOURCE[0]}")"
beside=absent; [ -e ../shared ] && beside=present
[ "$INGOT_DEADLINE" -gt "$(date +%s)" ] || exit 3
echo "$*: beside $beside, given ${INGOT_SHARED:+$(cat "$INGOT_SHARED/marker")}" >>"$CALLS"
case "$PLANTED" in
  alone) [ -n "${INGOT_SHARED:-}" ] || exit 1 ;;
  shared) [ -z "${INGOT_SHARED:-}" ] || exit 1 ;;
esac
"""
ALONE = ["test: beside absent, given", "test full: beside absent, given"]
checks = Checks("ci")
check = checks.check


def run_ci(work, planted="", stale=""):
    """Exit code and the calls of ./dev; `stale`: a value of the variable that CI must not heed."""
    calls = work / "calls"
    calls.unlink(missing_ok=True)
    environment = {"CALLS": str(calls), "PLANTED": planted, "INGOT_SHARED": stale}
    done = run("bash", work / "checkout/.ci/run", env=environment)
    return done.returncode, [line.strip() for line in calls.read_text().splitlines()], done.stdout


with work_folder() as work:
    checkout = work / "checkout"
    (checkout / ".ci").mkdir(parents=True)
    shutil.copy(root / ".ci/run", checkout / ".ci/run")
    (checkout / "dev").write_text(DEV)
    (checkout / "dev").chmod(0o755)
    git = ["git", "-C", str(checkout), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a checkout"]):
        run(git, words).succeeded()
    status, calls, text = run_ci(work)
    check((status, calls) == (0, ALONE), f"nothing beside: {status}, {calls}")
    (work / "shared").mkdir()
    (work / "shared/marker").write_text("material")
    both = [*ALONE, "test shared: beside absent, given material"]
    status, calls, text = run_ci(work)
    check((status, calls) == (0, both), f"material beside: {status}, {calls}")
    check("the repository alone" in text and "with shared material" in text, f"log: {text}")
    status, calls, _ = run_ci(work, stale=str(work / "shared"))
    check((status, calls) == (0, both), f"a variable from before: {status}, {calls}")
    status, calls, _ = run_ci(work, planted="alone")
    check(status == 1 and calls == both, f"fails without material alone: {status}, {calls}")
    status, calls, _ = run_ci(work, planted="shared")
    check(status == 1 and calls == both, f"fails with material alone: {status}, {calls}")
late = run("bash", root / "dev", "test", "lint", env={"INGOT_DEADLINE": "1"})
last = late.stdout.splitlines()[-1:]
check((late.returncode, last) == (0, ["0 passed, 0 failed, 1 skipped"]), f"late: {late.stdout}")
sys.exit(checks.finish())
