#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/fuzz/seeds/run_mutants/*.ingot: small networks of every family of operators,
converted as any other.

  make_mutant_seeds.py INGOT RUN_MUTANTS [FOLDER]      needs numpy and onnx

RUN_MUTANTS lays the weights out without the pages of zeros that a mutant would consist of.
"""

import pathlib
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Ingot, run, work_folder  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(12)
OPSET = 23


def info(name, dims, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def weight(name, *dims):
    return numpy_helper.from_array((RNG.standard_normal(dims) * 0.3).astype(np.float32), name)


def whole(name, values):
    return numpy_helper.from_array(np.asarray(values, np.int64), name)


def number(name, value):
    return numpy_helper.from_array(np.float32(value), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def conv():
    nodes = [
        node("Conv", "x w b", "c", kernel_shape=[3, 3], pads=[1] * 4),
        node("Relu", "c", "r"),
        node("Conv", "r wd", "d", kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2], group=4),
        node("HardSwish", "d", "h"),
        node("Conv", "h wp", "p", kernel_shape=[1, 1]),
        node("Add", "p h", "s"),
        node("MaxPool", "s", "m", kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", "m", "g"),
        node("Flatten", "g", "f"),
        node("Gemm", "f wl bl", "l", transB=1),
        node("Softmax", "l", "y"),
    ]
    return (
        nodes,
        [info("x", [1, 3, 8, 8])],
        [info("y", [1, 5])],
        [
            weight("w", 4, 3, 3, 3),
            weight("b", 4),
            weight("wd", 4, 1, 3, 3),
            weight("wp", 4, 4, 1, 1),
            weight("wl", 5, 4),
            weight("bl", 5),
        ],
    )


def attention():
    nodes = [node("LayerNormalization", "x sc bi", "n", axis=-1)]
    for part in "qkv":
        nodes += [
            node("MatMul", f"n w{part}", f"{part}0"),
            node("Reshape", f"{part}0 split", f"{part}1"),
            node("Transpose", f"{part}1", part, perm=[0, 2, 1, 3]),
        ]
    nodes += [
        node("Transpose", "k", "kt", perm=[0, 1, 3, 2]),
        node("MatMul", "q kt", "s0"),
        node("Mul", "s0 scale", "s1"),
        node("Add", "s1 mask", "s2"),
        node("Softmax", "s2", "a", axis=-1),
        node("MatMul", "a v", "o0"),
        node("Transpose", "o0", "o1", perm=[0, 2, 1, 3]),
        node("Reshape", "o1 joined", "o"),
        node("MatMul", "o wo", "o2"),
        node("Add", "x o2", "r"),
        node("Gelu", "r", "y"),
    ]
    return (
        nodes,
        [info("x", [1, "T", 8]), info("mask", [1, 1, 1, "T"])],
        [info("y", [1, "T", 8])],
        [weight("sc", 8), weight("bi", 8)]
        + [weight("w" + n, 8, 8) for n in "qkvo"]
        + [whole("split", [0, 0, 2, 4]), whole("joined", [0, 0, 8]), number("scale", 0.5)],
    )


def recurrent():
    nodes = [
        node("LSTM", "x wl rl bl len", "a", hidden_size=3),
        node("Squeeze", "a one", "s"),
        node(
            "GRU",
            "s wg rg bg",
            "b hg",
            hidden_size=2,
            direction="bidirectional",
            linear_before_reset=1,
        ),
    ]
    return (
        nodes,
        [info("x", ["T", 2, 4]), info("len", [2], TensorProto.INT32)],
        [info("b", ["T", 2, 2, 2]), info("hg", [2, 2, 2])],
        [
            weight("wl", 1, 12, 4),
            weight("rl", 1, 12, 3),
            weight("bl", 1, 24),
            weight("wg", 2, 6, 3),
            weight("rg", 2, 6, 2),
            weight("bg", 2, 12),
            whole("one", [1]),
        ],
    )


def stateful():
    nodes = [
        node("Concat", "cache x", "all", axis=1),
        node("Slice", "all from to axes", "cache_out"),
        node("ReduceMean", "all axes", "m", keepdims=0),
        node("Add", "m bias", "y"),
        node("CumSum", "all axis", "total"),
        node("ArgMax", "total", "best", axis=1, keepdims=0),
    ]
    return (
        nodes,
        [info("cache", [1, 4, 3]), info("x", [1, 2, 3])],
        [info("cache_out", [1, 4, 3]), info("y", [1, 3]), info("best", [1, 3], INT64)],
        [
            whole("from", [2]),
            whole("to", [6]),
            whole("axes", [1]),
            whole("axis", 1),
            weight("bias", 3),
        ],
    )


def control():
    then = helper.make_graph(
        [node("Relu", "x", "t0"), node("Add", "t0 w", "t")], "then", [], [info("t", [2, 4])]
    )
    other = helper.make_graph([node("Neg", "x", "e")], "other", [], [info("e", [2, 4])])
    body = helper.make_graph(
        [
            node("Mul", "u half", "u_next"),
            node("ReduceSum", "u_next", "u_sum", keepdims=0),
            node("Greater", "u_sum one", "go"),
        ],
        "body",
        [info("i", [], INT64), info("go_in", [], BOOL), info("u", [2, 4])],
        [info("go", [], BOOL), info("u_next", [2, 4])],
    )
    stack = helper.make_graph(
        [
            node("Sub", "a half", "a_next"),
            node("Identity", "a_next", "row"),
            node("Identity", "on_in", "on"),
        ],
        "stack",
        [info("j", [], INT64), info("on_in", [], BOOL), info("a", [2, 4])],
        [info("on", [], BOOL), info("a_next", [2, 4]), info("row", [2, 4])],
    )
    nodes = [
        helper.make_node("If", ["flag"], ["p"], then_branch=then, else_branch=other),
        helper.make_node("Loop", ["trips", "", "p"], ["last"], body=body),
        helper.make_node("Loop", ["four", "", "last"], ["end", "rows"], body=stack),
    ]
    return (
        nodes,
        [info("x", [2, 4]), info("flag", [], BOOL)],
        [info("last", [2, 4]), info("rows", ["n", 2, 4])],
        [
            weight("w", 2, 4),
            number("half", 0.5),
            number("one", 1),
            whole("trips", 5),
            whole("four", 4),
        ],
    )


def scan():
    body = helper.make_graph(
        [node("Add", "s e", "s1"), node("Tanh", "s1", "s_out"), node("Mul", "s_out e", "row")],
        "body",
        [info("s", [3]), info("e", [3])],
        [info("s_out", [3]), info("row", [3])],
    )
    nodes = [
        helper.make_node("Scan", ["start", "x"], ["last", "rows"], body=body, num_scan_inputs=1)
    ]
    return (
        nodes,
        [info("x", ["T", 3])],
        [info("last", [3]), info("rows", ["T", 3])],
        [weight("start", 3)],
    )


def found():
    nodes = [
        node("NonZero", "x", "at"),
        node("Transpose", "at", "rows", perm=[1, 0]),
        node("GatherND", "x rows", "v"),
        node("Neg", "v", "n"),
        node("ReduceSum", "n", "sum", keepdims=0),
        node("Greater", "flat zero", "above"),
        node("Compress", "flat above", "kept"),
        node("Unique", "flat", "u first inverse counts", sorted=1),
    ]
    return (
        [node("Reshape", "x minus", "flat")] + nodes,
        [info("x", [3, 4])],
        [
            info("rows", ["n", 2], INT64),
            info("n", ["n"]),
            info("sum", []),
            info("kept", ["k"]),
            info("u", ["u"]),
            info("inverse", [12], INT64),
            info("counts", ["u"], INT64),
        ],
        [whole("minus", [-1]), number("zero", 0)],
    )


def boxes():
    nodes = [
        node("NonMaxSuppression", "boxes scores most iou low", "picked"),
        node("Slice", "picked two three axis", "i"),
        node("Reshape", "i minus", "index"),
        node("Gather", "corners index", "chosen", axis=0),
        node("TopK", "flat k", "best where", axis=0),
    ]
    nodes = [
        node("Reshape", "boxes four", "corners"),
        node("Reshape", "scores minus", "flat"),
    ] + nodes
    return (
        nodes,
        [info("boxes", [1, 6, 4]), info("scores", [1, 2, 6]), info("k", [1], INT64)],
        [info("chosen", ["n", 4]), info("best", ["k"]), info("where", ["k"], INT64)],
        [
            whole("most", [3]),
            number("iou", 0.5),
            number("low", 0.1),
            whole("two", [2]),
            whole("three", [3]),
            whole("axis", [1]),
            whole("minus", [-1]),
            whole("four", [-1, 4]),
        ],
    )


def movement():
    nodes = [
        node("Pad", "x pads", "p", mode="reflect"),
        node("Resize", "p  scales", "r", mode="linear"),
        node("ConvTranspose", "r wt", "t", strides=[2, 2]),
        node("Slice", "t from to axes steps", "s"),
        node("DepthToSpace", "s", "d", blocksize=2),
        node("InstanceNormalization", "d sc bi", "n"),
        node("Tile", "n times", "l"),
        node("AveragePool", "l", "a", kernel_shape=[3, 3], count_include_pad=1, pads=[1] * 4),
        node("Concat", "l a", "y", axis=1),
    ]
    nodes[1] = helper.make_node("Resize", ["p", "", "scales"], ["r"], mode="linear")
    return (
        nodes,
        [info("x", [1, 2, "H", 5])],
        [info("y", [1, 2, "A", "B"])],
        [
            whole("pads", [0, 0, 1, 1, 0, 0, 1, 1]),
            numpy_helper.from_array(np.float32([1, 1, 2, 2]), "scales"),
            weight("wt", 2, 4, 2, 2),
            whole("from", [0, -1]),
            whole("to", [6, -9]),
            whole("axes", [2, 3]),
            whole("steps", [1, -2]),
            weight("sc", 1),
            weight("bi", 1),
            whole("times", [1, 1, 1, 1]),
        ],
    )


def indexing():
    nodes = [
        node("Gather", "table tokens", "e", axis=0),
        node("GatherElements", "e which", "g", axis=2),
        node("ScatterElements", "g which2 updates", "s", axis=1, reduction="add"),
        node("ScatterND", "s places rows", "t"),
        node("Where", "flag t g", "w"),
        node("Expand", "w wide", "x"),
        node("Einsum", "x x", "y", equation="bij,bkj->bik"),
        node("OneHot", "tokens depth onoff", "h"),
    ]
    return (
        nodes,
        [
            info("tokens", [2, 3], INT64),
            info("which", [2, 3, 4], INT64),
            info("flag", [2, 3, 1], BOOL),
        ],
        [info("y", [2, 3, 3]), info("h", [2, 3, 5])],
        [
            weight("table", 7, 4),
            whole("which2", np.zeros((2, 2, 4))),
            weight("updates", 2, 2, 4),
            whole("places", [[0, 1], [1, 2]]),
            weight("rows", 2, 4),
            whole("wide", [2, 3, 4]),
            whole("depth", 5),
            numpy_helper.from_array(np.float32([0, 1]), "onoff"),
        ],
    )


def integers():
    nodes = [
        node("Cast", "x", "i", to=INT64),
        node("Mod", "i three", "m"),
        node("Mul", "m m", "q"),
        node("Clip", "q low high", "c"),
        node("BitShift", "u by", "b", direction="LEFT"),
        node("Cast", "c", "f", to=FLOAT),
        node("Exp", "f", "e"),
        node("Erf", "e", "r"),
        node("Pow", "r two", "p"),
        node("CumSum", "p axis", "y"),
        node("ReduceMax", "c", "z", keepdims=0),
        node("ReduceLogSumExp", "y", "l", keepdims=0),
    ]
    return (
        nodes,
        [info("x", [3, 5]), info("u", [4], TensorProto.UINT32)],
        [
            info("y", [3, 5]),
            info("z", [], INT64),
            info("b", [4], TensorProto.UINT32),
            info("l", []),
        ],
        [
            whole("three", 3),
            whole("low", 1),
            whole("high", 4),
            number("two", 2),
            whole("axis", 0),
            numpy_helper.from_array(np.uint32([1, 2, 3, 4]), "by"),
        ],
    )


def grouped():
    nodes = [
        node("Attention", "q k v mask", "a", is_causal=1, softcap=4.0),
        node("Transpose", "a", "t", perm=[0, 2, 1, 3]),
        node("Reshape", "t joined", "j"),
        node("RMSNormalization", "j sc", "n", axis=-1),
        node("LpNormalization", "n", "l", axis=2),
        node("LogSoftmax", "l", "y", axis=2),
    ]
    return (
        nodes,
        [
            info("q", [1, 4, "T", 4]),
            info("k", [1, 2, "T", 4]),
            info("v", [1, 2, "T", 3]),
            info("mask", [1, 1, 1, "T"], BOOL),
        ],
        [info("y", [1, "T", 12])],
        [whole("joined", [0, 0, 12]), weight("sc", 12)],
    )


SEEDS = {
    "conv": (conv, []),
    "conv_chain": (conv, ["--winograd", "off", "--target", "mcu"]),
    "attention": (attention, ["--dim", "T=2..9"]),
    "recurrent": (recurrent, ["--dim", "T=1..6"]),
    "stateful": (stateful, ["--state", "cache=cache_out"]),
    "control": (control, []),
    "scan": (scan, ["--dim", "T=1..8"]),
    "found": (found, []),
    "boxes": (boxes, []),
    "movement": (movement, ["--dim", "H=4..8"]),
    "indexing": (indexing, []),
    "integers": (integers, []),
    "grouped": (grouped, ["--dim", "T=2..7"]),
    "half_weights": (attention, ["--dtype", "fp16", "--dim", "T=2..9"]),
    "frames": (conv, ["--image", "x=nv12:16x12,letterbox"]),
    "golden": (integers, ["--golden"]),
}


def golden_of(folder, graph):
    arrays = {}
    for value in graph[1]:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        arrays["in:" + value.name] = (RNG.standard_normal(shape) * 3).astype(kind)
    np.savez(folder / "in.npz", **arrays)


def make(ingot, mutants, name, out):
    function, options = SEEDS[name]
    graph = function()
    nodes, inputs, outputs, constants = graph
    model = helper.make_model(
        helper.make_graph(nodes, name, inputs, outputs, constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=10,
    )
    with work_folder() as folder:
        source = folder / f"{name}.onnx"
        save(model, source)
        if options == ["--golden"]:
            golden_of(folder, graph)
            arrays = dict(np.load(folder / "in.npz"))
            fed = {name.removeprefix("in:"): array for name, array in arrays.items()}
            outputs = Ingot(ingot, folder).computed(source, fed)
            arrays |= {f"out:{name}": array for name, array in outputs.items()}
            np.savez(folder / "golden.npz", **arrays)
            options = ["--golden", folder / "golden.npz"]
        run(ingot, "convert", source, "-o", folder / "padded.ingot", options).succeeded()
        run(mutants, "--expand", folder / "padded.ingot", out).succeeded()


def main():
    ingot, mutants = sys.argv[1:3]
    folder = pathlib.Path(
        sys.argv[3] if len(sys.argv) > 3 else pathlib.Path(__file__).parent / "seeds/run_mutants"
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name in SEEDS:
        out = folder / f"{name}.ingot"
        make(ingot, mutants, name, out)
        print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
