#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes runtime/text/unicode_*.inl from Python's unicodedata. Their first line names the version
of Unicode; another Python writes another one.

    python3 tools/text/make_unicode_tables.py            # writes
    python3 tools/text/make_unicode_tables.py --check    # 1 where a file differs"""

import pathlib
import sys
import unicodedata

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "runtime/text"
LAST = 0x110000
BLOCK, GROUP = 128, 64  # code points of a block, blocks of a group
# runtime/text/unicode.h, enum class Class
CLASSES = {
    "Lu": 1,
    "Ll": 2,
    "Lt": 3,
    "Lm": 4,
    "Lo": 5,
    "Mn": 6,
    "Mc": 7,
    "Me": 7,
    "N": 8,
    "P": 9,
    "S": 10,
    "Z": 11,
    "Cc": 12,
    "Cf": 13,
}
HANGUL = range(0xAC00, 0xD7A4)


def class_of(code):
    category = unicodedata.category(chr(code))
    return CLASSES.get(category, CLASSES.get(category[0], 0))


def numbered(rows):
    """Equal rows once: the rows in their order, and the number of each."""
    known = {}
    numbers = [known.setdefault(tuple(row), len(known)) for row in rows]
    return list(known), numbers


def rows_of(values, count):
    return [values[i : i + count] for i in range(0, len(values), count)]


def packed(values, bits):
    """64-bit numbers, the first value in the lowest bits."""
    count = 64 // bits
    values = values + [0] * (-len(values) % count)
    return [
        sum(value << (bits * i) for i, value in enumerate(row)) for row in rows_of(values, count)
    ]


def array(name, numbers, type_name="uint64_t", width=16):
    per_line = 100 // (width + 4)
    lines = [", ".join(f"0x{n:0{width}x}" for n in row) for row in rows_of(numbers, per_line)]
    return f"constexpr {type_name} {name}[{len(numbers)}] = {{\n" + ",\n".join(lines) + "};\n"


def classes():
    blocks, block_of = numbered(rows_of([class_of(code) for code in range(LAST)], BLOCK))
    groups, group_of = numbered(rows_of(block_of, GROUP))
    assert len(blocks) <= 256 and len(groups) <= 256
    flat_blocks = [value for block in blocks for value in block]
    flat_groups = [value for group in groups for value in group]
    return (
        array("kClassGroups", packed(group_of, 8))
        + array("kClassBlocks", packed(flat_groups, 8))
        + array("kClassNibbles", packed(flat_blocks, 4))
    )


def folded(code):
    """Canonical decomposition without its nonspacing marks, in lower case."""
    text = unicodedata.normalize("NFD", chr(code))
    text = "".join(c for c in text if unicodedata.category(c) != "Mn")
    return tuple(ord(c) for c in "".join(c.lower() for c in text))


def folds():
    """code << 42 | first << 21 | second, ascending; `second` 0: none. A fold of three has as its
    first the code that folds to the first two."""
    table = {
        code: folded(code)
        for code in range(LAST)
        if code not in HANGUL
        and not 0xD800 <= code < 0xE000
        and unicodedata.category(chr(code)) != "Mn"
        and folded(code) != (code,)
    }
    pairs = {value: code for code, value in table.items() if len(value) == 2}
    rows = []
    for code, value in sorted(table.items()):
        assert len("".join(map(chr, value)).encode()) <= 3 * len(chr(code).encode())
        if len(value) == 3:
            value = (pairs[value[:2]], value[2])
        assert 1 <= len(value) <= 2
        rows.append(code << 42 | value[0] << 21 | (value[1] if len(value) > 1 else 0))
    return rows


def decompositions():
    """code << 42 | first << 21 | second, ascending: canonical decompositions of one step."""
    rows = []
    for code in range(LAST):
        fields = unicodedata.decomposition(chr(code)).split()
        if fields and not fields[0].startswith("<"):
            first, second = [int(field, 16) for field in fields + ["0"]][:2]
            rows.append(code << 42 | first << 21 | second)
    return rows


def compositions(rows):
    """first << 42 | second << 21 | composite, ascending: pairs that become one in NFC."""
    pairs = []
    for row in rows:
        code, first, second = row >> 42, row >> 21 & 0x1FFFFF, row & 0x1FFFFF
        if second and unicodedata.normalize("NFC", chr(first) + chr(second)) == chr(code):
            pairs.append(first << 42 | second << 21 | code)
    return sorted(pairs)


def combining_runs():
    """first << 32 | codes << 8 | combining class, ascending: runs of one class other than 0."""
    runs = []
    for code in range(LAST):
        combining = unicodedata.combining(chr(code))
        if combining and runs and runs[-1][0] + runs[-1][1] == code and runs[-1][2] == combining:
            runs[-1][1] += 1
        elif combining:
            runs.append([code, 1, combining])
    return [first << 32 | codes << 8 | combining for first, codes, combining in runs]


def joining_starters(pairs):
    """Of class 0 and second of a pair: what stands before them may change. Hangul is arithmetic."""
    seconds = {row >> 21 & 0x1FFFFF for row in pairs}
    return sorted(code for code in seconds if not unicodedata.combining(chr(code)))


def main():
    head = (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// {} Unicode " + unicodedata.unidata_version + ".\n"
        "// Written by tools/text/make_unicode_tables.py, which says what the numbers are.\n"
        "// clang-format off\n"
    )
    rows = folds()
    first_ideograph = next(i for i, row in enumerate(rows) if row >> 42 >= 0xF900)
    files = {
        "unicode_classes.inl": head.format("Classes of code points.") + classes(),
        "unicode_fold.inl": head.format("Lower case without accents, below U+F900.")
        + array("kFolds", rows[:first_ideograph]),
        "unicode_ideographs.inl": head.format("Lower case without accents, from U+F900.")
        + array("kHighFolds", rows[first_ideograph:]),
    }
    canonical = decompositions()
    pairs = compositions(canonical)
    files["unicode_decompositions.inl"] = head.format("Canonical decompositions.") + array(
        "kDecompositions", canonical
    )
    files["unicode_compositions.inl"] = (
        head.format("Canonical compositions and combining classes.")
        + array("kCompositions", pairs)
        + array("kCombiningRuns", combining_runs())
        + array("kJoiningStarters", joining_starters(pairs), "uint32_t", 8)
    )
    different = 0
    for name, text in files.items():
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path}: is not what this script writes with {unicodedata.unidata_version}")
            different = 1
    return different


sys.exit(main())
