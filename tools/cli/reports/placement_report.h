// SPDX-License-Identifier: Apache-2.0
// tools/cli/reports/placement_report.h - what each device of a session has and does.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "tools/session/engine.h"

namespace ingot::cli {

/// Every device that takes part; a session on one device has one share, whatever its index.
/// @pre Engine::assign(settings) @throws Failure
nlohmann::ordered_json shares_of(Engine& engine, const SessionSettings& settings);

/// Instructions that do not run on the session's device but on the CPU.
nlohmann::ordered_json left_to_cpu(const Engine& engine, const Assignment& assignment,
                                   const std::string& device);

}  // namespace ingot::cli
