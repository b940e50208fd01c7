// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/config_reader.h - a config.json of Hugging Face, key by key.
// Errors   graph::ConversionError kUnsupported: a key that says something else than what is known.
#pragma once
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tools/files/word_list.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/hugging_face_config.h"

namespace ingot::decoder {

using Json = nlohmann::json;

/// What says nothing about the computation.
inline const std::set<std::string>& keys_without_effect() {
  static const std::set<std::string> kKeys = host::word_list(
      "activation_dropout architectures attention_bias attention_dropout attention_out_bias "
      "attention_probs_dropout_prob attention_softmax_in_fp32 attn_impl attn_implementation "
      "attn_pdrop attn_type attn_uses_sequence_id auto_map bias bos_token_id "
      "cache_implementation chunk_size_feed_forward classifier_dropout dropout dtype emb_pdrop "
      "embd_pdrop embed_dropout embedding_dropout embedding_fraction eos_token_id "
      "experts_per_token gradient_checkpointing hidden_dropout hidden_dropout_prob id2label "
      "init_config init_device init_std initial_context_length initializer_range is_decoder "
      "is_encoder_decoder is_llama_config label2id layerdrop learned_pos_emb mamba_chunk_size "
      "mamba_ssm_dtype mlp_bias model_type n_ctx _name_or_path no_bias norm_init norm_type "
      "output_attentions output_hidden_states output_router_logits pad_token_id prefix "
      "pretraining_tp problem_type reorder_and_upcast_attn resid_pdrop residual_dropout "
      "return_dict rope_interleaved router_aux_loss_coef scale_attention_softmax_in_fp32 "
      "_sliding_window_pattern summary_activation summary_first_dropout summary_proj_to_labels "
      "summary_type summary_use_proj task_specific_params tie_embedding tie_word_embeddings "
      "torch_dtype transformers.js_config transformers_version unk_token_id "
      "use_associative_scan use_bias use_cache use_mamba_kernels use_mambapy use_qkv_bias "
      "verbose vocab_size");
  return kKeys;
}

/// Members of a configuration, which any text may be; what was read is noted.
/// `names`: keys that this one has for usual ones, which are asked for.
class Config {
 public:
  Config(const Json& json, const std::string& file, const OwnName* names = nullptr)
      : json_(json), file_(file), names_(names) {}

  /// Null where there is none, or it is null.
  const Json* find(const char* key) {
    const std::string own = name_of(key);
    read_.insert(own);
    const auto found = json_.find(own);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  double number(const char* key, double otherwise) {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_number() || !std::isfinite(value->get<double>())) refuse(key, "a number");
    return value->get<double>();
  }
  int64_t integer(const char* key, int64_t otherwise, int64_t low, int64_t high) {
    if (!find(key)) return otherwise;
    const double x = number(key, 0);
    if (!(x >= double(low) && x <= double(high)) || x != std::floor(x))
      refuse(key, "a whole number of " + std::to_string(low) + " to " + std::to_string(high));
    return int64_t(x);
  }
  int64_t need(const char* key, int64_t high) {
    if (!find(key)) refuse(key, "a number");
    return integer(key, 0, 1, high);
  }
  bool flag(const char* key, bool otherwise) {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_boolean()) refuse(key, "true or false");
    return value->get<bool>();
  }
  std::string text(const char* key, const std::string& otherwise) {
    const Json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_string()) refuse(key, "a text");
    return value->get<std::string>();
  }
  std::vector<double> numbers(const char* key) {
    std::vector<double> out;
    const Json* value = find(key);
    if (!value) return out;
    if (!value->is_array()) refuse(key, "a list of numbers");
    for (const Json& one : *value) {
      if (!one.is_number()) refuse(key, "a list of numbers");
      out.push_back(one.get<double>());
    }
    return out;
  }
  [[noreturn]] void refuse(const std::string& usual, const std::string& expected) const {
    const std::string key = name_of(usual);
    const auto found = json_.find(key);
    std::string said = found == json_.end() ? "missing" : found->dump();
    if (said.size() > 60) said = said.substr(0, 60) + "..";
    graph::fail_unsupported(file_, "its '" + key + "' is " + said + ", expected " + expected);
  }
  std::vector<std::string> unread() const {
    std::vector<std::string> all;
    for (const auto& [key, value] : json_.items())
      if (!read_.count(key) && !value.is_null() && !keys_without_effect().count(key))
        all.push_back(key);
    return all;
  }
  /// In a sentence, if any.
  void note_unread(std::vector<std::string>* notes) const {
    std::string list;
    for (const std::string& key : unread()) list += (list.empty() ? "" : ", ") + key;
    if (!list.empty()) notes->push_back("config.json says what is not read: " + list);
  }
  const std::string& file() const { return file_; }

 private:
  std::string name_of(const std::string& key) const {
    for (const OwnName* name = names_; name && name->own; name++)
      if (key == name->usual)
        return json_.contains(key) && !json_.contains(name->own) ? key : name->own;
    return key;
  }

  const Json& json_;
  const std::string& file_;
  const OwnName* const names_;
  std::set<std::string> read_;
};

}  // namespace ingot::decoder
