# SPDX-License-Identifier: Apache-2.0
"""`GEMMA3N`: the rows of random_models.py whose tokens have several rows in front of each layer."""

import math
import statistics

import numpy as np
from random_models import BOTH, Row

GEMMA3N_LAYER = {
    **BOTH,
    "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj",
    "post_per_layer_input_norm": "post_norm",
    "altup.modality_router": "altup_router",
    "altup.router_norm": "altup_router_norm",
    "altup.prediction_coefs": "altup_predict_coef",
    "altup.correction_coefs": "altup_correct_coef",
    "laurel.linear_left": "laurel_l",
    "laurel.linear_right": "laurel_r",
    "laurel.post_laurel_norm": "laurel_post_norm",
}


def gemma3n(layers, shared, shares, **options):
    """`layers` and `shared` as gemma4() has them; `shares`: of gates that stay shut, by layer."""
    windowed = [layer == "s" for layer in layers]
    own = {
        "layer_types": [("full_attention", "sliding_attention")[each] for each in windowed],
        "num_hidden_layers": len(layers),
        "num_kv_shared_layers": shared,
        "activation_sparsity_pattern": shares,
        "intermediate_size": [96 + 32 * (i % 2) for i in range(len(layers))],
        "hidden_size_per_layer_input": 16,
        "vocab_size_per_layer_input": 97,
        "laurel_rank": 8,
        "head_dim": 32,
        "sliding_window": 8,
        "final_logit_softcapping": 30.0,
        **options,
    }
    normal = statistics.NormalDist()
    metadata = {
        "attention.key_length": 32,
        "attention.value_length": 32,
        "attention.sliding_window": 8,
        "attention.sliding_window_pattern": windowed,
        "attention.shared_kv_layers": shared,
        "embedding_length_per_layer_input": 16,
        "altup.num_inputs": own.get("altup_num_inputs", 4),
        "altup.active_idx": own.get("altup_active_idx", 0),
        "activation_sparsity_scale": [normal.inv_cdf(p) if p else -math.inf for p in shares],
        "rope.freq_base": 1e6,
        "rope.freq_base_swa": 1e4,
    }
    if own["final_logit_softcapping"] != 30:  # which the architecture has
        metadata["final_logit_softcapping"] = own["final_logit_softcapping"]
    names = {
        "model.embed_tokens_per_layer.weight": "per_layer_token_embd.weight",
        "model.per_layer_model_projection.weight": "per_layer_model_proj.weight",
        "model.per_layer_projection_norm.weight": "per_layer_proj_norm.weight",
    }
    for i in range(metadata["altup.num_inputs"] - 1):
        for module, to in GEMMA3N_STREAMS.items():
            names[f"model.{module}.{i}.weight"] = f"{to}.{i}"
    return Row(
        "gemma3n",
        "Gemma3n",
        own,
        layer=GEMMA3N_LAYER,
        names=names,
        metadata=metadata,
        split=gemma3n_scale,
        joined=gemma3n_streams,
    )


GEMMA3N_STREAMS = {
    "altup_projections": "altup_proj",
    "altup_unembed_projections": "altup_unembd_proj",
}


def gemma3n_scale(name, array):
    if name.endswith(".correct_output_scale"):
        return {"altup_correct_scale.weight": array}


def gemma3n_streams(tensors):
    """Matrices of all streams in one."""
    for name in GEMMA3N_STREAMS.values():
        each = [tensors.pop(f"{name}.{i}") for i in range(64) if f"{name}.{i}" in tensors]
        tensors[f"{name}.weight"] = np.stack(each)


GEMMA3N = {
    "gemma3n": gemma3n("ssfsfs", 2, [0.95, 0.5, 0.0, 0.3, 0.0, 0.9]),
    "gemma3n, three streams": gemma3n(
        "sfs", 0, [0.0] * 3, altup_num_inputs=3, altup_active_idx=1, final_logit_softcapping=3.0
    ),
    "gemma3n, two streams": gemma3n("fsfs", 1, [0.0] * 4, altup_num_inputs=2),
}
