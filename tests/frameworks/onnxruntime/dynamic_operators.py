#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX graphs whose activations are quantized in each run, drawn at random, against
onnxruntime: bytes, scales, zero points and sums of integers equal, numbers behind them within
rounding, and all of it in integer kernels.

  dynamic_operators.py --ingot BIN [--seeds N] [--figures] [--time] [name ...]

With --figures a line for each operator, with --time what LSTM layers take in both. Needs
the packages onnx and onnxruntime."""

import json
import pathlib
import sys
import time

import numpy as np
from integer_cases import MICROSOFT, Drawn, conv_shapes, window
from integer_models import session_of
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, RunError, Ingot, ingot_parser, work_folder  # noqa: E402

FLOAT, INT32, UINT8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT8
WEIGHTS = (np.int8, np.uint8)
# Each operation of f32 rounds; onnxruntime's fused operators round other sums than its plain ones.
ROUNDING = 2e-6


class DynamicDrawn(Drawn):
    """Floats come in; several values may come out."""

    def __init__(self, rng, weight_dtype):
        super().__init__(rng, np.uint8, weight_dtype)
        self.outputs = []

    def floats(self, shape):
        name = self.name("x")
        self.inputs.append(helper.make_tensor_value_info(name, FLOAT, shape))
        spread, middle = np.exp(self.rng.uniform(-3, 3)), self.rng.uniform(-2, 2)
        self.fed[name] = (self.rng.standard_normal(shape) * spread + middle).astype(np.float32)
        return name

    def nodes_of(self, op, inputs, outputs, domain="", **attributes):
        stem = self.name("v")
        names = [f"{stem}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names

    def give(self, name, kind=FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, kind, None))

    def columns(self, shape, axis):
        """(weights, zero points, scales), of the whole or of each element of the axis."""
        plain = self.rng.random() < 0.5
        each = [] if plain else [shape[axis]]
        values = self.weight_integers(shape)
        zero = self.integers(each, self.weight_dtype)
        if self.rng.random() < 0.3:
            zero = np.zeros(each, self.weight_dtype)
        scale = self.rng.uniform(0.001, 0.02, each).astype(np.float32)
        return self.constant(values), self.constant(zero), scale

    def finish(self):
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def rows(rng):
    return [int(n) for n in rng.integers(1, 9, rng.integers(1, 4))]


def quantize(d):
    y, scale, zero = d.nodes_of("DynamicQuantizeLinear", [d.floats([*rows(d.rng), 70])], 3)
    d.give(y, UINT8), d.give(scale), d.give(zero, UINT8)


def matmul(d):
    """As quantize_dynamic writes it."""
    k, out = (int(n) for n in d.rng.integers(1, 200, 2))
    y, scale, zero = d.nodes_of("DynamicQuantizeLinear", [d.floats([*rows(d.rng), k])], 3)
    w, w_zero, scales = d.columns([k, out], 1)
    sums = d.node("MatMulInteger", [y, w, zero, w_zero])
    both = d.node("Mul", [scale, d.constant(scales)])
    product = d.node("Mul", [d.node("Cast", [sums], to=FLOAT), both])
    bias = d.constant(d.rng.standard_normal(out).astype(np.float32))
    d.give(d.node("Add", [bias, product]))
    if d.rng.random() < 0.5:
        d.give(sums, INT32)


def convolution(kind, rank=2):
    def draw(d):
        x_shape, out, w_shape, groups = conv_shapes(d.rng, kind, rank)
        attributes = window(d.rng, rank)
        y, scale, zero = d.nodes_of("DynamicQuantizeLinear", [d.floats(x_shape)], 3)
        w = d.constant(d.weight_integers([*w_shape, *attributes["kernel_shape"]]))
        w_zero = d.constant(d.zero(d.weight_dtype))
        sums = d.node("ConvInteger", [y, w, zero, w_zero], group=groups, **attributes)
        along = [1, out] + [1] * rank
        factor = d.constant(np.float32(d.rng.uniform(0.001, 0.02)))
        product = d.node("Mul", [d.node("Cast", [sums], to=FLOAT), d.node("Mul", [scale, factor])])
        bias = d.constant(d.rng.standard_normal(along).astype(np.float32))
        d.give(d.node("Add", [product, bias])), d.give(sums, INT32)

    return draw


def of_integers(d):
    """Bytes and zero points come in."""
    k, out = (int(n) for n in d.rng.integers(1, 300, 2))
    d.dtype = np.dtype(d.rng.choice([np.uint8, np.int8]))
    x, _, zero = d.bytes([*rows(d.rng), k])
    w, w_zero, _ = d.columns([k, out], 1)
    d.give(d.node("MatMulInteger", [x, w, zero, w_zero]), INT32)


def to_float(d):
    k, out = (int(n) for n in d.rng.integers(1, 200, 2))
    y, scale, zero = d.nodes_of("DynamicQuantizeLinear", [d.floats([*rows(d.rng), k])], 3)
    w, w_zero, scales = d.columns([k, out], 1)
    inputs = [y, w, scale, d.constant(scales), zero, w_zero]
    if d.rng.random() < 0.5:
        inputs.append(d.constant(d.rng.standard_normal(out).astype(np.float32)))
    d.give(d.node("MatMulIntegerToFloat", inputs, MICROSOFT))


def whole(d):
    k, out = (int(n) for n in d.rng.integers(1, 200, 2))
    x = d.floats([*rows(d.rng), k])
    w, w_zero, scales = d.columns([k, out], 1)
    inputs = [x, w, d.constant(scales), w_zero]
    if d.rng.random() < 0.5:
        inputs.append(d.constant(d.rng.standard_normal(out).astype(np.float32)))
    d.give(d.node("DynamicQuantizeMatMul", inputs, MICROSOFT))


def lstm(d):
    """Open or known time, sequences of their own lengths, peepholes, limits of the gates."""
    steps, batch, k, hidden = (int(n) for n in d.rng.integers(1, 40, 4))
    batch = 1 + batch % 5
    direction = str(d.rng.choice(["forward", "reverse", "bidirectional"]))
    both = 2 if direction == "bidirectional" else 1
    x = d.floats([steps, batch, k])
    d.fed[x] = np.tanh(d.fed[x])
    if d.rng.random() < 0.5:
        d.inputs[-1] = helper.make_tensor_value_info(x, FLOAT, ["T", batch, k])
    each = [] if d.rng.random() < 0.5 else [4 * hidden]
    numbers = []
    for depth in (k, hidden):
        w = d.constant(d.weight_integers([both, depth, 4 * hidden]))
        scale = d.rng.uniform(0.001, 0.01, [both, *each]).astype(np.float32)
        middle = 0 if d.weight_dtype == np.int8 else 128
        zero = np.full([both, *each], middle, d.weight_dtype)
        numbers.append((w, d.constant(scale), d.constant(zero)))
    bias = d.constant(d.rng.standard_normal([both, 8 * hidden]).astype(np.float32))
    (w, ws, wz), (r, rs, rz) = numbers
    state = [d.floats([both, batch, hidden]), d.floats([both, batch, hidden])]
    for name in state:
        d.fed[name] = np.tanh(d.fed[name])
    lengths = peepholes = ""
    if d.rng.random() < 0.5:
        lengths = d.name("n")
        d.inputs.append(helper.make_tensor_value_info(lengths, INT32, [batch]))
        d.fed[lengths] = d.rng.integers(1, steps + 1, batch).astype(np.int32)
    if d.rng.random() < 0.3:
        peepholes = d.constant(d.rng.standard_normal([both, 3 * hidden]).astype(np.float32))
    limits = {"clip": 1.5} if d.rng.random() < 0.3 else {}
    inputs = [x, w, r, bias, lengths, *state, peepholes, ws, wz, rs, rz]
    for y in d.nodes_of(
        "DynamicQuantizeLSTM",
        inputs,
        3,
        MICROSOFT,
        direction=direction,
        hidden_size=hidden,
        **limits,
    ):
        d.give(y)


def attention(d):
    batch, tokens, heads, each = (int(n) for n in d.rng.integers(1, 9, 4))
    width, k = heads * each, int(d.rng.integers(1, 40))
    y, scale, zero = d.nodes_of("DynamicQuantizeLinear", [d.floats([batch, tokens, k])], 3)
    w = d.constant(d.weight_integers([k, 3 * width]))
    middle = d.constant(np.array(0 if d.weight_dtype == np.int8 else 128, d.weight_dtype))
    w_scale = d.constant(np.float32(0.02 / k))
    bias = d.constant(d.rng.standard_normal(3 * width).astype(np.float32))
    mask = ""
    if d.rng.random() < 0.5:
        mask = d.name("m")
        d.inputs.append(helper.make_tensor_value_info(mask, INT32, [batch, tokens]))
        kept = d.rng.integers(0, 2, (batch, tokens))
        kept[:, 0] = 1
        d.fed[mask] = kept.astype(np.int32)
    inputs = [y, w, bias, scale, w_scale, mask, zero, middle]
    causal = int(not mask and d.rng.random() < 0.3)
    d.give(d.node("QAttention", inputs, MICROSOFT, num_heads=heads, unidirectional=causal))


# name: (drawing, how far numbers may be, of the largest)
CASES = {
    "DynamicQuantizeLinear": (quantize, 0),
    "MatMulInteger": (matmul, 0),
    "MatMulInteger of integers": (of_integers, 0),
    "ConvInteger": (convolution("dense"), 0),
    "ConvInteger grouped": (convolution("grouped"), 0),
    "ConvInteger depthwise": (convolution("depthwise"), 0),
    "ConvInteger 1d": (convolution("dense", 1), 0),
    "MatMulIntegerToFloat": (to_float, ROUNDING),
    "DynamicQuantizeMatMul": (whole, ROUNDING),
    "DynamicQuantizeLSTM": (lstm, 1e-3),  # a state on the edge between two bytes
    "QAttention": (attention, 1e-4),
}
# What leaves no float product behind.
INTEGER_KERNELS = ("quantized_linear", "quantized_conv2d", "dynamic_quantize")
FLOAT_KERNELS = (" linear ", " conv2d ", " recurrent ")


def is_of_integers(listed):
    """What inspect --tensors shows: a recurrent layer has weights of bytes."""
    if " recurrent " in listed:
        return " i8 [" in listed
    return any(kernel in listed for kernel in INTEGER_KERNELS) and not any(
        kernel in listed for kernel in FLOAT_KERNELS
    )


class Tally:
    def __init__(self):
        self.integers = self.wrong = self.numbers = 0
        self.farthest = 0.0

    def line(self, name):
        return (
            f"{name}: {self.integers} integers, {self.wrong} differ; {self.numbers} numbers, "
            f"{self.farthest:.1e} of the largest away at most"
        )


def trial(ingot, name, seed, weight_dtype, tally):
    """What is wrong; "" for nothing, None for a model that onnxruntime refuses."""
    draw, allowed = CASES[name]
    d = DynamicDrawn(np.random.default_rng([seed, sum(name.encode())]), weight_dtype)
    draw(d)
    model = d.finish()
    try:
        want = session_of(model, False, threads=1).run(None, d.fed)
    except Exception as why:  # onnxruntime's errors have no common base
        return None if "NOT_IMPLEMENTED" in str(why) or "Could not find" in str(why) else str(why)
    try:
        found = ingot.computed(model, d.fed)
        listed = ingot("inspect", ingot.file, "--tensors").succeeded().stdout
    except RunError as why:
        return str(why)
    if not is_of_integers(listed):
        return "is not computed in integers"
    for value, expected in zip(model.graph.output, want):
        given = found[value.name]
        if given.shape != expected.shape or given.dtype != expected.dtype:
            return f"{given.dtype} {given.shape}, expected {expected.dtype} {expected.shape}"
        if expected.dtype.kind in "iu":
            wrong = int((given != expected).sum())
            tally.integers += given.size
            tally.wrong += wrong
            if wrong:
                return f"{wrong} of {given.size} integers of {value.name} differ"
            continue
        largest = max(float(np.abs(expected).max(initial=0)), 1e-30)
        away = float(np.abs(given - expected).max(initial=0)) / largest
        tally.numbers += given.size
        tally.farthest = max(tally.farthest, away)
        if away > allowed:
            return f"numbers of {value.name} are {away:.2e} away"
    return ""


def measure(ingot):
    """Milliseconds of a run of one sequence on one thread, and seconds of a conversion."""
    print("| inputs | hidden | steps | ingot ms | onnxruntime ms | conversion s |")
    print("| --- | --- | --- | --- | --- | --- |")
    rng = np.random.default_rng(1)
    for k, hidden, steps in ((80, 128, 100), (128, 256, 100), (512, 512, 50), (1024, 1024, 100)):
        d = DynamicDrawn(rng, np.int8)
        x = d.floats([steps, 1, k])
        d.inputs[-1] = helper.make_tensor_value_info(x, FLOAT, ["T", 1, k])
        w, r = (d.constant(d.integers([1, n, 4 * hidden], np.int8)) for n in (k, hidden))
        scale = d.constant(np.full(1, 0.001, np.float32))
        zero = d.constant(np.zeros(1, np.int8))
        inputs = [x, w, r, "", "", "", "", "", scale, zero, scale, zero]
        d.give(d.nodes_of("DynamicQuantizeLSTM", inputs, 1, MICROSOFT, hidden_size=hidden)[0])
        model = d.finish()
        session, times = session_of(model, False, threads=1), []
        for _ in range(30):
            start = time.perf_counter()
            session.run(None, d.fed)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        ingot.convert(model.SerializeToString(), "-q").succeeded()
        seconds = time.perf_counter() - start
        done = ingot("bench", ingot.file, "--dim", f"T={steps}", "--threads", 1, "--json")
        ours = json.loads(done.succeeded().stdout)["median_ms"]
        theirs = 1e3 * float(np.median(times))
        row = f"| {k} | {hidden} | {steps} | {ours:.3f} | {theirs:.3f} | {seconds:.2f} |"
        print(row, flush=True)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    checks = Checks("dynamic_operators")
    with work_folder() as folder:
        ingot = Ingot(a.ingot, folder)
        if a.time:
            return measure(ingot)
        for name in a.names or CASES:
            tally = Tally()
            for seed in range(a.seeds):
                for weight_dtype in WEIGHTS:
                    what = trial(ingot, name, seed, weight_dtype, tally)
                    checks.report(f"{name} {np.dtype(weight_dtype).name} {seed}", what)
            if tally.integers + tally.numbers == 0:
                checks.report(name, "onnxruntime takes no model of it")
            if a.figures:
                print(tally.line(name), flush=True)
    return checks.finish("onnxruntime")


if __name__ == "__main__":
    sys.exit(main())
