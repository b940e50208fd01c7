#include "tools/cli/help.h"

#include <sstream>

#include "tools/files/failure.h"
#include "tools/files/suggest.h"

namespace ingot::cli {
namespace {

constexpr size_t kColumns = 100, kNameColumns = 34;

/// `name` in a column of its own, `text` wrapped beside it; a long name has its own line.
std::string entry(const std::string& name, const std::string& text) {
  std::string out = "  " + name;
  bool first = out.size() < kNameColumns;
  if (!first) out += "\n";
  for (const std::string& line : wrapped(text, kColumns - kNameColumns)) {
    out += (first ? std::string(kNameColumns - out.size(), ' ') : std::string(kNameColumns, ' ')) + line + "\n";
    first = false;
  }
  return out.back() == '\n' ? out : out + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, name, mode);
    for (size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);  // between groups
    return text;
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = option->get_name(is_positional, !is_positional);
    if (const size_t comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    const std::string type = option->get_type_name();
    if (!type.empty() && option->get_expected_max() > 0) name += " " + type;
    std::string text = option->get_description();
    const bool repeatable =
        option->get_expected_max() > 0 && option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (repeatable && text.find("(repeatable)") == std::string::npos) text += " (repeatable)";
    if (option->get_required() && !is_positional) text += " (required)";
    if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
    return entry(name, text);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }
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

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

void group_options(CLI::App* command, const std::string& heading, const std::vector<std::string>& names) {
  for (const std::string& name : names) command->get_option("--" + name)->group(heading);
}

void add_help(CLI::App& app) {
  CLI::App* help = app.add_subcommand("help", "Say what a command does, its options and examples");
  help->footer("Examples:\n  ingot help convert");
  help->add_option("COMMAND", "the command; all of them are listed without one")->type_name("");
}

bool asks_for_help(int argc, char** argv) { return argc >= 2 && argv[1] == std::string("help"); }

std::string help_text(const CLI::App& app, int argc, char** argv) {
  const std::string name = argc >= 3 ? argv[2] : "";
  if (name.empty()) return app.help();
  if (argc > 3)
    host::fail(host::Exit::kUsage, "help: '" + std::string(argv[3]) + "' is one argument too many; see: ingot help");
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
    if (names.back() == name || (name == "--help" && names.back() == "help")) return command->help("ingot");
  }
  const std::string near = host::nearest(name, names);
  host::fail(host::Exit::kUsage, "help: command '" + name + "' is unknown" +
                                     (near.empty() ? "; see: ingot help" : "; did you mean '" + near + "'?"));
}

}  // namespace ingot::cli
