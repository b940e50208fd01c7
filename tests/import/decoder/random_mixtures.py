# SPDX-License-Identifier: Apache-2.0
"""`MIXTURES`: the rows of random_models.py that are mixtures of experts."""

import numpy as np
from random_hybrids import mamba_parts
from random_models import Row, lfm2


def gpt_oss_parts(name, array):
    """Sinks and experts, whose matrices are inputs by outputs, those of gate and up in turn."""
    module, _, last = name.rpartition(".")
    if last == "sinks":
        return {"attn_sinks.weight": array}
    if not module.endswith(".experts"):
        return None
    end = "bias" if last.endswith("_bias") else "weight"
    array = array if end == "bias" else array.swapaxes(1, 2)
    if "down" in last:
        return {f"ffn_down_exps.{end}": array}
    return {f"ffn_gate_exps.{end}": array[:, ::2], f"ffn_up_exps.{end}": array[:, 1::2]}


GPT_OSS_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 150000.0,
    "factor": 8.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 64,
}

LFM2_MOE = Row(
    "lfm2moe",
    "Lfm2Moe",
    **lfm2(
        "ccac",
        3,
        num_experts=6,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
        num_dense_layers=1,
        routed_scaling_factor=1.0,
    ),
)
LFM2_MOE.metadata.update(
    {
        "expert_count": 6,
        "expert_used_count": 2,
        "expert_feed_forward_length": 32,
        "expert_gating_func": 2,
        "leading_dense_block_count": 1,
    }
)
LFM2_MOE.split = lambda name, array: (
    {"exp_probs_b.bias": array} if name.endswith(".expert_bias") else None
)


def granite_moe(kind, shared=0):
    """`shared`: the hidden width of an expert that every token has."""
    factors = {
        "embedding_multiplier": 6.0,
        "residual_multiplier": 0.22,
        "attention_multiplier": 0.3,
        "logits_scaling": 5.0,
    }
    own = {"shared_intermediate_size": shared} if shared else {}
    return Row(
        "granitemoe",
        kind,
        {"num_local_experts": 4, "num_experts_per_tok": 2, **own, **factors},
        layer={
            "block_sparse_moe.router.layer": "ffn_gate_inp",
            "block_sparse_moe.router": "ffn_gate_inp",
            "block_sparse_moe.experts.down_proj": "ffn_down_exps",
        },
        metadata={
            "expert_count": 4,
            "expert_used_count": 2,
            "expert_shared_feed_forward_length": shared,
            "embedding_scale": 6.0,
            "residual_scale": 0.22,
            "attention.scale": 0.3,
            "logit_scale": 5.0,
        },
        permuted=True,
        split=mamba_parts(1, True),
    )


SHARED_LAYER = {
    f"mlp.shared_experts.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")
}


def choice(name, array):
    """What is added to scores of experts for the choice alone."""
    last = name.rpartition(".")[2]
    return {"exp_probs_b.bias": array.reshape(-1)} if last == "e_score_correction_bias" else None


def glm4_moe(has_norms, drafts=0):
    """`drafts`: layers behind the others of the file, which only propose tokens."""
    draft = {f"blk.{3 + i}.nextn.enorm.weight": np.ones(64, np.float32) for i in range(drafts)}
    return Row(
        "glm4moe",
        "Glm4Moe",
        {
            "head_dim": 16,
            "attention_bias": True,
            "use_qk_norm": has_norms,
            "n_routed_experts": 6,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "routed_scaling_factor": 2.5,
            "num_nextn_predict_layers": 0,
        },
        layer={**SHARED_LAYER, "post_attention_layernorm": "post_attention_norm"},
        metadata={
            "attention.key_length": 16,
            "attention.value_length": 16,
            "rope.dimension_count": 8,
            "expert_count": 6,
            "expert_used_count": 2,
            "expert_feed_forward_length": 32,
            "expert_shared_count": 1,
            "expert_gating_func": 2,
            "expert_weights_scale": 2.5,
            "expert_weights_norm": True,
            "leading_dense_block_count": 1,
            "block_count": 3 + drafts,
            "nextn_predict_layers": drafts,
        },
        split=choice,
        tensors=draft,
    )


MIXTURES = {
    "mixtral": Row(
        "llama",
        "Mixtral",
        {"num_local_experts": 5, "num_experts_per_tok": 2, "sliding_window": None},
        metadata={"expert_count": 5, "expert_used_count": 2},
        permuted=True,
    ),
    "qwen2moe": Row(
        "qwen2moe",
        "Qwen2Moe",
        {
            "num_experts": 6,
            "num_experts_per_tok": 3,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 64,
        },
        metadata={
            "expert_count": 6,
            "expert_used_count": 3,
            "expert_feed_forward_length": 32,
            "expert_shared_feed_forward_length": 64,
        },
    ),
    "qwen3moe": Row(
        "qwen3moe",
        "Qwen3Moe",
        {
            "head_dim": 16,
            "num_experts": 7,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "norm_topk_prob": True,
            "mlp_only_layers": [1],
        },
        metadata={"expert_count": 7, "expert_used_count": 2, "expert_feed_forward_length": 32},
    ),
    "olmoe": Row(
        "olmoe",
        "Olmoe",
        {"num_experts": 4, "num_experts_per_tok": 2},
        metadata={"expert_count": 4, "expert_used_count": 2},
    ),
    "granitemoe": granite_moe("GraniteMoe"),
    "granitemoe, shared": granite_moe("GraniteMoeShared", 48),
    "lfm2moe": LFM2_MOE,
    "ernie4_5-moe": Row(
        "ernie4_5-moe",
        "Ernie4_5_Moe",
        {
            "head_dim": 16,
            "moe_num_experts": 6,
            "moe_k": 2,
            "moe_num_shared_experts": 2,
            "moe_intermediate_size": 32,
            "moe_layer_start_index": 1,
        },
        layer=SHARED_LAYER,
        metadata={
            "expert_count": 6,
            "expert_used_count": 2,
            "expert_feed_forward_length": 32,
            "expert_shared_count": 2,
            "expert_shared_feed_forward_length": 64,
            "leading_dense_block_count": 1,
            "interleave_moe_layer_step": 1,
        },
        split=choice,
    ),
    "glm4moe": glm4_moe(False),
    "glm4moe, norms of heads, a draft": glm4_moe(True, 1),
    "gpt-oss": Row(
        "gpt-oss",
        "GptOss",
        {
            "head_dim": 32,
            "num_local_experts": 5,
            "num_experts_per_tok": 2,
            "sliding_window": 8,
            "rope_parameters": GPT_OSS_ROPE,
        },
        layer={
            "post_attention_layernorm": "post_attention_norm",
            "mlp.router": "ffn_gate_inp",
        },
        metadata={
            "attention.key_length": 32,
            "attention.value_length": 32,
            "attention.sliding_window": 8,
            "expert_count": 5,
            "expert_used_count": 2,
            "expert_feed_forward_length": 96,
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 8.0,
            "rope.scaling.original_context_length": 64,
        },
        split=gpt_oss_parts,
    ),
}
