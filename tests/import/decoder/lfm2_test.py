#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small LFM2, dense and of experts, as GGUF and as a folder of Hugging Face: logits of prompts
and steps beside those that NumPy computes in f64, how far a conversation goes back, and refusals.

  lfm2_test.py --ingot BIN
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small LFM2")
from decoder_test import (  # noqa: E402
    CONTEXT,
    VOCABULARY,
    Run,
    check_bounds,
    check_lookup,
    check_parts,
    check_slots,
    write_safetensors,
)
from gguf_writer import write_gguf  # noqa: E402
from lfm2_model import (  # noqa: E402
    BACK,
    BASE,
    CONFIG,
    HIDDEN,
    MOE,
    RUNS,
    TOKENS,
    WIDTH,
    as_gguf,
    random_weights,
    reference,
)


class Folder:
    def __init__(self, ingot, tensors, config):
        self.ingot, self.tensors, self.config = ingot, tensors, config
        self.path = pathlib.Path(ingot.folder) / "folder"
        self.path.mkdir(exist_ok=True)

    def convert(self, *words, tensors=None, **changed):
        config = {k: v for k, v in {**self.config, **changed}.items() if v is not None}
        (self.path / "config.json").write_text(json.dumps(config))
        write_safetensors(self.path / "model.safetensors", tensors or self.tensors)
        return self.ingot.convert(self.path, "--context", CONTEXT, *words)


def largest_difference(ingot, wanted):
    """Of the logits of all runs of one conversation."""
    (pathlib.Path(ingot.folder) / "run.state").unlink(missing_ok=True)
    run, at, errors = Run(ingot, "run"), 0, []
    for count in RUNS:
        found = run(TOKENS[at : at + count])
        at += count
        errors.append(largest_error(found[0], wanted[at - 1], 1e-3))
    return max(errors)


def check_sources(checks, ingot, folder, name):
    """A folder and a GGUF file of the same weights: logits of NumPy, and the same bits."""
    wanted = reference(folder.tensors)
    checks.report(f"{name}: a folder", folder.convert("--dtype", "fp32").error)
    error = largest_difference(ingot, wanted)
    checks.check(error < 1e-5, f"{name}: a folder's logits", f"{error:.1e}")
    whole = Run(ingot, "whole-" + name)(TOKENS)
    source = pathlib.Path(ingot.folder) / f"{name}.gguf"
    write_gguf(source, *as_gguf(folder.tensors))
    done = ingot.convert(source, "--context", CONTEXT, "--dtype", "fp32")
    checks.report(f"{name}: GGUF", done.error)
    checks.check("convolutions" in done.output, "a note has the bytes of the state", done.output)
    error = largest_difference(ingot, wanted)
    checks.check(error < 1e-5, f"{name}: logits of GGUF", f"{error:.1e}")
    same = np.array_equal(Run(ingot, "gguf-" + name)(TOKENS), whole)
    checks.check(same, f"{name}: GGUF has the bits of the folder")
    checks.report(f"{name}: ingot compare", ingot("compare", source).error)
    check_threads(checks, ingot, whole)
    return source, whole


def check_threads(checks, ingot, whole):
    fed = {"tokens": TOKENS[None].astype(np.int32), "position": np.zeros(1, np.int64)}
    for threads in (1, 2, 3):
        own = ingot.outputs(fed, "--threads", threads)["logits"]
        checks.check(np.array_equal(own, whole), f"the same bits on {threads} threads")


def check_splits(checks, ingot, whole):
    """A prompt split at every size."""
    for saved in pathlib.Path(ingot.folder).glob("*.state"):
        saved.unlink()
    for first in range(1, len(TOKENS)):
        run = Run(ingot, f"split{first}")
        run(TOKENS[:first])
        same = np.array_equal(run(TOKENS[first:]), whole)
        checks.check(same, f"split behind {first} tokens: the bits of one run")


def check_ways(checks, ingot, source, whole, *words):
    """The bits of one run, however tokens come."""
    check_splits(checks, ingot, whole)
    check_parts(checks, ingot, TOKENS)
    check_bounds(checks, ingot)
    check_slots(checks, ingot, source, TOKENS[:12], *words)
    check_lookup(checks, ingot, source, TOKENS[:12], *words)


def check_back(checks, ingot, source, most=BACK):
    """A conversation goes back by so many tokens, and not by more; or begins anew."""
    checks.report("convert", ingot.convert(source, "--context", 64).error)
    tokens = np.random.default_rng(4).integers(0, VOCABULARY, 40)
    run = Run(ingot, "back")
    for at in range(40):
        run(tokens[at : at + 1])
    # what was seen since does not reach further
    for at, back in ((40, most), (min(40, 42 - most), min(most, 2))):
        run.at = at - back
        found = run(tokens[run.at : run.at + 2])
        wanted = Run(ingot, f"until{run.at}")(tokens[: run.at])
        checks.check(np.array_equal(found, wanted), f"{back} tokens back from {at}")
    fed = {"in:tokens": np.array([[1]], np.int32)}
    path = pathlib.Path(ingot.folder) / "bad.npz"
    for at in (11, 24, 41):
        np.savez(path, **fed, **{"in:position": np.array([at], np.int64)})
        files = ("--inputs", path, "--outputs", path.with_name("o.npz"), "--load-state", run.state)
        done = ingot("run", ingot.file, "-q", *files)
        checks.check(
            done.returncode != 0 and "index" in done.stderr,
            f"a position of {at}, which no row is for, is refused",
            done.output,
        )
    run.at = 0
    checks.check(np.array_equal(run(tokens[:3]), Run(ingot, "anew")(tokens[:3])), "position 0")


def check_turns(checks, ingot, source, back=4):
    """Runs of slots that go on, go back and begin anew, their tokens in any order: the bits of one
    run over what each slot holds."""
    context, rng = 64, np.random.default_rng(6)
    words = ("--context", context, "--dim", f"T=1..{context}")
    checks.report("convert", ingot.convert(source, *words).error)
    held, wanted = {slot: [] for slot in range(3)}, []
    runs = []
    for _ in range(14):
        parts, left = [], context
        for slot in rng.permutation(3)[: rng.integers(1, 4)]:
            kept, oldest = held[slot][:], max(0, len(held[slot]) - back)
            at = rng.choice([len(kept), len(kept), rng.integers(oldest, len(kept) + 1), 0])
            most = min(left, context - at)
            count = int(rng.integers(1, most + 1)) if most else 0
            if rng.integers(3):
                count = min(count, 5)
            if count:
                held[slot] = [*kept[:at], *rng.integers(0, VOCABULARY, count)]
                parts.append([(held[slot][p], p, slot) for p in range(at, at + count)])
                left -= count
        owners = rng.permutation([i for i, part in enumerate(parts) for _ in part])
        nexts = [iter(part) for part in parts]
        rows = [next(nexts[i]) for i in owners]
        last = [max(t for t, i in enumerate(owners) if i == own) for own in range(len(parts))]
        runs.append((rows, last))
        for own in range(len(parts)):
            wanted.append(Run(ingot, f"turn{len(wanted)}")(held[rows[last[own]][2]])[0])
    checks.report("convert with slots", ingot.convert(source, *words, "--slots", 3).error)
    state, at = pathlib.Path(ingot.folder) / "turns.state", 0
    for number, (rows, last) in enumerate(runs):
        token, position, slot = np.array(rows, np.int64).T[:, None]
        chosen = np.zeros((1, len(rows)), np.int64)
        chosen[0, : len(last)] = last
        fed = {"tokens": token.astype(np.int32), "position": position, "slot": slot}
        logits = ingot.outputs({**fed, "rows": chosen}, state=state)["logits"]
        same = all(np.array_equal(logits[i], wanted[at + i]) for i in range(len(last)))
        checks.check(same, f"run {number} of {len(rows)} tokens in {len(last)} slots")
        at += len(last)


def check_caches(checks, ingot, source):
    """Caches of another type; what convolutions keep stays f32."""
    for kind, most in (("f16", 2e-3), ("q8", 4e-2)):
        words = ("--context", CONTEXT, "--dtype", "fp32")
        checks.report("convert", ingot.convert(source, *words).error)
        wanted = Run(ingot, "f32" + kind)(TOKENS)
        words = (*words, "--cache", kind)
        checks.report(f"convert with {kind}", ingot.convert(source, *words).error)
        whole = Run(ingot, "of" + kind)(TOKENS)
        error = largest_error(whole, wanted, 1e-3)
        checks.check(0 < error < most, f"{kind} differs by {error:.1e} of the largest logit")
        check_splits(checks, ingot, whole)
        check_slots(checks, ingot, source, TOKENS[:12], *words)


def check_blocks(checks, ingot, tensors):
    """Projections in blocks, of the source or as --weights makes them, near the same in f32."""
    source = pathlib.Path(ingot.folder) / "blocks.gguf"
    for kind in ("Q8_0", "Q4_0"):
        write_gguf(source, *as_gguf(tensors, kind))
        words = ("--context", CONTEXT)
        checks.report("convert to f32", ingot.convert(source, *words, "--dtype", "fp32").error)
        wanted = Run(ingot, "wide" + kind)(TOKENS)
        checks.report("convert", ingot.convert(source, *words).error)
        whole = Run(ingot, kind)(TOKENS)
        error = largest_error(whole, wanted, 1e-3)
        checks.check(0 < error < 5e-2, f"{kind} is near f32", f"{error:.1e}")
        check_threads(checks, ingot, whole)
        check_ways(checks, ingot, source, whole, *words)
    write_gguf(source, *as_gguf(tensors))
    for kind, most in (("q8", 5e-2), ("q4", 0.5)):
        words = ("--context", CONTEXT, "--weights", kind)
        done = ingot.convert(source, *words)
        checks.report(f"--weights {kind}", done.error)
        checks.check("shortconv.in_proj" in done.output, "its loss is named", done.output)
        error = largest_error(Run(ingot, "as" + kind)(TOKENS)[0], reference(tensors)[-1], 1e-3)
        checks.check(0 < error < most, f"--weights {kind} is near f32", f"{error:.1e}")


def check_embedding(checks, ingot, tensors):
    """One vector of a whole text: nothing is kept."""
    source = pathlib.Path(ingot.folder) / "embedding.gguf"
    wanted, head = reference(tensors), tensors["model.embed_tokens.weight"]
    for pooling, logits in ((1, wanted.mean(0)), (3, wanted[-1])):
        metadata, own = as_gguf(tensors)
        write_gguf(source, {**metadata, "lfm2.pooling_type": pooling}, own)
        done = ingot.convert(source, "--context", CONTEXT, "--dtype", "fp32")
        checks.report(f"pooling {pooling}", done.error)
        found = head @ ingot.outputs({"tokens": TOKENS[None].astype(np.int32)})["embedding"][0]
        error = largest_error(found / np.linalg.norm(found), logits / np.linalg.norm(logits), 1e-3)
        checks.check(error < 1e-5, f"pooling {pooling}: the vector", f"{error:.1e}")


def check_refusals(checks, folder):
    """Each in one line: what, expected and found."""
    own, at = folder.tensors, "model.layers.2.conv."
    without = lambda name: {k: v for k, v in own.items() if k != name}
    changed = lambda name, array: {**own, name: array}
    turned = own[at + "conv.weight"].swapaxes(0, 2).copy()
    some = ["conv", "full_attention", "conv"]
    for name, tensors, code, words, keys in (
        ("a type of no layer", None, 4, ["layer_types", "full_attention or conv"],
         {"layer_types": [*some, "mamba"]}),
        ("types of fewer layers", None, 4, ["layer_types", "a list of 4"], {"layer_types": some}),
        ("no attention", None, 4, ["one layer of attention"], {"layer_types": ["conv"] * 4}),
        ("neither types nor indices", None, 4, ["layer_types", "missing"], {"layer_types": None}),
        ("a length of 0", None, 4, ["conv_L_cache", "1 to 32"], {"conv_L_cache": 0}),
        ("a length beyond reason", None, 4, ["conv_L_cache", "1 to 32"], {"conv_L_cache": 1 << 40}),
        ("no length", None, 4, ["conv_L_cache", "missing"], {"conv_L_cache": None}),
        ("another length", None, 5, ["conv.conv.weight' is [128, 1, 3], expected [128, 1, 4]"],
         {"conv_L_cache": 4}),
        ("another width", None, 4, ["conv_dim", "128, the hidden_size"], {"conv_dim": 64}),
        ("no heads of keys", None, 4, ["num_key_value_heads"], {"num_key_value_heads": None}),
        ("a factor of 0", None, 4, ["block_ffn_dim_multiplier"],
         {"block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": 0}),
        ("another factor", None, 5, ["w1.weight' is [96, 128], expected [256, 128]"],
         {"block_auto_adjust_ff_dim": True}),
        ("biases that are not there", None, 5, ["conv.in_proj.bias' is missing, expected [384]"],
         {"conv_bias": True}),
        ("no taps", without(at + "conv.weight"), 5, ["conv.conv.weight' is missing"], {}),
        ("no first product", without(at + "in_proj.weight"), 5, ["in_proj.weight' is missing"], {}),
        ("no last product", without(at + "out_proj.weight"), 5, ["out_proj.weight' is miss"], {}),
        ("taps turned", changed(at + "conv.weight", turned), 5,
         ["conv.conv.weight' is [3, 1, 128], expected [128, 1, 3]"], {}),
        ("two thirds", changed(at + "in_proj.weight", own[at + "in_proj.weight"][:256]), 5,
         ["in_proj.weight' is [256, 128], expected [384, 128]"], {}),
        ("a head that is missing", None, 5, ["lm_head.weight"], {"tie_embedding": False}),
        ("no norm of q", without("model.layers.1.self_attn.q_layernorm.weight"), 5,
         ["q_layernorm.weight' is missing, expected [32]"], {}),
    ):  # fmt: skip
        checks.report(name, folder.convert(tensors=tensors, **keys).refusal(code, *words))
    old = {"layer_types": None, "full_attn_idxs": [1], "intermediate_size": None,
           "block_ff_dim": HIDDEN, "rope_theta": None, "theta": BASE,
           "tie_word_embeddings": None, "tie_embedding": True}  # fmt: skip
    checks.report("indices of attention, as it was", folder.convert("--dtype", "fp32", **old).error)
    wanted = reference(own)
    error = largest_difference(folder.ingot, wanted)
    checks.check(error < 1e-5, "they are the same model", f"{error:.1e}")


def check_gguf_refusals(checks, ingot, tensors):
    source = pathlib.Path(ingot.folder) / "bad.gguf"

    def refusal(name, change, code, *words):
        metadata, own = as_gguf(tensors)
        change(metadata, own)
        write_gguf(source, metadata, own)
        checks.report(name, ingot.convert(source).refusal(code, *words))

    heads, length = "lfm2.attention.head_count_kv", "lfm2.shortconv.l_cache"
    set_to = lambda key, value: lambda m, _: m.update({key: value})
    taps = "blk.2.shortconv.conv.weight"
    refusal("heads of fewer layers", set_to(heads, [0, 2, 0]), 4, "has 3 numbers, expected 4")
    refusal("heads of more layers", set_to(heads, [0, 2, 0, 0, 2]), 4, "has 5 numbers, expected 4")
    refusal("heads of none", set_to(heads, [0, 0, 0, 0]), 4, "0 for all layers", "one layer of att")
    refusal("heads that do not divide", set_to(heads, [0, 3, 0, 0]), 4, "head_count_kv", "divisor")
    refusal("one number of heads for all", set_to(heads, 2), 5, "attn_q.weight' is missing")
    refusal("a length of 0", set_to(length, 0), 4, "l_cache' is 0, expected 1 to 32")
    refusal("a length beyond reason", set_to(length, 4000000000), 4, "l_cache", "1 to 32")
    refusal("no length", lambda m, _: m.pop(length), 4, "l_cache' is missing")
    refusal("no taps", lambda _, t: t.pop(taps), 5, "shortconv.conv.weight' is missing")
    refusal("no last product", lambda _, t: t.pop("blk.0.shortconv.out_proj.weight"), 5,
            "shortconv.out_proj.weight' is missing, expected [128, 128]")  # fmt: skip
    refusal("taps turned", lambda _, t: t.update({taps: t[taps].T.copy()}), 5, "[3, 128], expected")
    refusal("attention where a convolution is", set_to(heads, [2, 0, 0, 0]), 5, "attn_q.weight' is")
    refusal("the norm of others", lambda _, t: t.update({"output_norm.weight": np.ones(WIDTH)
            .astype(np.float32)}), 5, "'output_norm.weight' is not expected")  # fmt: skip


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("lfm2")
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        folder = Folder(ingot, random_weights(False), CONFIG)
        source, whole = check_sources(checks, ingot, folder, "lfm2")
        check_ways(checks, ingot, source, whole, "--context", CONTEXT, "--dtype", "fp32")
        check_back(checks, ingot, source)
        check_turns(checks, ingot, source)
        check_caches(checks, ingot, source)
        check_blocks(checks, ingot, folder.tensors)
        check_embedding(checks, ingot, folder.tensors)
        check_refusals(checks, folder)
        check_gguf_refusals(checks, ingot, folder.tensors)
        folder = Folder(ingot, random_weights(True), {**CONFIG, **MOE})
        source, whole = check_sources(checks, ingot, folder, "lfm2moe")
        check_ways(checks, ingot, source, whole, "--context", CONTEXT, "--dtype", "fp32")
        bias = "model.layers.2.feed_forward.expert_bias"
        folder.tensors.pop(bias)
        refused = folder.convert()
        checks.report("no bias of the choice", refused.refusal(5, "expert_bias' is missing"))
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
