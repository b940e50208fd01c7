#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of tests/models/models.tsv on a GPU compared with torch: eager, eager in a CUDA graph,
torch.compile(mode="max-autotune").

  cuda_torch.py --ingot build/gcc/bin/ingot --work DIR [--device cuda|cpu] [--batches 1,8,32]
  [--ways eager,graph,compile] [--rounds 5] [--seconds 0.5] [--budget SECONDS]
                [--report FILE.json] [--prepare] [model ...]

Torch runs each network as bench/onnx_as_torch.py writes it, in f16 on a GPU (f32 on a CPU); Ingot
its file with --precision fp16, fast and exact. Every way is a process of its own and computes
from memory of the host to memory of the host, inputs and outputs copied. Outputs are compared with
Ingot's exact ones on the CPU first, and items of a batch with the same item alone; who is wrong is
named and not timed. Then rounds of all ways in random order: medians of each round, the ratio
paired by round, p50 and p99 of all runs, load to first result. A batch is made of a file with room
for one item by other first dimensions (bench/batched.py); what does not batch so, or torch cannot
run, is named with the reason. --budget: begins no network that would end later than so many seconds
from now; --report keeps what was measured, and a later call of the same version goes on where this
one stopped. --prepare: makes the files and measures nothing (a machine without packages then finds
them). --device cpu tries the script itself; its times compare CPUs.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import random
import select
import shlex
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/models")]
from rounds import answer_rounds  # noqa: E402
from sources import input_arrays, locate, read_rows  # noqa: E402
from testing import Checks, run, text_parser  # noqa: E402

WAYS = ("eager", "graph", "compile")
PRECISIONS = ("fp16", "fast", "exact")
WRONG = {"fp16": 2e-2, "fast": 2e-2, "exact": 1e-4, "f32": 1e-3}  # of the largest output
LONGEST = 420  # seconds that a network may take to compile


class Left(Exception):
    """Why a network, or one way of running it, is not in the table."""


def worst(got, want):
    """Largest difference relative to the largest value, over all outputs; inf where shapes or what
    is finite differ."""
    error = 0.0
    for g, w in zip(got, want):
        g, w = np.asarray(g, np.float64), np.asarray(w, np.float64)
        if g.shape != w.shape or not np.isfinite(g).all():
            return float("inf")
        if w.size:
            error = max(error, float(np.abs(g - w).max() / max(np.abs(w).max(), 1e-30)))
    return error


# ---- torch's side, in a process of its own


def runner(torch, way, network, inputs, device, kind):
    """run() from host to host; its outputs are in the list it returns."""
    as_kind = lambda t: t.to(kind) if t.is_floating_point() else t
    hosts = [as_kind(torch.from_numpy(np.array(x, order="C"))) for x in inputs]
    if device == "cpu":
        if way == "compile":
            network = torch.compile(network, mode="max-autotune", dynamic=False)
        return lambda: list(network(*hosts))
    hosts = [x.pin_memory() for x in hosts]
    there = [x.to(device) for x in hosts]
    back = []

    def send():
        for to, host in zip(there, hosts):
            to.copy_(host, non_blocking=True)

    def fetch(results):
        if not back:
            back.extend(torch.empty(r.shape, dtype=r.dtype, pin_memory=True) for r in results)
        for to, result in zip(back, results):
            to.copy_(result, non_blocking=True)
        torch.cuda.synchronize()
        return back

    if way == "graph":
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                network(*there)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            static = network(*there)

        def run():
            send()
            graph.replay()
            return fetch(static)

        return run
    forward = (
        torch.compile(network, mode="max-autotune", dynamic=False) if way == "compile" else network
    )

    def run():
        send()
        return fetch(forward(*there))

    return run


def serve(a, say):
    import torch
    from onnx_as_torch import Unsupported, build
    import onnx

    torch.manual_seed(1)
    if a.device == "cpu":
        torch.set_num_threads(1)
    else:
        torch.zeros(1, device="cuda").item()  # the context
    began = time.perf_counter()
    stored = np.load(a.npz)
    inputs = {k[3:]: stored[k] for k in stored.files if k.startswith("in:")}
    try:
        network, _ = build(onnx.load(a.onnx), inputs)
    except Unsupported as why:
        raise Left(str(why)) from None
    kind = torch.float32 if a.device == "cpu" else torch.float16
    network.kind = kind
    network = network.to(a.device, kind)
    with torch.inference_mode():
        run = runner(torch, a.way, network, list(inputs.values()), a.device, kind)
        first = run()
        load_ms = (time.perf_counter() - began) * 1e3
        for _ in range(3):  # a compiled one records its graph in the second
            first = run()
        want = [stored[k] for k in stored.files if k.startswith("out:")]
        say(
            load_ms=load_ms,
            error=worst(
                [
                    o.float().cpu().numpy() if o.is_floating_point() else o.cpu().numpy()
                    for o in first
                ],
                want,
            ),
            version=torch.__version__,
        )
        answer_rounds(run, say)


def worker(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("onnx")
    parser.add_argument("npz")
    parser.add_argument("--device", default="cuda")
    a = parser.parse_args(argv)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what torch prints is no answer
    say = lambda **fields: answers.write(json.dumps(fields) + "\n")
    try:
        serve(a, say)
    except Left as why:
        say(left=str(why))
    except Exception as fault:  # one way that fails is named, it does not end the comparison
        say(left=f"{type(fault).__name__}: {' '.join(str(fault).split())[:160]}")


class Torch:
    """A process that waits for its turn."""

    def __init__(self, args, way, files):
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": str(pathlib.Path(args.work).resolve() / "inductor"),
        }
        self.process = subprocess.Popen(
            [
                sys.executable,
                __file__,
                "--worker",
                way,
                str(files["onnx"]),
                str(files["npz"]),
                "--device",
                args.device,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.facts = self.answer(LONGEST)
        kind = "f32" if args.device == "cpu" else "fp16"
        if "left" not in self.facts and not self.facts["error"] <= WRONG[kind]:
            self.facts = {"left": f"wrong by {self.facts['error']:.1e}"}

    def answer(self, seconds):
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        if not ready:
            return {"left": f"no result within {seconds} s"}
        line = self.process.stdout.readline()
        return (
            json.loads(line) if line else {"left": f"its process ended with {self.process.wait()}"}
        )

    def measure(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        answer = self.answer(60 + 2 * seconds)
        if "left" in answer:
            raise Left(answer["left"])
        return answer

    def end(self):
        self.process.kill()
        self.process.wait()


# ---- our side


def ingot(args, *words):
    done = run(args.ingot, words)
    if done.returncode:
        raise Left(f"ingot {done.error[:200]}")
    return done.stdout


def compute(args, converted, arrays, device, scratch):
    """Outputs by name."""
    np.savez(scratch / "in.npz", **arrays)
    ingot(
        args,
        "run",
        converted,
        "--inputs",
        scratch / "in.npz",
        "--outputs",
        scratch / "out.npz",
        "--device",
        device,
    )
    with np.load(scratch / "out.npz") as out:
        return {k: out[k] for k in out.files}


def open_network(args, row):
    """(model, inputs of one item, {input: which of its dimensions counts items}, whether the file
    leaves their number open); dynamic dimensions as in the golden, or 1."""
    import onnx

    found = locate(row, pathlib.Path(args.models), Checks(verbose=True))
    if not found:
        raise Left("its source is not to be had")
    model = onnx.load(found[0])
    constants = {i.name for i in model.graph.initializer}
    ports = [p for p in model.graph.input if p.name not in constants]
    kinds = {1: "f32", 6: "i32", 7: "i64"}
    described = [
        {
            "name": p.name,
            "dims": [
                d.dim_param or (d.dim_value if d.dim_value > 0 else "?")
                for d in p.type.tensor_type.shape.dim
            ],
            "dtype": kinds.get(p.type.tensor_type.elem_type),
        }
        for p in ports
    ]
    if not found[1] and any(
        p["dtype"] is None or any(isinstance(d, str) for d in p["dims"][1:]) for p in described
    ):
        raise Left("no golden says what to feed it")
    one = {d: 1 for p in described for d in p["dims"] if isinstance(d, str)}
    arrays = input_arrays(found[1], described, one, np.random.default_rng(3))
    first = next((p["dims"][0] for p in described if p["dims"]), 1)
    is_open = isinstance(first, str)
    counted = lambda dim: dim == first if is_open else dim == 1
    axes = {
        p["name"]: next(
            (i for i, d in enumerate(p["dims"]) if counted(d) and (is_open or i == 0)), None
        )
        for p in described
    }
    for name, axis in axes.items():
        if axis is not None:
            arrays[name] = np.take(arrays[name], [0], axis)
    return model, arrays, axes, is_open


def with_shapes(model, arrays):
    """The file with numbers for all dimensions of inputs."""
    import onnx

    model = onnx.ModelProto.FromString(model.SerializeToString())
    for port in model.graph.input:
        if port.name in arrays:
            for dim, extent in zip(port.type.tensor_type.shape.dim, arrays[port.name].shape):
                dim.Clear()
                dim.dim_value = extent
    del model.graph.value_info[:]
    return model


def make_batch(arrays, axes, batch):
    """Items that differ where they are real numbers."""
    if batch > 1 and all(axis is None for axis in axes.values()):
        raise Left("its inputs have no dimension of items")
    scale = 1 + 0.01 * np.arange(batch)
    return {
        k: a
        if axes[k] is None
        else np.concatenate(
            [(a * s).astype(a.dtype) if a.dtype.kind == "f" else a for s in scale], axes[k]
        )
        for k, a in arrays.items()
    }


def is_item(whole, alone, i):
    """Whether `alone` is part i of `whole`, along the one dimension in which they differ."""
    axes = [
        d
        for d in range(whole.ndim)
        if whole.ndim == alone.ndim and whole.shape[d] != alone.shape[d]
    ]
    return (
        len(axes) == 1
        and alone.shape[axes[0]] == 1
        and worst([np.take(whole, [i], axes[0])], [alone]) <= WRONG["exact"]
    )


def prepare(args, row, batch):
    """Files of a network for a batch: ONNX, inputs with exact outputs, a converted file for each
    precision."""
    import onnx
    from batched import batched
    work = pathlib.Path(args.work)
    stem = work / f"{row['name']}.b{batch}"
    files = {
        "onnx": stem.with_suffix(f".b{batch}.onnx"),
        "npz": stem.with_suffix(f".b{batch}.npz"),
        "converted": {},
    }
    precisions = PRECISIONS if args.device == "cuda" else ("exact",)
    files["converted"] = {p: work / f"{row['name']}.b{batch}.{p}.ingot" for p in precisions}
    if all(f.exists() for f in (files["onnx"], files["npz"], *files["converted"].values())):
        return files
    work.mkdir(parents=True, exist_ok=True)
    model, single, axes, is_open = open_network(args, row)
    arrays = make_batch(single, axes, batch)
    made = with_shapes(model, arrays if is_open else single)
    if batch > 1 and not is_open:
        made = batched(made, batch)
    onnx.save(made, files["onnx"])
    for precision, converted in files["converted"].items():
        ingot(
            args,
            "convert",
            files["onnx"],
            "-o",
            converted,
            *(("--precision", precision, "--no-check") if precision != "exact" else ()),
        )
    exact = files["converted"]["exact"]
    outputs = compute(args, exact, arrays, "cpu", work)
    if batch > 1:  # items do not mix, and none is another's
        alone = work / f"{row['name']}.alone.ingot"
        onnx.save(with_shapes(model, single), work / "alone.onnx")
        ingot(args, "convert", work / "alone.onnx", "-o", alone)
        for i in (0, batch - 1):
            want = compute(
                args,
                alone,
                {k: v if axes[k] is None else np.take(v, [i], axes[k]) for k, v in arrays.items()},
                "cpu",
                work,
            )
            for name, whole in outputs.items():
                if not is_item(whole, want[name], i):
                    raise Left(f"does not batch: output {name} of item {i} is another than alone")
    ordered = [o.name for o in model.graph.output]
    np.savez(
        files["npz"],
        **{f"in:{k}": v for k, v in arrays.items()},
        **{f"out:{k}": outputs[k] for k in ordered},
    )
    np.savez(files["npz"].with_suffix(".in.npz"), **arrays)
    return files


def own(args, files, precision):
    """What `ingot bench` measures, in a process of its own."""
    return json.loads(
        ingot(
            args,
            "bench",
            files["converted"][precision],
            "--device",
            args.device,
            "--threads",
            1,
            "--inputs",
            files["npz"].with_suffix(".in.npz"),
            "--seconds",
            args.seconds,
            "--json",
        )
    )


def check_own(args, files, precision):
    stored = np.load(files["npz"])
    arrays = {k[3:]: stored[k] for k in stored.files if k.startswith("in:")}
    got = compute(args, files["converted"][precision], arrays, args.device, pathlib.Path(args.work))
    error = worst(
        [got[k[4:]] for k in stored.files if k.startswith("out:")],
        [stored[k] for k in stored.files if k.startswith("out:")],
    )
    if not error <= WRONG[precision]:
        raise Left(f"wrong by {error:.1e}")
    return error


def compare(args, row, batch):
    """The figures of one line."""
    files = prepare(args, row, batch)
    if args.prepare:
        return None
    result = {
        "model": row["name"],
        "batch": batch,
        "left": {},
        "ms": {},
        "p99": {},
        "load_ms": {},
        "errors": {},
    }
    precisions, failed = [], False
    for precision in files["converted"]:
        try:
            result["errors"][precision] = check_own(args, files, precision)
            precisions.append(precision)
        except Left as why:
            result["left"][f"ingot {precision}"] = str(why)
            failed |= "wrong by" in str(why)
    peers = {}
    try:
        for way in args.ways if args.device == "cuda" else ("eager", "compile"):
            peer = Torch(args, way, files)
            if "left" in peer.facts:
                result["left"][way] = peer.facts["left"]
                peer.end()
                continue
            peers[way] = peer
            result["load_ms"][way], result["errors"][way], result["torch"] = (
                peer.facts["load_ms"],
                peer.facts["error"],
                peer.facts["version"],
            )
        names = list(peers) + precisions
        for _ in range(args.rounds):
            for name in random.sample(names, len(names)):
                said = (
                    peers[name].measure(args.seconds) if name in peers else own(args, files, name)
                )
                result["ms"].setdefault(name, []).append(said["median_ms"])
                result["p99"].setdefault(name, []).append(said["p99_ms"])
                if name not in peers:
                    result["load_ms"].setdefault(name, said["load_ms"] + said["first_ms"])
    finally:
        for peer in peers.values():
            peer.end()
    result["failed"] = failed
    return result


# ---- the table


def ratio(result, ours, theirs):
    if ours not in result["ms"] or theirs not in result["ms"]:
        return None
    pairs = [a / b for a, b in zip(result["ms"][ours], result["ms"][theirs])]
    return statistics.median(pairs), min(pairs), max(pairs)


def line_of(result, columns, ours):
    ms = lambda v: (
        "-" if v is None else f"{v:.4f}" if v < 0.1 else f"{v:.3f}" if v < 10 else f"{v:.2f}"
    )
    middle = {k: statistics.median(v) for k, v in result["ms"].items()}
    against = ratio(result, ours, "compile")
    tail = max(result["p99"].get(ours, [0])) / middle[ours] if ours in middle else None
    return (
        [result["model"], str(result["batch"])]
        + [ms(middle.get(c)) for c in columns]
        + [
            "-" if against is None else f"{against[0]:.2f} ({against[1]:.2f}..{against[2]:.2f})",
            "-" if tail is None else f"{tail:.2f}",
            ms(result["load_ms"].get(ours)),
            ms(result["load_ms"].get("compile")),
        ]
    )


def report(args, results, left):
    columns = (
        args.ways + list(PRECISIONS) if args.device == "cuda" else ["eager", "compile", "exact"]
    )
    ours = "fp16" if args.device == "cuda" else "exact"
    head = [
        "network",
        "batch",
        *[f"torch {c}" if c in WAYS else f"ingot {c}" for c in columns],
        f"{ours} / compile (min..max)",
        "p99/p50",
        f"{ours}: load to first",
        "compile: load to first",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(line_of(r, columns, ours)) + " |" for r in results]
    lines.append(
        f"\nms, host to host; medians of {args.rounds} rounds of {args.seconds} s; p99/p50: the worst round's; load to first result in ms, ours with the "
        "context of a new process, torch's without.\n"
    )
    for batch in sorted({r["batch"] for r in results}):
        pairs = [ratio(r, ours, "compile") for r in results if r["batch"] == batch]
        pairs = [p[0] for p in pairs if p]
        if pairs:
            lines.append(
                f"- batch {batch}: at most torch.compile's time on {sum(p <= 1 for p in pairs)} of {len(pairs)} networks ({100 * sum(p <= 1 for p in pairs) / len(pairs):.0f} %)"
            )
    reasons = {}
    for name, batch, way, why in [
        (r["model"], r["batch"], way, why) for r in results for way, why in r["left"].items()
    ] + left:
        reasons.setdefault((way, why), []).append(
            f"{name}" + (f" (batch {batch})" if batch != 1 else "")
        )
    lines += [
        f"- {way}: {why}: {', '.join(names)}" for (way, why), names in sorted(reasons.items())
    ]
    return "\n".join(lines)


def known(args):
    """What an earlier call measured with the same version, device and settings."""
    path = pathlib.Path(args.report) if args.report else None
    version = run(args.ingot, "--version").stdout.strip()
    key = {
        "version": version,
        "device": args.device,
        "seconds": args.seconds,
        "rounds": args.rounds,
        "commit": args.commit,
    }
    stored = json.loads(path.read_text()) if path and path.exists() else {}
    return stored if stored.get("key") == key else {"key": key, "results": [], "left": []}


def keep(args, stored):
    if args.report:
        path = pathlib.Path(args.report)
        half = path.with_suffix(".tmp")
        half.write_text(json.dumps(stored, indent=1))
        os.replace(half, path)


def main():
    parser = text_parser(__doc__)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--models", default="build/models")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--batches", default="1,8,32")
    parser.add_argument("--ways", type=lambda text: text.split(","), default=list(WAYS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--budget", type=float, default=float("inf"))
    parser.add_argument("--commit", default="")
    parser.add_argument("--report")
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("onnx") is None:
        print("[skip] comparison with torch: torch or onnx is not to be had")
        sys.exit(0)
    random.seed(1)
    began, longest, rest = time.monotonic(), 0.0, 0
    stored, sources = known(args), set()
    done = {(r["model"], r["batch"]) for r in stored["results"]} | {
        (n, b) for n, b, _, _ in stored["left"]
    }
    for row in read_rows(args.names):
        source = row["name"] if row["source"].startswith(("zoo", "made")) else row["source"]
        if source in sources or "--state" in shlex.split(row["options"] or ""):
            continue  # the same network again; a state would make runs differ
        sources.add(source)
        for batch in map(int, args.batches.split(",")):
            if (row["name"], batch) in done:
                continue
            if time.monotonic() - began + longest > args.budget:
                rest += 1
                continue
            start = time.monotonic()
            try:
                result = compare(args, row, batch)
                if result:
                    stored["results"].append(result)
                print(
                    f"{row['name']}, batch {batch}: "
                    + (
                        "made"
                        if not result
                        else ", ".join(
                            f"{k} {statistics.median(v):.3f}" for k, v in result["ms"].items()
                        )
                        + "".join(f"; {k}: {v}" for k, v in result["left"].items())
                    ),
                    flush=True,
                )
            except Left as why:
                stored["left"].append((row["name"], batch, "not measured", str(why)))
                print(f"{row['name']}, batch {batch}: not measured: {why}", flush=True)
            longest = max(longest, time.monotonic() - start)
            if not args.prepare:
                keep(args, stored)
    if args.prepare:
        return
    print(
        "\n<!-- markdown -->\n"
        + report(args, stored["results"], [tuple(entry) for entry in stored["left"]])
    )
    if rest:
        print(
            f"[skip] {rest} networks and batches: no time was left; the next call goes on with them"
        )
    failed = sum(r["failed"] for r in stored["results"])
    print(
        f"cuda_torch: {len(stored['results']) - failed} passed, {failed} failed, {len(stored['left'])} skipped"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    worker(sys.argv[2:]) if sys.argv[1:2] == ["--worker"] else main()
