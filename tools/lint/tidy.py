#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over what ships in a device (runtime/), with the checks of .clang-tidy; any finding
fails.

  tidy.py BUILD [--seconds S] [FILE...]      BUILD has compile_commands.json

A file that was clean is not looked at again until it, a header of runtime/ or the configuration
changes (BUILD/../tidy). What is not reached within S seconds (default 150) is a counted skip.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# One of the command line has no place.
FINDING = re.compile(r"^(?:(\S+:\d+:\d+): )?(?:warning|error): (.*)$", re.M)


def fingerprint(tool):
    digest = hashlib.sha256(subprocess.run([tool, "--version"], capture_output=True).stdout)
    for path in [
        ROOT / ".clang-tidy",
        pathlib.Path(__file__),
        *sorted(ROOT.glob("schema/*.fbs")),
        *sorted(ROOT.glob("runtime/**/*.h")),
    ]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def check(tool, build, path):
    # A compiler's own options, as GCC's, are none of clang-tidy's business.
    done = subprocess.run(
        [
            tool,
            "-p",
            build,
            "--quiet",
            "--extra-arg=-Wno-unknown-warning-option",
            "--extra-arg=-Wno-unused-command-line-argument",
            "--extra-arg=-std=c++17",
            str(path),
        ],
        capture_output=True,
        text=True,
    )
    findings = sorted({(place or str(path), text) for place, text in FINDING.findall(done.stdout)})
    return (
        findings
        if findings or done.returncode == 0
        else [(str(path), "clang-tidy failed: " + done.stderr.strip()[-300:])]
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    tool = shutil.which("clang-tidy")
    commands = args.build / "compile_commands.json"
    if not tool or not commands.exists():
        print(
            "[skip] clang-tidy: "
            + (
                "it is not installed"
                if not tool
                else f"{args.build} is not configured; ./dev build makes it"
            )
        )
        return 0
    known = {
        pathlib.Path(entry["directory"], entry["file"]).resolve()
        for entry in json.loads(commands.read_text())
    }
    files = sorted(f for f in known if ROOT / "runtime" in f.parents)
    if args.files:
        files = [pathlib.Path(f).resolve() for f in args.files]
    cache = args.build.parent / "tidy"
    cache.mkdir(exist_ok=True)
    common, began = fingerprint(tool), time.monotonic()
    clean = looked = late = 0
    findings = []

    def one(path):
        key = (
            cache
            / hashlib.sha256(
                (common + str(path.relative_to(ROOT))).encode() + path.read_bytes()
            ).hexdigest()
        )
        if key.exists():
            return path, []
        if time.monotonic() - began > args.seconds:
            return path, None
        found = check(tool, args.build, path)
        if not found:
            key.touch()
        return path, found

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for path, found in pool.map(one, files):
            looked += found is not None
            late += found is None
            clean += found == []
            findings += found or []
    for place, text in sorted(set(findings)):
        print(f"ERROR {place}: {text}")
    if late:
        print(
            f"[skip] clang-tidy: {late} of {len(files)} files were not reached in {args.seconds:.0f} s"
        )
    print(f"clang-tidy: {clean} of {looked} files clean")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
