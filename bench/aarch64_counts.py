#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of an inference on 64-bit Arm and of the peers' wheels, all emulated by qemu-user as
a Cortex-A76 with one thread.

aarch64_counts.py --ingot build/gcc/bin/ingot --runner build/aarch64/tests/support/raw_runner
  --work build/arm64 [--networks NAME ..] [--peers NAME ..] [--processor cortex-a76] [--json FILE]
  [--precision exact|fp16|bf16]

Each program runs a network once and three times; half of the difference is an inference. Peers are
called through Python as bench/peer.py calls them, whose own instructions (some 10,000 a call) are
in their figures, as writing its inputs is in ours. An emulated count is no time: it knows no cache,
no latency and no width of a processor. Outputs are compared with the golden first.

Needs root/ in the work folder (debootstrap --foreign for arm64, with python3), site/ (the wheels),
and what peers convert networks to: ./dev show aarch64-counts makes all of it."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from emulator import LIBRARIES, Emulator  # noqa: E402
from integer_rows import prepare_integers  # noqa: E402
from rows import SHARED, TFLITE, Unavailable, call, prepare  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NETWORKS = {  # name: whether its integers are compared
    "mobilenetv2_224": False,
    "mobilenetv2_s8s8": True,
    "mobilenetv1_025_128": True,
    "resnet50_224": False,
    "yolov8n_320": False,
    "minilm_l6_128": False,
}
PEERS = ["onnxruntime", "ncnn", "MNN", "litert"]
# What QEMU shows as /proc/cpuinfo is the host's; onnxruntime ends where that is no Arm's.
CPUINFO = """processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp asimdrdm lrcpc dcpop asimddp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x4
CPU part\t: 0xd0b
CPU revision\t: 1

"""


def emulator_of(args):
    proc = args.work / "root/proc"
    if proc.is_symlink():
        proc.unlink()
    proc.mkdir(exist_ok=True)
    (proc / "cpuinfo").write_text(CPUINFO)
    environment = {
        "PYTHONPATH": str(args.work / "site"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    return Emulator(args.work, args.processor, environment)


def per_run(count_of):
    """count_of(runs) -> (instructions, text). Half the difference of three runs and one."""
    once, said = count_of(1)
    thrice, _ = count_of(3)
    return (thrice - once) / 2, said


def peer_count(emulator, peer, row, bench):
    python = emulator.work / "root/usr/bin/python3.11"
    script = HERE / "emulated/peer_runs.py"
    options = ["--work", bench] + (["--tflite", row["tflite"]] if row["tflite"] else [])
    command = [python, script, peer, row["model"], row["npz"]]
    count, said = per_run(
        lambda runs: emulator.run(emulator.work / "root", [*command, runs, *options])
    )
    if absent := re.search(r"^absent (.*)$", said, re.M):
        raise Unavailable(absent[1])
    error = float(re.search(r"^error (\S+)$", said, re.M)[1])
    if error > row["wrong"]:
        raise Unavailable(f"its outputs differ from the golden by {error:.2g}")
    return count


def own_count(emulator, runner, row):
    folder = emulator.work / "inputs" / row["name"]
    folder.mkdir(parents=True, exist_ok=True)
    golden, words = np.load(row["npz"]), []
    for key in golden.files:
        if key.startswith("in:"):
            name, array = key[3:], np.ascontiguousarray(golden[key])
            (folder / (re.sub("[/:]", "_", name) + ".bin")).write_bytes(array.tobytes())
            words.append(f"{name}={'x'.join(map(str, array.shape))}")
    count, _ = per_run(
        lambda runs: emulator.run(
            LIBRARIES,
            [runner, "--runs", runs, row["file"], "best", 1, folder, *words],
        )
    )
    return count


def ports_of(ingot, bench, name):
    def inspect(model):
        file = bench / f"{name}.ingot"
        call([ingot, "convert", model, "-o", file])
        return json.loads(call([ingot, "inspect", file, "--json"]))

    return inspect


def prepare_row(args, name, bench):
    if NETWORKS[name]:
        model, npz, tflite = prepare_integers(name, bench, ports_of(args.ingot, bench, name))
    else:
        model, npz = prepare(name, bench)
        tflite = SHARED / TFLITE[name] if name in TFLITE else None
    file = bench / f"{name}.{args.precision}.ingot"
    call([args.ingot, "convert", model, "-o", file, "--precision", args.precision])
    for peer in ("ncnn", "MNN"):  # their converters run on the host
        if peer in args.peers and not NETWORKS[name]:
            command = [sys.executable, HERE / "peer.py", peer, model, npz, 1, "--work", bench]
            subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True)
    wrong = 0.2 if NETWORKS[name] else 1e-2
    return dict(name=name, model=model, npz=npz, tflite=tflite, file=file, wrong=wrong)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--runner", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--processor", default="cortex-a76")
    parser.add_argument("--precision", default="exact", choices=["exact", "fp16", "bf16"])
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    args.work = args.work.resolve()
    emulator = emulator_of(args)
    bench = args.work / "bench"
    bench.mkdir(exist_ok=True)
    print("million instructions of an inference; `over best`: ours over the best peer's")
    peers = " ".join(f"{p:>12}" for p in args.peers)
    print(f"{'network':20} {'ingot':>9} {peers}  over best")
    rows, missed = [], 0
    for name in args.networks:
        row = prepare_row(args, name, bench)
        counts, reasons = {"ingot": own_count(emulator, args.runner, row)}, []
        for peer in args.peers:
            try:
                if NETWORKS[name] and peer in ("ncnn", "MNN"):
                    raise Unavailable("takes no quantized ONNX or TFLite file as it is")
                counts[peer] = peer_count(emulator, peer, row, bench)
            except Unavailable as why:
                reasons.append(f"{peer}: {why}")
        best = min((v for k, v in counts.items() if k != "ingot"), default=None)
        ratio = counts["ingot"] / best if best else None
        missed += ratio is not None and ratio > 1
        said = [f"{counts[p] / 1e6:12.1f}" if p in counts else f"{'-':>12}" for p in args.peers]
        print(
            f"{name:20} {counts['ingot'] / 1e6:9.1f} {' '.join(said)}  "
            + (f"{ratio:.2f}" if ratio else "no peer"),
            flush=True,
        )
        for reason in reasons:
            print(f"  {reason}", flush=True)
        rows.append({"network": name, "counts": counts, "absent": reasons})
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1))
    print(f"aarch64-counts: {len(rows) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
