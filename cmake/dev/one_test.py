#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a test needs built, by its name.

one_test.py TREE NAME [OTHER..]   the files of the tree TREE that ctest's test NAME uses, one a
                                  line; exit 1 and the nearest names, of tests and of OTHER, where
                                  there is no such test
one_test.py TREE --listed         of all tests that a list on standard input names, one a line"""

import difflib
import pathlib
import re
import sys

ADDED = re.compile(r'^add_test\((?:\[=*\[)?"?([^\]"\s]+)"?(?:\]=*\])? (.*)\)$', re.M)
PROPERTIES = re.compile(
    r'^set_tests_properties\((?:\[=*\[)?"?([^\]"\s]+)"?(?:\]=*\])? PROPERTIES (.*)\)$', re.M
)


def read(tree):
    """name -> (the text of its declaration, fixtures required, fixtures set up)"""
    tests = {}
    files = [tree / "CTestTestfile.cmake"]
    for file in files:  # not what an earlier configuration left: folders that these name
        text = file.read_text() if file.exists() else ""
        below = re.findall(r'^subdirs\("?([^")]*)"?\)$', text, re.M)
        files += [file.parent / folder / "CTestTestfile.cmake" for folder in below]
        declared = dict(ADDED.findall(text))
        for name, properties in PROPERTIES.findall(text):
            if name in declared:
                declared[name] += " " + properties
        for name, words in declared.items():
            required, prepared = (
                set(re.findall(rf'FIXTURES_{kind} "([^"]*)"', words))
                for kind in ("REQUIRED", "SETUP")
            )
            tests[name] = (words, required, prepared)
    return tests


def files(tree, tests, name):
    words, required, _ = tests[name]
    # Arguments, and what the environment names (a library to load); a list is cut at semicolons and
    # "=".
    for path in re.findall(re.escape(str(tree)) + r"/[^\s\";=:]+", words):
        yield path[len(str(tree)) + 1 :]
    for other, (_, _, prepared) in tests.items():
        if required & prepared:
            yield from files(tree, tests, other)


def main():
    tree, name = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    tests = read(tree)
    if name == "--listed":
        names = sys.stdin.read().split()
        print("\n".join(sorted({file for each in names for file in files(tree, tests, each)})))
        return
    if name not in tests:
        print(" ".join(difflib.get_close_matches(name, [*tests, *sys.argv[3:]], 5, 0.5)))
        sys.exit(1)
    print("\n".join(sorted(set(files(tree, tests, name)))))


if __name__ == "__main__":
    main()
