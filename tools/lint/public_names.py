#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses a type of the runtime with the name of a type of the C++ interface
(runtime/include/ingot/*.hpp): both are ingot::X, and a program that links the static library would
have two definitions of X::~X(), of which the linker keeps either."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPE = re.compile(r"^\s*(?:class|struct|enum class|enum)\s+([A-Z]\w*)", re.MULTILINE)


def main():
    public = set()
    for header in (ROOT / "runtime/include/ingot").glob("*.hpp"):
        public |= set(TYPE.findall(header.read_text()))
    wrong = 0
    for folder in ("runtime", "kernels"):
        for path in sorted((ROOT / folder).rglob("*")):
            if (
                path.suffix not in (".h", ".cpp", ".inl", ".cuh", ".cu")
                or "include" in path.relative_to(ROOT).parts
            ):
                continue
            text = path.read_text(errors="replace")
            for found in TYPE.finditer(text):
                if found.group(1) in public:
                    line = text.count("\n", 0, found.start(1)) + 1
                    print(
                        f"{path.relative_to(ROOT)}:{line}: {found.group(1)} is a type of the C++ interface: name it otherwise"
                    )
                    wrong += 1
    print(f"public names: {len(public)} types, {wrong} taken twice")
    sys.exit(1 if wrong or not public else 0)


if __name__ == "__main__":
    main()
