// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/gguf_metadata.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tools/files/suggest.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/gguf_keys.h"
#include "tools/import/decoder/gguf_streams.h"
#include "tools/import/decoder/gguf_xielu.h"

namespace ingot::decoder {
namespace {

using checkpoint::GgufFile;
using checkpoint::GgufType;
using checkpoint::GgufValue;

constexpr double kMaxLogMultiplier = 100;

void read_rope(Keys& keys, DecoderNumbers* n) {
  RopeNumbers& r = n->rope;
  r.base = keys.number("rope.freq_base", 10000);
  r.width = n->row->has_latent
                ? n->latent.turned
                : keys.integer("rope.dimension_count", n->key_width, 2, n->key_width);
  if (r.width % 2) keys.refuse("rope.dimension_count", "is odd", "an even number");
  if (!(r.base > 1)) keys.refuse("rope.freq_base", "is " + std::to_string(r.base), "more than 1");
  const std::string kind = keys.text("rope.scaling.type");
  keys.expect_text("rope.scaling.type", {"none", "linear", "yarn", "longrope"});
  const double factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 1));
  if (!(factor > 0)) keys.refuse("rope.scaling.factor", "is " + std::to_string(factor), "above 0");
  const bool has_factor = keys.find("rope.scaling.factor") || keys.find("rope.scale_linear");
  if ((kind == "linear" || kind == "yarn") && !has_factor)
    keys.refuse("rope.scaling.factor", "is missing", "above 0");
  if (n->row->has_sinks)  // whose defaults there are others
    for (const char* key : {"rope.freq_base", "rope.scaling.type", "attention.sliding_window"})
      if (!keys.find(key)) keys.refuse(key, "is missing", "what the model was trained with");
  r.original_context = double(
      keys.integer("rope.scaling.original_context_length", n->trained_context, 1, kMaxContext));
  r.beta_fast = keys.number("rope.scaling.yarn_beta_fast", 32);
  r.beta_slow = keys.number("rope.scaling.yarn_beta_slow", 1);
  if (!(r.beta_slow > 0 && r.beta_fast > r.beta_slow))
    keys.refuse("rope.scaling.yarn_beta_fast", "is " + std::to_string(r.beta_fast),
                "more than yarn_beta_slow, and that above 0");
  r.magnitude = keys.number("rope.scaling.attn_factor", 1);
  const double of_yarn = keys.number("rope.scaling.yarn_attn_factor", 0);
  if (n->row->has_latent && r.magnitude != 1)  // llama.cpp also scales scores by it
    keys.refuse("rope.scaling.attn_factor", "is " + std::to_string(r.magnitude), "1");
  if (keys.number("rope.scaling.yarn_ext_factor", 1) != 1)
    keys.refuse("rope.scaling.yarn_ext_factor", "is not 1", "1");
  const double of_scores = keys.number("rope.scaling.yarn_log_multiplier", 0);
  if (!(of_scores >= 0 && of_scores <= kMaxLogMultiplier))
    keys.refuse("rope.scaling.yarn_log_multiplier", "is " + std::to_string(of_scores), "0 to 100");
  // of places in images, which are those of the text in a text
  keys.pass_over({"rope.scaling.finetuned", "rope.dimension_sections", "n_deepstack_layers"});
  if (kind != "none") r.divisor = factor;
  r.is_yarn = kind == "yarn" && factor != 1, r.splits_pairs = n->row->splits_pairs;
  if (r.is_yarn && factor > 1) {
    // of whole heads, or of what turns
    const double of_turned = 0.1 * std::log(factor) + 1;
    if (!n->row->has_latent)
      r.magnitude *= of_yarn > 0 ? of_yarn : of_turned / (0.1 * of_scores * std::log(factor) + 1);
    else if (of_scores == 0)
      r.magnitude *= of_turned;
    else
      n->attention_scale *= std::pow(of_scores * std::log(factor) + 1, 2);
  }
  n->temperature = keys.number("attention.temperature_scale", 0);
  if (!(n->temperature >= 0 && n->temperature <= kMaxTemperature))
    keys.refuse("attention.temperature_scale", "is " + std::to_string(n->temperature), "0 to 1000");
  n->temperature_length = double(
      keys.integer("attention.temperature_length", int64_t(r.original_context), 1, kMaxContext));
  if (kind == "longrope") r.divisor = 1;
  const double base =
      keys.number("rope.freq_base_swa", n->row->plain_windows ? r.base : n->row->window_rope_base);
  if (base == 0) return;
  n->window_rope = RopeNumbers();
  n->window_rope->base = base;
  n->window_rope->width = keys.integer("rope.dimension_count_swa", r.width, 2, n->key_width);
}

/// Which layers have a window.
void read_windows(Keys& keys, const GgufFile& file, DecoderNumbers* n) {
  const int64_t window = keys.integer("attention.sliding_window", 0, 0, kMaxContext);
  const char* const kPattern = "attention.sliding_window_pattern";
  const GgufValue* pattern = keys.find(kPattern);
  std::vector<int64_t> each;
  int64_t period = n->row->window_period;
  if (pattern && pattern->type == GgufType::kArray)
    each = file.integers(keys.full(kPattern));
  else
    period = keys.integer(kPattern, period, 0, kMaxLayers);
  if (!each.empty() && each.size() < n->layers.size())
    keys.refuse(kPattern, "has " + std::to_string(each.size()) + " items", "one for each layer");
  if (window == 0) return;
  if (period == 0 && each.empty())
    keys.refuse("attention.sliding_window", "is " + std::to_string(window),
                "no window for this architecture");
  for (size_t i = 0; i < n->layers.size(); i++) {
    const bool has_window = each.empty() ? n->row->has_window(int64_t(i), period) : each[i] != 0;
    if (has_window) n->layers[i].window = n->row->is_encoder ? window / 2 : window;
    if (n->row->turns_windows) n->layers[i].rotates = has_window;
  }
}

/// Which layers have a mixer: those without heads of keys, or as metadata say of a delta net.
void read_mixers(Keys& keys, const GgufFile& file, DecoderNumbers* n) {
  const Architecture& row = *n->row;
  std::vector<int64_t> recurs;
  if (row.mixer == Mixer::kDeltaNet) {
    constexpr const char *kEach = "attention.recurrent_layers", *kEvery = "full_attention_interval";
    const int64_t every = keys.integer(kEvery, 4, 1, kMaxLayers);
    if (keys.find(kEach)) recurs = file.integers(keys.full(kEach));
    if (!recurs.empty() && recurs.size() < n->layers.size())
      keys.refuse(kEach, "has " + std::to_string(recurs.size()) + " items", "one for each layer");
    for (size_t i = recurs.size(); i < n->layers.size(); i++)
      recurs.push_back((int64_t(i) + 1) % every != 0);
  }
  int64_t attending = 0;
  for (size_t i = 0; i < n->layers.size(); i++) {
    LayerNumbers& layer = n->layers[i];
    if (!recurs.empty() && recurs[i]) layer.kv_heads = 0;
    layer.mixes = row.mixes_beside || (row.mixer != Mixer::kNone && !layer.attends());
    if (row.has_one_part && layer.hidden) layer.mixes = false;
    if (row.has_one_part && layer.hidden && layer.attends())
      keys.refuse("feed_forward_length", "is " + std::to_string(layer.hidden),
                  "0 where a layer has heads of keys");
    attending += layer.attends();
  }
  if (attending == 0 && !row.only_mixes)
    keys.refuse("attention.head_count_kv", "is 0 for all layers",
                "one layer of attention at least");
  if (row.mixer == Mixer::kNone) return;
  const char* const kLength =
      row.mixer == Mixer::kConvolution ? "shortconv.l_cache" : "ssm.conv_kernel";
  if (!keys.find(kLength)) keys.refuse(kLength, "is missing", "a number");
  n->convolution =
      keys.integer(kLength, 0, row.mixer == Mixer::kConvolution ? 1 : 2, kMaxConvolution);
  if (row.mixer == Mixer::kConvolution) return;
  RecurrenceNumbers& r = n->recurrence;
  const bool is_mamba = row.mixer == Mixer::kMamba;  // whose heads are columns
  const int64_t inner = keys.need("ssm.inner_size", is_mamba ? kMaxHeads : kMaxWidth);
  if (is_mamba) r.step_rank = keys.need("ssm.time_step_rank", kMaxWidth);
  r.weighs_parts = is_mamba && !row.only_mixes;
  r.norms_parts = is_mamba && keys.flag("ssm.dt_b_c_rms", r.weighs_parts);
  r.heads = is_mamba ? inner : keys.need("ssm.time_step_rank", inner);
  r.key_heads = is_mamba ? 1 : keys.need("ssm.group_count", r.heads);
  r.key_width = keys.need("ssm.state_size", kMaxStateWidth);
  r.value_width = inner / r.heads;
  r.is_tiled = row.tiles_heads;
  r.has_norm = !row.mixes_beside;
  check_recurrence(r, inner, [&](const char* key, int64_t found, const std::string& expected) {
    keys.refuse(std::string("ssm.") + key, "is " + std::to_string(found), expected);
  });
}

/// Layers with a window may have heads of another width; the last layers may have no keys and
/// values of their own, but those of the last one before them of their kind.
void read_shared_caches(Keys& keys, DecoderNumbers* n) {
  if (!n->row->norms_values) return;  // Gemma 3n and 4: others are refused with such keys
  const int64_t of_windows = keys.integer("attention.key_length_swa", n->key_width, 1, 4096);
  if (keys.integer("attention.value_length_swa", of_windows, 1, 4096) != of_windows)
    keys.refuse("attention.value_length_swa", "is another number", "that of keys");
  const int64_t shared =
      keys.integer("attention.shared_kv_layers", 0, 0, int64_t(n->layers.size()) - 1);
  if (!share_caches(n, shared, of_windows == n->key_width ? 0 : of_windows))
    keys.refuse("attention.shared_kv_layers", "is " + std::to_string(shared),
                "fewer: a layer of each kind has keys and values");
  n->layer_input = keys.integer("embedding_length_per_layer_input", 0, 0, kMaxWidth);
}

/// Older files say how wide keys and values are, newer ones what llama.cpp keeps, and these apart.
void read_latent(Keys& keys, DecoderNumbers* n) {
  LatentNumbers& l = n->latent;
  l.query_rank = keys.integer("attention.q_lora_rank", 0, 1, kMaxWidth);
  const bool is_apart = keys.find("attention.key_length_mla") != nullptr;
  const int64_t width =
      keys.need(is_apart ? "attention.key_length_mla" : "attention.key_length", kMaxHeadWidth);
  l.value = is_apart ? keys.need("attention.value_length_mla", kMaxHeadWidth)
                     : keys.integer("attention.value_length", n->width / n->layers[0].heads, 1,
                                    kMaxHeadWidth);
  keys.pass_over({"attention.key_length", "attention.value_length"});
  if (!keys.find("rope.dimension_count"))
    keys.refuse("rope.dimension_count", "is missing", "a number");
  l.turned = keys.integer("rope.dimension_count", 0, 2, width - 1);
  l.own = width - l.turned;
  l.rank = keys.need("attention.kv_lora_rank", kMaxHeadWidth - l.turned);
  for (const LayerNumbers& layer : n->layers)  // newer files have one for all, of what is kept
    if (layer.kv_heads != 1 && layer.kv_heads != layer.heads)
      keys.refuse("attention.head_count_kv", "is " + std::to_string(layer.kv_heads),
                  "1 or the " + std::to_string(layer.heads) + " heads");
  n->keep_latents();
}

void read_layers(Keys& keys, const GgufFile& file, DecoderNumbers* n, int64_t count) {
  if (n->row->only_mixes) {
    keys.pass_over({"attention.head_count", "attention.head_count_kv", "feed_forward_length"});
    n->layers.assign(size_t(count), LayerNumbers{1});
    n->key_width = n->value_width = n->width;
    return read_mixers(keys, file, n);
  }
  const bool may_lack = n->row->mixer != Mixer::kNone;
  const std::vector<int64_t> heads = keys.each("attention.head_count", count, kMaxHeads);
  // of a mixture of experts there may be that of each alone
  const char* const kHidden =
      !keys.find("feed_forward_length") && keys.find("expert_feed_forward_length")
          ? "expert_feed_forward_length"
          : "feed_forward_length";
  const std::vector<int64_t> hidden =
      keys.each(kHidden, count, kMaxWidth, n->row->has_one_part ? 0 : 1, n->draft_layers);
  const std::vector<int64_t> kv_heads = keys.find("attention.head_count_kv")
                                            ? keys.each("attention.head_count_kv", count, kMaxHeads,
                                                        may_lack ? 0 : 1, n->draft_layers)
                                            : heads;
  for (int64_t i = 0; i < count; i++) {
    LayerNumbers layer;
    layer.heads = heads[size_t(i)], layer.kv_heads = kv_heads[size_t(i)];
    layer.hidden = hidden[size_t(i)];
    if (layer.attends() && layer.heads % layer.kv_heads)
      keys.refuse("attention.head_count_kv", "is " + std::to_string(layer.kv_heads),
                  "a divisor of the " + std::to_string(layer.heads) + " heads");
    const int64_t period = n->row->plain_period;
    layer.rotates = period == 0 || i % period != period - 1;
    n->layers.push_back(layer);
  }
  read_mixers(keys, file, n);
  // a switch of all layers, where attention stands between recurrences
  if (n->row->mixer == Mixer::kMamba2 && !keys.flag("rope.scaling.finetuned", true))
    for (LayerNumbers& layer : n->layers) layer.rotates = false;
  if (heads[0] > n->width)
    keys.refuse("attention.head_count", "is " + std::to_string(heads[0]),
                "at most the width " + std::to_string(n->width));
  if (n->row->has_latent) return read_latent(keys, n);
  n->key_width = keys.integer("attention.key_length", n->width / heads[0], 1, 4096);
  n->value_width = keys.integer("attention.value_length", n->key_width, 1, 4096);
}

void read_scales(Keys& keys, DecoderNumbers* n, int64_t layers) {
  const bool is_odd = n->row->odd_scale_layers == layers;
  const double width = double(is_odd ? n->width / n->layers[0].heads : n->score_width());
  n->attention_scale = keys.number("attention.scale", 0);
  if (n->attention_scale == 0)
    n->attention_scale = n->row->scales_scores ? 1 / std::sqrt(width) : 1;
  n->attention_cap = keys.number("attn_logit_softcapping", 0);
  n->logit_cap = keys.number("final_logit_softcapping", n->row->logit_cap);
  n->embedding_scale = keys.number("embedding_scale", 0);
  if (n->embedding_scale == 0) n->embedding_scale = usual_embedding_scale(*n);
  n->residual_scale = keys.number("residual_scale", 0);
  if (n->residual_scale == 0) n->residual_scale = usual_residual_scale(*n);
  n->logit_scale = keys.number("logit_scale", 0);
  if (n->logit_scale == 0) n->logit_scale = usual_logit_scale(*n);
  const char* const kEpsilon = n->row->norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                                              : "attention.layer_norm_epsilon";
  n->epsilon = keys.number(kEpsilon, -1);
  if (!(n->epsilon >= 0)) keys.refuse(kEpsilon, "is missing or negative", "a small number");
  keys.pass_over({"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"});
  n->latent.epsilon = n->epsilon;
}

void read_experts(Keys& keys, DecoderNumbers* n) {
  ExpertNumbers& e = n->experts;
  e.count = keys.integer("expert_count", 0, 0, kMaxExperts);
  // the layers that have a router are those with experts
  keys.pass_over({"leading_dense_block_count", "interleave_moe_layer_step"});
  if (e.count == 0) {  // which some models say more of
    keys.pass_over({"expert_used_count", "expert_shared_feed_forward_length",
                    "expert_feed_forward_length", "expert_shared_count"});
    return;
  }
  if (n->row->experts == Experts::kNone)
    keys.refuse("expert_count", "is " + std::to_string(e.count),
                "0: this architecture's mixtures of experts are not known");
  e.used = keys.need("expert_used_count", e.count);
  e.hidden = keys.integer("expert_feed_forward_length", n->layers[0].hidden, 1, kMaxWidth);
  e.shared_hidden =
      keys.integer("expert_shared_feed_forward_length",
                   e.hidden * keys.integer("expert_shared_count", 0, 0, kMaxExperts), 0, kMaxWidth);
  e.kind = n->row->experts;
  e.is_normalized = keys.flag("expert_weights_norm",
                              e.kind == Experts::kNormalized || e.kind == Experts::kSigmoid);
  e.scale = keys.number("expert_weights_scale", 0);
  if (e.scale == 0) e.scale = 1;
  constexpr int64_t kSoftmax = 1, kSigmoid = 2, kSoftmaxOfChosen = 3;
  if (n->row->has_latent && keys.integer("expert_gating_func", 0, 0, kSigmoid) == kSigmoid)
    e.kind = Experts::kSigmoid;
  if (n->row->has_one_part) e.latent = keys.integer("moe_latent_size", 0, 1, kMaxWidth);
  if (n->row->groups_experts) {
    e.groups = keys.integer("expert_group_count", 1, 0, e.count);
    e.used_groups = keys.integer("expert_group_used_count", e.groups, 0, e.count);
    e.added_sum = kLeastSum;
    check_groups(&e, [&](const char* key, int64_t found, const std::string& expected) {
      keys.refuse(std::string("expert_") + key, "is " + std::to_string(found), expected);
    });
  }
  const int64_t own = e.kind == Experts::kOfChosen  ? kSoftmaxOfChosen
                      : e.kind == Experts::kSigmoid ? kSigmoid
                                                    : kSoftmax;
  const int64_t gating = keys.integer("expert_gating_func", own, 0, own);
  if (gating != 0 && gating != own)
    keys.refuse("expert_gating_func", "is " + std::to_string(gating), std::to_string(own));
}

/// What is not built, where a model has it.
void refuse_others(Keys& keys, DecoderNumbers* n) {
  n->qkv_limit = keys.number("attention.clamp_kqv", 0);
  if (n->row->clips_qkv ? n->qkv_limit < 0 : n->qkv_limit != 0)
    keys.refuse("attention.clamp_kqv", "is " + std::to_string(n->qkv_limit),
                n->row->clips_qkv ? "0 or more" : "0");
  n->alibi = keys.number("attention.max_alibi_bias", n->row->alibi);
  if (n->row->alibi != 0 ? !(n->alibi > 0) : n->alibi != 0)
    keys.refuse("attention.max_alibi_bias", "is " + std::to_string(n->alibi),
                n->row->alibi != 0 ? "above 0" : "0");
  keys.pass_over({"vocab_size", "tensor_data_layout"});
}

/// Whose vectors llama.cpp gives the length 1, as it is done here.
void read_pooling(Keys& keys, DecoderNumbers* n) {
  const bool is_encoder = n->row->is_encoder;
  if (keys.flag("attention.causal", !is_encoder) == is_encoder)
    keys.refuse("attention.causal", is_encoder ? "is true" : "is false",
                is_encoder ? "false: an encoder" : "true: a decoder");
  const int64_t type = keys.integer("pooling_type", 0, -1, 100);
  constexpr Pooling kKnown[] = {Pooling::kNone, Pooling::kMean, Pooling::kFirst, Pooling::kLast};
  if (type > 3 || (type < 1 && is_encoder) || (type == 2 && !is_encoder))
    keys.refuse("pooling_type", "is " + std::to_string(type),
                is_encoder ? "1 (the mean), 2 (the first token) or 3 (the last)"
                           : "0 (logits), 1 (the mean) or 3 (the last token)");
  n->pooling = kKnown[std::max<int64_t>(type, 0)];
  n->is_normalized = true;
  keys.pass_over({"token_type_count"});
  int64_t in = n->width;
  for (const char* one : {"dense_2_feat_", "dense_3_feat_"}) {
    const std::string key = one;
    if (!keys.find(key + "out")) continue;
    if (keys.need(key + "in", kMaxWidth) != in)
      keys.refuse(key + "in", "is another width", std::to_string(in));
    n->projections.push_back(in = keys.need(key + "out", kMaxWidth));
  }
  if (!n->projections.empty() && n->pooling == Pooling::kNone)
    keys.refuse("dense_2_feat_out", "is there", "none: a decoder has logits");
}

const Architecture& architecture_of(const GgufFile& file) {
  const std::string name = file.text("general.architecture").value_or("");
  if (name.empty())
    graph::fail_unsupported(file.path(),
                            "is a GGUF file whose metadata has no 'general.architecture': weights "
                            "and no program; convert the network's own file with them: ingot "
                            "convert NETWORK --weights " +
                                file.path());
  if (const Architecture* row = find_architecture(name)) return *row;
  const std::vector<std::string> known = architecture_names();
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  const std::string near = host::nearest(name, known);
  graph::fail_unsupported(file.path(), "its architecture '" + name + "' is not known, expected " +
                                           list +
                                           (near.empty() ? "" : "; the nearest is '" + near + "'"));
}

}  // namespace

DecoderNumbers read_numbers(const GgufFile& file, int64_t context) {
  DecoderNumbers n;
  n.row = &architecture_of(file);
  n.order = n.row->rope;
  Keys keys(file, n.row->name);
  n.width = keys.need("embedding_length", kMaxWidth);
  n.trained_context = keys.need("context_length", kMaxContext);
  n.context = context > 0 ? context : std::min(n.trained_context, kUsualContext);
  int64_t layers = keys.need("block_count", kMaxLayers);
  // last layers that only propose tokens
  n.draft_layers = keys.integer("nextn_predict_layers", 0, 0, layers - 1);
  layers -= n.draft_layers;
  if (size_t(layers) > file.tensors().size())
    keys.refuse("block_count", "is " + std::to_string(layers),
                "at most the " + std::to_string(file.tensors().size()) + " tensors of the file");
  read_layers(keys, file, &n, layers);
  read_scales(keys, &n, layers);
  if (!n.row->only_mixes) read_rope(keys, &n);
  read_windows(keys, file, &n);
  read_shared_caches(keys, &n);
  read_streams(keys, file, &n);
  read_experts(keys, &n);
  read_pooling(keys, &n);
  refuse_others(keys, &n);
  if (n.row->activation == Activation::kXielu) read_xielu(file, &n);
  n.is_parallel =
      n.row->parallel == Parallel::kAlways ||
      (n.row->parallel == Parallel::kByMetadata && keys.flag("use_parallel_residual", true));
  if (n.row->parallel != Parallel::kByMetadata &&
      keys.flag("use_parallel_residual", n.is_parallel) != n.is_parallel)
    keys.refuse("use_parallel_residual", n.is_parallel ? "is false" : "is true",
                n.is_parallel ? "true" : "false");
  keys.check_all_read();
  return n;
}

}  // namespace ingot::decoder
