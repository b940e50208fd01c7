// SPDX-License-Identifier: Apache-2.0
// tools/import/decoder/quantizer.h - matrices of plain numbers as blocks (--weights q8_0): which
// type each one gets, as llama-quantize has it, and what that loses.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/graph/block_type.h"
#include "tools/import/common/options.h"
#include "tools/import/decoder/tensor_source.h"

namespace ingot::decoder {

class Quantizer {
 public:
  Quantizer(const TensorSource& source, const importer::ImportOptions& options);

  /// Nothing where it stays f32: without --weights, of routers and positions, and where no block
  /// fits its rows. The head, and an embedding that is one too, has q6_k unless all have q8_0.
  /// @throws graph::ConversionError where it has blocks already.
  std::optional<BlockType> type_of(Role role, const SourceTensor& tensor, int64_t columns);
  /// Rows in `order` (empty: as they lie) of tensors behind each other, a row in memory at a time.
  std::vector<uint8_t> blocks(Role role, BlockType type, const std::vector<SourceTensor>& tensors,
                              int64_t columns, const std::vector<int64_t>& order);
  /// What was lost, by role, for people; empty where nothing was quantized.
  std::string report() const;

 private:
  struct Loss {
    double error = 0, power = 0;  // sums of squares
    uint64_t weights = 0, bytes = 0;
  };

  const TensorSource& source_;
  const std::optional<BlockType> wanted_;
  const std::function<void(double)> progress_;
  uint64_t all_bytes_ = 0, read_bytes_ = 0;
  std::map<std::pair<Role, BlockType>, Loss> losses_;
  std::set<int64_t> unfit_;  // widths of rows that stay f32
};

}  // namespace ingot::decoder
