// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/parts.h - what layers of a language model are made of: products with its
// weights, norms, activations.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "tools/files/work_budget.h"
#include "tools/import/decoder/architecture.h"
#include "tools/import/decoder/rope.h"
#include "tools/import/decoder/weights.h"
#include "tools/import/layers/network.h"

namespace ingot::decoder {

using graph::Dim;
using graph::Dims;
using graph::kAbsent;
using graph::ValueId;
using Order = std::vector<int64_t>;

class Parts {
 public:
  Parts(const DecoderNumbers& numbers, const TensorSource& tensors, const std::string& format,
        const importer::ImportOptions& options)
      : n_(numbers),
        row_(*numbers.row),
        options_(options),
        net_(tensors.file(), format, options_),
        b_(net_.b),
        weights_(tensors, b_, options) {}

 protected:
  void begin(const char* op, const std::string& name) { b_.begin_node({name, op, name}); }
  ValueId scaled(ValueId x, double by) {
    return by == 1 ? x : b_.emit(op::Mul, {x, net_.scalar(by)});
  }
  ValueId capped(ValueId x, double cap) {
    return cap == 0 ? x : scaled(b_.emit(op::Tanh, {b_.emit(op::Div, {x, net_.scalar(cap)})}), cap);
  }
  ValueId whole(DType dtype, int64_t value) {
    const auto small = int32_t(value);
    return b_.constant(dtype == DType::kI32 ? graph::make_constant(dtype, {}, &small)
                                            : graph::make_constant(dtype, {}, &value));
  }

  ValueId same(int64_t count, double value) {
    host::charge_memory(sizeof(float) * uint64_t(count));
    return net_.constant(std::vector<float>(size_t(count), float(value)), {count});
  }

  /// Of frequencies, which some models have as tensors; which of two depends on the context.
  void read_divisors() {
    const int64_t pairs = n_.rope.width / 2;
    const Role by_context = double(n_.context) > n_.rope.original_context
                                ? Role::kRopeDivisorsLong
                                : Role::kRopeDivisorsShort;
    for (const Role role : {Role::kRopeDivisors, Role::kRopeDivisorsShort, Role::kRopeDivisorsLong})
      if (weights_.has(role, Part::kWeight, 0)) {
        if (role == Role::kRopeDivisors || role == by_context)
          n_.rope.divisors = weights_.numbers(role, pairs);
        weights_.pass_over(role);
      }
  }

  /// Of so many rows, none of which is in it yet.
  static Order empty_order(int64_t rows) {
    host::charge_memory(uint64_t(rows) * sizeof(int64_t));
    host::charge_work(uint64_t(rows));
    Order order;
    order.reserve(size_t(rows));
    return order;
  }
  /// Rows of parts that lie together for each of `groups`, each part of all in turn; empty: as is.
  static Order apart(int64_t groups, const std::vector<int64_t>& widths) {
    if (groups == 1) return {};
    int64_t row = 0;
    for (const int64_t width : widths) row += width;
    Order order = empty_order(row * groups);
    int64_t at = 0;
    for (const int64_t width : widths) {
      for (int64_t group = 0; group < groups; group++)
        for (int64_t c = 0; c < width; c++) order.push_back(group * row + at + c);
      at += width;
    }
    return order;
  }
  /// Rows of gates, which lie behind those of q of each head, behind those of all.
  Order behind_queries(const LayerNumbers& at) const {
    Order order = empty_order(2 * at.heads * n_.key_width);
    for (int64_t part = 0; part < 2; part++)
      for (int64_t head = 0; head < at.heads; head++)
        for (int64_t c = 0; c < n_.key_width; c++)
          order.push_back((2 * head + part) * n_.key_width + c);
    return order;
  }
  /// Rows of q or k in the order of halves, where the source has neighbors; empty: as they lie.
  Order turned(const LayerNumbers& at, int64_t begin, int64_t heads) const {
    if (n_.order != Rope::kNeighbors || !at.rotates) return {};
    return halves_of_neighbors(begin, heads, n_.key_width, n_.rope.width);
  }
  /// Rows of q of all heads, of k and of v, where one matrix has them; empty: as they lie.
  Order qkv_rows(const LayerNumbers& at) const {
    const int64_t key = n_.key_width_of(at), value = n_.value_width_of(at), q = at.heads * key,
                  k = at.kv_heads * key, v = at.kv_heads * value;
    if (n_.groups_qkv) return apart(at.kv_heads, {q / at.kv_heads, key, value});
    Order order = turned(at, 0, at.heads);
    if (order.empty()) return order;
    const Order of_k = turned(at, q, at.kv_heads);
    order.insert(order.end(), of_k.begin(), of_k.end());
    for (int64_t r = q + k; r < q + k + v; r++) order.push_back(r);
    return order;
  }
  static graph::Attributes typed(BlockType type) {
    return {{attr::type, std::string(block_type_name(type))}};
  }
  ValueId rows(const Matrix& table, ValueId indices) {
    if (table.blocks) return b_.emit(op::BlockGather, {table.id, indices}, typed(*table.blocks));
    return b_.emit(op::Gather, {table.id, indices}, {{attr::axis, int64_t(0)}});
  }

  /// Once for all products of one input.
  ValueId quantized(ValueId x, BlockType type) {
    if (block_format(type).is_float()) return x;
    const auto [known, is_new] = quantized_.try_emplace({x, type}, kAbsent);
    if (is_new) known->second = b_.emit(op::BlockQuantize, {x}, typed(type));
    return known->second;
  }
  ValueId product(ValueId x, const Matrix& matrix, ValueId bias) {
    if (matrix.inputs != kAbsent) x = reordered(x, matrix.inputs);
    if (matrix.blocks) {
      std::vector<ValueId> operands = {quantized(x, *matrix.blocks), matrix.id};
      if (bias != kAbsent) operands.push_back(bias);
      return b_.emit(op::BlockLinear, std::move(operands), typed(*matrix.blocks));
    }
    std::vector<ValueId> operands = {x, matrix.id};
    if (bias != kAbsent) operands.push_back(bias);
    return b_.emit(op::Gemm, std::move(operands), {{attr::transB, int64_t(1)}});
  }
  ValueId linear(ValueId x, Role role, int64_t layer, int64_t out, int64_t in, Bias bias,
                 const Order& order = {}) {
    const Matrix matrix = weights_.matrix(role, layer, out, in, order);
    return product(x, matrix, weights_.bias(role, layer, out, (row_.biases & bias) != 0, order));
  }
  ValueId norm(ValueId x, Role role, int64_t layer, int64_t length, const Order& order = {}) {
    const ValueId scale = row_.has_plain_norms ? same(length, 1)
                                               : weights_.vector(role, Part::kWeight, layer, length,
                                                                 order, n_.norm_shift);
    graph::Attributes how = {{attr::axis, int64_t(-1)}, {attr::epsilon, n_.epsilon}};
    if (row_.norm == NormKind::kRms) return b_.emit(op::RMSNormalization, {x, scale}, how);
    std::vector<ValueId> operands = {x, scale};
    const ValueId bias = weights_.bias(role, layer, length, (row_.biases & kNormBias) != 0, order);
    if (bias != kAbsent) operands.push_back(bias);
    return b_.emit(op::LayerNormalization, std::move(operands), how);
  }

  ValueId inner_norm(ValueId x, Role role, int64_t layer, int64_t length) {
    return row_.has_inner_norms ? norm(x, role, layer, length) : x;
  }

  ValueId gated(ValueId x, Role gate, Role up, int64_t i, int64_t hidden) {
    const ValueId in = linear(x, gate, i, hidden, n_.width, kFeedForwardBias),
                  open = activated(above_threshold(scaled(in, n_.scales.gate), i), i);
    return opened(open, linear(x, up, i, hidden, n_.width, kFeedForwardBias));
  }
  /// What gates have above a layer's threshold, which is of the deviation of their row.
  ValueId above_threshold(ValueId x, int64_t i) {
    const std::optional<double> threshold = n_.layers[size_t(i)].threshold;
    if (!threshold) return x;
    const ValueId apart = b_.emit(op::Sub, {x, b_.reduce(op::ReduceMean, x, {1}, true)}),
                  deviation = b_.emit(op::Sqrt, {mean_square(apart)});
    return b_.emit(op::Relu, {b_.emit(op::Sub, {apart, scaled(deviation, *threshold)})});
  }
  /// Of each row [T, 1].
  ValueId mean_square(ValueId x) {
    return b_.reduce(op::ReduceMean, b_.emit(op::Mul, {x, x}), {1}, true);
  }
  /// `up` times what its gate lets through.
  ValueId opened(ValueId open, ValueId up) {
    if (row_.activation == Activation::kClampedSwish) {
      const graph::Attributes bounds = {{attr::min, -n_.gate_limit}, {attr::max, n_.gate_limit}};
      up = b_.emit(op::Add, {b_.emit(op::Clip, {up}, bounds), net_.scalar(1)});
    }
    return b_.emit(op::Mul, {open, up});
  }

  ValueId activated(ValueId x, int64_t i) {
    switch (n_.activation.value_or(row_.activation)) {
      case Activation::kSilu: return b_.emit(op::Swish, {x}, {{attr::alpha, 1.0}});
      case Activation::kGelu:
        return b_.emit(op::Gelu, {x}, {{attr::approximate, std::string("none")}});
      case Activation::kGeluTanh:
        return b_.emit(op::Gelu, {x}, {{attr::approximate, std::string("tanh")}});
      case Activation::kClampedSwish:
        x = b_.emit(op::Clip, {x}, {{attr::max, n_.gate_limit}});
        return b_.emit(op::Swish, {x}, {{attr::alpha, n_.gate_slope}});
      case Activation::kRelu: return b_.emit(op::Relu, {x});
      case Activation::kXielu: return xielu(x, n_.layers[size_t(i)].xielu);
      case Activation::kReluSquared: break;
    }
    return relu_squared(x);
  }
  ValueId relu_squared(ValueId x) {
    const ValueId y = b_.emit(op::Relu, {x});
    return b_.emit(op::Mul, {y, y});
  }
  ValueId xielu(ValueId x, const Xielu& of) {
    const ValueId above = relu_squared(x),
                  below = b_.emit(op::Sub, {b_.emit(op::Elu, {x}, {{attr::alpha, 1.0}}), x}),
                  parts =
                      b_.emit(op::Add, {scaled(above, of.square), scaled(below, of.exponential)});
    return b_.emit(op::Add, {scaled(x, of.linear), parts});
  }

  DecoderNumbers n_;
  const Architecture& row_;
  const importer::ImportOptions options_;
  layers::Network net_;
  aten::Builder& b_;
  Weights weights_;

 private:
  /// Columns of x in the order of a matrix's inputs, once for all that have the same.
  ValueId reordered(ValueId x, ValueId inputs) {
    const auto [known, is_new] = reordered_.try_emplace({x, inputs}, kAbsent);
    if (is_new) known->second = b_.emit(op::Gather, {x, inputs}, {{attr::axis, b_.rank(x) - 1}});
    return known->second;
  }

  std::map<std::pair<ValueId, BlockType>, ValueId> quantized_;
  std::map<std::pair<ValueId, ValueId>, ValueId> reordered_;
};

}  // namespace ingot::decoder
