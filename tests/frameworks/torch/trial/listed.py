#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of listed.txt in four formats against eager torch: .pt2, a trace, and what both ONNX
exporters write. Prints a table of what is not equal, with its reason, and how many are.

  listed.py --ingot PATH --work DIR [--write PAGE] [--jobs N] [--minutes N]
            [--only PATTERN ...]

Fails where less than 97 % of the programs that torch wrote are equal, where numbers differ that
torch itself, or onnxruntime, gives for the file, and on a crash. What torch does not export is
counted aside.
"""

import collections
import dataclasses
import fnmatch
import hashlib
import math
import os
import pathlib
import sys
import time

import programs
import trial

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "support"))
from testing import ingot_parser  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = {
    "pt2": "torch.export (.pt2)",
    "trace": "TorchScript",
    "dynamo": "ONNX, torch.onnx.export(dynamo=True)",
    "legacy": "ONNX, torch.onnx.export(dynamo=False)",
}
ASKED = 0.97
HEAD = """# Unseen programs of PyTorch, counted
250 single-operator modules and 120 networks (tests/frameworks/torch/trial/listed.txt), each in four
formats, converted, run and compared with eager PyTorch to 1e-3 of the largest number (integers:
every one). "As written" is what differs from the module because the exporter wrote another program:
PyTorch itself, or onnxruntime, gives Ingot's numbers for that file. The networks are of
torchvision, timm and transformers, small and with random weights, and of
tests/frameworks/torch/trial/blocks_networks.py. `./dev show torch-list` makes this page (part of
`./dev test long`).

A torchaudio made for another CUDA than torch stops transformers; no network needs it. A file that
onnxruntime calls unsound, as Ingot does, counts as not written.

"""
FAULTS = ("different", "no golden")


def listed():
    known = {p.name: p for p in programs.all_programs()}
    found = []
    for number, line in enumerate((HERE / "listed.txt").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if line not in known:
            raise SystemExit(f"listed.txt:{number}: no program of the trial is named '{line}'")
        found.append(dataclasses.replace(known[line], formats=tuple(FORMATS)))
    return found


def is_good(verdict):
    """What torch gives for the file that it wrote counts where the module gives other numbers."""
    return verdict in ("equal", "as written")


def reason_of(result):
    text = " ".join(result["detail"].split())
    return trial.shortened(text.removeprefix("convert: ")).replace("|", "\\|")


def table(asked, results):
    """The lines of the page, and the lowest fraction of a format."""
    lines, worst = [], 1.0
    lines += [
        "| format | of | written by torch | equal | part |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, words in FORMATS.items():
        for what, modules in (("modules", True), ("networks", False)):
            mine = [results[p.name][kind] for p in asked if bool(p.source) == modules]
            tried = [r for r in mine if r["verdict"] != "skipped"]
            good = sum(is_good(r["verdict"]) for r in tried)
            if tried:
                worst = min(worst, good / len(tried))
                part = f"{100 * good / len(tried):.1f} %"
                lines.append(f"| {words} | {len(mine)} {what} | {len(tried)} | {good} | {part} |")
    rows = collections.defaultdict(list)
    written = collections.defaultdict(list)
    for p in asked:
        for kind, r in results[p.name].items():
            if r["verdict"] == "skipped":
                written[p.name, r["detail"].split(":")[0]].append(kind)
            elif not is_good(r["verdict"]):
                rows[p.name, r["verdict"], reason_of(r)].append(kind)
            elif r["verdict"] == "as written":
                rows[p.name, "as written", "the file gives torch the same numbers"].append(kind)
    lines += ["", "| program | formats | verdict | reason |", "| --- | --- | --- | --- |"]
    lines += [f"| `{n}` | {', '.join(k)} | {v} | {why} |" for (n, v, why), k in rows.items()]
    lines += ["", "Not written by torch:", ""]
    lines += [f"- `{n}` as {', '.join(k)}: {why}" for (n, why), k in written.items()]
    return lines, worst


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", help="names or patterns with * of programs")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="begins no program later; 0: reads results"
    )
    parser.add_argument("--fresh", action="store_true", help="makes results again")
    parser.add_argument("--keep", action="store_true", help="keeps large exports")
    a = parser.parse_args()
    asked = [
        p for p in listed() if not a.only or any(fnmatch.fnmatchcase(p.name, o) for o in a.only)
    ]
    a.work.mkdir(parents=True, exist_ok=True)
    a.work, a.ingot = a.work.resolve(), str(pathlib.Path(a.ingot).resolve())
    stamp = hashlib.sha256(pathlib.Path(a.ingot).read_bytes() + trial.RULES).hexdigest()
    until = time.monotonic() + 60 * a.minutes
    results = trial.run_all(asked, a, stamp, until)
    lines, worst = table([p for p in asked if p.name in results], results)
    if len(results) < len(asked):
        names = [p.name for p in asked if p.name not in results]
        lines += ["", f"Not tried within the time that was given: {', '.join(names)}."]
    print("\n".join(lines))
    all_of = [(name, k, r) for name, formats in results.items() for k, r in formats.items()]
    faults = [
        (n, k, r)
        for n, k, r in all_of
        if r["verdict"] in FAULTS or r["verdict"].startswith(("exit", "crash", "hang"))
    ]
    for name, kind, r in faults:
        print(f"[fail] {kind} {name}: {r['verdict']}: {r['detail'][:300]}")
    skipped = sum(r["verdict"] == "skipped" for _, _, r in all_of)
    if skipped:
        print(f"[skip] torch does not write {skipped} of {len(all_of)} programs")
    if a.write and not a.only:
        a.write.parent.mkdir(parents=True, exist_ok=True)
        a.write.write_text(HEAD + "\n".join(lines) + "\n")
    print(
        f"lowest part of a format that is equal: {100 * worst:.1f} % (asked: {100 * ASKED:.0f} %)"
    )
    return 1 if faults or worst < ASKED else 0


if __name__ == "__main__":
    sys.exit(main())
