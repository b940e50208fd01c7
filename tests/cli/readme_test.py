#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first lines of README.md as a newcomer types them: each command ends well, and what the page
shows of their answers is in them, but for times and the name of a processor.

  readme_test.py --ingot BIN
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402

VARIES = re.compile(r" on | us of ")


def main():
    args = ingot_parser(__doc__).parse_args()
    page = (ROOT / "README.md").read_text()
    commands, answers = re.findall(r"```(?:sh|text)\n(.*?)```", page, re.S)[:2]
    lines = [line for line in commands.splitlines() if line.startswith("ingot ")]
    checks = Checks("readme")
    checks.check(len(lines) >= 4, "README.md begins with commands")
    path = f"{args.ingot.resolve().parent}{os.pathsep}{os.environ['PATH']}"
    printed = ""
    with work_folder() as folder:
        (folder / "examples").symlink_to(ROOT / "examples")
        for line in lines:
            done = run("bash", "-c", line, cwd=folder, env={"PATH": path})
            checks.check(done.returncode == 0, line, done.output)
            printed += done.stdout
    shown = [line for line in answers.splitlines() if not VARIES.search(line)]
    checks.check(len(shown) >= 3, "README.md shows answers")
    for line in shown:
        checks.check(line in printed, f"shown: {line}", printed)
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
