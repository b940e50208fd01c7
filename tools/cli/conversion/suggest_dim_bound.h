// SPDX-License-Identifier: Apache-2.0
// tools/cli/conversion/suggest_dim_bound.h - a bound that is enough for an example, for the message
// of a source that needs one.
#pragma once
#include <string>

#include "tools/compile/convert/convert.h"

namespace ingot::cli {

/// Puts a number into a refusal that names --max-elements: the least of 16, 64, 256, ... 65536 with
/// which the source converts and runs on the inputs of `golden`, or on made ones where that is
/// empty; else the least with which it converts. The refusal stays as it is where none does, or
/// none was found within 10 s.
void suggest_dim_bound(const convert::Source& source, const convert::ConvertOptions& options,
                       const std::string& golden, graph::ConversionError* refusal);

}  // namespace ingot::cli
