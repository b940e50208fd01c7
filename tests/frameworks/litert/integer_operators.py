#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builtin operators on int8 and uint8, or on int16, against the runtime whose integers are wanted:
shapes, windows, activations, scales and zero points (those at the ends of the range too) drawn at
random, every integer equal. A line for each operator and type: models, integers, how many differ.

  integer_operators.py --ingot BIN [--exact-to MODE] [--words] [--seeds N] [name ...]

litert is LiteRT as it runs by default, builtin LiteRT without XNNPACK, tflm TFLite Micro, and
LiteRT's reference kernels where that refuses a model (all of uint8). Needs the packages
ai-edge-litert and, for tflm, tflite-micro."""

import os
import pathlib
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from integer_cases import CASES, NEAR, Integers, QuantizedArray
from int16_cases import INT16_CASES, Int16
from written_model import Fed, Model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

IN_FLOATS = "between dequantization and quantization"


def written(op, case, shape, version, by_constant=False):
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
        plain = isinstance(each, QuantizedArray)
        array = each.array if plain else each
        # what is no weight or shape is fed
        fed = i == (2 if op == "TRANSPOSE_CONV" else 0) or (
            plain and array.dtype != np.int32 and op not in PRODUCTS and not by_constant
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


PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES


def run_of_micro(model, fed):
    from tflite_micro.python.tflite_micro import runtime

    machine = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    for i, array in enumerate(fed.values()):
        machine.set_input(array, i)
    machine.invoke()
    return machine.get_output(0)


# Micro pads with a number that it never sets.
UNSET_IN_MICRO = ("SPACE_TO_BATCH_ND",)


def misread_by_micro(op, case):
    """Micro's transposed convolution of int16 reads a bias of int32 as int64."""
    dtypes = [each.array.dtype for each in case[1] if isinstance(each, QuantizedArray)]
    return op == "TRANSPOSE_CONV" and np.int16 in dtypes and np.int32 in dtypes


def wanted_of(op, case, model, fed, mode):
    """What the runtime gives, by name."""
    if mode == "litert":
        return run_of(model, fed, OpResolverType.AUTO)
    of_builtin = run_of(model, fed, PLAIN)
    if mode == "builtin":
        return of_builtin
    (name,) = of_builtin
    try:
        if op not in UNSET_IN_MICRO and not misread_by_micro(op, case):
            return {name: run_of_micro(model, fed)}
    except Exception:  # of any kind, with the cause on stderr
        pass
    try:
        return run_of(model, fed, OpResolverType.BUILTIN_REF)
    except (RuntimeError, ValueError):
        return of_builtin  # there is no other


def answered(op, case, mode, by_constant=False):
    """The model, what is fed and what the runtime gives. Each operator has a version of its own
    that takes integers."""
    for version in (3, 2, 1):
        try:
            # XNNPACK wants to see the shape of the output in the file.
            (shape,) = (
                v.shape
                for v in run_of(*written(op, case, [], version, by_constant), PLAIN).values()
            )
            model, fed = written(op, case, shape, version, by_constant)
            return model, fed, wanted_of(op, case, model, fed, mode)
        except (RuntimeError, ValueError) as why:
            refused = why
    raise refused


class Count:
    """Of one operator and type."""

    def __init__(self):
        self.models = self.integers = self.different = self.most = 0

    def add(self, found, want):
        if found.shape != want.shape or found.dtype != want.dtype:
            raise ValueError(f"{found.dtype} {found.shape}, {want.dtype} {want.shape} expected")
        away = np.abs(found.astype(np.float64) - want.astype(np.float64))
        if want.dtype.kind == "f":  # floats round once more in some of LiteRT's kernels
            away = np.where(away <= 4e-7 * np.abs(want).max(initial=0), 0, away)
        self.models, self.integers = self.models + 1, self.integers + want.size
        self.different += int((away > 0).sum())
        self.most = max(self.most, float(away.max(initial=0)))


def trial(ingot, name, seed, mode, kind, counts):
    """What is wrong; "" for nothing, None for a model that the runtime refuses."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    op = name.split(" ")[0]
    drawn = kind(rng)
    try:
        case = (INT16_CASES if kind is Int16 else CASES | NEAR)[name](drawn, rng)
        model, fed, expected = answered(op, case, mode, name.endswith("by a constant"))
    except (RuntimeError, ValueError) as why:
        if os.environ.get("INGOT_KEEP"):
            print(name, seed, str(why)[:200])
        return None
    keep = os.environ.get("INGOT_KEEP")
    if keep:
        golden = {f"in:{k}": v for k, v in fed.items()}
        golden |= {f"out:{k}": v for k, v in expected.items()}
        np.savez(pathlib.Path(keep, f"{op}_{seed}.npz"), **golden)
        pathlib.Path(keep, f"{op}_{seed}.tflite").write_bytes(model)
    done = ingot.convert(model, "--exact-to", mode)
    if done.returncode == 5 and "computes nothing in integers" in done.output:
        done = ingot.convert(model)  # DEQUANTIZE alone, a comparison
    if IN_FLOATS in done.output and name not in NEAR:
        return "computed in floats"
    try:
        done.succeeded()
        found = ingot.outputs(fed)
    except RunError as why:
        return str(why)
    count = counts.setdefault(drawn.dtype.name, Count())
    before = count.different
    for key, want in expected.items():
        count.add(found[key], want)
    return f"{count.different - before} integers differ" if count.different > before else ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--exact-to", choices=("litert", "builtin", "tflm"), default="litert")
    parser.add_argument("--words", action="store_true", help="int16 instead of int8 and uint8")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    kind, cases = (Int16, INT16_CASES) if a.words else (Integers, CASES | NEAR)
    checks = Checks("integer_operators")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for name in a.names or cases:
            refused, counts = 0, {}
            for seed in range(a.seeds):
                what = trial(ingot, name, seed, a.exact_to, kind, counts)
                near = name in NEAR and what and what.endswith("differ")
                refused += what is None
                checks.report(f"{name} {seed}", "" if near else what)
            for dtype, count in sorted(counts.items()):
                figures = f"{count.models} models, {count.integers} integers"
                figures += f", {count.different} differ, by at most {count.most:g}"
                print(f"{name} {dtype} {a.exact_to}: {figures}", flush=True)
                if name in NEAR and count.most > 1:
                    checks.report(f"{name} {dtype}", f"{count.most} steps away")
            if refused == a.seeds:
                checks.report(name, "the runtime refuses every model of it")
    return checks.finish("the runtime")


if __name__ == "__main__":
    sys.exit(main())
