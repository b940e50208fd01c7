// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/flat/gguf.h"

#include <cstring>
#include <unordered_set>

#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

// of one array; a vocabulary has 256k
constexpr uint64_t kMaxItems = 1u << 24;
constexpr int kMaxNesting = 3;

struct Plain {
  uint32_t type;
  ElementType element;
};
constexpr Plain kPlain[] = {{0, ElementType::kF32},  {1, ElementType::kF16},
                            {24, ElementType::kI8},  {25, ElementType::kI16},
                            {26, ElementType::kI32}, {27, ElementType::kI64},
                            {28, ElementType::kF64}, {30, ElementType::kBf16}};

/// Of a number; 0 of a text, an array and an unknown type.
uint64_t width_of(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool: return 1;
    case GgufType::kU16:
    case GgufType::kI16: return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32: return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64: return 8;
    default: return 0;
  }
}

uint64_t little_endian(const uint8_t* at, uint64_t bytes) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < bytes; i++) n |= uint64_t(at[i]) << (8 * i);
  return n;
}

template <class T, class Bits>
T as(Bits bits) {
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

class BlockStorage : public Storage {
 public:
  BlockStorage(Bytes bytes, const GgufBlock& block) : bytes_(std::move(bytes)), block_(block) {}
  uint64_t size() const override { return bytes_.size / block_.bytes * block_.elements * 4; }
  Bytes load() const override {
    auto values = std::make_shared<std::vector<float>>(size_t(size() / 4));
    decode_gguf_blocks(block_, bytes_.data, bytes_.size, values->data());
    return {values, reinterpret_cast<const uint8_t*>(values->data()), size()};
  }

 private:
  Bytes bytes_;
  const GgufBlock& block_;
};

}  // namespace

class GgufParser {
 public:
  GgufParser(const std::string& path, const ReadLimits& limits) : limits_(limits) {
    out_.path_ = path;
    out_.file_ = MappedFile::open(path);
  }

  GgufFile parse() {
    if (file().size() < 4) refuse("is shorter than its magic number");
    at_ = 4;
    const uint64_t version = number(4);
    if (version != 2 && version != 3)
      host::fail(host::Exit::kUnsupported, out_.path_ + ": GGUF version " +
                                               std::to_string(version) +
                                               ", expected 2 or 3; convert the file anew");
    const uint64_t tensors = number(8), pairs = number(8);
    if (tensors > limits_.entries || pairs > limits_.entries)
      refuse("names " + std::to_string(tensors) + " tensors and " + std::to_string(pairs) +
             " facts");
    for (uint64_t i = 0; i < pairs; i++) pair();
    // a tensor takes 24 bytes of the table at least
    const uint64_t known = std::min<uint64_t>(tensors, left() / 24);
    host::charge_metadata(known * (sizeof(Entry) + sizeof(std::string_view) + 16));
    std::vector<Entry> entries(static_cast<size_t>(known));
    if (entries.size() != tensors) refuse("ends within its tensor table");
    std::unordered_set<std::string_view> names;
    for (Entry& e : entries) {
      entry(&e);
      if (!names.insert(e.tensor.name).second)
        refuse("names the tensor '" + e.tensor.name + "' twice");
    }
    const uint64_t data = (at_ + alignment_ - 1) / alignment_ * alignment_;
    if (data > file().size() && tensors) refuse("ends before its data");
    out_.tensors_.reserve(entries.size());
    for (Entry& e : entries) {
      place(&e, data);
      out_.tensors_.push_back(std::move(e.tensor));
    }
    return std::move(out_);
  }

 private:
  struct Entry {
    GgufTensor tensor;
    uint32_t type = 0;
    uint64_t offset = 0;
  };

  const MappedFile& file() const { return *out_.file_; }
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt, out_.path_ + ": is no sound GGUF file: " + why + " (byte " +
                                         std::to_string(at_) + "); get the file anew");
  }
  uint64_t left() const { return file().size() - at_; }
  const uint8_t* here() const { return file().data() + at_; }
  uint64_t number(uint64_t bytes) {
    if (bytes > left()) refuse("ends within a number: the download is incomplete");
    at_ += bytes;
    return little_endian(here() - bytes, bytes);
  }
  std::string_view text() {
    const uint64_t length = number(8);
    if (length > left()) refuse("a text of " + std::to_string(length) + " bytes");
    at_ += length;
    return {reinterpret_cast<const char*>(here() - length), size_t(length)};
  }

  void pair() {
    const std::string_view key = text();
    constexpr uint64_t kNode = 64;  // of a map
    host::charge_metadata(sizeof(GgufValue) + kNode +
                          2 * (sizeof(std::string) + host::text_memory(key.size())));
    const auto [value, is_new] = out_.values_.emplace(std::string(key), GgufValue());
    if (!is_new) refuse("names the fact '" + std::string(key) + "' twice");
    out_.keys_.emplace_back(key);
    GgufValue& v = value->second;
    v.type = GgufType(number(4));
    if (v.type == GgufType::kArray) {
      v.item = GgufType(number(4));
      v.count = count_of(v.item, 0);
    }
    v.begin = here();
    items(v.type == GgufType::kArray ? v.item : v.type, v.count, 1);
    v.bytes = uint64_t(here() - v.begin);
    if (key != "general.alignment" || v.type != GgufType::kU32) return;
    alignment_ = little_endian(v.begin, 4);
    if (alignment_ < 1 || alignment_ > (1u << 20) || (alignment_ & (alignment_ - 1)))
      refuse("an alignment of " + std::to_string(alignment_));
  }
  uint64_t count_of(GgufType item, int depth) {
    if (depth >= kMaxNesting) refuse("arrays nest too deep");
    const uint64_t count = number(8), width = width_of(item);
    if (count > left() / std::max<uint64_t>(width, 1) || count > kMaxItems)
      refuse("an array of " + std::to_string(count) + " items");
    return count;
  }
  /// Passes over them.
  void items(GgufType type, uint64_t count, int depth) {
    const uint64_t width = width_of(type);
    if (width) {
      if (count > left() / width) refuse("ends within a number: the download is incomplete");
      at_ += count * width;
      return;
    }
    host::charge_work(count);
    if (type != GgufType::kText && type != GgufType::kArray)
      refuse("a fact of the unknown type " + std::to_string(uint32_t(type)));
    for (uint64_t i = 0; i < count; i++) {
      if (type == GgufType::kText) {
        text();
      } else {
        const GgufType item = GgufType(number(4));
        items(item, count_of(item, depth), depth + 1);
      }
    }
  }

  void entry(Entry* e) {
    GgufTensor& t = e->tensor;
    t.name = text();
    host::charge_metadata(host::text_memory(t.name.size()));
    const uint64_t rank = number(4);
    if (rank > 8) refuse("tensor '" + t.name + "' has " + std::to_string(rank) + " dimensions");
    for (uint64_t d = 0; d < rank; d++) {
      const uint64_t n = number(8);
      if (n > (uint64_t{1} << 48))
        refuse("tensor '" + t.name + "' has a dimension of " + std::to_string(n));
      t.dims.insert(t.dims.begin(), int64_t(n));  // the file has the fastest first
    }
    e->type = uint32_t(number(4));
    e->offset = number(8);
  }

  /// @pre `data`: where the tensors begin
  void place(Entry* e, uint64_t data) {
    GgufTensor& t = e->tensor;
    const std::string where = "tensor '" + t.name + "'";
    t.elements = 1;
    for (const int64_t d : t.dims)
      if (__builtin_mul_overflow(t.elements, uint64_t(d), &t.elements) ||
          t.elements > (uint64_t{1} << 56))
        refuse(where + ": its size overflows");
    t.block = find_gguf_block(e->type);
    if (t.block) {
      if (t.dims.empty() || t.dims.back() % t.block->elements)
        refuse(where + " is " + t.block->name + ", and its rows are no multiple of " +
               std::to_string(t.block->elements));
      t.bytes = t.elements / t.block->elements * t.block->bytes;
    } else {
      const Plain* plain = nullptr;
      for (const Plain& p : kPlain)
        if (p.type == e->type) plain = &p;
      if (!plain)
        host::fail(host::Exit::kUnsupported,
                   out_.path_ + ": " + where + " has the block type " + std::to_string(e->type) +
                       ", which is not read; quantize it as Q8_0, Q6_K or Q4_K");
      t.element = plain->element;
      t.bytes = t.elements * element_bytes(t.element);
    }
    const uint64_t available = file().size() > data ? file().size() - data : 0;
    if (e->offset > available || t.bytes > available - e->offset)
      refuse(where + " lies at " + std::to_string(e->offset) + " and takes " +
             std::to_string(t.bytes) + " of " + std::to_string(available) +
             " bytes: the download is incomplete");
    t.begin = file().data() + data + e->offset;
  }

  const ReadLimits& limits_;
  uint64_t at_ = 0, alignment_ = 32;
  GgufFile out_;
};

GgufFile GgufFile::open(const std::string& path, const ReadLimits& limits) {
  return GgufParser(path, limits).parse();
}

FactValue gguf_scalar(GgufType type, const uint8_t** at) {
  if (type == GgufType::kText) {
    const uint64_t length = little_endian(*at, 8);
    const auto* begin = reinterpret_cast<const char*>(*at) + 8;
    *at += 8 + length;
    return std::string(begin, size_t(length));
  }
  const uint64_t width = width_of(type), bits = little_endian(*at, width);
  *at += width;
  switch (type) {
    case GgufType::kI8: return int64_t(int8_t(bits));
    case GgufType::kI16: return int64_t(int16_t(bits));
    case GgufType::kI32: return int64_t(int32_t(uint32_t(bits)));
    case GgufType::kF32: return double(as<float>(uint32_t(bits)));
    case GgufType::kF64: return as<double>(bits);
    case GgufType::kBool: return bits != 0;
    default: return int64_t(bits);
  }
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}
void GgufFile::refuse_type(std::string_view key, const char* expected) const {
  host::fail(host::Exit::kCorrupt, path_ + ": its metadata '" + std::string(key) + "' is no " +
                                       expected + "; get the file anew, or convert it again");
}
std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (!width_of(value->type)) refuse_type(key, "whole number");
  const uint8_t* at = value->begin;
  const FactValue one = gguf_scalar(value->type, &at);
  const int64_t* n = std::get_if<int64_t>(&one);
  if (!n || (value->type == GgufType::kU64 && *n < 0)) refuse_type(key, "whole number");
  return *n;
}
std::optional<double> GgufFile::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::kF32 && value->type != GgufType::kF64) return *integer(key);
  const uint8_t* at = value->begin;
  return std::get<double>(gguf_scalar(value->type, &at));
}
std::optional<bool> GgufFile::flag(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::kBool) refuse_type(key, "truth value");
  return *value->begin != 0;
}
std::optional<std::string> GgufFile::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  if (value->type != GgufType::kText) refuse_type(key, "text");
  const uint8_t* at = value->begin;
  return std::get<std::string>(gguf_scalar(GgufType::kText, &at));
}
std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  std::vector<int64_t> out;
  const GgufValue* value = find(key);
  if (!value) return out;
  if (value->type != GgufType::kArray || !width_of(value->item))
    refuse_type(key, "list of numbers");
  host::charge_metadata(value->count * sizeof(int64_t));
  const uint8_t* at = value->begin;
  for (uint64_t i = 0; i < value->count; i++) {
    const FactValue one = gguf_scalar(value->item, &at);
    if (const bool* is = std::get_if<bool>(&one))
      out.push_back(*is);
    else if (const int64_t* n = std::get_if<int64_t>(&one))
      out.push_back(*n);
    else
      refuse_type(key, "list of whole numbers");
  }
  return out;
}
std::vector<double> GgufFile::numbers(std::string_view key) const {
  std::vector<double> out;
  const GgufValue* value = find(key);
  if (!value) return out;
  if (value->type == GgufType::kArray &&
      (value->item == GgufType::kF32 || value->item == GgufType::kF64)) {
    host::charge_metadata(value->count * sizeof(double));
    const uint8_t* at = value->begin;
    for (uint64_t i = 0; i < value->count; i++)
      out.push_back(std::get<double>(gguf_scalar(value->item, &at)));
    return out;
  }
  for (const int64_t n : integers(key)) out.push_back(double(n));
  return out;
}
std::vector<std::string> GgufFile::texts(std::string_view key) const {
  std::vector<std::string> out;
  const GgufValue* value = find(key);
  if (!value) return out;
  if (value->type != GgufType::kArray || value->item != GgufType::kText)
    refuse_type(key, "list of texts");
  host::charge_metadata(value->count * sizeof(std::string));
  out.reserve(size_t(value->count));
  const uint8_t* at = value->begin;
  for (uint64_t i = 0; i < value->count; i++) {
    host::charge_metadata(host::text_memory(little_endian(at, 8)));
    out.push_back(std::get<std::string>(gguf_scalar(GgufType::kText, &at)));
  }
  return out;
}

namespace {

/// All metadata as facts, items of arrays by number.
class Facts {
 public:
  Facts(const GgufFile& file, const ReadLimits& limits, Checkpoint* to)
      : file_(file), limits_(limits), to_(to) {}

  void run() {
    for (const std::string& key : file_.keys()) {
      const GgufValue& value = *file_.find(key);
      const uint8_t* at = value.begin;
      if (value.type == GgufType::kArray)
        items({key}, value.item, value.count, &at);
      else
        say({key}, value.type, &at);
    }
  }

 private:
  void say(const Path& path, GgufType type, const uint8_t** at) {
    if (to_->facts.size() >= limits_.entries)
      host::fail(host::Exit::kCorrupt, file_.path() + ": is no sound GGUF file: holds more than " +
                                           std::to_string(limits_.entries) +
                                           " facts; get the file anew");
    to_->say(path, gguf_scalar(type, at));
  }
  void items(const Path& path, GgufType type, uint64_t count, const uint8_t** at) {
    for (uint64_t i = 0; i < count; i++) {
      Path item = path;
      item.push_back(std::to_string(i));
      if (type != GgufType::kArray) {
        say(item, type, at);
        continue;
      }
      const auto inner = GgufType(little_endian(*at, 4));
      const uint64_t inner_count = little_endian(*at + 4, 8);
      *at += 12;
      items(item, inner, inner_count, at);
    }
  }

  const GgufFile& file_;
  const ReadLimits& limits_;
  Checkpoint* to_;
};

}  // namespace

Checkpoint read_gguf(const std::string& path, const ReadLimits& limits) {
  const GgufFile file = GgufFile::open(path, limits);
  Checkpoint out;
  out.file = path;
  out.format = "gguf";
  Facts(file, limits, &out).run();
  for (const GgufTensor& from : file.tensors()) {
    Tensor t;
    t.path = {from.name};
    t.type = from.element;
    t.dims = from.dims;
    t.strides = dense_strides(t.dims);
    if (from.block) {
      t.storage = std::make_shared<BlockStorage>(Bytes{file.mapping(), from.begin, from.bytes},
                                                 *from.block);
      out.say({"block type", from.name}, std::string(from.block->name));
    } else {
      t.storage =
          mapped_storage(file.mapping(), uint64_t(from.begin - file.mapping()->data()), from.bytes);
    }
    out.add(std::move(t));
  }
  return out;
}

}  // namespace ingot::checkpoint
