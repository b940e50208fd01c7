// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/elementwise.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  static_assert(elementwise_arity(ElementwiseOp::k##name) == (operands), #name);
#include "runtime/op/functions.def"

/// False: no function has this number.
bool find_domain(ElementwiseOp op, FunctionDomain* out) {
  switch (op) {
#define INGOT_FUNCTION(name, number, operands, domain, f64, result, node, source) \
  case ElementwiseOp::k##name:                                                    \
    *out = FunctionDomain::k##domain;                                             \
    return true;
#include "runtime/op/functions.def"
  }
  return false;
}

bool check_steps(const ElementwiseAttributes& t, int input_count, Violation* v) {
  const bool integer = t.compute == ComputeType::kI64 || t.compute == ComputeType::kU64;
  for (uint32_t i = 0; i < t.step_count; i++) {
    const ElementwiseStep& step = t.steps[i];
    FunctionDomain domain = FunctionDomain::kAny;
    if (!find_domain(step.op, &domain))
      return rules::refuse(v, "elementwise step's operator is known", Violation::kAttribute, 161,
                           int64_t(step.op));
    if (integer && domain == FunctionDomain::kFloat)
      return rules::refuse(v, "elementwise step computes in floating point", Violation::kAttribute,
                           int64_t(t.compute), int64_t(step.op));
    if (!integer && domain == FunctionDomain::kInteger)
      return rules::refuse(v, "elementwise step computes in integers", Violation::kAttribute,
                           int64_t(t.compute), int64_t(step.op));
    const uint8_t read[3] = {step.a, step.b, step.c};
    for (int k = 0; k < elementwise_arity(step.op); k++)
      if (read[k] != kConstantRegister && read[k] >= input_count + int(i))
        return rules::refuse(v, "elementwise step reads a register written before",
                             Violation::kAttribute, input_count + i, read[k]);
  }
  return true;
}

bool check_elementwise(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kElementwiseContract, {}, v)) return false;
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  if (t.step_count > kMaxElementwiseSteps)
    return rules::refuse(v, "elementwise has at most 16 steps", Violation::kAttribute,
                         kMaxElementwiseSteps, t.step_count);
  if (uint8_t(t.compute) > uint8_t(ComputeType::kU64))
    return rules::refuse(v, "elementwise.compute is known", Violation::kAttribute, 3,
                         int64_t(t.compute));
  if (t.step_count == 0 && a.input_count != 1)
    return rules::refuse(v, "a conversion has one operand", Violation::kAttribute, 1,
                         a.input_count);
  for (int i = 0; i < a.input_count; i++)
    if (!rules::broadcasts_to(a.inputs[i], a.outputs[0]))
      return rules::refuse(v, "elementwise operand broadcasts to the output", i, a.outputs[0].rank,
                           a.inputs[i].rank);
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
  if (flips_bytes(a)) return {};
  const uint64_t width = t.compute == ComputeType::kF32 && t.step_count != 0 ? 4 : 8;
  return {(a.input_count + t.step_count) * uint64_t{kElementwiseBlock} * width, 0};
}

}  // namespace

bool flips_bytes(const OpArguments& a) {
  const ElementwiseAttributes& t = a.as<ElementwiseAttributes>();
  const ElementwiseStep& s = t.steps[0];
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  return t.step_count == 1 && t.compute == ComputeType::kI64 && a.input_count == 1 &&
         s.op == ElementwiseOp::kBitwiseXor && s.a == 0 && s.b == kConstantRegister &&
         (x.dtype == DType::kU8 || x.dtype == DType::kI8) &&
         (y.dtype == DType::kU8 || y.dtype == DType::kI8) && same_dims(x, y);
}

const OpContract kElementwiseContract = {OpCode::kElementwise,
                                         1,
                                         1,
                                         kMaxElementwiseInputs,
                                         1,
                                         1,
                                         check_elementwise,
                                         elementwise_in_place,
                                         elementwise_scratch,
                                         0xff,
                                         1};

}  // namespace ingot
