// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/architectures.cpp - the table. A row has what differs from Llama.
#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {
namespace {

constexpr uint8_t kAllBiases = kQkvBias | kOutBias | kFeedForwardBias | kNormBias;

/// GGUF has another name where there are experts.
constexpr Architecture nemotron_h(const char* name) {
  return {.name = name,
          .rope = Rope::kNone,
          .feed_forward = FeedForward::kPlain,
          .activation = Activation::kReluSquared,
          .experts = Experts::kSigmoid,
          .mixer = Mixer::kMamba2,
          .has_one_part = true};
}

constexpr Architecture kArchitectures[] = {
    // Llama, Mistral, Mixtral, SmolLM2
    {.name = "llama", .rope = Rope::kNeighbors, .experts = Experts::kNormalized},
    {.name = "smollm3", .rope = Rope::kNeighbors, .plain_period = 4},
    {.name = "granite", .rope = Rope::kNeighbors, .divides_logits = true},
    {.name = "granitemoe",
     .rope = Rope::kNeighbors,
     .experts = Experts::kNormalized,
     .divides_logits = true},
    // Granite 4.0-H; without experts where it has none
    {.name = "granitehybrid",
     .rope = Rope::kNeighbors,
     .experts = Experts::kNormalized,
     .divides_logits = true,
     .mixer = Mixer::kMamba2},
    {.name = "falcon-h1", .mixer = Mixer::kMamba2, .mixes_beside = true},
    nemotron_h("nemotron_h"),
    nemotron_h("nemotron_h_moe"),
    // falcon-mamba too
    {.name = "mamba",
     .rope = Rope::kNone,
     .mixer = Mixer::kMamba,
     .has_one_part = true,
     .only_mixes = true},
    {.name = "mamba2",
     .rope = Rope::kNone,
     .mixer = Mixer::kMamba2,
     .has_one_part = true,
     .only_mixes = true},
    {.name = "internlm2", .rope = Rope::kNeighbors},
    {.name = "ernie4_5", .rope = Rope::kNeighbors},
    {.name = "ernie4_5-moe", .rope = Rope::kNeighbors, .experts = Experts::kNormalized},
    {.name = "chatglm", .rope = Rope::kNeighbors, .feed_forward = FeedForward::kGatedInOne},
    {.name = "glm4",
     .places = NormPlaces::kBoth,
     .rope = Rope::kNeighbors,
     .feed_forward = FeedForward::kGatedInOne},
    {.name = "arcee",
     .rope = Rope::kNeighbors,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kReluSquared},
    {.name = "qwen2", .biases = kQkvBias},
    {.name = "qwen2moe", .biases = kQkvBias, .experts = Experts::kAsTheyAre},
    {.name = "qwen3", .head_norm = HeadNorm::kEachHead},
    {.name = "qwen3moe", .head_norm = HeadNorm::kEachHead, .experts = Experts::kNormalized},
    {.name = "qwen3next",
     .head_norm = HeadNorm::kEachHead,
     .experts = Experts::kNormalized,
     .feed_forward_norm = "post_attention_norm",
     .mixer = Mixer::kDeltaNet,
     .gates_attention = true},
    {.name = "qwen35",
     .head_norm = HeadNorm::kEachHead,
     .feed_forward_norm = "post_attention_norm",
     .mixer = Mixer::kDeltaNet,
     .tiles_heads = true,
     .gates_attention = true},
    {.name = "qwen35moe",
     .head_norm = HeadNorm::kEachHead,
     .experts = Experts::kNormalized,
     .feed_forward_norm = "post_attention_norm",
     .mixer = Mixer::kDeltaNet,
     .tiles_heads = true,
     .gates_attention = true},
    {.name = "olmoe", .head_norm = HeadNorm::kWholeRow, .experts = Experts::kAsTheyAre},
    {.name = "gpt-oss",
     .activation = Activation::kClampedSwish,
     .biases = kQkvBias | kOutBias | kExpertBias,
     .experts = Experts::kOfChosen,
     .feed_forward_norm = "post_attention_norm",
     .has_sinks = true,
     .splits_pairs = true,
     .window_period = 2},
    {.name = "lfm2",
     .head_norm = HeadNorm::kEachHead,
     .final_norm = "token_embd_norm",
     .mixer = Mixer::kConvolution},
    {.name = "lfm2moe",
     .head_norm = HeadNorm::kEachHead,
     .experts = Experts::kSigmoid,
     .final_norm = "token_embd_norm",
     .mixer = Mixer::kConvolution},
    {.name = "seed_oss", .biases = kQkvBias},
    // DeepSeek-V2 and V3, GLM-4.7-Flash, Moonlight; how experts are chosen is in the metadata
    {.name = "deepseek2",
     .rope = Rope::kNeighbors,
     .experts = Experts::kAsTheyAre,
     .has_latent = true},
    {.name = "minicpm3",
     .embedding_scale = 12,
     .depth_scale = 1.4,
     .logit_width = 256,
     .has_latent = true},
    // OLMo 3, too, which has windows
    {.name = "olmo2",
     .places = NormPlaces::kAfter,
     .head_norm = HeadNorm::kWholeRow,
     .window_period = 4,
     .plain_windows = true},
    {.name = "hunyuan-dense", .head_norm = HeadNorm::kEachHead, .norms_turned = true},
    {.name = "exaone4",
     .places = NormPlaces::kAfter,
     .head_norm = HeadNorm::kEachHead,
     .window_period = 4,
     .turns_windows = true},
    {.name = "phi3", .feed_forward = FeedForward::kGatedInOne, .window_period = 1},
    {.name = "gemma", .activation = Activation::kGeluTanh, .scales_embedding = true},
    {.name = "gemma2",
     .places = NormPlaces::kBoth,
     .activation = Activation::kGeluTanh,
     .scales_embedding = true,
     .window_period = 2,
     .odd_scale_layers = 46},
    {.name = "gemma3",
     .places = NormPlaces::kBoth,
     .head_norm = HeadNorm::kEachHead,
     .activation = Activation::kGeluTanh,
     .scales_embedding = true,
     .window_period = 6,
     .window_rope_base = 10000,
     .odd_scale_layers = 62},
    {.name = "gemma4",
     .places = NormPlaces::kBoth,
     .head_norm = HeadNorm::kEachHead,
     .activation = Activation::kGeluTanh,
     .experts = Experts::kNormalized,
     .scales_embedding = true,
     .window_period = 6,
     .window_rope_base = 10000,
     .norms_values = true,
     .scales_scores = false,
     .has_experts_beside = true},
    // EmbeddingGemma
    {.name = "gemma-embedding",
     .places = NormPlaces::kBoth,
     .head_norm = HeadNorm::kEachHead,
     .activation = Activation::kGeluTanh,
     .scales_embedding = true,
     .window_period = 6,
     .window_rope_base = 10000,
     .is_encoder = true},
    {.name = "stablelm", .norm = NormKind::kLayer, .biases = kNormBias},
    {.name = "command-r",
     .norm = NormKind::kLayer,
     .rope = Rope::kNeighbors,
     .parallel = Parallel::kAlways},
    {.name = "cohere2",
     .norm = NormKind::kLayer,
     .rope = Rope::kNeighbors,
     .parallel = Parallel::kAlways,
     .window_period = 4,
     .plain_period = 4},
    {.name = "starcoder",
     .norm = NormKind::kLayer,
     .rope = Rope::kNone,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGeluTanh,
     .biases = kAllBiases,
     .has_positions = true},
    {.name = "gpt2",
     .norm = NormKind::kLayer,
     .rope = Rope::kNone,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGeluTanh,
     .biases = kAllBiases,
     .has_positions = true},
    {.name = "gptneox",
     .norm = NormKind::kLayer,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGelu,
     .parallel = Parallel::kByMetadata,
     .biases = kAllBiases},
    {.name = "phi2",
     .norm = NormKind::kLayer,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGeluTanh,
     .parallel = Parallel::kAlways,
     .biases = kAllBiases | kHeadBias},
    {.name = "falcon",
     .norm = NormKind::kLayer,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGelu,
     .parallel = Parallel::kAlways,
     .biases = kNormBias},
    {.name = "starcoder2",
     .norm = NormKind::kLayer,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGeluTanh,
     .biases = kAllBiases},
    {.name = "nemotron",
     .norm = NormKind::kLayer,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kReluSquared,
     .biases = kNormBias},
    {.name = "bert",
     .norm = NormKind::kLayer,
     .places = NormPlaces::kOfSum,
     .rope = Rope::kNone,
     .feed_forward = FeedForward::kPlain,
     .activation = Activation::kGelu,
     .biases = kAllBiases,
     .has_positions = true,
     .is_encoder = true,
     .norms_embedding = true},
    {.name = "nomic-bert",
     .norm = NormKind::kLayer,
     .places = NormPlaces::kOfSum,
     .biases = kNormBias,
     .is_encoder = true,
     .norms_embedding = true},
    {.name = "modern-bert",
     .norm = NormKind::kLayer,
     .feed_forward = FeedForward::kGatedInOne,
     .activation = Activation::kGelu,
     .window_period = 3,
     .window_rope_base = 10000,
     .is_encoder = true,
     .is_whole_first = true,
     .norms_embedding = true,
     .skips_first_norm = true},
};

}  // namespace

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures)
    if (name == row.name) return &row;
  return nullptr;
}

bool share_caches(DecoderNumbers* n, int64_t shared, int64_t of_windows) {
  const int64_t own = int64_t(n->layers.size()) - shared;
  int64_t last[2] = {-1, -1};
  for (int64_t i = 0; i < int64_t(n->layers.size()); i++) {
    LayerNumbers& layer = n->layers[size_t(i)];
    const bool has_window = layer.window != 0;
    if (has_window) layer.head_width = of_windows;
    if (i < own)
      last[has_window] = i;
    else
      layer.caches_of = last[has_window];
    if (i >= own && layer.caches_of < 0) return false;
  }
  return true;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& row : kArchitectures) names.emplace_back(row.name);
  return names;
}

}  // namespace ingot::decoder
