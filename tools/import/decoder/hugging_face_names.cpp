// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_names.cpp - the table of model types, and what each calls its
// tensors.
#include "tools/files/suggest.h"
#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_config.h"
#include "tools/import/decoder/hugging_face_experts.h"

namespace ingot::decoder {
namespace {

/// Where a text's model is a part of a larger one, or has layers that only propose tokens.
constexpr OwnName kOtherParts[] = {{"mtp.", nullptr},
                                   {"visual.", nullptr},
                                   {"vision_tower.", nullptr},
                                   {"audio_tower.", nullptr},
                                   {"embed_vision.", nullptr},
                                   {"embed_audio.", nullptr},
                                   {"multi_modal_projector.", nullptr},
                                   {"model.language_model.", "model."},
                                   {"language_model.model.", "model."},
                                   {"language_model.", ""},
                                   {}};
// masks, which some versions store
constexpr OwnName kGpt2Names[] = {{"attn.bias.", nullptr}, {"attn.masked_bias.", nullptr}, {}};
constexpr OwnName kNeoXNames[] = {{"attention.bias.", nullptr},
                                  {"attention.masked_bias.", nullptr},
                                  {"embed_out.", "lm_head."},
                                  {}};
constexpr OwnName kFalconNames[] = {{"ln_attn.", "input_layernorm."}, {}};

constexpr OwnName kGpt2Keys[] = {{"n_embd", "hidden_size"},
                                 {"n_positions", "max_position_embeddings"},
                                 {"n_layer", "num_hidden_layers"},
                                 {"n_head", "num_attention_heads"},
                                 {"n_inner", "intermediate_size"},
                                 {"activation_function", "hidden_act"},
                                 {"layer_norm_epsilon", "layer_norm_eps"},
                                 {}};
constexpr OwnName kNeoXKeys[] = {
    {"rotary_pct", "partial_rotary_factor"}, {"rotary_emb_base", "rope_theta"}, {}};
constexpr OwnName kFalconKeys[] = {{"num_kv_heads", "num_key_value_heads"},
                                   {"ffn_hidden_size", "intermediate_size"},
                                   {"activation", "hidden_act"},
                                   {"layer_norm_epsilon", "layer_norm_eps"},
                                   {}};

constexpr OwnName kGemma4Keys[] = {{"top_k_experts", "num_experts_per_tok"}, {}};

constexpr HuggingFaceRow kBigCode = {.model_type = "gpt_bigcode",
                                     .architecture = "starcoder",
                                     .up = "mlp.c_fc",
                                     .down = "mlp.c_proj",
                                     .feed_forward_norm = "ln_2",
                                     .attention_norm = "ln_1",
                                     .attention_out = "attn.c_proj",
                                     .qkv = "attn.c_attn",
                                     .final_norm = "transformer.ln_f",
                                     .hidden_widths = 4,
                                     .embedding = "transformer.wte",
                                     .positions = "transformer.wpe",
                                     .layers = "transformer.h.",
                                     .renamed = kGpt2Names,
                                     .keys = kGpt2Keys,
                                     .groups_qkv = true,
                                     .has_multi_query = true};

constexpr HuggingFaceRow gpt2() {
  HuggingFaceRow row = kBigCode;
  row.model_type = row.architecture = "gpt2";
  row.groups_qkv = row.has_multi_query = false, row.is_transposed = true;
  return row;
}

constexpr HuggingFaceRow kLfm2 = {.model_type = "lfm2",
                                  .architecture = "lfm2",
                                  .gate = "feed_forward.w1",
                                  .up = "feed_forward.w3",
                                  .down = "feed_forward.w2",
                                  .feed_forward_norm = "ffn_norm",
                                  .attention_norm = "operator_norm",
                                  .attention_out = "self_attn.out_proj",
                                  .query_norm = "self_attn.q_layernorm",
                                  .key_norm = "self_attn.k_layernorm",
                                  .final_norm = "model.embedding_norm"};

constexpr HuggingFaceRow lfm2_moe() {
  HuggingFaceRow row = kLfm2;
  row.model_type = "lfm2_moe", row.architecture = "lfm2moe";
  row.router = "feed_forward.gate", row.experts = "feed_forward.experts.";
  row.expert_parts[0] = "w1", row.expert_parts[1] = "w3", row.expert_parts[2] = "w2";
  return row;
}

/// With an expert that every token has, or without.
constexpr HuggingFaceRow granite_moe(const char* model_type) {
  return {.model_type = model_type,
          .architecture = "granitemoe",
          .router = "block_sparse_moe.router.layer",
          .experts = "block_sparse_moe.",
          .expert_parts = {"input_linear.gate", "input_linear.up", "output_linear"},
          .shared_parts = {"shared_mlp.input_linear.gate", "shared_mlp.input_linear.up",
                           "shared_mlp.output_linear"},
          .both = "input_linear"};
}

constexpr HuggingFaceRow only_mixers(const char* model_type, const char* architecture) {
  return {.model_type = model_type,
          .architecture = architecture,
          .attention_norm = "norm",
          .final_norm = "backbone.norm_f",
          .embedding = "backbone.embeddings",
          .layers = "backbone.layers.",
          .mixer = "mixer"};
}

constexpr HuggingFaceRow with_latent(const char* model_type) {
  return {.model_type = model_type,
          .architecture = "deepseek2",
          .router = "mlp.gate",
          .experts = "mlp.experts.",
          .shared_parts = {"mlp.shared_experts.gate_proj", "mlp.shared_experts.up_proj",
                           "mlp.shared_experts.down_proj"},
          .expert_choice = "mlp.gate.e_score_correction",
          .order = Rope::kNeighbors,
          .both = "gate_up_proj"};
}

constexpr HuggingFaceRow kRows[] = {
    {.model_type = "llama", .architecture = "llama"},
    {.model_type = "mistral", .architecture = "llama"},
    {.model_type = "mixtral",
     .architecture = "llama",
     .router = "block_sparse_moe.gate",
     .experts = "block_sparse_moe.experts.",
     .expert_parts = {"w1", "w3", "w2"}},
    {.model_type = "smollm3", .architecture = "smollm3", .has_window = false},
    {.model_type = "granite", .architecture = "granite"},
    granite_moe("granitemoe"),
    granite_moe("granitemoeshared"),
    {.model_type = "granitemoehybrid",
     .architecture = "granitehybrid",
     .gate = "shared_mlp.input_linear.gate",
     .up = "shared_mlp.input_linear.up",
     .down = "shared_mlp.output_linear",
     .router = "block_sparse_moe.router.layer",
     .experts = "block_sparse_moe.",
     .expert_parts = {"input_linear.gate", "input_linear.up", "output_linear"},
     .shared_parts = {"shared_mlp.input_linear.gate", "shared_mlp.input_linear.up",
                      "shared_mlp.output_linear"},
     .hidden = "shared_intermediate_size",
     .mixer = "mamba",
     .both = "input_linear"},
    {.model_type = "falcon_h1",
     .architecture = "falcon-h1",
     .gate = "feed_forward.gate_proj",
     .up = "feed_forward.up_proj",
     .down = "feed_forward.down_proj",
     .feed_forward_norm = "pre_ff_layernorm",
     .final_norm = "model.final_layernorm",
     .mixer = "mamba"},
    {.model_type = "nemotron_h",
     .architecture = "nemotron_h",
     .up = "mixer.up_proj",
     .down = "mixer.down_proj",
     .attention_norm = "norm",
     .attention_out = "mixer.o_proj",
     .final_norm = "backbone.norm_f",
     .router = "mixer.gate",
     .experts = "mixer.experts.",
     .shared_parts = {"", "mixer.shared_experts.up_proj", "mixer.shared_experts.down_proj"},
     .expert_choice = "mixer.gate.e_score_correction",
     .embedding = "backbone.embeddings",
     .layers = "backbone.layers.",
     .attention = "mixer",
     .mixer = "mixer",
     .renamed = kOtherParts},
    only_mixers("mamba", "mamba"),
    only_mixers("falcon_mamba", "mamba"),
    only_mixers("mamba2", "mamba2"),
    {.model_type = "arcee", .architecture = "arcee"},
    {.model_type = "qwen2", .architecture = "qwen2", .has_window = false},
    {.model_type = "qwen2_moe",
     .architecture = "qwen2moe",
     .router = "mlp.gate",
     .experts = "mlp.experts.",
     .has_window = false},
    {.model_type = "qwen3", .architecture = "qwen3", .has_window = false},
    {.model_type = "qwen3_moe",
     .architecture = "qwen3moe",
     .router = "mlp.gate",
     .experts = "mlp.experts.",
     .has_window = false},
    {.model_type = "qwen3_next",
     .architecture = "qwen3next",
     .router = "mlp.gate",
     .experts = "mlp.experts.",
     .norm_shift = 1,
     .rotated_part = 0.25,
     .mixer = "linear_attn",
     .both = "gate_up_proj",
     .renamed = kOtherParts},
    {.model_type = "qwen3_5_text",
     .architecture = "qwen35",
     .norm_shift = 1,
     .rotated_part = 0.25,
     .mixer = "linear_attn",
     .renamed = kOtherParts},
    {.model_type = "qwen3_5_moe_text",
     .architecture = "qwen35moe",
     .router = "mlp.gate",
     .experts = "mlp.experts.",
     .hidden = "moe_intermediate_size",
     .norm_shift = 1,
     .rotated_part = 0.25,
     .mixer = "linear_attn",
     .both = "gate_up_proj",
     .renamed = kOtherParts},
    {.model_type = "olmoe",
     .architecture = "olmoe",
     .router = "mlp.gate",
     .experts = "mlp.experts."},
    {.model_type = "gpt_oss",
     .architecture = "gpt-oss",
     .router = "mlp.router",
     .experts = "mlp.experts.",
     .has_experts_in_one = true,
     .says_all = true},
    kLfm2,
    lfm2_moe(),
    {.model_type = "seed_oss", .architecture = "seed_oss"},
    with_latent("deepseek_v2"),
    with_latent("deepseek_v3"),
    with_latent("glm4_moe_lite"),
    {.model_type = "minicpm3", .architecture = "minicpm3"},
    {.model_type = "olmo2", .architecture = "olmo2"},
    {.model_type = "phi3", .architecture = "phi3", .up = "mlp.gate_up_proj"},
    {.model_type = "gemma", .architecture = "gemma", .norm_shift = 1},
    {.model_type = "gemma2", .architecture = "gemma2", .norm_shift = 1},
    {.model_type = "gemma3_text",
     .architecture = "gemma3",
     .norm_shift = 1,
     .renamed = kOtherParts,
     .defaults = R"({"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                     "max_position_embeddings": 131072, "sliding_window": 4096,
                     "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-6, "rope_theta": 1e6})"},
    {.model_type = "gemma4_text",
     .architecture = "gemma4",
     .router = "router.proj",
     .experts = "experts.",
     .both = "gate_up_proj",
     .renamed = kOtherParts,
     .keys = kGemma4Keys},
    {.model_type = "gemma3_text",
     .architecture = "gemma-embedding",
     .is_bidirectional = true,
     .norm_shift = 1},
    {.model_type = "stablelm", .architecture = "stablelm"},
    {.model_type = "cohere", .architecture = "command-r", .order = Rope::kNeighbors},
    {.model_type = "cohere2", .architecture = "cohere2", .order = Rope::kNeighbors},
    {.model_type = "ernie4_5", .architecture = "ernie4_5", .order = Rope::kNeighbors},
    {.model_type = "glm",
     .architecture = "chatglm",
     .up = "mlp.gate_up_proj",
     .order = Rope::kNeighbors},
    {.model_type = "glm4",
     .architecture = "glm4",
     .up = "mlp.gate_up_proj",
     .feed_forward_norm = "post_attention_layernorm",
     .attention_out_norm = "post_self_attn_layernorm",
     .feed_forward_out_norm = "post_mlp_layernorm",
     .order = Rope::kNeighbors},
    {.model_type = "starcoder2",
     .architecture = "starcoder2",
     .up = "mlp.c_fc",
     .down = "mlp.c_proj"},
    {.model_type = "nemotron", .architecture = "nemotron", .norm_shift = 1},
    gpt2(),
    kBigCode,
    {.model_type = "gpt_neox",
     .architecture = "gptneox",
     .up = "mlp.dense_h_to_4h",
     .down = "mlp.dense_4h_to_h",
     .attention_out = "attention.dense",
     .qkv = "attention.query_key_value",
     .final_norm = "gpt_neox.final_layer_norm",
     .rotated_part = 0.25,
     .embedding = "gpt_neox.embed_in",
     .layers = "gpt_neox.layers.",
     .renamed = kNeoXNames,
     .keys = kNeoXKeys,
     .groups_qkv = true,
     .norms_twice = true},
    {.model_type = "phi",
     .architecture = "phi2",
     .up = "mlp.fc1",
     .down = "mlp.fc2",
     .attention_out = "self_attn.dense",
     .final_norm = "model.final_layernorm",
     .rotated_part = 0.5},
    {.model_type = "falcon",
     .architecture = "falcon",
     .up = "mlp.dense_h_to_4h",
     .down = "mlp.dense_4h_to_h",
     .feed_forward_norm = "ln_mlp",
     .attention_out = "self_attention.dense",
     .qkv = "self_attention.query_key_value",
     .final_norm = "transformer.ln_f",
     .hidden_widths = 4,
     .embedding = "transformer.word_embeddings",
     .layers = "transformer.h.",
     .renamed = kFalconNames,
     .keys = kFalconKeys,
     .defaults = R"({"max_position_embeddings": 2048})",
     .groups_qkv = true,
     .has_multi_query = true},
    {.model_type = "bert", .architecture = "bert"},
    {.model_type = "roberta", .architecture = "bert"},
    {.model_type = "xlm-roberta", .architecture = "bert"},
    {.model_type = "nomic_bert", .architecture = "nomic-bert"},
    {.model_type = "modernbert", .architecture = "modern-bert"},
};

}  // namespace

bool is_part_of_larger(const Json& config) {
  const auto type = config.find("model_type");
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const HuggingFaceRow& row) {
    return row.renamed == kOtherParts && type != config.end() && *type == row.model_type;
  });
}

const HuggingFaceRow& hugging_face_row(const Json& config, const std::string& file) {
  const auto type = config.find("model_type");
  const std::string name =
      type != config.end() && type->is_string() ? type->get<std::string>() : "";
  const auto both = config.find("use_bidirectional_attention");
  const bool is_bidirectional = both != config.end() && *both == true;
  const bool has_both = std::any_of(std::begin(kRows), std::end(kRows), [&](const auto& row) {
    return name == row.model_type && row.is_bidirectional;
  });
  std::vector<std::string> known;
  std::string list;
  for (const HuggingFaceRow& row : kRows) {
    if (name == row.model_type && (!has_both || row.is_bidirectional == is_bidirectional))
      return row;
    if (row.is_bidirectional) continue;
    known.emplace_back(row.model_type);
    list += (list.empty() ? "" : ", ") + known.back();
  }
  const std::string near = host::nearest(name, known);
  graph::fail_unsupported(file, "its model_type '" + name + "' is not known, expected " + list +
                                    (near.empty() ? "" : "; the nearest is '" + near + "'"));
}

namespace {

std::string expert_module(const HuggingFaceRow& row, Role role, const std::string& number) {
  const int part = int(role) - int(Role::kExpertGate);
  return std::string(row.experts ? row.experts : "") + number + "." + row.expert_parts[part];
}

}  // namespace

std::string hugging_face_expert(const HuggingFaceRow& row, Role role, int64_t layer,
                                int64_t expert) {
  if (row.has_experts_in_one) return "";
  return row.layers + std::to_string(layer) + "." +
         expert_module(row, role, std::to_string(expert)) + ".weight";
}

std::string hugging_face_name(const HuggingFaceRow& row, Role role, Part part, int64_t layer) {
  const Architecture& architecture = *find_architecture(row.architecture);
  if (architecture.is_encoder && !row.is_bidirectional) return encoder_name(row, role, part, layer);
  const bool is_before = architecture.places == NormPlaces::kBefore;
  const bool is_delta = architecture.mixer == Mixer::kDeltaNet,
             is_mamba = architecture.mixer == Mixer::kMamba;
  const auto mixer = [&](const char* module) {
    return std::string(row.mixer ? row.mixer : "mixer") + "." + module;
  };
  const auto own = [&]() -> std::string {
    switch (role) {
      case Role::kEmbedding: return row.embedding;
      case Role::kPositions: return row.positions;
      case Role::kTypes: return "model.types";
      case Role::kEmbeddingNorm: return "model.embedding_norm";
      case Role::kFinalNorm: return row.final_norm;
      case Role::kHead: return "lm_head";
      case Role::kRopeDivisors: return "model.rope_divisors";
      case Role::kRopeDivisorsShort: return "model.rope_divisors_short";
      case Role::kRopeDivisorsLong: return "model.rope_divisors_long";
      case Role::kProjection:
      case Role::kLastProjection: return role_name(role);
      case Role::kLayerTable: return "model.embed_tokens_per_layer";
      case Role::kLayerProduct: return "model.per_layer_model_projection";
      case Role::kLayerNorm: return "model.per_layer_projection_norm";
      case Role::kAttentionNorm: return row.attention_norm;
      case Role::kQ: return row.attention + std::string(".q_proj");
      case Role::kK: return row.attention + std::string(".k_proj");
      case Role::kV: return row.attention + std::string(".v_proj");
      case Role::kQkv: return row.qkv;
      case Role::kQNorm: return row.query_norm;
      case Role::kKNorm: return row.key_norm;
      case Role::kQueryLatent: return "self_attn.q_a_proj";
      case Role::kQueryLatentNorm: return "self_attn.q_a_layernorm";
      case Role::kQueriesOfLatent: return "self_attn.q_b_proj";
      case Role::kLatent: return "self_attn.kv_a_proj_with_mqa";
      case Role::kLatentNorm: return "self_attn.kv_a_layernorm";
      case Role::kKeysValuesOfLatent: return "self_attn.kv_b_proj";
      case Role::kKeysOfLatent: return "self_attn.k_b_proj";
      case Role::kValuesOfLatent: return "self_attn.v_b_proj";
      case Role::kSinks: return "self_attn.sinks";
      case Role::kAttentionOut: return row.attention_out;
      case Role::kAttentionOutNorm: return row.attention_out_norm;
      case Role::kConvolutionIn: return "conv.in_proj";
      case Role::kConvolution: return "conv.conv";
      case Role::kConvolutionOut: return "conv.out_proj";
      case Role::kRecurrenceIn: return mixer(is_delta ? "in_proj_qkvz" : "in_proj");
      case Role::kRecurrenceQkv: return mixer("in_proj_qkv");
      case Role::kRecurrenceGate: return mixer("in_proj_z");
      case Role::kBetaAlpha: return mixer("in_proj_ba");
      case Role::kBeta: return mixer("in_proj_b");
      case Role::kAlpha: return mixer("in_proj_a");
      case Role::kRecurrenceTaps: return mixer("conv1d");
      case Role::kStepIn: return mixer("x_proj");
      case Role::kStep: return mixer(is_mamba ? "dt_proj" : "dt");
      case Role::kDecay: return mixer("A_log");
      case Role::kSkip: return mixer("D");
      case Role::kRecurrenceNorm: return mixer("norm");
      case Role::kRecurrenceOut: return mixer("out_proj");
      case Role::kFeedForwardNorm:
        if (row.feed_forward_norm) return row.feed_forward_norm;
        return is_before ? "post_attention_layernorm" : "pre_feedforward_layernorm";
      case Role::kGate: return row.gate;
      case Role::kUp: return row.up;
      case Role::kDown: return row.down;
      case Role::kFeedForwardOutNorm: return row.feed_forward_out_norm;
      case Role::kExpertsNorm: return "pre_feedforward_layernorm_2";
      case Role::kDenseOutNorm: return "post_feedforward_layernorm_1";
      case Role::kExpertsOutNorm: return "post_feedforward_layernorm_2";
      case Role::kLayerGate: return "per_layer_input_gate";
      case Role::kLayerOut: return "per_layer_projection";
      case Role::kLayerOutNorm: return "post_per_layer_input_norm";
      case Role::kLayerScale: return "layer_scalar";
      case Role::kRouter: return row.router ? row.router : "mlp.gate";
      case Role::kRouterScale: return "router.scale";
      case Role::kExpertScale: return "router.per_expert_scale";
      case Role::kExpertsIn: return mixer("fc1_latent_proj");
      case Role::kExpertsOut: return mixer("fc2_latent_proj");
      case Role::kExpertChoice: return row.expert_choice;
      case Role::kExpertGate:
      case Role::kExpertUp:
      case Role::kExpertDown: return expert_module(row, role, "*");
      case Role::kSharedRouter: return "mlp.shared_expert_gate";
      case Role::kSharedGate: return row.shared_parts[0];
      case Role::kSharedUp: return row.shared_parts[1];
      case Role::kSharedDown: return row.shared_parts[2];
    }
    return "";
  };
  if (row.has_experts_in_one && role >= Role::kExpertGate && role <= Role::kExpertDown)
    return experts_in_one_name(role, part, layer);
  const bool is_bare = role == Role::kSinks || role == Role::kDecay || role == Role::kSkip ||
                       role == Role::kLayerScale || role == Role::kRouterScale ||
                       role == Role::kExpertScale,
             is_joined = role == Role::kExpertChoice || (role == Role::kStep && !is_mamba);
  const std::string name = own() + (is_bare                 ? ""
                                    : is_joined             ? "_bias"
                                    : part == Part::kWeight ? ".weight"
                                                            : ".bias");
  return role < Role::kAttentionNorm ? name : row.layers + std::to_string(layer) + "." + name;
}

}  // namespace ingot::decoder
