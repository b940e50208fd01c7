#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts networks that export_networks.py wrote and compares them with what eager torch computed.

  run_networks.py --ingot PATH --work DIR [--only NAME ...]
      [--format pt2|decomposed|torchscript|mobile|flat]

Exports with the Python that runs this one, so run it in an environment that has torch, torchvision
and timm.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np
from export_networks import FORMATS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, ingot_parser, run  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def shapes(a, source, golden):
    """Of the inputs, for formats that keep none."""
    if a.format not in ("mobile", "flat"):
        return []
    said = run(a.ingot, "inspect", source, "--json")
    parameters = json.loads(said.stdout or "{}").get("program", {}).get("parameters", [])
    with np.load(golden) as arrays:
        dims = [arrays[name].shape for name in arrays if name.startswith("in")]
    options = []
    for parameter, shape in zip(parameters, dims):
        options += ["--input-shape", f"{parameter['name']}={'x'.join(map(str, shape))}"]
    return options


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--format", choices=FORMATS, default="pt2")
    parser.add_argument("--only", nargs="+")
    a = parser.parse_args()
    exporter = [sys.executable, HERE / "export_networks.py"]
    names = a.only or run(exporter, "--list").succeeded().stdout.split()
    ending = {"torchscript": ".pt", "mobile": ".ptl", "flat": ".ptl"}.get(a.format, ".pt2")
    folder = a.work / a.format
    missing = [name for name in names if not (folder / (name + ending)).exists()]
    if missing:
        subprocess.run([*exporter, "--out", folder, "--format", a.format, "--only", *missing])
    checks = Checks("networks", verbose=True)
    for name in names:
        source, golden, converted = (
            folder / (name + ending),
            folder / f"{name}.npz",
            folder / f"{name}.ingot",
        )
        if not source.exists() or not golden.exists():
            continue  # said with [skip] when it was not exported
        done = run(a.ingot, "convert", source, "-o", converted, shapes(a, source, golden))
        if not done.error:
            done = run(a.ingot, "check", converted, "--golden", golden)
        checks.report(name, done.error)
        converted.unlink(missing_ok=True)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
