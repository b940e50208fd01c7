#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads what make_matrix.py wrote: every file's weights in the place of an architecture's, and
every program, on the CPU and on both of the test's GPUs, against eager torch.

What was converted with --keep-weights gives the checkpoint's tensors back: names, types, shapes and
bits.

  run_matrix.py --ingot PATH --files DIR [--work DIR] [--write MARKDOWN | --compare MARKDOWN]
  [--jobs N]

A cell loads without a flag, or with the one that the refusal names; the table says which. --write
puts the table between the markers of MARKDOWN, --compare fails where the table there is another.
Python's standard library alone.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402

WEIGHTS = 8  # of the network, with the count of batches that training keeps
LOADED = ["cpu", "fake:0", "fake:1"]
BEGIN, END = "<!-- matrix: written by ./dev show matrix -->", "<!-- matrix: end -->"


class Loader:
    def __init__(self, ingot, files, work):
        self.ingot, self.files, self.work = ingot, files, work

    def load(self, cell, words, golden, name):
        """Flags that were needed ("" for none) and what went wrong."""
        converted, flags = self.work / (name + ".ingot"), []
        while True:
            convert = run(self.ingot, "convert", *words, *flags, "-o", converted)
            if convert.returncode == 0:
                break
            named = [
                flag
                for flag in re.findall(r"(--[a-z][a-z-]+(?:[ =](?!--)[^\s,;]+)?)", convert.stderr)
                if flag.split()[0] not in " ".join(flags)
            ]
            if not named or len(flags) > 3:
                return " ".join(flags), [f"{name}: {convert.stderr.strip()}"]
            flags += named[0].split()
        wrong = []
        for device in LOADED:
            options = ("--golden", self.files / golden, "--device", device, "--json")
            check = run(self.ingot, "check", converted, *options)
            if check.returncode or not json.loads(check.stdout)["passed"]:
                wrong.append(f"{name} on {device}: {(check.stderr or check.stdout).strip()[:300]}")
        if "--keep-weights" in words:
            wrong += self.round_trip(self.files / cell["file"], converted, name)
        converted.unlink()
        return " ".join(flags), wrong

    def round_trip(self, file, converted, name):
        """Every weight of the network as the checkpoint has it, and nothing else."""
        given = self.work / (name + ".safetensors")
        extract = run(self.ingot, "extract", converted, "-o", given)
        if extract.returncode:
            return [f"{name}: extract: {extract.stderr.strip()}"]
        facts = lambda path: {
            ".".join(t["path"]): (t["dtype"], t["dims"], t["sha256"])
            for t in json.loads(
                run(self.ingot, "inspect", path, "--json", "--hashes", "--weights").stdout
            )["tensors"]
        }
        back, there = facts(given), facts(file)
        given.unlink()
        apart = [key for key, value in back.items() if there.get(key) != value]
        return (
            [f"{name}: given back {len(back)} tensors of {WEIGHTS}, {apart[:2]} differ"]
            if apart or len(back) != WEIGHTS
            else []
        )

    def cell(self, cell):
        file, flags, wrong = self.files / cell["file"], set(), []
        inspected = run(self.ingot, "inspect", file, "--json")
        if inspected.returncode:
            wrong.append(f"{cell['file']}: {inspected.stderr.strip()}")
        elif cell["container"] in ("zip", "legacy"):
            places = json.loads(inspected.stdout)["locations"]
            if list(places) != [cell["location"]]:
                wrong.append(
                    f"{cell['file']}: was saved on {cell['location']}, inspect says {places}"
                )
        loads = [
            (
                (self.files / "net.onnx", "--weights", file, "--keep-weights"),
                cell["golden"],
                cell["file"] + ".weights",
            )
        ]
        if "program" in cell:
            loads.append(((file,), cell["program"], cell["file"] + ".program"))
        for words, golden, name in loads:
            flag, bad = self.load(cell, words, golden, name)
            flags.add(flag)
            wrong += bad
        return cell, sorted(flags - {""}), wrong


def table(results, torch):
    """A row for each container and wrapper, a column for each training device; a cell counts the
    precisions that load on every device."""
    precisions = list(dict.fromkeys(c["precision"] for c, _, _ in results))
    devices = list(dict.fromkeys(c["device"] for c, _, _ in results))
    rows = collections.OrderedDict()
    for cell, flags, wrong in results:
        rows.setdefault((cell["container"], cell["wrapper"]), {}).setdefault(
            cell["device"], []
        ).append((cell["precision"], flags, wrong))
    lines = [
        f"Written with torch {torch}. Each cell: how many of {', '.join(precisions)} load, each on {', '.join(LOADED)}; with a flag where one is named.",
        "",
        "| saved as | by | " + " | ".join("on " + d for d in devices) + " |",
        "|---|---|" + "---|" * len(devices),
    ]
    order = {
        name: i for i, name in enumerate(["zip", "legacy", "safetensors", "TorchScript", "pt2"])
    }
    table_rows = []
    for (container, wrapper), row in sorted(rows.items(), key=lambda item: order[item[0][0]]):
        texts = []
        for device in devices:
            cells = row.get(device, [])
            good = [c for c in cells if not c[2]]
            flags = sorted({f for c in cells for f in c[1]})
            texts.append(
                f"{len(good)} of {len(cells)}" + (f" with `{'`, `'.join(flags)}`" if flags else "")
            )
        cells = " | ".join(texts)
        same = [r for r in table_rows if r[0] == container and r[2] == cells]
        if same:  # wrappers of a container that load alike share a row
            same[0][1] += f", {wrapper}"
        else:
            table_rows.append([container, wrapper, cells])
    lines += [f"| {' | '.join(row)} |" for row in table_rows]
    return "\n".join(lines)


def main():
    arguments = ingot_parser(__doc__)
    arguments.add_argument("--files", type=pathlib.Path, required=True)
    arguments.add_argument("--work", type=pathlib.Path)
    arguments.add_argument("--write", type=pathlib.Path)
    arguments.add_argument("--compare", type=pathlib.Path)
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    a = arguments.parse_args()
    written = json.loads((a.files / "matrix.json").read_text())
    with work_folder(dir=a.work) as folder:
        loader = Loader(a.ingot, a.files, folder)
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            results = list(pool.map(loader.cell, written["cells"]))
    checks, flagged, loads = Checks("matrix"), 0, 0
    for cell, flags, wrong in results:
        loads += len(LOADED) * (1 + ("program" in cell))
        flagged += bool(flags)
        checks.report(cell["file"], "; ".join(wrong))
    new = f"{BEGIN}\n{table(results, written['torch'])}\n{END}"
    for path in filter(None, [a.write, a.compare]):
        text = path.read_text()
        if BEGIN not in text or END not in text:
            checks.report(path, f"has no markers '{BEGIN}' and '{END}'")
            continue
        old = text[text.index(BEGIN) : text.index(END) + len(END)]
        if path == a.write:
            path.write_text(text.replace(old, new))
        elif strip_version(old) != strip_version(new):
            checks.report(path, "its table is not what loads now: ./dev show matrix writes it")
    print(
        f"{len(results)} files, {loads} loads, {flagged} files with a flag; the weights of each "
        "extracted bit by bit"
    )
    return checks.finish()


def strip_version(text):
    """Without torch's version and the places where lines are broken."""
    return re.sub(r"torch [0-9.]+", "torch", " ".join(text.split()))


if __name__ == "__main__":
    sys.exit(main())
