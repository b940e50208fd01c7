// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_config.h - the numbers of a decoder out of the config.json of a
// Hugging Face folder, and what such a folder calls its tensors. Needs nlohmann-json.
#pragma once
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/gguf_metadata.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

/// A name of folders, and what stands for it here; lists end with one that is null.
struct OwnName {
  const char *own, *usual;
};

/// Experts in one tensor of all, hugging_face_experts.h.
enum class ExpertsInOneKind : uint8_t { kNone, kGptOss, kHalves };

/// One model_type. Names of tensors are those of Llama but for these.
struct HuggingFaceRow {
  const char* model_type;
  const char* architecture;  // a row of architectures.cpp
  const char* gate = "mlp.gate_proj";
  const char* up = "mlp.up_proj";
  const char* down = "mlp.down_proj";
  // null: as the places of the architecture's norms have it
  const char* feed_forward_norm = nullptr;
  const char* attention_norm = "input_layernorm";
  const char* attention_out = "self_attn.o_proj";
  const char* qkv = "self_attn.qkv_proj";
  const char *query_norm = "self_attn.q_norm", *key_norm = "self_attn.k_norm";
  const char* final_norm = "model.norm";
  const char* attention_out_norm = "post_attention_layernorm";
  const char* feed_forward_out_norm = "post_feedforward_layernorm";
  // of mixtures of experts; null: the architecture has none here
  const char* router = nullptr;
  const char* experts = nullptr;  // in front of the number of an expert
  const char* expert_parts[3] = {"gate_proj", "up_proj", "down_proj"};
  const char* shared_parts[3] = {"mlp.shared_expert.gate_proj", "mlp.shared_expert.up_proj",
                                 "mlp.shared_expert.down_proj"};
  const char* expert_choice = "feed_forward.expert";
  ExpertsInOneKind experts_in_one = ExpertsInOneKind::kNone;
  const char* hidden = "intermediate_size";
  int64_t hidden_widths = 0;  // where the configuration has no `hidden`; 0: it must
  bool says_all = false;      // rope and window, which have defaults of their own there
  Rope order = Rope::kHalves;
  // an encoder with the keys and names of a decoder, which use_bidirectional_attention makes it
  bool is_bidirectional = false;
  double norm_shift = 0;
  bool has_alpha = false;   // of rotations that are "dynamic": it stretches their base once
  double rotated_part = 1;  // of a head, where the configuration has none
  const char* embedding = "model.embed_tokens";
  const char* positions = "model.positions";
  int64_t first_position = 0;  // row of the first token in them
  const char* embedding_norm = "model.embedding_norm";
  const char* layers = "model.layers.";
  const char* attention = "self_attn";
  const char* mixer = nullptr;  // in place of attention, or beside it
  const char* both = nullptr;   // gate and up in one: hugging_face_stacked.h
  bool has_window = true;       // sliding_window counts; else use_sliding_window says so
  // Of tensors: whole parts of a name, each with its dot; `usual` null: those are left out.
  const OwnName* renamed = nullptr;
  const OwnName* keys = nullptr;  // of the configuration
  const char* nested = nullptr;   // an object whose members are keys like the others
  const char* defaults = "{}";    // of the configuration, in JSON
  // more of them, of a part: a larger model's file has only what differs from its class
  const char* part_defaults = "{}";
  bool groups_qkv = false;       // as DecoderNumbers has it
  bool has_multi_query = false;  // a flag of one head of keys, true where it is missing
  bool norms_twice = false;      // as DecoderNumbers has it
  bool is_transposed = false;    // matrices of layers are [inputs, outputs]
};
/// @throws graph::ConversionError kUnsupported: not known, with the nearest that is.
const HuggingFaceRow& hugging_face_row(const nlohmann::json& config, const std::string& file);

/// Whether its model_type is known as the text's part of a larger model.
bool is_part_of_larger(const nlohmann::json& config);

struct ContextBounds {
  int64_t given = 0;  // as --context says; 0: not given
  int64_t usual = kUsualContext;
  int64_t of(int64_t trained) const { return given > 0 ? given : std::min(trained, usual); }
};
/// `notes`: keys of the configuration that nothing reads.
DecoderNumbers read_config(const nlohmann::json& config, const std::string& file,
                           const ContextBounds& context, std::vector<std::string>* notes);
/// The same of an encoder, and its names.
DecoderNumbers read_encoder_config(const HuggingFaceRow& row, const nlohmann::json& config,
                                   const std::string& file, const ContextBounds& context,
                                   std::vector<std::string>* notes);
std::string encoder_name(const HuggingFaceRow& row, Role role, Part part, int64_t layer);
/// What an encoder was trained with and its vector does not need, by its name.
bool is_left_out(const std::string& tensor);
std::string hugging_face_name(const HuggingFaceRow& row, Role role, Part part, int64_t layer);
/// Of the matrix of one expert.
std::string hugging_face_expert(const HuggingFaceRow& row, Role role, int64_t layer,
                                int64_t expert);

}  // namespace ingot::decoder
