#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming beside the whole: each network is converted twice, whole and with --stream, and run
over the same frames. Prints what a run costs of the whole, and holds every frame that conversion
calls equal to be the same bits.

  streaming.py --ingot BIN --work DIR [--frames N]

Then a network that people have: the features of pyopen-wakeword, which give one vector for 76
frames, every 8 frames, against the whole over each 76.
"""

import json
import os
import pathlib
import sys

import make_networks
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "models"))
import sources  # noqa: E402

MOST = 1.1  # of the new frames' share of the work
# name, axis, new frames of a run, latency, options of both conversions
CASES = [
    ("keyword", 2, 2, 0, []),
    ("keyword", 2, 8, 0, []),
    ("tcn", 2, 1, 0, []),
    ("tcn", 2, 4, 0, []),
    ("tcn", 2, 1, 0, ["--dtype", "int8"]),
    ("voice", 1, 1, 7, []),
    ("voice", 1, 4, 8, []),
    ("denoiser", 2, 1, 0, []),
    ("denoiser", 2, 3, 0, []),
]
CAUSAL = {"keyword", "tcn", "denoiser"}  # equal from the first frame to the last
WAKE = "pyopen-wakeword==1.1.0:pyopen_wakeword/models/embedding_model.tflite"


class Converted:
    """A file, what inspect says of it, and its answers."""

    def __init__(self, ingot, source, path, *options):
        self.ingot, self.path = ingot, path
        run(ingot, "convert", source, "-o", path, *options).succeeded()
        self.facts = json.loads(run(ingot, "inspect", path, "--json").succeeded().stdout)

    def stream(self, output):
        """Axis, delay, and the first and last frame of the whole that are equal."""
        words = self.facts["metadata"]["entries"]["ingot.stream." + output].split()
        return int(words[1]), int(words[3]), int(words[5]), int(words[7])

    def run(self, arrays, isa=None):
        np.savez(self.path + ".in.npz", **arrays)
        files = ("--inputs", self.path + ".in.npz", "--outputs", self.path + ".out.npz")
        environment = {"INGOT_CPU_ISA": isa} if isa else {}
        run(self.ingot, "run", self.path, files, env=environment).succeeded()
        return dict(np.load(self.path + ".out.npz"))


def in_steps(x, axis, frames):
    """[steps, ...] of `frames` frames each, without a rest."""
    steps = x.shape[axis] // frames
    return np.stack(
        [np.take(x, range(i * frames, (i + 1) * frames), axis=axis) for i in range(steps)]
    )


def compare(whole, pieces, axis, delay, first, last):
    """How many frames were compared, and how many of them differ."""
    pieces = np.concatenate(list(pieces), axis=axis)
    last = min(last, pieces.shape[axis] - delay)
    differ = 0
    for t in range(first, last):
        a = np.take(whole, t, axis=axis)
        b = np.take(pieces, t + delay, axis=axis)
        differ += a.tobytes() != b.tobytes()
    return last - first, differ


def noise(shape):
    return np.random.default_rng(7).normal(size=shape).astype(np.float32)


def run_pieces(pieces, name, steps, output):
    """What a stream gives, with the best instruction set and on one lane: they are the same."""
    arrays = {"in:" + name: steps, "meta": np.array(json.dumps({"steps": len(steps)}))}
    best, scalar = (pieces.run(arrays, isa)[output] for isa in (None, "scalar"))
    if best.tobytes() != scalar.tobytes():
        sys.exit(f"{pieces.path}: instruction sets give different bits")
    return best


def run_made(a, name, axis, frames, latency, options):
    """Prints a row. @return whether all is as it has to be"""
    make_networks.NETWORKS[name](a.work, a.frames)
    source = os.path.join(a.work, name + ".onnx")
    base = os.path.join(a.work, ".".join([name, str(frames), *options[1:]]))
    if options:
        with_shape = json.loads(run(a.ingot, "inspect", source, "--json").stdout)
        np.savez(base + ".samples.npz", x=noise(with_shape["inputs"][0]["dims"]) / 2)
        options = [*options, "--calibrate", base + ".samples.npz"]
    whole = Converted(a.ingot, source, base + ".whole.ingot", "--winograd", "off", *options)
    stream = ["--stream", f"{axis}={frames}", "--latency", str(latency)]
    pieces = Converted(a.ingot, source, base + ".stream.ingot", *stream, *options)
    x = noise(whole.facts["inputs"][0]["dims"])
    expected = whole.run({"x": x})["y"]
    given = run_pieces(pieces, "x", in_steps(x, axis, frames), "y")
    out_axis, delay, first, last = pieces.stream("y")
    compared, differ = compare(expected, given, out_axis, delay, first, last)
    macs, all_macs = pieces.facts["macs"], whole.facts["macs"]
    ratio = macs * a.frames / (all_macs * frames)
    is_whole = first == 0 and last == expected.shape[out_axis]
    passed = ratio <= MOST and differ == 0 and compared >= 8 and (is_whole or name not in CAUSAL)
    print(
        f"{name + (' int8' if options else ''):10s} {frames:3d}  {latency:7d}  {macs:19,d}  "
        f"{all_macs:13,d}  {ratio:15.3f}  {pieces.facts['states']:6d}  "
        f"{compared - differ} of {compared}{'' if passed else '  FAULT'}"
    )
    return passed


def run_wake(a, source):
    """The same of the network that people have: its batch is as many stretches as are compared."""
    x, y, stretches = "serving_default_input_1:0", "StatefulPartitionedCall:0", 20
    base = os.path.join(a.work, "wake")
    whole = Converted(a.ingot, source, base + ".whole.ingot", "--winograd", "off")
    pieces = Converted(a.ingot, source, base + ".stream.ingot", "--stream", "1=8", "--dim", "N=1")
    frames = noise([1, 76 + 8 * (stretches - 1) + 4, 32, 1])
    batch = np.concatenate([frames[:, 8 * t : 8 * t + 76] for t in range(stretches)])
    expected = whole.run({x: batch})[y].reshape(stretches, -1)
    given = run_pieces(pieces, x, in_steps(frames, 1, 8), y)
    delay = pieces.stream(y)[1]
    found = given.reshape(len(given), -1)[delay : delay + stretches]
    equal = sum(a.tobytes() == b.tobytes() for a, b in zip(expected, found))
    one = Converted(a.ingot, source, base + ".one.ingot", "--winograd", "off", "--dim", "N=1")
    macs, all_macs = pieces.facts["macs"], one.facts["macs"]
    print(
        f"features of pyopen-wakeword, every 8 of 76 frames: {macs:,d} of {all_macs:,d} "
        f"multiply-adds ({100 * macs / all_macs:.0f} %), {equal} of {stretches} equal"
    )
    return len(found) == stretches and equal == stretches and macs < all_macs


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--frames", type=int, default=256)
    a = parser.parse_args()
    os.makedirs(a.work, exist_ok=True)
    print(
        "network    new  latency  multiply-adds a run   of the whole  times the share  "
        "states  frames equal"
    )
    checks = Checks("streaming")
    for case in CASES:
        checks.check(run_made(a, *case), case[0])
    wake = sources.fetch(WAKE, pathlib.Path(a.work).parent / "models")
    if wake is None:
        checks.skip("the features of pyopen-wakeword were not run: its package is not to be had")
    else:
        checks.check(run_wake(a, str(wake)), "the features of pyopen-wakeword")
    print(f"at most {MOST} times the new frames' share of the work, the same bits")
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
