#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses a source without the line that names its license: the first line, or the one behind a
shebang. --write adds it where it is missing."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINE = "SPDX-License-Identifier: Apache-2.0"
SLASHES = (".h", ".hpp", ".cpp", ".inl", ".cu", ".cuh", ".def", ".fbs", ".proto", ".ino")
STARS = (".c", ".S", ".ld")
HASHES = (".py", ".pyi", ".sh", ".cmake", "CMakeLists.txt", "Makefile", "gpu_pack/run")
LEFT_OUT = ("tests/golden/", "tests/fuzz/seeds/")  # samples, read as they are


def line_of(name, text):
    """The line that `name` needs; None for what is no source. A header of C has the comments of C."""
    if name.startswith(LEFT_OUT):
        return None
    if name.endswith(STARS) or (name.endswith(".h") and text.startswith("/*")):
        return f"/* {LINE} */"
    if name.endswith(SLASHES):
        return f"// {LINE}"
    return f"# {LINE}" if name.endswith(HASHES) or name == "dev" else None


def is_licensed(name, text):
    line, first = line_of(name, text), text.split("\n", 2)[:2]
    return line is None or line in (first[1:] if text.startswith("#!") else first[:1])


def with_line(name, text):
    shebang, rest = text.split("\n", 1) if text.startswith("#!") else ("", text)
    return (shebang and shebang + "\n") + line_of(name, text) + "\n" + rest


def main():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    names = [f for f in listed if line_of(f, "") and (ROOT / f).is_file()]
    wrong = [f for f in names if not is_licensed(f, (ROOT / f).read_text(errors="surrogateescape"))]
    if "--write" in sys.argv:
        for name in wrong:
            text = (ROOT / name).read_bytes().decode(errors="surrogateescape")
            (ROOT / name).write_bytes(with_line(name, text).encode(errors="surrogateescape"))
        wrong = []
    for name in wrong:
        print(f"{name}:1: no '{LINE}': tools/lint/licenses.py --write adds it")
    print(f"licenses: {len(names)} sources, {len(wrong)} without")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
