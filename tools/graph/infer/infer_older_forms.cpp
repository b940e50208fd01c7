// SPDX-License-Identifier: Apache-2.0
// tools/graph/infer/infer_older_forms.cpp - forms that operators of ONNX had before opset 7.
#include "tools/graph/infer/inference.h"

namespace ingot::graph {
namespace {

/// The second operand with its dimensions from `axis` of the first on.
void align_operand(NodeContext& context) {
  const int64_t axis = context.axis(context.node.integer(attr::axis, 0), context.rank(0));
  Dims dims = context.dims(1);
  if (axis + int64_t(dims.size()) > context.rank(0))
    context.corrupt("its operand " + text(dims) + " does not fit " + text(context.dims(0)) +
                    " from axis " + std::to_string(axis) + " on");
  if (product(dims) != Dim(1)) dims.resize(size_t(context.rank(0) - axis), Dim(1));
  context.same(0, context.reshape(context.in(1), dims));
}

/// Tile along one axis: input, repeats, axis.
void tile_axis(NodeContext& context) {
  const auto repeats = context.integers(attr::tiles, 1), axis = context.integers(attr::axis, 2);
  if (!repeats || repeats->size() != 1 || !axis || axis->size() != 1)
    context.corrupt("its repeats and its axis must be one number each");
  Dims all(size_t(context.rank(0)), Dim(1));
  all[size_t(context.axis((*axis)[0], context.rank(0)))] = Dim((*repeats)[0]);
  context.finish(op::Tile, {context.in(0)}, {{attr::repeats, all}});
}

}  // namespace

void add_older_forms(InferTable& table) {
  table[op::AlignOperand] = align_operand;
  table[op::TileAxis] = tile_axis;
}

}  // namespace ingot::graph
