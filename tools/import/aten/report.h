// tools/import/aten/report.h - everything that stands in the way of conversion, as one error.
#pragma once
#include <string>
#include <vector>

#include "tools/graph/graph.h"

namespace ingot::aten {

/// Exit code 4; all of `unsupported` in it, equal entries once. Names in a source are anybody's:
/// texts are made one line of readable length. @pre !unsupported.empty()
graph::ConversionError refusal(const std::string& file,
                               std::vector<graph::Unsupported> unsupported);
/// One line of readable length.
std::string clean_line(std::string text);

}  // namespace ingot::aten
