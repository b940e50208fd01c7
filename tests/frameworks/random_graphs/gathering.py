# SPDX-License-Identifier: Apache-2.0
"""Operators that read or write at indices."""

import numpy as np
from graph import EVERY, NUMBERS, fixed, need, shape_of
from movement import changed, either, some_axis
from rules import Rules

RULES = Rules(EVERY)
rule = RULES.rule


def indices(g, shape, most, kind=None):
    """Positions below `most` extents at every run, some of them counted from behind."""
    need(most > 0)
    low = -most if g.opset >= 11 and g.chance(0.5) else 0
    return g.use(g.new(kind or g.one_of(("int64", "int64", "int32")), shape, low, most))


@rule("Gather")
def gather(g, t):
    x = g.pick(t, range(1, 5), least=1)
    axis = some_axis(g, x)
    at = indices(g, g.shape(g.one_of((0, 1, 1, 2))), x.shape[axis].least)
    shape = x.shape[:axis] + at.shape + x.shape[axis + 1 :]
    g.node("Gather", [x, at], (t, shape), axis=either(g, axis, x.rank))


@rule("GatherElements", since=11)
def gather_elements(g, t):
    x = g.pick(t, range(1, 5), least=1)
    axis = some_axis(g, x)
    at = indices(g, changed(x, axis, g.extent()), x.shape[axis].least)
    g.node("GatherElements", [x, at], (t, at.shape), axis=either(g, axis, x.rank))


def coordinates(g, shape, depths, signed=True):
    """Rows of one index for each of `depths`."""
    need(all(d > 0 for d in depths))
    arrays = []
    for run in range(3):
        dims = [e.values[run] for e in shape]
        low = [-d if signed and g.opset >= 11 else 0 for d in depths]
        arrays.append(g.rng.integers(low, depths, dims + [len(depths)]))
    return g.use(g.feed("int64", tuple(shape) + shape_of(len(depths)), arrays=arrays))


@rule("GatherND", since=11)
def gather_nd(g, t):
    x = g.pick(t, range(1, 5), least=1)
    batch = g.number(0, x.rank - 1) if g.opset >= 12 and g.chance(0.4) else 0
    depth = g.number(1, x.rank - batch)
    lead = x.shape[:batch] + g.shape(g.number(0, 2), 1)
    at = coordinates(g, lead, [e.least for e in x.shape[batch : batch + depth]])
    more = {"batch_dims": batch} if g.opset >= 12 else {}
    g.node("GatherND", [x, at], (t, lead + x.shape[batch + depth :]), **more)


def reductions(g, t):
    if g.opset < 16 or t not in NUMBERS or g.chance(0.4):
        return {}
    return {
        "reduction": g.one_of(("add", "mul", "max", "min") if g.opset >= 18 else ("add", "mul"))
    }


@rule("ScatterElements", since=9)
def scatter_elements(g, t):
    x = g.pick(t, range(1, 4), least=1)
    op = "Scatter" if g.opset < 11 else "ScatterElements"
    axis = some_axis(g, x)
    more = reductions(g, t)
    length = x.shape[axis].least
    count = g.number(1, length)
    shape = [fixed(count) if a == axis else e for a, e in enumerate(x.shape)]
    arrays = []
    for run in range(3):  # no position twice, unless it is reduced
        dims = [e.values[run] for e in shape]
        order = np.argsort(g.rng.random(dims[:axis] + [length] + dims[axis + 1 :]), axis)
        arrays.append(np.take(order, range(count), axis).astype(np.int64))
    at = g.use(g.feed("int64", shape, arrays=arrays))
    updates = g.like(t, shape)
    g.node(
        op,
        [x, at, updates],
        (t, x.shape),
        axis=either(g, axis, x.rank) if g.opset >= 11 else axis,
        **more,
    )


@rule("ScatterND", since=11)
def scatter_nd(g, t):
    x = g.pick(t, range(1, 4), least=1)
    depth = g.number(1, x.rank)
    more = reductions(g, t)
    rows = 1 if not more else g.number(1, 4)
    at = coordinates(g, shape_of(rows), [e.least for e in x.shape[:depth]])
    updates = g.like(t, shape_of(rows) + x.shape[depth:])
    g.node("ScatterND", [x, at, updates], (t, x.shape), **more)
