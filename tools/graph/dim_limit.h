// tools/graph/dim_limit.h - an expression of a dimension that is sound and larger than what is
// followed: no damage of the source, which is refused as unsupported.
#pragma once
#include "tools/graph/dim.h"

namespace ingot::graph {

struct DimLimit : DimError {
  using DimError::DimError;
};
/// Of a source that asks for such a dimension.
inline int exit_code(const DimError& error) {
  return dynamic_cast<const DimLimit*>(&error) ? 4 : 2;
}

}  // namespace ingot::graph
