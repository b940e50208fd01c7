// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/tflite.cpp - the constants of a TFLite model, validated by FlatBuffers'
// verifier before anything is read.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tflite_generated.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

constexpr uint64_t kMaxTfliteText = 4096;  // of a fact; longer ones are counted

struct TfliteType {
  tflite::fb::TensorType type;
  ElementType element;
};
constexpr TfliteType kTfliteTypes[] = {{tflite::fb::TensorType::float32, ElementType::kF32},
                                       {tflite::fb::TensorType::float16, ElementType::kF16},
                                       {tflite::fb::TensorType::int32, ElementType::kI32},
                                       {tflite::fb::TensorType::uint8, ElementType::kU8},
                                       {tflite::fb::TensorType::int64, ElementType::kI64},
                                       {tflite::fb::TensorType::boolean, ElementType::kBool},
                                       {tflite::fb::TensorType::int16, ElementType::kI16},
                                       {tflite::fb::TensorType::complex64, ElementType::kC64},
                                       {tflite::fb::TensorType::int8, ElementType::kI8},
                                       {tflite::fb::TensorType::float64, ElementType::kF64},
                                       {tflite::fb::TensorType::complex128, ElementType::kC128},
                                       {tflite::fb::TensorType::uint64, ElementType::kU64},
                                       {tflite::fb::TensorType::uint32, ElementType::kU32},
                                       {tflite::fb::TensorType::uint16, ElementType::kU16},
                                       {tflite::fb::TensorType::int4, ElementType::kI8},
                                       {tflite::fb::TensorType::bfloat16, ElementType::kBf16}};

/// Two to a byte, the lower half first; given as int8.
class HalfBytes : public Storage {
 public:
  HalfBytes(Bytes packed, uint64_t count) : packed_(std::move(packed)), count_(count) {}
  uint64_t size() const override { return count_; }
  Bytes load() const override {
    auto values = std::make_shared<std::vector<uint8_t>>(size_t(count_));
    for (uint64_t i = 0; i < count_; i++) {
      const uint8_t half = uint8_t(i % 2 ? packed_.data[i / 2] >> 4 : packed_.data[i / 2] & 15);
      (*values)[size_t(i)] = uint8_t(half >= 8 ? half | 0xf0 : half);
    }
    return {values, values->data(), values->size()};
  }

 private:
  Bytes packed_;
  uint64_t count_;
};

class TfliteReader {
 public:
  TfliteReader(const std::string& path, const ReadLimits& limits)
      : path_(path), limits_(limits), file_(MappedFile::open(path)) {}

  Checkpoint read() {
    out_.file = path_;
    out_.format = "tflite";
    budget_ = (uint64_t{64} << 20) + 4 * file_->size();
    // In a file beyond 2 GiB the tables are its beginning, and buffers lie behind them.
    const uint64_t tables = std::min<uint64_t>(file_->size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
    flatbuffers::Verifier verifier(file_->data(), size_t(tables), 64,
                                   flatbuffers::uoffset_t(limits_.entries));
    if (tables < 8 || !verifier.VerifyBuffer<tflite::fb::Model>("TFL3"))
      refuse(
          "its tables point outside of it; the download is incomplete, or it was made to mislead");
    model_ = flatbuffers::GetRoot<tflite::fb::Model>(file_->data());
    out_.say({"version"}, int64_t(model_->version()));
    if (model_->description()) out_.say({"description"}, text(model_->description()));
    add_entries();
    if (model_->subgraphs())
      for (const tflite::fb::SubGraph* graph : *model_->subgraphs()) add_graph(graph);
    if (!unread_.empty())
      host::fail(host::Exit::kUnsupported, path_ + ": tensors that are not read: " + unread_ +
                                               "; export the model with other types");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt, path_ + ": is no sound TFLite model: " + why);
  }

  /// What is copied out of the file, many tensors may share; together it stays within a multiple of
  /// the file's size.
  void spend(uint64_t bytes) {
    if (bytes > budget_) refuse("its tensors share texts and numbers more often than a model does");
    budget_ -= bytes;
  }
  std::string text(const flatbuffers::String* from) {
    if (!from) return "";
    spend(from->size() + 64);
    return from->str();
  }

  struct Range {
    uint64_t offset = 0, size = 0;
  };
  bool bytes_of(uint32_t buffer, const std::string& where, Range* out) const {
    if (!model_->buffers() || buffer >= model_->buffers()->size())
      refuse(where + " has buffer " + std::to_string(buffer) + " of " +
             std::to_string(model_->buffers() ? model_->buffers()->size() : 0));
    const tflite::fb::Buffer* b = model_->buffers()->Get(buffer);
    if (b->data() && b->data()->size() > 0) {
      *out = {uint64_t(b->data()->data() - file_->data()), b->data()->size()};
      return true;
    }
    if (b->offset() <= 1 || b->size() == 0) return false;
    if (b->offset() > file_->size() || b->size() > file_->size() - b->offset())
      refuse(where + " lies at byte " + std::to_string(b->offset()) + " and takes " +
             std::to_string(b->size()) + " of " + std::to_string(file_->size()) +
             " bytes: the download is incomplete");
    *out = {b->offset(), b->size()};
    return true;
  }

  void add_entries() {
    if (!model_->metadata()) return;
    for (const tflite::fb::Entry* entry : *model_->metadata()) {
      Range range;
      const std::string name = text(entry->name());
      if (!bytes_of(entry->buffer(), "metadata '" + name + "'", &range)) continue;
      std::string value(reinterpret_cast<const char*>(file_->data()) + range.offset,
                        size_t(std::min(range.size, kMaxTfliteText)));
      const size_t end = value.find_last_not_of('\0');
      value.resize(end == std::string::npos ? 0 : end + 1);
      const bool plain =
          range.size <= kMaxTfliteText &&
          std::all_of(value.begin(), value.end(), [](char c) { return c >= 32 && c < 127; });
      spend(value.size() + 64);
      out_.say({"metadata", name},
               plain ? value : std::to_string(range.size) + " bytes that are no text");
    }
  }

  void add_graph(const tflite::fb::SubGraph* graph) {
    Path below;
    if (model_->subgraphs()->size() > 1) {
      std::string name = text(graph->name());
      if (name.empty()) name = "subgraph";
      while (!graphs_.insert(name).second) name += "_" + std::to_string(graphs_.size());
      below.push_back(name);
    }
    if (!graph->tensors()) return;
    std::set<std::string> names;
    for (uint32_t i = 0; i < graph->tensors()->size(); i++) {
      const tflite::fb::Tensor* tensor = graph->tensors()->Get(i);
      if (tensor->buffer() == 0) continue;
      std::string name = text(tensor->name());
      if (name.empty() || !names.insert(name).second) {
        name += ":" + std::to_string(i);
        names.insert(name);
      }
      add_tensor(*tensor, name, below);
    }
  }

  void add_tensor(const tflite::fb::Tensor& from, const std::string& name, const Path& below) {
    const std::string where = "tensor '" + name + "'";
    Range range;
    if (!bytes_of(from.buffer(), where, &range)) return;  // computed while the model runs
    if (from.type() == tflite::fb::TensorType::string) {
      out_.notes.push_back("'" + name + "' holds texts, which are no weights");
      return;
    }
    if (from.sparsity()) {
      out_.notes.push_back("'" + name +
                           "' is sparse: converting the model reads it, here it is left out");
      return;
    }
    const TfliteType* spelling =
        std::find_if(std::begin(kTfliteTypes), std::end(kTfliteTypes),
                     [&](const TfliteType& s) { return s.type == from.type(); });
    if (spelling == std::end(kTfliteTypes)) {
      if (unread_.size() < 400)
        unread_ += (unread_.empty() ? "'" : ", '") + name + "' (type " +
                   std::to_string(int(from.type())) + ")";
      return;
    }
    Tensor t;
    t.path = below;
    t.path.push_back(name);
    t.type = spelling->element;
    uint64_t count = 1;
    const uint32_t rank = from.shape() ? from.shape()->size() : 0;
    spend(rank * 16 + 256);
    for (uint32_t d = 0; d < rank; d++) {
      const int32_t n = from.shape()->Get(d);
      if (n < 0) refuse(where + " has a dimension of " + std::to_string(n));
      if (__builtin_mul_overflow(count, uint64_t(n), &count) || count > (uint64_t{1} << 56))
        refuse(where + ": its size overflows");
      t.dims.push_back(n);
    }
    t.strides = dense_strides(t.dims);
    const bool halves = from.type() == tflite::fb::TensorType::int4;
    const uint64_t expected = halves ? (count + 1) / 2 : count * element_bytes(t.type);
    if (range.size != expected)
      refuse(where + " has " + std::to_string(range.size) + " bytes, its shape says " +
             std::to_string(expected));
    if (halves)
      t.storage = std::make_shared<HalfBytes>(
          Bytes{file_, file_->data() + range.offset, range.size}, count);
    else
      t.storage = mapped_storage(file_, range.offset, range.size);
    validate_view(t, limits_, path_ + ": " + where);
    if (from.quantization()) set_quantization(*from.quantization(), where, &t);
    out_.add(std::move(t));
  }

  void set_quantization(const tflite::fb::Quantization& from, const std::string& where, Tensor* t) {
    const uint32_t scales = from.scale() ? from.scale()->size() : 0,
                   zeros = from.zero_point() ? from.zero_point()->size() : 0;
    if (scales == 0) return;  // only the range that was seen in training
    const bool single = scales == 1;
    int32_t axis = from.quantized_dimension();
    // Converters give a bias the axis of its weights.
    if (t->dims.size() == 1 && t->dims[0] == int64_t(scales)) axis = 0;
    if (!single &&
        (axis < 0 || size_t(axis) >= t->dims.size() || t->dims[size_t(axis)] != int64_t(scales)))
      refuse(where + " has " + std::to_string(scales) + " scales along dimension " +
             std::to_string(axis));
    if (zeros != 0 && zeros != scales)
      refuse(where + " has " + std::to_string(scales) + " scales and " + std::to_string(zeros) +
             " zero points");
    spend(uint64_t{16} * scales);
    Quantization q;
    q.scheme = single ? "per_tensor_affine" : "per_channel_affine";
    q.axis = single ? 0 : axis;
    q.scales.assign(from.scale()->begin(), from.scale()->end());
    q.zero_points.assign(scales, 0);
    // The verifier does not see to the alignment of 8-byte elements.
    if (zeros > 0) std::memcpy(q.zero_points.data(), from.zero_point()->Data(), size_t{8} * zeros);
    t->quantization = std::move(q);
  }

  const std::string& path_;
  const ReadLimits& limits_;
  std::shared_ptr<const MappedFile> file_;
  const tflite::fb::Model* model_ = nullptr;
  uint64_t budget_ = 0;
  std::set<std::string> graphs_;
  std::string unread_;
  Checkpoint out_;
};

}  // namespace

Checkpoint read_tflite(const std::string& path, const ReadLimits& limits) {
  return TfliteReader(path, limits).read();
}

}  // namespace ingot::checkpoint
