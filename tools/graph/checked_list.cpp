// SPDX-License-Identifier: Apache-2.0
// tools/graph/checked_list.cpp - see checked_list.h.
#include "tools/graph/checked_list.h"

#include <string>

namespace ingot::graph {

void fail_access(ListKind kind, size_t index, size_t size) {
  const std::string which = index == SIZE_MAX ? "the last" : "number " + std::to_string(index);
  const std::string count = std::to_string(size);
  switch (kind) {
    case ListKind::kDimensions:
      throw DimError("a tensor has rank " + count + ", and its dimension " +
                     (index == SIZE_MAX ? "-1" : std::to_string(index)) +
                     " decides; expected a larger rank");
    case ListKind::kOperands:
      throw DimError("has " + count + " operands, and " + which + " is needed");
    case ListKind::kValues: throw DimError("an operand that it needs is missing");
    case ListKind::kElements:
      throw DimError("a constant has " + count + " elements, and " + which + " decides");
  }
  throw DimError("an access beyond what there is");
}

}  // namespace ingot::graph
