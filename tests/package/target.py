#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runtime on an emulated processor beside this machine: the digit reader in floats and in
bytes gives the same hash, and a run allocates nothing, takes no lock and calls the system for
nothing but one wake and its waits, as the emulator (or strace) lists the calls.

target.py --name riscv64 --host TREE --tree TREE --emulator "qemu-riscv64 -L ROOT" --work FOLDER

A big-endian processor refuses weights by name; that is what is checked there."""

import argparse
import pathlib
import re
import shlex
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/firmware"))
import make_digits  # noqa: E402

BIG_ENDIAN = ("s390x",)
RUNNER, TRAPS = "tests/support/raw_runner", "tests/traps/trap_file"
# what a worker that starts late calls, on its own thread
THREAD_STARTS = {"rseq", "rt_sigprocmask", "set_robust_list"}
checks = Checks("target", verbose=True)
say = checks.check


def output_of(command):
    done = run(command, seconds=600)
    return done.returncode, done.output


def convert(ingot, work):
    make_digits.write_samples(work / "samples.npz")
    (work / "image.bin").write_bytes(struct.pack("<784f", *(i % 97 / 97 for i in range(784))))
    source = str(ROOT / "examples/digits/digits.onnx")
    bytes_of = ["--dtype", "int8", "--calibrate", str(work / "samples.npz")]
    files = {}
    for name, options in (("floats", []), ("bytes", bytes_of)):
        files[name] = str(work / f"{name}.ingot")
        run(ingot, "convert", source, "-o", files[name], "-q", options).succeeded()
    return files


def answer_of(command):
    """What the runner says, without what an emulator says of its processor."""
    _, said = output_of(command)
    answers = [line for line in said.splitlines() if line.startswith("output ")]
    return "\n".join(answers) or said


def same_answer(name, host, there, what, file, work):
    arguments = [file, "best", "2", str(work), "image=1x1x28x28"]
    mine = answer_of([host / RUNNER, *arguments])
    theirs = answer_of([*there, *arguments])
    if name in BIG_ENDIAN:
        say("this processor is big-endian" in theirs, f"{name}: {what} are refused: {theirs}")
    else:
        fine = mine.startswith("output") and theirs == mine
        say(fine, f"{name}: {what}: {theirs}" + (", as here" if fine else f", here {mine}"))


def calls_in_runs(listing):
    """Names of the system calls between the marks of each run but the first; how many runs."""
    inside, runs, calls = False, 0, []
    for call in re.findall(r"(?:^|\d+ |\] )([a-z_0-9]+)\(", listing, re.M):
        if call == "getppid":
            inside = not inside
            runs += inside
        elif inside and runs > 1:
            calls.append(call)
    return runs - 1, calls


def traps_hold(name, emulator, runner, what, file):
    for threads, allowed in ((1, set()), (2, {"futex", *THREAD_STARTS})):
        listed = [*emulator, "-strace"] if "qemu" in emulator[0] else ["strace", "-f", *emulator]
        command = [*listed, str(runner), file, str(threads)]
        code, said = output_of(command)
        runs, calls = calls_in_runs(said)
        others = sorted(set(calls) - allowed)
        say(
            code == 0 and runs == 20 and not others,
            f"{name}: {what}, threads {threads}: {runs} runs without an allocation, a lock or a "
            f"system call{' but wakes and waits' if allowed else ''}"
            + (f"; found {others or said[-300:]}" if others or code else ""),
        )
    code, said = output_of([*emulator, str(runner), file, "1", "break"])
    say(code == 1 and "allocations 20" in said, f"{name}: a run that allocates is seen: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--name", "--emulator"):
        parser.add_argument(option, required=True)
    for option in ("--host", "--tree", "--work"):
        parser.add_argument(option, required=True, type=pathlib.Path)
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    emulator = shlex.split(a.emulator)
    for what, file in convert(a.host / "bin/ingot", a.work).items():
        same_answer(a.name, a.host, [*emulator, str(a.tree / RUNNER)], what, file, a.work)
        if a.name not in BIG_ENDIAN:
            traps_hold(a.name, emulator, a.tree / TRAPS, what, file)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
