# SPDX-License-Identifier: Apache-2.0
"""Chains of Flux: the committed ones (make_chains.py), and the files of model-zoo beside the
project, whose outputs are computed here with numpy from what a decoder of its own reads.
  flux_test.py INGOT SOURCE_DIR"""

import hashlib
import json
import os
import struct
import sys

ingot, source = sys.argv[1:3]
sys.path.insert(0, os.path.join(source, "tests/support"))
from shared import SHARED  # noqa: E402
from testing import Checks, Ingot, run, work_folder  # noqa: E402

checks = Checks("flux")
check = checks.check


def convert(path, *options):
    with work_folder() as folder:
        return Ingot(ingot, folder).convert(path, *options)


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
            else (
                piece[4:-1].decode()
                if kind == 2
                else (
                    piece[5:]
                    if kind == 5
                    else (
                        piece[0] != 0
                        if kind == 8
                        else (
                            None
                            if kind == 10
                            else struct.unpack({1: "<d", 16: "<i", 18: "<q"}[kind], piece)[0]
                        )
                    )
                )
            )
        )
        at += width
    return list(out.values()) if is_list else out


def samples():
    folder = os.path.join(source, "tests/import/flux/samples")
    for name, shape in (
        ("mlp.bson", None),
        ("picture.bson", "x=1x2x8x9"),
        ("recurrent.bson", None),
        ("more.bson", "x=1x2x5x6"),
        ("two_dense.jld2", None),
    ):
        options = ["--golden", os.path.join(folder, name[:-5] + ".npz")]
        options += ["--input-shape", shape] if shape else []
        checks.report(name, convert(os.path.join(folder, name), *options).error)
    done = convert(os.path.join(folder, "refused.bson"))
    checks.report("refused.bson", done.refusal(4, "2 things", "anonymous", "MyLayer", lines=None))
    with open(os.path.join(folder, "mlp.bson"), "rb") as file:
        whole = file.read()
    with work_folder() as folder:
        path = os.path.join(folder, "cut.bson")
        for cut in (9, 100, 500, len(whole) - 1):
            with open(path, "wb") as file:
                file.write(whole[:cut])
            checks.report(f"cut at {cut}", run(ingot, "inspect", path).refusal(2))


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
        with work_folder() as work:
            golden = os.path.join(work, "golden.npz")
            np.savez(golden, **{"in:x": x[None], "out:y": y.astype("f4")[None]})
            checks.report(name, convert(path, "--golden", golden).error)
        report = run(ingot, "inspect", path, "--json", "--hashes")
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
        report = run(ingot, "inspect", os.path.join(folder, name + ".jld2"), "--json", "--hashes")
        if checks.report(f"{name}.jld2", report.error):
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
    with work_folder() as folder:
        out = os.path.join(folder, "out.safetensors")
        result = run(ingot, "extract", path, "-o", out)
        if result.error:
            return checks.report(path, result.error)
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
    checks.skip("Flux files of shared material: " + why)
sys.exit(checks.finish())
