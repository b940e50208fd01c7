// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/compare_report.h - what `ingot compare` found, for people, for scripts, and as
// an image.
#pragma once
#include <string>

#include "tools/diagnose/program/find_divergence.h"

namespace ingot::cli {

void print_compare_text(const DivergenceAnswer& answer);
void print_compare_json(const DivergenceAnswer& answer, const std::string& source,
                        const std::string& file);
/// One self-contained file. @throws Failure kUnavailable.
void write_compare_html(const DivergenceAnswer& answer, const std::string& source,
                        const std::string& file, const std::string& path);
/// "Conv 'conv1' -> value".
std::string source_text(const DivergenceAnswer& answer, uint32_t source);
/// "iteration 3 of the inner loop, in iteration 0 of the outer loop".
std::string iterations_text(const compare::Iterations& iterations);

}  // namespace ingot::cli
