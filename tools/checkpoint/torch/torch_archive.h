// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_archive.h - how torch.save() and TorchScript lay a zip archive out:
// one folder, pickles in it, storages in folders beside them.
// Errors   host::Failure kCorrupt.
#pragma once
#include <memory>
#include <string>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/torch/torch_objects.h"

namespace ingot::checkpoint {

/// The one folder that holds data.pkl, with its slash; "" for an archive of something else.
std::string torch_root(const Archive& archive, const std::string& path);
/// True when `root`/byteorder says big.
bool is_big_endian(const Archive& archive, const std::string& root, const std::string& path);

/// The storages of one pickle: "root/data/" of data.pkl, "root/constants/" of constants.pkl.
class ZipStorages : public StorageSource {
 public:
  ZipStorages(std::shared_ptr<Archive> archive, std::string folder, bool swapped)
      : archive_(std::move(archive)), folder_(std::move(folder)), swapped_(swapped) {}
  std::shared_ptr<const Storage> find(const StorageId& id, const std::string& where) override;
  bool swapped() const override { return swapped_; }

 private:
  std::shared_ptr<Archive> archive_;
  std::string folder_;
  bool swapped_;
};

}  // namespace ingot::checkpoint
