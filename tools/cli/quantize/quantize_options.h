// tools/cli/quantize/quantize_options.h - what `ingot convert --dtype int8` can be told, and its
// report.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/cli/quantize/quantize.h"

namespace ingot::cli {

struct QuantizeOptions {
  QuantizeArguments arguments;
  std::string samples, bias = "on", equalize = "on", html;
  bool sensitivity = false;

  /// Declares the options and groups them.
  void declare(CLI::App* command);
  /// Before anything is read: `dtype` as it was given. True for int8. @throws Failure kUsage where
  /// options do not belong together.
  bool are_wanted(const std::string& dtype, const std::vector<std::string>& keep_fp32);
};

/// "9 of 10 layers as int8, calibrated on 200 samples (minmax), 1 in f32".
std::string summary_of(const QuantizeReport& report);

/// Layers as a table, what the outputs lose, and the page where one was asked for.
void print_quantize_report(const QuantizeReport& report, const QuantizeOptions& options,
                           const std::string& source);

}  // namespace ingot::cli
