// tools/import/aten/report.h - everything that stands in the way of conversion, as one error.
#pragma once
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::aten {

/// All of `unsupported`, equal entries once. @pre !unsupported.empty()
graph::ConversionError refusal(const std::string& file,
                               std::vector<graph::Unsupported> unsupported);

}  // namespace ingot::aten
