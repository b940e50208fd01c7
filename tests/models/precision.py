#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same file within its tolerance everywhere: networks converted with --precision exact, fast,
fp16 and bf16, each file checked against its golden on AVX-512, AVX2 and the emulated GPU by `ingot
check` and its table of tolerances, and, under qemu, on NEON and on the emulated GPU of aarch64.

  precision.py --ingot BIN --work DIR [--arm TREE] [--all] [name ...]

Prints for each network, precision and target the largest error of any output, as a part of that
output's largest number, and what is allowed. There is no command line under qemu: raw outputs of
one run there are compared with this machine's, whose error they then have; other bits fail. Where
products are of halves (files in fp16 on neonfp16 and neonbf16, in bf16 on neonbf16) bits are
others: what an output differs by, as a part of its largest number, is added to this machine's
error, and both together have to be within the table's tolerance of such halves. A precision that
changes nothing on the GPU in any network fails too, and so does a network below that conversion
writes in another precision than was asked for, but for the one that has to be (such a file is
checked as the precision that it has). --arm: as for
hashes.py. --all: every network that has a golden. The closing line counts network x precision x
target.
"""

import json
import os
import pathlib
import shlex
import sys

import numpy as np
from convert_once import emulated
from sources import input_arrays, locate, read_rows, shapes_of, write_inputs
from testing import Checks, ingot_parser, run, work_folder

PRECISIONS = ("exact", "fast", "fp16", "bf16")
# Files whose products are of halves on instruction sets, and what is allowed of them.
HALVES = {"fp16": (("neonfp16", "neonbf16"), 1e-2), "bf16": (("neonbf16",), 3e-2)}
# Convolutions of each kind, products, attention, LSTM and GRU; seconds each.
NETWORKS = (
    "mnist_8 ultraface_slim_320 dtln_1 silero_vad_half silero_vad_16k_op15_state ppocr_cls pulsevad_teacher_81k dnsmos_model_v8 "
    "asr_gigaam_v3 byte_sb_bidi_lstm minilm_l6 mobilenetv2_224 decoder_full ppocr_det"
).split()
# What conversion has to write in another precision than was asked for.
DOES_NOT_HOLD = ("ppocr_det",)
ROW = "{network:26} {precision:6} {target:11} {error:>9} {allowed:>9}  {verdict}"


class Bench:
    """Runs files on the targets of this machine and of the cross build."""

    def __init__(self, args):
        self.ingot, self.tests = args.ingot, pathlib.Path(args.ingot).resolve().parents[1] / "tests"
        self.environment = {
            **os.environ,
            "INGOT_CUDA_DRIVER": str(self.tests / "cuda/libfake_cuda.so"),
        }
        isas = ["avx512", "avx2"] if os.uname().machine == "x86_64" else ["neon"]
        self.checked = [(isa, "cpu", isa) for isa in isas] + [("gpu", "cuda", None)]
        self.emulated = []
        if args.arm:
            qemu = emulated(args.arm)
            self.emulated = [
                ("neon (qemu)", qemu, "neon"),
                ("f16 (qemu)", qemu, "neonfp16"),
                ("bf16 (qemu)", qemu, "neonbf16"),
                ("gpu (qemu)", qemu, "cuda"),
            ]

    def check(self, path, golden, device, isa):
        """(largest error and what is allowed, relative, of the worst output; passed; what was
        said)"""
        environment = {**self.environment, **({"INGOT_CPU_ISA": isa} if isa else {})}
        done = run(
            [self.ingot, "check", path, "--golden", golden, "--device", device, "--json"],
            env=environment,
        )
        if done.returncode not in (0, 6) or not done.stdout.startswith("{"):
            return None, None, False, (done.stderr + done.stdout).strip()[-300:]
        report = json.loads(done.stdout)
        if isa and report["isa"] != isa:
            return None, None, False, f"[skip] {isa}: not on this machine"
        worst = max(
            report["outputs"],
            key=lambda o: (not o["passed"], o["largest_error"] / (o["allowed"] or 1)),
        )
        unit = worst["largest_expected"] or 1
        return (
            worst["largest_error"] / unit,
            worst["allowed"] / unit,
            report["passed"] and done.returncode == 0,
            done.stderr.strip(),
        )

    def outputs(self, command, target, path, inputs, shapes):
        with work_folder() as folder:
            out = folder / "outputs"
            done = run(
                [*command, "--write", out, path, target, "1", inputs, *shapes], env=self.environment
            )
            return (
                out.read_bytes()
                if done.returncode == 0
                else (done.stdout + done.stderr).strip()[-300:]
            )


def difference(there, here, golden):
    """The largest of any output, as a part of the largest number that it has here; None where an
    output is of another type than f32."""
    arrays = np.load(golden)
    sizes = [arrays[k].size for k in arrays.files if k.startswith("out:")]
    if 4 * sum(sizes) != len(here) or len(there) != len(here):
        return None
    largest, at = 0.0, 0
    for size in sizes:
        a, b = (np.frombuffer(raw, np.float32, size, 4 * at) for raw in (there, here))
        at += size
        if not (np.isfinite(a) == np.isfinite(b)).all():
            return float("inf")
        if np.isfinite(b).any():
            a, b = a[np.isfinite(b)], b[np.isfinite(b)]
            largest = max(largest, float(abs(a - b).max() / (abs(b).max() or 1)))
    return largest


def check_file(bench, network, precision, path, golden, raw, tally, absent):
    """Prints a line for each target; the GPU's largest error."""
    found = {}

    def line(target, error, allowed, passed, said):
        tally.passed += passed
        tally.failed += not passed
        number = lambda x: "" if x is None else f"{x:.2e}"
        print(
            ROW.format(
                network=network,
                precision=precision,
                target=target,
                error=number(error),
                allowed=number(allowed),
                verdict=("[ok] " if passed else "[FAIL] ") + said,
            ),
            flush=True,
        )

    for target, device, isa in bench.checked:
        error, allowed, passed, said = bench.check(path, golden, device, isa)
        if said.startswith("[skip]"):
            absent.add(said[7:])
            continue
        found[target] = error, allowed, passed
        line(target, error, allowed, passed, said)
    own = bench.tests / "support/raw_runner"
    for target, command, word in bench.emulated:
        there = bench.outputs(command, word, path, *raw)
        here = bench.outputs([own], "cuda" if word == "cuda" else "best", path, *raw)
        same = isinstance(there, bytes) and there == here
        like = "gpu" if word == "cuda" else next(isa for isa in found if isa != "gpu")
        error, allowed, passed = found[like]
        isas, tolerance = HALVES.get(precision, ((), 0))
        if word in isas and isinstance(there, bytes) and not same:
            apart = difference(there, here, golden)
            if apart is None:
                absent.add(f"{network}: outputs of other types than f32 on {target}")
                continue
            error, allowed = error + apart, max(allowed, tolerance)
            line(target, error, allowed, passed and error <= allowed, "at most: bits of halves")
            continue
        line(
            target,
            error,
            allowed,
            same and passed,
            f"the bits of {like}" if same else f"other bits: {there!r:.200}",
        )
    return found["gpu"][0]


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--arm")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    work = pathlib.Path(args.work)
    os.makedirs(work / "precision", exist_ok=True)
    bench, tally, absent, changed, sources = (
        Bench(args),
        Checks("precision", verbose=True),
        set(),
        {"fast": [], "fp16": [], "bf16": []},
        Checks(verbose=True),
    )
    if not args.arm:
        absent.add("aarch64: no tree of a cross build was given")
    print(
        ROW.format(
            network="network",
            precision="",
            target="target",
            error="error",
            allowed="allowed",
            verdict="",
        )
    )
    for row in read_rows(args.names or (() if args.all else NETWORKS)):
        found = locate(row, work, sources)
        if not found or not found[1]:
            absent.add(f"{row['name']}: no source, or no golden")
            continue
        errors, raw, kept = {}, None, {}
        for precision in PRECISIONS:
            path = work / "precision" / f"{row['name']}.{precision}.ingot"
            done = run(
                [
                    args.ingot,
                    "convert",
                    found[0],
                    "-o",
                    path,
                    "--precision",
                    precision,
                    *shlex.split(row["options"] or ""),
                ]
            )
            if done.returncode:
                tally.check(False, f"{row['name']}: convert --precision {precision}", done.stderr)
                continue
            described = json.loads(run([args.ingot, "inspect", path, "--json"]).stdout)
            kept[precision] = described["precision"] == precision
            if not kept[precision]:
                written = described["precision"]
                print(f"{row['name']:26} {precision:6} {written} was written", flush=True)
            if row["name"] in NETWORKS:
                holds = precision == "exact" or row["name"] not in DOES_NOT_HOLD
                what = f"{row['name']}: {precision} is " + ("kept" if holds else "not kept")
                tally.check(kept[precision] == holds, what)
            if not kept[precision] and written in errors:
                continue  # that file was checked above
            if raw is None:
                arrays = input_arrays(found[1], described["inputs"], {}, np.random.default_rng(3))
                raw = work / "precision" / row["name"], shapes_of(arrays)
                write_inputs(arrays, raw[0])
            errors[precision] = check_file(
                bench, row["name"], precision, path, found[1], raw, tally, absent
            )
        for precision in changed:
            if precision in errors and kept[precision]:
                changed[precision].append(errors[precision] != errors.get("exact"))
    for precision, differs in changed.items():
        if differs:
            tally.check(
                any(differs), f"{precision}: changes the GPU's error in {sum(differs)} networks"
            )
    tally.failed += sources.failed
    for why in sorted(absent):
        tally.skip(why)
    sys.exit(tally.finish())


if __name__ == "__main__":
    main()
