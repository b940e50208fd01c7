// SPDX-License-Identifier: Apache-2.0
// tools/cli/options/command.cpp - commands and files among their options. Apart from main.cpp, so
// that tests link commands without it.
#include "tools/cli/options/command.h"

#include <unistd.h>

#include "tools/cli/output/terminal.h"
#include "tools/files/standard_streams.h"
#include "tools/plugins/plugins.h"
#include "tools/registry/registry.h"

namespace ingot::cli {
namespace {

constexpr const char* kEmptyName = "the name of a file is empty";

}  // namespace

CLI::App* add_command(CLI::App& app, Action* chosen, const std::string& name,
                      const std::string& summary, const std::string& examples, Action action) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->allow_extras();
  command->footer("Examples:\n" + examples);
  command->parse_complete_callback([chosen, action] { *chosen = action; });
  return command;
}

CLI::Option* reads_file(CLI::Option* option) {
  return option->transform(CLI::Validator(
      [](std::string& value) {
        if (value.empty()) return std::string(kEmptyName);
        if (value == "-") value = host::spool_standard_input();
        if (value.rfind("registry:", 0) == 0) value = registry::path_of_reference(value);
        return std::string();
      },
      ""));
}

CLI::Option* writes_file(CLI::Option* option) {
  return option->each([option](const std::string& value) {
    if (value.empty()) host::fail(host::Exit::kUsage, option->get_name() + ": " + kEmptyName);
    if (value != "-") return;
    if (isatty(STDOUT_FILENO))
      host::fail(host::Exit::kUsage,
                 "'-' writes to standard output, which is a terminal; redirect it, or name a file");
    send_reports_to_standard_error();
  });
}

void takes_dims(CLI::App* command, std::vector<std::string>* dims) {
  command->add_option("--dim", *dims, "value of a dynamic dimension of the file")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
}

void takes_plugins(CLI::App* command) {
  command
      ->add_option("--plugin",
                   "a shared library with operators that Ingot lacks (docs/custom.md; repeatable)")
      ->each([](const std::string& path) { plugins::load(path); })
      ->type_name("LIBRARY");
}

}  // namespace ingot::cli
