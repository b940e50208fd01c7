#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The messages that docs/troubleshooting.md quotes are in the sources, and its table of error codes
is that of ingot.h.

  messages_test.py ROOT         the last line counts"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks  # noqa: E402

ROOT = pathlib.Path(sys.argv[1])
PAGE = ROOT / "docs/troubleshooting.md"
SOURCES = ("tools", "runtime")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
JOINED = re.compile(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+')


def literals():
    """Texts of the sources, those that stand side by side as one."""
    made = []
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in (".cpp", ".h"):
                for run in JOINED.findall(file.read_text(errors="replace")):
                    made.append("".join(LITERAL.findall(run)).replace('\\"', '"'))
    return "\n".join(made)


def codes_of_header():
    header = (ROOT / "runtime/include/ingot/ingot.h").read_text()
    enum = header[header.index("  INGOT_OK = 0,") :]
    enum = enum[: enum.index("};")]
    pairs = re.findall(r"INGOT_(\w+) = (\d+)", enum)
    return {int(number): name.lower() for name, number in pairs if number != "0"}


def main():
    checks = Checks("messages")
    texts = literals()
    codes = {}
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 5 and cells[0].isdigit():
            codes[int(cells[0])] = cells[1]
            quoted = cells[2]
        elif line.startswith("| `"):
            quoted = cells[0]
        else:
            continue
        parts = [part.strip(" '") for part in quoted.strip("`").split("...")]
        parts = [part for part in parts if len(part) > 3]
        missing = [part for part in parts if part not in texts]
        said = parts and not missing
        checks.check(said, f"{PAGE.name}:{number}: no source says {missing or quoted}")
    apart = sorted(codes.items() ^ codes_of_header().items())
    checks.report(f"{PAGE.name}: codes not both on the page and in ingot.h", apart)
    checks.check(len(codes) > 30, f"{PAGE.name}: {len(codes)} codes")
    checks.check(checks.passed >= 60, f"{PAGE.name}: {checks.passed} messages are quoted")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
