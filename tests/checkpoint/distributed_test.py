#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of torch.distributed, made here: tensors of chunks are put together, and folders that
contradict themselves are refused in one line that says what is wrong.

  distributed_test.py INGOT
"""

import array
import json
import pathlib
import sys

from distributed_files import Floats, Writer, size

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from testing import Checks, Ingot, work_folder  # noqa: E402

GRID = Floats((9, 7, 5), range(9 * 7 * 5))
QUARTERS = [
    (0, (0, 0, 0), (5, 4, 5)),
    (1, (0, 4, 0), (5, 3, 5)),
    (2, (5, 0, 0), (4, 4, 5)),
    (3, (5, 4, 0), (4, 3, 5)),
]
ROWS = Floats((3, 4), range(12))
SCALAR = Floats((), [2.5])


def sound():
    w = Writer()
    w.tensor(("model", "grid.weight"), GRID, QUARTERS)
    nothing = (3, (3, 0), (0, 4))
    w.tensor(("model", "rows"), ROWS, [(0, (0, 0), (2, 4)), (1, (2, 0), (1, 4)), nothing])
    w.tensor(("model", "columns"), ROWS, [(0, (0, 0), (3, 1)), (1, (0, 1), (3, 3))])
    w.tensor(("model", "scalar"), SCALAR, [(2, (), ())])
    w.value(("epoch",), 3)
    return w


def overlapping(w):
    w.tensor(("twice",), ROWS, [(0, (0, 0), (2, 4)), (1, (1, 0), (2, 4))])


def with_gap(w):
    w.tensor(("gap",), ROWS, [(0, (0, 0), (1, 4)), (1, (2, 0), (1, 4))])


def outside(w):
    w.tensor(("far",), ROWS, [(0, (0, 0), (3, 4))])
    w.values["far"].chunks[0].offsets = size(1, 0)


def endless(w):
    w.tensor(("huge",), ROWS, [(0, (0, 0), (3, 4))])
    w.values["huge"].size = w.values["huge"].chunks[0].sizes = size(1 << 40, 1 << 40)


def large(w):
    w.tensor(("large",), ROWS, [(0, (0, 0), (3, 4))])
    w.values["large"].size = w.values["large"].chunks[0].sizes = size(1 << 20, 1 << 20)


def other_shape(w):
    w.tensor(("turned",), ROWS, [(0, (0, 0), (3, 4))])
    w.values["turned"].size = w.values["turned"].chunks[0].sizes = size(4, 3)


def first_place(w):
    return next(iter(w.places.values()))


def past_end(w):
    first_place(w).length = 1 << 30


def before_start(w):
    first_place(w).offset = -1


def elsewhere(w):
    first_place(w).relative_path = "../secret"


def absent(w):
    del w.files["__3_0.distcp"]


def unplaced(w):
    w.places.pop(next(iter(w.places)))


def compressed(w):
    first_place(w).transform_descriptors = ["zstd"]


def not_torch(w):
    w.files["__0_0.distcp"] = b"x" * len(w.files["__0_0.distcp"])


class Call:
    def __reduce__(self):
        import os

        return os.system, ("true",)


def calling(w):
    w.values["evil"] = Call()


# how a folder is made wrong, the exit code, and what is reported
REFUSED = [
    (overlapping, 2, "its chunks at [0, 0] and [1, 0] overlap"),
    (with_gap, 2, "its chunks have 8 of its 12 elements"),
    (outside, 2, "'far' has a chunk that lies nowhere"),
    (endless, 2, "fewer than its elements"),
    (large, 2, "fewer than its elements"),
    (other_shape, 2, "its chunk at [0, 0] is float32 [3, 4], expected float32 [4, 3]"),
    (past_end, 2, "but '__0_0.distcp' has"),
    (before_start, 2, "lies at -1"),
    (elsewhere, 3, "lies in '../secret'"),
    (absent, 7, "get the files of all ranks"),
    (unplaced, 2, "has a chunk that lies nowhere"),
    (compressed, 4, "saved through extensions"),
    (not_torch, 2, "in '__0_0.distcp' at byte"),
    (calling, 3, "posix.system"),
]


def tensors_of(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    data = raw[8 + length :]
    return {
        name: (tuple(t["shape"]), list(array.array("f", data[slice(*t["data_offsets"])])))
        for name, t in header.items()
        if name != "__metadata__"
    }


def check_sound(checks, ingot):
    folder = sound().write(ingot.folder / "sound")
    for name in (folder, folder / ".metadata"):
        said = ingot("inspect", name, "--json").succeeded().stdout
        report = json.loads(said)
        checks.check(report["format"] == "torch.distributed", "its format", report["format"])
        paths = [tuple(t["path"]) for t in report["tensors"]]
        checks.check(("model", "grid.weight") in paths and len(paths) == 4, "its tensors", paths)
        checks.check("epoch" in said, "its other values", said)
    out = ingot.folder / "out.safetensors"
    ingot("extract", folder, "--key", "model", "-o", out).succeeded()
    found = tensors_of(out)
    saved = {"grid.weight": GRID, "rows": ROWS, "columns": ROWS, "scalar": SCALAR}
    for name, wanted in saved.items():
        checks.check(found[name] == (wanted.shape, wanted.numbers), name, found[name])
    done = ingot("inspect", folder / "__0_0.distcp")
    checks.report("one of its files", done.refusal(4, f"give the folder: {folder}"))
    checks.report("convert", ingot.convert(folder).refusal(4, "has weights and no program"))


def check_refused(checks, ingot):
    for spoil, exit_code, text in REFUSED:
        w = sound()
        spoil(w)
        folder = w.write(ingot.folder / spoil.__name__)
        done = ingot("extract", folder, "-o", ingot.folder / "no.safetensors")
        checks.report(spoil.__name__, done.refusal(exit_code, text))


def check_truncated(checks, ingot):
    """Every prefix of the description, and each byte of it changed: an answer or one line."""
    folder = sound().write(ingot.folder / "cut")
    description = folder / ".metadata"
    whole = description.read_bytes()
    for at in range(1, len(whole), 41):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :]):
            description.write_bytes(content)
            done = ingot("inspect", folder)
            why = done.error and done.refusal((2, 3, 4, 7))
            checks.report(f"byte {at}, {len(content)} bytes", why)


def main():
    checks = Checks("distributed")
    with work_folder() as work:
        ingot = Ingot(sys.argv[1], work, seconds=60)
        for part in (check_sound, check_refused, check_truncated):
            part(checks, ingot)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
