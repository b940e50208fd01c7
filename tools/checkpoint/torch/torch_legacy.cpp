// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_legacy.cpp - the file before 1.6: magic number, protocol version,
// system information, the object, the keys of its storages, each a pickle of its own; then each
// storage as an element count (i64) and its elements.
#include <cstring>
#include <map>

#include "tools/checkpoint/tensors/readers.h"
#include "tools/checkpoint/torch/pickle.h"
#include "tools/checkpoint/torch/torch_objects.h"
#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

// 0x1950a86a20f9469cfc6c as pickle protocol 2 writes it: PROTO 2, LONG1 of 10 bytes, STOP.
constexpr uint8_t kMagic[] = {0x80, 2,    0x8a, 10,   0x6c, 0xfc, 0x9c, 0x46,
                              0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

/// The storages follow the object that refers to them: types come from the references, places from
/// the file.
class LegacyStorages : public StorageSource {
 public:
  explicit LegacyStorages(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}
  std::shared_ptr<const Storage> find(const StorageId& id, const std::string& where) override {
    const auto found = places_.find(id.key);
    if (found == places_.end())
      host::fail(host::Exit::kCorrupt,
                 where + ": its storage '" + id.key + "' is not in the file; get the file anew");
    return mapped_storage(file_, found->second.first, found->second.second);
  }
  void set(const std::string& key, uint64_t offset, uint64_t bytes) {
    places_[key] = {offset, bytes};
  }
  bool swapped() const override { return swapped_; }
  void set_swapped(bool swapped) { swapped_ = swapped; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> places_;
  bool swapped_ = false;
};

/// Element sizes of all storages that a tree refers to.
std::map<std::string, uint32_t> widths_of(const ValueTree& tree, const std::string& path) {
  std::map<std::string, uint32_t> widths;
  for (const Node& node : tree.nodes) {
    if (node.kind != NodeKind::kPersistent) continue;
    const Node& id = tree.at(node.items[0]);
    if (id.kind != NodeKind::kTuple || id.items.size() < 5 ||
        tree.at(id.items[0]).text != "storage")
      continue;
    const std::string type = tree.global_name(id.items[1]);
    const Node& key = tree.at(id.items[2]);
    ElementType element;
    bool quantized;
    if (!from_torch(type.substr(type.rfind('.') + 1), &element, &quantized))
      host::fail(host::Exit::kUnsupported, path + ": elements of type '" + type + "' are not read");
    widths[key.kind == NodeKind::kInteger ? std::to_string(key.integer) : key.text] =
        element_bytes(element);
  }
  return widths;
}

}  // namespace

bool is_torch_legacy(const uint8_t* bytes, size_t count) {
  return count >= sizeof kMagic && std::memcmp(bytes, kMagic, sizeof kMagic) == 0;
}

Checkpoint read_torch_legacy(const std::string& path, const ReadLimits& limits) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::string_view all(reinterpret_cast<const char*>(file->data()), size_t(file->size()));
  if (!is_torch_legacy(file->data(), all.size()))
    host::fail(
        host::Exit::kCorrupt,
        path +
            ": is a pickle without torch's magic number, expected a checkpoint of torch.save(); "
            "if it is one, it is damaged");
  Checkpoint out;
  out.file = path;
  out.format = "torch legacy";
  size_t at = sizeof kMagic;
  const auto next = [&](const char* what) {
    size_t used = 0;
    ValueTree tree = read_pickle(all.substr(at), path + ": " + what, &used);
    at += used;
    return tree;
  };
  const ValueTree version = next("protocol version");
  if (version.at(version.root).kind != NodeKind::kInteger ||
      version.at(version.root).integer != 1001)
    host::fail(host::Exit::kUnsupported, path + ": torch protocol " +
                                             std::to_string(version.at(version.root).integer) +
                                             ", expected 1001");
  const ValueTree system = next("system information");
  const NodeId little = system.find(system.root, "little_endian");
  LegacyStorages storages(file);
  if (little != kNoNode) storages.set_swapped(system.at(little).integer == 0);
  const ValueTree tree = next("the object");
  const ValueTree keys = next("the storages' keys");
  const std::map<std::string, uint32_t> widths = widths_of(tree, path);
  for (const NodeId id : keys.at(keys.root).items) {
    const std::string key = keys.at(id).kind == NodeKind::kInteger
                                ? std::to_string(keys.at(id).integer)
                                : keys.at(id).text;
    const auto width = widths.find(key);
    if (width == widths.end())
      host::fail(host::Exit::kCorrupt,
                 path + ": storage '" + key + "' belongs to no tensor; the file is damaged");
    uint64_t count = 0;
    uint64_t bytes = 0;
    if (all.size() - at < 8)
      host::fail(host::Exit::kCorrupt, path + ": ends before storage '" + key +
                                           "': the download is incomplete; get it again");
    for (int i = 0; i < 8; i++)
      count |= uint64_t(uint8_t(all[at + size_t(i)])) << (8 * (storages.swapped() ? 7 - i : i));
    at += 8;
    if (__builtin_mul_overflow(count, uint64_t{width->second}, &bytes) || bytes > all.size() - at)
      host::fail(host::Exit::kCorrupt, path + ": storage '" + key + "' has " +
                                           std::to_string(count) + " elements and the file only " +
                                           std::to_string(all.size() - at) +
                                           " more bytes: the download is incomplete; get it again");
    storages.set(key, at, bytes);
    at += size_t(bytes);
  }
  collect_torch(tree, &storages, limits, &out);
  return out;
}

}  // namespace ingot::checkpoint
