// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/conversion_report.h - what conversion did, as tables for people.
#pragma once
#include "tools/compile/convert/convert.h"

namespace ingot::cli {

void print_conversion_report(const convert::ConversionReport& report);

}  // namespace ingot::cli
