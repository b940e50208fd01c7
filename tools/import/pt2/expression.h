// SPDX-License-Identifier: Apache-2.0
// tools/import/pt2/expression.h - sizes as torch.export writes them: "Symbol('s77', positive=True,
// integer=True)", "Mul(Integer(2), Symbol('s0'))", "s0".
#pragma once
#include <optional>
#include <string>

#include "tools/graph/dim.h"

namespace ingot::pt2 {

/// Sums and products of symbols and numbers. Nothing for what is no such expression, nests beyond
/// reason, or overflows.
std::optional<graph::Dim> parse_expression(const std::string& text);

}  // namespace ingot::pt2
