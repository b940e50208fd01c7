// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/import.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tools/checkpoint/flat/gguf.h"
#include "tools/files/work_budget.h"
#include "tools/import/aten/builder.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/decoder/build.h"
#include "tools/import/decoder/gguf_metadata.h"
#include "tools/import/decoder/sampling.h"
#include "tools/import/decoder/tokenizer.h"
#include "tools/text/vocabulary.h"

namespace ingot::decoder {

const char* role_name(Role role) {
  switch (role) {
    case Role::kEmbedding: return "token_embd";
    case Role::kPositions: return "position_embd";
    case Role::kTypes: return "token_types";
    case Role::kEmbeddingNorm: return "token_embd_norm";
    case Role::kFinalNorm: return "output_norm";
    case Role::kHead: return "output";
    case Role::kRopeDivisors: return "rope_freqs";
    case Role::kRopeDivisorsShort: return "rope_factors_short";
    case Role::kRopeDivisorsLong: return "rope_factors_long";
    case Role::kProjection: return "dense_2";
    case Role::kLastProjection: return "dense_3";
    case Role::kLayerTable: return "per_layer_token_embd";
    case Role::kLayerProduct: return "per_layer_model_proj";
    case Role::kLayerNorm: return "per_layer_proj_norm";
    case Role::kStreamIn: return "altup_proj";
    case Role::kStreamOut: return "altup_unembd_proj";
    case Role::kAttentionNorm: return "attn_norm";
    case Role::kQ: return "attn_q";
    case Role::kK: return "attn_k";
    case Role::kV: return "attn_v";
    case Role::kQkv: return "attn_qkv";
    case Role::kQNorm: return "attn_q_norm";
    case Role::kKNorm: return "attn_k_norm";
    case Role::kQueryLatent: return "attn_q_a";
    case Role::kQueryLatentNorm: return "attn_q_a_norm";
    case Role::kQueriesOfLatent: return "attn_q_b";
    case Role::kLatent: return "attn_kv_a_mqa";
    case Role::kLatentNorm: return "attn_kv_a_norm";
    case Role::kKeysValuesOfLatent: return "attn_kv_b";
    case Role::kKeysOfLatent: return "attn_k_b";
    case Role::kValuesOfLatent: return "attn_v_b";
    case Role::kSinks: return "attn_sinks";
    case Role::kAttentionInnerNorm: return "attn_sub_norm";
    case Role::kAttentionOut: return "attn_output";
    case Role::kAttentionOutNorm: return "post_attention_norm";
    case Role::kConvolutionIn: return "shortconv.in_proj";
    case Role::kConvolution: return "shortconv.conv";
    case Role::kConvolutionOut: return "shortconv.out_proj";
    case Role::kRecurrenceIn: return "ssm_in";
    case Role::kRecurrenceQkv: return "attn_qkv";
    case Role::kRecurrenceGate: return "attn_gate";
    case Role::kBetaAlpha: return "ssm_ba";
    case Role::kBeta: return "ssm_beta";
    case Role::kAlpha: return "ssm_alpha";
    case Role::kRecurrenceTaps: return "ssm_conv1d";
    case Role::kStepIn: return "ssm_x";
    case Role::kStep: return "ssm_dt";
    case Role::kStepNorm: return "ssm_dt_norm";
    case Role::kKeyNorm: return "ssm_b_norm";
    case Role::kQueryNorm: return "ssm_c_norm";
    case Role::kDecay: return "ssm_a";
    case Role::kSkip: return "ssm_d";
    case Role::kRecurrenceNorm: return "ssm_norm";
    case Role::kRecurrenceOut: return "ssm_out";
    case Role::kFeedForwardNorm: return "ffn_norm";
    case Role::kGate: return "ffn_gate";
    case Role::kUp: return "ffn_up";
    case Role::kFeedForwardInnerNorm: return "ffn_sub_norm";
    case Role::kDown: return "ffn_down";
    case Role::kFeedForwardOutNorm: return "post_ffw_norm";
    case Role::kExpertsNorm: return "pre_ffw_norm_2";
    case Role::kDenseOutNorm: return "post_ffw_norm_1";
    case Role::kExpertsOutNorm: return "post_ffw_norm_2";
    case Role::kLayerGate: return "inp_gate";
    case Role::kLayerOut: return "proj";
    case Role::kLayerOutNorm: return "post_norm";
    case Role::kLayerScale: return "layer_output_scale";
    case Role::kStreamRouter: return "altup_router";
    case Role::kStreamRouterNorm: return "altup_router_norm";
    case Role::kPredictions: return "altup_predict_coef";
    case Role::kCorrections: return "altup_correct_coef";
    case Role::kActiveScale: return "altup_correct_scale";
    case Role::kLowRankIn: return "laurel_l";
    case Role::kLowRankOut: return "laurel_r";
    case Role::kLowRankNorm: return "laurel_post_norm";
    case Role::kRouter: return "ffn_gate_inp";
    case Role::kRouterScale: return "ffn_gate_inp.scale";
    case Role::kExpertScale: return "ffn_down_exps.scale";
    case Role::kExpertsIn: return "ffn_latent_down";
    case Role::kExpertsOut: return "ffn_latent_up";
    case Role::kExpertChoice: return "exp_probs_b";
    case Role::kExpertGate: return "ffn_gate_exps";
    case Role::kExpertUp: return "ffn_up_exps";
    case Role::kExpertDown: return "ffn_down_exps";
    case Role::kSharedRouter: return "ffn_gate_inp_shexp";
    case Role::kSharedGate: return "ffn_gate_shexp";
    case Role::kSharedUp: return "ffn_up_shexp";
    case Role::kSharedDown: return "ffn_down_shexp";
  }
  return "";
}

namespace {

using checkpoint::GgufFile;
using checkpoint::GgufTensor;

/// The tensors of a GGUF file, or of the parts of one that was split.
class GgufTensors : public TensorSource {
 public:
  GgufTensors(const std::vector<GgufFile>& parts, const DecoderNumbers& numbers)
      : file_(parts[0].path()), row_(*numbers.row), norms_sum_(row_.places == NormPlaces::kOfSum) {
    for (const GgufFile& part : parts)
      for (const GgufTensor& tensor : part.tensors())
        if (!is_of_draft(numbers, tensor.name) &&
            !tensors_.emplace(tensor.name, Held{&tensor, part.mapping()}).second)
          graph::fail_corrupt(file_, "two parts have the tensor '" + tensor.name + "'");
    split_gates();
    if (row_.has_streams)
      for (const Role role : {Role::kStreamIn, Role::kStreamOut}) split_streams(role);
  }
  const std::string& file() const override { return file_; }
  std::string name(Role role, Part part, int64_t layer) const override {
    const char* stem = role_name(role);
    if (role == Role::kFeedForwardNorm) stem = row_.feed_forward_norm;
    if (role == Role::kFinalNorm) stem = row_.final_norm;
    if (norms_sum_ && role == Role::kAttentionOutNorm) stem = "attn_output_norm";
    if (norms_sum_ && role == Role::kFeedForwardOutNorm) stem = "layer_output_norm";
    const bool is_bare = role == Role::kDecay || role == Role::kSkip ||
                         role == Role::kRouterScale || role == Role::kExpertScale;
    const std::string own = stem + std::string(is_bare                 ? ""
                                               : part == Part::kWeight ? ".weight"
                                                                       : ".bias");
    if (role == Role::kStreamIn || role == Role::kStreamOut) return of_expert(own, layer);
    const std::string whole =
        role < Role::kAttentionNorm ? own : "blk." + std::to_string(layer) + "." + own;
    if (role != Role::kFeedForwardNorm || has(whole)) return whole;
    const std::string bare = whole.substr(0, whole.rfind('.'));  // as Falcon-H1 has it
    return part == Part::kWeight && has(bare) ? bare : whole;
  }
  std::string expert_name(Role role, int64_t layer, int64_t expert) const override {
    if (role != Role::kExpertGate && role != Role::kExpertUp) return "";
    const std::string all = name(role, Part::kWeight, layer);
    return has(of_expert(all, 0)) ? of_expert(all, expert) : "";
  }
  bool has(const std::string& name) const override { return tensors_.count(name) != 0; }
  SourceTensor load(const std::string& name) const override {
    const Held& held = tensors_.at(name);
    const GgufTensor& t = *held.tensor;
    if (held.rows == 0)
      return {t.name, t.dims, t.block, t.element, {held.mapping, t.begin, t.bytes}};
    const uint64_t row = t.bytes / uint64_t(t.dims[0] * t.dims[1]);
    return {name,
            {held.rows, t.dims[2]},
            t.block,
            t.element,
            {held.mapping, t.begin + uint64_t(held.first) * row, uint64_t(held.rows) * row}};
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, held] : tensors_) all.push_back(name);
    return all;
  }

 private:
  static std::string of_expert(const std::string& all, int64_t expert) {
    return all + "." + std::to_string(expert);
  }
  /// Experts may have gate and up in one tensor [experts, rows of both, columns], the gate first:
  /// a matrix of each expert in its place.
  void split_gates() {
    const std::string both = "ffn_gate_up_exps.weight";
    for (auto at = tensors_.begin(); at != tensors_.end();) {
      const auto [name, held] = *at;
      const std::vector<int64_t>& dims = held.tensor->dims;
      const size_t stem = name.size() - std::min(name.size(), both.size());
      const bool is_both = name.compare(stem, std::string::npos, both) == 0;
      if (!is_both || dims.size() != 3 || dims[0] < 1 || dims[0] > kMaxExperts || dims[1] < 2 ||
          dims[1] % 2) {
        ++at;
        continue;
      }
      const int64_t rows = dims[1] / 2;
      host::charge_work(uint64_t(dims[0]));
      at = tensors_.erase(at);
      for (const Role role : {Role::kExpertGate, Role::kExpertUp})
        for (int64_t e = 0; e < dims[0]; e++) {
          const int64_t first = e * dims[1] + (role == Role::kExpertUp ? rows : 0);
          const std::string all = name.substr(0, stem) + role_name(role) + ".weight";
          tensors_[of_expert(all, e)] = {held.tensor, held.mapping, first, rows};
        }
    }
  }
  /// Matrices of all streams in one tensor [streams - 1, rows, columns]: each in its place.
  void split_streams(Role role) {
    const std::string all = std::string(role_name(role)) + ".weight";
    const auto at = tensors_.find(all);
    if (at == tensors_.end()) return;
    const Held held = at->second;
    const std::vector<int64_t>& dims = held.tensor->dims;
    if (dims.size() != 3 || dims[0] < 1 || dims[0] >= kMaxStreams || dims[1] < 1) return;
    tensors_.erase(at);
    for (int64_t i = 0; i < dims[0]; i++)
      tensors_[of_expert(all, i)] = {held.tensor, held.mapping, i * dims[1], dims[1]};
  }
  static bool is_of_draft(const DecoderNumbers& n, const std::string& name) {
    if (n.draft_layers == 0 || name.rfind("blk.", 0) != 0) return false;
    const long layer = std::strtol(name.c_str() + 4, nullptr, 10);
    const auto own = int64_t(n.layers.size());
    return layer >= own && layer < own + n.draft_layers;
  }
  struct Held {
    const GgufTensor* tensor;
    std::shared_ptr<const checkpoint::MappedFile> mapping;
    int64_t first = 0, rows = 0;  // of a matrix in it; no rows: all of it
  };
  const std::string file_;
  const Architecture& row_;
  const bool norms_sum_;
  std::map<std::string, Held> tensors_;
};

/// A file, and where it is the first of several, the others beside it: NAME-00001-of-00003.gguf.
std::vector<GgufFile> open_parts(const std::string& path) {
  std::vector<GgufFile> parts;
  parts.push_back(GgufFile::open(path));
  const int64_t count = parts[0].integer("split.count").value_or(1);
  if (count <= 1) return parts;
  constexpr int64_t kMaxParts = 1000;
  const auto ending = [&](int64_t number) {
    char text[64];
    std::snprintf(text, sizeof text, "-%05d-of-%05d.gguf", int(number), int(count));
    return std::string(text);
  };
  if (count > kMaxParts || parts[0].integer("split.no").value_or(0) != 0)
    graph::fail_mismatch(path, "is a part of a split GGUF file and not its first; give " +
                                   std::string("NAME") + ending(1));
  const std::string own = ending(1);
  if (path.size() <= own.size() || path.compare(path.size() - own.size(), own.size(), own) != 0)
    graph::fail_mismatch(path, "is the first of " + std::to_string(count) +
                                   " parts, which are found by its name; expected NAME" + own);
  const std::string stem = path.substr(0, path.size() - own.size());
  for (int64_t i = 1; i < count; i++) {
    const std::string part = stem + ending(i + 1);
    std::error_code unknown;
    if (!std::filesystem::exists(part, unknown))
      graph::fail_unavailable(
          path, "its part '" + part + "' is missing; get all " + std::to_string(count) + " parts");
    parts.push_back(GgufFile::open(part));
    if (parts.back().integer("split.no") != i || parts.back().integer("split.count") != count)
      graph::fail_mismatch(part, "is not part " + std::to_string(i + 1) + " of " +
                                     std::to_string(count) + "; get it anew");
  }
  return parts;
}

/// Rows of the embedding, which every token of the vocabulary must have.
int64_t vocabulary_of(const GgufFile& file, const TensorSource& tensors) {
  const std::string name = tensors.name(Role::kEmbedding, Part::kWeight, 0);
  const int64_t rows = rows_of(tensors, Role::kEmbedding);
  const checkpoint::GgufValue* tokens = file.find("tokenizer.ggml.tokens");
  if (tokens && tokens->count > uint64_t(rows))
    graph::fail_mismatch(file.path(), "its vocabulary has " + std::to_string(tokens->count) +
                                          " tokens and its embedding '" + name + "' " +
                                          std::to_string(rows) +
                                          " rows, expected a row for each; get the file anew");
  return rows;
}

}  // namespace

bool is_gguf(const importer::OpenedFile& file) { return file.kind == host::FileKind::kGguf; }

importer::Program import_gguf(const importer::OpenedFile& file,
                              const importer::ImportOptions& options) {
  return importer::with_errors_of(file.path, [&] {
    const std::vector<GgufFile> parts = open_parts(file.path);
    DecoderNumbers numbers = read_numbers(parts[0], options.context);
    const GgufTensors tensors(parts, numbers);
    numbers.vocabulary = vocabulary_of(parts[0], tensors);
    numbers.layer_vocabulary = rows_of(tensors, Role::kLayerTable);
    numbers.streams.rank = rows_of(tensors, Role::kLowRankIn);
    importer::Program program = build(numbers, tensors, "gguf", options);
    if (const auto license = parts[0].text("general.license"))
      program.model.metadata["licence"] = *license;
    for (const SamplingKey& key : kSamplingKeys)
      if (const auto value = parts[0].number(std::string("general.sampling.") + key.gguf))
        add_sampling(&program, key.name, *value);
    add_tokenizer(&program, file.path, [&]() -> std::optional<vocabulary::Vocabulary> {
      if (!vocabulary::has_vocabulary(parts[0])) return {};
      return vocabulary::vocabulary_of_gguf(parts[0]);
    });
    return program;
  });
}

}  // namespace ingot::decoder
