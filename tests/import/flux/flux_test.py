"""Chains of Flux: the committed ones (make_chains.py), and the files of model-zoo beside the
project, whose outputs are computed here with numpy from what a decoder of its own reads.
  flux_test.py INGOT SOURCE_DIR"""

import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile

ingot, source = sys.argv[1:3]
sys.path.insert(0, os.path.join(source, "tests/support"))
from shared import SHARED  # noqa: E402

passed = failed = skipped = 0


def check(ok, text):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("[fail] " + text)


def run(*arguments):
    return subprocess.run([ingot, *arguments], capture_output=True, text=True, timeout=120)


def convert(path, *options):
    with tempfile.TemporaryDirectory() as folder:
        return run("convert", path, "-o", os.path.join(folder, "out.ingot"), *options)


def document(data, at=0, is_list=False):
    (size,) = struct.unpack_from("<i", data, at)
    end, at, out = at + size - 1, at + 4, {}
    while at < end:
        kind, stop = data[at], data.index(0, at + 1)
        name, at = data[at + 1 : stop].decode(), stop + 1
        width = {1: 8, 8: 1, 10: 0, 16: 4, 18: 8}.get(kind)
        if width is None:
            width = struct.unpack_from("<i", data, at)[0] + {2: 4, 3: 0, 4: 0, 5: 5}[kind]
        piece = data[at : at + width]
        out[name] = (
            document(piece, 0, kind == 4)
            if kind in (3, 4)
            else piece[4:-1].decode()
            if kind == 2
            else piece[5:]
            if kind == 5
            else piece[0] != 0
            if kind == 8
            else None
            if kind == 10
            else struct.unpack({1: "<d", 16: "<i", 18: "<q"}[kind], piece)[0]
        )
        at += width
    return list(out.values()) if is_list else out


def samples():
    folder = os.path.join(source, "tests", "flux", "samples")
    for name, shape in (
        ("mlp.bson", None),
        ("picture.bson", "x=1x2x8x9"),
        ("recurrent.bson", None),
        ("more.bson", "x=1x2x5x6"),
        ("two_dense.jld2", None),
    ):
        result = convert(
            os.path.join(folder, name),
            "--golden",
            os.path.join(folder, name[:-5] + ".npz"),
            *(["--input-shape", shape] if shape else []),
        )
        check(
            result.returncode == 0,
            f"{name}: exit {result.returncode}, {(result.stdout + result.stderr).strip()[:400]}",
        )
    result = convert(os.path.join(folder, "refused.bson"))
    check(
        result.returncode == 4
        and "2 things" in result.stderr
        and "anonymous" in result.stderr
        and "MyLayer" in result.stderr,
        f"refused.bson: exit {result.returncode}, {result.stderr.strip()[:400]}",
    )
    with open(os.path.join(folder, "mlp.bson"), "rb") as file:
        whole = file.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cut.bson")
        for cut in (9, 100, 500, len(whole) - 1):
            with open(path, "wb") as file:
                file.write(whole[:cut])
            result = run("inspect", path)
            check(
                result.returncode == 2 and len(result.stderr.strip().splitlines()) == 1,
                f"cut at {cut}: exit {result.returncode}, {result.stderr.strip()[:200]}",
            )


def model_zoo(folder):
    try:
        import numpy as np
    except ImportError:
        return "numpy is not installed"
    rng = np.random.default_rng(1)
    for name, last in (
        ("policy_cat", lambda v: np.exp(v) / np.exp(v).sum()),
        ("policy_mu", lambda v: 2 * np.tanh(v)),
    ):
        path = os.path.join(folder, "FluxML__model-zoo", name + ".bson")
        with open(path, "rb") as file:
            root = document(file.read())
        dense = [
            layer
            for layer in next(v for k, v in root.items() if k != "_backrefs")["data"][0]["data"]
            if len(layer["data"]) == 3
        ]

        def values(tracked):
            found = tracked["data"][1]
            return np.frombuffer(found["data"], "<f4").reshape(found["size"], order="F")

        weights = [[values(field) for field in layer["data"][:2]] for layer in dense]
        x = rng.standard_normal(weights[0][0].shape[1]).astype("f4")
        hidden = weights[0][0] @ x + weights[0][1]
        hidden = np.maximum(hidden, 0) if name == "policy_cat" else np.tanh(hidden)
        for w, b in weights[1:-1]:
            hidden = np.tanh(w @ hidden + b)
        y = last(weights[-1][0] @ hidden + weights[-1][1])
        with tempfile.TemporaryDirectory() as work:
            golden = os.path.join(work, "golden.npz")
            np.savez(golden, **{"in:x": x[None], "out:y": y.astype("f4")[None]})
            result = convert(path, "--golden", golden)
        check(
            result.returncode == 0,
            f"{name}: exit {result.returncode}, {(result.stdout + result.stderr).strip()[:400]}",
        )
        report = run("inspect", path, "--json", "--hashes")
        hashes = (
            {t["sha256"] for t in json.loads(report.stdout)["tensors"]}
            if report.returncode == 0
            else set()
        )
        for pair in weights:
            for a in pair:
                check(
                    hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest() in hashes,
                    f"{name}: an array of shape {a.shape} is not read",
                )
    for name, expected in (
        ("FluxML__model-zoo/temp", 2),
        ("PavelNikolaichev__JuliaHEPNet/model", 4),
        ("sam-coble__seq2seq/letter_model", 9),
        ("sam-coble__seq2seq/model", 9),
    ):
        report = run("inspect", os.path.join(folder, name + ".jld2"), "--json", "--hashes")
        check(
            report.returncode == 0,
            f"{name}.jld2: exit {report.returncode}, {report.stderr.strip()[:200]}",
        )
        if report.returncode == 0:
            tensors = json.loads(report.stdout)["tensors"]
            check(
                len(tensors) == expected,
                f"{name}.jld2: {len(tensors)} arrays, expected {expected}: {[t['name'] for t in tensors]}",
            )
            compare_jld2(np, os.path.join(folder, name + ".jld2"), tensors)
    return ""


def compare_jld2(np, path, tensors):
    """What is extracted, put back into Julia's order, lies in the file byte for byte."""
    with open(path, "rb") as file:
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.safetensors")
        result = run("extract", path, "-o", out)
        if result.returncode:
            return check(
                False, f"extract {path}: exit {result.returncode}, {result.stderr.strip()[:200]}"
            )
        with open(out, "rb") as file:
            flat = file.read()
    start = 8 + struct.unpack_from("<Q", flat)[0]
    for name, entry in json.loads(flat[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = np.frombuffer(
            flat[start + begin : start + end], {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
        ).reshape(entry["shape"])
        check(
            values.tobytes(order="F") in data, f"{path}: {name} {entry['shape']} is not in the file"
        )


samples()
shared = str(SHARED / "models/flux")
why = model_zoo(shared) if os.path.isdir(shared) else "there is no shared material"
if why:
    skipped += 1
    print("[skip] Flux files beside the project: " + why)
print(f"flux: {passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
