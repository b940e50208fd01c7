#!/usr/bin/env python3
"""Prints lines per layer and the largest files; refuses files past the hard limit (700 lines of
code)."""

import collections
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 700


def main():
    files = subprocess.run(
        ["git", "ls-files", "*.h", "*.hpp", "*.cpp", "*.c", "*.inl", "*.cu", "*.py", "*.sh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    lines = {f: len((ROOT / f).read_text(errors="replace").splitlines()) for f in files}
    layers = collections.Counter()
    for f, n in lines.items():
        layers["/".join(pathlib.PurePosixPath(f).parts[:2])] += n
    for name, n in sorted(layers.items()):
        print(f"{n:7d}  {name}")
    print(
        f"{sum(lines.values()):7d}  in all; largest:",
        ", ".join(f"{f} {n}" for n, f in sorted(((n, f) for f, n in lines.items()))[::-1][:5]),
    )
    too_long = [f for f, n in lines.items() if n > LIMIT]
    for f in too_long:
        print(f"{f}: {lines[f]} lines, limit {LIMIT}: split by concept")
    sys.exit(1 if too_long else 0)


main()
