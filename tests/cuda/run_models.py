#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every model of tests/models/models.tsv on a GPU compared with the CPU: the same bits in every
run, exactly the launches, waits, transfers and memory that the session states, nothing left behind;
state saved on either goes on on the other; sessions bound anew give the CPU's bits; and what was
left to the CPU, by operator. Over the fake driver the small ones also under traps: no allocation,
no lock, no system call but the driver's.

  run_models.py --ingot BIN --work DIR [--tools DIR] [--fake LIB] [--full] [--report FILE]
  [--replays N] [--seconds S]
                [--emulated "PREFIX RUNNER"] [--budget SECONDS] [--commit NAME] [--prepare] [name
                ...]

--fake: the driver's stand-in with the emulator inside; its own counts are compared then, and what
takes it long is run once (with --full as often as the rest). Without it the machine's GPU runs
them; where there is none that is one counted skip. --replays, --seconds: of gpu_runner. --emulated:
gpu_runner of another machine under its emulator, small models only, whose hashes have to be this
machine's. --budget: begins no model that would end later than so many seconds from now. --report
keeps what ran at --commit; a later call with the same name goes on where this one stopped.
--prepare: makes the files, runs nothing. --work: where stage models left its files; what is not
there is made. The closing line counts models.
"""

import json
import os
import pathlib
import shlex
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from convert_once import converted  # noqa: E402
from sources import read_rows, state_pairs, symbols  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

# Seconds on the emulator: one run there, in the long suite as many as elsewhere.
LARGE = set(
    "super_resolution_10 magika basic_pitch asr_whisper80 dnsmos_bak_ovr dnsmos_sig dnsmos_sig_bak_ovr nakdimon mobilenetv2_224 "
    "mobilenetv3l_224 resnet18_224 resnet50_224 squeezenet11_224 yolov8n_320 efficientnet_b0_224 shufflenetv2_224 lraspp_224 "
    "unet_192 vit_tiny_224 vit_tiny_224_half".split()
)
STEPS, SAVED_AT = 12, 5
REBOUND = {
    "digits": "n=3\nn=8\nn=1\nn=8\n",
    "minilm_l6": "batch=1 sequence=5\nbatch=2 sequence=17\nbatch=1 sequence=5\nbatch=2 sequence=3\n",
}
ROW = "{name:32} {gpu:>5} {cpu:>5} {launches:>8} {seconds:>8}  {verdict}"


def run_gpu(args, converted):
    """(what gpu_runner said, its verdict or "")"""
    words = [*args.runner, converted.path, converted.inputs, *converted.shapes]
    replays = args.replays or (1 if args.fake and converted.name in LARGE and not args.full else 0)
    if replays:
        words += ["--runs", replays]
    if args.seconds:
        words += ["--seconds", args.seconds]
    done = run(words, env=args.env)
    said = [line for line in done.stdout.splitlines() if line.startswith("gpu {")]
    answer = "".join(line + "\n" for line in done.stdout.splitlines() if line.startswith("output "))
    figures = json.loads(said[0][4:]) if said else {}
    if done.returncode == 77:
        return figures, "no GPU"
    if done.returncode or not said:
        return figures, (done.stderr + done.stdout).strip()[-300:] or f"exit {done.returncode}"
    if (
        args.emulated
        and converted.answer
        and answer != converted.answer
        and not figures.get("refused")
    ):
        return figures, f"other bits than this machine's: {answer}"
    return figures, ""


def cross_state(args, converted):
    """Steps on the CPU, on the GPU, and from one to the other behind SAVED_AT through a saved
    state: what has not the same bits, or ""."""
    runner = [
        *args.runner[:-1],
        pathlib.Path(args.runner[-1]).resolve().parents[1] / "support/state_runner",
        converted.path,
    ]
    step = lambda where, *more: run(
        [*runner, where, "1", STEPS, *more, *converted.shapes], env=args.env
    )
    whole = step("best")
    if whole.returncode or whole.stdout.count("step") != STEPS:
        return f"steps on the CPU: {whole.stderr}"
    rest = "".join(line + "\n" for line in whole.stdout.splitlines()[SAVED_AT:])
    for first, second in (("best", "cuda"), ("cuda", "best"), ("cuda", "cuda")):
        saved = converted.path.with_suffix(f".{first}.state")
        done = step(first, "--save", SAVED_AT, saved)
        if done.stdout != whole.stdout:
            return f"{STEPS} steps, {first}: other bits than the CPU's: {done.stdout}{done.stderr}"
        done = step(second, "--load", SAVED_AT, saved)
        if done.stdout != rest:
            return (
                f"state of {first} goes on on {second} with other bits: {done.stdout}{done.stderr}"
            )
    return ""


def rebound(args, converted):
    """One session at the extents of REBOUND, on the CPU and on the GPU: what has not the same bits,
    or ""."""
    both = [
        run(
            [args.tools / "traps/rebind_runner", "rebind", converted.path, device],
            env=args.env,
            input=REBOUND[converted.name],
        )
        for device in ("cpu", "cuda")
    ]
    lines = [
        [line for line in done.stdout.splitlines() if not line.startswith("#")] for done in both
    ]
    equal = lines[0] == lines[1] and len(lines[0]) == len(REBOUND[converted.name].splitlines())
    return "" if equal else "bound anew: " + "".join(done.stdout + done.stderr for done in both)


def trapped(args, converted):
    """Runs over the fake driver under traps of the heap, of locks, and of system calls outside the
    driver: what they caught, or ""."""
    inputs = json.loads(run([args.ingot, "inspect", converted.path, "--json"]).stdout)["inputs"]
    rate = ["sr=16000"] * any(port["name"] == "sr" for port in inputs)  # silero's sample rate
    done = run(
        [
            args.tools / "traps/trap_runner",
            "--device",
            "cuda",
            converted.path,
            "1",
            *symbols(inputs, converted.shapes),
            *rate,
        ],
        env=args.env,
    )
    if done.returncode == 77:
        args.untraced = done.stdout.strip()
    return done.stdout + done.stderr if done.returncode not in (0, 77) else ""


def earlier(args):
    """{name: what it said} of models that an earlier call at the same commit ran, and that were
    right."""
    path = pathlib.Path(args.report) if args.report and args.commit else None
    stored = json.loads(path.read_text()) if path and path.exists() else {}
    return (
        {r["name"]: r for r in stored["rows"] if not r["problem"]}
        if stored.get("commit") == args.commit
        else {}
    )


def keep(args, rows):
    if args.report:
        half = pathlib.Path(args.report + ".tmp")
        half.write_text(json.dumps({"commit": args.commit, "rows": rows}, indent=1))
        os.replace(half, args.report)


def launches_of(figures):
    """A run's, and how many of branches and loops it took besides."""
    launches = figures.get("launches", "")
    return f"{launches}+{figures['in_branches']}" if figures.get("in_branches") else launches


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--tools")
    parser.add_argument("--fake")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--replays", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--emulated")
    parser.add_argument("--budget", type=float, default=float("inf"))
    parser.add_argument("--commit", default="")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    args.tools = (
        pathlib.Path(args.tools)
        if args.tools
        else pathlib.Path(args.ingot).resolve().parents[1] / "tests"
    )
    args.runner = shlex.split(args.emulated) if args.emulated else [args.tools / "cuda/gpu_runner"]
    args.untraced = ""
    args.env = {
        **os.environ,
        **({"INGOT_CUDA_DRIVER": str(pathlib.Path(args.fake).resolve())} if args.fake else {}),
    }
    os.makedirs(args.work, exist_ok=True)
    tally, kept, rows = Checks("cuda_models", verbose=True), earlier(args), []
    start, longest, rest = time.monotonic(), 0.0, 0
    print(
        ROW.format(
            name="model", gpu="gpu", cpu="cpu", launches="launches", seconds="seconds", verdict=""
        )
    )
    for row in read_rows(args.names):
        if args.emulated and row["small"] != "1":
            continue
        if row["name"] in kept:
            rows.append(kept[row["name"]])
            tally.passed += 1
            print(rows[-1]["line"])
            continue
        if time.monotonic() - start + longest > args.budget:
            rest += 1
            continue
        file = converted(row, args.ingot, args.work, tally)
        if not file:
            continue
        if args.prepare:
            continue
        began = time.monotonic()
        figures, wrong = run_gpu(args, file)
        stateful = bool(state_pairs(row["options"])) and not wrong
        wrong = wrong or (stateful and cross_state(args, file))
        is_trapped = (
            args.fake
            and not args.emulated
            and row["small"] == "1"
            and not wrong
            and not figures.get("refused")
        )
        wrong = wrong or (is_trapped and trapped(args, file))
        if file.name in REBOUND and not args.emulated:
            wrong = wrong or rebound(args, file)
        seconds = time.monotonic() - began
        longest = max(longest, seconds)
        if wrong == "no GPU":
            tally.skip("whole models on a GPU: this machine has none that can be used")
            break
        left = ", ".join(f"{op} x{n}" for op, n in figures.get("left", {}).items())
        left = "everything: refused by name" if figures.get("refused") else left
        verdict = (
            "[fail] " + wrong if wrong else "[ok]" + (f" left to the CPU: {left}" if left else "")
        )
        verdict += " state crosses" if stateful and not wrong else ""
        if args.seconds and figures.get("latencies"):
            verdict += (
                f" first result {figures['first_result_ms']:.1f} ms, p50 {figures['p50_ms']:.3f}, p99 {figures['p99_ms']:.3f} ms, "
                f"{figures['beyond_bytes'] / 2**20:.1f} MiB beyond arena and weights"
            )
        tally.passed += not wrong
        tally.failed += bool(wrong)
        line = ROW.format(
            name=file.name,
            gpu=figures.get("on_gpu", ""),
            cpu=figures.get("on_cpu", ""),
            launches=launches_of(figures),
            seconds=f"{seconds:.1f}",
            verdict=verdict,
        )
        print(line, flush=True)
        rows.append({"name": file.name, "problem": wrong, "line": line, **figures})
        keep(args, rows)
    if args.untraced:
        tally.skip(f"traps of runs on a GPU: {args.untraced}")
    if rest:
        print(f"[skip] {rest} models: no time was left; the next call goes on with them")
    slow = [r["name"] for r in rows if r.get("latencies") and r["p99_ms"] > 1.05 * r["p50_ms"]]
    late = [r["name"] for r in rows if r.get("latencies") and r["first_result_ms"] > 150]
    large = [r["name"] for r in rows if r.get("latencies") and r["beyond_bytes"] > 8 << 20]
    if any(r.get("latencies") for r in rows):
        for what, names in (
            ("p99/p50 above 1.05", slow),
            ("first result later than 150 ms beyond the context", late),
            ("more than 8 MiB beyond arena and context", large),
        ):
            print(
                f"{what}: {len(names)} of {sum(bool(r.get('latencies')) for r in rows)}: {', '.join(names) or 'none'}"
            )
    sys.exit(tally.finish())


if __name__ == "__main__":
    main()
