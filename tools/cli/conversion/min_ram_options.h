// tools/cli/conversion/min_ram_options.h - --min-ram and --max-work, of the commands that convert
// for a device.
#pragma once
#include "tools/cli/options/command.h"
#include "tools/compile/program/options.h"

namespace ingot::cli {

/// @pre `to` outlives the command
void add_min_ram(CLI::App* command, convert::MinimumRam* to);

/// Refuses what does not go with it. @throws Failure kUsage
void check_min_ram(const convert::ConvertOptions& options, const std::string& command);

}  // namespace ingot::cli
