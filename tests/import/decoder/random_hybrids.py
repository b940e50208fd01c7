# SPDX-License-Identifier: Apache-2.0
"""`HYBRIDS`: the rows of random_models.py whose layers keep a recurrent state."""

import dataclasses

import numpy as np
from random_models import Row

MAMBA_LAYER = {
    "mamba.in_proj": "ssm_in",
    "mamba.conv1d": "ssm_conv1d",
    "mamba.out_proj": "ssm_out",
    "block_sparse_moe.router": "ffn_gate_inp",
    "block_sparse_moe.experts.down_proj": "ffn_down_exps",
}


def mamba_parts(groups, has_experts=False):
    """What GGUF has under other names, or in other dims."""

    def parts(name, array):
        _, _, last = name.rpartition(".mamba.")
        if last == "A_log":
            return {"ssm_a": -np.exp(array)[:, None]}
        if last == "D":
            return {"ssm_d": array[:, None]}
        if last == "dt_bias":
            return {"ssm_dt.bias": array}
        if last == "norm.weight":
            return {"ssm_norm.weight": array.reshape(groups, -1)}
        if last == "conv1d.weight":
            return {"ssm_conv1d.weight": array[:, 0]}
        end = "_shexp" if has_experts else ""
        if name.endswith(".shared_mlp.output_linear.weight"):
            return {f"ffn_down{end}.weight": array}
        if name.endswith(".shared_mlp.input_linear.weight"):
            gate, up = np.split(array, 2)
            return {f"ffn_gate{end}.weight": gate, f"ffn_up{end}.weight": up}
        return None

    return parts


def granite(layers, groups=1, experts=0, rope=False, **options):
    """`layers` has "a" where attention is, else "m"."""
    multipliers = {
        "embedding_multiplier": 6.0,
        "residual_multiplier": 0.22,
        "attention_multiplier": 0.3,
        "logits_scaling": 5.0,
    }
    metadata = {
        "attention.head_count_kv": [2 * (layer == "a") for layer in layers],
        "rope.scaling.finetuned": rope,
        "embedding_scale": 6.0,
        "residual_scale": 0.22,
        "attention.scale": 0.3,
        "logit_scale": 5.0,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 16,
        "ssm.time_step_rank": 8,
        "ssm.group_count": groups,
        "expert_shared_feed_forward_length": 48 if experts else 96,
    }
    if experts:
        metadata.update({"expert_count": experts, "expert_used_count": 2})
    row = Row(
        "granitehybrid",
        "GraniteMoeHybrid",
        {
            "num_hidden_layers": len(layers),
            "layer_types": [{"a": "attention", "m": "mamba"}[layer] for layer in layers],
            "num_local_experts": experts,
            "num_experts_per_tok": 2 if experts else 0,
            "shared_intermediate_size": 48 if experts else 96,
            "position_embedding_type": "rope" if rope else None,
            "mamba_n_heads": 8,
            "mamba_d_head": 16,
            "mamba_d_state": 16,
            "mamba_n_groups": groups,
            **multipliers,
            **options,
        },
        layer=MAMBA_LAYER,
        metadata=metadata,
        permuted=rope,
    )
    row.split = mamba_parts(groups, experts > 0)
    return row


KEYS, VALUES, KEY_WIDTH, VALUE_WIDTH = (2, 4, 16, 32)  # heads of a delta net, and their widths
DELTA = {
    "head_dim": 32,
    "linear_conv_kernel_dim": 4,
    "linear_num_key_heads": KEYS,
    "linear_num_value_heads": VALUES,
    "linear_key_head_dim": KEY_WIDTH,
    "linear_value_head_dim": VALUE_WIDTH,
}
DELTA_METADATA = {
    "attention.key_length": 32,
    "attention.value_length": 32,
    "rope.dimension_count": 8,
    "ssm.conv_kernel": 4,
    "ssm.inner_size": VALUES * VALUE_WIDTH,
    "ssm.state_size": KEY_WIDTH,
    "ssm.time_step_rank": VALUES,
    "ssm.group_count": KEYS,
}
DELTA_LAYER = {
    "post_attention_layernorm": "post_attention_norm",
    "linear_attn.in_proj_ba": "ssm_ba",
    "linear_attn.in_proj_qkvz": "ssm_in",
    "linear_attn.in_proj_qkv": "attn_qkv",
    "linear_attn.in_proj_z": "attn_gate",
    "linear_attn.in_proj_b": "ssm_beta",
    "linear_attn.in_proj_a": "ssm_alpha",
    "linear_attn.out_proj": "ssm_out",
}


def tiled(array, width, axis=0):
    """Heads of values, those of one key head together, in turn of the key heads."""
    dims = array.shape
    split = (*dims[:axis], KEYS, VALUES // KEYS, width, *dims[axis + 1 :])
    return array.reshape(split).swapaxes(axis, axis + 1).reshape(dims)


def behind_keys(array):
    keys, values = np.split(array, [2 * KEYS * KEY_WIDTH])
    return np.concatenate([keys, tiled(values, VALUE_WIDTH)])


def in_tiles(name, array, config):
    """Rows and columns of heads of values as GGUF has them of Qwen3.5."""
    last = name.rpartition(".linear_attn.")[2]
    if last in ("in_proj_qkv.weight", "conv1d.weight"):
        return behind_keys(array)
    if last == "in_proj_z.weight":
        return tiled(array, VALUE_WIDTH)
    if last in ("in_proj_b.weight", "in_proj_a.weight", "A_log", "dt_bias"):
        return tiled(array, 1)
    return tiled(array, VALUE_WIDTH, 1) if last == "out_proj.weight" else array


def delta_parts(name, array):
    last = name.rpartition(".linear_attn.")[2]
    if last == "A_log":
        return {"ssm_a": -np.exp(array)}
    if last == "dt_bias":
        return {"ssm_dt.bias": array}
    if last == "norm.weight":
        return {"ssm_norm.weight": array - 1}  # to which as_gguf() has added
    if last == "conv1d.weight":
        return {"ssm_conv1d.weight": array[:, 0]}
    return None


def next_parts(name, array):
    """Rows of q, k, v of all key heads, and z apart."""
    if not name.endswith(".in_proj_qkvz.weight"):
        return delta_parts(name, array)
    each = VALUES // KEYS * VALUE_WIDTH
    own = array.reshape(KEYS, -1, array.shape[1])
    parts = np.split(own, np.cumsum([KEY_WIDTH, KEY_WIDTH, each]), axis=1)
    q, k, v, z = (part.reshape(-1, array.shape[1]) for part in parts)
    return {"attn_qkv.weight": np.concatenate([q, k, v]), "attn_gate.weight": z}


def qwen35(**changed):
    row = Row(
        "qwen35",
        "Qwen3_5Text",
        {"num_hidden_layers": 5, **DELTA},
        layer=DELTA_LAYER,
        metadata={**DELTA_METADATA, "full_attention_interval": 4},
        norm_shift=1,
        change=in_tiles,
        split=delta_parts,
    )
    for key, value in changed.items():
        setattr(row, key, value)
    return row


def qwen35moe(**changed):
    options = {
        "num_hidden_layers": 4,  # roundings grow with each
        "num_experts": 6,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 48,
    }
    experts = {
        "expert_count": 6,
        "expert_used_count": 2,
        "expert_feed_forward_length": 32,
        "expert_shared_feed_forward_length": 48,
    }
    row = qwen35(architecture="qwen35moe", kind="Qwen3_5MoeText", **changed)
    row.options, row.metadata = {**row.options, **options}, {**row.metadata, **experts}
    row.drop = ("feed_forward_length",)
    return row


def qwen3next(split=next_parts, **metadata):
    return Row(
        "qwen3next",
        "Qwen3Next",
        {
            "num_hidden_layers": 4,
            "layer_types": ["linear_attention", "full_attention"] * 2,
            "num_experts": 6,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 48,
            **DELTA,
        },
        layer=DELTA_LAYER,
        metadata={
            **DELTA_METADATA,
            "expert_count": 6,
            "expert_used_count": 2,
            "expert_feed_forward_length": 32,
            "expert_shared_feed_forward_length": 48,
            **metadata,
        },
        norm_shift=1,
        split=split,
    )


HYBRIDS = {
    "granitehybrid": granite("mam"),
    "granitehybrid, groups": granite("mmam", groups=2, mamba_proj_bias=True),
    "granitehybrid, experts": granite("mam", experts=4),
    "granitehybrid, rope": granite("ama", rope=True),
    "granitehybrid, Q8_0": granite("mam", groups=2),
    "qwen35": qwen35(),
    "qwen35, Q8_0": qwen35(quantized=True),
    "qwen35moe": qwen35moe(),
    "qwen35moe, in one": qwen35moe(saved_whole=True),
    "qwen3next": qwen3next(full_attention_interval=2),
    "qwen3next, as it was": qwen3next(
        delta_parts, **{"attention.recurrent_layers": [True, False] * 2}
    ),
}
HYBRIDS["granitehybrid, Q8_0"].quantized = True


# Of what goes in and comes out, which GGUF's weights have in them.
FALCON_SCALES = {
    "attention_in_multiplier": 1.2,
    "attention_out_multiplier": 0.8,
    "key_multiplier": 0.4,
    "ssm_in_multiplier": 1.3,
    "ssm_out_multiplier": 0.7,
    "mlp_multipliers": [0.9, 1.1],
    "ssm_multipliers": [0.7, 0.8, 0.9, 1.1, 1.3],
    "lm_head_multiplier": 0.5,
    "embedding_multiplier": 3.0,
}
FALCON_LAYER = {
    **MAMBA_LAYER,
    "feed_forward.gate_proj": "ffn_gate",
    "feed_forward.up_proj": "ffn_up",
    "feed_forward.down_proj": "ffn_down",
}


def falcon_scales(name, array, config):
    s = FALCON_SCALES
    ends = {
        "down_proj.weight": s["mlp_multipliers"][1],
        "gate_proj.weight": s["mlp_multipliers"][0],
        "k_proj.weight": s["key_multiplier"] * s["attention_in_multiplier"],
        "q_proj.weight": s["attention_in_multiplier"],
        "v_proj.weight": s["attention_in_multiplier"],
        "o_proj.weight": s["attention_out_multiplier"],
        "mamba.out_proj.weight": s["ssm_out_multiplier"],
        "lm_head.weight": s["lm_head_multiplier"],
        "embed_tokens.weight": s["embedding_multiplier"],
    }
    for end, by in ends.items():
        if name.endswith("." + end) or name == end:
            return array * np.float32(by)
    if name.endswith("mamba.in_proj.weight"):
        inner, keys = config.mamba_d_ssm, config.mamba_n_groups * config.mamba_d_state
        counts = [inner, inner, keys, keys, config.mamba_n_heads]
        parts = np.repeat(np.float32(s["ssm_multipliers"]), counts)[:, None]
        return array * parts * np.float32(s["ssm_in_multiplier"])
    return array


def falcon_parts(groups):
    mamba = mamba_parts(groups)

    def parts(name, array):
        if name.endswith(".pre_ff_layernorm.weight"):
            return {"ffn_norm": array}
        return mamba(name, array)

    return parts


def falcon(groups=2, **options):
    return Row(
        "falcon-h1",
        "FalconH1",
        {
            "mamba_d_ssm": 96,
            "mamba_n_heads": 6,
            "mamba_d_head": 16,
            "mamba_d_state": 16,
            "mamba_n_groups": groups,
            **FALCON_SCALES,
            **options,
        },
        layer=FALCON_LAYER,
        names={"model.final_layernorm.weight": "output_norm.weight"},
        metadata={
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 96,
            "ssm.state_size": 16,
            "ssm.time_step_rank": 6,
            "ssm.group_count": groups,
        },
        change=falcon_scales,
        split=falcon_parts(groups),
    )


def falcon_folder(**options):
    """GGUF has no word for where its norm stands."""
    return dataclasses.replace(falcon(**options), folder=True)


HYBRIDS.update(
    {
        "falcon-h1": falcon(),
        "falcon-h1, a norm": falcon(mamba_rms_norm=True, mamba_norm_before_gate=False),
        "falcon-h1, a norm in front of the gate": falcon_folder(mamba_rms_norm=True),
        "falcon-h1, a norm of all": falcon_folder(groups=1, mamba_rms_norm=True),
    }
)


JAMBA_LAYER = {
    **FALCON_LAYER,
    "pre_ff_layernorm": "ffn_norm",
    "feed_forward.router": "ffn_gate_inp",
    "feed_forward.experts.down_proj": "ffn_down_exps",
    "mamba.x_proj": "ssm_x",
    "mamba.dt_proj": "ssm_dt",
    "mamba.dt_layernorm": "ssm_dt_norm",
    "mamba.b_layernorm": "ssm_b_norm",
    "mamba.c_layernorm": "ssm_c_norm",
}


def column_parts(name, array):
    """Of Mamba, whose heads are columns."""
    last = name.rpartition(".")[2]
    if last == "A_log":
        return {"ssm_a": -np.exp(array)}
    if last == "D":
        return {"ssm_d": array}
    return {"ssm_conv1d.weight": array[:, 0]} if name.endswith(".conv1d.weight") else None


def jamba(experts=1, **options):
    """Attention in each third layer; experts, where there is more than one, in each second."""
    metadata = {"expert_count": experts, "expert_used_count": 2} if experts > 1 else {}
    return Row(
        "jamba",
        "Jamba",
        {
            "num_hidden_layers": 5,
            "attn_layer_period": 3,
            "attn_layer_offset": 1,
            "num_experts": experts,
            "num_experts_per_tok": 2,
            "mamba_d_state": 16,
            **options,
        },
        layer=JAMBA_LAYER,
        names={"model.final_layernorm.weight": "output_norm.weight"},
        metadata={
            "attention.head_count_kv": [0, 2, 0, 0, 2],
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 128,
            "ssm.state_size": 16,
            "ssm.time_step_rank": options.get("mamba_dt_rank", 4),
            **metadata,
        },
        drop=("rope.freq_base",),
        split=column_parts,
    )


HYBRIDS["jamba"] = jamba()
HYBRIDS["jamba, experts"] = jamba(6, mamba_dt_rank=12)
HYBRIDS["jamba, biases"] = jamba(mamba_proj_bias=True, mamba_conv_bias=False)
