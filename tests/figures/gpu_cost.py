#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted latencies on GPUs that are not here (`ingot why FILE --device cuda:NAME`), as a table:
networks by batch and precision, on two GPUs.

  gpu_cost.py --ingot BIN --work DIR [--gpus h200,orin-nano] [--batches 1,8,32]
              [--precisions exact,fast,fp16] [--before BIN] [--write docs/cuda-cost.md]

Models are those of tests/models; one with room for one item becomes one of several by
bench/batched.py. int8 is what the file is: a network in full integers. With
--before the same files go through another build of ingot, and the ratio stands beside it."""

import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/models"))
sys.path.insert(0, str(ROOT / "bench"))
import onnx  # noqa: E402
from sources import SHARED, fetch, make_minilm, make_zoo, read_rows  # noqa: E402
from testing import ingot_parser, run  # noqa: E402

GPUS = "h200,orin-nano"
ZOO = "resnet50_224 mobilenetv2_224 yolov8n_320 yolov8n_640".split()
# words of convert that say the batch
OPEN = {
    "minilm_l6": "--dim batch={0} --dim sequence=64",
    "ppocr_det": "--input-shape x={0}x3x192x320",
}
PRECISIONS = "exact,fast,fp16"
# in integers already: made for one item
INTEGERS = {
    "mobilenet_v1_0.25_128": "google-coral__test_data/mobilenet_v1_0.25_128_quant.tflite",
    "movenet_lightning": "google-coral__test_data/movenet_single_pose_lightning_ptq.tflite",
}
COLUMNS = ("network", "precision", "batch", "launches", "MB", "GFLOP")


def source_of(name, work):
    """The ONNX file; None where it is not to be had here."""
    if name in ZOO:
        path, wrong = make_zoo(name, work)
        return None if wrong else path
    row = read_rows([name])[0]
    if row["source"].startswith("minilm"):
        return make_minilm(work / "minilm_l6.onnx", work)[0]
    return fetch(row["source"].split(":", 1)[1], work)


def convert(args, name, source, batch, precision):
    """The file, made once."""
    out = args.work / "gpu_cost" / f"{name}.{batch}.{precision}.ingot"
    if out.exists():
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    words = OPEN.get(name, "").format(batch).split()
    made = source
    if name in ZOO and batch > 1:
        from batched import batched

        made = out.with_suffix(".onnx")
        onnx.save(batched(onnx.load(source), batch), made)
    if precision != "exact":
        words += ["--precision-check", "off"]
    run(args.ingot, "convert", made, "--precision", precision, "-o", out, *words).succeeded()
    if made != source:
        made.unlink()
    return out


def predict(ingot, file, gpu):
    return json.loads(
        run(ingot, "why", file, "--device", f"cuda:{gpu}", "--json").succeeded().stdout
    )


def row_of(args, name, precision, batch, file):
    row = {"network": name, "precision": precision, "batch": batch, "ms": {}, "before": {}}
    for gpu in args.gpus:
        report = predict(args.ingot, file, gpu)
        row["ms"][gpu] = report["ns"] / 1e6
        row.setdefault("launches", report["launches"])
        row.setdefault("MB", report["bytes"] / 1e6)
        row.setdefault("GFLOP", report["flops"] / 1e9)
        if report["left_to_cpu"]:
            row["note"] = f"{report['left_to_cpu']} instructions left to the CPU"
        if args.before:
            row["before"][gpu] = predict(args.before, file, gpu)["ns"] / 1e6
    return row


def rows_of(args):
    rows = []
    for name in [*ZOO, *OPEN]:
        source = source_of(name, args.work)
        if source is None:
            print(f"[skip] {name}: its package or script is not to be had here")
            continue
        for precision in args.precisions:
            for batch in args.batches:
                file = convert(args, name, source, batch, precision)
                rows.append(row_of(args, name, precision, batch, file))
    for name, path in INTEGERS.items():
        source = SHARED / "models" / path
        if not source.exists():
            print(f"[skip] {name}: {path} is not in shared material")
            continue
        file = convert(args, name, source, 1, "exact")
        rows.append(row_of(args, name, "int8", 1, file))
    return rows


def time_text(row, gpu):
    text = f"{row['ms'][gpu]:.3g} ms"
    if gpu in row["before"]:
        text += f" ({row['before'][gpu] / row['ms'][gpu]:.2f})"
    return text


def table(rows, gpus):
    lines = ["| " + " | ".join([*COLUMNS, *gpus]) + " |"]
    lines.append("|---|---|" + "---:|" * (len(COLUMNS) - 2 + len(gpus)))
    for r in rows:
        cells = [r["network"], r["precision"], r["batch"], r["launches"]]
        cells += [f"{r['MB']:.1f}", f"{r['GFLOP']:.2f}", *(time_text(r, gpu) for gpu in gpus)]
        lines.append("| " + " | ".join(str(c) for c in cells) + " |")
    return "\n".join(lines) + "\n"


def gains(rows, args):
    """Geometric means of before / now, by precision and batch."""
    lines = []
    for precision in args.precisions:
        for batch in sorted({r["batch"] for r in rows}):
            for gpu in args.gpus:
                ratios = [
                    r["before"][gpu] / r["ms"][gpu]
                    for r in rows
                    if (r["precision"], r["batch"]) == (precision, batch) and r["before"]
                ]
                if ratios:
                    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                    lines.append(f"{precision}, batch {batch}, {gpu}: {mean:.2f} times")
    return lines


def write(path, text):
    """Between the two marks of the page."""
    begin, end = "<!-- gpu-cost -->\n", "<!-- /gpu-cost -->\n"
    page = path.read_text()
    head, rest = page.split(begin)
    path.write_text(head + begin + text + end + rest.split(end)[1])


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--gpus", default=GPUS, type=lambda text: text.split(","))
    parser.add_argument(
        "--batches", default="1,8,32", type=lambda t: [int(n) for n in t.split(",")]
    )
    parser.add_argument("--precisions", default=PRECISIONS, type=lambda text: text.split(","))
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()
    rows = rows_of(args)
    if not rows:
        sys.exit("gpu_cost: no network is to be had here")
    text = table(rows, args.gpus)
    print(text, end="")
    for row in rows:
        if "note" in row:
            print(f"{row['network']}, {row['precision']}, batch {row['batch']}: {row['note']}")
    for line in gains(rows, args):
        print(line)
    if args.write:
        write(args.write, text)


if __name__ == "__main__":
    main()
