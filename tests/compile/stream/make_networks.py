#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes networks over time with random weights, as exporters write them, from `onnx` and `numpy`.

  make_networks.py OUTDIR [--frames N]

keyword   DS-CNN over features [1, 1, T, 40]: causal in time, stride 2, then an average of 25 frames
tcn       residual blocks over [1, 16, T], dilations 1 to 32, padded on both sides and cut
voice     speech or not, over [1, T, 40]: convolutions with the same padding, which look ahead
denoiser  over a spectrum [1, 2, T, 64]: causal convolutions with strides in frequency, a GRU over
          time, skips and transposed convolutions in frequency, a mask

Weights are seeded: every machine makes the same bytes.
"""

import argparse
import os
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """Builds one graph; every method adds nodes and returns the name of its result."""

    def __init__(self, name, shape):
        self.name, self.nodes, self.weights, self.count = name, [], [], 0
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)

    def const(self, array):
        self.count += 1
        self.weights.append(numpy_helper.from_array(np.asarray(array), f"c{self.count}"))
        return f"c{self.count}"

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"{kind.lower()}_{self.count}" + "_" * i for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, inputs, names, name=f"/{kind}_{self.count}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def weight(self, *shape):
        fan_in = int(np.prod(shape[1:])) or 1
        return self.const(self.rng.normal(0, fan_in**-0.5, shape).astype(np.float32))

    def conv(self, x, outputs, inputs, kernel, pads, group=1, **attributes):
        w = self.weight(outputs, inputs // group, *kernel)
        b = self.const(self.rng.normal(0, 0.1, outputs).astype(np.float32))
        return self.op("Conv", x, w, b, kernel_shape=kernel, pads=pads, group=group, **attributes)

    def slice(self, x, start, end, axis):
        lists = [self.const(np.array([n], np.int64)) for n in (start, end, axis)]
        return self.op("Slice", x, *lists)

    def save(self, folder, y):
        self.nodes.append(helper.make_node("Identity", [y], ["y"]))
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, self.name, [self.input], [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, os.path.join(folder, self.name + ".onnx"))


def keyword(folder, frames):
    net = Net("keyword", [1, 1, frames, 40])
    x = net.op("Relu", net.conv("x", 32, 1, [10, 4], [8, 1, 0, 1], strides=[2, 2]))
    for _ in range(3):
        x = net.op("Relu", net.conv(x, 32, 32, [3, 3], [2, 1, 0, 1], group=32))
        x = net.op("Relu", net.conv(x, 32, 32, [1, 1], [0, 0, 0, 0]))
    x = net.op("AveragePool", x, kernel_shape=[25, 20])
    x = net.conv(x, 12, 32, [1, 1], [0, 0, 0, 0])
    net.save(folder, net.op("Softmax", x, axis=1))


def tcn(folder, frames):
    net = Net("tcn", [1, 16, frames])
    x, channels = "x", 16
    for dilation in (1, 2, 4, 8, 16, 32):
        y, inputs = x, channels
        for _ in range(2):
            pad = 2 * dilation
            y = net.conv(y, 32, inputs, [3], [pad, pad], dilations=[dilation])
            y = net.op("Relu", net.slice(y, 0, -pad, 2))
            inputs = 32
        skip = x if channels == 32 else net.conv(x, 32, channels, [1], [0, 0])
        x, channels = net.op("Relu", net.op("Add", y, skip)), 32
    net.save(folder, net.op("Sigmoid", net.conv(x, 1, 32, [1], [0, 0])))


def voice(folder, frames):
    net = Net("voice", [1, frames, 40])
    x = net.op("Transpose", "x", perm=[0, 2, 1])
    x = net.op("Relu", net.conv(x, 32, 40, [5], [2, 2]))
    short = net.op("Relu", net.conv(x, 16, 32, [3], [1, 1]))
    long = net.op("Relu", net.conv(x, 16, 32, [3], [4, 4], dilations=[4]))
    x = net.op("Add", x, net.op("Concat", short, long, axis=1))
    x = net.op("MaxPool", x, kernel_shape=[3], pads=[1, 1], strides=[1])
    x = net.op("Transpose", x, perm=[0, 2, 1])
    x = net.op("MatMul", x, net.const(net.rng.normal(0, 0.2, (32, 2)).astype(np.float32)))
    net.save(folder, net.op("Softmax", x, axis=2))


def denoiser(folder, frames):
    net = Net("denoiser", [1, 2, frames, 64])
    x, channels, skips = "x", 2, []
    for outputs in (8, 16):
        x = net.conv(x, outputs, channels, [2, 3], [1, 1, 0, 1], strides=[1, 2])
        x, channels = net.op("Elu", x), outputs
        skips.append(x)
    hidden, width = 64, 16 * 16
    rows = net.op("Transpose", x, perm=[2, 0, 1, 3])
    rows = net.op("Reshape", rows, net.const(np.array([frames, 1, width], np.int64)))
    gates = [net.weight(1, 3 * hidden, width), net.weight(1, 3 * hidden, hidden)]
    y, _ = net.op("GRU", rows, *gates, outputs=2, hidden_size=hidden, linear_before_reset=1)
    y = net.op("Reshape", y, net.const(np.array([frames, hidden], np.int64)))
    y = net.op("Gemm", y, net.weight(width, hidden), transB=1)
    y = net.op("Reshape", y, net.const(np.array([frames, 1, 16, 16], np.int64)))
    y = net.op("Transpose", y, perm=[1, 2, 0, 3])
    for skip, outputs in zip(reversed(skips), (8, 2)):
        y = net.op("Concat", y, skip, axis=1)
        inputs = 32 if outputs == 8 else 16
        w = net.const(net.rng.normal(0, 0.1, (inputs, outputs, 1, 4)).astype(np.float32))
        y = net.op("ConvTranspose", y, w, kernel_shape=[1, 4], strides=[1, 2], pads=[0, 1, 0, 1])
        y = net.op("Elu" if outputs == 8 else "Tanh", y)
    net.save(folder, net.op("Mul", y, "x"))


NETWORKS = {"keyword": keyword, "tcn": tcn, "voice": voice, "denoiser": denoiser}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--frames", type=int, default=256)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for make in NETWORKS.values():
        make(arguments.folder, arguments.frames)
