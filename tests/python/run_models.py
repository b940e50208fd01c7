#!/usr/bin/env python3
"""Real networks from Python beside the command line: the same bytes of every output.

    PYTHON tests/python/run_models.py --ingot build/gcc/bin/ingot --work build/models [NAME ...]

NumPy is all that the interpreter needs beside the package. Networks are those of
tests/models/models.tsv with reference inputs; what is not to be had is a line "[skip] ..."."""

import argparse
import pathlib
import shlex
import sys

import numpy as np

import ingot

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import sources  # noqa: E402


def compare(row, args, tally):
    """One network: inputs of its golden through both."""
    located = sources.locate(row, args.work, tally)
    if located is None:
        return
    source, golden = located
    if golden is None:
        return tally.skip(f"{row['name']}: without reference inputs")
    arrays = np.load(golden)
    if "meta" in arrays and "steps" in str(arrays["meta"]):
        return tally.skip(f"{row['name']}: a golden of many steps; ./dev show state runs it")
    folder = args.work / "python"
    folder.mkdir(parents=True, exist_ok=True)
    file, fed, out = (folder / f"{row['name']}{e}" for e in (".ingot", ".in.npz", ".out.npz"))
    model = ingot.convert(source, file, options=shlex.split(row["options"] or ""))
    inputs = {}
    for port in model.inputs:
        key = f"in:{port.name}"
        if key not in arrays:
            return tally.skip(f"{row['name']}: its golden has no {key}")
        inputs[port.name] = np.ascontiguousarray(arrays[key].astype(port.dtype, copy=False))
    np.savez(fed, **{f"in:{name}": array for name, array in inputs.items()})
    done = sources.call(
        [args.ingot, "run", file, "--inputs", fed, "--outputs", out, "--threads", 2]
    )
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
    parser = argparse.ArgumentParser()
    parser.add_argument("--ingot", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--least", type=int, default=0, help="fails where fewer were compared")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    tally = sources.Tally()
    # What is made by frameworks is not tried: NumPy alone is here.
    made = ("zoo", "made", "minilm")
    for row in sources.read_rows(args.names):
        if args.names or row["source"].split(":")[0] not in made:
            compare(row, args, tally)
    compared = tally.passed
    if compared < args.least:
        tally.check(False, f"{compared} networks were compared, expected {args.least}")
    print(f"python_models: {tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


main()
