#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two threads where another program takes half of one of two processors, in slices of 1, 5 and 20
ms: milliseconds of a run over the ideal, which is one thread's time by 1.5 processors.

  shared_processor.py --ingot BIN FILE.ingot [--seconds 3] [--rounds 3]

Exits 1 where a median is beyond 1.15 times the ideal, or slower than one thread.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

LIMIT = 1.15


def occupy(milliseconds):
    """On the last processor, on and off in turn, for ever."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    while True:
        end = time.monotonic() + milliseconds / 1000
        while time.monotonic() < end:
            pass
        time.sleep(milliseconds / 1000)


def median_ms(args, threads):
    words = [args.ingot, "bench", args.file, "--threads", str(threads), "--json", "-q"]
    words += ["--seconds", str(args.seconds)]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["median_ms"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--occupy", type=float, help=argparse.SUPPRESS)
    parser.add_argument("file")
    args = parser.parse_args()
    if args.occupy:
        occupy(args.occupy)
    if len(os.sched_getaffinity(0)) != 2:
        print("[skip] half of one of two processors: not two processors here")
        return 0
    missed = False
    for slices in (1, 5, 20):
        own = [sys.executable, __file__, "--ingot", args.ingot, "--occupy", str(slices), args.file]
        other = subprocess.Popen(own)
        try:
            times = [(median_ms(args, 1), median_ms(args, 2)) for _ in range(args.rounds)]
        finally:
            other.kill()
            other.wait()
        one, two = (statistics.median(each) for each in zip(*times))
        share = two / (one / 1.5)
        is_late = share > LIMIT or two > one
        missed = missed or is_late
        print(
            f"slices of {slices:2} ms: one thread {one:.1f} ms, two {two:.1f} ms, {share:.2f} of "
            f"the ideal share{' **missed**' if is_late else ''}",
            flush=True,
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
