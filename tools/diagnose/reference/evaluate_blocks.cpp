// SPDX-License-Identifier: Apache-2.0
// tools/diagnose/reference/evaluate_blocks.cpp - weights in blocks: a node of core form, which the
// oracle's kernels run; products of experts.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/cpu/cpu_kernels.h"
#include "runtime/op/block_linear.h"
#include "tools/compile/lower/block_packing.h"
#include "tools/diagnose/reference/evaluator.h"
#include "tools/graph/block_type.h"

namespace ingot::reference {
namespace {

using graph::Node;

/// A tensor as bytes of `dtype`.
struct Operand {
  std::vector<uint8_t> bytes;
  TensorView view;
  Operand(DType dtype, const Dimensions& dims) {
    view.dtype = dtype, view.rank = uint8_t(dims.size());
    for (size_t i = 0; i < dims.size(); i++) view.dims[i] = dims[i];
    view.row_stride = view.row_length();
    bytes.resize(size_t(view.elements()) * size_t(dtype_bytes(dtype)) + 8);
  }
  Operand(DType dtype, const Tensor& t) : Operand(dtype, t.dims) {
    for (size_t i = 0; i < t.at.size(); i++) {
      if (dtype == DType::kU8) bytes[i] = uint8_t(t.at[i]);
      const float number = float(t.at[i]);
      const int64_t index = int64_t(t.at[i]);
      if (dtype == DType::kF32) std::memcpy(&bytes[4 * i], &number, 4);
      if (dtype == DType::kI64) std::memcpy(&bytes[8 * i], &index, 8);
    }
  }
  TensorView at() {
    view.data = bytes.data();
    return view;
  }
};

Tensor run_oracle(OpCode op, BlockType type, std::vector<TensorView> inputs, DType dtype,
                  const Dimensions& dims) {
  Operand out(dtype, dims);
  const TensorView y = out.at();
  const BlockLinearAttributes attributes = {type};  // alike for the three
  const OpArguments a = {&attributes, inputs.data(), &y, uint16_t(inputs.size()), 1};
  const KernelEntry* const kernel = find_kernel(*oracle_kernels(), op, a);
  if (!kernel || !kernel->run(a, Team()).ok()) throw std::runtime_error("a bad index of a block");
  Tensor result{dims, {}};
  for (int64_t i = 0; i < y.elements(); i++) {
    float number = float(out.bytes[size_t(i)]);
    if (dtype == DType::kF32) std::memcpy(&number, &out.bytes[size_t(4 * i)], 4);
    result.at.push_back(number);
  }
  return result;
}

Operand weights_of(const Tensor& w, BlockType type) {
  Operand rows(DType::kU8, w), panels(DType::kU8, w.dims);
  rows.bytes.resize(w.at.size());
  panels.bytes = pack_blocks32(type, rows.bytes, w.dims[0], w.dims[1]);
  panels.view.packing = Packing::kBlocks32;
  return panels;
}

/// Rows [first, first + count) of a matrix.
Tensor rows_of(const Tensor& x, int64_t first, int64_t count) {
  const int64_t row = x.dims.back();
  const auto at = x.at.begin() + first * row;
  return {{count, row}, {at, at + count * row}};
}

Tensor grouped_linear(Evaluator& e, const Node& node) {
  const Tensor &x = e.in(node, 0), &w = e.in(node, 1), &ends = e.in(node, 2);
  const int64_t rows = x.dims[0], outputs = w.dims[1], row = w.dims[2];
  const std::optional<BlockType> type = graph::find_block_type(node.text(attr::type, ""));
  Tensor y{{rows, outputs}, std::vector<double>(size_t(rows * outputs), 0)};
  int64_t begin = 0;
  for (int64_t expert = 0; expert < w.dims[0]; expert++) {
    const int64_t end = int64_t(ends.at[size_t(expert)]);
    if (end < begin || end > rows) throw std::runtime_error("a bad end of a group");
    const Tensor some = rows_of(x, begin, end - begin),
                 own = rows_of({{0, row}, w.at}, expert * outputs, outputs);
    double* const to = y.at.data() + begin * outputs;
    if (e.dtype(node.inputs[1]) == DType::kU8) {
      Operand q(block_weights::type_of_x(block_format(*type)), some),
          panels = weights_of(own, type.value());
      const Tensor part = run_oracle(OpCode::kBlockLinear, *type, {q.at(), panels.at()},
                                     DType::kF32, {end - begin, outputs});
      std::copy(part.at.begin(), part.at.end(), to);
    } else {
      for (int64_t i = 0; i < (end - begin) * outputs; i++)
        for (int64_t k = 0; k < row; k++)
          to[i] += some.at[size_t(i / outputs * row + k)] * own.at[size_t(i % outputs * row + k)];
    }
    begin = end;
  }
  return y;
}

}  // namespace

std::vector<Tensor> evaluate_blocks(Evaluator& e, const Node& node) {
  if (node.op == op::GroupedLinear) return {grouped_linear(e, node)};
  if (node.op != op::BlockQuantize && node.op != op::BlockLinear && node.op != op::BlockGather)
    return {};
  const BlockType type = graph::find_block_type(node.text(attr::type, "")).value();
  const BlockFormat f = block_format(type);
  Dimensions dims = e.in(node, node.op == op::BlockGather ? 1 : 0).dims;
  if (node.op == op::BlockQuantize) {
    Operand x(DType::kF32, e.in(node, 0));
    dims.back() = block_weights::quantized_row_bytes(f, dims.back());
    return {run_oracle(OpCode::kBlockQuantize, type, {x.at()}, DType::kU8, dims)};
  }
  if (node.op == op::BlockGather) {
    Operand w = weights_of(e.in(node, 0), type), indices(DType::kI64, e.in(node, 1));
    dims.push_back(e.in(node, 0).dims[1] / f.bytes * f.unit);
    return {run_oracle(OpCode::kBlockGather, type, {w.at(), indices.at()}, DType::kF32, dims)};
  }
  Operand x(block_weights::type_of_x(f), e.in(node, 0)), w = weights_of(e.in(node, 1), type);
  dims.back() = e.in(node, 1).dims[0];
  std::vector<Operand> floats;
  for (size_t i = 2; i < 4; i++)
    floats.push_back(e.has(node, i) ? Operand(DType::kF32, e.in(node, i))
                                    : Operand(DType::kInvalid, Dimensions{}));
  return {run_oracle(OpCode::kBlockLinear, type, {x.at(), w.at(), floats[0].at(), floats[1].at()},
                     DType::kF32, dims)};
}

}  // namespace ingot::reference
