#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed compared with other runtimes: every one in its own process, in random order within a round,
outputs compared first.

  run.py --ingot build/gcc/bin/ingot --work build/bench [--quick] [--rounds 6] [--seconds 0.5]
  [--threads 1,2] [--integers] [--isa avx2] [--precision bf16]
         [--engines onnxruntime,openvino,ncnn,MNN,litert,again,prototype] [--results DIR] [--json
         FILE] [--check] [model ...]
  run.py --tables FILE [FILE ...] [--results DIR]

Prints for each network and thread count the median time of every runtime, and Ingot's time over the
best peer's: the median of the paired rounds with the smallest and the largest. Peers that wait are
stopped, so that no spinning pool disturbs the one that is measured; N threads run on the first N
processors, and Ingot on as many of these as it finds worth waking. "again" is a second run of
ourselves, the noise; "prototype" the measured design study of shared material. Peers that are not
installed or do not run a network are named. The table is written to RESULTS/<date>.tsv with the
processor's name, unless only some networks were asked for. A model may be an ONNX file with static
shapes: its inputs are random and onnxruntime's outputs expected. --json FILE keeps every figure;
--tables FILE.. prints (and writes) the table of such files without measuring anything. --quick:
four networks, two rounds. --check: one network, two short rounds, only to see that the harness
works. --integers: int8 networks instead (integer_rows.py); a call of each peer through Python is
measured as a row and stays in the others. --isa avx2: Ingot and OpenVINO, which can be told so,
held to AVX2. --precision bf16: both multiply in bf16, and the row ends with the largest error of
each, as a part of the largest output.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from integer_rows import CALLS, INTEGERS, NEAR, plain_of, prepare_integers  # noqa: E402
from integer_rows import WRONG as WRONG_INTEGERS  # noqa: E402
from processors import pin, processor_name  # noqa: E402
from rows import QUICK, ROOT, ROWS, SHARED, TFLITE  # noqa: E402
from rows import Unavailable, call, prepare, write_golden  # noqa: E402

PROTOTYPE = SHARED / "prototypes" / "whole_model"
PEERS = ["onnxruntime", "openvino", "ncnn", "MNN", "litert"]
INTEGER_PEERS = ["onnxruntime", "openvino", "litert", "executorch"]
OWN = ("again", "prototype")  # engines that are no peers
WRONG = 1e-2  # of the largest output
WRONG_ROUNDED = 0.5  # where products are rounded: both errors are printed
PROTOTYPED = [
    "resnet50_224",
    "mobilenetv2_224",
    "mobilenetv3l_224",
    "yolov8n_320",
    "yolov8n_640",
    "resnet18_224",
]


class Row:
    """One network, ready for every runtime."""

    def __init__(self, args, name):
        work = pathlib.Path(args.work)
        self.name = getattr(name, "stem", name)
        self.converted = work / f"{self.name}.ingot"
        self.error = None
        check = [args.ingot, "check", self.converted]
        if args.integers:
            self.limit, self.wrong = 1.0, WRONG_INTEGERS
            self.onnx, self.npz, self.tflite = prepare_integers(name, work, self.ports_of(args))
            self.plain = plain_of(name, work)
            check += [] if self.tflite or name in CALLS else ["--rtol", NEAR]
        else:
            self.limit, self.wrong = 1.0, WRONG
            if name in ROWS:
                self.limit = ROWS[name][0]
                self.onnx, self.npz = prepare(name, work)
            else:
                self.onnx, self.npz = name.resolve(), work / f"{self.name}.npz"
                if not self.npz.exists() or self.npz.stat().st_mtime < self.onnx.stat().st_mtime:
                    write_golden(self.onnx, self.npz)
            self.tflite, self.plain = SHARED / TFLITE[name] if name in TFLITE else None, None
        if args.precision == "bf16":
            self.wrong, self.converted = WRONG_ROUNDED, work / f"{self.name}-bf16.ingot"
            call(
                [args.ingot, "convert", self.onnx, "-o", self.converted, "--precision", "bf16"]
            )
            self.error = own_error(args, self)
        else:
            call([args.ingot, "convert", self.onnx, "-o", self.converted])
            call([*check, "--golden", self.npz])  # the outputs first, then the time
        self.prefix = work / f"proto_{name}"
        if "prototype" in args.engines and not self.prefix.with_suffix(".out").exists():
            import numpy as np

            golden = np.load(self.npz)
            np.savez(work / f"plain_{name}.npz", in0=golden["in:input"], out0=golden["out:output"])
            link = work / f"plain_{name}.onnx"
            if not link.exists():
                link.symlink_to(self.onnx.name)
            call([sys.executable, PROTOTYPE / "cast.py", link, self.prefix])

    def ports_of(self, args):
        """inspect(model): what Ingot says of it once it is converted."""

        def inspect(model):
            call([args.ingot, "convert", model, "-o", self.converted])
            return json.loads(call([args.ingot, "inspect", "--json", self.converted]))

        return inspect


class Peer:
    """A process that waits, stopped, until it is asked for a figure."""

    def __init__(self, args, row, engine, threads):
        command = [
            sys.executable,
            ROOT / "bench/peer.py",
            engine,
            row.onnx,
            row.npz,
            threads,
            "--work",
            args.work,
            "--precision",
            args.precision,
        ]
        if row.tflite:
            command += ["--tflite", row.tflite]
        if row.plain:
            command += ["--plain", row.plain]
        self.process = subprocess.Popen(
            [str(c) for c in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=pin(threads),
        )
        self.facts = self.answer()
        if "absent" not in self.facts and not self.facts["error"] <= row.wrong:
            error = self.facts["error"]
            self.facts = {
                "absent": "its outputs have other sizes" if error == 9 else f"wrong by {error:.1e}"
            }
        self.pause()

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"absent": f"ended with {self.process.wait()}"}

    def pause(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGSTOP)

    def measure(self, seconds):
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        time = self.answer()["median_ms"]
        self.pause()
        return time

    def end(self):
        self.process.kill()
        self.process.wait()


def own_error(args, row):
    """The largest difference of Ingot's outputs from the golden's."""
    import numpy as np
    from peer import worst

    file = row.converted.with_suffix(".npz")
    call([args.ingot, "run", row.converted, "--inputs", row.npz, "--outputs", file])
    golden = np.load(row.npz)
    expected = {k[4:]: golden[k] for k in golden.files if k.startswith("out:")}
    return worst(dict(np.load(file)), expected)


def measure_own(args, row, engine, threads):
    if engine == "prototype":
        words = call(
            [
                pathlib.Path(args.work) / "run-avx512",
                row.prefix,
                f"{row.prefix}.in",
                f"{row.prefix}.out",
                f"threads={threads}",
                f"seconds_x10={int(args.seconds * 10)}",
            ],
            preexec_fn=pin(threads),
        ).split()
        return float(words[2])
    return json.loads(
        call(
            [
                args.ingot,
                "bench",
                row.converted,
                "--inputs",
                row.npz,
                "--threads",
                0,  # as many as pay, and no more than processors: pinned below
                "--seconds",
                args.seconds,
                "--json",
            ],
            preexec_fn=pin(threads),
        )
    )["median_ms"]


def compare(args, row, threads, notes, versions):
    """Times by engine, paired by round, and the error of each."""
    peers, errors = {}, {"ingot": row.error}
    for engine in args.engines:
        if engine in OWN:
            continue
        peer = Peer(args, row, engine, threads)
        if "absent" in peer.facts:
            notes.setdefault((engine, peer.facts["absent"]), set()).add(row.name)
            peer.end()
        else:
            versions[engine] = peer.facts["version"]
            errors[engine] = peer.facts["error"]
            peers[engine] = peer
    own = ["ingot"] + [e for e in args.engines if e in OWN]
    times = {e: [] for e in own + list(peers)}
    try:
        for _ in range(args.rounds):
            for engine in random.sample(list(times), len(times)):
                times[engine].append(
                    peers[engine].measure(args.seconds)
                    if engine in peers
                    else measure_own(args, row, engine, threads)
                )
    finally:
        for peer in peers.values():
            peer.end()
    return times, errors


def judge(row, threads, times, errors):
    """The figures of one line: Ingot over the best peer, by round."""
    medians = {e: statistics.median(t) for e, t in times.items()}
    result = {
        "model": row.name,
        "threads": threads,
        "limit": row.limit,
        "ms": medians,
        "times": times,
        "errors": errors,
    }
    peers = [e for e in times if e != "ingot" and e not in OWN]
    if peers:
        best = min(peers, key=lambda e: result["ms"][e])
        ratios = [own / peer for own, peer in zip(times["ingot"], times[best])]
        result.update(best=best, ratio=statistics.median(ratios), low=min(ratios), high=max(ratios))
    return result


def cells(result, engines):
    errors = result.get("errors", {})
    rounded = errors.get("ingot") is not None
    ms = lambda v: (
        "-" if v is None else f"{v:.4f}" if v < 0.1 else f"{v:.3f}" if v < 10 else f"{v:.2f}"
    )
    line = [result["model"], str(result["threads"]), ms(result["ms"]["ingot"])] + [
        ms(result["ms"].get(e)) for e in engines
    ]
    if "best" not in result:
        return line + ["-", "-", "-"]
    verdict = "yes" if result["ratio"] <= result["limit"] else f"no ({result['limit']})"
    return line + [
        result["best"],
        f"{result['ratio']:.2f} ({result['low']:.2f}..{result['high']:.2f})",
        verdict,
    ] + [f"{errors[e]:.1e}" for e in ("ingot", result["best"]) if rounded]


def report(measured):
    """The table of what was measured: cells between tabs, behind lines that begin with #."""
    results, engines, versions = measured["results"], measured["engines"], measured["versions"]
    head = (
        ["network", "thr", "ingot ms"]
        + [f"{e} ms" for e in engines]
        + ["best peer", "ingot / best (min..max)", "within"]
        + ["error", "its error"] * measured["arithmetic"].startswith("bf16")
    )
    judged = [r for r in results if "best" in r]
    lines = [
        f"Speed{' in integers' if measured['integers'] else ''} compared with other runtimes, "
        f"{datetime.date.today()}",
        f"{measured['processor']}. "
        + ", ".join(f"{e} {v}" for e, v in versions.items())
        + f". {measured['arithmetic']}, batch 1, static shapes.",
        f"`./dev bench`: separate processes, {measured['rounds']} rounds of {measured['seconds']} s in random order, waiting processes stopped,",
        "N threads on the first N processors (Ingot: as many of these as it finds worth waking),",
        "outputs compared first. Medians; the ratio is Ingot's time over the best peer's,",
        "paired by round. Within: 1.0"
        + ("." if measured["integers"] else " for networks of convolutions, 1.3 for the others."),
    ]
    judged = [r for r in judged if r["model"] not in CALLS]
    inside = sum(r["ratio"] <= r["limit"] for r in judged)
    lines.append(f"{inside} of {len(judged)} within.")
    if judged:
        mean = math.exp(statistics.fmean(math.log(1 / r["ratio"]) for r in judged))
        worst = max(judged, key=lambda r: r["ratio"])
        lines += [
            f"Geometric mean of best peer / ingot: {mean:.2f}; the least {1 / worst['ratio']:.2f} "
            f"({worst['model']}, {worst['threads']} threads).",
        ]
    lines += [f"- {engine}: {why}: {', '.join(names)}" for engine, why, names in measured["notes"]]
    rows = [head] + [cells(r, engines) for r in results]
    return "\n".join([f"# {line}" for line in lines] + ["\t".join(row) for row in rows]) + "\n"


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot")
    parser.add_argument("--work")
    parser.add_argument("--tables", nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines")
    parser.add_argument("--results")
    parser.add_argument("--json")
    parser.add_argument("--integers", action="store_true")
    parser.add_argument("--isa", choices=["avx2"])
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("models", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    if not args.tables and not (args.ingot and args.work):
        parser.error("--ingot and --work say what to measure and where its files go")
    rows = {**CALLS, **INTEGERS} if args.integers else ROWS
    args.models = [
        pathlib.Path(m) if m.endswith(".onnx") and not args.integers else m for m in args.models
    ]
    unknown = {m for m in args.models if isinstance(m, str)} - set(rows)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; rows: {', '.join(rows)}")
    if args.isa:
        os.environ.update(INGOT_CPU_ISA=args.isa, ONEDNN_MAX_CPU_ISA=args.isa.upper())
    held = args.isa or args.precision != "f32"
    peers = ["openvino"] if held else INTEGER_PEERS if args.integers else PEERS
    args.engines = [e for e in args.engines.split(",") if e != "ingot"] if args.engines else peers
    if args.quick:
        args.rounds, args.models = min(args.rounds, 2), args.models or QUICK
    if args.check:
        args.rounds, args.seconds, args.threads, args.models = 2, 0.2, "1", ["mobilenetv2_224"]
        args.engines = [e for e in args.engines if e in ("onnxruntime", "openvino")]
    args.partial = bool(args.models or held) and not args.quick
    args.models = args.models or (PROTOTYPED if "prototype" in args.engines else list(rows))
    return args


def arithmetic_of(args):
    kind = "int8" if args.integers else {"f32": "fp32"}.get(args.precision, args.precision)
    return kind + (f", both held to {args.isa}" if args.isa else "")


def together(files):
    """What several files of --json hold, as one."""
    parts = [json.loads(pathlib.Path(f).read_text()) for f in files]
    notes = {}
    for engine, why, names in (note for part in parts for note in part["notes"]):
        notes.setdefault((engine, why), []).extend(names)
    whole = {
        **parts[0],
        "results": [r for part in parts for r in part["results"]],
        "notes": [[engine, why, names] for (engine, why), names in sorted(notes.items())],
    }
    for part in parts[1:]:
        whole["versions"].update(part["versions"])
    return whole


def publish(args, measured):
    text = report(measured)
    print("\n" + text)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(measured, indent=1))
    if args.results and not args.partial:
        path = (
            pathlib.Path(args.results)
            / f"{datetime.date.today()}{'-integers' * args.integers}{'-quick' * args.quick}.tsv"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"written: {path}")


def main():
    args = arguments()
    if args.tables:
        return publish(args, together(args.tables))
    os.makedirs(args.work, exist_ok=True)
    if "prototype" in args.engines:
        if PROTOTYPE.exists():
            call(
                ["sh", PROTOTYPE / "build.sh"],
                env={**os.environ, "OUT": str(pathlib.Path(args.work).resolve())},
            )
        else:
            print("[skip] the prototype: there is no shared material")
            args.engines.remove("prototype")
    random.seed(1)
    results, notes, versions = [], {}, {}
    for name in args.models:
        try:
            row = Row(args, name)
        except (Unavailable, RuntimeError) as why:
            notes.setdefault(("not measured", str(why).strip().splitlines()[-1][:200]), set()).add(
                str(name)
            )
            print(f"{name}: not measured: {str(why).strip()[-300:]}", flush=True)
            continue
        for threads in (
            int(t) for t in args.threads.split(",") if int(t) <= len(os.sched_getaffinity(0))
        ):
            results.append(judge(row, threads, *compare(args, row, threads, notes, versions)))
            print("  ".join(cells(results[-1], args.engines)), flush=True)
    if args.check:
        print(f"bench: {len(results)} passed, {int(not results)} failed")
        sys.exit(0 if results else 1)
    versions = {"Ingot": call([args.ingot, "--version"]).split()[1], **versions}
    publish(
        args,
        {
            "processor": processor_name(),
            "versions": versions,
            "engines": args.engines,
            "integers": args.integers,
            "arithmetic": arithmetic_of(args),
            "rounds": args.rounds,
            "seconds": args.seconds,
            "results": results,
            "notes": [
                [engine, why, sorted(names)] for (engine, why), names in sorted(notes.items())
            ],
        },
    )


if __name__ == "__main__":
    main()
