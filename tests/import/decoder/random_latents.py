# SPDX-License-Identifier: Apache-2.0
"""`LATENTS`: the rows of random_models.py whose keys and values come from one latent."""

import numpy as np
from random_models import Row

HEADS, RANK, OWN, TURNED, VALUE = 4, 32, 16, 8, 24
EXPERTS, USED, HIDDEN = 8, 3, 32
LAYER = {
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.kv_b_proj": "attn_kv_b",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
    "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
}
OPTIONS = {
    "num_key_value_heads": HEADS,
    "kv_lora_rank": RANK,
    "q_lora_rank": None,
    "qk_nope_head_dim": OWN,
    "qk_rope_head_dim": TURNED,
    "v_head_dim": VALUE,
}
EXPERT_OPTIONS = {
    "n_routed_experts": EXPERTS,
    "n_shared_experts": 2,
    "num_experts_per_tok": USED,
    "moe_intermediate_size": HIDDEN,
}


def neighbors(array):
    """Rows of halves in the order of neighbors."""
    return array.reshape(2, -1, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


def turn_pairs(name, array, config):
    """Rows of what turns, as GGUF has them of a model that turns halves."""
    if name.endswith(".kv_a_proj_with_mqa.weight"):
        return np.concatenate([array[:RANK], neighbors(array[RANK:])])
    if name.endswith((".q_proj.weight", ".q_b_proj.weight")):
        heads = array.reshape(HEADS, OWN + TURNED, -1)
        turned = [np.concatenate([head[:OWN], neighbors(head[OWN:])]) for head in heads]
        return np.concatenate(turned)
    return array


def parts(name, array):
    """Keys and values of a latent as newer files have them, those of keys turned."""
    if name.endswith(".e_score_correction_bias"):
        return {"exp_probs_b.bias": array}
    if not name.endswith(".kv_b_proj.weight"):
        return None
    keys, values = np.split(array.reshape(HEADS, OWN + VALUE, RANK), [OWN], axis=1)
    return {"attn_k_b.weight": keys.swapaxes(1, 2), "attn_v_b.weight": values}


def old_parts(name, array):
    return None if name.endswith(".kv_b_proj.weight") else parts(name, array)


def widths(is_new):
    if not is_new:
        return {
            "attention.head_count_kv": HEADS,
            "attention.key_length": OWN + TURNED,
            "attention.value_length": VALUE,
        }
    return {
        "attention.head_count_kv": 1,
        "attention.key_length": RANK + TURNED,
        "attention.value_length": RANK,
        "attention.key_length_mla": OWN + TURNED,
        "attention.value_length_mla": VALUE,
    }


def latent(kind, is_new=True, query_rank=None, groups=None, yarn=None, **options):
    """`groups`: their number, and that of those used. `yarn`: mscale of what turns and of all."""
    options = {**OPTIONS, "q_lora_rank": query_rank, **options}
    has_experts = kind != "MiniCPM3"
    metadata = {
        **widths(is_new),
        "attention.kv_lora_rank": RANK,
        "rope.dimension_count": TURNED,
    }
    if has_experts:
        options = {**EXPERT_OPTIONS, **options}
        scale = options.setdefault("routed_scaling_factor", 2.5)
        metadata.update(
            {
                "vocab_size": 97,
                "leading_dense_block_count": 1,
                "expert_count": EXPERTS,
                "expert_used_count": USED,
                "expert_shared_count": 2,
                "expert_feed_forward_length": HIDDEN,
                "expert_weights_scale": scale,
            }
        )
        if kind == "Glm4MoeLite":
            options["mlp_layer_types"] = ["dense", "sparse", "sparse"]
        else:
            options["first_k_dense_replace"] = 1
    if kind in ("DeepseekV3", "Glm4MoeLite"):
        metadata.update({"expert_gating_func": 2, "expert_weights_norm": True})
        options["n_group"], options["topk_group"] = groups or (1, 1)
    elif groups:
        options["n_group"], options["topk_group"] = groups
        options["topk_method"] = "group_limited_greedy"
    if groups:
        metadata["expert_group_count"], metadata["expert_group_used_count"] = groups
    if query_rank:
        metadata["attention.q_lora_rank"] = query_rank
    if yarn:
        options["rope_parameters"] = {
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 32,
            "beta_fast": 32,
            "beta_slow": 1,
            "mscale": yarn[0],
            "mscale_all_dim": yarn[1],
        }
        metadata.update(
            {
                "rope.scaling.type": "yarn",
                "rope.scaling.factor": 4.0,
                "rope.scaling.original_context_length": 32,
                "rope.scaling.yarn_log_multiplier": 0.1 * yarn[1],
            }
        )
    return Row(
        "deepseek2",
        kind,
        options,
        layer=LAYER,
        metadata=metadata,
        split=parts if is_new else old_parts,
    )


LATENTS = {
    "deepseek2": latent("DeepseekV2"),
    "deepseek2, as it was": latent("DeepseekV2", False, yarn=(0.707, 0.707)),
    "deepseek2, a latent of queries": latent("DeepseekV2", query_rank=24, attention_bias=True),
    "deepseek2, groups": latent("DeepseekV2", groups=(4, 2)),
    "deepseek2, Q8_0": latent("DeepseekV2", False, 32),
    "deepseek3": latent("DeepseekV3", query_rank=24, yarn=(1.0, 1.0)),
    "deepseek3, as it was": latent("DeepseekV3", False, 24),
    "deepseek3, groups": latent("DeepseekV3", groups=(4, 2), norm_topk_prob=True),
    "deepseek3, halves": latent("DeepseekV3", query_rank=24, rope_interleave=False),
    "deepseek3, in one": latent("DeepseekV3"),
    "glm4_moe_lite": latent("Glm4MoeLite", query_rank=24, rms_norm_eps=1e-6),
    "minicpm3": latent("MiniCPM3", False, 24, v_head_dim=16, rms_norm_eps=1e-6),
}
LATENTS["minicpm3"].architecture = "minicpm3"
LATENTS["minicpm3"].drop = ("attention.value_length",)
LATENTS["deepseek2, Q8_0"].quantized = True
LATENTS["deepseek3, halves"].change = turn_pairs
LATENTS["deepseek3, in one"].saved_whole = True
