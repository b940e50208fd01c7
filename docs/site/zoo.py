#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peers in docs/comparison.md and README.md, and a page of each network with its measured
figures, out of the files that the measurements wrote.

  zoo.py ROOT              writes the two tables
  zoo.py ROOT --check      exit code 1 where they would be others
  zoo.py ROOT --page OUT   writes the page of each network"""

import math
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
RESULTS = ROOT / "bench/results"
COMPARISON = ROOT / "docs/comparison.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- written by docs/site/zoo.py -->", "<!-- end of what zoo.py writes -->"


def table_of(path):
    """Head and rows of a table whose cells tabs separate, behind lines that begin with #."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    head, *rows = [line.split("\t") for line in lines]
    return head, rows


def machine_of(path):
    """The second line: processor and versions."""
    return path.read_text().splitlines()[1].removeprefix("# ")


def latest(pattern):
    found = sorted(p for p in RESULTS.iterdir() if re.fullmatch(pattern, p.name))
    return found[-1]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return None


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ratios_by_peer(path):
    """Of each peer its time over Ingot's, of the networks that both run on one thread."""
    head, rows = table_of(path)
    made = {}
    for column in range(3, head.index("best peer")):
        ratios = [
            number(row[column]) / number(row[2])
            for row in rows
            if row[1] == "1" and number(row[column]) and not row[0].startswith(("null", "call_"))
        ]
        if ratios:
            made[head[column].removesuffix(" ms")] = ratios
    return made


def speed(path, title):
    head, rows = table_of(path)
    peers = [name.removesuffix(" ms") for name in head[2 : head.index("best peer")]]
    made = [f"## {title}", machine_of(path), "", f"From bench/results/{path.name}, which"]
    made[-1] += " has two threads, ranges and what a peer could not run. Milliseconds, one thread,"
    made[-1] += " batch 1; medians of separate processes, outputs compared first."
    made += ["", "| network | " + " | ".join(peers) + " | Ingot / best |"]
    made.append("|---|" + "--:|" * (len(peers) + 1))
    ratio_at = head.index("best peer") + 1
    for row in rows:
        if row[1] == "1":
            cells = row[2 : 2 + len(peers)]
            made.append(f"| {row[0]} | {' | '.join(cells)} | {row[ratio_at].split()[0]} |")
    made += ["", "Without the rows that measure a call alone (`null`, `call_...`):", ""]
    made += ["| peer | networks that both run | its time / Ingot's, geometric mean | least |"]
    made += ["|---|--:|--:|--:|"]
    for peer, ratios in ratios_by_peer(path).items():
        made.append(f"| {peer} | {len(ratios)} | {mean_of(ratios):.2f} | {min(ratios):.2f} |")
    return [*made, ""]


def memory_rows():
    return table_of(RESULTS / "memory.tsv")[1]


def newest():
    return latest(r"\d{4}-\d\d-\d\d\.tsv"), latest(r"\d{4}-\d\d-\d\d-integers\.tsv")


def page():
    made = ["# Model zoo", "Networks of the tests with what was measured. docs/site/zoo.py writes"]
    made += ["this page out of the measurements' own files; nothing on it is typed. Memory of each"]
    made += ["network: bench/results/memory.tsv.", ""]
    floats, integers = newest()
    made += speed(floats, "Speed, fp32")
    made += speed(integers, "Speed, int8")
    return "\n".join(made).rstrip() + "\n"


def peers_table():
    """Geometric means over the networks that both run, with their number in brackets."""
    speeds = [ratios_by_peer(path) for path in newest()]
    resident = resident_ratios()
    made = ["| peer | time, fp32 | time, int8 | resident memory |", "|---|--:|--:|--:|"]
    for peer in dict.fromkeys([*speeds[0], *speeds[1]]):
        cells = [columns.get(peer, []) for columns in (*speeds, resident)]
        cells = [f"{mean_of(c):.2f} ({len(c)})" if c else "" for c in cells]
        made.append(f"| {peer} | {' | '.join(cells)} |")
    return "\n".join(made)


def resident_ratios():
    """Of each peer its resident memory over Ingot's, of the networks that both run."""
    made = {"onnxruntime": [], "litert": []}
    for row in memory_rows():
        for peer, column in (("onnxruntime", 9), ("litert", 10)):
            if row[column]:
                kib = [float(cell.replace(",", "")) for cell in (row[column], row[7])]
                made[peer].append(kib[0] / kib[1])
    return made


def three_figures():
    """What stands on the first screen."""
    floats, integers = newest()
    machine = machine_of(floats).split(".")[0].split(" (")[0]
    rows = (
        ("time, fp32", "onnxruntime", ratios_by_peer(floats)["onnxruntime"]),
        ("time, int8", "LiteRT", ratios_by_peer(integers)["litert"]),
        ("resident memory", "onnxruntime", resident_ratios()["onnxruntime"]),
    )
    made = [f"| one thread, AVX-512, {machine} | other runtime / Ingot | networks |"]
    made.append("|---|--:|--:|")
    made += [f"| {what} | {mean_of(r):.2f} ({peer}) | {len(r)} |" for what, peer, r in rows]
    return "\n".join(made)


def between_marks(path, text):
    before, _, rest = path.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}"


def main():
    if "--page" in sys.argv:
        pathlib.Path(sys.argv[sys.argv.index("--page") + 1]).write_text(page())
        return 0
    made = {
        COMPARISON: between_marks(COMPARISON, peers_table()),
        README: between_marks(README, three_figures()),
    }
    if "--check" not in sys.argv:
        for path, text in made.items():
            path.write_text(text)
        return 0
    older = [path.name for path, text in made.items() if path.read_text() != text]
    for name in older:
        print(f"FAILED {name} is older than the measurements: python3 docs/site/zoo.py .")
    if not older:
        print("docs/comparison.md and README.md have what was measured")
    return 1 if older else 0


if __name__ == "__main__":
    sys.exit(main())
