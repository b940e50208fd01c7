#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests/python against the package that this interpreter imports; the last line counts.
What cannot be done here is a line "[skip] reason".

    PYTHON tests/python/run.py [test_session ...]
"""

import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"[skip] {test.id()}: {reason}", flush=True)


def main():
    sys.path.insert(0, str(HERE))
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("test_*.py"))
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2)
    result = runner.run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    print(f"python: {result.passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not result.passed else 0)


if __name__ == "__main__":  # processes of their own import it again
    main()
