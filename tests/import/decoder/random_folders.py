# SPDX-License-Identifier: Apache-2.0
"""`FOLDERS`: rows of random_models.py whose folders are stored as other versions do it, or whose
variant no GGUF file has. `stored` of a row changes tensors and configuration as saved."""

import torch
from random_gpts import GPTS
from random_models import SIZES, Row

CONTEXT = SIZES["max_position_embeddings"]


def without(config, *keys):
    for key in keys:
        config.pop(key, None)


def add_masks(tensors, layers, attention):
    """Buffers that earlier versions saved."""
    for i in range(SIZES["num_hidden_layers"]):
        mask = torch.ones(1, 1, CONTEXT, CONTEXT).tril().to(torch.uint8)
        tensors[f"{layers}{i}.{attention}.bias"] = mask
        tensors[f"{layers}{i}.{attention}.masked_bias"] = torch.tensor(-1e4)


def gpt2_as_published(tensors, config):
    config["n_ctx"] = config["n_positions"]
    without(config, "n_inner", "intermediate_size", "num_key_value_heads", "tie_word_embeddings")
    for name in list(tensors):
        tensors[name.removeprefix("transformer.")] = tensors.pop(name)
    add_masks(tensors, "h.", "attn")


def neox_as_published(tensors, config):
    rope = config.pop("rope_parameters")
    config["rotary_pct"] = rope["partial_rotary_factor"]
    config["rotary_emb_base"] = int(rope["rope_theta"])
    without(config, "num_key_value_heads", "use_parallel_residual")
    add_masks(tensors, "gpt_neox.layers.", "attention")
    for i in range(SIZES["num_hidden_layers"]):
        tensors[f"gpt_neox.layers.{i}.attention.rotary_emb.inv_freq"] = torch.ones(4)


def phi_as_published(tensors, config):
    rope = config.pop("rope_parameters")
    config["rope_theta"], config["rope_scaling"] = rope["rope_theta"], None
    config["num_key_value_heads"] = None


def falcon_as_published(tensors, config):
    config["apply_residual_connection_post_layernorm"] = False
    without(config, "rope_parameters", "ffn_hidden_size", "intermediate_size", "activation")
    without(config, "max_position_embeddings", "num_key_value_heads", "num_ln_in_parallel_attn")


def gemma3_as_published(tensors, config):
    rope = config["text_config"]["rope_parameters"]["full_attention"]
    config["text_config"] = {
        "model_type": "gemma3_text",
        "rope_scaling": {"rope_type": rope["rope_type"], "factor": rope["factor"]},
        **{key: config["text_config"][key] for key in GEMMA3},
    }


def gemma3_as_of_now(tensors, config):
    for name in list(tensors):
        to = name.replace("language_model.model.", "language_model.")
        tensors["model." + to] = tensors.pop(name)


def variant(name, stored=None, **options):
    """A row whose configuration has other numbers."""
    row = GPTS[name]
    return Row(row.architecture, row.kind, {**row.options, **options}, stored=stored, folder=True)


GEMMA3 = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 7, "sliding_window": 8}
GEMMA3_ROPE = {
    "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "image_size": 28,
    "patch_size": 14,
}


def gemma3(stored):
    """With a vision tower, and a text's part that has the defaults of its class."""
    text = {**GEMMA3, "vocab_size": SIZES["vocab_size"], "rope_parameters": GEMMA3_ROPE}
    options = {"text_config": text, "vision_config": VISION, "mm_tokens_per_image": 4}
    return Row("gemma3", "Gemma3", options, norm_shift=1, stored=stored, folder=True)


FOLDERS = {
    "gpt2, as published": variant(
        "gpt2", gpt2_as_published, n_inner=None, tie_word_embeddings=True
    ),
    "gptneox, as published": variant(
        "gptneox",
        neox_as_published,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 500.0,
            "partial_rotary_factor": 0.5,
        },
    ),
    "phi2, as published": variant("phi2", phi_as_published),
    "falcon 7B, as published": variant("falcon", falcon_as_published, ffn_hidden_size=None),
    "falcon 40B": variant("falcon", new_decoder_architecture=True, num_kv_heads=2),
    "falcon 11B": variant(
        "falcon", new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1
    ),
    "falcon, all heads, biases": variant("falcon", multi_query=False, bias=True),
    "starcoder, all heads": variant(
        "starcoder", multi_query=False, num_key_value_heads=4, activation_function="gelu"
    ),
    "gemma3 4B, as published": gemma3(gemma3_as_published),
    "gemma3 4B": gemma3(gemma3_as_of_now),
}
