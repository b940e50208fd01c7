#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_onnx: small models that reach many operators. Needs numpy and onnx."""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

OUT = pathlib.Path(__file__).resolve().parent / "seeds" / "fuzz_onnx"


def ints(name, *values):
    return nh.from_array(np.array(values, np.int64), name)


def floats(name, *shape):
    return nh.from_array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8, name)


def save(name, nodes, inputs, initializers=(), outputs=("y",), opset=18, functions=()):
    graph = h.make_graph(
        nodes,
        name,
        [h.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [h.make_empty_tensor_value_info(o) for o in outputs],
        list(initializers),
    )
    imports = [h.make_opsetid("", opset)] + ([h.make_opsetid("own", 1)] if functions else [])
    model = h.make_model(graph, opset_imports=imports, functions=functions, ir_version=8)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())


def main():
    n = h.make_node
    save(
        "conv",
        [
            n("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
            n("Relu", ["c"], ["r"]),
            n("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], ceil_mode=1),
            n("GlobalAveragePool", ["p"], ["g"]),
            n("Flatten", ["g"], ["f"]),
            n("Gemm", ["f", "m"], ["y"], transB=1),
        ],
        [("x", T.FLOAT, ["N", 2, "H", 9])],
        [floats("w", 4, 2, 3, 3), floats("m", 3, 4)],
    )
    save(
        "shapes",
        [
            n("Shape", ["x"], ["s"]),
            n("Gather", ["s", "i"], ["d"]),
            n("Cast", ["d"], ["f"], to=T.FLOAT),
            n("Mul", ["f", "half"], ["m"]),
            n("Floor", ["m"], ["l"]),
            n("Cast", ["l"], ["c"], to=T.INT64),
            n("Concat", ["c", "minus"], ["r"], axis=0),
            n("Reshape", ["x", "r"], ["a"]),
            n("Range", ["zero", "q", "one"], ["k"]),
            n("Squeeze", ["d"], ["q"]),
            n("Cast", ["k"], ["kf"], to=T.FLOAT),
            n("Size", ["a"], ["z"]),
            n("ConstantOfShape", ["d"], ["o"]),
            n("Add", ["kf", "o"], ["y"]),
        ],
        [("x", T.FLOAT, [4, "W"])],
        [
            ints("i", 1),
            floats("half", 1),
            ints("minus", -1),
            nh.from_array(np.array(0), "zero"),
            nh.from_array(np.array(1), "one"),
        ],
        ["y", "a", "z"],
    )
    branch = lambda op: h.make_graph(
        [n(op, ["x"], ["b"])], op, [], [h.make_empty_tensor_value_info("b")]
    )
    save(
        "control",
        [n("If", ["c"], ["y"], then_branch=branch("Exp"), else_branch=branch("Neg"))],
        [("x", T.FLOAT, [2]), ("c", T.BOOL, [])],
    )
    save(
        "recurrent",
        [
            n(
                "LSTM",
                ["x", "w", "r", "", "", "h"],
                ["", "y"],
                hidden_size=2,
                direction="bidirectional",
            ),
            n("GRU", ["x", "gw", "gr"], ["z"], hidden_size=2, linear_before_reset=1),
        ],
        [("x", T.FLOAT, ["T", 1, 3]), ("h", T.FLOAT, [2, 1, 2])],
        [floats("w", 2, 8, 3), floats("r", 2, 8, 2), floats("gw", 1, 6, 3), floats("gr", 1, 6, 2)],
        ["y", "z"],
    )
    save(
        "movement",
        [
            n("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
            n("Slice", ["t", "st", "en", "ax", "sp"], ["s"]),
            n("Pad", ["s", "pads"], ["p"], mode="reflect"),
            n("Split", ["p"], ["a", "b"], axis=2, num_outputs=2),
            n("Concat", ["a", "b"], ["c"], axis=1),
            n("Tile", ["c", "rep"], ["d"]),
            n("TopK", ["d", "k"], ["e", "i"]),
            n("Gather", ["e", "g"], ["f"], axis=0),
            n("ScatterND", ["f", "at", "up"], ["h"]),
            n("CumSum", ["h", "ax"], ["q"]),
            n("Trilu", ["q"], ["y"]),
        ],
        [("x", T.FLOAT, [3, 4, "W"])],
        [
            ints("st", 3),
            ints("en", -100),
            ints("ax", 0),
            ints("sp", -2),
            ints("pads", 0, 0, 1, 0, 0, 1),
            ints("rep", 1, 2, 1),
            ints("k", 1),
            ints("g", 0, -1),
            nh.from_array(np.zeros((1, 3), np.int64), "at"),
            floats("up", 1),
        ],
    )
    save(
        "resize",
        [
            n("Resize", ["x", "", "sc"], ["a"], mode="linear"),
            n("ConvTranspose", ["a", "w"], ["b"], strides=[2, 2], output_padding=[1, 1]),
            n("InstanceNormalization", ["b", "v", "v"], ["c"]),
            n("DepthToSpace", ["c"], ["d"], blocksize=2),
            n("Softmax", ["d"], ["e"]),
            n("ReduceMean", ["e", "ax"], ["f"]),
            n("Clip", ["f", "lo"], ["y"]),
        ],
        [("x", T.FLOAT, [1, 2, "H", "W"])],
        [
            nh.from_array(np.array([1, 1, 1.5, 2], np.float32), "sc"),
            floats("w", 2, 4, 3, 3),
            floats("v", 4),
            ints("ax", 2, 3),
            nh.from_array(np.float32(0), "lo"),
        ],
    )
    leak = h.make_function(
        "own",
        "Leak",
        ["a"],
        ["b"],
        [n("LeakyRelu", ["a"], ["b"])],
        [h.make_opsetid("", 18)],
        ["slope"],
    )
    leak.node[0].attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    save(
        "function",
        [
            n("Leak", ["x"], ["a"], domain="own", slope=0.25),
            n("Einsum", ["a", "a"], ["y"], equation="ij,kj->ik"),
        ],
        [("x", T.FLOAT, [2, "K"])],
        functions=[leak],
    )
    external = floats("w", 2)
    external.ClearField("raw_data")
    external.data_location = T.EXTERNAL
    external.external_data.add(key="location", value="../w.bin")
    external.external_data.add(key="offset", value="0")
    save("external", [n("Add", ["x", "w"], ["y"])], [("x", T.FLOAT, [2])], [external])


main()
