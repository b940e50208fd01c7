# SPDX-License-Identifier: Apache-2.0
"""Rounds of one process beside others: each line of stdin, a number of seconds, is answered with
what a run took meanwhile."""

import sys
import time

import numpy as np


def answer_rounds(run, say):
    """Runs `run()` a fifth of the seconds unmeasured, then for all of them and at least five times;
    say(median_ms=, p99_ms=, runs=)."""
    for line in sys.stdin:
        times, seconds = [], float(line)
        warm = time.perf_counter() + seconds / 5
        while time.perf_counter() < warm:
            run()
        end = time.perf_counter() + seconds
        while len(times) < 5 or time.perf_counter() < end:
            began = time.perf_counter()
            run()
            times.append((time.perf_counter() - began) * 1e3)
        say(
            median_ms=float(np.median(times)),
            p99_ms=float(np.quantile(times, 0.99)),
            runs=len(times),
        )
