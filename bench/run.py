#!/usr/bin/env python3
"""Speed beside the peers: every engine in its own process, in random order within a round, outputs compared first.

  run.py --ingot build/gcc/bin/ingot --work build/bench [--rounds 6] [--seconds 1.5] [--threads 1,2]
         [--engines ingot,again,prototype,onnxruntime,openvino] [--check] [--json FILE] [model ...]

Prints for each model and thread count the medians and the paired ratio peer / ingot with its 95 % bootstrap interval ("again" is a
second run of ourselves: the noise). The prototype is the measured design study in ../shared, where that is present.
--check: two short rounds of one model, only to see that the harness works.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROTOTYPE = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT.parent / "shared")) / "prototypes" / "whole_model"
MODELS = ["resnet50_224", "mobilenetv2_224", "mobilenetv3l_224", "yolov8n_320", "yolov8n_640", "resnet18_224"]


def call(command, **extra):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **extra)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr[-2000:]}{done.stdout[-500:]}")
    return done.stdout


class Prepared:
    """Files of one model for every engine."""

    def __init__(self, args, name):
        work = pathlib.Path(args.work)
        self.name, self.onnx, self.npz, self.cast = name, work / f"{name}.onnx", work / f"{name}.npz", work / f"{name}.ingot"
        call([sys.executable, ROOT / "tests/models/make_zoo.py", work, name, "--golden", "--folded"])
        call([args.ingot, "convert", self.onnx, "-o", self.cast])
        call([args.ingot, "check", self.cast, "--golden", self.npz])  # the outputs first, then the time
        if "prototype" in args.engines:
            import numpy as np
            prefix = work / f"proto_{name}"
            self.prefix = prefix
            if not prefix.with_suffix(".out").exists():
                golden = np.load(self.npz)
                np.savez(work / f"plain_{name}.npz", in0=golden["in:input"], out0=golden["out:output"])
                link = work / f"plain_{name}.onnx"
                if not link.exists():
                    link.symlink_to(self.onnx.name)
                call([sys.executable, PROTOTYPE / "cast.py", link, prefix])


def measure(args, model, engine, threads):
    if engine in ("ingot", "again"):
        return json.loads(call([args.ingot, "bench", model.cast, "--threads", threads, "--seconds", args.seconds, "--json"]))["median_ms"]
    if engine == "prototype":
        words = call([pathlib.Path(args.work) / "run-avx512", model.prefix, f"{model.prefix}.in", f"{model.prefix}.out",
                      f"threads={threads}", f"seconds_x10={int(args.seconds * 10)}"]).split()
        return float(words[2])
    row = json.loads(call([sys.executable, ROOT / "bench/peer.py", engine, model.onnx, model.npz, threads, args.seconds]))
    if row["error"] > 1e-2:
        raise RuntimeError(f"{engine} on {model.name}: wrong by {row['error']:.1e}")
    return row["median_ms"]


def interval(ratios):
    draws = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), draws[25], draws[974]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default="ingot,again,prototype,onnxruntime,openvino")
    parser.add_argument("--json")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("models", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    args.engines = args.engines.split(",")
    os.makedirs(args.work, exist_ok=True)
    if args.check:
        args.rounds, args.seconds, args.threads, args.models = 2, 0.2, "1", ["mobilenetv2_224"]
    if "prototype" in args.engines:
        if PROTOTYPE.exists():
            call(["sh", PROTOTYPE / "build.sh"], env={**os.environ, "OUT": str(pathlib.Path(args.work).resolve())})
        else:
            print("[skip] the prototype: ../shared is absent")
            args.engines.remove("prototype")
    random.seed(1)
    rows = []
    print(f"{'model':18} {'thr':>3} {'ingot ms':>9}" + "".join(f" {e:>12} {'x (95 %)':>18}" for e in args.engines if e != "ingot"))
    for name in args.models or MODELS:
        model = Prepared(args, name)
        for threads in (int(t) for t in args.threads.split(",")):
            times = {e: [] for e in args.engines}
            for _ in range(args.rounds):
                for engine in random.sample(args.engines, len(args.engines)):
                    times[engine].append(measure(args, model, engine, threads))
            row = {"model": name, "threads": threads, "ms": {e: statistics.median(t) for e, t in times.items()}, "ratio": {}}
            line = f"{name:18} {threads:3} {row['ms']['ingot']:9.3f}"
            for engine in args.engines:
                if engine != "ingot":
                    ratio = interval([p / o for p, o in zip(times[engine], times["ingot"])])
                    row["ratio"][engine] = ratio
                    line += f" {row['ms'][engine]:12.3f} {ratio[0]:6.3f} ({ratio[1]:.3f}-{ratio[2]:.3f})"
            print(line, flush=True)
            rows.append(row)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    if args.check:
        print(f"bench: {len(rows)} passed, 0 failed")


main()
