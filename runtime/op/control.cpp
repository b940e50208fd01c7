#include "runtime/op/control.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

/// Which subprograms exist and that nothing calls itself is the decoder's proof; here is the condition.
bool check_if(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kIfContract, {}, v)) return false;
  const TensorType& condition = a.inputs[0];
  if (condition.dtype != DType::kBool)
    return rules::refuse(v, "if's condition is bool", 0, int64_t(DType::kBool), int64_t(condition.dtype));
  if (condition.elements() != 1) return rules::refuse(v, "if's condition has one element", 0, 1, condition.elements());
  const IfAttributes& t = a.as<IfAttributes>();
  if (t.then_subprogram == 0 || t.else_subprogram == 0)
    return rules::refuse(v, "if's branches are not the main program", Violation::kAttribute, 1, 0);
  if (t.then_subprogram == t.else_subprogram)
    return rules::refuse(v, "if's branches are two subprograms", Violation::kAttribute, t.then_subprogram,
                         t.else_subprogram);
  return true;
}

}  // namespace

const OpContract kIfContract = {OpCode::kIf, 1, 1, 1, 0, 64, check_if, nullptr, nullptr, 0, 0xffffffffu};

}  // namespace ingot
