# SPDX-License-Identifier: Apache-2.0
"""Writes one of the chains of make_chains.py as JLD2 does: committed compound types with the
attribute julia_type, fields as object references, functions as types without data. Needs h5py.
make_jld2.py FOLDER"""

import os
import sys

import h5py
import numpy as np

folder = sys.argv[1]
text, reference = h5py.string_dtype(), h5py.ref_dtype


class Writer:
    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path, "w", userblock_size=512, libver="earliest")
        self.file.create_group("_types")
        self.count, self.types = 0, {}

    def commit(self, name, fields, all_names=(), all_types=()):
        """fields: [(name, h5 type)]; all_names and all_types where some have no data."""
        if name in self.types:
            return self.types[name]
        self.count += 1
        size = sum(t.get_size() for _, t in fields) or 1
        made = (
            h5py.h5t.create(h5py.h5t.COMPOUND, size)
            if fields
            else h5py.h5t.create(h5py.h5t.OPAQUE, 1)
        )
        at = 0
        for field, kind in fields:
            made.insert(field.encode(), at, kind)
            at += kind.get_size()
        group, key = self.file["_types"].id, f"{self.count:08d}".encode()
        made.commit(group, key)
        item = self.file["_types"][key.decode()]
        self.attribute(item, name)
        if all_names:
            item.attrs.create("field_names", np.array(all_names, dtype=object), dtype=text)
            item.attrs.create(
                "field_datatypes",
                np.array(
                    [t.ref if t is not None else h5py.Reference() for t in all_types],
                    dtype=reference,
                ),
                dtype=reference,
            )
        self.types[name] = item
        return item

    def attribute(self, item, name):
        """julia_type: the name. What a type is applied to stands beside it in JLD2 and is left out
        here."""
        dtype = np.dtype([("name", text)])
        value = np.zeros((), dtype=dtype)
        value["name"] = name.split("{")[0]
        item.attrs.create("julia_type", value, dtype=dtype)

    def array(self, a):
        return self.kept(self.file.create_dataset(None, data=np.ascontiguousarray(a.T)))

    def ghost(self, name):
        return self.commit(name, [])

    def struct(self, name, items):
        """items: [(field, dataset, array or type without data)]. Gives a dataset."""
        ref = h5py.h5t.STD_REF_OBJ
        fields = [(field, ref) for field, value in items if not isinstance(value, h5py.Datatype)]
        kind = self.commit(
            name,
            fields,
            [field for field, _ in items],
            [v if isinstance(v, h5py.Datatype) else None for _, v in items],
        )
        dtype = np.dtype([(field, reference) for field, _ in fields])
        value = np.zeros((), dtype=dtype)
        for field, v in items:
            if not isinstance(v, h5py.Datatype):
                value[field] = v.ref
        dataset = h5py.h5d.create(self.file.id, None, kind.id, h5py.h5s.create(h5py.h5s.SCALAR))
        made = h5py.Dataset(dataset)
        made[()] = value
        return self.kept(made)

    def kept(self, dataset):
        """libhdf5 drops what no link names; JLD2 writes such objects itself."""
        self.count += 1
        self.file["_types"][f"{self.count:08d}"] = dataset
        return dataset

    def close(self, name, model):
        self.file[name] = model
        self.file.close()
        with open(self.path, "r+b") as out:
            out.write(b"HDF5-based Julia Data Format, version 0.1.1")


rng = np.random.default_rng(9)
w1, b1, w2, b2 = [
    (rng.standard_normal(shape) * 0.5).astype("f4") for shape in ((6, 4), 6, (3, 6), 3)
]
x = rng.standard_normal(4).astype("f4")
writer = Writer(os.path.join(folder, "two_dense.jld2"))
first = writer.struct(
    "Flux.Dense{relu}",
    [("weight", writer.array(w1)), ("bias", writer.array(b1)), ("σ", writer.ghost("NNlib.#relu"))],
)
second = writer.struct(
    "Flux.Dense{tanh}",
    [("weight", writer.array(w2)), ("bias", writer.array(b2)), ("σ", writer.ghost("Base.#tanh"))],
)
layers = writer.struct(
    "Core.Tuple", [("1", first), ("2", second), ("3", writer.ghost("NNlib.#softmax"))]
)
model = writer.struct("Flux.Chain", [("layers", layers)])
writer.close("model", model)
y = np.exp(np.tanh(w2 @ np.maximum(w1 @ x + b1, 0) + b2))
np.savez(
    os.path.join(folder, "two_dense.npz"),
    **{"in:x": x[None], "out:y": (y / y.sum()).astype("f4")[None]},
)
