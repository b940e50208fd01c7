# SPDX-License-Identifier: Apache-2.0
"""`MIXERS`: the rows of random_models.py whose layers have one part each, a recurrence at least:
Nemotron-H, Mamba, Mamba-2."""

import dataclasses

import numpy as np
from random_hybrids import column_parts, mamba_parts
from random_models import Row

NEMOTRON_LAYER = {
    "norm": "attn_norm",
    "mixer.in_proj": "ssm_in",
    "mixer.conv1d": "ssm_conv1d",
    "mixer.out_proj": "ssm_out",
    "mixer.q_proj": "attn_q",
    "mixer.k_proj": "attn_k",
    "mixer.v_proj": "attn_v",
    "mixer.o_proj": "attn_output",
    "mixer.up_proj": "ffn_up",
    "mixer.down_proj": "ffn_down",
    "mixer.gate": "ffn_gate_inp",
    "mixer.experts.up_proj": "ffn_up_exps",
    "mixer.experts.down_proj": "ffn_down_exps",
    "mixer.shared_experts.up_proj": "ffn_up_shexp",
    "mixer.shared_experts.down_proj": "ffn_down_shexp",
    "mixer.fc1_latent_proj": "ffn_latent_down",
    "mixer.fc2_latent_proj": "ffn_latent_up",
}
NEMOTRON_EXPERTS = {
    "n_routed_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 32,
    "moe_shared_expert_intermediate_size": 48,
    "routed_scaling_factor": 2.5,
}
NEMOTRON_EXPERT_METADATA = {
    "expert_count": 8,
    "expert_used_count": 3,
    "expert_shared_count": 1,
    "expert_feed_forward_length": 32,
    "expert_shared_feed_forward_length": 48,
    "expert_weights_norm": True,
    "expert_weights_scale": 2.5,
    "expert_group_count": 1,
}


def nemotron_parts(groups):
    mamba = mamba_parts(groups)

    def parts(name, array):
        if name.endswith(".e_score_correction_bias"):
            return {"exp_probs_b.bias": array}
        return mamba(name.replace(".mixer.", ".mamba."), array)

    return parts


def nemotron(pattern, groups=2, expert_groups=None, latent=None):
    """`pattern`: "M" is a mixer, "*" attention, "-" a feed-forward part, "E" experts.
    `expert_groups`: their number, and that of those used. `latent`: what experts read and give."""
    kinds = {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"}
    options, metadata = {}, {}
    if "E" in pattern:
        options, metadata = dict(NEMOTRON_EXPERTS), dict(NEMOTRON_EXPERT_METADATA)
        options["moe_latent_size"] = latent
    if latent:
        metadata["moe_latent_size"] = latent
    if expert_groups:
        options["n_group"], options["topk_group"] = expert_groups
        metadata["expert_group_count"], metadata["expert_group_used_count"] = expert_groups
    return Row(
        "nemotron_h_moe" if "E" in pattern else "nemotron_h",
        "NemotronH",
        {
            "layers_block_type": [kinds[letter] for letter in pattern],
            "num_hidden_layers": len(pattern),
            "mamba_num_heads": 6,
            "mamba_head_dim": 16,
            "n_groups": groups,
            "ssm_state_size": 16,
            "head_dim": 32,
            **options,
        },
        layer=NEMOTRON_LAYER,
        names={
            "model.embeddings.weight": "token_embd.weight",
            "model.norm_f.weight": "output_norm.weight",
        },
        metadata={
            "attention.key_length": 32,
            "attention.value_length": 32,
            "attention.head_count_kv": [2 * (letter == "*") for letter in pattern],
            "attention.layer_norm_rms_epsilon": 1e-5,
            "feed_forward_length": [{"-": 96, "E": 32}.get(letter, 0) for letter in pattern],
            "rope.scaling.finetuned": False,
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 96,
            "ssm.state_size": 16,
            "ssm.time_step_rank": 6,
            "ssm.group_count": groups,
            **metadata,
        },
        split=nemotron_parts(groups),
    )


def mamba(kind="Mamba", **options):
    row = mamba2(**options)
    row.architecture, row.kind = "mamba", kind
    row.layer = {**NEMOTRON_LAYER, "mixer.x_proj": "ssm_x", "mixer.dt_proj": "ssm_dt"}
    row.options = {"state_size": 16, "tie_word_embeddings": True, **options}
    row.metadata["ssm.inner_size"] = 96
    row.metadata["ssm.time_step_rank"] = options.get("time_step_rank", 4)
    del row.metadata["ssm.group_count"]
    if kind != "Mamba":
        row.metadata["ssm.dt_b_c_rms"] = True
        row.metadata["attention.layer_norm_rms_epsilon"] = 1e-6
    row.split = column_parts
    return row


def mamba2(groups=1, **options):
    mamba = mamba_parts(groups)
    return Row(
        "mamba2",
        "Mamba2",
        {
            "num_heads": 8,
            "head_dim": 16,
            "n_groups": groups,
            "state_size": 16,
            "tie_word_embeddings": True,
            **options,
        },
        layer=NEMOTRON_LAYER,
        names={
            "backbone.embeddings.weight": "token_embd.weight",
            "backbone.norm_f.weight": "output_norm.weight",
        },
        layers="backbone.layers.",
        metadata={
            "attention.head_count": 0,
            "feed_forward_length": 0,
            "attention.layer_norm_rms_epsilon": 1e-5,
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 128,
            "ssm.state_size": 16,
            "ssm.time_step_rank": 8,
            "ssm.group_count": groups,
        },
        drop=("attention.head_count_kv", "rope.freq_base"),
        split=lambda name, array: mamba(name.replace(".mixer.", ".mamba."), array),
    )


def with_draft(row):
    """Behind its layers one that only proposes tokens, as GGUF has it."""
    layers = row.options["num_hidden_layers"]
    metadata = {**row.metadata, "block_count": layers + 1, "nextn_predict_layers": 1}
    for key, value in (("attention.head_count_kv", 2), ("feed_forward_length", 32)):
        metadata[key] = [*metadata[key], value]
    own = {f"blk.{layers}.enorm.weight": np.ones(64, np.float32)}
    return dataclasses.replace(row, metadata=metadata, tensors=own)


MIXERS = {
    "mamba": mamba(),
    "mamba, biases": mamba(use_bias=True, use_conv_bias=False, time_step_rank=12),
    "falcon_mamba": mamba("FalconMamba", tie_word_embeddings=False, layer_norm_epsilon=1e-6),
    "mamba2": mamba2(),
    "mamba2, groups": mamba2(2, use_bias=True),
    "nemotron_h": nemotron("M-M*-M"),
    "nemotron_h, feed-forward last": nemotron("M*-"),
    "nemotron_h, attention last": nemotron("-M*", 1),
    "nemotron_h, experts": nemotron("MEM*E"),
    "nemotron_h, experts, dense last": nemotron("M*E-", 1),
    "nemotron_h, groups of experts": nemotron("EM*EM", expert_groups=(4, 2)),
    "nemotron_h, a latent": nemotron("ME*E", latent=48),
    "nemotron_h, a draft": with_draft(nemotron("ME*E")),
}
