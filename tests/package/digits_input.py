# SPDX-License-Identifier: Apache-2.0
"""Writes what numpy.savez would: two images for the digit network. digits_input.py IN.npz"""

import struct
import sys
import zipfile

header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 28, 28), }"
header += b" " * (-(len(header) + 11) % 64) + b"\n"
with zipfile.ZipFile(sys.argv[1], "w") as z:
    data = struct.pack("<1568f", *(i % 97 / 97 for i in range(1568)))
    z.writestr("image.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
