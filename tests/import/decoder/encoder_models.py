# SPDX-License-Identifier: Apache-2.0
"""Small encoders of random weights as folders of sentence-transformers, and what they compute, in
NumPy: BERT, RoBERTa, nomic-bert, ModernBERT, EmbeddingGemma."""

import json
import math

import numpy as np
from decoder_test import write_safetensors

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT = 3, 32, 4, 48, 40
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,!?"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = SPECIAL + list(LETTERS) + ["##" + letter for letter in LETTERS] + ["cat", "##ty"]
COMMON = {"vocab_size": len(VOCABULARY), "pad_token_id": 0}
SIZES = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": HIDDEN,
    "max_position_embeddings": CONTEXT,
    **COMMON,
}
BERT = {
    "model_type": "bert",
    **SIZES,
    "hidden_act": "gelu",
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
}
ROBERTA = {**BERT, "model_type": "roberta", "max_position_embeddings": CONTEXT + 2}
ROBERTA["pad_token_id"] = 1
NOMIC = {
    "model_type": "nomic_bert",
    "n_embd": WIDTH,
    "n_layer": LAYERS,
    "n_head": HEADS,
    "n_inner": HIDDEN,
    "n_positions": CONTEXT,
    "activation_function": "swiglu",
    "rotary_emb_base": 1000,
    "rotary_emb_fraction": 1.0,
    "rotary_scaling_factor": None,
    "layer_norm_epsilon": 1e-12,
    "prenorm": False,
    "qkv_proj_bias": False,
    "type_vocab_size": 2,
    **COMMON,
}
MODERN = {
    "model_type": "modernbert",
    **SIZES,
    "hidden_activation": "gelu",
    "norm_eps": 1e-5,
    "local_attention": 6,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0,
}
GEMMA = {
    "model_type": "gemma3_text",
    **SIZES,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "query_pre_attn_scalar": 8,
    "hidden_activation": "gelu_pytorch_tanh",
    "rms_norm_eps": 1e-6,
    "use_bidirectional_attention": True,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "sliding_window": 6,
    "rope_theta": 1e6,
    "rope_local_base_freq": 10000.0,
}
# What its vectors go through.
DENSE = [(np.random.default_rng(i).standard_normal(dims) / 4).astype(np.float32)
         for i, dims in enumerate([(40, WIDTH), (12, 40)])]  # fmt: skip
NAMES = {"bert": BERT, "roberta": ROBERTA, "nomic_bert": NOMIC, "modernbert": MODERN}
NAMES["gemma3_text"] = GEMMA


def shapes(config):
    """Of each tensor by its name in the folder."""
    kind, out = config["model_type"], {}
    norms = lambda name: {name + ".weight": (WIDTH,), name + ".bias": (WIDTH,)}
    linear = lambda name, rows, columns: {
        name + ".weight": (rows, columns),
        name + ".bias": (rows,),
    }
    words = (len(VOCABULARY), WIDTH)
    if kind == "modernbert":
        out.update({"embeddings.tok_embeddings.weight": words, "embeddings.norm.weight": (WIDTH,)})
        for i in range(LAYERS):
            at = f"layers.{i}."
            if i:
                out[at + "attn_norm.weight"] = (WIDTH,)
            out[at + "attn.Wqkv.weight"] = (3 * WIDTH, WIDTH)
            out[at + "attn.Wo.weight"] = (WIDTH, WIDTH)
            out[at + "mlp_norm.weight"] = (WIDTH,)
            out[at + "mlp.Wi.weight"] = (2 * HIDDEN, WIDTH)
            out[at + "mlp.Wo.weight"] = (WIDTH, HIDDEN)
        return {**out, "final_norm.weight": (WIDTH,)}
    if kind == "gemma3_text":
        out.update({"embed_tokens.weight": words, "norm.weight": (WIDTH,)})
        of_heads = {"q": (WIDTH, WIDTH), "o": (WIDTH, WIDTH), "k": (16, WIDTH), "v": (16, WIDTH)}
        of_hidden = {"gate": (HIDDEN, WIDTH), "up": (HIDDEN, WIDTH), "down": (WIDTH, HIDDEN)}
        for i in range(LAYERS):
            at = f"layers.{i}."
            for name in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
                out[f"{at}{name}_layernorm.weight"] = (WIDTH,)
            out.update({f"{at}self_attn.{name}_norm.weight": (8,) for name in "qk"})
            out.update({f"{at}self_attn.{n}_proj.weight": dims for n, dims in of_heads.items()})
            out.update({f"{at}mlp.{n}_proj.weight": dims for n, dims in of_hidden.items()})
        return out
    out["embeddings.word_embeddings.weight"] = words
    out["embeddings.token_type_embeddings.weight"] = (2, WIDTH)
    if kind == "nomic_bert":
        out.update(norms("emb_ln"))
        for i in range(LAYERS):
            at = f"encoder.layers.{i}."
            out[at + "attn.Wqkv.weight"] = (3 * WIDTH, WIDTH)
            out[at + "attn.out_proj.weight"] = (WIDTH, WIDTH)
            out.update({**norms(at + "norm1"), **norms(at + "norm2")})
            for name, rows, columns in (("fc11", HIDDEN, WIDTH), ("fc12", HIDDEN, WIDTH)):
                out[f"{at}mlp.{name}.weight"] = (rows, columns)
            out[at + "mlp.fc2.weight"] = (WIDTH, HIDDEN)
        return out
    out["embeddings.position_embeddings.weight"] = (config["max_position_embeddings"], WIDTH)
    out.update(norms("embeddings.LayerNorm"))
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        for name in ("query", "key", "value"):
            out.update(linear(f"{at}attention.self.{name}", WIDTH, WIDTH))
        out.update(linear(at + "attention.output.dense", WIDTH, WIDTH))
        out.update(norms(at + "attention.output.LayerNorm"))
        out.update(linear(at + "intermediate.dense", HIDDEN, WIDTH))
        out.update(linear(at + "output.dense", WIDTH, HIDDEN))
        out.update(norms(at + "output.LayerNorm"))
    return {**out, **linear("pooler.dense", WIDTH, WIDTH)}


def random_weights(config, seed=4):
    rng, out = np.random.default_rng(seed), {}
    for name, shape in shapes(config).items():
        is_scale = len(shape) == 1 and ("orm" in name or "emb_ln" in name) and "weight" in name
        spread = 0.2 if len(shape) == 1 else 1.5 / shape[-1] ** 0.5
        out[name] = (is_scale + spread * rng.standard_normal(shape)).astype(np.float32)
    return out


def tokenizer():
    """A tokenizer.json of word pieces."""
    marks = [{"id": 2, "text": "[CLS]"}, {"id": 3, "text": "[SEP]"}]
    special = lambda mark: {"SpecialToken": {"id": mark, "type_id": 0}}
    return {
        "added_tokens": [
            {"id": i, "content": text, "special": True, "normalized": False}
            | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
            for i, text in enumerate(SPECIAL)
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]")],
            "pair": [],
            "special_tokens": {
                m["text"]: {"id": m["text"], "ids": [m["id"]], "tokens": [m["text"]]} for m in marks
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {text: i for i, text in enumerate(VOCABULARY)},
        },
    }


def write_folder(
    folder, config, weights, pooling="mean", normalize=True, prefix="", most=0, dense=()
):
    """As sentence-transformers lays it out; `most`: tokens of a text."""
    folder.mkdir(parents=True, exist_ok=True)
    modules = ["Transformer", "Pooling", *["Dense"] * len(dense)]
    modules += ["Normalize"] if normalize else []
    write = lambda name, value: (folder / name).write_text(json.dumps(value))
    for i, matrix in enumerate(dense, 2):
        (folder / f"{i}_Dense").mkdir(exist_ok=True)
        features = {"in_features": matrix.shape[1], "out_features": matrix.shape[0]}
        activation = "torch.nn.modules.linear.Identity"
        features |= {"bias": False, "activation_function": activation}
        write(f"{i}_Dense/config.json", features)
        write_safetensors(folder / f"{i}_Dense/model.safetensors", {"linear.weight": matrix})
    write("config.json", config)
    write("tokenizer.json", tokenizer())
    listed = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{name}" if i else "",
            "type": f"sentence_transformers.models.{name}",
        }
        for i, name in enumerate(modules)
    ]
    write("modules.json", listed)
    (folder / "1_Pooling").mkdir(exist_ok=True)
    flags = {"mean": "mean_tokens", "cls": "cls_token", "last": "lasttoken", "max": "max_tokens"}
    modes = {f"pooling_mode_{flag}": name == pooling for name, flag in flags.items()}
    write("1_Pooling/config.json", {"word_embedding_dimension": WIDTH, **modes})
    write("config_sentence_transformers.json", {"prompts": {"query": "ask "}})
    if most:
        write("sentence_bert_config.json", {"max_seq_length": most})
    write_safetensors(
        folder / "model.safetensors", {prefix + name: array for name, array in weights.items()}
    )


def norm(x, w, name, epsilon):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * w[name + ".weight"]
    return x + w[name + ".bias"] if name + ".bias" in w else x


def linear(x, w, name):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def gelu(x):
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def silu(x):
    return x / (1 + np.exp(-x))


def turned(x, base):
    """Rotary positions of halves: x [T, heads, d]."""
    half = x.shape[-1] // 2
    angles = np.arange(len(x))[:, None, None] * base ** (-np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate(
        [a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], -1
    )


def attention(q, k, v, base=None, window=None):
    if q.ndim == 2:
        q, k, v = (part.reshape(len(part), HEADS, -1) for part in (q, k, v))
    if base:
        q, k = turned(q, base), turned(k, base)
    scores = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(q.shape[-1])
    if window:
        at = np.arange(len(q))
        scores = np.where(np.abs(at[:, None] - at) <= window, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", weights, v).reshape(len(q), -1)


def rows_of(config, weights, ids):
    """The rows of a text in double."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    kind = config["model_type"]
    if kind == "modernbert":
        x = norm(w["embeddings.tok_embeddings.weight"][ids], w, "embeddings.norm", 1e-5)
        for i in range(LAYERS):
            at, full = f"layers.{i}.", i % config["global_attn_every_n_layers"] == 0
            y = norm(x, w, at + "attn_norm", 1e-5) if i else x
            qkv = np.split(linear(y, w, at + "attn.Wqkv"), 3, -1)
            base = config["global_rope_theta" if full else "local_rope_theta"]
            y = attention(*qkv, base, None if full else config["local_attention"] // 2)
            x = x + linear(y, w, at + "attn.Wo")
            gate, up = np.split(linear(norm(x, w, at + "mlp_norm", 1e-5), w, at + "mlp.Wi"), 2, -1)
            x = x + linear(gelu(gate) * up, w, at + "mlp.Wo")
        return norm(x, w, "final_norm", 1e-5)
    if kind == "gemma3_text":
        return rows_of_gemma(config, w, ids)
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    if kind == "nomic_bert":
        x = norm(x, w, "emb_ln", 1e-12)
        for i in range(LAYERS):
            at = f"encoder.layers.{i}."
            qkv = np.split(linear(x, w, at + "attn.Wqkv"), 3, -1)
            y = attention(*qkv, config["rotary_emb_base"])
            x = norm(x + linear(y, w, at + "attn.out_proj"), w, at + "norm1", 1e-12)
            y = linear(x, w, at + "mlp.fc11") * silu(linear(x, w, at + "mlp.fc12"))
            x = norm(x + linear(y, w, at + "mlp.fc2"), w, at + "norm2", 1e-12)
        return x
    first = config["pad_token_id"] + 1 if kind == "roberta" else 0
    x = x + w["embeddings.position_embeddings.weight"][first : first + len(ids)]
    x = norm(x, w, "embeddings.LayerNorm", 1e-12)
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        q, k, v = (linear(x, w, f"{at}attention.self.{n}") for n in ("query", "key", "value"))
        y = linear(attention(q, k, v), w, at + "attention.output.dense")
        x = norm(x + y, w, at + "attention.output.LayerNorm", 1e-12)
        y = linear(gelu(linear(x, w, at + "intermediate.dense")), w, at + "output.dense")
        x = norm(x + y, w, at + "output.LayerNorm", 1e-12)
    return x


def rows_of_gemma(config, w, ids):
    def rms(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * (1 + w[name + ".weight"])

    x = w["embed_tokens.weight"][ids] * math.sqrt(WIDTH)
    for i in range(LAYERS):
        at, full = f"layers.{i}.", config["layer_types"][i] == "full_attention"
        y = rms(x, at + "input_layernorm")
        q, k, v = (linear(y, w, f"{at}self_attn.{n}_proj").reshape(len(y), -1, 8) for n in "qkv")
        q, k = rms(q, at + "self_attn.q_norm"), rms(k, at + "self_attn.k_norm")
        k, v = (np.repeat(part, 2, 1) for part in (k, v))
        y = attention(q, k, v, 1e6 if full else 1e4, None if full else 3)
        x = x + rms(linear(y, w, at + "self_attn.o_proj"), at + "post_attention_layernorm")
        y = rms(x, at + "pre_feedforward_layernorm")
        gate, up = (linear(y, w, f"{at}mlp.{n}_proj") for n in ("gate", "up"))
        gate = gate / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3)))
        y = linear(gate * up, w, at + "mlp.down_proj")
        x = x + rms(y, at + "post_feedforward_layernorm")
    return rms(x, "norm")


def vector_of(rows, pooling="mean", normalize=True, dense=()):
    x = {"mean": rows.mean(0), "cls": rows[0], "last": rows[-1]}[pooling]
    for matrix in dense:
        x = matrix.astype(np.float64) @ x
    return x / np.sqrt((x * x).sum()) if normalize else x
