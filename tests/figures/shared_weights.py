#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two processes run one model at once: how much of its weights each is charged (PSS) against how
much is resident (RSS).

shared_weights.py --ingot BIN --work DIR [--model resnet50_224]
"""

import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from sources import convert_from_zoo  # noqa: E402
from testing import Checks, ingot_parser  # noqa: E402


def mapping(pid, path):
    """Sums of the mappings of `path` in kB: {Rss, Pss, Private_Dirty}."""
    sums, inside = {"Rss": 0, "Pss": 0, "Private_Dirty": 0}, False
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first = line.split(maxsplit=1)[0]
        if "-" in first and not first.endswith(":"):
            inside = line.endswith(str(path))
        elif inside and first.rstrip(":") in sums:
            sums[first.rstrip(":")] += int(line.split()[1])
    return sums


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--work", required=True)
    parser.add_argument("--model", default="resnet50_224")
    args = parser.parse_args()
    work = pathlib.Path(args.work).resolve()
    converted = convert_from_zoo(args.ingot, args.model, work)
    runs = [
        subprocess.Popen(
            [args.ingot, "bench", converted, "--threads", "1", "--seconds", "4", "--json"],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    time.sleep(2.5)
    both = [mapping(p.pid, converted) for p in runs]
    for p in runs:
        p.wait()
    for i, m in enumerate(both):
        print(
            f"process {i + 1}: weights resident {m['Rss'] / 1024:.1f} MiB, charged (PSS) {m['Pss'] / 1024:.1f} MiB, private dirty {m['Private_Dirty']} kB"
        )
    shared = all(
        m["Rss"] > 0 and m["Pss"] <= 0.55 * m["Rss"] and m["Private_Dirty"] == 0 for m in both
    )
    checks = Checks("share")
    checks.check(shared, "two processes have one copy of the weights")
    sys.exit(checks.finish())


main()
