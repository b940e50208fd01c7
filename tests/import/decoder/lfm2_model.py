# SPDX-License-Identifier: Apache-2.0
"""A small LFM2 of random weights, dense or of experts: tensors of a Hugging Face folder, of a GGUF
file, and logits by NumPy in f64."""

import numpy as np
from decoder_test import VOCABULARY
from gguf_writer import RandomBlocks

WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, EXPERTS, USED, LENGTH = 128, 4, 2, 32, 96, 5, 2, 3
LAYERS = ("conv", "full_attention", "conv", "conv")
BASE, BACK = 50000.0, 15  # tokens that a conversation goes back
RUNS = [9, 1, 1, 1, 7, 1]
TOKENS = np.random.default_rng(2).integers(0, VOCABULARY, sum(RUNS))
CONFIG = {
    "model_type": "lfm2",
    "hidden_size": WIDTH,
    "intermediate_size": HIDDEN,
    "block_auto_adjust_ff_dim": False,
    "num_hidden_layers": len(LAYERS),
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "max_position_embeddings": 512,
    "norm_eps": 1e-5,
    "vocab_size": VOCABULARY,
    "tie_word_embeddings": True,
    "conv_L_cache": LENGTH,
    "conv_bias": False,
    "layer_types": list(LAYERS),
    "rope_theta": BASE,
}
MOE = {
    "model_type": "lfm2_moe",
    "num_experts": EXPERTS,
    "num_experts_per_tok": USED,
    "moe_intermediate_size": 64,
    "num_dense_layers": 1,
    "norm_topk_prob": True,
    "use_expert_bias": True,
    "routed_scaling_factor": 1.0,
}
METADATA = {
    "block_count": len(LAYERS),
    "context_length": 512,
    "embedding_length": WIDTH,
    "feed_forward_length": HIDDEN,
    "attention.head_count": HEADS,
    "attention.head_count_kv": [KV_HEADS * (kind != "conv") for kind in LAYERS],
    "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.freq_base": BASE,
    "shortconv.l_cache": LENGTH,
    "vocab_size": VOCABULARY,
}
MOE_METADATA = {
    "expert_count": EXPERTS,
    "expert_used_count": USED,
    "expert_feed_forward_length": 64,
    "expert_gating_func": 2,
    "leading_dense_block_count": 1,
}
NAMES = {
    "operator_norm": "attn_norm",
    "ffn_norm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.q_layernorm": "attn_q_norm",
    "self_attn.k_layernorm": "attn_k_norm",
    "self_attn.out_proj": "attn_output",
    "conv.in_proj": "shortconv.in_proj",
    "conv.conv": "shortconv.conv",
    "conv.out_proj": "shortconv.out_proj",
    "feed_forward.w1": "ffn_gate",
    "feed_forward.w3": "ffn_up",
    "feed_forward.w2": "ffn_down",
    "feed_forward.gate": "ffn_gate_inp",
}
WHOLE = {"model.embed_tokens": "token_embd", "model.embedding_norm": "token_embd_norm"}


def random_weights(is_moe):
    """Tensors as a folder has them."""
    rng = np.random.default_rng(1)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    norm = lambda width=WIDTH: (1 + rng.standard_normal(width) / 5).astype(np.float32)
    tensors = {
        "model.embed_tokens.weight": draw(VOCABULARY, WIDTH),
        "model.embedding_norm.weight": norm(),
    }
    for layer, kind in enumerate(LAYERS):
        own = {"operator_norm": norm(), "ffn_norm": norm()}
        if kind == "conv":
            own["conv.in_proj"], own["conv.out_proj"] = draw(3 * WIDTH, WIDTH), draw(WIDTH, WIDTH)
            own["conv.conv"] = draw(WIDTH, 1, LENGTH)
        else:
            for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
                own[f"self_attn.{name}_proj"] = draw(heads * HEAD, WIDTH)
            own["self_attn.out_proj"] = draw(WIDTH, HEADS * HEAD)
            own["self_attn.q_layernorm"], own["self_attn.k_layernorm"] = norm(HEAD), norm(HEAD)
        hidden = 64 if is_moe and layer else HIDDEN
        parts = [f"experts.{e}." for e in range(EXPERTS)] if is_moe and layer else [""]
        for part in parts:
            own[f"feed_forward.{part}w1"] = draw(hidden, WIDTH)
            own[f"feed_forward.{part}w3"] = draw(hidden, WIDTH)
            own[f"feed_forward.{part}w2"] = draw(WIDTH, hidden)
        at = f"model.layers.{layer}."
        if is_moe and layer:
            own["feed_forward.gate"] = draw(EXPERTS, WIDTH)
            tensors[at + "feed_forward.expert_bias"] = norm(EXPERTS) - 1
        tensors.update({f"{at}{name}.weight": array for name, array in own.items()})
    return tensors


def as_gguf(tensors, kind=None):
    """`kind`: matrices are random blocks of that type, and the folder is not the same."""
    architecture = "lfm2moe" if "model.layers.1.feed_forward.gate.weight" in tensors else "lfm2"
    metadata = {**METADATA, **(MOE_METADATA if architecture == "lfm2moe" else {})}
    out, experts = {}, {}
    for name, array in tensors.items():
        stem = name.removesuffix(".weight")
        if stem in WHOLE:
            out[WHOLE[stem] + ".weight"] = array
            continue
        _, _, layer, rest = stem.split(".", 3)
        if rest == "feed_forward.expert_bias":
            out[f"blk.{layer}.exp_probs_b.bias"] = array
        elif ".experts." in rest:
            part = {"w1": "gate", "w3": "up", "w2": "down"}[rest[-2:]]
            experts.setdefault(f"blk.{layer}.ffn_{part}_exps.weight", []).append(array)
        else:
            array = array[:, 0] if rest == "conv.conv" else array
            if kind and array.ndim == 2 and array.shape[1] % 32 == 0:
                array = RandomBlocks(kind, array.shape, array.std(), len(out))
            out[f"blk.{layer}.{NAMES[rest]}.weight"] = array
    out.update({name: np.stack(all_of) for name, all_of in experts.items()})
    named = {f"{architecture}.{key}": value for key, value in metadata.items()}
    return {"general.architecture": architecture, **named}, out


def reference(tensors):
    """Logits of every token of TOKENS, in f64."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}
    count = len(TOKENS)
    each = np.arange(count)[:, None] * BASE ** (-np.arange(0, HEAD, 2) / HEAD)
    cos, sin = np.cos(each)[:, None], np.sin(each)[:, None]
    linear = lambda x, name: x @ w[name + ".weight"].T
    norm = lambda x, name: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"]

    def turned(x):
        a, b = np.split(x, 2, -1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attend(x, at):
        q, k, v = (linear(x, f"{at}{p}_proj").reshape(count, -1, HEAD) for p in "qkv")
        q, k = turned(norm(q, at + "q_layernorm")), turned(norm(k, at + "k_layernorm"))
        k, v = (np.repeat(each, HEADS // KV_HEADS, 1) for each in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) * HEAD**-0.5
        scores = np.where(np.tri(count, dtype=bool), scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), v)
        return linear(y.reshape(count, -1), at + "out_proj")

    def convolve(x, at):
        b, c, v = np.split(linear(x, at + "in_proj"), 3, -1)
        padded = np.concatenate([np.zeros((LENGTH - 1, WIDTH)), b * v])
        taps = w[at + "conv.weight"][:, 0].T
        y = sum(padded[k : k + count] * taps[k] for k in range(LENGTH))
        return linear(c * y, at + "out_proj")

    def gated(x, at):
        gate = linear(x, at + "w1")
        return linear(gate / (1 + np.exp(-gate)) * linear(x, at + "w3"), at + "w2")

    def feed_forward(x, at):
        if at + "gate.weight" not in w:
            return gated(x, at)
        scores, y = 1 / (1 + np.exp(-linear(x, at + "gate"))), np.zeros_like(x)
        for t in range(count):
            chosen = np.argsort(-(scores[t] + w[at + "expert_bias"]))[:USED]
            shares = scores[t, chosen] / (scores[t, chosen].sum() + 1e-6)
            for e, share in zip(chosen, shares):
                y[t] += share * gated(x[t], f"{at}experts.{e}.")
        return y

    x = w["model.embed_tokens.weight"][TOKENS]
    for layer, kind in enumerate(LAYERS):
        at = f"model.layers.{layer}."
        mixed = norm(x, at + "operator_norm")
        mix, part = (convolve, "conv.") if kind == "conv" else (attend, "self_attn.")
        x = x + mix(mixed, at + part)
        x = x + feed_forward(norm(x, at + "ffn_norm"), at + "feed_forward.")
    return norm(x, "model.embedding_norm") @ w["model.embed_tokens.weight"].T
