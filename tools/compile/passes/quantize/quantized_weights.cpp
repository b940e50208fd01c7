// SPDX-License-Identifier: Apache-2.0
// Products with constants behind DequantizeLinear, whose other operand is in floating point: the
// constant stays as it is, and Linear computes with it. Its bits are those of the same weights as
// f32.
#include <algorithm>

#include "runtime/op/linear.h"
#include "tools/compile/passes/common/constants.h"
#include "tools/compile/passes/common/pass.h"
#include "tools/compile/passes/quantize/block_weights.h"
#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"

namespace ingot::passes {
namespace {

/// A matrix behind DequantizeLinear, and which of its dimensions are the outputs.
struct QuantizedMatrix {
  const Node* dequantize = nullptr;
  const Constant *integers = nullptr, *scales = nullptr, *zeros = nullptr;
  size_t outputs = 1;
};

std::optional<QuantizedMatrix> matrix_behind(const Editor& e, ValueId b, bool transposed) {
  const Node* node = e.producer(b);
  if (node && node->op == op::Transpose && node->integers(attr::perm) == Integers{1, 0})
    transposed = !transposed, node = e.producer(node->inputs[0]);
  if (!node || node->op != op::DequantizeLinear) return std::nullopt;
  QuantizedMatrix found;
  found.dequantize = node, found.outputs = transposed ? 0 : 1;
  found.integers = e.constant(node->inputs[0]);
  found.scales = e.constant(node->inputs[1]), found.zeros = e.constant(node->inputs[2]);
  if (!found.integers || !found.scales || !found.zeros || found.integers->dims.size() != 2 ||
      (found.integers->dtype != DType::kI8 && found.integers->dtype != DType::kU8))
    return std::nullopt;
  return found;
}

/// How many weights of a row have one scale, 0 for all; none where an output has no scale of its
/// own, or blocks are no whole eights.
std::optional<int64_t> block_of(const QuantizedMatrix& m) {
  const size_t axis = size_t(m.dequantize->integer(attr::axis, 0));
  const int64_t block = m.dequantize->integer(attr::block_size, 0),
                k = m.integers->dims[1 - m.outputs];
  if (m.scales->dims.empty()) return 0;
  if (block == 0) return axis == m.outputs ? std::optional<int64_t>(0) : std::nullopt;
  if (axis == m.outputs) return std::nullopt;
  if (block >= k) return 0;
  return block % 8 == 0 && block <= linear_weights::kMaxBlock ? std::optional<int64_t>(block)
                                                              : std::nullopt;
}

/// Numbers less `offset`, in the order of [O, ...]; of a scalar as many as wanted.
std::vector<int64_t> rows_of(const Constant& c, size_t outputs, int64_t count, int64_t offset) {
  std::vector<int64_t> all;
  all.reserve(size_t(count));
  const bool turned = c.dims.size() == 2 && outputs == 1;
  const int64_t rows = turned ? c.dims[1] : 1, columns = turned ? c.dims[0] : 0;
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = c.dims.empty() ? 0 : turned ? i % columns * rows + i / columns : i;
    all.push_back(graph::read_integer(c, at) - offset);
  }
  return all;
}

bool all_within(const std::vector<int64_t>& numbers, int64_t low, int64_t high) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](int64_t n) { return n >= low && n <= high; });
}

/// 4 bits where every number fits them: files have no other mark of it.
std::optional<BlockWeights> weights_of(const QuantizedMatrix& m) {
  const auto block = block_of(m);
  if (!block) return std::nullopt;
  const bool is_unsigned = m.integers->dtype == DType::kU8;
  BlockWeights made;
  made.outputs = m.integers->dims[m.outputs], made.k = m.integers->dims[1 - m.outputs];
  made.block = *block;
  const int64_t count = m.integers->elements(), scales = made.outputs * made.blocks();
  host::charge_work(uint64_t(count));
  host::charge_memory(uint64_t(count) * 9);
  for (const int64_t bits : {4, 8}) {
    const int64_t half = int64_t(1) << (bits - 1), offset = is_unsigned ? half : 0;
    const auto numbers = rows_of(*m.integers, m.outputs, count, offset),
               zeros = rows_of(*m.zeros, m.outputs, scales, offset);
    if (!all_within(numbers, -half, half - 1) || !all_within(zeros, -128, 127)) continue;
    made.bits = bits;
    made.numbers.assign(numbers.begin(), numbers.end());
    if (!all_within(zeros, 0, 0)) made.zeros.assign(zeros.begin(), zeros.end());
    const bool turned = m.scales->dims.size() == 2 && m.outputs == 1;
    const Constant rows = turned ? permuted(*m.scales, {1, 0}) : *m.scales;
    for (int64_t i = 0; i < scales; i++)
      made.scales.push_back(rows.as<float>()[rows.dims.empty() ? 0 : i]);
    return made;
  }
  return std::nullopt;
}

/// x times the matrix as a Linear.
bool recognize(Editor& e, Node& node) {
  const bool gemm = node.op == op::Gemm;
  const ValueId x = node.inputs[0], y = node.outputs[0];
  if ((!gemm && node.op != op::MatMul) || e.constant(x) || e.value(y).dtype != DType::kF32)
    return false;
  if (gemm && (node.integer(attr::transA, 0) != 0 || node.number(attr::alpha, 1) != 1))
    return false;
  const auto matrix = matrix_behind(e, node.inputs[1], gemm && node.integer(attr::transB, 0) != 0);
  if (!matrix || e.rank(x) < 1 ||
      e.dims(x).back() != Dim(matrix->integers->dims[1 - matrix->outputs]))
    return false;
  const ValueId addend =
      node.inputs.size() > 2 && node.number(attr::beta, 1) != 0 ? node.inputs[2] : kAbsent;
  if (addend >= 0 && node.number(attr::beta, 1) != 1) return false;
  const auto weights = weights_of(*matrix);
  if (!weights) return false;
  std::vector<ValueId> inputs = {x};
  Attributes attributes;
  // a copy: constants that are added move the values
  const std::string name = e.value(matrix->dequantize->inputs[0]).name;
  set_block_weights(e, *weights, name, &inputs, &attributes);
  e.kill(node);
  if (addend < 0) {
    e.add(op::Linear, std::move(inputs), {y}, node, std::move(attributes));
    return true;
  }
  const ValueId sums =
      e.emit(op::Linear, std::move(inputs), DType::kF32, e.dims(y), node, std::move(attributes));
  e.add(op::Add, {sums, addend}, {y}, node);  // which becomes its bias
  return true;
}

}  // namespace

uint32_t recognize_quantized_weights(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes())
    if (!node->dead && recognize(e, *node)) changed++;
  return changed;
}

uint32_t expand_quantized_weights(Editor& e, Remarks&) {
  uint32_t changed = 0;
  for (Node* node : e.nodes()) {
    if (node->dead || node->op != op::Linear ||
        node->inputs.size() <= size_t(linear_weights::kScales))
      continue;
    std::vector<ValueId> inputs(node->inputs.begin(),
                                node->inputs.begin() + linear_weights::kScales);
    inputs[1] = e.new_constant(e.value(node->inputs[1]).name + "/numbers",
                               expanded(block_weights_of(e.model, *node)));
    while (inputs.back() < 0) inputs.pop_back();
    node->attributes.erase(attr::bits), node->attributes.erase(attr::block);
    e.set_inputs(*node, std::move(inputs));
    e.drop_unread_constants();
    changed++;
  }
  return changed;
}

}  // namespace ingot::passes
