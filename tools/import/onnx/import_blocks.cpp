// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/import_blocks.cpp - weights of few bits in blocks with a scale each, as
// onnxruntime's tools for language models write them: MatMulNBits and GatherBlockQuantized of
// com.microsoft.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "tools/files/work_budget.h"
#include "tools/graph/tensor_math.h"
#include "tools/import/onnx/call.h"

namespace ingot::onnx {
namespace {

/// Rows of 2, 4 or 8 bits, the first element in the low bits.
struct PackedRows {
  const uint8_t* bytes = nullptr;
  int64_t row = 0, bits = 4;
  int64_t at(int64_t o, int64_t i) const {
    const int64_t each = 8 / bits;
    return bytes[o * row + i / each] >> (i % each * bits) & ((1 << bits) - 1);
  }
};
std::optional<PackedRows> packed_rows(Call& call, size_t input, int64_t rows, int64_t columns,
                                      int64_t bits, const char* name) {
  const graph::Constant* packed = call.constant(input);
  const int64_t row = (columns * bits + 7) / 8;
  if (!packed || packed->dtype != DType::kU8) {
    call.refuse(name, "is no constant of uint8");
    return std::nullopt;
  }
  if (packed->elements() != rows * row)
    call.translator().corrupt(describe(call.node()) + ": its " + name + " has " +
                              std::to_string(packed->elements()) + " bytes, expected " +
                              std::to_string(rows * row));
  return PackedRows{packed->as<uint8_t>(), row, bits};
}

/// One finite number for each block, of any floating type; empty where it was refused.
std::vector<float> block_numbers(Call& call, size_t input, const char* name, int64_t count) {
  const graph::Constant* given = call.constant(input);
  if (!given || !graph::is_floating(given->dtype)) {
    call.refuse(name, "are no constant of a floating type");
    return {};
  }
  if (given->elements() != count)
    call.translator().corrupt(describe(call.node()) + ": has " + std::to_string(given->elements()) +
                              " " + name + ", expected " + std::to_string(count));
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; i++) {
    numbers.push_back(float(graph::read_number(*given, i)));
    if (!std::isfinite(numbers.back()))
      call.translator().corrupt(describe(call.node()) + ": one of its " + name + " is " +
                                std::to_string(numbers.back()) + " at element " +
                                std::to_string(i) + ", expected a number");
  }
  return numbers;
}

/// Weights [n, k] as whole numbers less `middle`, with a scale and a zero point of each block.
struct BlockWeights {
  int64_t n = 0, k = 0, bits = 4, block = 0, blocks = 0;
  std::vector<int8_t> numbers;  // [n, k]
  std::vector<float> scales;    // [n, blocks]
  std::vector<float> zeros;     // [n, blocks]; empty: 0
  std::vector<int64_t> groups;  // [k], of each column; empty: in the order of the blocks
  int64_t middle() const { return int64_t(1) << (bits - 1); }
};

/// Zero points are packed as the weights are, or numbers of a floating type.
bool read_zeros(Call& call, BlockWeights* w) {
  if (call.input(3) == kAbsent) return true;
  const graph::Constant* given = call.constant(3);
  if (given && graph::is_floating(given->dtype)) {
    w->zeros = block_numbers(call, 3, "zero_points", w->n * w->blocks);
    for (float& zero : w->zeros) zero -= float(w->middle());
    return !w->zeros.empty();
  }
  const auto packed = packed_rows(call, 3, w->n, w->blocks, w->bits, "zero_points");
  if (!packed) return false;
  for (int64_t o = 0; o < w->n; o++)
    for (int64_t b = 0; b < w->blocks; b++)
      w->zeros.push_back(float(packed->at(o, b) - w->middle()));
  return true;
}
bool read_groups(Call& call, BlockWeights* w) {
  if (call.input(4) == kAbsent) return true;
  const graph::Constant* given = call.constant(4);
  if (!given || given->dtype != DType::kI32) {
    call.refuse("g_idx", "is no constant of int32");
    return false;
  }
  if (given->elements() < w->k)
    call.translator().corrupt(describe(call.node()) + ": its g_idx has " +
                              std::to_string(given->elements()) + " elements, expected " +
                              std::to_string(w->k));
  for (int64_t i = 0; i < w->k; i++) {
    const int64_t group = given->as<int32_t>()[i];
    if (group < 0 || group >= w->blocks)
      call.translator().corrupt(describe(call.node()) + ": its g_idx is " + std::to_string(group) +
                                " at element " + std::to_string(i) + ", expected 0 to " +
                                std::to_string(w->blocks - 1));
    w->groups.push_back(group);
  }
  return true;
}

/// Columns in an order in which each block holds one group; none where groups have other sizes.
std::optional<std::vector<int64_t>> order_of_groups(const BlockWeights& w) {
  std::vector<int64_t> order(size_t(w.k));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return w.groups[size_t(a)] < w.groups[size_t(b)]; });
  for (int64_t i = 0; i < w.k; i++)
    if (w.groups[size_t(order[size_t(i)])] != i / w.block) return std::nullopt;
  return order;
}
void reorder(const std::vector<int64_t>& order, BlockWeights* w) {
  std::vector<int8_t> numbers;
  numbers.reserve(w->numbers.size());
  for (int64_t o = 0; o < w->n; o++)
    for (const int64_t i : order) numbers.push_back(w->numbers[size_t(o * w->k + i)]);
  w->numbers = std::move(numbers);
  w->groups.clear();
}

/// x times weights whose blocks are those of a Linear, in f32.
ValueId times_blocks(Call& call, ValueId x, const BlockWeights& w, const std::string& name) {
  graph::Model& model = call.translator().model;
  const auto constant = [&](const char* what, DType dtype, int64_t columns, const void* numbers) {
    return model.add_constant(name + what, graph::make_constant(dtype, {w.n, columns}, numbers));
  };
  std::vector<ValueId> inputs = {x, constant("/numbers", DType::kI8, w.k, w.numbers.data()),
                                 kAbsent, kAbsent,
                                 constant("/scales", DType::kF32, w.blocks, w.scales.data())};
  if (!w.zeros.empty()) {
    const std::vector<int8_t> zeros(w.zeros.begin(), w.zeros.end());
    inputs.push_back(constant("/zeros", DType::kI8, w.blocks, zeros.data()));
  }
  const ValueId y = call.temporary("product");
  graph::Node& made = call.emit(op::Linear, inputs, {y});
  made.attributes[attr::bits] = std::max<int64_t>(w.bits, 4);  // 2 bits lie in the file as 4
  made.attributes[attr::block] = w.blocks > 1 ? w.block : int64_t(0);
  return y;
}
/// x times weights as numbers of f32.
ValueId times_numbers(Call& call, ValueId x, const BlockWeights& w, const std::string& name) {
  host::charge_memory(uint64_t(w.n * w.k) * sizeof(float));
  std::vector<float> numbers(size_t(w.n * w.k));
  for (int64_t o = 0; o < w.n; o++)
    for (int64_t i = 0; i < w.k; i++) {
      const int64_t group = w.groups.empty() ? i / w.block : w.groups[size_t(i)];
      const size_t at = size_t(o * w.blocks + group);
      const float zero = w.zeros.empty() ? 0 : w.zeros[at];
      numbers[size_t(i * w.n + o)] = (float(w.numbers[size_t(o * w.k + i)]) - zero) * w.scales[at];
    }
  const ValueId y = call.temporary("product");
  const ValueId weights = call.translator().model.add_constant(
      name + "/numbers", graph::make_constant(DType::kF32, {w.k, w.n}, numbers.data()));
  call.emit(op::MatMul, {x, weights}, {y});
  return y;
}

ValueId as_f32(Call& call, ValueId x) {
  const ValueId y = call.temporary("f32");
  call.emit(op::Cast, {x}, {y}).attributes[attr::to] = int64_t(DType::kF32);
  return y;
}

/// Whole blocks lie in the file, with scales that may be negative; what is behind K is none of the
/// weights. Activations of f16 and bf16 are multiplied as f32.
void matmul_nbits(Call& call) {
  constexpr int64_t kLimit = int64_t(1) << 31;
  BlockWeights w;
  w.n = call.integer("N", 0), w.k = call.integer("K", 0), w.bits = call.integer("bits", 4);
  w.block = call.integer("block_size", 0);
  call.integer("accuracy_level", 0);  // how exact it has to be at least
  if (w.n < 1 || w.k < 1 || w.n > kLimit || w.k > kLimit || w.block < 16 || w.block > kLimit ||
      (w.block & (w.block - 1)) != 0)
    call.translator().corrupt(describe(call.node()) + ": N, K or block_size is out of range");
  if (w.bits != 2 && w.bits != 4 && w.bits != 8)
    return call.refuse("bits", "weights of " + std::to_string(w.bits) + " bits");
  w.blocks = (w.k + w.block - 1) / w.block;
  w.scales = block_numbers(call, 2, "scales", w.n * w.blocks);
  const auto packed = packed_rows(call, 1, w.n, w.blocks * w.block, w.bits, "B");
  if (w.scales.empty() || !packed) return;
  if (!read_zeros(call, &w) || !read_groups(call, &w)) return;
  host::charge_work(uint64_t(w.n * w.k));
  host::charge_memory(uint64_t(w.n * w.k));
  for (int64_t o = 0; o < w.n; o++)
    for (int64_t i = 0; i < w.k; i++) w.numbers.push_back(int8_t(packed->at(o, i) - w.middle()));

  ValueId x = as_f32(call, call.input(0));
  const auto order = w.groups.empty() ? std::optional(std::vector<int64_t>()) : order_of_groups(w);
  const bool are_whole = std::all_of(w.zeros.begin(), w.zeros.end(), [&](float zero) {
    return zero == std::nearbyint(zero) && std::fabs(zero) <= 127;
  });
  const std::string name = call.translator().model.values[size_t(call.input(1))].name;
  ValueId y = kAbsent;
  if (order && are_whole) {
    if (!order->empty()) {
      reorder(*order, &w);
      const ValueId at = call.translator().model.add_constant(
          name + "/order", graph::make_constant(DType::kI64, {w.k}, order->data()));
      const ValueId moved = call.temporary("in_groups");
      call.emit(op::Gather, {x, at}, {moved}).attributes[attr::axis] = int64_t(-1);
      x = moved;
    }
    y = times_blocks(call, x, w, name);
  } else {
    call.note(std::string("its weights are stored as f32: ") +
              (order ? "zero points that are no whole numbers"
                     : "g_idx gives its groups other sizes than block_size"));
    y = times_numbers(call, x, w, name);
  }
  if (call.input(5) != kAbsent) {
    const ValueId sum = call.temporary("biased");
    call.emit(op::Add, {y, as_f32(call, call.input(5))}, {sum});
    y = sum;
  }
  call.emit(op::CastLike, {y, call.input(0)}, {call.output(0)});
}

/// A constant of uint8 that holds two numbers of 4 bits along its last dimension, one a byte, of
/// these dims.
ValueId unpacked(Call& call, size_t input, int64_t bits, const std::vector<int64_t>& dims,
                 const char* name) {
  if (bits == 8) return call.input(input);
  const int64_t columns = dims.back(), rows = columns ? graph::count_of(dims) / columns : 0;
  const auto packed = packed_rows(call, input, rows, columns, bits, name);
  if (!packed) return kAbsent;
  host::charge_memory(uint64_t(rows * columns));
  std::vector<uint8_t> numbers;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k++) numbers.push_back(uint8_t(packed->at(i, k)));
  graph::Model& model = call.translator().model;
  return model.add_constant(model.values[size_t(call.input(input))].name + "/numbers",
                            graph::make_constant(DType::kU8, dims, numbers.data()));
}

/// Rows of a table that are chosen first, and numbers then: the table stays bytes.
void gather_block_quantized(Call& call) {
  const int64_t gather_axis = call.integer("gather_axis", 0),
                quantize_axis = call.integer("quantize_axis", 1),
                block = call.integer("block_size", 128), bits = call.integer("bits", 4);
  const graph::Constant *const data = call.constant(0), *const scales = call.constant(2);
  if (!data || !scales || !graph::is_floating(scales->dtype))
    return call.refuse("", "tables that are no constants");
  const bool is_packed = data->dtype == DType::kU8 && !call.narrow_type_of(0);
  const int64_t rank = int64_t(data->dims.size());
  if (block < 1 || rank < 1 || int64_t(scales->dims.size()) != rank || gather_axis < -rank ||
      gather_axis >= rank || quantize_axis < -rank || quantize_axis >= rank)
    call.translator().corrupt(
        describe(call.node()) + ": an axis or block_size does not fit data of rank " +
        std::to_string(rank) + " and scales of rank " + std::to_string(scales->dims.size()));
  if (is_packed && bits != 2 && bits != 4 && bits != 8)
    return call.refuse("bits", "numbers of " + std::to_string(bits) + " bits");
  const int64_t from = (gather_axis + rank) % rank, along = (quantize_axis + rank) % rank;
  const graph::Value& indices = call.translator().model.values[size_t(call.input(1))];
  const int64_t added = along > from ? int64_t(indices.dims.size()) - 1 : 0;
  if (!indices.shape_known && along > from)
    return call.refuse("indices", "of a rank that is not stated");
  std::vector<int64_t> dims = data->dims;
  if (is_packed) dims.back() *= 8 / bits;
  const ValueId numbers = is_packed ? unpacked(call, 0, bits, dims, "data") : call.input(0);
  ValueId zeros = call.input(3);
  if (zeros != kAbsent && is_packed) zeros = unpacked(call, 3, bits, scales->dims, "zero_points");
  if (call.refused()) return;
  if (zeros == kAbsent && is_packed) {  // the middle of the unsigned numbers
    const std::vector<uint8_t> middle(size_t(scales->elements()), uint8_t(1 << (bits - 1)));
    zeros = call.translator().model.add_constant(
        "zeros", graph::make_constant(DType::kU8, scales->dims, middle.data()));
  }
  const auto chosen = [&](ValueId table, const char* name) {
    if (table == kAbsent) return kAbsent;
    const ValueId y = call.temporary(name);
    call.emit(op::Gather, {table, call.input(1)}, {y}).attributes[attr::axis] = from;
    return y;
  };
  const auto dequantized = [&](std::vector<ValueId> operands, int64_t axis, ValueId y) {
    graph::Node& made = call.emit(op::DequantizeLinear, std::move(operands), {y});
    made.attributes[attr::axis] = axis, made.attributes[attr::block_size] = block;
  };
  if (from == along) {
    const ValueId table = call.temporary("table");
    dequantized({numbers, call.input(2), zeros}, along, table);
    call.emit(op::Gather, {table, call.input(1)}, {call.output(0)}).attributes[attr::axis] = from;
    return;
  }
  dequantized({chosen(numbers, "rows"), chosen(call.input(2), "scales"), chosen(zeros, "zeros")},
              along + added, call.output(0));
}

}  // namespace

void add_block_weights(TranslateTable& table) {
  table["MatMulNBits"] = {3, 6, matmul_nbits};
  table["GatherBlockQuantized"] = {3, 4, gather_block_quantized};
}

}  // namespace ingot::onnx
