# SPDX-License-Identifier: Apache-2.0
"""`SEEING`: rows of random_models.py that are the text's part of a model that sees, too."""

import dataclasses

import torch
from random_folders import VISION
from random_mixtures import MIXTURES
from random_models import GEMMA, Row, SIZES

MROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
QWEN_VISION = {
    "depth": 1,
    "embed_dim": 16,
    "hidden_size": 64,
    "num_heads": 1,
    "patch_size": 14,
    "out_hidden_size": 64,
    "intermediate_size": 16,
    "fullatt_block_indexes": [0],
    "deepstack_visual_indexes": [0],
}


def qwen(kind, **options):
    text = {**SIZES, "rope_parameters": MROPE, "tie_word_embeddings": False, **options}
    given = {"text_config": text, "vision_config": QWEN_VISION, "tie_word_embeddings": False}
    return Row("qwen2vl", kind, given, folder=True)


def seeing(kind, model_type, vision, text=(), **more):
    text = {**SIZES, "model_type": model_type, "tie_word_embeddings": False, **dict(text)}
    given = {"text_config": text, "vision_config": {**VISION, "model_type": vision}, **more}
    return Row(model_type, kind, {**given, "tie_word_embeddings": False}, folder=True)


def by_default(tensors, config):
    """As LLaVA was published, whose part has only what differs from its class."""
    text = config["text_config"]
    for key, usual in (("rms_norm_eps", 1e-6), ("num_attention_heads", 32)):
        assert text.pop(key) == usual


def flat(tensors, config):
    """As the first versions were published: keys of the text beside those of images."""
    rope = config.pop("rope_parameters")
    config.pop("layer_types", None)
    config.update(
        model_type="qwen2_5_vl",
        rope_theta=rope["rope_theta"],
        rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
        vision_config={"depth": 1},
        image_token_id=90,
    )
    tensors["visual.patch_embed.proj.weight"] = torch.ones(4, 4)


def as_published(tensors, config):
    """Matrices of experts are [experts, inputs, outputs] there."""
    for name in tensors:
        if ".mlp.experts." in name:
            tensors[name] = tensors[name].transpose(1, 2).contiguous()


QWEN3_VL_MOE = qwen(
    "Qwen3VLMoe",
    head_dim=16,
    num_experts=7,
    num_experts_per_tok=2,
    moe_intermediate_size=24,
    mlp_only_layers=[1],
)
SECTIONS = {"rope.dimension_sections": [2, 3, 3, 0]}
SEEING = {
    "qwen2vl": Row("qwen2vl", "Qwen2", metadata=SECTIONS),
    "qwen3vl": Row(
        "qwen3vl",
        "Qwen3",
        {"head_dim": 32},
        metadata={
            **SECTIONS,
            "n_deepstack_layers": 3,
            "attention.key_length": 32,
            "attention.value_length": 32,
        },
    ),
    "qwen3vlmoe": dataclasses.replace(
        MIXTURES["qwen3moe"],
        architecture="qwen3vlmoe",
        metadata={**MIXTURES["qwen3moe"].metadata, **SECTIONS, "n_deepstack_layers": 3},
    ),
    "exaone": Row("exaone", "Llama"),
    "qwen2_vl, a part": qwen("Qwen2VL"),
    "qwen2_5_vl, a part": qwen("Qwen2_5_VL"),
    "qwen2_5_vl, as published": Row("qwen2vl", "Qwen2", stored=flat, folder=True),
    "qwen3_vl, a part": qwen("Qwen3VL", head_dim=16),
    "qwen3_vl_moe, a part": QWEN3_VL_MOE,
    "qwen3_vl_moe, as published": dataclasses.replace(QWEN3_VL_MOE, stored=as_published),
    "smolvlm, a part": seeing("SmolVLM", "llama", "idefics3_vision", image_token_id=90),
    "llava, a part": seeing("Llava", "qwen2", "clip_vision_model", image_token_index=90),
    "lfm2_vl, a part": seeing(
        "Lfm2Vl",
        "lfm2",
        "siglip2_vision_model",
        {
            "layer_types": ["conv", "full_attention", "conv"],
            "block_auto_adjust_ff_dim": False,
            "tie_word_embeddings": True,
        },
        image_token_id=90,
    ),
    # in these two classes transformers does not scale logits, which changes no choice
    "granite vision, a part": seeing(
        "LlavaNext",
        "granite",
        "clip_vision_model",
        {"embedding_multiplier": 6.0, "attention_multiplier": 0.3, "logits_scaling": 1.0},
        image_token_index=90,
    ),
    "aya vision, a part": seeing(
        "AyaVision",
        "cohere2",
        "siglip_vision_model",
        {
            "sliding_window": 8,
            "tie_word_embeddings": True,
            "layer_norm_eps": 1e-5,
            "logit_scale": 1.0,
        },
        image_token_index=90,
    ),
    "llava, by default": dataclasses.replace(
        seeing(
            "Llava",
            "llama",
            "clip_vision_model",
            {"num_attention_heads": 32, "head_dim": 8},
            image_token_index=90,
        ),
        stored=by_default,
    ),
    "helium": Row("llama", "Helium", {"head_dim": 16}, folder=True),
    "vaultgemma": Row(
        "vaultgemma",
        "VaultGemma",
        {
            **GEMMA,
            "sliding_window": 8,
            "query_pre_attn_scalar": 32,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
        norm_shift=1,
        folder=True,
    ),
}
