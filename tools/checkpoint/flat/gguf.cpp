// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/gguf.cpp - GGUF versions 2 and 3: header, key-value pairs, tensor table,
// aligned data. Block types are given as float32, decoded when they are read.
#include <cstring>

#include "tools/checkpoint/flat/gguf_blocks.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

// of one array that is kept as facts; a vocabulary has 256k
constexpr uint64_t kMaxItems = 1u << 24;

class BlockStorage : public Storage {
 public:
  BlockStorage(Bytes bytes, const GgufBlock& block) : bytes_(std::move(bytes)), block_(block) {}
  uint64_t size() const override { return bytes_.size / block_.bytes * block_.elements * 4; }
  Bytes load() const override {
    auto values = std::make_shared<std::vector<uint8_t>>(size_t(size()));
    std::vector<float> one(block_.elements);
    for (uint64_t i = 0; i < bytes_.size / block_.bytes; i++) {
      block_.decode(bytes_.data + i * block_.bytes, one.data());
      std::memcpy(values->data() + i * block_.elements * 4, one.data(), block_.elements * 4);
    }
    return {values, values->data(), values->size()};
  }

 private:
  Bytes bytes_;
  const GgufBlock& block_;
};

struct Plain {
  uint32_t type;
  ElementType element;
};
constexpr Plain kPlain[] = {{0, ElementType::kF32},  {1, ElementType::kF16},
                            {24, ElementType::kI8},  {25, ElementType::kI16},
                            {26, ElementType::kI32}, {27, ElementType::kI64},
                            {28, ElementType::kF64}, {30, ElementType::kBf16}};

class GgufReader {
 public:
  GgufReader(const std::string& path, const ReadLimits& limits)
      : path_(path), limits_(limits), file_(MappedFile::open(path)) {}

  Checkpoint read() {
    out_.file = path_;
    out_.format = "gguf";
    if (file_->size() < 4) refuse("is shorter than its magic number");
    at_ = 4;
    const uint64_t version = number(4);
    if (version != 2 && version != 3)
      host::fail(host::Exit::kUnsupported, path_ + ": GGUF version " + std::to_string(version) +
                                               ", expected 2 or 3; convert the file anew");
    const uint64_t tensors = number(8), pairs = number(8);
    if (tensors > limits_.entries || pairs > limits_.entries)
      refuse("names " + std::to_string(tensors) + " tensors and " + std::to_string(pairs) +
             " facts");
    for (uint64_t i = 0; i < pairs; i++) {
      const std::string key = text();
      value({key}, uint32_t(number(4)), 0);
    }
    host::charge_metadata(std::min<uint64_t>(tensors, left() / 24) * sizeof(Entry));
    std::vector<Entry> entries(size_t(std::min<uint64_t>(tensors, left() / 24)));
    if (entries.size() != tensors) refuse("ends within its tensor table");
    for (Entry& e : entries) entry(&e);
    const uint64_t data = (at_ + alignment_ - 1) / alignment_ * alignment_;
    if (data > file_->size() && tensors) refuse("ends before its data");
    for (const Entry& e : entries) add_tensor(e, data);
    return std::move(out_);
  }

 private:
  struct Entry {
    std::string name;
    std::vector<int64_t> dims;
    uint32_t type = 0;
    uint64_t offset = 0;
  };

  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt, path_ + ": is no sound GGUF file: " + why + " (byte " +
                                         std::to_string(at_) + "); get the file anew");
  }
  uint64_t left() const { return file_->size() - at_; }
  uint64_t number(uint64_t bytes) {
    if (bytes > left()) refuse("ends within a number: the download is incomplete");
    uint64_t n = 0;
    for (uint64_t i = 0; i < bytes; i++) n |= uint64_t(file_->data()[at_ + i]) << (8 * i);
    at_ += bytes;
    return n;
  }
  std::string text() {
    const uint64_t length = number(8);
    if (length > left()) refuse("a text of " + std::to_string(length) + " bytes");
    std::string s(reinterpret_cast<const char*>(file_->data()) + at_, size_t(length));
    at_ += length;
    return s;
  }
  template <class T, class Bits>
  static T as(Bits bits) {
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  void fact(const Path& path, FactValue value) {
    if (out_.facts.size() >= limits_.entries)
      refuse("holds more than " + std::to_string(limits_.entries) + " facts");
    out_.say(path, std::move(value));
  }

  void value(const Path& path, uint32_t type, int depth) {
    switch (type) {
      case 0: return fact(path, int64_t(number(1)));
      case 1: return fact(path, int64_t(int8_t(number(1))));
      case 2: return fact(path, int64_t(number(2)));
      case 3: return fact(path, int64_t(int16_t(number(2))));
      case 4: {
        const uint64_t n = number(4);
        if (path.size() == 1 && path[0] == "general.alignment") alignment_ = n;
        if (alignment_ < 1 || alignment_ > (1u << 20) || (alignment_ & (alignment_ - 1)))
          refuse("an alignment of " + std::to_string(n));
        return fact(path, int64_t(n));
      }
      case 5: return fact(path, int64_t(int32_t(uint32_t(number(4)))));
      case 6: return fact(path, double(as<float>(uint32_t(number(4)))));
      case 7: return fact(path, number(1) != 0);
      case 8: return fact(path, text());
      case 9: return array(path, depth);
      case 10:
      case 11: return fact(path, int64_t(number(8)));
      case 12: return fact(path, as<double>(number(8)));
      default: refuse("a fact of the unknown type " + std::to_string(type));
    }
  }
  void array(const Path& path, int depth) {
    if (depth > 2) refuse("arrays nest too deep");
    const uint32_t type = uint32_t(number(4));
    const uint64_t count = number(8);
    if (count > left() || count > kMaxItems)
      refuse("an array of " + std::to_string(count) + " items");
    for (uint64_t i = 0; i < count; i++) {
      Path item = path;
      item.push_back(std::to_string(i));
      value(item, type, depth + 1);
    }
  }

  void entry(Entry* e) {
    e->name = text();
    host::charge_metadata(host::text_memory(e->name.size()));
    const uint64_t rank = number(4);
    if (rank > 8) refuse("tensor '" + e->name + "' has " + std::to_string(rank) + " dimensions");
    for (uint64_t d = 0; d < rank; d++) {
      const uint64_t n = number(8);
      if (n > (uint64_t{1} << 48))
        refuse("tensor '" + e->name + "' has a dimension of " + std::to_string(n));
      e->dims.insert(e->dims.begin(), int64_t(n));  // the file has the fastest first
    }
    e->type = uint32_t(number(4));
    e->offset = number(8);
  }

  void add_tensor(const Entry& e, uint64_t data) {
    const std::string where = "tensor '" + e.name + "'";
    Tensor t;
    t.path = {e.name};
    t.dims = e.dims;
    uint64_t count = 1;
    for (const int64_t d : e.dims)
      if (__builtin_mul_overflow(count, uint64_t(d), &count) || count > (uint64_t{1} << 56))
        refuse(where + ": its size overflows");
    t.strides = dense_strides(t.dims);
    const GgufBlock* block = find_gguf_block(e.type);
    uint64_t bytes = 0;
    if (block) {
      if (t.dims.empty() || t.dims.back() % block->elements)
        refuse(where + " is " + block->name + ", and its rows are no multiple of " +
               std::to_string(block->elements));
      bytes = count / block->elements * block->bytes;
    } else {
      const Plain* plain = nullptr;
      for (const Plain& p : kPlain)
        if (p.type == e.type) plain = &p;
      if (!plain)
        host::fail(host::Exit::kUnsupported,
                   path_ + ": " + where + " has the block type " + std::to_string(e.type) +
                       ", which is not read; quantize it as Q8_0, Q6_K or Q4_K");
      t.type = plain->element;
      bytes = count * element_bytes(t.type);
    }
    const uint64_t available = file_->size() > data ? file_->size() - data : 0;
    if (e.offset > available || bytes > available - e.offset)
      refuse(where + " lies at " + std::to_string(e.offset) + " and takes " +
             std::to_string(bytes) + " of " + std::to_string(available) +
             " bytes: the download is incomplete");
    if (block) {
      t.storage = std::make_shared<BlockStorage>(
          Bytes{file_, file_->data() + data + e.offset, bytes}, *block);
      out_.say({"block type", e.name}, std::string(block->name));
    } else {
      t.storage = mapped_storage(file_, data + e.offset, bytes);
    }
    out_.add(std::move(t));
  }

  const std::string& path_;
  const ReadLimits& limits_;
  std::shared_ptr<const MappedFile> file_;
  uint64_t at_ = 0, alignment_ = 32;
  Checkpoint out_;
};

}  // namespace

Checkpoint read_gguf(const std::string& path, const ReadLimits& limits) {
  return GgufReader(path, limits).read();
}

}  // namespace ingot::checkpoint
