// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/hugging_face_mixers.h"

namespace ingot::decoder {
namespace {

constexpr double kMaxStep = 3e38;  // of f32

/// In place of attention.
void mix(LayerNumbers* layer) { layer->kv_heads = 0, layer->mixes = true; }

void read_convolutions(Config& config, DecoderNumbers* n) {
  n->convolution = config.need("conv_L_cache", kMaxConvolution);
  n->has_convolution_bias = config.flag("conv_bias", false);
  for (const char* key : {"block_dim", "conv_dim", "conv_dim_out"})
    if (config.integer(key, n->width, 1, 1 << 24) != n->width)
      config.refuse(key, std::to_string(n->width) + ", the hidden_size");
  const Json* types = find_layer_types(config, "layer_types", n->layers.size());
  const std::vector<double> attends = config.numbers("full_attn_idxs");
  if (!types && attends.empty())
    config.refuse("layer_types", "a list of " + std::to_string(n->layers.size()) + " texts");
  bool any = false;
  for (size_t i = 0; i < n->layers.size(); i++) {
    const Json own = types ? (*types)[i] : Json();
    if (types && own != "full_attention" && own != "conv")
      config.refuse("layer_types", "full_attention or conv");
    const bool is_attention = types ? own == "full_attention"
                                    : std::count(attends.begin(), attends.end(), double(i)) != 0;
    if (!is_attention) mix(&n->layers[i]);
    any |= is_attention;
  }
  if (!any)
    config.refuse(types ? "layer_types" : "full_attn_idxs", "one layer of attention at least");
}

/// What Mamba-2 calls its numbers.
struct MambaKeys {
  const char *heads, *groups, *state, *width, *length, *conv_bias, *bias;
};
constexpr MambaKeys kMamba = {"mamba_n_heads", "mamba_n_groups",  "mamba_d_state",  "mamba_d_head",
                              "mamba_d_conv",  "mamba_conv_bias", "mamba_proj_bias"},
                    kNemotron = {"mamba_num_heads", "n_groups",    "ssm_state_size",
                                 "mamba_head_dim",  "conv_kernel", "use_conv_bias",
                                 "mamba_proj_bias"},
                    kAlone = {"num_heads",   "n_groups",      "state_size", "head_dim",
                              "conv_kernel", "use_conv_bias", "use_bias"};

/// Bounds of the step of time: [0, infinity] is none, however infinity is written.
void read_step_limit(Config& config, RecurrenceNumbers* r) {
  constexpr const char* kKey = "time_step_limit";
  const Json* limit = config.find(kKey);
  if (!limit) return;
  const Json infinite = {{"__float__", "Infinity"}};
  if (!limit->is_array() || limit->size() != 2 || !(*limit)[0].is_number() ||
      !((*limit)[1].is_number() || (*limit)[1] == infinite))
    config.refuse(kKey, "two numbers");
  const double least = (*limit)[0].get<double>(),
               most = (*limit)[1] == infinite ? kMaxStep : (*limit)[1].get<double>();
  if (!(least >= 0 && most > least))
    config.refuse(kKey, "a lower bound of 0 or more, and an upper");
  if (least > 0 || most < kMaxStep) r->least_step = least, r->most_step = std::min(most, kMaxStep);
}

int64_t read_mamba(Config& config, const MambaKeys& keys, DecoderNumbers* n) {
  RecurrenceNumbers& r = n->recurrence;
  r.heads = config.need(keys.heads, kMaxHeads);
  r.key_heads = config.need(keys.groups, kMaxHeads);
  r.key_width = config.need(keys.state, kMaxStateWidth);
  const int64_t expanded = n->width *
                           config.integer(n->row->only_mixes ? "expand" : "mamba_expand", 2, 1, 64),
                inner = config.integer("mamba_d_ssm", expanded, 1, 1 << 24);
  const Json* const width = config.find(keys.width);
  const bool is_said = width && *width != "auto";
  r.value_width = is_said ? config.need(keys.width, kMaxStateWidth) : inner / r.heads;
  n->convolution = config.integer(keys.length, 4, 2, kMaxConvolution);
  n->has_convolution_bias = config.flag(keys.conv_bias, true);
  r.has_bias = config.flag(keys.bias, false);
  read_step_limit(config, &r);
  return n->row->has_one_part && !n->row->only_mixes ? r.values() : inner;
}

/// Of columns, alone or between layers of attention.
int64_t read_columns(Config& config, const MambaKeys& keys, DecoderNumbers* n) {
  RecurrenceNumbers& r = n->recurrence;
  const bool is_alone = n->row->only_mixes;
  const char* const kRank = is_alone ? "time_step_rank" : "mamba_dt_rank";
  const int64_t expanded =
                    n->width * config.integer(is_alone ? "expand" : "mamba_expand", 2, 1, 64),
                inner = is_alone ? config.integer("intermediate_size", expanded, 1, kMaxHeads)
                                 : expanded;
  if (inner > kMaxHeads)
    config.refuse("hidden_size", "at most " + std::to_string(kMaxHeads) + " with its expansion");
  r.heads = inner, r.key_heads = 1, r.value_width = 1;
  r.key_width = config.need(keys.state, kMaxStateWidth);
  const Json* const rank = config.find(kRank);
  r.step_rank = rank && *rank != "auto" ? config.need(kRank, kMaxWidth) : (n->width + 15) / 16;
  n->convolution = config.integer(keys.length, 4, 2, kMaxConvolution);
  n->has_convolution_bias = config.flag(keys.conv_bias, true);
  r.has_bias = config.flag(keys.bias, false);
  if (!is_alone) {
    r.norms_parts = r.weighs_parts = true;
    return inner;
  }
  r.norms_parts = config.text("model_type", "") == "falcon_mamba";
  if (r.norms_parts) r.part_epsilon = config.number("mixer_rms_eps", 1e-6);
  if (r.norms_parts && !(r.part_epsilon > 0))
    config.refuse("mixer_rms_eps", "a small number above 0");
  return inner;
}

/// Factors, which GGUF's weights have in them.
void read_scales(Config& config, DecoderNumbers* n) {
  MixerScales& s = n->scales;
  s.attention_in = config.number("attention_in_multiplier", 1);
  s.attention_out = config.number("attention_out_multiplier", 1);
  s.key = config.number("key_multiplier", 1);
  s.in = config.number("ssm_in_multiplier", 1), s.out = config.number("ssm_out_multiplier", 1);
  const std::vector<double> feed_forward = config.numbers("mlp_multipliers");
  if (!feed_forward.empty() && feed_forward.size() != 2)
    config.refuse("mlp_multipliers", "two numbers");
  if (!feed_forward.empty()) s.gate = feed_forward[0], s.down = feed_forward[1];
  s.parts = config.numbers("ssm_multipliers");
  if (!s.parts.empty() && s.parts.size() != 5) config.refuse("ssm_multipliers", "five numbers");
  n->recurrence.has_norm = config.flag("mamba_rms_norm", false);
  n->recurrence.gates_norm = config.flag("mamba_norm_before_gate", true);
}

int64_t read_delta_net(Config& config, DecoderNumbers* n) {
  RecurrenceNumbers& r = n->recurrence;
  r.heads = config.need("linear_num_value_heads", kMaxHeads);
  r.key_heads = config.need("linear_num_key_heads", kMaxHeads);
  r.key_width = config.need("linear_key_head_dim", kMaxStateWidth);
  r.value_width = config.need("linear_value_head_dim", kMaxStateWidth);
  n->convolution = config.integer("linear_conv_kernel_dim", 4, 2, kMaxConvolution);
  if (!config.flag("attn_output_gate", true)) config.refuse("attn_output_gate", "true");
  return r.values();
}

/// What a layer is, by each name that it has had.
enum class LayerKind : uint8_t { kUnknown, kRecurrence, kAttention, kFeedForward, kExperts };
LayerKind kind_of(const std::string& name) {
  if (name == "linear_attention" || name == "mamba" || name == "M") return LayerKind::kRecurrence;
  if (name == "full_attention" || name == "attention" || name == "*") return LayerKind::kAttention;
  if (name == "moe" || name == "E") return LayerKind::kExperts;
  return name == "mlp" || name == "-" ? LayerKind::kFeedForward : LayerKind::kUnknown;
}

/// Names of all layers: in a list, in a text with a letter for each, or all but one of so many.
std::vector<std::string> read_kinds(Config& config, DecoderNumbers* n) {
  const size_t count = n->layers.size();
  const int64_t every = config.integer("full_attention_interval", 4, 1, 1024);
  const std::string pattern = config.text("hybrid_override_pattern", "");
  const char* const key = config.find("layer_types") ? "layer_types" : "layers_block_type";
  std::vector<std::string> kinds;
  if (const Json* types = find_layer_types(config, key, count)) {
    for (const Json& type : *types) {
      if (!type.is_string()) config.refuse(key, "a list of texts");
      kinds.push_back(type.get<std::string>());
    }
  } else if (!pattern.empty()) {
    for (const char letter : pattern) kinds.emplace_back(1, letter);
    if (kinds.size() != count)
      config.refuse("hybrid_override_pattern",
                    "a letter for each of " + std::to_string(count) + " layers");
  } else if (n->row->mixer == Mixer::kMamba) {
    const int64_t period = config.integer("attn_layer_period", 8, 1, kMaxLayers),
                  own = config.integer("attn_layer_offset", period / 2, 0, period - 1);
    for (size_t i = 0; i < count; i++)
      kinds.push_back(int64_t(i) % period == own ? "attention" : "mamba");
  } else if (n->row->mixer == Mixer::kDeltaNet) {
    for (size_t i = 1; i <= count; i++)
      kinds.push_back(int64_t(i) % every ? "linear_attention" : "full_attention");
  } else {
    config.refuse(n->row->has_one_part ? "layers_block_type" : "layer_types",
                  "a list of " + std::to_string(count) + " texts");
  }
  return kinds;
}

void read_recurrent_layers(Config& config, DecoderNumbers* n) {
  const std::vector<std::string> kinds = read_kinds(config, n);
  bool any = false;
  for (size_t i = 0; i < kinds.size(); i++) {
    const LayerKind kind = kind_of(kinds[i]);
    const bool feeds = kind == LayerKind::kFeedForward || kind == LayerKind::kExperts,
               is_known = kind != LayerKind::kUnknown && (!feeds || n->row->has_one_part);
    if (!is_known)
      graph::fail_unsupported(config.file(),
                              "its layer " + std::to_string(i) + " is of the type '" + kinds[i] +
                                  "', expected linear_attention or mamba, full_attention or "
                                  "attention" +
                                  (n->row->has_one_part ? ", mlp or moe" : ""));
    LayerNumbers& layer = n->layers[i];
    if (kind == LayerKind::kRecurrence) mix(&layer);
    layer.has_experts = kind == LayerKind::kExperts;
    if (feeds)
      layer.kv_heads = 0;
    else if (n->row->has_one_part)
      layer.hidden = 0;
    any |= kind == LayerKind::kAttention;
  }
  if (!any)
    graph::fail_unsupported(
        config.file(), "no layer of it is attention, expected one layer of attention at least");
}

}  // namespace

const Json* find_layer_types(Config& config, const char* key, size_t layers) {
  const Json* types = config.find(key);
  if (types && (!types->is_array() || types->size() != layers))
    config.refuse(key, "a list of " + std::to_string(layers) + " texts");
  return types;
}

void read_mixers(Config& config, DecoderNumbers* n) {
  if (n->row->mixer == Mixer::kNone) return;
  if (n->row->mixer == Mixer::kConvolution) return read_convolutions(config, n);
  const Architecture& row = *n->row;
  if (row.mixes_beside || row.only_mixes)
    for (LayerNumbers& layer : n->layers) layer.mixes = true;
  else
    read_recurrent_layers(config, n);
  const MambaKeys& keys = row.only_mixes ? kAlone : row.has_one_part ? kNemotron : kMamba;
  const int64_t inner = row.mixer == Mixer::kDeltaNet ? read_delta_net(config, n)
                        : row.mixer == Mixer::kMamba  ? read_columns(config, keys, n)
                                                      : read_mamba(config, keys, n);
  n->recurrence.is_logarithm = true;
  const auto refuse = [&](const char* key, int64_t found, const std::string& expected) {
    graph::fail_unsupported(config.file(), "the " + std::string(key) + " of its recurrences is " +
                                               std::to_string(found) + ", expected " + expected);
  };
  check_recurrence(n->recurrence, inner, refuse);
  if (n->recurrence.values() != inner)
    refuse("inner_size", n->recurrence.values(),
           std::to_string(inner) + ", the width times its expansion");
  if (row.mixes_beside) return read_scales(config, n);
  if (row.mixer != Mixer::kMamba2 || row.only_mixes) return;
  // attention between them may be without
  const bool rotates = config.text("position_embedding_type", "") == "rope";
  for (LayerNumbers& layer : n->layers) layer.rotates = rotates;
}

}  // namespace ingot::decoder
