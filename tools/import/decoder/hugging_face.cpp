// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/hugging_face.cpp - a folder of Hugging Face: config.json, and its weights in
// model.safetensors, pytorch_model.bin or the shards that an index names.
#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/file_bytes.h"
#include "tools/files/work_budget.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/decoder/build.h"
#include "tools/import/decoder/hugging_face_config.h"
#include "tools/import/decoder/hugging_face_experts.h"
#include "tools/import/decoder/hugging_face_float8.h"
#include "tools/import/decoder/hugging_face_int4.h"
#include "tools/import/decoder/hugging_face_sentence.h"
#include "tools/import/decoder/hugging_face_stacked.h"
#include "tools/import/decoder/hugging_face_ternary.h"
#include "tools/import/decoder/hugging_face_tokenizer.h"
#include "tools/import/decoder/import.h"
#include "tools/import/decoder/sampling.h"
#include "tools/import/decoder/tokenizer.h"
#include "tools/import/decoder/transposed.h"
#include "tools/text/vocabulary.h"

namespace ingot::decoder {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Tensor;

/// As the configuration has it; of a text's part the whole one may.
struct Quantized {
  std::optional<Float8> float8;
  std::optional<Ternary> ternary;
  std::optional<PackedInt4> int4;
};
Quantized read_quantized(const nlohmann::json& config, const nlohmann::json& whole,
                         const std::string& file) {
  const nlohmann::json& own = config.contains("quantization_config") ? config : whole;
  Quantized made{read_float8(own, file), read_ternary(own, file), std::nullopt};
  if (!made.float8 && !made.ternary) made.int4 = read_packed_int4(own, file);
  return made;
}

/// What a view of PyTorch shows, in the order of its rows.
class DenseStorage : public checkpoint::Storage {
 public:
  explicit DenseStorage(const Tensor& tensor)
      : bytes_(std::make_shared<const std::vector<uint8_t>>(checkpoint::tensor_bytes(tensor))) {}
  uint64_t size() const override { return bytes_->size(); }
  checkpoint::Bytes load() const override { return {bytes_, bytes_->data(), bytes_->size()}; }

 private:
  const std::shared_ptr<const std::vector<uint8_t>> bytes_;
};
void make_dense(Tensor* tensor) {
  const std::vector<int64_t> strides = checkpoint::dense_strides(tensor->dims);
  if (tensor->strides == strides && !tensor->swapped && !tensor->negated) return;
  tensor->storage = std::make_shared<const DenseStorage>(*tensor);
  tensor->strides = strides, tensor->offset = 0;
  tensor->swapped = tensor->negated = tensor->conjugated = false;
}

class CheckpointTensors : public TensorSource {
 public:
  CheckpointTensors(const std::string& config, const HuggingFaceRow& row, Checkpoint checkpoint,
                    const Quantized& quantized, std::vector<Checkpoint> dense,
                    const DecoderNumbers& numbers)
      : file_(config),
        row_(row),
        checkpoint_(std::move(checkpoint)),
        packing_(quantized.int4),
        float8_(file_, quantized.float8),
        ternary_(file_, quantized.ternary),
        experts_(file_, row.experts_in_one, {numbers.width, numbers.experts.hidden}) {
    for (Tensor& tensor : checkpoint_.tensors) {
      const std::string name = usual_name(checkpoint::path_text(tensor.path));
      if (name.empty()) continue;
      // angles that older versions kept beside the weights
      if (name.size() > 20 && name.find(".rotary_emb.inv_freq") != std::string::npos) continue;
      make_dense(&tensor);
      if (!tensors_.emplace(name, &tensor).second)
        graph::fail_mismatch(file_, "'" + name + "' is there twice; get the folder anew");
    }
    drop_drafts(numbers);
    name_as_expected();
    drop_tied_head();
    for (size_t i = 0; i < dense.size(); i++) add_projection(i, std::move(dense[i]));
    if (row.both)
      stacked_.take(&tensors_,
                    {row.both, row.expert_parts[0], row.expert_parts[1], row.expert_parts[2]});
    if (row.experts_in_one != ExpertsInOneKind::kNone)
      experts_.take(&tensors_, packing_ && packing_->kind == PackedInt4::Kind::kMxfp4);
    if (!row.is_transposed) float8_.take(&tensors_), ternary_.take(&tensors_, row.layers);
    if (find_architecture(row.architecture)->is_encoder)
      for (auto at = tensors_.begin(); at != tensors_.end();)
        at = is_left_out(at->first) ? tensors_.erase(at) : std::next(at);
    for (auto at = tensors_.begin(); packing_ && at != tensors_.end();) {
      const auto part = packed_part(*packing_, at->first);
      if (part) packed_[part->first][part->second] = at->second;
      at = part ? tensors_.erase(at) : std::next(at);
    }
    for (const auto& [name, parts] : packed_)
      if (tensors_.count(name))
        graph::fail_mismatch(file_, "'" + name +
                                        "' is there twice, packed and not; get the "
                                        "folder anew");
    drop_zero_biases();
    if (!packing_)
      for (const auto& [name, tensor] : tensors_)
        if (is_packed_word(name) || tensor->type == checkpoint::ElementType::kU8)
          graph::fail_unsupported(
              file_, "'" + name +
                         "' is packed and there is no quantization_config that says how; "
                         "get the folder anew, or take a GGUF file");
  }
  const std::string& file() const override { return file_; }
  std::string name(Role role, Part part, int64_t layer) const override {
    return hugging_face_name(row_, role, part, layer);
  }
  std::string expert_name(Role role, int64_t layer, int64_t expert) const override {
    return hugging_face_expert(row_, role, layer, expert);
  }
  bool has(const std::string& name) const override {
    return tensors_.count(name) != 0 || packed_.count(name) != 0 || float8_.has(name) ||
           ternary_.has(name) || experts_.has(name) || stacked_.has(name);
  }
  SourceTensor load(const std::string& name) const override {
    if (float8_.has(name)) return float8_.load(name);
    if (ternary_.has(name)) return ternary_.load(name);
    if (experts_.has(name)) return experts_.load(name);
    if (stacked_.has(name)) return stacked_.load(name);
    if (const auto parts = packed_.find(name); parts != packed_.end())
      return unpack_int4(*packing_, name, parts->second, file_);
    const Tensor& tensor = *tensors_.at(name);
    const SourceTensor own = plain_tensor(name, tensor);
    const bool is_of_layer = name.rfind(row_.layers, 0) == 0;
    if (!row_.is_transposed || !is_of_layer || tensor.dims.size() != 2 || own.bytes.size == 0)
      return own;
    check_numbers(*this, own);
    SourceTensor made = transposed(own, {tensor.dims[1], tensor.dims[0]}, tensor.dims[0]);
    made.is_transposed = true;
    return made;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : tensors_) all.push_back(name);
    for (const auto& [name, parts] : packed_) all.push_back(name);
    for (const std::string& name : float8_.names()) all.push_back(name);
    for (const std::string& name : ternary_.names()) all.push_back(name);
    for (const std::string& name : experts_.names()) all.push_back(name);
    for (const std::string& name : stacked_.names()) all.push_back(name);
    return all;
  }
  /// Of matrices of float8 or of ternary ones; empty: there are none.
  std::string quantized_note() const { return float8_.note() + ternary_.note(); }
  bool has_head() const { return shares_head_ || has(name(Role::kHead, Part::kWeight, 0)); }
  /// Numbers of an activation, which lie among the weights.
  void take_xielu(DecoderNumbers* n) {
    for (size_t i = 0; i < n->layers.size(); i++) {
      const std::string stem = row_.layers + std::to_string(i) + ".mlp.act_fn.";
      const auto number = [&](const char* last) {
        const std::string own = stem + last;
        const auto found = tensors_.find(own);
        if (found == tensors_.end() || found->second->elements() != 1)
          graph::fail_mismatch(file_, "'" + own + "' is missing, expected one number");
        const SourceTensor tensor = load(own);
        check_numbers(*this, tensor);
        float value = 0;
        widen_row(tensor, 1, 0, &value);
        tensors_.erase(found);
        return double(value);
      };
      const double positive = number("alpha_p"), negative = number("alpha_n");
      n->layers[i].xielu = xielu_of(positive, negative, number("beta"));
      if (const double least = number("eps"); !(least >= kLeastXielu && least <= 0))
        graph::fail_unsupported(file_, "'" + stem + "eps' is " + std::to_string(least) +
                                           ", expected a number next to 0");
    }
  }
  /// Parts of names of tensors that the text does without, in a sentence; empty: none.
  std::string left_out() const {
    std::string list;
    for (const auto& [part, count] : left_out_)
      list += (list.empty() ? "" : ", ") + part + " (" + std::to_string(count) + ")";
    return list.empty() ? "" : "tensors of other parts than the text's are left out: " + list;
  }

 private:
  void add_projection(size_t i, Checkpoint checkpoint) {
    dense_.push_back(std::move(checkpoint));
    for (const Tensor& tensor : dense_.back().tensors)
      if (checkpoint::path_text(tensor.path) == "linear.weight")
        tensors_[name(i ? Role::kLastProjection : Role::kProjection, Part::kWeight, 0)] = &tensor;
  }

  /// PyTorch's own files have it as a second name of the embedding.
  void drop_tied_head() {
    const auto head = tensors_.find(name(Role::kHead, Part::kWeight, 0)),
               embedding = tensors_.find(name(Role::kEmbedding, Part::kWeight, 0));
    if (head == tensors_.end() || embedding == tensors_.end()) return;
    const Tensor &a = *head->second, &b = *embedding->second;
    shares_head_ =
        a.storage == b.storage && a.offset == b.offset && a.type == b.type && a.dims == b.dims;
    if (shares_head_) tensors_.erase(head);
  }

  /// AutoGPTQ writes one for each matrix, of experts too, which have none.
  void drop_zero_biases() {
    for (const auto& [name, parts] : packed_) {
      const auto bias = tensors_.find(name.substr(0, name.size() - 6) + "bias");
      if (name.find(".experts.") == std::string::npos || bias == tensors_.end()) continue;
      const checkpoint::Bytes bytes = load(bias->first).bytes;
      if (std::all_of(bytes.data, bytes.data + bytes.size, [](uint8_t b) { return b == 0; }))
        tensors_.erase(bias);
    }
  }

  /// As the row has it; empty: it is left out.
  std::string usual_name(std::string name) {
    for (const OwnName* each = row_.renamed; each && each->own; each++) {
      const std::string own = each->own;
      const size_t at = (name + ".").find(own);
      if (at == std::string::npos || (at > 0 && name[at - 1] != '.')) continue;
      if (each->usual) return name.replace(at, own.size(), each->usual);
      left_out_[own.substr(0, own.size() - 1)]++;
      return "";
    }
    return name;
  }

  /// Layers behind those of the text only propose tokens.
  void drop_drafts(const DecoderNumbers& n) {
    for (int64_t i = 0; i < n.draft_layers; i++) {
      const std::string layer = row_.layers + std::to_string(int64_t(n.layers.size()) + i) + ".";
      for (auto at = tensors_.lower_bound(layer);
           at != tensors_.end() && at->first.rfind(layer, 0) == 0;)
        at = tensors_.erase(at);
    }
  }

  /// A model may be stored as a part of a larger one, "bert.", or without it, as "model." is.
  void name_as_expected() {
    const std::string expected = name(Role::kEmbedding, Part::kWeight, 0);
    const auto ends = [](const std::string& whole, const std::string& part) {
      return whole.size() > part.size() &&
             whole.compare(whole.size() - part.size() - 1, std::string::npos, "." + part) == 0;
    };
    if (has(expected)) return;
    for (const auto& [stored, tensor] : tensors_) {
      const bool is_part = ends(stored, expected);
      if (!is_part && !ends(expected, stored)) continue;
      const std::string prefix = is_part ? stored.substr(0, stored.size() - expected.size())
                                         : expected.substr(0, expected.size() - stored.size());
      const std::string head = name(Role::kHead, Part::kWeight, 0);  // never in it
      std::map<std::string, const Tensor*> named;
      for (const auto& [own, each] : tensors_) {
        std::string usual = own;
        if (!is_part && own != head) usual = prefix + own;
        if (is_part && own.rfind(prefix, 0) == 0) usual = own.substr(prefix.size());
        named[usual] = each;
      }
      tensors_ = std::move(named);
      return;
    }
  }

  const std::string file_;
  const HuggingFaceRow& row_;
  Checkpoint checkpoint_;
  std::deque<Checkpoint> dense_;
  const std::optional<PackedInt4> packing_;
  std::map<std::string, const Tensor*> tensors_;
  std::map<std::string, PackedParts> packed_;  // none of which is in tensors_
  Float8Matrices float8_;                      // likewise
  TernaryMatrices ternary_;                    // likewise
  ExpertsInOne experts_;                       // likewise
  StackedMatrices stacked_;                    // likewise
  bool shares_head_ = false;                   // with the embedding
  std::map<std::string, int64_t> left_out_;    // tensors, by a part of their names
};

/// A head that is the embedding may be stored all the same, or not at all.
int64_t vocabulary_of(const nlohmann::json& config, const TensorSource& tensors) {
  const auto said = config.find("vocab_size");
  const std::string name = tensors.name(Role::kEmbedding, Part::kWeight, 0);
  const int64_t rows = rows_of(tensors, Role::kEmbedding);
  if (tensors.has(name) && said != config.end() && said->is_number_integer() &&
      said->get<int64_t>() > rows)
    graph::fail_mismatch(tensors.file(), "its vocab_size is " + said->dump() + " and '" + name +
                                             "' has " + std::to_string(rows) +
                                             " rows, expected a row for each; get the folder anew");
  return rows;
}

/// The text's part of a larger model, where that is known; else all. A part lacks what its class
/// has by default.
nlohmann::json text_config(const nlohmann::json& config) {
  const auto text = config.find("text_config");
  if (text == config.end() || !text->is_object() || !is_part_of_larger(*text)) return config;
  nlohmann::json part = nlohmann::json::parse(hugging_face_row(*text, "config.json").part_defaults);
  part.update(*text);
  return part;
}

/// Python writes Infinity, which JSON has no number for: the object that later versions write.
std::string with_infinities(const std::string& text) {
  constexpr const char *kWord = "Infinity", *kObject = "{\"__float__\":\"Infinity\"}";
  std::string out;
  bool in_text = false;
  for (size_t at = 0; at < text.size(); at++) {
    if (text[at] == '"') in_text = !in_text;
    if (in_text && text[at] == '\\' && at + 1 < text.size()) out += text[at++];
    if (!in_text && text.compare(at, std::strlen(kWord), kWord) == 0)
      out += kObject, at += std::strlen(kWord) - 1;
    else
      out += text[at];
  }
  return out;
}

void check_pooling(const std::string& file, const DecoderNumbers& n) {
  if (n.row->is_encoder && n.pooling == Pooling::kNone)
    graph::fail_unavailable(file,
                            "has no modules.json beside it, which says how the rows of a text "
                            "become one vector; get the whole folder of sentence-transformers");
  if (!n.row->is_encoder && n.pooling == Pooling::kFirst)
    graph::fail_unsupported(file, "it pools by the first token, which sees no other in a decoder");
}

constexpr const char* kWeightFiles[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};

}  // namespace

std::string hugging_face_weights(const std::string& config) {
  const std::filesystem::path folder = std::filesystem::path(config).parent_path();
  std::error_code unknown;
  for (const char* name : kWeightFiles)
    if (std::filesystem::exists(folder / name, unknown)) return (folder / name).string();
  return "";
}

bool is_hugging_face(const importer::OpenedFile& file) {
  return std::filesystem::path(file.path).filename() == "config.json";
}

importer::Program import_hugging_face(const importer::OpenedFile& file,
                                      const importer::ImportOptions& options) {
  return importer::with_errors_of(file.path, [&] {
    const nlohmann::json whole =
        checkpoint::parse_sorted_json(with_infinities(read_config_text(file.path)), file.path);
    if (!whole.is_object()) graph::fail_corrupt(file.path, "is no JSON object");
    const nlohmann::json config = text_config(whole);
    std::vector<std::string> notes;
    const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
    const SentenceModel sentence = read_sentence_model(folder.string());
    ContextBounds context{options.context};
    if (sentence.most_tokens > 0) context.usual = std::min(context.usual, sentence.most_tokens);
    DecoderNumbers numbers = read_config(config, file.path, context, &notes);
    for (const SentenceModel::Dense& one : sentence.dense) {
      const int64_t in = numbers.projections.empty() ? numbers.width : numbers.projections.back();
      if (one.in != in)
        graph::fail_mismatch(one.weights, "a module Dense takes " + std::to_string(one.in) +
                                              " numbers and gets " + std::to_string(in));
      numbers.projections.push_back(one.out);
    }
    numbers.pooling = sentence.pooling, numbers.is_normalized = sentence.is_normalized;
    check_pooling(file.path, numbers);
    const std::string weights = hugging_face_weights(file.path);
    if (weights.empty())
      graph::fail_unavailable(file.path,
                              "has no weights beside it, expected model.safetensors, "
                              "pytorch_model.bin or the index of shards of these; get the whole "
                              "folder");
    const host::WorkBudget budget(weights, checkpoint::file_bytes(weights));
    std::vector<Checkpoint> dense;
    for (const SentenceModel::Dense& one : sentence.dense)
      dense.push_back(checkpoint::read_checkpoint(one.weights));
    CheckpointTensors tensors(file.path, hugging_face_row(config, file.path),
                              checkpoint::read_checkpoint(weights),
                              read_quantized(config, whole, file.path), std::move(dense), numbers);
    if (numbers.row->activation == Activation::kXielu) tensors.take_xielu(&numbers);
    numbers.vocabulary = vocabulary_of(config, tensors);
    if (!numbers.layer_vocabulary) numbers.layer_vocabulary = rows_of(tensors, Role::kLayerTable);
    const auto is_untied = [&](const char* key) {
      const auto tied = whole.find(key);
      return tied != whole.end() && *tied == false;
    };
    if (numbers.pooling == Pooling::kNone &&
        (is_untied("tie_word_embeddings") || is_untied("tie_embedding")) && !tensors.has_head())
      graph::fail_mismatch(file.path, "its head is not tied and '" +
                                          tensors.name(Role::kHead, Part::kWeight, 0) +
                                          "' is missing; get the whole folder");
    importer::Program program = build(numbers, tensors, "hugging face", options);
    if (is_part_of_larger(config) && !tensors.left_out().empty())
      notes.push_back(tensors.left_out());
    if (const std::string note = tensors.quantized_note(); !note.empty()) notes.push_back(note);
    for (std::string& note : notes) program.model.notes.push_back(std::move(note));
    for (const auto& [name, text] : sentence.prompts)
      program.model.metadata["ingot.prompt." + name] = text;
    const std::string generation = (folder / "generation_config.json").string();
    if (std::error_code unknown; std::filesystem::exists(generation, unknown)) {
      const nlohmann::json asked =
          checkpoint::parse_sorted_json(read_config_text(generation), generation);
      const auto draws = asked.find("do_sample");  // without it, the rest has no meaning
      for (const SamplingKey& key : kSamplingKeys)
        if (const auto found = asked.find(key.hugging_face);
            draws != asked.end() && *draws == true && found != asked.end() && found->is_number())
          add_sampling(&program, key.name, found->get<double>());
    }
    const std::string tokenizer = (folder / "tokenizer.json").string();
    add_tokenizer(&program, tokenizer, [&]() -> std::optional<vocabulary::Vocabulary> {
      const std::string json = tokenizer_of_folder(folder.string());
      if (json.empty()) return {};
      vocabulary::Vocabulary made = vocabulary::vocabulary_of_json(json, tokenizer);
      vocabulary::add_chat_of_folder(&made, folder.string());
      return made;
    });
    return program;
  });
}

}  // namespace ingot::decoder
