// tools/cli/reports/conversion_report.h - what casting did, as tables for people.
#pragma once
#include "tools/compile/convert/convert.h"

namespace ingot::cli {

void print_cast_report(const cast::CastReport& report);

}  // namespace ingot::cli
