#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_pages.py notices what is wrong on a page, and nothing else: pages made for this.

runner_test.py            the last line counts"""

import argparse
import contextlib
import io
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, work_folder  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import run_pages  # noqa: E402

# name, page, and what is then counted: passed, failed, skipped
PAGES = (
    ("a command alone", "```sh\ntrue\n```\n", (1, 0, 0)),
    ("a command that fails ends the page", "```sh\nfalse\n```\n```sh\ntrue\n```\n", (0, 1, 0)),
    ("a pipe whose first command fails", "```sh\nfalse | cat\n```\n", (0, 1, 0)),
    ("an output", "```sh\necho a b\n```\n```text output\na b\n```\n", (2, 0, 0)),
    ("another output", "```sh\necho a c\n```\n```text output\na b\n```\n", (1, 1, 0)),
    ("a line too many", "```sh\necho a; echo b\n```\n```text output\na\n```\n", (1, 1, 0)),
    ("a line too few", "```sh\necho a\n```\n```text output\na\nb\n```\n", (1, 1, 0)),
    ("what differs", "```sh\necho a 17 b\n```\n```text output\na ... b\n```\n", (2, 0, 0)),
    ("... within a line", "```sh\nseq 2\n```\n```text output\n1...2\n```\n", (1, 1, 0)),
    ("any lines", "```sh\nseq 5\n```\n```text output\n1\n...\n5\n```\n", (2, 0, 0)),
    ("dots are no pattern", "```sh\necho abc\n```\n```text output\na.c\n```\n", (1, 1, 0)),
    ("an output of nothing", "```text output\na\n```\n", (0, 1, 0)),
    ("a file", "```c file=x/y\nz\n```\n```sh\ncat x/y\n```\n```text output\nz\n```\n", (2, 0, 0)),
    ("Python", "```python run\nprint(6 * 7)\n```\n```text output\n42\n```\n", (2, 0, 0)),
    ("Python that nobody runs", "```python\nprint(1)\n```\n", (0, 1, 0)),
    ("C that nobody compiles", "```c\nint x;\n```\n", (0, 1, 0)),
    ("hardware", '```sh skip="a board"\nfalse\n```\n', (0, 0, 1)),
    ("folders are empty", '```sh\ntest -z "$(ls -A)"\n```\n', (1, 0, 0)),
)


def main():
    checks = Checks("pages_runner")
    with work_folder() as work:
        page = work / "page.md"
        for name, text, expected in PAGES:
            page.write_text(text)
            options = argparse.Namespace(ingot=sys.executable, prefix=work, site=None, work=work)
            runner = run_pages.Runner(options)
            with contextlib.redirect_stdout(io.StringIO()):
                runner.page(page)
            found = (runner.passed, runner.failed, runner.skipped)
            text = f"expected {expected} passed, failed, skipped; found {found}"
            checks.check(found == expected, name, text)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
