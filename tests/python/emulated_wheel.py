#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A wheel of another processor, imported and run under qemu-user: the digit network converted and
run there has the file and the bits of the command line here.

  emulated_wheel.py WHEEL --root ROOT --numpy SITE --ingot INGOT --work FOLDER

ROOT is a system of that processor with python3, SITE a folder that has its NumPy (./dev show
aarch64-counts makes both)."""

import pathlib
import shutil
import sys
import zipfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, text_parser  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import numpy as np
import ingot
model = ingot.convert(sys.argv[1], sys.argv[2])
with model.session("cpu", threads=2, bindings={"n": 2}) as session:
    np.save(sys.argv[4], session.run({"image": np.load(sys.argv[3])})["digit"])
"""


def main():
    parser = text_parser(__doc__)
    parser.add_argument("wheel", type=pathlib.Path)
    for name in ("--root", "--numpy", "--ingot", "--work"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    options = parser.parse_args()
    work, site = options.work, options.work / "site"
    shutil.rmtree(work, ignore_errors=True)
    site.mkdir(parents=True)
    for folder in options.numpy.glob("numpy*"):
        (site / folder.name).symlink_to(folder.resolve())
    with zipfile.ZipFile(options.wheel) as wheel:
        wheel.extractall(site)
    (site / "ingot/bin/ingot").chmod(0o755)
    image, source = work / "image.npy", ROOT / "examples/digits/digits.onnx"
    np.save(image, np.random.default_rng(2).random((2, 1, 28, 28), dtype=np.float32))
    np.savez(work / "in.npz", image=np.load(image))

    files = ("--inputs", work / "in.npz", "--outputs", work / "out.npz")
    run(options.ingot, "convert", source, "-o", work / "here.ingot").succeeded()
    run(options.ingot, "run", work / "here.ingot", files).succeeded()
    processor = options.wheel.stem.rsplit("_", 1)[1]
    # the command line in the wheel is started by the emulated Python: binfmt or this wrapper
    program = site / "ingot/bin/ingot"
    program.rename(site / "ingot/bin/emulated")
    emulator = f'qemu-{processor} -L "{options.root.resolve()}"'
    program.write_text(f'#!/bin/sh\nexec {emulator} "{site.resolve()}/ingot/bin/emulated" "$@"\n')
    program.chmod(0o755)
    python = options.root / "usr/bin/python3"
    command = [f"qemu-{processor}", "-L", options.root, python, "-c", PROGRAM]
    files = [source, work / "there.ingot", image, work / "digit.npy"]
    run(command, files, env={"PYTHONPATH": str(site)}, seconds=600).succeeded()
    checks = Checks("emulated_wheel", verbose=True)
    digit, expected = np.load(work / "digit.npy"), np.load(work / "out.npz")["digit"]
    checks.check(digit.tobytes() == expected.tobytes(), f"{options.wheel.name}: the same bits")
    same = (work / "there.ingot").read_bytes() == (work / "here.ingot").read_bytes()
    checks.check(same, f"{options.wheel.name}: the same file")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
