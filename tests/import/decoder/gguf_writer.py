# SPDX-License-Identifier: Apache-2.0
"""GGUF files for tests: metadata and tensors of f32, f16 or Q8_0."""

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


def write_gguf(path, metadata, tensors, version=3):
    """`tensors`: arrays of f32 or f16, or ("Q8_0", array)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    data = b""
    for name, tensor in tensors.items():
        kind, array = tensor if isinstance(tensor, tuple) else ("", np.ascontiguousarray(tensor))
        number = 8 if kind else {"float32": 0, "float16": 1}[array.dtype.name]
        head += _text(name) + struct.pack("<I", array.ndim)
        head += struct.pack(f"<{array.ndim}Q", *reversed(array.shape))
        head += struct.pack("<IQ", number, len(data))
        data += quantize_q8_0(array)[0] if kind else array.tobytes()
        data += bytes(-len(data) % ALIGNMENT)
    head += bytes(-len(head) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head + data)
