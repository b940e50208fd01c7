// SPDX-License-Identifier: Apache-2.0
// runtime/op/multiply_adds.cpp - see multiply_adds.h.
#include "runtime/op/multiply_adds.h"

#include "runtime/op/block_linear.h"
#include "runtime/op/chain.h"
#include "runtime/op/grouped_linear.h"
#include "runtime/op/linear_recurrence.h"
#include "runtime/op/matmul.h"
#include "runtime/op/quantized_chain.h"
#include "runtime/op/quantized_matmul.h"

namespace ingot {
namespace {

uint64_t elements(const OpArguments& a, int i) {
  const TensorView* operand = a.optional(i);
  return operand ? uint64_t(operand->elements()) : 0;
}
uint64_t rows(const TensorType& t) {
  return t.row_length() > 0 ? uint64_t(t.elements() / t.row_length()) : 0;
}

/// Output positions times weights of every stage.
uint64_t of_chain(const ChainAttributes& chain, const OpArguments& a) {
  const TensorType& x = a.inputs[0];
  if (x.rank != 4) return 0;
  int64_t h = x.dims[1], w = x.dims[2];
  uint64_t sum = 0;
  for (uint32_t s = 0; s < chain.stage_count; s++) {
    const Conv2dAttributes& stage = chain.stages[s];
    if (s == 0 && stage.input_layout == ChannelLayout::kNchw) h = x.dims[2], w = x.dims[3];
    h = conv_extent<int64_t>(h, int64_t(stage.pad_top) + stage.pad_bottom, stage.kernel_h,
                             stage.stride_h, stage.dilation_h);
    w = conv_extent<int64_t>(w, int64_t(stage.pad_left) + stage.pad_right, stage.kernel_w,
                             stage.stride_w, stage.dilation_w);
    sum += uint64_t(x.dims[0]) * uint64_t(h) * uint64_t(w) * elements(a, int(1 + 2 * s));
  }
  return sum;
}

uint64_t of_quantized_chain(const OpArguments& a) {
  if (a.inputs[0].rank != 4) return 0;
  quantized::ChainStages stages;
  quantized::chain_stages(a, &stages);
  uint64_t sum = 0;
  for (int i = 0; i < stages.count; i++)
    sum += rows(stages.stage[i].outputs[0]) * elements(a, 1 + 2 * i);
  return sum;
}

uint64_t of_matrices(const OpArguments& a, bool trans_a) {
  const TensorType& x = a.inputs[0];
  if (x.rank < (trans_a ? 2 : 1)) return 0;
  return uint64_t(a.outputs[0].elements()) * uint64_t(x.dims[trans_a ? x.rank - 2 : x.rank - 1]);
}

}  // namespace

uint64_t multiply_adds(OpCode op, const OpArguments& a) {
  if (a.input_count < 2 || a.output_count < 1) return 0;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  switch (op) {
    case OpCode::kConv2d:
    case OpCode::kQuantizedConv2d: return rows(y) * elements(a, 1);
    case OpCode::kLinear:
    case OpCode::kQuantizedLinear: return uint64_t(y.elements()) * uint64_t(x.row_length());
    case OpCode::kBlockLinear: {
      const BlockFormat f = block_format(a.as<BlockLinearAttributes>().type);
      return uint64_t(y.elements()) * uint64_t(a.inputs[1].row_length() / f.bytes * f.unit);
    }
    case OpCode::kGroupedLinear: return uint64_t(y.elements()) * uint64_t(grouped::row_weights(a));
    case OpCode::kConvTranspose2d: return rows(x) * elements(a, 1);
    case OpCode::kMatMul: return of_matrices(a, a.as<MatMulAttributes>().trans_a);
    case OpCode::kQuantizedMatMul: return of_matrices(a, false);
    case OpCode::kAttention: {  // scores and sums
      const TensorType& k = a.inputs[1];
      if (k.rank < 3) return 0;
      return uint64_t(k.rank == 4 ? k.dims[2] : k.dims[1]) *
             (uint64_t(x.elements()) + uint64_t(y.elements()));
    }
    case OpCode::kRecurrent: return rows(x) * (elements(a, 1) + elements(a, 2));
    case OpCode::kLinearRecurrence:
      return rows(x) * uint64_t(a.inputs[linear_recurrence::kStates].row_length()) *
             (a.optional(linear_recurrence::kBeta) ? 3 : 2);
    case OpCode::kChain: return of_chain(a.as<ChainAttributes>(), a);
    case OpCode::kQuantizedChain: return of_quantized_chain(a);
    default: return 0;
  }
}

}  // namespace ingot
