// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/julia/bson.cpp - BSON as Julia's BSON.jl writes it: documents whose "tag" says
// what they stand for, and references into "_backrefs".
#include <cstring>
#include <map>

#include "tools/checkpoint/julia/julia_value.h"
#include "tools/checkpoint/tensors/cursor.h"
#include "tools/files/work_budget.h"

namespace ingot::checkpoint {
namespace {

constexpr int kMaxBsonDepth = 192;

/// One value of a document, where it lies; documents are walked when they are asked for.
struct Value {
  uint8_t type =
      // BSON's: 1 double, 2 text, 3 document, 4 list, 5 bytes, 8 truth, 10 nothing, 16 and 18
      // integers; 0: none
      0;
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};
using Document = std::vector<std::pair<std::string, Value>>;

class BsonReader {
 public:
  BsonReader(const std::string& path, const ReadLimits& limits)
      : path_(path), limits_(limits), file_(MappedFile::open(path)) {
    out_.file = path;
    out_.format = "bson (Julia)";
  }

  JuliaTree read() {
    Cursor in(file_->data(), file_->size(), path_);
    const uint64_t size = in.number(4, "a document");
    if (size > file_->size())
      in.refuse("a document of " + std::to_string(size) + " bytes in a file of " +
                std::to_string(file_->size()));
    const Document root = document({3, file_->data(), size});
    for (const auto& [name, value] : root)
      if (name == "_backrefs") backrefs_ = document(value);
    known_.assign(backrefs_.size(), kNoJulia);
    open_.assign(backrefs_.size(), false);
    JuliaNode node;
    node.kind = JuliaKind::kStruct;
    for (const auto& [name, value] : root) {
      if (name == "_backrefs") continue;
      node.names.push_back(name);
      node.items.push_back(make(value, 0));
    }
    out_.root = add(std::move(node));
    return std::move(out_);
  }

 private:
  Document document(const Value& value) {
    Document out;
    if (value.type != 3 && value.type != 4) return out;
    Cursor in(value.data, value.size, path_);
    if (in.number(4, "a document") != value.size || value.size < 5)
      in.refuse("a document of another size than its place");
    while (true) {
      const uint8_t type = uint8_t(in.number(1, "a value"));
      if (type == 0) break;
      std::string name = in.text("a value's name");
      Value item;
      item.type = type;
      Cursor head = in;
      switch (type) {
        case 1:
        case 9:
        case 17:
        case 18: item.size = 8; break;
        case 2: item.size = 4 + head.number(4, "a text"); break;
        case 3:
        case 4: item.size = head.number(4, "a document"); break;
        case 5: item.size = 5 + head.number(4, "bytes"); break;
        case 7: item.size = 12; break;
        case 8: item.size = 1; break;
        case 10: item.size = 0; break;
        case 16: item.size = 4; break;
        default: in.refuse("a value of the unknown type " + std::to_string(type));
      }
      item.data = in.bytes(item.size, "a value");
      // Documents inside of documents are walked again and again: what is listed is bounded over
      // all of it.
      if (++listed_ > limits_.entries * 4)
        in.refuse("more than " + std::to_string(limits_.entries * 4) + " values");
      host::charge_work(1);
      host::charge_metadata(sizeof(Document::value_type) + host::text_memory(name.size()));
      out.emplace_back(std::move(name), item);
    }
    if (in.left() != 0) in.refuse("a document goes on behind its end");
    return out;
  }
  static const Value* find(const Document& document, const char* name) {
    for (const auto& [key, value] : document)
      if (key == name) return &value;
    return nullptr;
  }
  std::string text(const Value& value) {
    if (value.type != 2 || value.size < 5) return "";
    return std::string(reinterpret_cast<const char*>(value.data) + 4, size_t(value.size) - 5);
  }
  int64_t integer(const Value& value) {
    if (value.type != 16 && value.type != 18) return -1;
    uint64_t n = 0;
    for (uint64_t i = 0; i < value.size; i++) n |= uint64_t(value.data[i]) << (8 * i);
    return value.type == 16 ? int64_t(int32_t(uint32_t(n))) : int64_t(n);
  }
  JuliaId add(JuliaNode node) {
    if (out_.nodes.size() >= limits_.entries)
      host::fail(host::Exit::kCorrupt,
                 path_ + ": more than " + std::to_string(limits_.entries) + " values");
    return out_.add(std::move(node));
  }
  JuliaId unknown(const std::string& what) { return add(unknown_node(what)); }
  std::vector<JuliaId> list(const Value* value, int depth) {
    std::vector<JuliaId> out;
    if (!value || value->type != 4) return out;
    for (const auto& [name, item] : document(*value)) out.push_back(make(item, depth + 1));
    return out;
  }

  JuliaId make(const Value& value, int depth) {
    if (depth > kMaxBsonDepth)
      host::fail(host::Exit::kCorrupt,
                 path_ + ": nests more than " + std::to_string(kMaxBsonDepth) + " levels");
    JuliaNode node;
    switch (value.type) {
      case 1:
        node.kind = JuliaKind::kFloat;
        std::memcpy(&node.number, value.data, 8);
        return add(std::move(node));
      case 2:
        node.kind = JuliaKind::kText;
        node.text = text(value);
        return add(std::move(node));
      case 3: return tagged(value, depth);
      case 4:
        node.kind = JuliaKind::kList;
        node.items = list(&value, depth);
        return add(std::move(node));
      case 5: return unknown("holds bytes of no type");
      case 8:
        node.kind = JuliaKind::kBool;
        node.integer = value.data[0] != 0;
        return add(std::move(node));
      case 16:
      case 18:
        node.kind = JuliaKind::kInteger;
        node.integer = integer(value);
        return add(std::move(node));
      case 10: return add(std::move(node));
      default: return unknown("holds a value of BSON type " + std::to_string(value.type));
    }
  }

  JuliaId tagged(const Value& value, int depth) {
    const Document parts = document(value);
    const Value* tag = find(parts, "tag");
    const std::string kind = tag ? text(*tag) : "";
    JuliaNode node;
    if (kind == "backref") {
      const Value* ref = find(parts, "ref");
      return backref(ref ? integer(*ref) : 0, depth);
    }
    if (kind == "tuple" || kind == "svec") {
      node.kind = JuliaKind::kList;
      node.items = list(find(parts, "data"), depth);
      return add(std::move(node));
    }
    if (kind == "symbol") {
      node.kind = JuliaKind::kText;
      if (const Value* name = find(parts, "name")) node.text = text(*name);
      return add(std::move(node));
    }
    if (kind == "datatype" || kind == "ref") {
      node.kind = JuliaKind::kType;
      if (const Value* name = find(parts, kind == "ref" ? "path" : "name"); name && name->type == 4)
        for (const auto& [index, part] : document(*name)) {
          if (node.text.empty() && text(part) == "Main") continue;
          node.text += (node.text.empty() ? "" : ".") + text(part);
        }
      node.items = list(find(parts, "params"), depth);
      return add(std::move(node));
    }
    // the type of an anonymous function, with the code that it stands for
    if (kind == "jl_anonymous") {
      node.kind = JuliaKind::kType;
      if (const Value* name = find(parts, "typename")) node.items.push_back(make(*name, depth + 1));
      return add(std::move(node));
    }
    if (kind == "array") return array(parts, depth);
    if (kind == "struct") return structure(parts, depth);
    if (!kind.empty()) return unknown("holds what BSON.jl tags '" + kind + "'");
    node.kind = JuliaKind::kStruct;  // a Dict with symbols as keys
    for (const auto& [name, item] : parts) {
      node.names.push_back(name);
      node.items.push_back(make(item, depth + 1));
    }
    return add(std::move(node));
  }

  JuliaId backref(int64_t number, int depth) {
    if (number < 1 || uint64_t(number) > backrefs_.size())
      host::fail(host::Exit::kCorrupt, path_ + ": refers to object " + std::to_string(number) +
                                           " of " + std::to_string(backrefs_.size()) +
                                           "; the file is damaged");
    const size_t i = size_t(number - 1);
    if (known_[i] != kNoJulia) return known_[i];
    if (open_[i]) return unknown("holds itself");
    open_[i] = true;
    known_[i] = make(backrefs_[i].second, depth + 1);
    open_[i] = false;
    return known_[i];
  }

  static bool element_of(const std::string& type, ElementType* out) {
    static const std::map<std::string, ElementType> kTypes = {
        {"Core.Float16", ElementType::kF16}, {"Core.Float32", ElementType::kF32},
        {"Core.Float64", ElementType::kF64}, {"Core.Int8", ElementType::kI8},
        {"Core.UInt8", ElementType::kU8},    {"Core.Int16", ElementType::kI16},
        {"Core.UInt16", ElementType::kU16},  {"Core.Int32", ElementType::kI32},
        {"Core.UInt32", ElementType::kU32},  {"Core.Int64", ElementType::kI64},
        {"Core.UInt64", ElementType::kU64},  {"Core.Bool", ElementType::kBool}};
    const auto found = kTypes.find(type);
    if (found == kTypes.end()) return false;
    *out = found->second;
    return true;
  }

  JuliaId array(const Document& parts, int depth) {
    const Value *type = find(parts, "type"), *size = find(parts, "size"),
                *data = find(parts, "data");
    if (!type || !size || !data)
      host::fail(host::Exit::kCorrupt,
                 path_ + ": an array lacks type, size or data; the file is damaged");
    JuliaNode node;
    if (data->type == 4) {
      node.kind = JuliaKind::kList;
      node.items = list(data, depth);
      return add(std::move(node));
    }
    const JuliaId element = make(*type, depth + 1);
    ElementType kind;
    if (data->type != 5 || !element_of(out_.at(element).text, &kind))
      return unknown("is an array of '" + out_.at(element).text + "'");
    auto tensor = std::make_shared<Tensor>();
    tensor->type = kind;
    uint64_t bytes = element_bytes(kind);
    int64_t stride = 1;
    for (const auto& [index, extent] : document(*size)) {
      const int64_t n = integer(extent);
      if (n < 0 || n > (int64_t{1} << 48) || __builtin_mul_overflow(bytes, uint64_t(n), &bytes) ||
          tensor->dims.size() >= 32)
        host::fail(host::Exit::kCorrupt, path_ + ": an array has an extent of " +
                                             std::to_string(n) + "; the file is damaged");
      tensor->dims.push_back(n);
      tensor->strides.push_back(stride);
      stride *= n ? n : 1;
    }
    const uint64_t there = data->size - 5;
    if (bytes != there)
      host::fail(host::Exit::kCorrupt, path_ + ": an array of " + std::to_string(bytes) +
                                           " bytes has " + std::to_string(there) +
                                           "; the file is damaged");
    tensor->storage = mapped_storage(file_, uint64_t(data->data + 5 - file_->data()), there);
    validate_view(*tensor, limits_, path_ + ": an array");
    node.kind = JuliaKind::kArray;
    node.tensor = std::move(tensor);
    return add(std::move(node));
  }

  JuliaId structure(const Document& parts, int depth) {
    const Value *type = find(parts, "type"), *data = find(parts, "data");
    if (!type || !data)
      host::fail(host::Exit::kCorrupt,
                 path_ + ": a struct lacks type or data; the file is damaged");
    JuliaNode node;
    node.kind = JuliaKind::kStruct;
    node.type = make(*type, depth + 1);
    if (data->type != 5) {
      node.items = list(data, depth);
      return add(std::move(node));
    }
    ElementType kind;  // a number by its bytes
    const std::string name = out_.at(node.type).text;
    if (!element_of(name, &kind) || data->size - 5 != element_bytes(kind))
      return unknown("is a '" + name + "' by its bytes");
    const uint8_t* bytes = data->data + 5;
    JuliaNode number;
    if (kind == ElementType::kF32) {
      float x;
      std::memcpy(&x, bytes, 4);
      number.kind = JuliaKind::kFloat;
      number.number = double(x);
    } else if (kind == ElementType::kF64) {
      number.kind = JuliaKind::kFloat;
      std::memcpy(&number.number, bytes, 8);
    } else if (kind == ElementType::kF16) {
      return unknown("is a Float16 by its bytes");
    } else {
      number.kind = JuliaKind::kInteger;
      uint64_t n = 0;
      for (uint32_t i = 0; i < element_bytes(kind); i++) n |= uint64_t(bytes[i]) << (8 * i);
      number.integer = int64_t(n);
    }
    return add(std::move(number));
  }

  const std::string& path_;
  const ReadLimits& limits_;
  std::shared_ptr<const MappedFile> file_;
  Document backrefs_;
  std::vector<JuliaId> known_;
  std::vector<bool> open_;
  uint64_t listed_ = 0;
  JuliaTree out_;
};

}  // namespace

JuliaTree read_bson(const std::string& path, const ReadLimits& limits) {
  return BsonReader(path, limits).read();
}

}  // namespace ingot::checkpoint
