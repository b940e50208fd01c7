# SPDX-License-Identifier: Apache-2.0
"""What small models of Gemma 3n and 4 share: names of a folder, and in NumPy attention whose last
layers read the caches of others."""

import numpy as np

LAYERS, SHARED = "ssfsf", 2  # "f": attention sees all; the last read the caches of others
WIDTH, HEADS, KV_HEADS, INPUT, WINDOW, EPSILON = 32, 4, 2, 8, 6, 1e-6
LAYER_TYPES = [{"s": "sliding_attention", "f": "full_attention"}[kind] for kind in LAYERS]
FOLDER = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "per_layer_token_embd": "model.embed_tokens_per_layer",
    "per_layer_model_proj": "model.per_layer_model_projection",
    "per_layer_proj_norm": "model.per_layer_projection_norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "inp_gate": "per_layer_input_gate",
    "proj": "per_layer_projection",
    "post_norm": "post_per_layer_input_norm",
}


def owns(layer):
    return layer < len(LAYERS) - SHARED


def mean_square(x):
    return (x * x).mean(-1, keepdims=True)


def rms(x):
    return x / np.sqrt(mean_square(x) + EPSILON)


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


class Reference:
    """Of the weights of one model, in f64; `pairs` turn where attention sees all, None: each."""

    def __init__(self, tensors, pairs=None):
        self.w = {name: array.astype(np.float64) for name, array in tensors.items()}
        self.pairs, self.caches = pairs, {}

    def linear(self, x, name):
        return x @ self.w[name + ".weight"].T

    def norm(self, x, name):
        return rms(x) * self.w[name + ".weight"]

    def turned(self, x, kind):
        """x [T, heads, width]"""
        half = x.shape[-1] // 2
        speeds = (1e4 if kind == "s" else 1e6) ** (-np.arange(half) / half)
        turns = (kind == "s") | (np.arange(half) < (self.pairs or half))
        angles = np.arange(len(x))[:, None, None] * np.where(turns, speeds, 0)
        a, b = x[..., :half], x[..., half:]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attend(self, x, layer, kind, head):
        """x [T, width]; `head`: the width of one."""
        b, count = f"blk.{layer}.attn_", len(x)
        part = lambda name: self.linear(x, b + name).reshape(count, -1, head)
        placed = lambda name: self.turned(self.norm(part(name), f"{b}{name}_norm"), kind)
        if owns(layer):
            own = (placed("k"), rms(part("v")))
            self.caches[kind] = [np.repeat(each, HEADS // KV_HEADS, 1) for each in own]
        k, v = self.caches[kind]
        scores = np.einsum("qhd,khd->hqk", placed("q"), k)
        apart = np.arange(count)[:, None] - np.arange(count)
        seen = (apart >= 0) & (apart < (WINDOW if kind == "s" else count))
        scores = np.where(seen, scores, -np.inf)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hqk,khd->qhd", e / e.sum(-1, keepdims=True), v)
        return self.linear(y.reshape(count, -1), b + "output")
