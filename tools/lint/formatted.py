#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-format over what git tracks: names the files that differ from .clang-format. It does not
rewrite any (./dev format does).
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Public headers, whose lists and comments are laid out by hand.
BY_HAND = {f"runtime/include/ingot/{name}.h" for name in ("ingot", "pool", "text")}
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
    formatted = [f for f in files if f not in BY_HAND]
    done = subprocess.run([tool, "--dry-run", *formatted], cwd=ROOT, capture_output=True, text=True)
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
    bad = differing or joined
    for name in differing:
        print(f"ERROR {name} is not as .clang-format has it: ./dev format")
    print(
        f"{'ERROR ' if bad else ''}formatting: {len(formatted) - len(differing)} of "
        f"{len(formatted)} files are as .clang-format has them, {len(BY_HAND)} are laid out by hand"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
