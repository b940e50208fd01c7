#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One process of the trial: builds programs with torch, converts and runs them, compares.

Reads lines {"name", "formats", "work", "ingot", "keep"} of JSON from stdin and answers each with a
line {"name", "results": {format: {"verdict", "detail", "error", "seconds"}}}. trial.py starts it.
"""

import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import warnings
import zlib

import numpy as np

import programs

SECONDS = 300  # of one command
BYTES = 12 << 30  # of address space of one command
KEPT = 4 << 20  # exports below that many bytes stay for the next run
ENDINGS = {
    "pt2": "pt2",
    "trace": "traced.pt",
    "script": "scripted.pt",
    "dynamo": "dynamo.onnx",
    "legacy": "legacy.onnx",
}
# What a difference may be, relative to the largest finite number of the output, by its type.
LIMITS = {np.dtype("float16"): 1e-2}
LIMIT = 1e-3
TYPES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "bool",
}


def flatten(result):
    """Tensors of a result in their order; numbers are 0-d tensors."""
    import torch

    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (bool, int, float)):
        return [torch.tensor(result)]
    values = (
        result.values()
        if isinstance(result, dict)
        else result
        if isinstance(result, (tuple, list))
        else ()
    )
    return [t for v in values for t in flatten(v)]


def makers(torch):
    def randn(*dims, **o):
        return torch.randn(*dims, **o)

    def ints(low, high, *dims, **o):
        return torch.randint(low, high, dims, **o)

    def bools(*dims):
        return torch.rand(*dims) > 0.5

    def mask(*dims):
        """At least one in each row."""
        return (torch.rand(*dims) > 0.5) | (torch.arange(dims[-1]) == 0)

    def edge(*dims):
        """Ordinary numbers among NaN, infinities, zeros of both signs and +-1e3."""
        x = torch.randn(*dims)
        special = [
            float("nan"),
            float("inf"),
            float("-inf"),
            0.0,
            -0.0,
            1e3,
            -1e3,
            88.0,
            -104.0,
            1e-30,
        ]
        flat = x.view(-1)
        at = torch.randperm(flat.numel())[: max(1, flat.numel() // 2)]
        for i, where in enumerate(at.tolist()):
            flat[where] = special[i % len(special)]
        return x

    def large(*dims):
        return (torch.rand(*dims) * 2 - 1) * 1e3

    return {
        "torch": torch,
        "randn": randn,
        "rand": torch.rand,
        "ints": ints,
        "bools": bools,
        "mask": mask,
        "edge": edge,
        "large": large,
        "tensor": torch.tensor,
        "arange": torch.arange,
        "linspace": torch.linspace,
    }


def build(program, folder):
    """The module in eval mode and its inputs, seeded by the name."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(zlib.crc32(program.name.encode()))
    if not program.source:
        import networks

        return networks.build(program.name)
    path = folder / "program.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(
        f"program_{zlib.crc32(program.name.encode()):08x}", path
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = module.Program()
    import networks

    networks.settle(net)
    names = makers(torch)
    return net.eval(), {
        k: eval(v, names) for k, v in program.inputs
    }  # the lists are part of the test


def export(net, inputs, names, kind, path):
    import torch

    if kind == "pt2":
        torch.export.save(torch.export.export(net, inputs), path)
    elif kind == "trace":
        torch.jit.trace(net, inputs, check_trace=False).save(str(path))
    elif kind == "dynamo":
        torch.onnx.export(net, inputs, str(path), dynamo=True, verbose=False, external_data=False)
    elif kind == "legacy":
        torch.onnx.export(net, inputs, str(path), dynamo=False, opset_version=20, input_names=names)
    else:
        torch.jit.script(net).save(str(path))


def one_line(error):
    lines = [s.strip() for s in str(error).splitlines() if s.strip()]
    return f"{type(error).__name__}: {lines[0][:200] if lines else ''}"


class NotInTheList(Exception):
    """Eager torch does not run the program: the list is wrong, or this torch is another one."""


def write_programs(program, folder):
    """What torch gives: golden.npz, a file for each format, reasons.json where it refuses."""
    import torch

    try:
        net, inputs = build(program, folder)
        fresh = lambda: tuple(t.clone() for t in inputs.values())
        with torch.no_grad():
            wanted = [t.detach().clone() for t in flatten(net(*fresh()))]
    except Exception as error:
        raise NotInTheList(one_line(error)) from error
    reasons = {}
    for kind in program.formats:
        try:
            with torch.no_grad():
                export(net, fresh(), list(inputs), kind, folder / ENDINGS[kind])
        except Exception as error:  # what an exporter throws is anything
            reasons[kind] = one_line(error)
    arrays = {f"in:{k}": v.numpy() for k, v in inputs.items()}
    np.savez(folder / "in.npz", **{k[3:]: v for k, v in arrays.items()})
    np.savez(
        folder / "golden.npz",
        **{f"out{i}": t.resolve_conj().contiguous().numpy() for i, t in enumerate(wanted)},
    )
    (folder / "reasons.json").write_text(json.dumps({"stamp": program.stamp, "reasons": reasons}))


def written(program, folder):
    """The formats that torch refused, where the folder is of this very program; else None."""
    try:
        kept = json.loads((folder / "reasons.json").read_text())
    except (OSError, ValueError):
        return None
    return kept["reasons"] if kept["stamp"] == program.stamp else None


def command(arguments):
    try:
        done = subprocess.run(
            ["prlimit", f"--as={BYTES}", "--core=0", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "hang", f"{arguments[1]}: not done after {SECONDS} s"
    said = [s for s in done.stderr.splitlines() if s.strip()]
    if done.returncode == 0:
        return None, ""
    if done.returncode < 0:
        return "crash", f"{arguments[1]}: signal {-done.returncode}"
    text = "; ".join(s.strip() for s in said[:6])
    return (
        "refused" if done.returncode == 4 else f"exit {done.returncode}"
    ), f"{arguments[1]}: {text}"


def tidy(text):
    """Without what changes from run to run: names that torch makes up, and lines of code."""
    text = re.sub(r"^convert: ingot: (pt2|program\.pt2|traced\.pt|scripted\.pt): ", "", text)
    text = re.sub(r"^\d+ things? (is|are) not supported: *;? *", "", text)
    return re.sub(
        r" ?\(?code/__torch__/[^:; ]*(:\d+)?\)?'?( in \w+)?|___torch_mangle_\d+|program_\w+",
        "",
        text,
    )


def difference(want, got):
    """Relative to the largest finite number; None with a reason when they cannot be compared."""
    if want.shape != got.shape:
        return None, f"shape {got.shape}, torch has {want.shape}"
    if want.dtype != got.dtype:
        return None, f"type {got.dtype}, torch has {want.dtype}"
    if want.size == 0:
        return 0.0, ""
    if want.dtype.kind not in "fc":
        wrong = int((want != got).sum())
        return (0.0, "") if not wrong else (None, f"{wrong} of {want.size} integers differ")
    w, g = want.astype(np.float64), got.astype(np.float64)
    special = ~np.isfinite(w) | ~np.isfinite(g)
    same = (np.isnan(w) & np.isnan(g)) | (w == g)
    if (special & ~same).any():
        at = tuple(int(i) for i in np.argwhere(special & ~same)[0])
        count = int((special & ~same).sum())
        why = f"{count} of {w.size} not finite in one: {g[at]} at {at}, torch has {w[at]}"
        return None, why
    if special.all():
        return 0.0, ""
    largest = np.abs(w[~special]).max()
    apart = np.abs(w - g)[~special].max()
    return (0.0 if apart == 0 else float(apart / max(largest, 1e-30))), ""


def differs(wanted, got):
    """A text where they differ by more than the limit, else None; and the largest difference."""
    if len(wanted) != len(got):
        return f"{len(got)} outputs, torch has {len(wanted)}", None
    worst = 0.0
    for i, (w, g) in enumerate(zip(wanted, got)):
        apart, why = difference(w, g)
        if apart is None:
            return f"output {i}: {why}", None
        if apart > LIMITS.get(w.dtype, LIMIT):
            return f"output {i}: {apart:.2g} of the largest number", apart
        worst = max(worst, apart)
    return None, worst


def named_as_written(path, kind, inputs):
    """The inputs by the names of the file: ONNX's exporters rename some, and leave unused ones
    out."""
    given = {k: inputs[k] for k in inputs.files}
    if kind not in ("dynamo", "legacy"):
        return given
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    taken = [i.name for i in graph.input]
    if len(taken) == len(given):
        return dict(zip(taken, given.values()))
    return {k: given[k] for k in taken}


def is_refused_by_onnxruntime(path, kind):
    """Exporters of ONNX write files that are none: an axis beyond the rank, a negative perm. That
    onnxruntime has no kernel is no fault of the file."""
    if kind not in ("dynamo", "legacy"):
        return False
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as LacksKernel

    try:
        onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except LacksKernel:
        return False
    except Exception:  # what it throws is anything
        return True
    return False


def by_the_program(path, kind, inputs):
    """What torch computes when it loads the file again: not always what the module did."""
    import torch

    if kind in ("dynamo", "legacy"):
        import onnxruntime

        net = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return net.run(None, named_as_written(path, kind, inputs))
    net = torch.export.load(path).module() if kind == "pt2" else torch.jit.load(str(path))
    with torch.no_grad():
        return [
            t.contiguous().numpy()
            for t in flatten(net(*(torch.from_numpy(inputs[k]) for k in inputs.files)))
        ]


def judge(program, folder, kind, ingot):
    """Verdict, text and the largest difference of one format."""
    source, converted, out = (
        folder / ENDINGS[kind],
        folder / f"{kind}.ingot",
        folder / f"{kind}.npz",
    )
    convert = [ingot, "convert", str(source), "-o", str(converted)]
    inputs = np.load(folder / "in.npz")
    if kind == "script":
        for name in inputs.files:
            convert += [
                "--input-shape",
                f"{name}={'x'.join(map(str, inputs[name].shape))}",
                "--input-type",
                f"{name}={TYPES[str(inputs[name].dtype)]}",
            ]
    verdict, text = command(convert)
    if verdict == "exit 2" and is_refused_by_onnxruntime(source, kind):
        return "skipped", f"onnxruntime refuses the file, too: {text}", None
    if verdict:
        return verdict, text, None
    fed = folder / f"{kind}_in.npz"
    np.savez(fed, **named_as_written(source, kind, inputs))
    run = [ingot, "run", str(converted), "--inputs", str(fed), "--outputs", str(out)]
    verdict, text = command(run + ["--threads", "1"])
    converted.unlink(missing_ok=True)
    if verdict:
        return verdict, text, None
    wanted, got = np.load(folder / "golden.npz"), np.load(out)
    wanted, got = [wanted[k] for k in wanted.files], [got[k] for k in got.files]
    why, worst = differs(wanted, got)
    if why is None:
        return "equal", "", worst
    try:
        own = by_the_program(source, kind, inputs)
    except Exception as error:  # torch may not run what it wrote
        return "different", f"{why}; torch does not run the file: {one_line(error)}", worst
    if differs(own, got)[0] is None:
        return "as written", f"{why}, but torch gives the same for this file", worst
    return "different", why, worst


def trial(program, work, ingot, keep):
    folder = work / program.folder
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    if written(program, folder) is None:
        began = time.monotonic()
        try:
            write_programs(program, folder)
        except NotInTheList as error:
            return {
                kind: {
                    "verdict": "no golden",
                    "detail": str(error),
                    "error": None,
                    "seconds": time.monotonic() - began,
                }
                for kind in program.formats
            }
        results["export"] = time.monotonic() - began
    reasons = written(program, folder)
    spent = results.pop("export", 0.0)
    for kind in program.formats:
        began = time.monotonic()
        if kind in reasons:
            results[kind] = {
                "verdict": "skipped",
                "detail": reasons[kind],
                "error": None,
                "seconds": 0.0,
            }
            continue
        verdict, text, apart = judge(program, folder, kind, ingot)
        text = tidy(text.replace(str(folder) + os.sep, ""))
        results[kind] = {
            "verdict": verdict,
            "detail": text,
            "error": apart,
            "seconds": time.monotonic() - began,
        }
    results[program.formats[0]]["seconds"] += spent
    if not keep and sum(f.stat().st_size for f in folder.iterdir()) > KEPT:
        for f in folder.iterdir():
            f.unlink()
    return results


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    warnings.simplefilter("ignore")
    known = {p.name: p for p in programs.all_programs()}
    for line in sys.stdin:
        asked = json.loads(line)
        program = dataclasses.replace(known[asked["name"]], formats=tuple(asked["formats"]))
        results = trial(program, pathlib.Path(asked["work"]), asked["ingot"], asked["keep"])
        answers.write(json.dumps({"name": program.name, "results": results}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
