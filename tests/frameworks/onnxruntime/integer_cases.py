# SPDX-License-Identifier: Apache-2.0
"""Operators of quantized ONNX graphs: nodes between DequantizeLinear and QuantizeLinear, and those
of integers, with shapes, scales and zero points drawn at random."""

import numpy as np
from onnx import helper, numpy_helper
from saturated_pairs import WEIGHT_BITS

MICROSOFT = "com.microsoft"


class Drawn:
    """A model while it is drawn: bytes come in, bytes go out."""

    def __init__(self, rng, dtype, weight_dtype=np.int8):
        self.rng, self.dtype, self.weight_dtype = rng, np.dtype(dtype), np.dtype(weight_dtype)
        self.nodes, self.initializers, self.inputs, self.fed = [], [], [], {}

    def name(self, stem):
        return f"{stem}{len(self.nodes) + len(self.initializers) + len(self.inputs)}"

    def constant(self, array):
        name = self.name("c")
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        name = self.name("v")
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def scale(self):
        return np.float32(np.exp(self.rng.uniform(np.log(0.002), np.log(0.1))))

    def zero(self, dtype=None):
        info = np.iinfo(dtype or self.dtype)
        ends = [info.min, info.max, (info.min + info.max + 1) // 2]
        drawn = ends + [int(self.rng.integers(info.min, info.max + 1)) for _ in range(3)]
        return np.array(self.rng.choice(drawn), info.dtype)

    def integers(self, shape, dtype=None):
        info = np.iinfo(dtype or self.dtype)
        return self.rng.integers(info.min, info.max + 1, shape).astype(info.dtype)

    def weight_integers(self, shape):
        values = self.integers(shape, self.weight_dtype)
        if self.weight_dtype == np.int8 and self.dtype == np.uint8:
            values >>= 8 - WEIGHT_BITS
        return values

    def bytes(self, shape):
        """(name, scale, zero) of a tensor that is fed."""
        name = self.name("x")
        element = helper.np_dtype_to_tensor_dtype(self.dtype)
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        self.fed[name] = self.integers(shape)
        return name, self.constant(self.scale()), self.constant(self.zero())

    def numbers(self, shape):
        return self.node("DequantizeLinear", self.bytes(shape))

    def weights(self, shape, axis=None):
        """(name, scale, zero); one scale of each element of the axis, or one."""
        plain = axis is None or self.rng.random() < 0.3
        each = [] if plain else [shape[axis]]
        scale = np.exp(self.rng.uniform(np.log(0.001), np.log(0.02), each)).astype(np.float32)
        if self.weight_dtype == np.uint8:  # one zero point, as every quantizer writes it
            zero = np.full(each, self.zero(np.uint8), np.uint8)
        else:
            zero = np.zeros(each, self.weight_dtype)
        values = self.weight_integers(shape)
        return self.constant(values), self.constant(scale), self.constant(zero), plain

    def weight_numbers(self, shape, axis=None):
        value, scale, zero, plain = self.weights(shape, axis)
        extra = {} if plain else {"axis": axis}
        return self.node("DequantizeLinear", [value, scale, zero], **extra), scale

    def bias(self, count, x_scale, w_scale):
        """i32 on the steps of the products."""
        known = {t.name: numpy_helper.to_array(t) for t in self.initializers}
        scale = np.atleast_1d(known[x_scale] * known[w_scale]).astype(np.float32)
        scale = scale[0] if scale.size == 1 else scale
        values = self.rng.integers(-3000, 3000, count).astype(np.int32)
        zero = np.zeros(np.shape(scale), np.int32)
        extra = {"axis": 0} if np.ndim(scale) else {}
        names = [self.constant(values), self.constant(scale), self.constant(zero)]
        return self.node("DequantizeLinear", names, **extra)

    def steps_of(self, y, scale=None):
        """Bytes of a value, on steps that its values about fill."""
        scale = np.float32(scale if scale else np.exp(self.rng.uniform(-4, -1)))
        return self.node("QuantizeLinear", [y, self.constant(scale), self.constant(self.zero())])

    def finish(self, y):
        element = helper.np_dtype_to_tensor_dtype(self.dtype)
        output = helper.make_tensor_value_info(y, element, None)
        graph = helper.make_graph(self.nodes, "drawn", self.inputs, [output], self.initializers)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def window(rng, rank=2, kernels=(1, 2, 3, 5)):
    kernel = [int(rng.choice(kernels)) for _ in range(rank)]
    return {
        "kernel_shape": kernel,
        "strides": [int(rng.integers(1, 3)) for _ in range(rank)],
        "pads": [int(rng.integers(0, k // 2 + 1)) for k in kernel + kernel],
    }


def conv_shapes(rng, kind, rank):
    c = int(rng.integers(1, 40))
    extents = [int(rng.integers(6, 14)) for _ in range(rank)]
    if kind == "depthwise":
        return [1, c, *extents], c, [c, 1], c
    if kind == "grouped":
        groups, each, out = (
            int(rng.integers(2, 5)),
            int(rng.integers(1, 9)),
            int(rng.integers(1, 6)),
        )
        return [1, groups * each, *extents], groups * out, [groups * out, each], groups
    out = int(rng.integers(1, 50))
    return [int(rng.integers(1, 3)), c, *extents], out, [out, c], 1


def conv(kind, rank=2, limit=None):
    def draw(d):
        x_shape, out, w_shape, groups = conv_shapes(d.rng, kind, rank)
        attributes = window(d.rng, rank)
        x, x_scale, x_zero = d.bytes(x_shape)
        w, w_scale = d.weight_numbers([*w_shape, *attributes["kernel_shape"]], 0)
        inputs = [d.node("DequantizeLinear", [x, x_scale, x_zero]), w]
        if d.rng.random() < 0.7:
            inputs.append(d.bias(out, x_scale, w_scale))
        y = d.node("Conv", inputs, group=groups, **attributes)
        if limit == "Relu":
            y = d.node("Relu", [y])
        if limit == "Clip":
            y = d.node("Clip", [y, d.constant(np.float32(-1)), d.constant(np.float32(6))])
        return d.steps_of(y, np.exp(d.rng.uniform(-3, 1)))

    return draw


def qlinear_conv(d):
    x_shape, out, w_shape, groups = conv_shapes(d.rng, d.rng.choice(["dense", "depthwise"]), 2)
    attributes = window(d.rng)
    w, w_scale, w_zero, _ = d.weights([*w_shape, *attributes["kernel_shape"]], 0)
    inputs = [*d.bytes(x_shape), w, w_scale, w_zero]
    inputs += [d.constant(np.float32(np.exp(d.rng.uniform(-3, 1)))), d.constant(d.zero())]
    if d.rng.random() < 0.7:
        inputs.append(d.constant(d.rng.integers(-3000, 3000, out).astype(np.int32)))
    return d.node("QLinearConv", inputs, group=groups, **attributes)


def gemm(d):
    rows, k, out = (int(n) for n in d.rng.integers(1, 70, 3))
    transposed = bool(d.rng.random() < 0.5)
    x, x_scale, x_zero = d.bytes([rows, k])
    shape, axis = ([out, k], 0) if transposed else ([k, out], 1)
    w, w_scale = d.weight_numbers(shape, axis)
    inputs = [d.node("DequantizeLinear", [x, x_scale, x_zero]), w]
    if d.rng.random() < 0.7:
        inputs.append(d.bias(out, x_scale, w_scale))
    return d.steps_of(d.node("Gemm", inputs, transB=int(transposed)), np.exp(d.rng.uniform(-3, 0)))


def matmul(d):
    k, out = (int(n) for n in d.rng.integers(1, 90, 2))
    shape = [int(n) for n in d.rng.integers(1, 6, d.rng.integers(1, 3))]
    w, _ = d.weight_numbers([k, out], 1)
    return d.steps_of(d.node("MatMul", [d.numbers([*shape, k]), w]), np.exp(d.rng.uniform(-3, 0)))


def qlinear_matmul(d):
    rows, k, out = (int(n) for n in d.rng.integers(1, 70, 3))
    w, w_scale, w_zero, _ = d.weights([k, out])
    inputs = [*d.bytes([rows, k]), w, w_scale, w_zero]
    inputs += [d.constant(np.float32(np.exp(d.rng.uniform(-3, 0)))), d.constant(d.zero())]
    return d.node("QLinearMatMul", inputs)


def matmul_of_two(d):
    """Of two tensors that are fed; the second turned around, as attention has its keys."""
    m, k, n, batch = (int(v) for v in d.rng.integers(1, 40, 4))
    turned = d.rng.random() < 0.5
    b = d.numbers([batch % 4 + 1, n, k] if turned else [batch % 4 + 1, k, n])
    if turned:
        b = d.node("Transpose", [b], perm=[0, 2, 1])
    y = d.node("MatMul", [d.numbers([batch % 4 + 1, m, k]), b])
    return d.steps_of(y, np.exp(d.rng.uniform(-2, 2)))


def qgemm(d):
    rows, k, out = (int(n) for n in d.rng.integers(1, 70, 3))
    w, w_scale, w_zero, _ = d.weights([out, k])
    inputs = [*d.bytes([rows, k]), w, w_scale, w_zero]
    inputs.append(d.constant(d.rng.integers(-3000, 3000, out).astype(np.int32)))
    inputs += [d.constant(np.float32(np.exp(d.rng.uniform(-3, 0)))), d.constant(d.zero())]
    return d.node("QGemm", inputs, MICROSOFT, alpha=1.0, transB=1)


def pair(rng):
    shape = [int(n) for n in rng.integers(1, 7, 3)]
    other = [n if rng.random() < 0.7 else 1 for n in shape]
    return shape, other


def binary(op):
    def draw(d):
        a, b = pair(d.rng)
        return d.steps_of(d.node(op, [d.numbers(a), d.numbers(b)]))

    return draw


def qlinear_binary(op):
    def draw(d):
        a, b = pair(d.rng)
        inputs = [*d.bytes(a), *d.bytes(b), d.constant(np.float32(np.exp(d.rng.uniform(-4, -1))))]
        return d.node(op, [*inputs, d.constant(d.zero())], MICROSOFT)

    return draw


def unary(op, **attributes):
    return lambda d: d.steps_of(d.node(op, [d.numbers([16, 17])], **attributes))


def qlinear_unary(op, shape=(2, 3, 8, 9), **attributes):
    def draw(d):
        scale = np.float32(1 / 256 if "Softmax" in op else np.exp(d.rng.uniform(-5, -2)))
        inputs = [*d.bytes(list(shape)), d.constant(scale), d.constant(d.zero())]
        return d.node(op, inputs, MICROSOFT, **attributes)

    return draw


def root(d):
    return d.steps_of(d.node("Sqrt", [d.node("Abs", [d.numbers([16, 17])])]))


def swish(d):
    x = d.numbers([16, 17])
    return d.steps_of(d.node("Mul", [x, d.node("Sigmoid", [x])]))


def average_pool(d):
    attributes = window(d.rng, kernels=(2, 3))
    attributes["count_include_pad"] = int(d.rng.random() < 0.5)
    if not attributes["count_include_pad"]:
        attributes["pads"] = [0] * 4
    x = d.numbers([1, int(d.rng.integers(1, 20)), 9, 10])
    return d.steps_of(d.node("AveragePool", [x], **attributes), np.exp(d.rng.uniform(-5, -2)))


def max_pool(d):
    attributes = window(d.rng, kernels=(2, 3)) | {"ceil_mode": int(d.rng.random() < 0.5)}
    x, scale, zero = d.bytes([1, int(d.rng.integers(1, 20)), 9, 10])
    y = d.node("MaxPool", [d.node("DequantizeLinear", [x, scale, zero])], **attributes)
    return d.node("QuantizeLinear", [y, scale, zero])


def mean(d):
    x = d.numbers([2, int(d.rng.integers(1, 20)), 7, 8])
    op = d.rng.choice(["GlobalAveragePool", "ReduceMean"])
    extra = {} if op == "GlobalAveragePool" else {"axes": [2, 3], "keepdims": 0}
    return d.steps_of(d.node(op, [x], **extra), np.exp(d.rng.uniform(-6, -3)))


def softmax(d):
    return d.steps_of(d.node("Softmax", [d.numbers([3, 4, 11])], axis=-1), 1 / 256)


def concat(d):
    parts = [d.numbers([2, int(d.rng.integers(1, 6)), 3]) for _ in range(3)]
    return d.steps_of(d.node("Concat", parts, axis=1))


def qlinear_concat(d):
    inputs = [d.constant(d.scale()), d.constant(d.zero())]
    for _ in range(3):
        inputs += d.bytes([2, int(d.rng.integers(1, 6)), 3])
    return d.node("QLinearConcat", inputs, MICROSOFT, axis=1)


def moved(d):
    """A chain of movement between one scale and itself."""
    x, scale, zero = d.bytes([2, 4, 6])
    y = d.node("DequantizeLinear", [x, scale, zero])
    y = d.node("Transpose", [y], perm=[1, 0, 2])
    y = d.node("Reshape", [y, d.constant(np.array([4, 12]))])
    y = d.node("Pad", [y, d.constant(np.array([0, 1, 1, 0]))])
    y = d.node("Slice", [y, d.constant(np.array([1])), d.constant(np.array([9])),
                         d.constant(np.array([1])), d.constant(np.array([2]))])  # fmt: skip
    y = d.node("Gather", [y, d.constant(np.array([2, 0, 3]))], axis=0)
    return d.node("QuantizeLinear", [y, scale, zero])


def rescaled(d):
    return d.steps_of(d.numbers([16, 17]))


def conv_transpose(d):
    """Two dimensions or one; steps, pads, dilations and more pixels at the end."""
    rank = int(d.rng.integers(1, 3))
    groups, each, out = [(1, 5, 7), (1, 16, 8), (2, 3, 4), (6, 1, 1)][int(d.rng.integers(4))]
    kernel = [int(n) for n in d.rng.integers(1, 5, rank)]
    stride = [int(n) for n in d.rng.integers(1, 4, rank)]
    dilation = [int(n) for n in d.rng.integers(1, 3, rank)]
    pads = [int(d.rng.integers(0, 2)) for _ in range(2 * rank)]
    extra = [int(d.rng.integers(0, s)) for s in stride]
    x, x_scale, x_zero = d.bytes([2, groups * each, *(int(n) for n in d.rng.integers(4, 8, rank))])
    weight = [groups * each, out, *kernel]
    w, w_scale = d.weight_numbers(weight, axis=1 if groups == 1 else None)
    if groups > 1:
        w, w_scale = plain_weights(d, weight)
    inputs = [d.node("DequantizeLinear", [x, x_scale, x_zero]), w]
    if d.rng.random() < 0.7:
        inputs.append(d.bias(groups * out, x_scale, w_scale))
    y = d.node("ConvTranspose", inputs, group=groups, kernel_shape=kernel, strides=stride,
               dilations=dilation, pads=pads, output_padding=extra)  # fmt: skip
    return d.steps_of(y, np.exp(d.rng.uniform(-4, 0)))


def plain_weights(d, shape):
    """Of one scale."""
    values, scale = d.constant(d.weight_integers(shape)), d.constant(np.float32(0.01))
    zero = d.constant(np.array(128 if d.weight_dtype == np.uint8 else 0, d.weight_dtype))
    return d.node("DequantizeLinear", [values, scale, zero]), scale


def squeeze_excite(d):
    """An image times a number of each channel, or of each pixel."""
    n, c, h, w = (int(k) for k in d.rng.integers(1, 9, 4))
    other = [[n, c, 1, 1], [n, 1, h, w], [1, c, 1, 1], [1, 1, 1, 1]][int(d.rng.integers(4))]
    both = [d.numbers([n, c, h, w]), d.numbers(other)]
    if d.rng.random() < 0.3:
        both.reverse()
    return d.steps_of(d.node(str(d.rng.choice(["Mul", "Add", "Sub"])), both))


def prelu(d):
    c = int(d.rng.integers(1, 9))
    slopes = d.constant(d.rng.uniform(-0.5, 1.5, [c, 1, 1]).astype(np.float32))
    if d.rng.random() < 0.5:
        values = d.constant(d.integers([c, 1, 1], np.int8))
        zero = d.constant(np.array(0, np.int8))
        slopes = d.node("DequantizeLinear", [values, d.constant(np.float32(0.01)), zero])
    return d.steps_of(d.node("PRelu", [d.numbers([2, c, 5, 6]), slopes]))


def per_channel(op):
    """Functions of one channel each: a sum or a product with constants, normalization."""

    def draw(d):
        c = int(d.rng.integers(1, 20))
        x = d.numbers([2, c, 5, 6])
        drawn = [d.rng.uniform(0.2, 2, c).astype(np.float32) for _ in range(4)]
        if op == "BatchNormalization":
            return d.steps_of(d.node(op, [x, *(d.constant(each) for each in drawn)]))
        return d.steps_of(d.node(op, [x, d.constant(drawn[0].reshape(c, 1, 1))]))

    return draw


def shuffled_pixels(d):
    x, scale, zero = d.bytes([2, 8, 4, 6])
    op, more = [("DepthToSpace", {"mode": "CRD"}), ("DepthToSpace", {"mode": "DCR"}),
                ("SpaceToDepth", {})][int(d.rng.integers(3))]  # fmt: skip
    y = d.node(op, [d.node("DequantizeLinear", [x, scale, zero])], blocksize=2, **more)
    return d.node("QuantizeLinear", [y, scale, zero])


def clipped(d):
    """Clip between pairs of its own, its limits constants behind DequantizeLinear or not."""
    low, high = d.constant(np.float32(-0.5)), d.constant(np.float32(1.5))
    return d.steps_of(d.node("Clip", [d.numbers([16, 17]), low, high]))


def mean_of(axes, keep):
    def draw(d):
        shape = [2, 3, 7, int(d.rng.integers(1, 20))]
        y = d.node("ReduceMean", [d.numbers(shape)], axes=axes, keepdims=keep)
        return d.steps_of(y, np.exp(d.rng.uniform(-6, -3)))

    return draw


def softmax_of_channels(d):
    return d.steps_of(d.node("Softmax", [d.numbers([2, 11, 3, 4])], axis=1), 1 / 256)


def qlinear_where(d):
    kept = d.constant(d.rng.random([3, 4, 1]) < 0.5)
    inputs = [kept, *d.bytes([3, 4, 5]), *d.bytes([1, 4, 5])]
    inputs += [d.constant(d.scale()), d.constant(d.zero())]
    return d.node("QLinearWhere", inputs, MICROSOFT)


def channels_last(op, **attributes):
    def draw(d):
        inputs = [*d.bytes([2, 8, 9, 6]), d.constant(np.float32(0.02)), d.constant(d.zero())]
        return d.node(op, inputs, MICROSOFT, channels_last=1, **attributes)

    return draw


def nhwc_max_pool(d):
    return d.node("NhwcMaxPool", [d.bytes([2, 8, 9, 6])[0]], MICROSOFT, kernel_shape=[2, 3],
                  strides=[2, 1], pads=[0, 1, 1, 0])  # fmt: skip


def larger(d):
    """Of two tensors."""
    a, b = pair(d.rng)
    op = str(d.rng.choice(["Max", "Min"]))
    return d.steps_of(d.node(op, [d.numbers(a), d.numbers(b)]))


def largest(d):
    x, scale, zero = d.bytes([2, 5, 7, 8])
    number = d.node("DequantizeLinear", [x, scale, zero])
    op = str(d.rng.choice(["ReduceMax", "GlobalMaxPool"]))
    extra = {} if op == "GlobalMaxPool" else {"axes": [2, 3], "keepdims": 1}
    return d.node("QuantizeLinear", [d.node(op, [number], **extra), scale, zero])


# Exact: the integers of onnxruntime's optimized graph, which are those of its integer kernels.
EXACT = {
    "Conv": conv("dense"),
    "Conv grouped": conv("grouped"),
    "Conv depthwise": conv("depthwise"),
    "Conv 1d": conv("dense", 1),
    "Conv Relu": conv("dense", limit="Relu"),
    "Conv Clip": conv("depthwise", limit="Clip"),
    "QLinearConv": qlinear_conv,
    "Gemm": gemm,
    "MatMul": matmul,
    "QLinearMatMul": qlinear_matmul,
    "MatMul of two": matmul_of_two,
    "QGemm": qgemm,
    "MaxPool": max_pool,
    "movement": moved,
    "DepthToSpace": shuffled_pixels,
    "NhwcMaxPool": nhwc_max_pool,
    "largest": largest,
}
# Within one step.
NEAR = {
    "Add": binary("Add"),
    "Sub": binary("Sub"),
    "Mul": binary("Mul"),
    "QLinearAdd": qlinear_binary("QLinearAdd"),
    "QLinearMul": qlinear_binary("QLinearMul"),
    "Sigmoid": unary("Sigmoid"),
    "Tanh": unary("Tanh"),
    "HardSwish": unary("HardSwish"),
    "HardSigmoid": unary("HardSigmoid", alpha=0.2, beta=0.5),
    "LeakyRelu": unary("LeakyRelu", alpha=0.1),
    "Elu": unary("Elu"),
    "Relu": unary("Relu"),
    "Erf": unary("Erf"),
    "Sqrt": root,
    "Swish": swish,
    "rescaling": rescaled,
    "QLinearSigmoid": qlinear_unary("QLinearSigmoid"),
    "QLinearLeakyRelu": qlinear_unary("QLinearLeakyRelu", alpha=0.3),
    "QLinearSoftmax": qlinear_unary("QLinearSoftmax", axis=3, opset=13),
    "QLinearGlobalAveragePool": qlinear_unary("QLinearGlobalAveragePool"),
    "QLinearAveragePool": qlinear_unary("QLinearAveragePool", kernel_shape=[2, 3]),
    "AveragePool": average_pool,
    "mean": mean,
    "Softmax": softmax,
    "Concat": concat,
    "QLinearConcat": qlinear_concat,
    "ConvTranspose": conv_transpose,
    "squeeze and excite": squeeze_excite,
    "PRelu": prelu,
    "Mul by channel": per_channel("Mul"),
    "Add by channel": per_channel("Add"),
    "BatchNormalization": per_channel("BatchNormalization"),
    "Clip": clipped,
    "mean of rows": mean_of([1, 2], 1),
    "mean of channels": mean_of([1], 1),
    "mean of the last": mean_of([3], 0),
    "Softmax of channels": softmax_of_channels,
    "Max and Min": larger,
    "QLinearWhere": qlinear_where,
    "QLinearAveragePool, channels last": channels_last("QLinearAveragePool", kernel_shape=[2, 3]),
    "QLinearGlobalAveragePool, channels last": channels_last("QLinearGlobalAveragePool"),
}
