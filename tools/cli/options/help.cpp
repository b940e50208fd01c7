// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/options/help.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tools/files/failure.h"
#include "tools/files/suggest.h"

namespace ingot::cli {
namespace {

const std::string kNoBreak = "\x1f";  // a space at which no line ends
constexpr size_t kMinColumns = 60, kColumns = 80, kMaxColumns = 100;

/// Those of the terminal, else those that COLUMNS says, else kColumns.
size_t columns() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp(size_t(size.ws_col), kMinColumns, kMaxColumns);
  const char* text = getenv("COLUMNS");
  const long stated = text ? strtol(text, nullptr, 10) : 0;
  return stated > 0 ? std::clamp(size_t(stated), kMinColumns, kMaxColumns) : kColumns;
}

/// `name` in a column of its own, `text` wrapped beside it; a long name has its own line.
std::string entry(const std::string& name, const std::string& text) {
  static const size_t width = columns();
  const size_t indent = width < kColumns ? 20 : 34;
  std::string out = "  " + name;
  bool first = out.size() < indent;
  if (!first) out += "\n";
  for (const std::string& line : wrapped(text, width - indent)) {
    out += (first ? std::string(indent - out.size(), ' ') : std::string(indent, ' ')) + line + "\n";
    first = false;
  }
  std::replace(out.begin(), out.end(), kNoBreak[0], ' ');
  return out.back() == '\n' ? out : out + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(bool all) : all_(all) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const auto often = app->get_options(
        [](const CLI::Option* option) { return option->get_group() == kOftenGroup; });
    short_of_ = all_ || often.empty() ? "" : app->get_name();
    std::string text = CLI::Formatter::make_help(app, name, mode);
    // between groups
    for (size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
    return text;
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (short_of_.empty() || is_positional)
      return CLI::Formatter::make_group(group, is_positional, options);
    if (group != kOftenGroup) return "";
    return CLI::Formatter::make_group(group, false, options) + "\nAll options, by group: ingot " +
           short_of_ + " --help all\n";
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = option->get_name(is_positional, !is_positional);
    if (const size_t comma = name.find(','); comma != std::string::npos)
      name.insert(comma + 1, " ");
    const std::string type = option->get_type_name();
    if (!type.empty() && option->get_expected_max() > 0) name += " " + type;
    std::string text = option->get_description();
    const bool repeatable = option->get_expected_max() > 0 &&
                            option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (repeatable && text.find("(repeatable)") == std::string::npos) text += " (repeatable)";
    if (option->get_required() && !is_positional) text += " (required)";
    if (!option->get_default_str().empty())
      text += " (default:" + kNoBreak + option->get_default_str() + ")";
    return entry(name, text);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

 private:
  const bool all_;
  mutable std::string short_of_;  // the command whose options of most conversions are shown alone
};

}  // namespace

std::vector<std::string> wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  std::string word;
  while (words >> word) {
    if (lines.empty() || lines.back().size() + 1 + word.size() > width)
      lines.push_back(word);
    else
      lines.back() += " " + word;
  }
  return lines;
}

std::shared_ptr<CLI::FormatterBase> help_formatter(bool all) {
  return std::make_shared<HelpFormatter>(all);
}

bool takes_all_options(std::vector<std::string>* words) {
  const auto end = std::find(words->begin(), words->end(), "--");
  for (auto at = words->begin(); at != end && at + 1 != end; ++at) {
    const bool is_help =
        *at == "--help" || *at == "-h" || (at == words->begin() + 2 && words->at(1) == "help");
    if (!is_help || at[1] != "all") continue;
    words->erase(at + 1);
    return true;
  }
  return false;
}

void group_options(CLI::App* command, const std::string& heading,
                   const std::vector<std::string>& names) {
  for (const std::string& name : names) command->get_option("--" + name)->group(heading);
}

void add_help(CLI::App& app) {
  CLI::App* help = app.add_subcommand("help", "Show what a command does, its options and examples");
  help->footer("Examples:\n  ingot help convert");
  help->add_option("COMMAND", "the command; all of them are listed without one")->type_name("");
}

bool asks_for_help(int argc, char** argv) { return argc >= 2 && argv[1] == std::string("help"); }

std::string help_text(const CLI::App& app, int argc, char** argv) {
  const std::string name = argc >= 3 ? argv[2] : "";
  if (name.empty()) return app.help();
  if (argc > 3)
    host::fail(host::Exit::kUsage,
               "help: '" + std::string(argv[3]) + "' is one argument too many; see: ingot help");
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
    if (names.back() == name || (name == "--help" && names.back() == "help"))
      return command->help("ingot");
  }
  const std::string near = host::nearest(name, names);
  host::fail(host::Exit::kUsage,
             "help: command '" + name + "' is unknown" +
                 (near.empty() ? "; see: ingot help" : "; did you mean '" + near + "'?"));
}

}  // namespace ingot::cli
