// SPDX-License-Identifier: Apache-2.0
// tools/cli/quantize/quantize_dynamic.h - `ingot convert --dtype int8` without data: inputs of
// linear layers are quantized in each run.
#pragma once
#include "tools/cli/quantize/quantize.h"

namespace ingot::cli {

/// Options under which the conversion gives that network; what it did is in `report` once it ran,
/// which must outlive them. @throws Failure.
convert::ConvertOptions quantized_in_each_run(const std::string& source,
                                              const convert::ConvertOptions& options,
                                              const ConvertArguments& arguments,
                                              QuantizeReport* report);

/// @throws Failure kUsage for a value that an option of quantization does not have.
void check_quantize_arguments(const ConvertArguments& arguments);
/// @throws Failure kUnsupported for a network that came quantized.
void refuse_quantized(const graph::Model& model, const std::string& source);
/// @throws Failure kMismatch: --keep-fp32 with a name that no layer has.
[[noreturn]] void fail_unknown_layer(const std::string& pattern,
                                     const std::vector<std::string>& names);

}  // namespace ingot::cli
