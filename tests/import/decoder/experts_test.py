#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small mixture of experts as GGUF, its experts in blocks of every type: logits near those of the
same weights in f32, the same bits for a prompt in parts, among slots and for any number of threads.

  experts_test.py --ingot BIN
"""

import pathlib
import sys

try:
    import numpy as np
except ImportError:  # stage models has a Python with it
    print("[skip] small mixtures of experts: no numpy for Python")
    sys.exit(0)

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from decoder_test import VOCABULARY, check_parts, check_slots  # noqa: E402
from gguf_writer import BLOCKS, RandomBlocks, write_gguf  # noqa: E402
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402

LAYERS, WIDTH, HEADS, HIDDEN, EXPERTS, USED = 2, 256, 4, 256, 6, 2
TOLERANCE = 5e-2  # of the largest logit: dense layers of the same blocks differ by 1 to 3e-2


def small_mixture(kind):
    """Metadata and tensors; attention and routers are f32, so that both files choose alike."""
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": LAYERS,
        "llama.context_length": 64,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.expert_count": EXPERTS,
        "llama.expert_used_count": USED,
    }
    rng = np.random.default_rng(5)
    draw = lambda *dims: (rng.standard_normal(dims) / 16).astype(np.float32)
    tensors = {f"{name}.weight": draw(VOCABULARY, WIDTH) for name in ("token_embd", "output")}
    for layer in range(LAYERS):
        name = f"blk.{layer}.{{}}.weight"
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors[name.format(part)] = draw(WIDTH, WIDTH)
        tensors[name.format("ffn_gate_inp")] = draw(EXPERTS, WIDTH)
        for seed, part in enumerate(("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")):
            shape = (EXPERTS, HIDDEN, WIDTH)
            tensors[name.format(part)] = RandomBlocks(kind, shape, 1 / 16, 10 * layer + seed)
        for part in ("attn_norm", "ffn_norm"):
            tensors[name.format(part)] = np.ones(WIDTH, np.float32)
    tensors["output_norm.weight"] = np.ones(WIDTH, np.float32)
    return metadata, tensors


def logits_of(ingot, tokens, *words):
    fed = {"tokens": tokens[None].astype(np.int32), "position": np.zeros(1, np.int64)}
    return ingot.outputs(fed, *words)["logits"]


def check_kind(checks, ingot, kind, tokens):
    source = ingot.folder / "experts.gguf"
    write_gguf(source, *small_mixture(kind))
    checks.report(f"{kind}: convert to f32", ingot.convert(source, "--dtype", "fp32").error)
    wanted = logits_of(ingot, tokens)
    exact_bytes = ingot.file.stat().st_size
    checks.report(f"{kind}: convert", ingot.convert(source).error)
    checks.check(ingot.file.stat().st_size < exact_bytes / 2, f"{kind}: blocks stay blocks")
    found = logits_of(ingot, tokens)
    error = largest_error(found, wanted, 1e-3)
    checks.check(0 < error <= TOLERANCE, f"{kind}: near f32", f"{error:.2e}")
    for threads in (1, 2, 3):
        same = np.array_equal(logits_of(ingot, tokens, "--threads", threads), found)
        checks.check(same, f"{kind}: the same bits on {threads} threads")
    check_parts(checks, ingot, tokens)
    check_slots(checks, ingot, source, tokens)


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("mixtures of experts")
    tokens = np.random.default_rng(2).integers(0, VOCABULARY, 17)
    for kind in BLOCKS:
        with work_folder() as folder:
            check_kind(checks, Ingot(args.ingot, folder, suffix=".gguf"), kind, tokens)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
