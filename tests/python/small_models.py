# SPDX-License-Identifier: Apache-2.0
"""Small networks of the tree, converted once in a process."""

import atexit
import functools
import pathlib
import sys
import tempfile

import numpy as np

import ingot

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/cli/data"
_folder = tempfile.TemporaryDirectory(prefix="ingot-tests-")
atexit.register(_folder.cleanup)


@functools.lru_cache(maxsize=None)
def path_of(name, state=()):
    """Of the .ingot file of tests/cli/data/NAME.onnx; `state` has pairs of an input and output."""
    path = pathlib.Path(_folder.name) / f"{name}.ingot"
    ingot.convert(DATA / f"{name}.onnx", path, state=dict(state))
    return path


def linear():
    """x f32[1, 4] -> y f32[1, 3]: Gemm and Relu."""
    return ingot.Model(path_of("linear"))


def batch():
    """The same with a dynamic dimension N."""
    return ingot.Model(path_of("batch"))


def stream():
    """x f32[1, 2] -> y = 2 * s where s, the state, is the sum of all x."""
    return ingot.Model(path_of("stream", (("s", "sn"),)))


def quantized_ports():
    """linear() with what a quantized source would say of its ports."""
    path = pathlib.Path(_folder.name) / "quantized_ports.ingot"
    said = {
        "ingot.quantization.x": "scale 0.5 zero_point -3 bits 3fe0000000000000",
        "ingot.quantization.y": "scale 0.25 zero_point 7 bits 3fd0000000000000",
    }
    ingot.convert(DATA / "linear.onnx", path, metadata=said)
    return ingot.Model(path)


def linear_case():
    """An input of linear() and what NumPy computed from it."""
    golden = np.load(DATA / "linear.npz")
    return golden["in:x"], golden["out:y"]


def rows(count, seed=7):
    """An aligned input of batch() with that many rows."""
    array = ingot.empty((count, 4))
    array[:] = np.random.default_rng(seed).standard_normal((count, 4), dtype=np.float32)
    return array


def address(array):
    return array.__array_interface__["data"][0]


def misaligned(array):
    """The same elements, beside a multiple of 64 bytes."""
    room = ingot.empty(array.nbytes + 16, "uint8")
    moved = room[16:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


@functools.lru_cache(maxsize=None)
def chat_path(context=64, lookup=0, **more):
    """Of a small Llama with a tokenizer of letters and bytes, and a chat template; `more`: metadata
    of it."""
    sys.path.append(str(ROOT / "tests/import/decoder"))
    from chat_test import TEMPLATE, tokenizer
    from decoder_test import small_llama
    from gguf_writer import write_gguf

    metadata, tensors = small_llama()
    own = {**tokenizer(), "tokenizer.chat_template": TEMPLATE, "llama.context_length": context}
    own |= {f"llama.{key}": value for key, value in more.items()}
    source = pathlib.Path(_folder.name) / f"llama{context}_{lookup}{''.join(more)}.gguf"
    write_gguf(source, {**metadata, **own}, tensors)
    path = source.with_suffix(".ingot")
    checks = {"lookup": lookup} if lookup else {}
    ingot.convert(source, path, context=context, dims={"T": (1, 8)}, **checks)
    return path


def embedding_path():
    """The same as an embedding model: the row of the last token, of 8 at most."""
    return chat_path(pooling_type=3)
