// SPDX-License-Identifier: Apache-2.0
// tools/compile/stream/operator_frames.h - what a rule asks of its node, and the rules for windows.
#pragma once
#include <optional>

#include "tools/compile/stream/rules.h"

namespace ingot::convert {

struct OperatorFrames {
  const graph::Model& model;
  const graph::Node& node;
  const Timelines& timelines;

  bool has_frames(size_t operand) const;
  /// @throws NotStreamable where the operand has none.
  const Timeline& timeline(size_t operand) const;
  const graph::Dims& dims(size_t operand) const;
  size_t rank(size_t operand) const { return dims(operand).size(); }
  const graph::Dims& out_dims() const;
  /// Null where there is no such operand or it is none.
  const graph::Constant* constant(size_t operand) const;
  /// Frames of the whole network's output along `axis`. @throws NotStreamable where it is open.
  int64_t frames_of(size_t output, size_t axis) const;
  /// @throws NotStreamable where another operand has frames too, such as weights.
  void expect_first_alone() const;
};

/// Rules of operators with a window along the axis, and of recurrent layers.
StreamRule convolve(const OperatorFrames& node);
StreamRule convolve_transposed(const OperatorFrames& node);
StreamRule pool(const OperatorFrames& node);
StreamRule convolve_bytes(const OperatorFrames& node);
StreamRule pool_bytes(const OperatorFrames& node);
StreamRule recur(const OperatorFrames& node);

}  // namespace ingot::convert
