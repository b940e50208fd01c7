// SPDX-License-Identifier: Apache-2.0
// tools/import/aten/lower.h - one call of an ATen operator to nodes of the graph. The table of
// operators (schema.h) is shared by torch.export archives, which name overloads and most arguments,
// and TorchScript, which passes them by position and names no overload.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tools/import/aten/builder.h"

namespace ingot::aten {

struct Call {
  std::string name;  // "aten::conv2d", "aten::add_"
  // "default", "Tensor"; "" when the source does not say: then the arguments decide
  std::string overload;
  std::vector<Value> positional;
  // in the order of the overload that is named, those too that are written by name otherwise
  bool all_by_place = false;
  std::vector<std::pair<std::string, Value>> keywords;
  std::string node;  // its name in the source
  // where it stands, for people: a module path, a line; may be empty
  std::string place;
  // names of its results in the source; may be fewer than there are
  std::vector<std::string> outputs;
};

/// The results, one for each that the operator returns (a list of tensors is one). An in-place
/// operator (name_) writes its first argument and returns it. What cannot be lowered is added to
/// builder.unsupported (operator with overload, argument, place, reason), and its results are
/// unknown: max(1, call.outputs.size()) of them. A call with an unknown argument gives unknown
/// results and no report. @throws graph::ConversionError(kCorrupt) where the source contradicts
/// itself.
std::vector<Value> lower_call(Builder& builder, const Call& call);

/// Name and overload of "torch.ops.aten.conv2d.padding"; of an operator that the table has not
/// and that is not of aten, the whole target: it is refused by that name.
void name_operator(const std::string& target, Call* call);

}  // namespace ingot::aten
