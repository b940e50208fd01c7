#!/usr/bin/env python3
"""Builtin operators on int8 and uint8 against LiteRT as it runs by default: shapes, windows,
activations, scales and zero points (those at the ends of the range too) drawn at random, every
integer equal.

  integer_operators.py --ingot BIN [--seeds N] [name ...]

Needs the package ai-edge-litert."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from integer_cases import CASES, NEAR, Integers, Steps
from written_model import Fed, Model

IN_FLOATS = "between dequantization and quantization"


def written(op, case, shape, version):
    """The model of a case, with that shape of its output, and what is fed."""
    kind, operands, (dtype, scale, zero) = case
    model = Model()

    def steps_of(tensor, scales, zeros, axis=0):
        q = schema.QuantizationParametersT()
        q.scale = np.atleast_1d(np.asarray(scales, np.float32))
        q.zeroPoint = np.atleast_1d(np.asarray(zeros, np.int64))
        q.quantizedDimension = axis
        model.graph.tensors[tensor].quantization = q

    given = []
    for i, each in enumerate(operands):
        plain = isinstance(each, Steps)
        array = each.array if plain else each
        # what is no weight or shape is fed
        fed = i == (2 if op == "TRANSPOSE_CONV" else 0) or (
            plain and array.dtype != np.int32 and op not in PRODUCTS
        )
        at = model.value(Fed(array) if fed else array)
        if plain:
            steps_of(at, each.scales, each.zeros, each.axis)
        given.append(None if each is None else at)
    outputs = model.add(op, kind, given, [(dtype, shape)])
    if scale is not None:
        steps_of(outputs[0], scale, zero)
    model.model.operatorCodes[0].version = version
    return model.finish(outputs), model.fed


PRODUCTS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "PRELU")


def run_of(model, fed, resolver):
    machine = Interpreter(model_content=model, experimental_op_resolver_type=resolver)
    machine.allocate_tensors()
    for detail in machine.get_input_details():
        machine.set_tensor(detail["index"], fed[detail["name"]])
    machine.invoke()
    return {d["name"]: machine.get_tensor(d["index"]) for d in machine.get_output_details()}


def answered(op, case):
    """The model, what is fed and what LiteRT gives. Each operator has a version of its own that
    takes integers."""
    plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    for version in (3, 2, 1):
        try:
            # XNNPACK wants to see the shape of the output in the file.
            (shape,) = (v.shape for v in run_of(*written(op, case, [], version), plain).values())
            model, fed = written(op, case, shape, version)
            return model, fed, run_of(model, fed, OpResolverType.AUTO)
        except (RuntimeError, ValueError) as why:
            refused = why
    raise refused


def run(command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)


def steps_away(ingot, path, out, folder, expected):
    """What is wrong where one step is allowed."""
    done = run([ingot, "convert", path, "-o", out])
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip()[-300:]}"
    done = run(
        [ingot, "run", out, "-q", "--inputs", folder / "golden.npz", "--outputs", folder / "y.npz"]
    )
    if done.returncode != 0:
        return f"run: exit {done.returncode}: {done.stderr.strip()[-300:]}"
    found = np.load(folder / "y.npz")
    for name, want in expected.items():
        away = np.abs(found[name].astype(int) - want.astype(int)).max()
        if away > 1:
            return f"{name}: {away} steps away"
    return ""


def trial(ingot, name, seed, folder):
    """What is wrong; "" for nothing, None for a model that LiteRT refuses."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    op = name.split(" ")[0]
    try:
        case = (CASES | NEAR)[name](Integers(rng), rng)
        model, fed, expected = answered(op, case)
    except (RuntimeError, ValueError) as why:
        if os.environ.get("INGOT_KEEP"):
            print(name, seed, str(why)[:200])
        return None
    golden = {f"in:{k}": v for k, v in fed.items()} | {f"out:{k}": v for k, v in expected.items()}
    path, out = folder / "model.tflite", folder / "model.ingot"
    path.write_bytes(model)
    out.unlink(missing_ok=True)
    np.savez(folder / "golden.npz", **golden)
    command = [ingot, "convert", path, "-o", out, "--golden", folder / "golden.npz"]
    if name in NEAR:
        return steps_away(ingot, path, out, folder, expected)
    done = run(command)
    text = done.stdout + done.stderr
    if done.returncode == 0 and IN_FLOATS not in text:
        return ""
    if os.environ.get("INGOT_KEEP"):
        pathlib.Path(os.environ["INGOT_KEEP"], f"{op}_{seed}.tflite").write_bytes(model)
        np.savez(pathlib.Path(os.environ["INGOT_KEEP"], f"{op}_{seed}.npz"), **golden)
    return f"exit {done.returncode}: {text.strip()[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name in a.names or [*CASES, *NEAR]:
            refused = 0
            for seed in range(a.seeds):
                what = trial(a.ingot, name, seed, folder)
                refused += what is None
                passed += what == ""
                if what:
                    failed += 1
                    print(f"[fail] {name} {seed}: {what}", flush=True)
            if refused == a.seeds:
                failed += 1
                print(f"[fail] {name}: LiteRT refuses every model of it")
            skipped += refused
    if skipped:
        print(f"[skip] {skipped} of the models drawn are none that LiteRT takes")
    print(f"{passed} checks passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
