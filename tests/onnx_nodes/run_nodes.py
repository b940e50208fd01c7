#!/usr/bin/env python3
"""ONNX's published node tests (they come inside the `onnx` package): convert each, run it on the oracle kernels and on the best
instruction set, compare with the published outputs.

  run_nodes.py --ingot BIN [--isa oracle,best] [--list] [--update] [name-part ...]

A test whose model is refused with exit code 4 is counted as unsupported when unsupported.tsv (beside this file) says so, with the
reason; a refusal that is not listed fails, and so does a listed one that passes: the list must shrink. --update rewrites the list.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "unsupported.tsv"


def arrays_of(directory, prefix, names):
    out = {}
    for i, name in enumerate(names):
        path = directory / f"{prefix}_{i}.pb"
        if not path.exists():
            continue
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        out[name] = numpy_helper.to_array(tensor)
    return out


def call(command, isa=None):
    env = None
    if isa and isa != "best":
        import os
        env = {**os.environ, "INGOT_CPU_ISA": isa}
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, env=env)


def run_one(args, test, work):
    """('ok' | 'unsupported' | 'fail' | 'skip', why)"""
    model = onnx.load(test / "model.onnx")
    initialisers = {i.name for i in model.graph.initializer}
    inputs = [i for i in model.graph.input if i.name not in initialisers]
    if any(not p.type.HasField("tensor_type") for p in [*inputs, *model.graph.output]):
        return "unsupported", "sequence, optional or map types"
    data = test / "test_data_set_0"
    try:
        golden = {f"in:{k}": v for k, v in arrays_of(data, "input", [i.name for i in inputs]).items()}
        golden |= {f"out:{k}": v for k, v in arrays_of(data, "output", [o.name for o in model.graph.output]).items()}
    except (TypeError, ValueError) as error:
        return "unsupported", f"element type: {error}"
    if any(v.dtype.kind in "OUSV" or v.dtype.name not in ARRAY_TYPES for v in golden.values()):
        return "unsupported", "element type " + ", ".join(sorted({v.dtype.name for v in golden.values()} - ARRAY_TYPES) or ["string"])
    cast, npz = work / "node.ingot", work / "node.npz"
    cast.unlink(missing_ok=True)
    done = call([args.ingot, "convert", test / "model.onnx", "-o", cast])
    if done.returncode == 4:
        lines = [l for l in done.stderr.splitlines() if l.strip()]
        return "unsupported", re.sub(r"\s+", " ", lines[-1] if lines else "")[:160]
    if done.returncode != 0:
        return "fail", f"convert: exit {done.returncode}: {done.stderr.strip()[-300:]}"
    np.savez(npz, **golden)
    for isa in args.isa.split(","):
        done = call([args.ingot, "check", cast, "--golden", npz, "--rtol", "1e-3", "--atol", "1e-5"], isa)
        if done.returncode != 0:
            return "fail", f"{isa}: exit {done.returncode}: {(done.stderr + done.stdout).strip()[-300:]}"
    return "ok", ""


ARRAY_TYPES = {"float32", "float64", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--isa", default="oracle,best")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--list", action="store_true", help="print every failure in full")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    root = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
    tests = sorted(t for t in root.iterdir() if (t / "model.onnx").exists() and (not args.names or any(n in t.name for n in args.names)))
    known = dict(line.split("\t", 1) for line in LIST.read_text().splitlines() if line and line[0] != "#") if LIST.exists() else {}
    results, counts = {}, collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        for test in tests:
            result, why = run_one(args, test, pathlib.Path(work))
            if result == "unsupported" and test.name not in known and not args.update:
                result, why = "fail", f"refused, but not listed in unsupported.tsv: {why}"
            elif result == "ok" and test.name in known and not args.update:
                result, why = "fail", "listed in unsupported.tsv, but it passes: run with --update"
            results[test.name] = (result, why)
            counts[result] += 1
            if result == "fail":
                print(f"[fail] {test.name}: {why if args.list else why[:240]}", flush=True)
    if args.update:
        rows = [f"{name}\t{why}" for name, (result, why) in sorted(results.items()) if result == "unsupported"]
        LIST.write_text("# Node tests that are refused, with the reason; made by run_nodes.py --update. The list must shrink.\n" + "\n".join(rows) + "\n")
    print(f"{counts['unsupported']} refused by name, as listed in unsupported.tsv")
    print(f"nodes: {counts['ok']} passed, {counts['fail']} failed")
    sys.exit(1 if counts["fail"] or not counts["ok"] else 0)


main()
