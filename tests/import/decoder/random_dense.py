# SPDX-License-Identifier: Apache-2.0
"""`DENSE`: rows of random_models.py of newer families, each dense and with a table of rotations."""

import numpy as np
from random_models import AFTER, GEMMA, LAYER_NORM, LLAMA3, NO_RMS, Row

WINDOWS = [True, True, True, False, True]  # which layers have one
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN_METADATA = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 4.0,
    "rope.scaling.original_context_length": 32,
}


def windowed(window=8):
    """Options and metadata of windows by pattern."""
    types = ["sliding_attention" if each else "full_attention" for each in WINDOWS]
    options = {
        "num_hidden_layers": len(WINDOWS),
        "layer_types": types,
        "sliding_window": window,
    }
    pattern = {
        "attention.sliding_window": window,
        "attention.sliding_window_pattern": WINDOWS,
    }
    return options, pattern


def olmo3(yarn, **metadata):
    options, pattern = windowed()
    of_windows = {"rope_type": "default", "rope_theta": 10000.0}
    rope = {"full_attention": yarn, "sliding_attention": of_windows}
    return Row(
        "olmo2",
        "Olmo3",
        {**options, "rope_parameters": rope},
        layer=AFTER,
        metadata={**pattern, **YARN_METADATA, **metadata},
    )


def olmo3_as_published(tensors, config):
    """One scaling for all layers, which those with a window do not have."""
    rope = config.pop("rope_parameters")["full_attention"]
    config["rope_theta"], config["rope_scaling"] = rope.pop("rope_theta"), rope


def exaone4(rope, has_windows):
    none = {"sliding_window": None, "layer_types": ["full_attention"] * 3}
    options, pattern = windowed() if has_windows else (none, {})
    return Row(
        "exaone4",
        "Exaone4",
        {**options, "head_dim": 16, "rope_parameters": rope},
        layer=AFTER,
        metadata={**pattern, "vocab_size": 97},
    )


def hunyuan(rope, base):
    return Row(
        "hunyuan-dense",
        "HunYuanDenseV1",
        {"head_dim": 16, "rope_parameters": rope, "use_qk_norm": True},
        layer={
            "self_attn.query_layernorm": "attn_q_norm",
            "self_attn.key_layernorm": "attn_k_norm",
        },
        metadata={
            "rope.freq_base": base,
            "rope.scaling.type": "none",
            "rope.scaling.factor": 1.0,
            "rope.scaling.original_context_length": 262144,
        },
    )


def ministral3():
    yarn = {**YARN, "factor": 16.0, "original_max_position_embeddings": 8}
    all_equal = {"mscale": 1.0, "mscale_all_dim": 1.0}
    rope = {**yarn, **all_equal, "llama_4_scaling_beta": 0.3}
    return Row(
        "mistral3",
        "Ministral3",
        {"head_dim": 16, "rope_parameters": rope},
        metadata={
            **YARN_METADATA,
            "rope.scaling.factor": 16.0,
            "rope.scaling.original_context_length": 8,
            "rope.scaling.yarn_log_multiplier": 1.0,
            "attention.temperature_scale": 0.3,
        },
        permuted=True,
    )


def as_part(tensors, config):
    """As the text's part of a model that sees, too."""
    for name in list(tensors):
        tensors["language_model." + name] = tensors.pop(name)
    other = tensors["language_model.model.norm.weight"].clone()
    tensors["multi_modal_projector.linear_1.weight"] = other
    whole = {"model_type": "mistral3", "text_config": dict(config)}
    config.clear()
    config.update(whole)


def minicpm(embedding=12.0, depth=1.4, width=256.0, given=False):
    """Granite with numbers of its own, which `given` says."""
    residual, logits = float(depth / np.sqrt(3)), 64 / width
    metadata = {
        "embedding_scale": embedding,
        "residual_scale": residual,
        "logit_scale": logits,
    }

    def stored(tensors, config):
        for key in ("embedding", "residual", "attention"):
            del config[f"{key}_multiplier"]
        del config["logits_scaling"]
        config["model_type"] = "minicpm"
        if given:
            config.update(scale_emb=embedding, scale_depth=depth, dim_model_base=width)

    return Row(
        "minicpm",
        "Granite",
        {
            "embedding_multiplier": embedding,
            "residual_multiplier": residual,
            "attention_multiplier": 0.25,
            "logits_scaling": logits,
        },
        metadata=metadata if given else {},
        permuted=True,
        stored=stored,
    )


ALPHA = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 1.0, "alpha": 1000.0}


def olmo(**options):
    clip = {"attention.clamp_kqv": options["clip_qkv"]} if "clip_qkv" in options else {}
    return Row(
        "olmo",
        "Olmo",
        options,
        metadata={**LAYER_NORM, **clip},
        permuted=True,
        drop=NO_RMS,
    )


def xielu(model):
    """Numbers of its activation, of each layer."""
    parts = [layer.mlp.act_fn for layer in model.model.layers]
    names = ("alpha_p", "alpha_n", "beta", "eps")
    return {f"xielu.{n}": [float(getattr(part, n).detach()) for part in parts] for n in names}


def by_default(kind, keys, **options):
    """Its configuration lacks keys that have the default of their class."""

    def stored(tensors, config):
        for key in keys:
            del config[key]

    return Row("llama", kind, options, stored=stored, folder=True)


CAPS = {"attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}
HELIUM_ROPE = {"rope_type": "default", "rope_theta": 1e5}
# Norms in front of the products behind attention and gates.
INNER = {"self_attn.attn_sub_norm": "attn_sub_norm", "mlp.ffn_sub_norm": "ffn_sub_norm"}

DENSE = {
    "bitnet": Row("bitnet", "BitNet", {"hidden_act": "silu"}, layer=INNER),
    "bitnet, relu2": Row("bitnet", "BitNet", folder=True),
    "apertus": Row(
        "apertus",
        "Apertus",
        {"rope_parameters": LLAMA3, "head_dim": 16},
        layer={"attention_layernorm": "attn_norm", "feedforward_layernorm": "ffn_norm"},
        shared=xielu,
    ),
    "olmo": olmo(),
    "olmo, limits": olmo(clip_qkv=0.5),
    "olmo3": olmo3(YARN),
    "olmo3, a factor of attention": olmo3(
        {**YARN, "attention_factor": 1.3}, **{"rope.scaling.yarn_attn_factor": 1.3}
    ),
    "olmo3, as published": olmo3(YARN),
    "exaone4": exaone4(LLAMA3, False),
    "exaone4, windows": exaone4(LLAMA3, True),
    "ministral3": ministral3(),
    "ministral3, a part": ministral3(),
    "minicpm": minicpm(),
    "minicpm, other numbers": minicpm(6.0, 0.4, 24.0, True),
    "hunyuan": hunyuan(ALPHA, 10000.0 * 1000.0 ** (16 / 14)),
    "hunyuan, plain": hunyuan({"rope_type": "default", "rope_theta": 10000.0}, 10000.0),
    "helium, by default": by_default(
        "Helium", ["rope_parameters"], head_dim=16, rope_parameters=HELIUM_ROPE
    ),
    "gemma2, by default": by_default(
        "Gemma2",
        ["query_pre_attn_scalar", *CAPS],
        **GEMMA,
        **CAPS,
        query_pre_attn_scalar=256,
        sliding_window=8,
    ),
    "cohere2, by default": by_default("Cohere2", ["logit_scale"], sliding_window=8),
    "gpt_neo, by default": by_default(
        "GPTNeo",
        ["attention_types", "attention_layers"],
        num_hidden_layers=24,
        num_key_value_heads=4,
        attention_types=[[["global", "local"], 12]],
        window_size=8,
    ),
}
DENSE["ministral3, a part"].stored, DENSE["ministral3, a part"].folder = as_part, True
DENSE["olmo3, as published"].stored = olmo3_as_published
DENSE["olmo3, as published"].folder = True
