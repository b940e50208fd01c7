#!/usr/bin/env python3
"""Refuses an #include that points against the order of the layers (docs/decisions.md, style guide of the folders)."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORDER = ["base", "op", "format", "plan", "memory", "device", "session", "api"]
# One element at a time, the same bits everywhere: device code as well.
ARITHMETIC = ("kernels/cpu/simd/", "kernels/cpu/elementwise/steps_", "kernels/cpu/elementwise/convert.inl",
              "kernels/cpu/gather/combine.inl", "kernels/cpu/reduce/folds.inl", "kernels/cpu/reduce/wide_fold.inl",
              "kernels/cpu/measured/box.inl", "kernels/cpu/picture/color.inl", "kernels/cpu/resize/taps.inl", "kernels/cpu/recurrent/cell.inl",
              "kernels/cpu/conv2d/winograd_transform.inl")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def layer(path):
    parts = pathlib.PurePosixPath(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == "runtime" else None


def why_not(source, target):
    """The rule that forbids `source` to include `target`, or None."""
    own, theirs = layer(source), layer(target)
    if source.startswith("runtime/"):
        if target.startswith(("kernels/", "tools/", "tests/")):
            return "runtime never includes " + target.split("/")[0]
        if own in ORDER and theirs in ORDER and ORDER.index(theirs) > ORDER.index(own):
            return f"order is {' -> '.join(ORDER)}"
        if ("flatbuffers" in target or target.endswith("_generated.h")) and own != "format":
            return "only runtime/format sees FlatBuffers"
    if source.startswith("kernels/"):
        if target.startswith(("tools/", "tests/")):
            return "kernels never include " + target.split("/")[0]
        if theirs and theirs not in ("base", "op", "include"):
            return "kernels include runtime/base and runtime/op only"
        if {source.split("/")[1], target.split("/")[1] if target.startswith("kernels/") else ""} == {"cpu", "cuda"}:
            if not (source.startswith("kernels/cuda/") and target.startswith(ARITHMETIC)):
                return "kernels/cpu and kernels/cuda share nothing but arithmetic: " + ", ".join(ARITHMETIC)
    if source.startswith("tools/") and target.startswith("tests/"):
        return "tools never include tests"
    return None


def main():
    files = subprocess.run(["git", "ls-files", "*.h", "*.hpp", "*.cpp", "*.c", "*.inl", "*.cu", "*.cuh"], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout.split()
    wrong = 0
    for source in files:
        for number, line in enumerate((ROOT / source).read_text(errors="replace").splitlines(), 1):
            found = INCLUDE.match(line)
            reason = found and why_not(source, found.group(1))
            if reason:
                print(f"{source}:{number}: includes {found.group(1)}: {reason}")
                wrong += 1
    print(f"layers: {len(files)} files, {wrong} wrong includes")
    sys.exit(1 if wrong else 0)


main()
