#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The streaming wake words of tests/models/models.tsv in a microcontroller's core: runs in a row,
and again after a reset, have the bits of the whole runtime, outputs and states.

  streams.py --ingot BIN --work DIR      packages lie in DIR; micro_runner is built beside BIN"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/models")]
from sources import fetch, read_rows  # noqa: E402
from testing import Checks, ingot_parser, run  # noqa: E402

WAKE = "pypi:pymicro-wakeword"


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    args = parser.parse_args()
    runner = args.ingot.parents[1] / "tests/micro/micro_runner"
    checks = Checks("streams of microcontrollers")
    rows = [r for r in read_rows() if r["source"].startswith(WAKE)]
    checks.check(len(rows) >= 4, "models.tsv has the wake words")
    for row in rows:
        source = fetch(row["source"].partition(":")[2], args.work)
        if not source:
            checks.skip(f"{row['source']} is not to be had")
            continue
        out = args.work / f"{row['name']}_mcu.ingot"
        done = run(args.ingot, "convert", source, "-o", out, "-q", "--target", "mcu",
                   *row["options"].split())  # fmt: skip
        inputs = row["inputs"] or ""
        steps = re.search(r"steps=(\d+)", inputs).group(1)
        low, high = (re.findall(r"=(-?\d+)\.\.(-?\d+)", inputs) or [("-128", "127")])[0]
        if not done.returncode:
            done = run(runner, out, steps, low, high)
        checks.check(not done.returncode, row["name"], done.output)
        print(f"{row['name']}: {done.output.splitlines()[-1] if done.output else ''}")
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
