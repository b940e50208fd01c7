#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GridSample beside the build before and onnxruntime.

  grid_sample.py --ingot build/gcc/bin/ingot [--before OTHER/ingot] [--threads 1] [--seconds 0.5]
                 [--rounds 3] [--only WORD]

First every mode, padding and corner, of two and three dimensions, is compared with onnxruntime and
torch: inside, around, far away, at ties, NaN. Then networks of one GridSample, or of one between
two convolutions: outputs first. Then rounds, one program after another. Exit code 1 when an output
differs, a case is slower than the build before, or all of them together than onnxruntime; single
cases that are slower than onnxruntime are named.
"""

import argparse
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

# name, x, places, mode, padding, align_corners, what is around it: nothing, convolutions, or the
# projection of deformable attention, whose values come as tokens
CASES = [
    ("features", (1, 64, 56, 56), (56, 56), "linear", "zeros", 0, ""),
    ("features in a network", (1, 64, 56, 56), (56, 56), "linear", "zeros", 0, "convolutions"),
    ("attention", (8, 32, 64, 64), (300, 4), "linear", "zeros", 0, ""),
    ("attention in a network", (8, 32, 64, 64), (300, 4), "linear", "zeros", 0, "tokens"),
    ("image", (1, 3, 256, 256), (256, 256), "linear", "border", 1, ""),
    ("gray image", (1, 1, 384, 384), (384, 384), "linear", "reflection", 0, ""),
    ("image, nearest", (1, 3, 256, 256), (256, 256), "nearest", "border", 0, ""),
    ("image, cubic", (1, 3, 128, 128), (128, 128), "cubic", "zeros", 0, ""),
    ("features, cubic", (1, 32, 64, 64), (64, 64), "cubic", "reflection", 1, ""),
    ("volume", (1, 4, 24, 48, 48), (24, 48, 48), "linear", "border", 1, ""),
    ("volume, nearest", (1, 2, 24, 48, 48), (24, 48, 48), "nearest", "zeros", 0, ""),
]


def network(x, places, mode, padding, align, around):
    spatial = len(places)
    grid, out = (x[0], *places, spatial), (x[0], x[1], *places)
    nodes, weights, data, result = [], [], "x", "y"
    tokens = (x[0], math.prod(x[2:]), x[1])
    if around == "tokens":
        rng = np.random.default_rng(7)
        w = rng.standard_normal((x[1], x[1]), dtype=np.float32) / 8
        weights.append(numpy_helper.from_array(w, "w"))
        weights.append(numpy_helper.from_array(np.array(x, np.int64), "dims"))
        nodes.append(helper.make_node("MatMul", ["x", "w"], ["p"]))
        nodes.append(helper.make_node("Transpose", ["p"], ["t"], perm=[0, 2, 1]))
        nodes.append(helper.make_node("Reshape", ["t", "dims"], ["c"]))
        data = "c"
    if around == "convolutions":
        rng = np.random.default_rng(7)
        for name in ("w", "v"):
            w = rng.standard_normal((x[1], x[1]) + (1,) * spatial, dtype=np.float32) / 8
            weights.append(numpy_helper.from_array(w, name))
        nodes.append(helper.make_node("Conv", ["x", "w"], ["c"]))
        data, result = "c", "s"
    nodes.append(
        helper.make_node(
            "GridSample",
            [data, "g"],
            [result],
            mode=mode,
            padding_mode=padding,
            align_corners=align,
        )
    )
    if around == "convolutions":
        nodes.append(helper.make_node("Conv", ["s", "v"], ["y"]))
    f32 = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "grid_sample",
        [
            helper.make_tensor_value_info("x", f32, tokens if around == "tokens" else x),
            helper.make_tensor_value_info("g", f32, grid),
        ],
        [helper.make_tensor_value_info("y", f32, out)],
        weights,
    )
    rng = np.random.default_rng(3)
    lines = [np.linspace(-1, 1, n, dtype=np.float32) for n in places]
    mesh = np.stack(np.meshgrid(*lines, indexing="ij")[::-1], -1)[None]
    # a smooth warp that leaves the image at the edges, as a flow or an alignment gives
    warp = mesh * np.float32(1.08) + np.float32(0.06) * np.sin(mesh[..., ::-1] * 5)
    noise = rng.uniform(-0.02, 0.02, grid).astype(np.float32)
    arrays = {
        "x": rng.standard_normal(tokens if around == "tokens" else x, dtype=np.float32),
        "g": np.ascontiguousarray(warp + noise, dtype=np.float32),
    }
    opset = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9), arrays


class Ingot:
    def __init__(self, binary, model, arrays, work, threads):
        self.binary, self.threads = binary, str(threads)
        self.file, self.inputs = work / "model.ingot", work / "in.npz"
        np.savez(self.inputs, **arrays)
        self.call("convert", work / "model.onnx", "-o", self.file)
        self.work = work

    def call(self, *command):
        done = subprocess.run(
            [self.binary, *map(str, command)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{self.binary} {command[0]}: {done.stderr.strip()}")
        return done.stdout

    def outputs(self):
        to = self.work / "out.npz"
        self.call("run", self.file, "--inputs", self.inputs, "--outputs", to, "--device", "cpu")
        return np.load(to)["y"]

    def milliseconds(self, seconds):
        args = ["--inputs", self.inputs, "--threads", self.threads, "--seconds", seconds]
        text = self.call("bench", self.file, "--json", "--device", "cpu", *args)
        return json.loads(text)["median_ms"]


class Onnxruntime:
    def __init__(self, model, arrays, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.arrays = arrays

    def outputs(self):
        return self.session.run(["y"], self.arrays)[0]

    def milliseconds(self, seconds):
        times, end = [], time.perf_counter() + seconds
        self.outputs()
        while len(times) < 5 or time.perf_counter() < end:
            began = time.perf_counter()
            self.outputs()
            times.append((time.perf_counter() - began) * 1e3)
        return float(np.median(times))


def make(case, args, work):
    model, arrays = network(*case)
    (work / "model.onnx").write_bytes(model.SerializeToString())
    every = {"ingot": Ingot(args.ingot, model, arrays, work, args.threads)}
    if args.before:
        (work / "before").mkdir(exist_ok=True)
        (work / "before/model.onnx").write_bytes(model.SerializeToString())
        every["before"] = Ingot(args.before, model, arrays, work / "before", args.threads)
    every["onnxruntime"] = Onnxruntime(model, arrays, args.threads)
    return every


def difference(every):
    want = every["onnxruntime"].outputs()
    return {
        name: float(np.max(np.abs(one.outputs() - want)))
        for name, one in every.items()
        if name != "onnxruntime"
    }


STRANGE = [math.nan, 1e10, -1e10, 2.2e9, -1e5, 1e5, -1, 1, -1e-9, 0, -3.5, 7, 0.5, -0.5, 0.25, 2]


def grids(places, spatial):
    """Inside, around, far away; halves, where nearest has ties; and what is no place."""
    rng = np.random.default_rng(5)
    shape = (2, *places, spatial)
    yield "around", rng.uniform(-1.5, 1.5, shape).astype(np.float32)
    yield "far", rng.uniform(-60, 60, shape).astype(np.float32)
    yield "ties", (rng.integers(-40, 40, shape) / 8).astype(np.float32)
    strange = np.full(shape, 0.13, np.float32)
    flat = strange.reshape(-1, spatial)
    # Of volumes torch takes NaN and what no int holds otherwise than of images.
    known = [at for at in STRANGE if spatial == 2 or abs(at) < 1e7]
    for i in range(min(len(flat), 3 * len(known))):
        flat[i, i % spatial] = known[i % len(known)]
    yield "strange", strange


def compare_product(args, work):
    """Every form, small: against onnxruntime where it defines the result, and against torch."""
    try:
        import torch
        import torch.nn.functional as F
    except ImportError:
        torch = None
        print("[skip] comparison with torch: it is not installed")
    names = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    worst, count = {"onnxruntime": 0.0, "torch": 0.0}, 0
    shapes = [((2, 3, 7, 9), (6, 8)), ((2, 2, 5, 6, 7), (4, 5, 3))]
    for (x, places), mode, padding, align in itertools.product(
        shapes, ("nearest", "linear", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        if len(places) == 3 and mode == "cubic":
            continue  # neither has it; the conformance suite does
        model, arrays = network(x, places, mode, padding, align, "")
        (work / "model.onnx").write_bytes(model.SerializeToString())
        ours = Ingot(args.ingot, model, arrays, work, 1)
        theirs = Onnxruntime(model, arrays, 1)
        for kind, grid in grids(places, len(places)):
            np.savez(ours.inputs, x=arrays["x"], g=grid)
            found, wanted = ours.outputs(), {}
            if kind in ("around", "far"):
                theirs.arrays = {"x": arrays["x"], "g": grid}
                wanted["onnxruntime"] = theirs.outputs()
            if torch:
                wanted["torch"] = F.grid_sample(
                    torch.from_numpy(arrays["x"]),
                    torch.from_numpy(grid),
                    mode=names[mode],
                    padding_mode=padding,
                    align_corners=bool(align),
                ).numpy()
            for other, want in wanted.items():
                off = np.abs(found - want)
                off[np.isnan(found) & np.isnan(want)] = 0
                most = 1e-4 if kind == "far" else 2e-5  # a place far away is a coarser number
                if not np.max(off) < most:
                    n = int(np.sum(~(off < most)))
                    print(f"{x} {mode} {padding} align_corners={align}, {kind}: {n} of {off.size}")
                    sys.exit(f"differ from {other}'s, by at most {np.max(off)}")
                worst[other], count = max(worst[other], float(np.max(off))), count + 1
    text = ", ".join(f"{other}'s within {n:.1e}" for other, n in worst.items())
    print(f"{count} outputs of 30 forms equal to {text}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--before")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    slower, ratios = {"before": [], "onnxruntime": []}, {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        compare_product(args, work)
        print(f"median ms of a run, {args.threads} thread(s), {args.rounds} rounds interleaved")
        for name, *case in CASES:
            if args.only not in name:
                continue
            every = make(case, args, work)
            for other, found in difference(every).items():
                if not found < 1e-4:
                    sys.exit(f"{name}: {other} differs from onnxruntime by {found}")
            times = {each: [] for each in every}
            for _ in range(args.rounds):
                for each, one in every.items():
                    times[each].append(one.milliseconds(args.seconds))
            best = {each: min(t) for each, t in times.items()}
            line = f"{name:22}"
            for each, t in best.items():
                line += f"  {each} {t:8.3f}"
                if each == "ingot":
                    continue
                ratio = t / best["ingot"]
                ratios.setdefault(each, []).append(ratio)
                line += f" ({ratio:5.2f}x)"
                if ratio < 1:
                    slower[each].append(name)
            print(line, flush=True)
    means = {each: math.exp(np.mean(np.log(all_of))) for each, all_of in ratios.items()}
    for each, mean in means.items():
        print(f"beside {each}: {mean:.2f}x (geometric mean), slower: {slower[each] or 'none'}")
    if slower["before"] or min(means.values()) < 1:
        sys.exit("slower")


if __name__ == "__main__":
    main()
