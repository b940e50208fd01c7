# SPDX-License-Identifier: Apache-2.0
"""Models of the rows of random_models.py, and the same as metadata and tensors of GGUF."""

import numpy as np
import torch
import transformers
from random_models import LLAMA, LLAMA3, LLAMA_LAYER, nemotron_norm, SIZES

TIED = ("Gemma", "Gemma2", "Gemma3", "Gemma3n", "Gemma4", "Cohere", "Cohere2")
BUFFERS = (".expert_bias", ".e_score_correction_bias", ".layer_scalar")  # that are weights


def configuration(row):
    is_larger = "text_config" in row.options
    options = {**({} if is_larger else SIZES), **row.options}
    options.setdefault("tie_word_embeddings", row.kind in TIED)
    has_text = row.kind in ("Gemma3", "Gemma3n", "Gemma4") and not is_larger
    config = row.kind + "Text" if has_text else row.kind
    return getattr(transformers, f"{config}Config")(**options, attn_implementation="eager")


def make_model(row, seed=0):
    torch.manual_seed(seed)
    config = configuration(row)
    auto = transformers.AutoModelForCausalLM
    if type(config) not in transformers.MODEL_FOR_CAUSAL_LM_MAPPING:
        auto = transformers.AutoModelForImageTextToText
    model = auto.from_config(config)
    with torch.no_grad():
        for name, value in model.named_parameters():
            is_vector = value.ndim == 1
            center = 1.0 if is_vector and "norm" in name and name.endswith("weight") else 0.0
            is_shifted = center and not name.endswith("linear_attn.norm.weight")
            center -= row.norm_shift if is_shifted else 0
            center -= 1 if center and row.change is nemotron_norm else 0
            spread = 0.2 if is_vector else 1.5 / value.shape[-1] ** 0.5
            value.copy_(center + spread * torch.randn_like(value))
        for name, value in model.named_buffers():
            if name.endswith(BUFFERS):
                value.copy_(0.2 * torch.randn_like(value) + name.endswith(".layer_scalar"))
    return model.eval().float()


def permuted(array, heads):
    """Rows of halves in the order of neighbors."""
    return (
        array.reshape(heads, 2, array.shape[0] // heads // 2, *array.shape[1:])
        .swapaxes(1, 2)
        .reshape(array.shape)
    )


def gguf_name(row, name):
    names, layer = {**LLAMA, **row.names}, {**LLAMA_LAYER, **row.layer}
    if name in names:
        return names[name]
    number, rest = name.removeprefix(row.layers).split(".", 1)
    module, part = rest.rsplit(".", 1)
    return f"blk.{number}.{layer[module]}.{part}"


def as_gguf(row, model):
    """Metadata and tensors. A quantized model gets the weights that its file has."""
    from gguf_writer import quantize_q8_0

    config = model.config
    first = lambda *names: next(
        getattr(config, n) for n in names if getattr(config, n, None) is not None
    )
    heads = first("num_attention_heads", "n_head")
    rope = getattr(config, "rope_parameters", None) or {}
    metadata = {
        "context_length": first("max_position_embeddings", "n_positions"),
        "embedding_length": first("hidden_size", "n_embd"),
        "block_count": first("num_hidden_layers", "n_layer"),
        "feed_forward_length": first("intermediate_size", "n_inner", "ffn_hidden_size"),
        "attention.head_count": heads,
        "attention.head_count_kv": row.metadata.get("attention.head_count_kv")
        or getattr(config, "num_key_value_heads", None)
        or heads,
        "attention.layer_norm_rms_epsilon": float(getattr(config, "rms_norm_eps", None) or 1e-6),
        "rope.freq_base": float(rope.get("rope_theta", 10000.0)),
        **row.metadata,
    }
    metadata = {k: v for k, v in metadata.items() if k not in row.drop}
    tensors = {}
    parameters = dict(model.named_parameters())
    parameters.update((n, v) for n, v in model.named_buffers() if n.endswith(BUFFERS))
    for name, value in parameters.items():
        if ".act_fn." in name:  # in `shared` of the row
            continue
        array = value.detach().numpy()
        if row.quantized and array.ndim == 2:
            array = quantize_q8_0(array)[1].copy()
            with torch.no_grad():
                value.copy_(torch.from_numpy(array))
        if row.change:
            array = row.change(name, array, config)
        if row.norm_shift and name.endswith("norm.weight"):
            array = array + np.float32(row.norm_shift)
        if parts := row.split and row.split(name, array):
            number = name.removeprefix(row.layers).split(".", 1)[0]
            for part, own in parts.items():
                tensors[f"blk.{number}.{part}"] = np.ascontiguousarray(own, np.float32)
            continue
        experts = name.partition(".experts.")[2]
        if experts == "gate_up_proj":  # the file has both apart
            number = name.removeprefix(row.layers).split(".", 1)[0]
            for part, half in zip(("gate", "up"), np.split(array, 2, axis=1)):
                half = np.ascontiguousarray(half, np.float32)
                tensors[f"blk.{number}.ffn_{part}_exps.weight"] = half
            continue
        to = gguf_name(row, name + ".weight" if experts else name)
        if row.permuted and ".attn_q." in to:
            array = permuted(array, heads)
        if row.permuted and ".attn_k." in to:
            array = permuted(array, np.max(metadata["attention.head_count_kv"]))
        array = np.ascontiguousarray(array, np.float32)
        in_blocks = row.quantized and array.ndim == 2 and array.shape[1] % 32 == 0
        tensors[to] = ("Q8_0", array) if in_blocks else array
    tensors.update(row.tensors)
    if row.joined:
        row.joined(tensors)
    if row.options.get("rope_parameters") is LLAMA3:
        tensors["rope_freqs.weight"] = llama3_divisors(config)
    metadata = {f"{row.architecture}.{key}": value for key, value in metadata.items()}
    if row.shared:
        metadata.update(row.shared(model))
    return {"general.architecture": row.architecture, **metadata}, tensors


def llama3_divisors(config):
    """What a converter of such models writes beside them."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    width = config.head_dim
    plain = 1.0 / (10000.0 ** (np.arange(0, width, 2, dtype=np.float64) / width))
    return (plain / scaled.numpy()).astype(np.float32)
