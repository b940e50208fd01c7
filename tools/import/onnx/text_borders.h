// SPDX-License-Identifier: Apache-2.0
// tools/import/onnx/text_borders.h - models that read or give text, which no program has: where to
// cut them.
#pragma once
#include <optional>

#include "tools/graph/graph.h"
#include "tools/import/onnx/wire.h"

namespace ingot::onnx {

/// Of a graph with text among its inputs or outputs: the first of them, and the call that cuts off
/// what reads and makes text. Labels of classifiers are numbers here, and no text.
std::optional<graph::Unsupported> text_to_cut(const Graph& graph);

}  // namespace ingot::onnx
