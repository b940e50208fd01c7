#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the arena of fp16 files takes on a GPU, as `ingot place` says it over the fake driver, and
of it the activations, beside what they would take as f32.

  gpu_arena.py --ingot BIN --fake LIB --work DIR [--batches 1] [--before BIN]

Networks are those of gpu_cost.py. With --before the same files are asked of another build of
ingot. Fails where f16 takes more than f32 would."""

import argparse
import json
import os
import pathlib
import sys

from gpu_cost import OPEN, ZOO, convert, predict, source_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import run  # noqa: E402

ROW = "{:18} {:>5} {:>11} {:>12} {:>11} {:>6}"


def arena_of(ingot, file, fake):
    """Bytes, weights apart."""
    environment = {**os.environ, "INGOT_CUDA_DRIVER": str(fake.resolve())}
    done = run([ingot, "place", file, "--device", "cuda", "--json"], env=environment)
    if done.returncode:
        sys.exit(f"gpu_arena: {file.name}: {done.stderr.strip()}")
    (gpu,) = json.loads(done.stdout)["devices"]
    return gpu["arena_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--ingot", "--fake", "--work"):
        parser.add_argument(name, required=True, type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--batches", default="1", type=lambda t: [int(n) for n in t.split(",")])
    args = parser.parse_args()
    print(ROW.format("network", "batch", "arena", "activations", "as f32", "part"), end="")
    print("  arena before" if args.before else "")
    shown = worse = 0
    for name in [*ZOO, *OPEN]:
        source = source_of(name, args.work)
        if source is None:
            print(f"[skip] {name}: its package or script is not to be had here")
            continue
        for batch in args.batches:
            file = convert(args, name, source, batch, "fp16")
            report = predict(args.ingot, file, "orin-nano")
            now, f32 = report["activation_bytes"], report["activation_bytes_f32"]
            arena = arena_of(args.ingot, file, args.fake)
            cells = (name, batch, f"{arena:,}", f"{now:,}", f"{f32:,}", f"{now / f32:.2f}")
            before = f"{arena_of(args.before, file, args.fake):>14,}" if args.before else ""
            print(ROW.format(*cells) + before, flush=True)
            shown, worse = shown + 1, worse + (now > f32 or arena < now)
    if not shown or worse:
        sys.exit(f"gpu_arena: {shown} files, {worse} of them larger than with f32")


main()
