// SPDX-License-Identifier: Apache-2.0
#include "tools/import/pt2/weights.h"

#include "tools/checkpoint/tensors/dtype.h"
#include "tools/graph/graph.h"

namespace ingot::pt2 {
namespace {

using checkpoint::dtype_of;

/// Equal for tensors that are the same view of the same memory.
std::string memory_key(const checkpoint::Tensor& t) {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(t.storage.get())) + "@" +
                    std::to_string(t.offset) + ":" + std::to_string(int(t.type));
  for (size_t i = 0; i < t.dims.size(); i++)
    key += "," + std::to_string(t.dims[i]) + "/" + std::to_string(t.strides[i]);
  return key;
}

}  // namespace

Weights::Weights(const std::string& path) : checkpoint_(checkpoint::read_checkpoint(path)) {
  for (const checkpoint::Tensor& tensor : checkpoint_.tensors) {
    if (tensor.path.size() == 1) state_.emplace(tensor.path[0], &tensor);
    if (tensor.path.size() == 2 && tensor.path[0] == "constants")
      constants_.emplace(tensor.path[1], &tensor);
  }
}

graph::ValueId Weights::load(graph::Model& model, const std::string& name) {
  auto found = state_.find(name);
  if (found == state_.end()) {
    found = constants_.find(name);
    if (found == constants_.end())
      graph::fail_corrupt("its program reads the tensor '" + name +
                          "', which the file does not hold");
  }
  const checkpoint::Tensor& tensor = *found->second;
  const DType dtype = dtype_of(tensor.type);
  if (dtype == DType::kInvalid || tensor.quantization)
    throw Unreadable{std::string("has elements of type ") + checkpoint::element_name(tensor.type) +
                     (tensor.quantization ? ", quantized" : "")};
  if (tensor.dims.size() > size_t(kMaxRank))
    throw Unreadable{"has " + std::to_string(tensor.dims.size()) + " dimensions"};
  const std::string key = memory_key(tensor);
  if (const auto known = loaded_.find(key); known != loaded_.end()) return known->second;
  graph::Constant constant;
  constant.dtype = dtype;
  constant.dims = tensor.dims;
  std::vector<uint8_t> bytes = checkpoint::tensor_bytes(tensor);
  if (dtype == DType::kBool)
    for (uint8_t& b : bytes) b = b != 0;
  if (!bytes.empty())
    constant.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  model.allow_folding(constant.elements());
  const graph::ValueId id = model.add_constant(name, std::move(constant));
  loaded_[key] = id;
  return id;
}

}  // namespace ingot::pt2
