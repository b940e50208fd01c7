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
from gguf_writer import write_gguf  # noqa: E402
from hybrid_model import TOKENS  # noqa: E402
from hybrids_test import largest_difference  # noqa: E402
from lfm2_test import Folder, check_threads, check_ways  # noqa: E402

WIDTH, HEADS, KV_HEADS, HIDDEN, INPUT, WINDOW, EPSILON = 32, 4, 2, 48, 8, 6, 1e-6
LAYERS, SHARED = "ssfsf", 2  # "f": attention sees all; the last read the caches of others
HEAD = {"s": 16, "f": 32}
TURNED = 4  # pairs of 16 that turn where attention sees all


def owns(layer):
    return layer < len(LAYERS) - SHARED


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
    "layer_types": [{"s": "sliding_attention", "f": "full_attention"}[kind] for kind in LAYERS],
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
FOLDER = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "per_layer_token_embd": "model.embed_tokens_per_layer",
    "per_layer_model_proj": "model.per_layer_model_projection",
    "per_layer_proj_norm": "model.per_layer_projection_norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "inp_gate": "per_layer_input_gate",
    "proj": "per_layer_projection",
    "post_norm": "post_per_layer_input_norm",
}


def as_folder(tensors):
    out = {}
    for name, array in tensors.items():
        stem = name.removesuffix(".weight")
        if stem.endswith(".layer_output_scale"):
            out[f"model.layers.{stem.split('.')[1]}.layer_scalar"] = array
        elif stem.startswith("blk."):
            _, layer, module = stem.split(".", 2)
            out[f"model.layers.{layer}.{FOLDER[module]}.weight"] = array
        elif stem != "rope_freqs":
            out[FOLDER[stem] + ".weight"] = array
    return out


def reference(tensors, tokens=TOKENS, kinds=LAYERS):
    """Logits of every token. `kinds`: of attention, by layer."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}
    count, caches = len(tokens), {}
    linear = lambda x, name: x @ w[name + ".weight"].T
    rms = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    norm = lambda x, name: rms(x) * w[name + ".weight"]
    gelu = lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    at, apart = np.arange(count), np.arange(count)[:, None] - np.arange(count)

    def turned(x, kind):
        half = x.shape[-1] // 2
        speeds = (1e4 if kind == "s" else 1e6) ** (-np.arange(half) / half)
        turning = (np.arange(half) < TURNED) | (kind == "s")
        angles = at[:, None, None] * np.where(turning, speeds, 0)
        a, b = x[..., :half], x[..., half:]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attend(x, layer, kind):
        part = lambda name: linear(x, f"blk.{layer}.attn_{name}").reshape(count, -1, HEAD[kind])
        q = turned(norm(part("q"), f"blk.{layer}.attn_q_norm"), kind)
        if owns(layer):
            k = turned(norm(part("k"), f"blk.{layer}.attn_k_norm"), kind)
            caches[kind] = [np.repeat(each, HEADS // KV_HEADS, 1) for each in (k, rms(part("v")))]
        k, v = caches[kind]
        scores = np.einsum("qhd,khd->hqk", q, k)
        seen = (apart >= 0) & (apart < (WINDOW if kind == "s" else count))
        scores = np.where(seen, scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), v)
        return linear(y.reshape(count, -1), f"blk.{layer}.attn_output")

    x = w["token_embd.weight"][tokens] * WIDTH**0.5
    split = lambda x: x.reshape(count, len(LAYERS), INPUT)
    inputs = norm(split(linear(x, "per_layer_model_proj") * WIDTH**-0.5), "per_layer_proj_norm")
    own = split(w["per_layer_token_embd.weight"][tokens]) * INPUT**0.5
    inputs = (inputs + own) * 0.5**0.5
    for layer, kind in enumerate(kinds):
        b = f"blk.{layer}."
        y = attend(norm(x, b + "attn_norm"), layer, kind)
        x = x + norm(y, b + "post_attention_norm")
        y = norm(x, b + "ffn_norm")
        y = linear(gelu(linear(y, b + "ffn_gate")) * linear(y, b + "ffn_up"), b + "ffn_down")
        x = x + norm(y, b + "post_ffw_norm")
        y = linear(gelu(linear(x, b + "inp_gate")) * inputs[:, layer], b + "proj")
        x = (x + norm(y, b + "post_norm")) * w[b + "layer_output_scale.weight"]
    return 5 * np.tanh(norm(x, "output_norm") @ w["token_embd.weight"].T / 5)


def check_refusals(checks, ingot, source, tensors, folder):
    def written(changed, lacks=()):
        keyed = {f"gemma4.{k}": v for k, v in {**METADATA, **changed}.items()}
        rest = {k: v for k, v in tensors.items() if k not in lacks}
        write_gguf(source, {"general.architecture": "gemma4", **keyed}, rest)
        return ingot.convert(source, "--context", CONTEXT)

    for name, code, words, changed, lacks in (
        ("all layers share", 4, "0 to 4", {"attention.shared_kv_layers": 5}, ()),
        ("a kind without caches", 4, "fewer", {"attention.shared_kv_layers": 3}, ()),
        ("another width of values", 4, "that of keys", {"attention.value_length_swa": 8}, ()),
        ("experts", 4, "expert_count", {"expert_count": 4}, ()),
        ("no input of layers", 5, "per_layer_token_embd", {}, ("per_layer_token_embd.weight",)),
        ("no keys", 5, "'blk.1.attn_k.weight' is missing", {}, ("blk.1.attn_k.weight",)),
        ("an input of another width", 5, "expected [61, 80]",
         {"embedding_length_per_layer_input": 16}, ()),
    ):  # fmt: skip
        checks.report(name, written(changed, lacks).refusal(code, words))
    for name, words, changed in (
        ("experts", "enable_moe_block", {"enable_moe_block": True}),
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
        keyed = {f"gemma4.{k}": v for k, v in METADATA.items()}
        write_gguf(source, {"general.architecture": "gemma4", **keyed}, tensors)
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
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
