// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_own_names.h - what model types call tensors and keys of their
// configuration that others have by a usual name.
#pragma once
#include "tools/import/decoder/hugging_face_config.h"

namespace ingot::decoder {

/// Where a text's model is a part of a larger one, or has layers that only propose tokens.
inline constexpr OwnName kOtherParts[] = {{"mtp.", nullptr},
                                          {"visual.", nullptr},
                                          {"vision_tower.", nullptr},
                                          {"vision_model.", nullptr},
                                          {"connector.", nullptr},
                                          {"image_newline.", nullptr},
                                          {"audio_tower.", nullptr},
                                          {"embed_vision.", nullptr},
                                          {"embed_audio.", nullptr},
                                          {"multi_modal_projector.", nullptr},
                                          {"model.language_model.", "model."},
                                          {"model.text_model.", "model."},
                                          {"language_model.model.", "model."},
                                          {"language_model.", ""},
                                          {}};
// masks, which some versions store
inline constexpr OwnName kGpt2Names[] = {
    {"attn.bias.", nullptr}, {"attn.masked_bias.", nullptr}, {}};
inline constexpr OwnName kNeoXNames[] = {{"attention.bias.", nullptr},
                                         {"attention.masked_bias.", nullptr},
                                         {"embed_out.", "lm_head."},
                                         {}};
inline constexpr OwnName kFalconNames[] = {{"ln_attn.", "input_layernorm."}, {}};

inline constexpr OwnName kGpt2Keys[] = {{"n_embd", "hidden_size"},
                                        {"n_positions", "max_position_embeddings"},
                                        {"n_layer", "num_hidden_layers"},
                                        {"n_head", "num_attention_heads"},
                                        {"n_inner", "intermediate_size"},
                                        {"activation_function", "hidden_act"},
                                        {"layer_norm_epsilon", "layer_norm_eps"},
                                        {}};
// the mask of each layer
inline constexpr OwnName kGptNeoNames[] = {
    {"attn.attention.bias.", nullptr}, {"attn.attention.masked_bias.", nullptr}, {}};
inline constexpr OwnName kGptNeoKeys[] = {{"num_layers", "num_hidden_layers"},
                                          {"num_heads", "num_attention_heads"},
                                          {"activation_function", "hidden_act"},
                                          {"layer_norm_epsilon", "layer_norm_eps"},
                                          {"attention_layers", "layer_types"},
                                          {"window_size", "sliding_window"},
                                          {}};
inline constexpr OwnName kOptKeys[] = {
    {"ffn_dim", "intermediate_size"}, {"activation_function", "hidden_act"}, {}};
inline constexpr OwnName kMptKeys[] = {{"d_model", "hidden_size"},
                                       {"n_heads", "num_attention_heads"},
                                       {"kv_n_heads", "num_key_value_heads"},
                                       {"n_layers", "num_hidden_layers"},
                                       {"max_seq_len", "max_position_embeddings"},
                                       {"softmax_scale", "attention_multiplier"},
                                       {"qk_ln", "qk_layernorm"},
                                       {}};
inline constexpr OwnName kNeoXKeys[] = {
    {"rotary_pct", "partial_rotary_factor"}, {"rotary_emb_base", "rope_theta"}, {}};
inline constexpr OwnName kFalconKeys[] = {{"num_kv_heads", "num_key_value_heads"},
                                          {"ffn_hidden_size", "intermediate_size"},
                                          {"activation", "hidden_act"},
                                          {"layer_norm_epsilon", "layer_norm_eps"},
                                          {}};

inline constexpr OwnName kBloomKeys[] = {{"n_embed", "hidden_size"},
                                         {"seq_length", "max_position_embeddings"},
                                         {"n_layer", "num_hidden_layers"},
                                         {"n_head", "num_attention_heads"},
                                         {}};
inline constexpr OwnName kErnieKeys[] = {{"moe_num_experts", "num_experts"},
                                         {"moe_k", "num_experts_per_tok"},
                                         {"moe_num_shared_experts", "n_shared_experts"},
                                         {}};
// layers that only propose tokens
inline constexpr OwnName kErnieNames[] = {{"mtp_block.", nullptr},
                                          {"mtp_emb_norm.", nullptr},
                                          {"mtp_hidden_norm.", nullptr},
                                          {"mtp_linear_proj.", nullptr},
                                          {}};

inline constexpr OwnName kGemma4Keys[] = {{"top_k_experts", "num_experts_per_tok"}, {}};

}  // namespace ingot::decoder
