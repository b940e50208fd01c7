#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What four changes of GPU kernels are predicted to gain, each alone, and what was counted.

  gpu_levers.py --ingot BIN --levers BIN --counts BIN --work DIR [--gpus h200,orin-nano]
                [--batches 1,8,32] [--precisions fast,fp16] [--networks resnet50_224,minilm_l6]

--levers is tests/cuda/gpu_levers, which predicts a file with all four and without each;
--counts is test_cuda_products, whose cases "levers" count in the emulator. Loads in flight are
those of the disassembly, of rows as they are and of a copy of the sources with one load of a
thread (needs ./dev cuda-toolkit 11.8). Without the sum in the last block a product keeps the
parts that it is cut into."""

import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/figures"))
sys.path.insert(0, str(ROOT / "tests/cuda"))
import gpu_cost  # noqa: E402
import loops_gate  # noqa: E402
from testing import ingot_parser, run, work_folder  # noqa: E402

# what is wanted of each, and of which networks and batches
LEVERS = {
    "early weights": ("1.10 to 1.25 at batch 1", lambda network, batch: batch == 1),
    "eight loads": ("1.2 to 1.3 of MiniLM", lambda network, batch: network == "minilm_l6"),
    "128x128": ("1.2 to 1.5 from batch 8", lambda network, batch: batch >= 8),
    "last block": ("any gain", lambda network, batch: True),
}
ROWS = ("norm_rows", "norm_long", "softmax_rows", "softmax_long", "softmax_columns")
NVCC = ROOT / f"build/cuda/{loops_gate.COMPILER}/bin/nvcc"
# cmake/IngotCuda.cmake has the same
OPTIONS = (
    f"-std=c++17 -O3 -fmad=false --expt-relaxed-constexpr -diag-suppress 186 "
    f"-allow-unsupported-compiler -arch=sm_{loops_gate.ARCHITECTURE} -cubin -c"
).split()
DEFAULTS = {
    "gpus": "h200,orin-nano",
    "batches": "1,8,32",
    "precisions": "fast,fp16",
    "networks": "resnet50_224,minilm_l6",
}
COLUMNS = ["network", "precision", "GPU", "batch", "ms", *LEVERS, "launches", "tiles", "sums"]
LOADS = "constexpr int kLoadsUnderWay = 8;"


def predictions(levers, gpu, file):
    """Of all changes and without each: (ns, launches, launches of 128x128, launches of sums)."""
    lines = run(levers, gpu, file).succeeded().stdout.splitlines()
    return [[float(number) for number in line.split("\t")[2:]] for line in lines]


def predicted_row(args, name, precision, batch, file, gpu):
    rows = predictions(args.levers, gpu, file)
    (ns, launches, large, sums), (*_, old_sums) = rows[0], rows[4]
    gains = [f"{without[0] / ns:.2f}" for without in rows[1:]]
    counts = f"{rows[4][1]:.0f} to {launches:.0f}", f"{large:.0f}", f"{old_sums:.0f} to {sums:.0f}"
    return [name, precision, gpu, batch, f"{ns / 1e6:.3f}", *gains, *counts]


def predicted(args):
    rows = []
    for name in args.networks:
        source = gpu_cost.source_of(name, args.work)
        if source is None:
            print(f"[skip] {name}: its package or script is not to be had here")
            continue
        for precision in args.precisions:
            for batch in map(int, args.batches):
                file = gpu_cost.convert(args, name, source, batch, precision)
                rows += [
                    predicted_row(args, name, precision, batch, file, gpu) for gpu in args.gpus
                ]
    return rows


def loads_of(folder, loads):
    """{kernel: loads in flight} of norms and softmax, with `loads` of a thread."""
    tree = folder / f"with_{loads}"
    shutil.copytree(ROOT / "kernels", tree / "kernels")
    rows = tree / "kernels/cuda/device/rows.cuh"
    text = rows.read_text()
    if LOADS not in text:
        sys.exit(f"gpu_levers: {rows.name} has no '{LOADS}'")
    rows.write_text(text.replace(LOADS, LOADS.replace("8", str(loads))))
    unit, cubin = tree / "kernels/cuda/unit/tensors.cu", tree / "tensors.cubin"
    run(NVCC, *OPTIONS, f"-I{tree}", f"-I{ROOT}", unit, "-o", cubin).succeeded()
    code = loops_gate.kernels_of(cubin)
    return {name: loops_gate.measure(code[f"ingot_{name}"])[1] for name in ROWS}


def print_counts(counts):
    for line in run(counts, "-tc=levers:*").succeeded().stdout.splitlines():
        if line.startswith("counted: "):
            print(line)
    if NVCC.exists():
        with work_folder() as folder:
            one, eight = (loads_of(folder, loads) for loads in (1, 8))
        text = ", ".join(f"{name} {one[name]} to {eight[name]}" for name in ROWS)
        print(f"counted: loads in flight: {text}")
    else:
        print(f"[skip] loads in flight: no CUDA {loops_gate.COMPILER}")
    loops = loops_gate.read_table()
    for name in sorted(n for n in loops if n.endswith("_128x128")):
        wide = loops[name.replace("128x128", "128x64")][0]
        print(
            f"counted: instructions for each product: {name.removeprefix('ingot_')} "
            f"{loops[name][0]}, 128x64 {wide}"
        )


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--levers", required=True, type=pathlib.Path)
    parser.add_argument("--counts", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    for name, default in DEFAULTS.items():
        parser.add_argument(f"--{name}", default=default, type=lambda text: text.split(","))
    args = parser.parse_args()
    rows = [[str(cell) for cell in row] for row in predicted(args)]
    print("predicted: ms with all four, and how many times longer without each. Counts: launches")
    print("without and with sums in the last block, of tiles of 128x128, of sums of parts")
    for cells in (COLUMNS, ["---"] * 3 + ["---:"] * (len(COLUMNS) - 3), *rows):
        print("| " + " | ".join(cells) + " |")
    for i, (lever, (wanted, is_meant)) in enumerate(LEVERS.items()):
        for gpu in args.gpus:
            gains = [float(r[5 + i]) for r in rows if r[2] == gpu and is_meant(r[0], int(r[3]))]
            if gains:
                print(f"{lever}, {gpu}: {min(gains):.2f} to {max(gains):.2f}; wanted: {wanted}")
    print_counts(args.counts)


if __name__ == "__main__":
    main()
