#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted time of the linear layers of a transformer with weights of 8 and 4 bits on GPUs that
are not here, compared with the same layers with weights of 32 and 16 bits, by rows.

  gpu_weights.py --ingot BIN --work DIR [--gpus h200,orin-nano] [--rows 1,8,32,64,256]
                 [--precisions exact,fast,fp16] [--before BIN]

The network is MiniLM with as many tokens as rows (tests/models/make_minilm.py); what counts are the
instructions of opcode linear. With --before the same files go through another build of ingot, whose
time stands behind."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import ingot_parser, run  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gpu_cost import predict, source_of  # noqa: E402

WEIGHTS = {"f32": [], "w8": ["--dtype", "w8"], "w4": ["--dtype", "w4"]}


def convert(args, source, weights, rows, precision):
    out = args.work / "gpu_weights" / f"minilm.{weights}.{rows}.{precision}.ingot"
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        words = ["--precision", precision, "--dim", "batch=1", "--dim", f"sequence={rows}"]
        if precision != "exact":
            words += ["--precision-check", "off"]
        run(args.ingot, "convert", source, "-o", out, *words, *WEIGHTS[weights]).succeeded()
    return out


def microseconds(ingot, file, gpu):
    steps = predict(ingot, file, gpu)["instructions"]
    return sum(s["ns"] for s in steps if s["op"] == "linear") / 1e3


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--gpus", default="h200,orin-nano", type=lambda s: s.split(","))
    parser.add_argument("--rows", default="1,8,32,64,256", type=lambda s: s.split(","))
    parser.add_argument("--precisions", default="exact,fast,fp16", type=lambda s: s.split(","))
    parser.add_argument("--before")
    args = parser.parse_args()
    source = source_of("minilm_l6", args.work)
    if source is None:
        print("[skip] MiniLM: its package is not to be had here")
        return 0
    print("| rows, precision | GPU | " + " | ".join(WEIGHTS) + " |")
    print("|---|---|" + "---:|" * len(WEIGHTS))
    for precision in args.precisions:
        for rows in args.rows:
            files = {w: convert(args, source, w, rows, precision) for w in WEIGHTS}
            for gpu in args.gpus:
                cells = []
                for weights, file in files.items():
                    text = f"{microseconds(args.ingot, file, gpu):.0f}"
                    if args.before and weights != "f32":
                        text += f" ({microseconds(args.before, file, gpu):.0f})"
                    cells.append(text)
                head = f"{rows}, {precision}" if gpu == args.gpus[0] else ""
                print(f"| {head} | {gpu} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
