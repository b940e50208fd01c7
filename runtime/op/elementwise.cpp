#include "runtime/op/elementwise.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool is_known(ElementwiseOp op) {
  const uint8_t n = uint8_t(op);
  return n <= 38 || (n >= 64 && n <= 72) || (n >= 96 && n <= 105) || (n >= 112 && n <= 126) || n == 160 || n == 161;
}

/// Operators that mean something in whole numbers.
bool takes_integers(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::kIdentity:
    case ElementwiseOp::kNeg:
    case ElementwiseOp::kAbs:
    case ElementwiseOp::kSign:
    case ElementwiseOp::kRelu:
    case ElementwiseOp::kLogicalNot:
    case ElementwiseOp::kSquare:
    case ElementwiseOp::kBitwiseNot:
    case ElementwiseOp::kClip:
    case ElementwiseOp::kSelect:
    case ElementwiseOp::kFma: return true;
    case ElementwiseOp::kPrelu:
    case ElementwiseOp::kAtan2: return false;
    default: return elementwise_arity(op) == 2;
  }
}

/// Operators on bit patterns.
bool needs_integers(ElementwiseOp op) {
  return op == ElementwiseOp::kBitwiseNot || (op >= ElementwiseOp::kBitwiseAnd && op <= ElementwiseOp::kShiftRight);
}

bool check_steps(const ElementwiseAttributes& t, int input_count, Violation* v) {
  const bool integer = t.compute == ComputeType::kI64 || t.compute == ComputeType::kU64;
  for (uint32_t i = 0; i < t.step_count; i++) {
    const ElementwiseStep& step = t.steps[i];
    if (!is_known(step.op))
      return rules::refuse(v, "elementwise step's operator is known", Violation::kAttribute, 161, int64_t(step.op));
    if (integer && !takes_integers(step.op))
      return rules::refuse(v, "elementwise step computes in floating point", Violation::kAttribute, int64_t(t.compute),
                           int64_t(step.op));
    if (!integer && needs_integers(step.op))
      return rules::refuse(v, "elementwise step computes in integers", Violation::kAttribute, int64_t(t.compute),
                           int64_t(step.op));
    const uint8_t read[3] = {step.a, step.b, step.c};
    for (int k = 0; k < elementwise_arity(step.op); k++)
      if (read[k] != kConstantRegister && read[k] >= input_count + int(i))
        return rules::refuse(v, "elementwise step reads a register written before", Violation::kAttribute,
                             input_count + i, read[k]);
  }
  return true;
}

bool check_elementwise(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kElementwiseContract, {}, v)) return false;
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  if (t.step_count > kMaxElementwiseSteps)
    return rules::refuse(v, "elementwise has at most 16 steps", Violation::kAttribute, kMaxElementwiseSteps,
                         t.step_count);
  if (uint8_t(t.compute) > uint8_t(ComputeType::kU64))
    return rules::refuse(v, "elementwise.compute is known", Violation::kAttribute, 3, int64_t(t.compute));
  if (t.step_count == 0 && a.input_count != 1)
    return rules::refuse(v, "a conversion has one operand", Violation::kAttribute, 1, a.input_count);
  for (int i = 0; i < a.input_count; i++)
    if (!rules::broadcasts_to(a.inputs[i], a.outputs[0]))
      return rules::refuse(v, "elementwise operand broadcasts to the output", i, a.outputs[0].rank, a.inputs[i].rank);
  return check_steps(t, a.input_count, v);
}

uint32_t elementwise_in_place(const OpArguments& a) {
  uint32_t mask = 0;
  for (int i = 0; i < a.input_count; i++)
    if (rules::overlays(a.inputs[i], a.outputs[0])) mask |= 1u << i;
  return mask;
}

/// A register of kElementwiseBlock elements for each operand and step.
ScratchNeed elementwise_scratch(const OpArguments& a, int) {
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  const uint64_t width = t.compute == ComputeType::kF32 && t.step_count != 0 ? 4 : 8;
  return {(a.input_count + t.step_count) * uint64_t{kElementwiseBlock} * width, 0};
}

}  // namespace

const OpContract kElementwiseContract = {
    OpCode::kElementwise, 1,    1, kMaxElementwiseInputs, 1, 1, check_elementwise, elementwise_in_place,
    elementwise_scratch,  0xff, 1};

}  // namespace ingot
