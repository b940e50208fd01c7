#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format over what git tracks: counts the files that differ from .clang-format and names
them. It does not rewrite any (./dev format does).

Tables laid out by hand (operator lists, conformance cases) differ on purpose, so there is a ceiling
instead of none; it may only fall.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CEILING = 40  # files
MAJOR = 14  # each version of clang-format breaks some lines elsewhere
# Words of a header's contract begin a line each.
RUN_TOGETHER = re.compile(r"^\s*//+ .*\S +(?:Owns|Threads|Errors|Allocates) {2,}\S")
PATTERNS = ["*.h", "*.hpp", "*.cpp", "*.c", "*.inl", "*.cu"]


def main():
    tool = shutil.which("clang-format")
    if not tool:
        print("[skip] formatting: clang-format is not installed")
        return 0
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    major = re.search(r"version (\d+)", version)
    if not major or int(major[1]) != MAJOR:
        print(f"[skip] formatting: clang-format {MAJOR} decides, found: {version.strip()}")
        return 0
    listed = subprocess.run(["git", "ls-files", "-z", *PATTERNS], cwd=ROOT, capture_output=True)
    if listed.returncode:
        print("[skip] formatting: this is no git checkout")
        return 0
    files = [f for f in listed.stdout.decode().split("\0") if f and (ROOT / f).exists()]
    done = subprocess.run([tool, "--dry-run", *files], cwd=ROOT, capture_output=True, text=True)
    differing = sorted(
        set(
            re.findall(
                r"^(\S[^:\n]*):\d+:\d+: warning: code should be clang-formatted", done.stderr, re.M
            )
        )
    )
    joined = [
        f"{f}:{number}"
        for f in files
        for number, line in enumerate((ROOT / f).read_text(errors="replace").splitlines(), 1)
        if RUN_TOGETHER.match(line)
    ]
    for place in joined:
        print(f"{place}: words of a contract (Owns, Threads, Errors) share a line")
    bad = len(differing) > CEILING or joined
    for name in differing:
        print(f"  differs: {name}")
    print(
        f"{'ERROR ' if bad else ''}formatting: {len(files) - len(differing)} of {len(files)} files "
        "are as .clang-format has them, "
        f"{len(differing)} differ (ceiling {CEILING})"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
