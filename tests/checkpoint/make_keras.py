# SPDX-License-Identifier: Apache-2.0
"""Writes the committed samples in keras/: small models in every layout that Keras writes, and HDF5
files that try to lead somewhere. Run with a current keras (any back end) and h5py:  python
make_keras.py FOLDER Beside each model stands NAME.json: every tensor's type, shape and sha256, read
back with h5py."""

import hashlib
import io
import json
import os
import sys
import zipfile

os.environ.setdefault("KERAS_BACKEND", "torch")
import h5py
import keras
import numpy as np

folder = sys.argv[1]
L = keras.layers


def digests(file):
    tensors = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and (
            item.dtype.kind in "fiub" or item.dtype.name == "bfloat16" or "dtype" in item.attrs
        ):
            data = np.ascontiguousarray(item[()])
            kind = (
                "bfloat16"
                if item.attrs.get("dtype") == "bfloat16"
                else data.dtype.newbyteorder("=").name
            )
            little = data.astype(data.dtype.newbyteorder("<"))
            tensors[name] = [kind, list(item.shape), hashlib.sha256(little.tobytes()).hexdigest()]

    with h5py.File(file) as opened:
        opened.visititems(visit)
    return tensors


def expect(name):
    path = os.path.join(folder, name)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            tensors = digests(io.BytesIO(archive.read("model.weights.h5")))
    else:
        tensors = digests(path)
    with open(path + ".json", "w") as out:
        json.dump(tensors, out, indent=1)
        out.write("\n")


keras.utils.set_random_seed(1)
model = keras.Sequential(
    [
        keras.Input((6, 6, 1)),
        L.Conv2D(2, 3, name="c1"),
        L.BatchNormalization(name="bn"),
        L.Flatten(),
        L.Dense(3, activation="softmax", name="out"),
    ]
)
for name in ("small.keras", "small.h5"):
    model.save(os.path.join(folder, name))
    expect(name)
model.save_weights(os.path.join(folder, "small.weights.h5"))
expect("small.weights.h5")
mixed = keras.Sequential([keras.Input((2,)), L.Dense(2, dtype=keras.DTypePolicy("bfloat16"))])
mixed.save(os.path.join(folder, "bf16.keras"))
expect("bf16.keras")
code = keras.Sequential([keras.Input((2,)), L.Lambda(lambda x: x * 2, name="twice")])
code.save(os.path.join(folder, "lambda.keras"))
with h5py.File(os.path.join(folder, "types.h5"), "w") as out:
    out["half"] = np.arange(3, dtype=np.float16)
    out["big_endian"] = np.arange(4, dtype=">f4")
    out["truth"] = np.array([True, False])
    out.create_dataset(
        "packed",
        data=np.arange(600, dtype=np.int32).reshape(20, 30),
        chunks=(7, 8),
        compression="gzip",
        shuffle=True,
        fletcher32=True,
    )
    out["scalar"] = np.int64(7)
    out["words"] = np.array(["one", "two"], dtype=h5py.string_dtype())
    out.attrs["keras_version"] = "2.0"
expect("types.h5")
with h5py.File(os.path.join(folder, "evil_external_link.h5"), "w") as out:
    out["a"] = h5py.ExternalLink("/etc/passwd", "/a")
with h5py.File(os.path.join(folder, "evil_external_storage.h5"), "w") as out:
    out.create_dataset("a", shape=(4,), dtype="u1", external=[("/etc/passwd", 0, 4)])
with h5py.File(os.path.join(folder, "evil_virtual.h5"), "w", libver="latest") as out:
    layout = h5py.VirtualLayout(shape=(4,), dtype="u1")
    layout[:] = h5py.VirtualSource("/etc/passwd", "a", shape=(4,))
    out.create_virtual_dataset("a", layout)
with h5py.File(os.path.join(folder, "filter_lzf.h5"), "w") as out:
    out.create_dataset("a", data=np.zeros(64, np.uint8), chunks=(64,), compression="lzf")
with h5py.File(os.path.join(folder, "evil_circle.h5"), "w") as out:
    out.create_group("a/b")
    out["a/b/c"] = out["a"]
with h5py.File(os.path.join(folder, "evil_huge.h5"), "w") as out:
    out.create_dataset("a", shape=(1 << 40,), dtype="f4", chunks=(1024,))
