#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators in forms that ONNX's node tests lack: symbolic lengths, settings that the model
computes, combinations. Small models are made here, converted with their dims open, run on the
oracle kernels and on the best instruction set, and compared with numpy.

  run_forms.py --ingot BIN [--isa oracle,best] [name-part ...]
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

from bounded_forms import bounded, joined
from fuzzed_forms import fuzzed
from operator_forms import operators
from quantized_forms import quantized
from references import align_one

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402

FORMS = []


def form(
    name, nodes, inputs, outputs, constants=None, dims=None, opset=20, refused=None, options=()
):
    """inputs, constants: name to array; outputs: name to the expected array; dims: name to the
    declared dims; refused: text of the error that run must give; options: of the conversion."""
    FORMS.append(
        (name, nodes, inputs, outputs, constants or {}, dims or {}, opset, refused, options)
    )


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def pairs(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def complex_of(a):
    return a[..., 0] + 1j * a[..., 1]


def spectra(signal, window, step, transform):
    n = len(window)
    return pairs(
        transform(
            np.stack(
                [signal[:, i : i + n] * window for i in range(0, signal.shape[1] - n + 1, step)], 1
            )
        )
    )


def transforms(rng):
    real = rng.standard_normal((2, 37, 1)).astype(np.float32)
    complex_in = rng.standard_normal((2, 19, 2)).astype(np.float32)
    z = complex_of(complex_in)
    open_real, open_complex = {"x": ["B", "N", 1]}, {"x": ["B", "N", 2]}
    for onesided, fft in ((0, np.fft.fft), (1, np.fft.rfft)):
        form(
            f"dft of any length, onesided {onesided}",
            [node("DFT", "x", "y", onesided=onesided)],
            {"x": real},
            {"y": pairs(fft(real[..., 0]))},
            dims=open_real,
        )
        for length in (64, 20):
            form(
                f"dft to {length}, onesided {onesided}",
                [node("DFT", "x,n", "y", onesided=onesided)],
                {"x": real},
                {"y": pairs(fft(real[..., 0], length))},
                {"n": np.int64(length)},
                open_real,
            )
    form(
        "dft of complex input",
        [node("DFT", "x", "y")],
        {"x": complex_in},
        {"y": pairs(np.fft.fft(z))},
        dims=open_complex,
    )
    form(
        "inverse dft",
        [node("DFT", "x", "y", inverse=1)],
        {"x": complex_in},
        {"y": pairs(np.fft.ifft(z))},
        dims=open_complex,
    )
    form(
        "inverse one-sided dft, even",
        [node("DFT", "x", "y", inverse=1, onesided=1)],
        {"x": complex_in},
        {"y": np.fft.irfft(z)[..., None].astype(np.float32)},
        dims=open_complex,
    )
    form(
        "inverse one-sided dft, odd",
        [node("DFT", "x,n", "y", inverse=1, onesided=1)],
        {"x": complex_in},
        {"y": np.fft.irfft(z, 37)[..., None].astype(np.float32)},
        {"n": np.int64(37)},
        {"x": ["B", 19, 2]},
    )
    form(
        "dft of opset 17 along an axis",
        [node("DFT", "x", "y", axis=1, onesided=1)],
        {"x": real},
        {"y": pairs(np.fft.rfft(real[..., 0]))},
        opset=17,
    )

    signal, window = (
        rng.standard_normal((2, 300, 1)).astype(np.float32),
        np.hanning(64).astype(np.float32),
    )
    both = rng.standard_normal((2, 300, 2)).astype(np.float32)
    for onesided, fft in ((0, np.fft.fft), (1, np.fft.rfft)):
        step = {"s": np.int64(20)}
        form(
            f"stft, onesided {onesided}",
            [node("STFT", "x,s,w", "y", onesided=onesided)],
            {"x": signal},
            {"y": spectra(signal[..., 0], window, 20, fft)},
            {**step, "w": window},
            open_real,
        )
        form(
            f"stft under a computed window, onesided {onesided}",
            [node("STFT", "x,s,w", "y", onesided=onesided)],
            {"x": signal, "w": window},
            {"y": spectra(signal[..., 0], window, 20, fft)},
            step,
            open_real,
        )
        form(
            f"stft without a window, onesided {onesided}",
            [node("STFT", "x,s,,n", "y", onesided=onesided)],
            {"x": signal},
            {"y": spectra(signal[..., 0], np.ones(50), 20, fft)},
            {**step, "n": np.int64(50)},
            open_real,
        )
    form(
        "stft of complex input",
        [node("STFT", "x,s,w", "y", onesided=0)],
        {"x": both},
        {"y": spectra(complex_of(both), window, 20, np.fft.fft)},
        {"s": np.int64(20), "w": window},
        open_complex,
    )

    angle = 2 * np.pi * np.arange(77)
    shapes = {
        "HannWindow": lambda t: 0.5 - 0.5 * np.cos(t),
        "HammingWindow": lambda t: 25 / 46 - 21 / 46 * np.cos(t),
        "BlackmanWindow": lambda t: 0.42 - 0.5 * np.cos(t) + 0.08 * np.cos(2 * t),
    }
    for op, shape in shapes.items():
        for periodic in (0, 1):
            form(
                f"{op} as long as the signal, periodic {periodic}",
                [
                    node("Shape", "x", "n", start=1, end=2),
                    node("Squeeze", "n", "size"),
                    node(op, "size", "w", periodic=periodic),
                    node("Mul", "x,w", "y"),
                ],
                {"x": np.ones((2, 77), np.float32)},
                {"y": np.tile(shape(angle / (76 + periodic)), (2, 1)).astype(np.float32)},
                dims={"x": ["B", "N"]},
            )


def movement(rng):
    numbers = {
        "c": np.array([20]),
        "zero": np.array([0]),
        "one": np.array([1]),
        "end": np.array([2**62]),
        "after": np.array([0, 0, 0, 1]),
        "before": np.array([0, 1, 0, 0]),
    }
    for n in (5, 12, 20, 33):
        x = rng.standard_normal((2, n)).astype(np.float32)
        form(
            f"slices to and from n - 20 of {n}",
            [
                node("Shape", "x", "n", start=1, end=2),
                node("Sub", "n,c", "at"),
                node("Slice", "x,zero,at,one", "head"),
                node("Slice", "x,at,end,one", "tail"),
            ],
            {"x": x},
            {"head": x[:, : n - 20], "tail": x[:, n - 20 :]},
            numbers,
            {"x": ["B", "N"]},
        )
        more = max(0, 20 - n)
        form(
            f"pads of 20 - n of {n}",
            [
                node("Shape", "x", "n", start=1, end=2),
                node("Sub", "c,n", "by"),
                node("Mul", "by,after", "p"),
                node("Pad", "x,p", "right"),
                node("Mul", "by,before", "q"),
                node("Pad", "x,q", "left"),
            ],
            {"x": x},
            {
                "right": np.pad(x[:, :20], ((0, 0), (0, more))),
                "left": np.pad(x[:, max(0, n - 20) :], ((0, 0), (more, 0))),
            },
            numbers,
            {"x": ["B", "N"]},
        )
    lengths = np.array([6, 1, 0, 4])
    for time in (0, 1):
        x = rng.standard_normal((6, 4, 3)).astype(np.float32)
        y = x.copy()
        for b, n in enumerate(lengths):
            y[:n, b] = x[:n, b][::-1]
        x, y, dims = (
            (x, y, ["T", "B", 3])
            if time == 0
            else (x.swapaxes(0, 1), y.swapaxes(0, 1), ["B", "T", 3])
        )
        reverse = [node("ReverseSequence", "x,l", "y", time_axis=time, batch_axis=1 - time)]
        form(
            f"sequences reversed, time {time}",
            reverse,
            {"x": x, "l": lengths},
            {"y": y},
            dims={"x": dims, "l": ["B"]},
        )
        form(
            f"whole sequences reversed, time {time}",
            reverse,
            {"x": x},
            {"y": np.flip(x, time)},
            {"l": np.full(4, 6)},
        )
        form(
            f"a length beyond the sequence, time {time}",
            reverse,
            {"x": x, "l": lengths + 3},
            {"y": y},
            dims={"x": dims, "l": ["B"]},
            refused="index",
        )


def read_at(x, grid, aligned, padding):
    """Bilinear GridSample of one image [C, H, W] at [.., 2]."""
    h, w = x.shape[1:]
    at = [
        (grid[..., 1 - k] + 1) / 2 * (n - 1) if aligned else ((grid[..., 1 - k] + 1) * n - 1) / 2
        for k, n in enumerate((h, w))
    ]
    low = [np.floor(a).astype(int) for a in at]
    y = np.zeros((x.shape[0], *grid.shape[:-1]))
    for i in (0, 1):
        for j in (0, 1):
            r, c = low[0] + i, low[1] + j
            weight = abs(at[0] - (low[0] + 1 - i)) * abs(at[1] - (low[1] + 1 - j))
            if padding == "zeros":
                weight = weight * ((r >= 0) & (r < h) & (c >= 0) & (c < w))
            y += weight * x[:, r.clip(0, h - 1), c.clip(0, w - 1)]
    return y.astype(np.float32)


def boxes(rng):
    x = rng.standard_normal((2, 5, 7, 9)).astype(np.float32)
    corners = rng.uniform(-6, 20, (2, 5, 2))
    rois = np.concatenate([corners.min(0), corners.max(0)], 1).astype(np.float32)
    places = np.array([1, 0, 1, 1, 0])
    for aligned in (0, 1):
        for mode in ("avg", "max"):
            for samples in (0, 1, 3):
                y = [
                    align_one(x[i], r * 0.5, (2, 3), samples, aligned, mode == "max")
                    for i, r in zip(places, rois.astype(float))
                ]
                form(
                    f"sample boxes of any image, {mode}, {samples} samples, half pixel {aligned}",
                    [
                        node(
                            "RoiAlign",
                            "x,r,i",
                            "y",
                            mode=mode,
                            sampling_ratio=samples,
                            spatial_scale=0.5,
                            output_height=2,
                            output_width=3,
                            coordinate_transformation_mode=(
                                "half_pixel" if aligned else "output_half_pixel"
                            ),
                        )
                    ],
                    {"x": x, "r": rois, "i": places},
                    {"y": np.stack(y).astype(np.float32)},
                    dims={"x": ["N", 5, "H", "W"], "r": ["R", 4], "i": ["R"]},
                )
    form(
        "sample a box of an image that is not there",
        [node("RoiAlign", "x,r,i", "y")],
        {"x": x, "r": rois, "i": places + 1},
        {"y": np.zeros((5, 5, 1, 1), np.float32)},
        refused="index",
    )


def images(rng):
    x = rng.standard_normal((2, 5, 7, 9)).astype(np.float32)
    grid = rng.uniform(-1.4, 1.4, (2, 4, 6, 2)).astype(np.float32)
    for aligned in (0, 1):
        for padding in ("zeros", "border"):
            form(
                f"grid sample of any image, {padding}, corners {aligned}",
                [
                    node(
                        "GridSample",
                        "x,g",
                        "y",
                        mode="linear",
                        align_corners=aligned,
                        padding_mode=padding,
                    )
                ],
                {"x": x, "g": grid},
                {"y": np.stack([read_at(x[i], grid[i], aligned, padding) for i in (0, 1)])},
                dims={"x": ["N", 5, "H", "W"], "g": ["N", "P", "Q", 2]},
            )
    form(
        "grid sample at no place",
        [node("GridSample", "x,g", "y", mode="nearest", padding_mode="zeros")],
        {"x": x[:1], "g": np.full((1, 1, 1, 2), np.nan, np.float32)},
        {"y": np.zeros((1, 5, 1, 1), np.float32)},
    )
    v, w = (
        rng.standard_normal((1, 4, 6, 5, 7)).astype(np.float32),
        rng.standard_normal((6, 2, 3, 2, 2)).astype(np.float32),
    )
    padded, y = np.pad(v, ((0, 0), (0, 0), (1, 1), (0, 0), (0, 0))), np.zeros((1, 6, 3, 4, 6))
    for o in range(6):
        for d in range(3):
            for i in range(4):
                for j in range(6):
                    y[0, o, d, i, j] = (
                        padded[
                            0, o // 3 * 2 : o // 3 * 2 + 2, 2 * d : 2 * d + 3, i : i + 2, j : j + 2
                        ]
                        * w[o]
                    ).sum()
    form(
        "convolution of a volume, groups, any depth",
        [node("Conv", "x,w", "y", strides=[2, 1, 1], pads=[1, 0, 0, 1, 0, 0], group=2)],
        {"x": v},
        {"y": y.astype(np.float32)},
        {"w": w},
        {"x": ["N", 4, "D", "H", "W"]},
    )
    high = np.max(
        [
            v[..., d : 5 + d : 2, i : 4 + i : 3, j : 6 + j : 3]
            for d in (0, 1)
            for i in (0, 1)
            for j in (0, 1)
        ],
        0,
    )
    form(
        "maximum of a volume, any depth",
        [node("MaxPool", "x", "y", kernel_shape=[2, 2, 2], strides=[2, 3, 3])],
        {"x": v},
        {"y": high},
        dims={"x": ["N", 4, "D", "H", "W"]},
    )


def positions(rng):
    x = rng.standard_normal((2, 3, 9, 11)).astype(np.float32)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 1)), constant_values=-np.inf)
    values, where = np.zeros((2, 3, 5, 6), np.float32), np.zeros((2, 3, 5, 6), np.int64)
    for n, c, i, j in np.ndindex(values.shape):
        window = padded[n, c, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        values[n, c, i, j] = window.max()
        dh, dw = np.unravel_index(window.argmax(), window.shape)
        where[n, c, i, j] = ((n * 3 + c) * 9 + 2 * i + dh - 1) * 11 + 2 * j + dw
    sizes = dict(kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    form(
        "maxima with their positions, any image",
        [node("MaxPool", "x", "y,i", **sizes)],
        {"x": x},
        {"y": values, "i": where},
        dims={"x": ["N", 3, "H", "W"]},
    )
    back = np.zeros(x.size, np.float32)
    back[where.ravel()] = values.ravel()
    form(
        "maxima put back",
        [node("MaxPool", "x", "y,i", **sizes), node("MaxUnpool", "y,i", "z", **sizes)],
        {"x": x},
        {"z": back.reshape(x.shape)},
        dims={"x": ["N", 3, 9, 11]},
    )


def run_form(ingot, isas, name, nodes, inputs, outputs, constants, dims, opset, refused, options):
    ports = [
        helper.make_tensor_value_info(
            k, helper.np_dtype_to_tensor_dtype(v.dtype), dims.get(k, v.shape)
        )
        for k, v in inputs.items()
    ]
    results = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), None)
        for k, v in outputs.items()
    ]
    graph = helper.make_graph(
        nodes,
        "form",
        ports,
        results,
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8),
        ingot.folder / "form.onnx",
    )
    np.savez(
        ingot.folder / "form.npz",
        **{f"in:{k}": v for k, v in inputs.items()},
        **{f"out:{k}": v for k, v in outputs.items()},
    )
    done = ingot.convert(ingot.folder / "form.onnx", *options)
    if done.error:
        return done.error
    for isa in isas:
        env = {} if isa == "best" else {"INGOT_CPU_ISA": isa}
        done = ingot("check", ingot.file, "--golden", ingot.folder / "form.npz", env=env)
        why = done.refusal(range(1, 256), refused, lines=None) if refused else done.error
        if why:
            return f"{isa}: {why}"
    return ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--isa", default="oracle,best")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    rng = np.random.default_rng(5)
    for family in (transforms, movement, images, positions, boxes):
        family(rng)
    for add in (quantized, bounded, fuzzed, operators):
        add(rng, form, node)
    joined(form, node)
    checks = Checks("forms")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        for entry in FORMS:
            if args.names and not any(n in entry[0] for n in args.names):
                continue
            checks.report(entry[0], run_form(ingot, args.isa.split(","), *entry))
    sys.exit(checks.finish())


main()
