// SPDX-License-Identifier: Apache-2.0
// tools/import/torchscript/archive.h - a TorchScript file: its code as text, its objects and
// constants as inert trees with the tensors they refer to.
// Errors   host::Failure of tools/checkpoint.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/checkpoint/tensors/archive.h"
#include "tools/checkpoint/tensors/dtype.h"
#include "tools/checkpoint/torch/mobile_program.h"
#include "tools/checkpoint/torch/torch_tensors.h"
#include "tools/checkpoint/torch/value_tree.h"
#include "tools/graph/graph.h"
#include "tools/import/common/opened_file.h"
#include "tools/import/torchscript/bytecode.h"
#include "tools/import/torchscript/library.h"

namespace ingot::torchscript {

using checkpoint::dtype_of;

/// One pickle of the archive, and the tensors in it.
class Pickled {
 public:
  /// `folder`: of its storages.
  Pickled(const std::shared_ptr<checkpoint::Archive>& archive, const std::string& path,
          const std::string& root, const std::string& name, const std::string& folder);
  Pickled(checkpoint::MobileProgram program, const std::string& path);
  const checkpoint::ValueTree& tree() const { return tree_; }
  struct Loaded {
    graph::Constant constant;
    std::optional<checkpoint::Quantization> quantization;  // of the integers in `constant`
    std::string why;  // no program of ours computes with it; then there is nothing else
  };
  /// True where `id` is a tensor.
  bool tensor(checkpoint::NodeId id, const std::string& owner, Loaded* out);
  /// One number for all places that show the same elements of one storage; -1 when `id` is no
  /// tensor that was asked for.
  int64_t identity(checkpoint::NodeId id) const;

 private:
  struct Known {
    Loaded loaded;
    int64_t identity = 0;
  };
  std::unique_ptr<checkpoint::StorageSource> storages_;
  checkpoint::ValueTree tree_;
  checkpoint::ReadLimits limits_;
  checkpoint::TensorBuilder builder_;
  std::map<checkpoint::NodeId, std::optional<Known>> known_;  // nothing: no tensor
  std::map<std::string, checkpoint::NodeId> views_;           // by what it shows
};

/// What torch.jit.trace() kept of the inputs it was given, where the writer was new enough.
struct TracedInput {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
};

class Archive {
 public:
  explicit Archive(const importer::OpenedFile& file);

  const std::string& path() const { return path_; }
  std::optional<std::string> code(const std::string& member) const;
  /// The classes and functions of the archive: its code, or of a program of PyTorch Mobile without
  /// any its bytecode.
  Library library() const;
  Pickled& data() { return *data_; }
  Pickled* constants() { return constants_.get(); }
  /// What CONSTANTS.c0 and so on are, of bytecode; null where there is code.
  const std::vector<checkpoint::NodeId>* bytecode_constants() const {
    return bytecode_ ? &bytecode_->constants : nullptr;
  }
  /// Of forward(); empty where they are not kept.
  const std::vector<TracedInput>& traced_inputs() const { return traced_; }
  /// The floating type that all tensors of the program's objects share; f32 where they share none.
  DType floating_type() const;

 private:
  void open_flat();
  void open_zip();

  std::string path_, root_;
  std::shared_ptr<checkpoint::Archive> archive_;
  std::unique_ptr<Pickled> data_,
      constants_;  // constants: those of the bytecode where there is no code
  std::shared_ptr<const Bytecode> bytecode_;
  std::vector<TracedInput> traced_;
};

}  // namespace ingot::torchscript
