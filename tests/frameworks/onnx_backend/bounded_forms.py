# SPDX-License-Identifier: Apache-2.0
"""Forms for run_forms.py: sizes that only the data tell, most of them within
--max-elements."""

import numpy as np
from onnx import TensorProto, helper

BOUND = ("--max-elements", "16")


def doubling(limit_name):
    """A body that doubles what it carries and stacks it, while the largest stays below a limit."""
    port = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Add", ["a", "a"], ["b"]),
        helper.make_node("ReduceMax", ["b"], ["largest"], keepdims=0),
        helper.make_node("Less", ["largest", limit_name], ["goes_on"]),
        helper.make_node("Identity", ["b"], ["row"]),
    ]
    return helper.make_graph(
        nodes,
        "body",
        [
            port("i", TensorProto.INT64, []),
            port("go", TensorProto.BOOL, []),
            port("a", TensorProto.FLOAT, [3]),
        ],
        [
            port("goes_on", TensorProto.BOOL, []),
            port("b", TensorProto.FLOAT, [3]),
            port("row", TensorProto.FLOAT, [3]),
        ],
    )


def scalar_or_one(form, node):
    """An If that gives [1] in one branch and a scalar in the other, as Paddle's exporter writes."""

    def branch(*nodes):
        value = helper.make_tensor_value_info("v", TensorProto.FLOAT, None)
        return helper.make_graph(list(nodes), "branch", [], [value])

    one = helper.make_tensor("one", TensorProto.FLOAT, [1], [7.0])
    for choice in (True, False):
        form(
            f"a scalar in one branch and [1] in the other, {choice}",
            [
                helper.make_node(
                    "If",
                    ["go"],
                    ["v"],
                    then_branch=branch(helper.make_node("Constant", [], ["v"], value=one)),
                    else_branch=branch(node("Neg", "x", "v")),
                ),
                node("Add", "v,w", "y"),
            ],
            {"go": np.array(choice), "x": np.float32(2.5), "w": np.float32([[1, 2]])},
            {"y": np.float32([[1, 2]]) + np.float32(7 if choice else -2.5)},
        )


def bounded_inputs(form, node):
    """Two integers say how large a grid is: a bound of each is enough for all that follows."""
    nodes = [
        node("Div", "fh,eight", "a"),
        node("Div", "fw,eight", "b"),
        node("Range", "zero,a,one", "ra"),
        node("Range", "zero,b,one", "rb"),
        node("Reshape", "ra,column", "ca"),
        node("Mul", "ca,ten", "cb"),
        node("Add", "cb,rb", "grid"),
        node("Reshape", "grid,flat", "y"),
    ]
    constants = {
        "eight": np.int64(8),
        "zero": np.int64(0),
        "one": np.int64(1),
        "ten": np.int64(10),
        "column": np.int64([-1, 1]),
        "flat": np.int64([-1]),
    }
    for high, wide in ((192, 256), (8, 640), (15, 64)):
        grid = np.arange(high // 8)[:, None] * 10 + np.arange(wide // 8)[None]
        form(
            f"a grid of {high} by {wide}, whose inputs have bounds",
            nodes,
            {"fh": np.int64(high), "fw": np.int64(wide)},
            {"y": grid.reshape(-1)},
            constants=constants,
            options=("--dim", "fh=0..640", "--dim", "fw=0..640"),
        )
    form(
        "an input beyond its bound",
        nodes,
        {"fh": np.int64(641), "fw": np.int64(8)},
        {"y": np.arange(80) * 10},
        constants=constants,
        refused="641",
        options=("--dim", "fh=0..640", "--dim", "fw=0..640"),
    )
    x = np.arange(24, dtype=np.float32)
    form(
        "a shape of two numbers, each with a bound",
        [node("Slice", "x,zeros,s,axes", "y")],
        {"x": x.reshape(4, 6), "s": np.int64([3, 2])},
        {"y": x.reshape(4, 6)[:3, :2]},
        constants={"zeros": np.int64([0, 0]), "axes": np.int64([0, 1])},
        options=("--dim", "s.0=0..4", "--dim", "s.1=0..6"),
    )


def longer_than_an_operand(form, node):
    """The bound is more than an operand has that must be as long: what a run finds decides."""
    rng = np.random.default_rng(3)
    steps = {"s": np.int64(0), "d": np.int64(1)}
    count = [node("Range", "s,l,d", "r"), node("Cast", "r", "f", to=1)]
    line = np.arange(5, dtype=np.float32)
    w, v, c = (rng.random(shape).astype(np.float32) for shape in ((5, 3), (5,), (2, 5)))
    row = {"axes": np.int64([0])}
    forms = {
        "MatMul": ([node("Unsqueeze", "f,axes", "u"), node("MatMul", "u,w", "y")], line[None] @ w),
        "MatMul of vectors": ([node("MatMul", "f,w", "y")], line @ w),
        "Gemm": ([node("Unsqueeze", "f,axes", "u"), node("Gemm", "u,w", "y")], line[None] @ w),
        "Gemm's C": (
            [node("Unsqueeze", "f,axes", "u"), node("Gemm", "a,u,v", "y")],
            np.float32([[2]]) @ line[None] + v,
        ),
        "LayerNormalization": (
            [node("Unsqueeze", "f,axes", "u"), node("LayerNormalization", "u,v", "y", axis=-1)],
            ((line - line.mean()) / np.sqrt(line.var() + np.float32(1e-5)) * v)[None],
        ),
        "Concat": (
            [node("Unsqueeze", "f,axes", "u"), node("Concat", "u,c", "y", axis=0)],
            np.concatenate([line[None], c]),
        ),
    }
    everything = {"w": w, "v": v, "c": c, "a": np.float32([[2]])} | row | steps
    for name, (nodes, expected) in forms.items():
        named = {i for one in count + nodes for i in one.input}
        constants = {k: x for k, x in everything.items() if k in named}
        form(
            f"{name}, one operand as long as a run says",
            count + nodes,
            {"l": np.int64(5)},
            {"y": expected.astype(np.float32)},
            constants=constants,
            options=BOUND,
        )
    form(
        "MatMul, an operand longer than the other",
        [*count, node("Unsqueeze", "f,axes", "u"), node("MatMul", "u,w", "y")],
        {"l": np.int64(6)},
        {"y": line[None] @ w},
        constants={"w": w} | row | steps,
        refused="out of range",
        options=BOUND,
    )


def slices_at_the_limits(form, node):
    """Starts and ends that a run gives, with the smallest and largest steps and places."""
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    x = np.arange(6, dtype=np.float32)
    cuts = {
        "backwards over all": (-1, least, least, x[5:]),
        "backwards from the front": (0, least, least, x[:1]),
        "backwards between two places": (4, 1, least, x[4:5]),
        "backwards from behind the end": (most, -2, least, x[5:]),
        "backwards where nothing lies": (1, 4, least, x[:0]),
        "forwards over all": (least, most, most, x[:1]),
        "forwards from the second": (1, most, most, x[1:2]),
        "forwards where nothing lies": (4, 1, most, x[:0]),
        "one by one backwards": (most, least, -1, x[::-1]),
    }
    for name, (start, end, step, expected) in cuts.items():
        for steps_are_fed in (False, True):
            places = {"a": np.int64([start]), "b": np.int64([end])}
            steps = {"d": np.int64([step])}
            form(
                f"a slice {name}, steps {'fed' if steps_are_fed else 'constant'}",
                [node("Slice", "x,a,b,axes,d", "cut"), node("Concat", "cut,x", "y", axis=0)],
                {"x": x} | places | (steps if steps_are_fed else {}),
                {"y": np.concatenate([expected, x])},
                constants={"axes": np.int64([0])} | ({} if steps_are_fed else steps),
            )


def placeholders(form, node):
    """A loop as Paddle's exporter writes it: a scalar stands for what the first iteration makes,
    and a flag is a scalar before it and [1] after it."""
    port = helper.make_tensor_value_info
    flag = helper.make_tensor("flag", TensorProto.FLOAT, [1], [1.0])
    body = helper.make_graph(
        [
            node("Add", "a,a", "b"),
            helper.make_node("Constant", [], ["one"], value=flag),
            node("Add", "f,one", "g"),
            node("ReduceSum", "g", "s", keepdims=0),
            node("Less", "s,limit", "goes_on"),
            node("Neg", "b", "last"),
        ],
        "body",
        [
            port("i", TensorProto.INT64, []),
            port("go", TensorProto.BOOL, []),
            port("a", TensorProto.FLOAT, [3]),
            port("f", TensorProto.FLOAT, []),
            port("unset", TensorProto.FLOAT, []),
        ],
        [port(n, TensorProto.FLOAT, None) for n in ("b", "g", "last")],
    )
    body.output.insert(0, port("goes_on", TensorProto.BOOL, []))
    x = np.array([1, 3, 2], np.float32)
    form(
        "a loop whose variables have other shapes before its first iteration",
        [
            node("Loop", "most,yes,x,f,unset", "y,g,z", body=body),
            node("Mul", "g,w", "v"),
        ],
        {"x": x, "limit": np.float32(3)},
        {"y": x * 8, "z": x * -8, "v": np.float32([[3, 6]])},
        constants={
            "most": np.int64(9),
            "yes": np.array(True),
            "f": np.float32(0),
            "unset": np.float32(5),
            "w": np.float32([[1, 2]]),
        },
        options=BOUND,
    )


def chosen_into_rows(form, node):
    """As many elements as a mask chooses, in rows whose number another mask tells."""
    nodes = [
        node("Compress", "x,elements", "chosen", axis=0),
        node("Compress", "x,rows", "counted", axis=0),
        node("Shape", "counted", "n"),
        node("Concat", "n,two", "shape", axis=0),
        node("Reshape", "chosen,shape", "y"),
    ]
    x = np.arange(1, 13, dtype=np.float32)

    def feeds(elements, rows):
        return {"x": x, "elements": np.arange(12) < elements, "rows": np.arange(12) < rows}

    form(
        "8 elements in rows that only the run counts",
        nodes,
        feeds(8, 4),
        {"y": x[:8].reshape(4, 2)},
        constants={"two": np.int64([2])},
        options=BOUND,
    )
    for elements, rows in (8, 3), (8, 5), (8, 0), (0, 1):
        form(
            f"{elements} elements do not fill {rows} rows",
            nodes,
            feeds(elements, rows),
            {"y": x},
            constants={"two": np.int64([2])},
            refused="the shapes that the data ask for do not fit",
            options=BOUND,
        )


def bounded(rng, form, node):
    loop = helper.make_node("Loop", ["", "yes", "x"], ["y", "rows"], body=doubling("limit"))
    x = np.array([1, 3, 2], np.float32)
    stacked = np.stack([x * 2**k for k in range(1, 5)])
    constants = {"limit": np.float32(40), "yes": np.array(True)}
    form(
        "a loop without a trip count, and its rows",
        [loop],
        {"x": x},
        {"y": stacked[-1], "rows": stacked},
        constants=constants,
        options=BOUND,
    )
    form(
        "a loop that needs more iterations than its bound",
        [loop],
        {"x": np.full(3, 1e-9, np.float32)},
        {"y": x, "rows": stacked},
        constants=constants,
        refused="instruction",
        options=BOUND,
    )
    start, limit, step = np.float32(2), np.float32(9.5), np.float32(0.75)
    form(
        "a range of which only the run knows anything",
        [node("Range", "s,l,d", "y")],
        {"s": start, "l": limit, "d": step},
        {"y": np.arange(start, limit, step, np.float32)},
        options=BOUND,
    )
    form(
        "a range longer than its bound",
        [node("Range", "s,l,d", "y")],
        {"s": np.int64(0), "l": np.int64(17), "d": np.int64(1)},
        {"y": np.arange(17)},
        refused="17",
        options=BOUND,
    )
    chosen_into_rows(form, node)
    scalar_or_one(form, node)
    placeholders(form, node)
    bounded_inputs(form, node)
    longer_than_an_operand(form, node)
    slices_at_the_limits(form, node)
    classes = rng.integers(0, 5, (2, 3))
    form(
        "classes whose number is an input",
        [node("OneHot", "c,n,v", "y", axis=1)],
        {"c": classes, "n": np.int64([5])},
        {"y": np.moveaxis(np.eye(5, dtype=np.float32)[classes] * 2, -1, 1)},
        constants={"v": np.float32([0, 2])},
        options=BOUND,
    )
    for dtype in (np.float64, np.int32):
        a = rng.integers(-9, 9, (2, 150, 96)).astype(dtype)
        b = rng.integers(-9, 9, (96, 80)).astype(dtype)
        form(
            f"a product of {np.dtype(dtype).name}, step by step",
            [node("MatMul", "a,b", "y")],
            {"a": a, "b": b},
            {"y": a @ b},
            dims={"a": ["N", 150, 96]},
        )


def joined(form, node):
    form(
        "places that the data has, joined to fixed ones and cut",
        [
            node("NonZero", "x", "p"),
            node("Concat", "p,k", "c", axis=1),
            node("Slice", "c,o,e,t", "y"),
        ],
        {"x": np.array([0, 1, 0, 1, 1], np.float32)},
        {"c": np.array([[1, 3, 4, 7, 8]]), "y": np.array([[1, 3]])},
        constants={
            "k": np.array([[7, 8]]),
            "o": np.array([0]),
            "e": np.array([2]),
            "t": np.array([1]),
        },
    )
