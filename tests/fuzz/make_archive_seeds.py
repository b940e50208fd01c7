#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_archive, members of the small archives that other tests have, each after
a line "%%% NAME": make_archive_seeds.py FOLDER (run.sh calls it)."""

import pathlib
import sys
import zipfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
OUT = pathlib.Path(sys.argv[1])
SOURCES = [
    "checkpoint/keras/bf16.keras",
    "checkpoint/keras/lambda.keras",
    "import/torchscript/data/control.pt",
    "import/torchscript/data/quantized_dynamic.pt",
    "import/torchscript/data/quantized_functions.pt",
    "import/torchscript/data/quantized_recurrent.pt",
    "import/torchscript/data/rounds.pt",
    "import/torchscript/data/streaming.pt",
    "import/torchscript/data/traced.pt",
    "import/pt2/data/turned.pt2",
    "import/pt2/data/quantized_in_run.pt2",
    "import/pt2/data/refuse_buffer.pt2",
    "checkpoint/matrix/data/zip_lightning_other_fp32.pth",
    "checkpoint/matrix/data/zip_dataparallel_cuda0_fp16.pth",
    "checkpoint/matrix/data/pt2_compile_cuda1_amp.pt2",
    "checkpoint/matrix/data/torchscript_dataparallel_other_amp.pt",
    "fuzz/seeds/fuzz_npz/linear.npz",
]

OUT.mkdir(parents=True, exist_ok=True)
for source in SOURCES:
    with zipfile.ZipFile(TESTS / source) as archive:
        text = b"\n".join(
            b"%%% " + name.encode() + b"\n" + archive.read(name) for name in archive.namelist()
        )
    (OUT / pathlib.Path(source).name).write_bytes(text)
