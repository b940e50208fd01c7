#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/models/looping/looping.onnx and its golden: a Scan over a sequence of any length,
backwards, whose state goes through a Loop in an If in a Loop; the inner loops end by their
conditions.

  make_looping.py [FOLDER]      needs onnx and onnxruntime
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(7)


def info(name, kind=FLOAT, dims=()):
    return helper.make_tensor_value_info(name, kind, list(dims))


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def innermost():
    """u halves until its sum is below one, 6 times at most."""
    nodes = [
        helper.make_node("Mul", ["u", "half"], ["u_next"]),
        helper.make_node("Abs", ["u_next"], ["u_abs"]),
        helper.make_node("ReduceSum", ["u_abs"], ["u_sum"], keepdims=0),
        helper.make_node("Greater", ["u_sum", "one"], ["u_go"]),
    ]
    return helper.make_graph(
        nodes,
        "innermost",
        [info("k", INT64), info("k_go", BOOL), info("u", FLOAT, [2, 16])],
        [info("u_go", BOOL), info("u_next", FLOAT, [2, 16])],
    )


def branch(name, nodes, result):
    return helper.make_graph(nodes, name, [], [info(result, FLOAT, [2, 16])])


def outer():
    """(p, q) = (tanh(p w + q) shrunk if its first element is positive, p); also every p,
    stacked."""
    nodes = [
        helper.make_node("MatMul", ["p", "w"], ["pw"]),
        helper.make_node("Add", ["pw", "q"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["t"]),
        helper.make_node("Slice", ["t", "zeros", "ones", "axes"], ["corner"]),
        helper.make_node("Reshape", ["corner", "scalar"], ["first"]),
        helper.make_node("Greater", ["first", "zero"], ["positive"]),
        helper.make_node(
            "If",
            ["positive"],
            ["shrunk"],
            then_branch=branch(
                "shrink",
                [helper.make_node("Loop", ["six", "", "t"], ["less"], body=innermost())],
                "less",
            ),
            else_branch=branch("keep", [helper.make_node("Neg", ["t"], ["negative"])], "negative"),
        ),
        helper.make_node("Identity", ["p"], ["p_old"]),
        helper.make_node("Identity", ["shrunk"], ["row"]),
        helper.make_node("Identity", ["j_go"], ["j_next"]),
    ]
    return helper.make_graph(
        nodes,
        "outer",
        [
            info("j", INT64),
            info("j_go", BOOL),
            info("p", FLOAT, [2, 16]),
            info("q", FLOAT, [2, 16]),
        ],
        [
            info("j_next", BOOL),
            info("shrunk", FLOAT, [2, 16]),
            info("p_old", FLOAT, [2, 16]),
            info("row", FLOAT, [2, 16]),
        ],
    )


def step():
    nodes = [
        helper.make_node("MatMul", ["h", "v"], ["hv"]),
        helper.make_node("Add", ["hv", "x_t"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["h_next"]),
        helper.make_node("Mul", ["h_next", "x_t"], ["y_t"]),
    ]
    return helper.make_graph(
        nodes,
        "step",
        [info("h", FLOAT, [2, 16]), info("x_t", FLOAT, [2, 16])],
        [info("h_next", FLOAT, [2, 16]), info("y_t", FLOAT, [2, 16])],
    )


def model():
    weights = [
        constant(name, (RNG.standard_normal((16, 16)) * 0.4).astype(np.float32))
        for name in ("v", "w")
    ]
    weights += [
        constant("half", np.float32(0.5)),
        constant("one", np.float32(1)),
        constant("zero", np.float32(0)),
        constant("six", np.int64(6)),
        constant("five", np.int64(5)),
        constant("zeros", np.zeros(2, np.int64)),
        constant("ones", np.ones(2, np.int64)),
        constant("axes", np.arange(2)),
        constant("scalar", np.zeros(0, np.int64)),
    ]
    nodes = [
        helper.make_node(
            "Scan",
            ["h0", "x"],
            ["h", "y"],
            body=step(),
            num_scan_inputs=1,
            scan_input_axes=[1],
            scan_output_axes=[1],
            scan_input_directions=[1],
            scan_output_directions=[1],
        ),
        helper.make_node("Loop", ["five", "", "h", "h0"], ["last", "before", "all"], body=outer()),
    ]
    graph = helper.make_graph(
        nodes,
        "looping",
        [info("h0", FLOAT, [2, 16]), info("x", FLOAT, [2, "T", 16])],
        [
            info("y", FLOAT, [2, "T", 16]),
            info("last", FLOAT, [2, 16]),
            info("before", FLOAT, [2, 16]),
            info("all", FLOAT, [5, 2, 16]),
        ],
        weights,
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make_looping"
    )
    made.ir_version = 8
    onnx.checker.check_model(made, full_check=True)
    return made


def main():
    folder = pathlib.Path(
        sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "looping"
    )
    folder.mkdir(parents=True, exist_ok=True)
    made = model()
    onnx.save(made, folder / "looping.onnx")
    feeds = {
        "h0": RNG.standard_normal((2, 16)).astype(np.float32),
        "x": RNG.standard_normal((2, 9, 16)).astype(np.float32),
    }
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    arrays = {"in:" + name: value for name, value in feeds.items()}
    arrays.update(
        {
            "out:" + port.name: value
            for port, value in zip(session.get_outputs(), session.run(None, feeds))
        }
    )
    np.savez(folder / "looping.npz", **arrays)
    print({name: value.shape for name, value in arrays.items()})


if __name__ == "__main__":
    main()
