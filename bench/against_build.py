#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of the command line on the same .ingot files, interleaved: how long a run takes now
over what it took before, per network, with its spread.

  against_build.py --ingot NEW --before OLD [--rounds N] [--seconds S] [--threads N] FILE...

A round times each file with the one build and then with the other, in turns of who is first. The
table has the median of each build, and of the rounds' ratios the median, the lowest and highest
tenth. Quiet machine: nothing else may run.
"""

import argparse
import json
import pathlib
import statistics
import subprocess


def time_run(binary, file, args):
    done = subprocess.run(
        [binary, "bench", file, "--json", "--device", "cpu"]
        + ["--seconds", str(args.seconds), "--threads", str(args.threads)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["median_ms"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--before", required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    print(f"{'network':32s} {'before ms':>10s} {'now ms':>10s}  now / before (10 % .. 90 %)")
    medians = []
    for file in sorted(args.files):
        before, now = [], []
        for number in range(args.rounds):
            turns = [(args.before, before), (args.ingot, now)]
            for binary, times in turns if number % 2 else reversed(turns):
                times.append(time_run(binary, file, args))
        ratios = sorted(n / b for n, b in zip(now, before))
        low, high = ratios[len(ratios) // 10], ratios[-1 - len(ratios) // 10]
        medians.append(statistics.median(ratios))
        print(
            f"{file.stem:32s} {statistics.median(before):10.3f} {statistics.median(now):10.3f}"
            f"  {medians[-1]:.3f} ({low:.3f} .. {high:.3f})",
            flush=True,
        )
    above = sum(m > 1.02 for m in medians)
    print(
        f"{len(medians)} networks: median ratio {statistics.median(medians):.3f}, "
        f"largest {max(medians):.3f}, {above} above 1.02"
    )


if __name__ == "__main__":
    main()
