// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_tar.cpp - torch before 0.1.10: a tar of `storages`, `tensors` and
// `pickle`, where the pickle refers to tensors by number.
//   storages  pickle of their count; each: pickle (key, location, type), u64 elements, the
//             elements; then views of storages
//   tensors   pickle of their count; each: pickle (key, storage key, type), i32 rank, 4 bytes, i64
//             sizes, i64 strides, i64 offset
#include <cstring>
#include <map>

#include "tools/checkpoint/tensors/readers.h"
#include "tools/checkpoint/torch/pickle.h"
#include "tools/checkpoint/torch/torch_objects.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

constexpr size_t kTarBlock = 512;

class TarTensors : public StorageSource {
 public:
  TarTensors(const std::string& path) : path_(path), file_(MappedFile::open(path)) {
    find_members();
  }

  ValueTree object() { return read_pickle(member("pickle"), path_ + ": pickle"); }
  void read() {
    read_storages();
    read_tensors();
  }
  std::shared_ptr<const Storage> find(const StorageId&, const std::string& where) override {
    host::fail(host::Exit::kCorrupt,
               where + ": refers to a storage, expected a tensor in a file of this age");
  }
  bool tensor(int64_t key, Tensor* out) override {
    const auto found = tensors_.find(key);
    if (found == tensors_.end()) refuse("tensor " + std::to_string(key) + " is not in it");
    *out = found->second;
    return true;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    host::fail(host::Exit::kCorrupt,
               path_ + ": is no sound torch archive (tar): " + why + "; get the file anew");
  }
  void find_members() {
    const char* bytes = reinterpret_cast<const char*>(file_->data());
    for (uint64_t at = 0; at + kTarBlock <= file_->size() && bytes[at];) {
      const std::string name(bytes + at, strnlen(bytes + at, 100));
      uint64_t size = 0;
      for (size_t i = 124; i < 135; i++) {
        const char c = bytes[at + i];
        if (c >= '0' && c <= '7') size = size * 8 + uint64_t(c - '0');
      }
      if (size > file_->size() - at - kTarBlock)
        refuse("member '" + name + "' reaches past the end; the download is incomplete");
      const char type = bytes[at + 156];
      if (type == '0' || type == 0) members_[name] = {bytes + at + kTarBlock, size_t(size)};
      at += kTarBlock + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
    }
  }
  std::string_view member(const std::string& name) const {
    for (const std::string& spelling : {name, "./" + name}) {
      const auto found = members_.find(spelling);
      if (found != members_.end()) return found->second;
    }
    refuse("member '" + name + "' is missing");
  }

  /// A member read from front to back.
  struct Cursor {
    std::string_view bytes;
    size_t at = 0;
  };
  ValueTree next(Cursor* c, const char* what) const {
    size_t used = 0;
    ValueTree tree = read_pickle(c->bytes.substr(c->at), path_ + ": " + what, &used);
    c->at += used;
    return tree;
  }
  uint64_t number(Cursor* c, size_t width) const {
    if (c->bytes.size() - c->at < width) refuse("ends within a number");
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) value |= uint64_t(uint8_t(c->bytes[c->at + i])) << (8 * i);
    c->at += width;
    return value;
  }
  int64_t count(Cursor* c, const char* what) const {
    const ValueTree tree = next(c, what);
    const Node& node = tree.at(tree.root);
    if (node.kind != NodeKind::kInteger || node.integer < 0 ||
        uint64_t(node.integer) > c->bytes.size())
      refuse(std::string("its number of ") + what + " is none");
    return node.integer;
  }
  /// (a, b, type) with integers where integers belong.
  const std::vector<NodeId>& triple(const ValueTree& tree, const char* what) const {
    const Node& node = tree.at(tree.root);
    if (node.kind != NodeKind::kTuple || node.items.size() != 3)
      refuse(std::string("a ") + what + " is no triple");
    return node.items;
  }
  ElementType type_of(const ValueTree& tree, NodeId id) const {
    std::string name = tree.global_name(id);
    name = name.substr(name.rfind('.') + 1);
    const size_t tensor = name.rfind("Tensor");
    if (tensor != std::string::npos) name = name.substr(0, tensor) + "Storage";
    ElementType type;
    bool quantized;
    if (!from_torch(name, &type, &quantized) || quantized)
      host::fail(host::Exit::kUnsupported,
                 path_ + ": elements of type '" + tree.global_name(id) + "' are not read");
    return type;
  }

  void read_storages() {
    Cursor c{member("storages")};
    const int64_t storages = count(&c, "storages");
    for (int64_t i = 0; i < storages; i++) {
      const ValueTree tree = next(&c, "storage");
      const std::vector<NodeId>& items = triple(tree, "storage");
      const uint64_t elements = number(&c, 8);
      uint64_t bytes;
      if (__builtin_mul_overflow(elements, uint64_t{element_bytes(type_of(tree, items[2]))},
                                 &bytes) ||
          bytes > c.bytes.size() - c.at)
        refuse("storage " + std::to_string(i) + " reaches past the end");
      const uint64_t offset =
          uint64_t(c.bytes.data() + c.at - reinterpret_cast<const char*>(file_->data()));
      storages_[tree.at(items[0]).integer] = {mapped_storage(file_, offset, bytes),
                                              tree.at(items[1]).text};
      c.at += size_t(bytes);
    }
    if (c.at == c.bytes.size()) return;
    const ValueTree views = next(&c, "views");
    const Node& node = views.at(views.root);
    const bool none = node.kind == NodeKind::kInteger ? node.integer == 0 : node.items.empty();
    if (!none)
      host::fail(host::Exit::kUnsupported,
                 path_ + ": views of storages in a file of this age are not read");
  }

  void read_tensors() {
    Cursor c{member("tensors")};
    const int64_t tensors = count(&c, "tensors");
    for (int64_t i = 0; i < tensors; i++) {
      const ValueTree tree = next(&c, "tensor");
      const std::vector<NodeId>& items = triple(tree, "tensor");
      Tensor tensor;
      tensor.type = type_of(tree, items[2]);
      const auto storage = storages_.find(tree.at(items[1]).integer);
      if (storage == storages_.end()) refuse("tensor " + std::to_string(i) + " has no storage");
      tensor.storage = storage->second.first;
      tensor.location = storage->second.second;
      const uint64_t rank = number(&c, 4);
      (void)number(&c, 4);
      if (rank > 64)
        refuse("tensor " + std::to_string(i) + " has " + std::to_string(rank) + " dimensions");
      for (uint64_t d = 0; d < rank; d++) tensor.dims.push_back(int64_t(number(&c, 8)));
      for (uint64_t d = 0; d < rank; d++) tensor.strides.push_back(int64_t(number(&c, 8)));
      tensor.offset = number(&c, 8);
      tensors_[tree.at(items[0]).integer] = tensor;
    }
  }

  const std::string& path_;
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, std::string_view> members_;
  std::map<int64_t, std::pair<std::shared_ptr<const Storage>, std::string>> storages_;
  std::map<int64_t, Tensor> tensors_;
};

}  // namespace

Checkpoint read_torch_tar(const std::string& path, const ReadLimits& limits) {
  Checkpoint out;
  out.file = path;
  out.format = "torch tar";
  TarTensors tensors(path);
  tensors.read();
  const ValueTree tree = tensors.object();
  collect_torch(tree, &tensors, limits, &out);
  return out;
}

}  // namespace ingot::checkpoint
