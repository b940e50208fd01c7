#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks as onnxruntime's offline optimizer writes them, at each of its levels, as ONNX and in
its own format (.ort): converted, and compared with onnxruntime's answer to the network as it was.
Its last level stores weights in blocks of the machine that it ran on (domain com.microsoft.nchwc),
which is refused by name.

  optimized_networks.py --ingot BIN [--most N] [--models FOLDER] [name ...]

Needs the package onnxruntime."""

import itertools
import pathlib
import sys

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from shared import SHARED  # noqa: E402
from testing import Checks, RunError, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402

LEVELS = {
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
TOLERANCE = 2e-4
KINDS = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


def session_of(path, level=None, out=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if level is not None:
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(out)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs_of(session, rng):
    """None where the shapes or types are not of the plain kind."""
    fed = {}
    for port in session.get_inputs():
        if port.type not in KINDS:
            return None
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in port.shape]
        kind = KINDS[port.type]
        is_float = kind is np.float32
        fed[port.name] = (rng.uniform(0, 1, shape) if is_float else np.ones(shape)).astype(kind)
    return fed


def compare(ingot, source, fed, expected):
    shapes = [
        o
        for n, a in fed.items()
        for o in ("--input-shape", f"{n}={'x'.join(map(str, a.shape))}")
        if a.ndim
    ]
    try:
        found = ingot.computed(source, fed, *shapes)
    except RunError as error:
        return str(error)
    for name, wanted in expected.items():
        if found[name].shape != wanted.shape:
            return f"{name}: {found[name].shape} is not {wanted.shape}"
        error = largest_error(found[name], wanted, 1e-6)
        if not error <= TOLERANCE:
            return f"{name}: error {error:.3g} of the largest"
    return ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--models", type=pathlib.Path, default=SHARED / "models")
    parser.add_argument("--most", type=int, default=12, help="networks")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    if not args.models.is_dir():
        print(f"[skip] no network was optimized: {args.models} is not there")
        return
    checks, networks = Checks("optimized_networks"), 0
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        for path in sorted(args.models.rglob("*.onnx")):
            if args.names and not any(n in str(path) for n in args.names):
                continue
            if networks >= args.most:
                break
            try:
                plain = session_of(str(path))
                fed = inputs_of(plain, np.random.default_rng(3))
                names = [o.name for o in plain.get_outputs()]
                expected = dict(zip(names, plain.run(None, fed))) if fed else None
            except Exception:  # a network that onnxruntime does not run says nothing here
                continue
            if not expected or any(not isinstance(v, np.ndarray) for v in expected.values()):
                continue
            if compare(ingot, path, fed, expected):
                continue  # of the plain file other tests speak
            networks += 1
            for (level, flag), suffix in itertools.product(LEVELS.items(), ("onnx", "ort")):
                source = work / f"{level}.{suffix}"
                session_of(str(path), flag, source)
                # an initializer that the optimizer used up may stay behind as an input
                left = {
                    p.name: np.zeros(p.shape, KINDS[p.type])
                    for p in session_of(str(source)).get_inputs()
                    if p.name not in fed
                }
                why = compare(ingot, source, {**fed, **left}, expected)
                blocked = level == "all" and "com.microsoft.nchwc" in why
                name = f"{path.parent.name}/{path.name}, {level}, .{suffix}"
                checks.report(name, None if blocked else why)
    print(f"{networks} networks; {checks.uncompared} files refused for their blocked weights")
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
