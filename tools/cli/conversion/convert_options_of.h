// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/convert_options_of.h - what the command line says of a conversion, as the
// converter takes it.
#pragma once
#include "tools/cli/options/convert_options.h"
#include "tools/compile/program/options.h"

namespace ingot::cli {

/// Without --calibrate and its like, which the quantizer reads, and --check, --golden and --limit.
/// @throws Failure kUsage and graph::ConversionError (kUsage, kUnsupported, kMismatch) for what is
/// no such option or does not go with another.
convert::ConvertOptions convert_options_of(const ConvertArguments& arguments);

}  // namespace ingot::cli
