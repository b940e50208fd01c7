// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/weights.h - tensors of a source as constants of the graph, each asked for by
// what it is for; what does not fit is gathered and reported at once.
#pragma once
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/files/spill_file.h"
#include "tools/files/suggest.h"
#include "tools/files/work_budget.h"
#include "tools/graph/block_type.h"
#include "tools/import/aten/builder.h"
#include "tools/import/decoder/latent_tensors.h"
#include "tools/import/decoder/quantizer.h"
#include "tools/import/decoder/ternary.h"

namespace ingot::decoder {

/// [rows, columns] of f32; or, in blocks, u8 [rows, bytes of a row]. Of experts in front of it the
/// number of them.
struct Matrix {
  graph::ValueId id = graph::kAbsent;
  std::optional<BlockType> blocks;
  graph::ValueId inputs = graph::kAbsent;  // i64 [columns]: that each is for; else in their order
};

/// Tensors of a source as constants of the graph. What does not fit is gathered.
class Weights {
 public:
  Weights(const TensorSource& source, aten::Builder& b, const importer::ImportOptions& options)
      : source_(source),
        b_(b),
        keep_blocks_(options.keep_blocks),
        keep_halves_(options.keep_halves),
        quantizer_(source, options) {}

  bool has(Role role, Part part, int64_t layer) const {
    return source_.has(source_.name(role, part, layer));
  }
  /// The one place where weights enter the graph, rows in `order`. Blocks stay as they are where
  /// there are kernels for them.
  Matrix matrix(Role role, int64_t layer, int64_t rows, int64_t columns,
                const std::vector<int64_t>& order = {}) {
    const std::string name = source_.name(role, Part::kWeight, layer);
    const auto known = made_.find(name);
    if (known != made_.end()) return known->second;
    const SourceTensor tensor = fetch(name, {rows, columns});
    if (!tensor.bytes.data) return made_[name] = {zeros({rows, columns}), std::nullopt};
    if (const auto type = quantizer_.type_of(role, tensor, columns))
      return made_[name] = {add_blocks(name, *type, {rows, columns},
                                       quantizer_.blocks(role, *type, {tensor}, columns, order)),
                            type};
    const std::optional<BlockType> blocks = blocks_of(tensor, columns);
    if (role < Role::kAttentionNorm && role != Role::kHead) refuse_order(tensor);
    return made_[name] = {blocks ? raw(tensor, *blocks, {rows, columns}, order)
                                 : constant(tensor, {rows, columns}, order),
                          blocks, order_of(tensor)};
  }
  /// The same matrix of every expert, which some sources have in a tensor each.
  Matrix experts(Role role, int64_t layer, int64_t count, int64_t rows, int64_t columns) {
    const std::vector<int64_t> dims = {count, rows, columns};
    if (source_.expert_name(role, layer, 0).empty()) {
      const SourceTensor tensor = fetch(source_.name(role, Part::kWeight, layer), dims);
      return stacked(role, tensor, dims);
    }
    std::vector<SourceTensor> each;
    for (int64_t e = 0; e < count; e++) {
      each.push_back(fetch(source_.expert_name(role, layer, e), {rows, columns}));
      refuse_order(each.back());
      if (!each.back().bytes.data) return {zeros(dims), std::nullopt};
    }
    const std::string name = source_.name(role, Part::kWeight, layer);
    if (const auto type = quantizer_.type_of(role, each[0], columns))
      return {add_blocks(name, *type, dims, quantizer_.blocks(role, *type, each, columns, {})),
              type};
    std::optional<BlockType> blocks = blocks_of(each[0], columns);
    for (const SourceTensor& tensor : each)
      if (blocks != blocks_of(tensor, columns)) blocks = std::nullopt;
    std::vector<uint8_t> all;
    for (const SourceTensor& tensor : each) {
      const std::vector<uint8_t> one =
          blocks ? std::vector<uint8_t>() : widen(source_, tensor, columns, {});
      const uint8_t* const from = blocks ? tensor.bytes.data : one.data();
      const size_t size = blocks ? size_t(tensor.bytes.size) : one.size();
      if (all.empty()) all.reserve(size * size_t(count));
      host::append_weights(all, from, size);
    }
    return {blocks ? add_blocks(name, *blocks, dims, std::move(all))
                   : add_constant(name, DType::kF32, dims, std::move(all)),
            blocks};
  }
  /// Of heads of latent attention: [heads, rank, own], [heads, value, rank].
  struct OfHeads {
    Matrix keys, values;
  };
  OfHeads of_heads(int64_t layer, int64_t heads, const LatentNumbers& latent) {
    const Role keys = Role::kKeysOfLatent, values = Role::kValuesOfLatent;
    const int64_t rank = latent.rank, own = latent.own, value = latent.value;
    if (has(keys, Part::kWeight, layer))
      return {experts(keys, layer, heads, rank, own), experts(values, layer, heads, value, rank)};
    const std::vector<int64_t> of_keys = {heads, rank, own}, of_values = {heads, value, rank};
    SourceTensor all = fetch(source_.name(Role::kKeysValuesOfLatent, Part::kWeight, layer),
                             {heads * (own + value), rank});
    if (!all.bytes.data) return {stacked(keys, all, of_keys), stacked(values, all, of_values)};
    refuse_order(all);
    // whose blocks of rows are not those of heads
    if (!all.scales.numbers.empty()) all = widened(source_, std::move(all));
    const auto part = [&](Role role, SourceTensor tensor, const std::vector<int64_t>& dims) {
      tensor.name = source_.name(role, Part::kWeight, layer);
      return stacked(role, tensor, dims);
    };
    return {part(keys, keys_of_heads(source_, all, heads, latent), of_keys),
            part(values, values_of_heads(all, heads, latent), of_values)};
  }
  /// f32 [length], each `shift` more than the source's.
  graph::ValueId vector(Role role, Part part, int64_t layer, int64_t length,
                        const std::vector<int64_t>& order = {}, double shift = 0) {
    return changed(fetch(source_.name(role, part, layer), {length}), {length}, order,
                   [=](float x) { return float(double(x) + shift); });
  }
  /// A of a recurrence, f32 of `dims`, of which the source may have log(-A).
  graph::ValueId decays(int64_t layer, const std::vector<int64_t>& dims, bool is_logarithm,
                        const std::vector<int64_t>& order) {
    return changed(fetch(source_.name(Role::kDecay, Part::kWeight, layer), dims), dims, order,
                   [=](float x) { return is_logarithm ? float(-std::exp(double(x))) : x; });
  }
  /// f32 [rows, columns] of weights of those dims or [rows * columns].
  graph::ValueId groups(Role role, int64_t layer, int64_t rows, int64_t columns) {
    const std::string name = source_.name(role, Part::kWeight, layer);
    const bool has_rows = rows > 1 && source_.has(name) && source_.load(name).dims.size() == 2;
    const SourceTensor tensor = fetch(name, has_rows ? std::vector<int64_t>{rows, columns}
                                                     : std::vector<int64_t>{rows * columns});
    return changed(tensor, {rows, columns}, {}, [](float x) { return x; });
  }
  /// f32 [rows, columns], whatever is asked for of matrices.
  graph::ValueId table(Role role, Part part, int64_t layer, int64_t rows, int64_t columns) {
    const SourceTensor tensor = fetch(source_.name(role, part, layer), {rows, columns});
    return tensor.bytes.data ? constant(tensor, {rows, columns}, {}) : zeros({rows, columns});
  }
  /// f32 [length, rows] of weights [rows, length] or [rows, 1, length], rows in `order`.
  graph::ValueId taps(Role role, int64_t layer, int64_t rows, int64_t length,
                      const std::vector<int64_t>& order = {}) {
    const std::string name = source_.name(role, Part::kWeight, layer);
    const bool has_middle = source_.has(name) && source_.load(name).dims.size() == 3;
    const SourceTensor tensor = fetch(name, has_middle ? std::vector<int64_t>{rows, 1, length}
                                                       : std::vector<int64_t>{rows, length});
    if (!tensor.bytes.data) return zeros({length, rows});
    const std::vector<uint8_t> bytes = widen(source_, tensor, length, order);
    const auto* const from = reinterpret_cast<const float*>(bytes.data());
    std::vector<float> turned(size_t(rows) * size_t(length));
    for (size_t i = 0; i < turned.size(); i++)
      turned[i % size_t(length) * size_t(rows) + i / size_t(length)] = from[i];
    return named(name, {length, rows}, turned.data());
  }
  /// Row 0 of a matrix of any number of rows: f32 [length].
  graph::ValueId first_row(Role role, int64_t length) {
    const std::string name = source_.name(role, Part::kWeight, 0);
    const std::vector<int64_t> dims = source_.load(name).dims;
    const SourceTensor tensor = fetch(name, {dims.empty() ? 1 : dims[0], length});
    if (!tensor.bytes.data) return zeros({length});
    const std::vector<uint8_t> rows = widen(source_, tensor, length, {});
    return named(name, {length}, reinterpret_cast<const float*>(rows.data()));
  }
  /// graph::kAbsent where the source has none and none is needed.
  graph::ValueId bias(Role role, int64_t layer, int64_t length, bool is_needed,
                      const std::vector<int64_t>& order = {}) {
    if (!is_needed && !has(role, Part::kBias, layer)) return graph::kAbsent;
    return vector(role, Part::kBias, layer, length, order);
  }
  std::vector<double> numbers(Role role, int64_t length) {
    const SourceTensor tensor = fetch(source_.name(role, Part::kWeight, 0), {length});
    if (!tensor.bytes.data) return std::vector<double>(size_t(length), 1);
    const std::vector<float> values = floats(tensor, length);
    return {values.begin(), values.end()};
  }
  /// Used under a condition that does not hold: known, but not read.
  void pass_over(Role role, int64_t layer = 0) {
    used_.insert(source_.name(role, Part::kWeight, layer));
  }

  /// What quantization lost; empty where there was none.
  std::string quantization() const { return quantizer_.report(); }

  /// @throws graph::ConversionError where one did not fit.
  void check(const std::string& architecture) {
    std::vector<std::string> others;
    for (const std::string& name : source_.names())
      if (!used_.count(name)) others.push_back(name);
    constexpr size_t kShown = 4;
    for (auto& [name, text] : missing_) {
      // of names that are not shown none is looked for
      const std::string near = wrong_.size() < kShown ? host::nearest(name, others) : "";
      wrong_.push_back(near.empty() ? text : text + " (there is '" + near + "')");
    }
    for (const std::string& name : others) wrong_.push_back("'" + name + "' is not expected");
    if (wrong_.empty()) return;
    std::string text = "its tensors do not fit the architecture '" + architecture + "': ";
    for (size_t i = 0; i < std::min(kShown, wrong_.size()); i++)
      text += (i ? "; " : "") + wrong_[i];
    if (wrong_.size() > kShown) text += "; and " + std::to_string(wrong_.size() - kShown) + " more";
    graph::fail_mismatch(source_.file(), text + "; get the file anew, or convert it again");
  }

 private:
  /// Matrices in one tensor of `dims`, [count, rows, columns].
  Matrix stacked(Role role, const SourceTensor& tensor, const std::vector<int64_t>& dims) {
    const int64_t columns = dims[2];
    if (!tensor.bytes.data) return {zeros(dims), std::nullopt};
    if (const auto type = quantizer_.type_of(role, tensor, columns))
      return {add_blocks(tensor.name, *type, dims,
                         quantizer_.blocks(role, *type, {tensor}, columns, {})),
              type};
    const std::optional<BlockType> blocks = blocks_of(tensor, columns);
    return {blocks ? raw(tensor, *blocks, dims, {}) : constant(tensor, dims, {}), blocks};
  }
  void refuse_order(const SourceTensor& tensor) const {
    if (!tensor.inputs.empty())
      graph::fail_unsupported(
          source_.file(), "'" + tensor.name +
                              "' has its inputs in groups by activation (desc_act, g_idx), which "
                              "is known of dense products alone; take a model without, or a GGUF "
                              "file");
  }
  /// One constant for all matrices that have the same.
  graph::ValueId order_of(const SourceTensor& tensor) {
    if (tensor.inputs.empty()) return graph::kAbsent;
    const auto [known, is_new] = orders_.try_emplace(tensor.inputs, graph::kAbsent);
    if (is_new) known->second = b_.integers(tensor.inputs);
    return known->second;
  }
  /// Without bytes where it is missing or has other dims.
  SourceTensor fetch(const std::string& name, const std::vector<int64_t>& dims) {
    used_.insert(name);
    if (!source_.has(name)) {
      missing_.emplace_back(name, "'" + name + "' is missing, expected " + shape(dims));
      return {};
    }
    SourceTensor tensor = source_.load(name);
    std::vector<int64_t> own = tensor.dims;
    // a vector may lie as one row or one column
    if (dims.size() == 1) own.erase(std::remove(own.begin(), own.end(), 1), own.end());
    if (own == dims || (dims == std::vector<int64_t>{1} && own.empty()))
      return keep_blocks_ ? in_known_blocks(std::move(tensor)) : tensor;
    const auto in_file = [&](std::vector<int64_t> own_dims) {
      if (tensor.is_transposed) std::reverse(own_dims.begin(), own_dims.end());
      return shape(own_dims);
    };
    wrong_.push_back("'" + name + "' is " + in_file(tensor.dims) + ", expected " + in_file(dims));
    return {};
  }
  static std::string shape(const std::vector<int64_t>& dims) {
    return graph::text(graph::Dims(dims.begin(), dims.end()));
  }
  /// What stands for a tensor that is not there, so that the next one is asked for.
  graph::ValueId zeros(const std::vector<int64_t>& dims) {
    return b_.expand(b_.scalar(DType::kF32, 0), graph::Dims(dims.begin(), dims.end()));
  }
  /// f32 of these dims: each number of a tensor by `change`, in `order`.
  template <class Change>
  graph::ValueId changed(const SourceTensor& tensor, const std::vector<int64_t>& dims,
                         const std::vector<int64_t>& order, const Change& change) {
    if (!tensor.bytes.data) return zeros(dims);
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    const std::vector<float> own = floats(tensor, count);
    std::vector<float> values(own.size());
    for (size_t i = 0; i < values.size(); i++)
      values[i] = change(own[order.empty() ? i : size_t(order[i])]);
    return named(tensor.name, dims, values.data());
  }
  graph::ValueId named(const std::string& name, const std::vector<int64_t>& dims,
                       const float* values) {
    const graph::ValueId id = b_.constant(graph::make_constant(DType::kF32, dims, values));
    b_.model.values[size_t(id)].name = name;
    return id;
  }
  std::vector<float> floats(const SourceTensor& tensor, int64_t length) const {
    const std::vector<uint8_t> bytes = widen(source_, tensor, length, {});
    const auto* at = reinterpret_cast<const float*>(bytes.data());
    return {at, at + length};
  }
  /// The type of its blocks, where kernels take them.
  std::optional<BlockType> blocks_of(const SourceTensor& tensor, int64_t columns) const {
    std::optional<BlockType> type;
    if (tensor.block && keep_blocks_) {
      std::string name = tensor.block->name;
      for (char& c : name) c = char(std::tolower(c));
      type = graph::find_block_type(name);
    } else if (!tensor.block && keep_halves_) {
      if (tensor.element == checkpoint::ElementType::kF16) type = BlockType::kF16;
      if (tensor.element == checkpoint::ElementType::kBf16) type = BlockType::kBF16;
    }
    return type && columns % block_format(*type).unit == 0 ? type : std::nullopt;
  }
  /// Rows as the source has their bytes.
  graph::ValueId raw(const SourceTensor& tensor, BlockType type, std::vector<int64_t> dims,
                     const std::vector<int64_t>& order) {
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < dims.size(); i++) rows *= dims[i];
    const int64_t row = dims.back() =
        block_weights::weight_row_bytes(block_format(type), dims.back());
    host::charge_memory(uint64_t(rows) * uint64_t(row));
    std::vector<uint8_t> bytes = host::zero_bytes(uint64_t(rows) * uint64_t(row));
    for (int64_t r = 0; r < rows; r++)
      std::memcpy(bytes.data() + r * row,
                  tensor.bytes.data + (order.empty() ? r : order[size_t(r)]) * row, size_t(row));
    host::note_touched(2 * bytes.size());
    return add_constant(tensor.name, DType::kU8, dims, std::move(bytes));
  }
  graph::ValueId add_blocks(const std::string& name, BlockType type, std::vector<int64_t> dims,
                            std::vector<uint8_t> bytes) {
    dims.back() = block_weights::weight_row_bytes(block_format(type), dims.back());
    return add_constant(name, DType::kU8, dims, std::move(bytes));
  }
  graph::ValueId constant(const SourceTensor& tensor, const std::vector<int64_t>& dims,
                          const std::vector<int64_t>& order) {
    return add_constant(tensor.name, DType::kF32, dims, widen(source_, tensor, dims.back(), order));
  }
  graph::ValueId add_constant(const std::string& name, DType dtype,
                              const std::vector<int64_t>& dims, std::vector<uint8_t> bytes) {
    graph::Constant made;
    made.dtype = dtype;
    made.dims.assign(dims.begin(), dims.end());
    made.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    const graph::ValueId id = b_.constant(std::move(made));
    b_.model.values[size_t(id)].name = name;
    return id;
  }

  const TensorSource& source_;
  aten::Builder& b_;
  const bool keep_blocks_, keep_halves_;
  Quantizer quantizer_;
  std::map<std::string, Matrix> made_;
  std::map<std::vector<int64_t>, graph::ValueId> orders_;
  std::set<std::string> used_;
  std::vector<std::string> wrong_;
  std::vector<std::pair<std::string, std::string>> missing_;  // names, and what is said
};

}  // namespace ingot::decoder
