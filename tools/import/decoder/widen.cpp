// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tools/files/half.h"
#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {
namespace {

using checkpoint::ElementType;

/// `count` plain elements as f32.
void widen_plain(ElementType type, const uint8_t* from, int64_t count, float* to) {
  if (type == ElementType::kF32) {
    std::memcpy(to, from, size_t(count) * sizeof(float));
    return;
  }
  if (type == ElementType::kF8E4M3) {
    for (int64_t i = 0; i < count; i++) to[i] = host::widen_e4m3(from[i]);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    const uint16_t bits = uint16_t(from[2 * i] | from[2 * i + 1] << 8);
    to[i] = type == ElementType::kF16 ? host::widen_f16(bits) : host::widen_bf16(bits);
  }
}

void scale_row(const BlockScales& scales, int64_t columns, int64_t row, float* to) {
  const int64_t blocks = (columns + scales.columns - 1) / scales.columns;
  const float* const own = scales.numbers.data() + row / scales.rows * blocks;
  for (int64_t i = 0; i < columns; i++) to[i] *= own[i / scales.columns];
}

}  // namespace

void check_numbers(const TensorSource& source, const SourceTensor& tensor) {
  const ElementType type = tensor.element;
  const bool is_scaled = type == ElementType::kF8E4M3 && !tensor.scales.numbers.empty();
  if (!tensor.block && !is_scaled && type != ElementType::kF32 && type != ElementType::kF16 &&
      type != ElementType::kBf16)
    graph::fail_unsupported(source.file(), "tensor '" + tensor.name + "' is " + tensor.type_name() +
                                               ", expected float32, float16, bfloat16 or a block "
                                               "type; convert the model anew");
}

uint64_t row_bytes_of(const SourceTensor& tensor, int64_t columns) {
  return tensor.block ? uint64_t(columns) / tensor.block->elements * tensor.block->bytes
                      : uint64_t(columns) * element_bytes(tensor.element);
}

void widen_row(const SourceTensor& tensor, int64_t columns, int64_t row, float* to) {
  const uint64_t row_bytes = row_bytes_of(tensor, columns);
  const uint8_t* const at = tensor.bytes.data + uint64_t(row) * row_bytes;
  if (tensor.block)
    checkpoint::decode_gguf_blocks(*tensor.block, at, row_bytes, to);
  else
    widen_plain(tensor.element, at, columns, to);
  if (!tensor.scales.numbers.empty()) scale_row(tensor.scales, columns, row, to);
  host::note_touched(row_bytes + uint64_t(columns) * sizeof(float));
}

std::vector<uint8_t> widen(const TensorSource& source, const SourceTensor& tensor, int64_t columns,
                           const std::vector<int64_t>& order) {
  check_numbers(source, tensor);
  const uint64_t row_bytes = row_bytes_of(tensor, columns);
  const int64_t rows = columns ? int64_t(tensor.bytes.size / std::max<uint64_t>(row_bytes, 1)) : 0;
  host::charge_memory(uint64_t(rows * columns) * sizeof(float));
  std::vector<uint8_t> out = host::zero_bytes(uint64_t(rows * columns) * sizeof(float));
  auto* to = reinterpret_cast<float*>(out.data());
  for (int64_t r = 0; r < rows; r++, to += columns)
    widen_row(tensor, columns, order.empty() ? r : order[size_t(r)], to);
  return out;
}

SourceTensor widened(const TensorSource& source, SourceTensor tensor) {
  const auto numbers =
      std::make_shared<const std::vector<uint8_t>>(widen(source, tensor, tensor.dims.back(), {}));
  tensor.block = nullptr, tensor.element = ElementType::kF32, tensor.scales = {};
  tensor.bytes = {numbers, numbers->data(), numbers->size()};
  return tensor;
}

}  // namespace ingot::decoder
