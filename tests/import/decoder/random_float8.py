# SPDX-License-Identifier: Apache-2.0
"""`FLOAT8`: rows of random_models.py whose folder has matrices of float8, which `transformers`
reads too."""

import dataclasses

from random_latents import LATENTS
from random_mixtures import MIXTURES
from random_models import MODELS

BLOCK = [16, 32]  # of rows and columns; `transformers` widens whole ones alone


def in_float8(tensors, config):
    """All matrices that a GPU would multiply in float8."""
    import torch

    for name, matrix in list(tensors.items()):
        rows, columns = matrix.shape if matrix.ndim == 2 else (1, 1)
        kept = ("embed_tokens", "lm_head", "mlp.gate.weight")
        if rows % BLOCK[0] or columns % BLOCK[1] or any(part in name for part in kept):
            continue
        blocks = matrix.reshape(rows // BLOCK[0], BLOCK[0], columns // BLOCK[1], BLOCK[1])
        scales = blocks.abs().amax((1, 3), keepdim=True) / 448
        codes = (blocks / scales).to(torch.float8_e4m3fn)
        tensors[name] = codes.reshape(rows, columns)
        tensors[name + "_scale_inv"] = scales[:, 0, :, 0].contiguous()
    config["quantization_config"] = {
        "quant_method": "fp8",
        "fmt": "e4m3",
        "activation_scheme": "dynamic",
        "weight_block_size": BLOCK,
    }


def reread(folder):
    """The model in f32 as `transformers` reads it."""
    import transformers
    from transformers.quantizers import quantizer_finegrained_fp8

    quantizer_finegrained_fp8.is_accelerate_available = lambda: True  # without a GPU it needs none
    how = transformers.FineGrainedFP8Config(dequantize=True, weight_block_size=BLOCK)
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype="float32", attn_implementation="eager", quantization_config=how
    ).eval()


def float8(row):
    return dataclasses.replace(row, folder=True, stored=in_float8, reread=reread)


FLOAT8 = {
    "qwen3, float8": float8(MODELS["qwen3"]),
    "qwen3moe, float8": float8(MIXTURES["qwen3moe"]),
    "deepseek3, float8": float8(LATENTS["deepseek3, groups"]),
}
