#!/usr/bin/env python3
"""docs/zoo.md: networks of the tests with their measured figures, out of the files that the
measurements wrote.

  zoo.py ROOT            writes docs/zoo.md
  zoo.py ROOT --check    exit code 1 where it would be another"""

import math
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
RESULTS = ROOT / "bench/results"
PAGE = ROOT / "docs/zoo.md"


def rows_below(text, head):
    """Cells of the table whose head line begins so."""
    lines = text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(head))
    made = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        made.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return [cell.strip() for cell in lines[start].strip().strip("|").split("|")], made


def latest(pattern):
    found = sorted(p for p in RESULTS.iterdir() if re.fullmatch(pattern, p.name))
    return found[-1]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return None


def summary(head, rows):
    """Of each peer: networks that both run on one thread, and the geometric mean of its time over
    Ingot's."""
    made = []
    for column in range(3, head.index("best peer")):
        ratios = [
            number(row[column]) / number(row[2])
            for row in rows
            if row[1] == "1" and number(row[column]) and number(row[2]) and row[0] != "null"
            and not row[0].startswith("call_")
        ]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            name = head[column].removesuffix(" ms")
            made.append(f"| {name} | {len(ratios)} | {mean:.2f} | {min(ratios):.2f} |")
    return made


def speed(path, title):
    text = path.read_text()
    head, rows = rows_below(text, "| network | thr |")
    peers = [name.removesuffix(" ms") for name in head[2 : head.index("best peer")]]
    machine, method = text.splitlines()[1:3]
    made = [f"## {title}", machine, "", f"From [{path.name}](../bench/results/{path.name}), which"]
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
    made += ["|---|--:|--:|--:|", *summary(head, rows), ""]
    return made


def origins():
    made = {}
    for line in (ROOT / "tests/models/models.tsv").read_text().splitlines():
        name, _, rest = line.partition("\t")
        kind, _, place = rest.split("\t")[0].partition(":")
        first = place.split(":")[0]
        if kind == "pypi":
            made[name] = f"package `{first}`"
        elif kind == "shared":
            made[name] = first.removeprefix("models/").split("/")[0].replace("__", "/")
        else:
            others = {"zoo": "tests/models/make_zoo.py", "file": first}
            made[name] = others.get(kind, "made by a test")
    return made


def memory():
    text = (ROOT / "docs/memory.md").read_text()
    text = text[text.index("<!-- made by ./dev show memory") :]
    _, rows = rows_below(text, "| model | weights |")
    made = ["## Memory"]
    made += ["KiB, from [memory.md](memory.md), which has more columns and says how it was"]
    made += ["measured: one thread, at the shapes of each network's reference outputs.", ""]
    made += ["| network | from | weights | arena | resident | onnxruntime resident |"]
    made += ["|---|---|--:|--:|--:|--:|"]
    source = origins()
    for row in rows:
        cells = [row[0], source.get(row[0], ""), row[1], row[6], row[7], row[9]]
        made.append(f"| {' | '.join(cells)} |")
    return [*made, ""]


def files():
    made = ["## Model files"]
    made += ["Every file among the models of the tests and in the packages that they"]
    made.append("list, converted, verified and compared:")
    made.append("")
    text = (ROOT / "docs/models.md").read_text()
    of_all = re.search(r"^Of (\d+) files$", text, re.M)[1]
    counts = re.findall(r"^- (\d+ .*?)[.;,]?$", text, re.M)
    made.append(f"- of {of_all} files ([models.md](models.md)): {'; '.join(counts)};")
    text = (ROOT / "docs/tflite-files.md").read_text()
    words = re.search(r"^Of (\d+ files .*?)\.\n", text, re.M | re.S)[1].replace("\n", " ")
    made.append(f"- of TFLite ([tflite-files.md](tflite-files.md)), of {words};")
    made.append("- of PyTorch and Keras, layer by layer: [torch-list.md](torch-list.md),")
    made.append("  [keras-layers.md](keras-layers.md).")
    return [*made, ""]


def page():
    made = ["# Model zoo", "Networks of the tests with what was measured. docs/site/zoo.py writes"]
    made += ["this page out of the measurements' own files; nothing on it is typed.", ""]
    made += speed(latest(r"\d{4}-\d\d-\d\d\.md"), "Speed, fp32")
    made += speed(latest(r"\d{4}-\d\d-\d\d-integers\.md"), "Speed, int8")
    return "\n".join([*made, *memory(), *files()]).rstrip() + "\n"


def main():
    made = page()
    if "--check" not in sys.argv:
        PAGE.write_text(made)
        return 0
    if PAGE.read_text() == made:
        print("docs/zoo.md is what the measurements say")
        return 0
    print("FAILED docs/zoo.md is older than the measurements: python3 docs/site/zoo.py .")
    return 1


if __name__ == "__main__":
    sys.exit(main())
