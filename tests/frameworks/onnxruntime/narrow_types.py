#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Element types narrower than any that we have (int4, uint4, float8) inside of ONNX models, against
onnxruntime, every number equal: constants of all codes, products with weights in blocks, and what
QuantizeLinear and Cast round to them. Without `saturate` against ml_dtypes, as in ONNX's own
reference: onnxruntime 1.31.1 makes 448 of 492.8 in float8e4m3fn, and no number of what is too large
for float8e5m2, where ONNX has no number and infinity.

  narrow_types.py --ingot BIN [--seeds N]

Needs the packages onnx (with it comes ml_dtypes) and onnxruntime."""

import pathlib
import sys

import ml_dtypes  # noqa: F401  numpy knows the narrow types by it
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

FLOATS = {"FLOAT8E4M3FN": 448, "FLOAT8E4M3FNUZ": 240, "FLOAT8E5M2": 57344, "FLOAT8E5M2FNUZ": 57344}
INTEGERS = {"INT4": (-8, 7), "UINT4": (0, 15)}


def constant(name, kind, dims, raw):
    return helper.make_tensor(name, getattr(TensorProto, kind), dims, raw, raw=True)


def floats(name, array):
    return helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.ravel())


def packed(numbers):
    """Two of 4 bits in a byte, the first in the low half."""
    halves = np.asarray(numbers).ravel().astype(np.int64) & 15
    halves = np.append(halves, np.zeros(halves.size % 2, np.int64))
    return bytes((halves[0::2] | halves[1::2] << 4).astype(np.uint8))


def model_of(nodes, initializers, inputs, outputs):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "narrow",
        [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [value(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        initializers,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(made)
    return made


def edges(most, rng):
    """Numbers at, between and beyond those of a type whose largest is `most`."""
    powers = 2.0 ** rng.integers(-20, 18, 400)
    drawn = (
        rng.choice([-1, 1], 400) * powers * rng.choice([1, 1.0625, 1.125, 1.1875, 1.25, 1.5], 400)
    )
    near = most * np.array([0.99, 1, 1.01, 1.03, 1.04, 1.05, 1.1, 2, 1e9])
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 2.0**-9, 2.0**-10, 2.0**-17]
    return np.concatenate([drawn, rng.normal(0, most / 3, 400), near, -near, special]).astype("f")


def unsaturated(x, kind):
    return x.astype(kind.lower().replace("float8", "float8_")).astype(np.float32)


def codes(rng, kind):
    """All numbers of a float8 type, as constants behind DequantizeLinear and Cast."""
    table = constant("table", kind, [16, 16], bytes(range(256)))
    scale = rng.uniform(0.1, 2, 16).astype(np.float32)
    nodes = [
        helper.make_node(
            "DequantizeLinear", ["table", "scale"], ["y"], axis=int(rng.integers(0, 2))
        ),
        helper.make_node("Add", ["y", "x"], ["z"]),
        helper.make_node("Cast", ["table"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["c", "x"], ["d"]),
    ]
    outputs = {"z": [16, 16], "d": [16, 16]}
    made = model_of(nodes, [table, floats("scale", scale)], {"x": [1]}, outputs)
    return made, {"x": np.zeros(1, np.float32)}, None


def rounded(rng, kind):
    """Cast to float8 and back."""
    x = edges(FLOATS[kind], rng)
    saturate = int(rng.integers(0, 2))
    nodes = [
        helper.make_node("Cast", ["x"], ["n"], to=getattr(TensorProto, kind), saturate=saturate),
        helper.make_node("Cast", ["n"], ["y"], to=TensorProto.FLOAT),
    ]
    made = model_of(nodes, [], {"x": list(x.shape)}, {"y": list(x.shape)})
    return made, {"x": x}, None if saturate else {"y": unsaturated(x, kind)}


def steps(rng, kind):
    """QuantizeLinear to float8, or to 4 bits, and DequantizeLinear: a zero point or output_dtype
    says the type."""
    is_float = kind in FLOATS
    x = edges(FLOATS[kind], rng) if is_float else rng.normal(0, 3, 300).astype(np.float32)
    scale = np.float32(rng.uniform(0.2, 2))
    zero = b"\0" if is_float else packed([int(rng.integers(*INTEGERS[kind]))])
    more = {"saturate": int(rng.integers(0, 2))} if is_float else {}
    initializers = [floats("scale", np.array(scale)), constant("zero", kind, [], zero)]
    by = ["scale", "zero"]
    if rng.random() < 0.5:
        more["output_dtype"] = getattr(TensorProto, kind)
        initializers.pop(), by.pop()
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *by], ["n"], **more),
        helper.make_node("DequantizeLinear", ["n", *by], ["y"]),
    ]
    made = model_of(nodes, initializers, {"x": list(x.shape)}, {"y": list(x.shape)})
    if more.get("saturate", 1):
        return made, {"x": x}, None
    return made, {"x": x}, {"y": unsaturated(x / scale, kind) * scale}


def product(rng, kind):
    """Weights of 4 bits: one scale, one of each output, or in blocks."""
    rows, k, columns = (
        int(rng.integers(1, 5)),
        32 * int(rng.integers(1, 4)),
        int(rng.integers(1, 20)),
    )
    low, high = INTEGERS[kind]
    weights = rng.integers(low, high + 1, (k, columns))
    form = rng.choice(["one", "each", "blocks"])
    dims = {"one": [], "each": [columns], "blocks": [k // 16, columns]}[form]
    attributes = {"one": {}, "each": {"axis": 1}, "blocks": {"axis": 0, "block_size": 16}}[form]
    count = int(np.prod(dims, dtype=int))
    scales = rng.uniform(0.01, 0.2, dims).astype(np.float32)
    zeros = constant("zeros", kind, dims, packed(rng.integers(low, high + 1, count)))
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scales", "zeros"], ["n"], **attributes),
        helper.make_node("MatMul", ["x", "n"], ["y"]),
    ]
    held = [constant("w", kind, [k, columns], packed(weights)), floats("scales", scales), zeros]
    x = rng.integers(-9, 10, (rows, k)).astype(np.float32)
    return model_of(nodes, held, {"x": [rows, k]}, {"y": [rows, columns]}), {"x": x}, None


CASES = {
    "constants": (codes, FLOATS, 0),
    "Cast": (rounded, FLOATS, 0),
    "QuantizeLinear": (steps, FLOATS | INTEGERS, 0),
    "MatMul": (product, INTEGERS, 1e-5),  # sums in another order
}


def of_onnxruntime(model, fed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, fed)))


def trial(ingot, model, fed, wanted, tolerance):
    """What is wrong, and how many numbers were compared; onnxruntime's where none are wanted."""
    wanted = wanted or of_onnxruntime(model, fed)
    try:
        found, compared = ingot.computed(model, fed), 0
    except RunError as why:
        return str(why), 0
    for name, want in wanted.items():
        have = found[name]
        if have.shape != want.shape:
            return f"{name} has shape {have.shape}, expected {want.shape}", 0
        largest = np.abs(want[np.isfinite(want)]).max(initial=1e-30)
        same = np.isclose(have, want, rtol=0, atol=tolerance * largest, equal_nan=True)
        if not same.all():
            at = np.argwhere(~same)[0]
            given = f" of {fed['x'][tuple(at)]}" if fed["x"].shape == want.shape else ""
            return f"{name}: {have[tuple(at)]}{given}, expected {want[tuple(at)]}", compared
        compared += want.size
    return "", compared


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    a = parser.parse_args()
    checks = Checks("narrow_types")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder)
        for name, (draw, kinds, tolerance) in CASES.items():
            for kind in kinds:
                numbers = 0
                for seed in range(a.seeds):
                    rng = np.random.default_rng([seed, sum((name + kind).encode())])
                    what, compared = trial(ingot, *draw(rng, kind), tolerance)
                    numbers += compared
                    checks.report(f"{name} {kind} {seed}", what)
                print(f"{name} {kind}: {a.seeds} models, {numbers} numbers")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
