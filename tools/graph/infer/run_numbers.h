// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/run_numbers.h - extents that a run computes: the arithmetic of i64 scalars that
// gives them, and tensors read through computed positions. What is read so is consistent for every
// number of elements, so a program holds at the bounds of its symbols and at what a run finds.
#pragma once
#include "tools/graph/infer/inference.h"

namespace ingot::graph {

/// Nodes over i64 scalars (positions: over i64 tensors that broadcast) and bool scalars, made by
/// the rule of one node.
class RunNumbers {
 public:
  explicit RunNumbers(NodeContext& context) : context_(context) {}

  ValueId of(int64_t number) { return context_.scalar(DType::kI64, double(number)); }
  ValueId make(Operator op, ValueId a, ValueId b) { return context_.make(op, {a, b}); }
  ValueId choose(ValueId condition, ValueId yes, ValueId no) {
    return context_.make(op::Where, {condition, yes, no});
  }
  /// The number as a dim of at most `bound`. A run that finds more, less than 0, or that `valid`
  /// (bool; kAbsent: always) does not hold, ends with an error that names the dim.
  Dim dim(ValueId number, ValueId valid, const Dim& bound, const std::string& name = "");
  /// 0, 1, ... `count` - 1, each at most `last`.
  ValueId places(const Dim& count, ValueId last) {
    return make(op::Min, context_.counting(count), last);
  }
  ValueId gather(ValueId data, ValueId positions, int64_t axis) {
    return context_.make(op::Gather, {data, positions}, {{attr::axis, axis}});
  }

 private:
  NodeContext& context_;
};

/// Elements of small integer inputs of the model for which a most was stated ('fh', or 's.1' of
/// several) are sizes, and what is computed from them is shape arithmetic. Called by the walk,
/// before any node.
void bind_inputs(Inference& run);
/// What to do about a size of at most nobody knows what, called `name`: the options, with the
/// inputs of the model that the element of `input` is computed from.
Hint how_to_bound(NodeContext& context, const std::string& name, size_t input);
/// Whether a dimension of an input has this name: no number has it then.
bool is_port_dimension(const Model& model, const std::string& name);
/// The most that the user stated for it, or for all; 0: neither.
int64_t stated_most(const Model& model, const std::string& name);

/// x with `to` elements along an axis that has as many, or one where it is broadcast, in every run
/// that goes on: another ends with an index outside of x.
ValueId fit_axis(NodeContext& context, ValueId x, size_t axis, const Dim& to,
                 bool is_broadcast = true);
/// Axes of two operands that must be equal, of which only a run tells one, which is fitted to the
/// other. Changes the node's inputs.
void fit_equal(NodeContext& context, size_t a, size_t axis_of_a, size_t b, size_t axis_of_b);
/// Operands whose extents only a run tells, broadcast: those that differ are fitted to one. Changes
/// the node's inputs. Of the last `but` axes nothing is broadcast.
void fit_operands(NodeContext& context, size_t but = 0);

/// Reshape whose shape has two numbers that only a run tells, or one beside the rest. @pre no 0 in
/// `wanted` stands for the input's dimension.
void reshape_by_data(NodeContext& context, const std::vector<std::optional<Dim>>& wanted);
/// Split into parts whose sizes a run tells.
void split_by_data(NodeContext& context, int64_t axis);
/// The elements start, start + step, ... before `end` along an axis; operands: i64 scalars.
ValueId stepped(NodeContext& context, ValueId x, int64_t axis, ValueId start, ValueId end,
                ValueId step);
/// Resize by scales that a run tells, or by sizes of which some are those of batch and channels.
void resize_by_data(NodeContext& context, const std::vector<int64_t>& axes);

}  // namespace ingot::graph
