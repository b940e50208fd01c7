# SPDX-License-Identifier: Apache-2.0
"""A small language model in llama2.c's form, and its tokenizer: random weights, letters and a few
pieces of words as tokens."""

import random
import struct

HEADS, KV_HEADS, CONTEXT = 4, 2, 64
WORDS = (" the", " a", " cat", " dog", "ed", "ing", "\u00e4", " \u2603", '"', "??/", "\\", "\n")
# <unk>, <s>, </s>, a byte, a space
PIECES = ("<unk>", "\n<s>\n", "\n</s>\n", "<0x0A>", " ", *"abcdefghijklmnopqrstuvwxyz", *WORDS)


def weights(width, hidden, layers):
    draw = random.Random(7)

    def of(*dims, scale=0.6):
        count = 1
        for dim in dims:
            count *= dim
        return [draw.uniform(-scale, scale) for _ in range(count)]

    kv = width // HEADS * KV_HEADS
    yield of(len(PIECES), width, scale=1)
    yield [1.0] * (layers * width)
    yield from (of(layers, n, width) for n in (width, kv, kv, width))
    yield [1.0] * (layers * width)
    yield of(layers, hidden, width)
    yield of(layers, width, hidden)
    yield of(layers, hidden, width)
    yield [1.0] * width
    yield [0.0] * (CONTEXT * width // HEADS)  # angles, which nobody reads
    yield of(len(PIECES), width, scale=1)  # a head of its own


def write_story(path, width=32, hidden=64, layers=2):
    """The model; its tokenizer is the file beside it."""
    numbers = (width, hidden, layers, HEADS, KV_HEADS, -len(PIECES), CONTEXT)
    data = struct.pack("<7i", *numbers)
    for values in weights(width, hidden, layers):
        data += struct.pack(f"<{len(values)}f", *values)
    path.write_bytes(data)
    pieces = [piece.encode() for piece in PIECES]
    table = struct.pack("<i", max(map(len, pieces)))
    for i, piece in enumerate(pieces):
        table += struct.pack("<fi", -float(len(PIECES) - i), len(piece)) + piece
    (path.parent / "tokenizer.bin").write_bytes(table)
