#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small language models with random weights wholly on a GPU: logits of a prompt and of steps behind
it have the bits of the CPU, for every type of block, caches of f16 and 8 bits, slots, a mixture
with windows, sinks and MXFP4, rings, and latents; a run is one launch and one wait; answers have
the same tokens.

  INGOT_CUDA_DRIVER=LIB decoders.py --ingot BIN     LIB: the fake driver; empty: the machine's GPU
"""

import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "import" / "decoder"), str(TESTS / "support")]
from testing import Checks, Ingot, ingot_parser, numpy_or_skip, work_folder  # noqa: E402

np = numpy_or_skip("language models on a GPU")

import gpt_oss_test  # noqa: E402
import latent_model  # noqa: E402
from chat_test import tokenizer  # noqa: E402
from decoder_test import VOCABULARY  # noqa: E402
from gguf_writer import BLOCKS, FLOATS, RandomBlocks, write_gguf  # noqa: E402

WIDTH, HEADS, KV_HEADS, CONTEXT = 256, 8, 2, 24  # types of 256 need the width
RING = 300  # a context that is longer than rings
RUNS = [9, 1, 3, 1]  # tokens of each
TOKENS = np.random.default_rng(2).integers(0, VOCABULARY, sum(RUNS))
GPU = ["--device", "cuda", "--strict"]


def small_llama(kind):
    """One layer whose matrices are of one type; `kind` "": f32."""
    metadata = {
        "general.architecture": "llama",
        "llama.block_count": 1,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": WIDTH,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
    }
    kept = WIDTH // HEADS * KV_HEADS
    rows = {"attn_q": WIDTH, "attn_k": kept, "attn_v": kept}
    rows.update(dict.fromkeys(("attn_output", "ffn_gate", "ffn_up", "ffn_down"), WIDTH))
    shapes = {f"blk.0.{name}": count for name, count in rows.items()}
    tensors = {
        f"{name}.weight": RandomBlocks(kind, (count, WIDTH), WIDTH**-0.5, seed)
        for seed, (name, count) in enumerate({"token_embd": VOCABULARY, **shapes}.items())
    }
    ones = np.ones(WIDTH, np.float32)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        tensors[f"{name}.weight"] = ones
    return metadata, tensors


def conversation(ingot, *options):
    """Logits of each of RUNS."""
    return np.concatenate(list(ingot.conversation(TOKENS, RUNS, *options)))


def slots(ingot, *options):
    """Logits of three sequences that share runs."""
    state, logits = ingot.folder / "slots.state", []
    state.unlink(missing_ok=True)
    for run in range(2):
        slot = np.arange(6) % 3
        fed = {
            "tokens": TOKENS[None, 6 * run : 6 * run + 6].astype(np.int32),
            "position": (run * 2 + np.arange(6) // 3)[None],
            "slot": slot[None],
            "rows": np.array([[3, 4, 5, 0, 0, 0]]),
        }
        logits.append(ingot.outputs(fed, *options, state=state)["logits"])
    return np.concatenate(logits)


def check(checks, ingot, what, source, *words, run=conversation, context=CONTEXT):
    done = ingot.convert(source, "--context", context, *words)
    if not checks.report(f"{what}: convert", done.error):
        return
    wanted, found = run(ingot, "--device", "cpu"), run(ingot, *GPU)
    spread = float(np.abs(wanted).max())
    checks.check(np.isfinite(spread) and spread > 0.1, f"{what}: logits are numbers", spread)
    checks.check(np.array_equal(wanted, found), f"{what}: the bits of the CPU",
                 np.abs(wanted - found).max())  # fmt: skip
    placed = json.loads(ingot("place", ingot.file, *GPU, "--dim", "T=1", "--json").stdout)
    shares = [(s["launches"], s["waits"]) for s in placed["devices"]]
    checks.check(shares == [(1, 1)], f"{what}: a token is one launch and one wait", shares)


def check_answers(checks, ingot, source):
    checks.report("answers: convert", ingot.convert(source, "--context", CONTEXT).error)
    words = ("generate", ingot.file, "--prompt", "a cat: ", "--tokens", 8, "--ignore-end", "--json")
    ids = [
        json.loads(ingot(*words, *device).stdout)["ids"] for device in (("--device", "cpu"), GPU)
    ]
    checks.check(len(ids[0]) == 8 and ids[0] == ids[1], "answers have the same tokens", ids)


def main():
    parser = ingot_parser(__doc__)
    parser.add_argument("--kinds", nargs="*", default=[*BLOCKS, *FLOATS])
    args = parser.parse_args()
    checks = Checks("language models on a GPU")
    with work_folder() as folder:
        ingot = Ingot(args.ingot, folder, suffix=".gguf")
        source = pathlib.Path(folder) / "llama.gguf"
        for kind in args.kinds:
            write_gguf(source, *small_llama(kind))
            check(checks, ingot, kind, source)
        write_gguf(source, *small_llama("Q4_0"))
        for cache in ("f16", "q8"):
            check(checks, ingot, f"caches of {cache}", source, "--cache", cache)
        check(checks, ingot, "slots", source, "--slots", 3, run=slots)
        both = ("--lookup", 3, "--cache", "q8", "--slots", 3)
        check(checks, ingot, "look-up", source, *both, run=slots)
        metadata, tensors = small_llama("Q4_0")
        write_gguf(source, {**metadata, **tokenizer()}, tensors)
        check_answers(checks, ingot, source)
        write_gguf(source, *gpt_oss_test.as_gguf(gpt_oss_test.random_weights()))
        check(checks, ingot, "a mixture with windows and sinks", source)
        check(checks, ingot, "its slots", source, "--slots", 3, run=slots)
        check(checks, ingot, "rings", source, context=RING)
        check(checks, ingot, "rings of slots", source, "--slots", 3, run=slots, context=RING)
        write_gguf(source, *latent_model.as_gguf(latent_model.random_weights()))
        blocks = ("--weights", "q8_0")  # experts of f32 are the CPU's
        check(checks, ingot, "latents", source, *blocks)
        check(checks, ingot, "latents of slots", source, *blocks, "--slots", 3, run=slots)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
