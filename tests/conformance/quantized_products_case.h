// SPDX-License-Identifier: Apache-2.0
// tests/conformance/quantized_products_case.h - operands of products of bytes: weights in the
// packing of their method, the numbers of channels in rows.
#pragma once
#include <cstring>

#include "runtime/op/quantized_blocks.h"
#include "runtime/op/quantized_linear.h"
#include "tests/conformance/combinations.h"
#include "tools/compile/lower/quantized_packing.h"

namespace ingot::conformance {

using Dims = std::vector<int64_t>;

inline Tensor packed_as(const Tensor& dense, Packing packing, const Dims& dims,
                        const std::vector<uint8_t>& bytes) {
  Tensor t(dense.view().dtype, dims, 0, packing);
  if (!bytes.empty()) std::memcpy(t.view().data, bytes.data(), bytes.size());
  return t;
}

/// Operand 2 of both, of these rows.
inline void add_channels(Case* c, const std::vector<Tensor>& rows, int64_t o) {
  std::vector<std::span<const uint8_t>> words;
  for (const Tensor& row : rows)
    words.emplace_back(static_cast<const uint8_t*>(row.view().data), size_t(o) * 4);
  c->inputs.push_back(packed_as(Tensor(DType::kI32, {}), Packing::kDense,
                                {int64_t(rows.size()), round_up(o, kPanel)}, pack_channels(words)));
  c->oracle_inputs.push_back(c->inputs.back());
}

inline Tensor packed_conv_weights(const QuantizedConv2dAttributes& t, const Tensor& dense) {
  const TensorView& w = dense.view();
  const std::span<const int8_t> values(w.as<const int8_t>(), size_t(w.elements()));
  if (t.method == ConvMethod::kGrouped) return dense;
  if (t.method == ConvMethod::kDepthwise)
    return packed_as(dense, Packing::kDepthwise16, {w.dims[0], w.dims[1], w.dims[2], 1},
                     pack_depthwise16(values, w.dims[0], w.dims[1] * w.dims[2]));
  Dims dims(4);
  quantized::direct_dims(t, w.dims[0], w.dims[3], dims.data());
  return packed_as(dense, Packing::kPanels16x4, dims, pack_panels16x4(values, dims));
}

inline Tensor packed_linear_weights(const Tensor& dense) {
  const TensorView& w = dense.view();
  const std::span<const int8_t> values(w.as<const int8_t>(), size_t(w.elements()));
  const Dims dims = {w.dims[0], w.dims[1]};
  return packed_as(dense, Packing::kPanels16x4, dims, pack_panels16x4(values, dims));
}

}  // namespace ingot::conformance
