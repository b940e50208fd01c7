# SPDX-License-Identifier: Apache-2.0
"""A small DeepSeek-V3 of random weights: tensors of a Hugging Face folder, of a GGUF file in each
form that such files have had, and logits by NumPy in f64."""

import numpy as np
from decoder_test import VOCABULARY
from gguf_writer import GivenBlocks, quantize_q8_0
from lfm2_model import TOKENS

WIDTH, HEADS, HIDDEN, LAYERS, BASE, EPSILON = 128, 4, 96, 3, 10000.0, 1e-6
QUERIES, RANK, OWN, TURNED, VALUE = 64, 32, 32, 32, 64  # ranks, and widths of a head
EXPERTS, GROUPS, USED_GROUPS, USED, INNER, SCALE = 8, 4, 2, 3, 32, 2.5
FACTOR, ORIGINAL = 4.0, 8.0  # of YaRN
KEY = OWN + TURNED
CONFIG = {
    "model_type": "deepseek_v3",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "max_position_embeddings": 512,
    "rms_norm_eps": EPSILON,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "q_lora_rank": QUERIES,
    "kv_lora_rank": RANK,
    "qk_nope_head_dim": OWN,
    "qk_rope_head_dim": TURNED,
    "v_head_dim": VALUE,
    "first_k_dense_replace": 1,
    "moe_layer_freq": 1,
    "n_routed_experts": EXPERTS,
    "num_experts_per_tok": USED,
    "n_shared_experts": 1,
    "moe_intermediate_size": INNER,
    "n_group": GROUPS,
    "topk_group": USED_GROUPS,
    "topk_method": "noaux_tc",
    "scoring_func": "sigmoid",
    "norm_topk_prob": True,
    "routed_scaling_factor": SCALE,
    "num_nextn_predict_layers": 1,
    "rope_theta": BASE,
    "rope_scaling": {
        "type": "yarn",
        "factor": FACTOR,
        "original_max_position_embeddings": int(ORIGINAL),
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}
METADATA = {
    "block_count": LAYERS,
    "context_length": 512,
    "embedding_length": WIDTH,
    "feed_forward_length": HIDDEN,
    "attention.head_count": HEADS,
    "attention.layer_norm_rms_epsilon": EPSILON,
    "attention.q_lora_rank": QUERIES,
    "attention.kv_lora_rank": RANK,
    "rope.freq_base": BASE,
    "rope.dimension_count": TURNED,
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": FACTOR,
    "rope.scaling.original_context_length": int(ORIGINAL),
    "rope.scaling.yarn_log_multiplier": 0.1,
    "leading_dense_block_count": 1,
    "expert_count": EXPERTS,
    "expert_used_count": USED,
    "expert_shared_count": 1,
    "expert_feed_forward_length": INNER,
    "expert_group_count": GROUPS,
    "expert_group_used_count": USED_GROUPS,
    "expert_gating_func": 2,
    "expert_weights_norm": True,
    "expert_weights_scale": SCALE,
    "vocab_size": VOCABULARY,
}
OLD, NEW, BLOCKS = "old", "new", "new, in blocks"  # forms of a GGUF file
WIDTHS = {
    "attention.head_count_kv": 1,
    "attention.key_length": RANK + TURNED,
    "attention.value_length": RANK,
    "attention.key_length_mla": KEY,
    "attention.value_length_mla": VALUE,
}
OLD_WIDTHS = {
    "attention.head_count_kv": HEADS,
    "attention.key_length": KEY,
    "attention.value_length": VALUE,
}
NAMES = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.kv_b_proj": "attn_kv_b",
    "self_attn.o_proj": "attn_output",
    "mlp.gate": "ffn_gate_inp",
    **{f"mlp.{part}_proj": f"ffn_{part}" for part in ("gate", "up", "down")},
    **{f"mlp.shared_experts.{p}_proj": f"ffn_{p}_shexp" for p in ("gate", "up", "down")},
}
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}


def random_weights():
    """Tensors as a folder has them, with a layer that only proposes tokens. Keys are what blocks
    along the elements of a head hold."""
    rng = np.random.default_rng(1)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    norm = lambda width: (1 + rng.standard_normal(width) / 5).astype(np.float32)
    tensors = {"model.embed_tokens.weight": draw(VOCABULARY, WIDTH)}
    tensors["model.norm.weight"] = norm(WIDTH)
    for layer in range(LAYERS):
        keys = quantize_q8_0(draw(HEADS, RANK, OWN))[1].swapaxes(1, 2)
        both = np.concatenate([keys, draw(HEADS, VALUE, RANK)], axis=1)
        own = {
            "input_layernorm": norm(WIDTH),
            "post_attention_layernorm": norm(WIDTH),
            "self_attn.q_a_proj": draw(QUERIES, WIDTH),
            "self_attn.q_a_layernorm": norm(QUERIES),
            "self_attn.q_b_proj": draw(HEADS * KEY, QUERIES),
            "self_attn.kv_a_proj_with_mqa": draw(RANK + TURNED, WIDTH),
            "self_attn.kv_a_layernorm": norm(RANK),
            "self_attn.kv_b_proj": both.reshape(-1, RANK),
            "self_attn.o_proj": draw(WIDTH, HEADS * VALUE),
        }
        at = f"model.layers.{layer}."
        parts = {"": HIDDEN}
        if layer:
            parts = {"shared_experts.": INNER, **{f"experts.{e}.": INNER for e in range(EXPERTS)}}
            own["mlp.gate"] = draw(EXPERTS, WIDTH)
            tensors[at + "mlp.gate.e_score_correction_bias"] = norm(EXPERTS) - 1
        for part, hidden in parts.items():
            own[f"mlp.{part}gate_proj"] = draw(hidden, WIDTH)
            own[f"mlp.{part}up_proj"] = draw(hidden, WIDTH)
            own[f"mlp.{part}down_proj"] = draw(WIDTH, hidden)
        tensors.update({f"{at}{name}.weight": array for name, array in own.items()})
    tensors[f"model.layers.{LAYERS}.eh_proj.weight"] = draw(WIDTH, 2 * WIDTH)
    return tensors


def keys_and_values(array):
    """Of each head: [heads, width, rank]."""
    return np.split(array.reshape(HEADS, OWN + VALUE, RANK), [OWN], axis=1)


def as_gguf(tensors, form=NEW):
    out, experts = {}, {}
    for name, array in tensors.items():
        stem = name.removesuffix(".weight")
        if stem in WHOLE:
            out[WHOLE[stem] + ".weight"] = array
            continue
        _, _, layer, rest = stem.split(".", 3)
        at = f"blk.{layer}."
        if int(layer) == LAYERS:
            continue
        if rest == "mlp.gate.e_score_correction_bias":
            out[at + "exp_probs_b.bias"] = array
        elif ".experts." in rest:
            part = rest.rpartition(".")[2].removesuffix("_proj")
            experts.setdefault(f"{at}ffn_{part}_exps.weight", []).append(array)
        elif rest == "self_attn.kv_b_proj" and form != OLD:
            keys, values = map(np.ascontiguousarray, keys_and_values(array))
            keys = np.ascontiguousarray(keys.swapaxes(1, 2))
            if form == BLOCKS:
                keys = GivenBlocks("Q8_0", keys.shape, quantize_q8_0(keys)[0])
            out[at + "attn_k_b.weight"], out[at + "attn_v_b.weight"] = keys, values
        else:
            out[f"{at}{NAMES[rest]}.weight"] = array
    out.update({name: np.stack(all_of) for name, all_of in experts.items()})
    metadata = {**METADATA, **(OLD_WIDTHS if form == OLD else WIDTHS)}
    named = {f"deepseek2.{key}": value for key, value in metadata.items()}
    return {"general.architecture": "deepseek2", **named}, out


def frequencies():
    """Of YaRN, for each pair of neighbors."""
    plain = BASE ** (-np.arange(0, TURNED, 2) / TURNED)
    pair = lambda turns: TURNED * np.log(ORIGINAL / (turns * 2 * np.pi)) / (2 * np.log(BASE))
    low, high = max(np.floor(pair(32)), 0), min(np.ceil(pair(1)), TURNED - 1)
    ramp = np.clip((np.arange(TURNED // 2) - low) / max(high - low, 1e-3), 0, 1)
    return plain * (1 - ramp) + plain / FACTOR * ramp


def reference(tensors, of_turned=1.0, of_all=1.0):
    """Logits of every token of TOKENS, in f64. YaRN's scales: mscale, and mscale_all_dim."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}
    count = len(TOKENS)
    angles = np.arange(count)[:, None] * frequencies()
    of_turned, of_all = (0.1 * scale * np.log(FACTOR) + 1 for scale in (of_turned, of_all))
    turn = np.exp(1j * angles)[:, None] * (of_turned / of_all)
    linear = lambda x, name: x @ w[name + ".weight"].T
    sigmoid = lambda x: 1 / (1 + np.exp(-x))

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w[name + ".weight"]

    def turned(x):
        pairs = (x[..., ::2] + 1j * x[..., 1::2]) * turn
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)

    def attend(x, at):
        q = linear(norm(linear(x, at + "q_a_proj"), at + "q_a_layernorm"), at + "q_b_proj")
        q = q.reshape(count, HEADS, KEY)
        q = np.concatenate([q[..., :OWN], turned(q[..., OWN:])], -1)
        c, shared = np.split(linear(x, at + "kv_a_proj_with_mqa"), [RANK], -1)
        c = norm(c, at + "kv_a_layernorm")
        keys, values = keys_and_values(w[at + "kv_b_proj.weight"])
        k, v = (np.einsum("tr,hcr->thc", c, each) for each in (keys, values))
        shared = np.repeat(turned(shared[:, None]), HEADS, 1)
        k = np.concatenate([k, shared], -1)
        scale = KEY**-0.5 * of_all**2
        scores = np.einsum("qhd,khd->hqk", q, k) * scale
        scores = np.where(np.tri(count, dtype=bool), scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), v)
        return linear(y.reshape(count, -1), at + "o_proj")

    def gated(x, at):
        gate = linear(x, at + "gate_proj")
        return linear(gate * sigmoid(gate) * linear(x, at + "up_proj"), at + "down_proj")

    def feed_forward(x, at):
        if at + "gate.weight" not in w:
            return gated(x, at)
        scores, y = sigmoid(linear(x, at + "gate")), gated(x, at + "shared_experts.")
        for t in range(count):
            choice = (scores[t] + w[at + "gate.e_score_correction_bias"]).reshape(GROUPS, -1)
            best = np.argsort(-np.sort(choice, 1)[:, -2:].sum(1))[:USED_GROUPS]
            choice[~np.isin(np.arange(GROUPS), best)] = -np.inf
            chosen = np.argsort(-choice.reshape(-1))[:USED]
            shares = SCALE * scores[t, chosen] / scores[t, chosen].sum()
            for e, share in zip(chosen, shares):
                y[t] += share * gated(x[t], f"{at}experts.{e}.")
        return y

    x = w["model.embed_tokens.weight"][TOKENS]
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        x = x + attend(norm(x, at + "input_layernorm"), at + "self_attn.")
        x = x + feed_forward(norm(x, at + "post_attention_layernorm"), at + "mlp.")
    return norm(x, "model.norm") @ w["model.embed_tokens.weight"].T
