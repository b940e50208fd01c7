#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small mixture of experts as GGUF, its experts in blocks of every type: logits near those of the
same weights in f32, the same bits for a prompt in parts, among slots and for any number of threads.

  experts_test.py --ingot BIN
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small mixtures of experts")
from decoder_test import VOCABULARY, check_parts, check_slots  # noqa: E402
from gguf_writer import BLOCKS, FLOATS, RandomBlocks, write_gguf  # noqa: E402

LAYERS, WIDTH, HEADS, HIDDEN, EXPERTS, USED = 2, 256, 4, 256, 6, 2
# Prompts in parts and among slots: of the others conformance_block_linear compares each row's bits.
WHOLE = ("Q4_0", "Q4_1", "Q4_K", "Q6_K", "Q2_K", "IQ4_XS", "BF16")
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
    most = 0.75 if kind in FLOATS else 0.5
    checks.check(ingot.file.stat().st_size < most * exact_bytes, f"{kind}: blocks stay blocks")
    found = logits_of(ingot, tokens)
    error = largest_error(found, wanted, 1e-3)
    near = error == 0 if kind in FLOATS else 0 < error <= TOLERANCE
    checks.check(near, f"{kind}: near f32, and of 16 bits its bits", f"{error:.2e}")
    for threads in (1, 2, 3):
        same = np.array_equal(logits_of(ingot, tokens, "--threads", threads), found)
        checks.check(same, f"{kind}: the same bits on {threads} threads")
    if kind in FLOATS:
        check_extracted(checks, ingot, source)
    if kind in WHOLE:
        check_parts(checks, ingot, tokens)
        check_slots(checks, ingot, source, tokens)


def check_extracted(checks, ingot, source):
    """Experts come out of the file as they went in."""
    weights = ingot.folder / "weights.safetensors"
    done = ingot("extract", ingot.file, "-o", weights)
    checks.report("extract", done.error)
    done = ingot("diff", weights, source, "--all")
    same = "0 of other values, 0 of another type, 0 of another shape" in done.output
    lost = [line for line in done.output.splitlines() if "only in B" in line and "exps" in line]
    checks.check(same and not lost, "what was extracted is the source's", done.output[-300:])


def check_odd_numbers(checks, ingot):
    """A matrix of 16 bits that holds what is no number is named."""
    metadata, tensors = small_mixture("F16")
    table = tensors["token_embd.weight"].astype(np.float16)
    table[3, 5:8] = np.inf, np.nan, -np.inf
    tensors["token_embd.weight"] = table
    source = ingot.folder / "odd.gguf"
    write_gguf(source, metadata, tensors)
    done = ingot.convert(source)
    named = "1 NaN and 2 infinite" in done.output and "token_embd" in done.output
    checks.check(named, "NaN of 16 bits is named", done.output[-300:])


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("mixtures of experts")
    tokens = np.random.default_rng(2).integers(0, VOCABULARY, 17)
    for kind in [*BLOCKS, *FLOATS]:
        with work_folder() as folder:
            check_kind(checks, Ingot(args.ingot, folder, suffix=".gguf"), kind, tokens)
    with work_folder() as folder:
        check_odd_numbers(checks, Ingot(args.ingot, folder, suffix=".gguf"))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
