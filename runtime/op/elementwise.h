// runtime/op/elementwise.h - a chain of elementwise steps in one pass over memory; conversions, comparisons and select included.
// Operands 0..n-1 broadcast to the output's dims (ONNX rules). Registers and steps: schema/ingot.fbs, ElementwiseStep.
// The output may be larger than the broadcast of the operands (Expand). No step: operand 0 converted straight to the output's type.
// Whole numbers wrap; x / 0 is 0; to integer truncates, and what lies outside int64 becomes its smallest value, then its low bits.
// exp, tanh, log and the rest are Ingot's own polynomials, the same bits on every instruction set (kernels/cpu/simd/math.inl).
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

/// Same numbers as ingot.fb.ElementwiseOp.
enum class ElementwiseOp : uint8_t {
  kIdentity = 0, kNeg = 1, kAbs = 2, kSqrt = 3, kRsqrt = 4, kReciprocal = 5, kExp = 6, kLog = 7, kSin = 8, kCos = 9, kTanh = 10,
  kSigmoid = 11, kErf = 12, kFloor = 13, kCeil = 14, kRound = 15, kSign = 16, kRelu = 17, kSilu = 18, kGelu = 19, kGeluTanh = 20,
  kHardSwish = 21, kSoftplus = 22, kMish = 23, kLogicalNot = 24, kIsNan = 25, kIsInf = 26, kSquare = 27, kAtan = 28, kTan = 29,
  kAsin = 30, kAcos = 31, kSinh = 32, kCosh = 33, kAsinh = 34, kAcosh = 35, kAtanh = 36, kSoftsign = 37, kBitwiseNot = 38,
  kHardSigmoid = 64, kElu = 65, kLeakyRelu = 66, kClip = 67, kSelu = 68, kCelu = 69, kThresholdedRelu = 70, kShrink = 71,
  kScaleShift = 72,
  kAdd = 96, kSub = 97, kMul = 98, kDiv = 99, kPow = 100, kMin = 101, kMax = 102, kMod = 103, kFmod = 104, kPrelu = 105,
  kEqual = 112, kLess = 113, kLessEqual = 114, kGreater = 115, kGreaterEqual = 116, kLogicalAnd = 117, kLogicalOr = 118,
  kLogicalXor = 119, kBitwiseAnd = 120, kBitwiseOr = 121, kBitwiseXor = 122, kShiftLeft = 123, kShiftRight = 124, kAtan2 = 125,
  kNotEqual = 126,
  kSelect = 160, kFma = 161,
};
/// Registers read: 1, 2 or 3.
constexpr int elementwise_arity(ElementwiseOp op) { return uint8_t(op) >= 160 ? 3 : uint8_t(op) >= 96 ? 2 : 1; }

enum class ComputeType : uint8_t { kF32 = 0, kI64 = 1, kF64 = 2, kU64 = 3 };

constexpr int kMaxElementwiseSteps = 16;
constexpr int kMaxElementwiseInputs = 8;
constexpr uint8_t kConstantRegister = 254;  // the step's alpha
constexpr int kElementwiseBlock = 256;      // elements of a register; the interpreter works on blocks of this many

struct ElementwiseStep {
  ElementwiseOp op = ElementwiseOp::kIdentity;
  uint8_t a = 0, b = 0, c = 0;
  float alpha = 0, beta = 0;
};
struct ElementwiseAttributes {
  uint32_t step_count = 0;
  ComputeType compute = ComputeType::kF32;
  ElementwiseStep steps[kMaxElementwiseSteps];
};
extern const OpContract kElementwiseContract;

/// Extent of the broadcast of two, for int64_t or a symbolic dimension; the caller has proved that they broadcast.
template <class Dim>
Dim broadcast_extent(const Dim& a, const Dim& b) {
  return a == Dim(1) ? b : a;
}

}  // namespace ingot
