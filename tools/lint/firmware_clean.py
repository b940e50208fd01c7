#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses in runtime/ and kernels/ what a device must not need: streams, strings, containers,
exceptions, thread_local, the heap."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORBIDDEN = [
    (
        re.compile(
            r"#\s*include\s*<(iostream|sstream|fstream|string|vector|map|unordered_map|functional|memory|stdexcept|mutex|"
            r"condition_variable|regex|future)>"
        ),
        "a host header",
    ),
    (re.compile(r"\b(throw|try|catch)\b\s*[({;]"), "an exception"),
    (re.compile(r"\bthread_local\b"), "thread_local"),
    (re.compile(r"\bdynamic_cast\b|\btypeid\b"), "RTTI"),
    (re.compile(r"\b(abort|exit)\s*\("), "aborting"),
]
# The C++ wrappers and the parts that only exist on a host with an operating system: the emulator is
# of the tests.
ALLOWED = (
    "runtime/include/ingot/ingot.hpp",
    "runtime/include/ingot/pipeline.hpp",
    "runtime/include/ingot/views.hpp",
    "kernels/cuda/emulate/",
)


def main():
    files = subprocess.run(
        [
            "git",
            "ls-files",
            "runtime/*.h",
            "runtime/*.cpp",
            "runtime/*.inl",
            "kernels/*.h",
            "kernels/*.cpp",
            "kernels/*.inl",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    wrong = 0
    for f in files:
        if f.startswith(ALLOWED) or "/bench/" in f:
            continue
        for number, line in enumerate((ROOT / f).read_text(errors="replace").splitlines(), 1):
            code = "" if line.lstrip().startswith("*") else line.split("//")[0]
            for pattern, what in FORBIDDEN:
                if pattern.search(code):
                    print(f"{f}:{number}: {what}: {line.strip()[:100]}")
                    wrong += 1
    print(f"firmware_clean: {len(files)} files, {wrong} findings")
    sys.exit(1 if wrong else 0)


main()
