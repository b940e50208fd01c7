// SPDX-License-Identifier: Apache-2.0
// runtime/op/quantized_chain.h - a depthwise convolution of bytes with the pointwise one before it
// (the expansion), the one behind it (the projection), or both, in bands of rows: what lies between
// them never is a whole image.
// Operands  x u8 [N,H,W,C], then (w, channels) of each stage as quantized_conv2d has them -> y u8
//           [N,OH,OW,O]
// Stages    2 or 3, of which one is depthwise, with at most one pointwise convolution on either
//           side: 1x1, stride 1, no pads, direct. All are float_even, and no weight has a zero
//           point. Of a chain that begins with a pointwise one, C is a multiple of 4.
// Result    the integers of quantized_conv2d, stage by stage. Sums are whole numbers, so neither
//           bands nor threads change a bit.
#pragma once
#include "runtime/op/quantized_blocks.h"

namespace ingot {

constexpr int kMaxQuantizedStages = 3;

struct QuantizedChainAttributes {
  uint32_t stage_count = 0;
  // output rows of the depthwise stage worked on at a time; results do not depend on it
  uint32_t band_rows = 1;
  QuantizedConv2dAttributes stages[kMaxQuantizedStages];
};
extern const OpContract kQuantizedChainContract;

namespace quantized {

/// One stage as an instruction of its own. Images between stages are dense, and without memory.
struct ChainStage {
  QuantizedConv2dAttributes attributes;
  TensorView inputs[3], outputs[1];
  OpArguments arguments() const { return {&attributes, inputs, outputs, 3, 1}; }
};
/// @pre every operand is there, weights have four dimensions
struct ChainStages {
  int count = 0, depthwise = 0;  // depthwise: which stage is, the first of them
  ChainStage stage[kMaxQuantizedStages];
  bool expands() const { return depthwise > 0; }
  bool projects() const { return depthwise + 1 < count; }
  const TensorView& x() const { return stage[depthwise].inputs[0]; }   // of the depthwise stage
  const TensorView& y() const { return stage[depthwise].outputs[0]; }  // of the depthwise stage
};
void chain_stages(const OpArguments& arguments, ChainStages* stages);

/// Bytes that a depthwise kernel may keep of 64 channels, pairs or fours of taps aside.
constexpr uint64_t kDepthwiseStateBytes = 4352;

/// Scratch of one thread, as offsets from its start in this order: segments; of each 64 channels
/// what the depthwise kernel keeps; of each 64 channels a window, the input rows of a band with
/// their pads [in_rows, in_cols, up to 64], which slides down; the output of a band where it is
/// projected.
struct ChainWindows {
  int64_t slices = 0;  // of 64 channels
  int64_t band_rows = 0, in_rows = 0, in_cols = 0;
  uint64_t state = 0, state_bytes = 0;  // of one slice: the state, then the taps
  uint64_t window = 0, window_bytes = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
};
/// False on overflow. @pre the stages were checked
bool chain_windows(const QuantizedChainAttributes& t, const ChainStages& stages,
                   ChainWindows* windows);

}  // namespace quantized
}  // namespace ingot
