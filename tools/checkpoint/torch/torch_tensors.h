// SPDX-License-Identifier: Apache-2.0
// tools/checkpoint/torch/torch_tensors.h - torch's rebuild calls and numpy's arrays as tensors.
#pragma once
#include <map>

#include "tools/checkpoint/torch/torch_objects.h"

namespace ingot::checkpoint {

class TensorBuilder {
 public:
  TensorBuilder(const ValueTree& tree, StorageSource* storages, const ReadLimits& limits,
                std::string file)
      : tree_(tree), storages_(storages), limits_(limits), file_(std::move(file)) {}

  /// True when `id` is a tensor (or an array) and *out holds it, validated; its path is not set.
  bool build(NodeId id, const std::string& owner, Tensor* out);
  /// True when it is a sparse tensor: its parts and shape.
  bool is_sparse(NodeId id, NodeId* parts) const;
  /// A numpy scalar as a number.
  bool scalar(NodeId id, FactValue* out) const;

 private:
  using Items = std::vector<NodeId>;
  [[noreturn]] void refuse(const std::string& owner, const std::string& why) const;
  std::string callee(NodeId id) const;  // "" when it is no call
  NodeId argument(NodeId call, size_t index) const;
  std::vector<int64_t> integers(NodeId id, const std::string& owner, const char* what) const;
  int64_t integer(NodeId id, const std::string& owner, const char* what) const;
  StorageId storage_id(NodeId id, const std::string& owner, bool* quantized) const;
  void set_storage(NodeId id, const std::string& owner, Tensor* out, bool* quantized);
  void set_view(NodeId call, const std::string& owner, Tensor* out, bool* quantized);
  void set_quantizer(NodeId id, const std::string& owner, Tensor* out);
  void set_moved(NodeId call, const std::string& owner, Tensor* out, int depth);
  bool build_call(NodeId id, const std::string& owner, Tensor* out, int depth);
  bool build_array(NodeId id, const std::string& owner, Tensor* out);
  bool numpy_type(NodeId id, ElementType* type, bool* swapped) const;
  std::vector<uint8_t> raw_bytes(NodeId id) const;

  const ValueTree& tree_;
  StorageSource* storages_;
  const ReadLimits& limits_;
  std::string file_;
  std::map<std::string, std::shared_ptr<const Storage>> known_;
};

}  // namespace ingot::checkpoint
