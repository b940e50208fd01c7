#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints lines per layer and the largest files; refuses files of more lines than the limit, and
lines of more columns. What was longer when the limit was set stands in LONGER and may only shrink;
the tables of Markdown, data and long texts of a program's output may be wider (WIDER lines in all).
"""

import collections
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES, COLUMNS = 500, 100
LONGER = {
    "runtime/include/ingot/ingot.h": 700,
    "tools/checkpoint/torch/pickle.cpp": 534,
    "tools/import/torchscript/operators.cpp": 507,
    "tools/diagnose/program/find_divergence.cpp": 525,
    "tools/import/flux/import.cpp": 588,
    "tools/import/torchscript/parse.cpp": 521,
    "bench/cuda_torch.py": 663,
    "bench/onnx_as_torch.py": 660,
    "tests/checkpoint/bombs.py": 549,
    "tests/models/make_zoo.py": 583,
    "tests/weights/overlay/goldens.py": 537,
}
WIDER = 120
CODE = ["*.h", "*.hpp", "*.cpp", "*.c", "*.inl", "*.cu", "*.cuh", "*.py", "*.sh"]
NARROW = [*CODE[:-1], "*.cmake", "*CMakeLists.txt"]  # commands of a shell are not broken


def texts(patterns):
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {f: (ROOT / f).read_text(errors="replace").splitlines() for f in listed.stdout.split()}


def main():
    lines = {f: len(text) - 1 for f, text in texts(CODE).items()}  # without the license's line
    layers = collections.Counter()
    for f, n in lines.items():
        layers["/".join(pathlib.PurePosixPath(f).parts[:2])] += n
    for name, n in sorted(layers.items()):
        print(f"{n:7d}  {name}")
    largest = sorted(((n, f) for f, n in lines.items()), reverse=True)[:5]
    print(f"{sum(lines.values()):7d}  in all; largest:", ", ".join(f"{f} {n}" for n, f in largest))
    too_long = [f for f, n in lines.items() if n > LONGER.get(f, LINES)]
    for f in too_long:
        print(f"{f}: {lines[f]} lines, limit {LONGER.get(f, LINES)}: split by concept")
    wide = [
        (-(ROOT / f).stat().st_mtime, f"{f}:{number}")
        for f, text in texts(NARROW).items()
        for number, line in enumerate(text, 1)
        if len(line) > COLUMNS
    ]
    print(f"{len(wide)} lines of more than {COLUMNS} columns (ceiling {WIDER})")
    if len(wide) > WIDER:
        print(f"break {len(wide) - WIDER} of them; those of the newest files are")
        print("\n".join(place for _, place in sorted(wide)[:10]))
    sys.exit(1 if too_long or len(wide) > WIDER else 0)


main()
