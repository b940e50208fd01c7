// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/random.h"

#include "runtime/op/rules.h"

namespace ingot {
namespace {

bool check_random(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kRandomContract, {1}, v)) return false;
  const TensorType &state = a.inputs[0], &y = a.outputs[0];
  const RandomAttributes& t = a.as<RandomAttributes>();
  if (uint8_t(t.kind) > uint8_t(RandomKind::kNormal))
    return rules::refuse(v, "random.kind is known", Violation::kAttribute, 1, int64_t(t.kind));
  // also refuses NaN
  if (!(t.first - t.first == 0) || !(t.second - t.second == 0))
    return rules::refuse(v, "random's numbers are finite", Violation::kAttribute);
  if (state.dtype != DType::kI64 || state.rank != 1 || state.dims[0] != 2)
    return rules::refuse(v, "random's state is two i64", 0, 2, state.elements());
  if (const TensorView* iteration = a.optional(1))
    if (iteration->dtype != DType::kI64 || iteration->elements() != 1)
      return rules::refuse(v, "an iteration is one i64", 1, 1, iteration->elements());
  if (y.dtype != DType::kF32)
    return rules::refuse(v, "random gives f32", rules::output(0), int64_t(DType::kF32),
                         int64_t(y.dtype));
  return true;
}

}  // namespace

const OpContract kRandomContract = {OpCode::kRandom, 1,       1,       2, 1, 1,
                                    check_random,    nullptr, nullptr, 0, 0};

}  // namespace ingot
