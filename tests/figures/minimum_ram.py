#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Minimum RAM (--min-ram): networks converted whole and in patches, both for a microcontroller:
arena, multiply-adds, bytes of the program in flash, and whether every output has the same bits.

  minimum_ram.py --ingot BIN --work DIR [--boards A,B]

--boards: the last lines, one network built as firmware and run in QEMU (mps2-an386), where compiler
and emulator are there. Networks of shared material; where it is absent, nothing is measured."""

import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import shared  # noqa: E402

SHARED = shared.SHARED / "models"
TINY = "mlcommons__tiny/"
# name, file, options, whether it has to reach the aim
NETWORKS = (
    ("person, gray, int8", "tensorflow__tflite-micro/person_detect.tflite", (), True),
    ("person, f32", TINY + "vww_96_float.tflite", ("--dim", "N=1"), True),
    ("image, f32", TINY + "pretrainedResnet.tflite", ("--dim", "N=1"), True),
    ("MoveNet, int8", "google-coral__test_data/movenet_single_pose_lightning_ptq.tflite", (), True),
    ("image, int8", TINY + "pretrainedResnet_quant.tflite", ("--dim", "N=1"), False),
    ("MobileNetV1 0.25, int8", "google-coral__test_data/mobilenet_v1_0.25_128_quant.tflite",
     (), False),
    ("person, color, int8", TINY + "vww_96_int8.tflite", ("--dim", "N=1"), False),
    ("keyword, int8", TINY + "kws_ref_model.tflite", ("--dim", "N=1"), False),
)  # fmt: skip
ON_BOARDS = "person, gray, int8"
MOST_RAM, MOST_WORK = 0.6, 2.0  # the aim
SAID = re.compile(r"arena (\d+) of (\d+) bytes \(.*\), multiply-adds (\d+) of (\d+)")


def call(*command):
    return run(*command).succeeded().output  # an emulator writes to the second


def convert(ingot, source, out, name, *options):
    exact = ("--exact-to", "builtin") if name.endswith("int8") else ()
    call(ingot, "convert", source, "-o", out, "-q", "--target", "mcu", *exact, *options)
    return json.loads(call(ingot, "inspect", "--json", out))


def make_inputs(ports, path):
    import numpy as np

    generator = np.random.default_rng(5)
    arrays = {}
    for port in ports:
        if port["dtype"] == "f32":
            arrays[port["name"]] = generator.standard_normal(port["dims"]).astype(np.float32)
        else:
            bits = generator.integers(0, 256, port["dims"]).astype(np.uint8)
            arrays[port["name"]] = bits.view(np.int8) if port["dtype"] == "i8" else bits
    np.savez(path, **arrays)


def outputs(ingot, file, inputs):
    import numpy as np

    out = file.with_suffix(".npz")
    call(ingot, "run", file, "--inputs", inputs, "--outputs", out, "-q")
    with np.load(out) as made:
        return {key: made[key].tobytes() for key in made.files}


def measure(ingot, work, name, source, options):
    stem = re.sub(r"\W+", "_", name)
    whole, least = work / f"{stem}_whole.ingot", work / f"{stem}_least.ingot"
    before = convert(ingot, source, whole, name, *options, "--winograd", "off")
    after = convert(ingot, source, least, name, *options, "--min-ram")
    make_inputs(before["inputs"], work / "inputs.npz")
    answers = [outputs(ingot, file, work / "inputs.npz") for file in (whole, least)]
    said = SAID.search(after["metadata"]["entries"].get("ingot.min_ram", ""))
    flash = after["program_bytes"] - before["program_bytes"]
    return said and [*map(int, said.groups()), flash], answers[0] == answers[1], least


def show_board(ingot, work, board, file):
    """False: the firmware's bytes are others."""
    folder = work / f"firmware-{board}"
    shutil.rmtree(folder, ignore_errors=True)
    if not shutil.which("qemu-system-arm") or not shutil.which("arm-none-eabi-g++"):
        print(f"[skip] {board}: qemu-system-arm or arm-none-eabi-g++ is absent")
        return True
    call(ingot, "firmware", file, "-o", folder, "--board", board)
    text = call("make", "-s", "-j2", "-C", folder, "run")
    found = re.search(r"(\d+) of (\d+) bytes as on the host; arena (\d+) bytes", text)
    print(f"{board}: {found.group(0) if found else text.strip()}")
    return bool(found) and found.group(1) == found.group(2)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--boards", default="mps2-an386")
    args = parser.parse_args()
    ingot, work = args.ingot.resolve(), args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if not SHARED.exists():
        print("[skip] minimum RAM: there is no shared material (MLPerf Tiny's networks)")
        return 0
    print(f"{'network':24} {'whole':>10} {'in patches':>10} {'':>7} {'work':>6} {'flash':>8}")
    reached, checks = 0, Checks("minimum_ram")
    for name, file, options, has_to in NETWORKS:
        numbers, equal, least = measure(ingot, work, name, SHARED / file, options)
        bits = "the same bits" if equal else "OTHER BITS"
        if not numbers:
            print(f"{name:24} nothing to win, {bits}")
            checks.check(equal and not has_to, name, f"nothing to win, {bits}")
            continue
        ram, whole, products, whole_products, flash = numbers
        good = ram <= MOST_RAM * whole and products <= MOST_WORK * whole_products
        reached += good
        checks.check(equal and (good or not has_to), name, f"above the aim, or {bits}")
        print(
            f"{name:24} {whole:10,} {ram:10,} {ram / whole:7.1%} {products / whole_products:6.2f}"
            f" {flash:+8,} {bits}{'' if good else ', above the aim'}"
        )
        if name == ON_BOARDS:
            on_boards = least
    for board in filter(None, args.boards.split(",")):
        checks.check(show_board(ingot, work, board, on_boards), f"{ON_BOARDS} on {board}")
    print(f"{reached} of {len(NETWORKS)} within 60 % of the RAM and twice the work")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
