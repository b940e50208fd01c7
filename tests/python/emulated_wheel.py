#!/usr/bin/env python3
"""A wheel of another processor, imported and run under qemu-user: the digit network converted and
run there has the file and the bits of the command line here.

  emulated_wheel.py WHEEL --root ROOT --numpy SITE --ingot INGOT --work FOLDER

ROOT is a system of that processor with python3, SITE a folder that has its NumPy (./dev show
aarch64-counts makes both)."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import numpy as np

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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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

    def ingot(*words):
        subprocess.run([options.ingot, *words], check=True, capture_output=True)

    ingot("convert", source, "-o", work / "here.ingot")
    ingot("run", work / "here.ingot", "--inputs", work / "in.npz", "--outputs", work / "out.npz")
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
    subprocess.run(
        [*command, *files], check=True, env={**os.environ, "PYTHONPATH": str(site)}, timeout=600
    )
    checks = {
        "the same bits": np.load(work / "digit.npy").tobytes()
        == np.load(work / "out.npz")["digit"].tobytes(),
        "the same file": (work / "there.ingot").read_bytes() == (work / "here.ingot").read_bytes(),
    }
    for text, holds in checks.items():
        print(f"{options.wheel.name}: {text}: {holds}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
