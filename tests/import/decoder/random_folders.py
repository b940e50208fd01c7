# SPDX-License-Identifier: Apache-2.0
"""`FOLDERS`: rows of random_models.py whose folders are stored as other versions do it, or whose
variant no GGUF file has. `stored` of a row changes tensors and configuration as saved."""

import dataclasses

import torch
from random_gemma3n import gemma3n
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


def gemma3n_as_published(tensors, config):
    """A part of a larger model, whose last layers have keys and values that nothing reads."""
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope["full_attention"]["rope_theta"]
    config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
    config.update({"rope_scaling": None, "query_pre_attn_scalar": 256, "altup_lr_multiplier": 1.0})
    own = dict(config)
    config.clear()
    config.update({"model_type": "gemma3n", "text_config": own, "vision_config": {}})
    for name in list(tensors):
        tensors[name.replace("model.", "model.language_model.", 1)] = tensors.pop(name)
    for layer in range(own["num_hidden_layers"] - own["num_kv_shared_layers"], 6):
        for part, dims in (("k_proj", (64, 64)), ("v_proj", (64, 64)), ("k_norm", (32,))):
            name = f"model.language_model.layers.{layer}.self_attn.{part}.weight"
            tensors[name] = torch.ones(dims)
    for part in ("vision_tower.timm_model", "audio_tower", "embed_vision", "embed_audio"):
        tensors[f"model.{part}.x.weight"] = torch.ones(3)


def gemma3n_by_default(tensors, config):
    without(config, "activation_sparsity_pattern", "final_logit_softcapping", "rope_parameters")
    without(config, "altup_num_inputs", "altup_active_idx", "altup_correct_scale", "rms_norm_eps")
    config["intermediate_size"] = config["intermediate_size"][0]


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
    "gpt2, of PyTorch": dataclasses.replace(
        variant("gpt2", tie_word_embeddings=True), pickled=True
    ),
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
    "gemma3n, as published": dataclasses.replace(
        gemma3n(
            "sfsfsf",
            2,
            [0.95, 0.0] * 3,
            altup_correct_scale=False,
            altup_active_idx=2,
            vocab_size_per_layer_input=80,
        ),
        stored=gemma3n_as_published,
        folder=True,
    ),
    "gemma3n, by default": dataclasses.replace(
        # rounding is made much of by scores of wide heads, which nothing scales, and by few gates
        gemma3n("ssssf" * 2 + "s", 5, [0.95] * 10 + [0.0], intermediate_size=768, head_dim=8),
        stored=gemma3n_by_default,
        folder=True,
    ),
    "gemma3 4B, as published": gemma3(gemma3_as_published),
    "gemma3 4B": gemma3(gemma3_as_of_now),
}
