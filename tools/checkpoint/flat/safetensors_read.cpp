// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/safetensors_read.cpp - u64 length, a JSON header, then the tensors' bytes
// with nothing between them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/checkpoint/tensors/bounded_json.h"
#include "tools/checkpoint/tensors/readers.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit
constexpr int kMaxSafetensorsDepth = 8;
constexpr size_t kMaxSafetensorsRank = 64;  // as in NumPy and PyTorch

class SafetensorsReader {
 public:
  SafetensorsReader(const std::string& path, const ReadLimits& limits)
      : path_(path), limits_(limits), file_(MappedFile::open(path)) {}

  Checkpoint read() {
    out_.file = path_;
    out_.format = "safetensors";
    const Json header = parse();
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__")
        add_metadata(entry);
      else
        add_tensor(name, entry);
    }
    validate_cover();
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt,
               path_ + ": is no sound safetensors file: " + why + "; get the file anew");
  }

  Json parse() {
    const uint64_t size = file_->size();
    if (size < 8) refuse("has " + std::to_string(size) + " bytes, expected at least 8");
    uint64_t length = 0;
    for (int i = 0; i < 8; i++) length |= uint64_t(file_->data()[i]) << (8 * i);
    if (length > kMaxSafetensorsHeader)
      refuse("its header has " + std::to_string(length) + " bytes, expected at most " +
             std::to_string(kMaxSafetensorsHeader));
    if (length > size - 8)
      refuse("its header has " + std::to_string(length) + " bytes and the file " +
             std::to_string(size - 8) + " more: the download is incomplete");
    data_ = 8 + length;
    const char* text = reinterpret_cast<const char*>(file_->data()) + 8;
    if (length == 0 || text[0] != '{') refuse("its header does not begin with '{'");
    return parse_bounded_json({text, size_t(length)},
                              path_ + ": is no sound safetensors file: its header",
                              kMaxSafetensorsDepth);
  }

  void add_metadata(const Json& entry) {
    if (!entry.is_object()) refuse("__metadata__ is no object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) refuse("__metadata__ '" + key + "' is no text");
      out_.say({"__metadata__", key}, value.get<std::string>());
    }
  }
  uint64_t number(const Json& value, const std::string& what) const {
    if (!value.is_number_unsigned()) refuse(what + " is no number of 0 or more");
    return value.get<uint64_t>();
  }

  void add_tensor(const std::string& name, const Json& entry) {
    const std::string where = "tensor '" + name + "'";
    if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
        !entry.contains("data_offsets"))
      refuse(where + " lacks dtype, shape or data_offsets");
    if (!entry["dtype"].is_string() || !entry["shape"].is_array() ||
        !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
      refuse(where + ": dtype, shape or data_offsets has the wrong form");
    Tensor tensor;
    tensor.path = {name};
    const std::string type = entry["dtype"].get<std::string>();
    if (!from_safetensors(type, &tensor.type))
      refuse(where + " has the unknown type '" + type + "'");
    uint64_t elements = 1;
    if (entry["shape"].size() > kMaxSafetensorsRank)
      refuse(where + " has " + std::to_string(entry["shape"].size()) + " dimensions, at most " +
             std::to_string(kMaxSafetensorsRank) + " are read");
    for (const Json& dim : entry["shape"]) {
      const uint64_t n = number(dim, where + ": a dimension");
      if (n > uint64_t{1} << 60 || __builtin_mul_overflow(elements, n, &elements))
        refuse(where + ": its size overflows");
      tensor.dims.push_back(int64_t(n));
    }
    const uint64_t begin = number(entry["data_offsets"][0], where + ": its begin"),
                   end = number(entry["data_offsets"][1], where + ": its end");
    const uint64_t available = file_->size() - data_;
    uint64_t bytes;
    if (begin > end || end > available)
      refuse(where + " lies at " + std::to_string(begin) + ".." + std::to_string(end) + " of " +
             std::to_string(available) + " bytes");
    if (__builtin_mul_overflow(elements, uint64_t{element_bytes(tensor.type)}, &bytes) ||
        bytes != end - begin)
      refuse(where + " has " + std::to_string(end - begin) +
             " bytes, its shape and type take another number");
    tensor.strides = dense_strides(tensor.dims);
    tensor.storage = mapped_storage(file_, data_ + begin, bytes);
    ranges_.push_back({begin, end});
    out_.add(std::move(tensor));
    if (out_.tensors.size() > limits_.entries)
      refuse("names more than " + std::to_string(limits_.entries) + " tensors");
  }

  /// No hole, no overlap, nothing behind the last: what the format asks for.
  void validate_cover() {
    std::sort(ranges_.begin(), ranges_.end());
    uint64_t at = 0;
    for (const auto& [begin, end] : ranges_) {
      if (begin != at)
        refuse(std::string(begin < at ? "tensors overlap" : "a hole") + " at byte " +
               std::to_string(begin) + " of the data, expected " + std::to_string(at));
      at = end;
    }
    if (at != file_->size() - data_)
      refuse("has " + std::to_string(file_->size() - data_) + " bytes of data, its tensors take " +
             std::to_string(at));
  }

  const std::string& path_;
  const ReadLimits& limits_;
  std::shared_ptr<const MappedFile> file_;
  uint64_t data_ = 0;
  Checkpoint out_;
  std::vector<std::pair<uint64_t, uint64_t>> ranges_;
};

}  // namespace

Checkpoint read_safetensors(const std::string& path, const ReadLimits& limits) {
  return SafetensorsReader(path, limits).read();
}

}  // namespace ingot::checkpoint
