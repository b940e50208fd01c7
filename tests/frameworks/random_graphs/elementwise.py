# SPDX-License-Identifier: Apache-2.0
"""Operators of one element each, and of broadcasts. Each function draws one use of an operator."""

import numpy as np
from graph import EVERY, FLOATS, INTEGERS, KINDS, NUMBERS, ONE, SIGNED, UNSIGNED, joined, need
from rules import Rules

RULES = Rules()
rule = RULES.rule


#    operator: first opset, attributes that may be drawn, interval of its numbers
UNARY = {
    "Abs": (7, {}, None), "Acos": (7, {}, (-1, 1)), "Acosh": (9, {}, (1, 9)),
    "Asin": (7, {}, (-1, 1)), "Asinh": (9, {}, None), "Atan": (7, {}, None),
    "Atanh": (9, {}, (-0.9, 0.9)), "Ceil": (7, {}, None), "Celu": (12, {"alpha": (0.5, 2)}, None),
    "Cos": (7, {}, None), "Cosh": (9, {}, None), "Elu": (7, {"alpha": (0.1, 2)}, None),
    "Erf": (9, {}, None), "Exp": (7, {}, None), "Floor": (7, {}, None), "Gelu": (20, {}, None),
    "HardSigmoid": (7, {"alpha": (0.1, 0.5), "beta": (0.2, 0.6)}, None),
    "HardSwish": (14, {}, None), "Identity": (7, {}, None),
    "LeakyRelu": (7, {"alpha": (-0.5, 1.5)}, None), "Log": (7, {}, (0.1, 9)),
    "Mish": (18, {}, None), "Neg": (7, {}, None), "Reciprocal": (7, {}, (0.2, 4)),
    "Relu": (7, {}, None), "Round": (11, {}, None),
    "Selu": (7, {"alpha": (0.5, 2), "gamma": (0.5, 2)}, None),
    "Shrink": (9, {"lambd": (0.1, 1.5), "bias": (-1, 1)}, None), "Sigmoid": (7, {}, None),
    "Sign": (9, {}, None), "Sin": (7, {}, None), "Sinh": (9, {}, None),
    "Softplus": (7, {}, None), "Softsign": (7, {}, None), "Sqrt": (7, {}, (0, 9)),
    "Swish": (24, {"alpha": (0.2, 2)}, None), "Tan": (7, {}, (-1.4, 1.4)), "Tanh": (7, {}, None),
    "ThresholdedRelu": (10, {"alpha": (0.2, 1.5)}, None), "BitwiseNot": (18, {}, None),
    "Not": (7, {}, None),
}  # fmt: skip


def unary(op, attributes, span):
    def draw(g, t):
        bounds = span if span and t in FLOATS else (None, None)
        x = g.pick(t, low=bounds[0], high=bounds[1])
        chosen = {k: float(g.rng.uniform(*v)) for k, v in attributes.items() if g.chance(0.7)}
        if op == "Gelu" and g.chance(0.5):
            chosen["approximate"] = "tanh"
        g.node(op, [x], (t, x.shape), **chosen)

    return draw


for op, (since, attributes, span) in UNARY.items():
    types = ("bool",) if op == "Not" else INTEGERS if op == "BitwiseNot" else EVERY
    RULES.append((op, types, since, unary(op, attributes, span)))


def two(g, t, low=None, high=None):
    x = g.pick(t)
    y, shape = g.partner(t, x.shape, low, high)
    return (x, y, shape) if low is not None or g.chance(0.5) else (y, x, shape)


def arithmetic(op):
    def draw(g, t):
        # A quotient by what is nearly 0 shows how a runtime approximates, and nothing else.
        x, y, shape = two(g, t, 1, 7) if op == "Div" else two(g, t)
        g.node(op, [x, y], (t, shape))

    return draw


for op in ("Add", "Sub", "Mul", "Div"):
    RULES.append((op, NUMBERS, 7, arithmetic(op)))


@rule("Pow", FLOATS + ("int32", "int64"))
def power(g, t):
    x = g.pick(t, low=0.1, high=3) if t in FLOATS else g.pick(t)
    kinds = FLOATS[:1] + ("int32", "int64") if g.opset >= 12 and t == "float32" else (t,)
    kind = g.one_of(kinds)
    y, shape = g.partner(kind, x.shape, 0, 4)
    g.node("Pow", [x, y], (t, shape))


@rule("Mod", NUMBERS, 10)
def modulo(g, t):
    x, y, shape = two(g, t, 1, 7)
    truncates = 1 if t in FLOATS or g.chance(0.4) else 0
    g.node("Mod", [x, y], (t, shape), fmod=truncates)


def several(op):
    def draw(g, t):
        x = g.pick(t)
        values, shape = [x], x.shape
        for _ in range(g.number(0, 2)):
            y, shape = g.partner(t, shape)
            values.append(y)
        need(g.opset >= 8 or all(v.shape == x.shape for v in values))
        g.node(op, values, (t, shape))

    return draw


for op in ("Max", "Min", "Sum", "Mean"):
    RULES.append((op, NUMBERS if op in ("Max", "Min") else FLOATS, 7, several(op)))


def comparison(op):
    def draw(g, t):
        x, y, shape = two(g, t)
        g.node(op, [x, y], ("bool", shape))

    return draw


for op, since in (
    ("Equal", 7),
    ("Less", 7),
    ("Greater", 7),
    ("LessOrEqual", 12),
    ("GreaterOrEqual", 12),
):
    RULES.append((op, EVERY if op == "Equal" else NUMBERS, since, comparison(op)))
for op in ("And", "Or", "Xor"):
    RULES.append((op, ("bool",), 7, comparison(op)))
for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    RULES.append((op, INTEGERS, 18, arithmetic(op)))


@rule("BitShift", UNSIGNED, 11)
def shift(g, t):
    x, y, shape = two(g, t, 0, 7)
    g.node("BitShift", [x, y], (t, shape), direction=g.one_of(("LEFT", "RIGHT")))


@rule("PRelu", FLOATS + ("int32", "int64", "uint32", "uint64"))
def prelu(g, t):
    x = g.pick(t)
    slope = g.use(g.new(t, tuple(e if g.chance(0.5) else ONE for e in x.shape)))
    if g.chance(0.3):
        slope = g.use(g.new(t, slope.shape[g.number(0, x.rank) :]))
    need(joined(slope.shape, x.shape) == x.shape)
    g.node("PRelu", [x, slope], (t, x.shape))


@rule("Where", EVERY, 9)
def where(g, t):
    x, y, shape = two(g, t)
    condition, shape = g.partner("bool", shape)
    g.node("Where", [condition, x, y], (t, shape))


@rule("Clip", NUMBERS)
def clip(g, t):
    x = g.pick(t)
    low, high = sorted((g.number(0 if t in UNSIGNED else -3, 4), g.number(0, 6)))
    if g.opset < 11:
        need(t in FLOATS)
        some = {"min": float(low), "max": float(high)}
        g.node("Clip", [x], (t, x.shape), **{k: v for k, v in some.items() if g.chance(0.8)})
        return

    bounds = [g.constant(np.array(b, t)) if g.chance(0.8) else "" for b in (low, high)]
    if g.chance(0.1):
        bounds[0] = g.use(g.feed(t, (), arrays=[np.array(low, t)] * 3))
    while bounds and bounds[-1] == "":
        bounds.pop()
    g.node("Clip", [x, *bounds], (t, x.shape))


@rule("IsNaN", FLOATS, 9)
def is_nan(g, t):
    x = g.pick(t)
    g.node("IsNaN", [x], ("bool", x.shape))


@rule("IsInf", ("float32", "float64"), 10)
def is_inf(g, t):
    x = g.pick(t)
    both = {k: g.number(0, 1) for k in ("detect_negative", "detect_positive") if g.chance(0.5)}
    g.node("IsInf", [x], ("bool", x.shape), **both)


@rule("Cast", EVERY, 9)
def cast(g, t):
    x = g.pick(t)
    to = g.one_of([k for k in EVERY if k != t])
    if t in FLOATS + SIGNED and to in INTEGERS:  # what is out of range is not defined
        low = 0 if to in UNSIGNED else -100
        x = g.pick(t, low=low, high=100)
    g.node("Cast", [x], (to, x.shape), to=KINDS[to])


@rule("CastLike", EVERY, 15)
def cast_like(g, t):
    x, other = (
        g.pick(t, low=0, high=100),
        g.pick(g.one_of(("float32", "int64", "float16", "uint8"))),
    )
    g.node("CastLike", [x, other], (other.dtype, x.shape))


@rule("Dropout", FLOATS)
def dropout(g, t):
    x = g.pick(t)
    g.node("Dropout", [x], (t, x.shape))
