// SPDX-License-Identifier: Apache-2.0
// ingot serve - starts ingot-serve, the program beside this one, with the options that were given.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "tools/cli/options/command.h"
#include "tools/serve/options/serve_options.h"

namespace ingot::cli {
namespace {

/// What was given, spelled so that nothing is taken for something else.
std::vector<std::string> given_words(const CLI::App& command) {
  std::vector<std::string> words, files;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->count()) continue;
    if (option->get_positional()) {
      for (const std::string& word : option->results()) files.push_back(word);
    } else if (option->get_type_size() == 0) {
      words.push_back(option->get_name());
    } else {
      for (const std::string& word : option->results())
        words.push_back(option->get_name() + "=" + word);
    }
  }
  words.emplace_back("--");
  words.insert(words.end(), files.begin(), files.end());
  return words;
}

int start(const CLI::App& command) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (own.parent_path() / "ingot-serve").string();
  if (error || access(program.c_str(), X_OK) != 0)
    host::fail(host::Exit::kUnsupported,
               "serve: " + program +
                   " is not there: install the package ingot-serve, or build where "
                   "Boost and OpenSSL are (libboost-dev libssl-dev)");
  std::vector<std::string> words = given_words(command);
  words.insert(words.begin(), program);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  host::fail(host::Exit::kUnavailable,
             "serve: " + program + ": cannot be started: " + strerror(errno));
}

}  // namespace

void add_serve(CLI::App& app, Action* chosen) {
  auto options = std::make_shared<serve::ServeOptions>();
  auto self = std::make_shared<CLI::App*>();
  CLI::App* command = add_command(app, chosen, "serve", serve::kServeSummary, serve::kServeExamples,
                                  [options, self] { return start(**self); });
  *self = command;
  serve::declare_serve_options(command, options.get());
}

}  // namespace ingot::cli
