// SPDX-License-Identifier: Apache-2.0
// tools/import/common/source_errors.h - errors of an import: they name the file, and texts of the
// file in them, which are anybody's, are one line of readable length.
#pragma once
#include <string>

#include "tools/graph/dim_limit.h"
#include "tools/graph/graph.h"

namespace ingot::importer {

std::string clean_line(std::string text);
void finish_error(const std::string& path, graph::ConversionError* error);

/// What `run` gives. @throws graph::ConversionError that names `path`.
template <class Run>
auto with_errors_of(const std::string& path, Run run) {
  try {
    try {
      return run();
    } catch (const graph::DimError& error) {
      graph::fail_conversion(graph::exit_code(error), error.what());
    }
  } catch (graph::ConversionError& error) {
    finish_error(path, &error);
    throw;
  }
}

}  // namespace ingot::importer
