#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/cli/data: models of a few hundred bytes and their goldens, computed with numpy
alone. Made with onnx 1.17 or later by: python3 tests/cli/make_data.py"""

import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
os.makedirs(here, exist_ok=True)
rng = np.random.default_rng(1)
F, I = TensorProto.FLOAT, TensorProto.INT64


def save(name, nodes, inputs, outputs, constants=(), domains=()):
    graph = helper.make_graph(
        nodes, name, inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants]
    )
    opsets = [helper.make_opsetid("", 17)] + [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="make_data", ir_version=8)
    data = model.SerializeToString()
    with open(os.path.join(here, name + ".onnx"), "wb") as f:
        f.write(data)
    return data


def value(name, kind, dims):
    return helper.make_tensor_value_info(name, kind, dims)


def golden(name, **arrays):
    meta = arrays.pop("meta", None)
    arrays = {k.replace("__", ":"): v for k, v in arrays.items()}
    if meta:
        arrays["meta"] = np.array(json.dumps(meta))
    np.savez(os.path.join(here, name + ".npz"), **arrays)


w = rng.standard_normal((4, 3)).astype("f4")
b = rng.standard_normal(3).astype("f4")
gemm = [
    helper.make_node("Gemm", ["x", "w", "b"], ["h"], name="dense"),
    helper.make_node("Relu", ["h"], ["y"], name="act"),
]
linear = save(
    "linear", gemm, [value("x", F, [1, 4])], [value("y", F, [1, 3])], [("w", w), ("b", b)]
)
save("batch", gemm, [value("x", F, ["N", 4])], [value("y", F, ["N", 3])], [("w", w), ("b", b)])


def dense(x):
    return np.maximum(x @ w + b, 0)


x1, x2 = rng.standard_normal((1, 4)).astype("f4"), rng.standard_normal((2, 4)).astype("f4")
golden("linear", in__x=x1, out__y=dense(x1), meta={"opt_spread": 0.0})
golden("linear_wrong", in__x=x1, out__y=dense(x1) + np.float32(0.5))
golden("linear_shape", in__x=x1.reshape(4, 1), out__y=dense(x1))
golden("linear_name", in__xx=x1, out__y=dense(x1))
golden("linear_no_out", in__x=x1)
golden("linear_bad_meta", in__x=x1, out__y=dense(x1), meta={"steps": -3})
golden("batch", in__x=x2, out__y=dense(x2))
golden("batch_thin", in__x=x2, out__y=dense(x2)[::2, ::2], meta={"subsample": {"y": [2, 2]}})

# s is fed back; y has one row a step.
save(
    "stream",
    [helper.make_node("Add", ["s", "x"], ["sn"]), helper.make_node("Mul", ["sn", "two"], ["y"])],
    [value("x", F, [1, 2]), value("s", F, [1, 2])],
    [value("y", F, [1, 2]), value("sn", F, [1, 2])],
    [("two", np.array([2], "f4"))],
)
steps = rng.integers(-8, 8, (5, 1, 2)).astype("f4")
start = np.array([[1, -1]], "f4")
sums = start + np.cumsum(steps, axis=0)
golden(
    "stream",
    in__x=steps,
    in__s=start,
    out__y=2 * sums,
    out__sn=sums[-1],
    meta={"steps": 5, "feed": {"sn": "s"}},
)
wrong = 2 * sums
wrong[3, 0, 1] += 1
golden(
    "stream_wrong",
    in__x=steps,
    in__s=start,
    out__y=wrong,
    out__sn=sums[-1],
    meta={"steps": 5, "feed": {"sn": "s"}},
)
golden(
    "stream_wrong_state",
    in__x=steps,
    in__s=start,
    out__y=2 * sums,
    out__sn=sums[-1] + 1,
    meta={"steps": 5, "feed": {"sn": "s"}},
)

table = rng.standard_normal((10, 4)).astype("f4")
save(
    "embed",
    [helper.make_node("Gather", ["table", "ids"], ["y"])],
    [value("ids", I, [1, 5])],
    [value("y", F, [1, 5, 4])],
    [("table", table)],
)
ids = np.array([[0, 9, 3, 3, 1]], "i8")
golden("embed", in__ids=ids, out__y=table[ids])
golden("embed_range", in__ids=ids + 8, out__y=table[ids])

# Three operators that nothing here can run, so that the list must have three lines.
save(
    "unsupported",
    [
        helper.make_node("Multinomial", ["x"], ["a"], name="first"),
        helper.make_node("Frobnicate", ["a"], ["b"], name="second", domain="com.acme"),
        helper.make_node("NoSuchOperator", ["b"], ["y"], name="third"),
    ],
    [value("x", F, [1, 3, 3])],
    [value("y", F, [1])],
    domains=["com.acme"],
)
# Names that would repaint a terminal, ring its bell and set its title.
red, title = "\x1b[31mred\n\x07bell", "y\x1b]0;title\x07\u009b2J"
save(
    "escapes",
    [helper.make_node("Relu", [red], [title], name="n\x1b[2J")],
    [value(red, F, [1, "N\x1b[2J"])],
    [value(title, F, [1, "N\x1b[2J"])],
)
save(
    "cyclic",
    [
        helper.make_node("Add", ["x", "q"], ["p"], name="a"),
        helper.make_node("Relu", ["p"], ["q"], name="b"),
        helper.make_node("Relu", ["q"], ["y"], name="c"),
    ],
    [value("x", F, [1, 4])],
    [value("y", F, [1, 4])],
)
outside = onnx.TensorProto(name="w", data_type=F, dims=[4, 3], data_location=TensorProto.EXTERNAL)
for key, text in (("location", "../../../../../../etc/passwd"), ("offset", "0"), ("length", "48")):
    outside.external_data.add(key=key, value=text)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"])],
    "outside",
    [value("x", F, [1, 4])],
    [value("y", F, [1, 3])],
    [outside],
)
with open(os.path.join(here, "external_outside.onnx"), "wb") as f:
    f.write(
        helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        ).SerializeToString()
    )
with open(os.path.join(here, "truncated.onnx"), "wb") as f:
    f.write(linear[: len(linear) * 2 // 3])

# An image whose intermediates stay: the program computes them channels last, c and p are channels
# first here.
image = rng.integers(-3, 4, (1, 3, 6, 4)).astype("f4")
taps = rng.integers(-2, 3, (5, 3, 3, 3)).astype("f4")
save(
    "image",
    [
        helper.make_node("Conv", ["x", "taps"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["c"], ["m"]),
        helper.make_node("GlobalMaxPool", ["p"], ["y"]),
    ],
    [value("x", F, [1, 3, 6, 4])],
    [value("y", F, [1, 5, 1, 1]), value("m", F, [1, 5, 1, 1])],
    [("taps", taps)],
)
padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
c = sum(
    np.einsum("oi,nihw->nohw", taps[:, :, i, j], padded[:, :, i : i + 6, j : j + 4])
    for i in range(3)
    for j in range(3)
)
p = c.reshape(1, 5, 3, 2, 2, 2).max((3, 5))
golden(
    "image",
    in__x=image,
    out__y=p.max((2, 3), keepdims=True),
    out__m=c.mean((2, 3), keepdims=True),
    mid__c=c,
    mid__p=p,
)

# The same computation with its weights in a file beside it.
model = onnx.load_from_string(linear)
weights = b"".join(t.raw_data for t in model.graph.initializer)
at = 0
for tensor in model.graph.initializer:
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in (
        ("location", "external.data"),
        ("offset", str(at)),
        ("length", str(len(tensor.raw_data))),
    ):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, text
    at += len(tensor.raw_data)
    tensor.ClearField("raw_data")
with open(os.path.join(here, "external.onnx"), "wb") as f:
    f.write(model.SerializeToString())
with open(os.path.join(here, "external.data"), "wb") as f:
    f.write(weights)

# The input of linear, and nothing else in common with it.
save(
    "stranger",
    [
        helper.make_node("Sigmoid", ["x"], ["s"], name="gate"),
        helper.make_node("Neg", ["s"], ["z"], name="minus"),
    ],
    [value("x", F, [1, 4])],
    [value("z", F, [1, 4])],
)
# Its inputs and its output's name, and an output that only it has.
save(
    "half_stranger",
    [
        *gemm,
        helper.make_node("Neg", ["x"], ["h2"], name="minus"),
        helper.make_node("Sigmoid", ["h2"], ["z"], name="gate"),
    ],
    [value("x", F, [1, 4])],
    [value("y", F, [1, 3]), value("z", F, [1, 4])],
    [("w", w), ("b", b)],
)
# As many rows as x has numbers above 1000.
save(
    "nothing",
    [helper.make_node("Greater", ["x", "most"], ["g"]), helper.make_node("NonZero", ["g"], ["y"])],
    [value("x", F, [1, 4])],
    [value("y", I, [2, "M"])],
    [("most", np.float32(1000))],
)
golden("nothing", in__x=x1, out__y=np.zeros((2, 0), "i8"))

# Softmax of doubles, of which no operator exists here, over dynamic dimensions; and a norm of
# doubles, which nothing makes.
D = TensorProto.DOUBLE
save(
    "softmax64",
    [
        helper.make_node("Softmax", ["x"], ["y"], axis=-1),
        helper.make_node("LogSoftmax", ["x"], ["z"], axis=0),
    ],
    [value("x", D, ["N", "M"])],
    [value("y", D, ["N", "M"]), value("z", D, ["N", "M"])],
)
x64 = np.random.default_rng(3).standard_normal((3, 5)) * 20
power = np.exp(x64 - x64.max(1, keepdims=True))
logs = x64 - x64.max(0) - np.log(np.exp(x64 - x64.max(0)).sum(0))
golden("softmax64", in__x=x64, out__y=power / power.sum(1, keepdims=True), out__z=logs)
save(
    "norm64",
    [helper.make_node("LayerNormalization", ["x", "g"], ["y"])],
    [value("x", D, ["N", 4])],
    [value("y", D, ["N", 4])],
    [("g", np.ones(4))],
)
# No kernel interpolates doubles.
save(
    "resize64",
    [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")],
    [value("x", D, ["N", 1, 4, 4])],
    [value("y", D, None)],
    [("s", np.array([1, 1, 2, 2], np.float32))],
)

# Three convolutions that become one chain.
widening = np.random.default_rng(5)
save(
    "chain",
    [
        helper.make_node("Conv", ["x", "up"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "each"], ["c"], pads=[1, 1, 1, 1], group=16),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("Conv", ["d", "down"], ["y"]),
    ],
    [value("x", F, [1, 1, 40, 40])],
    [value("y", F, [1, 1, 40, 40])],
    [
        ("up", widening.integers(-3, 4, (16, 1, 1, 1)).astype("f4")),
        ("each", widening.integers(-3, 4, (16, 1, 3, 3)).astype("f4")),
        ("down", widening.integers(-3, 4, (1, 16, 1, 1)).astype("f4")),
    ],
)

# Two directions of a cell; all steps but the last beside their tanh. With one step that is nothing,
# in a view behind its storage.
cell = np.random.default_rng(4)
save(
    "directions",
    [
        helper.make_node("Transpose", ["x"], ["s"], perm=[1, 0, 2]),
        helper.make_node("LSTM", ["s", "w", "r"], ["h"], hidden_size=1, direction="bidirectional"),
        helper.make_node("Slice", ["h", "from", "to", "axis"], ["most"]),
        helper.make_node("Tanh", ["most"], ["t"]),
        helper.make_node("Concat", ["most", "t"], ["y"], axis=3),
        helper.make_node("Relu", ["h"], ["z"]),
    ],
    [value("x", F, ["N", "S", 2])],
    [value("y", F, ["S1", 2, "N", 2]), value("z", F, ["S", 2, "N", 1])],
    [
        ("w", cell.standard_normal((2, 4, 2)).astype("f4")),
        ("r", cell.standard_normal((2, 4, 1)).astype("f4")),
        ("from", np.array([0])),
        ("to", np.array([-1])),
        ("axis", np.array([0])),
    ],
)

# Numbers of a table of four rows, each 100 too large whatever they are.
save(
    "wide_ids",
    [
        helper.make_node("Add", ["ids", "offset"], ["far"]),
        helper.make_node("Gather", ["w", "far"], ["y"], axis=0),
    ],
    [value("ids", I, ["N"])],
    [value("y", F, ["N", 3])],
    [("w", w), ("offset", np.array(100))],
)

# A length that only the data tell.
save(
    "range",
    [helper.make_node("Range", ["zero", "n", "one"], ["y"])],
    [value("n", I, [])],
    [value("y", I, ["k"])],
    [("zero", np.array(0)), ("one", np.array(1))],
)
golden("range", in__n=np.array(40), out__y=np.arange(40))
# As many numbers as an input says, of which windows of 20 are summed: 16 are too few for one.
save(
    "windows_of_data",
    [
        helper.make_node("Range", ["zero", "n", "one"], ["i"]),
        helper.make_node("Cast", ["i"], ["f"], to=F),
        helper.make_node("Reshape", ["f", "row"], ["x"]),
        helper.make_node("Conv", ["x", "w"], ["y"]),
    ],
    [value("n", I, [])],
    [value("y", F, [1, 1, "m"])],
    [
        ("zero", np.array(0)),
        ("one", np.array(1)),
        ("row", np.array([1, 1, -1])),
        ("w", np.ones((1, 1, 20), np.float32)),
    ],
)
# More elements along a dimension than a tensor has, whatever is bound.
save(
    "vast",
    [helper.make_node("Tile", ["x", "times"], ["y"])],
    [value("x", F, [4])],
    [value("y", F, ["m"])],
    [("times", np.array([1 << 30]))],
)
