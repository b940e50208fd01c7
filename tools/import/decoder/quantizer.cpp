// SPDX-License-Identifier: Apache-2.0
#include "tools/import/decoder/quantizer.h"

#include <cmath>
#include <cstdio>

#include "tools/files/spill_file.h"
#include "tools/files/work_budget.h"
#include "tools/graph/graph.h"

namespace ingot::decoder {
namespace {

/// What llama-quantize takes where rows are no multiple of 256.
BlockType without_super_blocks(BlockType type) {
  switch (type) {
    case BlockType::kQ4_K: return BlockType::kQ5_0;
    case BlockType::kQ5_K: return BlockType::kQ5_1;
    default: return BlockType::kQ8_0;
  }
}

/// Numbers as GGUF has them for the types of block_linear.h.
const checkpoint::GgufBlock& gguf_block(BlockType type) {
  constexpr uint32_t kNumbers[] = {2, 3, 6, 7, 8, 12, 13, 14};
  return *checkpoint::find_gguf_block(kNumbers[int(type)]);
}

std::string percent(double error, double power) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %%", power > 0 ? 100 * std::sqrt(error / power) : 0.0);
  return text;
}

}  // namespace

Quantizer::Quantizer(const TensorSource& source, const importer::ImportOptions& options)
    : source_(source), wanted_(options.blocks), progress_(options.progress) {
  if (!progress_ || !wanted_) return;
  for (const std::string& name : source.names()) all_bytes_ += source.load(name).bytes.size;
}

std::optional<BlockType> Quantizer::type_of(Role role, const SourceTensor& tensor,
                                            int64_t columns) {
  for (const Role kept : {Role::kRouter, Role::kPositions, Role::kBetaAlpha, Role::kBeta,
                          Role::kAlpha, Role::kStreamRouter, Role::kPredictions,
                          Role::kCorrections})  // few rows, on which much depends
    if (!wanted_ || role == kept) return std::nullopt;
  if (tensor.block)
    graph::fail_mismatch(source_.file(),
                         "'" + tensor.name + "' is in blocks already (" + tensor.block->name +
                             "), and would lose once more; take an F32, F16 or BF16 file of the "
                             "model, or leave --weights out, which keeps these blocks");
  const bool is_head =
      role == Role::kHead ||
      (role == Role::kEmbedding && !source_.has(source_.name(Role::kHead, Part::kWeight, 0)));
  BlockType type = is_head && *wanted_ != BlockType::kQ8_0 ? BlockType::kQ6_K : *wanted_;
  if (block_format(type).is_super() && columns % 256 != 0) type = without_super_blocks(type);
  if (columns % block_format(type).unit == 0) return type;
  unfit_.insert(columns);
  return std::nullopt;
}

std::vector<uint8_t> Quantizer::blocks(Role role, BlockType type,
                                       const std::vector<SourceTensor>& tensors, int64_t columns,
                                       const std::vector<int64_t>& order) {
  constexpr float kMaxWeight = 32768;  // whose scales and minima f16 has
  constexpr uint64_t kSteps = 8;       // of a weight, as work is counted
  const checkpoint::GgufBlock& block = gguf_block(type);
  const auto row = uint64_t(columns) / block.elements * block.bytes;
  uint64_t rows = 0;
  for (const SourceTensor& tensor : tensors) {
    check_numbers(source_, tensor);
    int64_t own = 1;
    for (size_t i = 0; i + 1 < tensor.dims.size(); i++) own *= tensor.dims[i];
    rows += uint64_t(own);
  }
  host::charge_memory(rows * row);
  std::vector<uint8_t> made = host::zero_bytes(rows * row);
  const auto width = size_t(columns);
  std::vector<float> x(width), y(width);
  Loss& loss = losses_[{role, type}];
  uint8_t* to = made.data();
  for (const SourceTensor& tensor : tensors)
    for (uint64_t r = 0; r < rows / tensors.size(); r++, to += row) {
      host::charge_work(kSteps * uint64_t(columns));
      widen_row(tensor, columns, order.empty() ? int64_t(r) : order[r], x.data());
      for (const float w : x)
        if (!(std::fabs(w) < kMaxWeight))
          graph::fail_mismatch(source_.file(), "'" + tensor.name + "' has the weight " +
                                                   std::to_string(w) +
                                                   ", and blocks hold those below 32768; leave "
                                                   "--weights out, or get the model anew");
      for (uint64_t i = 0; i < uint64_t(columns) / block.elements; i++)
        block.encode(x.data() + i * block.elements, to + i * block.bytes);
      checkpoint::decode_gguf_blocks(block, to, row, y.data());
      for (size_t i = 0; i < x.size(); i++) {
        const double apart = double(x[i]) - double(y[i]);
        loss.error += apart * apart, loss.power += double(x[i]) * double(x[i]);
      }
      host::note_touched(row);
      read_bytes_ += tensor.bytes.size / (rows / tensors.size());
      if (progress_) progress_(double(read_bytes_) / double(all_bytes_));
    }
  loss.weights += rows * uint64_t(columns), loss.bytes += made.size();
  return made;
}

std::string Quantizer::report() const {
  if (!wanted_) return "";
  Loss all;
  std::string parts;
  for (const auto& [kind, loss] : losses_) {
    parts += std::string(", ") + role_name(kind.first) + " " + block_type_name(kind.second) + " " +
             percent(loss.error, loss.power);
    all.error += loss.error, all.power += loss.power;
    all.weights += loss.weights, all.bytes += loss.bytes;
  }
  std::string text;
  if (all.weights) {
    char size[96];
    std::snprintf(size, sizeof size, "weights: %.3g MB in blocks, %.3g bits a weight",
                  double(all.bytes) / 1e6, 8 * double(all.bytes) / double(all.weights));
    text =
        size + (", relative RMS error " + percent(all.error, all.power)) + ": " + parts.substr(2);
  }
  for (const int64_t width : unfit_)
    text += (text.empty() ? "weights: rows of " : "; rows of ") + std::to_string(width) +
            " are no multiple of 32 and stay f32";
  return text;
}

}  // namespace ingot::decoder
