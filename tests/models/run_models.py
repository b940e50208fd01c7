#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every model of models.tsv: convert, verify, compare with its golden, the same bits on every
instruction set and thread count, exact memory, no allocation, lock or system call in run(), and the
same bits with weights spread over the CPU and two fake GPUs.

  run_models.py --ingot BIN --work DIR [--tools DIR] [--part first | rest | shared] [--emulated
  "PREFIX RUNNER"] [name ...]

--tools: where raw_runner and trap_runner lie (default: beside the tests of BIN's tree). --part:
large networks take a minute on one scalar core; the first part leaves that out, the rest is that
alone, compared with what the first part found (default: both); `shared` is what shared material
adds to the first part: its models, and its goldens of the models of packages. --emulated:
only compares the hashes of the small models (with --full: of every model) under another machine's
emulator with those of the last full run; what was once emulated is kept in DIR/emulated.json, by
the hashes of file and runner, so that a run that was broken off goes on where it stopped. Where
models come from: sources.py; what cannot be had is a counted skip. The closing line counts checks.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import sys
import threading
import time

import numpy as np
from sources import (
    dims_of,
    input_arrays,
    locate,
    make_golden,
    read_rows,
    shapes_of,
    skip_once,
    state_pairs,
    symbols,
    write_inputs,
)
from testing import Checks, ingot_parser, run

ISAS = {"x86_64": ["scalar", "avx2", "avx512"], "aarch64": ["scalar", "neon"]}[os.uname().machine]
STEPS, SAVED_AT = 12, 5
SOURCES = threading.Lock()  # one source at a time: rows may share the file that is fetched or made


def check_state(row, args, tally, source, out, shapes):
    """Streams: state in the arena gives the bits of ports fed back by hand, and a session saved on
    one instruction set and restored on another goes on with the same bits. Returns the lines that
    an emulated run has to give."""
    name, runner = row["name"], args.tools / "support/state_runner"
    pairs = [pair.split("=") for pair in state_pairs(row["options"])]
    plain = out.with_suffix(".plain.ingot")
    words = shlex.split(row["options"])
    kept = [
        w for i, w in enumerate(words) if w != "--state" and (i == 0 or words[i - 1] != "--state")
    ]
    done = run([args.ingot, "convert", source, "-o", plain, *kept])
    if not tally.check(done.returncode == 0, f"{name}: convert without --state", done.stderr):
        return None
    described = json.loads(run([args.ingot, "inspect", plain, "--json"]).stdout)
    given = dict(s.rsplit("=", 1) for s in shapes)
    states = {
        v["name"]: dims_of(v)
        for v in json.loads(run([args.ingot, "inspect", out, "--json"]).stdout)["state_variables"]
    }
    known = dict(
        s.split("=", 1)
        for s in symbols([p for p in described["inputs"] if p["name"] in given], shapes)
    )
    fed = [f"{n}={'x'.join(str(known.get(d, d)) for d in dims)}" for n, dims in states.items()]
    feeds = [word for into, by in pairs for word in ("--feed", f"{by}={into}")]
    expected = run([runner, plain, "best", "1", STEPS, *feeds, *shapes, *fed]).stdout
    whole = run([runner, out, "best", "2", STEPS, *shapes]).stdout
    tally.check(
        whole == expected and whole.count("step") == STEPS,
        f"{name}: {STEPS} steps with state in the arena as with it fed back",
        f"{whole}\n{expected}",
    )
    rest = "".join(line + "\n" for line in whole.splitlines()[SAVED_AT:])
    crossed, wrong, last = 0, [], None
    for first in ISAS:
        saved = out.with_suffix(f".{first}.state")
        done = run([runner, out, first, "1", SAVED_AT, "--save", SAVED_AT, saved, *shapes])
        if done.returncode == 77:
            tally.skip(f"{first}: not on this machine")
            continue
        last = saved
        for second in ISAS:
            done = run([runner, out, second, "2", STEPS, "--load", SAVED_AT, saved, *shapes])
            if done.returncode == 77:
                continue
            crossed += 1
            if done.stdout != rest:
                wrong.append(f"{first} to {second}: {done.stdout}{done.stderr}")
    tally.check(
        crossed and not wrong,
        f"{name}: saved after step {SAVED_AT} and restored, {crossed} pairs of instruction sets: the same bits",
        "\n".join(wrong),
    )
    return {"saved": str(last), "rest": rest}


def check_model(row, args, tally, hashes):
    work = pathlib.Path(args.work)
    with SOURCES:
        found = locate(row, work, tally)
    if not found:
        return
    source, golden = found
    name, out = row["name"], work / f"{row['name']}.ingot"
    if args.part == "shared" and not row["source"].startswith("shared:") and out.exists():
        compare_with_golden(args, tally, name, out, golden)  # the first part did the rest
        return
    out.unlink(missing_ok=True)
    began = time.monotonic()
    done = run([args.ingot, "convert", source, "-o", out, *shlex.split(row["options"] or "")])
    if not tally.check(
        done.returncode == 0, f"{name}: convert ({time.monotonic() - began:.1f} s)", done.stderr
    ):
        return
    done = run([args.ingot, "verify", out])
    tally.check(done.returncode == 0, f"{name}: verify", done.stderr + done.stdout)
    described = json.loads(run([args.ingot, "inspect", out, "--json"]).stdout)
    inputs = work / "inputs" / name
    typical = (
        {}
        if golden
        else json.loads(run([args.ingot, "bench", out, "--seconds", "0", "--json"]).stdout)["dims"]
    )
    if not golden and row["golden"] != "none":
        golden = golden_on_the_spot(row, source, described, typical, work, tally)
    if golden:
        compare_with_golden(args, tally, name, out, golden)
    arrays = input_arrays(golden, described["inputs"], typical, np.random.default_rng(3), row)
    write_inputs(arrays, inputs)
    shapes = shapes_of(arrays)
    results = {}
    for isa in ISAS:
        for threads in ("1", "2"):
            if args.part in ("first", "shared") and is_long(row, isa, threads):
                continue
            done = run([args.tools / "support/raw_runner", out, isa, threads, inputs, *shapes])
            if done.returncode == 77:
                tally.skip(f"{isa}: not on this machine")
                continue
            results[isa, threads] = done.stdout if done.returncode == 0 else done.stderr
    again = run([args.tools / "support/raw_runner", out, "best", "2", inputs, *shapes]).stdout
    tally.check(
        len(set(results.values()) | {again}) == 1 and "output" in again,
        f"{name}: one answer on {', '.join(sorted({i for i, _ in results}))} x 1, 2 threads, again",
        "\n".join(f"{k}: {v}" for k, v in results.items()),
    )
    hashes[name] = {"shapes": shapes, "answer": again}
    placed = args.tools / "support/place_runner"
    if placed.exists():
        done = run([placed, out, "best", inputs, "2", *shapes])
        tally.check(
            done.returncode == 0,
            f"{name}: the same bits over three devices, transfers as stated: {done.stdout.strip()}",
            done.stderr + done.stdout,
        )
    else:
        tally.skip(f"{name}: places: support/place_runner was not built")
    if state_pairs(row["options"]):
        hashes[name]["state"] = check_state(row, args, tally, source, out, shapes)
    for threads in ("1", "2"):
        done = run(
            [args.tools / "support/raw_runner", "--exact", out, "best", threads, inputs, *shapes]
        )
        said = done.stdout.split()
        if (
            done.returncode
            and not golden
            and described["op_counts"].get("if")
            and len(said) == 3
            and int(said[2]) < int(said[1])
        ):
            tally.skip(
                f"{name}: random inputs take a branch that ends below the arena's last byte, {threads} threads: {done.stdout.strip()}"
            )
        else:
            tally.check(
                done.returncode == 0,
                f"{name}: exact memory, {threads} threads: {done.stdout.strip()}",
                done.stderr + done.stdout,
            )
        trap = args.tools / "traps/trap_runner"
        if trap.exists():
            rate = [
                f"{port['name']}=16000" for port in described["inputs"] if port["name"] == "sr"
            ]  # silero's sample rate
            done = run([trap, out, threads, *symbols(described["inputs"], shapes), *rate])
            if done.returncode == 77:
                tally.skip(f"{name}: traps: this machine does not allow tracing")
                continue
            tally.check(
                done.returncode == 0,
                f"{name}: run() without allocation, lock or further system call, {threads} threads",
                done.stderr + done.stdout,
            )
        else:
            tally.skip(f"{name}: traps: traps/trap_runner was not built")


def golden_on_the_spot(row, source, described, typical, work, tally):
    golden, status, error = make_golden(row, source, described, typical, work)
    if status == 77:
        skip_once(tally, error, f"models without a golden: {error} is not to be had here")
    elif status:
        tally.check(False, f"{row['name']}: make_golden.py", error)
    return golden


def compare_with_golden(args, tally, name, out, golden):
    for threads in ["1"] if args.quick else ["1", "2"]:
        done = run([args.ingot, "check", out, "--golden", golden, "--threads", threads])
        tally.check(
            done.returncode == 0,
            f"{name}: equals its golden, {threads} threads",
            done.stderr + done.stdout,
        )
        if threads == "1":
            tally.say("       " + "\n       ".join(done.stdout.strip().splitlines()[:6]))


def is_long(row, isa, threads):
    return row["small"] != "1" and isa == "scalar" and threads == "1"


def check_rest(row, args, tally, stored):
    """What the first part left out."""
    name, out = row["name"], pathlib.Path(args.work) / f"{row['name']}.ingot"
    if not is_long(row, "scalar", "1"):
        return
    if name not in stored or not out.exists():
        tally.skip(f"{name}: the first part did not run it")
        return
    runner, inputs = args.tools / "support/raw_runner", pathlib.Path(args.work) / "inputs" / name
    done = run([runner, out, "scalar", "1", inputs, *stored[name]["shapes"]])
    tally.check(
        done.stdout == stored[name]["answer"],
        f"{name}: the same answer on scalar x 1 thread",
        f"{stored[name]['answer']}\n{done.stdout}{done.stderr}",
    )


def check_held(row, args, stored, hashes):
    tally = Checks(verbose=True, held=True)
    try:
        if args.part == "rest":
            check_rest(row, args, tally, stored)
        else:
            check_model(row, args, tally, hashes)
    except Exception as wrong:  # one model's; the others are still run
        tally.check(False, f"{row['name']}: {type(wrong).__name__}", str(wrong))
    return tally


def emulated(rows, args, tally):
    work, runner = pathlib.Path(args.work), shlex.split(args.emulated)
    stored = (
        json.loads((work / "hashes.json").read_text()) if (work / "hashes.json").exists() else {}
    )
    cache = work / "emulated.json"
    done_before = json.loads(cache.read_text()) if cache.exists() else {}
    for row in rows:
        if (row["small"] != "1" and not args.full) or row["name"] not in stored:
            continue
        name, known = row["name"], stored[row["name"]]
        for isa, threads in (("best", "1"), ("best", "2")):
            key = " ".join([name, isa, threads, sha256(work / f"{name}.ingot"), sha256(runner[-1])])
            if key not in done_before:
                began = time.monotonic()
                done = run(
                    [
                        *runner,
                        work / f"{name}.ingot",
                        isa,
                        threads,
                        work / "inputs" / name,
                        *known["shapes"],
                    ]
                )
                got = {
                    "answer": done.stdout,
                    "error": done.stderr,
                    "seconds": round(time.monotonic() - began, 1),
                }
                if done.returncode == 0:
                    done_before[key] = got
                    keep = cache.with_suffix(".new")
                    keep.write_text(json.dumps(done_before, indent=1))
                    keep.replace(cache)
            else:
                got = done_before[key]
            tally.check(
                got["answer"] == known["answer"] and "output" in known["answer"],
                f"{name}: the same bits emulated, {threads} threads ({got['seconds']} s)",
                got["answer"] + got["error"],
            )
        if known.get("state"):
            state_runner = pathlib.Path(runner[-1]).with_name("state_runner")
            done = run(
                [
                    *runner[:-1],
                    state_runner,
                    work / f"{name}.ingot",
                    "best",
                    "1",
                    STEPS,
                    "--load",
                    SAVED_AT,
                    known["state"]["saved"],
                    *known["shapes"],
                ]
            )
            tally.check(
                done.stdout == known["state"]["rest"],
                f"{name}: a state saved here goes on emulated with the same bits",
                done.stdout + done.stderr,
            )


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--tools")
    parser.add_argument("--emulated")
    parser.add_argument("--quick", action="store_true", help="one thread for the goldens")
    parser.add_argument(
        "--full", action="store_true", help="with --emulated: large networks too, minutes each"
    )
    parser.add_argument("--part", choices=["first", "rest", "shared"])
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(os.cpu_count() or 1, 4),
        help="models at once (default: %(default)s)",
    )
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    args.tools = (
        pathlib.Path(args.tools)
        if args.tools
        else pathlib.Path(args.ingot).resolve().parents[1] / "tests"
    )
    os.makedirs(args.work, exist_ok=True)
    rows, tally, hashes = read_rows(args.names), Checks("models", verbose=True), {}
    if args.part == "shared":
        rows = [r for r in rows if "shared:" in r["source"] + r["golden"]]
    if args.emulated:
        emulated(rows, args, tally)
    else:
        path = pathlib.Path(args.work) / "hashes.json"
        stored = json.loads(path.read_text()) if path.exists() else {}
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for held in pool.map(lambda row: check_held(row, args, stored, hashes), rows):
                tally.add(held)
        path.write_text(json.dumps({**stored, **hashes}, indent=1))
    sys.exit(tally.finish() or not tally.passed)


if __name__ == "__main__":
    main()
