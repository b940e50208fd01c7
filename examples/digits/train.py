#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small digit reader that the demo falls back to without network: numpy, onnx and Pillow
alone, about two minutes.

  train.py [--fonts DIR] [--steps N]      writes digits.onnx (under 200 KB) and digits.png beside
  this script

The data are rendered digits in every TrueType font found (Debian: fonts-dejavu-core,
fonts-liberation), turned, scaled, shifted, blurred and with noise; a tenth of the fonts' renderings
is held back and the accuracy on it printed. Net: 5x5 conv 8, ReLU, max-pool, 5x5 conv 16, ReLU,
max-pool, linear 10. Adam, cross-entropy, no framework: forward and backward are below.
"""

import argparse
import glob
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = pathlib.Path(__file__).resolve().parent
RNG = np.random.default_rng(20)


def render(text, font, angle=0.0, shift=(0, 0), blur=0.0, size=(28, 28)):
    drawn = Image.new("L", (size[0] * 2, size[1] * 2), 0)
    draw = ImageDraw.Draw(drawn)
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    at = (size[0] - (left + right) / 2 + shift[0], size[1] - (top + bottom) / 2 + shift[1])
    draw.text(at, text, fill=255, font=font)
    drawn = drawn.rotate(angle, Image.BILINEAR).filter(ImageFilter.GaussianBlur(blur))
    half = (size[0] // 2, size[1] // 2)
    return (
        np.asarray(
            drawn.crop((half[0], half[1], half[0] + size[0], half[1] + size[1])), np.float32
        )
        / 255
    )


def samples(fonts, count):
    x, y = np.zeros((count, 28, 28), np.float32), RNG.integers(0, 10, count)
    for i in range(count):
        font = ImageFont.truetype(fonts[RNG.integers(len(fonts))], int(RNG.integers(18, 27)))
        x[i] = render(
            str(y[i]), font, RNG.uniform(-15, 15), RNG.uniform(-2, 2, 2), RNG.uniform(0, 1.2)
        )
    return np.clip(
        x * RNG.uniform(0.6, 1, (count, 1, 1)) + RNG.normal(0, 0.05, x.shape), 0, 1
    ).astype(np.float32)[:, None], y


def patches(x, k):
    """[n,c,h,w] -> [n, h', w', c*k*k]"""
    view = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(2, 3))
    n, c, h, w = view.shape[:4]
    return np.ascontiguousarray(view.transpose(0, 2, 3, 1, 4, 5)).reshape(n, h, w, c * k * k)


def conv_forward(x, w, b):
    p = patches(np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2))), 5)
    return (p @ w.reshape(len(w), -1).T + b).transpose(0, 3, 1, 2), p


def conv_backward(grad, p, w, want_input):
    g = grad.transpose(0, 2, 3, 1).reshape(-1, grad.shape[1])
    gw = (g.T @ p.reshape(len(g), -1)).reshape(w.shape)
    gx = None
    if want_input:
        flipped = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).copy()
        gx = conv_forward(grad, flipped, np.zeros(w.shape[1], np.float32))[0]
    return gw, g.sum(0), gx


def pool_forward(x):
    n, c, h, w = x.shape
    view = x.reshape(n, c, h // 2, 2, w // 2, 2)
    y = view.max((3, 5))
    return y, view == y[:, :, :, None, :, None]


def forward(net, x):
    a1, p1 = conv_forward(x, net["w1"], net["b1"])
    h1, m1 = pool_forward(np.maximum(a1, 0))
    a2, p2 = conv_forward(h1, net["w2"], net["b2"])
    h2, m2 = pool_forward(np.maximum(a2, 0))
    flat = h2.reshape(len(x), -1)
    return flat @ net["w3"] + net["b3"], (a1, p1, m1, a2, p2, m2, flat)


def gradients(net, x, y):
    logits, (a1, p1, m1, a2, p2, m2, flat) = forward(net, x)
    e = np.exp(logits - logits.max(1, keepdims=True))
    soft = e / e.sum(1, keepdims=True)
    loss = -np.log(soft[np.arange(len(y)), y] + 1e-9).mean()
    soft[np.arange(len(y)), y] -= 1
    g = soft / len(y)
    out = {"w3": flat.T @ g, "b3": g.sum(0)}
    gh = (g @ net["w3"].T).reshape(-1, 16, 7, 7)
    ga2 = (m2 * gh[:, :, :, None, :, None]).reshape(a2.shape) * (a2 > 0)
    out["w2"], out["b2"], gh1 = conv_backward(ga2, p2, net["w2"], True)
    ga1 = (m1 * gh1[:, :, :, None, :, None]).reshape(a1.shape) * (a1 > 0)
    out["w1"], out["b1"], _ = conv_backward(ga1, p1, net["w1"], False)
    return loss, out


def export(net, path):
    init = [
        numpy_helper.from_array(np.ascontiguousarray(v.astype(np.float32)), k)
        for k, v in net.items()
    ]
    pool = dict(kernel_shape=[2, 2], strides=[2, 2])
    conv = dict(kernel_shape=[5, 5], pads=[2] * 4)
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["a1"], name="conv1", **conv),
        helper.make_node("Relu", ["a1"], ["r1"], name="relu1"),
        helper.make_node("MaxPool", ["r1"], ["h1"], name="pool1", **pool),
        helper.make_node("Conv", ["h1", "w2", "b2"], ["a2"], name="conv2", **conv),
        helper.make_node("Relu", ["a2"], ["r2"], name="relu2"),
        helper.make_node("MaxPool", ["r2"], ["h2"], name="pool2", **pool),
        helper.make_node("Flatten", ["h2"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["l"], name="linear"),
        helper.make_node("Softmax", ["l"], ["digit"], name="softmax"),
    ]
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 28, 28])],
        [helper.make_tensor_value_info("digit", TensorProto.FLOAT, ["n", 10])],
        init,
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 13)],
        producer_name="ingot examples/digits/train.py",
    )
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fonts", default="/usr/share/fonts/truetype")
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args()
    fonts = sorted(
        f
        for f in glob.glob(args.fonts + "/**/*.ttf", recursive=True)
        if "Symbol" not in f and "Ding" not in f
    )
    if not fonts:
        raise SystemExit(
            f"train.py: no .ttf below {args.fonts}: install fonts-dejavu-core, or pass --fonts DIR"
        )
    x, y = samples(fonts, 12000)
    xt, yt = samples(fonts, 1200)
    net = {
        "w1": RNG.normal(0, 0.2, (8, 1, 5, 5)),
        "b1": np.zeros(8),
        "w2": RNG.normal(0, 0.08, (16, 8, 5, 5)),
        "b2": np.zeros(16),
        "w3": RNG.normal(0, 0.03, (784, 10)),
        "b3": np.zeros(10),
    }
    net = {k: v.astype(np.float32) for k, v in net.items()}
    mean, square = ({k: np.zeros_like(v) for k, v in net.items()} for _ in range(2))
    for step in range(1, args.steps + 1):
        pick = RNG.integers(0, len(x), 64)
        loss, grad = gradients(net, x[pick], y[pick])
        rate = 2e-3 * (1 - step / (args.steps + 1))
        for k in net:
            mean[k] = 0.9 * mean[k] + 0.1 * grad[k]
            square[k] = 0.999 * square[k] + 0.001 * grad[k] ** 2
            net[k] -= (
                rate * (mean[k] / (1 - 0.9**step)) / (np.sqrt(square[k] / (1 - 0.999**step)) + 1e-8)
            ).astype(np.float32)
        if step % 300 == 0:
            right = (forward(net, xt)[0].argmax(1) == yt).mean()
            print(f"step {step}: loss {loss:.3f}, held-back accuracy {right:.4f}", flush=True)
    export(net, HERE / "digits.onnx")
    strip = np.concatenate(
        [
            render(d, ImageFont.truetype(fonts[i % len(fonts)], 24), angle=(-1) ** i * 6)
            for i, d in enumerate("3141592653")
        ],
        1,
    )
    Image.fromarray((strip * 255).astype(np.uint8)).save(HERE / "digits.png")


main()
