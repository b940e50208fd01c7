// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face_encoder.cpp - the config.json of encoders, whose keys and names
// are not those of Llama.
#include <cmath>
#include <cstring>

#include "tools/import/decoder/config_reader.h"
#include "tools/import/decoder/hugging_face_config.h"

namespace ingot::decoder {
namespace {

struct RoleName {
  Role role;
  const char* name;
};
struct EncoderNames {
  const char* model_type;
  const char* layers;
  std::vector<RoleName> roles;
};

const EncoderNames& names_of(const HuggingFaceRow& row) {
  static const EncoderNames kBert = {"bert",
                                     "encoder.layer.",
                                     {{Role::kEmbedding, "embeddings.word_embeddings"},
                                      {Role::kPositions, "embeddings.position_embeddings"},
                                      {Role::kTypes, "embeddings.token_type_embeddings"},
                                      {Role::kEmbeddingNorm, "embeddings.LayerNorm"},
                                      {Role::kQ, "attention.self.query"},
                                      {Role::kK, "attention.self.key"},
                                      {Role::kV, "attention.self.value"},
                                      {Role::kAttentionOut, "attention.output.dense"},
                                      {Role::kAttentionOutNorm, "attention.output.LayerNorm"},
                                      {Role::kUp, "intermediate.dense"},
                                      {Role::kDown, "output.dense"},
                                      {Role::kFeedForwardOutNorm, "output.LayerNorm"}}};
  static const EncoderNames kNomic = {"nomic_bert",
                                      "encoder.layers.",
                                      {{Role::kEmbedding, "embeddings.word_embeddings"},
                                       {Role::kTypes, "embeddings.token_type_embeddings"},
                                       {Role::kEmbeddingNorm, "emb_ln"},
                                       {Role::kQkv, "attn.Wqkv"},
                                       {Role::kAttentionOut, "attn.out_proj"},
                                       {Role::kAttentionOutNorm, "norm1"},
                                       {Role::kUp, "mlp.fc11"},
                                       {Role::kGate, "mlp.fc12"},
                                       {Role::kDown, "mlp.fc2"},
                                       {Role::kFeedForwardOutNorm, "norm2"}}};
  static const EncoderNames kModern = {"modernbert",
                                       "layers.",
                                       {{Role::kEmbedding, "embeddings.tok_embeddings"},
                                        {Role::kEmbeddingNorm, "embeddings.norm"},
                                        {Role::kFinalNorm, "final_norm"},
                                        {Role::kAttentionNorm, "attn_norm"},
                                        {Role::kQkv, "attn.Wqkv"},
                                        {Role::kAttentionOut, "attn.Wo"},
                                        {Role::kFeedForwardNorm, "mlp_norm"},
                                        {Role::kUp, "mlp.Wi"},
                                        {Role::kDown, "mlp.Wo"}}};
  for (const EncoderNames* names : {&kNomic, &kModern})
    if (std::strcmp(names->model_type, row.model_type) == 0) return *names;
  return kBert;
}

constexpr int64_t kMaxNumber = 1 << 24;

/// What is not built, where a configuration asks for it.
void expect(Config& config, const char* key, const Json& said) {
  const Json* const value = config.find(key);
  if (value && *value != said) config.refuse(key, said.dump());
}

/// What configurations call the numbers that all of them have.
struct ConfigKeys {
  const char *width, *layers, *heads, *hidden, *context, *epsilon, *activation;
};
constexpr ConfigKeys kBertKeys = {
    "hidden_size",       "num_hidden_layers",       "num_attention_heads",
    "intermediate_size", "max_position_embeddings", "layer_norm_eps",
    "hidden_act"};
constexpr ConfigKeys kNomicKeys = {"n_embd",
                                   "n_layer",
                                   "n_head",
                                   "n_inner",
                                   "n_positions",
                                   "layer_norm_epsilon",
                                   "activation_function"};
constexpr ConfigKeys kModernKeys = {
    "hidden_size",       "num_hidden_layers",       "num_attention_heads",
    "intermediate_size", "max_position_embeddings", "norm_eps",
    "hidden_activation"};

void read_common(Config& config, const ConfigKeys& keys, const char* activation,
                 DecoderNumbers* n) {
  n->width = config.need(keys.width, kMaxNumber);
  const int64_t layers = config.need(keys.layers, 1024), heads = config.need(keys.heads, 1 << 16),
                hidden = config.integer(keys.hidden, 4 * n->width, 1, kMaxNumber);
  n->trained_context = config.need(keys.context, kMaxNumber);
  if (n->width % heads)
    config.refuse(keys.heads, "a divisor of the width " + std::to_string(n->width));
  n->key_width = n->value_width = n->width / heads;
  n->attention_scale = 1 / std::sqrt(double(n->key_width));
  n->layers.assign(size_t(layers), {heads, heads, hidden, 0, true});
  n->epsilon = config.number(keys.epsilon, -1);
  if (!(n->epsilon >= 0)) config.refuse(keys.epsilon, "a small number");
  if (config.text(keys.activation, "") != activation)
    config.refuse(keys.activation, std::string("\"") + activation + "\"");
}

void read_bert(Config& config, DecoderNumbers* n, bool is_roberta) {
  read_common(config, kBertKeys, "gelu", n);
  expect(config, "position_embedding_type", "absolute");
  for (const char* key : {"is_decoder", "add_cross_attention"}) expect(config, key, false);
  (void)config.find("type_vocab_size");
  if (!is_roberta) return;
  // its first rows are of padding
  n->first_position = config.integer("pad_token_id", 1, 0, 1000) + 1;
  n->trained_context -= n->first_position;
  if (n->trained_context < 1) config.refuse("max_position_embeddings", "more");
}

void read_nomic(Config& config, DecoderNumbers* n) {
  read_common(config, kNomicKeys, "swiglu", n);
  for (const char* key : {"prenorm", "parallel_block", "parallel_block_tied_norm", "qkv_proj_bias",
                          "mlp_fc1_bias", "mlp_fc2_bias", "causal", "rotary_emb_interleaved",
                          "use_rms_norm", "scale_attn_by_inverse_layer_idx"})
    expect(config, key, false);
  expect(config, "scale_attn_weights", true);
  expect(config, "rotary_emb_fraction", 1.0);
  for (const char* key : {"rotary_scaling_factor", "rotary_emb_scale_base"})
    if (config.find(key)) config.refuse(key, "null: it is not built");
  n->rope.base = config.number("rotary_emb_base", 10000);
  n->trained_context = config.integer("max_trained_positions", n->trained_context, 1, kMaxNumber);
  for (const char* key : {"type_vocab_size", "fused_bias_fc", "fused_dropout_add_ln", "n_positions",
                          "use_flash_attn", "use_xentropy", "attn_pdrop", "dense_seq_output",
                          "reorder_and_upcast_attn", "pad_vocab_size_multiple"})
    (void)config.find(key);
}

/// Of the kind of layer, where the configuration has a base for each kind.
double base_of(Config& config, const char* kind, const char* key, double otherwise) {
  const double own = config.number(key, otherwise);
  const Json* const all = config.find("rope_parameters");
  if (!all || !all->is_object() || !all->contains(kind)) return own;
  Config rope((*all)[kind], config.file());
  expect(rope, "rope_type", "default");
  return rope.number("rope_theta", own);
}

void read_modern(Config& config, DecoderNumbers* n) {
  read_common(config, kModernKeys, "gelu", n);
  n->rope.base = base_of(config, "full_attention", "global_rope_theta", 160000);
  n->window_rope = RopeNumbers();
  n->window_rope->base = base_of(config, "sliding_attention", "local_rope_theta", 10000);
  const int64_t window = config.integer("local_attention", 128, 2, kMaxNumber),
                period = config.integer("global_attn_every_n_layers", 3, 1, 1024);
  const Json* const types = config.find("layer_types");
  if (types && (!types->is_array() || types->size() != n->layers.size()))
    config.refuse("layer_types", "a list of " + std::to_string(n->layers.size()) + " texts");
  for (size_t i = 0; i < n->layers.size(); i++)
    if (types ? (*types)[i] == "sliding_attention" : int64_t(i) % period != 0)
      n->layers[i].window = window / 2;
  for (const char* key :
       {"cls_token_id", "sep_token_id", "decoder_bias", "deterministic_flash_attn",
        "layer_norm_eps", "embedding_dropout", "mlp_dropout", "initializer_cutoff_factor",
        "norm_bias", "repad_logits_with_grad", "sparse_pred_ignore_index", "sparse_prediction",
        "reference_compile", "classifier_activation", "classifier_bias", "classifier_dropout",
        "classifier_pooling"})
    (void)config.find(key);
}

}  // namespace

DecoderNumbers read_encoder_config(const HuggingFaceRow& row, const Json& json,
                                   const std::string& file, const ContextBounds& context,
                                   std::vector<std::string>* notes) {
  Config config(json, file);
  DecoderNumbers n;
  n.row = find_architecture(row.architecture);
  n.order = row.order;
  const std::string type = row.model_type;
  if (type == "nomic_bert")
    read_nomic(config, &n);
  else if (type == "modernbert")
    read_modern(config, &n);
  else
    read_bert(config, &n, type != "bert");
  n.rope.width = n.key_width;
  if (n.window_rope) n.window_rope->width = n.key_width;
  if (n.row->rope != Rope::kNone && n.key_width % 2)
    config.refuse("num_attention_heads", "heads of an even width");
  n.context = context.of(n.trained_context);
  config.note_unread(notes);
  return n;
}

std::string encoder_name(const HuggingFaceRow& row, Role role, Part part, int64_t layer) {
  const EncoderNames& names = names_of(row);
  for (const RoleName& known : names.roles) {
    if (known.role != role) continue;
    const std::string name =
        std::string(known.name) + (part == Part::kWeight ? ".weight" : ".bias");
    return role < Role::kAttentionNorm ? name : names.layers + std::to_string(layer) + "." + name;
  }
  return "";  // no model has it
}

bool is_left_out(const std::string& tensor) {
  for (const char* begin :
       {"pooler.", "cls.", "lm_head.", "head.", "decoder.", "embeddings.position_ids"})
    if (tensor.rfind(begin, 0) == 0) return true;
  return false;
}

}  // namespace ingot::decoder
