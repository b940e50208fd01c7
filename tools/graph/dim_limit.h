// SPDX-License-Identifier: Apache-2.0
// tools/graph/dim_limit.h - an expression of a dimension that is sound and larger than what is
// followed: no damage of the source, which is refused as unsupported.
#pragma once
#include "tools/files/failure.h"
#include "tools/graph/dim.h"

namespace ingot::graph {

struct DimLimit : DimError {
  using DimError::DimError;
};
/// Of a source that asks for such a dimension.
inline host::Exit exit_code(const DimError& error) {
  return dynamic_cast<const DimLimit*>(&error) ? host::Exit::kUnsupported : host::Exit::kCorrupt;
}

}  // namespace ingot::graph
