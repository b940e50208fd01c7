// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/help.h - what --help looks like: groups, 60 to 100 columns, defaults.
#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace ingot::cli {

/// Of a command with options that most need, `all` or those alone.
inline constexpr char kOftenGroup[] = "Options of most conversions";
std::shared_ptr<CLI::FormatterBase> help_formatter(bool all);

/// "--help all", "help COMMAND all": takes the last word away, which CLI11 would take for a file.
bool takes_all_options(std::vector<std::string>* words);

/// `text` broken at spaces into lines of at most `width` characters; a longer word has a line of
/// its own.
std::vector<std::string> wrapped(const std::string& text, size_t width);

/// Puts the options of these names (without dashes) under a heading of their own.
void group_options(CLI::App* command, const std::string& heading,
                   const std::vector<std::string>& names);

/// "ingot help [COMMAND]": the same text as --help. CLI11 would take COMMAND for the command
/// itself, so this one is answered before it parses.
void add_help(CLI::App& app);
bool asks_for_help(int argc, char** argv);
std::string help_text(const CLI::App& app, int argc, char** argv);

}  // namespace ingot::cli
