#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each builtin operator on each type of numbers: does LiteRT run it, and what becomes of it here?

  type_coverage.py --ingot BIN [--seeds N] [--type T] [--write FILE] [case ...]

The floats of the cases of operator_models.py become int8, uint8 or int16 with scales of their own
and with one for all, or other numbers without a scale. Where LiteRT as it runs by default takes the
model, `ingot convert` makes integers of it that are compared, floats between dequantization and
quantization (within a step of LiteRT), or a refusal. Prints a line for all that is not equal, and
puts it as a table between the marks of FILE. Exits with 1 where numbers differ; EXPECTED has those
that LiteRT gets wrong. Needs the package ai-edge-litert."""

import os
import pathlib
import pickle
import re
import sys

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from operator_models import CASES
from written_model import TYPES, Fed, Model, Variable

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

QUANTIZED = ("int8", "uint8", "int16")
PLAIN = ("int32", "int64", "uint32", "bool", "float16")
OUTCOMES = {"floats": "in floats", "refused": "refused", "differs": "other numbers"}
VERSIONS = (1, 2, 3, 4, 5, 6, 7)
# What the output of a function of int8 has to be: (scale, zero), by the largest number of the type.
FRACTIONS = {"LOGISTIC": (0, 1), "SOFTMAX": (0, 1), "TANH": (-1, 1), "L2_NORMALIZATION": (-1, 1)}
ELSEWHERE = ("dequantize",)  # its types are not those of its case: integer_operators.py
NO_PLACE = "LiteRT writes the diagonal to other places of these types"
EXPECTED = {
    ("MATRIX_DIAG", "bool"): NO_PLACE,
    ("MATRIX_DIAG", "float16"): NO_PLACE,
    ("MATRIX_SET_DIAG", "bool"): NO_PLACE,
    ("MATRIX_SET_DIAG", "float16"): NO_PLACE,
    ("MUL", "uint32"): "LiteRT limits it from below by 1",
    ("MAX_POOL_2D", "int8"): "XNNPACK rescales pools of one pixel, and no others",
    ("MAX_POOL_2D", "uint8"): "XNNPACK rescales pools of one pixel, and no others",
    ("EXP", "float16"): "XNNPACK computes in half precision",
}
MARK = "<!-- type_coverage.py -->"


class Kind:
    """A type of numbers, and how floats become numbers of it."""

    def __init__(self, name):
        self.name = name
        self.dtype = np.dtype(name.split(" ")[0] if name != "bool" else np.bool_)
        self.is_quantized = name in QUANTIZED

    def steps(self, low, high, rng):
        """A scale and a zero point that hold what lies between."""
        limits = np.iinfo(self.dtype)
        low, high = min(low, 0.0), max(high, 1e-3)
        if self.dtype == np.int16:
            return np.float32(max(-low, high) / limits.max), 0
        scale = np.float32((high - low) / 255 * rng.uniform(1, 1.3))
        return scale, int(np.clip(round(limits.min - low / scale), limits.min, limits.max))

    def numbers(self, array, steps):
        if self.is_quantized:
            limits, (scale, zero) = np.iinfo(self.dtype), steps
            return np.clip(np.round(array / scale) + zero, limits.min, limits.max).astype(
                self.dtype
            )
        if self.dtype == np.bool_:
            return array > 0
        if self.dtype.kind == "f":
            return array.astype(self.dtype)
        whole = np.round(array * 4)
        return (np.abs(whole) if self.dtype.kind == "u" else whole).astype(self.dtype)


def steps_of_output(op, kind, like, rng, own):
    limits = np.iinfo(kind.dtype)
    if op in FRACTIONS:
        low, high = FRACTIONS[op]
        if kind.dtype == np.int16:
            return np.float32(1 / 32768), 0
        return np.float32((high - low) / 256), int(limits.min if low == 0 else (limits.min + 128))
    if op == "LOG_SOFTMAX":
        return np.float32(16 / 256), int(limits.max)
    if not own or not like:
        return like or kind.steps(-3, 3, rng)
    scale, zero = kind.steps(-3, 3, rng)
    return np.float32(scale * rng.uniform(0.7, 2)), zero


def retyped(name, seed, kind, own):
    """The case on that type; with scales of their own where `own`, else one for all. (make, fed):
    make(version, shapes) gives the bytes of the model."""
    rng = np.random.default_rng([seed, sum(name.encode())])
    op, options, operands, outputs = CASES[name](rng)
    floats = [i for i, each in enumerate(operands) if dtype_of(each) == np.float32]
    if name in ELSEWHERE or not floats and np.float32 not in [np.dtype(o) for o in outputs]:
        return None
    shared = kind.steps(-3, 3, rng) if kind.is_quantized else None
    made, steps = [], {}
    for i, each in enumerate(operands):
        if i not in floats:
            made.append(each)
            continue
        array = each.array if isinstance(each, Fed) else each
        if kind.is_quantized:
            steps[i] = shared
            if own:
                steps[i] = kind.steps(float(array.min(initial=0)), float(array.max(initial=0)), rng)
        typed = kind.numbers(array, steps.get(i))
        made.append(Fed(typed) if isinstance(each, Fed) else typed)
    if op == "CAST":
        kind_of_cast, fields = options
        options = (
            kind_of_cast,
            {
                k: v if v != schema.TensorType.FLOAT32 else TYPES[kind.dtype]
                for k, v in fields.items()
            },
        )
    like = steps.get(floats[0]) if floats else None
    of_output = steps_of_output(op, kind, like, rng, own) if kind.is_quantized else None

    def make(version, shapes):
        model = Model()
        given = []
        for i, each in enumerate(made):
            at = model.value(each)
            if i in steps:
                set_steps(model, at, steps[i])
            given.append(at)
        types = []
        for i, out in enumerate(outputs):
            dtype = kind.dtype if np.dtype(out) == np.float32 else out
            types.append((dtype, shapes[i] if shapes else []))
        ids = model.add(op, options, given, types)
        for at, out in zip(ids, outputs):
            if of_output and op != "CAST" and np.dtype(out) == np.float32:
                set_steps(model, at, of_output)
        model.model.operatorCodes[0].version = version
        return model.finish(ids), model.fed

    return op, make


def dtype_of(each):
    """None of what is left out and of a variable tensor."""
    array = each.array if isinstance(each, Fed) else each
    return None if array is None or isinstance(array, Variable) else np.asarray(array).dtype


def set_steps(model, tensor, steps):
    q = schema.QuantizationParametersT()
    q.scale, q.zeroPoint = np.array([steps[0]], np.float32), np.array([steps[1]], np.int64)
    model.graph.tensors[tensor].quantization = q


def run_of(content, fed):
    machine = Interpreter(model_content=content)
    machine.allocate_tensors()
    for detail in machine.get_input_details():
        machine.set_tensor(detail["index"], fed[detail["name"]])
    machine.invoke()
    return {d["name"]: machine.get_tensor(d["index"]) for d in machine.get_output_details()}


def in_child(work):
    """What `work` returns, of a process of its own; None where it fails or dies."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            with os.fdopen(write, "wb") as out:
                pickle.dump(work(), out)
            os._exit(0)
        except BaseException:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as given:
        data = given.read()
    _, status = os.waitpid(child, 0)
    return pickle.loads(data) if status == 0 and data else None


def answered(make):
    """The model that LiteRT takes, what it is fed and gives; None where it takes none."""

    def work():
        for version in VERSIONS:
            try:
                content, fed = make(version, None)
                shapes = [v.shape for v in run_of(content, fed).values()]
                content, fed = make(version, shapes)
                return content, fed, run_of(content, fed)
            except (RuntimeError, ValueError):
                continue
        return None

    return in_child(work)


def outcome(ingot, kind, content, fed, expected):
    """("equal" | "floats" | "refused" | "differs", text)"""
    done = ingot.convert(content)
    text = done.stdout + done.stderr
    if done.returncode == 4:
        line = next((t for t in text.splitlines() if t.startswith("  ")), text)
        return "refused", re.sub(r"^.*?': ", "", line.strip()).partition(";")[0]
    try:
        done.succeeded()
        found = ingot.outputs(fed)
    except RunError as why:
        return "differs", str(why)
    most = 0.0
    for name, want in expected.items():
        got = found[name]
        if got.shape != want.shape or got.dtype != want.dtype:
            return "differs", f"{got.dtype} {got.shape}, expected {want.dtype} {want.shape}"
        if want.size:
            a, b = got.astype(np.float64), want.astype(np.float64)
            away = np.abs(a - b) / (1e-3 * max(1, np.abs(b).max()) if want.dtype.kind == "f" else 1)
            most = max(most, float(np.nan_to_num(away).max()))
    in_floats = "between dequantization and quantization" in text
    if most > (1 if in_floats or kind.dtype.kind == "f" else 0):
        return "differs", f"{most:g} steps away" + (" in floats" if in_floats else "")
    return ("floats", f"{most:g} steps away") if in_floats else ("equal", "")


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--type", action="append")
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    counts, rows, checks = {}, [], Checks("type_coverage")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder, ".tflite")
        for name in a.names or CASES:
            for type_name in a.type or QUANTIZED + PLAIN:
                kind = Kind(type_name)
                for (what, op), text in tried(ingot, a.seeds, name, kind).items():
                    reason = EXPECTED.get((op, type_name)) if what == "differs" else None
                    checks.report(f"{op} {type_name}", what == "differs" and not reason and text)
                    counts[what] = counts.get(what, 0) + 1
                    if what != "equal":
                        rows.append(f"| {op} | {type_name} | {OUTCOMES[what]}: {reason or text} |")
                        print(rows[-1], flush=True)
    if a.write:
        text = a.write.read_text()
        head, _, tail = text.split(MARK)
        table = "| operator | type | outcome |\n| --- | --- | --- |\n" + "\n".join(sorted(rows))
        a.write.write_text(f"{head}{MARK}\n{table}\n{MARK}{tail}")
    print(f"{counts.get('equal', 0)} operators and types equal LiteRT's numbers", end="")
    for what in ("floats", "refused", "differs"):
        print(f", {counts.get(what, 0)} {OUTCOMES[what]}", end="")
    print()
    return checks.finish()


def tried(ingot, seeds, name, kind):
    """An example of each outcome, by outcome and operator."""
    found = {}
    for seed in range(seeds):
        for own in (True, False) if kind.is_quantized else (False,):
            case = retyped(name, seed, kind, own)
            given = case and answered(case[1])
            if given:
                what, text = outcome(ingot, kind, *given)
                found.setdefault((what, case[0]), text)
    return found


if __name__ == "__main__":
    sys.exit(main())
