// SPDX-License-Identifier: Apache-2.0
#include "tools/compile/stream/operator_frames.h"

namespace ingot::convert {

bool OperatorFrames::has_frames(size_t operand) const {
  return operand < node.inputs.size() && timelines.count(node.inputs[operand]) != 0;
}

const Timeline& OperatorFrames::timeline(size_t operand) const {
  if (!has_frames(operand))
    throw NotStreamable{"the frames are no operand that it could take one by one", ""};
  return timelines.at(node.inputs[operand]);
}

const graph::Dims& OperatorFrames::dims(size_t operand) const {
  return model.values[size_t(node.inputs[operand])].dims;
}

const graph::Dims& OperatorFrames::out_dims() const {
  return model.values[size_t(node.outputs[0])].dims;
}

const graph::Constant* OperatorFrames::constant(size_t operand) const {
  return operand < node.inputs.size() ? model.constant(node.inputs[operand]) : nullptr;
}

int64_t OperatorFrames::frames_of(size_t output, size_t axis) const {
  const std::optional<int64_t> extent =
      model.values[size_t(node.outputs[output])].dims[axis].value();
  if (!extent)
    throw NotStreamable{"how many frames it gives is dynamic", "fix the extent with --dim"};
  return *extent;
}

void OperatorFrames::expect_first_alone() const {
  (void)timeline(0);
  for (size_t i = 1; i < node.inputs.size(); i++)
    if (has_frames(i)) throw NotStreamable{"operand " + std::to_string(i) + " has frames too", ""};
}

}  // namespace ingot::convert
