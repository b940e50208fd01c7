// SPDX-License-Identifier: Apache-2.0
// tests/import/decoder/gguf_source.h - a GGUF file made in a test, and a small Llama.
#pragma once
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "tests/support/scratch.h"

namespace ingot::test::gguf {

inline std::string text(const std::string& s) { return little_endian(s.size(), 8) + s; }
inline std::string whole(uint32_t n) { return little_endian(4, 4) + little_endian(n, 4); }
inline std::string word(const std::string& s) { return little_endian(8, 4) + text(s); }
inline std::string real(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return little_endian(6, 4) + little_endian(bits, 4);
}

inline std::string list(const std::vector<std::string>& words) {
  std::string out = little_endian(9, 4) + little_endian(8, 4) + little_endian(words.size(), 8);
  for (const std::string& word : words) out += text(word);
  return out;
}
inline std::string list(const std::vector<uint32_t>& numbers) {
  std::string out = little_endian(9, 4) + little_endian(4, 4) + little_endian(numbers.size(), 8);
  for (const uint32_t number : numbers) out += little_endian(number, 4);
  return out;
}
inline std::string list(const std::vector<float>& numbers) {
  std::string out = little_endian(9, 4) + little_endian(6, 4) + little_endian(numbers.size(), 8);
  for (const float number : numbers) out += real(number).substr(4);
  return out;
}

/// A file that a case changes: values of the metadata as they lie, and dims of tensors of f32.
struct Source {
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::vector<uint64_t>> tensors;  // slowest first
  bool is_random = false;                                // weights, from -1 to 1; else they rise
  uint32_t seed = 1;

  std::map<std::string, std::vector<float>> values() const {
    std::map<std::string, std::vector<float>> all;
    float next = 0;
    uint32_t state = seed;
    for (const auto& [name, dims] : tensors) {
      uint64_t count = 1;
      for (const uint64_t dim : dims) count *= dim;
      for (uint64_t i = 0; i < count; i++, next++) {
        state = state * 1664525u + 1013904223u;
        const float lot = float(int32_t(state) >> 8) / float(1 << 23);
        // what a state is multiplied by must not make it grow
        const bool is_decay = name.size() > 5 && name.compare(name.size() - 5, 5, "ssm_a") == 0;
        all[name].push_back(!is_random ? next / 1024 : is_decay ? -std::fabs(lot) : lot);
      }
    }
    return all;
  }
  std::string bytes() const {
    std::string head = "GGUF" + little_endian(3, 4) + little_endian(tensors.size(), 8) +
                       little_endian(metadata.size(), 8);
    for (const auto& [key, value] : metadata) head += text(key) + value;
    std::string data;
    for (const auto& [name, values] : values()) {
      const std::vector<uint64_t>& dims = tensors.at(name);
      head += text(name) + little_endian(dims.size(), 4);
      for (size_t d = dims.size(); d-- > 0;) head += little_endian(dims[d], 8);
      head += little_endian(0, 4) + little_endian(data.size(), 8);
      data.append(reinterpret_cast<const char*>(values.data()), 4 * values.size());
      data.resize((data.size() + 31) / 32 * 32, '\0');
    }
    head.resize((head.size() + 31) / 32 * 32, '\0');
    return head + data;
  }
};

/// Llama of two layers, 8 wide, two heads of 4 and one of keys, 10 tokens.
inline Source llama() {
  Source s;
  s.metadata = {{"general.architecture", word("llama")},
                {"llama.block_count", whole(2)},
                {"llama.context_length", whole(64)},
                {"llama.embedding_length", whole(8)},
                {"llama.feed_forward_length", whole(12)},
                {"llama.attention.head_count", whole(2)},
                {"llama.attention.head_count_kv", whole(1)},
                {"llama.attention.layer_norm_rms_epsilon", real(1e-5f)}};
  s.tensors = {{"token_embd.weight", {10, 8}}, {"output_norm.weight", {8}}};
  for (const std::string layer : {"blk.0.", "blk.1."})
    for (const auto& [name, dims] :
         std::map<std::string, std::vector<uint64_t>>{{"attn_norm", {8}},
                                                      {"attn_q", {8, 8}},
                                                      {"attn_k", {4, 8}},
                                                      {"attn_v", {4, 8}},
                                                      {"attn_output", {8, 8}},
                                                      {"ffn_norm", {8}},
                                                      {"ffn_gate", {12, 8}},
                                                      {"ffn_up", {12, 8}},
                                                      {"ffn_down", {8, 12}}})
      s.tensors[layer + name + ".weight"] = dims;
  return s;
}

/// Three layers of the same widths, attention in the middle: what every architecture has whose
/// other layers are something else.
inline Source attention_in_the_middle(const std::string& name) {
  Source s;
  s.metadata = {{"general.architecture", word(name)},
                {name + ".block_count", whole(3)},
                {name + ".context_length", whole(64)},
                {name + ".embedding_length", whole(8)},
                {name + ".feed_forward_length", whole(12)},
                {name + ".attention.head_count", whole(2)},
                {name + ".attention.head_count_kv", list(std::vector<uint32_t>{0, 1, 0})},
                {name + ".attention.layer_norm_rms_epsilon", real(1e-5f)}};
  s.tensors = {{"token_embd.weight", {10, 8}},
               {"blk.1.attn_q.weight", {8, 8}},
               {"blk.1.attn_k.weight", {4, 8}},
               {"blk.1.attn_v.weight", {4, 8}},
               {"blk.1.attn_output.weight", {8, 8}}};
  for (const std::string layer : {"blk.0.", "blk.1.", "blk.2."}) {
    s.tensors[layer + "attn_norm.weight"] = s.tensors[layer + "ffn_norm.weight"] = {8};
    s.tensors[layer + "ffn_gate.weight"] = s.tensors[layer + "ffn_up.weight"] = {12, 8};
    s.tensors[layer + "ffn_down.weight"] = {8, 12};
  }
  return s;
}

/// LFM2: a convolution of three tokens in front of attention, and one behind it.
inline Source lfm2() {
  Source s = attention_in_the_middle("lfm2");
  s.metadata["lfm2.shortconv.l_cache"] = whole(3);
  s.tensors["token_embd_norm.weight"] = {8};
  s.tensors["blk.1.attn_q_norm.weight"] = s.tensors["blk.1.attn_k_norm.weight"] = {4};
  for (const std::string layer : {"blk.0.", "blk.2."}) {
    s.tensors[layer + "shortconv.in_proj.weight"] = {24, 8};
    s.tensors[layer + "shortconv.conv.weight"] = {8, 3};
    s.tensors[layer + "shortconv.out_proj.weight"] = {8, 8};
  }
  return s;
}

/// Recurrences of `heads` heads, eight columns in all, that share two keys of three elements;
/// convolutions of three tokens in front of them.
inline Source recurrent(const std::string& name, uint32_t heads) {
  Source s = attention_in_the_middle(name);
  s.metadata[name + ".ssm.conv_kernel"] = s.metadata[name + ".ssm.state_size"] = whole(3);
  s.metadata[name + ".ssm.inner_size"] = whole(8);
  s.metadata[name + ".ssm.time_step_rank"] = whole(heads);
  s.metadata[name + ".ssm.group_count"] = whole(2);
  s.tensors["output_norm.weight"] = {8};
  for (const std::string layer : {"blk.0.", "blk.2."}) {
    s.tensors[layer + "ssm_conv1d.weight"] = {20, 3};
    s.tensors[layer + "ssm_dt.bias"] = {heads};
    s.tensors[layer + "ssm_out.weight"] = {8, 8};
  }
  return s;
}

/// Granite 4.0-H: Mamba-2 of two heads of 4 in two groups.
inline Source granite() {
  Source s = recurrent("granitehybrid", 2);
  for (const std::string layer : {"blk.0.", "blk.2."}) {
    s.tensors[layer + "ssm_in.weight"] = {30, 8};
    s.tensors[layer + "ssm_conv1d.bias"] = {20};
    s.tensors[layer + "ssm_a"] = s.tensors[layer + "ssm_d"] = {2, 1};
    s.tensors[layer + "ssm_norm.weight"] = {2, 4};
  }
  return s;
}

/// Two layers of that Mamba-2 and nothing else.
inline Source mamba2() {
  const Source granite = gguf::granite();
  Source s;
  for (const auto& [key, value] : granite.metadata)
    s.metadata[key.compare(0, 7, "granite") ? key : "mamba2" + key.substr(key.find('.'))] = value;
  s.metadata["general.architecture"] = word("mamba2");
  s.metadata["mamba2.block_count"] = whole(2);
  for (const char* key : {"attention.head_count", "attention.head_count_kv", "feed_forward_length"})
    s.metadata[std::string("mamba2.") + key] = whole(0);
  for (const char* name : {"token_embd.weight", "output_norm.weight"})
    s.tensors[name] = granite.tensors.at(name);
  for (const auto& [name, dims] : granite.tensors)
    if (const std::string own = name.substr(name.find('.') + 1);
        name.compare(0, 6, "blk.0.") == 0 && own.find("ffn") == std::string::npos)
      s.tensors[name] = s.tensors["blk.1." + own.substr(2)] = dims;
  return s;
}

/// Qwen3.5: delta nets of four heads of 2.
inline Source qwen35() {
  Source s = recurrent("qwen35", 4);
  s.metadata["qwen35.attention.head_count_kv"] = whole(1);
  s.metadata["qwen35.full_attention_interval"] = whole(2);
  s.tensors["blk.1.attn_q.weight"] = {16, 8};
  s.tensors["blk.1.attn_q_norm.weight"] = s.tensors["blk.1.attn_k_norm.weight"] = {4};
  for (const std::string layer : {"blk.0.", "blk.1.", "blk.2."}) {
    s.tensors.erase(layer + "ffn_norm.weight");
    s.tensors[layer + "post_attention_norm.weight"] = {8};
  }
  for (const std::string layer : {"blk.0.", "blk.2."}) {
    s.tensors[layer + "attn_qkv.weight"] = {20, 8};
    s.tensors[layer + "attn_gate.weight"] = {8, 8};
    s.tensors[layer + "ssm_alpha.weight"] = s.tensors[layer + "ssm_beta.weight"] = {4, 8};
    s.tensors[layer + "ssm_a"] = {4};
    s.tensors[layer + "ssm_norm.weight"] = {2};
  }
  return s;
}

/// DeepSeek-V3: a latent of 6, heads of 2 + 2 elements with values of 3; four experts, of which two
/// are used, in the second layer.
inline Source deepseek2() {
  Source s = llama();
  s.metadata.clear();
  const std::string at = "deepseek2.";
  s.metadata = {{"general.architecture", word("deepseek2")},
                {at + "block_count", whole(2)},
                {at + "context_length", whole(64)},
                {at + "embedding_length", whole(8)},
                {at + "feed_forward_length", whole(12)},
                {at + "attention.head_count", whole(2)},
                {at + "attention.head_count_kv", whole(1)},
                {at + "attention.layer_norm_rms_epsilon", real(1e-6f)},
                {at + "attention.kv_lora_rank", whole(6)},
                {at + "attention.key_length", whole(8)},
                {at + "attention.value_length", whole(6)},
                {at + "attention.key_length_mla", whole(4)},
                {at + "attention.value_length_mla", whole(3)},
                {at + "rope.dimension_count", whole(2)},
                {at + "leading_dense_block_count", whole(1)},
                {at + "expert_count", whole(4)},
                {at + "expert_used_count", whole(2)},
                {at + "expert_shared_count", whole(1)},
                {at + "expert_feed_forward_length", whole(5)},
                {at + "expert_weights_scale", real(2.5f)},
                {at + "expert_weights_norm", little_endian(7, 4) + '\1'},
                {at + "expert_gating_func", whole(2)}};
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    for (const char* name : {"attn_k", "attn_v"}) s.tensors.erase(layer + name + ".weight");
    s.tensors[layer + "attn_kv_a_mqa.weight"] = {8, 8};
    s.tensors[layer + "attn_kv_a_norm.weight"] = {6};
    s.tensors[layer + "attn_k_b.weight"] = {2, 6, 2};
    s.tensors[layer + "attn_v_b.weight"] = {2, 3, 6};
    s.tensors[layer + "attn_output.weight"] = {8, 6};
  }
  s.tensors["blk.1.ffn_gate_inp.weight"] = {4, 8};
  s.tensors["blk.1.exp_probs_b.bias"] = {4};
  for (const std::string part : {"gate", "up", "down"}) {
    const bool is_down = part == "down";
    s.tensors.erase("blk.1.ffn_" + part + ".weight");
    s.tensors["blk.1.ffn_" + part + "_exps.weight"] = {4, is_down ? 8u : 5u, is_down ? 5u : 8u};
    s.tensors["blk.1.ffn_" + part + "_shexp.weight"] = {is_down ? 8u : 5u, is_down ? 5u : 8u};
  }
  return s;
}

}  // namespace ingot::test::gguf
