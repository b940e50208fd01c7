#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/files/data: archives as numpy itself makes them, and hostile ones. Needs numpy
alone. Made with numpy 2 by: python3 tests/files/make_data.py"""

import io
import os
import struct
import zipfile

import numpy as np

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
os.makedirs(here, exist_ok=True)


def path(name):
    return os.path.join(here, name)


def npy(array, **kw):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **kw)
    return out.getvalue()


def header(text, version=1):
    text = text.encode()
    pad = 64 - (10 + len(text) + 1) % 64
    text += b" " * pad + b"\n"
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + struct.pack("<H" if version == 1 else "<I", len(text))
        + text
    )


def archive(name, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path(name), "w", method) as z:
        for key, data in members:
            z.writestr(zipfile.ZipInfo(key, (1980, 1, 1, 0, 0, 0)), data, compress_type=method)


def write(name, data):
    with open(path(name), "wb") as f:
        f.write(data)


ramp = np.arange(24).reshape(2, 3, 4)
kinds = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
sound = [(k, npy(ramp.astype("<" + k))) for k in kinds]
sound += [("big_" + k, npy(ramp.astype(">" + k))) for k in kinds]
sound += [("fortran_" + k, npy(np.asfortranarray(ramp.astype("<" + k)))) for k in kinds]
sound += [("big_fortran_f4", npy(np.asfortranarray(ramp.astype(">f4"))))]
sound += [
    ("bool", npy(ramp % 2 == 1)),
    ("scalar", npy(np.float32(1.5))),
    ("empty", npy(np.zeros((0, 3), "f4"))),
]
sound += [
    ("meta", npy(np.array('{"steps": 3, "name": "é√"}'))),
    ("big_text", npy(np.array("aé").astype(">U2"))),
]
sound += [
    ("version2", npy(ramp.astype("<f4"), version=(2, 0))),
    ("raw2", npy(ramp.astype("<u2").view("V2"))),
]
sound += [("in:a/b", npy(np.array([7], "<i4")))]
archive("sound_stored.npz", [(k + ".npy", v) for k, v in sound])
archive("sound_deflated.npz", [(k + ".npy", v) for k, v in sound], zipfile.ZIP_DEFLATED)
write("single.npy", npy(ramp.astype("<f4")))

# Refused, each for its own reason; the exit code is in the name.
one = npy(np.array([1.0], "<f4"))
archive("e3_object.npz", [("a.npy", npy(np.array([{}], dtype=object), allow_pickle=True))])
archive("e4_complex.npz", [("a.npy", npy(np.array([1j])))])
archive("e4_structured.npz", [("a.npy", npy(np.zeros(2, [("x", "f4"), ("y", "i4")])))])
archive("e4_strings.npz", [("a.npy", npy(np.array(["a", "b"])))])
archive("e4_bytes.npz", [("a.npy", npy(np.array(b"abc")))])
archive("e4_npy_version.npz", [("a.npy", header("{}", 1).replace(b"Y\x01", b"Y\x09", 1))])
archive("e5_not_npy_member.npz", [("archive/data.pkl", b"\x80\x02.")])
archive("e2_not_npy_bytes.npz", [("a.npy", b"hello, this is no array at all")])
archive("e2_short_payload.npz", [("a.npy", one[:-1])])
archive("e2_long_payload.npz", [("a.npy", one + b"x")])
big = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }"
archive("e7_bomb_shape.npz", [("a.npy", header(big % "1099511627776"))])
archive(
    "e2_overflow_shape.npz", [("a.npy", header(big % "4611686018427387904,4611686018427387904"))]
)
archive("e2_overflow_digits.npz", [("a.npy", header(big % ("9" * 40)))])
archive("e2_negative_shape.npz", [("a.npy", header(big % "-1"))])
archive("e2_lying_shape.npz", [("a.npy", header(big % "1000000"))])
archive("e2_missing_key.npz", [("a.npy", header("{'descr': '<f4', 'shape': (1,), }") + b"\0" * 4)])
archive(
    "e2_repeated_key.npz",
    [
        (
            "a.npy",
            header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"),
        )
    ],
)
archive(
    "e2_unknown_key.npz",
    [("a.npy", header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}"))],
)
archive("e2_code_in_header.npz", [("a.npy", header("__import__('os').system('true')"))])
archive("e2_no_end.npz", [("a.npy", header("{'descr': '<f4"))])
archive(
    "e2_descr_garbage.npz",
    [("a.npy", header("{'descr': '<f99999999999', 'fortran_order': False, 'shape': (1,), }"))],
)
archive("e2_rank.npz", [("a.npy", header(big % ",".join(["1"] * 65)))])
archive(
    "e2_surrogate.npz",
    [
        (
            "a.npy",
            header("{'descr': '<U1', 'fortran_order': False, 'shape': (), }")
            + struct.pack("<I", 0xD800),
        )
    ],
)
write("e2_empty.npz", b"")
write("e2_text.npz", b"this is text\n")
write("e2_cut.npz", open(path("sound_stored.npz"), "rb").read()[:700])
with zipfile.ZipFile(path("e2_twice.npz"), "w") as z:
    import warnings

    warnings.simplefilter("ignore")
    for _ in range(2):
        z.writestr(zipfile.ZipInfo("a.npy", (1980, 1, 1, 0, 0, 0)), one)
archive(
    "e7_deflate_bomb.npz",
    [("a.npy", header(big % "67108864") + b"\0" * (1 << 22))],
    zipfile.ZIP_DEFLATED,
)
raw = bytearray(open(path("sound_deflated.npz"), "rb").read())
raw[60] ^= 0xFF
write("e2_bit_rot.npz", bytes(raw))
