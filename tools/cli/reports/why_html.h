// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/why_html.h - the report of `ingot why` as one page: memory over steps, time,
// roofline, moves, passes.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/cli/output/html_page.h"
#include "tools/session/program_view.h"

namespace ingot::cli {

/// Memory, time, roofline, moves and passes of why_report(), with peaks.
void add_why_sections(const nlohmann::ordered_json& report, const ProgramView& view,
                      HtmlPage* page);
/// Device, threads, extents and time of it.
std::string session_line(const nlohmann::ordered_json& report);
/// A page of these alone. @throws Failure kUnavailable.
void write_why_html(const nlohmann::ordered_json& report, const ProgramView& view,
                    const std::string& path);

}  // namespace ingot::cli
