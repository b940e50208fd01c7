// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/precision_fallback.h - a network that fast, fp16 or bf16 does not suit
// is found while it is converted, not on a device: what the asked precision loses is computed on
// the CPU, and the file gets the next one that is within the tolerance table.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/compile/convert/convert.h"
#include "tools/session/engine.h"

namespace ingot::cli {

enum class PrecisionCheckMode { kFallback, kRefuse, kOff };
/// "fallback", "refuse" or "off". @throws Failure kUsage
PrecisionCheckMode parse_precision_check(const std::string& text);

struct PrecisionRequest {
  std::string source;  // as the user calls it
  PrecisionCheckMode mode = PrecisionCheckMode::kFallback;
  std::string golden;  // its inputs instead of random ones; "": none
  std::optional<double> rtol, atol;
  /// Inputs of runs for the converted file, instead of random ones. May be empty.
  std::function<std::vector<std::vector<host::Array>>(const Engine&)> samples;
  std::function<convert::ConversionResult(const convert::ConvertOptions&)> convert;
};

/// Of a result that is not exact: leaves it, or makes it less so in `options` and `result` and says
/// so. What was found is put into the metadata (precision_record.h). @throws Failure kCheckFailed
/// where the mode is kRefuse
void apply_precision_fallback(const PrecisionRequest& request, convert::ConvertOptions* options,
                              convert::ConversionResult* result);

}  // namespace ingot::cli
