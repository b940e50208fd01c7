#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the networks for images of the tests and benchmarks with random weights, from `onnx` and
`numpy` alone.

  make_zoo.py OUTDIR [name ...] [--folded] [--golden]

Names: mobilenetv2_224 mobilenetv3l_224 resnet18_224 resnet50_224 squeezenet11_224 yolov8n_320
yolov8n_640 efficientnet_b0_224 shufflenetv2_224 lraspp_224 unet_192 vit_tiny_224. The graphs have
the operators and the spelling that exporters emit (SiLU as Sigmoid and Mul, hard-swish,
squeeze-and-excite, split and concat of C2f, the distribution head of YOLOv8, channel shuffles as
transposes of five dimensions); MobileNetV2 and the last four keep their BatchNormalization nodes.
Gains keep the activations of a smooth image near unit size at every depth. Weights are seeded, so
every machine makes the same bytes. With --golden, OUTDIR/NAME.npz gets an input and onnxruntime's
outputs (arrays in:NAME, out:NAME and meta with opt_spread), for `ingot check`.
"""

import argparse
import json
import os
import zlib

import numpy as np
import onnx
import vit
from onnx import TensorProto, helper, numpy_helper


class Net:
    """Builds one graph; every method adds nodes and returns the name of its result."""

    folded = False  # BatchNormalization folded into the weights beforehand

    def __init__(self, name, size, channels=3):
        self.name = name
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.weights, self.count = [], [], 0
        self.channels = {"input": channels}
        self.input = helper.make_tensor_value_info(
            "input", TensorProto.FLOAT, [1, channels, size, size]
        )

    def const(self, array, hint="c"):
        self.count += 1
        name = f"{hint}_{self.count}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def op(self, kind, inputs, outputs=1, channels=None, **attributes):
        self.count += 1
        names = [
            f"{kind.lower()}_{self.count}" + (f"_{i}" if outputs > 1 else "")
            for i in range(outputs)
        ]
        self.nodes.append(
            helper.make_node(kind, inputs, names, name=f"/{kind}_{self.count}", **attributes)
        )
        for n in names:
            self.channels[n] = channels if channels is not None else self.channels.get(inputs[0])
        return names[0] if outputs == 1 else names

    def conv(
        self, x, out, k=1, stride=1, groups=1, gain=1.4, bias=True, norm=False, pad=None, dilation=1
    ):
        c = self.channels[x]
        fan = c // groups * k * k
        w = self.rng.standard_normal((out, c // groups, k, k)).astype(np.float32) * np.float32(
            gain / np.sqrt(fan)
        )
        statistics = (
            [
                self.rng.uniform(low, high, out).astype(np.float32)
                for low, high in ((0.8, 1.2), (-0.1, 0.1), (-0.1, 0.1), (0.8, 1.2))
            ]
            if norm
            else None
        )
        if norm and self.folded:
            scale = statistics[0] / np.sqrt(statistics[3] + np.float32(1e-5))
            inputs = [
                x,
                self.const(w * scale[:, None, None, None], "w"),
                self.const(statistics[1] - statistics[2] * scale, "b"),
            ]
        else:
            inputs = [x, self.const(w, "w")]
            if bias and not norm:
                inputs.append(
                    self.const((self.rng.standard_normal(out) * 0.1).astype(np.float32), "b")
                )
        pad = k // 2 * dilation if pad is None else pad
        y = self.op(
            "Conv",
            inputs,
            channels=out,
            kernel_shape=[k, k],
            strides=[stride, stride],
            pads=[pad] * 4,
            group=groups,
            dilations=[dilation] * 2,
        )
        if norm and not self.folded:
            y = self.op(
                "BatchNormalization", [y] + [self.const(s, "bn") for s in statistics], epsilon=1e-5
            )
        return y

    def act(self, x, kind):
        if kind == "relu":
            return self.op("Relu", [x])
        if kind == "relu6":
            return self.op("Clip", [x, self.const(np.float32(0)), self.const(np.float32(6))])
        if kind == "silu":
            return self.op("Mul", [x, self.op("Sigmoid", [x])])
        if kind == "hswish":
            return self.op("HardSwish", [x])
        assert kind is None
        return x

    def add(self, a, b):
        return self.op("Add", [a, b])

    def concat(self, parts, axis=1):
        return self.op("Concat", parts, channels=sum(self.channels[p] for p in parts), axis=axis)

    def mean(self, x):
        """The global average as today's exporters write it."""
        return self.op(
            "ReduceMean", [x, self.const(np.array([2, 3], np.int64), "axes")], keepdims=1
        )

    def pool(self, x, k, stride, pad=0, kind="MaxPool", **attributes):
        return self.op(
            kind, [x], kernel_shape=[k, k], strides=[stride, stride], pads=[pad] * 4, **attributes
        )

    def reshape(self, x, shape, channels=None):
        return self.op(
            "Reshape", [x, self.const(np.array(shape, np.int64), "shape")], channels=channels
        )

    def classifier(self, x, classes=1000, hidden=None):
        x = self.reshape(self.mean(x), [1, -1])
        for n in ([hidden] if hidden else []) + [classes]:
            c = self.channels[x]
            w = self.rng.standard_normal((n, c)).astype(np.float32) / np.float32(np.sqrt(c))
            x = self.op(
                "Gemm",
                [x, self.const(w, "w"), self.const(np.zeros(n, np.float32), "b")],
                channels=n,
                transB=1,
                alpha=1.0,
                beta=1.0,
            )
            if n == hidden:
                x = self.act(x, "hswish")
        return x

    def model(self, output, shape):
        for node in self.nodes:
            node.output[:] = ["output" if o == output else o for o in node.output]
        out = helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, self.name, [self.input], [out], self.weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="ingot make_zoo"
        )
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def mobilenetv2(size=224):
    n = Net("mobilenetv2", size)
    x = n.act(n.conv("input", 32, 3, 2, norm=True), "relu6")
    for t, c, repeat, stride in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]:
        for i in range(repeat):
            y, c_in, s = x, n.channels[x], stride if i == 0 else 1
            if t != 1:
                y = n.act(n.conv(y, c_in * t, norm=True), "relu6")
            y = n.act(n.conv(y, n.channels[y], 3, s, groups=n.channels[y], norm=True), "relu6")
            y = n.conv(y, c, gain=1.0, norm=True)
            x = n.add(x, y) if s == 1 and c_in == c else y
    return n.model(n.classifier(n.act(n.conv(x, 1280, norm=True), "relu6")), [1, 1000])


MOBILENETV3L = [
    (3, 16, 16, 0, "relu", 1),
    (3, 64, 24, 0, "relu", 2),
    (3, 72, 24, 0, "relu", 1),
    (5, 72, 40, 1, "relu", 2),
    (5, 120, 40, 1, "relu", 1),
    (5, 120, 40, 1, "relu", 1),
    (3, 240, 80, 0, "hswish", 2),
    (3, 200, 80, 0, "hswish", 1),
    (3, 184, 80, 0, "hswish", 1),
    (3, 184, 80, 0, "hswish", 1),
    (3, 480, 112, 1, "hswish", 1),
    (3, 672, 112, 1, "hswish", 1),
    (5, 672, 160, 1, "hswish", 2),
    (5, 960, 160, 1, "hswish", 1),
    (5, 960, 160, 1, "hswish", 1),
]


def mobilenetv3l(size=224):
    n = Net("mobilenetv3l", size)
    x = n.act(n.conv("input", 16, 3, 2), "hswish")
    for k, expand, c, squeeze, act, stride in MOBILENETV3L:
        y, c_in = x, n.channels[x]
        if expand != c_in:
            y = n.act(n.conv(y, expand), act)
        y = n.act(n.conv(y, expand, k, stride, groups=expand), act)
        if squeeze:
            s = n.mean(y)
            s = n.act(n.conv(s, (expand // 4 + 7) // 8 * 8), "relu")
            s = n.op("HardSigmoid", [n.conv(s, expand)], alpha=1 / 6, beta=0.5)
            y = n.op("Mul", [y, s])
        y = n.conv(y, c, gain=1.0)
        x = n.add(x, y) if stride == 1 and c_in == c else y
    return n.model(n.classifier(n.act(n.conv(x, 960), "hswish"), hidden=1280), [1, 1000])


def resnet(depth, size=224):
    n = Net(f"resnet{depth}", size)
    x = n.pool(n.act(n.conv("input", 64, 7, 2), "relu"), 3, 2, 1)
    for stage, repeat in enumerate([2, 2, 2, 2] if depth == 18 else [3, 4, 6, 3]):
        width = 64 << stage
        for i in range(repeat):
            stride, c_in, shortcut = 2 if stage and i == 0 else 1, n.channels[x], x
            out = width if depth == 18 else width * 4
            if stride != 1 or c_in != out:
                shortcut = n.conv(x, out, 1, stride, gain=1.0, pad=0)
            if depth == 18:
                y = n.conv(n.act(n.conv(x, width, 3, stride), "relu"), width, 3, gain=0.7)
            else:
                y = n.act(n.conv(n.act(n.conv(x, width), "relu"), width, 3, stride), "relu")
                y = n.conv(y, out, gain=0.7)
            x = n.act(n.add(y, shortcut), "relu")
    return n.model(n.classifier(x), [1, 1000])


def squeezenet11(size=224):
    n = Net("squeezenet11", size)
    x = n.act(n.conv("input", 64, 3, 2, pad=0), "relu")
    for row in [
        "p",
        (16, 64),
        (16, 64),
        "p",
        (32, 128),
        (32, 128),
        "p",
        (48, 192),
        (48, 192),
        (64, 256),
        (64, 256),
    ]:
        if row == "p":
            x = n.pool(x, 3, 2, ceil_mode=1)
            continue
        s = n.act(n.conv(x, row[0]), "relu")
        x = n.concat([n.act(n.conv(s, row[1]), "relu"), n.act(n.conv(s, row[1], 3), "relu")])
    x = n.op("GlobalAveragePool", [n.act(n.conv(x, 1000), "relu")])
    return n.model(n.op("Flatten", [x], axis=1), [1, 1000])


def yolov8n(size):
    n = Net("yolov8n", size)
    block = lambda x, c, k=1, s=1: n.act(n.conv(x, c, k, s), "silu")

    def c2f(x, c, repeat, shortcut):
        half = c // 2
        x = block(x, c)
        parts = n.op(
            "Split",
            [x, n.const(np.array([half, half], np.int64))],
            outputs=2,
            channels=half,
            axis=1,
        )
        for _ in range(repeat):
            y = block(block(parts[-1], half, 3), half, 3)
            parts.append(n.add(parts[-1], y) if shortcut else y)
        return block(n.concat(parts), c)

    def up(x):
        return n.op(
            "Resize",
            [x, "", n.const(np.array([1, 1, 2, 2], np.float32), "scales")],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
            cubic_coeff_a=-0.75,
        )

    x = c2f(block(block("input", 16, 3, 2), 32, 3, 2), 32, 1, True)
    p3 = c2f(block(x, 64, 3, 2), 64, 2, True)
    p4 = c2f(block(p3, 128, 3, 2), 128, 2, True)
    x = block(c2f(block(p4, 256, 3, 2), 256, 1, True), 128)
    parts = [x]
    for _ in range(3):
        parts.append(n.pool(parts[-1], 5, 1, 2))
    p5 = block(n.concat(parts), 256)
    h4 = c2f(n.concat([up(p5), p4]), 128, 1, False)
    h3 = c2f(n.concat([up(h4), p3]), 64, 1, False)
    h4 = c2f(n.concat([block(h3, 64, 3, 2), h4]), 128, 1, False)
    h5 = c2f(n.concat([block(h4, 128, 3, 2), p5]), 256, 1, False)

    flat_box, flat_cls, anchors, strides = [], [], [], []
    for level, h in enumerate([h3, h4, h5]):
        side = size // (8 << level)
        box = n.conv(block(block(h, 64, 3), 64, 3), 64)
        cls = n.conv(block(block(h, 80, 3), 80, 3), 80)
        flat_box.append(n.reshape(box, [1, 64, -1], 64))
        flat_cls.append(n.reshape(cls, [1, 80, -1], 80))
        at = np.arange(side, dtype=np.float32) + 0.5
        anchors.append(np.stack([np.tile(at, side), np.repeat(at, side)]))
        strides.append(np.full((1, side * side), 8 << level, np.float32))
    total = sum(s.shape[1] for s in strides)
    box = n.op("Concat", flat_box, channels=64, axis=2)
    cls = n.op("Concat", flat_cls, channels=80, axis=2)
    x = n.op("Transpose", [n.reshape(box, [1, 4, 16, total], 4)], perm=[0, 2, 1, 3], channels=16)
    x = n.op("Softmax", [x], axis=1)
    bins = n.const(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1), "bins")
    x = n.reshape(
        n.op(
            "Conv",
            [x, bins],
            channels=1,
            kernel_shape=[1, 1],
            strides=[1, 1],
            pads=[0] * 4,
            group=1,
            dilations=[1, 1],
        ),
        [1, 4, total],
        4,
    )
    cut = lambda lo, hi: n.op(
        "Slice", [x, *(n.const(np.array([v], np.int64)) for v in (lo, hi, 1, 1))]
    )
    near, far = cut(0, 2), cut(2, 4)
    grid = n.const(np.concatenate(anchors, 1)[None], "anchors")
    a, b = n.op("Sub", [grid, near]), n.op("Add", [grid, far])
    centre = n.op("Div", [n.op("Add", [a, b]), n.const(np.float32(2))])
    boxes = n.op("Concat", [centre, n.op("Sub", [b, a])], axis=1, channels=4)
    boxes = n.op("Mul", [boxes, n.const(np.concatenate(strides, 1), "strides")])
    return n.model(n.op("Concat", [boxes, n.op("Sigmoid", [cls])], axis=1), [1, 84, total])


def efficientnet_b0(size=224):
    n = Net("efficientnet_b0", size)
    x = n.act(n.conv("input", 32, 3, 2, norm=True), "silu")
    rows = [
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ]
    for t, c, repeat, stride, k in rows:
        for i in range(repeat):
            y, c_in, s = x, n.channels[x], stride if i == 0 else 1
            if t != 1:
                y = n.act(n.conv(y, c_in * t, gain=1.0, norm=True), "silu")
            y = n.act(n.conv(y, c_in * t, k, s, groups=c_in * t, gain=1.5, norm=True), "silu")
            squeeze = n.act(n.conv(n.op("GlobalAveragePool", [y]), max(1, c_in // 4)), "silu")
            y = n.op("Mul", [n.op("Sigmoid", [n.conv(squeeze, c_in * t)]), y], channels=c_in * t)
            y = n.conv(y, c, gain=1.6, norm=True)
            x = n.add(y, x) if s == 1 and c_in == c else y
    return n.model(n.classifier(n.act(n.conv(x, 1280, gain=1.0, norm=True), "silu")), [1, 1000])


def shufflenetv2(size=224):
    n = Net("shufflenetv2", size)
    relu = lambda x, c: n.act(n.conv(x, c, norm=True), "relu")
    deep = lambda x, s: n.conv(x, n.channels[x], 3, s, groups=n.channels[x], gain=0.9, norm=True)

    def shuffle(x, side):
        c = n.channels[x]
        x = n.op("Transpose", [n.reshape(x, [1, 2, c // 2, side, side])], perm=[0, 2, 1, 3, 4])
        return n.reshape(x, [1, c, side, side], c)

    x = n.pool(n.act(n.conv("input", 24, 3, 2, norm=True), "relu"), 3, 2, 1)
    side = size // 4
    for c, repeat in [(116, 4), (232, 8), (464, 4)]:
        half, side = c // 2, side // 2
        x = shuffle(n.concat([relu(deep(x, 2), half), relu(deep(relu(x, half), 2), half)]), side)
        for _ in range(repeat - 1):
            left, right = n.op(
                "Split",
                [x, n.const(np.array([half, half], np.int64))],
                outputs=2,
                channels=half,
                axis=1,
            )
            x = shuffle(n.concat([left, relu(deep(relu(right, half), 1), half)]), side)
    return n.model(n.classifier(relu(x, 1024)), [1, 1000])


def lraspp(size=224, classes=21):
    """MobileNetV3-Large whose last stage is dilated instead of strided, under the two-branch
    head."""
    n = Net("lraspp", size)
    x = n.act(n.conv("input", 16, 3, 2, norm=True), "hswish")
    for i, (k, expand, c, squeeze, act, stride) in enumerate(MOBILENETV3L):
        y, c_in, dilation = x, n.channels[x], 2 if i >= 12 else 1
        if expand != c_in:
            y = n.act(n.conv(y, expand, norm=True), act)
        y = n.act(
            n.conv(
                y,
                expand,
                k,
                1 if i == 12 else stride,
                groups=expand,
                gain=1.0,
                norm=True,
                dilation=dilation,
            ),
            act,
        )
        if squeeze:
            s = n.act(n.conv(n.op("GlobalAveragePool", [y]), (expand // 4 + 7) // 8 * 8), "relu")
            y = n.op(
                "Mul",
                [n.op("HardSigmoid", [n.conv(s, expand)], alpha=1 / 6, beta=0.5), y],
                channels=expand,
            )
        y = n.conv(y, c, gain=1.2 if squeeze else 1.0, norm=True)
        x = n.add(y, x) if stride == 1 and c_in == c else y
        if c == 40:
            low = x
    x = n.act(n.conv(x, 960, norm=True), "hswish")
    gate = n.op("Sigmoid", [n.conv(n.op("GlobalAveragePool", [x]), 128, bias=False)])
    x = n.op("Mul", [n.act(n.conv(x, 128, norm=True), "relu"), gate])
    up = lambda x, factor: n.op(
        "Resize",
        [x, "", n.const(np.array([1, 1, factor, factor], np.float32), "scales")],
        mode="linear",
        coordinate_transformation_mode="half_pixel",
        cubic_coeff_a=-0.75,
        nearest_mode="floor",
    )
    x = n.add(n.conv(low, classes), n.conv(up(x, 2), classes))
    return n.model(up(x, 8), [1, classes, size, size])


def unet(size=192, width=16):
    n = Net("unet", size)

    def twice(x, c):
        for _ in range(2):
            x = n.act(n.conv(x, c, 3, norm=True), "relu")
        return x

    def up(x, c):
        w = n.rng.standard_normal((n.channels[x], c, 2, 2)).astype(np.float32) * np.float32(
            1.4 / np.sqrt(n.channels[x])
        )
        return n.op(
            "ConvTranspose",
            [x, n.const(w, "w"), n.const(np.zeros(c, np.float32), "b")],
            channels=c,
            kernel_shape=[2, 2],
            strides=[2, 2],
            pads=[0] * 4,
            dilations=[1, 1],
            group=1,
        )

    x, skips = "input", []
    for level in range(4):
        skips.append(twice(x, width << level))
        x = n.pool(skips[-1], 2, 2)
    x = twice(x, width << 4)
    for level in reversed(range(4)):
        x = twice(n.concat([skips[level], up(x, width << level)]), width << level)
    return n.model(n.op("Sigmoid", [n.conv(x, 1, gain=1.0)]), [1, 1, size, size])


def in_half(model):
    """The same network in f16 from input to output, as converters of whole models write it."""
    half = TensorProto.FLOAT16
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT:
            weight.CopyFrom(
                numpy_helper.from_array(
                    numpy_helper.to_array(weight).astype(np.float16), weight.name
                )
            )
    for port in [*model.graph.input, *model.graph.output]:
        port.type.tensor_type.elem_type = half
    onnx.checker.check_model(model, full_check=True)
    return model


ZOO = {
    "mobilenetv2_224": mobilenetv2,
    "mobilenetv3l_224": mobilenetv3l,
    "resnet18_224": lambda: resnet(18),
    "resnet50_224": lambda: resnet(50),
    "squeezenet11_224": squeezenet11,
    "yolov8n_320": lambda: yolov8n(320),
    "yolov8n_640": lambda: yolov8n(640),
    "efficientnet_b0_224": efficientnet_b0,
    "shufflenetv2_224": shufflenetv2,
    "lraspp_224": lraspp,
    "unet_192": unet,
    "lraspp_mbv3_320": lambda: lraspp(320),
    "unet16_256": lambda: unet(256),
    "vit_tiny_224": lambda: vit.vit_tiny(Net("vit_tiny", 224)),
    "mobilenetv2_96_half": lambda: in_half(mobilenetv2(96)),
    "vit_tiny_224_half": lambda: in_half(vit.vit_tiny(Net("vit_tiny", 224))),
}


def golden(path, out):
    import onnxruntime as ort

    results = []
    model = onnx.load(path)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(7)
    # An image-like input: smooth, in the range of a normalized photograph.
    h, w = shape[2:]
    y, x = np.mgrid[0:h, 0:w].astype(np.float32) / np.float32(max(h, w))
    image = np.stack([np.sin(9 * x + i) + np.cos(7 * y - i) for i in range(shape[1])])[None]
    image = (image + rng.standard_normal(shape) * 0.2).astype(
        helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
    )
    for level in (
        ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
    ):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        options.intra_op_num_threads = 1
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        results.append(session.run(None, {"input": image})[0])
    spread = float(np.abs(results[0].astype(np.float32) - results[1].astype(np.float32)).max())
    meta = json.dumps({"opt_spread": spread, "ref": f"onnxruntime {ort.__version__}"})
    np.savez_compressed(
        out, **{"in:input": image, "out:output": results[0], "meta": np.array(meta)}
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir")
    parser.add_argument("names", nargs="*", default=[], help="default: all")
    parser.add_argument(
        "--folded", action="store_true", help="fold BatchNormalization into the weights beforehand"
    )
    parser.add_argument(
        "--golden", action="store_true", help="also run onnxruntime and keep its outputs"
    )
    args = parser.parse_intermixed_args()
    Net.folded = args.folded
    os.makedirs(args.outdir, exist_ok=True)
    for name in args.names or ZOO:
        path = os.path.join(args.outdir, name + ".onnx")
        if not os.path.exists(path):
            onnx.save(ZOO[name](), path)
        npz = os.path.join(args.outdir, name + ".npz")
        if args.golden and not os.path.exists(npz):
            golden(path, npz)
        print(f"{name}: {os.path.getsize(path) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
