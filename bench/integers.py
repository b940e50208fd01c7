#!/usr/bin/env python3
"""Quantized TFLite models: Ingot beside LiteRT (XNNPACK, its default), outputs compared first.

  integers.py [--ingot BIN] [--threads 1,2] [--rounds N] [--seconds S] [--memory] [MODEL.tflite ...]

Each engine in a process of its own, in turn, round after round; the ratio is the median of the
rounds' ratios with the smallest and the largest. The arena of one thread (activations, scratch,
the session's tables) is printed beside what TFLite Micro's interpreter needed for the networks of
MLPerf Tiny; --memory prints nothing else. LiteRT is called through Python: what such a call
costs (a model of three tiny layers, 1 us of work at most) is printed and not taken off. Without
models: those of MLPerf Tiny and a MobileNetV1 in ../shared. Needs ai-edge-litert.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHARED = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT.parent / "shared")) / "models"
TINY = "mlcommons__tiny"
MODELS = [
    f"{TINY}/kws_ref_model.tflite",
    f"{TINY}/pretrainedResnet_quant.tflite",
    f"{TINY}/vww_96_int8.tflite",
    f"{TINY}/ad01_int8.tflite",
    f"{TINY}/str_ww_ref_model.tflite",
    "google-coral__test_data/mobilenet_v1_0.25_128_quant.tflite",
    "google-coral__test_data/movenet_single_pose_lightning_ptq.tflite",
]
# arena_used_bytes() of tflite-micro on x86-64, tables included
MICRO_BYTES = {
    "ad01_int8": 4671,
    "str_ww_ref_model": 16702,
    "kws_ref_model": 24318,
    "pretrainedResnet_quant": 55996,
    "vww_96_int8": 103673,
}
SMALLEST = "tensorflow__tflite-micro/hello_world_int8.tflite"


def litert(model, threads):
    """A process of LiteRT: answers rounds, each a line of stdin."""
    from ai_edge_litert.interpreter import Interpreter
    from rounds import answer_rounds

    machine = Interpreter(model_path=model, num_threads=threads)
    machine.allocate_tensors()
    rng = np.random.default_rng(1)
    for port in machine.get_input_details():
        kind = np.dtype(port["dtype"])
        array = rng.uniform(-1, 1, port["shape"]).astype(kind)
        if kind.kind in "iu":
            array = rng.integers(0, 100, port["shape"]).astype(kind)
        machine.set_tensor(port["index"], array)
    answer_rounds(machine.invoke, lambda **said: print(json.dumps(said), flush=True))


class LiteRt:
    def __init__(self, model, threads):
        words = [sys.executable, __file__, "--litert", str(model), "--threads", str(threads)]
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def round(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["median_ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ingot_round(ingot, file, threads, seconds):
    words = [ingot, "bench", file, "--threads", threads, "--seconds", seconds, "--json"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["median_ms"]


def print_memory(ingot, file, name):
    """False where the arena is larger than TFLite Micro's."""
    words = [ingot, "bench", file, "--threads", "1", "--seconds", "0.01", "--json"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    parts = [report[f"{part}_bytes"] for part in ("activation", "scratch", "tables")]
    micro = MICRO_BYTES.get(name)
    print(
        f"{name}: arena {sum(parts):,} bytes: activations {parts[0]:,}, scratch {parts[1]:,}, "
        f"tables {parts[2]:,}" + (f"; TFLite Micro {micro:,}" if micro else "")
    )
    return not micro or sum(parts) <= micro


def compare(args, model, folder):
    """Empty, or why the outputs differ."""
    script = ROOT / "tests/tflite/integer_models.py"
    words = [sys.executable, script, "--ingot", args.ingot, "--runs", "2", model]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()[-200:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=str(ROOT / "build/gcc/bin/ingot"))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--litert", metavar="MODEL", help=argparse.SUPPRESS)
    parser.add_argument("models", nargs="*")
    args = parser.parse_args()
    if args.litert:
        return litert(args.litert, int(args.threads))
    models = args.models or [SHARED / m for m in MODELS if (SHARED / m).exists()]
    if not models:
        sys.exit("integers.py: no models: name some, or lay ../shared beside the repository")
    if not args.memory and (SHARED / SMALLEST).exists():
        call = LiteRt(SHARED / SMALLEST, 1)
        print(f"a call of LiteRT through Python: {call.round(0.3) * 1e3:.1f} us")
        call.close()
    ratios, larger = [], []
    for model in models:
        name = pathlib.Path(model).stem
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "model.ingot"
            subprocess.run([args.ingot, "convert", model, "-o", file, "-q"], check=True)
            if not print_memory(args.ingot, file, name):
                larger.append(name)
            if args.memory:
                continue
            if why := compare(args, model, folder):
                print(f"{name}: not timed, outputs differ: {why}")
                continue
            for threads in args.threads.split(","):
                peer, pairs = LiteRt(model, threads), []
                for _ in range(args.rounds):
                    turns = {
                        "ours": lambda: ingot_round(args.ingot, file, threads, args.seconds),
                        "theirs": lambda: peer.round(args.seconds),
                    }
                    times = {k: turns[k]() for k in random.sample(list(turns), 2)}
                    pairs.append((times["ours"], times["theirs"]))
                peer.close()
                ours, theirs = (float(np.median(column)) * 1e3 for column in zip(*pairs))
                each = sorted(b / a for a, b in pairs)
                ratios.append(float(np.median(each)))
                print(
                    f"{name}, {threads} threads: ingot {ours:.1f} us, LiteRT {theirs:.1f} us, "
                    f"{ratios[-1]:.2f} times as fast ({each[0]:.2f} to {each[-1]:.2f})",
                    flush=True,
                )
    if ratios:
        print(
            f"{len(ratios)} rows: geometric mean {float(np.exp(np.mean(np.log(ratios)))):.2f}, "
            f"least {min(ratios):.2f}"
        )
    if larger:
        print(f"more memory than TFLite Micro: {', '.join(larger)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
