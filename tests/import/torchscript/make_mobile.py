#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The committed programs (data/*.pt) as PyTorch Mobile keeps them, into data/mobile: NAME.ptl, a
zip archive with bytecode and without the code beside it, and NAME.ptf, the same as FlatBuffers.

  make_mobile.py [NAME ...]
"""

import pathlib
import sys
import warnings

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "frameworks/torch"))
from export_networks import without_code  # noqa: E402


def main():
    warnings.simplefilter("ignore")
    out = HERE / "data/mobile"
    out.mkdir(exist_ok=True)
    names = sys.argv[1:] or sorted(path.stem for path in (HERE / "data").glob("*.pt"))
    for name in names:
        try:
            program = torch.jit.load(HERE / f"data/{name}.pt")
            program._save_for_lite_interpreter(str(out / f"{name}.ptl"))
            program._save_for_lite_interpreter(str(out / f"{name}.ptf"), _use_flatbuffer=True)
            without_code(out / f"{name}.ptl")
        except RuntimeError as error:
            print(f"[skip] {name}: {str(error).splitlines()[0][:150]}")
            for path in out.glob(f"{name}.pt?"):
                path.unlink()


main()
