#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/models/control: small models whose loops, slices, ranges and branches depend on what
data or dimensions say, and goldens.

make_control.py [FOLDER]      needs onnx and onnxruntime
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(3)
FOLDER = pathlib.Path(
    sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "control"
)
node = helper.make_node


def info(name, kind=FLOAT, dims=()):
    return helper.make_tensor_value_info(name, kind, list(dims))


def write(name, nodes, inputs, outputs, constants, **goldens):
    initializers = [
        numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()
    ]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make_control"
    )
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, FOLDER / f"{name}.onnx")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for golden, feeds in goldens.items():
        arrays = {"in:" + key: value for key, value in feeds.items()}
        arrays.update(
            {
                "out:" + port.name: value
                for port, value in zip(session.get_outputs(), session.run(None, feeds))
            }
        )
        np.savez(FOLDER / f"{golden}.npz", **arrays)
        print(golden, {key: value.shape for key, value in arrays.items()})


def count_of(x):
    """`n`: how many elements of `x` are not zero."""
    return [
        node("NonZero", [x], ["places"]),
        node("Shape", ["places"], ["extents"]),
        node("Gather", ["extents", "one"], ["n"]),
    ]


def body(nodes, outputs):
    nodes = nodes + [node("Identity", ["go"], ["still"])]
    return helper.make_graph(
        nodes,
        "body",
        [info("i", INT64), info("go", BOOL), info("a", FLOAT, [12])],
        [info("still", BOOL)] + outputs,
    )


def branch(name, nodes, dims):
    return helper.make_graph(nodes, name, [], [info(name, FLOAT, dims)])


def by_extent(name, op, divisor, expected):
    """Reduces x [1, T] by `op`, to [1] where T // divisor is `expected`, else to [1, 1]."""
    flat, kept = name + "_flat", name + "_kept"
    nodes = [
        node("Shape", ["x"], [name + "_s"], start=1),
        node("Squeeze", [name + "_s"], [name + "_t"]),
        node("Div", [name + "_t", divisor], [name + "_q"]),
        node("Equal", [name + "_q", expected], [name + "_c"]),
        node(
            "If",
            [name + "_c"],
            [name],
            then_branch=branch(flat, [node(op, ["x"], [flat], axes=[1], keepdims=0)], ["A"]),
            else_branch=branch(kept, [node(op, ["x"], [kept], axes=[1], keepdims=1)], ["A", 1]),
        ),
    ]
    return helper.make_graph(nodes, name, [], [info(name, FLOAT, ["B"])])


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    x = RNG.standard_normal(12).astype("f4")
    x[[1, 4, 5, 9]] = 0
    row, half = [info("x", FLOAT, [12])], {"half": np.float32(0.5), "one": np.int64(1)}
    scaled = [node("Mul", ["a", "half"], ["a_next"])]
    write(
        "trips_from_data",
        count_of("x")
        + [
            node(
                "Loop",
                ["n", "", "x"],
                ["y", "rows"],
                body=body(
                    scaled + [node("Identity", ["a"], ["old"])],
                    [info("a_next", FLOAT, [12]), info("old", FLOAT, [12])],
                ),
            )
        ],
        row,
        [info("y", FLOAT, [12]), info("rows", FLOAT, ["n", 12])],
        half,
        trips_from_data={"x": x},
        trips_from_data_none={"x": 0 * x},
    )
    write(
        "sizes_inside_loop",
        [
            node(
                "Loop",
                ["three", "", "x"],
                ["y", "sums"],
                body=body(
                    [
                        node("NonZero", ["a"], ["places"]),
                        node("Transpose", ["places"], ["rows"]),
                        node("GatherND", ["a", "rows"], ["found"]),
                        node("ReduceSum", ["found"], ["sum"], keepdims=0),
                        node("Mul", ["sum", "tenth"], ["less"]),
                        node("Sub", ["a", "less"], ["lower"]),
                        node("Relu", ["lower"], ["a_next"]),
                    ],
                    [info("a_next", FLOAT, [12]), info("sum")],
                ),
            )
        ],
        row,
        [info("y", FLOAT, [12]), info("sums", FLOAT, [3])],
        {"three": np.int64(3), "tenth": np.float32(0.1)},
        sizes_inside_loop={"x": x},
    )
    write(
        "slice_from_data",
        count_of("x")
        + [
            node("Unsqueeze", ["n", "zero"], ["from"]),
            node("Slice", ["x", "from", "big"], ["z"]),
            node("Mul", ["z", "half"], ["y"]),
        ],
        row,
        [info("y", FLOAT, ["k"])],
        dict(half, zero=np.array([0]), big=np.array([2**62])),
        slice_from_data={"x": x},
    )
    table = RNG.standard_normal((3, 9)).astype("f4")
    write(
        "slice_from",
        [
            node("Add", ["at", "four"], ["to"]),
            node("Slice", ["x", "at", "to", "axes", "steps"], ["z"]),
            node("Neg", ["z"], ["y"]),
        ],
        [info("x", FLOAT, [3, 9]), info("at", INT64, [2])],
        [info("y", FLOAT, ["a", "b"])],
        {"four": np.array([1, 4]), "axes": np.array([0, 1]), "steps": np.array([1, 2])},
        slice_from={"x": table, "at": np.array([1, 3])},
        slice_from_end={"x": table, "at": np.array([-3, -5])},
    )
    for name, dims in (("range_from", [12]), ("range_from_symbolic", ["T"])):
        write(
            name,
            [
                node("Size", ["x"], ["n"]),
                node("Add", ["n", "at"], ["to"]),
                node("Range", ["at", "to", "one"], ["r"]),
                node("Cast", ["r"], ["rf"], to=FLOAT),
                node("Mul", ["rf", "x"], ["y"]),
            ],
            [info("x", FLOAT, dims), info("at", INT64)],
            [info("y", FLOAT, dims)],
            {"one": np.int64(1)},
            **{name: {"x": x, "at": np.array(5)}},
        )
    write(
        "branches",
        [
            node(
                "If",
                ["c"],
                ["y"],
                then_branch=by_extent("narrow", "ReduceMean", "eight", "one"),
                else_branch=by_extent("wide", "ReduceMax", "forty", "zero"),
            )
        ],
        [info("x", FLOAT, [1, "T"]), info("c", BOOL)],
        [info("y", FLOAT, [1])],
        {"eight": np.int64(8), "one": np.int64(1), "forty": np.int64(40), "zero": np.int64(0)},
        branches_narrow={"x": RNG.standard_normal((1, 12)).astype("f4"), "c": np.array(True)},
        branches_wide={"x": RNG.standard_normal((1, 33)).astype("f4"), "c": np.array(False)},
    )
    detectors()


def detectors():
    """The head of a detector: boxes and scores by 1x1 convolutions, what is left of them; with and
    without the boxes themselves."""
    cells, classes, side = 16 * 16, 3, 16
    rows, columns = np.divmod(np.arange(cells), side)
    centers = np.stack([columns + 0.5, rows + 0.5, np.zeros(cells), np.zeros(cells)], -1)[
        None
    ].astype("f4")
    constants = {
        "centers": centers,
        "w_box": RNG.standard_normal((4, 6, 1, 1)).astype("f4"),
        "w_score": RNG.standard_normal((classes, 6, 1, 1)).astype("f4"),
        "b_box": np.array([0, 0, 3, 3], "f4"),
        "as_rows": np.array([1, cells, 4]),
        "as_classes": np.array([1, classes, cells]),
        "most": np.array([4]),
        "overlap": np.array([0.35], "f4"),
        "score": np.array([0.8], "f4"),
    }
    nodes = [
        node("Conv", ["x", "w_box", "b_box"], ["box_map"]),
        node("Transpose", ["box_map"], ["box_last"], perm=[0, 2, 3, 1]),
        node("Reshape", ["box_last", "as_rows"], ["offsets"]),
        node("Add", ["offsets", "centers"], ["boxes"]),
        node("Conv", ["x", "w_score"], ["score_map"]),
        node("Sigmoid", ["score_map"], ["likely"]),
        node("Reshape", ["likely", "as_classes"], ["scores"]),
        node(
            "NonMaxSuppression",
            ["boxes", "scores", "most", "overlap", "score"],
            ["picked"],
            center_point_box=1,
        ),
    ]
    feeds = {"x": RNG.standard_normal((1, 6, side, side)).astype("f4")}
    inputs, picked = [info("x", FLOAT, [1, 6, side, side])], info("picked", INT64, ["n", 3])
    write(
        "detector",
        nodes,
        inputs,
        [picked, info("boxes", FLOAT, [1, cells, 4])],
        constants,
        detector=feeds,
    )
    gather = [
        node("Gather", ["picked", "two"], ["which"], axis=1),
        node("Squeeze", ["boxes", "first"], ["all_boxes"]),
        node("Gather", ["all_boxes", "which"], ["found"]),
    ]
    write(
        "detector_boxes",
        nodes + gather,
        inputs,
        [picked, info("found", FLOAT, ["n", 4])],
        dict(constants, two=np.int64(2), first=np.array([0])),
        detector_boxes=feeds,
    )


if __name__ == "__main__":
    main()
