# SPDX-License-Identifier: Apache-2.0
"""Patterns that a converter fuses or rewrites, with the small differences that must stop it."""

import numpy as np
from graph import ONE, fixed, need, shape_of
from images import conv, image
from movement import axes_input, changed
from products import batch_normalization, gemm, matmul
from rules import Rules

T = "float32"
RULES = Rules((T,), 9)
rule = RULES.rule


def last(g):
    return g.use(g.values[-1])


ACTIVATIONS = (
    "Relu",
    "Sigmoid",
    "Tanh",
    "LeakyRelu",
    "HardSigmoid",
    "Elu",
    "Clip",
    "PRelu",
    "HardSwish",
    "Softplus",
)


def activation(g, x):
    op = g.one_of(ACTIVATIONS)
    need(op != "HardSwish" or g.opset >= 14)
    if op == "Clip":
        if g.opset < 11:
            return g.node("Clip", [x], (T, x.shape), min=0.0, max=6.0)
        bounds = [g.constant(np.float32(b)) for b in (g.one_of((0, -1)), 6)]
        return g.node("Clip", [x, *bounds], (T, x.shape))
    if op == "PRelu":
        need(x.rank > 1 and not x.shape[1].is_open)
        slope = g.new(T, shape_of(x.shape[1], *[1] * (x.rank - 2)), constant=True)
        return g.node("PRelu", [x, g.use(slope)], (T, x.shape))
    return g.node(op, [x], (T, x.shape))


def per_channel(g, x, low=None, high=None):
    need(x.rank > 1 and not x.shape[1].is_open)
    shape = [ONE] * (x.rank - 2)
    return g.use(g.new(T, (x.shape[1], *shape), low, high, constant=True))


def tail(g, x, steps):
    """What stands behind a product: scales, offsets, residuals, activations, in any order."""
    for _ in range(steps):
        way = g.number(0, 5)
        if way == 0:
            x = activation(g, x)
        elif way == 1:
            x = g.node("Add", [x, per_channel(g, x)], (T, x.shape))
        elif way == 2:
            x = g.node("Mul", [x, per_channel(g, x)], (T, x.shape))
        elif way == 3:
            other = g.like(T, x.shape)
            x = g.node("Add", [x, other] if g.chance(0.5) else [other, x], (T, x.shape))
        elif way == 4:
            gate = g.node("Sigmoid", [x], (T, x.shape))
            x = g.node("Mul", [x, gate], (T, x.shape))
        else:
            x = g.node(
                g.one_of(("Mul", "Div", "Sub")),
                [x, g.constant(np.float32(g.one_of((2, 0.5, -1))))],
                (T, x.shape),
            )
    return x


@rule("conv chain")
def conv_chain(g, t):
    if g.chance(0.2):
        padded(g)
    conv(g, T)
    x = last(g)
    if g.chance(0.5):
        spans = ((0.5, 2), (-1, 1), (-1, 1), (0.5, 2))
        more = [g.use(g.new(T, (x.shape[1],), *s, constant=True)) for s in spans]
        x = g.node("BatchNormalization", [x, *more], (T, x.shape))
    tail(g, x, g.number(0, 3))
    if g.chance(0.5):
        conv(g, T)
        tail(g, last(g), g.number(0, 2))


def padded(g):
    x = image(g, space=2)
    pads = [0, 0, g.number(0, 1), g.number(0, 1)] * 2
    shape = list(x.shape)
    for i in (2, 3):
        shape[i] = x.shape[i].map(f"({{}}+{2 * pads[i]})", lambda v: v + 2 * pads[i])
    if g.opset < 11:
        g.node("Pad", [x], (T, shape), pads=pads)
    else:
        g.node("Pad", [x, g.integers(pads)], (T, shape))


@rule("product chain")
def product_chain(g, t):
    g.one_of((gemm, matmul))(g, T)
    x = last(g)
    if x.rank and not x.shape[-1].is_open and g.chance(0.7):
        x = g.node("Add", [x, g.use(g.new(T, x.shape[-1:], constant=True))], (T, x.shape))
    if g.chance(0.5):
        x = gelu(g, x)
    if g.chance(0.4):
        g.node("Add", [x, g.like(T, x.shape)], (T, x.shape))


def scalar(g, x):
    return g.constant(np.float32(x))


def gelu(g, x):
    if g.chance(0.5):
        y = g.node("Div", [x, scalar(g, 2**0.5)], (T, x.shape))
        y = g.node("Erf", [y], (T, x.shape))
        y = g.node("Add", [y, scalar(g, 1)], (T, x.shape))
        y = g.node("Mul", [x, y], (T, x.shape))
        return g.node("Mul", [y, scalar(g, g.one_of((0.5, 0.5, 0.25)))], (T, x.shape))
    y = g.node("Mul", [x, scalar(g, 1.702)], (T, x.shape))
    y = g.node("Sigmoid", [y], (T, x.shape))
    return g.node("Mul", [x, y], (T, x.shape))


def mean(g, x, axis):
    inputs, more = axes_input(g, 18, [axis])
    return g.node(
        "ReduceMean",
        [x, *inputs],
        (T, changed(x, x.rank - 1 if axis < 0 else axis, ONE)),
        keepdims=1,
        **more,
    )


@rule("layer norm chain")
def layer_norm(g, t):
    x = g.pick(T, range(2, 5), least=2)
    axis = -1 if g.chance(0.8) else 0
    narrow = mean(g, x, axis)
    d = g.node("Sub", [x, narrow], (T, x.shape))
    square = (
        g.node("Pow", [d, scalar(g, 2)], (T, x.shape))
        if g.chance(0.7)
        else g.node("Mul", [d, d], (T, x.shape))
    )
    variance = mean(g, square, axis)
    s = g.node("Add", [variance, scalar(g, 1e-3)], (T, variance.shape))
    s = g.node("Sqrt", [s], (T, s.shape))
    y = g.node("Div", [d, s], (T, x.shape))
    if not x.shape[-1].is_open:
        if g.chance(0.7):
            y = g.node("Mul", [y, g.use(g.new(T, x.shape[-1:], constant=True))], (T, x.shape))
        if g.chance(0.7):
            g.node("Add", [y, g.use(g.new(T, x.shape[-1:], constant=True))], (T, x.shape))


@rule("attention chain")
def attention(g, t):
    batch, rows, columns = g.extent(1, 2), g.extent(1), g.extent(1)
    heads, width = g.number(1, 3), g.number(1, 4)
    q = g.like(T, (batch, rows, fixed(heads * width)))
    split = []
    for x, length in (
        (q, rows),
        *(((g.like(T, (batch, columns, fixed(heads * width)))), columns) for _ in range(2)),
    ):
        shape = (batch, length, fixed(heads), fixed(width))
        y = g.node("Reshape", [x, g.integers([0, 0, heads, width])], (T, shape))
        split.append(
            g.node(
                "Transpose",
                [y],
                (T, (batch, fixed(heads), length, fixed(width))),
                perm=[0, 2, 1, 3],
            )
        )
    q, k, v = split
    k = g.node(
        "Transpose", [k], (T, (batch, fixed(heads), fixed(width), columns)), perm=[0, 1, 3, 2]
    )
    shape = (batch, fixed(heads), rows, columns)
    scores = g.node("MatMul", [q, k], (T, shape))
    if g.chance(0.8):
        scores = g.node(g.one_of(("Mul", "Div")), [scores, scalar(g, width**0.5)], (T, shape))
    if g.chance(0.5):
        mask = g.use(
            g.new(T, (g.one_of((batch, ONE)), ONE, g.one_of((rows, ONE)), columns), constant=False)
        )
        scores = g.node("Add", [scores, mask], (T, shape))
    p = g.node("Softmax", [scores], (T, shape), axis=3)
    y = g.node("MatMul", [p, v], (T, (batch, fixed(heads), rows, fixed(width))))
    y = g.node("Transpose", [y], (T, (batch, rows, fixed(heads), fixed(width))), perm=[0, 2, 1, 3])
    g.node(
        "Reshape", [y, g.integers([0, 0, heads * width])], (T, (batch, rows, fixed(heads * width)))
    )


@rule("shuffle chain")
def shuffle(g, t):
    x = image(g, space=2, channels=2)
    n, c, h, w = x.shape
    parts = shape_of(n, 2, c.values[0] // 2, h, w)
    words = [0, 2, c.values[0] // 2]
    need(not (h.is_open or w.is_open))
    y = g.node("Reshape", [x, g.integers([*words, h.values[0], w.values[0]])], (T, parts))
    y = g.node("Transpose", [y], (T, (n, parts[2], parts[1], h, w)), perm=[0, 2, 1, 3, 4])
    y = g.node("Reshape", [y, g.integers([0, -1, h.values[0], w.values[0]])], (T, x.shape))
    if g.chance(0.5):
        conv(g, T)


@rule("squeeze and excite chain")
def squeeze_excite(g, t):
    x = image(g, space=2)
    c = x.shape[1]
    y = g.node("GlobalAveragePool", [x], (T, (*x.shape[:2], ONE, ONE)))
    for _ in range(2):
        w = g.use(g.new(T, (c, c, ONE, ONE), -1, 1, constant=True))
        y = g.node("Conv", [y, w], (T, y.shape), kernel_shape=[1, 1])
        y = activation(g, y)
    g.node("Mul", [x, y], (T, x.shape))


@rule("normalized product chain")
def normalized(g, t):
    g.one_of((gemm, conv))(g, T)
    need(last(g).rank in (2, 4))
    batch_normalization(g, T)
    activation(g, last(g))


@rule("transposes chain")
def transposes(g, t):
    x = g.pick(T, 4)
    perm = [int(p) for p in g.rng.permutation(4)]
    y = g.node("Transpose", [x], (T, [x.shape[p] for p in perm]), perm=perm)
    y = tail_of_one(g, y)
    back = [int(p) for p in np.argsort(perm)] if g.chance(0.7) else perm
    g.node("Transpose", [y], (T, [y.shape[p] for p in back]), perm=back)


def tail_of_one(g, x):
    for _ in range(g.number(0, 2)):
        x = g.node(g.one_of(("Relu", "Neg", "Abs", "Sigmoid")), [x], (T, x.shape))
    return x


@rule("quantized chain", since=13)
def quantized(g, t):
    """x -> q -> dq -> Conv or MatMul with quantized weights, as quantizers write it."""
    x = image(g, space=2)
    scale, zero = g.constant(np.float32(0.125)), g.constant(np.array(0, np.int8))
    y = g.node("QuantizeLinear", [x, scale, zero], ("int8", x.shape))
    y = g.node("DequantizeLinear", [y, scale, zero], (T, x.shape))
    g.node("Relu", [y], (T, x.shape))
