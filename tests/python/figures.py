#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs beside the C interface, and memory over many calls.

    PYTHON tests/python/figures.py overhead --call-time build/gcc/tests/python/call_time
    PYTHON tests/python/figures.py memory [--calls 1000000]

overhead   the quickest of the rounds, beside the C program: both copy the input in, run on
           one thread, and copy the output out; the limit is 2 us a call
memory     resident memory after the first tenth of the calls and at the end"""

import argparse
import asyncio
import pathlib
import subprocess
import sys
import time

import numpy as np

import ingot

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_US = 2.0
CALLS, ROUNDS = 500, 60
PAGE_SLACK_KB = 512  # what allocators keep and give back from round to round


def call_ns(function, calls):
    begin = time.perf_counter_ns()
    for _ in range(calls):
        function()
    return (time.perf_counter_ns() - begin) / calls


def overhead(args):
    failed = False
    print(f"{'':28}   C us  Python us  difference us (limit {LIMIT_US})")
    for name, source in (
        ("tests/cli/data/linear.onnx", ROOT / "tests/cli/data/linear.onnx"),
        ("examples/digits/digits.onnx", ROOT / "examples/digits/digits.onnx"),
    ):
        model = ingot.convert(source)
        session = model.session("cpu", 1, bindings={s.name: 1 for s in model.symbols})
        array = np.zeros(session.input(0).shape, model.inputs[0].dtype)
        feed = {model.inputs[0].name: array}
        ways = {
            "execute()": session.execute,
            "run({name: array})": lambda: session.run(feed),
            "run(array)": lambda: session.run(array),
        }
        times = {way: [] for way in ways}
        base = {"plain": [], "copied": []}
        for _ in range(ROUNDS):
            words = [str(args.call_time), model.path, str(CALLS)]
            plain, copied = map(float, subprocess.check_output(words, text=True).split())
            base["plain"].append(plain)
            base["copied"].append(copied)
            for way, function in ways.items():
                times[way].append(call_ns(function, CALLS))
        for way in ways:
            c = min(base["plain" if way == "execute()" else "copied"]) / 1e3
            python = min(times[way]) / 1e3
            failed |= python - c > LIMIT_US
            print(f"{name[-18:]} {way:20} {c:6.2f} {python:9.2f} {python - c:9.2f}")
    return failed


def resident_kb():
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS in /proc/self/status")


def memory(args):
    model = ingot.convert(ROOT / "tests/cli/data/linear.onnx")
    x = np.ones((1, 4), np.float32)
    aligned, bad = ingot.empty((1, 4)), np.ones((1, 4))
    aligned[:] = x
    session = model.session("cpu", 1, asynchronous=True)

    def refused():
        try:
            session.run(bad)
        except ingot.CallerError:
            return
        raise AssertionError("float64 was taken")

    def bound():
        session.bind_input("x", aligned)
        session.run()
        session.bind_input("x", None)

    def opened():
        with model.session("cpu", 1) as other:
            other.run(x)

    async def awaited(calls):
        for _ in range(calls):
            await session.run_async(x)

    failed = False
    for name, function, calls in (
        ("run", lambda: session.run({"x": x}), args.calls),
        ("bound", bound, args.calls),
        ("refused", refused, args.calls // 10),
        ("views", lambda: (session.input(0), session.output(0)), args.calls),
        ("sessions", opened, args.calls // 100),
        ("awaited", None, args.calls // 10),
    ):
        marks = []
        for part in (calls // 10, calls - calls // 10):
            if function is None:
                asyncio.run(awaited(part))
            else:
                for _ in range(part):
                    function()
            marks.append(resident_kb())
        grown = marks[1] - marks[0]
        failed |= grown > PAGE_SLACK_KB
        print(f"{name:10} {calls:9,} calls: {marks[0]:,} kB, then {marks[1]:,} kB ({grown:+} kB)")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("figure", choices=("overhead", "memory"))
    parser.add_argument("--call-time", type=pathlib.Path)
    parser.add_argument("--calls", type=int, default=1_000_000)
    args = parser.parse_args()
    sys.exit(1 if {"overhead": overhead, "memory": memory}[args.figure](args) else 0)


main()
