#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Modules of every kind of content through pack.py and back through the runtime's decoder; the same
twice; cut anywhere refused.

pack_test.py PACK UNPACK_IMAGES
"""

import hashlib
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, run, work_folder  # noqa: E402

PACK, UNPACK = sys.argv[1:3]


def contents():
    r = random.Random(6)
    instructions = [r.randbytes(16) for _ in range(40)]
    yield "empty", b""
    yield "one", b"x"
    yield "zeros", bytes(100_000)
    yield "random", r.randbytes(30_000)
    yield "code", b"".join(r.choice(instructions) for _ in range(8000))
    yield (
        "registers",
        b"".join(
            bytes([r.randrange(8), *i[1:15], r.randrange(256)])
            for i in r.choices(instructions, k=8000)
        ),
    )
    yield "far", (block := r.randbytes(5000)) + bytes(1 << 20) + block
    for n in range(24):  # lengths and distances of all sizes, repeated ones among them
        out = bytearray(r.randbytes(r.randrange(1, 50)))
        while len(out) < 4000:
            if r.random() < 0.3:
                out += r.randbytes(r.randrange(1, 1 + 2 ** r.randrange(6)))
            else:
                distance, length = (
                    r.choice([1, 2, 3, 16, 32, r.randrange(1, len(out) + 1)]),
                    r.choice([1, 2, 3, 9, 17, r.randrange(1, 600)]),
                )
                for _ in range(length):
                    out.append(out[-min(distance, len(out))])
        yield f"mixed{n}", bytes(out)


def main():
    checks = Checks("pack")
    with work_folder() as folder:
        rows, expected = [], {}
        for name, data in contents():
            (folder / name).write_bytes(data)
            rows.append(f"{name}:87:11.8:{folder / name}")
            expected[name, "87", "11080"] = hashlib.sha256(data).hexdigest()
        for sm, change in (
            (86, b"a"),
            (89, b"b"),
            (80, b"c"),
            (100, b"a"),
            (110, b"b"),
        ):  # siblings: two streams
            data = (
                change + b"".join(d for _, d in contents())[:200_000] + bytes(300)
            )  # a match goes on across the end
            (folder / f"sibling{sm}").write_bytes(data)
            rows.append(f"sibling:{sm}:13.0:{folder}/sibling{sm}")
            expected["sibling", str(sm), "13000"] = hashlib.sha256(data).hexdigest()
        expected["unit", "0", "0"] = hashlib.sha256(b"emulated\0").hexdigest()
        for out in ("a", "b"):
            options = ("--out", folder / out, "--table", folder / "t", "--units", "unit")
            given = rows if out == "a" else rows[::-1]
            run(sys.executable, PACK, options, "--cubin", given).succeeded()
        same = (folder / "a").read_bytes() == (folder / "b").read_bytes()
        checks.check(same, "another order of arguments gives the same bytes")

        def unpack(path):
            lines = run(UNPACK, path).succeeded().stdout.split("\n")
            return {tuple(line.split()[:3]): line.split()[3] for line in lines if line}

        found = unpack(folder / "a")
        for key, digest in expected.items():
            checks.check(found.get(key) == digest, f"{key} as packed")
        checks.check(len(found) == len(expected), "no more than was packed")
        whole = (folder / "a").read_bytes()
        for cut in random.Random(1).sample(range(len(whole)), 40):
            (folder / "cut").write_bytes(whole[:cut])
            found = unpack(folder / "cut")
            known = all(digest in ("damaged", expected[key]) for key, digest in found.items())
            checks.check(known and found != expected, f"cut at {cut} of {len(whole)} is noticed")
    return checks.finish()


main()
