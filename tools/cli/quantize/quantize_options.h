// tools/cli/quantize/quantize_options.h - what `ingot convert --dtype int8` can be told, and its
// report.
#pragma once
#include <string>

#include "tools/cli/options/convert_options.h"
#include "tools/cli/quantize/quantize.h"

namespace ingot::cli {

/// Before anything is read. @throws Failure kUsage where options do not belong together.
QuantizeArguments quantize_arguments(const ConvertArguments& arguments);

/// "9 of 10 layers as int8, calibrated on 200 samples (minmax), 1 in f32".
std::string summary_of(const QuantizeReport& report);

/// Layers as a table, what the outputs lose, and the page where one was asked for.
void print_quantize_report(const QuantizeReport& report, const ConvertArguments& arguments,
                           const std::string& source);

}  // namespace ingot::cli
