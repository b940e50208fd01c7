// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_dynamic_lstm.cpp - DynamicQuantizeLSTM of com.microsoft: its input is
// quantized as a whole, the hidden state in each step, both as DynamicQuantizeLinear does it. Steps
// are spelled out.
#include <algorithm>
#include <array>
#include <cstring>

#include "tools/graph/infer/inference.h"
#include "tools/graph/tensor_math.h"

namespace ingot::graph {
namespace {

constexpr int64_t kMaxSteps = 512;

// Places of inputs.
constexpr size_t kBias = 3, kLengths = 4, kHidden = 5, kCell = 6, kPeepholes = 7, kWeights = 8,
                 kRecurrence = 11;

struct Bytes {
  ValueId y, scale, zero;
};
/// Weights of one direction: bytes [K, 4H], a scale and perhaps a zero point, one or of each
/// column.
struct Matrix {
  ValueId bytes, scale, zero;
};

/// Row `at` of a constant whose first dimension has `rows`; of one number, that number.
Constant row_of(const Constant& all, int64_t at, int64_t rows) {
  Constant row = all;
  row.dims.erase(row.dims.begin());
  const int64_t each = all.elements() / rows;
  if (each == 1) row.dims.clear();
  const size_t bytes = size_t(each) * size_t(dtype_bytes(all.dtype));
  std::vector<uint8_t> part(bytes);
  if (bytes) std::memcpy(part.data(), all.as<uint8_t>() + size_t(at) * bytes, bytes);
  return make_constant(row.dtype, row.dims, part.data());
}

class DynamicLstm {
 public:
  explicit DynamicLstm(NodeContext& c)
      : context(c),
        batch_first_(c.node.integer(attr::layout, 0) != 0),
        steps_(*c.dims(0)[batch_first_ ? 1 : 0].value()),
        batch_(c.dims(0)[batch_first_ ? 0 : 1]),
        hidden_(c.node.integer(attr::hidden_size, 0)) {
    const std::string direction = c.node.text(attr::direction, "forward");
    directions_ = direction == "bidirectional" ? 2 : 1;
    is_reverse_ = direction == "reverse";
  }

  void run() {
    ValueId x = context.in(0);
    if (batch_first_) x = transposed(x, {1, 0, 2});
    const Bytes bytes = quantized(x);
    std::vector<ValueId> all, last, cells;
    for (int64_t d = 0; d < directions_; d++) {
      const bool backwards = is_reverse_ || d == 1;
      ValueId gates = product(bytes, matrix(kWeights, d));
      if (const auto bias = summed_bias(d)) gates = make(op::Add, {gates, context.constant(*bias)});
      run_direction(d, gates, backwards, &all, &last, &cells);
    }
    const auto states = [&](const std::vector<ValueId>& each) {
      const ValueId joined = concatenated(each, 0);
      return batch_first_ ? transposed(joined, {1, 0, 2}) : joined;
    };
    ValueId y = concatenated(all, 1);  // [T, D, B, H]
    if (batch_first_) y = transposed(y, {2, 0, 1, 3});
    context.same(0, y), context.same(1, states(last)), context.same(2, states(cells));
  }

 private:
  ValueId make(Operator op, std::vector<ValueId> inputs, Attributes a = {}) {
    return context.make(op, std::move(inputs), std::move(a));
  }
  ValueId transposed(ValueId x, std::vector<int64_t> perm) {
    return make(op::Transpose, {x}, {{attr::perm, std::move(perm)}});
  }
  ValueId concatenated(const std::vector<ValueId>& parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : make(op::Concat, parts, {{attr::axis, axis}});
  }
  ValueId part(ValueId x, int64_t axis, int64_t from, int64_t to) {
    const std::vector<int64_t> begin = {from}, end = {to}, axes = {axis}, ones = {1};
    return make(
        op::Slice, {x},
        {{attr::starts, begin}, {attr::ends, end}, {attr::axes, axes}, {attr::steps, ones}});
  }

  Bytes quantized(ValueId x) {
    const std::vector<ValueId> made = context.make_many(op::DynamicQuantizeLinear, {x}, {}, 3);
    return {made[0], made[1], made[2]};
  }
  Matrix matrix(size_t first, int64_t d) {
    const auto row = [&](size_t input) {
      if (!context.has(input)) return kAbsent;
      return context.constant(row_of(*context.model().constant(context.in(input)), d, directions_));
    };
    return {row(first), row(first + 1), row(first + 2)};
  }
  ValueId product(const Bytes& x, const Matrix& w) {
    const ValueId sums = make(op::MatMulInteger, {x.y, w.bytes, x.zero, w.zero});
    return make(op::Mul, {context.cast(sums, DType::kF32), make(op::Mul, {x.scale, w.scale})});
  }
  /// Of the input and of the state.
  std::optional<Constant> summed_bias(int64_t d) {
    if (!context.has(kBias)) return std::nullopt;
    const Constant& bias = *context.model().constant(context.in(kBias));
    std::vector<float> sums;
    const float* const from = bias.as<float>() + d * 8 * hidden_;
    for (int64_t i = 0; i < 4 * hidden_; i++) sums.push_back(from[i] + from[4 * hidden_ + i]);
    return make_constant(DType::kF32, {4 * hidden_}, sums.data());
  }
  ValueId first_state(size_t input, int64_t d) {
    const Dims state = {batch_, Dim(hidden_)};
    if (!context.has(input)) return context.expand(context.scalar(DType::kF32, 0), state);
    ValueId given = context.in(input);
    if (batch_first_) given = transposed(given, {1, 0, 2});
    return context.reshape(part(given, 0, d, d + 1), state);
  }

  void run_direction(int64_t d, ValueId gates, bool backwards, std::vector<ValueId>* all,
                     std::vector<ValueId>* last, std::vector<ValueId>* cells) {
    const Matrix recurrence = matrix(kRecurrence, d);
    ValueId h = first_state(kHidden, d), c = first_state(kCell, d);
    std::vector<ValueId> steps(size_t(steps_), kAbsent);
    const Dims rows = {batch_, Dim(4 * hidden_)}, one = {Dim(1), batch_, Dim(hidden_)};
    for (int64_t i = 0; i < steps_; i++) {
      const int64_t t = backwards ? steps_ - 1 - i : i;
      const ValueId of_input = context.reshape(part(gates, 0, t, t + 1), rows);
      const ValueId sum = make(op::Add, {product(quantized(h), recurrence), of_input});
      const auto gate = [&](int64_t k, Operator function) {  // input, output, forget, cell
        return make(function, {part(sum, 1, k * hidden_, (k + 1) * hidden_)});
      };
      const ValueId kept = make(op::Mul, {gate(2, op::Sigmoid), c});
      c = make(op::Add, {kept, make(op::Mul, {gate(0, op::Sigmoid), gate(3, op::Tanh)})});
      h = make(op::Mul, {gate(1, op::Sigmoid), make(op::Tanh, {c})});
      steps[size_t(t)] = context.reshape(h, one);
    }
    const ValueId y = concatenated(steps, 0);
    all->push_back(context.reshape(y, {Dim(steps_), Dim(1), batch_, Dim(hidden_)}));
    last->push_back(context.reshape(h, one)), cells->push_back(context.reshape(c, one));
  }

  NodeContext& context;
  const bool batch_first_;
  const int64_t steps_;
  const Dim batch_;
  const int64_t hidden_;
  int64_t directions_ = 1;
  bool is_reverse_ = false;
};

bool has_usual_functions(const Node& node) {
  const auto found = node.attributes.find(attr::activations);
  const auto* names = found == node.attributes.end()
                          ? nullptr
                          : std::get_if<std::vector<std::string>>(&found->second);
  constexpr std::array<const char*, 3> kUsual = {"Sigmoid", "Tanh", "Tanh"};
  for (size_t i = 0; names && i < names->size(); i++)
    if ((*names)[i] != kUsual[i % 3]) return false;
  return true;
}

}  // namespace

bool spell_dynamic_lstm(NodeContext& context) {
  const Dims& x = context.dims(0);
  const Node& node = context.node;
  const Dim steps = x[node.integer(attr::layout, 0) != 0 ? 1 : 0];
  const Constant* const bias =
      context.has(kBias) ? context.model().constant(context.in(kBias)) : nullptr;
  const int64_t directions = node.text(attr::direction, "forward") == "bidirectional" ? 2 : 1,
                hidden = node.integer(attr::hidden_size, 0);
  if (!steps.is_static() || *steps.value() < 1 || *steps.value() > kMaxSteps ||
      context.has(kLengths) || context.has(kPeepholes) || node.has(attr::clip) ||
      node.integer(attr::input_forget, 0) != 0 ||
      (context.has(kBias) &&
       (!bias || bias->dtype != DType::kF32 || bias->elements() != directions * hidden * 8)) ||
      !has_usual_functions(node))
    return false;
  DynamicLstm(context).run();
  return true;
}

}  // namespace ingot::graph
