# SPDX-License-Identifier: Apache-2.0
"""Forms for run_forms.py that ./dev fuzz-onnx found wrong or refused, each once."""

import numpy as np


def fuzzed(rng, form, node):
    reductions(form, node)
    products_of_extents(form, node)
    whole(form, node)
    empty(form, node)
    doubles(rng, form, node)
    computed_in_single(rng, form, node)
    open_extents(rng, form, node)
    forced(rng, form, node)
    transposed(rng, form, node)


def reductions(form, node):
    """Over no axis each element is reduced alone."""
    x = np.array([[-2.5, 0.5], [3, -1]], np.float32)
    alone = {
        "ReduceL1": np.abs(x),
        "ReduceL2": np.abs(x),
        "ReduceSumSquare": x * x,
        "ReduceLogSumExp": x,
    }
    for op, y in alone.items():
        form(f"{op} over no axis", [node(op, "x", "y", noop_with_empty_axes=1)], {"x": x}, {"y": y})
    for op, y in (("ReduceL1", 2.75), ("ReduceLogSum", np.log(2.75)), ("ReduceSumSquare", 7.5625)):
        one = {"x": np.float32(2.75 if op == "ReduceLogSum" else -2.75)}
        form(f"{op} of a scalar", [node(op, "x", "y", keepdims=0)], one, {"y": np.float32(y)})


def products_of_extents(form, node):
    """An extent that is a product of four open ones: most extents that are tried are too large."""
    x = np.arange(96, dtype=np.float32).reshape(6, 2, 2, 2, 2)
    form(
        "flatten of four equal dynamic dimensions",
        [node("Flatten", "x", "y", axis=5)],
        {"x": x},
        {"y": x.reshape(96, 1)},
        dims={"x": [6, "n", "n", "n", "n"]},
    )


def whole(form, node):
    """A quotient between 0 and 1 is no HardSigmoid of whole numbers."""
    x = np.array([-3, 0, 1, 5], np.int32)
    form(
        "a quotient of whole numbers, limited",
        [node("Div", "x,two", "q"), node("Clip", "q,low,high", "y")],
        {"x": x},
        {"y": np.array([0, 0, 0, 1], np.int32)},
        constants={k: np.array(v, np.int32) for k, v in (("two", 2), ("low", 0), ("high", 1))},
    )


def empty(form, node):
    """Tensors without an element."""
    form(
        "the largest of a tensor without elements, before another",
        [node("Neg", "z", "w"), node("Max", "x,x,k", "y")],
        {"x": np.zeros((6, 0), np.uint8), "k": np.ones((6, 1), np.uint8), "z": np.ones(90, "f4")},
        {"y": np.zeros((6, 0), np.uint8), "w": -np.ones(90, np.float32)},
    )
    beside = {"z": np.ones(3, np.float32)}
    steps = {name: np.array(n) for name, n in zip("abc", ([0, 0], [9, 9], [1, 3]))}
    form(
        "every second of no elements, turned",
        [
            node("Transpose", "x", "t", perm=[2, 0, 3, 1]),
            node("Slice", "t,a,b,c,d", "y"),
            node("Neg", "z", "w"),
        ],
        {"x": np.zeros((3, 1, 1, 0), np.float32), **beside},
        {"y": np.zeros((1, 2, 0, 1), np.float32), "w": -beside["z"]},
        constants={**steps, "d": np.array([2, 1])},
    )
    form(
        "depth to space without rows",
        [node("DepthToSpace", "x", "y", blocksize=2), node("Neg", "z", "w")],
        {"x": np.zeros((6, 8, 0, 2), np.float32), **beside},
        {"y": np.zeros((6, 2, 0, 4), np.float32), "w": -beside["z"]},
    )
    numbers = {
        "s": np.array([3]),
        "e": np.array([-(2**62)]),
        "a": np.array([1]),
        "t": np.array([-1]),
    }
    form(
        "a tensor without elements, backwards",
        [node("Slice", "x,s,e,a,t", "y"), node("Neg", "z", "w")],
        {"x": np.zeros((2, 0), np.float32), **beside},
        {"y": np.zeros((2, 0), np.float32), "w": -beside["z"]},
        constants=numbers,
    )


def doubles(rng, form, node):
    """f64 with dynamic extents: exact to f64 where the operator is spelled out."""
    x = rng.standard_normal((3, 7))
    below = np.exp(x - x.max(-1, keepdims=True))
    softmax = below / below.sum(-1, keepdims=True)
    opened = {"x": ["N", "W"]}
    for op, y in (("Softmax", softmax), ("LogSoftmax", np.log(softmax))):
        form(f"{op} of f64", [node(op, "x", "y", axis=-1)], {"x": x}, {"y": y}, dims=opened)
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    form(
        "LayerNormalization of f64",
        [node("LayerNormalization", "x,s", "y")],
        {"x": x},
        {"y": normal * np.arange(7)},
        constants={"s": np.arange(7.0)},
        dims={"x": ["N", 7]},
    )
    form(
        "a pool of f64, computed in f32",
        [node("MaxPool", "x", "y", kernel_shape=[1, 7])],
        {"x": x.reshape(1, 1, 3, 7)},
        {"y": x.max(-1).astype(np.float32).astype(np.float64).reshape(1, 1, 3, 1)},
    )


def computed_in_single(rng, form, node):
    """Types without kernels of their own: in f32, in the source's type again."""
    x = rng.standard_normal((1, 8, 1)).astype(np.float16)
    made = np.fft.fft(x[..., 0].astype(np.float32), axis=1)
    form(
        "DFT of f16",
        [node("DFT", "x", "y", axis=1)],
        {"x": x},
        {"y": np.stack([made.real, made.imag], -1).astype(np.float16)},
        opset=17,
    )
    image = rng.standard_normal((1, 2, 3, 3)).astype(np.float16)
    places = np.stack(np.meshgrid([-1, 0, 1], [-1, 0, 1]), -1)[None].astype(np.float16)
    form(
        "GridSample of f16 at places in f16",
        [node("GridSample", "x,grid", "y", align_corners=1)],
        {"x": image, "grid": places},
        {"y": image},
    )
    form(
        "RoiAlign of f16",
        [node("RoiAlign", "x,boxes,of", "y", output_height=1, output_width=1,
              coordinate_transformation_mode="output_half_pixel", sampling_ratio=1)],
        {"x": np.full((1, 2, 4, 4), 0.75, np.float16),
         "boxes": np.array([[0, 0, 3, 3]], np.float16)},
        {"y": np.full((1, 2, 1, 1), 0.75, np.float16)},
        constants={"of": np.array([0])},
    )  # fmt: skip
    q = rng.standard_normal((1, 1, 2, 4))
    scores = q @ q.transpose(0, 1, 3, 2) / 2
    part = np.exp(scores - scores.max(-1, keepdims=True))
    form(
        "Attention of f64, computed in f32",
        [node("Attention", "q,q,q", "y")],
        {"q": q},
        {"y": (part / part.sum(-1, keepdims=True) @ q).astype(np.float32).astype(np.float64)},
        opset=23,
    )


def open_extents(rng, form, node):
    x = rng.integers(-5, 5, (2, 6)).astype(np.float32)
    hot = np.eye(6, dtype=np.float32)[x.argmax(1)]
    form(
        "Hardmax over a dynamic extent",
        [node("Hardmax", "x", "y", axis=1)],
        {"x": x},
        {"y": hot},
        dims={"x": ["N", "W"]},
    )
    a, b = (rng.integers(0, 255, shape).astype(np.uint8) for shape in ((3, 9), (9, 4)))
    form(
        "a product of bytes as long as a dynamic extent",
        [node("MatMulInteger", "a,b", "y")],
        {"a": a, "b": b},
        {"y": a.astype(np.int32) @ b},
        dims={"a": ["N", "K"], "b": ["K", 4]},
    )
    form(
        "Shrink of whole numbers",
        [node("Shrink", "i", "y", lambd=1.5, bias=0.5)],
        {"i": np.array([-6, 1, 8], np.int32)},
        {"y": np.array([-5, 0, 7], np.int32)},
    )
    cropped = rng.standard_normal((2, 5, 4, 5)).astype(np.float32)
    # axes 3, 0, 2, 1 to 7, 3, 2, 5: 5 padded by 1 + 1, 2 by 0 + 1; 4 cut to its middle
    padded = np.pad(cropped[:, :, 1:3], ((0, 1), (0, 0), (0, 0), (1, 1)))
    form(
        "CenterCropPad of four dynamic extents",
        [node("CenterCropPad", "x,shape", "y", axes=[-1, 0, 2, 1])],
        {"x": cropped},
        {"y": padded},
        constants={"shape": np.array([7, 3, 2, 5])},
        dims={"x": ["L", "M", "N", "K"]},
    )
    form(
        "PRelu of whole numbers",
        [node("PRelu", "i,slope", "y")],
        {"i": np.array([-6, 0, 8])},
        {"y": np.array([-18, 0, 8])},
        constants={"slope": np.array([3])},
    )
    half = rng.standard_normal((2, 8)).astype(np.float16)
    wide = half.astype(np.float32)
    mean = wide.mean(1, keepdims=True)
    inverse = 1 / np.sqrt(((wide - mean) ** 2).mean(1, keepdims=True) + np.float32(1e-5))
    form(
        "the statistics of a normalization of f16 are f32",
        [node("LayerNormalization", "x,one", "y,mean,inverse")],
        {"x": half},
        {"y": ((wide - mean) * inverse).astype(np.float16), "mean": mean, "inverse": inverse},
        constants={"one": np.ones(8, np.float16)},
    )
    for n in (5, 6):
        image = rng.standard_normal((1, 1, 1, n)).astype(np.float32)
        strided(form, node, image, n)


def strided(form, node, image, n):
    """SAME with a stride over a dynamic extent: a Pad of its own."""
    width = 3
    total = max(0, (-(-n // 2) - 1) * 2 + width - n)
    border = [(0, 0)] * 3 + [(total // 2, total - total // 2)]
    window = {"kernel_shape": [1, width], "strides": [1, 2], "auto_pad": "SAME_UPPER"}

    def rows(padded):
        return np.stack([padded[..., i : i + width] for i in range(0, 2 * -(-n // 2), 2)], 3)

    zeros = rows(np.pad(image, border))
    lowest = rows(np.pad(image, border, constant_values=-np.inf))
    inside = rows(np.pad(np.ones_like(image), border)).sum(-1)
    kernel = np.array([[[[0.5, -1, 2]]]], np.float32)
    answers = {
        "Conv": (zeros * kernel[0, 0, 0]).sum(-1),
        "MaxPool": lowest.max(-1),
        "AveragePool": zeros.sum(-1) / inside,
    }
    for op, y in answers.items():
        form(
            f"{op}, SAME over a dynamic extent of {n}",
            [node(op, "x,w" if op == "Conv" else "x", "y", **window)],
            {"x": image},
            {"y": y.astype(np.float32)},
            constants={"w": kernel} if op == "Conv" else {},
            dims={"x": [1, 1, "H", "W"]},
        )


def forced(rng, form, node):
    """Extents with names of their own that the nodes make equal, or numbers."""
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 9), (9, 4)))
    names = {"a": ["N", "K"], "b": ["line", "value"]}
    form(
        "a product of two names",
        [node("MatMul", "a,b", "y")],
        {"a": a, "b": b},
        {"y": a @ b},
        dims=names,
    )
    steps, batch, width, hidden = 4, 3, 2, 5
    w, r = (rng.uniform(-1, 1, (2, 4 * hidden, n)).astype(np.float32) for n in (width, hidden))
    x = rng.standard_normal((steps, batch, width)).astype(np.float32)
    h, c = (rng.standard_normal((2, batch, hidden)).astype(np.float32) for _ in range(2))
    form(
        "a bidirectional network of seven dynamic extents",
        [node("LSTM", "x,w,r,,,h,c", "y", hidden_size=hidden, direction="bidirectional")],
        {"x": x, "h": h, "c": c},
        {
            "y": np.stack(
                [lstm(x, w[0], r[0], h[0], c[0]), lstm(x[::-1], w[1], r[1], h[1], c[1])[::-1]], 1
            )
        },
        constants={"w": w, "r": r},
        dims={"x": ["T", "B", "I"], "h": ["D", "B2", "H"], "c": ["D2", "B", "H2"]},
    )


def lstm(x, w, r, h, c):
    """One direction; gates in ONNX's order: input, output, forget, cell."""

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    rows = []
    for step in x:
        i, o, f, g = np.split(step @ w.T + h @ r.T, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        rows.append(h)
    return np.array(rows, np.float32)


def transposed(rng, form, node):
    """Transposed convolutions of weights that the run computes, and of three dimensions."""
    for rank, group, opened in ((1, 1, True), (2, 2, False), (3, 1, False)):
        extents = (4, 3, 2)[:rank]
        x = rng.standard_normal((2, 4, *extents)).astype(np.float32)
        w = rng.standard_normal((4, 3, *[3] * rank)).astype(np.float32)
        y = np.zeros((2, 3 * group, *[2 * n + 1 for n in extents]), np.float32)
        for g in range(group):
            rows = slice(g * 4 // group, (g + 1) * 4 // group)
            part = y[:, g * 3 : (g + 1) * 3]
            for tap in np.ndindex(*[3] * rank):
                at = tuple(slice(t, t + 2 * n - 1, 2) for t, n in zip(tap, extents))
                taps = w[(rows, slice(None), *tap)]
                part[(..., *at)] += np.einsum("nc...,co->no...", x[:, rows], taps)
        cut = tuple(slice(1, None) for _ in extents)
        form(
            f"a transposed convolution of {rank} dimensions, computed weights",
            [
                node(
                    "ConvTranspose",
                    "x,w",
                    "y",
                    strides=[2] * rank,
                    pads=[1] * rank + [0] * rank,
                    group=group,
                )
            ],
            {"x": x, "w": w},
            {"y": y[(..., *cut)]},
            dims={"x": ["N", 4, *"LMK"[:rank]]} if opened else {},
        )
