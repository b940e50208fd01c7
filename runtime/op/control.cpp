// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/control.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

/// Which subprograms exist and that nothing calls itself is the decoder's to validate; here is the
/// condition.
bool check_if(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kIfContract, {}, v)) return false;
  const TensorType& condition = a.inputs[0];
  if (condition.dtype != DType::kBool)
    return rules::refuse(v, "if's condition is bool", 0, int64_t(DType::kBool),
                         int64_t(condition.dtype));
  if (condition.elements() != 1)
    return rules::refuse(v, "if's condition has one element", 0, 1, condition.elements());
  const IfAttributes& t = a.as<IfAttributes>();
  if (t.then_subprogram == t.else_subprogram)
    return rules::refuse(v, "if's branches are two subprograms", Violation::kAttribute,
                         t.then_subprogram, t.else_subprogram);
  return true;
}

constexpr int64_t kMaxIterations = int64_t{1} << 40;

bool check_loop(const OpArguments& a, Violation* v) {
  rules::OperandRules optional;
  optional.required_inputs = ~3u;
  optional.required_outputs = 0;
  if (!rules::check_operands(a, kLoopContract, optional, v)) return false;
  const auto is_one = [&](const TensorType& type, DType dtype, const char* rule, int operand) {
    return !type.present() || (type.dtype == dtype && type.elements() == 1) ||
           rules::refuse(v, rule, operand, int64_t(dtype), int64_t(type.dtype));
  };
  if (!is_one(a.inputs[0], DType::kI64, "loop's count is one i64", 0)) return false;
  if (!is_one(a.inputs[1], DType::kBool, "loop's condition is one bool", 1)) return false;
  if (a.output_count == 1 &&
      !is_one(a.outputs[0], DType::kI64, "loop's iteration is one i64", rules::output(0)))
    return false;
  const LoopAttributes& t = a.as<LoopAttributes>();
  if (t.body == 0)
    return rules::refuse(v, "loop's body is not the main program", Violation::kAttribute, 1, 0);
  if (t.most < 0 || t.most > kMaxIterations)
    return rules::refuse(v, "loop's most iterations", Violation::kAttribute, kMaxIterations,
                         t.most);
  return true;
}

}  // namespace

const OpContract kLoopContract = {OpCode::kLoop, 1,       2,       258,         0, 1,
                                  check_loop,    nullptr, nullptr, 0xffffffffu, 0};
const OpContract kIfContract = {OpCode::kIf, 1,       1,       1, 0,          64,
                                check_if,    nullptr, nullptr, 0, 0xffffffffu};

}  // namespace ingot
