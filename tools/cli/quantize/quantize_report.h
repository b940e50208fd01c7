// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/quantize_report.h - what `ingot convert --dtype int8` says of its work.
#pragma once
#include <string>

#include "tools/cli/quantize/quantize.h"

namespace ingot::cli {

/// "9 of 10 layers as int8, calibrated on 200 samples (minmax), 1 in f32".
std::string summary_of(const QuantizeReport& report);

/// Layers as a table, what the outputs lose, and the page where one was asked for.
void print_quantize_report(const QuantizeReport& report, const ConvertArguments& arguments,
                           const std::string& source);

}  // namespace ingot::cli
