// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_reshape.cpp - same elements, other dims: Reshape and its special cases,
// Transpose, Expand, Tile, depth and space.
#include <algorithm>

#include "tools/graph/data_dependent.h"
#include "tools/graph/infer/inference.h"
#include "tools/graph/infer/run_numbers.h"

namespace ingot::graph {
namespace {

/// What stands in shape: dims, -1 for the rest, nothing where it is known only at run time.
std::vector<std::optional<Dim>> wanted_dims(NodeContext& context) {
  if (context.node.has(attr::shape) || !context.has(1)) {
    const Dims dims = context.need_dims(attr::shape, 1);
    return {dims.begin(), dims.end()};
  }
  if (context.rank(1) != 1)
    context.corrupt("its shape has rank " + std::to_string(context.rank(1)) + ", expected 1");
  const auto contents = context.run().contents(context.in(1));
  const auto count = context.dims(1)[0].value();
  if (!contents && (!count || *count < 2 || *count > kMaxRank)) {
    const Dims dims = context.need_dims(attr::shape, 1);
    return {dims.begin(), dims.end()};
  }
  if (!contents) return std::vector<std::optional<Dim>>(size_t(*count));
  std::vector<std::optional<Dim>> out;
  for (const Scalar& s : *contents) out.push_back(s.dim());
  return out;
}

/// Whether two numbers, or one beside the rest, are known only at run time, so that no dims agree
/// with the input's at their bounds.
bool is_open_by_data(NodeContext& context, const std::vector<std::optional<Dim>>& wanted) {
  size_t unknown = 0, open = 0;
  Dim known(1);
  for (size_t i = 0; i < wanted.size(); i++) {
    unknown += !wanted[i];
    open += wanted[i] && *wanted[i] == Dim(-1);
    if (wanted[i] && *wanted[i] != Dim(-1)) known = known * *wanted[i];
  }
  if (unknown + open > 1) return unknown > 0 && context.has(1);
  const Dim total = product(context.dims(0));
  const auto by_data = [&](const Dim& d) { return is_data_dependent(context.model(), d); };
  if (!context.has(1) || (!by_data(known) && !by_data(total))) return false;
  return unknown + open == 1 ? (total / known) * known != total : known != total;
}

void reshape(NodeContext& context) {
  // in normal form
  if (context.node.inputs.size() == 1 && !context.node.has(attr::shape) && context.settled())
    return;
  std::vector<std::optional<Dim>> wanted = wanted_dims(context);
  const bool allow_zero = context.node.integer(attr::allowzero, 0) != 0;
  const Dims in = context.dims(0);
  for (size_t i = 0; i < wanted.size() && !allow_zero; i++) {
    if (!wanted[i] || *wanted[i] != Dim(0)) continue;
    if (i >= in.size())
      context.corrupt("shape has 0 at " + std::to_string(i) + ", its input only " +
                      std::to_string(in.size()) + " dimensions");
    wanted[i] = in[i];
  }
  if (is_open_by_data(context, wanted)) return reshape_by_data(context, wanted);
  Dims out;
  int open = -1;  // -1, or one number known only at run time: the elements say what it is
  for (size_t i = 0; i < wanted.size(); i++) {
    const bool rest = !wanted[i] || *wanted[i] == Dim(-1);
    if (rest && open >= 0) {
      if (!wanted[i]) context.need_dims(attr::shape, 1);
      context.refuse("shape", "two of its dimensions are open");
    }
    if (rest) open = int(i);
    out.push_back(rest ? Dim(1) : *wanted[i]);
  }
  const Dim total = product(in);
  if (open >= 0) {
    // Dimensions that stand on both sides cancel, also where the count is 0.
    Dim left = total, known = product(out);
    if (known == Dim(0))
      context.corrupt("shape " + text(out) + " with a dynamic dimension holds no element");
    out[size_t(open)] = left / known;
    if (total.is_static() && out[size_t(open)] * known != total) {
      context.corrupt("its input " + text(in) + " has " + total.text() + " elements, which " +
                      known.text() + " does not divide");
    }
  } else if (total.is_static() && product(out).is_static() && total != product(out)) {
    context.corrupt("its input " + text(in) + " has " + total.text() + " elements, its shape " +
                    text(out) + " has " + product(out).text());
  }
  context.drop_inputs_from(1);
  context.erase({attr::shape, attr::allowzero});
  if (out == in) return context.same(0, context.in(0));
  context.set(0, context.dtype(0), std::move(out));
}

void flatten(NodeContext& context) {
  const int64_t rank = context.rank(0), given = context.node.integer(attr::axis, 1);
  if (given < -rank || given > rank)
    context.corrupt("axis " + std::to_string(given) + " is out of range for rank " +
                    std::to_string(rank));
  const auto at = context.dims(0).begin() + (given < 0 ? given + rank : given);
  context.finish_shaped(
      op::Reshape, context.in(0),
      {product(Dims(context.dims(0).begin(), at)), product(Dims(at, context.dims(0).end()))});
}
void squeeze(NodeContext& context) {
  const Dims in = context.dims(0);
  std::vector<int64_t> axes;
  if (const auto given = context.integers(attr::axes, 1)) {
    axes = context.axes(*given, context.rank(0));
  } else {
    for (size_t i = 0; i < in.size(); i++) {
      if (in[i] == Dim(1)) axes.push_back(int64_t(i));
      if (!in[i].is_static())
        context.note("Squeeze without axes keeps dimension " + in[i].text() +
                     ", also where it is bound to 1 later; to lose it as the source does, convert "
                     "with --dim " +
                     in[i].text() + "=1");
    }
  }
  Dims out;
  for (size_t i = 0; i < in.size(); i++) {
    if (!std::binary_search(axes.begin(), axes.end(), int64_t(i)))
      out.push_back(in[i]);
    else if (in[i].is_static() && in[i] != Dim(1))
      context.corrupt("dimension " + std::to_string(i) + " of " + text(in) + " is not 1");
    else if (in[i] != Dim(1))
      context.note("Squeeze takes dimension " + in[i].text() +
                   " for 1; bindings that make it anything else are refused");
  }
  context.finish_shaped(op::Reshape, context.in(0), out);
}
void unsqueeze(NodeContext& context) {
  const auto given = context.integers(attr::axes, 1);
  if (!given) context.corrupt("lacks its axes");
  const Dims in = context.dims(0);
  const std::vector<int64_t> axes = context.axes(*given, int64_t(in.size() + given->size()));
  Dims out;
  size_t next = 0;
  for (size_t i = 0; i < in.size() + axes.size(); i++) {
    if (std::binary_search(axes.begin(), axes.end(), int64_t(i)))
      out.push_back(1);
    else
      out.push_back(in[next++]);
  }
  context.finish_shaped(op::Reshape, context.in(0), out);
}

void transpose(NodeContext& context) {
  const size_t rank = size_t(context.rank(0));
  std::vector<int64_t> perm = context.node.integers(attr::perm);
  if (perm.empty()) {
    perm.resize(rank);
    for (size_t i = 0; i < rank; i++) perm[i] = int64_t(rank - 1 - i);
  }
  if (perm.size() != rank)
    context.corrupt("perm has " + std::to_string(perm.size()) + " entries for " +
                    text(context.dims(0)));
  if (context.axes(perm, int64_t(rank)).size() != rank ||
      std::any_of(perm.begin(), perm.end(), [](int64_t p) { return p < 0; })) {
    context.corrupt("perm is no permutation");
  }
  if (std::is_sorted(perm.begin(), perm.end())) return context.same(0, context.in(0));
  Dims out;
  for (const int64_t p : perm) out.push_back(context.dims(0)[size_t(p)]);
  context.node.attributes[attr::perm] = perm;
  context.set(0, context.dtype(0), std::move(out));
}

void expand(NodeContext& context) {
  if (context.node.inputs.size() == 1 && !context.node.has(attr::shape) && context.settled())
    return;
  // may add values, which moves those that are there
  const Dims wanted = context.need_dims(attr::shape, 1);
  const Dims out = broadcast(context, context.dims(0), wanted);
  for (size_t back = 1; back <= size_t(context.rank(0)); back++) {
    const Dim &from = context.dims(0)[size_t(context.rank(0)) - back], to = out[out.size() - back];
    if (from == to || from == Dim(1)) continue;
    if (!is_data_dependent(context.model(), Dims{from, to})) continue;
    const ValueId made = fit_axis(context, context.in(0), size_t(context.rank(0)) - back, to);
    context.node.inputs[0] = made;
  }
  context.drop_inputs_from(1);
  context.erase({attr::shape});
  if (out == context.dims(0)) return context.same(0, context.in(0));
  context.set(0, context.dtype(0), out);
}
void tile(NodeContext& context) {
  if (context.node.inputs.size() == 1 && !context.node.has(attr::shape) && context.settled())
    return;
  const Dims repeats = context.need_dims(attr::repeats, 1);
  Dims out = context.dims(0);
  if (repeats.size() != out.size())
    context.corrupt("repeats has " + std::to_string(repeats.size()) + " entries for " + text(out));
  for (size_t i = 0; i < out.size(); i++) out[i] = out[i] * repeats[i];
  context.drop_inputs_from(1);
  if (out == context.dims(0)) return context.same(0, context.in(0));
  context.set(0, context.dtype(0), std::move(out));
}

Dim exact(NodeContext& context, const Dim& d, int64_t by) {
  if (d.is_static() && *d.value() % by != 0)
    context.corrupt("blocksize " + std::to_string(by) + " does not divide " +
                    text(context.dims(0)));
  return d / Dim(by);
}
void expect_image(NodeContext& context) {
  if (context.rank(0) != 4)
    context.corrupt("its input has shape " + text(context.dims(0)) + ", expected 4 dimensions");
}
void depth_to_space(NodeContext& context) {
  expect_image(context);
  const int64_t b = context.node.integer(attr::blocksize, 1);
  if (b > 1 << 15) context.corrupt("blocksize is out of range");
  const Dims in = context.dims(0);
  const Dim channels = exact(context, in[1], b * b);
  const bool columns_first = context.node.text(attr::mode, "DCR") == "CRD";
  const ValueId split = columns_first
                            ? context.reshape(context.in(0), {in[0], channels, b, b, in[2], in[3]})
                            : context.reshape(context.in(0), {in[0], b, b, channels, in[2], in[3]});
  const std::vector<int64_t> perm = columns_first ? std::vector<int64_t>{0, 1, 4, 2, 5, 3}
                                                  : std::vector<int64_t>{0, 3, 4, 1, 5, 2};
  const ValueId moved = context.make(op::Transpose, {split}, {{attr::perm, perm}});
  context.finish_shaped(op::Reshape, moved, {in[0], channels, in[2] * b, in[3] * b});
}
void space_to_depth(NodeContext& context) {
  expect_image(context);
  const int64_t b = context.node.integer(attr::blocksize, 1);
  if (b > 1 << 15) context.corrupt("blocksize is out of range");
  const Dims in = context.dims(0);
  const Dim rows = exact(context, in[2], b), columns = exact(context, in[3], b);
  const ValueId split = context.reshape(context.in(0), {in[0], in[1], rows, b, columns, b});
  const bool channels_first = context.node.text(attr::mode, "DCR") == "CRD";
  const std::vector<int64_t> perm = channels_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                                                   : std::vector<int64_t>{0, 3, 5, 1, 2, 4};
  const ValueId moved = context.make(op::Transpose, {split}, {{attr::perm, perm}});
  context.finish_shaped(op::Reshape, moved, {in[0], in[1] * (b * b), rows, columns});
}

}  // namespace

void add_reshape_rules(InferTable& table) {
  table[op::Reshape] = reshape;
  table[op::Flatten] = flatten;
  table[op::Squeeze] = squeeze;
  table[op::Unsqueeze] = unsqueeze;
  table[op::Transpose] = transpose;
  table[op::Expand] = expand;
  table[op::Tile] = tile;
  table[op::DepthToSpace] = depth_to_space;
  table[op::SpaceToDepth] = space_to_depth;
}

}  // namespace ingot::graph
