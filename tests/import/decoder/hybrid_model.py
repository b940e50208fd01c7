# SPDX-License-Identifier: Apache-2.0
"""Small models of random weights with a recurrent state, as GGUF has them, and their logits by
NumPy in f64, token by token: Granite 4.0-H (Mamba-2), Qwen3.5 (gated delta nets), Mamba and
Mamba-2 alone, and Nemotron-H with experts."""

import numpy as np
from decoder_test import VOCABULARY

WIDTH, HEADS, KV_HEADS, HEAD, HIDDEN, LENGTH, EPSILON = 128, 4, 2, 32, 96, 4, 1e-5
STATE_HEADS, GROUPS, KEY, VALUE = 8, 2, 16, 32
INNER, KEYS = STATE_HEADS * VALUE, GROUPS * KEY
CHANNELS, LAYERS, BASE, TURNED = INNER + 2 * KEYS, 4, 10000.0, 16
RUNS = [9, 1, 1, 1, 7, 1]
TOKENS = np.random.default_rng(2).integers(0, VOCABULARY, sum(RUNS))
GRANITE, QWEN, MAMBA, NEMOTRON = "granitehybrid", "qwen35", "mamba2", "nemotron_h_moe"
FIRST, RANK = "mamba", 12  # Mamba, with norms as falcon-mamba has them; of what steps are made of
ALONE = (MAMBA, FIRST)
PATTERN = "M*E-"  # of Nemotron-H: a mixer, attention, experts, a feed-forward part
EXPERTS, USED, OF_EXPERT, SHARED, LATENT, SHARES = 6, 2, 64, 32, 64, 2.5


def attends(kind, layer):
    return kind not in ALONE and (layer % 2 == 1 if kind == QWEN else layer == 1)


def feeds_alone(kind, layer):
    return kind == NEMOTRON and PATTERN[layer] in "E-"


def metadata_of(kind):
    own = {
        GRANITE: {
            "attention.head_count_kv": [KV_HEADS * attends(kind, i) for i in range(LAYERS)],
            "rope.scaling.finetuned": False,
            "embedding_scale": 3.0,
            "residual_scale": 0.5,
            "logit_scale": 2.0,
        },
        QWEN: {
            "attention.head_count_kv": KV_HEADS,
            "full_attention_interval": 2,
            "rope.freq_base": BASE,
            "rope.dimension_count": TURNED,
        },
        MAMBA: {"attention.head_count": 0, "feed_forward_length": 0},
        FIRST: {
            "attention.head_count": 0,
            "feed_forward_length": 0,
            "ssm.time_step_rank": RANK,
            "ssm.group_count": None,
            "ssm.dt_b_c_rms": True,
        },
        NEMOTRON: {
            "attention.head_count_kv": [KV_HEADS * (letter == "*") for letter in PATTERN],
            "feed_forward_length": [{"-": HIDDEN, "E": OF_EXPERT}.get(k, 0) for k in PATTERN],
            "rope.scaling.finetuned": False,
            "expert_count": EXPERTS,
            "expert_used_count": USED,
            "expert_shared_count": 1,
            "expert_feed_forward_length": OF_EXPERT,
            "expert_shared_feed_forward_length": SHARED,
            "expert_weights_norm": True,
            "expert_weights_scale": SHARES,
            "expert_group_count": 1,
            "moe_latent_size": LATENT,
        },
    }[kind]
    all_of = {
        "block_count": LAYERS,
        "context_length": 512,
        "embedding_length": WIDTH,
        "feed_forward_length": HIDDEN,
        "attention.head_count": HEADS,
        "attention.layer_norm_rms_epsilon": EPSILON,
        "ssm.conv_kernel": LENGTH,
        "ssm.inner_size": INNER,
        "ssm.state_size": KEY,
        "ssm.time_step_rank": STATE_HEADS,
        "ssm.group_count": GROUPS,
        **own,
    }
    keyed = {f"{kind}.{k}": v for k, v in all_of.items() if v is not None}
    return {"general.architecture": kind, **keyed}


def random_tensors(kind):
    rng = np.random.default_rng(1)
    draw = lambda *dims: (rng.standard_normal(dims) * 1.5 / dims[-1] ** 0.5).astype(np.float32)
    near = lambda count, mean: (mean + rng.standard_normal(count) / 5).astype(np.float32)
    tensors = {"token_embd.weight": draw(VOCABULARY, WIDTH), "output_norm.weight": near(WIDTH, 1)}
    for layer in range(LAYERS):
        own = {"attn_norm.weight": near(WIDTH, 1)}
        if feeds_alone(kind, layer):
            hidden = SHARED if PATTERN[layer] == "E" else HIDDEN
            end = "_shexp.weight" if PATTERN[layer] == "E" else ".weight"
            own[f"ffn_up{end}"], own[f"ffn_down{end}"] = draw(hidden, WIDTH), draw(WIDTH, hidden)
        if kind == NEMOTRON and PATTERN[layer] == "E":
            own["ffn_gate_inp.weight"] = draw(EXPERTS, WIDTH)
            own["exp_probs_b.bias"] = near(EXPERTS, 0)
            own["ffn_latent_down.weight"] = draw(LATENT, WIDTH)
            own["ffn_up_exps.weight"] = draw(EXPERTS, OF_EXPERT, LATENT)
            own["ffn_down_exps.weight"] = draw(EXPERTS, LATENT, OF_EXPERT)
            own["ffn_latent_up.weight"] = draw(WIDTH, LATENT)
        if kind in (GRANITE, QWEN):
            behind = "ffn_norm" if kind == GRANITE else "post_attention_norm"
            own[f"{behind}.weight"] = near(WIDTH, 1)
            own["ffn_gate.weight"], own["ffn_up.weight"] = draw(HIDDEN, WIDTH), draw(HIDDEN, WIDTH)
            own["ffn_down.weight"] = draw(WIDTH, HIDDEN)
        if attends(kind, layer):
            own["attn_q.weight"] = draw(HEADS * HEAD * (1 + (kind == QWEN)), WIDTH)
            own["attn_k.weight"] = draw(KV_HEADS * HEAD, WIDTH)
            own["attn_v.weight"] = draw(KV_HEADS * HEAD, WIDTH)
            own["attn_output.weight"] = draw(WIDTH, HEADS * HEAD)
            if kind == QWEN:
                own["attn_q_norm.weight"], own["attn_k_norm.weight"] = near(HEAD, 1), near(HEAD, 1)
        elif kind == FIRST:
            own["ssm_in.weight"], own["ssm_out.weight"] = draw(2 * INNER, WIDTH), draw(WIDTH, INNER)
            own["ssm_conv1d.weight"], own["ssm_conv1d.bias"] = draw(INNER, LENGTH), near(INNER, 0)
            own["ssm_x.weight"] = draw(RANK + 2 * KEY, INNER)
            own["ssm_dt.weight"], own["ssm_dt.bias"] = draw(INNER, RANK), near(INNER, 0)
            own["ssm_a"] = -np.exp(near(INNER * KEY, 0).reshape(INNER, KEY))
            own["ssm_d"] = near(INNER, 1)
        elif not feeds_alone(kind, layer):
            own["ssm_conv1d.weight"] = draw(CHANNELS, LENGTH)
            own["ssm_dt.bias"] = near(STATE_HEADS, 0)
            own["ssm_a"] = -np.exp(near(STATE_HEADS, 0))
            own["ssm_out.weight"] = draw(WIDTH, INNER)
            if kind != QWEN:
                own["ssm_in.weight"] = draw(INNER + CHANNELS + STATE_HEADS, WIDTH)
                own["ssm_conv1d.bias"] = near(CHANNELS, 0)
                own["ssm_a"], own["ssm_d"] = (own["ssm_a"][:, None], near(STATE_HEADS, 1)[:, None])
                own["ssm_norm.weight"] = near(INNER, 1).reshape(GROUPS, -1)
            else:
                own["attn_qkv.weight"], own["attn_gate.weight"] = (
                    draw(CHANNELS, WIDTH),
                    draw(INNER, WIDTH),
                )
                own["ssm_beta.weight"] = draw(STATE_HEADS, WIDTH)
                own["ssm_alpha.weight"] = draw(STATE_HEADS, WIDTH)
                own["ssm_norm.weight"] = near(VALUE, 1)
        tensors.update({f"blk.{layer}.{name}": array for name, array in own.items()})
    return tensors


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def reference(kind, tensors):
    """Logits of every token of TOKENS."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}
    count = len(TOKENS)
    linear = lambda x, name: x @ w[name + ".weight"].T
    rms = lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    norm = lambda x, name: rms(x) * w[name + ".weight"]
    softplus = lambda x: np.log1p(np.exp(x))

    def turned(x):
        at = np.arange(count)[:, None] * BASE ** (-np.arange(0, TURNED, 2) / TURNED)
        cos, sin = np.cos(at)[:, None], np.sin(at)[:, None]
        a, b, rest = np.split(x, [TURNED // 2, TURNED], -1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)

    def attend(x, at):
        q, k, v = (linear(x, f"{at}attn_{p}").reshape(count, -1, HEAD) for p in "qkv")
        gate = 1
        if kind == QWEN:  # of each head, behind its query
            q, gate = q[:, ::2], sigmoid(q[:, 1::2])
            q, k = turned(norm(q, at + "attn_q_norm")), turned(norm(k, at + "attn_k_norm"))
        k, v = (np.repeat(each, HEADS // KV_HEADS, 1) for each in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) * HEAD**-0.5
        scores = np.where(np.tri(count, dtype=bool), scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), v) * gate
        return linear(y.reshape(count, -1), at + "attn_output")

    def convolved(x, at):
        padded = np.concatenate([np.zeros((LENGTH - 1, x.shape[1])), x])
        taps = w[at + "ssm_conv1d.weight"].T
        y = sum(padded[k : k + count] * taps[k] for k in range(LENGTH))
        return silu(y + w.get(at + "ssm_conv1d.bias", 0))

    def mamba(x, at):
        z, read, step = np.split(linear(x, at + "ssm_in"), [INNER, INNER + CHANNELS], -1)
        v, b, c = np.split(convolved(read, at), [INNER, INNER + KEYS], -1)
        v = v.reshape(count, STATE_HEADS, VALUE)
        b, c = (np.repeat(e.reshape(count, GROUPS, KEY), STATE_HEADS // GROUPS, 1) for e in (b, c))
        step = softplus(step + w[at + "ssm_dt.bias"])
        decay = np.exp(step * w[at + "ssm_a"][:, 0])
        state, y = np.zeros((STATE_HEADS, KEY, VALUE)), np.zeros_like(v)
        for t in range(count):
            added = b[t][:, :, None] * (step[t][:, None] * v[t])[:, None]
            state = decay[t][:, None, None] * state + added
            y[t] = np.einsum("hk,hkv->hv", c[t], state) + w[at + "ssm_d"] * v[t]
        gated = (y.reshape(count, INNER) * silu(z)).reshape(count, GROUPS, -1)
        normed = rms(gated) * w[at + "ssm_norm.weight"]
        return linear(normed.reshape(count, INNER), at + "ssm_out")

    def first_mamba(x, at):
        x, z = np.split(linear(x, at + "ssm_in"), 2, -1)
        x = convolved(x, at)
        parts = np.split(linear(x, at + "ssm_x"), [RANK, RANK + KEY], -1)
        step, b, c = (rms(part) for part in parts)
        step = softplus(linear(step, at + "ssm_dt") + w[at + "ssm_dt.bias"])
        state, y = np.zeros((INNER, KEY)), np.zeros_like(x)
        for t in range(count):
            state = np.exp(step[t][:, None] * w[at + "ssm_a"]) * state
            state += (step[t] * x[t])[:, None] * b[t]
            y[t] = state @ c[t] + w[at + "ssm_d"] * x[t]
        return linear(y * silu(z), at + "ssm_out")

    def delta_net(x, at):
        read = convolved(linear(x, at + "attn_qkv"), at)
        q, k, v = np.split(read, [KEYS, 2 * KEYS], -1)
        unit = lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)
        # a head of values has the key of its number modulo theirs
        q, k = (np.tile(unit(e.reshape(count, GROUPS, KEY)), (1, STATE_HEADS // GROUPS, 1))
                for e in (q, k))  # fmt: skip
        v = v.reshape(count, STATE_HEADS, VALUE)
        beta = sigmoid(linear(x, at + "ssm_beta"))
        step = softplus(linear(x, at + "ssm_alpha") + w[at + "ssm_dt.bias"])
        decay = np.exp(step * w[at + "ssm_a"])
        state, y = np.zeros((STATE_HEADS, KEY, VALUE)), np.zeros_like(v)
        for t in range(count):
            state = decay[t][:, None, None] * state
            change = beta[t][:, None] * (v[t] - np.einsum("hk,hkv->hv", k[t], state))
            state = state + k[t][:, :, None] * change[:, None]
            y[t] = np.einsum("hk,hkv->hv", q[t], state) * KEY**-0.5
        z = linear(x, at + "attn_gate").reshape(count, STATE_HEADS, VALUE)
        return linear((norm(y, at + "ssm_norm") * silu(z)).reshape(count, -1), at + "ssm_out")

    def feed(x, at, end=""):
        hidden = np.maximum(linear(x, f"{at}ffn_up{end}"), 0) ** 2
        return linear(hidden, f"{at}ffn_down{end}")

    def experts(x, at):
        scores = sigmoid(linear(x, at + "ffn_gate_inp"))
        read, y = linear(x, at + "ffn_latent_down"), np.zeros((count, LATENT))
        for token, own in enumerate(scores):
            chosen = np.argsort(-(own + w[at + "exp_probs_b.bias"]))[:USED]
            for one in chosen:
                up, down = (w[f"{at}ffn_{part}_exps.weight"][one] for part in ("up", "down"))
                hidden = np.maximum(up @ read[token], 0) ** 2
                y[token] += SHARES * own[one] / own[chosen].sum() * (down @ hidden)
        return linear(y, at + "ffn_latent_up") + feed(x, at, "_shexp")

    scale = (3.0, 0.5, 2.0) if kind == GRANITE else (1.0, 1.0, 1.0)
    behind = "ffn_norm" if kind == GRANITE else "post_attention_norm"
    x = w["token_embd.weight"][TOKENS] * scale[0]
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        mix = attend if attends(kind, layer) else delta_net if kind == QWEN else mamba
        if kind == FIRST:
            mix = first_mamba
        if feeds_alone(kind, layer):
            mix = experts if PATTERN[layer] == "E" else feed
        x = x + scale[1] * mix(norm(x, at + "attn_norm"), at)
        if kind in (*ALONE, NEMOTRON):
            continue
        y = norm(x, at + behind)
        gated = silu(linear(y, at + "ffn_gate")) * linear(y, at + "ffn_up")
        x = x + scale[1] * linear(gated, at + "ffn_down")
    return norm(x, "output_norm") @ w["token_embd.weight"].T / scale[2]


def config_of(kind):
    """Of a folder of Hugging Face."""
    if kind in ALONE:
        own = {
            MAMBA: {
                "model_type": "mamba2",
                "num_heads": STATE_HEADS,
                "n_groups": GROUPS,
                "head_dim": VALUE,
                "expand": 2,
                "time_step_limit": [0.0, float("inf")],
            },
            FIRST: {
                "model_type": "falcon_mamba",
                "intermediate_size": INNER,
                "time_step_rank": RANK,
                "mixer_rms_eps": EPSILON,
            },
        }[kind]
        return {
            **own,
            "hidden_size": WIDTH,
            "num_hidden_layers": LAYERS,
            "state_size": KEY,
            "conv_kernel": LENGTH,
            "use_conv_bias": True,
            "use_bias": False,
            "layer_norm_epsilon": EPSILON,
            "vocab_size": VOCABULARY,
            "tie_word_embeddings": True,
            "hidden_act": "silu",
        }
    own = {
        GRANITE: {
            "model_type": "granitemoehybrid",
            "layer_types": ["attention" if attends(kind, i) else "mamba" for i in range(LAYERS)],
            "shared_intermediate_size": HIDDEN,
            "num_local_experts": 0,
            "num_experts_per_tok": 0,
            "position_embedding_type": "nope",
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.5,
            "logits_scaling": 2.0,
            "mamba_n_heads": STATE_HEADS,
            "mamba_n_groups": GROUPS,
            "mamba_d_state": KEY,
            "mamba_d_head": "auto",
            "mamba_d_conv": LENGTH,
            "mamba_expand": 2,
            "time_step_limit": [0.0, float("inf")],
        },
        QWEN: {
            "model_type": "qwen3_5_text",
            "full_attention_interval": 2,
            "head_dim": HEAD,
            "linear_conv_kernel_dim": LENGTH,
            "linear_num_key_heads": GROUPS,
            "linear_num_value_heads": STATE_HEADS,
            "linear_key_head_dim": KEY,
            "linear_value_head_dim": VALUE,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": BASE,
                "partial_rotary_factor": TURNED / HEAD,
            },
        },
        NEMOTRON: {
            "model_type": "nemotron_h",
            "hybrid_override_pattern": PATTERN,
            "mlp_hidden_act": "relu2",
            "mamba_num_heads": STATE_HEADS,
            "mamba_head_dim": VALUE,
            "n_groups": GROUPS,
            "ssm_state_size": KEY,
            "conv_kernel": LENGTH,
            "n_routed_experts": EXPERTS,
            "num_experts_per_tok": USED,
            "n_shared_experts": 1,
            "moe_intermediate_size": OF_EXPERT,
            "moe_shared_expert_intermediate_size": SHARED,
            "moe_latent_size": LATENT,
            "routed_scaling_factor": SHARES,
            "norm_topk_prob": True,
            "n_group": 1,
            "topk_group": 1,
        },
    }[kind]
    return {
        "hidden_size": WIDTH,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 512,
        "rms_norm_eps": EPSILON,
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        **own,
    }


NEMOTRON_FOLDER = {
    "attn_norm.weight": "norm.weight",
    **{f"attn_{part}.weight": f"mixer.{part}_proj.weight" for part in "qkv"},
    "attn_output.weight": "mixer.o_proj.weight",
    "ffn_up.weight": "mixer.up_proj.weight",
    "ffn_down.weight": "mixer.down_proj.weight",
    "ffn_up_shexp.weight": "mixer.shared_experts.up_proj.weight",
    "ffn_down_shexp.weight": "mixer.shared_experts.down_proj.weight",
    "ffn_gate_inp.weight": "mixer.gate.weight",
    "exp_probs_b.bias": "mixer.gate.e_score_correction_bias",
    "ffn_latent_down.weight": "mixer.fc1_latent_proj.weight",
    "ffn_latent_up.weight": "mixer.fc2_latent_proj.weight",
    "ffn_up_exps.weight": "up_proj",  # of each expert
    "ffn_down_exps.weight": "down_proj",
}
FOLDER = {
    "attn_norm.weight": "input_layernorm.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "post_attention_norm.weight": "post_attention_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_output.weight": "self_attn.o_proj.weight",
    "attn_q_norm.weight": "self_attn.q_norm.weight",
    "attn_k_norm.weight": "self_attn.k_norm.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ssm_in.weight": "*.in_proj.weight",
    "attn_qkv.weight": "*.in_proj_qkv.weight",
    "attn_gate.weight": "*.in_proj_z.weight",
    "ssm_beta.weight": "*.in_proj_b.weight",
    "ssm_alpha.weight": "*.in_proj_a.weight",
    "ssm_conv1d.weight": "*.conv1d.weight",
    "ssm_conv1d.bias": "*.conv1d.bias",
    "ssm_dt.bias": "*.dt_bias",
    "ssm_x.weight": "*.x_proj.weight",
    "ssm_dt.weight": "*.dt_proj.weight",
    "ssm_a": "*.A_log",
    "ssm_d": "*.D",
    "ssm_norm.weight": "*.norm.weight",
    "ssm_out.weight": "*.out_proj.weight",
}


def in_groups(array, width, axis=0):
    """Heads of values in turn of their keys, as GGUF has them: those of one key together."""
    dims, each = array.shape, STATE_HEADS // GROUPS
    split = (*dims[:axis], each, GROUPS, width, *dims[axis + 1 :])
    return np.ascontiguousarray(array.reshape(split).swapaxes(axis, axis + 1).reshape(dims))


def as_folder(kind, tensors):
    out, mixer = {}, {GRANITE: "mamba", QWEN: "linear_attn"}.get(kind, "mixer")
    has_backbone = kind in (*ALONE, NEMOTRON)
    if has_backbone:
        names = {"token_embd": "backbone.embeddings", "output_norm": "backbone.norm_f"}
    else:
        names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
    layers = "backbone.layers." if has_backbone else "model.layers."
    for name, array in tensors.items():
        if not name.startswith("blk."):
            part = name.removesuffix(".weight")
            is_shifted = kind == QWEN and part == "output_norm"
            out[f"{names[part]}.weight"] = array - np.float32(is_shifted)
            continue
        _, layer, rest = name.split(".", 2)
        own_names = {**FOLDER, **NEMOTRON_FOLDER} if kind == NEMOTRON else FOLDER
        at, to = f"{layers}{layer}.", own_names[rest].replace("*", mixer)
        if "_exps." in rest:
            out.update({f"{at}mixer.experts.{e}.{to}.weight": one for e, one in enumerate(array)})
            continue
        if kind in ALONE and rest == "attn_norm.weight":
            to = "norm.weight"
        if kind == FIRST and rest == "ssm_dt.bias":
            to = f"{mixer}.dt_proj.bias"
        if rest == "ssm_a":
            array = np.log(-array)
        if rest == "ssm_conv1d.weight":
            array = array[:, None]
        if kind == QWEN:
            if rest.endswith("_norm.weight") and rest != "ssm_norm.weight":
                array = array - np.float32(1)
            if rest in ("attn_qkv.weight", "ssm_conv1d.weight"):
                keys, values = np.split(array, [2 * KEYS])
                array = np.concatenate([keys, in_groups(values, VALUE)])
            if rest == "attn_gate.weight":
                array = in_groups(array, VALUE)
            if rest in ("ssm_beta.weight", "ssm_alpha.weight", "ssm_a", "ssm_dt.bias"):
                array = in_groups(array, 1)
            if rest == "ssm_out.weight":
                array = in_groups(array, VALUE, 1)
        elif kind != FIRST and rest in ("ssm_a", "ssm_d", "ssm_norm.weight"):
            array = array.reshape(-1)
        elif kind == GRANITE and rest.startswith("ffn_") and rest != "ffn_norm.weight":
            to = "shared_mlp.output_linear.weight"
            if rest != "ffn_down.weight":
                both = [f"blk.{layer}.ffn_{part}.weight" for part in ("gate", "up")]
                array = np.concatenate([tensors[part] for part in both])
                to = "shared_mlp.input_linear.weight"
        out[at + to] = np.ascontiguousarray(array, np.float32)
    return out
