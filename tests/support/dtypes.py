# SPDX-License-Identifier: Apache-2.0
"""Types of tensors by the names that `ingot inspect --json` gives, and random arrays of them."""

import numpy as np

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "bool": np.bool_,
}


def random_array(rng, dtype, shape, below=8):
    """Normal numbers; integers of up to 16 bits over their whole range, wider ones (indices and
    lengths as a rule) from 0 to `below` - 1."""
    kind = np.dtype(DTYPES[dtype])
    if kind.kind == "f":
        return rng.standard_normal(shape).astype(kind)
    if kind.kind == "b":
        return rng.random(shape) < 0.5
    if kind.itemsize <= 2:
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max + 1, shape).astype(kind)
    return rng.integers(0, below, shape).astype(kind)
