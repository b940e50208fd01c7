// SPDX-License-Identifier: Apache-2.0
// runtime/op/rules.h - the checks that most contracts share. Nothing here reads tensor data;
// everything is overflow-safe.
#pragma once
#include "runtime/op/contract.h"

namespace ingot::rules {

/// Records why and returns false, so that a rule is one line.
#ifdef INGOT_FIRMWARE  // of a firmware, which has room for neither sentences nor their numbers
inline bool refuse(Violation* violation, const char*, int operand, int64_t = 0, int64_t = 0) {
  if (violation) violation->operand = operand;
  return false;
}
#else
bool refuse(Violation* violation, const char* rule, int operand, int64_t expected = 0,
            int64_t found = 0);
#endif

/// Of a contract: scratch_bound, which a firmware does not link. Nothing is bound anew there.
using ScratchBound = ScratchNeed (*)(const OpArguments&, int threads);
constexpr ScratchBound for_rebinding(ScratchBound bound) {
#ifdef INGOT_FIRMWARE
  return (void)bound, nullptr;
#else
  return bound;
#endif
}

/// Violation::operand of output i.
constexpr int output(int i) { return -1 - i; }

/// Operand sets of check_operands; bit i is operand i.
struct OperandRules {
  uint32_t required_inputs = 0xffffffffu;  // operands 32 and up are always required
  uint32_t required_outputs = 0xffffffffu;
  uint32_t packed_inputs = 0;  // may have a packing other than dense; the contract checks which
};

/// Validates the counts, that required operands are present, and that every present operand is
/// sound: a known dtype, rank <= 8, no negative dimension, a row stride that covers the row, at
/// most 2^60 bytes even if a zero dimension were one, dense packing, and a row stride beyond the
/// row only where the contract takes strided operands.
bool check_operands(const OpArguments& arguments, const OpContract& contract,
                    const OperandRules& which, Violation* violation);

/// x broadcasts to y by ONNX's rules: aligned at the last dimension, each extent equal or 1.
bool broadcasts_to(const TensorType& x, const TensorType& y);

/// y has x's dims with `axes` (bit i: dimension i) reduced to 1, or left out.
bool is_reduced(const TensorType& x, uint32_t axes, const TensorType& y);

bool check_same_dims(const TensorType& x, const TensorType& y, int operand, Violation* violation);
bool check_same_dtype(const TensorType& x, const TensorType& y, int operand, Violation* violation);

constexpr bool is_float(DType t) {
  return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16;
}
constexpr bool is_index(DType t) { return t == DType::kI32 || t == DType::kI64; }
constexpr bool is_numeric(DType t) { return t != DType::kInvalid && t != DType::kBool; }
constexpr bool is_signed_integer(DType t) {
  return t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64;
}

/// Input 0 may be overwritten by output 0: same dims, element size and rows in the same places.
uint32_t in_place_first(const OpArguments& arguments);
/// The same question for input i.
bool overlays(const TensorType& input, const TensorType& output);

}  // namespace ingot::rules
