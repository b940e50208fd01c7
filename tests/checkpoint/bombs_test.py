#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small files that ask for much, made here: archives that unpack to a thousand times their size,
archives in archives, members that lie over each other, lists that share, HDF5 groups in circles.

  bombs_test.py INGOT SOURCE_DIR [--keep DIR] [--only NAME]

Each is inspected, extracted and given as weights. What is asked of the command: an exit code of the
list, one line on stderr where it refuses, no crash, memory in proportion to the file (so many times
and a constant; what an extraction writes may lie in memory once), and no more processor time than a
constant, which is a guard against what never ends and no measurement.
"""

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

from bombs import MAKERS, MEGABYTE, MEMBER

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, work_folder  # noqa: E402

FLOOR = 384 * MEGABYTE  # elements of a file's weights may take 256, its metadata 64
SECONDS = 120


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def ask(command):
    """Exit code, texts, and the most memory that was resident."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, preexec_fn=limits)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read().decode("utf-8", "replace"), used.ru_maxrss * 1024


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("ingot")
    arguments.add_argument("source", type=pathlib.Path)
    arguments.add_argument("--keep", type=pathlib.Path)
    arguments.add_argument("--only")
    a = arguments.parse_args()
    net = a.source / "examples" / "digits" / "digits.onnx"
    sanitized = ask([a.ingot, "--version"])[2] > 200 * MEGABYTE  # a sanitizer's memory is its own
    checks = Checks("bombs")
    with work_folder() as folder:
        folder = a.keep or folder
        folder.mkdir(parents=True, exist_ok=True)
        for name, make in MAKERS.items():
            if a.only and a.only not in name:
                continue
            path = folder / name
            made = os.fork()  # what Python takes for it would count as the command's
            if made == 0:
                make(path)
                os._exit(0)
            os.waitpid(made, 0)
            size = path.stat().st_size
            out = folder / "out.safetensors"
            for command in (
                ["inspect", path],
                ["inspect", path, "--json"],
                ["extract", path, "-o", out],
                ["convert", path, "-o", folder / "out.ingot"],
                ["convert", net, "--weights", path, "-o", folder / "out.ingot"],
            ):
                code, said, memory = ask([a.ingot, *command])
                written = out.stat().st_size if out.exists() else 0
                most = (
                    FLOOR + 32 * size + 2 * max(written, MEMBER if command[0] != "inspect" else 0)
                )
                problems = []
                if code not in (0, 1, 2, 3, 4, 5, 7):
                    problems.append(f"exit code {code}")
                lines = [line for line in said.splitlines() if line.startswith("ingot: ")]
                if code and len(lines) != 1:
                    problems.append(f"{len(lines)} lines of errors: {said[:300]!r}")
                if memory > most and not sanitized:
                    problems.append(f"{memory >> 20} MB of memory, at most {most >> 20}")
                words = " ".join(os.path.basename(str(w)) for w in command)
                if checks.report(words, "; ".join(problems)) and (a.keep or a.only):
                    said = said[:160].strip()
                    print(f"{size:10} bytes {memory >> 20:5} MB exit {code} {words}: {said}")
                for made in (out, folder / "out.ingot"):
                    made.unlink(missing_ok=True)
            if not a.keep:
                path.unlink()
    return checks.finish()


if __name__ == "__main__":
    raise SystemExit(main())
