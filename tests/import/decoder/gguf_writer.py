# SPDX-License-Identifier: Apache-2.0
"""GGUF files for tests: metadata and tensors of f32, f16, Q8_0 or random blocks."""

import math
import struct

import numpy as np

U32, F32, BOOL, TEXT, ARRAY = 4, 6, 7, 8, 9
ALIGNMENT = 32


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    """Type and bytes of one value of the metadata."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<B", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    if isinstance(value, str):
        return TEXT, _text(value)
    items = [_value(item) for item in value]
    return ARRAY, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)


def quantize_q8_0(array):
    """Bytes of the blocks, and the f32 that they stand for."""
    blocks = np.asarray(array, np.float32).reshape(-1, 32)
    scale = (np.abs(blocks).max(1, keepdims=True) / 127).astype(np.float16)
    divisor = np.where(scale == 0, 1, scale).astype(np.float32)
    q = np.clip(np.round(blocks / divisor), -127, 127).astype(np.int8)
    data = b"".join(s.tobytes() + row.tobytes() for s, row in zip(scale, q))
    return data, (q * scale.astype(np.float32)).reshape(np.shape(array))


# Number in GGUF, bytes of a block, weights of a block; where d lies, and what it is for weights
# of a deviation of 1 (other bytes are random); what dmin or m is in terms of d. MXFP4's d is an
# exponent.
BLOCKS = {
    "Q4_0": (2, 18, 32, 0, 1 / 4.6, 0),
    "Q4_1": (3, 20, 32, 0, 1 / 4.6, -7.5),
    "Q5_0": (6, 22, 32, 0, 1 / 9.2, 0),
    "Q5_1": (7, 24, 32, 0, 1 / 9.2, -15.5),
    "Q8_0": (8, 34, 32, 0, 1 / 74, 0),
    "Q4_K": (12, 144, 256, 0, 1 / 170, 7.5),
    "Q5_K": (13, 176, 256, 0, 1 / 340, 15.5),
    "Q6_K": (14, 210, 256, 208, 1 / 1400, 0),
    "Q2_K": (10, 84, 256, 80, 1 / 14, 1.5),
    "Q3_K": (11, 110, 256, 108, 1 / 43, 0),
    "IQ4_NL": (20, 18, 32, 0, 1 / 67, 0),
    "IQ4_XS": (23, 136, 256, 0, 1 / 1250, 0),
    "TQ1_0": (34, 54, 256, 52, 1 / 0.8, 0),
    "TQ2_0": (35, 66, 256, 64, 1 / 1.2, 0),
    "MXFP4": (39, 17, 32, 0, 1 / 5.9, 0),
}
FLOATS = {"F16": 1, "BF16": 30}


class RandomBlocks:
    """A matrix of one type of BLOCKS with random codes and sub-scales, or of FLOATS, `deviation`
    about that of a weight; its bytes are drawn when they are written."""

    def __init__(self, kind, shape, deviation, seed):
        self.shape = shape
        if kind in FLOATS:
            self.number, self.scale, self.seed = FLOATS[kind], deviation, seed
            self.nbytes = int(np.prod(shape)) * 2
            return
        self.number, self.block, self.unit, self.at, unit_scale, self.minimum = BLOCKS[kind]
        self.scale, self.seed = deviation * unit_scale, seed
        self.nbytes = int(np.prod(shape)) // self.unit * self.block

    def tobytes(self):
        rng = np.random.default_rng(self.seed)
        if self.number in FLOATS.values():
            floats = (rng.standard_normal(self.nbytes // 2) * self.scale).astype(np.float32)
            if self.number == 1:
                return floats.astype(np.float16).tobytes()
            return (floats.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        drawn = rng.bytes(self.nbytes)
        blocks = np.frombuffer(bytearray(drawn), np.uint8).reshape(-1, self.block)
        if self.number == 39:
            blocks[:, self.at] = 128 + round(math.log2(self.scale))
            return blocks.tobytes()
        words = [(self.at, self.scale)]
        if self.minimum:
            words.append((self.at + 2, self.scale * self.minimum))
        for at, value in words:
            blocks[:, at : at + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)
        return blocks.tobytes()


class GivenBlocks(RandomBlocks):
    """A matrix of one type of BLOCKS by its bytes."""

    def __init__(self, kind, shape, data):
        super().__init__(kind, shape, 1, 0)
        self.data = data

    def tobytes(self):
        return self.data


def write_gguf(path, metadata, tensors, version=3):
    """`tensors`: arrays of f32 or f16, blocks, or ("Q8_0", array)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    at, contents = 0, []
    for name, tensor in tensors.items():
        if isinstance(tensor, tuple):
            content, shape, number = quantize_q8_0(tensor[1])[0], np.shape(tensor[1]), 8
            size = len(content)
        else:
            content, shape, size = tensor, tensor.shape, tensor.nbytes
            blocks = isinstance(tensor, RandomBlocks)
            number = tensor.number if blocks else {"float32": 0, "float16": 1}[tensor.dtype.name]
        head += _text(name) + struct.pack("<I", len(shape))
        head += struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", number, at)
        at += size + -size % ALIGNMENT
        contents.append((content, size))
    head += bytes(-len(head) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head)
        for content, size in contents:
            file.write(content if isinstance(content, bytes) else content.tobytes())
            file.write(bytes(-size % ALIGNMENT))
