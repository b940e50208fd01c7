#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each different instruction of the networks of tests/models/models.tsv by itself, on the emulated
GPU compared with the CPU: full extents, random numbers, threads in a random order, the same bits
(layer_runner). What operator, attributes and operand types have in common runs once for all
networks.

  run_layers.py --ingot BIN --work DIR [--small] [name ...]

Large networks; --small: the small ones too, which other tests run whole in every order. --work:
where stage models left its files; what is not there is made. The closing line counts networks.
"""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from convert_once import converted  # noqa: E402
from sources import read_rows  # noqa: E402
from testing import Checks, ingot_parser, run, work_folder  # noqa: E402

ROW = "{name:32} {instructions:>12} {seen:>12} {run:>5} {left:>5} {seconds:>8}  {verdict}"


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("names", nargs="*", default=[])
    args = parser.parse_intermixed_args()
    runner = pathlib.Path(args.ingot).resolve().parents[1] / "tests/conformance/layer_runner"
    os.makedirs(args.work, exist_ok=True)
    tally, total = Checks("layers", verbose=True), {"run": 0, "left": 0}
    print(
        ROW.format(
            name="model",
            instructions="instructions",
            seen="seen before",
            run="run",
            left="left",
            seconds="seconds",
            verdict="",
        )
    )
    with work_folder() as folder:
        for row in read_rows(args.names):
            if row["small"] == "1" and not args.small and not args.names:
                continue
            file = converted(row, args.ingot, args.work, tally)
            if not file:
                continue
            began = time.monotonic()
            done = run(
                [
                    runner,
                    file.path,
                    file.inputs,
                    folder / "seen",
                    *file.shapes,
                ]
            )
            said = [line for line in done.stdout.splitlines() if line.startswith("layers {")]
            figures = (
                json.loads(said[0][7:])
                if said
                else {"instructions": "", "seen": "", "run": "", "left": ""}
            )
            passed = done.returncode == 0 and bool(said)
            tally.passed += passed
            tally.failed += not passed
            for key in total:
                total[key] += figures[key] or 0
            verdict = (
                "[ok]"
                if passed
                else "[fail] " + (done.stderr + ("" if said else done.stdout)).strip()[-300:]
            )
            print(
                ROW.format(
                    name=file.name,
                    verdict=verdict,
                    seconds=f"{time.monotonic() - began:.1f}",
                    **{k: figures[k] for k in ("instructions", "seen", "run", "left")},
                ),
                flush=True,
            )
    print(f"different instructions: {total['run']} bit for bit, {total['left']} left to the CPU")
    sys.exit(tally.finish() or not total["run"])


if __name__ == "__main__":
    main()
