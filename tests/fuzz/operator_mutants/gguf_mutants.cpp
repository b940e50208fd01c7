// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/operator_mutants/gguf_mutants.cpp - a small language model of every architecture in
// GGUF: right, then wrong in one to three of its numbers, texts, types, counts and offsets.
#include <algorithm>
#include <cmath>

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/operator_mutants/mutation.h"
#include "tests/import/decoder/gguf_source.h"
#include "tools/checkpoint/flat/gguf_blocks.h"
#include "tools/compile/convert/convert.h"
#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/import.h"

namespace ingot::mutants {
namespace of_gguf {
namespace {

using decoder::Architecture;
using test::little_endian;
using test::gguf::list, test::gguf::real, test::gguf::text, test::gguf::whole, test::gguf::word;

constexpr int64_t kWidth = 32, kHeads = 2, kHead = kWidth / kHeads, kHidden = 64, kContext = 64,
                  kTokens = 12, kExperts = 4, kTaps = 3, kState = 4,
                  kChannels = kWidth + 2 * kState,  // of a recurrence of kHeads heads, one of keys
    kLatent = 8,                                    // which keys and values come from
    kInput = 8,                                     // of each layer
    kStreams = 3, kRank = 4;                        // of Gemma 3n

struct Value {
  std::string key, bytes;  // the type, then the value
};
struct Tensor {
  std::string name;
  std::vector<int64_t> dims;  // slowest first
  uint32_t type = 0;
  uint64_t bytes = 0, offset = 0;
  bool is_moved = false;  // to `offset`
};
struct File {
  uint32_t version = 3;
  std::vector<Value> metadata;
  std::vector<Tensor> tensors;
  int64_t missing_values = 0, missing_tensors = 0;  // of those that the header counts
};

uint64_t bytes_of(const Tensor& tensor) {
  uint64_t count = 1;
  for (const int64_t n : tensor.dims)
    if (n < 0 || n > 65536 || (count *= uint64_t(n)) > 65536) return 0;
  if (const checkpoint::GgufBlock* block = checkpoint::find_gguf_block(tensor.type))
    return (count + block->elements - 1) / block->elements * block->bytes;
  return count * (tensor.type == 0 ? 4 : 2);
}

/// A type that the tensor can have: its rows are whole blocks of 32.
uint32_t fitting_type(const Tensor& tensor, Dice* dice) {
  static constexpr uint32_t kTypes[] = {0, 1, 30, 2, 3, 6, 7, 8, 20, 39};
  return tensor.dims.size() < 2 || tensor.dims.back() % 32 ? 0 : dice->one_of(kTypes);
}

class Form {
 public:
  Form(const Architecture& row, bool has_experts, Dice* dice)
      : row_(row), has_experts_(has_experts), name_(row.name) {
    numbers();
    vocabulary(dice->below(5));
    tensors();
    for (Tensor& tensor : f_.tensors) {
      if (dice->chance(40)) tensor.type = fitting_type(tensor, dice);
      tensor.bytes = bytes_of(tensor);
    }
  }
  File take() { return std::move(f_); }

 private:
  void set(const std::string& key, const std::string& value) {
    f_.metadata.push_back({key, value});
  }
  void numbers() {
    set("general.architecture", word(name_));
    const auto own = [&](const char* key, const std::string& value) {
      set(name_ + "." + key, value);
    };
    own("context_length", whole(kContext)), own("embedding_length", whole(kWidth));
    own("block_count", whole(2)), own("attention.head_count", whole(kHeads));
    own("feed_forward_length",
        row_.has_one_part ? list(std::vector<uint32_t>{0, 0}) : whole(kHidden));
    own("attention.head_count_kv",
        attends(0) ? whole(row_.is_encoder ? kHeads : 1) : list(std::vector<uint32_t>{0, 1}));
    if (row_.mixer == decoder::Mixer::kConvolution) own("shortconv.l_cache", whole(kTaps));
    if (row_.mixer == decoder::Mixer::kDeltaNet) own("full_attention_interval", whole(2));
    if (recurs()) {
      own("ssm.conv_kernel", whole(kTaps)), own("ssm.inner_size", whole(kWidth));
      own("ssm.state_size", whole(kState)), own("ssm.time_step_rank", whole(kHeads));
      own("ssm.group_count", whole(1));
    }
    own(row_.norm == decoder::NormKind::kRms ? "attention.layer_norm_rms_epsilon"
                                             : "attention.layer_norm_epsilon",
        real(1e-5f));
    if (row_.rope != decoder::Rope::kNone) own("rope.freq_base", real(10000));
    if (row_.window_period) own("attention.sliding_window", whole(8));
    if (row_.divides_logits) own("logit_scale", real(2));
    if (row_.is_encoder) own("pooling_type", whole(1));
    if (row_.has_latent) {
      own("attention.kv_lora_rank", whole(kLatent)), own("rope.dimension_count", whole(4));
      own("attention.key_length", whole(kHead)), own("attention.value_length", whole(kHead));
    }
    if (has_layer_inputs()) {  // the second layer reads the caches of the first
      own("embedding_length_per_layer_input", whole(kInput));
      own("attention.shared_kv_layers", whole(1));
    }
    if (row_.has_streams) {
      own("altup.num_inputs", whole(kStreams)), own("altup.active_idx", whole(1));
      own("activation_sparsity_scale", list(std::vector<float>{1.6f, -INFINITY}));
    }
    if (has_experts_) own("expert_count", whole(kExperts)), own("expert_used_count", whole(2));
  }
  void vocabulary(uint64_t kind) {
    static const char* const kModels[] = {"gpt2", "llama", "t5", "bert"};
    if (kind >= 4) return;
    const std::string key = "tokenizer.ggml.";
    set(key + "model", word(kModels[kind]));
    if (kind == 0) set(key + "pre", word("llama-bpe"));
    set(key + "tokens",
        list(std::vector<std::string>{"<s>", "</s>", "[UNK]", "a", "b", "ab", "\xe2\x96\x81",
                                      "[PAD]", "[CLS]", "[SEP]", "<0x0A>",
                                      "\xe2\x96\x81"
                                      "a"}));
    set(key + "token_type", list(std::vector<uint32_t>{3, 3, 2, 1, 1, 1, 1, 3, 3, 3, 6, 1}));
    set(key + "scores", list(std::vector<float>(kTokens, -1)));
    if (kind == 0) set(key + "merges", list(std::vector<std::string>{"a b"}));
    set(key + "bos_token_id", whole(0)), set(key + "eos_token_id", whole(1));
    set(key + "unknown_token_id", whole(2)), set(key + "add_bos_token", little_endian(7, 4) + '\1');
    set("tokenizer.chat_template",
        word("{% for m in messages %}{{ m['role'] }}: {{ m.content }}\n{% endfor %}"));
  }
  void add(const std::string& name, std::vector<int64_t> dims) {
    f_.tensors.push_back({name, std::move(dims)});
  }
  void norm(const std::string& name, int64_t width = kWidth) {
    add(name + ".weight", {width});
    if (row_.biases & decoder::kNormBias) add(name + ".bias", {width});
  }
  void linear(const std::string& name, int64_t out, int64_t in, uint8_t bias) {
    add(name + ".weight", {out, in});
    if (row_.biases & bias) add(name + ".bias", {out});
  }
  void tensors() {
    using namespace decoder;
    const bool sums = row_.places == NormPlaces::kOfSum,
               after = row_.places == NormPlaces::kAfter || row_.places == NormPlaces::kBoth;
    add("token_embd.weight", {kTokens, kWidth});
    if (row_.has_positions) add("position_embd.weight", {kContext, kWidth});
    if (row_.norms_embedding) norm("token_embd_norm");
    if (has_layer_inputs()) {
      add("per_layer_token_embd.weight", {kTokens, 2 * kInput});
      add("per_layer_model_proj.weight", {2 * kInput, kWidth});
      add("per_layer_proj_norm.weight", {kInput});
    }
    if (row_.has_streams)
      for (const char* matrices : {"altup_proj.weight", "altup_unembd_proj.weight"})
        add(matrices, {kStreams - 1, kWidth, kWidth});
    if (!sums) norm(row_.final_norm);
    if (row_.biases & kHeadBias) linear("output", kTokens, kWidth, kHeadBias);
    for (const int i : {0, 1}) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      const bool before = !sums && row_.places != NormPlaces::kAfter;
      if (before && !(row_.skips_first_norm && i == 0)) norm(layer + "attn_norm");
      if (attends(i)) attention(layer);
      if (row_.mixes_beside || !attends(i)) mixer(layer);
      if (row_.has_one_part) continue;
      if (after || sums) norm(layer + (sums ? "attn_output_norm" : "post_attention_norm"));
      if (row_.has_sinks) add(layer + "attn_sinks.weight", {kHeads});
      if (before && row_.parallel != Parallel::kAlways) norm(layer + row_.feed_forward_norm);
      feed_forward(layer);
      if (after || sums) norm(layer + (sums ? "layer_output_norm" : "post_ffw_norm"));
      if (!has_layer_inputs()) continue;
      add(layer + "inp_gate.weight", {kInput, kWidth}),
          add(layer + "proj.weight", {kWidth, kInput});
      norm(layer + "post_norm");
      if (row_.has_streams)
        streams(layer);
      else
        add(layer + "layer_output_scale.weight", {1});
    }
  }
  void streams(const std::string& layer) {
    add(layer + "altup_router.weight", {kStreams, kWidth}), norm(layer + "altup_router_norm");
    add(layer + "altup_predict_coef.weight", {kStreams * kStreams, kStreams});
    add(layer + "altup_correct_coef.weight", {kStreams, kStreams});
    norm(layer + "altup_correct_scale"), norm(layer + "laurel_post_norm");
    add(layer + "laurel_l.weight", {kRank, kWidth}),
        add(layer + "laurel_r.weight", {kWidth, kRank});
  }
  bool attends(int layer) const {
    return row_.mixer == decoder::Mixer::kNone || row_.mixes_beside ||
           (layer == 1 && !row_.only_mixes);
  }
  bool has_layer_inputs() const { return row_.norms_values; }
  bool recurs() const {
    return row_.mixer == decoder::Mixer::kMamba2 || row_.mixer == decoder::Mixer::kDeltaNet;
  }
  void mixer(const std::string& layer) {
    if (row_.mixer == decoder::Mixer::kConvolution) {
      add(layer + "shortconv.in_proj.weight", {3 * kWidth, kWidth});
      add(layer + "shortconv.conv.weight", {kWidth, kTaps});
      add(layer + "shortconv.out_proj.weight", {kWidth, kWidth});
      return;
    }
    add(layer + "ssm_conv1d.weight", {kChannels, kTaps}), add(layer + "ssm_dt.bias", {kHeads});
    add(layer + "ssm_out.weight", {kWidth, kWidth});
    if (row_.mixer == decoder::Mixer::kMamba2) {
      add(layer + "ssm_in.weight", {kWidth + kChannels + kHeads, kWidth});
      add(layer + "ssm_conv1d.bias", {kChannels});
      add(layer + "ssm_a", {kHeads, 1}), add(layer + "ssm_d", {kHeads, 1});
      if (!row_.mixes_beside) add(layer + "ssm_norm.weight", {1, kWidth});
      return;
    }
    add(layer + "attn_qkv.weight", {kChannels, kWidth}), add(layer + "ssm_a", {kHeads});
    add(layer + "attn_gate.weight", {kWidth, kWidth}), add(layer + "ssm_norm.weight", {kHead});
    add(layer + "ssm_alpha.weight", {kHeads, kWidth});
    add(layer + "ssm_beta.weight", {kHeads, kWidth});
  }
  void attention(const std::string& layer) {
    using namespace decoder;
    const int64_t keys = row_.is_encoder ? kWidth : kHead;
    linear(layer + "attn_q", row_.gates_attention ? 2 * kWidth : kWidth, kWidth, kQkvBias);
    if (row_.has_latent) return latent(layer);
    const bool has_keys = !has_layer_inputs() || layer == "blk.0.";
    if (has_keys) linear(layer + "attn_k", keys, kWidth, kQkvBias);
    if (has_keys) linear(layer + "attn_v", keys, kWidth, kQkvBias);
    if (row_.head_norm != HeadNorm::kNone) {
      const bool each = row_.head_norm == HeadNorm::kEachHead;
      norm(layer + "attn_q_norm", each ? kHead : kWidth);
      if (has_keys) norm(layer + "attn_k_norm", each ? kHead : keys);
    }
    linear(layer + "attn_output", kWidth, kWidth, kOutBias);
  }
  /// Keys of which 4 elements turn; older files have both matrices in one.
  void latent(const std::string& layer) {
    add(layer + "attn_kv_a_mqa.weight", {kLatent + 4, kWidth}),
        norm(layer + "attn_kv_a_norm", kLatent);
    if (layer == "blk.0.") {
      add(layer + "attn_kv_b.weight", {kHeads * (2 * kHead - 4), kLatent});
    } else {
      add(layer + "attn_k_b.weight", {kHeads, kLatent, kHead - 4});
      add(layer + "attn_v_b.weight", {kHeads, kHead, kLatent});
    }
    add(layer + "attn_output.weight", {kWidth, kWidth});
  }
  void feed_forward(const std::string& layer) {
    using namespace decoder;
    if (has_experts_) {
      linear(layer + "ffn_gate_inp", kExperts, kWidth, kExpertBias);
      const auto experts = [&](const char* part, int64_t out, int64_t in) {
        add(layer + part + ".weight", {kExperts, out, in});
        if (row_.biases & kExpertBias) add(layer + part + ".bias", {kExperts, out});
      };
      experts("ffn_gate_exps", kHidden, kWidth), experts("ffn_up_exps", kHidden, kWidth);
      experts("ffn_down_exps", kWidth, kHidden);
      return;
    }
    const bool in_one = row_.feed_forward == FeedForward::kGatedInOne;
    if (row_.feed_forward == FeedForward::kGated)
      linear(layer + "ffn_gate", kHidden, kWidth, kFeedForwardBias);
    linear(layer + "ffn_up", in_one ? 2 * kHidden : kHidden, kWidth, kFeedForwardBias);
    linear(layer + "ffn_down", kWidth, kHidden, kFeedForwardBias);
  }

  const Architecture& row_;
  bool has_experts_;
  std::string name_;
  File f_;
};

std::string strange_text(Dice* dice) {
  switch (dice->below(6)) {
    case 0: return "";
    case 1: return std::string(1, '\0') + "\xff\xfe";
    case 2: return std::string(dice->below(3000), 'x');
    case 3: return "{% for a in b %}{{ a[0:-1] | tojson }}";
    case 4: return "\xe2\x96";
    default: return "blk." + std::to_string(dice->number()) + ".attn_q.weight";
  }
}
/// A value of any type, of any nesting.
std::string strange_value(Dice* dice, int depth = 0) {
  const uint32_t type = uint32_t(dice->chance(95) ? dice->below(13) : dice->below(20));
  std::string head = little_endian(type, 4);
  if (type == 8) return head + text(strange_text(dice));
  if (type == 9 && depth < 3 && dice->chance(50)) {
    std::string nested;  // arrays of arrays
    for (uint64_t n = dice->below(dice->chance(10) ? 5000 : 4); n > 0; n--)
      nested += little_endian(9, 4) + little_endian(1, 8);
    return head + nested + strange_value(dice, depth + 1);
  }
  if (type == 9)
    return head + strange_value(dice, depth + 1).substr(0, 4) +
           little_endian(uint64_t(dice->number()), 8) + std::string(dice->below(64), '\1');
  if (type == 6) return real(float(dice->real()));
  return head + little_endian(uint64_t(dice->number()), 8).substr(0, 1 + dice->below(8));
}

/// Drops an entry, repeats it or names it otherwise. @return whether `how` is one of these.
template <class Entry>
bool spoil_list(std::vector<Entry>* all, size_t at, std::string Entry::*name, uint64_t how,
                Dice* dice) {
  Entry& one = (*all)[at];
  if (how == 0) all->erase(all->begin() + int64_t(at));
  if (how == 1) all->push_back(one);
  if (how == 2) one.*name = dice->one_of(*all).*name;
  if (how == 3) one.*name = strange_text(dice);
  return how <= 3;
}

void spoil_value(File* f, Dice* dice) {
  if (f->metadata.empty()) return;
  const size_t at = dice->below(f->metadata.size());
  Value& one = f->metadata[at];
  const uint64_t how = dice->below(8);
  if (spoil_list(&f->metadata, at, &Value::key, how, dice)) return;
  switch (how) {
    case 4: one.bytes = dice->one_of(f->metadata).bytes; return;
    case 5: one.bytes = strange_value(dice); return;
    case 6: {  // a byte of it, or its length
      one.bytes[dice->below(one.bytes.size())] = char(dice->below(256));
      return;
    }
    default: {  // a number of the same type
      if (one.bytes.size() == 8 && one.bytes[0] == 4) one.bytes = whole(uint32_t(dice->number()));
      if (one.bytes.size() == 8 && one.bytes[0] == 6) one.bytes = real(float(dice->real()));
    }
  }
}
/// Keys that only some models have.
void add_value(File* f, Dice* dice) {
  static const char* const kKeys[] = {"attention.key_length",
                                      "attention.value_length",
                                      "attention.sliding_window",
                                      "attention.sliding_window_pattern",
                                      "attention.scale",
                                      "attn_logit_softcapping",
                                      "final_logit_softcapping",
                                      "rope.dimension_count",
                                      "rope.scaling.factor",
                                      "rope.scaling.original_context_length",
                                      "rope.scaling.yarn_beta_fast",
                                      "expert_count",
                                      "expert_used_count",
                                      "expert_feed_forward_length",
                                      "expert_shared_feed_forward_length",
                                      "expert_gating_func",
                                      "shortconv.l_cache",
                                      "embedding_scale",
                                      "residual_scale",
                                      "logit_scale",
                                      "use_parallel_residual",
                                      "pooling_type",
                                      "ssm.inner_size",
                                      "ssm.state_size",
                                      "ssm.time_step_rank",
                                      "ssm.group_count",
                                      "ssm.conv_kernel",
                                      "full_attention_interval",
                                      "attention.key_length_swa",
                                      "attention.value_length_swa",
                                      "attention.shared_kv_layers",
                                      "embedding_length_per_layer_input",
                                      "altup.num_inputs",
                                      "altup.active_idx",
                                      "activation_sparsity_scale",
                                      "rope.dimension_count_swa",
                                      "dense_2_feat_in",
                                      "dense_2_feat_out",
                                      "attention.kv_lora_rank",
                                      "attention.q_lora_rank",
                                      "attention.key_length_mla",
                                      "attention.value_length_mla",
                                      "rope.scaling.yarn_log_multiplier",
                                      "expert_shared_count",
                                      "expert_group_count",
                                      "expert_group_used_count",
                                      "split.count"};
  static const char* const kScalings[] = {"none", "linear", "yarn", "longrope", "dynamic"};
  if (f->metadata.empty()) return;
  const std::string& first = f->metadata[0].bytes;
  const std::string prefix = first.size() > 12 ? first.substr(12) + "." : "";
  if (dice->chance(15))
    f->metadata.push_back({prefix + "rope.scaling.type", word(dice->one_of(kScalings))});
  else
    f->metadata.push_back({(dice->chance(98) ? prefix : "") + dice->one_of(kKeys),
                           dice->chance(40)   ? whole(uint32_t(dice->number()))
                           : dice->chance(50) ? real(float(dice->real()))
                                              : strange_value(dice)});
}
void spoil_tensor(File* f, Dice* dice) {
  if (f->tensors.empty()) return;
  const size_t at = dice->below(f->tensors.size());
  Tensor& one = f->tensors[at];
  const uint64_t how = dice->below(9);
  if (spoil_list(&f->tensors, at, &Tensor::name, how, dice)) return;
  switch (how) {
    case 4: one.dims = wrong_shape(one.dims, dice); return;
    case 5: one.dims = wrong_shape(one.dims, dice), one.bytes = bytes_of(one); return;
    case 6: one.type = uint32_t(dice->below(45)); return;
    case 7: one.type = uint32_t(dice->below(45)), one.bytes = bytes_of(one); return;
    default:
      one.is_moved = true;
      one.offset = dice->chance(30) ? 32 * dice->below(200) : uint64_t(dice->number());
  }
}
void spoil(File* f, Dice* dice) {
  const uint64_t how = dice->below(100);
  if (how < 40)
    spoil_value(f, dice);
  else if (how < 60)
    add_value(f, dice);
  else if (how < 92)
    spoil_tensor(f, dice);
  else if (how < 94)
    f->version = uint32_t(dice->below(5));
  else if (how < 97)
    f->missing_values = dice->number();
  else
    f->missing_tensors = dice->number();
}

std::string encoded(const File& f, Dice* dice) {
  std::string head =
      "GGUF" + little_endian(f.version, 4) +
      little_endian(uint64_t(int64_t(f.tensors.size())) + uint64_t(f.missing_tensors), 8) +
      little_endian(uint64_t(int64_t(f.metadata.size())) + uint64_t(f.missing_values), 8);
  for (const Value& value : f.metadata) head += text(value.key) + value.bytes;
  std::string data;
  for (const Tensor& tensor : f.tensors) {
    head += text(tensor.name) + little_endian(tensor.dims.size(), 4);
    for (size_t d = tensor.dims.size(); d-- > 0;)
      head += little_endian(uint64_t(tensor.dims[d]), 8);
    head += little_endian(tensor.type, 4) +
            little_endian(tensor.is_moved ? tensor.offset : data.size(), 8);
    data.resize((data.size() + tensor.bytes + 31) / 32 * 32, '\x22');
  }
  head.resize((head.size() + 31) / 32 * 32, '\0');
  std::string bytes = head + data;
  if (dice->chance(3)) bytes.resize(dice->below(bytes.size()));
  return bytes;
}

void attempt(uint64_t index) {
  static const std::vector<std::string> names = decoder::architecture_names();
  const uint64_t forms = 2 * names.size(), form = index % forms;
  const Architecture& row = *decoder::find_architecture(names[form / 2]);
  const bool has_experts = form % 2 && row.experts != decoder::Experts::kNone;
  Dice dice(index);
  tell("gguf " + std::to_string(index) + ": " + row.name);
  const bool is_right = stays_right(index, forms);
  File f = Form(row, has_experts, &dice).take();
  if (!is_right)
    for (uint64_t faults = 1 + dice.below(3); faults > 0; faults--) spoil(&f, &dice);
  Dice cut(is_right ? 0 : index + 1);
  const std::string bytes = encoded(f, &cut);
  const fuzz::MemoryFile file(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  importer::ImportOptions options;
  options.context = dice.chance(90) ? kContext : 1 + int64_t(dice.below(1 << 24));
  if (!row.is_encoder && dice.chance(20)) options.slots = 1 + int32_t(dice.below(4));
  if (!row.is_encoder && dice.chance(20)) options.cache = DType::kF16;
  if (index / forms % 16) {
    (void)decoder::import_gguf(importer::OpenedFile(file.path()), options);
  } else {  // what follows an import takes most of the time
    convert::ConvertOptions all;
    all.context = options.context, all.slots = options.slots, all.cache = options.cache;
    (void)convert::convert_source(file.path(), all);
  }
}

}  // namespace
}  // namespace of_gguf

void try_gguf(uint64_t index) { of_gguf::attempt(index); }

}  // namespace ingot::mutants
