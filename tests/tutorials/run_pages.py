#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the tutorials and the "coming from" pages show, each page in an empty folder, in order.

  run_pages.py --ingot BIN --prefix DIR [--site DIR] --work DIR [PAGE..]     the last line counts

A fenced block says behind its language what becomes of it:

  ```sh                     run by bash, ends the page where a command fails
  ```sh skip="a Jetson"     not run here, counted: what it needs
  ```text output            compared with what the block above printed: ... stands for anything,
                            a line of ... for any lines
  ```c file=main.c          written (cpp, python, cmake and others likewise); run by a later block
  ```python run             run by python3

Any other block of a language that could be run is an error, so that nothing is left out unseen."""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("docs/tutorials", "docs/coming-from")
RUNNABLE = ("sh", "c", "cpp", "python", "cmake", "console", "bash")
SECONDS = 300


class Block:
    def __init__(self, line, information):
        words = shlex.split(information)
        self.line = line
        self.language = words[0] if words else ""
        self.flags = [word for word in words[1:] if "=" not in word]
        self.values = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        self.lines = []

    @property
    def text(self):
        return "".join(f"{line}\n" for line in self.lines)


def blocks_of(page):
    found, block = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if block:
                found.append(block)
                block = None
            else:
                block = Block(number, line[3:])
        elif block:
            block.lines.append(line)
    if block:
        raise SystemExit(f"{page}:{block.line}: a block without an end")
    return found


def matches(shown, printed):
    """Whether a text with ... for what varies is what was printed."""
    parts = []
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            words = [re.escape(part) for part in line.rstrip().split("...")]
            parts.append("[^\n]*".join(words) + r"[ \t]*\n")
    printed = re.sub(r"[ \t]+\n", "\n", printed.rstrip() + "\n")
    return re.fullmatch("".join(parts), printed) is not None


class Runner:
    def __init__(self, options):
        self.work = pathlib.Path(options.work).resolve()
        prefix = pathlib.Path(options.prefix).resolve()
        paths = [pathlib.Path(options.ingot).resolve().parent, pathlib.Path(sys.executable).parent]
        self.environment = dict(os.environ)
        self.environment["PATH"] = ":".join([*map(str, paths), self.environment["PATH"]])
        self.environment["PKG_CONFIG_PATH"] = str(prefix / "lib/pkgconfig")
        self.environment["LD_LIBRARY_PATH"] = str(prefix / "lib")
        self.environment["CMAKE_PREFIX_PATH"] = str(prefix)
        self.environment["INGOT_SOURCES"] = str(ROOT)
        self.environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
        if options.site:
            self.environment["PYTHONPATH"] = str(pathlib.Path(options.site).resolve())
        self.passed, self.failed, self.skipped = 0, 0, 0

    def call(self, command, folder):
        done = subprocess.run(
            command,
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        return done.returncode, done.stdout

    def fail(self, name, block, why, printed=""):
        self.failed += 1
        print(f"FAILED {name}:{block.line}: {why}")
        for line in printed.splitlines()[-25:]:
            print(f"    {line}")

    def page(self, page):
        name = os.path.relpath(page, ROOT)
        folder = self.work / page.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        printed = None
        for block in blocks_of(page):
            if "skip" in block.values:
                self.skipped += 1
                print(f"[skip] {name}:{block.line}: needs {block.values['skip']}")
                printed = None
            elif "file" in block.values:
                place = folder / block.values["file"]
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(block.text)
            elif "output" in block.flags:
                if printed is None:
                    self.fail(name, block, "an output without a command above it")
                elif matches(block.text, printed):
                    self.passed += 1
                else:
                    self.fail(name, block, "prints something else:", printed)
            elif block.language == "sh" or (block.language == "python" and "run" in block.flags):
                shell = ["bash", "-euo", "pipefail", "-c", block.text]
                command = shell if block.language == "sh" else [sys.executable, "-c", block.text]
                try:
                    code, printed = self.call(command, folder)
                except subprocess.TimeoutExpired:
                    self.fail(name, block, f"was not done after {SECONDS} s")
                    return
                if code:
                    self.fail(name, block, f"ended with {code}", printed)
                    return
                self.passed += 1
            elif block.language in RUNNABLE:
                self.fail(name, block, f"a block of {block.language} that is not run")


def pages_of(names):
    if names:
        return [ROOT / name for name in names]
    found = [page for folder in PAGES for page in sorted((ROOT / folder).glob("*.md"))]
    return [page for page in found if page.name != "README.md"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ingot", required=True, help="the command line")
    parser.add_argument("--prefix", required=True, help="where the library is installed")
    parser.add_argument("--site", help="where the Python package is installed")
    parser.add_argument("--work", required=True, help="a folder for each page is made in it")
    parser.add_argument("pages", nargs="*", help="docs/tutorials/NAME.md; all of them without it")
    options = parser.parse_args()
    runner = Runner(options)
    pages = pages_of(options.pages)
    for page in pages:
        runner.page(page)
    if not pages or not runner.passed:
        runner.failed += 1
        print("FAILED no page was found, or nothing on them was run")
    print(f"pages: {runner.passed} passed, {runner.failed} failed, {runner.skipped} skipped")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
