#!/usr/bin/env python3
"""How near to a core's peak dense networks of bytes run, and how much faster than in f32.

  integer_peak.py --ingot build/gcc/bin/ingot --peaks build/gcc/kernels/cpu --work build/bench
                  [--rounds 5] [--objects build/aarch64/kernels/cpu]

For each instruction set that runs here: the rate of its products with all operands in registers or
the first cache (ingot_integer_peak_ISA), and the share of it that the dense convolutions of
ResNet-50 and of MLPerf Tiny's ResNet8 reach, measured in turn. Then ResNet-50 in int8 beside f32.
What runs elsewhere (NEON) is judged by the inner loop of its largest tile: how many of its vector
instructions are products.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from integer_rows import prepare_integers  # noqa: E402
from rows import Unavailable, call, prepare  # noqa: E402

DENSE = {"resnet50_u8s8": "resnet50_224", "tiny_ic": None}
WANTED = 0.85
WANTED_RATIO = 2.5
PRODUCTS = re.compile(r"\b(usdot|sdot|smlal2?|sadalp|mul|smull2?|usmmla|smmla)\b")
MOVES = re.compile(
    r"\b(ldr|ldp|ldur|ld1r?|ld2|ld4|str|stp|prfm|add\s+x|sub\s+x|cmp|b\.\w+|cbn?z)\b"
)


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
            met = met and (share >= WANTED or isa not in ("avx2", "neon"))
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


def loop_density(objdump, path):
    """Of the loop with most products: products, other vector instructions."""
    text = subprocess.run(
        [objdump, "-d", "-C", "--no-show-raw-insn", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    best = (0, 0)
    for block in text.split("\n\n"):
        head = block.lstrip().split("\n", 1)[0]
        if "byte_tile<" not in head:
            continue
        lines = [
            m for m in map(re.compile(r"\s+([0-9a-f]+):\s+(.*)").match, block.split("\n")) if m
        ]
        at = {m[1]: i for i, m in enumerate(lines)}
        for i, m in enumerate(lines):
            jump = re.match(r"(?:b\.\w+|cbnz\s+\w+,|tbnz\s+\S+ \S+)\s*([0-9a-f]+)", m[2])
            start = at.get(jump[1]) if jump else None
            if start is None or start >= i:
                continue
            loop = [x[2] for x in lines[start : i + 1]]
            if any("byte_tile" in x and x.startswith("bl") for x in loop):
                continue
            vector = [x for x in loop if re.search(r"\bv\d+\.", x) and not MOVES.match(x)]
            products = sum(bool(PRODUCTS.match(x)) for x in vector)
            if products > best[0]:
                best = (products, len(vector) - products)
    return best


def check_objects(args):
    objdump = shutil.which("aarch64-linux-gnu-objdump")
    objects = sorted(pathlib.Path(args.objects).glob("**/neon*.cpp.o"))
    if not objdump or not objects:
        print("[skip] inner loops of NEON: no objects of aarch64 (./dev test aarch64 makes them)")
        return True
    met = True
    for path in objects:
        products, others = loop_density(objdump, path)
        share = products / (products + others) if products else 0
        met = met and share >= WANTED
        print(
            f"{path.name.split('.')[0]:12} inner loop: {products} products, {others} other vector "
            f"instructions: {share:.1%}"
        )
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--peaks", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--objects", default="build/aarch64/kernels/cpu")
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
    met = check_objects(args) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
