# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements, choose them, or make them out of shapes."""

import numpy as np
from graph import EVERY, FLOATS, KINDS, NUMBERS, ONE, Extent, fixed, need, product, shape_of
from onnx import numpy_helper
from rules import Rules

RULES = Rules(EVERY)
rule = RULES.rule


def either(g, axis, rank):
    """The axis, counted from one of both ends."""
    return axis - rank if g.chance(0.4) else axis


def some_axis(g, x):
    need(x.rank > 0)
    return g.number(0, x.rank - 1)


def changed(x, axis, extent):
    return x.shape[:axis] + (extent,) + x.shape[axis + 1 :]


def axes_input(g, since, axes):
    """(inputs, attributes) that say `axes`, as the opset has them."""
    return ([g.integers(axes)], {}) if g.opset >= since else ([], {"axes": list(axes)})


@rule("Transpose")
def transpose(g, t):
    x = g.pick(t)
    if g.chance(0.2):
        g.node("Transpose", [x], (t, x.shape[::-1]))
        return
    perm = [int(p) for p in g.rng.permutation(x.rank)]
    g.node("Transpose", [x], (t, [x.shape[p] for p in perm]), perm=perm or None)


@rule("Reshape")
def reshape(g, t):
    """Neighbours joined, a fixed extent split in two, a 1 put in; one extent may be left open."""
    x = g.pick(t)
    shape = list(x.shape)
    for _ in range(g.number(1, 3)):
        way = g.number(0, 2)
        if way == 0 and len(shape) > 1:
            at = g.number(0, len(shape) - 2)
            shape[at : at + 2] = [product(shape[at : at + 2])]
        elif way == 1:
            splits = [
                i for i, e in enumerate(shape) if not e.is_open and e.values[0] in (4, 6, 8, 12)
            ]
            if splits:
                at = g.one_of(splits)
                a = g.one_of((2, shape[at].values[0] // 2))
                shape[at : at + 1] = [fixed(a), fixed(shape[at].values[0] // a)]
        else:
            shape.insert(g.number(0, len(shape)), ONE)
    open_places = [i for i, e in enumerate(shape) if e.is_open]
    words = [-1 if e.is_open else e.values[0] for e in shape]
    for i in open_places:
        if i < x.rank and shape[i] == x.shape[i]:
            words[i] = 0
    if 0 in [e.values[0] for e in shape]:
        need(g.opset >= 14 and not open_places)
        g.node("Reshape", [x, g.integers(words)], (t, shape), allowzero=1)
        return
    if words.count(-1) == 0 and words and g.chance(0.4):
        words[g.number(0, len(words) - 1)] = -1
    if words.count(-1) <= 1:
        g.node("Reshape", [x, g.integers(words)], (t, shape))
        return
    target = shape_tensor(g, x, shape)
    g.node("Reshape", [x, target], (t, shape))


def shape_tensor(g, x, shape):
    """An int64 vector of these extents, the open ones gathered from the shape of x."""
    whole = g.node("Shape", [x], ("int64", shape_of(x.rank)))
    parts = []
    for e in shape:
        if e.is_open:
            need(e in x.shape)
            at = g.integers([x.shape.index(e)])
            parts.append(g.node("Gather", [whole, at], ("int64", shape_of(1)), axis=0))
        else:
            parts.append(g.integers([e.values[0]]))
    need(parts)
    return g.node("Concat", parts, ("int64", shape_of(len(shape))), axis=0)


@rule("Flatten")
def flatten(g, t):
    x = g.pick(t)
    axis = g.number(0, x.rank)
    shape = (product(x.shape[:axis]), product(x.shape[axis:]))
    g.node(
        "Flatten",
        [x],
        (t, shape),
        axis=axis - x.rank if g.opset >= 11 and 0 < x.rank != axis else axis,
    )


@rule("Squeeze")
def squeeze(g, t):
    x = g.pick(t)
    ones = [i for i, e in enumerate(x.shape) if e == ONE]
    if not ones:
        axis = g.number(0, x.rank)
        inputs, attributes = axes_input(g, 13, [axis])
        wide = x.shape[:axis] + (ONE,) + x.shape[axis:]
        x = g.node("Unsqueeze", [x, *inputs], (t, wide), **attributes)
        ones = [axis]
    axes = [i for i in ones if g.chance(0.7)] or ones[:1]
    inputs, attributes = axes_input(
        g, 13, [either(g, a, x.rank) if g.opset >= 11 else a for a in axes]
    )
    if x.is_fixed and g.chance(0.2):
        axes, inputs, attributes = ones, [], {}
    g.node(
        "Squeeze",
        [x, *inputs],
        (t, [e for i, e in enumerate(x.shape) if i not in axes]),
        **attributes,
    )


@rule("Unsqueeze")
def unsqueeze(g, t):
    x = g.pick(t, range(0, 5))
    count = g.number(1, 2)
    rank = x.rank + count
    axes = [int(a) for a in g.rng.choice(rank, count, replace=False)]
    shape = list(x.shape)
    for axis in sorted(axes):
        shape.insert(axis, ONE)
    said = [either(g, a, rank) if g.opset >= 11 else a for a in axes]
    inputs, attributes = axes_input(g, 13, said)
    g.node("Unsqueeze", [x, *inputs], (t, shape), **attributes)


@rule("Concat")
def concat(g, t):
    x = g.pick(t, range(1, 6))
    axis = some_axis(g, x)
    values, lengths = [x], [x.shape[axis]]
    for _ in range(g.number(0, 2)):
        known = [
            v for v in g.visible()
            if v.dtype == t and v.rank == x.rank and changed(v, axis, ONE) == changed(x, axis, ONE)
        ]  # fmt: skip
        if known and g.chance(0.6):
            y = g.use(g.one_of(known))
        else:
            y = g.use(g.new(t, changed(x, axis, g.extent())))
        values.append(y)
        lengths.append(y.shape[axis])
    g.node(
        "Concat",
        values,
        (t, changed(x, axis, total(lengths))),
        axis=either(g, axis, x.rank) if g.opset >= 11 else axis,
    )


def total(lengths):
    if all(not e.is_open for e in lengths):
        return fixed(sum(e.values[0] for e in lengths))
    names = sorted(e.name or str(e.values[0]) for e in lengths if e.is_open or e.values[0])
    values = np.sum([e.values for e in lengths], axis=0)
    return Extent(values, names[0] if len(names) == 1 else "(" + "+".join(names) + ")")


@rule("Split")
def split(g, t):
    x = g.pick(t, range(1, 6))
    axis = some_axis(g, x)
    e = x.shape[axis]
    said = either(g, axis, x.rank) if g.opset >= 11 else axis
    need(not e.is_open and e.values[0] > 1)
    whole = e.values[0]
    if g.chance(0.5):
        parts = g.number(2, min(3, whole))
        each = -(-whole // parts)
        sizes = [each] * (whole // each) + ([whole % each] if whole % each else [])
        need(len(sizes) == parts)
        need(g.opset >= 18 or whole % parts == 0)
        inputs, attributes = [], {"num_outputs": parts} if g.opset >= 18 else {}
    else:
        cut = sorted(g.number(0, whole) for _ in range(g.number(1, 2)))
        sizes = [int(s) for s in np.diff([0, *cut, whole])]
        inputs, attributes = ([g.integers(sizes)], {}) if g.opset >= 13 else ([], {"split": sizes})
    g.node(
        "Split",
        [x, *inputs],
        *[(t, changed(x, axis, fixed(s))) for s in sizes],
        axis=said,
        **attributes,
    )


@rule("Slice")
def slice_of(g, t):
    x = g.pick(t, range(1, 6))
    axes = [a for a in range(x.rank) if g.chance(0.5)] or [some_axis(g, x)]
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for a in axes:
        step = 1 if g.opset < 10 or g.chance(0.6) else g.one_of((2, 3, -1, -2))
        if step > 0:
            start, end = (
                g.one_of((0, 1, 2, -1, -2, -3)),
                g.one_of((1, 2, 4, -1, -2, 2**31 - 1, 2**62)),
            )
        else:
            start, end = (
                g.one_of((-1, -2, 3, 2**31 - 1)),
                g.one_of((0, 1, -3, -(2**31) + 1, -(2**62))),
            )
        text = f"slice({{}},{start},{end},{step})"
        shape[a] = x.shape[a].map(text, lambda v: len(range(v)[slice(*clamp(v, start, end, step))]))
        if x.shape[a].is_open and (start, step) == (0, 1) and end >= 2**31 - 1:
            shape[a] = x.shape[a]
        starts.append(start), ends.append(end), steps.append(step)
    said = [either(g, a, x.rank) if g.opset >= 10 else a for a in axes]
    if g.opset < 10:
        g.node("Slice", [x], (t, shape), starts=starts, ends=ends, axes=said)
        return
    kind = "int32" if g.chance(0.2) and max(map(abs, starts + ends)) < 2**31 else "int64"
    inputs = [g.integers(v, kind) for v in (starts, ends, said)]
    if set(steps) != {1} or g.chance(0.5):
        inputs.append(g.integers(steps, kind))
    g.node("Slice", [x, *inputs], (t, shape))


def clamp(extent, start, end, step):
    """ONNX's starts and ends as Python's slice has them: backwards past the front is None."""
    if step < 0 and end < -extent:
        end = None
    return start, end, step


@rule("Expand", since=8)
def expand(g, t):
    x = g.pick(t)
    shape = [
        g.number(1, 4)
        if e == ONE and g.chance(0.6)
        else (1 if e.is_open or g.chance(0.3) else e.values[0])
        for e in x.shape
    ]
    front = [g.number(1, 3) for _ in range(g.number(0, 1))]
    out = [fixed(s) if e == ONE else e for s, e in zip(shape, x.shape)]
    if not front and shape and g.chance(0.2):
        shape = shape[1:]
        out = list(x.shape[:1]) + out[1:]
    need(front or shape)
    g.node("Expand", [x, g.integers(front + shape)], (t, list(shape_of(*front)) + out))


@rule("Tile")
def tile(g, t):
    x = g.pick(t, range(1, 5))
    repeats = [g.one_of((1, 1, 2, 3)) if not e.is_open or g.chance(0.3) else 1 for e in x.shape]
    shape = [
        e if r == 1 else e.map(f"({{}}*{r})", lambda v: v * r) for e, r in zip(x.shape, repeats)
    ]
    g.node("Tile", [x, g.integers(repeats)], (t, shape))


@rule("Pad", NUMBERS + ("bool",))
def pad(g, t):
    need(t == "float32" or g.opset >= 13 or (t in NUMBERS and g.opset >= 11))
    modes = ("constant", "constant", "reflect", "edge") + (("wrap",) if g.opset >= 19 else ())
    mode = g.one_of(modes)
    x = g.pick(t, range(1, 5), least=0 if mode == "constant" else 3)
    before, after, shape = [], [], []
    for e in x.shape:
        b, a = (g.number(0, 2) if g.chance(0.6) else 0 for _ in range(2))
        if mode == "constant" and g.chance(0.15) and e.least > 3:
            b = -1
        before.append(b), after.append(a)
        shape.append(e if (a, b) == (0, 0) else e.map(f"({{}}+{a + b})", lambda v: v + a + b))
    if g.opset < 11:
        g.node("Pad", [x], (t, shape), mode=mode, pads=before + after)
        return
    inputs = [x, g.integers(before + after)]
    if mode == "constant" and g.chance(0.6):
        inputs.append(g.constant(np.array(1 if t == "bool" else 3, t)))
    g.node("Pad", inputs, (t, shape), mode=mode)


@rule("DepthToSpace")
def depth_to_space(g, t):
    b = g.number(1, 2)
    x = g.use(g.new(t, (g.extent(), fixed(b * b * g.number(1, 3)), g.extent(), g.extent())))
    n, c, h, w = x.shape
    up = lambda e: e.map(f"({{}}*{b})", lambda v: v * b) if b > 1 else e  # noqa: E731
    more = {"mode": g.one_of(("DCR", "CRD"))} if g.opset >= 11 else {}
    g.node(
        "DepthToSpace",
        [x],
        (t, (n, fixed(c.values[0] // (b * b)), up(h), up(w))),
        blocksize=b,
        **more,
    )


@rule("SpaceToDepth")
def space_to_depth(g, t):
    b = g.number(1, 2)
    x = g.use(
        g.new(t, shape_of(g.extent(), g.number(1, 3), b * g.number(1, 3), b * g.number(1, 3)))
    )
    n, c, h, w = x.shape
    down = lambda e: fixed(e.values[0] // b)  # noqa: E731
    g.node("SpaceToDepth", [x], (t, (n, fixed(c.values[0] * b * b), down(h), down(w))), blocksize=b)


@rule("ReverseSequence", since=10)
def reverse_sequence(g, t):
    x = g.pick(t, range(2, 5), least=1)
    time, batch = (0, 1) if g.chance(0.5) else (1, 0)
    lens = g.use(g.new("int64", (x.shape[batch],), 1, x.shape[time].least + 1))
    g.node("ReverseSequence", [x, lens], (t, x.shape), time_axis=time, batch_axis=batch)


@rule("Trilu", since=14)
def trilu(g, t):
    x = g.pick(t, range(2, 5))
    k = [g.constant(np.int64(g.number(-3, 3)))] if g.chance(0.6) else []
    g.node("Trilu", [x, *k], (t, x.shape), upper=g.number(0, 1))


@rule("Shape")
def shape_op(g, t):
    x = g.pick(t, range(0, 6))
    g.node("Shape", [x], ("int64", shape_of(x.rank)))


@rule("Size")
def size(g, t):
    x = g.pick(t)
    g.node("Size", [x], ("int64", ()))


@rule("OneHot", ("float32", "int64", "int32"), 9)
def one_hot(g, t):
    depth = g.number(1, 6)
    at = g.use(g.new("int64", g.shape(g.number(1, 3)), -depth - 1, depth + 2))
    axis = g.number(0, at.rank)
    values = g.use(g.new(t, shape_of(2)))
    shape = at.shape[:axis] + (fixed(depth),) + at.shape[axis:]
    g.node(
        "OneHot",
        [at, g.constant(np.int64(depth)), values],
        (t, shape),
        axis=either(g, axis, at.rank + 1),
    )


@rule("EyeLike", FLOATS + ("int32", "int64"), 9)
def eye_like(g, t):
    x = g.pick(t, 2)
    to = g.one_of(("float32", "int64", "int32"))
    g.node("EyeLike", [x], (to, x.shape), dtype=KINDS[to], k=g.number(-2, 2))


@rule("ConstantOfShape", ("float32", "int64", "int32", "bool", "float64"), 9)
def constant_of_shape(g, t):
    x = g.pick(g.one_of(("float32", "int64")), range(1, 4))
    whole = g.node("Shape", [x], ("int64", shape_of(x.rank)))
    value = g.constant(np.array([g.number(0, 3)], t))
    g.node("ConstantOfShape", [whole], (t, x.shape), value=numpy_helper.from_array(value.constant))


@rule("Range", ("float32", "int32", "int64", "float64"), 11)
def range_of(g, t):
    start, step = g.number(-3, 3), g.one_of((1, 1, 2, 3, -1, -2))
    count = g.number(0, 6)
    limit = start + step * count
    g.node(
        "Range", [g.constant(np.array(v, t)) for v in (start, limit, step)], (t, shape_of(count))
    )


@rule("range of a shape", ("int64",), 11)
def range_of_shape(g, t):
    x = g.pick("float32", range(1, 4))
    axis = some_axis(g, x)
    whole = g.node("Shape", [x], ("int64", shape_of(x.rank)))
    length = g.node("Gather", [whole, g.constant(np.int64(axis))], ("int64", ()), axis=0)
    ends = [g.constant(np.int64(0)), length, g.constant(np.int64(1))]
    g.node("Range", ends, ("int64", (x.shape[axis],)))


@rule("TopK", ("float32", "float64", "int32", "int64"))
def top_k(g, t):
    x = g.pick(t, range(1, 5), least=1)
    axis = some_axis(g, x)
    k = g.number(1, x.shape[axis].least)
    shape = changed(x, axis, fixed(k))
    said = either(g, axis, x.rank) if g.opset >= 11 else axis
    if g.opset < 10:
        need(t in FLOATS)
        g.node("TopK", [x], (t, shape), ("int64", shape), axis=said, k=k)
        return
    more = {"largest": g.number(0, 1)} if g.opset >= 11 else {}
    g.node("TopK", [x, g.integers([k])], (t, shape), ("int64", shape), axis=said, **more)


@rule("CumSum", ("float32", "float64", "int32", "int64"), 11)
def cum_sum(g, t):
    x = g.pick(t, range(1, 5))
    axis = g.constant(np.array(either(g, some_axis(g, x), x.rank), g.one_of(("int64", "int32"))))
    g.node("CumSum", [x, axis], (t, x.shape), exclusive=g.number(0, 1), reverse=g.number(0, 1))


@rule("CenterCropPad", NUMBERS, 18)
def center_crop_pad(g, t):
    x = g.pick(t, range(1, 5), least=1)
    axes = [int(a) for a in g.rng.choice(x.rank, g.number(1, x.rank), replace=False)]
    sizes = [g.number(1, 7) for _ in axes]
    shape = list(x.shape)
    for a, s in zip(axes, sizes):
        shape[a] = fixed(s)
    g.node(
        "CenterCropPad",
        [x, g.integers(sizes)],
        (t, shape),
        axes=[either(g, a, x.rank) for a in axes],
    )
