// runtime/op/opcode.h - the operators of format version 1. Numbers equal the union ingot.fb.Attributes and never change.
#pragma once
#include <cstdint>

namespace ingot {

enum class OpCode : uint8_t {
  kNone = 0, kConv2d = 1, kConvTranspose2d = 2, kChain = 3, kLinear = 4, kMatMul = 5, kPool2d = 6, kElementwise = 7, kReduce = 8,
  kArgReduce = 9, kSoftmax = 10, kNormalize = 11, kRecurrent = 12, kTranspose = 13, kGather = 14, kGatherElements = 15,
  kGatherNd = 16, kConcat = 17, kSlice = 18, kPad = 19, kResize = 20, kCopy = 21, kTile = 22, kIf = 23, kTopK = 24, kCumSum = 25,
  kScatterNd = 26, kScatterElements = 27, kAttention = 28, kNonZero = 29,
  kNonMaxSuppression = 30, kUnique = 31, kLoop = 32, kPicture = 33,
};
constexpr int kOpCodeCount = 34;

/// Lower-case name as the schema spells the table in snake case, "conv_transpose2d".
const char* op_name(OpCode op);

/// Run by the session itself: such an operator has a contract and no kernel.
constexpr bool is_control(OpCode op) { return op == OpCode::kIf || op == OpCode::kLoop; }

}  // namespace ingot
