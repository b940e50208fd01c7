#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles one unit of device code to a cubin and keeps what ptxas says of its kernels beside it
(CUBIN.ptxas), for the gates of tests/cuda.

compile_unit.py CUBIN COMMAND...     COMMAND is the whole call of nvcc, which writes CUBIN
"""

import pathlib
import subprocess
import sys


def main():
    cubin, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    done = subprocess.run([*command, "-Xptxas", "-v"], capture_output=True, text=True)
    # What is no report of ptxas is a warning or an error, and is shown.
    report, rest, in_report = [], [], False
    for line in (done.stdout + done.stderr).splitlines():
        in_report = line.startswith("ptxas info") or (in_report and line.startswith("    "))
        (report if in_report else rest).append(line)
    if rest:
        print("\n".join(rest), file=sys.stderr)
    if done.returncode:
        cubin.unlink(missing_ok=True)
        sys.exit(f"compile_unit: {' '.join(command)}: failed")
    pathlib.Path(f"{cubin}.ptxas").write_text("\n".join(report) + "\n")


main()
