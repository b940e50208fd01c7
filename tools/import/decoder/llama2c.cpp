// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/llama2c.cpp - the .bin files of llama2.c: a head of seven numbers, then
// weights in f32 without names. Version 0 begins with the numbers, version 1 with a magic word; its
// norms come first. The tokenizer is a file beside it: tok512.bin for 512 tokens, or tokenizer.bin.
#include <cmath>
#include <filesystem>
#include <map>

#include "runtime/base/byte_order.h"
#include "tools/import/common/source_errors.h"
#include "tools/import/decoder/build.h"
#include "tools/import/decoder/gguf_metadata.h"
#include "tools/import/decoder/import.h"
#include "tools/import/decoder/tokenizer.h"

namespace ingot::decoder {
namespace {

constexpr uint32_t kMagic = 0x616b3432;  // "ak42"
constexpr uint64_t kHead = 28, kHeadOfVersion1 = 256;

struct Head {
  int64_t width = 0, hidden = 0, layers = 0, heads = 0, kv_heads = 0, vocabulary = 0, context = 0;
  bool has_head = false;   // another than the embedding
  bool has_magic = false;  // of versions from 1 on
  int version = 0;
  int64_t kv_width() const { return width / heads * kv_heads; }

  bool is_sound() const {
    const auto within = [](int64_t n, int64_t most) { return n >= 1 && n <= most; };
    return within(width, 1 << 16) && within(hidden, 1 << 18) && within(layers, 1024) &&
           within(heads, width) && within(kv_heads, heads) && within(vocabulary, 1 << 20) &&
           within(context, kMaxContext) && width % heads == 0 && heads % kv_heads == 0 &&
           width / heads % 2 == 0;
  }
};

/// Null where the file begins otherwise.
std::optional<Head> read_head(const checkpoint::MappedFile& file) {
  if (file.size() < kHead) return {};
  const uint8_t* at = file.data();
  Head h;
  if (load_little<uint32_t>(at) == kMagic) {
    if (file.size() < kHeadOfVersion1) return {};
    h.has_magic = true, h.version = int(load_little<uint32_t>(at + 4));
    at += 8;
  }
  int64_t* const numbers[] = {&h.width,    &h.hidden,     &h.layers, &h.heads,
                              &h.kv_heads, &h.vocabulary, &h.context};
  for (int64_t* number : numbers) {
    *number = int32_t(load_little<uint32_t>(at));
    at += 4;
  }
  if (h.has_magic) {
    h.has_head = *at == 0;
  } else if (h.vocabulary < 0) {
    h.has_head = true, h.vocabulary = -h.vocabulary;
  }
  return h.is_sound() ? std::optional<Head>(h) : std::nullopt;
}

class Llama2cTensors : public TensorSource {
 public:
  Llama2cTensors(const std::string& path, std::shared_ptr<const checkpoint::MappedFile> file,
                 const Head& h)
      : path_(path), file_(std::move(file)), head_(h) {
    const int64_t n = h.width, kv = h.kv_width();
    at_ = h.has_magic ? kHeadOfVersion1 : kHead;
    if (h.has_magic) {
      each({{Role::kAttentionNorm, {n}}});
      each({{Role::kFeedForwardNorm, {n}}});
      add(Role::kFinalNorm, 0, {n});
    }
    add(Role::kEmbedding, 0, {h.vocabulary, n});
    if (!h.has_magic) each({{Role::kAttentionNorm, {n}}});
    each({{Role::kQ, {n, n}},
          {Role::kK, {kv, n}},
          {Role::kV, {kv, n}},
          {Role::kAttentionOut, {n, n}}});
    if (!h.has_magic) each({{Role::kFeedForwardNorm, {n}}});
    each({{Role::kGate, {h.hidden, n}}, {Role::kDown, {n, h.hidden}}, {Role::kUp, {h.hidden, n}}});
    if (!h.has_magic) {
      add(Role::kFinalNorm, 0, {n});
      at_ += uint64_t(h.context) * uint64_t(n / h.heads) * 4;  // cosines and sines
    }
    if (h.has_head) add(Role::kHead, 0, {h.vocabulary, n});
    if (at_ != file_->size())
      graph::fail_corrupt(path_, "has " + std::to_string(file_->size()) +
                                     " bytes, its head asks for " + std::to_string(at_) +
                                     "; get the file anew");
  }
  const std::string& file() const override { return path_; }
  std::string name(Role role, Part part, int64_t layer) const override {
    const std::string own = role_name(role);
    if (part == Part::kBias) return own + ".bias";  // there is none
    return role < Role::kAttentionNorm ? own : own + "." + std::to_string(layer);
  }
  bool has(const std::string& name) const override { return tensors_.count(name) != 0; }
  SourceTensor load(const std::string& name) const override {
    const Held& held = tensors_.at(name);
    return {name,
            held.dims,
            nullptr,
            checkpoint::ElementType::kF32,
            {file_, file_->data() + held.begin, held.bytes}};
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, held] : tensors_) all.push_back(name);
    return all;
  }

 private:
  struct Held {
    std::vector<int64_t> dims;
    uint64_t begin, bytes;
  };
  struct OfLayers {
    Role role;
    std::vector<int64_t> dims;
  };
  void add(Role role, int64_t layer, const std::vector<int64_t>& dims) {
    uint64_t bytes = 4;  // at most 2^36 elements: Head::is_sound()
    for (const int64_t dim : dims) bytes *= uint64_t(dim);
    tensors_[name(role, Part::kWeight, layer)] = {dims, at_, bytes};
    at_ += bytes;
  }
  /// One behind another, each of all layers.
  void each(const std::vector<OfLayers>& of) {
    for (const OfLayers& one : of)
      for (int64_t i = 0; i < head_.layers; i++) add(one.role, i, one.dims);
  }

  const std::string path_;
  const std::shared_ptr<const checkpoint::MappedFile> file_;
  const Head head_;
  uint64_t at_ = 0;
  std::map<std::string, Held> tensors_;
};

DecoderNumbers numbers_of(const Head& h, int64_t context) {
  DecoderNumbers n;
  n.row = find_architecture("llama");
  n.order = n.row->rope;
  n.width = h.width, n.vocabulary = h.vocabulary;
  n.key_width = n.value_width = h.width / h.heads;
  n.trained_context = h.context;
  n.context = context > 0 ? context : std::min(h.context, kUsualContext);
  n.epsilon = 1e-5;
  n.attention_scale = 1 / std::sqrt(double(n.key_width));
  n.rope.width = n.key_width;
  n.rope.original_context = double(h.context);
  LayerNumbers layer;
  layer.heads = h.heads, layer.kv_heads = h.kv_heads, layer.hidden = h.hidden;
  n.layers.assign(size_t(h.layers), layer);
  return n;
}

/// "" where there is none.
std::string tokenizer_beside(const std::string& path, int64_t vocabulary) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code unknown;
  for (const std::string& name :
       {"tok" + std::to_string(vocabulary) + ".bin", std::string("tokenizer.bin")})
    if (std::filesystem::exists(folder / name, unknown)) return (folder / name).string();
  return "";
}

}  // namespace

bool is_llama2c(const importer::OpenedFile& file) {
  if (std::filesystem::path(file.path).extension() != ".bin" || file.archive) return false;
  return read_head(*checkpoint::MappedFile::open(file.path)).has_value();
}

importer::Program import_llama2c(const importer::OpenedFile& file,
                                 const importer::ImportOptions& options) {
  return importer::with_errors_of(file.path, [&] {
    const auto mapped = checkpoint::MappedFile::open(file.path);
    const Head head = *read_head(*mapped);
    if (head.has_magic && head.version != 1)
      graph::fail_unsupported(file.path, "is of version " + std::to_string(head.version) +
                                             " with the magic word of llama2.c, expected f32: "
                                             "version 1, or 0 without it; export it with "
                                             "--version 1");
    const Llama2cTensors tensors(file.path, mapped, head);
    importer::Program program =
        build(numbers_of(head, options.context), tensors, "llama2.c", options);
    const std::string tokenizer = tokenizer_beside(file.path, head.vocabulary);
    add_tokenizer(&program, tokenizer, [&]() -> std::optional<vocabulary::Vocabulary> {
      if (tokenizer.empty()) return {};
      return vocabulary::vocabulary_of_llama2c(tokenizer, uint64_t(head.vocabulary));
    });
    return program;
  });
}

}  // namespace ingot::decoder
