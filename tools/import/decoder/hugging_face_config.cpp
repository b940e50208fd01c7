// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_config.h"

#include <algorithm>
#include <cmath>

#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_latent.h"
#include "tools/import/decoder/hugging_face_mixers.h"
#include "tools/import/decoder/hugging_face_streams.h"

namespace ingot::decoder {
namespace {

/// Frequencies above one wave length stay, those below another are divided, between them is a ramp.
std::vector<double> llama3_divisors(Config& rope, const RopeNumbers& n, double factor) {
  const double low = rope.number("low_freq_factor", 1), high = rope.number("high_freq_factor", 4);
  std::vector<double> out;
  for (int64_t i = 0; i < n.width / 2; i++) {
    const double frequency = std::pow(n.base, -2.0 * double(i) / double(n.width));
    const double turns = n.original_context * frequency / (2 * M_PI);  // within that context
    const double share = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    out.push_back(1 / ((1 - share) / factor + share));
  }
  return out;
}

constexpr double kMaxMagnitude = 1000;  // of what positions multiply

void scale_rope(Config& rope, RopeNumbers* n, double context, double trained) {
  const std::string kind = rope.text("rope_type", rope.text("type", "default"));
  const double factor = rope.number("factor", 1);
  if (!(factor > 0) ||
      ((kind == "linear" || kind == "llama3" || kind == "yarn") && !rope.find("factor")))
    rope.refuse("factor", "a number above 0");
  if (rope.find("original_max_position_embeddings"))
    n->original_context =
        double(rope.integer("original_max_position_embeddings", 0, 1, kMaxContext));
  if (kind == "default" || kind == "mrope") return;  // the latter differs in images alone
  if (kind == "linear") {
    n->divisor = factor;
  } else if (kind == "llama3") {
    n->divisors = llama3_divisors(rope, *n, factor);
  } else if (kind == "yarn") {
    n->splits_pairs = !rope.flag("truncate", true);
    n->is_yarn = factor != 1, n->divisor = factor;
    n->beta_fast = rope.number("beta_fast", 32), n->beta_slow = rope.number("beta_slow", 1);
    if (!(n->beta_slow > 0)) rope.refuse("beta_slow", "a number above 0");
    if (!(n->beta_fast > n->beta_slow)) rope.refuse("beta_fast", "more than beta_slow");
    const double of_turned = rope.number("mscale", 0), of_all = rope.number("mscale_all_dim", 0);
    const auto magnitude = [&](double by) {
      return factor <= 1 ? 1 : 0.1 * by * std::log(factor) + 1;
    };
    const bool has_both = of_turned != 0 && of_all != 0;
    n->magnitude = rope.number("attention_factor",
                               has_both ? magnitude(of_turned) / magnitude(of_all) : magnitude(1));
    n->score_magnitude = magnitude(of_all);
    if (!(n->score_magnitude > 0 && n->score_magnitude <= kMaxMagnitude))
      rope.refuse("mscale_all_dim", "a number that scales by more than 0 and at most 1000");
    if (!(n->magnitude > 0 && n->magnitude <= kMaxMagnitude))
      rope.refuse("attention_factor", "a number above 0 and at most 1000");
  } else if (kind == "longrope") {
    n->divisors = rope.numbers(context > n->original_context ? "long_factor" : "short_factor");
    if (int64_t(n->divisors.size()) != n->width / 2)
      rope.refuse("short_factor", std::to_string(n->width / 2) + " numbers");
    const double times = rope.find("factor") ? factor : trained / n->original_context;
    n->magnitude = rope.number(
        "attention_factor",
        times <= 1 ? 1 : std::sqrt(1 + std::log(times) / std::log(n->original_context)));
  } else if (kind ==
             "proportional") {  // turns the first pairs of all, whose numbers are the rest's
    const double part = rope.number("partial_rotary_factor", 1);
    const auto turning = int64_t(part * double(n->width / 2));
    n->divisor = factor;
    for (int64_t i = 0; i < n->width / 2; i++) n->divisors.push_back(i < turning ? 1 : 1e30);
  } else {
    rope.refuse(rope.find("rope_type") ? "rope_type" : "type",
                "default, linear, llama3, yarn, longrope, mrope or proportional");
  }
}

/// Of heads of layers with a window, where others have another.
int64_t width_of_windows(Config& config, const DecoderNumbers& n) {
  return n.row->widens_heads ? config.need("head_dim", n.key_width) : n.key_width;
}

void read_rope(Config& config, const HuggingFaceRow& row, DecoderNumbers* n) {
  const bool says_all = row.says_all;
  n->rope.base = n->row->mixer == Mixer::kConvolution
                     ? config.number("theta", config.number("rope_theta", 1e6))
                     : config.number("rope_theta", 10000);
  const int64_t of_all = n->row->has_latent ? n->latent.turned : n->key_width;
  n->rope.width = of_all;
  n->rope.original_context = double(
      config.integer("original_max_position_embeddings", n->trained_context, 1, kMaxContext));
  const int64_t turned = config.integer("rotary_dim", 0, 2, of_all);
  double part = config.number("partial_rotary_factor", row.rotated_part);
  const double local_base = config.number(
      "rope_local_base_freq", n->row->plain_windows ? n->rope.base : n->row->window_rope_base);
  const char* const key = config.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const Json *scaling = config.find(key), *older = config.find("rope_scaling");
  if (scaling != older && older && !older->empty() && *scaling != *older)
    config.refuse("rope_scaling", "its keys in rope_parameters, which is there too");
  const auto read = [&](const Json& json, RopeNumbers* rope, int64_t width) {
    if (!json.is_object()) config.refuse(key, "an object");
    Config own(json, config.file());
    if (says_all && !config.find("rope_theta") && !own.find("rope_theta"))
      own.refuse("rope_theta", "a number");
    if (says_all && !own.find("rope_type") && !own.find("type"))
      own.refuse("rope_type", "default, linear, llama3, yarn or longrope");
    rope->base = own.number("rope_theta", rope->base);
    const bool turns_all = own.text("rope_type", "") == "proportional";
    const double turning = own.number("partial_rotary_factor", part);
    rope->width = turns_all ? width : turned ? turned : int64_t(double(width) * turning);
    if (!(rope->base > 1)) own.refuse("rope_theta", "more than 1");
    if (rope->width < 2 || rope->width % 2 || rope->width > width ||
        !(turning >= 0 && turning <= 1))
      config.refuse(turned ? "rotary_dim" : "partial_rotary_factor",
                    "a part of " + std::to_string(width) + " elements that is even");
    if (row.has_alpha && own.find("alpha") &&
        own.text("rope_type", own.text("type", "")) == "dynamic") {
      const double alpha = own.number("alpha", 0);
      if (!(alpha > 0 && alpha <= kMaxMagnitude * kMaxMagnitude) || rope->width < 4)
        own.refuse("alpha", "a number above 0 and at most a million, of heads of 4 or more");
      rope->base *= std::pow(alpha, double(rope->width) / double(rope->width - 2));
      return;
    }
    scale_rope(own, rope, double(n->context), double(n->trained_context));
  };
  const Json none = Json::object();
  if (scaling && scaling->is_object() && scaling->contains("full_attention")) {
    const RopeNumbers unscaled = n->rope;
    read((*scaling)["full_attention"], &n->rope, of_all);
    n->window_rope = unscaled;
    if (local_base != 0) n->window_rope->base = local_base;
    read(scaling->contains("sliding_attention") ? (*scaling)["sliding_attention"] : none,
         &*n->window_rope, width_of_windows(config, *n));
    return;
  }
  read(scaling ? *scaling : none, &n->rope, of_all);
  constexpr const char* kTemperature = "llama_4_scaling_beta";
  Config of_positions(scaling ? *scaling : none, config.file());
  n->temperature = of_positions.number(kTemperature, 0);
  if (!(n->temperature >= 0 && n->temperature <= kMaxTemperature))
    of_positions.refuse(kTemperature, "0 to 1000");
  n->temperature_length = n->rope.original_context;
  if (local_base == 0) return;
  n->window_rope = RopeNumbers();
  n->window_rope->base = local_base;
  n->window_rope->width = n->rope.width;
}

void read_windows(Config& config, const HuggingFaceRow& row, DecoderNumbers* n) {
  const int64_t window = config.integer("sliding_window", 0, 0, kMaxContext);
  const bool counts = row.says_all || config.flag("use_sliding_window", row.has_window);
  if (n->row->mixer != Mixer::kNone) return;  // hugging_face_mixers.h
  const Json* types = find_layer_types(config, "layer_types", n->layers.size());
  const auto is_windowed = [](const Json& type) {
    return type == "sliding_attention" || type == "local";
  };
  const auto is_whole = [](const Json& type) {
    return type == "full_attention" || type == "global";
  };
  for (size_t i = 0; types && i < types->size(); i++)
    if (!is_windowed((*types)[i]) && !is_whole((*types)[i]))
      config.refuse("layer_types", "full_attention or sliding_attention");
  if (config.find("attention_types") && !types)
    config.refuse("layer_types", "a list with a text for each layer");
  if (row.says_all && (!types || std::any_of(types->begin(), types->end(), is_windowed)))
    (void)config.need("sliding_window", kMaxContext);
  // of some a text, beside layer_types, or 0 where there is no window
  const Json* const pattern = config.find("sliding_window_pattern");
  const bool has_pattern = n->row->window_period && pattern && pattern->is_number();
  const int64_t said = has_pattern ? config.integer("sliding_window_pattern", 0, 0, kMaxLayers) : 0,
                period = std::max<int64_t>(said ? said : n->row->window_period, 1);
  // where a flag says that there are windows
  const int64_t first = config.integer("max_window_layers", 0, 0, kMaxLayers);
  if (window == 0 || !counts) return;
  for (size_t i = 0; i < n->layers.size(); i++) {
    const bool has_window =
        types ? is_windowed((*types)[i])
              : n->row->has_window(int64_t(i), period) && (row.has_window || int64_t(i) >= first);
    if (has_window) n->layers[i].window = row.is_bidirectional ? window / 2 : window;
    if (n->row->turns_windows) n->layers[i].rotates = has_window;
  }
}

/// Gemma 3n and 4: layers that read the caches of others, and layer_inputs.h; of the latter heads
/// of two widths.
void read_shared_caches(Config& config, DecoderNumbers* n) {
  if (!n->row->norms_values) return;
  const int64_t count = int64_t(n->layers.size()),
                shared = config.integer("num_kv_shared_layers", 0, 0, count - 1),
                of_windows = width_of_windows(config, *n);
  if (config.flag("attention_bias", false)) config.refuse("attention_bias", "false");
  if (!share_caches(n, shared, of_windows == n->key_width ? 0 : of_windows))
    config.refuse("num_kv_shared_layers", "fewer: a layer of each kind has keys and values");
  n->layer_vocabulary = config.integer("vocab_size_per_layer_input", 0, 1, INT32_MAX);
  if (n->row->has_streams) return read_streams(config, n);
  const int64_t factor = config.flag("use_double_wide_mlp", false) ? 2 : 1,
                of_all = config.integer("num_global_key_value_heads", 0, 1, kMaxHeads);
  const bool has_own = config.flag("attention_k_eq_v", false) && of_all != 0;
  const Json* const each = config.find("per_layer_config");
  const Json none = Json::object();
  for (int64_t i = 0; i < count; i++) {
    LayerNumbers& layer = n->layers[size_t(i)];
    if (layer.caches_of >= 0) layer.hidden *= factor;
    if (has_own && layer.window == 0) layer.kv_heads = of_all;
    const std::string number = std::to_string(i);
    Config numbers(each && each->contains(number) ? (*each)[number] : none, config.file());
    layer.kv_heads = numbers.integer("num_key_value_heads", layer.kv_heads, 1, layer.heads);
    if (numbers.integer("head_dim", n->key_width_of(layer), 1, 4096) != n->key_width_of(layer))
      numbers.refuse("head_dim", std::to_string(n->key_width_of(layer)) + ", as others have");
    if (layer.heads % layer.kv_heads)
      numbers.refuse("num_key_value_heads", "a divisor of " + std::to_string(layer.heads));
  }
  n->layer_input = config.integer("hidden_size_per_layer_input", 256, 0, 1 << 24);
}

/// Of heads of layers without a window.
int64_t width_of_others(Config& config) {
  const Json* const each = config.find("per_layer_config");
  int64_t width = config.integer("global_head_dim", 512, 1, 4096);
  if (each && each->is_object() && !each->empty())
    width = Config(*each->begin(), config.file()).integer("head_dim", width, 1, 4096);
  return width;
}

/// LFM2 counts the gate's share out of it: two thirds, times a factor, in whole multiples.
int64_t read_hidden(Config& config, const HuggingFaceRow& row, const DecoderNumbers& n) {
  constexpr int64_t kMaxHidden = 1 << 24, kMaxExpansion = 64;
  const char* const key = config.find("block_ff_dim") ? "block_ff_dim" : "intermediate_size";
  if (row.hidden_widths)
    return config.integer(
        row.hidden,
        config.integer("expansion_ratio", row.hidden_widths, 1, kMaxExpansion) * n.width, 1,
        kMaxHidden);
  if (n.row->mixer != Mixer::kConvolution) return config.need(row.hidden, kMaxHidden);
  const int64_t hidden = config.need(key, kMaxHidden);
  const bool is_dense = n.row->experts == Experts::kNone;
  const int64_t multiple = config.integer("block_multiple_of", 256, 1, kMaxHidden);
  const double factor = config.number("block_ffn_dim_multiplier", 1);
  if (!config.flag("block_auto_adjust_ff_dim", is_dense) || !is_dense) return hidden;
  const double adjusted = std::floor(factor * std::floor(2 * double(hidden) / 3));
  if (!(adjusted >= 1 && adjusted <= double(kMaxHidden)))
    config.refuse("block_ffn_dim_multiplier",
                  "a factor that leaves 1 to " + std::to_string(kMaxHidden));
  return (int64_t(adjusted) + multiple - 1) / multiple * multiple;
}

/// A flag, which a later kind of Falcon has a number for.
bool has_one_key_head(Config& config, const HuggingFaceRow& row) {
  if (!row.has_multi_query) return false;
  const bool is_multi_query = config.flag("multi_query", true);
  return is_multi_query && !config.flag("new_decoder_architecture", false);
}

void read_layers(Config& config, const HuggingFaceRow& row, DecoderNumbers* n) {
  if (n->row->only_mixes) {
    const int64_t count = config.need("num_hidden_layers", kMaxLayers);
    n->layers.assign(size_t(count), LayerNumbers{1});
    n->key_width = n->value_width = n->width;
    return read_mixers(config, n);
  }
  const Json* const listed = n->row->has_one_part ? config.find("layers_block_type") : nullptr;
  const int64_t layers = listed && listed->is_array() && !listed->empty() &&
                                 int64_t(listed->size()) <= kMaxLayers
                             ? int64_t(listed->size())
                             : config.need("num_hidden_layers", kMaxLayers),
                heads = config.need("num_attention_heads", 1 << 16),
                given_kv_heads =
                    n->row->mixer == Mixer::kConvolution  // whose default is a number of its own
                        ? config.need("num_key_value_heads", heads)
                        : config.integer("num_key_value_heads", heads, 1, heads),
                kv_heads = has_one_key_head(config, row) ? 1 : given_kv_heads;
  const std::vector<int64_t> hidden =
      n->row->has_streams ? read_widths(config, row.hidden, layers)
                          : std::vector<int64_t>(size_t(layers), read_hidden(config, row, *n));
  if (heads % kv_heads)
    config.refuse("num_key_value_heads", "a divisor of the " + std::to_string(heads) + " heads");
  n->key_width = n->value_width =
      n->row->mixer == Mixer::kDeltaNet
          ? config.need("head_dim", 4096)  // whose default is one too
          : config.integer(config.find("attention_head_dim") ? "attention_head_dim" : "head_dim",
                           n->width / heads, 1, 4096);
  if (n->row->widens_heads) n->key_width = n->value_width = width_of_others(config);
  if (n->key_width < 1) config.refuse("num_attention_heads", "at most the width");
  const std::vector<double> rotates = config.numbers("no_rope_layers");
  config.find("no_rope_layer_interval");
  if (!rotates.empty() && int64_t(rotates.size()) != layers)
    config.refuse("no_rope_layers", "a list of " + std::to_string(layers) + " numbers");
  for (int64_t i = 0; i < layers; i++) {
    const int64_t period = n->row->plain_period;
    const bool is_plain = period != 0 && i % period == period - 1;
    n->layers.push_back({heads, kv_heads, hidden[size_t(i)], 0,
                         rotates.empty() ? !is_plain : rotates[size_t(i)] != 0});
  }
  read_mixers(config, n);
  if (n->row->has_latent) read_latent(config, n);
}

/// Layers without a router are dense, whatever the configuration says of them.
void read_experts(Config& config, DecoderNumbers* n) {
  ExpertNumbers& e = n->experts;
  e.kind = n->row->experts;
  const bool is_beside = n->row->has_experts_beside;
  if (is_beside && !config.flag("enable_moe_block", false)) {
    for (const char* key : {"num_experts", "num_experts_per_tok", "moe_intermediate_size"})
      (void)config.find(key);
    return;
  }
  const bool may_lack = n->row->mixer == Mixer::kMamba2,  // then the shared one is all there is
      is_dense = n->row->mixer == Mixer::kMamba &&        // one needs no router
                 config.integer("num_experts", 16, 0, kMaxExperts) < 2;
  for (const char* key : {"num_experts_per_tok", "expert_layer_period", "expert_layer_offset"})
    (void)config.find(key);
  if (is_dense) return;
  e.count = config.integer("num_experts",
                           config.integer("num_local_experts", 0, may_lack ? 0 : 1, kMaxExperts), 1,
                           kMaxExperts);
  if (e.count == 0 && may_lack) return;
  if (e.count == 0) config.refuse("num_experts", "a number");
  e.used = config.need("num_experts_per_tok", e.count);
  const int64_t own = config.integer("intermediate_size", n->layers[0].hidden, 1, 1 << 24);
  e.hidden = is_beside ? config.need("moe_intermediate_size", 1 << 24)
                       : config.integer("moe_intermediate_size", own, 1, 1 << 24);
  e.shared_hidden = config.integer(
      "shared_expert_intermediate_size",
      config.integer("shared_intermediate_size",
                     e.hidden * config.integer("n_shared_experts", 0, 0, e.count), 1, 1 << 24),
      1, 1 << 24);
  if (n->row->experts == Experts::kOfChosen) return;
  if (n->row->experts == Experts::kSigmoid) {
    e.scale = config.number("routed_scaling_factor", 1);
    e.has_choice_bias = config.flag("use_expert_bias", true);
    (void)config.find("num_dense_layers");
  }
  // which Mixtral, Qwen3.5 and Gemma 4 do not say
  e.is_normalized = config.flag("norm_topk_prob", is_beside || n->row->rope == Rope::kNeighbors ||
                                                      n->row->experts == Experts::kSigmoid ||
                                                      n->row->mixer == Mixer::kDeltaNet);
  for (const char* key : {"decoder_sparse_step", "mlp_only_layers", "moe_layer_start_index",
                          "moe_layer_end_index", "moe_layer_interval", "moe_norm_min"})
    (void)config.find(key);
}

/// None: the architecture's. Two ways to compute GELU are known of each that has one; BitNet has
/// either of two.
std::optional<Activation> read_activation(Config& config, const Architecture& row) {
  const char* key = "hidden_act";
  for (const char* other : {"mlp_hidden_act", "hidden_activation"})
    if (config.find(other)) key = other;
  (void)config.find("hidden_act");
  const std::string name = config.text(key, "");
  struct Known {
    const char* name;
    Activation activation;
  };
  constexpr Known kKnown[] = {
      {"silu", Activation::kSilu},         {"swish", Activation::kSilu},
      {"silu", Activation::kClampedSwish}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_new", Activation::kGeluTanh}, {"gelu_fast", Activation::kGeluTanh},
      {"gelu", Activation::kGelu},         {"relu2", Activation::kReluSquared},
      {"relu", Activation::kRelu},         {"xielu", Activation::kXielu}};
  const auto is_gelu = [](Activation a) {
    return a == Activation::kGelu || a == Activation::kGeluTanh;
  };
  // the first Gemma said "gelu" and meant the other
  if (name.empty() || (row.scales_embedding && name == "gelu")) return {};
  for (const Known& known : kKnown)
    if (name == known.name &&
        (row.activation == known.activation ||
         (is_gelu(row.activation) && is_gelu(known.activation)) ||
         (row.has_inner_norms && known.activation == Activation::kReluSquared)))
      return known.activation;
  config.refuse(key, std::string("the activation of '") + row.name + "'");
}

}  // namespace

DecoderNumbers read_config(const Json& json, const std::string& file, const ContextBounds& context,
                           std::vector<std::string>* notes) {
  constexpr const char *kBidirectional = "use_bidirectional_attention", *kHeadNorm = "use_qk_norm",
                       *kClip = "clip_qkv", *kAlibi = "alibi";
  const HuggingFaceRow& row = hugging_face_row(json, file);
  if (find_architecture(row.architecture)->is_encoder && !row.is_bidirectional)
    return read_encoder_config(row, json, file, context, notes);
  Json all = Json::parse(row.defaults);
  all.update(json);
  if (const Json own = row.nested ? all.value(row.nested, Json()) : Json(); !own.is_null()) {
    if (!own.is_object()) Config(json, file).refuse(row.nested, "an object");
    all.erase(row.nested), all.update(own);
  }
  Config config(all, file, row.keys);
  const auto experts = {"num_experts", "num_local_experts", "n_routed_experts"};
  for (const char* key : experts)
    if (const Json* value = config.find(key); value && *value != 0 && !row.experts)
      config.refuse(key, "none: mixtures of experts are not known for this model_type");
  (void)config.find("quantization_config");  // hugging_face_int4.h, _float8.h
  DecoderNumbers n;
  n.row = find_architecture(row.architecture);
  const bool may_be_parallel = n.row->parallel != Parallel::kNever;
  n.is_parallel = config.flag("use_parallel_residual", may_be_parallel);
  if (n.is_parallel != may_be_parallel && n.row->parallel != Parallel::kByMetadata)
    config.refuse("use_parallel_residual", may_be_parallel ? "true" : "false");
  for (const char* key :
       {kClip, kHeadNorm, "qk_layernorm", kBidirectional, kAlibi, "prefix_lm",
        "apply_residual_connection_post_layernorm", "scale_attn_by_inverse_layer_idx",
        "add_cross_attention", "_remove_final_layer_norm"}) {
    const Json* value = config.find(key);
    // of images alone, where it says so
    const bool is_known =
        (key == kBidirectional && value && (row.is_bidirectional || (*value == "vision"))) ||
        (key == kClip && n.row->clips_qkv) || (key == kAlibi && n.row->alibi != 0) ||
        (key == kHeadNorm && n.row->head_norm == HeadNorm::kEachHead);
    if (value && *value != false && *value != 0 && !is_known)
      config.refuse(key, "none: it is not built");
  }
  for (const char* key : {"parallel_attn", "scale_attn_weights", "do_layer_norm_before",
                          "enable_bias", "layer_norm_elementwise_affine"})
    if (!config.flag(key, true)) config.refuse(key, "true: nothing else is built");
  n.order = row.order, n.norm_shift = row.norm_shift, n.groups_qkv = row.groups_qkv;
  n.norms_twice = row.norms_twice || (config.flag("new_decoder_architecture", false) &&
                                      config.integer("num_ln_in_parallel_attn", 2, 1, 2) == 2);
  n.width = config.need("hidden_size", 1 << 24);
  if (config.integer("word_embed_proj_dim", n.width, 1, kMaxWidth) != n.width)
    config.refuse("word_embed_proj_dim", "the width, " + std::to_string(n.width));
  n.trained_context =
      n.row->only_mixes ? kMixersContext : config.need("max_position_embeddings", kMaxContext);
  n.context = context.of(n.trained_context);
  read_layers(config, row, &n);
  n.draft_layers = config.integer("num_nextn_predict_layers", 0, 0, kMaxLayers);
  if (n.row->alibi != 0) {
    n.alibi = config.number("alibi_bias_max", n.row->alibi);
    if (!config.flag(kAlibi, true)) config.refuse(kAlibi, "true: nothing else is built");
    if (!(n.alibi > 0)) config.refuse("alibi_bias_max", "a number above 0");
  }
  n.first_position = row.first_position;
  n.qkv_limit = n.row->clips_qkv ? config.number(kClip, 0) : 0;
  if (n.qkv_limit < 0) config.refuse(kClip, "a number above 0");
  if (n.row->may_lack_head_norm) n.norms_heads = config.flag(kHeadNorm, false);
  if (row.experts && n.row->groups_experts)
    read_grouped_experts(config, &n);
  else if (row.experts)
    read_experts(config, &n);
  n.activation = read_activation(config, *n.row);
  if (n.row->activation == Activation::kClampedSwish) {
    n.gate_limit = config.number("swiglu_limit", n.gate_limit);
    n.gate_slope = config.number("swiglu_alpha", n.gate_slope);
    if (!(n.gate_limit > 0)) config.refuse("swiglu_limit", "a number above 0");
  }
  n.epsilon = config.number(
      "rms_norm_eps",
      config.number(
          "layer_norm_eps",
          config.number("norm_epsilon",
                        config.number("norm_eps", config.number("layer_norm_epsilon", -1)))));
  if (!(n.epsilon >= 0))
    config.refuse(n.row->norm == NormKind::kRms ? "rms_norm_eps" : "layer_norm_eps",
                  "a small number");
  const double scalar = config.number("query_pre_attn_scalar", 0);
  n.attention_scale = config.number(
      "attention_multiplier",
      !n.row->scales_scores ? 1 : 1 / std::sqrt(scalar > 0 ? scalar : double(n.score_width())));
  n.attention_cap = config.number("attn_logit_softcapping", 0);
  n.logit_cap = config.number("final_logit_softcapping", 0);
  n.embedding_scale = config.number("embedding_multiplier", usual_embedding_scale(n));
  n.residual_scale = config.number("residual_multiplier", usual_residual_scale(n));
  n.logit_scale = config.number(
      "logits_scaling",
      config.number("lm_head_multiplier", config.number("logit_scale", usual_logit_scale(n))));
  if (n.row->depth_scale != 0) read_depth_scales(config, &n);
  if (row.says_all && !config.find("rope_parameters") && !config.find("rope_scaling"))
    config.refuse("rope_parameters", "an object");
  if (!n.row->only_mixes && !n.row->has_positions) read_rope(config, row, &n);
  if (n.row->has_latent) n.attention_scale *= n.rope.score_magnitude * n.rope.score_magnitude;
  read_windows(config, row, &n);
  read_shared_caches(config, &n);
  config.note_unread(notes);
  return n;
}

}  // namespace ingot::decoder
