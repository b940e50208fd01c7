#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether some programs together launch every kernel of device code, by what the fake driver
counted when they ran with FAKE_CUDA_REPORT. The same programs are what ./dev gpu lets the vendor's
sanitizers watch.

  kernel_coverage.py --kernels budget.tsv REPORT...
"""

import argparse
import pathlib
import sys


# What only the emulator's programs launch, with the reason. One that is launched goes from here.
NOT_LAUNCHED = {}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", type=pathlib.Path, required=True)
    parser.add_argument("reports", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    lines = args.kernels.read_text().splitlines()
    every = {line.split("\t")[0] for line in lines if line.startswith("ingot_")}
    launched = set()
    for report in args.reports:
        if not report.exists():
            sys.exit(f"kernel_coverage: {report} is not there: run the program that writes it")
        for line in report.read_text().splitlines():
            if line.startswith("kernel:"):
                launched.add(line.split(":")[1].split()[0])
    print(f"{len(launched & every)} of {len(every)} kernels launched")
    for name in sorted(NOT_LAUNCHED):
        print(f"not launched: {name}: {NOT_LAUNCHED[name]}")
    missing, needless = every - launched - set(NOT_LAUNCHED), launched & set(NOT_LAUNCHED)
    for name in sorted(missing):
        print(f"[fail] {name}: no program launches it")
    for name in sorted(needless):
        print(f"[fail] {name}: launched, and listed as one that is not")
    sys.exit(1 if missing or needless or not every else 0)


main()
