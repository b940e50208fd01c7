"""Forms for run_forms.py: sizes that only the data tell, within --max-elements."""

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
