# SPDX-License-Identifier: Apache-2.0
"""Branches, loops, scans and sequences, with bodies drawn from the same rules."""

import numpy as np
from graph import FLOATS, KINDS, Value, fixed, need
from onnx import helper
from rules import Rules

RULES = Rules(("float32", "int64"), 11)
rule = RULES.rule


def info(value):
    return helper.make_tensor_value_info(value.name, KINDS[value.dtype], None)


def graph_of(body, inputs, outputs, name):
    """`outputs` are values of the body; what comes from outside passes an Identity."""
    made = {o for n in body.nodes for o in n.output}
    results = []
    for value in outputs:
        if value.name not in made or value.name in [r.name for r in results]:
            value = body.node("Identity", [value], (value.dtype, value.shape))
        results.append(value)
    given = [helper.make_tensor_value_info(v.name, KINDS[v.dtype], declared(v)) for v in inputs]
    return helper.make_graph(body.nodes, name, given, [info(r) for r in results])


def declared(value):
    return [None if e.is_open else e.values[0] for e in value.shape]


def mixed(body, x, count):
    """`count` steps over x that keep its type and shape."""
    t = x.dtype
    for _ in range(count):
        way = body.number(0, 4)
        if way == 0:
            y = body.like(t, x.shape)
            x = body.node(
                body.one_of(
                    ("Add", "Sub", "Max", "Min")
                    if body.opset >= 12 or t in FLOATS
                    else ("Add", "Sub")
                ),
                [x, y],
                (t, x.shape),
            )
        elif way == 1 and t in FLOATS:
            op = body.one_of(("Tanh", "Sigmoid", "Relu", "Neg", "Abs", "Softsign"))
            x = body.node(op, [x], (t, x.shape))
        elif way == 2:
            y, shape = body.partner(t, x.shape)
            if shape != x.shape:
                continue
            x = body.node("Add", [x, y], (t, x.shape))
        elif way == 3 and t in FLOATS:
            x = body.node("Mul", [x, body.constant(np.array(0.5, t))], (t, x.shape))
        else:
            x = body.node("Neg", [x], (t, x.shape))
    return x


def condition_of(g):
    """A bool scalar: of the data, of a shape, or constant."""
    way = g.number(0, 3)
    if way == 0:
        return g.constant(np.array(g.chance(0.5)))
    if way == 1:
        return g.use(g.feed("bool", ()))
    if way == 2:
        x = g.pick("float32", range(1, 4))
        size = g.node("Size", [x], ("int64", ()))
        return g.node("Greater", [size, g.constant(np.int64(g.number(0, 12)))], ("bool", ()))
    x = g.pick("float32", range(1, 4), least=1)
    top = g.node("ReduceMax", [x], ("float32", ()), keepdims=0)
    return g.node("Less", [top, g.constant(np.float32(2))], ("bool", ()))


@rule("If")
def branch(g, t):
    x = g.pick(t)
    condition = condition_of(g)
    count = g.number(1, 2)
    shapes = [(t, x.shape)] * count
    branches = {}
    for word in ("then_branch", "else_branch"):
        body = g.body()
        results = [mixed(body, x, body.number(0, 3)) for _ in range(count)]
        branches[word] = graph_of(body, [], results, word)
    g.node("If", [condition], *shapes, **branches)


@rule("Loop")
def loop(g, t):
    trips = g.number(0, 4)
    carried = [g.pick(t) for _ in range(g.number(1, 2))]
    body = g.body()
    at, keep = counter_of(body)
    inside = [body_input(body, v.dtype, v.shape) for v in carried]
    results = [mixed(body, v, body.number(1, 3)) for v in inside]
    scans, scan_shapes = [], []
    ends_early = g.chance(0.3)
    if g.chance(0.6) and not ends_early and trips:  # of no trip onnxruntime has no extents
        row = body.node("Neg", [results[0]], (t, carried[0].shape))
        scans.append(row)
        scan_shapes.append((t, (fixed(trips), *carried[0].shape)))
    if ends_early:
        last = body.constant(np.int64(g.number(0, 3)))
        going = body.node("Less", [at, last], ("bool", ()))
    else:
        going = body.node("Identity", [keep], ("bool", ()))
    graph = graph_of(body, [at, keep, *inside], [going, *results, *scans], "body")
    start = g.constant(np.array(True)) if g.chance(0.5) else ""
    shapes = [(t, v.shape) for v in carried] + scan_shapes
    need(all(v.shape == r.shape for v, r in zip(carried, results)))
    g.node("Loop", [g.constant(np.int64(trips)), start, *carried], *shapes, body=graph)


def body_input(body, dtype, shape):
    value = Value(body.name("i"), dtype, shape)
    body.values.append(value)
    return value


def counter_of(body):
    return Value(body.name("i"), "int64", ()), Value(body.name("i"), "bool", ())


@rule("Scan")
def scan(g, t):
    sequence = g.pick(t, range(1, 4), least=1)
    state = g.like(t, sequence.shape[1:])
    body = g.body()
    held, row = (body_input(body, t, sequence.shape[1:]) for _ in range(2))
    both = body.node("Add", [held, row], (t, row.shape))
    result = mixed(body, both, body.number(0, 3))
    given = body.node("Neg", [both], (t, row.shape))
    graph = graph_of(body, [held, row], [result, given], "body")
    more = {}
    if g.chance(0.4):
        more["scan_input_directions"] = [g.number(0, 1)]
    if g.chance(0.4):
        more["scan_output_directions"] = [g.number(0, 1)]
    g.node(
        "Scan",
        [state, sequence],
        (t, state.shape),
        (t, sequence.shape),
        num_scan_inputs=1,
        body=graph,
        **more,
    )


@rule("sequence", ("float32", "int64"))
def sequence(g, t):
    x = g.pick(t, range(1, 4))
    values = [x] + [g.like(t, x.shape) for _ in range(g.number(0, 2))]
    whole = g.node("SequenceConstruct", values, (t, ()))
    g.values.remove(whole)
    if g.chance(0.4):
        whole = g.node("SequenceInsert", [whole, g.like(t, x.shape)], (t, ()))
        g.values.remove(whole)
        values.append(None)
    way = g.number(0, 2)
    if way == 0:
        at = g.constant(np.int64(g.number(-len(values), len(values) - 1)))
        g.node("SequenceAt", [whole, at], (t, x.shape))
    elif way == 1:
        shape = (fixed(len(values)), *x.shape)
        g.node("ConcatFromSequence", [whole], (t, shape), axis=0, new_axis=1)
    else:
        g.node("SequenceLength", [whole], ("int64", ()))


@rule("split to sequence", ("float32",))
def split_sequence(g, t):
    x = g.pick(t, range(1, 4))
    axis = g.number(0, x.rank - 1)
    need(not x.shape[axis].is_open and x.shape[axis].least > 0)
    whole = g.node("SplitToSequence", [x], (t, ()), axis=axis, keepdims=0)
    g.values.remove(whole)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    last = g.constant(np.int64(g.number(0, x.shape[axis].least - 1)))
    g.node("SequenceAt", [whole, last], (t, shape))
