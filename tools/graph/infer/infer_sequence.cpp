// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_sequence.cpp - sequences and optionals, which exist during conversion
// alone: a sequence is the list of its tensors, and every position in one is a constant, short of
// what a loop appended (loop_sequences.cpp).
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

using Integers = std::vector<int64_t>;

constexpr int64_t kMaxParts = 1 << 16;

Sequence sequence_of(NodeContext& context, size_t input) {
  const Sequence* found = context.run().sequence(context.in(input));
  if (!found)
    context.corrupt("its operand " + std::to_string(input) + " is a tensor, expected a sequence");
  return *found;
}
const Dims& dims_of(NodeContext& context, ValueId id) { return context.run().value(id).dims; }

/// One by one, also those that a loop appended.
std::vector<ValueId> elements_of(NodeContext& context, size_t input) {
  Sequence sequence = sequence_of(context, input);
  if (sequence.rows == kAbsent) return sequence.tensors;
  const auto count = dims_of(context, sequence.rows)[0].value();
  if (!count || *count > kMaxParts)
    context.refuse("", "a loop appended as many tensors as only the run tells",
                   "join them with ConcatFromSequence, or read one with SequenceAt");
  for (int64_t i = 0; i < *count; i++)
    sequence.tensors.push_back(context.make(op::Gather,
                                            {sequence.rows, context.scalar(DType::kI64, double(i))},
                                            {{attr::axis, int64_t(0)}}));
  return sequence.tensors;
}
/// The rows side by side along `axis` of one of them, as a dimension of their own or joined.
ValueId joined_rows(NodeContext& context, ValueId rows, int64_t axis, bool is_new) {
  Integers perm;
  for (int64_t i = 1; i < int64_t(dims_of(context, rows).size()); i++) perm.push_back(i);
  perm.insert(perm.begin() + axis, 0);
  const ValueId turned = axis ? context.make(op::Transpose, {rows}, {{attr::perm, perm}}) : rows;
  if (is_new) return turned;
  Dims dims = dims_of(context, turned);
  dims[size_t(axis)] = dims[size_t(axis)] * dims[size_t(axis) + 1];
  dims.erase(dims.begin() + axis + 1);
  return context.reshape(turned, dims);
}
/// A position, counted from the front; `size` itself only where something is inserted.
size_t position_of(NodeContext& context, size_t input, size_t size, bool inserts) {
  const auto given = context.integers(attr::position, input);
  if (!given || given->size() != 1) context.corrupt("its position must be one number");
  const int64_t count = int64_t(size), at = (*given)[0] < 0 ? (*given)[0] + count : (*given)[0];
  if (at < 0 || at > count - (inserts ? 0 : 1))
    context.corrupt("position " + std::to_string((*given)[0]) + " is outside of a sequence of " +
                    std::to_string(count));
  return size_t(at);
}

void sequence_construct(NodeContext& context) { context.make_sequence(0, {context.node.inputs}); }
void sequence_empty(NodeContext& context) { context.make_sequence(0, {}); }
void sequence_insert(NodeContext& context) {
  std::vector<ValueId> all = elements_of(context, 0);
  const size_t at = context.has(2) ? position_of(context, 2, all.size(), true) : all.size();
  all.insert(all.begin() + int64_t(at), context.in(1));
  context.make_sequence(0, {std::move(all)});
}
void sequence_erase(NodeContext& context) {
  std::vector<ValueId> all = elements_of(context, 0);
  if (all.empty()) context.corrupt("takes an element out of an empty sequence");
  const size_t at = context.has(1) ? position_of(context, 1, all.size(), false) : all.size() - 1;
  all.erase(all.begin() + int64_t(at));
  context.make_sequence(0, {std::move(all)});
}
void sequence_at(NodeContext& context) {
  const Sequence sequence = sequence_of(context, 0);
  if (sequence.rows != kAbsent && sequence.tensors.empty())
    return context.finish(op::Gather, {sequence.rows, context.in(1)}, {{attr::axis, int64_t(0)}});
  const std::vector<ValueId> all = elements_of(context, 0);
  context.same(0, all[position_of(context, 1, all.size(), false)]);
}
void sequence_length(NodeContext& context) {
  const Sequence sequence = sequence_of(context, 0);
  Dim count(int64_t(sequence.tensors.size()));
  if (sequence.rows != kAbsent) count = count + dims_of(context, sequence.rows)[0];
  context.same(0, context.extent(count));
}
void sequence_concat(NodeContext& context) {
  const Sequence sequence = sequence_of(context, 0);
  std::vector<ValueId> all = sequence.tensors;
  if (all.empty() && sequence.rows == kAbsent) context.corrupt("joins an empty sequence");
  const bool is_new = context.node.integer(attr::new_axis, 0) != 0;
  const size_t element =
      all.empty() ? dims_of(context, sequence.rows).size() - 1 : dims_of(context, all[0]).size();
  const int64_t axis =
      context.axis(context.node.integer(attr::axis, 0), int64_t(element) + int64_t(is_new));
  if (is_new)
    for (ValueId& each : all)
      each = context.make(op::Unsqueeze, {each}, {{attr::axes, Integers{axis}}});
  if (sequence.rows != kAbsent) all.push_back(joined_rows(context, sequence.rows, axis, is_new));
  context.finish(op::Concat, all, {{attr::axis, axis}});
}
/// Parts of equal extents, or of those given; without any, single elements whose axis may go.
void sequence_split(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  const auto extent = context.dims(0)[size_t(axis)].value();
  if (!extent)
    context.refuse("axis",
                   "its dimension is symbolic (" + context.dims(0)[size_t(axis)].text() +
                       "): how many parts there are depends on it",
                   "bind it with --dim");
  Integers sizes;
  const bool single = !context.has(1);
  if (const auto given = context.integers(attr::split, 1)) {
    if (context.rank(1) == 1)
      sizes = *given;
    else if (given->size() != 1 || (*given)[0] < 1)
      context.corrupt("its parts must have at least one element");
    else if (*extent / (*given)[0] > kMaxParts)
      context.refuse("split", "more than " + std::to_string(kMaxParts) + " parts");
    else
      for (int64_t left = *extent; left > 0; left -= (*given)[0])
        sizes.push_back(std::min(left, (*given)[0]));
  } else {
    if (*extent > kMaxParts)
      context.refuse("split", "more than " + std::to_string(kMaxParts) + " parts");
    sizes.assign(size_t(*extent), 1);
  }
  std::vector<ValueId> parts;
  int64_t from = 0;
  for (const int64_t size : sizes) {
    ValueId part = context.make(op::Slice, {context.in(0)},
                                {{attr::starts, Dims{Dim(from)}},
                                 {attr::ends, Dims{Dim(from + size)}},
                                 {attr::axes, Integers{axis}}});
    if (single && context.node.integer(attr::keepdims, 1) == 0)
      part = context.make(op::Squeeze, {part}, {{attr::axes, Integers{axis}}});
    parts.push_back(part);
    from += size;
  }
  if (from != *extent)
    context.corrupt("its parts add up to " + std::to_string(from) + " of " +
                    std::to_string(*extent));
  context.make_sequence(0, {std::move(parts)});
}

/// An optional that holds something is that; one without an input holds nothing.
void optional(NodeContext& context) {
  if (!context.has(0))
    context.refuse("", "an optional without a value", "leave the input out where it is read");
  context.same(0, context.in(0));
}
void has_element(NodeContext& context) {
  const bool yes = context.has(0);
  context.same(0, context.constant(make_constant(DType::kBool, {}, &yes)));
}

}  // namespace

void add_sequence_rules(InferTable& table) {
  table[op::SequenceConstruct] = sequence_construct;
  table[op::SequenceEmpty] = sequence_empty;
  table[op::SequenceInsert] = sequence_insert;
  table[op::SequenceErase] = sequence_erase;
  table[op::SequenceAt] = sequence_at;
  table[op::SequenceLength] = sequence_length;
  table[op::ConcatFromSequence] = sequence_concat;
  table[op::SplitToSequence] = sequence_split;
  table[op::Optional] = table[op::OptionalGetElement] = optional;
  table[op::OptionalHasElement] = has_element;
}

}  // namespace ingot::graph
