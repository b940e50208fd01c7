// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_weight_blocks.cpp - weights in blocks of a GGUF, which core form has from
// the importer on: BlockQuantize, BlockLinear, BlockGather. Weights are u8 [O, bytes of a row]. And
// products of experts, of weights in blocks or not.
#include "tools/graph/block_type.h"
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

BlockFormat format_of(const NodeContext& context) {
  const std::string name = context.node.text(attr::type, "");
  if (const std::optional<BlockType> type = find_block_type(name)) return block_format(*type);
  context.corrupt("its blocks are of type '" + name + "', which is unknown");
}

/// Weights of a row of operand `i`, of that rank.
int64_t row_of_weights(const NodeContext& context, size_t i, const BlockFormat& f,
                       size_t rank = 2) {
  const Dims dims = context.dims(i);
  const int64_t bytes = dims.size() == rank ? dims.back().value().value_or(-1) : -1;
  if (context.dtype(i) != DType::kU8 || bytes < 0 || bytes % f.bytes != 0)
    context.corrupt("its weights are " + std::string(dtype_text(context.dtype(i))) + " " +
                    text(dims) + ", expected u8 rows of blocks of " + std::to_string(f.bytes) +
                    " bytes");
  return bytes / f.bytes * f.unit;
}

void block_quantize(NodeContext& context) {
  const BlockFormat f = format_of(context);
  Dims x = context.dims(0);
  const int64_t k = x.empty() ? -1 : x.back().value().value_or(-1);
  if (context.dtype(0) != DType::kF32 || k < 0 || k % f.unit != 0 || f.is_float())
    context.corrupt("its input is " + std::string(dtype_text(context.dtype(0))) + " " + text(x) +
                    ", expected f32 rows of whole blocks of " + std::to_string(f.unit));
  x.back() = Dim(block_weights::quantized_row_bytes(f, k));
  context.set(0, DType::kU8, std::move(x));
}

void block_linear(NodeContext& context) {
  const BlockFormat f = format_of(context);
  const int64_t k = row_of_weights(context, 1, f);
  Dims x = context.dims(0);
  const int64_t row = block_weights::row_of_x(f, k);
  const DType dtype = block_weights::type_of_x(f);
  if (context.dtype(0) != dtype || x.empty() || x.back().value() != row)
    context.corrupt("its input is " + std::string(dtype_text(context.dtype(0))) + " " + text(x) +
                    ", expected " + dtype_text(dtype) + " rows of " + std::to_string(row));
  x.back() = context.dims(1)[0];
  context.set(0, DType::kF32, std::move(x));
}

void block_gather(NodeContext& context) {
  const int64_t k = row_of_weights(context, 0, format_of(context));
  Dims y = context.dims(1);
  y.emplace_back(k);
  context.set(0, DType::kF32, std::move(y));
}

void grouped_linear(NodeContext& context) {
  const Dims x = context.dims(0), w = context.dims(1), ends = context.dims(2);
  Dim row = w[2];
  DType dtype = context.dtype(1);
  if (dtype == DType::kU8) {
    const BlockFormat f = format_of(context);
    row = Dim(block_weights::row_of_x(f, row_of_weights(context, 1, f, 3)));
    dtype = block_weights::type_of_x(f);
  }
  if (context.dtype(0) != dtype)
    context.corrupt("its x is " + std::string(dtype_text(context.dtype(0))) + " and its weights " +
                    dtype_text(context.dtype(1)));
  if (x[1] != row)
    context.corrupt("its x is " + text(x) + ", expected rows of " + text(Dims{row}) +
                    " for weights of " + text(w));
  if (ends[0] != w[0])
    context.corrupt("its ends of groups are " + text(ends) + ", expected one for each expert of " +
                    text(w));
  const bool blocks = context.dtype(1) == DType::kU8;
  context.set(0, blocks ? DType::kF32 : context.dtype(1), {x[0], w[1]});
}

}  // namespace

void add_weight_block_rules(InferTable& table) {
  table[op::BlockQuantize] = block_quantize;
  table[op::BlockLinear] = block_linear;
  table[op::BlockGather] = block_gather;
  table[op::GroupedLinear] = grouped_linear;
}

}  // namespace ingot::graph
