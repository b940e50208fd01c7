#!/usr/bin/env python3
"""Operators of quantized ONNX graphs on u8 and i8, drawn at random, against onnxruntime: its graph
as it stands (floating point between DequantizeLinear and QuantizeLinear) and its optimized one
(its own integer kernels). Products and movement equal the optimized graph; nothing is further than
one step from the nearer of both.

  integer_operators.py --ingot BIN [--seeds N] [--figures] [name ...]

With --figures a line for each operator. Needs the packages onnx and onnxruntime."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from integer_cases import EXACT, NEAR, Drawn
from integer_models import session_of

IN_FLOATS = "in f32"
TYPES = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8)]


def answered(model, fed, optimized):
    return session_of(model, optimized, threads=1).run(None, fed)[0]


def computed(ingot, model, fed, folder):
    """(bytes, what the conversion said), or what went wrong."""
    path, out = folder / "model.onnx", folder / "model.ingot"
    path.write_bytes(model.SerializeToString())
    out.unlink(missing_ok=True)
    np.savez(folder / "in.npz", **{f"in:{k}": v for k, v in fed.items()})
    said = ""
    for command in (
        [ingot, "convert", path, "-o", out],
        [ingot, "run", out, "-q", "--inputs", folder / "in.npz", "--outputs", folder / "y.npz"],
    ):
        done = subprocess.run(
            [str(c) for c in command], capture_output=True, text=True, timeout=120
        )
        if done.returncode != 0:
            return f"{command[1]}: exit {done.returncode}: {done.stderr.strip()[-300:]}"
        said += done.stderr + done.stdout
    archive = np.load(folder / "y.npz")
    return archive[archive.files[0]], said


def steps_between(a, b):
    return np.abs(a.astype(int) - b.astype(int))


class Tally:
    def __init__(self):
        self.elements = self.inside = self.of_plain = self.of_optimized = self.most = 0

    def line(self, name):
        return (
            f"{name}: {self.elements} elements, {self.inside} not at an end of their range, "
            f"{self.of_plain} differ from the plain graph, "
            f"{self.of_optimized} from the optimized one, by at most {self.most}"
        )


def trial(ingot, name, seed, types, folder, tally):
    """What is wrong; "" for nothing, None for a model that onnxruntime refuses."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    drawn = Drawn(rng, *types)
    model = drawn.finish((EXACT | NEAR)[name](drawn))
    try:
        plain, optimized = (answered(model, drawn.fed, o) for o in (False, True))
    except Exception as why:  # onnxruntime's errors have no common base
        return None if "NOT_IMPLEMENTED" in str(why) or "Could not find" in str(why) else str(why)
    made = computed(ingot, model, drawn.fed, folder)
    if isinstance(made, str):
        return made
    found, said = made
    if found.shape != plain.shape or found.dtype != plain.dtype:
        return f"{found.dtype} {found.shape}, expected {plain.dtype} {plain.shape}"
    of_plain, of_optimized = steps_between(found, plain), steps_between(found, optimized)
    nearer = np.minimum(of_plain, of_optimized)
    info = np.iinfo(found.dtype)
    tally.elements += found.size
    tally.inside += int(((plain > info.min) & (plain < info.max)).sum())
    tally.of_plain += int((of_plain > 0).sum())
    tally.of_optimized += int((of_optimized > 0).sum())
    tally.most = max(tally.most, int(nearer.max(initial=0)))
    if IN_FLOATS in said:
        return "computed in f32"
    if name in EXACT and nearer.any():
        return f"{int((nearer > 0).sum())} of {found.size} are neither of both, by {nearer.max()}"
    return f"{nearer.max()} steps away" if nearer.max(initial=0) > 1 else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in a.names or [*EXACT, *NEAR]:
            tally, refused = Tally(), 0
            for seed in range(a.seeds):
                for types in TYPES:
                    what = trial(a.ingot, name, seed, types, pathlib.Path(temporary), tally)
                    refused += what is None
                    passed += what == ""
                    if what:
                        failed += 1
                        kinds = "/".join(np.dtype(t).name for t in types)
                        print(f"[fail] {name} {kinds} {seed}: {what}", flush=True)
            if tally.elements == 0:
                failed += 1
                print(f"[fail] {name}: onnxruntime takes no model of it")
            skipped += refused
            if a.figures:
                print(tally.line(name), flush=True)
    if skipped:
        print(f"[skip] {skipped} of the models drawn are none that onnxruntime takes")
    print(f"{passed} checks passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
