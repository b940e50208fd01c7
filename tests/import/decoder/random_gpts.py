# SPDX-License-Identifier: Apache-2.0
"""`GPTS`: the rows of random_models.py that have q, k and v in one matrix, and names of their own;
Phi, too."""

import numpy as np
import torch
from random_models import LAYER_NORM, NO_RMS, Row

GPT2_NAMES = {
    "transformer.wte.weight": "token_embd.weight",
    "transformer.wpe.weight": "position_embd.weight",
    "transformer.ln_f.weight": "output_norm.weight",
    "transformer.ln_f.bias": "output_norm.bias",
}
GPT2_LAYER = {
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
NEOX_NAMES = {
    "gpt_neox.embed_in.weight": "token_embd.weight",
    "gpt_neox.final_layer_norm.weight": "output_norm.weight",
    "gpt_neox.final_layer_norm.bias": "output_norm.bias",
    "lm_head.weight": "output.weight",
    "embed_out.weight": "output.weight",
}
NEOX_LAYER = {
    "input_layernorm": "attn_norm",
    "attention.query_key_value": "attn_qkv",
    "attention.dense": "attn_output",
    "self_attention.query_key_value": "attn_qkv",
    "self_attention.dense": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down",
}


def transpose(name, array, config):
    return array.T if array.ndim == 2 and name.startswith("transformer.h.") else array


def neox_qkv(name, array, config):
    """Rows of q, k and v of each head together become those of all heads."""
    if "query_key_value" not in name:
        return array
    heads = config.num_attention_heads
    parts = array.reshape(heads, 3, -1, *array.shape[1:])
    return np.concatenate([parts[:, i].reshape(-1, *array.shape[1:]) for i in range(3)])


def bloom(heads):
    width = 16 * heads
    sizes = {"hidden_size": width, "intermediate_size": 4 * width}
    return Row(
        "bloom",
        "Bloom",
        {**sizes, "num_attention_heads": heads, "num_key_value_heads": heads},
        layer=NEOX_LAYER,
        names={
            "transformer.word_embeddings.weight": "token_embd.weight",
            "transformer.word_embeddings_layernorm.weight": "token_embd_norm.weight",
            "transformer.word_embeddings_layernorm.bias": "token_embd_norm.bias",
            "transformer.ln_f.weight": "output_norm.weight",
            "transformer.ln_f.bias": "output_norm.bias",
        },
        layers="transformer.h.",
        metadata={**LAYER_NORM, "attention.head_count_kv": heads},
        drop=(*NO_RMS, "rope.freq_base"),
        change=neox_qkv,
    )


def mpt(heads, **attention):
    width = 16 * heads
    metadata = {"attention.max_alibi_bias": 8.0}
    if "clip_qkv" in attention:
        metadata["attention.clamp_kqv"] = attention["clip_qkv"]
    if "softmax_scale" in attention:
        metadata["attention.scale"] = attention["softmax_scale"]
    return Row(
        "mpt",
        "Mpt",
        {
            "d_model": width,
            "n_heads": heads,
            "n_layers": 3,
            "max_seq_len": 128,
            "hidden_size": width,
            "num_attention_heads": heads,
            "attn_config": {"attn_type": "multihead_attention", **attention},
        },
        layer={
            "norm_1": "attn_norm",
            "attn.Wqkv": "attn_qkv",
            "attn.out_proj": "attn_output",
            "norm_2": "ffn_norm",
            "ffn.up_proj": "ffn_up",
            "ffn.down_proj": "ffn_down",
        },
        names={
            "transformer.wte.weight": "token_embd.weight",
            "transformer.norm_f.weight": "output_norm.weight",
        },
        layers="transformer.blocks.",
        metadata={
            **LAYER_NORM,
            **metadata,
            "attention.head_count_kv": heads,
            "feed_forward_length": 4 * width,
        },
        drop=(*NO_RMS, "rope.freq_base"),
        stored=own_keys,
    )


def own_keys(tensors, config):
    """Without those that the rows of other classes have."""
    for key in ("num_key_value_heads", "intermediate_size"):
        config.pop(key, None)


def neo_as_published(tensors, config):
    """With the masks that older versions stored."""
    own_keys(tensors, config)
    for i in range(4):
        module = f"transformer.h.{i}.attn.attention"
        tensors[f"{module}.bias"] = torch.ones(1, 1, 8, 8)
        tensors[f"{module}.masked_bias"] = torch.tensor(-1e9)


GPTS = {
    "bloom": bloom(4),
    "bloom, 6 heads": bloom(6),
    "starcoder": Row(
        "starcoder",
        "GPTBigCode",
        {
            "n_positions": 128,
            "n_embd": 64,
            "n_layer": 3,
            "n_head": 4,
            "n_inner": 96,
            "multi_query": True,
        },
        layer=GPT2_LAYER,
        names=GPT2_NAMES,
        layers="transformer.h.",
        metadata={**LAYER_NORM, "attention.head_count_kv": 1},
        drop=(*NO_RMS, "rope.freq_base"),
    ),
    "gpt2": Row(
        "gpt2",
        "GPT2",
        {
            "n_positions": 128,
            "n_embd": 64,
            "n_layer": 3,
            "n_head": 4,
            "n_inner": 96,
            "num_key_value_heads": 4,
        },
        layer=GPT2_LAYER,
        names=GPT2_NAMES,
        layers="transformer.h.",
        metadata={**LAYER_NORM, "attention.head_count_kv": 4},
        drop=(*NO_RMS, "rope.freq_base"),
        change=transpose,
    ),
    "gptj": Row(
        "gptj",
        "GPTJ",
        {
            "n_positions": 128,
            "n_embd": 64,
            "n_layer": 3,
            "n_head": 4,
            "n_inner": 96,
            "rotary_dim": 6,
            "num_key_value_heads": 4,
        },
        layer={
            **GPT2_LAYER,
            "attn.q_proj": "attn_q",
            "attn.k_proj": "attn_k",
            "attn.v_proj": "attn_v",
            "attn.out_proj": "attn_output",
            "mlp.fc_in": "ffn_up",
            "mlp.fc_out": "ffn_down",
        },
        names=GPT2_NAMES,
        layers="transformer.h.",
        metadata={**LAYER_NORM, "attention.head_count_kv": 4, "rope.dimension_count": 6},
        drop=NO_RMS,
    ),
    "gptneox": Row(
        "gptneox",
        "GPTNeoX",
        {
            "num_key_value_heads": 4,
            "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5},
        },
        layer=NEOX_LAYER,
        names=NEOX_NAMES,
        layers="gpt_neox.layers.",
        metadata={
            **LAYER_NORM,
            "attention.head_count_kv": 4,
            "rope.dimension_count": 8,
            "use_parallel_residual": True,
        },
        drop=NO_RMS,
        change=neox_qkv,
    ),
    "gptneox, in sequence": Row(
        "gptneox",
        "GPTNeoX",
        {
            "num_key_value_heads": 4,
            "use_parallel_residual": False,
            "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5},
        },
        layer=NEOX_LAYER,
        names=NEOX_NAMES,
        layers="gpt_neox.layers.",
        metadata={
            **LAYER_NORM,
            "attention.head_count_kv": 4,
            "rope.dimension_count": 8,
            "use_parallel_residual": False,
        },
        drop=NO_RMS,
        change=neox_qkv,
    ),
    "phi2": Row(
        "phi2",
        "Phi",
        {"partial_rotary_factor": 0.5, "num_key_value_heads": 4},
        layer={
            "self_attn.dense": "attn_output",
            "mlp.fc1": "ffn_up",
            "mlp.fc2": "ffn_down",
        },
        names={
            "model.final_layernorm.weight": "output_norm.weight",
            "model.final_layernorm.bias": "output_norm.bias",
        },
        metadata={**LAYER_NORM, "attention.head_count_kv": 4, "rope.dimension_count": 8},
        drop=NO_RMS,
    ),
    "falcon": Row(
        "falcon",
        "Falcon",
        {"multi_query": True, "parallel_attn": True, "bias": False, "ffn_hidden_size": 96},
        layer=NEOX_LAYER,
        names={
            "transformer.word_embeddings.weight": "token_embd.weight",
            "transformer.ln_f.weight": "output_norm.weight",
            "transformer.ln_f.bias": "output_norm.bias",
        },
        layers="transformer.h.",
        metadata={**LAYER_NORM, "attention.head_count_kv": 1},
        drop=NO_RMS,
    ),
    "mpt": mpt(4),
    "mpt, 6 heads, limits": mpt(6, clip_qkv=0.5, softmax_scale=0.3),
    "gpt_neo": Row(
        "gptneo",
        "GPTNeo",
        {
            "num_hidden_layers": 4,
            "attention_types": [[["global", "local"], 2]],
            "window_size": 8,
            "num_key_value_heads": 4,
        },
        folder=True,
    ),
    "gpt_neo, as published": Row(
        "gptneo",
        "GPTNeo",
        {
            "num_hidden_layers": 4,
            "attention_types": [[["global", "local"], 2]],
            "window_size": 8,
            "intermediate_size": None,
        },
        stored=neo_as_published,
        folder=True,
    ),
    "opt": Row(
        "opt", "OPT", {"ffn_dim": 96, "word_embed_proj_dim": 64}, stored=own_keys, folder=True
    ),
}
