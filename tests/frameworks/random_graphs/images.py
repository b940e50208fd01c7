# SPDX-License-Identifier: Apache-2.0
"""Operators of images and signals: channels at extent 1, space behind."""

import numpy as np
from graph import FLOATS, KINDS, ONE, fixed, need, shape_of
from movement import axes_input
from rules import Rules

RULES = Rules(("float32",))
rule = RULES.rule


def image(g, t="float32", space=None, channels=None, least=3):
    """A value of fixed channels with `space` extents behind."""
    space = space or g.one_of((1, 2, 2, 2, 2, 3))

    def fits(v):
        c = v.shape[1]
        return not c.is_open and c.least > 0 and (channels is None or c.least % channels == 0)

    known = [v for v in g.visible() if v.dtype == t and v.rank == space + 2 and fits(v)]
    known = [v for v in known if min(e.least for e in v.shape[2:]) >= least]
    if known and g.chance(0.7):
        return g.use(g.one_of(known))
    c = (channels or 1) * g.number(1, 4)
    sizes = [g.extent(least, 9) for _ in range(space)]
    return g.use(g.new(t, (g.extent(1, 3), fixed(c), *sizes), constant=False))


class Window:
    """Kernel, strides, dilations and pads of a window, and the extents that it gives."""

    def __init__(self, g, x, pads_below_kernel=False, ceil=False):
        self.space = x.shape[2:]
        n = len(self.space)
        self.kernel = [g.number(1, 3) for _ in range(n)]
        self.strides = [g.one_of((1, 1, 2, 3)) for _ in range(n)] if g.chance(0.6) else [1] * n
        self.dilations = [g.number(1, 2) for _ in range(n)] if g.chance(0.3) else [1] * n
        self.auto = g.one_of(("VALID", "SAME_UPPER", "SAME_LOWER")) if g.chance(0.25) else None
        if self.auto and ceil:
            ceil = False
        self.ceil = ceil and g.chance(0.4)
        most = [min(2, k - 1) if pads_below_kernel else 2 for k in self.kernel]
        self.pads = [g.number(0, m) for m in most * 2] if g.chance(0.6) else [0] * (2 * n)

    def spans(self):
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]

    def extents(self):
        made = []
        n = len(self.space)
        for i, e in enumerate(self.space):
            span, stride = self.spans()[i], self.strides[i]
            if self.auto in ("SAME_UPPER", "SAME_LOWER"):
                made.append(
                    e if stride == 1 else e.map(f"ceil({{}}/{stride})", lambda v: -(-v // stride))
                )
                continue
            pads = 0 if self.auto else self.pads[i] + self.pads[i + n]
            front = 0 if self.auto else self.pads[i]
            need(e.least + pads >= span)

            def length(v, pads=pads, front=front, span=span, stride=stride):
                rest = v + pads - span
                if not self.ceil:
                    return rest // stride + 1
                count = -(-rest // stride) + 1
                return count - 1 if (count - 1) * stride >= v + front else count

            if (pads, span, stride) == (0, 1, 1):
                made.append(e)
            else:
                made.append(e.map(f"win({{}},{pads},{front},{span},{stride},{self.ceil})", length))
        return tuple(made)

    def attributes(self, kernel=True):
        found = {"strides": self.strides, "kernel_shape": self.kernel if kernel else None}
        if set(self.dilations) != {1}:
            found["dilations"] = self.dilations
        if self.auto:
            found["auto_pad"] = self.auto
        elif any(self.pads):
            found["pads"] = self.pads
        if self.ceil:
            found["ceil_mode"] = 1
        return found


def weights_of(g, shape, constant=0.9):
    return g.use(g.new("float32", shape_of(*shape), -1, 1, constant=g.chance(constant)))


@rule("Conv")
def conv(g, t):
    groups = g.one_of((1, 1, 1, 2, 3))
    x = image(g, channels=groups)
    c = x.shape[1].values[0]
    if g.chance(0.2):
        groups = c
    window = Window(g, x)
    out = groups * g.number(1, 4 if groups == 1 else 2)
    inputs = [x, weights_of(g, [out, c // groups, *window.kernel])]
    if g.chance(0.6):
        inputs.append(g.use(g.new(t, shape_of(out), constant=True)))
    shape = (x.shape[0], fixed(out), *window.extents())
    g.node("Conv", inputs, (t, shape), group=groups, **window.attributes(g.chance(0.8)))


@rule("ConvTranspose")
def conv_transpose(g, t):
    groups = g.one_of((1, 1, 2))
    x = image(g, space=g.one_of((1, 2, 2, 3)), channels=groups, least=1)
    c = x.shape[1].values[0]
    n = x.rank - 2
    kernel, strides = [g.number(1, 4) for _ in range(n)], [g.number(1, 3) for _ in range(n)]
    dilations = [g.number(1, 2) for _ in range(n)] if g.chance(0.3) else [1] * n
    pads = [g.number(0, 1) if k > 2 else 0 for k in kernel * 2]
    more = [g.number(0, s - 1) if g.chance(0.3) else 0 for s in strides]
    out = g.number(1, 3)
    space = []
    for i, e in enumerate(x.shape[2:]):
        add = (kernel[i] - 1) * dilations[i] + 1 + more[i] - pads[i] - pads[i + n] - strides[i]
        s = strides[i]
        space.append(e if (s, add) == (1, 0) else e.map(f"({{}}*{s}+{add})", lambda v: v * s + add))
    need(min(e.least for e in space) > 0)
    inputs = [x, weights_of(g, [c, out, *kernel])]
    if g.chance(0.5):
        inputs.append(g.use(g.new(t, shape_of(out * groups), constant=True)))
    shape = (x.shape[0], fixed(out * groups), *space)
    g.node(
        "ConvTranspose", inputs, (t, shape), group=groups, strides=strides, pads=pads,
        dilations=dilations, output_padding=more if any(more) else None,
    )  # fmt: skip


def pooling(op):
    def draw(g, t):
        x = image(g, t)
        window = Window(g, x, pads_below_kernel=True, ceil=g.opset >= 10 and op != "LpPool")
        if g.opset < (19 if op == "AveragePool" else 18 if op == "LpPool" else 10):
            window.dilations = [1] * len(window.kernel)
        if window.auto:  # SAME of onnxruntime's pools: dilations ignored, negative pads taken
            window.dilations = [1] * len(window.kernel)
            window.strides = [min(s, k) for s, k in zip(window.strides, window.kernel)]
        shape = (*x.shape[:2], *window.extents())
        need(all(e.least > 0 for e in shape))
        more = {}
        if op == "AveragePool":
            more["count_include_pad"] = g.number(0, 1)
        if op == "LpPool":
            more["p"] = g.number(1, 3)
        results = [(t, shape)]
        if op == "MaxPool" and g.opset >= 8 and x.is_fixed and t == "float32" and g.chance(0.2):
            results.append(("int64", shape))
        g.node(op, [x], *results, **more, **window.attributes())

    return draw


RULES.append(("AveragePool", FLOATS, 7, pooling("AveragePool")))
RULES.append(("MaxPool", FLOATS + ("int8", "uint8"), 8, pooling("MaxPool")))
RULES.append(("LpPool", ("float32",), 11, pooling("LpPool")))


def global_pooling(op):
    def draw(g, t):
        x = image(g, t, least=1)
        more = {"p": g.number(1, 2)} if op == "GlobalLpPool" else {}
        g.node(op, [x], (t, (*x.shape[:2], *[ONE] * (x.rank - 2))), **more)

    return draw


for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    RULES.append((op, ("float32",), 7, global_pooling(op)))

TRANSFORMS = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


@rule("Resize", ("float32", "int8", "uint8", "int32"), 11)
def resize(g, t):
    mode = "nearest" if t != "float32" else g.one_of(("nearest", "nearest", "linear", "cubic"))
    space = 2 if mode == "cubic" else g.one_of((1, 2, 2, 3) if mode == "nearest" else (1, 2, 2))
    x = image(g, t, space=space, least=2)
    transforms = TRANSFORMS + (("half_pixel_symmetric",) if g.opset >= 19 else ())
    more = {"mode": mode, "coordinate_transformation_mode": g.one_of(transforms)}
    if mode == "nearest":
        more["nearest_mode"] = g.one_of(
            ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        )
    if mode == "cubic":
        more["cubic_coeff_a"] = g.one_of((-0.5, -0.75))
        more["exclude_outside"] = g.number(0, 1)
    if g.chance(0.6):
        factors = [g.one_of((1.0, 2.0, 0.5, 3.0, 1.5)) for _ in range(space)]
        scales = np.array([1, 1, *factors], np.float32)
        out = [
            e if s == 1 else e.map(f"floor({{}}*{s})", lambda v: int(v * s))
            for e, s in zip(x.shape[2:], factors)
        ]
        inputs = [
            x,
            "" if g.opset >= 13 else g.constant(np.zeros(0, np.float32)),
            g.constant(scales),
        ]
    else:
        need(x.is_fixed)
        # ReducedPrecision and wholes: elsewhere a tie is decided by how a runtime rounds the
        # quotient.
        halves = [1, 2] if mode == "nearest" else list(range(1, 9))
        out = [
            fixed(e.values[0] * g.one_of(halves) if mode == "nearest" else g.one_of(halves))
            for e in x.shape[2:]
        ]
        sizes = g.integers([e.values[0] for e in (*x.shape[:2], *out)])
        empty = "" if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
        inputs = [x, empty, empty, sizes]
    need(min(e.least for e in out) > 0)
    g.node("Resize", inputs, (t, (*x.shape[:2], *out)), **more)


@rule("GridSample", since=16)
def grid_sample(g, t):
    x = image(g, space=2)
    places = (x.shape[0], g.extent(1), g.extent(1), fixed(2))
    # No round numbers: between two elements the nearest is a matter of rounding.
    drawn = [g.rng.uniform(-1.3, 1.3, [e.values[r] for e in places]).astype(t) for r in range(3)]
    grid = g.use(g.feed(t, places, arrays=drawn))
    modes = ("bilinear", "nearest", "bicubic") if g.opset < 20 else ("linear", "nearest", "cubic")
    padding = g.one_of(("zeros", "border", "reflection"))
    shape = (*x.shape[:2], *grid.shape[1:3])
    g.node(
        "GridSample",
        [x, grid],
        (t, shape),
        mode=g.one_of(modes),
        padding_mode=padding,
        align_corners=g.number(0, 1),
    )


@rule("RoiAlign", since=10)
def roi_align(g, t):
    x = image(g, space=2)
    rows = g.number(1, 3)
    corners = np.sort(g.rng.uniform(0, 6, (rows, 2, 2)), 1).reshape(rows, 4).astype(np.float32)
    rois = g.use(g.feed(t, shape_of(rows, 4), arrays=[corners] * 3))
    which = g.use(g.new("int64", shape_of(rows), 0, x.shape[0].least))
    h, w = g.number(1, 3), g.number(1, 3)
    more = {"mode": g.one_of(("avg", "max"))}
    if g.opset >= 16:
        more["coordinate_transformation_mode"] = g.one_of(("half_pixel", "output_half_pixel"))
    g.node("RoiAlign", [x, rois, which], (t, shape_of(rows, x.shape[1], h, w)), output_height=h,
           output_width=w, sampling_ratio=g.number(0, 2),
           spatial_scale=g.one_of((1.0, 0.5)), **more)  # fmt: skip


@rule("ConvInteger", ("uint8",), 10)
def conv_integer(g, t):
    x = image(g, t, space=2)
    window = Window(g, x)
    c, out = x.shape[1].values[0], g.number(1, 4)
    w = g.use(g.new(g.one_of(("int8", "uint8")), shape_of(out, c, *window.kernel), constant=True))
    zeros = [g.constant(np.array(g.number(0, 3), v.dtype)) for v in (x, w)][: g.number(0, 2)]
    shape = (x.shape[0], fixed(out), *window.extents())
    g.node("ConvInteger", [x, w, *zeros], ("int32", shape), **window.attributes())


@rule("MaxUnpool", since=11)
def max_unpool(g, t):
    x = g.use(
        g.new(
            t,
            shape_of(g.number(1, 2), g.number(1, 3), 2 * g.number(1, 3), 2 * g.number(1, 3)),
            constant=False,
        )
    )
    half = (*x.shape[:2], *[fixed(e.values[0] // 2) for e in x.shape[2:]])
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    y, at = g.node("MaxPool", [x], (t, half), ("int64", half), **window)
    g.node("MaxUnpool", [y, at], (t, x.shape), **window)


def window_of(op):
    def draw(g, t):
        n = g.number(1, 12)
        kind = KINDS[t]
        y = g.node(
            op,
            [g.constant(np.int64(n))],
            (t, shape_of(n)),
            periodic=g.number(0, 1),
            output_datatype=kind,
        )
        g.values.remove(y)  # its zeros are none, by a rounding
        g.node("Add", [y, g.constant(np.array(1, t))], (t, y.shape))

    return draw


for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    RULES.append((op, ("float32", "float64"), 17, window_of(op)))


@rule("DFT", since=17)
def dft(g, t):
    batch, n = g.extent(1, 3), g.number(1, 9)
    x = g.use(g.new(t, (batch, fixed(n), fixed(g.number(1, 2))), constant=False))
    is_real = x.shape[2] == ONE
    one_sided = int(is_real and g.chance(0.5))
    rows = n // 2 + 1 if one_sided else n
    inverse = 0 if one_sided else g.number(0, 1)
    inputs, more = [x], {}
    if g.opset >= 20:
        inputs += ["", g.constant(np.int64(1))]
    else:
        more["axis"] = 1
    g.node(
        "DFT",
        inputs,
        (t, (batch, fixed(rows), fixed(2))),
        onesided=one_sided,
        inverse=inverse,
        **more,
    )


@rule("nearest by Upsample", ("float32", "int32"))
def upsample(g, t):
    need(g.opset < 10)
    x = image(g, t, space=2, least=1)
    factors = [g.number(1, 3) for _ in range(2)]
    out = [
        e if s == 1 else e.map(f"({{}}*{s})", lambda v: v * s) for e, s in zip(x.shape[2:], factors)
    ]
    scales = [1.0, 1.0, *map(float, factors)]
    shape = (*x.shape[:2], *out)
    if g.opset < 9:
        need(t == "float32")
        g.node("Upsample", [x], (t, shape), mode="nearest", scales=scales)
    else:
        g.node(
            "Upsample", [x, g.constant(np.array(scales, np.float32))], (t, shape), mode="nearest"
        )


@rule("NonMaxSuppression", since=11)
def non_max_suppression(g, t):
    """Its rows are as many as the data say: summed, so that what follows has a shape."""
    n = g.number(1, 9)
    corner = g.rng.uniform(0, 4, (1, n, 2))
    boxes = np.concatenate([corner, corner + g.rng.uniform(0.3, 3, (1, n, 2))], 2).astype(
        np.float32
    )
    b = g.use(g.feed(t, shape_of(1, n, 4), arrays=[boxes] * 3))
    scores = g.use(g.new(t, shape_of(1, g.number(1, 3), n), 0, 1, constant=False))
    limits = [g.constant(np.int64(g.number(1, 4))), g.constant(np.float32(g.rng.uniform(0.1, 0.8)))]
    if g.chance(0.6):
        limits.append(g.constant(np.float32(0.3)))
    rows = g.node(
        "NonMaxSuppression", [b, scores, *limits], ("int64", shape_of(0, 3)), center_point_box=0
    )
    g.values.remove(rows)
    finish_counted(g, rows)


def finish_counted(g, rows):
    """A data-dependent number of rows, made a sum, a maximum with a row of zeros, or an output."""
    way = g.number(0, 2)
    if way == 0:
        inputs, more = ([g.integers([0])], {}) if g.opset >= 13 else ([], {"axes": [0]})
        g.node("ReduceSum", [rows, *inputs], ("int64", rows.shape[1:]), keepdims=0, **more)
    elif way == 1:
        both = g.node(
            "Concat",
            [rows, g.constant(np.zeros((1, rows.shape[1].values[0]), np.int64))],
            ("int64", rows.shape),
            axis=0,
        )
        g.values.remove(both)
        inputs, more = ([g.integers([0])], {}) if g.opset >= 18 else ([], {"axes": [0]})
        g.node("ReduceMax", [both, *inputs], ("int64", rows.shape[1:]), keepdims=0, **more)
    else:
        count = g.node("Shape", [rows], ("int64", shape_of(2)))
        g.node("Cast", [count], ("float32", shape_of(2)), to=KINDS["float32"])


@rule("NonZero", ("float32", "int64", "bool", "int32"), 9)
def non_zero(g, t):
    x = g.pick(t, range(1, 4), least=1)
    at = g.node("NonZero", [x], ("int64", shape_of(x.rank, 0)))
    g.values.remove(at)
    rows = g.node("Transpose", [at], ("int64", shape_of(0, x.rank)), perm=[1, 0])
    g.values.remove(rows)
    if g.chance(0.4):  # elements at these places
        need(g.opset >= 11)
        found = g.node("GatherND", [x, rows], (t, shape_of(0)))
        g.values.remove(found)
        need(t != "bool")
        kept = g.node("Cast", [found], ("int64", shape_of(0)), to=KINDS["int64"])
        g.values.remove(kept)
        inputs, said = axes_input(g, 13, [1])
        rows = g.node("Unsqueeze", [kept, *inputs], ("int64", shape_of(0, 1)), **said)
        g.values.remove(rows)
    finish_counted(g, rows)


@rule("Compress", ("float32", "int64", "int32"), 11)
def compress(g, t):
    x = g.pick(t, range(1, 4), least=1)
    flat = g.chance(0.4)
    axis = g.number(0, x.rank - 1)
    keep = g.use(g.new("bool", (x.shape[axis],), constant=False)) if not flat else None
    if flat:
        need(x.is_fixed)
        keep = g.use(g.new("bool", shape_of(int(np.prod(x.dims))), constant=False))
    more = {} if flat else {"axis": axis}
    made = g.node(
        "Compress",
        [x, keep],
        (t, shape_of(0) if flat else x.shape[:axis] + (fixed(0),) + x.shape[axis + 1 :]),
        **more,
    )
    g.values.remove(made)
    inputs, said = (
        ([g.integers([0 if flat else axis])], {})
        if g.opset >= 13
        else ([], {"axes": [0 if flat else axis]})
    )
    shape = () if flat else x.shape[:axis] + x.shape[axis + 1 :]
    g.node("ReduceSum", [made, *inputs], (t, shape), keepdims=0, **said)


@rule("Unique", ("float32", "int64", "int8"), 11)
def unique(g, t):
    x = g.pick(t, range(1, 3), least=1)
    made = g.node("Unique", [x], (t, shape_of(0)), sorted=1)
    g.values.remove(made)
    count = g.node("Shape", [made], ("int64", shape_of(1)))
    if t != "int8":
        inputs, more = ([g.integers([0])], {}) if g.opset >= 13 else ([], {"axes": [0]})
        g.node("ReduceSum", [made, *inputs], (t, ()), keepdims=0, **more)
    return count
