# SPDX-License-Identifier: Apache-2.0
"""Products, reductions, normalizations, recurrent networks."""

import numpy as np
from graph import FLOATS, INTEGERS, NUMBERS, ONE, UNSIGNED, fixed, joined, need, product, shape_of
from movement import axes_input, changed, either, some_axis
from rules import Rules

RULES = Rules(FLOATS)
rule = RULES.rule


REDUCTIONS = {
    "ReduceL1": NUMBERS, "ReduceL2": FLOATS, "ReduceLogSum": FLOATS, "ReduceLogSumExp": FLOATS,
    "ReduceMax": NUMBERS, "ReduceMean": NUMBERS, "ReduceMin": NUMBERS, "ReduceProd": NUMBERS,
    "ReduceSum": NUMBERS, "ReduceSumSquare": NUMBERS,
}  # fmt: skip


def reduction(op):
    def draw(g, t):
        span = (0.1, 4) if op == "ReduceLogSum" else (None, None)
        if t == "float16" and op == "ReduceProd":  # its infinities hang on the order
            span = (-1, 1)
        if t in INTEGERS and op in ("ReduceProd", "ReduceSumSquare"):  # onnxruntime saturates
            span = (0 if t in UNSIGNED else -1, 2)
        # At least 1: of none onnxruntime keeps the extents, which ONNX does not say.
        x = g.pick(t, least=1, low=span[0], high=span[1])
        keep = g.number(0, 1)
        if x.rank == 0 or g.chance(0.15):
            axes, inputs, attributes = list(range(x.rank)), [], {}
            if g.opset >= (13 if op == "ReduceSum" else 18) and g.chance(0.5):
                attributes, axes = {"noop_with_empty_axes": 1}, []
                keep = 1
        else:
            axes = [a for a in range(x.rank) if g.chance(0.5)] or [some_axis(g, x)]
            said = [either(g, a, x.rank) if g.opset >= 11 else a for a in axes]
            inputs, attributes = axes_input(g, 13 if op == "ReduceSum" else 18, said)
        shape = [ONE if a in axes else e for a, e in enumerate(x.shape) if keep or a not in axes]
        g.node(op, [x, *inputs], (t, shape), keepdims=keep, **attributes)

    return draw


for op, types in REDUCTIONS.items():
    RULES.append((op, types, 7, reduction(op)))


def arg_reduction(op):
    def draw(g, t):
        x = g.pick(t, range(1, 5), least=1)
        axis, keep = some_axis(g, x), g.number(0, 1)
        more = {"select_last_index": g.number(0, 1)} if g.opset >= 12 else {}
        shape = changed(x, axis, ONE) if keep else x.shape[:axis] + x.shape[axis + 1 :]
        said = either(g, axis, x.rank) if g.opset >= 11 else axis
        g.node(op, [x], ("int64", shape), axis=said, keepdims=keep, **more)

    return draw


for op in ("ArgMax", "ArgMin"):
    RULES.append((op, ("float32", "float64", "int32", "int8", "uint8"), 7, arg_reduction(op)))


def along_axis(op):
    def draw(g, t):
        x = g.pick(t, range(1, 5), least=1)
        axis = some_axis(g, x)
        said = either(g, axis, x.rank) if g.opset >= 11 else axis
        g.node(op, [x], (t, x.shape), axis=None if g.chance(0.1) else said)

    return draw


for op in ("Softmax", "LogSoftmax", "Hardmax"):
    RULES.append((op, FLOATS if op != "Hardmax" else ("float32",), 7, along_axis(op)))


@rule("LpNormalization", ("float32", "float64"))
def lp_normalization(g, t):
    x = g.pick(t, range(1, 5), low=0.25, high=4)
    g.node(
        "LpNormalization",
        [x],
        (t, x.shape),
        axis=either(g, some_axis(g, x), x.rank),
        p=g.number(1, 2),
    )


@rule("MeanVarianceNormalization", ("float32",), 9)
def mean_variance(g, t):
    x = g.pick(t, 4, least=2, low=-4, high=4)  # of equal numbers the variance is a rounding
    axes = [0, 2, 3] if g.chance(0.5) else sorted(int(a) for a in g.rng.choice(4, 2, replace=False))
    g.node("MeanVarianceNormalization", [x], (t, x.shape), axes=axes)


def channels_last_known(g, t, ranks, least=1):
    """A value whose extent 1 is fixed."""
    x = g.pick(t, ranks, lambda v: not v.shape[1].is_open and v.shape[1].least > 0, least)
    return x, x.shape[1]


@rule("BatchNormalization")
def batch_normalization(g, t):
    x, c = channels_last_known(g, t, range(2, 6))
    spans = ((0.5, 2), (-1, 1), (-1, 1), (0.5, 2))
    more = [g.use(g.new(t, (c,), *span, constant=g.chance(0.8))) for span in spans]
    g.node("BatchNormalization", [x, *more], (t, x.shape), epsilon=float(g.rng.uniform(1e-5, 1e-2)))


@rule("InstanceNormalization", ("float32",))
def instance_normalization(g, t):
    x, c = channels_last_known(g, t, range(3, 6), 2)
    g.node("InstanceNormalization", [x, g.use(g.new(t, (c,))), g.use(g.new(t, (c,)))], (t, x.shape))


@rule("GroupNormalization", ("float32",), 18)
def group_normalization(g, t):
    x, c = channels_last_known(g, t, range(3, 5), 2)
    groups = g.one_of([d for d in range(1, c.least + 1) if c.least % d == 0])
    rows = fixed(groups) if g.opset < 21 else c
    g.node(
        "GroupNormalization",
        [x, g.use(g.new(t, (rows,))), g.use(g.new(t, (rows,)))],
        (t, x.shape),
        num_groups=groups,
    )


@rule("LayerNormalization", ("float32", "float64"), 17)
def layer_normalization(g, t):
    x = g.pick(t, range(1, 5), least=2)
    axis = some_axis(g, x)
    more = [g.use(g.new(t, x.shape[axis:])) for _ in range(g.number(1, 2))]
    g.node(
        "LayerNormalization", [x, *more], (t, x.shape), axis=either(g, axis, x.rank), epsilon=1e-3
    )


@rule("RMSNormalization", ("float32", "float64"), 23)
def rms_normalization(g, t):
    x = g.pick(t, range(1, 5), least=1)
    axis = some_axis(g, x)
    g.node(
        "RMSNormalization",
        [x, g.use(g.new(t, x.shape[axis:]))],
        (t, x.shape),
        axis=either(g, axis, x.rank),
        epsilon=1e-3,
    )


@rule("LRN", ("float32",))
def lrn(g, t):
    x, _ = channels_last_known(g, t, 4)
    g.node("LRN", [x], (t, x.shape), size=g.one_of((1, 3, 5)), alpha=0.01, beta=0.75, bias=1.5)


@rule("MatMul", FLOATS + ("int32", "int64", "uint32", "uint64"))
def matmul(g, t):
    x = g.pick(t, range(1, 5), least=1)
    k = x.shape[-1]
    rank = g.one_of((1, 2, 2, 2, x.rank, x.rank))
    if rank == 1:
        y = g.like(t, (k,))
        lead, tail = x.shape[:-2], ()
    else:
        lead_x = x.shape[:-2]
        lead_y = tuple(
            e if g.chance(0.7) else ONE for e in lead_x[max(0, len(lead_x) - rank + 2) :]
        )
        y = g.like(t, lead_y + (k, g.extent(1)))
        lead, tail = joined(lead_x, y.shape[:-2]), (y.shape[-1],)
    need(lead is not None)
    rows = (x.shape[-2],) if x.rank > 1 else ()
    g.node("MatMul", [x, y], (t, lead + rows + tail))


@rule("Gemm", FLOATS)
def gemm(g, t):
    a = g.pick(t, 2, least=1)
    ta, tb = g.number(0, 1), g.number(0, 1)
    m, k = a.shape[::-1] if ta else a.shape
    n = g.extent(1)
    b = g.like(t, (n, k) if tb else (k, n))
    inputs = [a, b]
    if g.opset < 11 or g.chance(0.7):
        forms = [(m, n), (n,), (ONE, n), (m, ONE), (ONE, ONE), (ONE,)]
        inputs.append(g.use(g.new(t, g.one_of(forms))))
    more = {k: v for k, v in {"alpha": 0.5, "beta": 1.5}.items() if g.chance(0.4)}
    g.node("Gemm", inputs, (t, (m, n)), transA=ta, transB=tb, **more)


EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "ij->ji", "bhid,bhjd->bhij", "bhij,bhjd->bhid", "ij->i",
             "i,j->ij", "ij,ij->", "bij,kj->bik", "...ij,...jk->...ik", "ii->i", "bij,bj->bi",
             "bij->bj")  # fmt: skip


@rule("Einsum", ("float32", "float64", "int32"), 12)
def einsum(g, t):
    equation = g.one_of(EQUATIONS)
    extents = {}
    left, right = equation.replace("...", "z").split("->")
    for letter in left:
        extents.setdefault(letter, g.extent(1))
    values = [g.like(t, [extents[c] for c in term]) for term in left.split(",")]
    g.node("Einsum", values, (t, [extents[c] for c in right]), equation=equation)


@rule("MatMulInteger", ("uint8", "int8"), 10)
def matmul_integer(g, t):
    x = g.pick(t, range(2, 4), least=1)
    w = g.use(
        g.new(g.one_of(("int8", "uint8")), shape_of(x.shape[-1], g.number(1, 6)), constant=True)
    )
    zeros = [g.constant(np.array(g.number(0, 3), v.dtype)) for v in (x, w)][: g.number(0, 2)]
    g.node("MatMulInteger", [x, w, *zeros], ("int32", x.shape[:-1] + w.shape[-1:]))


@rule("QuantizeLinear", ("float32",), 10)
def quantize(g, t):
    """There and back: what lies between is a byte, and a step of it no error."""
    x = g.pick(t, range(1, 5))
    kind = g.one_of(("uint8", "int8"))
    scale = g.constant(np.float32(0.125))
    zero = g.constant(np.array(g.number(0, 5), kind))
    y = g.node("QuantizeLinear", [x, scale, zero], (kind, x.shape))
    g.node("DequantizeLinear", [y, scale, zero], ("float32", x.shape))


@rule("Det", ("float32",), 11)
def det(g, t):
    n = g.number(1, 4)
    lead = g.shape(g.number(0, 2), 1)
    g.node("Det", [g.use(g.new(t, lead + shape_of(n, n)))], (t, lead))


def recurrent(op, gates):
    def draw(g, t):
        steps, batch = g.extent(1), g.extent(1)
        width, hidden = g.number(1, 5), g.number(1, 4)
        direction = g.one_of(("forward", "reverse", "bidirectional"))
        d = 2 if direction == "bidirectional" else 1
        x = g.like(t, (steps, batch, fixed(width)))
        inputs = [x]
        for shape in ((d, gates * hidden, width), (d, gates * hidden, hidden)):
            inputs.append(g.new(t, shape_of(*shape), -1, 1, constant=True))
        if g.chance(0.6):
            inputs.append(g.new(t, shape_of(d, 2 * gates * hidden), -1, 1, constant=True))
            if g.chance(0.5):
                lens = (
                    g.new("int32", (batch,), 1, steps.least + 1, constant=False)
                    if g.chance(0.5)
                    else ""
                )
                inputs.append(lens)
                inputs += [
                    g.new(t, (fixed(d), batch, fixed(hidden)))
                    for _ in range(2 if op == "LSTM" else 1)
                ]
        results = [(t, (steps, fixed(d), batch, fixed(hidden)))]
        results += [(t, (fixed(d), batch, fixed(hidden)))] * g.number(0, 2 if op == "LSTM" else 1)
        more = {"linear_before_reset": g.number(0, 1)} if op == "GRU" else {}
        if g.chance(0.2):
            more["clip"] = 1.5
        g.node(op, inputs, *results, hidden_size=hidden, direction=direction, **more)

    return draw


for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    RULES.append((op, ("float32",), 7, recurrent(op, gates)))


@rule("all elements", FLOATS)
def all_elements(g, t):
    """A vector of everything, as classifiers begin."""
    x = g.pick(t, range(1, 5), least=1)
    flat = g.node("Reshape", [x, g.integers([-1])], (t, (product(x.shape),)))
    g.node("ReduceMean", [flat], (t, (ONE,)), keepdims=1)
