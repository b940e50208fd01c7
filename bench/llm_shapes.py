# SPDX-License-Identifier: Apache-2.0
"""GGUF files of published models' shapes and random weights, as bench/llm_models.py draws them.
Matrices are blocks of one type, their deviation that of a trained model."""

import numpy as np
from gguf_writer import RandomBlocks, write_gguf

NORMAL = 0.02  # deviation of a trained model's weights


class Shape:
    """Tensors of a model: `own` is metadata of its architecture. Without a vocabulary's texts; the
    embedding is the head."""

    def __init__(self, architecture, kind, layers, width, hidden, vocabulary, **own):
        self.kind, self.tensors = kind, {}
        self.lot = np.random.default_rng(7)
        self.metadata = {"general.architecture": architecture, "tokenizer.ggml.model": "no_vocab"}
        sizes = {"block_count": layers, "embedding_length": width, "feed_forward_length": hidden}
        for key, value in {**sizes, "vocab_size": vocabulary, **own}.items():
            self.metadata[f"{architecture}.{key.replace('__', '.')}"] = value
        self.matrix("token_embd", vocabulary, width)
        self.norm("output_norm", width)

    def matrix(self, name, rows, columns):
        seed = len(self.tensors)
        self.tensors[name + ".weight"] = RandomBlocks(self.kind, (rows, columns), NORMAL, seed)

    def floats(self, name, *dims, low=1.0, high=1.0):
        self.tensors[name] = self.lot.uniform(low, high, dims).astype(np.float32)

    def norm(self, name, *dims):
        self.floats(name + ".weight", *dims)

    def attention(self, at, width, q, keys, gated=False):
        self.matrix(at + "attn_q", q * (1 + gated), width)
        self.matrix(at + "attn_k", keys, width)
        self.matrix(at + "attn_v", keys, width)
        self.matrix(at + "attn_output", width, q)

    def feed_forward(self, at, width, hidden):
        self.matrix(at + "ffn_gate", hidden, width)
        self.matrix(at + "ffn_up", hidden, width)
        self.matrix(at + "ffn_down", width, hidden)

    def recurrence(self, at, heads, channels, length):
        """What Mamba-2 and a delta net have alike, of heads that forget at many speeds."""
        self.floats(at + "ssm_conv1d.weight", channels, length, low=-0.5, high=0.5)
        self.floats(at + "ssm_dt.bias", heads, low=-6, high=-2)


def llama1b(kind):
    width, hidden, keys = 2048, 8192, 512
    s = Shape(
        "llama",
        kind,
        *(16, width, hidden, 128256),
        context_length=8192,
        attention__head_count=32,
        attention__head_count_kv=8,
        attention__layer_norm_rms_epsilon=1e-5,
        rope__freq_base=500000.0,
        rope__dimension_count=64,
    )
    for i in range(16):
        at = f"blk.{i}."
        s.norm(at + "attn_norm", width), s.norm(at + "ffn_norm", width)
        s.attention(at, width, width, keys)
        s.feed_forward(at, width, hidden)
    return s


def granite350m(kind):
    """Granite-4.0-H-350M: 28 layers of Mamba-2, four of attention without rope."""
    width, hidden, layers = 768, 2048, 32
    attends, inner, state, heads = (10, 13, 17, 27), 1536, 128, 48
    channels = inner + 2 * state
    s = Shape(
        "granitehybrid",
        kind,
        *(layers, width, hidden, 100352),
        context_length=32768,
        attention__head_count=12,
        attention__head_count_kv=[4 * (i in attends) for i in range(layers)],
        attention__layer_norm_rms_epsilon=1e-5,
        attention__scale=0.015625,
        rope__dimension_count=64,
        rope__scaling__finetuned=False,
        embedding_scale=12.0,
        residual_scale=0.246,
        logit_scale=3.0,
        ssm__conv_kernel=4,
        ssm__inner_size=inner,
        ssm__state_size=state,
        ssm__time_step_rank=heads,
        ssm__group_count=1,
    )
    for i in range(layers):
        at = f"blk.{i}."
        s.norm(at + "attn_norm", width), s.norm(at + "ffn_norm", width)
        s.feed_forward(at, width, hidden)
        if i in attends:
            s.attention(at, width, width, 256)
            continue
        s.matrix(at + "ssm_in", inner + channels + heads, width)
        s.recurrence(at, heads, channels, 4)
        s.floats(at + "ssm_conv1d.bias", channels, low=-0.1, high=0.1)
        s.floats(at + "ssm_a", heads, 1, low=-16, high=-1)
        s.floats(at + "ssm_d", heads, 1, low=0.5, high=1.5)
        s.norm(at + "ssm_norm", 1, inner)
        s.matrix(at + "ssm_out", width, inner)
    return s


def qwen800m(kind):
    """Qwen3.5-0.8B: three layers of a gated delta net, then one of attention, six times."""
    width, hidden, layers = 1024, 3584, 24
    heads, state, of_head = 16, 128, 256
    values, channels = heads * state, 3 * heads * state
    s = Shape(
        "qwen35",
        kind,
        *(layers, width, hidden, 248320),
        context_length=32768,
        attention__head_count=8,
        attention__head_count_kv=2,
        attention__key_length=of_head,
        attention__value_length=of_head,
        attention__layer_norm_rms_epsilon=1e-6,
        rope__freq_base=1e7,
        rope__dimension_count=64,
        rope__dimension_sections=[11, 11, 10, 0],
        full_attention_interval=4,
        ssm__conv_kernel=4,
        ssm__inner_size=values,
        ssm__state_size=state,
        ssm__time_step_rank=heads,
        ssm__group_count=heads,
    )
    for i in range(layers):
        at = f"blk.{i}."
        s.norm(at + "attn_norm", width), s.norm(at + "post_attention_norm", width)
        s.feed_forward(at, width, hidden)
        if i % 4 == 3:
            s.attention(at, width, 8 * of_head, 2 * of_head, gated=True)
            s.norm(at + "attn_q_norm", of_head), s.norm(at + "attn_k_norm", of_head)
            continue
        s.matrix(at + "attn_qkv", channels, width)
        s.matrix(at + "attn_gate", values, width)
        s.matrix(at + "ssm_beta", heads, width)
        s.matrix(at + "ssm_alpha", heads, width)
        s.recurrence(at, heads, channels, 4)
        s.floats(at + "ssm_a", heads, low=-8, high=-1)
        s.norm(at + "ssm_norm", state)
        s.matrix(at + "ssm_out", width, values)
    return s


SHAPES = {"llama1b": llama1b, "granite350m": granite350m, "qwen800m": qwen800m}


def draw(shape, kind, path):
    made = SHAPES[shape](kind)
    write_gguf(path, made.metadata, made.tensors)
