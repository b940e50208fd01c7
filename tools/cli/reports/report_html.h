// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/report_html.h - the page of `ingot report`: everything that is known of a model
// and its session, one file that needs no network.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/session/engine.h"
#include "tools/session/program_view.h"

namespace ingot::cli {

/// `report` as why_report() with peaks makes it, and its "shares" and "left_to_cpu" of
/// placement_report.h. @return the page
std::string report_html(const nlohmann::ordered_json& report, const Engine& engine,
                        const ProgramView& view);

}  // namespace ingot::cli
