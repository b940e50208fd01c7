// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/latent_tensors.h"

#include <cstring>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"

namespace ingot::decoder {
namespace {

bool is_of(const SourceTensor& tensor, Role role) {
  const std::string end = std::string(".") + role_name(role) + ".weight";
  return tensor.dims.size() == 3 && tensor.name.size() > end.size() &&
         tensor.name.compare(tensor.name.size() - end.size(), std::string::npos, end) == 0;
}

/// to[h][c][r] = from[h][r][c], elements of f32
std::vector<uint8_t> turned(const std::vector<uint8_t>& from, const std::vector<int64_t>& dims) {
  const int64_t heads = dims[0], rank = dims[1], width = dims[2];
  host::charge_memory(from.size());
  std::vector<uint8_t> to = host::zero_bytes(from.size());
  for (int64_t h = 0; h < heads; h++)
    for (int64_t c = 0; c < width; c++)
      for (int64_t r = 0; r < rank; r++)
        std::memcpy(to.data() + ((h * width + c) * rank + r) * int64_t(sizeof(float)),
                    from.data() + ((h * rank + r) * width + c) * int64_t(sizeof(float)),
                    sizeof(float));
  return to;
}

}  // namespace

SourceTensor rows_of_heads(const TensorSource& source, SourceTensor tensor,
                           const LatentNumbers& latent) {
  const bool is_keys = is_of(tensor, Role::kKeysOfLatent);
  if (!is_keys && !is_of(tensor, Role::kValuesOfLatent)) return tensor;
  const int64_t heads = tensor.dims[0], width = tensor.dims[is_keys ? 2 : 1];
  if (tensor.dims[is_keys ? 1 : 2] != latent.rank) return tensor;
  if (is_keys) {
    const auto bytes = std::make_shared<const std::vector<uint8_t>>(
        turned(widen(source, tensor, width, {}), tensor.dims));
    tensor.block = nullptr, tensor.element = checkpoint::ElementType::kF32;
    tensor.bytes = {bytes, bytes->data(), bytes->size()};
  }
  tensor.dims = {heads * width, latent.rank};
  return tensor;
}

}  // namespace ingot::decoder
