# SPDX-License-Identifier: Apache-2.0
"""Compiles every C and C++ block of the documents against the headers, as they stand.

  compile.py --root REPOSITORY --cc CC --cxx CXX [--check]

A block is the body of a function behind context.h: the names that it takes from the text around
it. It is compiled with -Wall -Wextra -Werror and not linked. --check plants an error in each block
first, and all must then fail. The last line counts."""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from testing import Checks, run, work_folder  # noqa: E402

HERE = pathlib.Path(__file__).parent
BLOCK = re.compile(r"^```(c|cpp)\n(.*?)^```$", re.M | re.S)
HEAD = {"c": "static int block(void) {", "cpp": "static int block() {"}


def blocks(root):
    for document in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        text = document.read_text()
        for found in BLOCK.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            yield document.relative_to(root), line, found[1], found[2]


def compile_block(root, compilers, work, document, line, language, body):
    source = work / f"block.{language}"
    source.write_text(
        f'#include "context.h"\n{HEAD[language]}\n#line {line} "{document}"\n{body}'
        "  return 0;\n}\n"
    )
    standard = {"c": "-std=c99", "cpp": "-std=c++17"}[language]
    unused = [f"-Wno-unused-{what}" for what in ("variable", "but-set-variable", "function")]
    strict = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", *unused]
    include = ["-I", HERE, "-I", root / "runtime/include"]
    return run(compilers[language], standard, strict, include, source)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    compilers = {"c": args.cc, "cpp": args.cxx}
    checks = Checks("documented")
    with work_folder() as work:
        for document, line, language, body in blocks(args.root):
            if args.check:
                body += "no_such_name();\n"
            done = compile_block(args.root, compilers, work, document, line, language, body)
            as_wanted = (done.returncode != 0) == args.check
            checks.check(as_wanted, f"{document}:{line}", done.stderr)
    checks.check(checks.passed >= 7, f"{checks.passed} blocks are compiled, expected 7 or more")
    sys.exit(checks.finish())


if __name__ == "__main__":
    main()
