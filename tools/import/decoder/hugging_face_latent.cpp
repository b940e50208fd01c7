// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_latent.h"

namespace ingot::decoder {

void read_latent(Config& config, DecoderNumbers* n) {
  constexpr double kEpsilon = 1e-6;  // of norms of latents, whatever that of the others is
  LatentNumbers& l = n->latent;
  l.query_rank = config.integer("q_lora_rank", 0, 1, kMaxWidth);
  l.turned = config.need("qk_rope_head_dim", kMaxHeadWidth - 1);
  l.rank = config.need("kv_lora_rank", kMaxHeadWidth - l.turned);
  l.epsilon = kEpsilon;
  if (l.turned % 2) config.refuse("qk_rope_head_dim", "an even number");
  l.own = config.need("qk_nope_head_dim", kMaxHeadWidth);
  l.value = n->row->experts == Experts::kNone
                ? config.integer("v_head_dim", n->width / n->layers[0].heads, 1, kMaxHeadWidth)
                : config.need("v_head_dim", kMaxHeadWidth);
  n->order = config.flag("rope_interleave", n->order == Rope::kNeighbors) ? Rope::kNeighbors
                                                                          : Rope::kHalves;
  for (const LayerNumbers& layer : n->layers)
    if (layer.kv_heads != layer.heads)
      config.refuse("num_key_value_heads", "the " + std::to_string(layer.heads) + " heads");
  n->keep_latents();
  for (const char* key : {"head_dim", "qk_head_dim"}) (void)config.find(key);
}

void read_depth_scales(Config& config, DecoderNumbers* n) {
  const Architecture& row = *n->row;
  n->embedding_scale = config.number("scale_emb", row.embedding_scale);
  n->residual_scale =
      config.number("scale_depth", row.depth_scale) / std::sqrt(double(n->layers.size()));
  const double width = config.number("dim_model_base", row.logit_width);
  if (!(width > 0)) config.refuse("dim_model_base", "a number above 0");
  n->logit_scale = logit_scale_of(*n, width);
}

void read_grouped_experts(Config& config, DecoderNumbers* n) {
  ExpertNumbers& e = n->experts;
  const bool is_first = config.text("model_type", "") == "deepseek_v2";
  const bool is_hybrid = n->row->has_one_part;  // each layer says whether it has experts
  const bool any = !is_hybrid || std::any_of(n->layers.begin(), n->layers.end(),
                                             [](const auto& layer) { return layer.has_experts; });
  for (const char* key : {"first_k_dense_replace", "mlp_layer_types", "n_shared_experts"})
    (void)config.find(key);
  if (!any) {  // whatever the configuration says of them
    for (const char* key : {"n_routed_experts", "num_experts_per_tok", "moe_intermediate_size",
                            "moe_shared_expert_intermediate_size", "moe_latent_size", "n_group",
                            "topk_group", "routed_scaling_factor", "norm_topk_prob"})
      (void)config.find(key);
    return;
  }
  e.count = is_hybrid ? config.need("n_routed_experts", kMaxExperts)
                      : config.integer("n_routed_experts", 0, 1, kMaxExperts);
  if (e.count == 0) return;
  if (config.integer("moe_layer_freq", 1, 1, kMaxLayers) != 1)
    config.refuse("moe_layer_freq", "1: experts in each layer behind the dense ones");
  const char* const scoring = is_first ? "softmax" : "sigmoid";
  if (config.text("scoring_func", scoring) != scoring) config.refuse("scoring_func", scoring);
  e.kind = is_first ? Experts::kAsTheyAre : Experts::kSigmoid;
  e.used = config.need("num_experts_per_tok", e.count);
  e.hidden = config.need("moe_intermediate_size", kMaxWidth);
  e.shared_hidden = is_hybrid ? config.need("moe_shared_expert_intermediate_size", kMaxWidth)
                              : e.hidden * config.integer("n_shared_experts", 0, 0, kMaxExperts);
  e.latent = config.integer("moe_latent_size", 0, 1, kMaxWidth);
  e.scale = config.number("routed_scaling_factor", 1);
  e.is_normalized = config.flag("norm_topk_prob", !is_first);
  if (is_first && e.is_normalized) config.refuse("norm_topk_prob", "false");
  e.has_choice_bias = !is_first;
  e.added_sum = kLeastSum;
  const std::string method = config.text("topk_method", is_first ? "greedy" : "noaux_tc");
  const bool is_grouped = method == (is_first ? "group_limited_greedy" : "noaux_tc");
  if (!is_grouped && !(is_first && method == "greedy"))
    config.refuse("topk_method", is_first ? "greedy or group_limited_greedy" : "noaux_tc");
  for (const char* key : {"n_group", "topk_group"}) (void)config.find(key);
  if (!is_grouped) return;
  e.groups = config.need("n_group", e.count);
  e.used_groups = config.need("topk_group", e.groups);
  check_groups(&e, [&](const char* key, int64_t, const std::string& expected) {
    config.refuse(key == std::string("group_count") ? "n_group" : "topk_group", expected);
  });
}

}  // namespace ingot::decoder
