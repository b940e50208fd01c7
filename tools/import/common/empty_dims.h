// SPDX-License-Identifier: Apache-2.0
// tools/import/common/empty_dims.h - which dynamic dimensions may be 0, found by importing again.
#pragma once
#include <functional>

#include "tools/import/common/options.h"
#include "tools/import/common/program.h"

namespace ingot::importer {

/// What `import` makes, with dynamic dimensions that may be 0 where that changes no node, and no shape
/// of other sizes; the others stay at least 1. `bounded`: those with an upper bound too, which stays.
Program allow_empty(const ImportOptions& options, bool bounded,
                    const std::function<Program(const ImportOptions&)>& import);

}  // namespace ingot::importer
