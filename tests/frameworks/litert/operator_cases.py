# SPDX-License-Identifier: Apache-2.0
"""Operands and options of each builtin operator, drawn at random: (operator, (kind of options,
fields), operands, types of the outputs)."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from written_model import TYPES, Fed

F = np.float32


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def shape_of(rng, rank, most=6):
    return [int(n) for n in rng.integers(1, most, rank)]


def pair(rng, kind=F):
    """Two shapes that broadcast."""
    a = shape_of(rng, int(rng.integers(1, 5)))
    b = [1 if rng.random() < 0.3 else n for n in a][int(rng.integers(0, 2)) * (len(a) > 1) :]
    make = {
        F: lambda s: floats(rng, *s),
        np.int32: lambda s: rng.integers(-9, 9, s).astype(np.int32),
        np.bool_: lambda s: rng.integers(0, 2, s).astype(np.bool_),
    }[kind]
    return make(a), make(b)


ACTIVATIONS = [0, 1, 2, 3]


def activation(rng):
    return {"fusedActivationFunction": int(rng.choice(ACTIVATIONS))}


def unary(op, make=None, kind=None, out=F):
    def build(rng):
        x = floats(rng, *shape_of(rng, int(rng.integers(1, 5)))) * 3
        return op, (kind, {}) if kind else None, [Fed(make(x) if make else x)], [out]

    return build


def binary(op, kind=None, types=(F,), out=None, fused=False, second=None):
    def build(rng):
        dtype = types[int(rng.integers(0, len(types)))]
        a, b = pair(rng, dtype)
        if second:
            b = second(b)
        options = (kind, activation(rng) if fused and dtype == F else {}) if kind else None
        return op, options, [Fed(a), Fed(b)], [out or dtype]

    return build


def nonzero(b):
    return np.where(np.abs(b) < 0.5, b.dtype.type(1), b)


def window(rng, dilated=True):
    fields = {
        "padding": int(rng.integers(0, 2)),
        "strideW": int(rng.integers(1, 4)),
        "strideH": int(rng.integers(1, 4)),
    }
    if dilated and rng.random() < 0.4:
        fields["strideW"] = fields["strideH"] = 1
        fields["dilationWFactor"] = int(rng.integers(1, 3))
        fields["dilationHFactor"] = int(rng.integers(1, 3))
    return fields | activation(rng)


def conv(rng):
    kh, kw, c, o = (int(n) for n in rng.integers(1, 4, 4))
    groups = int(rng.choice([1, 1, 2]))
    x = floats(rng, int(rng.integers(1, 3)), *(int(n) for n in rng.integers(7, 12, 2)), c * groups)
    w = floats(rng, o * groups, kh, kw, c)
    bias = floats(rng, o * groups) if groups > 1 or rng.random() < 0.7 else None
    return "CONV_2D", ("Conv2DOptions", window(rng)), [Fed(x), w, bias], [F]


def depthwise(rng):
    kh, kw, c, m = (int(n) for n in rng.integers(1, 4, 4))
    x = floats(rng, 1, *(int(n) for n in rng.integers(7, 12, 2)), c)
    fields = window(rng) | {"depthMultiplier": m}
    fields["strideW"] = fields["strideH"]
    operands = [Fed(x), floats(rng, 1, kh, kw, c * m), floats(rng, c * m)]
    return "DEPTHWISE_CONV_2D", ("DepthwiseConv2DOptions", fields), operands, [F]


def conv_3d(rng):
    k = [int(n) for n in rng.integers(1, 3, 3)]
    c, o = (int(n) for n in rng.integers(1, 4, 2))
    x = floats(rng, 1, *(int(n) for n in rng.integers(4, 7, 3)), c)
    fields = {
        "padding": int(rng.integers(0, 2)),
        "strideD": int(rng.integers(1, 3)),
        "strideW": int(rng.integers(1, 3)),
        "strideH": int(rng.integers(1, 3)),
    } | activation(rng)
    return (
        "CONV_3D",
        ("Conv3DOptions", fields),
        [Fed(x), floats(rng, *k, c, o), floats(rng, o)],
        [F],
    )


def transpose_conv(rng):
    kh, kw, c, o = (int(n) for n in rng.integers(1, 5, 4))
    sh, sw = (int(n) for n in rng.integers(1, 4, 2))
    h, w = (int(n) for n in rng.integers(2, 6, 2))
    same = int(rng.integers(0, 2)) == 0
    extents = [h * sh, w * sw] if same else [(h - 1) * sh + kh, (w - 1) * sw + kw]
    operands = [np.array([1, *extents, o], np.int32), floats(rng, o, kh, kw, c)]
    operands += [Fed(floats(rng, 1, h, w, c)), floats(rng, o)]
    fields = {"padding": 0 if same else 1, "strideW": sw, "strideH": sh}
    return "TRANSPOSE_CONV", ("TransposeConvOptions", fields), operands, [F]


def pool(op):
    def build(rng):
        fields = window(rng, False)
        fields |= {"filterWidth": int(rng.integers(1, 4)), "filterHeight": int(rng.integers(1, 4))}
        x = floats(rng, 1, *(int(n) for n in rng.integers(5, 10, 2)), int(rng.integers(1, 5)))
        return op, ("Pool2DOptions", fields), [Fed(x)], [F]

    return build


def fully_connected(rng):
    i, o = (int(n) for n in rng.integers(1, 9, 2))
    keep = bool(rng.integers(0, 2))
    x = floats(rng, *shape_of(rng, int(rng.integers(1, 4))), i)
    bias = floats(rng, o) if rng.random() < 0.7 else None
    fields = {"keepNumDims": keep} | activation(rng)
    return (
        "FULLY_CONNECTED",
        ("FullyConnectedOptions", fields),
        [Fed(x), floats(rng, o, i), bias],
        [F],
    )


def batch_matmul(rng):
    m, k, n = (int(v) for v in rng.integers(1, 7, 3))
    batch = shape_of(rng, int(rng.integers(0, 3)), 4)
    ax, ay = bool(rng.integers(0, 2)), bool(rng.integers(0, 2))
    x = floats(rng, *batch, *((k, m) if ax else (m, k)))
    y = floats(rng, *batch, *((n, k) if ay else (k, n)))
    return "BATCH_MATMUL", ("BatchMatMulOptions", {"adjX": ax, "adjY": ay}), [Fed(x), Fed(y)], [F]


def reducer(op, make=None, out=F):
    def build(rng):
        rank = int(rng.integers(1, 5))
        x = floats(rng, *shape_of(rng, rank))
        if make:
            x = make(x)
        count = int(rng.integers(1, rank + 1))
        axes = rng.permutation(rank)[:count].astype(np.int32)
        axes = np.where(rng.random(count) < 0.3, axes - rank, axes).astype(np.int32)
        return op, ("ReducerOptions", {"keepDims": bool(rng.integers(0, 2))}), [Fed(x), axes], [out]

    return build


def arg(op, kind):
    def build(rng):
        x = floats(rng, *shape_of(rng, int(rng.integers(1, 5))))
        axis = np.array(int(rng.integers(-x.ndim, x.ndim)), np.int32)
        return op, (kind, {"outputType": schema.TensorType.INT32}), [Fed(x), axis], [np.int32]

    return build


def strided_slice(rng):
    rank = int(rng.integers(1, 5))
    shape = [int(n) for n in rng.integers(2, 7, rank)]
    begin, end, step = [], [], []
    for n in shape:
        s = int(rng.choice([1, 1, 2, -1, -2]))
        a, b = sorted(int(v) for v in rng.integers(0, n + 1, 2))
        if a == b:
            a, b = 0, n
        if s < 0:
            a, b = b - 1, (a - 1 if a > 0 else -n - 1)
        begin.append(a), end.append(b), step.append(s)
    fields = {
        "beginMask": 0,
        "endMask": 0,
        "shrinkAxisMask": 0,
        "newAxisMask": 0,
        "ellipsisMask": 0,
    }
    for i in range(rank):
        if rng.random() < 0.25:
            fields["beginMask"] |= 1 << i
        if rng.random() < 0.25:
            fields["endMask"] |= 1 << i
        if rng.random() < 0.2 and rank > 1:
            fields["shrinkAxisMask"] |= 1 << i
            begin[i] = int(rng.integers(-shape[i], shape[i]))
            end[i], step[i] = begin[i] + 1, 1
            fields["beginMask"] &= ~(1 << i)
            fields["endMask"] &= ~(1 << i)
    if rng.random() < 0.3 and rank < 4:
        at = int(rng.integers(0, rank + 1))
        for values, value in ((begin, 0), (end, 0), (step, 1)):
            values.insert(at, value)
        low = (1 << at) - 1
        for name in ("beginMask", "endMask", "shrinkAxisMask"):
            fields[name] = (fields[name] & low) | ((fields[name] & ~low) << 1)
        fields["newAxisMask"] = 1 << at
    elif rng.random() < 0.3 and rank > 1:  # the last axes as they are
        cut = int(rng.integers(1, rank))
        begin, end, step = begin[:cut] + [0], end[:cut] + [0], step[:cut] + [1]
        for name in ("beginMask", "endMask", "shrinkAxisMask"):
            fields[name] &= (1 << cut) - 1
        fields["ellipsisMask"] = 1 << cut
    operands = [Fed(floats(rng, *shape))] + [np.array(v, np.int32) for v in (begin, end, step)]
    return "STRIDED_SLICE", ("StridedSliceOptions", fields), operands, [F]


def strided_slice_by_run(rng):
    """Begins and ends that are fed, beyond the ends too, some of them masked."""
    shape = shape_of(rng, int(rng.integers(1, 4)), 7)
    begin, end = ([int(v) for v in rng.integers(-9, 10, len(shape))] for _ in range(2))
    step = [int(rng.choice([1, 1, 2, 3, -1, -2])) for _ in shape]
    fields = {name: int(rng.integers(0, 1 << len(shape))) for name in ("beginMask", "endMask")}
    operands = [Fed(floats(rng, *shape)), Fed(np.array(begin, np.int32))]
    operands.append(Fed(np.array(end, np.int32)) if rng.random() < 0.7 else np.array(end, np.int32))
    operands.append(np.array(step, np.int32))
    return "STRIDED_SLICE", ("StridedSliceOptions", fields), operands, [F]


def slice_(rng):
    shape = shape_of(rng, int(rng.integers(1, 5)), 7)
    begin = [int(rng.integers(0, n)) for n in shape]
    size = [int(rng.choice([-1, rng.integers(1, n - b + 1)])) for n, b in zip(shape, begin)]
    operands = [Fed(floats(rng, *shape)), np.array(begin, np.int32), np.array(size, np.int32)]
    return "SLICE", ("SliceOptions", {}), operands, [F]


def reshape(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    wanted = [int(n) for n in rng.permutation(shape)]
    if rng.random() < 0.5:
        wanted[int(rng.integers(0, len(wanted)))] = -1
    operands = [Fed(floats(rng, *shape)), np.array(wanted, np.int32)]
    return "RESHAPE", ("ReshapeOptions", {"newShape": wanted}), operands, [F]


def transpose(rng):
    x = floats(rng, *shape_of(rng, int(rng.integers(1, 6)), 5))
    perm = rng.permutation(x.ndim).astype(np.int32)
    return "TRANSPOSE", ("TransposeOptions", {}), [Fed(x), perm], [F]


def concatenation(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(0, len(shape)))
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        shape[axis] = int(rng.integers(1, 5))
        parts.append(Fed(floats(rng, *shape)))
    fields = {"axis": axis - (len(shape) if rng.random() < 0.3 else 0)}
    return "CONCATENATION", ("ConcatenationOptions", fields), parts, [F]


def pack(rng):
    shape = shape_of(rng, int(rng.integers(0, 4)))
    count = int(rng.integers(1, 4))
    axis = int(rng.integers(-len(shape) - 1, len(shape) + 1))
    parts = [Fed(floats(rng, *shape)) for _ in range(count)]
    return "PACK", ("PackOptions", {"valuesCount": count, "axis": axis}), parts, [F]


def unpack(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(-len(shape), len(shape)))
    fields = {"num": shape[axis], "axis": axis}
    return "UNPACK", ("UnpackOptions", fields), [Fed(floats(rng, *shape))], [F] * shape[axis]


def split(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    axis, count = int(rng.integers(0, len(shape))), int(rng.integers(1, 4))
    shape[axis] *= count
    operands = [np.array(axis, np.int32), Fed(floats(rng, *shape))]
    return "SPLIT", ("SplitOptions", {"numSplits": count}), operands, [F] * count


def split_v(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    axis = int(rng.integers(0, len(shape)))
    sizes = [int(n) for n in rng.integers(1, 4, int(rng.integers(1, 4)))]
    shape[axis] = sum(sizes)
    if rng.random() < 0.4:
        sizes[0] = -1
    operands = [Fed(floats(rng, *shape)), np.array(sizes, np.int32), np.array(axis, np.int32)]
    return "SPLIT_V", ("SplitVOptions", {"numSplits": len(sizes)}), operands, [F] * len(sizes)


def gather(rng):
    shape = shape_of(rng, int(rng.integers(1, 5)))
    batch = int(rng.integers(0, min(2, len(shape))))
    axis = int(rng.integers(batch, len(shape)))
    ids = rng.integers(0, shape[axis], shape[:batch] + shape_of(rng, int(rng.integers(1, 3)), 4))
    fields = {"axis": axis, "batchDims": batch}
    operands = [Fed(floats(rng, *shape)), Fed(ids.astype(np.int32))]
    return "GATHER", ("GatherOptions", fields), operands, [F]


def gather_nd(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    depth = int(rng.integers(1, len(shape) + 1))
    ids = np.stack([rng.integers(0, n, 4) for n in shape[:depth]], -1).astype(np.int32)
    return "GATHER_ND", ("GatherNdOptions", {}), [Fed(floats(rng, *shape)), Fed(ids)], [F]


def scatter_nd(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)))
    depth = int(rng.integers(1, len(shape) + 1))
    ids = np.stack([rng.integers(0, n, 4) for n in shape[:depth]], -1).astype(np.int32)
    operands = [Fed(ids), Fed(floats(rng, 4, *shape[depth:])), np.array(shape, np.int32)]
    return "SCATTER_ND", ("ScatterNdOptions", {}), operands, [F]


def pad(op):
    def build(rng):
        shape = [int(n) for n in rng.integers(3, 7, int(rng.integers(1, 5)))]
        borders = rng.integers(0, 3, (len(shape), 2)).astype(np.int32)
        operands = [Fed(floats(rng, *shape)), borders]
        options = ("PadOptions", {})
        if op == "PADV2":
            operands.append(np.array(rng.standard_normal(), F))
            options = ("PadV2Options", {})
        if op == "MIRROR_PAD":
            options = ("MirrorPadOptions", {"mode": int(rng.integers(0, 2))})
        return op, options, operands, [F]

    return build


def tile(rng):
    shape = shape_of(rng, int(rng.integers(1, 4)), 4)
    times = rng.integers(1, 4, len(shape)).astype(np.int32)
    return "TILE", ("TileOptions", {}), [Fed(floats(rng, *shape)), times], [F]


def broadcast_to(rng):
    wanted = shape_of(rng, int(rng.integers(1, 5)), 4)
    shape = [1 if rng.random() < 0.5 else n for n in wanted][int(rng.integers(0, len(wanted))) :]
    operands = [Fed(floats(rng, *shape)), np.array(wanted, np.int32)]
    return "BROADCAST_TO", ("BroadcastToOptions", {}), operands, [F]


def reverse(rng):
    x = floats(rng, *shape_of(rng, int(rng.integers(1, 4))))
    axis = np.array([int(rng.integers(0, x.ndim))], np.int32)
    return "REVERSE_V2", ("ReverseV2Options", {}), [Fed(x), axis], [F]


def reverse_sequence(rng):
    shape = shape_of(rng, int(rng.integers(2, 5)))
    seq, batch = (int(n) for n in rng.permutation(len(shape))[:2])
    lengths = rng.integers(1, shape[seq] + 1, shape[batch]).astype(np.int32)
    fields = {"seqDim": seq, "batchDim": batch}
    operands = [Fed(floats(rng, *shape)), Fed(lengths)]
    return "REVERSE_SEQUENCE", ("ReverseSequenceOptions", fields), operands, [F]


def space_depth(op, kind):
    def build(rng):
        s = int(rng.integers(1, 4))
        h, w, c = (int(n) for n in rng.integers(1, 4, 3))
        x = floats(rng, 1, h * s, w * s, c) if op[0] == "S" else floats(rng, 1, h, w, c * s * s)
        return op, (kind, {"blockSize": s}), [Fed(x)], [F]

    return build


def space_to_batch(rng):
    block = [int(n) for n in rng.integers(1, 4, 2)]
    extents = [int(n) for n in rng.integers(3, 8, 2)]
    pads = [[int(rng.integers(0, 2)), 0] for _ in range(2)]
    for i in range(2):
        pads[i][1] = -(extents[i] + pads[i][0]) % block[i]
    x = floats(rng, 2, *extents, int(rng.integers(1, 4)))
    operands = [Fed(x), np.array(block, np.int32), np.array(pads, np.int32)]
    return "SPACE_TO_BATCH_ND", ("SpaceToBatchNDOptions", {}), operands, [F]


def batch_to_space(rng):
    block = [int(n) for n in rng.integers(1, 4, 2)]
    crops = rng.integers(0, 2, (2, 2)).astype(np.int32)
    x = floats(rng, 2 * block[0] * block[1], *(int(n) for n in rng.integers(3, 6, 2)), 3)
    operands = [Fed(x), np.array(block, np.int32), crops]
    return "BATCH_TO_SPACE_ND", ("BatchToSpaceNDOptions", {}), operands, [F]


def resize(op, kind):
    def build(rng):
        x = floats(rng, 1, *(int(n) for n in rng.integers(2, 8, 2)), int(rng.integers(1, 4)))
        size = rng.integers(2, 12, 2).astype(np.int32)
        mode = int(rng.integers(0, 3))
        fields = {"alignCorners": mode == 1, "halfPixelCenters": mode == 2}
        return op, (kind, fields), [Fed(x), size], [F]

    return build


def select(op):
    def build(rng):
        a, b = pair(rng)
        if a.size == 1:  # where LiteRT keeps the shape that the file says
            a, b = floats(rng, 2, 3), floats(rng, 3)
        if op == "SELECT":
            b = floats(rng, *a.shape)
        condition = rng.integers(0, 2, a.shape).astype(np.bool_)
        if op == "SELECT" and a.ndim > 1 and rng.random() < 0.5:
            condition = rng.integers(0, 2, a.shape[:1]).astype(np.bool_)
        kind = "SelectOptions" if op == "SELECT" else "SelectV2Options"
        return op, (kind, {}), [Fed(condition), Fed(a), Fed(b)], [F]

    return build


def cast(rng):
    pairs = [(F, np.int32), (np.int32, F), (F, np.bool_), (np.bool_, F), (np.int32, np.int64)]
    pairs += [(np.uint8, F), (F, np.int64), (np.int64, np.int32)]
    a, b = pairs[int(rng.integers(0, len(pairs)))]
    x = (rng.standard_normal(shape_of(rng, 2)) * 5).astype(np.float32)
    x = (np.abs(x) if a == np.uint8 else x).astype(a)
    fields = {"inDataType": TYPES[np.dtype(a)], "outDataType": TYPES[np.dtype(b)]}
    return "CAST", ("CastOptions", fields), [Fed(x)], [b]


def one_hot(rng):
    ids = rng.integers(-1, 6, shape_of(rng, int(rng.integers(1, 3)))).astype(np.int32)
    fields = {"axis": int(rng.integers(-1, ids.ndim + 1))}
    operands = [Fed(ids), np.array(5, np.int32), np.array(2.5, F), np.array(-1, F)]
    return "ONE_HOT", ("OneHotOptions", fields), operands, [F]
