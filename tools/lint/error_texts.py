#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses texts of errors in tools/ that leave out what a person needs.

An error says where, what is wrong, what was expected and found, and what to do. Of that a pattern
can see: a file that "cannot be read" without the reason, the number of a system error in place of
its words, a bound without "at least" or "at most", and words that say nothing.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
THROWS = re.compile(
    r"\b(?:fail(?:_with|_conversion|_usage|_corrupt|_unsafe|_unsupported|_mismatch|_unavailable"
    r"|_internal)?|Failure|complain|refuse|refused|damaged|unsafe)\s*\("
)
WORDS = (
    (
        re.compile(r'(?::|\bit) cannot be (?:read|opened|written|created)"'),
        "say why: strerror(errno)",
    ),
    (
        re.compile(
            r'cannot be (?:read|opened|written|created): "'
            r'(?!\)?\s*\+?\s*(?:std::string\()?\s*[\w.>:-]*'
            r'(?:strerror|why|error|reason|message|what|text))'
        ),
        "say why: strerror(errno)",
    ),
    (
        re.compile(r'\b(?:system error|to_string\(errno\)|error code|error number|return code)\b'),
        "say the words of a number: strerror(errno)",
    ),
    (
        re.compile(
            r'"[^"]*\b(?:unknown error|internal error(?!: )|went wrong|'
            r'invalid (?:value|input|data|file)|bad (?:value|file))\b'
        ),
        "say what is wrong, expected and found",
    ),
    (re.compile(r'\b(?:needs|expected) \d+, (?:has|found)'), "a bound is at least or at most"),
    (
        re.compile(
            r'\b(?:expected|needs) "\s*\+\s*std::to_string\(\s*k(?:Max|Most|Min|Least|Limit)'
        ),
        "a bound is at least or at most",
    ),
    (
        re.compile(r'\bmagic[^"]*"\s*\+\s*std::to_string'),
        "show the bytes that a file begins with, not a number",
    ),
    (re.compile(r'(?:[a-z)][.!]|\\n)"\s*\)\s*$'), "an error is one line without a full stop"),
)


def statements(text):
    """The number of the first line and the code, up to its semicolon, of each that throws."""
    code = re.sub(r"(?m)^\s*//.*$", "", text)
    for found in THROWS.finditer(code):
        end, in_text = found.end(), False
        while end < len(code) and (in_text or code[end] != ";"):
            if code[end] == "\\":
                end += 1
            elif code[end] == '"' and code[end - 1 : end + 2] != "'\"'":
                in_text = not in_text
            end += 1
        statement = re.sub(r'"\s*\n\s*"', "", code[found.start() : end])  # texts in pieces
        yield code.count("\n", 0, found.start()) + 1, statement


def faults(text):
    for number, statement in statements(text):
        for pattern, why in WORDS:
            if found := pattern.search(statement):
                yield number, f"{found.group(0)[:60]!r}: {why}"


def self_test():
    bad = [
        'fail(Exit::kUnavailable, path + ": cannot be read");',
        'fail(e, path + ": cannot be opened: " + path);',
        'fail(e, "file: system error " + std::to_string(errno));',
        'fail(e, "threads: needs 57, found 1000");',
        'fail(e, "dims: expected " + std::to_string(kMaxRank) + ", found 9");',
        'refuse("an invalid value");',
        'fail(e, "magic " + std::to_string(magic));',
        'fail(e, "it is wrong.");',
        'fail(e, path +\n  ": cannot be "\n  "read");',
    ]
    good = [
        'fail(e, path + ": cannot be read: " + strerror(errno));',
        'fail(e, path + ": cannot be read: " + reason);',
        'fail(e, "at most " + std::to_string(kMaxRank) + " dimensions");',
        '// fail(e, "cannot be read");',
        'fail(e, "see a; b");',
        'fail(e, where + std::string(": cannot be read: ") + strerror(errno));',
        'fail(e, "needs " + std::to_string(bytes) + " bytes");',
    ]
    missed = [line for line in bad if not list(faults(line))]
    blamed = [line for line in good if list(faults(line))]
    for line in missed:
        print(f"error_texts: does not see: {line}")
    for line in blamed:
        print(f"error_texts: blames: {line}")
    return not missed and not blamed


def main():
    listed = ["git", "ls-files", "-co", "--exclude-standard", "tools/*.h", "tools/*.cpp"]
    ran = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
    files = ran.stdout.split()
    wrong = texts = 0
    for path in files:
        text = (ROOT / path).read_text(errors="replace")
        texts += sum(1 for _ in statements(text))
        for number, why in faults(text):
            print(f"{path}:{number}: {why}")
            wrong += 1
    print(f"error texts: {texts} in {len(files)} files, {wrong} wrong")
    sys.exit(0 if self_test() and not wrong and texts else 1)


main()
