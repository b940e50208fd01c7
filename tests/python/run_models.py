#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real networks from Python beside the command line: the same bytes of every output.

    PYTHON tests/python/run_models.py --ingot build/gcc/bin/ingot --work build/models [NAME ...]

NumPy is all that the interpreter needs beside the package. Networks are those of
tests/models/models.tsv with reference inputs; what is not to be had is a line "[skip] ..."."""

import pathlib
import shlex
import sys

import numpy as np

import ingot

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import sources  # noqa: E402


def drawn(draw, port, shape):
    """Reals around zero, all bytes, and indices that every table has."""
    if "float" in port.dtype:
        return draw.standard_normal(shape)
    if port.dtype in ("int8", "uint8"):
        return draw.integers(0, 256, shape).astype("uint8")
    return draw.integers(0, 2, shape)


def inputs_of(model, golden):
    """Arrays of the reference case, of a stream its first step; drawn where it has none for all of
    the inputs; None where an extent is an expression over others."""
    arrays = np.load(golden) if golden else {}
    given = [arrays.get(f"in:{port.name}") for port in model.inputs]
    draw = np.random.default_rng(1)
    if any(array is None for array in given):
        # Without reference inputs a dynamic dimension is a small one of those that are allowed.
        extents = {s.name: min(max(s.low, 4), s.high or 4) for s in model.symbols}
        shapes = [tuple(extents.get(e, e) for e in port.shape) for port in model.inputs]
        if not all(isinstance(extent, int) for shape in shapes for extent in shape):
            return None
        given = [drawn(draw, port, shape) for port, shape in zip(model.inputs, shapes, strict=True)]
    inputs = {}
    for port, array in zip(model.inputs, given, strict=True):
        array = array[0] if array.ndim > len(port.shape) else array
        inputs[port.name] = array.astype(port.dtype, order="C", copy=False)
    return inputs


def compare(row, args, tally):
    """One network: the same inputs through both."""
    located = sources.locate(row, args.work, tally)
    if located is None:
        return
    source, golden = located
    made = args.work / "goldens" / f"{row['name']}.npz"  # by stage models
    golden = golden or (made if made.exists() else None)
    folder = args.work / "python"
    folder.mkdir(parents=True, exist_ok=True)
    file, fed, out = (folder / f"{row['name']}{e}" for e in (".ingot", ".in.npz", ".out.npz"))
    model = ingot.convert(source, file, options=shlex.split(row["options"] or ""))
    inputs = inputs_of(model, golden)
    if inputs is None:
        tally.skip(f"{row['name']}: a dimension that is an expression, and no reference inputs")
        return
    np.savez(fed, **{f"in:{name}": array for name, array in inputs.items()})
    done = run(args.ingot, "run", file, "--inputs", fed, "--outputs", out, "--threads", 2)
    if done.returncode:
        tally.check(False, f"{row['name']}: ingot run", done.stderr)
        return
    expected = np.load(out)
    with model.session(threads=2, bindings=model.bindings_of(inputs)) as session:
        answers = session.run(inputs)
    wrong = [
        name
        for name, array in answers.items()
        if array.dtype != expected[name].dtype
        or array.shape != expected[name].shape
        or array.tobytes() != expected[name].tobytes()
    ]
    elements = sum(a.size for a in answers.values())
    tally.check(not wrong, f"{row['name']}: {elements} elements, the same bytes", f"{wrong}")


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--least", type=int, default=0, help="fails where fewer were compared")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    tally = Checks("python_models", verbose=True)
    # What is made by frameworks is not tried: NumPy alone is here.
    made = ("zoo", "made", "minilm")
    for row in sources.read_rows(args.names):
        if args.names or row["source"].split(":")[0] not in made:
            compare(row, args, tally)
    compared = tally.passed
    if compared < args.least:
        tally.check(False, f"{compared} networks were compared, expected {args.least}")
    sys.exit(tally.finish())


main()
