#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One file, one answer: SHA-256 over all outputs of each network of tests/models/models.tsv,
converted once with exact products, on every instruction set of this machine, on the emulated GPU, and under
qemu on NEON and on the emulated GPU of aarch64.

  hashes.py --ingot BIN --work DIR [--arm TREE] [--all] [name ...]

--arm: the tree of a cross build with raw_runner and fake_cuda. Small networks; --all: the large
ones too, minutes each under qemu. (The emulated GPU under qemu is for small ones.) Prints a line
for each network; every NaN counts as one pattern. The closing line counts networks, and what could
not be run here is a counted skip.
"""

import collections
import hashlib
import os
import pathlib
import sys
import time

from convert_once import converted, emulated
from sources import read_rows
from testing import Checks, ingot_parser, run, work_folder

NO_KERNEL = "no kernel for any instruction"


class Targets:
    """How to run a file on each of them: (words before the runner's own arguments, its word for the
    target)."""

    def __init__(self, args):
        native = pathlib.Path(args.ingot).resolve().parents[1] / "tests"
        runner, fake = "support/raw_runner", "cuda/libfake_cuda.so"
        isas = (
            ["avx512", "avx2", "scalar"] if os.uname().machine == "x86_64" else ["neon", "scalar"]
        )
        self.environment = {**os.environ, "INGOT_CUDA_DRIVER": str(native / fake)}
        self.each = [(isa, [native / runner], isa) for isa in isas] + [
            ("gpu", [native / runner], "cuda")
        ]
        self.emulated = []
        if args.arm:
            qemu = emulated(args.arm)
            self.emulated = [("neon (qemu)", qemu, "neon"), ("gpu (qemu)", qemu, "cuda")]

    def of(self, row):
        return self.each + (self.emulated if row["small"] == "1" else self.emulated[:1])


def outputs_of(command, word, converted, folder, environment):
    """(SHA-256 or None, what went wrong or why it did not run)"""
    out = pathlib.Path(folder) / "outputs"
    out.unlink(missing_ok=True)
    done = run(
        [
            *command[:-1],
            command[-1],
            "--write",
            out,
            converted.path,
            word,
            "1",
            converted.inputs,
            *converted.shapes,
        ],
        env=environment,
    )
    if done.returncode or not out.exists():
        return None, (done.stdout + done.stderr).strip()[-300:] or f"exit {done.returncode}"
    return hashlib.sha256(out.read_bytes()).hexdigest(), ""


def judge(row, converted, targets, folder, tally, absent):
    hashes, refused, broken = collections.defaultdict(list), [], []
    began = time.monotonic()
    for name, command, word in targets.of(row):
        digest, why = outputs_of(command, word, converted, folder, targets.environment)
        if digest:
            hashes[digest].append(name)
        elif why.startswith("[skip]"):
            absent.add(f"{name}: not on this machine")
        elif NO_KERNEL in why:
            refused.append(name)
        else:
            broken.append(f"{name}: {why}")
    equal = len(hashes) == 1 and not broken and sum(map(len, hashes.values())) > 1
    tally.passed += equal
    tally.failed += not equal
    said = "; ".join(f"{digest}  {' = '.join(names)}" for digest, names in hashes.items())
    said += f"; nothing in it for: {', '.join(refused)}" if refused else ""
    print(
        f"{'[ok]  ' if equal else '[FAIL]'} {row['name']:30} {said} ({time.monotonic() - began:.1f} s)",
        *broken,
        sep="\n         ",
        flush=True,
    )


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--arm")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    os.makedirs(args.work, exist_ok=True)
    tally, absent, targets = Checks("hashes", verbose=True), set(), Targets(args)
    if not args.arm:
        absent.add("neon: no tree of a cross build was given")
    with work_folder() as folder:
        for row in read_rows(args.names):
            if row["small"] != "1" and not args.all and not args.names:
                continue
            if file := converted(row, args.ingot, args.work, tally):
                judge(row, file, targets, folder, tally, absent)
    for why in sorted(absent):
        tally.skip(why)
    sys.exit(tally.finish() or not tally.passed)


if __name__ == "__main__":
    main()
