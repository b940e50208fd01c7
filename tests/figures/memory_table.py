#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every model of tests/models/models.tsv takes: arena against the lower bound (largest sum of
live bytes at one step), and compared with onnxruntime and LiteRT; with --write the summary in
docs/memory.md is brought up to date, with --table the rows, one line each, tabs between.

  memory_table.py --ingot BIN --work DIR [--write FILE] [--table FILE] [name ...]

Models that DIR does not have are converted first. A peer that is not installed, or cannot run a model,
is a counted skip.
"""

import importlib.util
import json
import pathlib
import shlex
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[0] / "models"))
from page import replace_figures  # noqa: E402
from sources import (
    SHARED,
    dims_of,
    fetch,
    input_arrays,
    locate,
    read_rows,
    shapes_of,
    symbols,
)  # noqa: E402
from dtypes import DTYPES  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

# The same network in both formats. Ultraface's file ends before its boxes are decoded, which its
# ONNX file does.
TFLITE = {
    "basic_pitch": "pypi:basic-pitch==0.4.0:basic_pitch/saved_models/icassp_2022/nmp.tflite",
    "dtln_1": "shared:models/breizhn__DTLN/model_1.tflite",
    "ultraface_slim_320": "shared:models/Linzaer__Ultra-Light-Fast-Generic-Face-Detector-1MB/version-slim-320_without_postprocessing.tflite",
}
COLUMNS = (
    "model",
    "weights",
    "activations",
    "lower bound",
    "ratio",
    "scratch",
    "arena",
    "resident",
    "onnxruntime arena",
    "onnxruntime resident",
    "LiteRT resident",
)


def peer(runtime, package, model, inputs, name, tally):
    if importlib.util.find_spec(package) is None:
        tally.skip(f"{name}: {runtime} is not to be had")
        return {}
    done = run([sys.executable, HERE / "peer_memory.py", runtime, model, inputs])
    if done.returncode:
        tally.skip(
            f"{name}: {runtime} does not run it: {done.stderr.strip().splitlines()[-1][:200]}"
        )
        return {}
    return json.loads(done.stdout)


def tflite_of(name, work):
    kind, _, rest = TFLITE.get(name, "").partition(":")
    path = fetch(rest, work) if kind == "pypi" else SHARED / rest if kind else None
    return path if path and path.exists() else None


def measure(row, ingot, work, tally):
    """Figures of one model by column, in bytes; None where its source is not to be had or it
    fails."""
    found = locate(row, work, tally)
    if not found:
        return None
    (source, golden), name, converted = found, row["name"], work / f"{row['name']}.ingot"
    if not converted.exists() or converted.stat().st_mtime < pathlib.Path(ingot).stat().st_mtime:
        done = run([ingot, "convert", source, "-o", converted, *shlex.split(row["options"] or "")])
        if done.returncode:
            return tally.check(False, f"{name}: convert", done.stderr) or None
    described = json.loads(run([ingot, "inspect", converted, "--json"]).stdout)
    typical = (
        {}
        if golden
        else json.loads(run([ingot, "bench", converted, "--seconds", "0", "--json"]).stdout)["dims"]
    )
    arrays = input_arrays(golden, described["inputs"], typical, np.random.default_rng(3))
    bindings = symbols(described["inputs"], shapes_of(arrays))
    dims, known = (
        [word for binding in bindings for word in ("--dim", binding)],
        dict(b.split("=") for b in bindings),
    )
    states = {
        v["name"]: np.zeros([int(known.get(d, d)) for d in dims_of(v)], DTYPES[v["dtype"]])
        for v in described["state_variables"]
    }
    inputs, ours = work / "inputs" / f"{name}.npz", work / "inputs" / f"{name}.ports.npz"
    inputs.parent.mkdir(exist_ok=True)
    np.savez(inputs, **arrays, **states)
    np.savez(ours, **arrays)
    done = [
        run([ingot, *command, "--json"])
        for command in (
            ("bench", converted, "--threads", "1", "--seconds", "0", "--inputs", ours),
            ("inspect", converted, *dims),
        )
    ]
    if any(d.returncode for d in done):
        return tally.check(False, name, done[0].stderr + done[1].stderr) or None
    bench, need = (json.loads(d.stdout) for d in done)
    ort = peer("onnxruntime", "onnxruntime", source, inputs, name, tally)
    tflite = tflite_of(name, work)
    litert = peer("litert", "ai_edge_litert", tflite, inputs, name, tally) if tflite else {}
    if name in TFLITE and not tflite:
        tally.skip(f"{name}: its .tflite is not to be had here")
    mega = lambda figures: figures["resident_mb"] * 1e6 if figures else None
    return {
        "weights": bench["weights_bytes"],
        "activations": need["activation_bytes"],
        "bound": need["activation_lower_bound"],
        "scratch": bench["scratch_bytes"],
        "arena": bench["arena_bytes"],
        "resident": (bench["rss_peak_mb"] - bench["rss_start_mb"]) * 1e6,
        "ort_arena": ort.get("arena_bytes"),
        "ort": mega(ort),
        "litert": mega(litert),
    }


def table(rows):
    kib = lambda n: f"{max(n, 0) / 1024:,.0f}" if n is not None else ""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * (len(COLUMNS) - 1)]
    for name, f in rows.items():
        cells = [
            kib(f["weights"]),
            kib(f["activations"]),
            kib(f["bound"]),
            f"{f['activations'] / max(f['bound'], 1):.3f}",
            *(
                kib(f[key])
                for key in ("scratch", "arena", "resident", "ort_arena", "ort", "litert")
            ),
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def beside(rows, key, ours, what):
    """How often less, and the middle ratio."""
    pairs = [(ours(f), f[key]) for f in rows.values() if f[key]]
    if not pairs:
        return []
    middle = sorted(a / b for a, b in pairs)[len(pairs) // 2]
    return [
        f"{what}: less on {sum(a < b for a, b in pairs)} of {len(pairs)} models, in the middle {middle:.2f} of it."
    ]


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--write", help="a document whose summary is replaced")
    parser.add_argument("--table", type=pathlib.Path, help="where the rows are written")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    work, tally, rows = pathlib.Path(args.work), Checks("memory", verbose=True), {}
    work.mkdir(parents=True, exist_ok=True)
    listed = read_rows(args.names)
    for row in sorted(listed, key=lambda r: r["name"]):
        figures = measure(row, args.ingot, work, tally)
        if figures:
            rows[row["name"]] = figures
            print(table({row["name"]: figures})[-1], flush=True)
    close = sum(f["activations"] <= 1.05 * max(f["bound"], 1) for f in rows.values())
    says = [f"{close} of {len(rows)} models are within 5 % of the lower bound."]
    says += beside(
        rows,
        "ort_arena",
        lambda f: f["activations"] + f["scratch"],
        "Activations and scratch against onnxruntime's arena",
    )
    says += beside(rows, "ort", lambda f: f["resident"], "Resident against onnxruntime")
    says += beside(rows, "litert", lambda f: f["resident"], "Resident against LiteRT")
    print("\n".join([*table(rows), "", *says, ""]))
    if len(rows) < len(listed):
        print(f"{len(listed) - len(rows)} of {len(listed)} models were not measured")
    tally.check(
        rows and close >= 0.9 * len(rows),
        f"{close} of {len(rows)} models within 5 % of the lower bound",
    )
    # a table that lacks models does not replace one that has them
    is_whole = not args.names and len(rows) == len(listed)
    if args.write and is_whole:
        replace_figures(args.write, "memory", "\n".join(says) + "\n")
    if args.table and is_whole:
        cells = [line[1:-1].split("|") for line in table(rows) if not line.startswith("|--")]
        lines = ["\t".join(cell.strip() for cell in row) for row in cells]
        args.table.write_text("\n".join(lines) + "\n")
    sys.exit(tally.finish())


main()
