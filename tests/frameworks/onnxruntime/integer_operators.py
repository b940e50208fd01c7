#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of quantized ONNX graphs on u8 and i8, drawn at random, against onnxruntime: its graph
as it stands (floating point between DequantizeLinear and QuantizeLinear) and its optimized one
(its own integer kernels). Products and movement equal the optimized graph; nothing is further than
one step from the nearer of both.

  integer_operators.py --ingot BIN [--seeds N] [--figures] [name ...]

With --figures a line for each operator. Needs the packages onnx and onnxruntime."""

import pathlib
import sys

import numpy as np
from integer_cases import EXACT, NEAR, Drawn
from integer_models import session_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

IN_FLOATS = "in f32"
TYPES = [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8)]


def answered(model, fed, optimized):
    return session_of(model, optimized, threads=1).run(None, fed)[0]


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


def trial(ingot, name, seed, types, tally):
    """What is wrong; "" for nothing, None for a model that onnxruntime refuses."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    drawn = Drawn(rng, *types)
    model = drawn.finish((EXACT | NEAR)[name](drawn))
    try:
        plain, optimized = (answered(model, drawn.fed, o) for o in (False, True))
    except Exception as why:  # onnxruntime's errors have no common base
        return None if "NOT_IMPLEMENTED" in str(why) or "Could not find" in str(why) else str(why)
    try:
        said = ingot.convert(model).succeeded().output
        found = next(iter(ingot.outputs(drawn.fed).values()))
    except RunError as why:
        return str(why)
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
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    checks = Checks("integer_operators")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder)
        for name in a.names or [*EXACT, *NEAR]:
            tally = Tally()
            for seed in range(a.seeds):
                for types in TYPES:
                    kinds = "/".join(np.dtype(t).name for t in types)
                    checks.report(f"{name} {kinds} {seed}", trial(ingot, name, seed, types, tally))
            if tally.elements == 0:
                checks.report(name, "onnxruntime takes no model of it")
            if a.figures:
                print(tally.line(name), flush=True)
    return checks.finish("onnxruntime")


if __name__ == "__main__":
    sys.exit(main())
