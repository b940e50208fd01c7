// SPDX-License-Identifier: Apache-2.0
#include "runtime/op/pad.h"

#include "runtime/base/checked_math.h"
#include "runtime/op/rules.h"

namespace ingot {
namespace {

/// reflect and wrap are defined within one period of the input, as in ONNX: at most dims - 1
/// (reflect) or dims (wrap) on a side.
bool check_extent(const PadAttributes& t, int64_t in, int64_t out, int64_t before, Violation* v) {
  int64_t after;
  if (before < -(int64_t{1} << 60) || before > int64_t{1} << 60) {
    return rules::refuse(v, "pad.before is in range", Violation::kAttribute, 0, before);
  }
  after = out - in - before;  // each term is below 2^60
  if (t.mode == PadMode::kConstant || out == 0) return true;
  if (before <= 0 && after <= 0) return true;
  if (in == 0) return rules::refuse(v, "only constant padding extends an empty dimension", 0, 1, 0);
  const int64_t most = t.mode == PadMode::kReflect ? in - 1 : in;
  if (t.mode == PadMode::kEdge) return true;
  if (before > most)
    return rules::refuse(v, "pad.before stays within the input's period", Violation::kAttribute,
                         most, before);
  if (after > most)
    return rules::refuse(v, "padding after stays within the input's period", rules::output(0), most,
                         after);
  return true;
}

bool check_pad(const OpArguments& a, Violation* v) {
  if (!rules::check_operands(a, kPadContract, {1u, 1u, 0u}, v)) return false;
  const TensorType &x = a.inputs[0], &y = a.outputs[0];
  const PadAttributes& t = a.as<PadAttributes>();
  if (!rules::check_same_dtype(x, y, rules::output(0), v)) return false;
  if (uint8_t(t.mode) > uint8_t(PadMode::kWrap))
    return rules::refuse(v, "pad.mode is known", Violation::kAttribute, 3, int64_t(t.mode));
  if (t.rank != x.rank)
    return rules::refuse(v, "pad.before has one entry per dimension", Violation::kAttribute, x.rank,
                         t.rank);
  if (x.rank != y.rank)
    return rules::refuse(v, "pad keeps the rank", rules::output(0), x.rank, y.rank);
  for (int i = 0; i < x.rank; i++)
    if (!check_extent(t, x.dims[i], y.dims[i], t.before[i], v)) return false;
  if (const TensorView* value = a.optional(1)) {
    if (!rules::check_same_dtype(x, *value, 1, v)) return false;
    if (value->elements() != 1)
      return rules::refuse(v, "pad's value has one element", 1, 1, value->elements());
  }
  return true;
}

}  // namespace

const OpContract kPadContract = {OpCode::kPad, 1, 1, 2, 1, 1, check_pad, nullptr, nullptr, 1, 1};

}  // namespace ingot
