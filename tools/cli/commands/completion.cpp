// SPDX-License-Identifier: Apache-2.0
// ingot completion - scripts that let a shell complete commands, options and their words. Made from
// the options themselves.
#include <cstdio>
#include <memory>
#include <set>

#include "tools/cli/options/command.h"
#include "tools/session/arguments.h"

namespace ingot::cli {
namespace {

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The words of an option whose value is one of a few, as its help names them: "none|hashes".
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string& type = option.get_type_name();
  const bool words = type.find('|') != std::string::npos &&
                     type.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  std::vector<std::string> out;
  for (size_t at = 0; words && at <= type.size();) {
    const size_t end = std::min(type.find('|', at), type.size());
    out.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  if (option.check_lname("device")) return device_kinds();
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

void print_bash(const CLI::App& app) {
  printf(
      "# bash completion for ingot; load it with: source <(ingot completion bash)\n_ingot() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
      "command=${COMP_WORDS[1]} options=\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '%s --help --version' -- "
      "\"$word\"))\n    "
      "return\n  fi\n"
      "  case \"$before\" in\n",
      joined(command_names(app)).c_str());
  std::set<std::string> seen;
  for (const CLI::App* command : app.get_subcommands({})) {
    for (const CLI::Option* option : command->get_options()) {
      const std::vector<std::string> words = words_of(*option);
      if (words.empty() || option->get_lnames().empty() ||
          !seen.insert(option->get_lnames()[0]).second)
        continue;
      printf("    --%s) COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n",
             option->get_lnames()[0].c_str(), joined(words).c_str());
    }
  }
  printf("  esac\n  case \"$command\" in\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    printf("    %s) options='%s' ;;\n", command->get_name().c_str(),
           joined(long_options(*command)).c_str());
  }
  printf(
      "  esac\n  if [[ $word == -* ]]; then COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  elif [ \"$command\" = completion ]; then COMPREPLY=($(compgen -W 'bash zsh fish' -- "
      "\"$word\"))\n"
      "  elif [ \"$command\" = help ]; then COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n"
      "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n}\ncomplete -o filenames -F _ingot "
      "ingot\n",
      joined(command_names(app)).c_str());
}

std::string zsh_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

void print_zsh(const CLI::App& app) {
  printf(
      "#compdef ingot\n# zsh completion for ingot; load it with: source <(ingot completion "
      "zsh)\n_ingot() {\n  local "
      "-a commands=(\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    printf("    '%s:%s'\n", command->get_name().c_str(),
           zsh_escaped(command->get_description()).c_str());
  }
  printf(
      "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n  case $words[2] "
      "in\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    printf("    %s) _arguments", command->get_name().c_str());
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const std::vector<std::string> words = words_of(*option);
      const bool flag = option->get_expected_max() == 0;
      printf(" \\\n      '*--%s[%s]%s'", option->get_lnames()[0].c_str(),
             zsh_escaped(option->get_description()).c_str(),
             flag            ? ""
             : words.empty() ? ":value:_files"
                             : (":value:(" + joined(words) + ")").c_str());
    }
    printf(" \\\n      '*:file:%s' ;;\n", command->get_name() == "completion" ? "(bash zsh fish)"
                                          : command->get_name() == "help"
                                              ? ("(" + joined(command_names(app)) + ")").c_str()
                                              : "_files");
  }
  // In a folder of $fpath this file is the function's body: the first Tab runs it, so it has to
  // answer that Tab as well.
  printf(
      "  esac\n}\nif [ \"$funcstack[1]\" = _ingot ]; then\n  _ingot \"$@\"\nelse\n"
      "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n  compdef _ingot "
      "ingot\nfi\n");
}

std::string fish_escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out;
}

void print_fish(const CLI::App& app) {
  printf("# fish completion for ingot; load it with: ingot completion fish | source\n");
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& name = command->get_name();
    printf("complete -c ingot -n __fish_use_subcommand -a %s -d '%s'\n", name.c_str(),
           fish_escaped(command->get_description()).c_str());
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const std::vector<std::string> words = words_of(*option);
      printf("complete -c ingot -n '__fish_seen_subcommand_from %s' -l %s -d '%s'", name.c_str(),
             option->get_lnames()[0].c_str(), fish_escaped(option->get_description()).c_str());
      if (!words.empty())
        printf(" -x -a '%s'", joined(words).c_str());
      else if (option->get_expected_max() > 0)
        printf(" -r");
      printf("\n");
    }
  }
  printf("complete -c ingot -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n");
  printf("complete -c ingot -n '__fish_seen_subcommand_from help' -f -a '%s'\n",
         joined(command_names(app)).c_str());
}

}  // namespace

void add_completion(CLI::App& app, Action* chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = add_command(app, chosen, "completion", "Print a shell's completion script",
                                  "  source <(ingot completion bash)\n"
                                  "  ingot completion zsh > ~/.zfunc/_ingot\n"
                                  "  ingot completion fish > ~/.config/fish/completions/ingot.fish",
                                  [shell, &app] {
                                    parse_choice("completion", *shell, {"bash", "zsh", "fish"});
                                    if (*shell == "bash")
                                      print_bash(app);
                                    else if (*shell == "zsh")
                                      print_zsh(app);
                                    else
                                      print_fish(app);
                                    return 0;
                                  });
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->type_name("");
}

}  // namespace ingot::cli
