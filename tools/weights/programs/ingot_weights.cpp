// SPDX-License-Identifier: Apache-2.0
// tools/weights/programs/ingot_weights.cpp - an .ingot file's weights as its source had them; of a
// file that does not say, its named constants.
#include <ingot_schema/ingot_generated.h>
#include <ingot_schema/metadata_generated.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/widen.h"
#include "runtime/format/format.h"
#include "tools/files/failure.h"
#include "tools/files/half.h"
#include "tools/weights/programs/read_weights.h"
#include "tools/weights/programs/unpack.h"

namespace ingot::weights {
namespace {

using checkpoint::Bytes;
using checkpoint::ElementType;
using checkpoint::MappedFile;
using checkpoint::Storage;
using checkpoint::Tensor;

constexpr ElementType kElements[] = {
    ElementType::kF32, ElementType::kF32, ElementType::kF16, ElementType::kBf16, ElementType::kF64,
    ElementType::kI8,  ElementType::kU8,  ElementType::kI16, ElementType::kU16,  ElementType::kI32,
    ElementType::kU32, ElementType::kI64, ElementType::kU64, ElementType::kBool};  // by DType

/// A constant that is packed or stored in halves, unpacked when it is loaded; the last result is
/// shared while somebody holds it.
class PackedStorage : public Storage {
 public:
  PackedStorage(Bytes packed, DType stored, Packing packing, std::vector<int64_t> dims,
                size_t element, uint64_t elements)
      : packed_(std::move(packed)),
        stored_(stored),
        packing_(packing),
        dims_(std::move(dims)),
        element_(element),
        size_(elements * element) {}
  uint64_t size() const override { return size_; }
  Bytes load() const override {
    std::shared_ptr<const std::vector<uint8_t>> dense = last_.lock();
    if (!dense) dense = std::make_shared<const std::vector<uint8_t>>(unpacked());
    last_ = dense;
    return {dense, dense->data(), dense->size()};
  }

 private:
  std::vector<uint8_t> unpacked() const {
    if (stored_ == DType::kInvalid)
      return unpack(packing_, dims_, packed_.data, packed_.size, element_);
    std::vector<uint8_t> wide(packed_.size * 2);
    (stored_ == DType::kF16 ? widen_f16 : widen_bf16)(packed_.data, wide.data(), packed_.size / 2);
    return unpack(packing_, dims_, wide.data(), wide.size(), element_);
  }
  Bytes packed_;
  DType stored_;  // halves of f32 elements, or kInvalid
  Packing packing_;
  std::vector<int64_t> dims_;
  size_t element_;  // bytes
  uint64_t size_;
  mutable std::weak_ptr<const std::vector<uint8_t>> last_;
};

/// A view made dense, f32 narrowed to the source's type where that differs.
class ViewStorage : public Storage {
 public:
  ViewStorage(Tensor view, ElementType type) : view_(std::move(view)), type_(type) {}
  uint64_t size() const override { return uint64_t(view_.elements()) * element_bytes(type_); }
  Bytes load() const override {
    auto out = std::make_shared<std::vector<uint8_t>>(checkpoint::tensor_bytes(view_));
    if (type_ != view_.type) *out = narrowed(*out);
    return {out, out->data(), out->size()};
  }

 private:
  std::vector<uint8_t> narrowed(const std::vector<uint8_t>& floats) const {
    std::vector<uint8_t> out(floats.size() / 4 * element_bytes(type_));
    for (size_t i = 0; i < floats.size() / 4; i++) {
      float x;
      std::memcpy(&x, floats.data() + i * 4, 4);
      const double wide = x;
      const uint16_t half = type_ == ElementType::kF16 ? host::narrow_f16(x) : host::narrow_bf16(x);
      if (type_ == ElementType::kF64)
        std::memcpy(out.data() + i * 8, &wide, 8);
      else
        std::memcpy(out.data() + i * 2, &half, 2);
    }
    return out;
  }
  Tensor view_;
  ElementType type_;
};

class Reader {
 public:
  Reader(const std::string& path, const checkpoint::ReadLimits& limits)
      : path_(path), limits_(limits), file_(MappedFile::open(path)) {}

  checkpoint::Checkpoint read() {
    out_.file = path_;
    out_.format = "ingot";
    open();
    const fb::Metadata* metadata = read_metadata();
    if (metadata && metadata->weights())
      for (const fb::SourceWeight* weight : *metadata->weights()) add(*weight);
    else
      add_constants();
    if (metadata) say(*metadata);
    if (lost_)
      out_.notes.push_back(
          std::to_string(lost_) + " of " + std::to_string(lost_ + out_.tensors.size()) +
          " weights were changed by the conversion and cannot be extracted: " + lost_names_ +
          (lost_ > 3 ? ", ..." : "") + "; convert again with --keep-weights");
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt,
               path_ + ": " + why + "; the file is damaged, see: ingot verify " + path_);
  }

  void open() {
    ErrorDetail detail;
    if (!source_from_memory(file_->data(), file_->size(), &source_, &detail).ok())
      refuse("cannot be mapped");
    uint64_t image = 0;
    Status status = measure_head(source_, &image, &detail);
    if (status.ok()) status = read_head(source_, {}, &head_, &detail);
    if (!status.ok())
      refuse(std::string(code_name(status.code())) + ": " + detail.field + ", expected " +
             std::to_string(detail.need) + ", found " + std::to_string(detail.have));
    flatbuffers::Verifier verifier(head_.program, size_t(head_.program_bytes), 64,
                                   flatbuffers::uoffset_t(limits_.entries));
    if (!fb::VerifyProgramBuffer(verifier)) refuse("its program is not sound");
    program_ = fb::GetProgram(head_.program);
    refuse_features();
    storages_.resize(program_->values() ? program_->values()->size() : 0);
    budget_ = (uint64_t{64} << 20) + 4 * file_->size();
  }

  /// What changes the meaning of a constant may only be read by who knows it.
  void refuse_features() const {
    if (!program_->required_features()) return;
    for (const flatbuffers::String* feature : *program_->required_features()) {
      if (!FeatureSet().add(feature->c_str()))
        host::fail(host::Exit::kUnsupported,
                   path_ + ": needs the feature '" + feature->str() +
                       "', which this ingot does not know; read it with a newer one");
    }
  }

  const fb::Metadata* read_metadata() {
    if (head_.metadata_part < 0) return nullptr;
    const PartEntry part = file_part(head_, uint32_t(head_.metadata_part));
    ErrorDetail detail;
    if (!check_part_hash(source_, head_, uint32_t(head_.metadata_part), &detail).ok())
      refuse("its metadata are not those that were written");
    flatbuffers::Verifier verifier(file_->data() + part.offset, size_t(part.bytes), 64,
                                   flatbuffers::uoffset_t(limits_.entries));
    if (part.bytes < 8 || part.bytes >= FLATBUFFERS_MAX_BUFFER_SIZE ||
        !fb::VerifyMetadataBuffer(verifier))
      refuse("its metadata are not sound");
    return fb::GetMetadata(file_->data() + part.offset);
  }

  /// Many records may share texts and numbers; what is copied of them is bounded by the file's
  /// size.
  void spend(uint64_t bytes) {
    if (bytes > budget_) refuse("its metadata share more than a file does");
    budget_ -= bytes;
  }
  std::string text(const flatbuffers::String* from) {
    if (!from) return "";
    spend(from->size() + 32);
    return from->str();
  }
  std::vector<int64_t> numbers(const flatbuffers::Vector<int64_t>* from) {
    if (!from) return {};
    spend(8 * uint64_t(from->size()) + 32);
    // the verifier does not see to the alignment of 8-byte elements
    std::vector<int64_t> out(from->size());
    if (!out.empty()) std::memcpy(out.data(), from->Data(), out.size() * 8);
    return out;
  }

  /// A constant, unpacked to row-major order. Null storage: it cannot be unpacked.
  struct Constant {
    std::shared_ptr<const Storage> storage;
    ElementType type = ElementType::kF32;
    std::vector<int64_t> dims;
    bool known = false;
    bool may_be_halves = false;  // of which type, the weight says
  };
  const Constant& constant(uint32_t id, const std::string& where) {
    if (id >= storages_.size())
      refuse(where + " lies in value " + std::to_string(id) + ", which is not there");
    Constant& out = storages_[id];
    if (out.known) return out;
    const fb::Value* value = program_->values()->Get(id);
    const auto packing = Packing(uint8_t(value->packing()));
    if (value->kind() != fb::ValueKind::constant || uint8_t(value->dtype()) == 0 ||
        uint8_t(value->dtype()) >= std::size(kElements) || packing > Packing::kBlocks32)
      refuse(where + " lies in value " + std::to_string(id) + ", which is no constant");
    out.known = true;
    out.type = kElements[uint8_t(value->dtype())];
    out.dims = numbers(value->dims());
    TensorType type;
    type.dtype = DType(uint8_t(value->dtype()));
    type.packing = packing;
    type.rank = uint8_t(std::min<size_t>(out.dims.size(), size_t(kMaxRank)));
    bool sound = out.dims.size() <= size_t(kMaxRank);
    uint64_t elements = 1, bytes = 0;
    for (size_t i = 0; sound && i < out.dims.size(); i++) {
      type.dims[i] = out.dims[i];
      sound = out.dims[i] >= 0 &&
              !__builtin_mul_overflow(elements, uint64_t(out.dims[i]), &elements) &&
              elements < (uint64_t{1} << 56);
    }
    type.row_stride = sound ? type.row_length() : 0;
    if (!sound || !storage_bytes(type, &bytes))
      refuse(where + ": its constant has dimensions that cannot be");
    const auto stored = DType(uint8_t(value->stored()));
    if (stored != DType::kInvalid) {
      if ((stored != DType::kF16 && stored != DType::kBF16) || type.dtype != DType::kF32 ||
          value->inline_data())
        refuse(where + ": its constant is stored in a type that cannot be");
      bytes /= 2;
    }
    Bytes held{file_, nullptr, bytes};
    if (const auto* data = value->inline_data()) {
      if (data->size() != bytes)
        refuse(where + ": its constant has " + std::to_string(data->size()) + " bytes");
      held.data = data->data();
    } else {
      if (value->segment() >= head_.weight_part_count)
        refuse(where + ": its weight part is not there");
      const PartEntry part = weight_part(head_, value->segment());
      if (value->segment_offset() > part.bytes || bytes > part.bytes - value->segment_offset())
        refuse(where + ": its constant passes the end of its weight part");
      held.data = file_->data() + part.offset + value->segment_offset();
    }
    if (packing == Packing::kDense && stored == DType::kInvalid)
      out.storage = checkpoint::held_storage(std::move(held));
    else if (may_be_halves(type.dtype, packing, &out.dims))
      out.may_be_halves = true, out.type = ElementType::kF16,
      out.storage = std::make_shared<PackedStorage>(std::move(held), stored, packing, out.dims, 2,
                                                    elements / 2);
    else if (can_unpack(packing))
      out.storage = std::make_shared<PackedStorage>(std::move(held), stored, packing, out.dims,
                                                    size_t(dtype_bytes(type.dtype)), elements);
    return out;
  }

  void add(const fb::SourceWeight& from) {
    Tensor t;
    for (const flatbuffers::String* level : *from.path()) t.path.push_back(text(level));
    if (t.path.empty()) refuse("a weight has no name");
    const std::string name = checkpoint::path_text(t.path), where = "weight '" + name + "'";
    if (from.lost() && from.lost()->size() > 0) {
      if (lost_++ < 3)
        lost_names_ += (lost_names_.empty() ? "'" : ", '") + name + "' (" + text(from.lost()) + ")";
      return;
    }
    const std::string dtype = text(from.dtype());
    bool known = false;
    for (int i = 0; i <= int(ElementType::kF8E5M2) && !known; i++) {
      t.type = ElementType(i);
      known = dtype == checkpoint::element_name(t.type);
    }
    if (!known) refuse(where + " has the unknown type '" + dtype + "'");
    t.dims = numbers(from.dims());
    t.strides = checkpoint::dense_strides(t.dims);
    t.location = text(from.device());
    t.is_parameter = from.parameter();
    if (from.value() >= 0)
      set_view(from, where, &t);
    else
      t.storage = kept(from);
    checkpoint::validate_view(t, limits_, path_ + ": " + where);
    if (uint64_t(t.elements()) * element_bytes(t.type) != t.storage->size() && from.value() < 0)
      refuse(where + ": " + std::to_string(t.storage->size()) +
             " bytes are kept, its shape says otherwise");
    out_.tensors.push_back(std::move(t));
  }

  std::shared_ptr<const Storage> kept(const fb::SourceWeight& from) const {
    const auto* data = from.data();
    return checkpoint::held_storage(
        {file_, data ? data->data() : file_->data(), data ? data->size() : 0});
  }

  void set_view(const fb::SourceWeight& from, const std::string& where, Tensor* t) {
    const Constant& held = constant(uint32_t(from.value()), where);
    if (!held.storage) refuse(where + " lies in a constant that cannot be unpacked");
    Tensor view;
    view.type = held.type;
    view.storage = held.storage;
    view.dims = numbers(from.view());
    view.strides = numbers(from.strides());
    if (from.offset() < 0) refuse(where + " starts before its constant");
    view.offset = uint64_t(from.offset());
    checkpoint::validate_view(view, limits_, path_ + ": " + where);
    uint64_t expected = 1;
    for (const int64_t d : t->dims)
      if (d < 0 || __builtin_mul_overflow(expected, uint64_t(d), &expected))
        refuse(where + ": its size overflows");
    if (uint64_t(view.elements()) != expected)
      refuse(where + ": its view and its shape have different sizes");
    if (held.may_be_halves && t->type == ElementType::kBf16) view.type = t->type;
    const bool narrows = t->type != view.type;
    if (narrows && (held.type != ElementType::kF32 ||
                    (t->type != ElementType::kF16 && t->type != ElementType::kBf16 &&
                     t->type != ElementType::kF64)))
      refuse(where + " is " + checkpoint::element_name(t->type) + ", its constant is " +
             checkpoint::element_name(held.type));
    if (!narrows && view.dims == t->dims) {
      t->strides = view.strides;
      t->offset = view.offset;
      t->storage = view.storage;
      return;
    }
    t->storage = std::make_shared<ViewStorage>(std::move(view), t->type);
  }

  void add_constants() {
    out_.notes.push_back(
        "the file does not say what its source's weights were; these are its constants as they are "
        "used");
    for (uint32_t i = 0; i < storages_.size(); i++) {
      const fb::Value* value = program_->values()->Get(i);
      if (value->kind() != fb::ValueKind::constant || !value->name() || value->name()->size() == 0)
        continue;
      Tensor t;
      t.path = {text(value->name())};
      const Constant& held = constant(i, "constant '" + t.path[0] + "'");
      if (!held.storage || held.may_be_halves) {
        if (lost_++ < 3)
          lost_names_ += (lost_names_.empty() ? "'" : ", '") + t.path[0] +
                         (held.may_be_halves ? "' (in blocks)" : "' (stored for Winograd)");
        continue;
      }
      t.type = held.type;
      t.dims = held.dims;
      t.strides = checkpoint::dense_strides(t.dims);
      t.storage = held.storage;
      checkpoint::validate_view(t, limits_, path_ + ": constant '" + t.path[0] + "'");
      out_.tensors.push_back(std::move(t));
    }
  }

  void say(const fb::Metadata& metadata) {
    if (!metadata.entries()) return;
    for (const fb::KeyValue* entry : *metadata.entries())
      out_.say({text(entry->key())}, text(entry->value()));
  }

  const std::string& path_;
  const checkpoint::ReadLimits& limits_;
  std::shared_ptr<const MappedFile> file_;
  Source source_{};
  FileView head_{};
  const fb::Program* program_ = nullptr;
  std::vector<Constant> storages_;
  uint64_t budget_ = 0;
  size_t lost_ = 0;
  std::string lost_names_;
  checkpoint::Checkpoint out_;
};

}  // namespace

checkpoint::Checkpoint read_ingot_weights(const std::string& path,
                                          const checkpoint::ReadLimits& limits) {
  return Reader(path, limits).read();
}

}  // namespace ingot::weights
