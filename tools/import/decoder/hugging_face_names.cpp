// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_names.cpp - what each model type calls its tensors.
#include "tools/files/suggest.h"
#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_config.h"
#include "tools/import/decoder/hugging_face_experts.h"
#include "tools/import/decoder/hugging_face_rows.h"

namespace ingot::decoder {

bool is_part_of_larger(const Json& config) {
  const auto type = config.find("model_type");
  return std::any_of(
      std::begin(kHuggingFaceRows), std::end(kHuggingFaceRows), [&](const HuggingFaceRow& row) {
        return row.renamed == kOtherParts && type != config.end() && *type == row.model_type;
      });
}

const HuggingFaceRow& hugging_face_row(const Json& config, const std::string& file) {
  const auto type = config.find("model_type");
  const std::string name =
      type != config.end() && type->is_string() ? type->get<std::string>() : "";
  const auto both = config.find("use_bidirectional_attention");
  const bool is_bidirectional = both != config.end() && *both == true;
  const bool has_both =
      std::any_of(std::begin(kHuggingFaceRows), std::end(kHuggingFaceRows),
                  [&](const auto& row) { return name == row.model_type && row.is_bidirectional; });
  std::vector<std::string> known;
  std::string list;
  for (const HuggingFaceRow& row : kHuggingFaceRows) {
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
  if (row.experts_in_one != ExpertsInOneKind::kNone) return "";
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
      case Role::kEmbeddingNorm: return row.embedding_norm;
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
      case Role::kStreamIn: return "model.altup_projections." + std::to_string(layer);
      case Role::kStreamOut: return "model.altup_unembed_projections." + std::to_string(layer);
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
      case Role::kAttentionInnerNorm: return "self_attn.attn_sub_norm";
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
      case Role::kStepNorm: return mixer("dt_layernorm");
      case Role::kKeyNorm: return mixer("b_layernorm");
      case Role::kQueryNorm: return mixer("c_layernorm");
      case Role::kDecay: return mixer("A_log");
      case Role::kSkip: return mixer("D");
      case Role::kRecurrenceNorm: return mixer("norm");
      case Role::kRecurrenceOut: return mixer("out_proj");
      case Role::kFeedForwardNorm:
        if (row.feed_forward_norm) return row.feed_forward_norm;
        return is_before ? "post_attention_layernorm" : "pre_feedforward_layernorm";
      case Role::kGate: return row.gate;
      case Role::kUp: return row.up;
      case Role::kFeedForwardInnerNorm: return "mlp.ffn_sub_norm";
      case Role::kDown: return row.down;
      case Role::kFeedForwardOutNorm: return row.feed_forward_out_norm;
      case Role::kExpertsNorm: return "pre_feedforward_layernorm_2";
      case Role::kDenseOutNorm: return "post_feedforward_layernorm_1";
      case Role::kExpertsOutNorm: return "post_feedforward_layernorm_2";
      case Role::kLayerGate: return "per_layer_input_gate";
      case Role::kLayerOut: return "per_layer_projection";
      case Role::kLayerOutNorm: return "post_per_layer_input_norm";
      case Role::kLayerScale: return "layer_scalar";
      case Role::kStreamRouter: return "altup.modality_router";
      case Role::kStreamRouterNorm: return "altup.router_norm";
      case Role::kPredictions: return "altup.prediction_coefs";
      case Role::kCorrections: return "altup.correction_coefs";
      case Role::kActiveScale: return "altup.correct_output_scale";
      case Role::kLowRankIn: return "laurel.linear_left";
      case Role::kLowRankOut: return "laurel.linear_right";
      case Role::kLowRankNorm: return "laurel.post_laurel_norm";
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
  if (row.experts_in_one != ExpertsInOneKind::kNone && role >= Role::kExpertGate &&
      role <= Role::kExpertDown)
    return experts_in_one_name(role, part, layer);
  const bool is_bare = role == Role::kSinks || role == Role::kDecay || role == Role::kSkip ||
                       role == Role::kLayerScale || role == Role::kRouterScale ||
                       role == Role::kExpertScale || role == Role::kActiveScale,
             is_joined = role == Role::kExpertChoice || (role == Role::kStep && !is_mamba);
  const std::string name = own() + (is_bare                 ? ""
                                    : is_joined             ? "_bias"
                                    : part == Part::kWeight ? ".weight"
                                                            : ".bias");
  return role < Role::kAttentionNorm ? name : row.layers + std::to_string(layer) + "." + name;
}

}  // namespace ingot::decoder
