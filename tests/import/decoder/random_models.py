# SPDX-License-Identifier: Apache-2.0
"""`MODELS` has a model of random weights in `transformers` for each architecture of the importer's
table, by name: Row(architecture, class, configuration, ...); random_mixtures.py has those of
experts. make_models.py makes them."""

import dataclasses
import typing

import lfm2_model
import numpy as np

SIZES = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LLAMA = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "model.norm.bias": "output_norm.bias",
    "lm_head.weight": "output.weight",
    "lm_head.bias": "output.bias",
}
LLAMA_LAYER = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp",
    "mlp.experts.down_proj": "ffn_down_exps",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
}
# Norms behind attention and feed-forward.
AFTER = {
    "post_attention_layernorm": "post_attention_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
BOTH = {**AFTER, "pre_feedforward_layernorm": "ffn_norm"}


@dataclasses.dataclass
class Row:
    architecture: str  # of the GGUF file
    kind: str  # "Llama": LlamaConfig, LlamaForCausalLM
    options: dict = dataclasses.field(default_factory=dict)  # of the configuration, over SIZES
    layer: dict = dataclasses.field(default_factory=dict)  # names of a layer, over LLAMA_LAYER
    names: dict = dataclasses.field(default_factory=dict)  # other names, over LLAMA
    layers: str = "model.layers."  # what names of layers begin with
    metadata: dict = dataclasses.field(default_factory=dict)  # over those of all
    permuted: bool = False  # q and k are turned as neighbors in the file, as halves in the model
    norm_shift: float = 0  # added to weights of norms
    change: typing.Callable = None  # (name, array, configuration) -> array
    split: typing.Callable = None  # (name, array) -> tensors of the layer; None: as its name is
    joined: typing.Callable = None  # (tensors): changes those of the file
    tensors: dict = dataclasses.field(default_factory=dict)  # that only the file has
    shared: typing.Callable = None  # (model): metadata without the architecture in front
    drop: tuple = ()  # metadata that the file does not have
    saved_whole: bool = False  # its folder has experts in one tensor, as the model does
    quantized: bool = False  # matrices as Q8_0, which the model then has too
    folder: bool = False  # it is a folder alone
    pickled: bool = False  # whose weights PyTorch wrote
    stored: typing.Callable = None  # (tensors, configuration): changes what is saved of a folder
    reread: typing.Callable = None  # (folder): the model that its folder then has


def nemotron_norm(name, array, config):
    return array + 1 if "norm.weight" in name else array


LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
SHORT, LONG = [1.0 + i / 16 for i in range(8)], [1.0 + i for i in range(8)]
LAYER_NORM = {"attention.layer_norm_epsilon": 1e-5}
NO_RMS = ("attention.layer_norm_rms_epsilon",)
GEMMA = {"head_dim": 32, "hidden_activation": "gelu_pytorch_tanh"}

LFM2_NAMES = {"model.embedding_norm.weight": "token_embd_norm.weight"}
LFM2_LAYER = {**lfm2_model.NAMES, "feed_forward.experts.down_proj": "ffn_down_exps"}


def lfm2_columns(name, array, config):
    return array[:, 0] if name.endswith(".conv.conv.weight") else array


def lfm2(layers, length, **options):
    """Options of the configuration and metadata: `layers` has "a" where attention is, else "c"."""
    types = {"a": "full_attention", "c": "conv"}
    return {
        "options": {
            "layer_types": [types[layer] for layer in layers],
            "num_hidden_layers": len(layers),
            "conv_L_cache": length,
            "tie_word_embeddings": True,
            **options,
        },
        "layer": LFM2_LAYER,
        "names": LFM2_NAMES,
        "change": lfm2_columns,
        "metadata": {
            "attention.head_count_kv": [2 * (layer == "a") for layer in layers],
            "attention.layer_norm_rms_epsilon": 1e-5,
            "rope.freq_base": 1e6,
            "shortconv.l_cache": length,
        },
    }



def gemma4(layers, shared, **options):
    """`layers` has "f" where attention sees all, else "s"; the last `shared` read the caches of
    others."""
    windowed = [layer == "s" for layer in layers]
    own = {
        "layer_types": [("full_attention", "sliding_attention")[each] for each in windowed],
        "num_hidden_layers": len(layers),
        "num_kv_shared_layers": shared,
        "hidden_size_per_layer_input": 16,
        "vocab_size_per_layer_input": 97,
        "head_dim": 16,
        "global_head_dim": 32,
        "sliding_window": 8,
        **options,
    }
    inputs = own["hidden_size_per_layer_input"]
    wide = own.get("use_double_wide_mlp", False)
    of_all = own.get("num_global_key_value_heads", 2)
    metadata = {
        "attention.key_length": 32,
        "attention.value_length": 32,
        "attention.key_length_swa": 16,
        "attention.value_length_swa": 16,
        "attention.head_count_kv": [2 if each else of_all for each in windowed],
        "attention.sliding_window": 8,
        "attention.sliding_window_pattern": windowed,
        "attention.shared_kv_layers": shared,
        "embedding_length_per_layer_input": inputs,
        "feed_forward_length": [
            96 * (1 + (wide and i >= len(layers) - shared)) for i in range(len(layers))
        ],
        "rope.dimension_count": 32,
        "rope.dimension_count_swa": 16,
        "rope.freq_base": 1e6,
        "rope.freq_base_swa": 1e4,
    }
    if "final_logit_softcapping" in own:
        metadata["final_logit_softcapping"] = own["final_logit_softcapping"]
    names = {
        "model.embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
        "model.per_layer_model_projection.weight": "per_layer_model_proj.weight",
        "model.per_layer_projection_norm.weight": "per_layer_proj_norm.weight",
    }
    layer = {
        **BOTH,
        "per_layer_input_gate": "inp_gate",
        "per_layer_projection": "proj",
        "post_per_layer_input_norm": "post_norm",
    }
    if own.get("enable_moe_block"):
        layer.update(GEMMA4_EXPERTS)
        metadata.update({"expert_count": own["num_experts"], "expert_used_count": 2})
        metadata["expert_feed_forward_length"] = own["moe_intermediate_size"]
    turned = np.array([1.0] * 4 + [1e30] * 12, np.float32)
    return Row(
        "gemma4",
        "Gemma4",
        own,
        layer=layer,
        names=names,
        metadata=metadata,
        split=gemma4_parts,
        tensors={"rope_freqs.weight": turned},
    )


GEMMA4_EXPERTS = {
    "router": "ffn_gate_inp",
    "router.proj": "ffn_gate_inp",
    "experts.down_proj": "ffn_down_exps",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
    "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "post_feedforward_layernorm_2": "post_ffw_norm_2",
}


def gemma4_parts(name, array, in_one=False):
    """`in_one`: gate and up of experts, as newer files have them."""
    last = name.rpartition(".")[2]
    if last == "layer_scalar":
        return {"layer_output_scale.weight": array}
    if last == "per_expert_scale":
        return {"ffn_down_exps.scale": array}
    return {"ffn_gate_up_exps.weight": array} if in_one and last == "gate_up_proj" else None


def gemma4_experts(**changed):
    experts = {"num_experts": 6, "top_k_experts": 2, "moe_intermediate_size": 32}
    row = gemma4("sfsf", 0, hidden_size_per_layer_input=0, enable_moe_block=True, **experts)
    return dataclasses.replace(row, **changed)


def phi3_long(window):
    return Row(
        "phi3",
        "Phi3",
        {
            "sliding_window": window,
            "original_max_position_embeddings": 16,
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 10000.0,
                "short_factor": SHORT,
                "long_factor": LONG,
            },
        },
        metadata={
            "rope.scaling.type": "longrope",
            "rope.scaling.original_context_length": 16,
            "rope.scaling.attn_factor": float(np.sqrt(1 + np.log(128 / 16) / np.log(16))),
            "attention.sliding_window": window or 0,
        },
        tensors={
            "rope_factors_short.weight": np.array(SHORT, np.float32),
            "rope_factors_long.weight": np.array(LONG, np.float32),
        },
    )


PATTERN = ["sliding_attention", "full_attention"] * 2 + ["sliding_attention"]


def as_pattern(tensors, config):
    """A period in place of a text for each layer, as Cohere published it."""
    config.pop("layer_types")
    config["sliding_window_pattern"] = 2


def without_types(tensors, config):
    config.pop("layer_types")


MODELS = {
    "llama": Row("llama", "Llama", permuted=True),
    "llama, Q8_0": Row("llama", "Llama", permuted=True, quantized=True),
    "llama, tied": Row("llama", "Llama", {"tie_word_embeddings": True}, permuted=True),
    "llama, biases": Row(
        "llama", "Llama", {"attention_bias": True, "mlp_bias": True}, permuted=True
    ),
    "llama, wide heads": Row(
        "llama",
        "Llama",
        {"head_dim": 32},
        metadata={"attention.key_length": 32, "attention.value_length": 32},
        permuted=True,
    ),
    "llama, linear": Row(
        "llama",
        "Llama",
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}},
        metadata={"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
        permuted=True,
    ),
    "llama 3": Row("llama", "Llama", {"rope_parameters": LLAMA3}, permuted=True),
    "llama, yarn": Row(
        "llama",
        "Llama",
        {
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "original_max_position_embeddings": 32,
            }
        },
        metadata={
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 4.0,
            "rope.scaling.original_context_length": 32,
        },
        permuted=True,
    ),
    "mistral": Row("llama", "Mistral", {"sliding_window": None}, permuted=True),
    "smollm3": Row("smollm3", "SmolLM3", {"num_hidden_layers": 5}, permuted=True),
    "granite": Row(
        "granite",
        "Granite",
        {
            "embedding_multiplier": 6.0,
            "residual_multiplier": 0.22,
            "attention_multiplier": 0.3,
            "logits_scaling": 5.0,
        },
        metadata={
            "embedding_scale": 6.0,
            "residual_scale": 0.22,
            "attention.scale": 0.3,
            "logit_scale": 5.0,
        },
        permuted=True,
    ),
    "arcee": Row("arcee", "Arcee", permuted=True),
    "qwen2": Row("qwen2", "Qwen2"),
    "qwen3": Row(
        "qwen3",
        "Qwen3",
        {"head_dim": 32},
        metadata={"attention.key_length": 32, "attention.value_length": 32},
    ),
    "seed_oss": Row(
        "seed_oss",
        "SeedOss",
        {"head_dim": 16, "attention_out_bias": False},
        layer={"post_attention_layernorm": "ffn_norm"},
    ),
    "olmo2": Row("olmo2", "Olmo2", layer=AFTER),
    "lfm2": Row("lfm2", "Lfm2", **lfm2("ccacca", 3, block_auto_adjust_ff_dim=False)),
    "lfm2, long, biases": Row(
        "lfm2", "Lfm2", **lfm2("acc", 12, conv_bias=True, block_auto_adjust_ff_dim=False)
    ),
    "lfm2, of one token": Row("lfm2", "Lfm2", **lfm2("cac", 1, block_auto_adjust_ff_dim=False)),
    "lfm2, Q8_0": Row(
        "lfm2", "Lfm2", **lfm2("cca", 4, block_auto_adjust_ff_dim=False), quantized=True
    ),
    "phi3": Row("phi3", "Phi3", {"sliding_window": None}),
    "phi3, window": Row(
        "phi3", "Phi3", {"sliding_window": 8}, metadata={"attention.sliding_window": 8}
    ),
    "phi3, longrope": phi3_long(None),
    "phi3, longrope, window": phi3_long(8),
    "gemma": Row(
        "gemma",
        "Gemma",
        GEMMA,
        metadata={"attention.key_length": 32, "attention.value_length": 32},
        norm_shift=1,
    ),
    "gemma2": Row(
        "gemma2",
        "Gemma2",
        {
            **GEMMA,
            "sliding_window": 8,
            "query_pre_attn_scalar": 32,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
        layer=BOTH,
        metadata={
            "attention.key_length": 32,
            "attention.value_length": 32,
            "attention.sliding_window": 8,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
        norm_shift=1,
    ),
    "gemma3": Row(
        "gemma3",
        "Gemma3",
        {
            **GEMMA,
            "num_hidden_layers": 7,
            "sliding_window": 8,
            "query_pre_attn_scalar": 32,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            },
        },
        layer=BOTH,
        metadata={
            "attention.key_length": 32,
            "attention.value_length": 32,
            "attention.sliding_window": 8,
            "rope.freq_base": 1e6,
            "rope.scaling.type": "linear",
            "rope.scaling.factor": 8.0,
        },
        norm_shift=1,
    ),
    "gemma4": gemma4("ssfsf", 2, use_double_wide_mlp=True),
    "gemma4, no layer inputs": gemma4("sfsf", 0, hidden_size_per_layer_input=0),
    "gemma4, experts": gemma4_experts(),
    "gemma4, experts in one": gemma4_experts(
        split=lambda name, array: gemma4_parts(name, array, True)
    ),
    "gemma4, keys for values": gemma4(
        "sfsf",
        0,
        hidden_size_per_layer_input=0,
        attention_k_eq_v=True,
        num_global_key_value_heads=1,
        final_logit_softcapping=3.0,
    ),
    "stablelm": Row(
        "stablelm",
        "StableLm",
        {"partial_rotary_factor": 0.5, "use_qkv_bias": True},
        metadata={**LAYER_NORM, "rope.dimension_count": 8},
        drop=NO_RMS,
    ),
    "command-r": Row(
        "command-r",
        "Cohere",
        {"logit_scale": 0.25},
        metadata={**LAYER_NORM, "logit_scale": 0.25},
        drop=NO_RMS,
    ),
    "cohere2": Row(
        "cohere2",
        "Cohere2",
        {"num_hidden_layers": 5, "logit_scale": 0.25, "sliding_window": 8},
        metadata={**LAYER_NORM, "logit_scale": 0.25, "attention.sliding_window": 8},
        drop=NO_RMS,
    ),
    "cohere2, a pattern": Row(
        "cohere2",
        "Cohere2",
        {"num_hidden_layers": 5, "sliding_window": 8, "layer_types": PATTERN},
        stored=as_pattern,
        folder=True,
    ),
    "qwen2, windows above": Row(
        "qwen2",
        "Qwen2",
        {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1},
        stored=without_types,
        folder=True,
    ),
    "ernie4_5": Row("ernie4_5", "Ernie4_5", {"head_dim": 16, "use_bias": False}),
    "internlm2": Row("internlm2", "Llama", permuted=True),
    "chatglm": Row(
        "chatglm",
        "Glm",
        {"head_dim": 16, "attention_bias": True, "partial_rotary_factor": 0.5},
        metadata={"rope.dimension_count": 8},
    ),
    "glm4": Row(
        "glm4",
        "Glm4",
        {"head_dim": 16, "attention_bias": True, "partial_rotary_factor": 0.5},
        layer={
            "post_self_attn_layernorm": "post_attention_norm",
            "post_attention_layernorm": "ffn_norm",
            "post_mlp_layernorm": "post_ffw_norm",
        },
        metadata={"rope.dimension_count": 8},
    ),
    "starcoder2": Row(
        "starcoder2",
        "Starcoder2",
        {"sliding_window": None},
        layer={"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
        metadata=LAYER_NORM,
        drop=NO_RMS,
    ),
    "nemotron": Row(
        "nemotron",
        "Nemotron",
        {"partial_rotary_factor": 0.5},
        metadata={**LAYER_NORM, "rope.dimension_count": 8},
        drop=NO_RMS,
        change=nemotron_norm,
    ),
}
