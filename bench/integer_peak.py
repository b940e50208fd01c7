#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How near to a core's peak dense networks of bytes run, and how much faster than in f32.

  integer_peak.py --ingot build/gcc/bin/ingot --peaks build/gcc/kernels/cpu --work build/bench
                  [--rounds 5]

For each instruction set that runs here: the rate of its products with all operands in registers or
the first cache (ingot_integer_peak_ISA), and the share of it that the dense convolutions of
ResNet-50 and of MLPerf Tiny's ResNet8 reach, measured in turn. Then ResNet-50 in int8 compared with
f32. NEON, which does not run here: neon_loops.py.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from integer_rows import prepare_integers  # noqa: E402
from rows import Unavailable, call, prepare  # noqa: E402

DENSE = {"resnet50_u8s8": "resnet50_224", "tiny_ic": None}
WANTED = 0.85
WANTED_RATIO = 2.5


def convert(args, name):
    """The .ingot files of a network in int8, and in f32 where there is one."""
    work = pathlib.Path(args.work)
    out = work / f"{name}.ingot"

    def inspect(model):
        call([args.ingot, "convert", model, "-o", out])
        return json.loads(call([args.ingot, "inspect", "--json", out]))

    source, _, tflite = prepare_integers(name, work, inspect)
    call([args.ingot, "convert", tflite or source, "-o", out])
    if not DENSE[name]:
        return out, None
    plain, _ = prepare(DENSE[name], work)
    plain_out = work / f"{DENSE[name]}.ingot"
    call([args.ingot, "convert", plain, "-o", plain_out])
    return out, plain_out


def dense_rate(args, isa, path):
    """Products in a nanosecond of the dense convolutions."""
    environment = {**os.environ, "INGOT_CPU_ISA": isa}
    told = subprocess.run(
        [args.ingot, "why", path, "--json", "--threads", "1"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    dense = [
        i
        for i in json.loads(told.stdout)["instructions"]
        if i["kernel"] == "quantized_conv2d_direct"
    ]
    return sum(i["macs"] for i in dense) / sum(i["ms"] for i in dense) / 1e6


def runs_here(args, isa):
    return (
        subprocess.run(
            [args.ingot, "doctor"],
            env={**os.environ, "INGOT_CPU_ISA": isa},
            capture_output=True,
        ).returncode
        == 0
    )


def measure_shares(args, files):
    met = True
    for program in sorted(pathlib.Path(args.peaks).glob("ingot_integer_peak_*")):
        isa = program.name.removeprefix("ingot_integer_peak_")
        if not os.access(program, os.X_OK) or program.suffix:
            continue
        if not runs_here(args, isa):
            print(f"[skip] {isa}: this processor does not have it")
            continue
        peaks, rates = [], {name: [] for name in files}
        for _ in range(args.rounds):
            peaks.append(float(call([program])))
            for name, path in files.items():
                rates[name].append(dense_rate(args, isa, path))
        peak = max(peaks)
        for name, measured in rates.items():
            share = max(measured) / peak
            met = met and (share >= WANTED or isa != "avx2")
            print(
                f"{isa:12} {name:16} {max(measured):7.1f} of {peak:7.1f} products a ns: {share:.1%}"
            )
    return met


def measure_ratio(args, name, path, plain):
    ratios = []
    for _ in range(args.rounds):
        times = [
            json.loads(
                call([args.ingot, "bench", p, "--threads", "1", "--seconds", "1", "--json"])
            )["median_ms"]
            for p in (path, plain)
        ]
        ratios.append(times[1] / times[0])
        print(f"{name}: int8 {times[0]:.2f} ms, f32 {times[1]:.2f} ms")
    ratio = statistics.median(ratios)
    print(f"{name}: int8 is {ratio:.2f} times as fast as f32 (wanted: {WANTED_RATIO})")
    return ratio >= WANTED_RATIO


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--peaks", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    files, met = {}, True
    for name in DENSE:
        try:
            files[name], plain = convert(args, name)
        except Unavailable as e:
            print(f"[skip] {name}: {e}")
            continue
        if plain:
            met = measure_ratio(args, name, files[name], plain) and met
    met = measure_shares(args, files) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
