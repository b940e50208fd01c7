// SPDX-License-Identifier: Apache-2.0
// runtime/op/elementwise.h - a chain of elementwise steps in one pass over memory; conversions,
// comparisons and select included. Operands 0..n-1 broadcast to the output's dims (ONNX rules).
// Registers and steps: schema/ingot.fbs, ElementwiseStep. The output may be larger than the
// broadcast of the operands (Expand). No step: operand 0 converted straight to the output's type.
// Whole numbers wrap; x / 0 is 0; to integer truncates, and what lies outside int64 becomes its
// smallest value, then its low bits. exp, tanh, log and the rest are Ingot's own polynomials, the
// same bits on every instruction set (kernels/cpu/simd/math.inl).
#pragma once
#include "runtime/op/contract.h"

namespace ingot {

/// Same numbers as ingot.fb.ElementwiseOp.
enum class ElementwiseOp : uint8_t {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  k##name = (number),
#include "runtime/op/functions.def"
};
/// Registers read: 1, 2 or 3.
constexpr int elementwise_arity(ElementwiseOp op) {
  return uint8_t(op) >= 160 ? 3 : uint8_t(op) >= 96 ? 2 : 1;
}

enum class FunctionDomain : uint8_t { kFloat, kAny, kInteger };
enum class FunctionBits : uint8_t { kExact, kLibrary };
/// Of a function's f64 form.
constexpr FunctionBits f64_bits(ElementwiseOp op) {
  struct Row {
    ElementwiseOp op;
    FunctionBits bits;
  };
  constexpr Row kRows[] = {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  {ElementwiseOp::k##name, FunctionBits::k##f64},
#include "runtime/op/functions.def"
  };
  for (const Row& row : kRows)
    if (row.op == op) return row.bits;
  return FunctionBits::kLibrary;
}

enum class ComputeType : uint8_t { kF32 = 0, kI64 = 1, kF64 = 2, kU64 = 3 };

constexpr int kMaxElementwiseSteps = 16;
constexpr int kMaxElementwiseInputs = 8;
constexpr uint8_t kConstantRegister = 254;  // the step's alpha
// elements of a register; the interpreter works on blocks of this many
constexpr int kElementwiseBlock = 256;

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

/// One step that turns bits of bytes over: what moves quantized tensors between signed and
/// unsigned. It takes no scratch, whatever the extents. @pre the contract was checked
bool flips_bytes(const OpArguments& arguments);

/// Extent of the broadcast of two, for int64_t or a symbolic dimension; the caller has validated
/// that they broadcast.
template <class Dim>
Dim broadcast_extent(const Dim& a, const Dim& b) {
  return a == Dim(1) ? b : a;
}

}  // namespace ingot
