// tools/cli/reports/why_html.h - the report of `ingot why` as one page: memory over steps, time,
// roofline, moves, passes.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/session/program_view.h"

namespace ingot::cli {

/// `report` as `ingot why --json` prints it. @throws Failure kUnavailable.
void write_why_html(const nlohmann::ordered_json& report, const ProgramView& view,
                    const std::string& path);

}  // namespace ingot::cli
