#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""int8 networks with chains of an expansion, a depthwise convolution and a projection, and without:
the outputs of both files are compared byte for byte, then both run in turn, round after round.

  quantized_chains.py [--ingot BIN] [--threads 1,2] [--rounds N] [--seconds S] [SOURCE ...]

Without chains is what --target mcu converts: windows of rows would lie in memory that a
microcontroller does not have. SOURCE: ONNX or TFLite; without any, MoveNet of shared material and
what ./dev show integer-speed left in build/bench. The time of a file is that of its fastest run,
the ratio that of the rounds' median, with the smallest and the largest. Arena: activations and
scratch of one thread. Exit code 1: outputs differ, or there was nothing to run. Needs numpy.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))
from shared import SHARED  # noqa: E402

DTYPES = {"f32": "float32", "u8": "uint8", "i8": "int8", "i32": "int32", "i64": "int64"}
MOVENET = "models/google-coral__test_data/movenet_single_pose_lightning_ptq.tflite"


def answer(command):
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=True
    ).stdout


def drawn_inputs(ingot, file, to):
    """Numbers for every input, from a seed."""
    rng = np.random.default_rng(1)
    arrays = {}
    for port in json.loads(answer([ingot, "inspect", file, "--json"]))["inputs"]:
        shape, dtype = port["dims"], np.dtype(DTYPES[port["dtype"]])
        if dtype.kind == "f":
            arrays[port["name"]] = rng.standard_normal(shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            low, high = max(limits.min, -128), min(limits.max, 255)
            arrays[port["name"]] = rng.integers(low, high + 1, shape).astype(dtype)
    np.savez(to, **arrays)


def same_outputs(ingot, files, work):
    drawn_inputs(ingot, files[0], work / "in.npz")
    runs = []
    for file in files:
        for threads in (1, 2):
            answer(
                [ingot, "run", file, "--inputs", work / "in.npz", "--threads", threads]
                + ["--outputs", work / "out.npz"]
            )
            with np.load(work / "out.npz") as archive:
                runs.append({name: archive[name] for name in archive.files})
    return all(
        run[name].tobytes() == array.tobytes() for run in runs for name, array in runs[0].items()
    )


def bench(ingot, file, threads, seconds):
    return json.loads(
        answer([ingot, "bench", file, "--json", "--threads", threads, "--seconds", seconds])
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", default=ROOT / "build/gcc/bin/ingot")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("sources", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    sources = args.sources or [
        path
        for path in [SHARED / MOVENET]
        + sorted((ROOT / "build/bench").glob("mobilenetv2_*_int.onnx"))
        if path.exists()
    ]
    if not sources:
        sys.exit("nothing to run: name a SOURCE, or run ./dev show integer-speed first")
    differs = False
    for source in sources:
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            files = [work / "without.ingot", work / "with.ingot"]
            for file, target in zip(files, ("mcu", "cpu")):
                answer([args.ingot, "convert", source, "-o", file, "--target", target, "-q"])
            if not same_outputs(args.ingot, files, work):
                print(f"{source.name}: outputs differ")
                differs = True
                continue
            for threads in args.threads.split(","):
                rounds = [
                    [bench(args.ingot, f, threads, args.seconds) for f in files]
                    for _ in range(args.rounds)
                ]
                ratios = sorted(a["median_ms"] / b["median_ms"] for a, b in rounds)
                least = [min(r[i]["min_ms"] for r in rounds) for i in (0, 1)]
                arena = [r["activation_bytes"] + r["scratch_bytes"] for r in rounds[0]]
                print(
                    f"{source.stem}, threads {threads}: same bytes; {least[0]:.3f} -> "
                    f"{least[1]:.3f} ms, {statistics.median(ratios):.3f} times as fast "
                    f"({ratios[0]:.3f} .. {ratios[-1]:.3f}); arena {arena[0]:,} -> {arena[1]:,}",
                    flush=True,
                )
    sys.exit(differs)


if __name__ == "__main__":
    main()
