#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small Gemma 4 as GGUF and as a folder: logits of prompts and steps beside those that NumPy
computes in f64; splits, slots and look-up have the bits of one run; what is refused.

  gemma4_test.py --ingot BIN
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from testing import Checks, Ingot, ingot_parser, work_folder  # noqa: E402
from testing import numpy_or_skip  # noqa: E402

np = numpy_or_skip("small Gemma 4")
from decoder_test import CONTEXT, VOCABULARY, Run  # noqa: E402
from gemma_model import (  # noqa: E402
    EPSILON,
    FOLDER,
    HEADS,
    INPUT,
    KV_HEADS,
    LAYER_TYPES,
    LAYERS,
    SHARED,
    WIDTH,
    WINDOW,
    Reference,
    gelu,
    owns,
    rms,
)
from gguf_writer import write_gguf  # noqa: E402
from hybrid_model import TOKENS  # noqa: E402
from hybrids_test import largest_difference  # noqa: E402
from lfm2_test import Folder, check_threads, check_ways  # noqa: E402

HIDDEN = 48
HEAD = {"s": 16, "f": 32}
EXPERTS, USED, OF_EXPERT = 5, 2, 64  # in a model of their own
TURNED = 4  # pairs of 16 that turn where attention sees all


def hidden(layer):
    return HIDDEN * (1 if owns(layer) else 2)


def random_tensors(kinds=LAYERS):
    rng = np.random.default_rng(1)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    near = lambda count: (1 + rng.standard_normal(count) / 5).astype(np.float32)
    tensors = {
        "token_embd.weight": draw(VOCABULARY, WIDTH),
        "output_norm.weight": near(WIDTH),
        "per_layer_token_embd.weight": draw(VOCABULARY, len(LAYERS) * INPUT),
        "per_layer_model_proj.weight": draw(len(LAYERS) * INPUT, WIDTH),
        "per_layer_proj_norm.weight": near(INPUT),
        "rope_freqs.weight": np.array([1.0] * TURNED + [1e30] * (16 - TURNED), np.float32),
    }
    for layer, kind in enumerate(kinds):
        own = {name: near(WIDTH) for name in NORMS}
        own["attn_q"], own["attn_q_norm"] = draw(HEADS * HEAD[kind], WIDTH), near(HEAD[kind])
        own["attn_output"] = draw(WIDTH, HEADS * HEAD[kind])
        if owns(layer):
            for part in "kv":
                own[f"attn_{part}"] = draw(KV_HEADS * HEAD[kind], WIDTH)
            own["attn_k_norm"] = near(HEAD[kind])
        own["ffn_gate"], own["ffn_up"] = draw(hidden(layer), WIDTH), draw(hidden(layer), WIDTH)
        own["ffn_down"] = draw(WIDTH, hidden(layer))
        own["inp_gate"], own["proj"] = draw(INPUT, WIDTH), draw(WIDTH, INPUT)
        own["layer_output_scale"] = near(1)
        tensors.update({f"blk.{layer}.{name}.weight": array for name, array in own.items()})
    return tensors


def with_experts(tensors):
    """Beside the dense part of each layer."""
    rng = np.random.default_rng(2)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    near = lambda count: (1 + rng.standard_normal(count) / 5).astype(np.float32)
    out = dict(tensors)
    for layer in range(len(LAYERS)):
        own = {f"{name}.weight": near(WIDTH) for name in EXPERT_NORMS}
        own["ffn_gate_inp.weight"] = draw(EXPERTS, WIDTH)
        own["ffn_gate_inp.scale"] = 5 * near(WIDTH)
        for part in ("gate", "up"):
            own[f"ffn_{part}_exps.weight"] = draw(EXPERTS, OF_EXPERT, WIDTH)
        own["ffn_down_exps.weight"] = draw(EXPERTS, WIDTH, OF_EXPERT)
        own["ffn_down_exps.scale"] = near(EXPERTS)
        out.update({f"blk.{layer}.{name}": array for name, array in own.items()})
    return out


def in_one(tensors):
    """Gate and up of experts in one tensor."""
    out = dict(tensors)
    for layer in range(len(LAYERS)):
        stem = f"blk.{layer}.ffn_"
        parts = [out.pop(f"{stem}{part}_exps.weight") for part in ("gate", "up")]
        out[f"{stem}gate_up_exps.weight"] = np.concatenate(parts, 1)
    return out


EXPERT_NORMS = ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2")
NORMS = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm")
METADATA = {
    "block_count": len(LAYERS),
    "context_length": 64,
    "embedding_length": WIDTH,
    "feed_forward_length": [hidden(layer) for layer in range(len(LAYERS))],
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS,
    "attention.key_length": HEAD["f"],
    "attention.value_length": HEAD["f"],
    "attention.key_length_swa": HEAD["s"],
    "attention.value_length_swa": HEAD["s"],
    "attention.layer_norm_rms_epsilon": EPSILON,
    "attention.sliding_window": WINDOW,
    "attention.sliding_window_pattern": [kind == "s" for kind in LAYERS],
    "attention.shared_kv_layers": SHARED,
    "embedding_length_per_layer_input": INPUT,
    "rope.dimension_count": HEAD["f"],
    "rope.dimension_count_swa": HEAD["s"],
    "rope.freq_base": 1e6,
    "rope.freq_base_swa": 1e4,
    "final_logit_softcapping": 5.0,
}
EXPERT_METADATA = {
    "expert_count": EXPERTS,
    "expert_used_count": USED,
    "expert_feed_forward_length": OF_EXPERT,
}
EXPERT_CONFIG = {
    "enable_moe_block": True,
    "num_experts": EXPERTS,
    "top_k_experts": USED,
    "moe_intermediate_size": OF_EXPERT,
}
CONFIG = {
    "model_type": "gemma4_text",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": len(LAYERS),
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD["s"],
    "global_head_dim": HEAD["f"],
    "num_kv_shared_layers": SHARED,
    "use_double_wide_mlp": True,
    "hidden_size_per_layer_input": INPUT,
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_activation": "gelu_pytorch_tanh",
    "max_position_embeddings": 64,
    "rms_norm_eps": EPSILON,
    "layer_types": LAYER_TYPES,
    "sliding_window": WINDOW,
    "rope_parameters": {
        "full_attention": {
            "rope_type": "proportional",
            "rope_theta": 1e6,
            "partial_rotary_factor": 2 * TURNED / HEAD["f"],
        },
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    },
    "final_logit_softcapping": 5.0,
    "tie_word_embeddings": True,
    "use_bidirectional_attention": "vision",
    "vocab_size": VOCABULARY,
}
NAMES = {
    **FOLDER,
    "pre_ffw_norm_2": "pre_feedforward_layernorm_2",
    "post_ffw_norm_1": "post_feedforward_layernorm_1",
    "post_ffw_norm_2": "post_feedforward_layernorm_2",
    "ffn_gate_inp": "router.proj",
}
# Names without ".weight"
BARE = {
    "layer_output_scale": "layer_scalar",
    "ffn_gate_inp.scale": "router.scale",
    "ffn_down_exps.scale": "router.per_expert_scale",
    "ffn_gate_up_exps": "experts.gate_up_proj",
    "ffn_down_exps": "experts.down_proj",
}


def as_folder(tensors):
    out = {}
    for name, array in tensors.items():
        stem = name.removesuffix(".weight")
        if stem.startswith("blk."):
            _, layer, module = stem.split(".", 2)
            own = BARE[module] if module in BARE else NAMES[module] + ".weight"
            out[f"model.layers.{layer}.{own}"] = array
        elif stem != "rope_freqs":
            out[NAMES[stem] + ".weight"] = array
    return out


def reference(tensors, tokens=TOKENS, kinds=LAYERS):
    """Logits of every token. `kinds`: of attention, by layer."""
    model, count = Reference(tensors, TURNED), len(tokens)
    w, linear, norm = model.w, model.linear, model.norm

    def gated(x, gate, up, down):
        return (gelu(x @ gate.T) * (x @ up.T)) @ down.T

    def experts(x, b):
        scores = rms(x) * w[b + "ffn_gate_inp.scale"] * WIDTH**-0.5 @ w[b + "ffn_gate_inp.weight"].T
        e = np.exp(scores - scores.max(-1, keepdims=True))
        x, y = norm(x, b + "pre_ffw_norm_2"), np.zeros_like(x)
        for token, shares in enumerate(e):
            chosen = np.argsort(-shares)[:USED]
            for one in chosen:
                parts = [w[f"{b}ffn_{part}_exps.weight"][one] for part in ("gate", "up", "down")]
                share = shares[one] / shares[chosen].sum() * w[b + "ffn_down_exps.scale"][one]
                y[token] += share * gated(x[token], *parts)
        return norm(y, b + "post_ffw_norm_2")

    x = w["token_embd.weight"][tokens] * WIDTH**0.5
    split = lambda x: x.reshape(count, len(LAYERS), INPUT)
    inputs = norm(split(linear(x, "per_layer_model_proj") * WIDTH**-0.5), "per_layer_proj_norm")
    own = split(w["per_layer_token_embd.weight"][tokens]) * INPUT**0.5
    inputs = (inputs + own) * 0.5**0.5
    for layer, kind in enumerate(kinds):
        b = f"blk.{layer}."
        y = model.attend(norm(x, b + "attn_norm"), layer, kind, HEAD[kind])
        x = x + norm(y, b + "post_attention_norm")
        parts = [w[f"{b}ffn_{part}.weight"] for part in ("gate", "up", "down")]
        y = gated(norm(x, b + "ffn_norm"), *parts)
        if b + "ffn_gate_inp.weight" in w:
            y = norm(y, b + "post_ffw_norm_1") + experts(x, b)
        x = x + norm(y, b + "post_ffw_norm")
        y = linear(gelu(linear(x, b + "inp_gate")) * inputs[:, layer], b + "proj")
        x = (x + norm(y, b + "post_norm")) * w[b + "layer_output_scale.weight"]
    return 5 * np.tanh(norm(x, "output_norm") @ w["token_embd.weight"].T / 5)


def write(source, tensors, metadata):
    keyed = {f"gemma4.{k}": v for k, v in metadata.items()}
    write_gguf(source, {"general.architecture": "gemma4", **keyed}, tensors)


def check_experts(checks, ingot, source):
    tensors, metadata = with_experts(random_tensors()), {**METADATA, **EXPERT_METADATA}
    words = ("--context", CONTEXT, "--dtype", "fp32")
    write(source, tensors, metadata)
    checks.report("experts", ingot.convert(source, *words).error)
    error = largest_difference(ingot, reference(tensors), "experts")
    checks.check(error < 1e-5, "logits of experts", f"{error:.1e}")
    whole = Run(ingot, "whole experts")(TOKENS)
    check_threads(checks, ingot, whole)
    check_ways(checks, ingot, source, whole, *words)
    write(source, in_one(tensors), metadata)
    checks.report("gate and up in one", ingot.convert(source, *words).error)
    checks.check(np.array_equal(Run(ingot, "one")(TOKENS), whole), "in one: the same bits")
    folder = Folder(ingot, as_folder(in_one(tensors)), {**CONFIG, **EXPERT_CONFIG})
    checks.report("a folder of experts", folder.convert("--dtype", "fp32").error)
    checks.check(np.array_equal(Run(ingot, "folder of experts")(TOKENS), whole), "the same bits")
    found = []
    for apart in (tensors, in_one(tensors)):
        in_blocks = {k: ("Q8_0", v) if "_exps.weight" in k else v for k, v in apart.items()}
        write(source, in_blocks, metadata)
        checks.report("experts in blocks", ingot.convert(source, "--context", CONTEXT).error)
        found.append(Run(ingot, f"blocks{len(found)}")(TOKENS))
    checks.check(np.array_equal(*found), "in one and apart: the same bits in blocks")
    checks.check(not np.array_equal(found[0], whole), "blocks are not f32")
    check_expert_refusals(checks, ingot, source, tensors, folder)


def check_expert_refusals(checks, ingot, source, tensors, folder):
    both, one = "blk.1.ffn_gate_up_exps.weight", in_one(tensors)
    less = {k: v for k, v in tensors.items() if k != "blk.1.ffn_gate_inp.scale"}
    for name, code, words, changed, own in (
        ("no scale of the router", 5, "'blk.1.ffn_gate_inp.scale' is missing", {}, less),
        ("more than all", 4, "expert_used_count", {"expert_used_count": 6}, tensors),
        ("no number of those used", 2, "expert_used_count", {"expert_used_count": None}, tensors),
        ("more than are there", 5, "ffn_gate_exps.weight' is [5, 64, 32], expected [6, 64, 32]",
         {"expert_count": 6}, tensors),
        ("more than are there in one", 5, "ffn_gate_inp.weight' is [5, 32], expected [6, 32]",
         {"expert_count": 6}, one),
        ("rows that do not halve", 5, f"'{both}' is not expected", {},
         {**one, both: one[both][:, 1:]}),
        ("an expert of another width", 5, "'blk.1.ffn_gate_exps.weight.0' is [32, 32], expected [",
         {}, {**one, both: one[both][:, :64]}),
    ):  # fmt: skip
        metadata = {**METADATA, **EXPERT_METADATA, **changed}
        write(source, own, {k: v for k, v in metadata.items() if v is not None})
        checks.report(name, ingot.convert(source).refusal(code, words))
    for name, words, changed in (
        ("no number of experts", "num_experts", {"num_experts": None}),
        ("no number of those used", "top_k_experts", {"top_k_experts": None}),
        ("more than all", "top_k_experts", {"top_k_experts": 6}),
        ("no width of experts", "moe_intermediate_size", {"moe_intermediate_size": None}),
        ("no flag", "enable_moe_block", {"enable_moe_block": 1}),
    ):
        checks.report(name + " of a folder", folder.convert(**changed).refusal(4, words))
    dense = folder.convert(enable_moe_block=False)
    checks.report("experts nobody asks for", dense.refusal(5, "_1.weight' is not expected"))


def check_refusals(checks, ingot, source, tensors, folder):
    def written(changed, lacks=()):
        rest = {k: v for k, v in tensors.items() if k not in lacks}
        write(source, rest, {**METADATA, **changed})
        return ingot.convert(source, "--context", CONTEXT)

    for name, code, words, changed, lacks in (
        ("all layers share", 4, "0 to 4", {"attention.shared_kv_layers": 5}, ()),
        ("a kind without caches", 4, "fewer", {"attention.shared_kv_layers": 3}, ()),
        ("another width of values", 4, "that of keys", {"attention.value_length_swa": 8}, ()),
        ("experts that are not there", 5, "ffn_gate_inp", {**EXPERT_METADATA}, ()),
        ("no input of layers", 5, "per_layer_token_embd", {}, ("per_layer_token_embd.weight",)),
        ("no keys", 5, "'blk.1.attn_k.weight' is missing", {}, ("blk.1.attn_k.weight",)),
        ("an input of another width", 5, "expected [61, 80]",
         {"embedding_length_per_layer_input": 16}, ()),
    ):  # fmt: skip
        checks.report(name, written(changed, lacks).refusal(code, words))
    for name, words, changed in (
        ("tokens that see all", "use_bidirectional", {"use_bidirectional_attention": "all"}),
        ("a kind without caches", "fewer", {"num_kv_shared_layers": 3}),
        ("heads of other widths", "head_dim", {"per_layer_config": {"2": {"head_dim": 8},
                                                                   "4": {"head_dim": 32}}}),
        ("heads that do not divide", "a divisor of 4",
         {"per_layer_config": {"2": {"num_key_value_heads": 3}}}),
    ):  # fmt: skip
        checks.report(name + " of a folder", folder.convert(**changed).refusal(4, words))


def main():
    args = ingot_parser(__doc__).parse_args()
    checks = Checks("gemma 4")
    tensors = random_tensors()
    wanted = reference(tensors)
    with work_folder() as work:
        ingot = Ingot(args.ingot, work)
        source = pathlib.Path(work) / "model.gguf"
        write(source, tensors, METADATA)
        words = ("--context", CONTEXT, "--dtype", "fp32")
        checks.report("GGUF", ingot.convert(source, *words).error)
        error = largest_difference(ingot, wanted, "gguf")
        checks.check(error < 1e-5, "logits of GGUF", f"{error:.1e}")
        whole = Run(ingot, "whole")(TOKENS)
        check_threads(checks, ingot, whole)
        check_ways(checks, ingot, source, whole, *words)
        folder = Folder(ingot, as_folder(tensors), CONFIG)
        checks.report("a folder", folder.convert("--dtype", "fp32").error)
        same = np.array_equal(Run(ingot, "folder")(TOKENS), whole)
        checks.check(same, "a folder has the bits of GGUF")
        larger = {
            name.replace("model.", "model.language_model.", 1): array
            for name, array in folder.tensors.items()
        }
        for other in ("vision_tower", "audio_tower", "embed_vision", "embed_audio"):
            larger[f"model.{other}.x"] = np.ones(3, np.float32)
        part = Folder(ingot, larger, {"model_type": "gemma4", "text_config": CONFIG})
        checks.report("a part of a larger model", part.convert("--dtype", "fp32").error)
        same = np.array_equal(Run(ingot, "larger")(TOKENS), whole)
        checks.check(same, "it has the same bits")
        check_refusals(checks, ingot, source, tensors, folder)
        check_experts(checks, ingot, source)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
