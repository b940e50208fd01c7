#!/usr/bin/env python3
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
from testing import ingot_parser  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def shapes(a, source, golden):
    """Of the inputs, for formats that keep none."""
    if a.format not in ("mobile", "flat"):
        return []
    said = subprocess.run([a.ingot, "inspect", str(source), "--json"], capture_output=True)
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
    exporter = [sys.executable, str(HERE / "export_networks.py")]
    names = (
        a.only
        or subprocess.run(
            exporter + ["--list"], check=True, capture_output=True, text=True
        ).stdout.split()
    )
    ending = {"torchscript": ".pt", "mobile": ".ptl", "flat": ".ptl"}.get(a.format, ".pt2")
    folder = a.work / a.format
    missing = [name for name in names if not (folder / (name + ending)).exists()]
    if missing:
        subprocess.run(exporter + ["--out", str(folder), "--format", a.format, "--only", *missing])
    passed = failed = 0
    for name in names:
        source, golden, converted = (
            folder / (name + ending),
            folder / f"{name}.npz",
            folder / f"{name}.ingot",
        )
        if not source.exists() or not golden.exists():
            continue  # said with [skip] when it was not exported
        convert = subprocess.run(
            [a.ingot, "convert", str(source), "-o", str(converted)] + shapes(a, source, golden),
            capture_output=True,
            text=True,
        )
        check = convert
        if convert.returncode == 0:
            check = subprocess.run(
                [a.ingot, "check", str(converted), "--golden", str(golden)],
                capture_output=True,
                text=True,
            )
        good = check.returncode == 0
        said = (check.stdout + check.stderr).strip()
        print(
            f"{'ok    ' if good else '[fail]'} {name}: {said.splitlines()[0] if good and said else said}",
            flush=True,
        )
        converted.unlink(missing_ok=True)
        passed += good
        failed += not good
    print(f"networks: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
