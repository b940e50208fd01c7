# SPDX-License-Identifier: Apache-2.0
"""Folders as torch.distributed.checkpoint writes them, made without torch: classes of its names
around what pickle says of them, and torch.save() by hand."""

import array
import io
import itertools
import math
import pickle
import sys
import types
import zipfile


class Floats:
    """A tensor of f32: its shape, and its numbers row by row."""

    def __init__(self, shape, numbers):
        self.shape, self.numbers = tuple(shape), list(numbers)
        assert math.prod(self.shape) == len(self.numbers)

    def strides(self):
        return tuple(math.prod(self.shape[d + 1 :]) for d in range(len(self.shape)))

    def box(self, offsets, sizes):
        places = itertools.product(*(range(o, o + s) for o, s in zip(offsets, sizes)))
        at = [sum(i * s for i, s in zip(place, self.strides())) for place in places]
        return Floats(sizes, [self.numbers[i] for i in at])

    def bytes(self):
        return array.array("f", self.numbers).tobytes()


def stand_in(module, name):
    """A class that a pickle names as module.name."""
    made = type(name, (), {"__module__": module, "__qualname__": name})
    if module not in sys.modules:
        sys.modules[module] = types.ModuleType(module)
    setattr(sys.modules[module], name, made)
    return made


METADATA = "torch.distributed.checkpoint.metadata"
Metadata = stand_in(METADATA, "Metadata")
TensorStorageMetadata = stand_in(METADATA, "TensorStorageMetadata")
BytesStorageMetadata = stand_in(METADATA, "BytesStorageMetadata")
TensorProperties = stand_in(METADATA, "TensorProperties")
ChunkStorageMetadata = stand_in(METADATA, "ChunkStorageMetadata")
MetadataIndex = stand_in(METADATA, "MetadataIndex")
StorageInfo = stand_in("torch.distributed.checkpoint.filesystem", "_StorageInfo")
Size = stand_in("torch", "Size")
FloatStorage = stand_in("torch", "FloatStorage")
float32 = stand_in("torch", "float32")
stand_in("torch._utils", "_rebuild_tensor_v2")
Size.__reduce__ = lambda self: (Size, (self.extents,))
TensorProperties.__getstate__ = lambda self: (float32, None, False, None, False, None)


def made(kind, **fields):
    thing = kind.__new__(kind)
    thing.__dict__.update(fields)
    return thing


def size(*extents):
    return made(Size, extents=extents)


class Rebuilt:
    """One tensor of a storage of its own, as torch.save() writes it."""

    def __init__(self, floats):
        self.floats = floats

    def __reduce__(self):
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        shape, strides = self.floats.shape, self.floats.strides()
        return rebuild, (Stored(len(self.floats.numbers)), 0, shape, strides, False, {})


class Stored:
    def __init__(self, count):
        self.count = count


class TorchPickler(pickle.Pickler):
    def persistent_id(self, thing):
        if isinstance(thing, Stored):
            return ("storage", FloatStorage, "0", "cpu", thing.count)
        return None


def saved(value):
    """The bytes of torch.save(value): Floats, or anything plain."""
    pickled, out = io.BytesIO(), io.BytesIO()
    is_tensor = isinstance(value, Floats)
    TorchPickler(pickled, 2).dump(Rebuilt(value) if is_tensor else value)
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/version", "3\n")
        if is_tensor:
            archive.writestr("archive/data/0", value.bytes())
    return out.getvalue()


class Writer:
    """The state of a training, rank by rank; change what it gathered before write()."""

    def __init__(self):
        self.files = {}  # name: bytes
        self.values, self.places, self.paths = {}, {}, {}

    def put(self, rank, value):
        name = f"__{rank}_0.distcp"
        before, added = self.files.get(name, b""), saved(value)
        self.files[name] = before + added
        return made(StorageInfo, relative_path=name, offset=len(before), length=len(added))

    def value(self, path, value):
        name = ".".join(path)
        self.values[name] = BytesStorageMetadata()
        self.places[made(MetadataIndex, fqn=name, index=None)] = self.put(0, value)
        self.paths[name] = tuple(path)

    def tensor(self, path, whole, parts):
        """`parts`: (rank, offsets, sizes)."""
        name = ".".join(path)
        chunks = []
        for rank, offsets, sizes in parts:
            info = self.put(rank, whole.box(offsets, sizes))
            chunks.append(
                made(ChunkStorageMetadata, offsets=size(*offsets), sizes=size(*sizes))
            )
            key = made(MetadataIndex, fqn=name, offset=size(*offsets), index=len(chunks) - 1)
            self.places[key] = info
        self.values[name] = made(
            TensorStorageMetadata,
            properties=TensorProperties(),
            size=size(*whole.shape),
            chunks=chunks,
        )
        self.paths[name] = tuple(path)

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        whole = made(
            Metadata,
            state_dict_metadata=self.values,
            planner_data=self.paths,
            storage_data=self.places,
        )
        (folder / ".metadata").write_bytes(pickle.dumps(whole, 4))
        return folder
