#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/control.pt2 and data/detection.pt2 with their inputs and outputs: programs as
torch.export saves them, spelled out by hand, so that torch is not needed. What they give is
computed with numpy.

  make_control.py
"""

import json
import pathlib
import zipfile

import numpy as np

DATA = pathlib.Path(__file__).resolve().parent / "data"
F32, I32, I64, BOOL = 7, 4, 5, 12


def tensor(name):
    return {"as_tensor": {"name": name}}


def tensors(*names):
    return {"as_tensors": [{"name": n} for n in names]}


def argument(value):
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, list):
        return {"as_ints": value}
    return tensor(value)


def node(target, inputs, outputs, names=None):
    """names: of the arguments, where the schema has them."""
    names = names or [""] * len(inputs)
    made = [tensor(o) for o in outputs] if isinstance(outputs, tuple) else [tensors(*outputs)]
    return {
        "target": target,
        "inputs": [
            {"name": n, "arg": argument(i), "kind": 1} for n, i in zip(names, inputs, strict=True)
        ],
        "outputs": made,
        "metadata": {},
        "is_hop_single_tensor_return": None,
        "name": (list(outputs) + ["none"])[0],
    }


def aten(op, inputs, output):
    return node(f"torch.ops.aten.{op}", inputs, (output,))


def graph(inputs, outputs, nodes, values=None):
    """values: name to (element type, sizes) of inputs, symbols among them."""
    return {
        "inputs": [tensor(i) for i in inputs],
        "outputs": [tensor(o) for o in outputs],
        "nodes": nodes,
        "tensor_values": {
            name: {
                "dtype": dtype,
                "sizes": [
                    {"as_expr": {"expr_str": s}} if isinstance(s, str) else {"as_int": s}
                    for s in sizes
                ],
                "requires_grad": False,
                "device": {"type": "cpu", "index": None},
                "strides": [],
                "storage_offset": {"as_int": 0},
                "layout": 7,
            }
            for name, (dtype, sizes) in (values or {}).items()
        },
        "sym_int_values": {},
        "sym_bool_values": {},
        "is_single_tensor_return": False,
        "custom_obj_values": {},
        "sym_float_values": {},
    }


def inner(name, *arguments):
    return {"as_graph": {"name": name, "graph": graph(*arguments)}}


def write(name, inputs, nodes, outputs, shapes):
    """outputs: name to the expected array."""
    types = {"float32": F32, "int32": I32, "int64": I64, "bool": BOOL}
    values = {k: (types[str(v.dtype)], shapes.get(k, v.shape)) for k, v in inputs.items()}
    program = {
        "graph_module": {
            "graph": graph(list(inputs), list(outputs), nodes, values),
            "signature": {
                "input_specs": [{"user_input": {"arg": tensor(i)}} for i in inputs],
                "output_specs": [{"user_output": {"arg": tensor(o)}} for o in outputs],
            },
            "module_call_graph": [],
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {},
        "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"],
        "torch_version": "2.15.0",
        "guards_code": [],
    }
    members = {
        "models/model.json": json.dumps(program, indent=1),
        "data/weights/model_weights_config.json": '{"config": {}}',
        "data/constants/model_constants_config.json": '{"config": {}}',
        "archive_format": "pt2",
        "archive_version": "0",
        "byteorder": "little",
    }
    with zipfile.ZipFile(DATA / f"{name}.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in members.items():
            archive.writestr(zipfile.ZipInfo(f"{name}/{member}", (2026, 1, 1, 0, 0, 0)), text)
    np.savez_compressed(
        DATA / f"{name}.npz",
        **{f"in{i}": v for i, v in enumerate(inputs.values())},
        **{f"out{i}": v for i, v in enumerate(outputs.values())},
    )


def control(rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    steps = np.array(5, np.int64)
    hop = "torch.ops.higher_order."
    nodes = [
        aten("sum.default", ["x"], "total"),
        aten("gt.Scalar", ["total", 0], "positive"),
        aten("transpose.int", ["x", 0, 1], "turned"),
        # a branch may give what it was given, or a view of it
        node(
            hop + "cond",
            [
                "positive",
                inner("yes", ["x", "t"], ["s", "t"], [aten("sin.default", ["x"], "s")]),
                inner(
                    "no",
                    ["x", "t"],
                    ["c", "u"],
                    [aten("cos.default", ["x"], "c"), aten("neg.default", ["t"], "u")],
                ),
                tensors("x", "turned"),
            ],
            ["wave", "other"],
        ),
        aten("zeros_like.default", ["n"], "zero"),
        node(
            hop + "while_loop",
            [
                inner("more", ["i", "a", "n", "x"], ["m"], [aten("lt.Scalar", ["i", 5], "m")]),
                inner(
                    "step",
                    ["i", "a", "n", "x"],
                    ["j", "b"],
                    [
                        aten("add.Tensor", ["i", 1], "j"),
                        aten("mul.Tensor", ["a", 0.5], "h"),
                        aten("add.Tensor", ["h", "x"], "b"),
                    ],
                ),
                tensors("zero", "x"),
                tensors("n", "x"),
            ],
            ["rounds", "mixed"],
        ),
        aten("select.int", ["x", 0, 0], "first"),
        node(
            hop + "scan",
            [
                inner(
                    "combine",
                    ["carry", "row", "n"],
                    ["next", "made"],
                    [
                        aten("add.Tensor", ["carry", "row"], "next"),
                        aten("mul.Tensor", ["next", "row"], "made"),
                    ],
                ),
                tensors("first"),
                tensors("x"),
                tensors("n"),
            ],
            ["last", "rows"],
        ),
        node(
            hop + "map_impl",
            [
                inner(
                    "each", ["row", "by"], ["y"], [aten("maximum.default", ["row", "by"], "y")]
                ),
                tensors("x"),
                tensors("first"),
            ],
            ["mapped"],
        ),
        aten("_shape_as_tensor.default", ["x"], "shape"),
    ]
    mixed = x
    for _ in range(5):
        mixed = mixed * np.float32(0.5) + x
    carry, rows = x[0], []
    for row in x:
        carry = carry + row
        rows.append(carry * row)
    yes = x.sum() > 0
    outputs = {
        "wave": np.sin(x) if yes else np.cos(x),
        "other": x.T if yes else -x.T,
        "rounds": np.array(5, np.int64),
        "mixed": mixed,
        "last": carry,
        "rows": np.stack(rows),
        "mapped": np.maximum(x, x[0]),
        "shape": np.array(x.shape, np.int64),
    }
    write("control", {"x": x, "n": steps}, nodes, outputs, {})


def kept_boxes(boxes, scores, most):
    order, kept = list(np.argsort(-scores, kind="stable")), []
    while order:
        i = order.pop(0)
        kept.append(i)

        def overlap(j, i=i):
            corner = np.minimum(boxes[i, 2:], boxes[j, 2:]) - np.maximum(boxes[i, :2], boxes[j, :2])
            common = np.prod(np.maximum(corner, 0))
            areas = [np.prod(boxes[k, 2:] - boxes[k, :2]) for k in (i, j)]
            return common / (sum(areas) - common)

        order = [j for j in order if overlap(j) <= most]
    return np.array(kept, np.int64)


def detection(rng):
    boxes = rng.uniform(0, 8, (30, 2)).astype(np.float32)
    boxes = np.concatenate([boxes, boxes + rng.uniform(1, 6, (30, 2)).astype(np.float32)], 1)
    scores = rng.permutation(30).astype(np.float32) / 30
    images = rng.standard_normal((2, 12, 7, 8)).astype(np.float32)
    # boxes of whole bins: each place lies on an element, so that the mean is one of elements
    rois = np.array([[0, 0.5, 0.5, 6.5, 4.5], [1, 1.5, 2.5, 7.5, 6.5]], np.float32)
    weight = rng.standard_normal((4, 3, 1, 1)).astype(np.float32)
    picture = rng.standard_normal((1, 3, 5, 6)).astype(np.float32)
    offset = np.zeros((1, 2, 5, 6), np.float32)
    offset[:, 0], offset[:, 1] = 1, -2  # one row down, two columns to the left
    mask = rng.uniform(0, 1, (1, 1, 5, 6)).astype(np.float32)
    bias = rng.standard_normal(4).astype(np.float32)
    nodes = [
        node("torch.ops.torchvision.nms.default", ["boxes", "scores", 0.3], ("kept",)),
        node(
            "torch.ops.torchvision.ps_roi_align.default",
            ["images", "rois", 1.0, 2, 3, 2],
            ("bins", "channels"),
        ),
        node(
            "torch.ops.torchvision.deform_conv2d.default",
            ["picture", "weight", "offset", "mask", "bias", 1, 1, 0, 0, 1, 1, 1, 1, True],
            ("moved",),
        ),
    ]
    bins = np.zeros((2, 2, 2, 3), np.float32)
    for k, (image, left, top, _, _) in enumerate(rois):
        for c in range(2):
            for i in range(2):
                for j in range(3):
                    rows, columns = int(top - 0.5) + 2 * i, int(left - 0.5) + 2 * j
                    part = images[int(image), (c * 2 + i) * 3 + j]
                    # samples lie half way between the elements of a bin of 2 x 2
                    places = [
                        part[rows : rows + 3, columns : columns + 3][a : a + 2, b : b + 2].mean()
                        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))
                    ]
                    bins[k, c, i, j] = np.mean(places)
    moved = np.zeros_like(picture)
    moved[:, :, :-1, 2:] = picture[:, :, 1:, :-2]
    moved = np.einsum("oc,nchw->nohw", weight[:, :, 0, 0], moved * mask) + bias[:, None, None]
    inputs = {
        "boxes": boxes,
        "scores": scores,
        "images": images,
        "rois": rois,
        "picture": picture,
        "weight": weight,
        "offset": offset,
        "mask": mask,
        "bias": bias,
    }
    outputs = {"kept": kept_boxes(boxes, scores, 0.3), "bins": bins, "moved": moved}
    write("detection", inputs, nodes, outputs, {})


def choices(rng):
    """Branches that comparisons of sizes choose."""
    x = rng.standard_normal((3, 4)).astype(np.float32)
    y = rng.standard_normal(5).astype(np.float32)

    def size(name):
        return {"as_sym_int": {"as_name": name}}

    def truth(name):
        return {"as_sym_bool": {"as_name": name}}

    def symbolic(target, inputs, output):
        return {**node(target, inputs, ()), "outputs": [output]}

    def choice(predicate, output):
        branches = [
            inner("yes", ["x"], ["s"], [aten("sin.default", ["x"], "s")]),
            inner("no", ["x"], ["c"], [aten("cos.default", ["x"], "c")]),
        ]
        return node(
            "torch.ops.higher_order.cond", [predicate, *branches, tensors("x")], [output]
        )

    nodes = [
        symbolic("torch.ops.aten.sym_size.int", ["x", 0], size("n")),
        symbolic("torch.ops.aten.sym_size.int", ["y", 0], size("m")),
        symbolic(
            "torch.sym_sum",
            [{"as_sym_ints": [size("n")["as_sym_int"], size("m")["as_sym_int"]]}],
            size("both"),
        ),
        symbolic("_operator.gt", [size("both"), size("m")], truth("surely")),
        choice(truth("surely"), "first"),
        symbolic("_operator.ge", [size("n"), {"as_sym_int": {"as_int": 3}}], truth("many")),
        choice(truth("many"), "second"),
        symbolic("_operator.ne", [size("n"), size("m")], truth("differ")),
        symbolic("torch.sym_not", [truth("differ")], truth("equal")),
        symbolic("_operator.and_", [truth("many"), truth("equal")], truth("both_hold")),
        choice(truth("both_hold"), "third"),
    ]
    outputs = {"first": np.sin(x), "second": np.sin(x), "third": np.cos(x)}
    write("choices", {"x": x, "y": y}, nodes, outputs, {"x": ["s0", 4], "y": ["s1"]})


def main():
    rng = np.random.default_rng(7)
    control(rng)
    detection(rng)
    choices(rng)


main()
