// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/flat/gguf.h - a GGUF file (versions 2 and 3) as it lies: metadata by key, and
// tensors with the bytes of their blocks. Nothing is copied or decoded until it is asked for.
// Errors   host::Failure kCorrupt: damaged, or a key of another type than it is read as.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/checkpoint/flat/gguf_blocks.h"
#include "tools/checkpoint/tensors/checkpoint.h"

namespace ingot::checkpoint {

/// As the file numbers them.
enum class GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64,
};

/// A value of the metadata where it lies in the mapped file, validated: every number and text of it
/// is inside.
struct GgufValue {
  GgufType type = GgufType::kU8;
  GgufType item = GgufType::kU8;   // of an array: the type of its items
  uint64_t count = 1;              // of items
  const uint8_t* begin = nullptr;  // of the value; of an array: of its first item
  uint64_t bytes = 0;
};

struct GgufTensor {
  std::string name;
  std::vector<int64_t> dims;                // slowest first
  const GgufBlock* block = nullptr;         // null: plain elements
  ElementType element = ElementType::kF32;  // of plain elements
  uint64_t elements = 0;
  const uint8_t* begin = nullptr;
  uint64_t bytes = 0;
  /// "Q4_0", "float32"
  const char* type_name() const { return block ? block->name : element_name(element); }
};

class GgufFile {
 public:
  /// The file stays mapped as long as mapping() is held.
  static GgufFile open(const std::string& path, const ReadLimits& limits = {});

  const std::string& path() const { return path_; }
  const std::shared_ptr<const MappedFile>& mapping() const { return file_; }
  /// In the file's order, each key once.
  const std::vector<std::string>& keys() const { return keys_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }

  const GgufValue* find(std::string_view key) const;
  // Nothing where the file has no such key.
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;  // a whole number too
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  // An array's items; empty where the file has no such key. Texts are charged as metadata.
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;

 private:
  friend class GgufParser;
  [[noreturn]] void refuse_type(std::string_view key, const char* expected) const;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<std::string> keys_;
  std::map<std::string, GgufValue, std::less<>> values_;
  std::vector<GgufTensor> tensors_;
};

/// One number or text at `*at`, which moves behind it. @pre validated, no array.
FactValue gguf_scalar(GgufType type, const uint8_t** at);

}  // namespace ingot::checkpoint
