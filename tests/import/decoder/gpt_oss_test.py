#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small gpt-oss as GGUF and as a folder of Hugging Face, its experts plain and in MXFP4: logits
of prompts and steps beside those that NumPy computes in f64, and refusals.

  gpt_oss_test.py --ingot BIN
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, largest_error, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small gpt-oss")
from decoder_test import (  # noqa: E402
    CONTEXT,
    VOCABULARY,
    Run,
    check_cache,
    check_parts,
    check_slots,
    write_safetensors,
)
from gguf_writer import GivenBlocks, write_gguf  # noqa: E402

LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, EXPERTS, USED, WINDOW = 3, 64, 4, 2, 32, 96, 5, 2, 8
BASE, FACTOR, TRAINED = 150000.0, 8.0, 64
RUNS = [9, 1, 1, 1, 7, 1]  # tokens of each; windows wrap
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
FP4 = np.concatenate([FP4, -FP4])
TOKENS = np.random.default_rng(2).integers(0, VOCABULARY, sum(RUNS))
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
CONFIG = {
    "model_type": "gpt_oss",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "num_local_experts": EXPERTS,
    "num_experts_per_tok": USED,
    "experts_per_token": USED,
    "max_position_embeddings": 512,
    "initial_context_length": TRAINED,
    "rms_norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": False,
    "attention_bias": True,
    "hidden_act": "silu",
    "swiglu_limit": 7.0,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "rope_theta": BASE,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": FACTOR,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
        "original_max_position_embeddings": TRAINED,
    },
}
METADATA = {
    "block_count": LAYERS,
    "context_length": 512,
    "embedding_length": WIDTH,
    "feed_forward_length": HIDDEN,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD,
    "attention.value_length": HEAD,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "attention.sliding_window": WINDOW,
    "expert_count": EXPERTS,
    "expert_used_count": USED,
    "expert_feed_forward_length": HIDDEN,
    "rope.freq_base": BASE,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": FACTOR,
    "rope.scaling.original_context_length": TRAINED,
}


def random_weights():
    """Tensors as a folder has them, experts in MXFP4."""
    rng = np.random.default_rng(1)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    bias = lambda *dims: (rng.standard_normal(dims) / 4).astype(np.float32)
    norm = lambda: (1 + rng.standard_normal(WIDTH) / 5).astype(np.float32)
    codes = lambda *dims: rng.integers(0, 256, (EXPERTS, *dims, 16)).astype(np.uint8)
    exponents = lambda *dims: rng.integers(122, 126, (EXPERTS, *dims)).astype(np.uint8)
    tensors = {
        "model.embed_tokens.weight": draw(VOCABULARY, WIDTH),
        "model.norm.weight": norm(),
        "lm_head.weight": draw(VOCABULARY, WIDTH),
    }
    for layer in range(LAYERS):
        own = {"input_layernorm.weight": norm(), "post_attention_layernorm.weight": norm()}
        for name, rows, columns in (
            ("self_attn.q_proj", HEADS * HEAD, WIDTH),
            ("self_attn.k_proj", KV_HEADS * HEAD, WIDTH),
            ("self_attn.v_proj", KV_HEADS * HEAD, WIDTH),
            ("self_attn.o_proj", WIDTH, HEADS * HEAD),
            ("mlp.router", EXPERTS, WIDTH),
        ):
            own[name + ".weight"], own[name + ".bias"] = draw(rows, columns), bias(rows)
        own["self_attn.sinks"] = 4 * bias(HEADS)
        for name, rows, columns in (
            ("mlp.experts.gate_up_proj", 2 * HIDDEN, WIDTH),
            ("mlp.experts.down_proj", WIDTH, HIDDEN),
        ):
            own[name + "_blocks"] = codes(rows, columns // 32)
            own[name + "_scales"] = exponents(rows, columns // 32)
            own[name + "_bias"] = 2 * bias(EXPERTS, rows)
        tensors.update({f"model.layers.{layer}.{name}": array for name, array in own.items()})
    return tensors


def plain_experts(packed):
    """Experts as numbers, [experts, inputs, outputs]."""
    plain = {}
    for name, array in packed.items():
        if name.endswith("_scales"):
            continue
        if name.endswith("_blocks"):
            codes = np.stack([array & 15, array >> 4], -1).reshape(*array.shape[:3], 32)
            scale = 2.0 ** (packed[name[:-7] + "_scales"].astype(np.int64)[..., None] - 127)
            matrix = (FP4[codes] * scale).reshape(*array.shape[:2], -1)
            name, array = name[:-7], np.ascontiguousarray(matrix.swapaxes(1, 2), np.float32)
        plain[name] = array
    return plain


def as_bf16(tensors):
    """Bits of the upper halves, and the f32 that they stand for."""
    bits = {name: (x.view(np.uint32) >> 16).astype(np.uint16) for name, x in tensors.items()}
    return bits, {name: (x.astype(np.uint32) << 16).view(np.float32) for name, x in bits.items()}


def as_blocks(codes, scales, shape=None):
    """Blocks of GGUF: weights half a block apart share a byte."""
    both = np.stack([codes & 15, codes >> 4], -1).reshape(-1, 32)
    halves = both[:, :16] | both[:, 16:] << 4
    data = np.concatenate([scales.reshape(-1, 1), halves], 1).astype(np.uint8)
    shape = shape or (*codes.shape[:2], codes.shape[2] * 32)
    return GivenBlocks("MXFP4", shape, data.tobytes())


def as_gguf(tensors):
    names = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "post_attention_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.router": "ffn_gate_inp",
    }
    whole = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    out = {}
    for name, array in tensors.items():
        stem, _, part = name.rpartition(".")
        if stem in whole:
            out[f"{whole[stem]}.weight"] = array
            continue
        _, _, layer, rest = stem.split(".", 3)
        block = f"blk.{layer}."
        if part == "sinks":
            out[block + "attn_sinks.weight"] = array
        elif rest != "mlp.experts":
            out[f"{block}{names[rest]}.{part}"] = array
        elif not part.endswith("_scales"):
            end = "bias" if part.endswith("_bias") else "weight"
            scales = tensors.get(name[:-7] + "_scales")
            axis = 2 if part.endswith("_proj") else 1
            for number, kind in enumerate(("gate", "up") if "gate_up" in part else ("down",)):
                some = slice(number, None, 2) if "gate_up" in part else slice(None)
                own = array[:, :, some].swapaxes(1, 2) if axis == 2 else array[:, some]
                if part.endswith("_blocks"):
                    own = as_blocks(own, scales[:, some])
                else:
                    own = np.ascontiguousarray(own)
                out[f"{block}ffn_{kind}_exps.{end}"] = own
    named = {f"gpt-oss.{key}": value for key, value in METADATA.items()}
    return {"general.architecture": "gpt-oss", **named}, out


def angles():
    """Of YaRN, whose ramp is not cut to whole pairs; [positions, pairs] of cos and sin."""
    plain = BASE ** (-np.arange(0, HEAD, 2) / HEAD)
    pair = lambda turns: HEAD * np.log(TRAINED / (turns * 2 * np.pi)) / (2 * np.log(BASE))
    low, high = max(pair(32), 0), min(pair(1), HEAD - 1)
    ramp = np.clip((np.arange(HEAD // 2) - low) / (high - low), 0, 1)
    each = np.arange(len(TOKENS))[:, None] * (plain / FACTOR * ramp + plain * (1 - ramp))
    magnitude = 0.1 * np.log(FACTOR) + 1
    return np.cos(each) * magnitude, np.sin(each) * magnitude


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def reference(tensors):
    """Logits of every token of TOKENS, in f64."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}
    count, (cos, sin) = len(TOKENS), angles()
    linear = lambda x, name: x @ w[name + ".weight"].T + w[name + ".bias"]
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"]

    def turned(x):
        a, b = np.split(x, 2, -1)
        return np.concatenate([a * cos[:, None] - b * sin[:, None],
                               b * cos[:, None] + a * sin[:, None]], -1)  # fmt: skip

    def attend(x, at, is_windowed):
        q, k, v = (linear(x, f"{at}{p}_proj").reshape(count, -1, HEAD) for p in "qkv")
        q, k = turned(q), turned(k)
        k, v = (np.repeat(each, HEADS // KV_HEADS, 1) for each in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) * HEAD**-0.5
        apart = np.arange(count)[:, None] - np.arange(count)
        hidden = (apart < 0) | (is_windowed & (apart >= WINDOW))
        scores = np.where(hidden, -np.inf, scores)
        sinks = np.broadcast_to(w[at + "sinks"][:, None, None], (HEADS, count, 1))
        weights = softmax(np.concatenate([scores, sinks], -1))[..., :-1]
        return linear(np.einsum("hqk,khd->qhd", weights, v).reshape(count, -1), at + "o_proj")

    def mixture(x, at):
        scores, y = linear(x, at + "router"), np.zeros_like(x)
        for t in range(count):
            chosen = np.argsort(-scores[t])[:USED]
            for e, share in zip(chosen, softmax(scores[t, chosen])):
                own = lambda name: w[f"{at}experts.{name}"][e]
                both = x[t] @ own("gate_up_proj") + own("gate_up_proj_bias")
                gate, up = np.minimum(both[::2], 7), np.clip(both[1::2], -7, 7)
                mid = (up + 1) * gate / (1 + np.exp(-1.702 * gate))
                y[t] += share * (mid @ own("down_proj") + own("down_proj_bias"))
        return y

    x = w["model.embed_tokens.weight"][TOKENS]
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        x = x + attend(norm(x, at + "input_layernorm"), at + "self_attn.", layer % 2 == 0)
        x = x + mixture(norm(x, at + "post_attention_layernorm"), at + "mlp.")
    return norm(x, "model.norm") @ w["lm_head.weight"].T


def largest_difference(ingot, wanted):
    """Of the logits of all runs of one conversation."""
    state = pathlib.Path(ingot.folder) / "run.state"
    state.unlink(missing_ok=True)
    run, at, errors = Run(ingot, "run"), 0, []
    for count in RUNS:
        found = run(TOKENS[at : at + count])
        at += count
        errors.append(largest_error(found[0], wanted[at - 1], 1e-3))
    return max(errors)


class Folder:
    def __init__(self, ingot, tensors):
        self.ingot, self.tensors = ingot, tensors
        self.path = pathlib.Path(ingot.folder) / "folder"
        self.path.mkdir(exist_ok=True)

    def convert(self, how, *words, tensors=None, **changed):
        config = {**CONFIG, **({"quantization_config": how} if how else {}), **changed}
        (self.path / "config.json").write_text(json.dumps(config))
        write_safetensors(self.path / "model.safetensors", tensors or self.tensors)
        return self.ingot.convert(self.path, "--context", CONTEXT, *words)


def check_refusals(checks, folder):
    """Each in one line: what, expected and found."""
    at = "model.layers.1."
    down, gate_up = at + "mlp.experts.down_proj", at + "mlp.experts.gate_up_proj"
    own = folder.tensors
    without = lambda name: {k: v for k, v in own.items() if k != name}
    changed = lambda name, array: {**own, name: array}
    some = own[down + "_scales"].copy()
    some[1, 2, 0] = 255
    tests = {
        "sinks of another number": (MXFP4, changed(at + "self_attn.sinks", np.ones(3, np.float32)),
                                    5, ["self_attn.sinks' is [3], expected [4]"]),
        "no sinks": (MXFP4, without(at + "self_attn.sinks"), 5, ["self_attn.sinks' is missing"]),
        "no bias of q": (MXFP4, without(at + "self_attn.q_proj.bias"), 5, ["q_proj.bias' is miss"]),
        "no bias of the router": (MXFP4, without(at + "mlp.router.bias"), 5, ["router.bias' is"]),
        "no biases of experts": (MXFP4, without(gate_up + "_bias"), 5,
                                 ["gate_up_proj_bias.gate' is missing, expected [5, 96]"]),
        "biases of fewer experts": (MXFP4, changed(down + "_bias", own[down + "_bias"][1:]), 5,
                                    ["down_proj_bias' is [4, 64], expected [5, 64]"]),
        "an odd number of biases": (
            MXFP4, changed(gate_up + "_bias", np.ones((5, 191), np.float32)), 5,
            ["gate_up_proj_bias' is [5, 191], expected [experts, 2 * outputs]"],
        ),
        "another method": ({"quant_method": "nvfp4"}, None, 4, ["nvfp4", "mxfp4"]),
        "no configuration of it": (None, None, 4, ["'" + at[:13] + "0.", "no quantization_config"]),
        "no scales": (MXFP4, without(down + "_scales"), 5, ["down_proj_scales' is missing"]),
        "no blocks": (MXFP4, without(down + "_blocks"), 5, ["down_proj_blocks' is missing"]),
        "blocks of 8 bytes": (MXFP4, changed(down + "_blocks", own[down + "_blocks"][..., :8]), 5,
                              ["is [5, 64, 3, 8], expected [experts, outputs, inputs / 32, 16]"]),
        "blocks of three dimensions": (
            MXFP4, changed(gate_up + "_blocks", own[gate_up + "_blocks"].reshape(5, 192, 32)), 5,
            ["gate_up_proj_blocks' is [5, 192, 32], expected [experts, 2 * outputs, inputs"],
        ),
        "scales of fewer blocks": (MXFP4, changed(down + "_scales", own[down + "_scales"][..., 1:]),
                                   5, ["down_proj_scales' is [5, 64, 2], expected one for each"]),
        "blocks of f32": (MXFP4, changed(down + "_blocks", np.ones((5, 64, 3, 16), np.float32)), 5,
                          ["down_proj_blocks' is float32, expected uint8"]),
        "fewer experts": (MXFP4, {**own, down + "_blocks": own[down + "_blocks"][1:],
                                  down + "_scales": own[down + "_scales"][1:]},
                          5, ["down_proj' is [4, 64, 96], expected [5, 64, 96]"]),
        "an exponent that is none": (MXFP4, changed(down + "_scales", some), 4, ["255", "254"]),
        "packed and not": (MXFP4, changed(down, np.ones((5, 96, 64), np.float32)), 5,
                           ["there twice"]),
    }  # fmt: skip
    for name, (how, tensors, code, words) in tests.items():
        checks.report(name, folder.convert(how, tensors=tensors).refusal(code, *words))
    refused = folder.convert(MXFP4, model_type="llama", num_local_experts=0)
    checks.report("MXFP4 of another model", refused.refusal(4, "mxfp4", "gpt_oss alone"))
    scaling = CONFIG["rope_scaling"]
    no_factor = {key: value for key, value in scaling.items() if key != "factor"}
    for name, rope, words in (
        ("no rope", None, ["rope_parameters", "an object"]),
        ("rope that is a list", [1], ["rope_scaling", "an object"]),
        ("rope that says nothing", {}, ["rope_type", "missing"]),
        ("no factor", no_factor, ["factor", "missing", "above 0"]),
        ("a context of 0", {**scaling, "original_max_position_embeddings": 0}, ["1 to"]),
        ("a ramp of nothing", {**scaling, "beta_fast": 1}, ["beta_fast", "more than"]),
        ("positions without end", {**scaling, "attention_factor": 1e308}, ["at most 1000"]),
    ):
        checks.report(name, folder.convert(MXFP4, rope_scaling=rope).refusal(4, *words))
    refused = folder.convert(MXFP4, rope_theta=None)
    checks.report("no base", refused.refusal(4, "rope_theta", "missing"))
    refused = folder.convert(MXFP4, layer_types=["other"] * LAYERS, sliding_window=None)
    checks.report("layers of no type", refused.refusal(4, "layer_types", "full_attention"))
    refused = folder.convert(MXFP4, sliding_window=None)
    checks.report("no window", refused.refusal(4, "sliding_window", "a number"))
    refused = folder.convert(MXFP4, swiglu_limit=0)
    checks.report("a limit of 0", refused.refusal(4, "swiglu_limit", "above 0"))


def check_plain_refusals(checks, folder):
    at = "model.layers.1.mlp.experts.down_proj"
    for name, shape in ((at, (1 << 20, 0, 1 << 20)), (at + "_bias", (1 << 40, 0))):
        none = np.empty(0, np.float32).reshape(shape)
        refused = folder.convert(None, tensors={**folder.tensors, name: none})
        checks.report("no numbers in " + name, refused.refusal(5, "one with numbers"))
    turned = folder.tensors[at].swapaxes(1, 2).copy()
    refused = folder.convert(None, tensors={**folder.tensors, at: turned})
    checks.report("turned", refused.refusal(5, "down_proj' is [5, 96, 64], expected [5, 64, 96]"))
    refused = folder.convert(None, tensors={**folder.tensors, at: turned[0]})
    checks.report("one expert", refused.refusal(5, "[64, 96], expected [experts, inputs, outputs]"))
    refused = folder.convert(None, tensors={**folder.tensors, at: turned.astype(np.int32)})
    checks.report("integers", refused.refusal(5, "down_proj' is int32, expected float32"))


def check_gguf_refusals(checks, ingot, packed):
    source = pathlib.Path(ingot.folder) / "bad.gguf"

    def refusal(change, code, *words):
        metadata, tensors = as_gguf(packed)
        change(metadata, tensors)
        write_gguf(source, metadata, tensors)
        return ingot.convert(source).refusal(code, *words)

    def set_sinks(_, tensors):
        tensors["blk.1.attn_sinks.weight"] = np.ones((2, 4), np.float32)

    for key in ("attention.sliding_window", "rope.freq_base", "rope.scaling.type",
                "rope.scaling.factor"):  # fmt: skip
        refused = refusal(lambda m, _, key=key: m.pop("gpt-oss." + key), 4, key, "is missing")
        checks.report(f"no {key} in a GGUF file", refused)
    refused = refusal(set_sinks, 5, "'blk.1.attn_sinks.weight' is [2, 4], expected [4]")
    checks.report("sinks of two dimensions", refused)
    refused = refusal(lambda _, t: t.pop("blk.0.attn_sinks.weight"), 5, "attn_sinks", "is missing")
    checks.report("no sinks in a GGUF file", refused)
    refused = refusal(lambda _, t: t.pop("blk.2.ffn_up_exps.bias"), 5, "ffn_up_exps.bias' is miss")
    checks.report("no biases in a GGUF file", refused)
    refused = refusal(
        lambda m, _: m.update({"gpt-oss.expert_gating_func": 2}), 4, "is 2, expected 3"
    )
    checks.report("another gate of experts", refused)


def check_large_weights(checks, ingot, packed):
    """Weights that are finite, and whose sums are no f32: what the converter checks passes."""
    source = pathlib.Path(ingot.folder) / "large.gguf"
    codes = np.random.default_rng(0).integers(0, 256, (VOCABULARY, WIDTH // 32, 16))
    for exponent in (248, 252, 254):
        exponents = np.full(codes.shape[:2], 127)
        exponents[3, 1] = exponent
        metadata, tensors = as_gguf(packed)
        tensors["output.weight"] = as_blocks(codes[None], exponents[None], (VOCABULARY, WIDTH))
        write_gguf(source, metadata, tensors)
        for words in ((), ("--dtype", "fp32")):
            done = ingot.convert(source, "--context", CONTEXT, *words)
            checks.report(f"a head with the exponent {exponent} {words}", done.error)


def check_sources(checks, ingot, folder, name, how, tensors, bits=None):
    """A folder and a GGUF file of the same weights, widened: logits of NumPy, and the same bits."""
    folder.tensors = bits or tensors
    numbers = plain_experts(tensors) if how else tensors
    wanted = reference(numbers)
    checks.report(f"{name}: a folder", folder.convert(how, "--dtype", "fp32").error)
    error = largest_difference(ingot, wanted)
    checks.check(error < 2e-5, f"{name}: a folder's logits", f"{error:.1e}")
    whole = Run(ingot, "whole-" + name)(TOKENS)
    source = pathlib.Path(ingot.folder) / "model.gguf"
    write_gguf(source, *as_gguf(tensors))
    done = ingot.convert(source, "--context", CONTEXT, "--dtype", "fp32")
    checks.report(f"{name}: GGUF", done.error)
    error = largest_difference(ingot, wanted)
    checks.check(error < 2e-5, f"{name}: logits of GGUF", f"{error:.1e}")
    same = np.array_equal(Run(ingot, "gguf-" + name)(TOKENS), whole)
    checks.check(same, f"{name}: GGUF has the bits of the folder")
    if name == "f32":
        checks.report("ingot compare", ingot("compare", source).error)
    return source, wanted


def check_blocks(checks, ingot, folder, source, wanted):
    """Blocks stay blocks, and both sources have the same."""
    checks.report("a folder in blocks", folder.convert(MXFP4).error)
    found = Run(ingot, "blocks")(TOKENS)
    error = largest_error(found[0], wanted[-1], 1e-3)
    checks.check(1e-6 < error < 5e-2, "blocks are near", f"{error:.1e}")
    for threads in (1, 2, 3):
        fed = {"tokens": TOKENS[None].astype(np.int32), "position": np.zeros(1, np.int64)}
        own = ingot.outputs(fed, "--threads", threads)["logits"]
        checks.check(np.array_equal(own, found), f"the same bits on {threads} threads")
    checks.report("GGUF in blocks", ingot.convert(source, "--context", CONTEXT).error)
    same = np.array_equal(Run(ingot, "gguf-blocks")(TOKENS), found)
    checks.check(same, "GGUF has the blocks of the folder")
    check_parts(checks, ingot, TOKENS)
    check_slots(checks, ingot, source, TOKENS[:12], "--context", CONTEXT)
    for kind in ("f16", "q8"):  # rounding to 8 bits would hide what the caches lose
        check_cache(checks, ingot, source, kind, TOKENS, "--context", CONTEXT, "--dtype", "fp32")


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("gpt-oss")
    packed = random_weights()
    plain = plain_experts(packed)
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        folder = Folder(ingot, packed)
        check_sources(checks, ingot, folder, "f32", None, plain)
        check_plain_refusals(checks, folder)
        bits, rounded = as_bf16(plain)
        check_sources(checks, ingot, folder, "bf16", None, rounded, bits)
        source, wanted = check_sources(checks, ingot, folder, "MXFP4", MXFP4, packed)
        check_blocks(checks, ingot, folder, source, wanted)
        check_refusals(checks, folder)
        check_gguf_refusals(checks, ingot, packed)
        check_large_weights(checks, ingot, packed)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
