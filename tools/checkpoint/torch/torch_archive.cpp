// SPDX-License-Identifier: Apache-2.0
#include "tools/checkpoint/torch/torch_archive.h"

#include "tools/files/failure.h"

namespace ingot::checkpoint {
namespace {

[[noreturn]] void refuse_damaged(const std::string& where, const std::string& why) {
  host::fail(host::Exit::kCorrupt,
             where + ": " + why + "; the file is damaged or was made to mislead");
}

}  // namespace

std::shared_ptr<const Storage> ZipStorages::find(const StorageId& id, const std::string& where) {
  const size_t dot = id.key.find('.');
  const std::string stem = id.key.substr(0, dot);
  if (dot != std::string::npos && id.key.substr(dot) != ".storage")  // of tensors in bytecode
    refuse_damaged(where, "its storage's key is '" + id.key + "', expected letters and digits");
  for (const char c : stem) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain)
      refuse_damaged(where, "its storage's key is '" + id.key + "', expected letters and digits");
  }
  if (stem.empty()) refuse_damaged(where, "its storage has no key");
  const std::string name = folder_ + id.key;
  if (!archive_->has(name))
    refuse_damaged(where, "its storage '" + name + "' is not in the archive");
  const uint64_t expected = id.elements * element_bytes(id.type);
  if (id.elements > (uint64_t{1} << 58) || archive_->size(name) != expected)
    refuse_damaged(where, "its storage '" + name + "' has " + std::to_string(archive_->size(name)) +
                              " bytes, expected " + std::to_string(id.elements) + " elements of " +
                              std::to_string(element_bytes(id.type)));
  return Archive::member(archive_, name);
}

std::string torch_root(const Archive& archive, const std::string& path) {
  std::string root;
  bool found = false;
  for (const std::string& name : archive.names()) {
    const size_t slash = name.find('/');
    if (slash == std::string::npos || name.substr(slash + 1) != "data.pkl") continue;
    if (found && root != name.substr(0, slash + 1))
      host::fail(host::Exit::kCorrupt, path + ": two folders with data.pkl ('" + root + "' and '" +
                                           name.substr(0, slash + 1) +
                                           "'), expected one; the archive was made to mislead");
    root = name.substr(0, slash + 1);
    found = true;
  }
  return root;
}

bool is_big_endian(const Archive& archive, const std::string& root, const std::string& path) {
  if (!archive.has(root + "byteorder")) return false;
  const std::vector<uint8_t> bytes = archive.read(root + "byteorder", 64);
  const std::string order(bytes.begin(), bytes.end());
  if (order != "little" && order != "big")
    host::fail(host::Exit::kCorrupt,
               path + ": byteorder is '" + order + "', expected 'little' or 'big'");
  return order == "big";
}

}  // namespace ingot::checkpoint
