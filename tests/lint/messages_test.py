#!/usr/bin/env python3
"""The messages that docs/troubleshooting.md quotes are in the sources, and its table of error codes
is that of ingot.h.

  messages_test.py ROOT         the last line counts"""

import pathlib
import re
import sys

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
    passed, failed = 0, []
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
        if missing or not parts:
            failed.append(f"{PAGE.name}:{number}: no source says {missing or quoted}")
        else:
            passed += 1
    header = codes_of_header()
    if codes == header and len(codes) > 30:
        passed += 1
    else:
        for number in sorted(codes.items() ^ header.items()):
            failed.append(f"{PAGE.name}: code {number} is not both on the page and in ingot.h")
    for line in failed:
        print(f"FAILED {line}")
    print(f"messages: {passed} passed, {len(failed)} failed")
    return 1 if failed or passed < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
