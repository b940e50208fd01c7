// SPDX-License-Identifier: Apache-2.0
#include "tools/import/aten/promotion.h"

namespace ingot::aten {
namespace {

int width(DType t) {  // among types of one kind
  return dtype_bytes(t) * 2 + (t == DType::kU16 || t == DType::kU32 || t == DType::kU64 ? 1 : 0);
}

/// A higher category decides; within the same one, or from bool, types are promoted.
DType combined(DType higher, DType lower) {
  if (higher == DType::kInvalid) return lower;
  if (lower == DType::kInvalid || graph::is_floating(higher)) return higher;
  if (higher == DType::kBool || graph::is_floating(lower)) return promoted(higher, lower);
  return higher;
}

}  // namespace

DType promoted(DType a, DType b) {
  if (a == DType::kInvalid || b == DType::kInvalid) return a == DType::kInvalid ? b : a;
  if (a == b || b == DType::kBool) return a;
  if (a == DType::kBool) return b;
  if (graph::is_floating(a) != graph::is_floating(b)) return graph::is_floating(a) ? a : b;
  if (dtype_bytes(a) == 2 && dtype_bytes(b) == 2 && graph::is_floating(a)) return DType::kF32;
  if ((a == DType::kU8 && b == DType::kI8) || (a == DType::kI8 && b == DType::kU8))
    return DType::kI16;
  return width(a) >= width(b) ? a : b;
}

DType result_type(Builder& b, const std::vector<Value>& operands) {
  DType wide = DType::kInvalid, narrow = DType::kInvalid, plain = DType::kInvalid;
  for (const Value& operand : operands) {
    using Kind = Value::Kind;
    if (operand.is(Kind::kTensor)) {
      const ValueId id = b.read(operand.tensor);
      if (operand.wrapped) {
        const DType own = b.dtype(id);
        plain = promoted(plain, graph::is_floating(own) ? DType::kF32
                                : own == DType::kBool   ? own
                                                        : DType::kI64);
        continue;
      }
      DType& of = b.rank(id) > 0 ? wide : narrow;
      of = promoted(of, b.dtype(id));
    } else if (operand.is(Kind::kFloat)) {
      plain = promoted(plain, DType::kF32);
    } else if (operand.is(Kind::kInt)) {
      plain = promoted(plain, DType::kI64);
    } else if (operand.is(Kind::kBool)) {
      plain = promoted(plain, DType::kBool);
    }
  }
  return combined(wide, combined(narrow, plain));
}

ValueId as_type(Builder& b, const Value& operand, DType dtype) {
  using Kind = Value::Kind;
  if (operand.is(Kind::kTensor)) return b.cast(b.read(operand.tensor), dtype);
  if (operand.is(Kind::kFloat)) return b.scalar(dtype, operand.number);
  if (operand.is(Kind::kBool)) return b.scalar(dtype, operand.truth ? 1 : 0);
  return b.cast(b.extent(operand.integer), dtype);
}

}  // namespace ingot::aten
