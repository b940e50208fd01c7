#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs modules of device code into the container that runtime/device/cuda/image_reader.h
describes. The same input gives the same bytes.

  pack.py --out IMAGES --table TSV --units NAME... [--cubin UNIT:SM:COMPILER:FILE ...]

Each unit also gets an entry for architecture 0, the text "emulated", which is what the emulator of
the tests takes. COMPILER is a version as 11.8.
"""

import argparse
import hashlib
import lzma
import pathlib
import struct

STORED, LZMA = 0, 1
# lc 0, lp 4, pb 4: statistics by the byte within 16, a GPU's instruction (docs/decisions.md D50 has
# the alternatives). What lzma_decode() knows is fixed by these; the dictionary is the whole module.
FILTER = {
    "id": lzma.FILTER_LZMA1,
    "preset": 9 | lzma.PRESET_EXTREME,
    "lc": 0,
    "lp": 4,
    "pb": 4,
    "dict_size": 64 << 20,
}


# Architectures whose code is nearly the same: where one compiler made them, those behind the first
# are packed in its stream, for a few per cent of their own bytes (80 behind 86: two fifths).
# Unpacking one unpacks those before it, so the commonest comes first.
SIBLINGS = [(86, 89, 80), (100, 110)]


def compress(data):
    packed = lzma.compress(
        data, format=lzma.FORMAT_RAW, filters=[{**FILTER, "dict_size": max(4096, len(data))}]
    )
    return (LZMA, packed) if len(packed) < len(data) else (STORED, data)


def entry(unit, sm, compiler, data):
    packing, packed = compress(data)
    major, minor = compiler.split(".") if compiler else ("0", "0")
    return {
        "unit": unit,
        "sm": sm,
        "compiler": int(major) * 1000 + int(minor) * 10,
        "data": data,
        "alone": len(packed),
        "first": 0,
        "stream": {"packing": packing, "packed": packed, "offset": None},
        "abi": data[7:9] if data[:4] == b"\x7fELF" else bytes(2),
    }


def join_siblings(entries):
    by = {(e["unit"], e["compiler"], e["sm"]): e for e in entries}
    for unit, compiler in sorted({key[:2] for key in by}):
        for family in SIBLINGS:
            members = [by[unit, compiler, sm] for sm in family if (unit, compiler, sm) in by]
            packing, packed = compress(b"".join(e["data"] for e in members))
            if (
                len(members) < 2
                or packing != LZMA
                or len(packed) >= sum(e["alone"] for e in members)
            ):
                continue
            stream, at = {"packing": packing, "packed": packed, "offset": None}, 0
            for e in members:
                e["stream"], e["first"] = stream, at
                at += len(e["data"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument(
        "--table",
        type=pathlib.Path,
        required=True,
        help="unit, architecture, compiler, ABI bytes, bytes, bytes packed by itself",
    )
    parser.add_argument("--units", nargs="+", required=True)
    parser.add_argument("--cubin", nargs="*", default=[])
    args = parser.parse_args()
    entries = [entry(unit, 0, "", b"emulated\0") for unit in args.units]
    for one in args.cubin:
        unit, sm, compiler, path = one.split(":", 3)
        entries.append(entry(unit, int(sm), compiler, pathlib.Path(path).read_bytes()))
    entries.sort(key=lambda e: (e["unit"], e["sm"], e["compiler"]))
    join_siblings(entries)
    offset = 16 + 64 * len(entries)
    directory, body, table = b"", b"", "unit\tsm\tcompiler\tabi\tbytes\tpacked\n"
    for e in entries:
        name = e["unit"].encode()
        if len(name) > 15:
            raise SystemExit(f"pack: unit {e['unit']}: a name has at most 15 bytes")
        stream = e["stream"]
        if stream["offset"] is None:
            stream["offset"] = offset + len(body)
            body += stream["packed"]
        directory += struct.pack(
            "<16sII2sHIIIII16s",
            name,
            e["sm"],
            e["compiler"],
            e["abi"],
            stream["packing"],
            stream["offset"],
            len(stream["packed"]),
            len(e["data"]),
            e["first"] + len(e["data"]),
            e["first"],
            hashlib.sha256(e["data"]).digest()[:16],
        )
        row = (e["unit"], e["sm"], e["compiler"], e["abi"].hex(), len(e["data"]), e["alone"])
        table += "\t".join(map(str, row)) + "\n"
    args.out.write_bytes(b"INGOTGPU" + struct.pack("<II", 2, len(entries)) + directory + body)
    args.table.write_text(table)


main()
