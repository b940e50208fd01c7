// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/why_report.h - what makes the memory and the time of a session, as `ingot why
// --json` prints it and pages draw it.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/session/engine.h"
#include "tools/session/program_view.h"

namespace ingot::cli {

/// Times every instruction of the engine's session for `seconds` on inputs made for it.
/// @pre a session was made, with the bindings that `view` has
nlohmann::ordered_json why_report(Engine* engine, const ProgramView& view, double seconds);

/// Adds what this machine can do at most, measured now: "peak_gflops" and "peak_gbytes".
void add_peaks(nlohmann::ordered_json* report);

}  // namespace ingot::cli
