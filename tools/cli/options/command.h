// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/command.h - one file a command; main.cpp puts them together. A command declares
// its options, and leaves in `chosen` what to do when it was the one named. Actions return an exit
// code of design 8 or throw Failure.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tools/files/failure.h"

namespace ingot::cli {

using Action = std::function<int()>;

/// A command whose --help ends in `examples`, one a line.
CLI::App* add_command(CLI::App& app, Action* chosen, const std::string& name,
                      const std::string& summary, const std::string& examples, Action action);

/// The value is a file that is read; "-" is standard input.
CLI::Option* reads_file(CLI::Option* option);
/// The value is a file that is written; "-" is standard output, and reports go to standard error
/// then.
CLI::Option* writes_file(CLI::Option* option);

/// --dim, of a file whose dimensions are open.
void takes_dims(CLI::App* command, std::vector<std::string>* dims);

/// --plugin: libraries with operators of the application's, loaded as they are named.
void takes_plugins(CLI::App* command);

void add_convert(CLI::App& app, Action* chosen);
void add_inspect(CLI::App& app, Action* chosen);
void add_run(CLI::App& app, Action* chosen);
void add_bench(CLI::App& app, Action* chosen);
void add_check(CLI::App& app, Action* chosen);
void add_verify(CLI::App& app, Action* chosen);
void add_compare(CLI::App& app, Action* chosen);
void add_why(CLI::App& app, Action* chosen);
void add_report(CLI::App& app, Action* chosen);
void add_upgrade(CLI::App& app, Action* chosen);
void add_kernels(CLI::App& app, Action* chosen);
void add_generate(CLI::App& app, Action* chosen);
void add_chat(CLI::App& app, Action* chosen);
void add_firmware(CLI::App& app, Action* chosen);
void add_plan(CLI::App& app, Action* chosen);
void add_diff(CLI::App& app, Action* chosen);
void add_place(CLI::App& app, Action* chosen);
void add_tune(CLI::App& app, Action* chosen);
void add_operators(CLI::App& app, Action* chosen);
void add_registry(CLI::App& app, Action* chosen);
void add_serve(CLI::App& app, Action* chosen);
void add_extract(CLI::App& app, Action* chosen);
void add_tokenize(CLI::App& app, Action* chosen);
void add_embed(CLI::App& app, Action* chosen);
void add_grammar(CLI::App& app, Action* chosen);
void add_perplexity(CLI::App& app, Action* chosen);
void add_doctor(CLI::App& app, Action* chosen);
void add_completion(CLI::App& app, Action* chosen);

/// What `ingot --version` prints.
std::string version_text();

}  // namespace ingot::cli
