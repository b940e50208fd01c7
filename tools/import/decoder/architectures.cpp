// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/architectures.cpp - the table. A row has what differs from Llama.
#include "tools/import/decoder/architecture.h"

namespace ingot::decoder {
namespace {

constexpr uint8_t kAllBiases = kQkvBias | kOutBias | kFeedForwardBias | kNormBias;

constexpr Architecture kArchitectures[] = {
    // Llama, Mistral, Mixtral, SmolLM2
    {.name = "llama", .rope = Rope::kNeighbors, .experts = Experts::kNormalized},
    {.name = "smollm3", .rope = Rope::kNeighbors, .plain_period = 4},
    {.name = "granite", .rope = Rope::kNeighbors, .divides_logits = true},
    {.name = "internlm2", .rope = Rope::kNeighbors},
    {.name = "ernie4_5", .rope = Rope::kNeighbors},
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
    {.name = "olmoe", .head_norm = HeadNorm::kWholeRow, .experts = Experts::kAsTheyAre},
    {.name = "seed_oss", .biases = kQkvBias},
    {.name = "olmo2", .places = NormPlaces::kAfter, .head_norm = HeadNorm::kWholeRow},
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
     .norms_embedding = true,
     .skips_first_norm = true},
};

}  // namespace

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures)
    if (name == row.name) return &row;
  return nullptr;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& row : kArchitectures) names.emplace_back(row.name);
  return names;
}

}  // namespace ingot::decoder
